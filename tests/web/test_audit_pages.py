"""`/audit/`: what happened, who allowed it, is the record whole?"""

from __future__ import annotations

import json
from datetime import date, timedelta

import pytest

from runtime.approvals import decide
from runtime.journal import verify
from runtime.models import Event, User, Workspace
from runtime.web.audit import reading
from tests.web import factories
from tests.web.conftest import signed_in

pytestmark = pytest.mark.usefixtures("site")


def test_each_row_explains_itself(alice: User, sol: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    story.work()
    page = signed_in(sol).get("/audit/").text
    assert "wants to read" in page and "calc/add.py" in page
    assert "by alice" in page
    assert f'href="/runs/{story.run.pk}/#e1"' in page
    assert "UTC</time>" in page


def test_filters_by_run_person_decision_rule_and_type(
    alice: User, sol: User, place: Workspace
) -> None:
    story = factories.Story(alice, place)
    story.work()
    story.decide("actx", "run_tool", "DENY", "veto/root")
    other = factories.Story(alice, place, "another one")
    client = signed_in(sol)

    def shown(query: str) -> str:
        return client.get(f"/audit/?{query}", headers={"hx-request": "true"}).text

    assert "another one" not in shown(f"run={story.run.pk}")
    assert "another one" in shown(f"run={other.run.pk}")
    assert shown("person=alice").count("<code>run.submitted</code>") == 2
    assert "policy.decided" not in shown("person=alice")
    assert shown("decision=DENY").count("policy.decided") == 1
    assert shown("rule=veto/root").count("policy.decided") == 1
    assert "No event fits" in shown("rule=none")

    assert shown("type=finish.refused").count("Finish refused") == 1
    assert shown("decision=ALLOW&rule=defaults/read").count("policy.decided") == 3
    assert "person.added" in shown("run=system")


def test_the_tool_filter_shows_the_verdicts_on_it(alice: User, sol: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    story.work()
    story.decide("actx", "run_tool", "DENY", "veto/root")
    client = signed_in(sol)

    def verdicts(query: str) -> int:
        page = client.get(f"/audit/?{query}", headers={"hx-request": "true"}).text
        return page.count("<code>policy.decided</code>")

    assert [verdicts(f"tool={one}") for one in ("read_file", "replace_text")] == [1, 1]
    assert (verdicts("tool=run_tool"), verdicts("tool=run_tool&decision=DENY")) == (2, 1)
    assert (verdicts("tool=read_file&rule=veto/root"), verdicts("tool=glob")) == (0, 0)
    chosen = client.get("/audit/?tool=RUN_TOOL&before=99999").text
    assert "<option selected>run_tool</option>" in chosen and "Show all" in chosen
    assert reading.Wish.read({"tool": "run_tool"}).query(before=7) == "tool=run_tool&before=7"


def test_filters_by_days_that_are_both_included(alice: User, sol: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    events = Event.objects.filter(run=story.run.pk).order_by("seq").values_list("at", flat=True)
    first, *_, last = (date.fromisoformat(at[:10]) for at in events)
    before, after = first - timedelta(days=1), last + timedelta(days=1)
    client = signed_in(sol)

    def shown(query: str) -> str:
        return client.get(f"/audit/?{query}", headers={"hx-request": "true"}).text

    assert "run.submitted" in shown(f"since={before}&until={after}")
    assert "No event fits" in shown(f"since={after}") and "No event fits" in shown(
        f"until={before}"
    )
    assert "run.submitted" in shown("since=nonsense&until=2026-99-99")


def test_older_events_follow_without_gap(
    alice: User, sol: User, place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PAGE", 7)
    story = factories.Story(alice, place)
    story.work()
    client = signed_in(sol)
    seen: list[int] = []
    address = f"/audit/?run={story.run.pk}"
    while address:
        page = client.get(address).text
        seen += [int(part.partition('"')[0]) for part in page.split("/#e")[1:]]
        tail = page.partition('aria-label="Older events"')[2]
        query = tail.partition('href="')[2].partition('"')[0].replace("&amp;", "&")
        address = query
    assert seen == list(range(story.run.event_seq, 0, -1))


def test_F54_request_decision_and_execution_are_joined_by_ids(
    alice: User, sol: User, place: Workspace
) -> None:
    story = factories.Story(alice, place)
    approval = story.ask()
    decide(approval.pk, by=alice, verdict="approve", comment="go on", seen_digest=approval.digest)
    client = signed_in(sol)
    page = client.get(f"/audit/?run={story.run.pk}&action={approval.action}").text
    order = [page.index(word) for word in ("wants to", "A person is asked", "approved this once")]
    assert order == sorted(order)
    assert "go on" in page
    export = client.get(f"/audit/export/{story.run.pk}/")
    lines = [json.loads(line) for line in export.getvalue().decode().splitlines()]
    asked, answered = (
        next(line["payload"] for line in lines if line["type"] == f"approval.{what}")
        for what in ("requested", "approved")
    )
    assert asked["approval"] == answered["approval"] == approval.pk
    assert asked["action"] == answered["action"] == approval.action
    assert answered["comment"] == "go on"


def test_the_export_can_be_checked_offline(alice: User, sol: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    story.work()
    export = signed_in(sol).get(f"/audit/export/{story.run.pk}/")
    assert export["Content-Disposition"] == f'attachment; filename="{story.run.pk}.ndjson"'
    assert export["X-Content-Type-Options"] == "nosniff"
    assert verify.verify_lines(export.getvalue().decode().splitlines())["ok"] is True


def test_the_chain_is_checked_on_request(alice: User, sol: User, place: Workspace) -> None:
    story = factories.Story(alice, place)
    client = signed_in(sol)
    page = client.get(f"/audit/verify/{story.run.pk}/").text
    assert "whole" in page and f"{story.run.event_seq} events, head {story.run.head_hash}" in page
    part = client.get(f"/audit/verify/{story.run.pk}/", headers={"hx-request": "true"}).text
    assert part.startswith('<div id="chain"')
    assert client.get("/audit/verify/01/").status_code == 404
    assert client.get("/audit/export/01/").status_code == 404


def test_the_audit_is_for_those_with_the_right(bob: User, alice: User, place: Workspace) -> None:
    run = factories.Story(alice, place).run.pk
    for address in ("/audit/", f"/audit/verify/{run}/", f"/audit/export/{run}/"):
        refused = signed_in(bob).get(address)
        assert refused.status_code == 403
        assert "auditor" in refused.text
