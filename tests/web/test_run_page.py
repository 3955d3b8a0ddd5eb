"""`/runs/<id>/`: what is it doing, and why?"""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from django.test.utils import CaptureQueriesContext

from runtime.journal import book, kinds
from runtime.models import Event, NewerKind, User, Workspace
from tests.clock import best_of_three, in_time
from tests.web import factories
from tests.web.conftest import signed_in

pytestmark = pytest.mark.usefixtures("site")

MOST_QUERIES = 12


def test_F2_the_open_card_is_in_the_first_html(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    story.work()
    approval = story.ask()
    page = signed_in(alice).get(f"/runs/{story.run.pk}/").text
    assert f'id="card-{approval.pk}"' in page
    assert f'name="seen" value="{approval.digest}"' in page
    assert 'value="approve"' in page and 'value="deny"' in page
    assert 'id="live-status"' in page


def test_the_timeline_says_where_the_live_part_goes_on(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    story.work()
    page = signed_in(alice).get(f"/runs/{story.run.pk}/").text
    numbers = [int(n) for n in re.findall(r'data-seq="(\d+)"', page)]
    assert numbers == list(range(1, story.run.event_seq + 1))
    assert f'id="timeline" data-run="{story.run.pk}" data-after="{story.run.event_seq}"' in page
    assert 'role="log" aria-live="off"' in page


def test_other_tabs_say_it_too(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    page = signed_in(alice).get(f"/runs/{story.run.pk}/?tab=traces").text
    assert f'data-run="{story.run.pk}" data-after="{story.run.event_seq}"' in page


@pytest.mark.parametrize("tab", ["timeline", "evidence", "artifacts", "traces", "policy"])
def test_a_run_page_needs_few_queries(
    alice: User, place: Workspace, tab: str, django_assert_max_num_queries: Any
) -> None:
    story = factories.Story(alice, place)
    story.work()
    story.ask()
    client = signed_in(alice)
    client.get(f"/runs/{story.run.pk}/?tab={tab}")
    captured: CaptureQueriesContext
    with django_assert_max_num_queries(MOST_QUERIES) as captured:
        assert client.get(f"/runs/{story.run.pk}/?tab={tab}").status_code == 200
    assert captured


def test_the_tabs_show_what_happened(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    story.work()
    story.end()
    client = signed_in(alice)
    assert "Exit 1" in client.get(f"/runs/{story.run.pk}/?tab=traces").text
    policy = client.get(f"/runs/{story.run.pk}/?tab=policy").text
    assert "ALLOW" in policy and "defaults/read" in policy
    evidence = client.get(f"/runs/{story.run.pk}/?tab=evidence").text
    assert "Verification passed" in evidence and "python3 -m pytest -q" in evidence
    assert "2 passed in 0.01s" in evidence and "Show all of it" in evidence
    assert "Finish refused" in evidence and "wants to" not in evidence
    assert "No artifact." in client.get(f"/runs/{story.run.pk}/?tab=artifacts").text


def test_a_tab_alone_is_a_fragment(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    headers = {"hx-request": "true"}
    part = signed_in(alice).get(f"/runs/{story.run.pk}/?tab=policy", headers=headers).text
    assert "<html" not in part and 'aria-label="Parts of the run"' in part


def test_header_and_card_are_fragments_of_their_own(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    client = signed_in(alice)
    assert '<section id="run-card"' in client.get(f"/runs/{story.run.pk}/card/").text
    approval = story.ask()
    assert f"card-{approval.pk}" in client.get(f"/runs/{story.run.pk}/card/").text
    header = client.get(f"/runs/{story.run.pk}/header/").text
    assert header.startswith('<section id="run-state"')
    assert "Waits for a person" in header
    assert "Cancel run: withdraws 1 question" in header


def test_a_run_of_a_newer_version_says_why_it_waits_and_can_be_cancelled(
    alice: User, place: Workspace
) -> None:
    story = factories.Story(alice, place)
    client = signed_in(alice)
    assert "newer version" not in client.get(f"/runs/{story.run.pk}/").text
    NewerKind.objects.create(run=story.run, type="action.weighed", v=2)
    for part in ("", "header/"):
        page = client.get(f"/runs/{story.run.pk}/{part}").text
        assert "This run was recorded by a newer version: action.weighed version 2." in page
        assert "start a worker of that version" in page and "Cancel run" in page
    assert "records" in client.get("/system/").text
    assert client.post(f"/runs/{story.run.pk}/cancel/").status_code == 302
    story.run.refresh_from_db()
    assert story.run.state == "cancelled"
    page = client.get(f"/runs/{story.run.pk}/").text
    assert "shown as it was written" in page and "start a worker" not in page


def test_a_finished_run_has_no_buttons(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    story.end()
    page = signed_in(alice).get(f"/runs/{story.run.pk}/").text
    assert "Succeeded" in page
    assert "Cancel run" not in page and "Retry run" not in page
    assert 'class="wishes"' not in page, "no empty strip where the buttons were"


def test_a_finished_run_says_so_where_another_is_live(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    client = signed_in(alice)
    assert 'data-live="over"' not in client.get(f"/runs/{story.run.pk}/").text
    story.end()
    page = client.get(f"/runs/{story.run.pk}/").text
    assert 'data-live="over">Finished: nothing changes here any more</p>' in page


def test_the_timeline_begins_without_machinery(alice: User, place: Workspace) -> None:
    page = signed_in(alice).get(f"/runs/{factories.Story(alice, place).run.pk}/").text
    assert '<input type="checkbox" id="show-machinery">' in page


def test_cancelling_is_a_wish_with_a_reason(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    story.ask()
    client = signed_in(alice)
    answer = client.post(f"/runs/{story.run.pk}/cancel/", {"reason": "not needed"})
    assert answer["Location"] == f"/runs/{story.run.pk}/"
    asked = Event.objects.get(run=story.run.pk, type="run.cancel_requested")
    assert asked.actor == "user:alice" and "not needed" in asked.payload


def test_F9_cancelling_empties_the_inbox_at_once(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    story.ask()
    client = signed_in(alice)
    assert "<title>(1) " in client.get("/").text
    client.post(f"/runs/{story.run.pk}/cancel/")
    page = client.get("/").text
    assert "<title>(" not in page
    assert "Nothing waits for you" in client.get("/approvals/").text


def test_R6_cancelling_a_finished_run_is_refused(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    story.end()
    before = story.run.event_seq
    answer = signed_in(alice).post(f"/runs/{story.run.pk}/cancel/")
    assert answer.status_code in (403, 409)
    story.run.refresh_from_db()
    assert story.run.event_seq == before


@pytest.mark.parametrize("attempts", ["", "0", "x", "101", "-1", "9" * 5000])
def test_a_retry_needs_a_number(alice: User, place: Workspace, attempts: str) -> None:
    story = factories.Story(alice, place)
    answer = signed_in(alice).post(f"/runs/{story.run.pk}/retry/", {"max_attempts": attempts})
    assert answer.status_code == 400
    assert "from 1 to 100" in answer.text


def test_F19_a_long_action_is_there_to_its_end(alice: User, place: Workspace) -> None:
    script = "\n".join(f"echo {number}" for number in range(399)) + "\nos.remove('/')"
    story = factories.Story(alice, place)
    story.ask({"kind": "run_shell", "script": script})
    page = signed_in(alice).get(f"/runs/{story.run.pk}/").text
    assert "os.remove(&#x27;/&#x27;)" in page
    assert "374 more lines" in page
    assert "400 lines" in page


@pytest.mark.thorough
def test_F49_ten_thousand_events_and_five_megabytes_stay_light(
    alice: User, place: Workspace
) -> None:
    story = factories.Story(alice, place)
    story.claim()
    story.step("look", {"kind": "run_shell", "script": "cat big"}, observation="x\n" * 2_500_000)
    with book.open_run(story.run.pk) as opened:
        for number in range(10_000):
            opened.append(kinds.TaskReleased(why=f"slice {number}"), actor="worker")
    client = signed_in(alice)
    client.get("/")

    @best_of_three
    def opened() -> Any:
        began = time.monotonic()
        answer = client.get(f"/runs/{story.run.pk}/")
        in_time(began, 1)
        return answer

    page = opened()
    assert len(page.content) < 1_000_000
    numbers = re.findall(r'data-seq="(\d+)"', page.text)
    assert len(numbers) == 200


def test_earlier_events_come_page_by_page(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    with book.open_run(story.run.pk) as opened:
        for _ in range(450):
            opened.append(kinds.TaskReleased(why="slice"), actor="worker")
    client = signed_in(alice)
    page = client.get(f"/runs/{story.run.pk}/").text
    seen = [int(n) for n in re.findall(r'data-seq="(\d+)"', page)]
    while found := re.search(r'hx-get="(/runs/[^"]+/earlier/\?before=\d+)"', page):
        page = client.get(found[1], headers={"hx-request": "true"}).text
        seen = [int(n) for n in re.findall(r'data-seq="(\d+)"', page)] + seen
    assert seen == list(range(1, 453))


def test_the_5_megabytes_are_linked_with_their_size(alice: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    story.claim()
    story.step("look", {"kind": "run_shell", "script": "cat big"}, observation="x\n" * 2_500_000)
    client = signed_in(alice)
    page = client.get(f"/runs/{story.run.pk}/").text
    assert "Show all of it (5 MB)" in page
    link = re.search(r'href="(/artifacts/[^"]+view=1)"', page)
    assert link is not None
    view = client.get(link[1].replace("&amp;", "&"))
    assert view.status_code == 200
    assert "more are not shown" in view.text and len(view.content) < 1_000_000
