"""A real Chromium, and pages of a real server in it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, expect, sync_playwright

from tests.browser.watched import Watched
from tests.databases import Template
from tests.web.live_kit import make_run, person, session_for
from tests.web.live_server import Server, serving

expect.set_options(timeout=20_000)  # for what only has to come at all
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """The system's Chromium."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("chromium is not installed")
    # Playwright's loop runs in this thread; the tests' own queries are meant to block it.
    with pytest.MonkeyPatch.context() as patch, sync_playwright() as playwright:
        patch.setenv("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def server(
    chromium: Browser,
    sqlite_template: Template,
    django_db_blocker: Any,
    request: pytest.FixtureRequest,
) -> Iterator[Server]:
    """A server and a fresh database for a file of tests, which may name its addresses in `URLS`,
    and in `BEAT_SECONDS` how soon silence counts as loss."""
    urls = getattr(request.module, "URLS", "m31a_site.urls")
    beat = getattr(request.module, "BEAT_SECONDS", 10)
    with django_db_blocker.unblock():
        sqlite_template.renew()
        with serving(urls=urls, beat_seconds=beat, recheck_seconds=0.5) as running:
            yield running
        sqlite_template.leave()


@pytest.fixture
def watched(chromium: Browser, server: Server, request: pytest.FixtureRequest) -> Iterator[Watched]:
    """A page of a new run, for a new person who is signed in."""
    name = f"p{abs(hash(request.node.nodeid)) % 10**9}"
    user = person(name, "submitter", "reviewer")
    context = chromium.new_context()
    context.add_cookies([{"name": "sessionid", "value": session_for(user), "url": server.url}])
    context.set_default_timeout(15000)
    yield Watched(context.new_page(), server, make_run(user), user)
    context.close()
