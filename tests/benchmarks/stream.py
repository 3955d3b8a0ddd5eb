"""How fast and how whole a model's words reach the people who watch.

    python tests/benchmarks/stream.py [--strict] [--samples N] [--seconds S]

A whole site with one worker, a model server on loopback that speaks OpenAI's protocol, a real
browser, and 20 sockets that do what the page's module does. Prints rows
`{name, value, bound, ratio, ok}` as JSON; `ratio` is against what the joining of words alone
takes, the pace of the words, or the start of an empty Python.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import manage  # noqa: E402

manage.inhabit()

from playwright.sync_api import sync_playwright  # noqa: E402

from tests.benchmarks.stream_parts import MARK, RECITE, Listener, Memory, Speaker, sign_in  # noqa: E402
from tests.worker.installation import COMMAND, Installation  # noqa: E402

FIRST_MS, JOIN_MS = 150.0, 50.0
RATE, BROWSERS, PER_PERSON = 200, 20, 5
GROWTH_MIB = 8.0
IMPORT_MS = 15.0
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
LIBRARIES = ("openai", "anthropic", "pydantic_ai", "httpx2", "genai_prices", "xllamacpp")
WATCH = """
window.marks = {};
const look = () => {
  for (const line of document.querySelectorAll("li.speaking"))
    for (const [, number] of line.textContent.matchAll(/mark-(\\d+) /g))
      if (!(number in window.marks)) {
        window.marks[number] = 0;
        requestAnimationFrame(() => { window.marks[number] = Date.now(); });
      }
};
new MutationObserver(look).observe(document, { childList: true, subtree: true, characterData: true });
"""


def row(name: str, value: float, bound: float, base: float) -> dict[str, object]:
    """A measure that must stay below or at its bound."""
    shown = round(value, 3)
    return {
        "name": name,
        "value": shown,
        "bound": bound,
        "ratio": round(value / base, 2),
        "ok": shown <= bound,
    }


def p95(values: list[float]) -> float:
    """The value that 95 of a hundred do not exceed."""
    return sorted(values)[min(len(values) - 1, int(len(values) * 0.95))]


def first_words(site: Installation, speaker: Speaker, samples: int) -> list[float]:
    """Milliseconds from the model's socket to the painted page, one for each answer."""
    run = submit(site, MARK)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        page = browser.new_page()
        page.add_init_script(WATCH)
        link = site.json("user", "add", "watcher", "--role", "reviewer")["link"]
        page.goto(f"{site.url}{link[link.index('/login/') :]}")
        page.goto(f"{site.url}/runs/{run}/")
        page.wait_for_function(
            "(last) => window.marks[last] > 0", arg=samples - 1, timeout=60_000 + 3000 * samples
        )
        marks: dict[str, float] = page.evaluate("window.marks")
        browser.close()
    seen = {int(number): at for number, at in marks.items() if at}
    # The page was opened while the first ones were said.
    numbers = [number for number in sorted(seen) if number >= 2]
    if len(numbers) < samples - 4:
        raise SystemExit(f"only {len(numbers)} of {samples} words were seen")
    return [seen[number] - speaker.sent_at[number] for number in numbers]


def submit(site: Installation, objective: str) -> str:
    """A run that the model server works on."""
    told = site.json("submit", "--workspace", "w", "--objective", objective, "--max-steps", "500")
    return str(told["run"])


async def recital(site: Installation, speaker: Speaker) -> list[Listener]:
    """Twenty sockets on one run while the model recites."""
    cookies = [sign_in(site, f"reader{number}") for number in range(BROWSERS // PER_PERSON)]
    run = submit(site, RECITE)
    listeners = [Listener(run) for _ in range(BROWSERS)]
    joined = [asyncio.Event() for _ in listeners]
    tasks = [
        asyncio.create_task(
            listener.listen(site.url, cookies[number // PER_PERSON], speaker, joined[number])
        )
        for number, listener in enumerate(listeners)
    ]
    waiting = asyncio.gather(*(one.wait() for one in joined))
    done, _ = await asyncio.wait([waiting, *tasks], timeout=60, return_when="FIRST_COMPLETED")
    if waiting not in done:
        raise SystemExit(f"a socket did not join: {[task.exception() for task in done]}")
    speaker.ready.set()
    await asyncio.wait_for(asyncio.gather(*tasks), 120)
    return listeners


def importing(site: Installation) -> list[dict[str, object]]:
    """What providers cost a command that asks no model."""
    code = (
        "import sys; sys.argv = ['m31a', 'status', '--json']; import runpy, atexit;"
        f"atexit.register(lambda: print([n for n in {LIBRARIES} if n in sys.modules],"
        " file=sys.stderr)); runpy.run_module('m31a_site.console', run_name='__main__')"
    )
    env = {**site.env, "PYTHONPATH": str(ROOT)}
    told = subprocess.run([COMMAND[0], "-c", code], env=env, capture_output=True, text=True)
    if told.returncode or not told.stderr.rstrip().endswith("]"):
        raise SystemExit(f"the command failed: {told.stdout}{told.stderr}")
    loaded = [name for name in LIBRARIES if f"'{name}'" in told.stderr]
    empty = start("pass", env)
    return [
        row("libraries_loaded_without_a_model", len(loaded), 0, 1),
        row("provider_import_ms", start("import runtime.providers", env) - empty, IMPORT_MS, empty),
    ]


def start(code: str, env: dict[str, str]) -> float:
    """Milliseconds that Python needs for some code, the best of nine."""
    # What every command loads anyway is no cost of the providers.
    base = "import concurrent.futures, urllib.parse, orjson, django.conf, runtime.core.actions; "
    times = []
    for _ in range(9):
        began = time.perf_counter()
        subprocess.run([COMMAND[0], "-c", base + code], env=env, check=True)
        times.append((time.perf_counter() - began) * 1000)
    return min(times)


def measure(samples: int, seconds: int) -> list[dict[str, object]]:
    """All rows."""
    folder = Path(tempfile.mkdtemp(prefix="m31a-bench-"))
    site = Installation(folder)
    speaker = Speaker(samples, RATE, seconds)
    site.env |= {"M31A_PROVIDER": "openai:bench", "OPENAI_BASE_URL": speaker.server.url}
    try:
        site.start("--workers", "1")
        site.workspace()
        notes = folder / "w" / "notes.txt"
        notes.write_text("".join(f"line {number}\n" for number in range(500)))
        subprocess.run(["git", "-C", str(folder / "w"), "add", "-A"], check=True)
        commit = ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", "two"]
        subprocess.run(["git", "-C", str(folder / "w"), *commit], check=True)
        first = first_words(site, speaker, samples)
        with Memory(site) as memory:
            listeners = asyncio.run(recital(site, speaker))
        growth = memory.growth(speaker.recital[0], speaker.recital[-1])
        rows = importing(site)
        site.stop()
    finally:
        site.end()
        speaker.server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    lost = sum(listener.text != speaker.whole for listener in listeners)
    faults = sum(len(listener.faults) for listener in listeners)
    lags = [1000 * lag for listener in listeners for lag in listener.arrived]
    took = speaker.recital[-1] - speaker.recital[0]
    pace = (len(speaker.recital) - 1) / took
    return [
        row("first_word_ms_p95", p95(first), FIRST_MS, JOIN_MS),
        row("first_word_ms_median", statistics.median(first), FIRST_MS, JOIN_MS),
        row("words_a_second_short_of_200", max(0.0, RATE - pace), 2, RATE),
        row("browsers_that_lost_words", lost, 0, BROWSERS),
        row("parts_or_rows_out_of_order", faults, 0, BROWSERS),
        row("word_lag_ms_p95", p95(lags), 2 * FIRST_MS, JOIN_MS),
        row("worker_memory_growth_mib", growth, GROWTH_MIB, 1),
        *rows,
    ]


def main() -> int:
    """Measure, print, judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--samples", type=int, default=40)
    parser.add_argument("--seconds", type=int, default=10)
    options = parser.parse_args()
    os.environ.setdefault("NO_COLOR", "1")
    rows: list[dict[str, Any]] = measure(options.samples, options.seconds)
    print(json.dumps(rows, indent=1))
    return 1 if options.strict and not all(one["ok"] for one in rows) else 0


if __name__ == "__main__":
    raise SystemExit(main())
