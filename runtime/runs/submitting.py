"""Handing over an objective: checked whole, then written in one transaction."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from dataclasses import field as made
from typing import NamedTuple

from django.conf import settings
from django.db import IntegrityError
from django.db.models.functions import Now

from runtime import artifacts, budgets, tasks
from runtime.core import amounts, texts
from runtime.core.errors import BadInput, NotFound, NotYet, Refused, Unavailable
from runtime.journal.append import new_id
from runtime.journal.book import new_run
from runtime.journal.kinds import RunSubmitted, TaskReady
from runtime.models import Artifact, Run, Task, User, Workspace
from runtime.people import rights
from runtime.policy import MODES
from runtime.providers import check_script, configured, load
from runtime.sandbox import pick_uid
from runtime.secrets import redactor
from runtime.workspaces.space import RunSpace

MAX_OBJECTIVE = 20_000
MAX_STEPS = 10_000
MAX_ATTEMPTS = 100
MAX_KEY = 200
ACCOUNT_TRIES = 10
"""Submissions at the same moment that may be in each other's way; each try takes another account."""
_ENDED = ("succeeded", "cancelled")
"""States of runs that never execute anything again, so that their accounts are free."""


@dataclass(frozen=True)
class Submission:
    """What somebody wants done. `script` holds the lines of a `scripted:` provider."""

    workspace: str
    objective: str
    by: User
    provider: str = ""
    script: bytes | None = None
    mode: str = "assisted"
    require_edit: bool = False
    max_steps: int = 100
    max_attempts: int = 3
    key: str | None = None
    workflow: str = "single"
    budgets: Mapping[str, int] = made(default_factory=dict)
    """Limits by name, over those of the workspace and the settings. Steps and attempts, too."""


class Submitted(NamedTuple):
    """The run, whether it is new, and what the person should know."""

    run: Run
    created: bool
    warnings: tuple[str, ...]


def submit(wish: Submission) -> Submitted:
    """Write a run that is ready to be worked on.

    The same key again returns the first run and writes nothing. Raises `BadInput` naming the
    field, `NotFound`, `NotYet`, or `Refused` where a right is missing; nothing is left then.
    """
    if not rights.has(wish.by, "submit_run"):
        raise Refused(
            f"{wish.by.get_username()} may not submit runs.",
            remedy="`m31a user add NAME --role submitter` gives that right.",
        )
    wish = _with_own(wish)
    _check(wish)
    if wish.key is not None and (first := _earlier(wish.key, wish.by)):
        return first
    workspace = Workspace.objects.filter(name=wish.workspace).first()
    if workspace is None:
        raise NotFound(
            f"workspace: there is none called {wish.workspace!r}.",
            remedy="`m31a workspace list` shows them; `m31a workspace add` registers one.",
            field="workspace",
        )
    provider = _provider(wish)
    return _create(wish, workspace, provider)


def _with_own(wish: Submission) -> Submission:
    """Budgets that have fields of their own stand there."""
    given = budgets.checked(wish.budgets)
    return replace(
        wish,
        budgets={name: value for name, value in given.items() if name not in budgets.OWN},
        max_steps=given.get("steps", wish.max_steps),
        max_attempts=given.get("attempts", wish.max_attempts),
    )


def _check(wish: Submission) -> None:
    texts.check(wish.objective, "objective")
    texts.check(wish.key or "", "key")
    objective = wish.objective.strip()
    if not objective or len(objective) > MAX_OBJECTIVE:
        raise BadInput(
            f"objective: it has {len(objective)} characters.",
            remedy=f"Say what is to be done, in 1 to {MAX_OBJECTIVE} characters.",
            field="objective",
        )
    if wish.mode not in MODES:
        raise BadInput(
            f"mode: {wish.mode!r} is none.", remedy=f"Use {', '.join(MODES)}.", field="mode"
        )
    for field, value, most in (
        ("max_steps", wish.max_steps, MAX_STEPS),
        ("max_attempts", wish.max_attempts, MAX_ATTEMPTS),
    ):
        if not 1 <= value <= most:
            raise BadInput(
                f"{field}: {value} is out of bounds.", remedy=f"Use 1 to {most}.", field=field
            )
    if wish.key is not None and not 1 <= len(wish.key) <= MAX_KEY:
        raise BadInput(
            f"key: it has {len(wish.key)} characters.",
            remedy=f"Use 1 to {MAX_KEY}.",
            field="key",
        )
    if wish.workflow != "single":
        raise NotYet(
            f"workflow: {wish.workflow!r} is not built yet.", remedy="Use single.", field="workflow"
        )


def _earlier(key: str, by: User) -> Submitted | None:
    """The run that has this key. Raises `BadInput` where it is nobody's business of `by`."""
    run = Run.objects.filter(key=key).first()
    if run is None:
        return None
    if not Run.objects.visible_to(by).filter(pk=run.pk).exists():
        raise BadInput("key: a run of somebody else has it.", remedy="Take another.", field="key")
    return Submitted(run, False, ())


def _provider(wish: Submission) -> str:
    """The provider's spec, proven to be usable with the present settings."""
    spec = wish.provider or configured(os.environ) or ""
    if not spec:
        raise BadInput(
            "provider: none is configured.",
            remedy=(
                "Set M31A_PROVIDER, for instance to openai:MODEL with OPENAI_BASE_URL "
                "(and OPENAI_API_KEY where it is needed), or give --provider."
            ),
            field="provider",
        )
    if wish.script is not None:
        check_script(wish.script)
    load(spec, script=wish.script, env=os.environ)
    return spec


def _create(wish: Submission, workspace: Workspace, provider: str) -> Submitted:
    """Make the run. Where another took its key meanwhile, that one is the answer; where another
    took its account, it is made again with the next."""
    script = artifacts.keep_script(wish.script) if wish.script is not None else None
    for _ in range(ACCOUNT_TRIES):
        run = _run(wish, workspace, provider, script)
        try:
            return Submitted(run, True, _make(run, workspace, script))
        except IntegrityError:
            if wish.key is not None and (first := _earlier(wish.key, wish.by)):
                return first
            if run.uid not in _taken():
                raise
    raise Unavailable(
        "No account was free for the commands of the run.", remedy="Submit again in a moment."
    )


def _run(
    wish: Submission, workspace: Workspace, provider: str, script: artifacts.ArtifactFact | None
) -> Run:
    return Run(
        id=new_id(),
        workspace=workspace,
        objective=redactor().text(wish.objective.strip()),
        workflow=wish.workflow,
        provider=provider,
        script=script.sha256 if script else "",
        mode=wish.mode,
        require_edit=wish.require_edit,
        max_steps=wish.max_steps,
        max_attempts=wish.max_attempts,
        budgets=amounts.written(_limits(wish, workspace)),
        state="running",
        submitted_by=wish.by.get_username(),
        key=wish.key,
        uid=pick_uid(_taken()),
    )


def _limits(wish: Submission, workspace: Workspace) -> dict[str, int]:
    """The run's limits as they are from now on, whatever the settings become."""
    memory = {name: value for name, value in workspace.limits.items() if name == "memory_bytes"}
    given = {**memory, **workspace.budgets, **wish.budgets}
    found = budgets.limits(given, wish.max_steps, wish.max_attempts)
    if "model_calls" not in given and not settings.M31A.BUDGETS["model_calls"]:
        del found["model_calls"]  # it follows the steps, also where more are granted
    return {name: value for name, value in found.items() if name not in budgets.OWN}


def _make(run: Run, workspace: Workspace, script: artifacts.ArtifactFact | None) -> tuple[str, ...]:
    """The run's files, then its rows; what the person should know. Nothing is left on an error."""
    data = settings.M31A.DATA_DIR
    space = RunSpace(data / "runs" / run.pk, workspace, run.uid, etc=data / "etc")
    run.base, uncommitted, left_out = space.create(run.pk)
    warnings = _warnings(workspace, uncommitted, left_out)
    try:
        _write(run, script, workspace, space, uncommitted, left_out, warnings)
    except BaseException:
        space.remove()
        raise
    return warnings


def _taken() -> set[int]:
    """Accounts of runs that may still execute something."""
    rows = Run.objects.filter(uid__isnull=False).exclude(state__in=_ENDED)
    return {int(uid) for uid in rows.values_list("uid", flat=True) if uid is not None}


def _warnings(workspace: Workspace, uncommitted: int, left_out: list[str]) -> tuple[str, ...]:
    warnings = []
    if uncommitted:
        count = "Some" if uncommitted < 0 else str(uncommitted)
        warnings.append(
            f"{count} uncommitted files of {workspace.root} are not part of the run: "
            "it starts from the last commit."
        )
    if left_out:
        warnings.append(
            f"Left out, for they are nested repositories or no plain files: {', '.join(left_out[:10])}."
        )
    if not workspace.verify:
        warnings.append(
            "No verification is configured: a run that changes something cannot finish."
        )
    return tuple(warnings)


def _write(
    run: Run,
    script: artifacts.ArtifactFact | None,
    workspace: Workspace,
    space: RunSpace,
    uncommitted: int,
    left_out: list[str],
    warnings: tuple[str, ...],
) -> None:
    actor = f"user:{run.submitted_by}"
    task_id = new_id()
    with new_run(run) as book:
        task = Task.objects.create(
            id=task_id,
            run=run,
            key="main",
            kind="implementation",
            role="implementer",
            objective=run.objective,
            state="ready",
            available_at=Now(),
        )
        submitted = RunSubmitted(
            objective=run.objective,
            workspace=workspace.name,
            workflow=run.workflow,
            provider=run.provider,
            script=run.script,
            mode=run.mode,
            require_edit=run.require_edit,
            max_steps=run.max_steps,
            max_attempts=run.max_attempts,
            key=run.key,
            submitted_by=run.submitted_by,
            verification=workspace.verify,
            uid=run.uid,
            base=run.base,
            tree=space.repository.objects.tree_of(run.base),
            uncommitted=uncommitted,
            left_out=left_out,
            tasks=[{"task": task_id, "key": task.key, "kind": task.kind, "role": task.role}],
            warnings=list(warnings),
            artifacts=[script.payload()] if script is not None else [],
            budgets=amounts.read(run.budgets),
        )
        book.append(submitted, actor=actor)
        book.append(TaskReady(why="submitted"), actor=actor, task=task_id)
        if script is not None:
            fields = {**script.payload(), "created_at": book.at}
            Artifact.objects.create(run=run, **fields)
        tasks.enqueue(task_id)
