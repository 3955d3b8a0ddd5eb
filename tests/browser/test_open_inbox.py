"""An open inbox says what was asked, what was settled and what became overdue, without being
loaded anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from runtime import approvals
from runtime.models import Approval, User
from tests.web import factories
from tests.web.live_kit import session_for
from tests.web.live_server import Server


@pytest.fixture(scope="module")
def eve(server: Server) -> User:
    """Submits and reviews."""
    return factories.person("eve", "submitter", "reviewer")


@pytest.fixture
def page(chromium: Browser, server: Server, eve: User) -> Iterator[Page]:
    """The page that eve is about to open."""
    context = chromium.new_context(base_url=server.url)
    context.add_cookies([{"name": "sessionid", "value": session_for(eve), "url": server.url}])
    context.set_default_timeout(15000)
    yield context.new_page()
    context.close()


@pytest.mark.thorough
def test_an_open_inbox_and_its_badge_tell_what_became_overdue(page: Page, eve: User) -> None:
    place = factories.workspace("overdue")
    fresh, late = (factories.Story(eve, place).ask() for _ in range(2))
    page.goto("/approvals/")
    badge = page.locator("#inbox-count")
    count = approvals.waiting(eve).open
    expect(badge).to_have_text(f"open: {count}")
    expect(page.locator(".reminder")).to_have_count(0)
    since = datetime.now(UTC) - timedelta(hours=13)
    Approval.objects.filter(pk=late.pk).update(
        requested_at=since,
        expires_at=since + timedelta(hours=24),
        remind_at=since + timedelta(hours=12),
    )
    assert approvals.remind_due() == 1
    expect(badge).to_have_class("count overdue")
    expect(badge).to_have_text(f"open, 1 overdue: {count}")
    reminder = page.locator(f"#card-{late.pk} .reminder")
    expect(reminder).to_contain_text("waits since", timeout=30_000)
    expect(page.locator(f"#card-{fresh.pk} .reminder")).to_have_count(0)
    assert Axe().run(page).response["violations"] == []
    approvals.decide(late.pk, by=eve, verdict="deny", comment="too late")


@pytest.mark.thorough
def test_F1_a_question_settled_elsewhere_turns_and_a_new_one_appears(page: Page, eve: User) -> None:
    place = factories.workspace("elsewhere")
    first = factories.Story(eve, place).ask()
    page.goto("/approvals/")
    expect(page.locator(f"#card-{first.pk}.open")).to_be_visible()
    second = factories.Story(eve, place).ask()
    expect(page.locator(f"#card-{second.pk}.open")).to_be_visible(timeout=30_000)
    approvals.decide(first.pk, by=eve, verdict="approve", comment="seen to")
    expect(page.locator(f"#card-{first.pk}.settled")).to_contain_text("seen to", timeout=30_000)


@pytest.mark.thorough
def test_F1_a_question_that_comes_while_the_page_looks_is_looked_for_again(
    page: Page, eve: User
) -> None:
    place, held = factories.workspace("looking"), []
    page.add_init_script("window.setInterval = () => 0")  # no later look
    page.goto("/approvals/")

    def counted() -> None:
        count = approvals.waiting(eve).open
        expect(page.locator("#inbox-count")).to_have_text(re.compile(rf"\b{count}$"))

    counted()
    page.route("**/approvals/", lambda route: held.append(route), times=1)
    first = factories.Story(eve, place).ask()
    counted()
    while not held:
        page.wait_for_timeout(20)
    answer = held[0].fetch()
    second = factories.Story(eve, place).ask()
    counted()
    held[0].fulfill(response=answer)
    for asked in (first, second):
        expect(page.locator(f"#card-{asked.pk}.open")).to_be_visible()
