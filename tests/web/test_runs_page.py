"""`/`: what is going on?"""

from __future__ import annotations

import pytest

from runtime.models import User, Workspace
from runtime.web.runs import reading
from tests.web import factories
from tests.web.conftest import signed_in

pytestmark = pytest.mark.usefixtures("site")


def test_the_empty_page_leads_to_the_first_run(alice: User) -> None:
    page = signed_in(alice).get("/").text
    assert "Run the demo" in page and 'action="/demo/"' in page
    assert "m31a workspace add" in page


def test_who_may_not_submit_reads_which_role_helps(mallory: User) -> None:
    page = signed_in(mallory).get("/").text
    assert "Run the demo" not in page
    assert "m31a user add mallory --role submitter" in page


def test_a_run_shows_state_objective_workspace_person_and_cost(
    alice: User, place: Workspace
) -> None:
    story = factories.Story(alice, place, "Mend <the> sign")
    story.work()
    page = signed_in(alice).get("/").text
    assert "Mend &lt;the&gt; sign" in page
    assert "running" in page and "calc" in page and "alice" in page and "3 steps" in page
    assert f'href="/runs/{story.run.pk}/"' in page


def test_F45_a_run_under_a_lease_is_shown_with_owner_and_expiry(
    alice: User, place: Workspace
) -> None:
    story = factories.Story(alice, place)
    story.claim()
    page = signed_in(alice).get("/").text
    assert "box, process 4711" in page
    assert "lease ends" in page


def test_what_a_run_waits_for_stands_in_its_line(alice: User, place: Workspace) -> None:
    approval = factories.Story(alice, place).ask()
    page = signed_in(alice).get("/").text
    assert f'href="/approvals/{approval.pk}/"' in page
    assert "git push origin main" in page


def test_filters_stand_in_the_address(alice: User, place: Workspace) -> None:
    factories.Story(alice, place, "first one").ask()
    factories.Story(alice, factories.workspace("other"), "second one")
    client = signed_in(alice)
    assert "first one" in client.get("/?state=waiting").text
    assert "second one" not in client.get("/?state=waiting").text
    assert "first one" not in client.get("/?workspace=other").text
    assert "No run fits" in client.get("/?state=failed").text
    assert "first one" in client.get("/?state=nonsense").text


def test_pages_go_by_the_last_run_shown(
    alice: User, place: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "PAGE", 2)
    for number in range(5):
        factories.Story(alice, place, f"objective {number}")
    client = signed_in(alice)
    seen: list[str] = []
    address = "/"
    while address:
        page = client.get(address).text
        seen += [word for word in ("4", "3", "2", "1", "0") if f"objective {word}<" in page]
        _, _, rest = page.partition('rel="next"')
        before = page[: len(page) - len(rest)].rpartition('href="')[2].partition('"')[0]
        address = before.replace("&amp;", "&") if rest else ""
    assert seen == ["4", "3", "2", "1", "0"]


def test_others_runs_are_seen_only_with_that_right(
    alice: User, bob: User, place: Workspace
) -> None:
    run = factories.Story(alice, place, "alice's own").run
    assert "alice" in signed_in(alice).get("/").text
    assert "alice&#x27;s own" not in signed_in(bob).get("/").text
    for address in ("", "header/", "card/", "earlier/"):
        assert signed_in(bob).get(f"/runs/{run.pk}/{address}").status_code == 404


def test_the_fragment_is_the_list_alone(alice: User, place: Workspace) -> None:
    factories.Story(alice, place)
    part = signed_in(alice).get("/", headers={"hx-request": "true"})
    assert "<html" not in part.text
    assert part.text.lstrip().startswith('<div id="runs"')
    assert "HX-Request" in part["Vary"]
