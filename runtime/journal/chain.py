"""The bytes that are hashed, and the links between them. Pure."""

from __future__ import annotations

from typing import Any, NamedTuple

from runtime.core import canonical, digests


class By(NamedTuple):
    """Who writes: for a worker its claim, else a person or a part of the runtime."""

    run: str
    task: str | None
    attempt: int | None
    fence: int | None
    actor: str


class Draft(NamedTuple):
    """An event before it has a number: its type, version and canonical payload."""

    type: str
    v: int
    payload: str
    given: dict[str, Any] = {}
    """The payload before it became text, for whoever folds it at once."""


def _json(value: Any) -> str:
    return canonical.text(value)


def body(by: By, at: str, seq: int, draft: Draft) -> bytes:
    """Canonical JSON of an event. The payload is canonical already, so its text is spliced in."""
    return (
        f'{{"actor":{_json(by.actor)},"at":"{at}","attempt":{_json(by.attempt)},'
        f'"fence":{_json(by.fence)},"payload":{draft.payload},"run":"{by.run}","seq":{seq},'
        f'"task":{_json(by.task)},"type":"{draft.type}","v":{draft.v}}}'
    ).encode()


def rows(by: By, at: str, seq: int, head: str, drafts: list[Draft]) -> list[tuple[Any, ...]]:
    """Rows of `rows.COLUMNS`, numbered after `seq` and linked to `head`."""
    result = []
    for draft in drafts:
        seq += 1
        digest = digests.link(head, body(by, at, seq, draft))
        result.append(
            (
                by.run,
                seq,
                draft.type,
                draft.v,
                by.task,
                by.attempt,
                by.fence,
                by.actor,
                at,
                draft.payload,
                head,
                digest,
            )
        )
        head = digest
    return result
