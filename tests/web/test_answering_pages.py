"""Pages for more than yes and no: several answers, a changed action, what is remembered."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from runtime import approvals
from runtime.gating import policies
from runtime.models import Approval, Event, Grant, User, Workspace
from runtime.policy import Remembered
from tests import kit
from tests.agent.scenes import answer, write
from tests.web import factories
from tests.web.conftest import signed_in

pytestmark = pytest.mark.usefixtures("site")
SHELL = {"kind": "run_shell", "script": "cd backend && PYTHONPATH=. uv run pytest x -q"}
OTHER = {"kind": "run_shell", "script": "cd backend && ls"}


def granted(by: User, place: Workspace) -> Grant:
    """A remembered answer for the run."""
    approval = factories.Story(by, place).ask()
    data = {"verdict": "approve", "scope": "run", "seen": approval.digest}
    signed_in(by).post(f"/approvals/{approval.pk}/", data)
    return Grant.objects.get(approval=approval)


def test_several_questions_are_answered_at_once_each_for_itself(
    alice: User, place: Workspace
) -> None:
    one, two, three = (factories.Story(alice, place).ask() for _ in range(3))
    client = signed_in(alice)
    page = client.get("/approvals/").text
    for approval in (one, two, three):
        assert f'value="{approval.pk}:{approval.digest}"' in page
    chosen = [f"{one.pk}:{one.digest}", f"{two.pk}:{'0' * 64}"]
    told = client.post(
        "/approvals/batch/", {"verdict": "approve", "comment": "together", "chosen": chosen}
    )
    assert told.status_code == 200
    assert "not the one that you saw" in told.text
    states = [Approval.objects.get(pk=row.pk).state for row in (one, two, three)]
    assert states == ["approved", "pending", "pending"]
    assert Approval.objects.get(pk=one.pk).comment == "together"


def test_nothing_chosen_and_others_questions_answer_nothing(
    alice: User, bob: User, place: Workspace
) -> None:
    approval = factories.Story(alice, place).ask()
    assert signed_in(alice).post("/approvals/batch/", {"verdict": "deny"}).status_code == 400
    chosen = {"verdict": "approve", "chosen": [f"{approval.pk}:{approval.digest}"]}
    assert signed_in(bob).post("/approvals/batch/", chosen).status_code == 400
    approval.refresh_from_db()
    assert approval.state == "pending"


def test_an_escalation_and_a_question_are_not_for_the_batch(
    alice: User, sol: User, place: Workspace
) -> None:
    escalated = factories.Story(alice, place).ask(decision="ESCALATE")
    assert f'value="{escalated.pk}:' not in signed_in(alice).get("/approvals/").text
    assert f'value="{escalated.pk}:' in signed_in(sol).get("/approvals/").text


def test_a_changed_action_supersedes_the_question(alice: User, place: Workspace) -> None:
    approval = factories.Story(alice, place).ask(SHELL)
    client = signed_in(alice)
    page = client.get(f"/approvals/{approval.pk}/").text
    assert "Change the action" in page and "uv run pytest" in page
    data = {"action": json.dumps(OTHER), "seen": approval.digest}
    told = client.post(f"/approvals/{approval.pk}/edit/", data)
    assert told["Location"] == f"/runs/{approval.run_id}/"
    approval.refresh_from_db()
    assert approval.state == "superseded"
    event = Event.objects.get(run=approval.run_id, type="action.edited")
    assert event.actor == "user:alice" and "cd backend" in event.payload
    assert client.post(f"/approvals/{approval.pk}/edit/", data).status_code == 409
    run = client.get(f"/runs/{approval.run_id}/").text
    assert "<strong>alice</strong> changed it" in run


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("{", "This is no JSON"),
        (json.dumps(SHELL), "nothing was changed"),
        ('{"kind": "run_shell"}', "script"),
        (json.dumps({"kind": "verify"}), "its kind is"),
        ("[" * 100_000, "This is no JSON"),
    ],
)
def test_a_faulty_change_keeps_its_text_and_says_why(
    alice: User, place: Workspace, action: str, words: str
) -> None:
    approval = factories.Story(alice, place).ask(SHELL)
    data = {"action": action, "seen": approval.digest}
    told = signed_in(alice).post(f"/approvals/{approval.pk}/edit/", data)
    assert told.status_code == 400
    assert words in told.text
    approval.refresh_from_db()
    assert approval.state == "pending"


def test_who_may_not_answer_may_not_change(alice: User, bob: User, place: Workspace) -> None:
    approval = factories.Story(bob, place).ask(SHELL)
    client = signed_in(bob)
    assert "Change the action" not in client.get(f"/approvals/{approval.pk}/").text
    data = {"action": json.dumps(OTHER), "seen": approval.digest}
    assert client.post(f"/approvals/{approval.pk}/edit/", data).status_code == 403
    assert not Event.objects.filter(type="action.edited").exists()


@pytest.mark.parametrize("asked", [SHELL, {"kind": "git_push"}])
def test_F11_what_a_wider_answer_covers_is_shown_before_it_is_given(
    alice: User, place: Workspace, asked: dict[str, str]
) -> None:
    earlier = factories.Story(alice, place)
    earlier.work()
    approval = factories.Story(alice, place).ask(asked)
    page = signed_in(alice).get(f"/approvals/{approval.pk}/").text
    assert f'title="{approval.key}"' in page or approval.key[:8] in page
    table = page[page.index("What a wider answer would cover") :]
    table = table[: table.index("</table>")]
    assert table.count("fits</td>") == 1 and table.count("does not</td>") == 3
    tool = factories.Story(alice, place).ask(
        {"kind": "run_tool", "program": "pytest", "args": ["-q"]}
    )
    page = signed_in(alice).get(f"/approvals/{tool.pk}/").text
    assert "an earlier decision" in page and f"/runs/{earlier.run.pk}/#e" in page


def test_remembered_answers_are_listed_and_taken_back(
    alice: User, bob: User, place: Workspace
) -> None:
    grant = granted(alice, place)
    page = signed_in(alice).get("/approvals/").text
    assert "Answers that are remembered" in page and grant.pk in page
    assert signed_in(bob).post(f"/approvals/grants/{grant.pk}/revoke/").status_code == 404
    signed_in(alice).post(f"/approvals/grants/{grant.pk}/revoke/")
    grant.refresh_from_db()
    assert grant.revoked_by == "alice"
    assert grant.pk not in signed_in(alice).get("/approvals/").text


def test_a_question_past_half_of_its_time_is_flagged(alice: User, place: Workspace) -> None:
    fresh = factories.Story(alice, place).ask()
    old = factories.Story(alice, place).ask()
    Approval.objects.filter(pk=old.pk).update(requested_at=datetime.now(UTC) - timedelta(hours=30))
    client = signed_in(alice)
    assert "half of its time" in client.get(f"/approvals/{old.pk}/").text
    assert "half of its time" not in client.get(f"/approvals/{fresh.pk}/").text


def test_F13_the_page_of_an_open_run_names_the_rules_that_the_gate_uses_next(cast, policy) -> None:
    kit.workspace(cast.alice)
    look = {"kind": "read_file", "path": "notes.txt"}
    told = kit.play(cast.alice, [write("a", "x"), look, write("b", "x"), look], mode="safe")
    client = signed_in(cast.alice)

    def shown(version: str) -> bool:
        addresses = [f"/runs/{told.run.pk}/{part}" for part in ("", "header/")]
        return all(version in client.get(address).text for address in addresses)

    assert shown("built in, no files")
    policy("organisation.toml", kit.rule("DENY", 'tool = "read_file"', "no-reads"))
    approvals.Regate().run("reconciler")
    first = policies.current().hash[:12]
    assert shown(first)
    policy("system.toml", "x =")
    answer(told, cast.bob)
    told.work()
    assert "no-reads" in [one["rule"] for one in told.of("policy.decided")]
    assert shown(first), "broken files change nothing"
    policy("organisation.toml", kit.rule("ESCALATE", 'tool = "read_file"', "reads-ask"))
    policy("system.toml", "")
    answer(told, cast.bob)
    told.work()
    assert told.pending.rule == "reads-ask"
    assert shown(policies.current().hash[:12]) and not shown(first)


RULE = Remembered(
    "run_tool",
    "git",
    ("push", "origin"),
    (),
    (("defaults/git-push", "a push leaves the worktree"),),
)


def test_F11_a_rule_is_shown_with_its_table_before_it_is_saved_and_then_counts(
    alice: User, place: Workspace
) -> None:
    approval = factories.Story(alice, place).ask(offers=[RULE.as_data()])
    client = signed_in(alice)
    page = client.get(f"/approvals/{approval.pk}/").text
    assert "git push origin …, any further words, no options" in page
    table = page[page.index("What this rule covers") :]
    table = table[: table.index("</table>")]
    assert table.count("fits</td>") == 3 and table.count("does not</td>") == 3
    data = {"verdict": "approve", "seen": approval.digest, "scope": "run", "rule": RULE.digest}
    wrong = client.post(f"/approvals/{approval.pk}/", {**data, "rule": "0" * 64})
    assert wrong.status_code == 400 and "none that this question offers" in wrong.text
    client.post(f"/approvals/{approval.pk}/", data)
    grant = Grant.objects.get()
    assert Remembered.parse(json.loads(grant.rule)) == RULE
    assert "git push origin …" in client.get("/approvals/").text


def test_an_answer_for_once_remembers_no_rule(alice: User, place: Workspace) -> None:
    approval = factories.Story(alice, place).ask(offers=[RULE.as_data()])
    data = {"verdict": "approve", "seen": approval.digest, "scope": "once", "rule": RULE.digest}
    signed_in(alice).post(f"/approvals/{approval.pk}/", data)
    approval.refresh_from_db()
    assert approval.state == "approved" and not Grant.objects.exists()
