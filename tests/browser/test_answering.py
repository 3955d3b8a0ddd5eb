"""Several answers at once, and a changed action, by a person in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from runtime.models import Approval, Event
from tests.web import factories
from tests.web.live_kit import session_for
from tests.web.live_server import Server


@pytest.fixture
def page(chromium: Browser, server: Server) -> Iterator[Page]:
    """The inbox of a reviewer with three questions, open in a browser."""
    ada = factories.person("ada", "submitter", "reviewer")
    place = factories.workspace("answers")
    for number in range(3):
        script = f"echo {number} \u202e>> log.txt"
        factories.Story(ada, place).ask({"kind": "run_shell", "script": script})
    context = chromium.new_context()
    context.add_cookies([{"name": "sessionid", "value": session_for(ada), "url": server.url}])
    context.set_default_timeout(15000)
    page = context.new_page()
    page.goto(f"{server.url}/approvals/")
    yield page
    context.close()


@pytest.mark.thorough
def test_two_are_denied_together_and_the_third_is_changed(page: Page) -> None:
    faults: list[str] = []
    page.on("console", lambda m: faults.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    cards = page.locator("article.card.open")
    expect(cards).to_have_count(3)
    names = [str(cards.nth(place).get_attribute("data-card")) for place in range(3)]
    for place in (0, 1):
        cards.nth(place).get_by_role("checkbox").check()
    page.get_by_label("Comment for all").fill("neither")
    page.get_by_role("button", name="Deny the chosen").click()
    expect(page.locator(".results li")).to_have_count(2)
    denied = Approval.objects.filter(state="denied").values_list("pk", "comment")
    assert sorted(denied) == [(name, "neither") for name in sorted(names[:2])]

    page.get_by_role("link", name="Back to what waits").click()
    page.wait_for_url("**/approvals/")
    card = page.locator("article.card.open")
    expect(card).to_have_count(1)
    page.keyboard.press("j")
    page.keyboard.press("e")
    area = page.locator("#edit textarea")
    expect(area).to_be_focused()
    assert "\\u202e" in area.input_value(), "what cannot be seen is written out"
    assert Axe().run(page).response["violations"] == []
    changed = {"kind": "run_shell", "script": "echo changed >> log.txt"}
    area.fill(json.dumps(changed))
    page.get_by_role("button", name="Change it").click()
    expect(page.locator("#timeline")).to_contain_text("changed it")
    event = Event.objects.get(type="action.edited")
    assert event.actor == "user:ada" and "echo changed" in event.payload
    assert Approval.objects.get(pk=names[2]).state == "superseded"
    assert faults == []
