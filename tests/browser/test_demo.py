"""The whole main job, as a person does it: `up`, the printed link, the button, the answer."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from playwright.sync_api import Browser, Page, WebSocket, expect

from tests.worker.installation import alive, until

ROOT = Path(__file__).resolve().parents[2]


class Site:
    """A running `m31a up` on a folder of its own."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="m31a-up-")
        env = {**os.environ, "M31A_DATA_DIR": f"{self._folder.name}/data"}
        self.process = subprocess.Popen(
            [sys.executable, str(ROOT / "manage.py"), "up", "--port", "0"],
            cwd=ROOT,
            env=env,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.link = re.search(r"http://\S+", self.process.stdout.readline())[0]  # type: ignore[index]

    def stop(self) -> None:
        """One Ctrl-C, and nothing is left."""
        family = psutil.Process(self.process.pid).children(recursive=True)
        self.process.send_signal(signal.SIGINT)
        self.process.wait(40)
        until(lambda: not alive(family))
        self.process.stdout.close()  # type: ignore[union-attr]
        self._folder.cleanup()


@pytest.fixture
def site() -> Iterator[Site]:
    running = Site()
    yield running
    if running.process.poll() is None:
        running.stop()


@pytest.fixture
def page(chromium: Browser) -> Iterator[Page]:
    context = chromium.new_context(viewport={"width": 1200, "height": 900})
    context.set_default_timeout(20_000)
    yield context.new_page()
    context.close()


def _listen(page: Page) -> list[dict[str, object]]:
    frames: list[dict[str, object]] = []

    def take(socket: WebSocket) -> None:
        socket.on("framereceived", lambda text: frames.append(json.loads(text)))

    page.on("websocket", take)
    return frames


def test_the_demo_from_the_printed_link_to_succeeded(site: Site, page: Page) -> None:
    frames, complaints = _listen(page), []
    page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
    page.goto(site.link, wait_until="domcontentloaded")
    page.get_by_role("button", name=re.compile("demo", re.I)).click()

    # The model speaks while the page is open, and what it does appears by itself.
    card = page.locator("#run-card")
    expect(card.get_by_text("git push origin mend-average").first).to_be_visible(timeout=60_000)
    timeline = page.locator("#timeline")
    expect(timeline).to_contain_text("calc/numbers.py")
    expect(timeline).to_contain_text("run verify first")
    expect(timeline.locator("ins, .added, .ins, td, tr").first).to_be_attached()

    card.get_by_role("button", name=re.compile("Approve")).first.click()
    expect(page.locator("#run-state")).to_contain_text("succeeded")
    expect(timeline).to_contain_text("Verification passed")
    expect(timeline).to_contain_text("Delivered")
    assert complaints == []
    _text_came_before_its_event(frames)
    site.stop()


def _text_came_before_its_event(frames: list[dict[str, object]]) -> None:
    """WebSocket frames: the first part of a text, and only later its message event."""
    methods = [frame["method"] for frame in frames]
    first_text = methods.index("live.deltas")
    completed = [
        index
        for index, frame in enumerate(frames)
        if frame["method"] == "live.rows" and "message.completed" in json.dumps(frame)
    ]
    assert completed, "no message was completed over the socket"
    assert first_text < completed[-1]
