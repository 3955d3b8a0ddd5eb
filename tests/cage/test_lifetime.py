"""Nothing of a cage outlives its server, its broker or its end."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator

import pytest
from cage_making import Hall, alive, tag, until

from runtime.core.commands import Shell
from runtime.core.errors import Unavailable
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage, Limits, Result, client, end_leftovers
from tests.clock import best_of_three, in_time

HERE = os.path.dirname(os.path.abspath(__file__))
REPOSITORY = os.path.dirname(os.path.dirname(HERE))


class Server:
    """A process that keeps three commands running in its cage."""

    def __init__(self) -> None:
        self.label, self.mark = f"doomed-{uuid.uuid4().hex[:8]}", tag()
        script = os.path.join(HERE, "server_to_kill.py")
        self.process = subprocess.Popen(
            [sys.executable, script, self.label, self.mark],
            env=os.environ | {"PYTHONPATH": f"{REPOSITORY}:{HERE}"},
            stdout=subprocess.PIPE, text=True, start_new_session=True,
        )  # fmt: skip
        assert self.process.stdout is not None
        self.base, self.broker = self.process.stdout.readline().split()

    def remains(self) -> list[int]:
        return [*alive(self.mark), *alive(f"m31a-cage:{self.label}:")]

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()
        shutil.rmtree(self.base, ignore_errors=True)


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.mark.parametrize("delay", [0.0, 0.003, 0.011])
def test_sigkill_of_the_server_leaves_nothing(server: Server, delay: float) -> None:
    assert len(server.remains()) >= 3
    time.sleep(delay)  # wherever its commands are at that moment
    server.process.kill()
    assert until(lambda: not server.remains()), server.remains()


def test_leftovers_of_another_server_can_be_ended_by_their_label(server: Server) -> None:
    assert end_leftovers("another-label") == 0
    assert end_leftovers(server.label) >= 1
    assert until(lambda: not server.remains()), server.remains()


def ended(cage: Cage, script: str) -> tuple[threading.Thread, list[Result]]:
    """A command in the background, and where its result will be."""
    results: list[Result] = []
    thread = threading.Thread(
        target=lambda: results.append(cage.run(by_operator(Shell(script), "test")))
    )
    thread.start()
    return thread, results


def test_a_dead_broker_is_a_failure_and_never_a_run_without_it(hall: Hall) -> None:
    mark = tag()
    with Cage(hall.spec(label="dead-broker")) as cage:
        assert cage.run(by_operator(Shell("true"), "test")).ok
        thread, results = ended(cage, f"setsid sleep {mark} & sleep {mark}")
        assert until(lambda: len(alive(mark)) >= 2)
        assert cage.broker_pid is not None
        os.kill(cage.broker_pid, signal.SIGKILL)
        thread.join(20)
        after = cage.run(by_operator(Shell("echo x > ran"), "test"))
    for result in (results[0], after):
        assert result.status is None and result.failure is not None and "broker" in result.failure
    assert not os.path.exists(f"{hall.tree}/ran")
    assert until(lambda: not alive(mark))
    with Cage(hall.spec(label="dead-broker")) as another:
        assert another.run(by_operator(Shell("true"), "test")).ok


def test_a_broker_killed_while_a_cage_is_set_up_lets_nothing_run(hall: Hall) -> None:
    mark, label = tag(), f"setup-{uuid.uuid4().hex[:8]}"
    for step in range(10):
        with Cage(hall.spec(label=label)) as cage:
            cage.run(by_operator(Shell("true"), "test"))
            thread, _ = ended(cage, f"sleep {mark}")
            time.sleep(step * 0.0007)  # a set-up takes about six milliseconds
            assert cage.broker_pid is not None
            os.kill(cage.broker_pid, signal.SIGKILL)
            thread.join(20)
    assert until(lambda: not alive(mark) and not alive(f"m31a-cage:{label}:"))


@best_of_three
def test_close_ends_what_runs(hall: Hall) -> None:
    marks = [tag() for _ in range(3)]
    cage = Cage(hall.spec(label="closing"))
    cage.run(by_operator(Shell("true"), "test"))
    runs = [ended(cage, f"trap '' TERM; sleep {mark}; sleep {mark}") for mark in marks]
    assert until(lambda: all(map(alive, marks))), "each of them has begun"
    began = time.monotonic()
    cage.close()
    for thread, results in runs:
        thread.join(20)
        assert results[0].cancelled and results[0].status is None
    assert not any(map(alive, marks))
    in_time(began, 2)
    assert cage.broker_pid is not None and not os.path.exists(f"/proc/{cage.broker_pid}")
    with pytest.raises(Unavailable, match="closed"):
        cage.run(by_operator(Shell("true"), "test"))


@best_of_three
def test_a_broker_that_does_not_answer_is_ended_within_one_bound(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_CLOSE_SECONDS", 0.5)
    cage = Cage(hall.spec(label="stuck"))
    cage.run(by_operator(Shell("true"), "test"))
    broker = cage.broker_pid
    assert broker is not None
    os.kill(broker, signal.SIGSTOP)
    began = time.monotonic()
    cage.close()
    assert time.monotonic() - began >= 0.5
    in_time(began, 1.5)
    assert not os.path.exists(f"/proc/{broker}")
    assert until(lambda: not alive("m31a-cage:stuck:"))


def test_a_failing_observer_of_output_ends_the_command(hall: Hall) -> None:
    mark = tag()

    def observer(stream: str, data: bytes) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        hall.sh(f"echo x; sleep {mark}", on_output=observer)
    assert until(lambda: not alive(mark))


def test_all_processes_together_stay_within_the_memory(hall: Hall) -> None:
    one = "b = bytearray(b'x') * (60 << 20); import time; time.sleep(45)"
    script = " & ".join([f'python3 -I -c "{one}"'] * 3) + " & wait"
    with Cage(hall.spec(Limits(memory_bytes=128 << 20))) as cage:
        result = cage.run(by_operator(Shell(script), "test"), timeout=45)
    assert (result.limit, result.status, result.timed_out) == ("memory_bytes", None, False)


def test_shared_memory_counts_once(hall: Hall) -> None:
    code = (
        "import os, time\\nb = bytearray(b'x') * (60 << 20)\\n"
        "for _ in range(3):\\n if os.fork() == 0: time.sleep(0.6); os._exit(0)\\ntime.sleep(0.7)"
    )
    with Cage(hall.spec(Limits(memory_bytes=128 << 20))) as cage:
        result = cage.run(by_operator(Shell(f"exec python3 -I -c \"exec('''{code}''')\""), "test"))
    assert result.ok, result


def test_all_writing_together_stays_within_the_bound(hall: Hall) -> None:
    if hall.sh("true").attestation["written_limit"] != "io-accounting":
        pytest.skip("this kernel does not count what processes write")
    if _on_tmpfs(hall.tree):
        pytest.skip("the temporary directory is memory: nothing is written to disk")
    script = "while :; do dd if=/dev/zero of=again bs=1M count=8 2>/dev/null; sync again; done"
    with Cage(hall.spec(Limits(written_bytes=40 << 20))) as cage:
        result = cage.run(by_operator(Shell(script), "test"), timeout=45)
    assert (result.limit, result.status) == ("written_bytes", None)


def _on_tmpfs(path: str) -> bool:
    device = os.stat(path).st_dev
    with open("/proc/self/mountinfo", encoding="utf-8") as file:
        rows = [line.split() for line in file]
    number = f"{os.major(device)}:{os.minor(device)}"
    return any(row[2] == number and row[row.index("-") + 1] == "tmpfs" for row in rows)


def test_a_command_that_cannot_start_and_that_nobody_waits_for_takes_no_other_along(
    hall: Hall,
) -> None:
    assert hall.sh("true").ok
    link, prepared = hall.cage._start("tool")
    assert link is not None
    request: dict[str, object] = {
        "argv": [b"/bin/true", b"x" * (140 << 10)], "cwd": os.fsencode(prepared.place(hall.spec().root)),
        "env": {}, "wall": 5.0, "profile": "tool", "listens": False, "counted": False,
    }  # fmt: skip
    mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mine.close()
    with theirs, open(os.devnull, "r+b") as null:
        assert link.send(request, [null.fileno(), null.fileno(), theirs.fileno(), null.fileno()])
    assert hall.sh("echo on").text() == "on\n"
    assert link.alive
