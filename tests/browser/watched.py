"""A page under observation."""

from __future__ import annotations

import json
from typing import Any

from playwright.sync_api import Page, WebSocket, expect

from runtime.models import User
from tests.web.live_server import Server


class Watched:
    """A page, the frames that went over its sockets, and what its console said."""

    def __init__(self, page: Page, server: Server, run: str, user: User) -> None:
        self.page, self.server, self.run, self.user = page, server, run, user
        self.sockets: list[WebSocket] = []
        self.got: list[dict[str, Any]] = []
        self.sent: list[dict[str, Any]] = []
        self.errors: list[str] = []
        page.on("websocket", self._watch)
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _watch(self, wire: WebSocket) -> None:
        self.sockets.append(wire)
        wire.on("framereceived", lambda text: self.got.append(json.loads(text)))
        wire.on("framesent", lambda text: self.sent.append(json.loads(text)))

    def open(self, query: str = "") -> None:
        """The page of the run, connected."""
        url = f"{self.server.url}/runs/{self.run}/{query}"
        self.page.goto(url, wait_until="domcontentloaded")
        self.live()

    def live(self) -> None:
        expect(self.page.locator("#live-status")).to_have_text("Live", timeout=40_000)

    def seqs(self) -> list[int]:
        """The numbers of the rows in the page."""
        found: list[int] = self.page.evaluate(
            "[...document.querySelectorAll('#timeline li[data-seq]')].map(li => +li.dataset.seq)"
        )
        return found

    def rows(self, count: int) -> list[int]:
        """Wait for that many rows."""
        expect(self.page.locator("#timeline li[data-seq]")).to_have_count(count, timeout=30_000)
        return self.seqs()
