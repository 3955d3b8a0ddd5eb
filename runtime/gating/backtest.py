"""What would a changed policy file have decided? Recorded actions, decided again; nothing is run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runtime.core.errors import BadInput
from runtime.models import Run, Task
from runtime.policy import Verdict
from runtime.policy.language import Book, Document, place_of, read
from runtime.policy.language.documents import NAMES, layer_named

from . import files, policies, recorded
from .recorded import Recorded

MAX_DECISIONS = 5000
_SHARED = frozenset({"system", "organisation"})


@dataclass(frozen=True)
class Answer:
    """A decision with the rule behind it."""

    decision: str
    rule: str
    source: str
    reason: str


@dataclass(frozen=True)
class Change:
    """An action that would be decided otherwise. `was` as recorded, `now` under the rules in
    force, `then` under the changed file."""

    run: str
    action: str
    kind: str
    body: object
    was: Answer
    now: Answer
    then: Answer


@dataclass(frozen=True)
class Backtest:
    """`decided`: how many were looked at, newest runs first. `drifted`: of those, how many the
    rules in force already decide otherwise than recorded. `redacted`: how many could be judged
    only without the secret that was cut out of them. `more`: whether older ones were left out."""

    document: Document
    decided: int
    drifted: int
    redacted: int
    more: bool
    changes: tuple[Change, ...]


def document(name: str, text: str, layer: str = "", subject: str = "") -> Document:
    """A changed file. Its layer: `layer`, or what stands in it, or the file's place or name.

    Raises `BadInput` where nobody says, `PolicyFault` where the file has faults.
    """
    number, whose = _place(name, layer or layer_named(text), subject)
    found = read(name, text, number, whose)
    Book.of([found])
    return found


def read_file(path: str, layer: str = "", subject: str = "") -> Document:
    """The same for a file on disk. Raises `BadInput` or `PolicyFault`."""
    try:
        text = files.text_of(Path(path))
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}.", remedy="Name a file.") from None
    except ValueError as error:
        raise BadInput(f"{path}: {error}.", remedy="Name a policy file.") from None
    place = Path(path).resolve()
    if place.is_relative_to(files.folder().resolve()):
        name = place.relative_to(files.folder().resolve()).as_posix()
    else:
        name = place.name
    return document(name, text, layer, subject)


def _place(name: str, layer: str, subject: str) -> tuple[int, str]:
    if not layer:
        try:
            number, whose = place_of(name)
        except ValueError as error:
            raise BadInput(
                f"{name}: nobody says which layer it is.",
                remedy=f'Write layer = "organisation" at its top, or give --layer ({error}).',
                field="layer",
            ) from None
        return number, subject or whose
    if layer not in NAMES:
        raise BadInput(
            f"layer: {layer!r} is none.", remedy=f"Use {', '.join(NAMES)}.", field="layer"
        )
    whose = subject or ("" if layer in _SHARED else Path(name).stem)
    return NAMES[layer], "" if layer in _SHARED else whose


def run(changed: Document, limit: int = MAX_DECISIONS) -> Backtest:
    """Decide recorded actions again. Raises `PolicyFault` where the rules in force cannot be
    used, `Unavailable` where stored bytes are missing."""
    before = policies.current()
    after = before.with_document(changed)
    decided = drifted = redacted = 0
    changes: list[Change] = []
    for found in Run.objects.exclude(pk="system").order_by("-created_at").iterator():
        tasks = {
            task.pk: task
            for task in Task.objects.filter(run=found).select_related("run__workspace")
        }
        for one in recorded.decisions(found):
            if decided >= limit:
                return Backtest(changed, decided, drifted, redacted, True, tuple(changes))
            task = tasks.get(one.task)
            if task is None:
                continue
            decided += 1
            redacted += one.redacted
            now, then = recorded.again(one, task, before), recorded.again(one, task, after)
            drifted += str(now.decision) != one.given["decision"]
            if then.decision is not now.decision:
                changes.append(_change(one, now, then))
    return Backtest(changed, decided, drifted, redacted, False, tuple(changes))


def _change(one: Recorded, now: Verdict, then: Verdict) -> Change:
    was = Answer(*(str(one.given[name]) for name in ("decision", "rule", "source", "reason")))
    return Change(one.run, one.action, one.kind, one.raw, was, _answer(now), _answer(then))


def _answer(verdict: Verdict) -> Answer:
    return Answer(str(verdict.decision), verdict.rule, verdict.source, verdict.reason)
