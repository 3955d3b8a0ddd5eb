"""Everything that is open while a worker holds a task: its state, files, cage and model."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any

from django.conf import settings

from runtime import artifacts, blobs, budgets, gating
from runtime.budgets import Price
from runtime.core import canonical
from runtime.core.actions import MAX_TIMEOUT, Action, parse
from runtime.core.errors import BadInput
from runtime.gating import Ruled, Subject
from runtime.journal import append as journal
from runtime.journal import newer
from runtime.journal.deltas import remove
from runtime.journal.draft import draft, whole
from runtime.journal.kind import Payload
from runtime.journal.kinds import REGISTRY, ContextCompacted, JobEnded, LoopWarned
from runtime.journal.read import every
from runtime.journal.statements import Change, Row
from runtime.models import Run, SealedBytes, Task
from runtime.policy.binding import Binding
from runtime.providers import Provider, load
from runtime.sandbox import Cage, CageSpec, Limits
from runtime.sandbox.layout import Cover
from runtime.secrets import open_sealed
from runtime.tasks import Claim
from runtime.workspaces.editor import Editor
from runtime.workspaces.inputs import verification_inputs
from runtime.workspaces.space import RunSpace
from runtime.workspaces.usage import Survey

from . import machine, spending, window
from . import state as states
from .interrupt import AnyOf
from .jobs import Jobs
from .prompt import PromptMaker
from .spending import Purse
from .state import Pending, State
from .walls import Walls

WHOLE = frozenset(
    {
        "run.submitted",
        "verification.passed",
        "verification.failed",
        "approval.approved",
        "approval.denied",
        "action.started",
        "checkpoint.created",
        "verification.inputs_changed",
        "guarded_files.changed",
    }
)
"""Events whose moved-out fields the fold needs."""


JOB_SLICE_SECONDS = 600.0
"""How long a hold may last while a background job lives."""
LONGEST_HOLD = 960.0
"""After this the last step of a hold has ended: the queue gives a worker 1000 seconds."""


class Session:
    """One hold on one task. `cancel` is set when its end was asked for, `lost` when the lease is
    gone, `stop` when the worker is to let go at the next step."""

    def __init__(
        self,
        claim: Claim,
        *,
        stop: threading.Event,
        cancel: threading.Event,
        lost: threading.Event,
    ) -> None:
        self.claim, self.stop, self.cancel, self.lost = claim, stop, cancel, lost
        self.interrupt = AnyOf(cancel, stop, lost)
        self.task = Task.objects.select_related("run__workspace").get(pk=claim.task)
        self.run: Run = self.task.run
        if self.run.workspace is None:
            raise AssertionError("a task belongs to a run with a workspace")
        self.workspace = self.run.workspace
        self.state = self._fold()
        self.purse = Purse(self.task)
        self.seen: str = ""
        """What the worktree looked like when its tree was last taken; nothing: nobody knows."""
        self.looked: Survey | None = None
        """What the last look at the whole worktree found."""
        self._cage: Cage | None = None
        self._began = time.monotonic()
        self._providers: dict[str, Provider] = {}
        self._prompts: tuple[tuple[str, bool], PromptMaker] | None = None
        self._fits: State | None = None
        """The state whose prompt was seen to be within its bound."""
        self.previews: set[str] = set()
        """Actions whose output the pages saw as it came."""
        self.jobs = Jobs(claim.run, claim.task, self.interrupt)

    def _fold(self) -> State:
        """Raises `Newer` where the record holds what this version does not know: the claim looks
        at what the writer noted, this at the record itself."""
        return states.fold(self.task.pk, self._events())

    def _events(self) -> Iterator[tuple[str, str | None, dict[str, Any]]]:
        rows = every(self.run.pk)
        for row in rows:
            if newer.strange(row):
                raise newer.Newer(self.run.pk, filter(None, map(newer.strange, chain([row], rows))))
            needed = row.type in WHOLE
            payload = whole(row.payload, REGISTRY[row.type]) if needed else row.payload
            yield row.type, row.task, payload

    @cached_property
    def space(self) -> RunSpace:
        """The run's files."""
        folder = settings.M31A.DATA_DIR / "runs" / self.run.pk
        etc = settings.M31A.DATA_DIR / "etc"
        return RunSpace(folder, self.workspace, self.run.uid, etc=etc)

    @cached_property
    def editor(self) -> Editor:
        """The editor of the run's worktree."""
        return self.space.editor()

    @property
    def spec(self) -> str:
        """The specification of the model that is asked now."""
        return self.workspace.fallback if self.state.fallback else self.run.provider

    @property
    def scripted(self) -> bool:
        """Whether a script stands in the place of a model."""
        return self.spec.startswith("scripted:")

    @property
    def price(self) -> Price:
        """What the model costs that is asked now."""
        return budgets.price(self.spec)

    @property
    def provider(self) -> Provider:
        """The model that is asked now. Raises `BadInput` where its settings are missing."""
        if self.spec not in self._providers:
            script = artifacts.read_script(self.run.script) if self.scripted else None
            self._providers[self.spec] = load(self.spec, script=script, env=os.environ)
        return self._providers[self.spec]

    @property
    def prompts(self) -> PromptMaker:
        """Makes the prompts for the model that is asked now, within its window."""
        key = (self.spec, self.state.squeezed)  # of the present state: asked for the next one, too
        if self._prompts is None or self._prompts[0] != key:
            endpoint = getattr(self.provider, "endpoint", None)
            asked = int(getattr(endpoint, "context", 0))
            limit = window.room(self.spec, asked, squeezed=self.state.squeezed)
            said = window.instructions(self.space, self.state.base)
            self._prompts = (key, PromptMaker(limit, self.workspace.allowed, said))
        return self._prompts[1]

    @cached_property
    def limits(self) -> Limits:
        """The bounds of one command."""
        return self.space.spec().limits

    @property
    def cage(self) -> Cage:
        """The cage of the task for git, and for commands where no rule binds them (`walls`);
        started with its first command. Raises `Unavailable`."""
        if self._cage is None:
            self._cage = self._made(self.space.spec(self._label))
        return self._cage

    @property
    def _label(self) -> str:
        return f"{self.claim.task}.{self.claim.fence}"

    def _made(
        self, spec: CageSpec, covers: tuple[Cover, ...] = (), noted: dict[str, str] | None = None
    ) -> Cage:
        memory = min(spec.limits.memory_bytes, self.purse.memory_bytes)
        limits = replace(spec.limits, memory_bytes=memory)
        return Cage(replace(spec, limits=limits), covers=covers, noted=noted)

    def ruled(self) -> Ruled | None:
        """What rules say of paths now, whatever actions name; None: nothing."""
        return gating.ruled(self.subject, journal.now())

    def _binding(self) -> Binding | None:
        found = self.ruled()
        return found.binding if found else None

    @cached_property
    def walls(self) -> Walls:
        """What confines commands in the worktree: the cage, with what rules deny covered."""
        return Walls(
            self.space,
            self._label,
            binding=self._binding,
            base=lambda: self.state.base_tree,
            plain=lambda: self.cage,
            make=self._made,
            changing=lambda: self.jobs.end("rules"),
        )

    @cached_property
    def subject(self) -> Subject:
        """On whose behalf the gate is asked."""
        sight = self.space.sight()
        return Subject(
            run=self.run.pk,
            task=self.task.pk,
            role=self.task.role,
            kind=self.task.kind,
            mode=self.run.mode,
            workspace=self.workspace.name,
            root=self.workspace.root,
            allowed=frozenset(self.workspace.allowed),
            remotes=self.workspace.remotes,
            write_paths=tuple(self.task.write_paths),
            look=sight.facts,
            links=sight.links,
            which=sight.which,
            verification_inputs=verification_inputs(self.state.verification),
            user=self.run.submitted_by,
        )

    def prepare(self) -> None:
        """Make sure that the worktree is there, and recall how it looked at its last checkpoint.

        What changed since then, because a checkpoint was refused, is seen as changed.
        """
        if not any(self.space.tree.iterdir()):
            self.space.populate(self.cage, self.state.commit)
            self.settle()
        elif self._note.exists():
            self.seen = self._note.read_text("ascii")

    def settle(self) -> None:
        """The worktree as it is now has a tree: remember how it looks, for the next holder, too."""
        self.seen = self.note(self.space.survey()).fingerprint
        self._note.write_text(self.seen, "ascii")

    def note(self, looked: Survey) -> Survey:
        """Remember a look at the whole worktree."""
        self.looked = looked
        return looked

    @property
    def _note(self) -> Path:
        return self.space.folder / "seen"

    def append(
        self,
        payloads: Sequence[Payload],
        *,
        task: Mapping[str, Any] | None = None,
        run: Mapping[str, Any] | None = None,
        rows: Sequence[Row] = (),
        changes: Sequence[Change] = (),
    ) -> None:
        """Journal a step and fold it, with what it used and what comes next reserves. Raises
        `StaleFence`."""
        drafts = [draft(payload) for payload in payloads]
        after = self._after(payloads, [one.given for one in drafts])
        for said in self._noticed(after):
            drafts.append(draft(said))
            after = states.apply(after, said.type, said.given(), self.task.pk)
        columns = self.purse.settled(payloads, self._wanted(after))
        journal.append(
            self.claim.by(),
            drafts,
            task={**(task or {}), **columns},
            run=run,
            rows=rows,
            changes=changes,
        )
        self.state = after

    def _noticed(self, after: State) -> list[Payload]:
        """What is to be said about the state that a step leads to."""
        if after.answers == self.state.answers and after.turns == self.state.turns:
            return []
        if not isinstance(machine.step(after), machine.AskModel):
            return []
        found: list[Payload] = []
        if after.loops.level == "warn" and not self.state.loops.level:
            times, idle = max(after.loops.times, after.loops.edits), after.loops.idle
            found.append(LoopWarned(step=after.answers, times=times, idle=idle))
        cut = self._cut(after)
        return [*found, cut] if cut else found

    def _cut(self, state: State) -> ContextCompacted | None:
        """What the next prompt must leave out to be within its bound."""
        try:
            cut = self.prompts.cut(state)
        except BadInput:
            return None  # the model cannot be loaded now; who asks it says so
        self._fits = state if cut is None else None
        return None if cut is None else ContextCompacted(**cut._asdict(), reason="window")

    def compact(self) -> None:
        """See to it that the next prompt is within its bound."""
        if self.state is not self._fits and (cut := self._cut(self.state)) is not None:
            self.append([cut])

    def _wanted(self, state: State) -> dict[str, int]:
        try:
            return spending.wanted(self, state)
        except BadInput:
            return {}  # as above: what was done is written all the same

    def see_limit(self, steps: int) -> None:
        """Somebody may have granted more steps since this hold began."""
        if steps > self.state.max_steps:
            self.state = replace(self.state, max_steps=steps)

    def absorb(
        self, payloads: Sequence[Payload], given: Sequence[Mapping[str, Any]] | None = None
    ) -> None:
        """Fold events that were just written."""
        self.state = self._after(payloads, given or [payload.given() for payload in payloads])

    def _after(self, payloads: Sequence[Payload], given: Sequence[Mapping[str, Any]]) -> State:
        """The state after events, each also given as it is stored."""
        state = self.state
        for payload, stored in zip(payloads, given, strict=True):
            seen = payload.given() if payload.type in WHOLE else dict(stored)
            state = states.apply(state, payload.type, seen, self.task.pk)
        return state

    def sealed(self, pending: Pending) -> bool:
        """Whether the raw form of a redacted action is still there."""
        return SealedBytes.objects.filter(action=pending.action).exists()

    def raw(self, pending: Pending) -> Any:
        """The action exactly as it was proposed, also where the journal holds a redacted form."""
        if pending.raw_digest is not None:
            sealed = SealedBytes.objects.get(action=pending.action)
            return canonical.decode(open_sealed(bytes(sealed.sealed)))
        body = pending.body
        if isinstance(body, dict) and body.keys() == {"artifact", "size"}:
            return canonical.decode(blobs.get(body["artifact"]))
        return body

    def action(self, pending: Pending) -> Action:
        """The pending action, parsed."""
        return parse(self.raw(pending))

    @property
    def over(self) -> bool:
        """Whether this hold has lasted as long as it may. With a job that lives it may longer, as
        long as a whole verification still fits behind it: one that is cut short proves nothing."""
        lasted = time.monotonic() - self._began
        limit = settings.M31A.SLICE_SECONDS
        if self.jobs.live():
            needed = len(self.state.verification) * self.limits.wall_seconds
            room = LONGEST_HOLD - min(needed, MAX_TIMEOUT)
            limit = max(limit, min(JOB_SLICE_SECONDS, room))
        return bool(lasted > limit)

    @property
    def model_seconds(self) -> float:
        """How long a call of the model may take, as far as the run's time still lasts."""
        return max(1.0, min(float(settings.M31A.MODEL_SECONDS), self.purse.wall_left))

    def bounded(self, timeout: int | None) -> float | None:
        """The seconds that a command may take, as far as this hold still lasts."""
        left = min(LONGEST_HOLD - (time.monotonic() - self._began), self.purse.wall_left)
        if left >= MAX_TIMEOUT:
            return timeout
        wanted = self.limits.wall_seconds if timeout is None else timeout
        return max(1.0, min(wanted, left))

    def forget_previews(self, events: Sequence[Payload]) -> None:
        """Drop what the pages saw of commands and jobs whose end is among some events."""
        over = {e.action for e in events if isinstance(e, JobEnded)} | self.previews
        for action in over:
            remove(self.run.pk, action)
        self.previews.clear()

    def close(self) -> None:
        """End the cage and whatever runs in it."""
        if self._cage is not None:
            self._cage.close()
            self._cage = None
        self.walls.close()
        self.jobs.close()
        self.forget_previews([])
