"""What must be true of a run whatever happened to the processes. Read off journal and tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta

from runtime import blobs as stored
from runtime.core.digests import sha256
from runtime.journal import verify
from runtime.journal.read import every
from runtime.journal.rows import EventRow
from runtime.models import Artifact, Dependency, Task
from runtime.runs import replay
from runtime.tasks import incarnation

ENDS = {"task.succeeded", "task.failed", "task.cancelled", "task.skipped"}
RUN_ENDS = {"run.succeeded", "run.failed", "run.cancelled"}
DONE = {"action.completed", "action.refused", "action.outcome_unknown", "finish.refused"}


def violations(run: str, ledger: Sequence[str] = ()) -> list[str]:
    """Everything that is wrong with a run. `ledger` holds a line for each effect it had."""
    events = list(every(run))
    return [
        *_whole(run),
        *_fenced(events),
        *_ended_once(events),
        *_in_order(events, run),
        *_permitted(events),
        *_effects(events, ledger),
    ]


def _whole(run: str) -> Iterator[str]:
    chain = verify.verify(run)
    if not chain["ok"]:
        yield f"the chain is broken at {chain['first_bad']}: {chain['reason']}"
    elif difference := replay.check(run):
        yield f"the tables differ: {difference}"


def _fenced(events: list[EventRow]) -> Iterator[str]:
    """Only the latest claim writes; fences rise by one; a lost or given-back one writes no more."""
    fence: Counter[str] = Counter()
    open_: dict[str, bool] = {}
    for event in events:
        if event.task is None or event.fence is None:
            continue
        if event.type == "task.claimed":
            if open_.get(event.task):
                yield f"{event.seq}: claimed while fence {fence[event.task]} holds"
            if event.fence != fence[event.task] + 1:
                yield f"{event.seq}: fence {event.fence} follows {fence[event.task]}"
            fence[event.task], open_[event.task] = event.fence, True
        elif event.fence != fence[event.task]:
            yield f"{event.seq}: stale write of fence {event.fence}: {event.type}"
        elif not open_.get(event.task) and not _lapse(event):
            yield f"{event.seq}: {event.type} by fence {event.fence}, which had let go"
        if event.type in ENDS | {"task.released", "task.waiting", "task.lease_expired"}:
            open_[event.task] = False


def _lapse(event: EventRow) -> bool:
    """What the reaper writes about a fence after it has ended its lease."""
    return event.actor == "reconciler"


def _ended_once(events: list[EventRow]) -> Iterator[str]:
    ended: set[str] = set()
    run_ended = False
    for event in events:
        if event.type == "run.retried":
            run_ended = False
        elif run_ended:
            yield f"{event.seq}: {event.type} after the end of the run"
        if event.task and event.type == "task.retried":
            ended.discard(event.task)
        elif event.task in ended:
            yield f"{event.seq}: {event.type} after the end of its task"
        if event.task and event.type in ENDS:
            ended.add(event.task)
        run_ended = run_ended or event.type in RUN_ENDS


def _in_order(events: list[EventRow], run: str) -> Iterator[str]:
    """No task is claimed before what it needs has ended as its edge wants."""
    edges = list(Dependency.objects.filter(child__run=run).values_list("parent", "child", "kind"))
    wanted = {"needs": {"task.succeeded"}, "on_failure": {"task.failed"}, "after": ENDS}
    had: dict[str, str] = {}
    for event in events:
        if event.task and event.type in ENDS:
            had[event.task] = event.type
        if event.type == "task.claimed":
            for parent, child, kind in edges:
                if child == event.task and had.get(parent) not in wanted[kind]:
                    yield f"{event.seq}: claimed before its {kind} on {parent} was met"


def _permitted(events: list[EventRow]) -> Iterator[str]:
    """Each action starts at most once, by the gate's ALLOW or by an answer that is used once."""
    decision: dict[str, str] = {}
    asked: set[str] = set()
    answers: Counter[str] = Counter()
    used: Counter[str] = Counter()
    started: Counter[str] = Counter()
    for event in events:
        said = event.payload
        if event.type == "policy.decided":
            decision[said["action"]] = said["decision"]
        elif event.type == "approval.requested":
            asked.add(said["action"])
        elif event.type == "approval.approved":
            answers[said["approval"]] += 1
        elif event.type == "approval.consumed":
            used[said["approval"]] += 1
            if not answers[said["approval"]]:
                yield f"{event.seq}: an answer that nobody gave is used"
            if used[said["approval"]] > 1:
                yield f"{event.seq}: approval {said['approval']} is used again"
            asked.discard(said["action"])
        elif event.type == "action.started":
            started[said["action"]] += 1
            if decision.get(said["action"]) != "ALLOW":
                yield f"{event.seq}: started although {decision.get(said['action'])}"
            if said["action"] in asked:
                yield f"{event.seq}: started with its question open"
            if started[said["action"]] > 1:
                yield f"{event.seq}: {said['action']} starts again"
    done = Counter(event.payload["action"] for event in events if event.type in DONE)
    yield from (f"{action} ended {n} times" for action, n in done.items() if n > 1)


def _effects(events: list[EventRow], ledger: Sequence[str]) -> Iterator[str]:
    """No effect twice, and none missing where the journal says that all went well."""
    yield from (f"effect {line!r} {n} times" for line, n in Counter(ledger).items() if n > 1)


def too_soon(run: str, renewed: Mapping[tuple[str, int], datetime], lease: timedelta) -> list[str]:
    """Leases that were taken from holders who live, and who had renewed them. `renewed` is kept
    by the holders, outside the database."""
    found = []
    for event in every(run):
        at = renewed.get((event.task or "", event.fence or 0))
        if event.type != "task.lease_expired" or incarnation.is_gone(event.payload["owner"]):
            continue
        if at is not None and datetime.fromisoformat(event.at) - at < lease:
            found.append(f"{event.seq}: taken from a holder whose lease was renewed at {at}")
    return found


def attempts(run: str) -> list[str]:
    """Whether attempts are counted as they should: the first claim, and one per lost lease."""
    wrong = []
    for task in Task.objects.filter(run=run):
        mine = [event for event in every(run) if event.task == task.pk]
        types = Counter(event.type for event in mine)
        expected = min(1, types["task.claimed"]) + types["task.lease_expired"]
        if mine and mine[-1].type == "task.lease_expired":
            expected -= 1
        if task.crashes != types["task.lease_expired"] or task.attempt > expected:
            wrong.append(f"{task.pk}: attempt {task.attempt}, crashes {task.crashes}, {types}")
    return wrong


def blobs(run: str) -> list[str]:
    """Whether every reference has its bytes, and every name the bytes that it names."""
    # Other tests of this process damage bytes of their own in the same folder.
    mine = Artifact.objects.filter(run=run).values_list("sha256", flat=True)
    named = [path for path in map(stored.path, mine) if path.exists()]
    return [
        *(
            f"{path.name} names other bytes"
            for path in named
            if sha256(path.read_bytes()) != path.name
        ),
        *(
            f"{digest} is referred to, and is not there"
            for digest in Artifact.objects.filter(run=run).values_list("sha256", flat=True)
            if not stored.exists(digest)
        ),
    ]
