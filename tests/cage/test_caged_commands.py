"""What a command can rely on, and how it ends. Run as root and as an ordinary user alike."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

from cage_making import ROOT, SECRET, Hall, alive, planted, tag

from runtime.sandbox import Result
from tests.clock import begun, best_of_three, in_its_grace, in_time


@best_of_three
def test_E2_timeout_ends_the_command(hall: Hall) -> None:
    began = time.monotonic()
    result = hall.sh("echo set; exec sleep 9", timeout=0.2)
    assert result.timed_out and not result.cancelled and result.status is None
    in_time(began, 0.9)
    begun(result.stdout)
    in_its_grace(result.signal)
    assert result.signal == 15


def test_E2_output_beyond_the_cap_is_cut_and_said_so(hall: Hall) -> None:
    result = hall.run("printf", "1234567890", keep=5)
    assert (result.stdout, result.stdout_bytes, result.truncated) == (b"12890", 10, True)
    assert result.status == 0


@best_of_three
def test_E3_cancel_is_quick_and_is_no_timeout(hall: Hall) -> None:
    wish = threading.Event()
    timer = threading.Timer(0.03, wish.set)
    timer.start()
    began = time.monotonic()
    result = hall.run("sleep", "2", cancel=wish)
    timer.join()
    in_time(began, 1)
    assert result.cancelled and not result.timed_out and result.status is None


def test_E4_a_background_child_dies_with_the_timeout(hall: Hall) -> None:
    mark = tag()
    result = hall.sh(f"(sleep {mark}; echo late > late.txt) & sleep 9", timeout=0.2)
    assert result.timed_out and alive(mark) == []
    assert not os.path.exists(f"{hall.tree}/late.txt")


@best_of_three
def test_E5_a_child_that_holds_the_pipe_delays_nothing(hall: Hall) -> None:
    began = time.monotonic()
    result = hall.sh("sleep 5 & echo said")
    in_time(began, 2)
    assert (result.status, result.stdout) == (0, b"said\n")


def test_E7_a_new_session_does_not_survive_timeout_cancel_or_exit(hall: Hall) -> None:
    mark = tag()
    detached = (
        f"setsid sh -c 'trap \"\" TERM HUP INT; (sleep {mark} &) ; sleep {mark}' & sleep 0.1;"
    )
    wish = threading.Event()
    timer = threading.Timer(0.25, wish.set)
    timer.start()
    ends = [
        hall.sh(f"{detached} sleep 9", timeout=0.25).timed_out,
        hall.sh(f"{detached} sleep 9", cancel=wish).cancelled,
        hall.sh(f"{detached} exit 0").status == 0,
    ]
    timer.join()
    assert ends == [True, True, True]
    assert alive(mark) == []


@best_of_three
def test_E7_a_tree_that_ignores_sigterm_is_killed_after_the_grace(hall: Hall) -> None:
    mark = tag()
    began = time.monotonic()
    result = hall.sh(f"trap '' TERM; echo set; while :; do sleep {mark}; done", timeout=0.2)
    assert result.timed_out and result.status is None
    begun(result.stdout)
    assert alive(mark) == [] and time.monotonic() - began > 0.45
    in_time(began, 2)


def test_E8_a_background_child_is_gone_after_a_normal_exit(hall: Hall) -> None:
    mark = tag()
    assert hall.sh(f"sleep {mark} >/dev/null 2>&1 & exit 0").status == 0
    assert alive(mark) == []


@best_of_three
def test_sigterm_gives_time_to_clean_up(hall: Hall) -> None:
    script = "trap 'echo cleaned; exit 3' TERM; echo set; sleep 9 & wait"
    result = hall.sh(script, timeout=0.2)
    begun(result.stdout)
    in_its_grace(result.signal)
    assert (result.status, result.stdout, result.timed_out) == (3, b"set\ncleaned\n", True)


def test_E9_a_lot_of_output_is_drained_and_head_and_tail_are_kept(hall: Hall) -> None:
    result = hall.sh("echo first; yes x | head -c 20000000; echo last")
    assert result.status == 0 and result.truncated
    assert result.stdout_bytes == 20_000_011 and len(result.stdout) == 64 << 10
    assert result.stdout.startswith(b"first\n") and result.stdout.endswith(b"last\n")
    assert f"[… {20_000_011 - (64 << 10)} bytes cut …]" in result.text()


def test_E9_both_streams_are_apart_and_each_is_bounded(hall: Hall) -> None:
    result = hall.sh("yes o | head -c 100000; yes e | head -c 90000 >&2", keep=1000)
    assert (result.stdout_bytes, result.stderr_bytes) == (100_000, 90_000)
    assert (len(result.stdout), len(result.stderr)) == (1000, 1000)
    assert set(result.stdout) == set(b"o\n") and set(result.stderr) == set(b"e\n")


def test_E10_nothing_of_the_servers_environment_arrives(hall: Hall) -> None:
    with planted():
        seen = hall.run("env").stdout.decode()
    assert SECRET not in seen
    names = {line.partition("=")[0] for line in seen.splitlines()}
    assert not names & {"PYTHONPATH", "GIT_DIR", "BASH_ENV", "SSH_AUTH_SOCK", "VIRTUAL_ENV"}
    assert f"PWD={ROOT}\n" in seen and "HOME=/home/agent\n" in seen


def test_E12_a_reader_of_stdin_gets_the_end_at_once(hall: Hall) -> None:
    result = hall.run("cat", timeout=5)
    assert (result.status, result.stdout, result.timed_out) == (0, b"", False)


def test_E13_missing_not_executable_and_crashed_are_three_results(hall: Hall) -> None:
    hall.sh("echo 'echo hi' > plain.sh; chmod 644 plain.sh")
    missing, plain = hall.run("no-such-program"), hall.run("./plain.sh")
    crashed = hall.sh("kill -SEGV $$")
    assert (missing.status, missing.signal) == (None, None)
    assert missing.failure is not None and "not found" in missing.failure
    assert (plain.status, plain.signal) == (None, None)
    assert plain.failure is not None and "not executable" in plain.failure
    assert (crashed.status, crashed.signal, crashed.failure) == (None, 11, None)


def test_E13_a_working_directory_that_is_not_there(hall: Hall) -> None:
    from runtime.core.commands import Exec
    from runtime.policy.authorised import by_operator

    result = hall.cage.run(by_operator(Exec("true", cwd="no/such"), "test"))
    assert result.status is None
    assert result.failure is not None and "'no/such'" in result.failure


def test_E17_arguments_arrive_byte_for_byte(hall: Hall) -> None:
    odd = [
        "a b",
        "$(id)",
        "; id",
        "",
        "line\nbreak",
        "'",
        '"',
        "*",
        "\\",
        "é\u202e",
        "--",
        "-x",
        "\udcff",
    ]
    code = "import os, sys; print([os.fsencode(a) for a in sys.argv[1:]])"
    result = hall.run("python3", "-I", "-c", code, *odd)
    assert result.text() == f"{[os.fsencode(word) for word in odd]}\n"


def test_exit_codes_and_both_ends_of_silence(hall: Hall) -> None:
    assert hall.sh("exit 7").status == 7
    began = time.monotonic()
    assert hall.sh("exec 1>&- 2>&-; sleep 0.3; exit 5").status == 5  # silence is not the end
    assert time.monotonic() - began >= 0.3


def test_a_working_directory_below_the_root(hall: Hall) -> None:
    from runtime.core.commands import Shell
    from runtime.policy.authorised import by_operator

    hall.sh("mkdir -p deep/down")
    result = hall.cage.run(by_operator(Shell("pwd", cwd="./deep/down/"), "test"))
    assert result.text() == f"{ROOT}/deep/down\n"


def test_output_is_seen_as_it_comes(hall: Hall) -> None:
    seen: list[tuple[str, bytes]] = []

    def look(stream: str, data: bytes) -> None:
        seen.append((stream, data))
        Path(hall.tree, "go").touch()  # without the first word there is no second one

    script = "rm -f go; echo one; while [ ! -e go ]; do sleep 0.02; done; echo two >&2"
    result = hall.sh(script, on_output=look, timeout=30)
    assert seen == [("stdout", b"one\n"), ("stderr", b"two\n")]
    assert result.status == 0 and result.stdout == b"one\n"


def test_stdout_can_go_to_a_file(hall: Hall) -> None:
    with open(f"{hall.base}/out", "w+b") as file:
        result = hall.sh("yes x | head -c 1000000; echo e >&2", stdout_to=file.fileno())
        assert os.fstat(file.fileno()).st_size == 1_000_000
    assert (result.stdout, result.stderr, result.status) == (b"", b"e\n", 0)
    assert result.stdout_bytes == 1_000_000


def test_files_belong_to_the_runs_account_and_stay(hall: Hall) -> None:
    assert hall.sh("echo hi > made.txt && mkdir -p a/b && mv made.txt a/b/").status == 0
    about = os.stat(f"{hall.tree}/a/b/made.txt")
    assert about.st_uid == (os.geteuid() if hall.uid is None else hall.uid) != 0


def test_many_at_once_do_not_disturb_each_other(hall: Hall) -> None:
    results: dict[int, Result] = {}

    def one(number: int) -> None:
        results[number] = hall.sh(f"sleep 0.0{number % 7}; echo {number}")

    threads = [threading.Thread(target=one, args=(n,)) for n in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wrong = [results.get(n) for n in range(24) if n not in results or results[n].text() != f"{n}\n"]
    assert not wrong, wrong


def test_cpu_and_memory_are_counted(hall: Hall) -> None:
    result = hall.python("b = bytearray(b'x') * (60 << 20)\nfor _ in range(3_000_000): pass")
    assert result.status == 0
    assert 60 << 20 < result.peak_memory < 200 << 20
    assert 20 < result.cpu_ms <= result.duration_ms * 2 + 50


def test_ordinary_work_is_possible(hall: Hall) -> None:
    assert hall.python("import ssl, sqlite3, ctypes, multiprocessing as m; m.Lock()").status == 0
    code = (
        "import socket, threading\ns = socket.create_server(('127.0.0.1', 0))\n"
        "threading.Thread(target=lambda: s.accept()[0].sendall(b'hi')).start()\n"
        "print(socket.create_connection(s.getsockname()).recv(9))"
    )
    assert hall.python(code).stdout == b"b'hi'\n"
    piped = (
        "import asyncio\nasync def main():\n p = await asyncio.create_subprocess_exec('echo', 'hi',"
        " stdout=-1)\n print((await p.communicate())[0])\nasyncio.run(main())"
    )
    assert hall.python(piped).stdout == b"b'hi\\n'\n"
    assert hall.sh("echo x > /tmp/f && cat /tmp/f > ~/f && wc -c < ~/f").stdout.strip() == b"2"
    assert not os.path.exists("/tmp/f")
    assert hall.sh("exec > >(cat); echo ok").status != 0  # sh, never bash


@best_of_three
def test_a_process_substitution_does_not_hang(hall: Hall) -> None:
    began = time.monotonic()
    assert hall.run("bash", "-c", "exec > >(tee f); echo ok").status == 0
    in_time(began, 2)


def test_the_attestation_says_what_held(hall: Hall) -> None:
    facts = hall.run("true").attestation
    assert facts["backend"] == "bubblewrap" and facts["network"] == "none"
    assert facts["uid"] == (os.geteuid() if hall.uid is None else hall.uid) != 0
    assert facts["bubblewrap_version"] and facts["seccomp"] == "denylist"
    assert not any(isinstance(value, float) for value in facts.values())
