"""Budgets in the browser: what is used, the question near the end, and more of it."""

from __future__ import annotations

from typing import Any

import pytest

from runtime.models import Approval, Event, Run, User, Workspace
from tests import kit
from tests.web import factories
from tests.web.conftest import signed_in

pytestmark = pytest.mark.usefixtures("site")
COST = {"input_tokens": 100_000, "output_tokens": 20_000}


@pytest.fixture
def ada() -> User:
    """Does everything."""
    return factories.person("ada", "admin", "submitter", "reviewer")


def paused(by: User) -> kit.Told:
    """A run that has used four of its five units of money."""
    kit.workspace(by)
    steps: list[dict[str, Any]] = [
        {"kind": "run_tool", "program": "echo", "args": [str(n)], "usage": COST} for n in range(4)
    ]
    return kit.play(by, [*steps, kit.FINISH], budgets={"cost": 5_000_000})


def test_the_run_page_shows_used_and_limit_of_every_budget(ada: User) -> None:
    told = paused(ada)
    page = signed_in(ada).get(f"/runs/{told.run.pk}/").text
    assert "4.00 of 5.00" in page and "4.00 of it estimated" in page
    for words in ("CPU time", "output of commands", "artifacts", "model calls", "memory of one"):
        assert words in page
    assert "The run nears the end of its cost" in page
    report = signed_in(ada).get(f"/runs/{told.run.pk}/?tab=report").text
    assert "4.00 of 5.00, 4.00 of it estimated" in report


def test_the_question_is_answered_without_a_word(ada: User) -> None:
    told = paused(ada)
    asked = told.pending
    client = signed_in(ada)
    card = client.get(f"/approvals/{asked.pk}/").text
    assert "Let it use the rest" in card and "End the run here" in card
    assert "more can be granted" in card
    inbox = client.get("/approvals/").text
    assert "nears the end" in inbox
    data = {"verdict": "approve", "scope": "once", "seen": asked.digest}
    assert client.post(f"/approvals/{asked.pk}/", data).status_code == 302
    assert told.work().state == "succeeded"
    page = client.get(f"/runs/{told.run.pk}/").text
    assert "A budget nears its end" in page


def test_a_reviewer_grants_more_on_the_page_and_it_is_journaled(ada: User) -> None:
    told = paused(ada)
    client = signed_in(ada)
    data = {"budget": "cost", "more": "7.50", "comment": "Worth it."}
    answer = client.post(f"/runs/{told.run.pk}/budget/", data)
    assert answer["Location"] == f"/runs/{told.run.pk}/"
    event = Event.objects.get(run=told.run.pk, type="budget.granted")
    assert event.actor == "user:ada"
    assert Approval.objects.get().state == "approved"
    page = client.get(f"/runs/{told.run.pk}/").text
    assert "4.00 of 12.50" in page and "granted the run 7.50 more cost" in page
    assert "Worth it." in page


@pytest.mark.parametrize(
    ("budget", "more"), [("gold", "1"), ("cost", "much"), ("cost", "0"), ("cost", "9" * 30)]
)
def test_what_is_no_budget_is_refused_on_the_page(ada: User, budget: str, more: str) -> None:
    told = paused(ada)
    data = {"budget": budget, "more": more}
    assert signed_in(ada).post(f"/runs/{told.run.pk}/budget/", data).status_code == 400
    assert not Event.objects.filter(type="budget.granted").exists()


def test_who_may_not_grant_sees_no_form_and_is_refused(alice: User, ada: User) -> None:
    told = paused(ada)
    Run.objects.filter(pk=told.run.pk).update(submitted_by="alice")
    eve = factories.person("eve", "submitter")
    Run.objects.filter(pk=told.run.pk).update(submitted_by="eve")
    client = signed_in(eve)
    page = client.get(f"/runs/{told.run.pk}/").text
    assert "4.00 of 5.00" in page and 'id="grant-more"' not in page
    data = {"budget": "cost", "more": "1"}
    assert client.post(f"/runs/{told.run.pk}/budget/", data).status_code in (403, 409)
    assert not Event.objects.filter(type="budget.granted").exists()


def test_budgets_are_given_with_the_form_of_a_new_run(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M31A_PROVIDER", "openai:some-model")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    place = kit.workspace(ada, budgets={"wall_seconds": 7200})
    client = signed_in(ada)
    assert "time 2 h" in client.get("/runs/new?workspace=work").text
    wish = {
        "workspace": place.name,
        "objective": "Mend it.",
        "mode": "assisted",
        "max_steps": "20",
        "max_attempts": "2",
        "budget": "cost=2.50\n\noutput_bytes=1G\n",
    }
    refused = client.post("/runs/new", {**wish, "budget": "cost=a lot"})
    assert refused.status_code == 400 and "no amount of money" in refused.text
    assert client.post("/runs/new", wish).status_code == 302
    given = Run.objects.exclude(pk="system").get().budgets
    assert '"cost":2500000' in given and '"output_bytes":1073741824' in given
    assert '"wall_seconds":7200' in given


def test_a_workspace_is_registered_with_budgets_and_retries(
    ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    client = signed_in(ada)
    data = {
        "name": "mine",
        "path": str(kit.repository()),
        "verify": "true\n",
        "retention": "redacted",
        "budget": "cost=5\nwall_seconds=30m",
        "provider_retries": "3",
        "fallback": "openai:other",
    }
    refused = client.post("/workspaces/", {**data, "fallback": "scripted:x"})
    assert refused.status_code == 400 and not Workspace.objects.exists()
    assert client.post("/workspaces/", data).status_code == 302
    row = Workspace.objects.get()
    assert row.budgets == {"cost": 5_000_000, "wall_seconds": 1800}
    assert (row.provider_retries, row.fallback) == (3, "openai:other")
    page = client.get("/workspaces/").text
    assert "cost 5.00" in page and "3 further tries, then openai:other" in page
    event = Event.objects.filter(type="workspace.registered").get()
    assert '"provider_retries":3' in event.payload and '"fallback":"openai:other"' in event.payload
