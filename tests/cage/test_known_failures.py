"""What went wrong in other tools of this kind, tried here, under every backend of this machine."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from cage_making import SECRET, Hall, alive, planted, tag, until

from runtime.core.commands import Command, Exec, Shell
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage, OneShot, Result, landlock
from tests.clock import best_of_three, in_time

BACKENDS = ("bubblewrap", "landlock")


class Room:
    """One cage of a backend."""

    def __init__(self, hall: Hall, backend: str) -> None:
        self.hall, self.backend = hall, backend
        self.cage = Cage(hall.spec(label=f"known-{backend}"))

    def sh(self, script: str, timeout: float | None = None) -> Result:
        return self.run(Shell(script), timeout)

    def run(self, command: Command, timeout: float | None = None) -> Result:
        result = self.cage.run(by_operator(command, "test"), timeout=timeout)
        assert result.attestation["backend"] == self.backend
        return result


@pytest.fixture(params=BACKENDS)
def room(
    request: pytest.FixtureRequest, hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Room]:
    if request.param == "landlock" and landlock.version() < landlock.OLDEST:
        pytest.skip("this kernel has no Landlock of version 6")
    monkeypatch.setenv("M31A_SANDBOX", request.param)
    made = Room(hall, request.param)
    yield made
    made.cage.close()


@best_of_three
def test_a_timeout_ends_children_that_hold_the_pipes(room: Room) -> None:
    mark = tag()
    began = time.monotonic()
    result = room.sh(f"mkfifo pipe; sleep {mark} & cat pipe", timeout=0.5)
    assert result.timed_out
    in_time(began, 2)
    assert alive(mark) == []
    room.sh("rm -f pipe")


@best_of_three
def test_process_substitution_comes_to_an_end(room: Room) -> None:
    began = time.monotonic()
    result = room.run(Exec("bash", ("-c", "exec > >(tee f); echo ok")))
    assert result.status == 0
    in_time(began, 2)


@best_of_three
def test_a_server_with_children_of_its_own_obeys_the_clock(room: Room) -> None:
    mark = tag()
    server = f'python3 -c \'import subprocess; subprocess.run(["sleep", "{mark}"])\''
    began = time.monotonic()
    result = room.sh(f"{server} & {server} & wait", timeout=0.5)
    assert result.timed_out
    in_time(began, 2)
    assert alive(mark) == []


@pytest.mark.thorough
def test_a_chain_of_shells_stops_at_the_bound(room: Room) -> None:
    """Each starts the next: a machine without a bound of processes comes to a halt."""
    script = (
        "#!/bin/bash\n[ $1 -gt 600 ] && { echo through; exit; }\nbash ./chain $(($1 + 1)); exit 1\n"
    )
    Path(room.hall.tree, "chain").write_text(script)
    result = room.sh("bash ./chain 1", timeout=20)
    assert "through" not in result.text() and result.status != 0
    assert "fork" in result.text("stderr") or result.limit or result.signal


def test_nothing_of_many_commands_is_left_as_a_zombie(room: Room) -> None:
    room.sh("true")
    for _ in range(40):
        room.sh("(setsid true &) ; sleep 0.001 &")
    broker = room.cage.broker_pid
    assert broker is not None
    ask = ["ps", "-o", "stat=", "--ppid", f"{broker},{os.getpid()}"]

    def zombies() -> bool:
        states = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.split()
        return any(state.startswith("Z") for state in states)

    assert until(lambda: not zombies())


def test_the_second_command_finds_the_same_small_environment(room: Room) -> None:
    with planted():
        first, second = (room.sh("env | sort").text() for _ in range(2))
    assert first == second and SECRET not in second


def test_a_cage_that_a_thread_started_outlives_the_thread(room: Room) -> None:
    """A bond to the thread that started it would end it with the thread."""
    results: list[Result] = []
    first = threading.Thread(target=lambda: results.append(room.sh("true")))
    first.start()
    first.join()
    assert room.sh("sleep 0.3; echo there").text() == "there\n" and results[0].ok


@best_of_three
def test_a_command_that_floods_and_does_not_end_is_bounded(room: Room) -> None:
    began = time.monotonic()
    result = room.sh("yes | tee /dev/stderr", timeout=0.5)
    assert result.timed_out
    in_time(began, 3)
    assert len(result.stdout) <= 1 << 16 and len(result.stderr) <= 1 << 16 and result.truncated


def test_output_of_the_streams_can_be_opened_again_by_name(room: Room) -> None:
    done = room.sh("echo a > /dev/stdout; echo b > /dev/stderr; echo c > /proc/self/fd/1")
    assert (done.text(), done.text("stderr")) == ("a\nc\n", "b\n"), done


def test_a_script_without_a_first_line_is_run_by_a_shell(room: Room) -> None:
    room.sh("printf 'echo plain $1\\n' > plain && chmod 755 plain")
    assert room.run(Exec("./plain", ("word",))).text() == "plain word\n"


def test_three_ways_not_to_start_are_told_apart(room: Room) -> None:
    room.sh("echo 'echo hi' > closed.sh; chmod 644 closed.sh")
    missing, closed = room.run(Exec("no-such-program")), room.run(Exec("./closed.sh"))
    away = room.run(Exec("true", cwd="no/such"))
    assert "not found" in (missing.failure or "") and "not executable" in (closed.failure or "")
    assert "'no/such'" in (away.failure or "")
    assert [r.status for r in (missing, closed, away)] == [None] * 3


def test_a_link_as_working_directory_does_not_lead_out(room: Room) -> None:
    room.sh("ln -sfn / out; ln -sfn /tmp out2; mkdir -p in; ln -sfn in inner")
    assert room.run(Exec("pwd", cwd="inner")).status == 0
    result = room.run(Exec("ls", (room.hall.outside,), cwd="out"))
    assert result.status != 0 and "secret.txt" not in result.text()


LAYOUTS = {
    "no repository": (),
    "a repository without hooks": ("mkdir .git",),
    "hooks that are a link": ("mkdir .git hooks", "ln -s ../hooks .git/hooks"),
    "a file in place of the repository": ("echo gitdir: /nowhere > .git",),
    "a link in place of the repository": ("mkdir real", "ln -s real .git"),
    "a link to nothing": ("ln -s /nowhere .git",),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_a_repository_starts(hall: Hall, layout: str) -> None:
    where = tempfile.mkdtemp(prefix="m31a-layout-", dir=hall.base)
    for line in LAYOUTS[layout]:
        subprocess.run(["/bin/sh", "-c", line], cwd=where, check=True)
    if hall.uid is not None:
        subprocess.run(["chown", "-hR", f"{hall.uid}:{hall.uid}", where], check=True)
    before = sorted(os.listdir(where))
    with OneShot(where) as shot:
        assert shot.run(by_operator(Shell("echo x > made && rm made"), "test")).ok
    assert sorted(os.listdir(where)) == before
    shutil.rmtree(where)


def test_a_killed_server_leaves_no_marks_in_the_directory(hall: Hall) -> None:
    """Covers and masks of a cage are in memory: nothing to be cleaned up after."""
    where = tempfile.mkdtemp(prefix="m31a-marks-", dir=hall.base)
    subprocess.run(["git", "init", "-q", where], check=True)
    if hall.uid is not None:
        subprocess.run(["chown", "-R", f"{hall.uid}:{hall.uid}", where], check=True)
    mark = tag()
    shot = OneShot(where)
    thread = threading.Thread(
        target=lambda: shot.run(by_operator(Shell(f"sleep {mark}"), "test")), daemon=True
    )
    thread.start()
    assert until(lambda: alive(mark))
    cage = shot._cage
    assert cage is not None and cage.broker_pid is not None
    os.kill(cage.broker_pid, 9)
    thread.join(20)
    assert until(lambda: not alive(mark))
    status = subprocess.run(
        ["git", "-c", "safe.directory=*", "status", "--porcelain", "--ignored"], cwd=where,
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert status.stdout == "" and sorted(os.listdir(where)) == [".git"]
    shot.close()


def test_nothing_is_done_between_fork_and_exec_of_the_server() -> None:
    """A forked copy of a threaded server can wait for ever for a lock that nobody will release."""
    runtime = Path(__file__).resolve().parents[2] / "runtime" / "sandbox"
    given = re.compile(r"preexec_fn\s*=")
    assert [path for path in runtime.rglob("*.py") if given.search(path.read_text("utf-8"))] == []


def test_a_killed_keeper_takes_its_tree_along(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without namespaces a process holds the tree together; if the kernel ends it, the broker does."""
    if landlock.version() < landlock.OLDEST:
        pytest.skip("this kernel has no Landlock of version 6")
    monkeypatch.setenv("M31A_SANDBOX", "landlock")
    mark, other = tag(), tag()
    with Cage(hall.spec(label=f"keeper-{uuid.uuid4().hex[:6]}")) as cage:
        cage.run(by_operator(Exec("true"), "test"))
        results: dict[str, Result] = {}

        def work(name: str, script: str) -> None:
            results[name] = cage.run(by_operator(Shell(script), "test"))

        scripts = {"lost": f"(setsid sleep {mark} &); sleep {mark}", "other": f"sleep {other}"}
        threads = [threading.Thread(target=work, args=row) for row in scripts.items()]
        for thread in threads:
            thread.start()
        assert until(lambda: len(alive(mark)) >= 2 and alive(other))
        with open(f"/proc/{_leader(mark)}/stat", encoding="latin-1") as file:
            keeper = int(file.read().rpartition(")")[2].split()[1])
        assert keeper != cage.broker_pid
        os.kill(keeper, 9)
        threads[0].join(20)
        assert results["lost"].failure and "killed" in results["lost"].failure
        assert until(lambda: not alive(mark)) and alive(other)
        for pid in alive(other):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 15)
        threads[1].join(20)
        assert results["other"].signal == 15
        assert cage.run(by_operator(Exec("true"), "test")).ok


def _leader(mark: str) -> int:
    """The shell that a keeper started: it names both sleepers."""
    for pid in alive(mark):
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            if file.read().startswith((b"/bin/sh", b"sh")):
                return pid
    raise AssertionError("no shell")
