"""Every service in any order, by workers who may long have lost what they hold."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from runtime import approvals, runs, tasks
from runtime.approvals import expiring
from runtime.core.errors import Conflict, Refused, StaleFence
from runtime.journal import book
from runtime.journal.append import append, now
from runtime.journal.kinds import (
    ActionCompleted,
    ActionProposed,
    ActionStarted,
    ApprovalConsumed,
    PolicyDecided,
    TaskCancelled,
    TaskFailed,
    TaskSucceeded,
)
from runtime.journal.statements import Change, Row
from runtime.models import Approval, PolicyDecision, Run, Task
from runtime.tasks import Claim
from runtime.workflow.states import LEASED, TERMINAL
from tests.durable.invariants import attempts, violations
from tests.kit import Cast
from tests.store.store_kit import ELSEWHERE, a_run, ask, dead, here

OWNERS: dict[str, Callable[[], str]] = {"alive": here, "dead": dead, "away": lambda: ELSEWHERE}


class Services(RuleBasedStateMachine):
    """One run of three tasks; claims are kept and used for ever."""

    cast: Cast
    claims = Bundle("claims")

    @initialize(edge=st.sampled_from(["needs", "after", "on_failure"]))
    def submit(self, edge: str) -> None:
        needs = {"third": ["first", "second"]}
        self.run = a_run("first", "second", "third", needs=needs, edge=edge, max_attempts=3).pk
        self.ended: dict[str, str] = {}
        self.step = 0

    def _row(self, claim: Claim) -> Task:
        return Task.objects.get(pk=claim.task)

    def _holds(self, claim: Claim, *states: str) -> bool:
        row = self._row(claim)
        return row.fence == claim.fence and row.state in (states or ("running",))

    def _may(self, claim: Claim, act: Callable[[], Any], *states: str) -> bool:
        """Do it; it is turned away if, and only if, the claim does not hold any more."""
        holds = self._holds(claim, *states)
        try:
            act()
        except StaleFence:
            assert not holds, "a living claim was turned away"
            return False
        assert holds, "a stale claim was not turned away"
        return True

    @rule(target=claims, owner=st.sampled_from(sorted(OWNERS)))
    def claim(self, owner: str) -> Any:
        ready = Task.objects.filter(run=self.run, state="ready").exists()
        taken = tasks.claim(OWNERS[owner](), run=self.run)
        assert (taken is not None) == ready
        return taken if taken is not None else Claim(self.run, "", 0, 0, "", False)

    held = claims.filter(lambda claim: claim.task != "")

    def _verdict(self, claim: Claim, action: str, decision: str) -> tuple[PolicyDecided, Row]:
        decided = PolicyDecided(
            action=action, kind="run_tool", decision=decision, rule="r", source="default",
            reason="", risk="low", mutation=True, effects=[], stages=[], key="k" * 64,
            digest="d" * 64, policy_hash="p",
        )  # fmt: skip
        values = {
            "run": claim.run, "task": claim.task, "action": action, "kind": "run_tool",
            "decision": decision, "rule": "r", "source": "default", "key": "k" * 64, "at": "",
        }  # fmt: skip
        return decided, Row(PolicyDecision, values, seq_of=0)

    @rule(claim=held)
    def act(self, claim: Claim) -> None:
        self.step += 1
        action = f"{claim.task}.s{self.step}"
        decided, row = self._verdict(claim, action, "ALLOW")
        body = {"kind": "run_tool", "program": "true"}
        events = [
            decided,
            ActionProposed(action=action, kind="run_tool", step=self.step, body=body),
            ActionStarted(action=action, kind="run_tool"),
            ActionCompleted(action=action, kind="run_tool", ok=True, observation=""),
        ]
        steps = self._row(claim).steps
        self._may(claim, lambda: append(claim.by(), events, task={"steps": steps}, rows=[row]))

    @rule(claim=held, decision=st.sampled_from(["ASK", "ESCALATE"]))
    def suspend(self, claim: Claim, decision: str) -> None:
        self._may(claim, lambda: ask(claim, decision))

    @rule(claim=held)
    def use_the_answer(self, claim: Claim) -> None:
        answered = Approval.objects.filter(task=claim.task).order_by("id").last()
        if answered is None:
            return
        usable = answered.state == "approved" and not answered.consumed_fence
        decided, row = self._verdict(claim, answered.action, "ALLOW")
        events = [
            decided,
            ApprovalConsumed(approval=answered.pk, action=answered.action, kind="git_push"),
            ActionStarted(action=answered.action, kind="git_push"),
        ]
        change = Change(
            Approval,
            {"consumed_fence": claim.fence},
            {"id": answered.pk, "state": "approved", "consumed_fence": 0},
        )
        steps = self._row(claim).steps
        holds = self._holds(claim)
        try:
            append(claim.by(), events, task={"steps": steps}, rows=[row], changes=[change])
        except StaleFence:
            assert not (holds and usable)
        else:
            assert holds and usable

    @rule(claim=held, good=st.booleans())
    def complete(self, claim: Claim, good: bool) -> None:
        def end() -> None:
            with tasks.held(claim) as hold:
                if good:
                    hold.move("succeeded", TaskSucceeded(summary=""))
                else:
                    hold.move("failed", TaskFailed(reason="broken", detail=""), reason="broken")

        self._may(claim, end)

    @rule(claim=held)
    def release(self, claim: Claim) -> None:
        self._may(claim, lambda: tasks.release(claim, "slice"))

    @rule(claim=held)
    def acknowledge(self, claim: Claim) -> None:
        def end() -> None:
            with tasks.held(claim, states=("cancelling",)) as hold:
                hold.move("cancelled", TaskCancelled())

        self._may(claim, end, "cancelling")

    @rule(claim=held)
    def renew(self, claim: Claim) -> None:
        holds = self._holds(claim, "running", "cancelling")
        assert (tasks.renew(claim) == "lost") == (not holds)

    @rule(verdict=st.sampled_from(["approve", "deny"]))
    def decide(self, verdict: str) -> None:
        approval = Approval.objects.filter(run=self.run).order_by("-id").first()
        if approval is None:
            return
        by = self.cast.sol if approval.decision == "ESCALATE" else self.cast.bob
        wanted = "approved" if verdict == "approve" else "denied"
        try:
            approvals.decide(approval.pk, by=by, verdict=verdict)
        except Conflict:
            assert approval.state not in ("pending", wanted)
        else:
            assert approval.state in ("pending", wanted)

    @rule()
    def expire(self) -> None:
        later = now() + timedelta(hours=25)
        with pytest.MonkeyPatch.context() as patch:
            for room in (book, expiring):
                patch.setattr(room, "now", lambda: later)
            approvals.expire_due()
        Task.objects.filter(run=self.run).update(available_at=now())
        assert not Approval.objects.filter(run=self.run, state="pending").exists()

    @rule(moved=st.booleans())
    def reap(self, moved: bool) -> None:
        leased = Task.objects.filter(run=self.run, state__in=LEASED)
        living = set(leased.exclude(lease_owner__in=[]).values_list("pk", "lease_owner"))
        if moved:
            leased.update(lease_expires_at=now() - timedelta(hours=1))
        tasks.reap()
        kept = set(leased.values_list("pk", "lease_owner"))
        gone = {pair for pair in living if tasks.incarnation.is_gone(pair[1])}
        assert kept == (set() if moved else living - gone)

    @precondition(lambda self: self.step % 3 == 2)
    @rule()
    def cancel(self) -> None:
        ended = Run.objects.get(pk=self.run).ended_at is not None
        try:
            runs.cancel(self.run, self.cast.alice)
        except Refused:
            assert ended
        else:
            assert not ended
        assert not Approval.objects.filter(run=self.run, state="pending").exists()

    @rule(bound=st.integers(1, 6))
    def retry(self, bound: int) -> None:
        run = Run.objects.get(pk=self.run)
        used = (
            max(t.attempt for t in Task.objects.filter(run=run, state="failed"))
            if (run.state == "failed")
            else bound
        )
        try:
            runs.retry(self.run, self.cast.alice, bound)
        except Refused:
            assert used >= bound
        else:
            assert used < bound
            self.ended.clear()

    @invariant()
    def all_is_well(self) -> None:
        if not hasattr(self, "run"):
            return
        assert violations(self.run) == []
        assert attempts(self.run) == []
        for task in Task.objects.filter(run=self.run):
            assert (task.lease_expires_at is not None) == (task.state in LEASED)
            assert task.pk not in self.ended or self.ended[task.pk] == task.state
            if task.state in TERMINAL:
                self.ended[task.pk] = task.state


def test_X2_X12_X15_any_order_of_services_keeps_every_promise(site, cast: Cast):
    for person in (cast.alice, cast.bob, cast.sol):
        assert person.pk
    run_state_machine_as_test(  # type: ignore[no-untyped-call]
        type("Bound", (Services,), {"cast": cast}),
        settings=settings(
            max_examples=15,
            stateful_step_count=25,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )
