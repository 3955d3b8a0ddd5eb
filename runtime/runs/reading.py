"""What there is to know about a run, without changing anything."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from runtime import blobs
from runtime.core import canonical
from runtime.core.errors import NotFound
from runtime.journal import newer
from runtime.journal.draft import whole
from runtime.journal.kinds import REGISTRY, GuardedFilesChanged, VerificationInputsChanged
from runtime.journal.rows import COLUMNS, EventRow, from_columns
from runtime.models import Approval, Artifact, Event, Run, Task
from runtime.secrets import redactor
from runtime.workspaces.space import RunSpace

MAX_LISTED = 200


def get(run_id: str) -> Run:
    """The run. Raises `NotFound`."""
    run = Run.objects.filter(pk=run_id).exclude(pk="system").select_related("workspace").first()
    if run is None:
        raise NotFound(f"There is no run {run_id}.", remedy="`m31a status` lists the runs.")
    return run


def status(run_id: str) -> dict[str, Any]:
    """State of a run, its tasks and its open questions."""
    return _document(get(run_id))


def summaries(limit: int = MAX_LISTED) -> list[dict[str, Any]]:
    """The newest runs, each as `status` gives it."""
    runs = Run.objects.exclude(pk="system").order_by("-created_at", "-id")[:limit]
    return _documents(list(runs))


def _document(run: Run) -> dict[str, Any]:
    return _documents([run])[0]


def _documents(runs: list[Run]) -> list[dict[str, Any]]:
    """The state of each run, its tasks and its open questions, in three queries for all; and what
    this version does not know of its record, where there is such."""
    tasks: dict[str, list[dict[str, Any]]] = {run.pk: [] for run in runs}
    for task in Task.objects.filter(run__in=list(tasks)).order_by("id"):
        facts = {"task": task.pk, "kind": task.kind, "state": task.state, "attempt": task.attempt}
        tasks[task.run_id].append(facts)
    pending: dict[str, list[str]] = {run.pk: [] for run in runs}
    open_ones = Approval.objects.filter(run__in=list(tasks), state=Approval.State.PENDING)
    for approval, run_id in open_ones.order_by("id").values_list("pk", "run_id"):
        pending[run_id].append(approval)
    beyond = newer.of_all(list(tasks))
    return [
        {
            "run": run.pk,
            "state": run.state,
            "reason": run.reason,
            "tasks": tasks[run.pk],
            "approvals": pending[run.pk],
            **({"newer": newer.named(beyond[run.pk])} if run.pk in beyond else {}),
        }
        for run in runs
    ]


def inputs_changed(run_id: str) -> list[str]:
    """Files that the verification runs, or that steer it, and that the run has changed."""
    return _marked(run_id, VerificationInputsChanged)


def guarded_changed(run_id: str) -> list[str]:
    """Files that the gate asks about before an edit, and that a command of the run changed."""
    return _marked(run_id, GuardedFilesChanged)


def _marked(run_id: str, kind: type[VerificationInputsChanged | GuardedFilesChanged]) -> list[str]:
    """The paths that all events of a kind name."""
    rows = Event.objects.filter(run=run_id, type=kind.type)
    paths: set[str] = set()
    for row in map(from_columns, rows.values_list(*COLUMNS)):
        paths.update(whole(row.payload, kind)["paths"])
    return sorted(paths)


def space_of(run: Run) -> RunSpace:
    """The files of a run. Raises `NotFound` where they were removed."""
    if run.workspace is None:
        raise NotFound(f"Run {run.pk} has no workspace.")
    data = settings.M31A.DATA_DIR
    space = RunSpace(data / "runs" / run.pk, run.workspace, run.uid, etc=data / "etc")
    if not space.exists():
        raise NotFound(
            f"The files of run {run.pk} are not here any more.",
            remedy="Its patch is an artifact, if it delivered.",
        )
    return space


def trees(run: Run) -> tuple[str, str]:
    """The tree that the run began with, and the last one known."""
    first = _payload(run, "run.submitted")
    last = _payload(run, "checkpoint.created")
    if first is None:
        raise NotFound(f"Run {run.pk} was not submitted.")
    return first["tree"], last["tree"] if last else first["tree"]


def _payload(run: Run, type_: str) -> dict[str, Any] | None:
    row = _last(run, type_)
    return None if row is None else row.payload


def _last(run: Run, *types: str) -> EventRow | None:
    """The run's last event of these types, in the newest form."""
    rows = Event.objects.filter(run=run.pk, type__in=types).order_by("-seq")
    columns = rows.values_list(*COLUMNS).first()
    row = None if columns is None else from_columns(columns)
    return row if row is not None and row.type in types else None


def diff(run_id: str, path: str | None = None) -> str:
    """What the run has changed so far, as a unified diff, redacted."""
    run = get(run_id)
    before, after = trees(run)
    return redactor().text(space_of(run).diff(before, after, path)) if before != after else ""


def report(run_id: str) -> dict[str, Any]:
    """What came of a run: the delivery, its evidence and who allowed what."""
    run = get(run_id)
    delivery = _payload(run, "delivery.completed")
    evidence = _last_verification(run)
    answered = Approval.objects.filter(run=run).order_by("id")
    return {
        **_document(run),
        "objective": run.objective,
        "workspace": run.workspace.name if run.workspace else "",
        "base": run.base,
        "steps": run.steps,
        "input_tokens": run.input_tokens,
        "output_tokens": run.output_tokens,
        "delivery": delivery,
        "report": canonical.decode(blobs.get(delivery["report"])) if delivery else None,
        "verification": evidence,
        "verification_inputs_changed": inputs_changed(run.pk),
        "guarded_files_changed": guarded_changed(run.pk),
        "decisions": [
            {
                "approval": approval.pk,
                "action": approval.action_kind,
                "decision": approval.decision,
                "rule": approval.rule,
                "state": approval.state,
                "by": approval.decided_by,
                "comment": approval.comment,
            }
            for approval in answered
        ],
        "artifacts": Artifact.objects.filter(run=run).count(),
    }


def _last_verification(run: Run) -> dict[str, Any] | None:
    row = _last(run, "verification.passed", "verification.failed")
    if row is None:
        return None
    payload = whole(row.payload, REGISTRY.get(row.type))
    return {"passed": row.type == "verification.passed", "seq": row.seq, **payload}
