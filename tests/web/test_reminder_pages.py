"""Where people see that a question waits for long: inbox, navigation, the run's history."""

from __future__ import annotations

from datetime import timedelta

import pytest

from runtime import approvals
from runtime.journal.append import now
from runtime.models import Approval, User, Workspace
from tests.web import factories
from tests.web.conftest import signed_in

pytestmark = pytest.mark.usefixtures("site")


def reminded(approval: Approval, hours: float = 13) -> Approval:
    """A question of 24 hours that was asked so long ago, after a pass of the reconciler."""
    since = now() - timedelta(hours=hours)
    until = since + timedelta(hours=24)
    rows = Approval.objects.filter(pk=approval.pk)
    rows.update(requested_at=since, expires_at=until, remind_at=since + timedelta(hours=12))
    assert approvals.remind_due() == 1
    return rows.get()


def test_what_is_overdue_comes_first_and_says_since_when_it_waits(
    alice: User, place: Workspace
) -> None:
    fresh = factories.Story(alice, place).ask(decision="ESCALATE")
    old = factories.Story(alice, place).ask()
    page = signed_in(alice).get("/approvals/").text
    assert page.index(f"card-{fresh.pk}") < page.index(f"card-{old.pk}")
    assert "Overdue" not in page
    row = reminded(old)
    page = signed_in(alice).get("/approvals/").text
    assert page.index(f"card-{old.pk}") < page.index(f"card-{fresh.pk}")
    assert page.count("Overdue:") == 1
    asked = row.requested_at.strftime("%Y-%m-%d %H:%M:%S UTC")
    assert "waits since" in page and asked in page and ">in 10 h</time>" in page
    assert "More than half of its time is over." in page


def test_near_its_end_it_says_so(alice: User, place: Workspace) -> None:
    row = reminded(factories.Story(alice, place).ask(), hours=22)
    page = signed_in(alice).get(f"/approvals/{row.pk}/").text
    assert "Less than a tenth of its time is left." in page and 'class="reminder last"' in page


def test_the_navigation_of_every_page_says_that_something_is_overdue(
    alice: User, mallory: User, place: Workspace
) -> None:
    approval = factories.Story(alice, place).ask()
    factories.Story(alice, place).ask()
    calm = 'id="inbox-count" class="count"><span class="visually-hidden">open: </span>2<'
    assert calm in signed_in(alice).get("/").text
    reminded(approval)
    late = 'class="count overdue" title="1 overdue"><span class="visually-hidden">open, 1 overdue: '
    for address in ("/", "/approvals/", "/approvals/count/", f"/runs/{approval.run_id}/"):
        assert late in signed_in(alice).get(address).text, address
    assert "overdue" not in signed_in(mallory).get("/").text
    approvals.decide(approval.pk, by=alice, verdict="approve")
    assert 'class="count"><span class="visually-hidden">open: </span>1<' in (
        signed_in(alice).get("/approvals/count/").text
    )


def test_the_history_of_the_run_tells_it_with_who_may_answer(alice: User, place: Workspace) -> None:
    approval = reminded(factories.Story(alice, place).ask())
    page = signed_in(alice).get(f"/runs/{approval.run_id}/").text
    assert "Still waits for an answer" in page and "half of its time is over" in page
    assert "May answer: alice" in page


def test_where_nobody_may_answer_the_history_names_the_command_that_helps(
    bob: User, place: Workspace
) -> None:
    approval = reminded(factories.Story(bob, place).ask(decision="ESCALATE"))
    page = signed_in(bob).get(f"/runs/{approval.run_id}/").text
    assert "Nobody here may answer it. <code>" in page and "--role security</code>" in page
