"""What one step costs: 400 scripted steps against the floor, in one process tree.

    python tests/benchmarks/steps.py [--strict] [--steps N] [--rounds N]

A step is a read, `run_tool true`, an edit, `run_tool true`, in a cycle. The floor does, per
step, what cannot be left out: one fsynced SQLite commit, and bubblewrap's `true` on every
second one. Prints rows `{name, value, bound, ratio, ok}` as JSON; times are milliseconds. Where
a machine's speed changes by half within seconds, one round cannot tell growth from that: the
growth is the median of all rounds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import manage  # noqa: E402

manage.inhabit()
BOUND_MS = 25.0
GROWTH = 1.2
BWRAP = [
    "bwrap", "--unshare-user", "--unshare-pid", "--unshare-net", "--ro-bind", "/usr", "/usr",
    "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64",
    "/lib64", "--proc", "/proc", "--dev", "/dev", "--", "true",
]  # fmt: skip


def script(steps: int) -> str:
    """The cycle, as a scripted provider reads it."""
    lines = []
    for number in range(steps - 1):
        lines.append(
            (
                {"kind": "read_file", "path": "notes.txt"},
                {"kind": "run_tool", "program": "true"},
                {"kind": "write_file", "path": "notes.txt", "content": f"line {number}\n"},
                {"kind": "run_tool", "program": "true"},
            )[number % 4]
        )
    lines.append({"kind": "ask_human", "question": "Done?"})
    return "\n".join(json.dumps(line) for line in lines) + "\n"


def repository(folder: Path) -> Path:
    """A git repository with one file."""
    root = folder / "repository"
    root.mkdir()
    (root / "notes.txt").write_text("start\n")
    git = ["git", "-C", str(root), "-c", "user.name=b", "-c", "user.email=b@localhost"]
    for rest in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *rest], check=True)
    return root


def product(folder: Path, steps: int) -> list[float]:
    """Seconds at which each step began, by the journal."""
    env = {**os.environ, "M31A_DATA_DIR": str(folder / "data")}
    (folder / "script.jsonl").write_text(script(steps))

    def call(*words: str) -> str:
        command = [sys.executable, str(ROOT / "manage.py"), "m31a", *words, "--json"]
        return subprocess.run(
            command, env=env, check=True, capture_output=True, text=True, cwd=ROOT
        ).stdout

    call("workspace", "add", "bench", str(repository(folder)), "--verify", "true")
    run = json.loads(
        call(
            "submit", "--workspace", "bench", "--objective", "Measure.", "--max-steps",
            str(steps + 1), "--provider", f"scripted:{folder / 'script.jsonl'}",
        )
    )["run"]  # fmt: skip
    call("work", "--until-idle")
    events = [json.loads(line) for line in call("events", run).splitlines()]
    if json.loads(call("status", run))["state"] != "waiting":
        raise SystemExit(f"the run did not come to its end: {events[-1]}")
    return [
        time.mktime(time.strptime(event["at"][:19], "%Y-%m-%dT%H:%M:%S"))
        + float(f"0.{event['at'][20:26]}")
        for event in events
        if event["type"] == "action.proposed"
    ]


def floor(folder: Path, steps: int) -> list[float]:
    """Milliseconds of each step of the floor."""
    database = sqlite3.connect(folder / "floor.sqlite3", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE step (n INTEGER, body TEXT)")
    times = []
    for number in range(steps):
        began = time.perf_counter()
        if number % 2:
            subprocess.run(BWRAP, check=True)
        database.execute("INSERT INTO step VALUES (?, ?)", (number, "x" * 800))
        times.append((time.perf_counter() - began) * 1000)
    return times


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    began, floors = [], []
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="m31a-bench-") as name:
            floors += floor(Path(name), options.steps // options.rounds)
            began.append(product(Path(name), options.steps))
    rows = judge(began, floors)
    print(json.dumps(rows, indent=1))
    return 1 if options.strict and not all(row["ok"] for row in rows) else 0


def cycles(began: list[float]) -> list[float]:
    """Milliseconds of a step, by cycles of four, so that each has the same mix."""
    steps = [(b - a) * 1000 for a, b in itertools.pairwise(began)]
    return [sum(steps[n : n + 4]) / 4 for n in range(0, len(steps) - 3, 4)]


def growth_of(times: list[float]) -> float:
    """How much more the last quarter of a round takes than the first."""
    quarter = max(1, len(times) // 4)
    return statistics.median(times[-quarter:]) / statistics.median(times[:quarter])


def judge(began: list[list[float]], floors: list[float]) -> list[dict[str, object]]:
    """The three rows."""
    rounds = [cycles(times) for times in began]
    pairs = [sum(floors[n : n + 2]) / 2 for n in range(0, len(floors) - 1, 2)]
    median, base = statistics.median(itertools.chain(*rounds)), statistics.median(pairs)
    growth = statistics.median(map(growth_of, rounds))
    return [
        {
            "name": "step_ms_median",
            "value": round(median, 2),
            "bound": BOUND_MS,
            "ratio": round(median / base, 2),
            "ok": median <= BOUND_MS,
        },
        {
            "name": "last_hundred_to_first",
            "value": round(growth, 3),
            "bound": GROWTH,
            "ratio": round(growth, 3),
            "ok": growth <= GROWTH,
        },
        {
            "name": "floor_ms_median",
            "value": round(base, 2),
            "bound": None,
            "ratio": 1.0,
            "ok": True,
        },
    ]


if __name__ == "__main__":
    raise SystemExit(main())
