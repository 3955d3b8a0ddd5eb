"""Every limit bites, and the result names it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cage_making import Hall, alive, tag
from sessions import altered

from runtime.core.commands import Shell
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage, Limits, Result
from tests.clock import begun, best_of_three, in_time, under

MIB = 1 << 20


@contextmanager
def bounded(hall: Hall, **limits: float) -> Iterator[Cage]:
    with Cage(hall.spec(Limits(**limits))) as cage:  # type: ignore[arg-type]
        yield cage


def run(hall: Hall, script: str, timeout: float = 20, **limits: float) -> Result:
    with bounded(hall, **limits) as cage:
        return cage.run(by_operator(Shell(script), "test"), timeout=timeout)


def python(code: str) -> str:
    return f"exec python3 -I -c '{code}'"


@best_of_three
def test_wall_time(hall: Hall) -> None:
    result = run(hall, "sleep 9", timeout=0.2)
    assert result.timed_out and result.limit is None
    under(result.duration_ms / 1000, 2)
    with bounded(hall, wall_seconds=0.2) as cage:
        assert cage.run(by_operator(Shell("sleep 9"), "test")).timed_out


@best_of_three
def test_processor_time_of_all_processes_together(hall: Hall) -> None:
    mark = tag()
    began = time.monotonic()
    burn = "(while :; do :; done) &"
    result = run(hall, f"sleep {mark} & {burn} {burn} wait", cpu_seconds=0.5)
    assert (result.limit, result.status, result.timed_out) == ("cpu_seconds", None, False)
    assert result.cpu_ms >= 500
    in_time(began, 8)
    assert alive(mark) == []
    # children that have ended count, too
    result = run(hall, "while :; do (i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done); done",
                 cpu_seconds=0.5)  # fmt: skip
    assert result.limit == "cpu_seconds"


def test_memory_of_all_processes_together(hall: Hall) -> None:
    grow = "b = bytearray(40 << 20)\nimport time; time.sleep(9)"
    script = " & ".join([f"python3 -I -c '{grow}'"] * 4) + " & wait"
    result = run(hall, script, memory_bytes=128 * MIB)
    assert (result.limit, result.status) == ("memory_bytes", None)


def test_memory_of_one_process(hall: Hall) -> None:
    result = run(hall, python("b = []\nwhile True: b.append(bytearray(1 << 20))"),
                 memory_bytes=128 * MIB)  # fmt: skip
    assert result.limit == "memory_bytes" and result.status != 0
    assert result.peak_memory <= 160 * MIB


@best_of_three
def test_processes(hall: Hall) -> None:
    code = (
        "import os, time\nwhile True:\n  try:\n    if os.fork() == 0: time.sleep(9); os._exit(0)\n"
        "  except BlockingIOError: break\ntime.sleep(0.6); raise SystemExit(3)"
    )
    result = run(hall, python(code), processes=20)
    begun(result.limit)
    assert (result.limit, result.status) == ("processes", 3)
    mild = code.replace("raise SystemExit(3)", "raise SystemExit(0)")
    result = run(hall, python(mild), processes=20)  # it came to terms with it
    assert (result.limit, result.status) == (None, 0)


def test_threads_are_processes_to_the_kernel(hall: Hall) -> None:
    code = (
        "import threading, time\nfor n in range(99):\n"
        "  threading.Thread(target=time.sleep, args=(1,), daemon=True).start()"
    )
    script = f"python3 -I -c '{code}' || {{ sleep 0.4; exit 4; }}"
    result = run(hall, script, processes=20)
    assert result.status == 4 and "can't start new thread" in result.text("stderr")


@best_of_three
def test_open_files(hall: Hall) -> None:
    code = (
        'import os, time\nf = []\nwhile True:\n  try: f.append(os.open("/dev/null", 0))\n'
        "  except OSError: break\nprint(len(f)); time.sleep(0.6); raise SystemExit(3)"
    )
    result = run(hall, python(code), open_files=64)
    begun(result.limit)
    assert (result.limit, result.status) == ("open_files", 3)
    assert 50 < int(result.stdout) < 64


def test_size_of_one_file(hall: Hall) -> None:
    result = run(hall, "head -c 3000000 /dev/zero > big", file_bytes=MIB)
    assert (result.limit, result.signal) == ("file_bytes", 25)
    result = run(hall, "(head -c 3000000 /dev/zero > big); exit 5", file_bytes=MIB)
    assert result.status == 5


@best_of_three
def test_total_output(hall: Hall) -> None:
    began = time.monotonic()
    result = run(hall, "yes & yes >&2", total_output_bytes=MIB, output_bytes=1000)
    assert (result.limit, result.timed_out, result.cancelled) == (
        "total_output_bytes",
        False,
        False,
    )
    assert not result.ok
    in_time(began, 3)
    assert result.stdout_bytes + result.stderr_bytes >= MIB and len(result.stdout) <= 1000
    assert run(hall, "head -c 900000 /dev/zero", total_output_bytes=MIB).ok


def test_bytes_written_to_disk(hall: Hall) -> None:
    if hall.sh("true").attestation["written_limit"] != "io-accounting":
        pytest.skip("this kernel does not count what a process writes")
    script = "while :; do head -c 4000000 /dev/zero > f; done"
    result = run(hall, script, written_bytes=32 * MIB)
    assert (result.limit, result.status) == ("written_bytes", None)


def test_size_and_number_of_files_in_memory(hall: Hall) -> None:
    result = run(hall, "head -c 9000000 /dev/zero > /tmp/f; wc -c < /tmp/f", tmpfs_bytes=MIB)
    assert int(result.stdout.split()[0]) == MIB and b"No space" in result.stderr
    code = 'n = 0\nwhile True:\n  open(f"/tmp/{n}", "w").close(); n += 1'
    assert run(hall, python(code), tmpfs_files=500).limit == "tmpfs_files"


def test_a_command_is_not_charged_with_the_machines_own_files_while_it_is_set_up(
    hall: Hall, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M31A_SANDBOX_SESSIONS", "off")
    tmp_path.chmod(0o755)
    always = ("supervised", "WATCH_EVERY = 0.2", "WATCH_EVERY = 0.0")
    with altered(tmp_path, always), bounded(hall, tmpfs_files=200) as cage:
        limits = [cage.run(by_operator(Shell("true"), "test")).limit for _ in range(20)]
    assert limits == [None] * 20


def test_a_command_within_its_limits_names_none(hall: Hall) -> None:
    result = run(hall, "echo ok; exit 3")
    assert (result.limit, result.status) == (None, 3)
