"""Control groups: what is recorded is what holds, and nothing of them is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cage_making import Hall, alive, tag, until

from runtime.core.commands import Shell
from runtime.core.errors import Unavailable
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage, Limits, cgroups


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A directory of cgroup v2 for these tests alone. Skips where there can be none."""
    mount = cgroups._mount()
    path = f"{mount}/m31a-test-{os.getpid()}"
    try:
        os.mkdir(path)
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    monkeypatch.setenv("M31A_CGROUP", path)
    yield path
    assert until(lambda: not _below(path)), _below(path)
    os.rmdir(path)


def _below(path: str) -> list[str]:
    return [entry.name for entry in os.scandir(path) if entry.is_dir()]


def test_a_command_is_in_a_group_of_its_own_from_its_first_instruction(
    hall: Hall, place: str
) -> None:
    seen: list[list[int]] = []
    with Cage(hall.spec()) as cage:

        def look(stream: str, data: bytes) -> None:
            (name,) = _below(place)
            seen.append([int(pid) for pid in Path(place, name, "cgroup.procs").read_text().split()])
            Path(hall.tree, "go").touch()

        script = (
            "rm -f go; sleep 60 & (sleep 60 &); echo ready; while [ ! -e go ]; do sleep 0.02; done"
        )
        result = cage.run(by_operator(Shell(script), "test"), on_output=look)
        assert result.status == 0 and len(seen[0]) >= 4  # the first process, the shell, two
        assert result.attestation["end"] == "cgroup.kill+pidfd"
        assert not cage.run(by_operator(Shell("ls /sys"), "test")).ok  # groups are out of its reach
    assert _below(place) == []


def test_what_is_recorded_is_what_is_there(hall: Hall, place: str) -> None:
    found = cgroups.find()
    assert found is not None and found.path == place
    known = set(Path(place, "cgroup.controllers").read_text().split())
    assert found.controllers == known & set(cgroups.WANTED)
    with Cage(hall.spec()) as cage:
        facts = cage.run(by_operator(Shell("true"), "test")).attestation
    assert facts["memory_limit"] == ("cgroup" if "memory" in known else "rlimit+watcher")
    assert facts["process_limit"] == ("cgroup" if "pids" in known else "rlimit")
    assert facts["cpu_limit"] == "cgroup accounting+watcher"


def test_without_a_group_that_is_recorded(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M31A_CGROUP", "none")
    with Cage(hall.spec()) as cage:
        facts = cage.run(by_operator(Shell("true"), "test")).attestation
    assert (facts["memory_limit"], facts["process_limit"]) == ("rlimit+watcher", "rlimit")
    assert (facts["cpu_limit"], facts["end"]) == ("watcher", "pidfd")


@pytest.mark.thorough
@pytest.mark.parametrize("backend", ["bubblewrap", "landlock"])
def test_a_hundred_processes_end_with_their_group(
    hall: Hall, place: str, monkeypatch: pytest.MonkeyPatch, backend: str
) -> None:
    monkeypatch.setenv("M31A_SANDBOX", backend)
    mark = tag()
    with Cage(hall.spec()) as cage:
        try:
            cage.run(by_operator(Shell("true"), "test"))
        except Unavailable as error:
            pytest.skip(str(error))
        script = f"for i in $(seq 100); do setsid sleep {mark} & done; wait"
        result = cage.run(by_operator(Shell(script), "test"), timeout=1.5)
    assert result.timed_out and alive(mark) == []


def test_the_group_counts_the_processor_time(hall: Hall, place: str) -> None:
    with Cage(hall.spec()) as cage:
        script = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
        result = cage.run(by_operator(Shell(script), "test"))
    assert 30 < result.cpu_ms < 10_000


def test_groups_of_a_server_that_was_killed_are_removed_by_the_next(hall: Hall, place: str) -> None:
    mark = tag()
    code = (
        "import os, subprocess, sys, time\nfrom runtime.sandbox import cgroups, Limits\n"
        "leaf = cgroups.Leaf(cgroups.find(), Limits())\n"
        f"child = subprocess.Popen(['sleep', '{mark}'], start_new_session=True)\n"
        "os.write(leaf.join, str(child.pid).encode())\nprint('there', flush=True)\ntime.sleep(99)\n"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": str(root)}
    ) as server:  # fmt: skip
        assert server.stdout is not None and server.stdout.readline() == b"there\n"
        assert cgroups.sweep(place) == 0  # it lives
        server.send_signal(signal.SIGKILL)
    assert len(alive(mark)) == 1 and len(_below(place)) == 1
    assert cgroups.sweep(place) == 1
    assert alive(mark) == [] and _below(place) == []


def test_a_directory_that_cannot_be_used_stops_everything(
    hall: Hall, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("M31A_CGROUP", str(tmp_path))
    with Cage(hall.spec()) as cage, pytest.raises(Unavailable, match="M31A_CGROUP"):
        cage.run(by_operator(Shell("true"), "test"))


def test_the_bounds_that_are_written(tmp_path: Path) -> None:
    """This machine's groups may lack the controllers: the files are looked at instead."""
    for name in ("memory.max", "memory.swap.max", "memory.oom.group", "pids.max", "cpu.max"):
        (tmp_path / name).write_text("max")
    limits = Limits(memory_bytes=1 << 20, processes=7, cpus=0.5)
    cgroups.bound(str(tmp_path), frozenset({"memory", "pids", "cpu"}), limits)
    text = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert text["memory.max"].startswith("1048576") and text["memory.swap.max"].startswith("0")
    assert text["pids.max"].startswith("7") and text["cpu.max"].startswith("50000 100000")


def test_what_a_group_counted_is_read(tmp_path: Path) -> None:
    (tmp_path / "cpu.stat").write_text("usage_usec 1234567\nuser_usec 1\n")
    (tmp_path / "memory.peak").write_text("4096\n")
    (tmp_path / "memory.events").write_text("low 0\noom 1\noom_kill 1\n")
    (tmp_path / "pids.events").write_text("max 3\n")
    assert cgroups.account(str(tmp_path)) == cgroups.Account(1234, 4096, "memory_bytes", True)
    assert cgroups.account(str(tmp_path / "gone")) == cgroups.Account()


def test_the_end_by_the_kernels_memory_bound_is_named(hall: Hall) -> None:
    from runtime.sandbox import ending, wire
    from runtime.sandbox.command import Verdict

    gone = Verdict(None, wire.ENDED, 5, 6, "")
    end = ending.judge(gone, cgroups.Account(7, 8, "memory_bytes"), Limits())
    assert (end.status, end.signal, end.limit) == (None, 9, "memory_bytes")
    assert (end.verdict.cpu_ms, end.verdict.peak_memory) == (7, 8)
    failed = Verdict(3, wire.ENDED, 5, 6, "")
    assert (
        ending.judge(failed, cgroups.Account(processes_refused=True), Limits()).limit == "processes"
    )
    fine = Verdict(0, wire.ENDED, 5, 6, "")
    assert ending.judge(fine, cgroups.Account(processes_refused=True), Limits()).limit is None
