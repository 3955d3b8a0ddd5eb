"""Rows for pages: people, workspaces, runs with valid chains, questions. Written as services do."""

from __future__ import annotations

import itertools
from datetime import UTC, datetime, timedelta
from typing import Any

from runtime import blobs
from runtime.core import canonical
from runtime.core.digests import sha256
from runtime.journal import book
from runtime.journal.append import new_id
from runtime.journal.kind import Payload
from runtime.journal.kinds import (
    ActionCompleted,
    ActionProposed,
    ActionRefused,
    ActionStarted,
    ApprovalRequested,
    CheckpointCreated,
    DeliveryCompleted,
    FinishRefused,
    MessageCompleted,
    PolicyDecided,
    RunSubmitted,
    RunSucceeded,
    TaskClaimed,
    TaskReady,
    TaskSucceeded,
    TaskWaiting,
    VerificationPassed,
)
from runtime.models import Approval, PolicyDecision, Run, Task, Trace, User, Workspace
from runtime.people import service

STAGES = [
    ["intake", "pass", "run_tool with every field that it needs", ""],
    ["canonicalise", "pass", "git, from the system's folders", ""],
    ["boundary", "pass", "git is allowed here", ""],
    ["veto", "pass", "nothing that nobody may lift", ""],
    ["admin", "pass", "no rule", ""],
    ["workspace", "pass", "no rule", ""],
    ["role", "pass", "an implementer may", ""],
    ["defaults", "ASK", "a push leaves the worktree", "defaults/git-push"],
    ["mode", "pass", "assisted changes nothing", ""],
    ["grants", "pass", "nobody allowed this before", ""],
    ["audit", "pass", "recorded", ""],
]
PUSH = {"kind": "run_tool", "program": "git", "args": ["push", "origin", "main"]}
DIFF = """\
diff --git a/calc/add.py b/calc/add.py
--- a/calc/add.py
+++ b/calc/add.py
@@ -1,4 +1,4 @@
 def add(left: int, right: int) -> int:
     \"\"\"The sum of two numbers.\"\"\"
-    return left - right
+    return left + right
     # done
"""
OWNER = "box/0b1f/4711/99/abcd"
_numbers = itertools.count(1)


def person(name: str, *roles: str) -> User:
    """Somebody with these roles; without one, somebody with no right at all."""
    if roles:
        return service.add(name, roles, by=None)
    return User.objects.create_user(name)


def workspace(name: str = "calc", **changes: Any) -> Workspace:
    """A registered directory. Its root need not exist for the pages."""
    values: dict[str, Any] = {
        "root": f"/srv/code/{name}",
        "is_git": True,
        "allowed": ["git", "python3", "pytest", "ls"],
        "verify": [["python3", "-m", "pytest", "-q"]],
        "created_at": datetime.now(UTC),
        "created_by": "alice",
    }
    return Workspace.objects.create(name=name, **{**values, **changes})


class Story:
    """A run whose events are appended one by one, with the rows that go with them."""

    def __init__(self, by: User, place: Workspace, objective: str = "Make the test pass.") -> None:
        self.place = place
        self.run = Run(
            id=new_id(),
            workspace=place,
            objective=objective,
            provider="scripted:demo",
            submitted_by=by.get_username(),
            state="running",
            created_at=datetime.now(UTC) - timedelta(minutes=3),
        )
        self.task = Task(
            id=new_id(),
            run=self.run,
            key="main",
            kind="implementation",
            role="implementer",
            state="ready",
            available_at=datetime.now(UTC),
        )
        with book.new_run(self.run) as opened:
            self.task.save(force_insert=True)
            opened.append(
                RunSubmitted(
                    objective=objective,
                    workspace=place.name,
                    workflow="single",
                    provider="scripted:demo",
                    mode="assisted",
                    require_edit=False,
                    max_steps=100,
                    max_attempts=3,
                    submitted_by=by.get_username(),
                    verification=place.verify,
                    base="a" * 40,
                    tree="b" * 40,
                    uncommitted=0,
                    tasks=[
                        {
                            "task": self.task.pk,
                            "key": "main",
                            "kind": "implementation",
                            "role": "implementer",
                        }
                    ],
                ),
                actor=f"user:{by.get_username()}",
            )
            opened.append(TaskReady(why="submitted"), actor="runtime", task=self.task.pk)
        self.run.refresh_from_db()

    def tell(self, *payloads: Payload, actor: str = "worker") -> int:
        """Append events and return the number of the last one."""
        with book.open_run(self.run.pk) as opened:
            for payload in payloads:
                opened.append(payload, actor=actor, task=self.task.pk, attempt=1, fence=1)
        self.run.refresh_from_db()
        return self.run.event_seq

    def claim(self) -> None:
        """A worker takes the task."""
        self.task.state, self.task.attempt, self.task.fence = "running", 1, 1
        self.task.lease_owner = OWNER
        self.task.lease_expires_at = datetime.now(UTC) + timedelta(seconds=20)
        self.task.save()
        self.tell(TaskClaimed(owner=OWNER))

    def step(self, text: str, body: dict[str, Any], **result: Any) -> str:
        """One step: the model speaks and proposes, the gate allows it, it is done."""
        number = next(_numbers)
        action = f"act{number}"
        kind = str(body["kind"])
        self.tell(
            MessageCompleted(
                message=f"msg{number}",
                step=self.run.steps + 1,
                text=text,
                model="demo",
                input_tokens=410,
                output_tokens=37,
                estimated=False,
            ),
            ActionProposed(action=action, kind=kind, step=self.run.steps + 1, body=body),
        )
        self.decide(action, kind, "ALLOW", "defaults/read")
        done = {"ok": True, "observation": "", **result}
        seq = self.tell(
            ActionStarted(action=action, kind=kind),
            ActionCompleted(action=action, kind=kind, **done),
        )
        if trace := done.get("trace"):
            Trace.objects.create(
                run=self.run.pk,
                seq=seq,
                task=self.task.pk,
                attempt=1,
                action=action,
                **{**trace, "sandbox": "{}"},
            )
        Run.objects.filter(pk=self.run.pk).update(steps=self.run.steps + 1)
        self.run.refresh_from_db()
        return action

    def decide(self, action: str, kind: str, decision: str, rule: str) -> None:
        """The gate's verdict, with the row that the audit filters by."""
        seq = self.tell(
            PolicyDecided(
                action=action,
                kind=kind,
                decision=decision,
                rule=rule,
                source="default",
                reason="reads only" if decision == "ALLOW" else "a push leaves the worktree",
                risk="low",
                mutation=decision != "ALLOW",
                effects=[],
                stages=STAGES,
                key=sha256(action.encode()),
                digest=sha256(action.encode()),
                policy_hash="c" * 64,
            )
        )
        PolicyDecision.objects.create(
            run=self.run.pk,
            seq=seq,
            task=self.task.pk,
            action=action,
            kind=kind,
            decision=decision,
            rule=rule,
            source="default",
            key=sha256(action.encode()),
            at="2026-01-01T00:00:00.000000Z",
        )

    def ask(
        self,
        body: dict[str, Any] | None = None,
        decision: str = "ASK",
        *,
        kind: str = "action",
        hours: float = 24,
        **card: Any,
    ) -> Approval:
        """A question to a person; the task waits. Negative hours: it is past its time."""
        body = body or PUSH
        action = f"act{next(_numbers)}"
        digest = sha256(canonical.encode(body))
        now = datetime.now(UTC)
        content = {
            "sentence": "implementer wants to act",
            "action": body,
            "reason": "a push leaves the worktree",
            "rule": "defaults/git-push",
            "stages": STAGES,
            "risk": "medium",
            "effects": ["network"],
            "sandbox": {"network": False, "memory_bytes": 2 << 30},
            "paths": ["calc/add.py"],
            "root": self.place.root,
            "mode": "assisted",
            "role": "implementer",
            **card,
        }
        approval = Approval.objects.create(
            id=new_id(),
            run=self.run,
            task=self.task,
            kind=kind,
            action=action,
            action_kind=str(body["kind"]),
            decision=decision,
            rule="defaults/git-push",
            risk="medium",
            key=digest,
            digest=digest,
            card=canonical.text(content),
            submitted_by=self.run.submitted_by,
            requested_at=now,
            expires_at=now + timedelta(hours=hours),
        )
        self.tell(
            ActionProposed(action=action, kind=str(body["kind"]), step=1, body=body),
            ApprovalRequested(
                approval=approval.pk,
                action=action,
                kind=str(body["kind"]),
                decision=decision,
                rule=approval.rule,
                reason="a push leaves the worktree",
                risk="medium",
                key=digest,
                digest=digest,
                expires_at="2030-01-01T00:00:00.000000Z",
                card=content,
            ),
            TaskWaiting(approval=approval.pk),
        )
        self._wait()
        return approval

    def _wait(self) -> None:
        if self.task.state == "ready":
            self.claim()
        Task.objects.filter(pk=self.task.pk).update(
            state="waiting", lease_expires_at=None, lease_owner=""
        )
        self.task.refresh_from_db()
        Run.objects.filter(pk=self.run.pk).update(state="waiting")
        self.run.refresh_from_db()

    def work(self) -> None:
        """The steps of a small fix: read, edit, finish too early."""
        self.claim()
        self.step(
            "I will look at the failing function first.",
            {"kind": "read_file", "path": "calc/add.py"},
            observation="def add(left: int, right: int) -> int:\n    return left - right\n",
        )
        self.step(
            "The sign is wrong: it subtracts. I change it.",
            {
                "kind": "replace_text",
                "path": "calc/add.py",
                "expected": "return left - right",
                "replacement": "return left + right",
            },
            observation="1 replacement",
            diff=DIFF,
        )
        self.tell(
            CheckpointCreated(tree="d" * 40, commit="e" * 40, action="act", files=["calc/add.py"])
        )
        self.step(
            "Let me see what the tests say.",
            {"kind": "run_tool", "program": "pytest", "args": ["-q", "tests/test add.py"]},
            ok=False,
            observation="\x1b[31mF\x1b[0m\n1 failed in 0.02s\n",
            trace={
                "program": "pytest",
                "argument_count": 2,
                "status": 1,
                "signal": None,
                "timed_out": False,
                "cancelled": False,
                "truncated": False,
                "stdout_bytes": 2048,
                "stderr_bytes": 0,
                "duration_ms": 312,
                "cpu_ms": 280,
                "peak_memory": 41 << 20,
            },
        )
        self.tell(
            FinishRefused(
                action="actf", kind="finish", reason="calc/add.py is not verified.", debt=True
            ),
            ActionRefused(
                action="actg",
                kind="run_tool",
                reason="curl is not allowed here.",
                by="cautious.network",
            ),
        )

    def end(self) -> None:
        """Verified, delivered, succeeded."""
        self.tell(
            VerificationPassed(
                action="actv",
                tree="d" * 40,
                commands=[
                    {
                        "argv": ["python3", "-m", "pytest", "-q"],
                        "status": 0,
                        "duration_ms": 420,
                        "output": blobs.put(b"2 passed in 0.01s\n"),
                        "output_size": 18,
                    }
                ],
            ),
            DeliveryCompleted(
                commit="f" * 40,
                branch=f"m31a/{self.run.pk}",
                tree="d" * 40,
                patch="1" * 64,
                report=blobs.put(canonical.encode({"files": [["M", "calc/add.py"]]})),
                files=1,
                insertions=1,
                deletions=1,
            ),
            TaskSucceeded(),
            RunSucceeded(summary="The sign is right now; both tests pass."),
        )
        if self.task.state == "ready":
            self.claim()
        if self.task.state == "waiting":
            Task.objects.filter(pk=self.task.pk).update(state="ready")
            self.task.refresh_from_db()
            self.claim()
        Task.objects.filter(pk=self.task.pk).update(
            state="succeeded", lease_expires_at=None, lease_owner=""
        )
        Run.objects.filter(pk=self.run.pk).update(state="succeeded", ended_at=datetime.now(UTC))
        self.run.refresh_from_db()
        self.task.refresh_from_db()
