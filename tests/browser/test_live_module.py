"""`live.js` in a real browser, against a real server, on the smallest pages."""

from __future__ import annotations

import json
import re
import time

import pytest
from playwright.sync_api import expect

from runtime.journal import deltas
from runtime.models import Approval, Run
from tests.browser.watched import Watched
from tests.web.live_kit import ask, say

URLS = "tests.browser.live_pages"


def test_rows_appear_without_reload_and_only_those_that_the_page_lacks(watched: Watched) -> None:
    say(watched.run, 5)
    watched.open("?upto=4")
    assert watched.rows(6) == [1, 2, 3, 4, 5, 6]
    say(watched.run, 3)
    assert watched.rows(9) == list(range(1, 10))
    hello = next(frame for frame in watched.sent if frame["method"] == "live.hello")
    assert hello["params"] == {"run": watched.run, "after": 4, "open": {}}
    received = [row["seq"] for frame in watched.got for row in frame["params"].get("rows", [])]
    assert received == [5, 6, 7, 8, 9]
    acks = [frame["params"] for frame in watched.sent if frame["method"] == "live.ack"]
    assert acks[-1] == {"seq": 9}
    expect(watched.page.locator("#run-state")).to_have_text("running at 9")
    assert watched.errors == []


def test_the_first_part_of_a_text_is_seen_before_its_message(watched: Watched) -> None:
    watched.open()
    line = watched.page.locator("li.speaking[data-message=m]")
    with deltas.DeltaWriter(watched.run, "t", "m") as writer:
        writer.add("The first <b>part</b>, ")
        expect(line).to_have_text("The first <b>part</b>, ")
        assert "message.completed" not in json.dumps(watched.got)
        assert [f["method"] for f in watched.got].count("live.deltas") == 1
        writer.add("and the second.")
        expect(line).to_have_text("The first <b>part</b>, and the second.")
    say(watched.run, 1, "The first <b>part</b>, and the second.", message="m")
    deltas.remove(watched.run, "m")
    watched.rows(2)
    expect(line).to_have_count(0)
    assert watched.errors == []


@pytest.mark.thorough
def test_F48_a_lost_connection_is_said_with_the_time_and_mended_without_gap(
    watched: Watched,
) -> None:
    watched.open()
    watched.rows(1)
    watched.server.stop()
    status = watched.page.locator("#live-status")
    expect(status).to_have_text(
        re.compile(r"^State as of \d\d:\d\d:\d\d, reconnecting$"), timeout=40_000
    )
    say(watched.run, 50)
    Run.objects.filter(pk=watched.run).update(state="waiting")
    assert watched.page.locator("#run-state").inner_text() == "running at 1"
    watched.server.start()
    watched.live()
    assert watched.rows(51) == list(range(1, 52))
    expect(watched.page.locator("#run-state")).to_have_text("waiting at 51")


@pytest.mark.thorough
def test_signing_out_elsewhere_ends_the_stream_and_is_said(watched: Watched) -> None:
    watched.open()
    watched.user.set_password("another")
    watched.user.save()
    status = watched.page.locator("#live-status")
    expect(status).to_have_text(re.compile("^Signed out. State as of"))
    sockets = len(watched.sockets)
    watched.page.wait_for_timeout(1500)
    assert len(watched.sockets) == sockets


def test_the_reader_at_the_end_stays_there_and_another_one_is_told_how_much_is_new(
    watched: Watched,
) -> None:
    say(watched.run, 100)
    watched.open()
    watched.rows(101)
    page = watched.page
    end = "document.scrollingElement.scrollHeight - innerHeight - scrollY"
    # A person has seen the end when the page has drawn it.
    drawn = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
    page.evaluate(f"scrollTo(0, document.body.scrollHeight); {drawn}")
    say(watched.run, 5)
    watched.rows(106)
    page.wait_for_function(f"{end} < 2")
    page.evaluate(f"scrollTo(0, 0); {drawn}")
    say(watched.run, 12)
    pill = page.get_by_role("button", name="12 new events")
    expect(pill).to_be_visible()
    assert page.evaluate("scrollY") == 0
    pill.evaluate("button => button.click()")  # no style sheet holds it in view here
    page.wait_for_function(f"{end} < 2")
    expect(pill).to_be_hidden()


@pytest.mark.thorough
def test_F49_the_page_holds_at_most_two_thousand_rows(watched: Watched) -> None:
    say(watched.run, 1949)
    watched.open("?upto=1900")
    watched.rows(1950)
    say(watched.run, 250)
    last = watched.page.locator("li[data-seq='2200']")
    expect(last).to_be_attached(timeout=30000)
    assert watched.rows(2000) == list(range(201, 2201))
    earlier = watched.page.get_by_role("link", name="Show earlier events (200 before these)")
    assert earlier.get_attribute("href") == f"/runs/{watched.run}/earlier/?before=201"


@pytest.mark.thorough
def test_a_form_in_use_is_not_taken_from_under_the_hand(watched: Watched) -> None:
    watched.open()
    page = watched.page
    page.locator("#comment").fill("half a sen")
    Run.objects.filter(pk=watched.run).update(state="waiting")
    say(watched.run)
    expect(page.locator("#run-state")).to_have_text("waiting at 2")
    time.sleep(1)
    expect(page.locator("#comment")).to_have_value("half a sen")
    page.locator("#comment").blur()
    expect(page.locator("#run-card")).to_have_text("settled")


@pytest.mark.thorough
def test_the_inbox_is_counted_on_every_page(watched: Watched) -> None:
    page = watched.page
    page.goto(f"{watched.server.url}/home/", wait_until="domcontentloaded")
    watched.live()
    approval = ask(watched.run)
    expect(page.locator("#inbox-count")).to_have_text("1 waiting")
    expect(page).to_have_title("(1) Home")
    Approval.objects.filter(pk=approval.pk).update(state="denied")
    expect(page.locator("#inbox-count")).to_have_text("0 waiting")
    expect(page).to_have_title("Home")


@pytest.mark.thorough
def test_a_number_that_is_not_the_one_that_was_told_is_asked_for_again(watched: Watched) -> None:
    page, badge = watched.page, "<span id='inbox-count' data-open='7'>7 waiting</span>"
    page.route("**/approvals/count/", lambda route: route.fulfill(body=badge), times=1)
    page.goto(f"{watched.server.url}/home/", wait_until="domcontentloaded")
    watched.live()
    expect(page.locator("#inbox-count")).to_have_text("0 waiting")


@pytest.mark.thorough
def test_an_answer_that_comes_late_does_not_undo_a_later_one(watched: Watched) -> None:
    watched.open()
    page, held = watched.page, []
    page.route("**/header/", lambda route: held.append(route), times=1)
    Run.objects.filter(pk=watched.run).update(state="waiting")
    while not held:
        page.wait_for_timeout(20)
    late = held[0].fetch()
    say(watched.run)
    expect(page.locator("#run-state")).to_have_text("waiting at 2")
    held[0].fulfill(response=late)
    page.wait_for_timeout(300)
    expect(page.locator("#run-state")).to_have_text("waiting at 2")


@pytest.mark.thorough
def test_a_page_that_is_left_closes_its_socket(watched: Watched) -> None:
    watched.open()
    for _ in range(12):
        watched.open()

    def open_now() -> int:
        links = watched.server.process.net_connections()
        return sum(link.status == "ESTABLISHED" for link in links)

    most = 8  # one socket, and what the browser keeps for requests
    deadline = time.monotonic() + 15
    while open_now() > most and time.monotonic() < deadline:
        time.sleep(0.1)
    assert open_now() <= most
    assert watched.errors == []
