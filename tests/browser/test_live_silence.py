"""A server that says nothing: `live.js` counts the seconds, few of them here."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.browser.watched import Watched
from tests.web.live_kit import say

URLS = "tests.browser.live_pages"
BEAT_SECONDS = 1


@pytest.mark.thorough
def test_F48_a_server_that_stands_still_counts_as_lost(watched: Watched) -> None:
    watched.open()
    watched.rows(1)
    watched.server.process.suspend()
    try:
        status = watched.page.locator("#live-status")
        expect(status).to_have_text(re.compile("^State as of"), timeout=30_000)
    finally:
        watched.server.process.resume()
    say(watched.run, 3)
    watched.live()
    assert watched.rows(4) == [1, 2, 3, 4]
