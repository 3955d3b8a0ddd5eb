"""Namespaces that stay for the next command, as long as each command left them as new.

To make them takes longer than most commands do. So bubblewrap makes them once, from the same
arguments, and is never let through its gate; `inner` starts one command after the other in there.
What does not leave them as new, or has to be killed, ends them as ever: with the first process. A
command has them for itself: those that run at the same time get their own.

Part of the broker's process: standard library only.
"""

from __future__ import annotations

import array
import errno
import marshal
import os
import signal
import socket
import sys

from runtime.sandbox import inner, processes
from runtime.sandbox.enclosed import Enclosed
from runtime.sandbox.shared import Shared
from runtime.sandbox.wire import CANCELLED, ENDED

TYPE_CHECKING = False  # see broker.py
if TYPE_CHECKING:
    from typing import Any

    from runtime.sandbox.broker import Broker
    from runtime.sandbox.supervised import Supervised

_USED_AT = 2  # commands of a profile after which it pays to keep namespaces
_FRUITLESS = 3  # sessions in a row that no second command could use, after which it does not
_SET_UP_SECONDS = 10.0
_WORD_BYTES = 256


class Session(Enclosed):
    """A command of bubblewrap's that never begins, and the process that begins others in its place."""

    def __init__(self, broker: Broker, profile: str) -> None:
        self.command: Shared | None = None
        self.ready, self.served, self.starter = False, 0, 0
        self.crowded = False  # whether there was another command meanwhile, in the same worktree
        self.guide = -1  # who leads the way in, and ends
        self.way: socket.socket | None = None
        gate, self.shut = os.pipe2(os.O_CLOEXEC)  # the broker's end lets bubblewrap go, and fail
        never = os.eventfd(0, os.EFD_CLOEXEC)
        nothing = {
            "argv": [b"/"],
            "env": {},
            "cwd": b"/",
            "profile": profile,
            "wall": _SET_UP_SECONDS,
        }
        try:
            super().__init__(
                broker, nothing | {"listens": False}, [broker.null] * 2 + [never, gate]
            )
        except OSError:
            for fd in (gate, self.shut, never):
                os.close(fd)
            raise

    def admit(self) -> None:
        """It stays where it is; the other one goes in."""
        setup = self.broker.setup
        self.guide, self.way = inner.start(
            self.first, setup["seccomp"], self.broker.limits, setup["private"],
            _shown(setup["args"][self.profile]), self.broker.null,
        )  # fmt: skip
        self.broker.watch(self.way.fileno(), self.on_word)

    def on_word(self) -> None:
        """It is ready, tells how a command ended, or is gone."""
        assert self.way is not None
        try:
            word = self.way.recv(_WORD_BYTES)
        except OSError:
            word = b""
        if word == inner.READY:
            self.starter = next(iter(processes.children(self.first)), 0)
            self.ready = self.starter > 0
            self.deadline = float("inf") if self.ready else 0
            self.dismiss()
        elif word.startswith(inner.FAILED):  # its end follows
            print(word.decode("utf-8", "replace"), file=sys.stderr, flush=True)
        elif len(word) == inner.WROTE.size and self.command is not None:
            (self.command.orphans_wrote,) = inner.WROTE.unpack(word)
        elif word:
            self.on_result(*inner.RESULT.unpack(word))
        else:
            self.broker.forget(self.way.fileno())
            self.end(CANCELLED, at_once=True)
            self.kill()
            self.settle()

    def on_result(self, what: int, code: int, clean: bool, cpu: int, peak: int) -> None:
        """Of the command that is running."""
        assert self.command is not None
        command = self.command
        if what == inner.NOT_STARTED:
            self.command = None
            command.go_elsewhere()
            return
        command.took_end(code, cpu, peak)
        if clean and not self.crowded and self.reason == ENDED:
            self.command, self.served = None, self.served + 1
            command.done()
            return
        self.end(CANCELLED, at_once=True)
        self.kill()
        self.settle()

    def begin(self, command: Shared, request: dict[str, Any], stdout: int, stderr: int) -> None:
        """Start a command in here. Raises OSError where it cannot be handed over."""
        assert self.way is not None
        words = marshal.dumps({name: request[name] for name in ("argv", "env", "cwd")})
        rights = array.array("i", [stdout, stderr]).tobytes()
        self.way.sendmsg([words], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
        self.command = command

    def dismiss(self) -> None:
        """Reap who led the way in."""
        if self.guide > 0:
            os.kill(self.guide, signal.SIGKILL)
            os.waitpid(self.guide, 0)
            self.guide = -1

    def look(self, now: float) -> None:
        """Nothing happens in here by itself."""

    def settle(self) -> None:
        """Over once the namespaces are gone and the other one has said its last word."""
        waits = self.command is not None and not self.command.told
        if waits and self.way is not None and self.way.fileno() in self.broker.held:
            return
        super().settle()

    def answer(self, *fds: int) -> None:
        """Nobody waits for it but the command that ran into its end."""
        if self.way is not None:
            self.broker.forget(self.way.fileno())
            self.way.close()
            self.dismiss()
        for fd in (self.shut, self.control, self.gate, *fds):
            if fd >= 0:
                self.broker.forget(fd)
                os.close(fd)
        self.broker.sessions.over(self)
        if self.command is not None:
            self.command.done()


def _shown(arguments: bytes) -> frozenset[bytes]:
    """Where bubblewrap binds something of the machine that may be written."""
    words = arguments.split(b"\0")
    return frozenset(words[at + 2] for at, word in enumerate(words) if word == b"--bind")


class Sessions:
    """Those of one broker: at most one for each profile."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.kept: dict[str, Session] = {}
        self.uses: dict[str, int] = {}
        self.fruitless: dict[str, int] = {}
        self.wanted: set[str] = set()

    def take(self, request: dict[str, Any], fds: list[int]) -> Supervised | None:
        """The command in a session that stands ready; None where it needs namespaces of its own.

        Commands at the same time meet in the worktree: over a socket there, one can hand another an
        open directory of its namespaces, and nothing tells. So no later one may have these.
        """
        for one in self.kept.values():
            one.crowded = one.crowded or one.command is not None
        session = self.kept.get(request["profile"])
        plain = len(fds) == 4 and not request["listens"] and not self.broker.runs
        if not plain or session is None or not session.ready or session.ending:
            return None
        try:
            return Shared(self.broker, session, request, fds)
        except OSError as error:
            if error.errno != errno.EMSGSIZE:  # of one command; all else ails the session
                session.end(CANCELLED, at_once=True)
            return None

    def used(self, profile: str) -> None:
        """A command of that profile has ended."""
        self.uses[profile] = self.uses.get(profile, 0) + 1
        pays = self.broker.setup["sessions"] and self.fruitless.get(profile, 0) < _FRUITLESS
        if self.uses[profile] >= _USED_AT and pays and profile not in self.kept:
            self.wanted.add(profile)

    def prepare(self) -> None:
        """While nobody waits: make what the next commands will want."""
        for profile in self.wanted:
            try:
                self.kept[profile] = Session(self.broker, profile)
            except OSError as error:  # too many descriptors or processes
                self.fruitless[profile] = self.fruitless.get(profile, 0) + 1
                print(f"{inner.FAILED.decode()}{error}", file=sys.stderr, flush=True)
        self.wanted.clear()

    def over(self, session: Session) -> None:
        """One is gone."""
        self.kept.pop(session.profile, None)
        count = 0 if session.served else self.fruitless.get(session.profile, 0) + 1
        self.fruitless[session.profile] = count

    def end(self) -> None:
        """All of them, at once."""
        self.wanted.clear()
        for session in self.kept.values():
            session.end(CANCELLED, at_once=True)
            session.kill()

    def unsettled(self) -> list[Session]:
        """Those that are on their way in or out, and may take too long."""
        return [one for one in self.kept.values() if one.ending or not one.ready]
