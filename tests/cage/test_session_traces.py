"""What one command leaves in kept namespaces beside plain files and processes ends them; and a
command finds there what it would find in namespaces of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from cage_making import Hall
from leaving import LEFT, SENDS, WRITES, left_behind, python
from sessions import Kept, is_kept, stands

from runtime.core.commands import Exec, Shell
from runtime.core.errors import M31AError
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage, Limits, Result, inner
from tests.clock import Late, begun, best_of_three, in_its_grace, in_time


@pytest.mark.parametrize("way", LEFT)
def test_whatever_was_left_the_next_command_gets_other_namespaces(
    kept_hall: Hall, way: str
) -> None:
    if "flows" in way and not os.path.exists("/proc/net/if_inet6"):
        pytest.skip("this machine has no IPv6")
    left, others = left_behind(kept_hall.cage, way)
    if not left.ok and "slice" in way:
        pytest.skip("this kernel has no such thing")
    assert left.ok and others, left


@pytest.mark.parametrize("root", ["/tmp/some/project", "/home/agent/some/project"])
def test_directories_above_a_worktree_in_memory_are_looked_at(kept_hall: Hall, root: str) -> None:
    spec = kept_hall.spec()
    mounts = tuple(replace(m, target=root) if m.writable else m for m in spec.mounts)
    with Cage(replace(spec, root=root, mounts=mounts)) as cage:
        kept = Kept(cage)
        above = os.path.dirname(root)
        left = kept.run(by_operator(Shell(f"echo evil > {above}/pytest.ini"), "test"))
        assert left.ok and is_kept(left)
        found = cage.run(by_operator(Shell(f"ls {above}"), "test"))
        assert found.text().split() == ["project"]
        assert is_kept(kept.run(by_operator(Exec("true"), "test")))


@best_of_three
def test_what_ran_beside_a_command_has_no_way_into_the_next_one(kept_hall: Hall) -> None:
    stands(kept_hall.cage)
    found: dict[str, Result] = {}
    has_begun = threading.Event()

    def ask(name: str, code: str) -> None:
        found[name] = python(kept_hall.cage, code, on_output=lambda *_: has_begun.set())

    first = threading.Thread(target=ask, args=("first", f"print('begun', flush=True)\n{SENDS}"))
    first.start()
    assert has_begun.wait(20)
    beside = threading.Thread(target=ask, args=("beside", WRITES))
    beside.start()
    first.join()
    after = kept_hall.sh("sleep 0.4; ls /tmp")
    beside.join()
    assert is_kept(found["first"]) and not is_kept(found["beside"])
    assert all(one.ok for one in found.values()) and after.text() == ""
    if is_kept(after):
        raise Late("new namespaces were there before the next command")


def modes(kept_hall: Hall) -> Iterator[tuple[str, Cage]]:
    """A cage of each kind that this machine can have, and one whose commands are kept apart."""
    yield "kept", kept_hall.cage
    os.environ["M31A_SANDBOX_SESSIONS"] = "off"
    try:
        with Cage(kept_hall.spec()) as own:
            yield "own", own
        os.environ["M31A_SANDBOX"] = "landlock"
        with Cage(replace(kept_hall.spec(), accepts="landlock")) as direct:
            try:
                direct.run(by_operator(Exec("true"), "test"))
            except M31AError:
                return
            yield "landlock", direct
    finally:
        os.environ.pop("M31A_SANDBOX_SESSIONS")
        os.environ.pop("M31A_SANDBOX", None)


def test_nobody_shares_the_opened_file_of_another_ones_standard_input(kept_hall: Hall) -> None:
    sets = (
        "fcntl.fcntl(0, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND); fcntl.fcntl(0, 10, 34);"
        "fcntl.flock(0, fcntl.LOCK_EX)"
    )
    asks = (
        "print(fcntl.fcntl(0, fcntl.F_GETFL) & (os.O_NONBLOCK | os.O_APPEND), fcntl.fcntl(0, 11))\n"
        "fcntl.flock(os.open('/dev/null', 0), fcntl.LOCK_EX | fcntl.LOCK_NB)"
    )
    for mode, cage in modes(kept_hall):
        assert python(cage, sets).ok
        asked = python(cage, asks)
        assert (asked.text(), asked.status) == ("0 0\n", 0), (mode, asked)


ALIKE = {
    "environment": ("env",),
    "a session of its own": ("python3", "-I", "-c", "import os; os.setsid(); print(os.getsid(0) > 1)"),
    "a group of its own": ("python3", "-I", "-c", "import os; os.setpgrp()"),
    "who waits for a session": ("setsid", "sh", "-c", "sleep 0.1; exit 7"),
    "numbers": ("python3", "-I", "-c", "import os; print(os.getpgrp(), os.getsid(0), os.getppid())"),
    "a terminal": (
        "python3", "-I", "-c",
        "import os; n = os.ttyname(os.openpty()[1]); os.open(n, os.O_RDWR); open('/dev/tty')"
    ),
    "jobs": ("bash", "-c", "set -m; sleep 0.5 & jobs; fg; kill -TSTP $$; echo $?"),
}  # fmt: skip


@pytest.mark.thorough
@pytest.mark.parametrize("what", ALIKE)
@best_of_three
def test_an_honest_program_notices_no_difference(
    kept_hall: Hall, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    program, *words = ALIKE[what]
    stands(kept_hall.cage)
    kept = kept_hall.run(program, *words)
    monkeypatch.setenv("M31A_SANDBOX_SESSIONS", "off")
    with Cage(kept_hall.spec()) as cage:
        own = cage.run(by_operator(Exec(program, tuple(words)), "test"))
    if what == "jobs":  # they may end before they are asked for
        begun("Running" in kept.text() and "Running" in own.text())
    assert is_kept(kept) and not is_kept(own)
    assert (kept.status, kept.text(), kept.stderr) == (own.status, own.text(), own.stderr)


@best_of_three
def test_a_program_beside_its_first_process_hears_that_time_is_up(kept_hall: Hall) -> None:
    stands(kept_hall.cage)
    child = "(trap 'echo heard; exit' TERM; echo set; while :; do sleep 0.02; done)"
    heard = kept_hall.sh(f"trap 'wait; exit 3' TERM; {child} & wait", timeout=0.3)
    begun(heard.stdout)
    in_its_grace(heard.signal)
    assert is_kept(heard) and heard.timed_out and heard.text() == "set\nheard\n"


def test_what_orphans_wrote_counts(kept_hall: Hall) -> None:
    if kept_hall.sh("true").attestation["written_limit"] != "io-accounting":
        pytest.skip("this machine does not count what a process writes")
    writes = (
        "for n in range(8):\n"
        "    if os.fork() == 0:\n"
        "        if os.fork(): os._exit(0)\n"
        "        fd = os.open(str(n), os.O_CREAT | os.O_WRONLY)\n"
        "        for _ in range(16): os.write(fd, bytes(1 << 20))\n"
        "        os.fsync(fd); os.unlink(str(n)); os._exit(0)\n"
        "    os.wait(); time.sleep(0.1)\n"
        "time.sleep(30)"
    )
    with Cage(kept_hall.spec(Limits(written_bytes=48 << 20))) as cage:
        stands(cage)
        result = python(cage, writes)
    assert is_kept(result) and result.limit == "written_bytes"


def test_with_few_descriptors_no_session_is_made(kept_hall: Hall) -> None:
    with Cage(kept_hall.spec(Limits(open_files=16))) as cage:
        ran = [
            cage.run(by_operator(Exec("true"), "test")) for _ in range(6) if not time.sleep(0.05)
        ]
    assert all(one.ok for one in ran) and not any(map(is_kept, ran))


@best_of_three
def test_who_cannot_get_in_is_gone_at_once() -> None:
    with subprocess.Popen(["true"], stdout=subprocess.DEVNULL) as gone:
        os.waitid(os.P_PID, gone.pid, os.WEXITED | os.WNOWAIT)
        null = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC)
        began = time.monotonic()
        guide, way = inner.start(gone.pid, b"", [], (), frozenset(), null)
        try:
            assert b"does not come to its gate" in way.recv(256)
            assert way.recv(256) == b""
            in_time(began, 1)
        finally:
            os.kill(guide, signal.SIGKILL)
            os.waitpid(guide, 0)
            os.close(null)
            way.close()
