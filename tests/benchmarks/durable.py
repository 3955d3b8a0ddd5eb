"""What durability costs, and how soon work goes on: claims, answers, deaths, appends, chaos.

    python tests/benchmarks/durable.py [--strict] [--samples N] [--chaos-seconds S]

Starts a whole site in a temporary folder for what crosses processes, then measures the rest on
its database alone. The floor is one fsynced SQLite commit in the same folder. Prints rows
`{name, value, bound, ratio, ok}` as JSON; times are milliseconds unless the name says otherwise.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT))

import manage  # noqa: E402

manage.inhabit()

BOUNDS = {
    "claim_ms_p50": 10.0,
    "claim_ms_p99": 100.0,
    "claim_saturated_ms_p99": 100.0,
    "submit_to_first_event_ms_p95": 250.0,
    "decision_to_resume_ms_p95": 1000.0,
    "kill_to_next_claim_ms_max": 3000.0,
    "recovery_1500_events_ms_median": 300.0,
    "append_ms_p95": 3.0,
    "chaos_lost": 0,
    "chaos_stale_writes": 0,
    "chaos_repeated_effects": 0,
}
INFORMATIVE = (
    "claim_saturated_ms_p50",
    "chaos_recovery_ms_p50",
    "chaos_recovery_ms_p95",
    "floor_commit_ms_p50",
)


def quantile(values: list[float], part: float) -> float:
    """The value that so large a part of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * part))]


def floor(folder: Path, commits: int = 200) -> list[float]:
    """Milliseconds of single commits that are on the disk."""
    database = sqlite3.connect(folder / "floor.sqlite3", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE step (n INTEGER, body TEXT)")
    times = []
    for number in range(commits):
        began = time.perf_counter()
        database.execute("INSERT INTO step VALUES (?, ?)", (number, "x" * 800))
        times.append((time.perf_counter() - began) * 1000)
    database.close()
    return times


def chaos(seconds: float) -> dict[str, Any]:
    """The figures of the chaos test, which fails where anything is wrong."""
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-s", "-n", "0", "--chaos-seconds", str(seconds),
         "tests/durable/test_chaos.py"],
        cwd=ROOT, capture_output=True, text=True,
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if "chaos: {" in line]
    if not lines:
        raise SystemExit(f"the chaos came to no end:\n{done.stdout[-3000:]}")
    figures: dict[str, Any] = ast.literal_eval(lines[-1].partition("chaos: ")[2])
    return figures


def measure(folder: Path, samples: int) -> dict[str, float]:
    """Everything but the chaos."""
    from tests.worker.installation import Installation

    site = Installation(folder)
    os.environ["M31A_DATA_DIR"] = str(site.folder)
    os.environ["DJANGO_SETTINGS_MODULE"] = "m31a_site.settings"
    try:
        site.start()
        site.workspace()
        import django

        django.setup()
        from tests.benchmarks import durable_parts as parts

        found = parts.across_processes(samples)
        site.stop()
    finally:
        site.end()
    claims = parts.claims(workers=4, runs=100 + 10 * samples)
    crowded = parts.claims(workers=4, runs=100 + 10 * samples, work=0.0)
    appends = parts.appends(20 * samples)
    return {
        "claim_ms_p50": quantile(claims, 0.5),
        "claim_ms_p99": quantile(claims, 0.99),
        "claim_saturated_ms_p50": quantile(crowded, 0.5),
        "claim_saturated_ms_p99": quantile(crowded, 0.99),
        "submit_to_first_event_ms_p95": quantile(found.starts, 0.95),
        "decision_to_resume_ms_p95": quantile(found.resumes, 0.95),
        "kill_to_next_claim_ms_max": max(found.deaths),
        "recovery_1500_events_ms_median": quantile(parts.recoveries(1500, 7), 0.5),
        "append_ms_p95": quantile(appends, 0.95),
    }


def row(name: str, value: float, base: float) -> dict[str, object]:
    """One line of the result."""
    bound = BOUNDS.get(name)
    timed = "_ms" in name
    return {
        "name": name,
        "value": round(value, 2),
        "bound": bound,
        "ratio": round(value / base, 2) if timed else None,
        "ok": bound is None or value <= bound,
    }


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--chaos-seconds", type=float, default=20.0)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="m31a-bench-"))
    try:
        base = floor(folder)
        values = measure(folder, options.samples)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    wild = chaos(options.chaos_seconds)
    values |= {
        "chaos_lost": wild["lost"],
        "chaos_stale_writes": wild["stale_writes"],
        "chaos_repeated_effects": wild["repeated"],
        "chaos_recovery_ms_p50": 1000 * wild["recovery_p50_s"],
        "chaos_recovery_ms_p95": 1000 * wild["recovery_p95_s"],
        "floor_commit_ms_p50": quantile(base, 0.5),
    }
    rows = [row(name, values[name], quantile(base, 0.5)) for name in (*BOUNDS, *INFORMATIVE)]
    print(json.dumps(rows, indent=1))
    return 1 if options.strict and not all(line["ok"] for line in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
