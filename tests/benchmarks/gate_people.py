"""How long a question takes to the eye, and a click to the deed: a whole site and a browser.

Used by `gate.py`. Both ends of each measure lie on one machine and one clock: the browser's
`Date.now()`, and the time of the event in the journal.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from playwright.sync_api import Page, sync_playwright

from tests.worker.installation import Installation

FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
# When a card is first painted, and when a button on one is pressed.
WATCH = """
window.painted = {}; window.pressed = {};
const look = () => {
  for (const card of document.querySelectorAll("article.card.open")) {
    const id = card.dataset.card;
    if (id in window.painted) continue;
    window.painted[id] = 0;
    requestAnimationFrame(() => { window.painted[id] = Date.now(); });
  }
};
new MutationObserver(look).observe(document, { childList: true, subtree: true });
document.addEventListener("click", (event) => {
  const card = event.target.closest("button.approve")?.closest("article.card");
  if (card) window.pressed[card.dataset.card] = Date.now();
}, true);
"""


class Waits(NamedTuple):
    """Milliseconds of each sample."""

    cards: list[float]
    deeds: list[float]


def measure(samples: int) -> Waits:
    """Ask and answer so many questions, after two that only warm up."""
    folder = Path(tempfile.mkdtemp(prefix="m31a-bench-"))
    site = Installation(folder)
    try:
        site.start()
        site.run("workspace", "add", "bench", str(_repository(folder)), "--verify", "true")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=shutil.which("chromium"), args=FLAGS
            )
            page = browser.new_page()
            page.add_init_script(WATCH)
            link = site.json("user", "add", "bench", "--role", "reviewer")["link"]
            page.goto(f"{site.url}{link[link.index('/login/') :]}")
            run = _submit(site, folder, samples + 2)
            times = _answer(page, f"{site.url}/runs/{run}/", samples + 2)
            browser.close()
        found = _against(site, run, times)
        site.stop()
    finally:
        site.end()
        shutil.rmtree(folder, ignore_errors=True)
    return Waits(found.cards[2:], found.deeds[2:])


def _repository(folder: Path) -> Path:
    root = folder / "repository"
    root.mkdir()
    (root / "notes.txt").write_text("start\n")
    git = ["git", "-C", str(root), "-c", "user.name=b", "-c", "user.email=b@localhost"]
    for rest in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "start"]):
        subprocess.run([*git, *rest], check=True)
    return root


def _submit(site: Installation, folder: Path, questions: int) -> str:
    lines: list[dict[str, Any]] = [
        {"kind": "run_shell", "script": f"echo {number} >> log.txt"} for number in range(questions)
    ]
    lines.append({"kind": "ask_human", "question": "Done?"})
    script = folder / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    told = site.json(
        "submit", "--workspace", "bench", "--objective", "Measure.", "--mode", "safe",
        "--provider", f"scripted:{script}",
    )  # fmt: skip
    return str(told["run"])


def _answer(page: Page, address: str, questions: int) -> dict[str, tuple[float, float]]:
    """By approval: when its card was painted, and when it was approved."""
    page.goto(address)
    times: dict[str, tuple[float, float]] = {}
    for _ in range(questions):
        page.wait_for_function(
            "(known) => { const card = document.querySelector('article.card.open');"
            " return card && !known.includes(card.dataset.card)"
            " && window.painted[card.dataset.card]; }",
            arg=list(times),
        )
        card = page.locator("article.card.open").first
        name = str(card.get_attribute("data-card"))
        card.locator("button.approve").click()
        painted, pressed = page.evaluate("(id) => [window.painted[id], window.pressed[id]]", name)
        times[name] = (painted, pressed)
    page.get_by_text("Done?").first.wait_for()
    return times


def _against(site: Installation, run: str, times: dict[str, tuple[float, float]]) -> Waits:
    events = [json.loads(line) for line in site.run("events", run, "--json").splitlines()]
    asked: dict[str, float] = {}
    of_action: dict[str, str] = {}
    started: dict[str, float] = {}
    for event in events:
        payload = event["payload"]
        if event["type"] == "approval.requested":
            asked[payload["approval"]] = _at(event)
            of_action[payload["action"]] = payload["approval"]
        elif event["type"] == "action.started" and payload["action"] in of_action:
            started[of_action[payload["action"]]] = _at(event)
    names = list(times)
    return Waits(
        [times[name][0] - asked[name] for name in names],
        [started[name] - times[name][1] for name in names],
    )


def _at(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["at"].replace("Z", "+00:00")).timestamp() * 1000
