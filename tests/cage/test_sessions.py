"""Namespaces that stay for the next command: it finds them as new, or gets others."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest
import sessions
from cage_making import ROOT, Hall, alive, tag, until
from sessions import held, is_kept, place, stands

from runtime.core.commands import Exec, Shell
from runtime.core.errors import BadInput
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage, Limits, selftest
from tests.clock import begun, best_of_three, in_time


def test_commands_run_one_after_the_other_in_the_same_namespaces(kept_hall: Hall) -> None:
    first, second = (
        kept_hall.sh("readlink /proc/self/ns/*"),
        kept_hall.sh("readlink /proc/self/ns/*"),
    )
    assert is_kept(first) and is_kept(second)
    assert first.stdout == second.stdout
    assert len(first.text().split()) >= 8


def test_a_command_finds_what_it_would_find_in_namespaces_of_its_own(kept_hall: Hall) -> None:
    ask = (
        "id; pwd; umask; hostname; env | sort; grep -v ' /proc' /proc/mounts | sort;"
        " grep -E '^(Cap|NoNewPrivs|Seccomp|Sig(Ign|Blk))' /proc/self/status; ls -l /proc/self/fd | wc -l;"
        " ulimit -a | grep -v process; ls -A / /tmp /dev/shm ~; cat <&0; echo $?"
    )
    kept = kept_hall.sh(ask)
    with Cage(kept_hall.spec()) as own:
        fresh = own.run(by_operator(Shell(ask), "test"))
    assert is_kept(kept) and not is_kept(fresh)
    assert kept.text() == fresh.text()


LEFT = {
    "a file": "echo secret > /tmp/left",
    "a file in shared memory": "echo secret > /dev/shm/left",
    "a file at home": "echo secret > ~/left",
    "a file that is gone again": "touch /tmp/left; rm /tmp/left",
    "rights of a directory": "chmod 700 /tmp",
    "rights of the terminals": "chmod 000 /dev/pts/ptmx",
    "a segment of memory": "python3 -c \"import ctypes; "
    "assert ctypes.CDLL(None).shmget(7, 4096, 0o1600) >= 0\"",
    "a queue": "python3 -c \"import ctypes; assert ctypes.CDLL(None).msgget(7, 0o1600) >= 0\"",
    "traffic on its network": "python3 -c \"import socket as s; l = s.create_server(('127.0.0.1', 8080));"
    " c = s.create_connection(('127.0.0.1', 8080)); l.accept()[0].close()\"",
}  # fmt: skip


@pytest.mark.parametrize("way", LEFT)
def test_what_one_command_left_the_next_one_does_not_find(kept_hall: Hall, way: str) -> None:
    before = place(kept_hall.cage)
    left = kept_hall.sh(LEFT[way])
    assert left.ok and is_kept(left), left
    after = kept_hall.sh(
        "ls -A /tmp /dev/shm ~ | grep left; stat -c %a /tmp /dev/pts/ptmx; tail -n +2 -q /proc/sysvipc/*"
    )
    assert after.text().split() == ["1777", "666"]
    assert place(kept_hall.cage) != before


@pytest.mark.parametrize(
    "how", ["{} &", "setsid {} &", "(setsid {} &) &", "nohup {} >/dev/null 2>&1 &"]
)
@best_of_three
def test_no_process_outlives_its_command(kept_hall: Hall, how: str) -> None:
    stands(kept_hall.cage)
    mark = tag()
    began = time.monotonic()
    result = kept_hall.sh(f"{how.format(f'sleep {mark}')} exit 3")
    assert is_kept(result) and result.status == 3
    assert alive(mark) == [], "they are gone when the result is there"
    in_time(began, 2)
    assert kept_hall.sh("ls -d /proc/[0-9]* | wc -l").status == 0


@pytest.mark.parametrize("against", ["kill -STOP -1", "kill -9 1; kill -INT 1; kill -STOP 1"])
def test_who_fights_the_sweeper_ends_the_session(kept_hall: Hall, against: str) -> None:
    mark, before = tag(), place(kept_hall.cage)
    result = kept_hall.sh(f"trap '' TERM; (setsid sleep {mark} &) ; sleep 0.1; {against}; echo on")
    assert is_kept(result)
    assert alive(mark) == []
    assert place(kept_hall.cage) != before
    stands(kept_hall.cage)


def test_who_ends_all_others_itself_leaves_nobody(kept_hall: Hall) -> None:
    mark = tag()
    result = kept_hall.sh(f"(setsid sleep {mark} &); sleep 0.1; kill -9 -1; echo on")
    assert is_kept(result) and result.text() == "on\n"
    assert alive(mark) == []


def test_nobody_reaches_a_process_of_ours(kept_hall: Hall) -> None:
    look = (
        "import os, glob\n"
        "for p in sorted(glob.glob('/proc/[0-9]*')):\n"
        "    if p == f'/proc/{os.getpid()}': continue\n"
        "    for n in ('mem', 'environ', 'maps', 'fd', 'cwd', 'root', 'exe', 'stack', 'auxv'):\n"
        "        try:\n"
        "            if n in ('fd', 'root', 'cwd'): os.listdir(f'{p}/{n}')\n"
        "            else: open(f'{p}/{n}', 'rb').read(1)\n"
        "            print('reached', p, n)\n"
        "        except OSError: pass\n"
        "    try: os.open(f'{p}/mem', os.O_RDWR); print('writable', p)\n"
        "    except OSError: pass\n"
        "    try: print(open(f'{p}/cmdline').read().strip(chr(0)))\n"
        "    except OSError: pass\n"
    )  # fmt: skip
    result = kept_hall.python(look)
    assert is_kept(result) and result.ok
    assert result.text().split() == []


@best_of_three
def test_a_bound_of_time_and_a_wish_end_a_command_and_all_of_it(kept_hall: Hall) -> None:
    stands(kept_hall.cage)
    mark = tag()
    script = f"trap '' TERM; echo set; setsid sleep {mark} & sleep {mark}"
    late = kept_hall.sh(script, timeout=0.3)
    begun(late.stdout)
    assert (late.timed_out, late.status, late.signal) == (True, None, 9)
    assert is_kept(late) and alive(mark) == []
    stands(kept_hall.cage)
    cancel = threading.Event()
    threading.Timer(0.2, cancel.set).start()
    stopped = kept_hall.sh(f"sleep {mark}", cancel=cancel)
    assert stopped.cancelled and is_kept(stopped) and alive(mark) == []


@best_of_three
def test_limits_hold_in_a_session(kept_hall: Hall) -> None:
    with Cage(kept_hall.spec(Limits(processes=20, open_files=64, file_bytes=1 << 20))) as cage:
        kept = sessions.Kept(cage)
        asked = kept.run(by_operator(Shell("ulimit -n; ulimit -f"), "test"))
        assert asked.text().split() == ["64", "2048"]
        big = kept.run(by_operator(Shell("head -c 2000000 /dev/zero > big"), "test"))
        assert big.limit == "file_bytes"
        forks = "import os, time\ntry:\n  while os.fork(): pass\nexcept OSError: time.sleep(0.6); raise\n"
        many = kept.run(by_operator(Exec("python3", ("-c", f"{forks}time.sleep(2)")), "test"))
        begun(many.limit)  # what it stood at was looked at
        assert is_kept(many) and many.limit == "processes"
    with Cage(kept_hall.spec(Limits(memory_bytes=64 << 20))) as cage:
        eats = "x = []\nwhile True: x.append(bytearray(1 << 20))"
        kept = sessions.Kept(cage)
        assert kept.run(by_operator(Shell(f"python3 -c '{eats}'"), "test")).limit == "memory_bytes"


def test_two_at_once_do_not_see_each_other(kept_hall: Hall) -> None:
    with held(kept_hall, "echo x > /tmp/a") as found:
        meanwhile = kept_hall.sh("ls /tmp; ls -d /proc/[0-9]* | wc -l")
    assert is_kept(found[0]) and not is_kept(meanwhile)
    assert int(meanwhile.text()) <= 4


def test_what_cannot_be_started_is_told_as_ever(kept_hall: Hall) -> None:
    missing = kept_hall.run("no-such-program")
    assert "was not found in the sandbox" in str(missing.failure)
    Path(kept_hall.tree, "plain").write_text("echo no first line\n")
    os.chmod(f"{kept_hall.tree}/plain", 0o755)
    assert kept_hall.run("./plain").text() == "no first line\n"
    Path(kept_hall.tree, "dull").write_text("x\n")
    assert kept_hall.run("./dull").failure


def test_a_command_begins_where_it_is_told_and_nowhere_else(kept_hall: Hall) -> None:
    os.mkdir(f"{kept_hall.tree}/sub")
    os.symlink("/usr", f"{kept_hall.tree}/link")
    for cwd, shown in (("sub", f"{ROOT}/sub"), (".", ROOT), ("link", "/usr")):
        result = kept_hall.cage.run(by_operator(Shell("pwd -P", cwd=cwd), "test"))
        assert result.text() == f"{shown}\n" and is_kept(result)


def test_an_end_of_the_cage_is_the_end_of_its_sessions(kept_hall: Hall) -> None:
    broker = kept_hall.cage.broker_pid
    assert broker is not None
    left = f"m31a-cage:{kept_hall.spec().label}:"  # other halls are named so, too
    assert [pid for pid in alive(left) if in_group(pid, broker)] != []
    kept_hall.cage.close()
    assert [pid for pid in alive(left) if in_group(pid, broker)] == []


def in_group(pid: int, group: int) -> bool:
    """Whether a process is there and of that group."""
    try:
        return os.getpgid(pid) == group
    except ProcessLookupError:
        return False


def test_many_commands_leave_neither_processes_nor_descriptors(kept_hall: Hall) -> None:
    broker = kept_hall.cage.broker_pid
    before = len(os.listdir(f"/proc/{broker}/fd"))
    for number in range(300):
        assert kept_hall.sh("touch /tmp/x" if number % 50 == 0 else "true").ok
    stands(kept_hall.cage)
    assert until(lambda: len(os.listdir(f"/proc/{broker}/fd")) <= before)
    children = Path(f"/proc/{broker}/task/{broker}/children")
    # guardian, bubblewrap, and who starts commands
    assert until(lambda: len(children.read_text().split()) <= 4)


def test_where_every_command_leaves_something_no_more_are_made(kept_hall: Hall) -> None:
    used = 0  # the one that stands, and three more, none of which served a second command
    for _ in range(200):
        used += is_kept(kept_hall.sh("touch /tmp/x"))
        if used == 4:
            break
        time.sleep(0.08)
    assert [is_kept(kept_hall.sh("touch /tmp/x")) for _ in range(2) if not time.sleep(0.1)] == [
        False
    ] * 2


def test_sessions_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M31A_SANDBOX_SESSIONS", "off")
    plain = Hall()
    try:
        ran = [plain.sh("true") for _ in range(6) if not time.sleep(0.05)]
        assert not any(map(is_kept, ran)) and all(one.ok for one in ran)
        monkeypatch.setenv("M31A_SANDBOX_SESSIONS", "perhaps")
        with Cage(plain.spec()) as cage, pytest.raises(BadInput, match="M31A_SANDBOX_SESSIONS"):
            cage.run(by_operator(Shell("true"), "test"))
    finally:
        plain.close()


@pytest.mark.thorough
@best_of_three
def test_doctor_says_whether_namespaces_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patient:
        patient.setattr(selftest, "_SESSION_SECONDS", 20.0)
        good = selftest.sessions()
    assert good == (True, "They stay for the next command that finds them as new.")
    tmp_path.chmod(0o755)
    refuses = ("inner", "    _wait_for_gate(first)\n", '    raise PermissionError("no way in")\n')
    with sessions.altered(tmp_path, refuses):
        ok, words = selftest.sessions()
    begun("nothing says why" not in words)
    assert not ok and "no way in" in words
    monkeypatch.setenv("M31A_SANDBOX_SESSIONS", "off")
    assert selftest.sessions()[0]


def test_a_set_up_that_hangs_is_given_up(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    hangs = ("inner", "    _wait_for_gate(first)\n", "    time.sleep(3600)\n")
    soon = ("session", "_SET_UP_SECONDS = 10.0", "_SET_UP_SECONDS = 0.3")
    made = Hall()
    try:
        with sessions.altered(tmp_path, hangs, soon):
            assert made.sh("true").ok and made.sh("true").ok
        broker = made.cage.broker_pid
        children = f"/proc/{broker}/task/{broker}/children"
        assert until(lambda: len(Path(children).read_text().split()) == 1), "the guardian is left"
        assert made.sh("true").ok
    finally:
        made.close()


def test_a_way_in_that_is_slow_to_end_does_not_keep_a_session_from_ending(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    reaps = "        os.waitpid(middle, 0)\n"
    slow = ("inner", reaps, f"        time.sleep(0.2)\n{reaps}")
    made = Hall()
    try:
        with sessions.altered(tmp_path, slow):
            stands(made.cage)
            left = made.sh("touch /tmp/left", timeout=5)
        assert left.ok and is_kept(left)
    finally:
        made.close()


def test_a_command_that_is_too_long_leaves_the_session_alone(kept_hall: Hall) -> None:
    before = place(kept_hall.cage)
    words = [str(number) * 50 for number in range(900)]
    assert kept_hall.run("true", *words).ok
    assert place(kept_hall.cage) == before
