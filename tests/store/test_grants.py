"""What an answer permits: scopes of grants, and the one use of one approval."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from runtime import approvals, gating
from runtime.gating import Subject
from runtime.gating.grants import live
from runtime.journal.append import now
from runtime.models import Approval, Grant, Run, Task
from runtime.policy import ApprovalFact, Decision
from runtime.policy.testing import World, tool
from tests.store.store_kit import (
    a_run,
    ask,
    claimed,
    types,
)

pytestmark = pytest.mark.usefixtures("both")

PUSH = {"kind": "git_push"}
FORCE = tool("git", "push", "--force")


def _subject(approval: Approval) -> Subject:
    world = World(files={"/work/a": "x"}, programs={"git": "/usr/bin/git"})
    run = Run.objects.select_related("workspace").get(pk=approval.run_id)
    plain = world.context()
    return Subject(
        run=run.pk,
        task=approval.task_id,
        role="implementer",
        kind="implementation",
        mode=run.mode,
        workspace=run.workspace.name,
        root=world.root,
        allowed=plain.allowed,
        remotes=plain.remotes,
        write_paths=(),
        look=world.look,
        links=world.links,
        which=world.programs.get,
    )


def _verdict(of: Approval, action=PUSH, at: datetime | None = None, **more):
    return gating.decide(_subject(of), action, tree="t", now=at or now(), **more)


def _ask_about(action, run: Run | None = None) -> Approval:
    """A question with the key and digest of a real action."""
    run = run or a_run()
    claim = claimed(run)
    probe = Approval(run_id=run.pk, task_id=claim.task)
    verdict = _verdict(probe, action)
    return ask(claim, str(verdict.decision), key=verdict.key, digest=verdict.digest)


def test_F10_a_scope_reaches_exactly_as_far_as_it_says(people):
    day = (now() + timedelta(days=3)).date()
    for scope in ("once", "task", "run", f"workspace:{day}"):
        run = a_run("a", "b")
        approval = _ask_about(PUSH, run)
        approvals.decide(approval.pk, by=people.bob, verdict="approve", scope=scope)
        other = Task.objects.filter(run=run).exclude(pk=approval.task_id).get()
        sibling = Approval(run=run, task=other)
        cousin = _ask_about(FORCE, a_run())
        stranger = _ask_about(FORCE, a_run(workspace="elsewhere"))
        found = [str(_verdict(a).decision) for a in (approval, sibling, cousin, stranger)]
        reach = ["once", "task", "run", "workspace"].index(scope.partition(":")[0])
        assert found == ["ALLOW"] * reach + ["ASK"] * (4 - reach), scope
        assert str(_verdict(approval, {"kind": "git_push", "ref": "main"}).decision) == "ASK"
        if reach:
            grant = Grant.objects.get(approval=approval)
            verdict = _verdict(approval)
            assert verdict.source == "grant"
            assert grant.pk in verdict.rule
            assert (grant.lifts, grant.granted_by) == ("ASK", "bob")
            assert types(run.pk)[-2:] == ["grant.created", "task.ready"]
        Grant.objects.all().delete()


def test_a_grant_for_a_workspace_ends_with_its_day(people):
    day = (now() + timedelta(days=3)).date()
    approval = _ask_about(PUSH)
    approvals.decide(approval.pk, by=people.bob, verdict="approve", scope=f"workspace:{day}")
    last = datetime(day.year, day.month, day.day, 23, 59, 59, tzinfo=UTC)
    assert str(_verdict(approval, at=last).decision) == "ALLOW"
    assert str(_verdict(approval, at=last + timedelta(seconds=1)).decision) == "ASK"
    Grant.objects.update(revoked_at=now(), revoked_by="bob")
    assert str(_verdict(approval).decision) == "ASK"
    assert live(approval.task_id, approval.run_id, "work", now()) == ()


def test_an_ESCALATE_is_only_lifted_by_what_security_gave(people):
    approval = _ask_about(FORCE)
    assert approval.decision == "ESCALATE"
    approvals.decide(approval.pk, by=people.sol, verdict="approve", scope="run")
    assert str(_verdict(approval, FORCE).decision) == "ALLOW"
    # A reviewer's grant of the same key lifts no ESCALATE.
    Grant.objects.update(lifts="ASK", granted_by="bob")
    assert str(_verdict(approval, FORCE).decision) == "ESCALATE"


def test_F14_one_approval_permits_its_very_action_once(people):
    approval = _ask_about(PUSH)
    approvals.decide(approval.pk, by=people.bob, verdict="approve")
    fact = ApprovalFact(approval.pk, approval.digest, Decision.ASK, "bob")
    assert str(_verdict(approval, approval=fact).decision) == "ALLOW"
    other = ApprovalFact(approval.pk, "0" * 64, Decision.ASK, "bob")
    assert str(_verdict(approval, approval=other).decision) == "ASK"
    assert str(_verdict(approval).decision) == "ASK"
