"""Background jobs of one hold on a task: a thread each, in the task's cage.

A job lives as long as the worker holds the task at most: the cage's end takes it along. What it
prints is kept within bounds, and redacted when it is read, at borders that cut no secret in two.
"""

from __future__ import annotations

import copy
import threading
import time
from dataclasses import dataclass, field

from django.db import connections

from runtime.core.commands import Exec
from runtime.core.errors import M31AError
from runtime.journal.deltas import remove
from runtime.policy.authorised import Authorised
from runtime.sandbox import Cage, Result
from runtime.secrets import Redactor, redactor

from .interrupt import AnyOf
from .joblog import JobLog, Piece
from .preview import Preview

MAX_LIVE = 4
"""Jobs of one task that may live at a time."""
MAX_SECONDS = 600.0
"""How long a job may live."""
KEEP = 1 << 12
"""Bytes per stream that the cage keeps by itself; the log holds what is shown."""
END_SECONDS = 10.0
"""How long the end of a job is waited for; the cage kills after less than one."""


@dataclass(eq=False)
class Job:
    """One job. `reason` says why it was told to end, "" while it was not."""

    id: str
    action: str
    program: str
    count: int
    hosts: tuple[str, ...] = ()
    """What it may reach of the network."""
    began: float = field(default_factory=time.monotonic)
    log: JobLog = field(default_factory=JobLog)
    asked: int = 0
    """Up to which character of its output the model has seen it."""
    reason: str = ""
    result: Result | None = None
    failure: str = ""
    told: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    lock: threading.Lock = field(default_factory=threading.Lock)
    thread: threading.Thread | None = None
    previewed: bool = False
    """Whether the pages hold a preview of its output."""
    redactor: Redactor = field(default_factory=lambda: copy.copy(redactor()))
    """A copy: what is hidden while the job is started stays hidden as long as it lives."""

    @property
    def seconds(self) -> float:
        """How long it has lived."""
        if self.result is not None:
            return self.result.duration_ms / 1000
        return time.monotonic() - self.began

    def end(self, reason: str) -> None:
        """Tell it to end."""
        if not self.ended.is_set():
            self.reason = self.reason or reason
        self.told.set()

    def feed(self, text: str) -> None:
        """Take what it printed."""
        with self.lock:
            self.log.feed(text)

    def more(self, most: int) -> Piece:
        """What the model has not seen yet, at most `most` characters of it, redacted. Something
        that may become a secret waits until it is decided, or is left out whole."""
        over = self.ended.is_set()
        with self.lock:
            piece = self.log.read(self.asked, most)
        cut = len(piece.text)
        if not over or piece.end < piece.total:
            cut = self.redactor.safe_cut(piece.text)
        if cut == 0 and len(piece.text) == most:
            text, cut = "[redacted:undecided]", most
        else:
            text = self.redactor.text(piece.text[:cut])
        self.asked = piece.start + cut
        return Piece(text, piece.start, self.asked, piece.total, piece.lost)

    def whole(self) -> str:
        """All that is kept of its output, redacted."""
        with self.lock:
            return self.redactor.text(self.log.whole())

    def how(self) -> str:
        """Why it ended: what it was told, or how it ended by itself."""
        if self.failure or (self.result is not None and self.result.failure):
            return "failed"
        if self.result is None:
            return self.reason or "failed"
        if self.result.timed_out:
            return "timed_out"
        if self.result.limit:
            return "limit"
        if self.result.cancelled:
            return self.reason or "interrupted"
        return "exited"


class Jobs:
    """The jobs that this hold started. Only its own thread calls this; each job has another."""

    def __init__(self, run: str, task: str, interrupt: threading.Event) -> None:
        self._run, self._task, self._interrupt = run, task, interrupt
        self._jobs: dict[str, Job] = {}

    def get(self, job: str) -> Job | None:
        """A job that was started here."""
        return self._jobs.get(job)

    def live(self) -> list[Job]:
        """Those that have not ended."""
        return [job for job in self._jobs.values() if not job.ended.is_set()]

    def ended(self) -> list[Job]:
        """Those that have ended."""
        return [job for job in self._jobs.values() if job.ended.is_set()]

    def start(self, cage: Cage, command: Authorised[Exec], job: Job) -> None:
        """Start one. It ends with the hold, when it is told to, or after `MAX_SECONDS`."""
        preview = Preview(self._run, self._task, job.action, job.redactor, soon=0.0)
        self._jobs[job.id] = job
        job.thread = threading.Thread(
            target=self._work, args=(cage, command, job, preview), name=f"job-{job.id}", daemon=True
        )
        job.thread.start()

    def _work(self, cage: Cage, command: Authorised[Exec], job: Job, preview: Preview) -> None:
        cancel = AnyOf(job.told, self._interrupt)

        def on_output(stream: str, data: bytes) -> None:
            job.feed(preview.take(stream, data))

        try:
            job.result = cage.run(
                command,
                timeout=MAX_SECONDS,
                cancel=cancel,
                on_output=on_output,
                keep=KEEP,
                hosts=job.hosts,
            )
        except M31AError as error:
            job.failure = str(error)
        except Exception as error:  # noqa: BLE001  (the hold's own thread reports it)
            job.failure = f"{type(error).__name__}: {error}"
        finally:
            job.feed(preview.close())
            job.previewed = preview.shown
            job.ended.set()
            connections.close_all()

    def end(self, reason: str) -> None:
        """Tell all of them to end, and wait until they have."""
        live = self.live()
        for job in live:
            job.end(reason)
        deadline = time.monotonic() + END_SECONDS
        for job in live:
            job.ended.wait(max(0.0, deadline - time.monotonic()))

    def wait(self, job: Job) -> None:
        """Until it has ended, within bounds."""
        job.ended.wait(END_SECONDS)

    def close(self) -> None:
        """After the cage is gone: see to it that no thread is left, and no preview."""
        for job in self._jobs.values():
            job.told.set()
            if job.thread is not None:
                job.thread.join(END_SECONDS)
            if job.previewed:
                remove(self._run, job.action)
