"""What confinement costs: one command, the end of a tree, a flood of output.

    python tests/benchmarks/sandbox.py [--strict] [--rounds N]

From a process with Django loaded and 300 MB resident, as a worker may be. A confined `true` goes
through a run's own cage; its floors are plain `subprocess.run` and bubblewrap with the least that
starts a program, and all cases take turns. Prints rows `{name, value, bound, ratio, ok}` as JSON;
the ratio is that to bubblewrap, or to the bound.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "cage")]

import manage  # noqa: E402

manage.inhabit()
RESIDENT = 300 << 20
TIMES_BWRAP, TIMES_PLAIN = 1.5, 2.0
KILL_MS, TREE = 200.0, 100
OUTPUT, GROWTH_MIB = 1 << 30, 16.0
MINIMAL = [
    "bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/usr", "/usr",
    "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64",
    "/lib64", "--proc", "/proc", "--dev", "/dev", "--", "true",
]  # fmt: skip
Row = dict[str, object]


def row(name: str, value: float, bound: float | None, ratio: float) -> Row:
    """One line of the answer."""
    ok = bound is None or value <= bound
    shown = None if bound is None else round(bound, 2)
    return {
        "name": name,
        "value": round(value, 2),
        "bound": shown,
        "ratio": round(ratio, 2),
        "ok": ok,
    }


def grow() -> bytearray:
    """A worker's own weight; keep what this returns."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "m31a_site.settings")
    import django

    django.setup()
    ballast = bytearray(max(0, RESIDENT - resident()))
    ballast[::4096] = b"x" * len(ballast[::4096])
    return ballast


def resident() -> int:
    """Bytes of this process that are in memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def commands(rounds: int) -> list[Row]:
    """Milliseconds of a `true`, each way."""
    from workspace_kit import Site

    from runtime.core.commands import Exec
    from runtime.core.errors import M31AError
    from runtime.policy.authorised import by_operator
    from runtime.sandbox import Cage

    true = by_operator(Exec("true"), "benchmark")
    site = Site()
    site.write("notes.txt", "text\n")
    site.commit()
    site.start()
    spec = site.files.spec("benchmark")
    cages: dict[str, Cage] = {"confined": Cage(spec), "alone": Cage(spec)}
    os.environ["M31A_SANDBOX_SESSIONS"] = "off"
    cages["alone"].run(true)
    del os.environ["M31A_SANDBOX_SESSIONS"]
    cases: dict[str, Callable[[], object]] = {
        "plain": lambda: subprocess.run(["true"], check=True),
        "bwrap": lambda: subprocess.run(MINIMAL, check=True),
        "confined": lambda: cages["confined"].run(true),
        "confined, namespaces of its own": lambda: cages["alone"].run(true),
        "confined with hosts": lambda: cages["confined"].run(true, hosts=["example.org"]),
    }
    for name in ("landlock", "none"):
        if name == "landlock":
            os.environ["M31A_SANDBOX"] = name
        made = Cage(replace(spec, accepts=name))
        try:
            if not made.run(true).ok:
                continue
        except M31AError:
            continue
        finally:
            os.environ.pop("M31A_SANDBOX", None)
        cages[name] = made
        cases[name] = lambda made=made: made.run(true)  # type: ignore[misc]
    times: dict[str, list[float]] = {name: [] for name in cases}
    try:
        for number in range(rounds + 5):
            for name, call in cases.items():
                began = time.perf_counter()
                call()
                if number >= 5:
                    times[name].append((time.perf_counter() - began) * 1000)
    finally:
        for cage in cages.values():
            cage.close()
        site.close()
    medians = {name: statistics.median(found) for name, found in times.items()}
    floor = medians["bwrap"]
    bounds = {"confined": TIMES_BWRAP * floor}
    rows = [
        row(f"true_ms {name}", value, bounds.get(name), value / floor)
        for name, value in medians.items()
    ]
    to_plain = medians["confined"] / medians["plain"]
    return [*rows, row("confined_to_plain", to_plain, TIMES_PLAIN, to_plain)]


def ends(rounds: int = 5) -> list[Row]:
    """Milliseconds from the wish to the last process's end, by wish and by force."""
    from cage_making import Hall, alive, tag

    from runtime.core.commands import Shell
    from runtime.policy.authorised import by_operator
    from runtime.sandbox import Cage

    hall = Hall()
    found: dict[str, list[float]] = {"by wish": [], "by force": []}
    stubborn = 'trap "" TERM HUP INT; '
    try:
        for way, took in found.items():
            for _ in range(rounds):
                mark, cancel = tag(), threading.Event()
                before = stubborn if way == "by force" else ""
                script = (
                    f"{before}for i in $(seq {TREE}); do setsid sleep {mark} & done; echo; wait"
                )
                cage = Cage(hall.spec())
                started = threading.Event()
                command = by_operator(Shell(script), "benchmark")
                thread = threading.Thread(
                    target=cage.run,
                    args=(command,),
                    kwargs={"cancel": cancel, "on_output": lambda *_, s=started: s.set()},
                )
                thread.start()
                started.wait()
                while len(alive(mark)) < TREE:
                    time.sleep(0.05)
                began = time.perf_counter()
                cancel.set() if way == "by wish" else cage.close()
                thread.join()
                took.append((time.perf_counter() - began) * 1000)
                if alive(mark):
                    raise SystemExit("processes are left")
                cage.close()
    finally:
        hall.close()
    return [
        row(f"end_of_{TREE}_processes_ms {way}", max(took), KILL_MS, max(took) / KILL_MS)
        for way, took in found.items()
    ]


def flood() -> list[Row]:
    """How much this process grows while a command prints a GiB, and how fast that goes."""
    from cage_making import Hall

    hall = Hall()
    most = before = 0

    def look(*_: object) -> None:
        nonlocal most
        most = max(most, resident())

    try:
        hall.sh("head -c 10000000 /dev/zero")
        before = most = resident()
        seen = iter(range(1 << 60))
        began = time.perf_counter()
        result = hall.sh(
            f"head -c {OUTPUT} /dev/zero",
            timeout=120,
            on_output=lambda *_: look() if next(seen) % 64 == 0 else None,
        )
        seconds = time.perf_counter() - began
        if result.stdout_bytes != OUTPUT or len(result.stdout) > 64 << 10:
            raise SystemExit(f"not everything was drained: {result.stdout_bytes}")
    finally:
        hall.close()
    growth = (most - before) / (1 << 20)
    return [
        row("growth_over_1_GiB_of_output_MiB", growth, GROWTH_MIB, growth / GROWTH_MIB),
        row("1_GiB_of_output_s", seconds, None, seconds),
    ]


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    ballast = grow()
    rows = [*commands(options.rounds), *ends(), *flood()]
    del ballast
    print(json.dumps(rows, indent=1))
    return 1 if options.strict and not all(one["ok"] for one in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
