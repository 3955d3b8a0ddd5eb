"""The page of a run, as the product serves it, while things happen."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from runtime import approvals
from runtime.journal import deltas
from runtime.models import Run
from tests.browser.watched import Watched
from tests.web.live_kit import ask, say


@pytest.mark.thorough
def test_a_run_is_watched_without_reload(watched: Watched) -> None:
    say(watched.run, 250)
    watched.open()
    page = watched.page
    assert watched.rows(200) == list(range(52, 252))
    with deltas.DeltaWriter(watched.run, "t", "spoken") as writer:
        writer.add("First part. ")
        line = page.locator("li.speaking[data-message=spoken]")
        expect(line).to_have_text("First part. ")
        assert watched.seqs()[-1] == 251
        writer.add("Second part.")
        expect(line).to_have_text("First part. Second part.")
    say(watched.run, 1, "First part. Second part.", message="spoken")
    expect(page.locator("li[data-seq='252']")).to_contain_text("First part. Second part.")
    expect(line).to_have_count(0)

    page.get_by_role("link", name=re.compile("Show earlier events")).click()
    watched.rows(252)
    assert watched.seqs() == list(range(1, 253))

    page.evaluate("scrollTo(0, 0)")
    say(watched.run, 2)
    page.get_by_role("button", name="3 new events").click()
    expect(page.locator("li[data-seq='254']")).to_be_in_viewport()
    assert len(watched.sockets) == 1
    assert watched.errors == []


@pytest.mark.thorough
def test_state_card_and_inbox_follow_an_approval(watched: Watched) -> None:
    watched.open()
    page = watched.page
    Run.objects.filter(pk=watched.run).update(state="waiting")
    expect(page.locator("#run-state")).to_have_class(re.compile("state-waiting"))
    page.locator("#cancel-run").click()
    page.locator("#cancel-reason").fill("because")
    page.locator("h1").click()
    ask(watched.run)
    count = approvals.waiting(watched.user).open  # others may have been left by other tests
    expect(page.locator("#inbox-count")).to_have_text(re.compile(rf"\b{count}$"))
    expect(page).to_have_title(re.compile(rf"^\({count}\) "))
    Run.objects.filter(pk=watched.run).update(state="running")
    expect(page.locator("#run-state")).to_have_class(re.compile("state-running"))
    expect(page.locator("#cancel-reason")).to_have_value("because")
    expect(page.locator("#cancel-reason")).to_be_visible()
    assert watched.errors == []


@pytest.mark.thorough
def test_other_tabs_and_other_pages_stay_connected(watched: Watched) -> None:
    watched.open("?tab=policy")
    Run.objects.filter(pk=watched.run).update(state="waiting")
    expect(watched.page.locator("#run-state")).to_have_class(re.compile("state-waiting"))
    watched.page.goto(f"{watched.server.url}/approvals/", wait_until="domcontentloaded")
    ask(watched.run)
    count = approvals.waiting(watched.user).open
    expect(watched.page.locator("#inbox-count")).to_have_text(re.compile(rf"\b{count}$"))
    assert watched.errors == []
