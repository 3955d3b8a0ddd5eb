"""One command line to parts: the program by its table, wrappers looked through, paths looked at."""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Sequence

from . import addresses, environment, programs
from .context import Context
from .decision import Decision
from .options import read_options
from .places import HARMLESS, Lens, TooManyPaths
from .programs.model import Found, Operands, Program
from .reading import CHANGES, COMMANDS, Part, Place, Remark, Touch, Verb
from .words import UNREAD, Wild

MAX_DEPTH = 6
_MULTI_CALL = frozenset({"busybox", "toybox", "coreutils", "uutils"})
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}://\S|(git|ssh|hg|svn|bzr)\+[a-z]+:")
_DATA_ONLY = frozenset(
    {"echo", "printf", "grep", "egrep", "fgrep", "rg", "git", "sed", "awk", "true", "test"}
)


class CommandReader:
    """Reads the command lines of one action. Shell text goes to `runtime.policy.shell`."""

    def __init__(self, context: Context, lens: Lens, tool: str) -> None:
        self.context = context
        self.lens = lens
        self.tool = tool

    def read(
        self,
        argv: Sequence[str],
        cwd: str,
        *,
        depth: int = 0,
        remarks: Sequence[Remark] = (),
        touches: Sequence[Touch] = (),
        innate: bool = False,
        local: bool = False,
    ) -> list[Part]:
        """The parts of `argv`, the outermost program first. `remarks` and `touches` come from
        around it (redirections, assignments). `innate`: the shell itself knows this command;
        `local`: it may be a tool of the project, which nobody lists among the programs."""
        name, args = argv[0], tuple(argv[1:])
        found = Found(touches=list(touches), remarks=list(remarks))
        if depth > MAX_DEPTH:
            found.opaque("too deep", f"more than {MAX_DEPTH} commands within commands")
            return [self._part(name, tuple(argv), cwd, None, found, None)]
        resolved = None if innate else self._judge_program(name, found, local=local)
        table = programs.find(posixpath.basename(name))
        other = self._behind(name, resolved)
        capability = self._apply(table, name, args, found)
        if other is not None and other is not table:
            beside = Found()
            self._apply(other, name, args, beside)
            found.remarks += beside.remarks
        self._several(table, args, found)
        if isinstance(found.cwd, Wild):
            found.opaque("directory", "works in a directory that cannot be told")
        self._addresses(name, args, found)
        for assignment in found.environment:
            judged = environment.judge(assignment.partition("=")[0])
            if judged:
                found.remarks.append(judged)
        self.judge_remotes(found)
        part = self._part(name, tuple(argv), cwd, table, found, resolved, capability)
        inside = posixpath.join(cwd, found.cwd) if found.cwd else cwd
        return [part, *self._inner(found, inside, depth)]

    def _several(self, table: Program | None, args: tuple[str, ...], found: Found) -> None:
        """The shell may make several words of one: also where one would be no path, and some that
        begin with a dash. Who follows links and names no directory means this one."""
        if self.context.links is None:
            return  # nobody has looked at what this would ask about
        if found.follows and not found.touches:
            found.touches.append(Touch(Verb.LIST, "."))
        verb = Verb.READ
        if table is None or table.operands is Operands.DATA or table.name in _ONLY_NAMES:
            verb = Verb.LIST
        elif table.operands in _CHANGING:
            verb = Verb.WRITE
        known = {touch.path for touch in found.touches}
        for word in args:
            if isinstance(word, Wild) and word not in known:
                found.touches.append(Touch(verb, word))

    def _inner(self, found: Found, cwd: str, depth: int) -> list[Part]:
        parts: list[Part] = []
        for line in found.inner:
            if line:
                parts += self.read(line, cwd, depth=depth + 1, local=found.local)
        for text in found.script:
            from .shell import read_script

            parts += read_script(self, text, cwd, depth + 1)
        return parts

    def _judge_program(self, name: str, found: Found, *, local: bool) -> str | None:
        """Whether the cage may run this name at all; returns the file it stands for."""
        if UNREAD in name or isinstance(name, Wild):
            found.opaque("program", "a program is named only when the script runs")
            return None
        if _odd(name):
            found.opaque("odd name", "the program's name holds blanks or invisible characters")
        if "/" in name or name in ("", ".", ".."):
            self._boundary(
                found, "program path", "a program is given by its bare name, not by a path"
            )
            found.touches.append(Touch(Verb.RUN, name or "."))
            return None
        if (
            name not in self.context.allowed
            and programs.plain_name(name) not in self.context.allowed
        ):
            reason = f"{name} is not among the workspace's programs"
            decision = Decision.ASK if local else Decision.DENY
            found.remarks.append(Remark("boundary", decision, "program not allowed", reason))
        resolved = self.context.which(name)
        if resolved is not None and self.lens.relative(posixpath.normpath(resolved)) is not None:
            self._boundary(
                found,
                "program inside",
                f"{name} is a file of the worktree, which the agent can change",
            )
        return resolved

    @staticmethod
    def _boundary(found: Found, rule: str, reason: str) -> None:
        found.remarks.append(Remark("boundary", Decision.DENY, rule, reason))

    @staticmethod
    def _behind(name: str, resolved: str | None) -> Program | None:
        """The table of the file that the name leads to, where that is another program."""
        if resolved is None:
            return None
        base = posixpath.basename(resolved)
        if base in _MULTI_CALL and name not in _MULTI_CALL:
            return None
        return programs.find(base)

    def _apply(self, table: Program | None, name: str, args: tuple[str, ...], found: Found) -> str:
        """Let a table speak; returns the capability that the program needs."""
        if table is None:
            found.remark(Decision.ASK, "unknown program", f"nothing is known about {name}")
            read_options(Program(name, operands=Operands.FREE), args, found)
            return "run"
        if table.veto:
            found.veto(table.name, f"{table.name} {table.why}")
        self._base(table, found)
        if table.subcommands and args and not args[0].startswith("-"):
            return self._subcommand(table, args, found)
        operands: list[str] = []
        if not table.raw:
            operands = read_options(table, args, found)
        if table.reader is not None:
            table.reader(table, args, found)
        if table.subcommands and not table.raw and operands:
            return self._subcommand(table, tuple(operands), found)
        return "run"

    def _subcommand(self, table: Program, args: tuple[str, ...], found: Found) -> str:
        chosen = table.subcommands.get(args[0]) or table.other
        if chosen is None:
            found.remark(
                Decision.ASK,
                f"{table.name} {args[0]}",
                f"nothing is known about {table.name} {args[0]}",
            )
            found.changes = found.whole = True
            return "run"
        if chosen.subcommands:
            return self._apply(chosen, chosen.name, args[1:], found)
        self._base(chosen, found)
        if not chosen.reads_only:
            found.changes = True
        if not chosen.raw:
            read_options(chosen, args[1:], found)
        if chosen.reader is not None:
            chosen.reader(chosen, args[1:], found)
        return _CAPABILITIES.get(chosen.name, "run")

    @staticmethod
    def _base(table: Program, found: Found) -> None:
        if table.base is not Decision.ALLOW and not table.veto:
            found.remark(table.base, table.name, f"{table.name} {table.why}")
        found.network = found.network or table.network

    @staticmethod
    def _addresses(name: str, args: tuple[str, ...], found: Found) -> None:
        if name in _DATA_ONLY or found.network or found.inner or found.script:
            return
        if any(_ADDRESS.search(word) for word in args):
            found.network = True
            found.remark(Decision.ASK, "address", f"{name} is given the address of another host")

    def judge_remotes(self, found: Found) -> None:
        """A push goes to a remote that was recorded with the workspace, and nowhere else."""
        known = self.context.remotes
        for remote in found.remotes:
            named = remote or self._usual_remote()
            if named in known:
                continue
            if known:
                names = ", ".join(sorted(known))
                self._boundary(found, "remote", f"{named} is not a recorded remote ({names})")
            else:
                reason = "no remote was recorded with the workspace: the push will fail"
                found.remark(Decision.ASK, "remote", reason)

    def _usual_remote(self) -> str:
        """Where a push goes that names no remote: origin, or the only one there is."""
        known = self.context.remotes
        return next(iter(known)) if len(known) == 1 else "origin"

    def _part(
        self,
        name: str,
        argv: tuple[str, ...],
        cwd: str,
        table: Program | None,
        found: Found,
        resolved: str | None,
        capability: str = "run",
    ) -> Part:
        places = self.places(found, cwd)
        if table is not None and table.name == "git" and self.context.repository_runs:
            settings = ", ".join(self.context.repository_runs)
            found.remark(
                Decision.ASK,
                "git configuration",
                f"the repository makes git run programs: {settings}",
            )
        reads_only = table is not None and table.reads_only and not found.changes
        mutation = not reads_only or any(place.touch.verb in CHANGES for place in places)
        return Part(
            tool=self.tool,
            program=programs.plain_name(name),
            argv=argv,
            cwd=cwd,
            places=places,
            remarks=tuple(found.remarks),
            mutation=mutation,
            network=found.network,
            capability=capability if mutation else "read",
            resolved=resolved,
            hosts=self.hosts(argv[1:], found),
        )

    def hosts(self, args: Sequence[str], found: Found) -> tuple[str, ...]:
        """The hosts that the words name, and those of the remotes that git pushes to."""
        known = self.context.remotes
        named = (known.get(remote or self._usual_remote(), remote) for remote in found.remotes)
        remotes = (addresses.of_address(address) for address in named if address)
        words = addresses.in_words(args, network=found.network)
        return tuple(dict.fromkeys((*words, *filter(None, remotes))))

    def places(self, found: Found, cwd: str) -> tuple[Place, ...]:
        """Look at every path once. Of a command, devices that keep nothing are left out."""
        places: list[Place] = []
        commands = self.tool in COMMANDS
        try:
            for touch in dict.fromkeys(found.touches):
                if isinstance(touch.path, Wild):
                    touch = Touch(touch.verb, str(touch.path), pattern=True, deep=touch.deep)
                place = self.lens.place(touch, cwd)
                if not (commands and place.path in HARMLESS):
                    places.append(place)
                below = found.follows and (touch.pattern or place.facts.type == "dir")
                if place.inside and (touch.pattern or below):
                    met = self.lens.met(touch, cwd, below=below)
                    places += [self.lens.place(one) for one in met]
            places += self._unnamed(found, cwd)
        except TooManyPaths as error:
            found.opaque("too many paths", str(error))
        return tuple(places)

    def _unnamed(self, found: Found, cwd: str) -> list[Place]:
        """What is read without being named, where a rule could speak about it."""
        if not self.context.path_rules:
            return []
        places = [self.lens.place(touch, cwd) for touch in found.deeper]
        places += [self.lens.place(touch) for touch in found.rooted]
        missing = (self.lens.look(self.lens.join(word, cwd)).type for word in found.unsure)
        if found.whole or "missing" in missing:
            places.append(self.lens.whole())
        return places


_CHANGING = frozenset(
    {Operands.WRITE, Operands.DELETE, Operands.COPY, Operands.MOVE, Operands.LINK, Operands.FILTER}
)
_ONLY_NAMES = frozenset({"find", "echo", "yes", "printf", "test"})
"""Words with wildcards are names to them, whatever lies there."""
_CAPABILITIES = {
    "git commit": "commit",
    "git switch": "commit",
    "git checkout": "commit",
    "git add": "commit",
    "git push": "push",
}


def _odd(name: str) -> bool:
    return (
        not name.isascii()
        and any(unicodedata.category(char) in ("Cf", "Zs", "Zl", "Zp", "Cc", "Mn") for char in name)
    ) or any(char.isspace() or ord(char) < 32 for char in name)
