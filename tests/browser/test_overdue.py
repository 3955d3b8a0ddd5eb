"""An open page says that a question became overdue, without being loaded anew."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from runtime import approvals
from runtime.models import Approval
from tests.web import factories
from tests.web.live_kit import session_for
from tests.web.live_server import Server


def test_an_open_inbox_and_its_badge_tell_what_became_overdue(
    chromium: Browser, server: Server
) -> None:
    eve = factories.person("eve", "submitter")
    place = factories.workspace("overdue")
    fresh, late = (factories.Story(eve, place).ask() for _ in range(2))
    context = chromium.new_context()
    context.add_cookies([{"name": "sessionid", "value": session_for(eve), "url": server.url}])
    context.set_default_timeout(15000)
    page = context.new_page()
    page.goto(f"{server.url}/approvals/")
    badge = page.locator("#inbox-count")
    expect(badge).to_have_text("open: 2")
    expect(page.locator(".reminder")).to_have_count(0)
    since = datetime.now(UTC) - timedelta(hours=13)
    Approval.objects.filter(pk=late.pk).update(
        requested_at=since,
        expires_at=since + timedelta(hours=24),
        remind_at=since + timedelta(hours=12),
    )
    assert approvals.remind_due() == 1
    expect(badge).to_have_class("count overdue")
    expect(badge).to_have_text("open, 1 overdue: 2")
    expect(page.locator(f"#card-{late.pk} .reminder")).to_contain_text("waits since")
    expect(page.locator(f"#card-{fresh.pk} .reminder")).to_have_count(0)
    assert Axe().run(page).response["violations"] == []
    context.close()
