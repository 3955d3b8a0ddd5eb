"""What is to be said about one place: by the boundary, by the vetoes, by the defaults."""

from __future__ import annotations

import posixpath
import re

from . import protected
from .context import Context
from .decision import Decision
from .patterns import compiled, covers, may_be
from .reading import CHANGES, COMMANDS, Part, Place, Remark, Verb

_SECRET_SAMPLES = (
    "/etc/shadow",
    "/etc/gshadow",
    "/etc/sudoers",
    "/proc/self/environ",
    "/proc/1/environ",
    "/dev/mem",
)
_HOME_SAMPLES = (
    ".ssh/id_rsa",
    ".aws/credentials",
    ".netrc",
    ".git-credentials",
    ".docker/config.json",
)
_NAME_SAMPLES = (".env", ".env.local", "id_rsa", "master.key", "server.pem")
_CLASS = re.compile(r"\[[\[!^]")
"""Of letters that no list names."""
_WHOLE = ("/", "/etc", "/proc", "/root", "/home", "/run", "/var/run", "/var", "/dev", "/sys")


def boundary(part: Part, place: Place, context: Context) -> Remark | None:
    """Inside the worktree and inside the task's write paths."""
    verb = place.touch.verb
    if place.facts.type == "error":
        decision = Decision.ASK if part.tool in COMMANDS else Decision.DENY
        return Remark("boundary", decision, "unreadable", f"{shown(place)} cannot be looked at")
    if place.inside:
        return _write_path(place, context) if verb in CHANGES else None
    if part.tool not in COMMANDS:
        return Remark(
            "boundary", Decision.DENY, "outside", f"{shown(place)} lies outside the worktree"
        )
    if verb in CHANGES:
        mild = _scratch(place) or (place.touch.met and place.touch.pattern)
        decision = Decision.ASK if mild else Decision.DENY
        reason = f"{verb} {shown(place)}, outside the worktree"
        return Remark("boundary", decision, "writes outside", reason)
    elsewhere = [name for name in place.names if not _holds(context.root, name)]
    public = elsewhere and all(protected.below(name, protected.PUBLIC) for name in elsewhere)
    if public and (
        verb is Verb.LIST or (verb is Verb.READ and place.touch.met and not _scratch(place))
    ):
        return None
    return Remark(
        "boundary", Decision.ASK, "reads outside", f"{verb} {shown(place)}, outside the worktree"
    )


def _scratch(place: Place) -> bool:
    """Whether it stays in the cage's own temporary directories, and is no great change there."""
    return not (place.touch.verb is Verb.DELETE and place.touch.deep) and all(
        protected.below(name, protected.SCRATCH)
        and not (name in protected.SCRATCH and place.touch.deep)
        and not protected.hidden_below(name)
        for name in place.names
    )


def _write_path(place: Place, context: Context) -> Remark | None:
    if not context.write_paths:
        return None
    names = {place.relative, place.real}
    if all(any(covers(pattern, name) for pattern in context.write_paths) for name in names):
        return None
    reason = f"{shown(place)} is not among the paths that this task may change"
    return Remark("boundary", Decision.DENY, "write paths", reason)


def veto(part: Part, place: Place, context: Context) -> Remark | None:
    """What nobody can lift."""
    verb = place.touch.verb
    if place.inside:
        return _veto_inside(place, moved=part.program == "mv")
    for path in place.names:
        if verb is not Verb.LIST and protected.system_secret(path):
            return _deny("system secret", f"{shown(place)} is a secret of the system")
        if verb is not Verb.LIST and protected.credential(path):
            return _deny("credential", f"{shown(place)} is a credential")
        if protected.raw_disk(path):
            return _deny("raw device", f"{shown(place)} is a raw device")
        if place.touch.deep and verb is not Verb.LIST and _whole(path, context, verb):
            return _deny("whole system", f"{verb} everything below {shown(place)}")
    if verb is Verb.DELETE and any(_holds(path, context.root) for path in place.names):
        return _deny("worktree", "removes the directory that holds the worktree")
    if place.touch.pattern and verb is not Verb.LIST:
        return _veto_pattern(place, context)
    return None


def _veto_inside(place: Place, *, moved: bool) -> Remark | None:
    if place.touch.verb not in CHANGES:
        return None
    names = (place.relative, place.real)
    if place.touch.pattern and _may_name(place, protected.GIT_NAMES):
        return _deny("git directory", f"{shown(place)} fits the git directory")
    if any(protected.git_part(name) for name in names):
        return _deny("git directory", f"{shown(place)} belongs to git")
    if place.touch.pattern and _may_name(place, protected.OWN_NAMES):
        return _deny("own settings", f"{shown(place)} fits what governs this run")
    if any(protected.own_part(name) for name in names):
        return _deny("own settings", f"{shown(place)} governs this run")
    if place.touch.verb is Verb.DELETE and "." in names:
        return _deny("worktree", "removes the whole worktree")
    everything = place.touch.pattern and place.touch.deep and not place.relative.strip("*")
    if place.touch.verb is Verb.DELETE and everything and not moved:
        return _deny("worktree", "removes everything in the worktree")
    return None


def _may_name(place: Place, hidden: frozenset[str]) -> bool:
    """Whether some part of a pattern may become one of these names, all of which begin with a
    dot: a wildcard does not stand for that dot."""
    parts = f"{place.relative}/{place.real}".casefold().split("/")
    return any(may_be(part, name) for part in parts if part.startswith(".") for name in hidden)


def _veto_pattern(place: Place, context: Context) -> Remark | None:
    samples = [*_SECRET_SAMPLES, *(posixpath.join(context.home, name) for name in _HOME_SAMPLES)]
    for name in place.names:
        parts = name.split("/")
        for sample in samples:
            there = sample.split("/")
            if len(parts) <= len(there) and all(map(may_be, parts, there)):
                return _deny("hidden secret", f"{shown(place)} fits {sample}")
    return None


def _whole(path: str, context: Context, verb: Verb) -> bool:
    """Whether everything below a path is far too much: secrets lie there."""
    return (
        path in _WHOLE
        or _holds(path, context.home)
        or (verb in CHANGES and _holds(path, context.root))
    )


def _holds(path: str, other: str) -> bool:
    return bool(other) and (other == path or other.startswith(path.rstrip("/") + "/"))


def _deny(rule: str, reason: str) -> Remark:
    return Remark("veto", Decision.DENY, rule, reason)


def default_remarks(part: Part) -> list[Remark]:
    """What the developer defaults have to say about one part."""
    found = [remark for remark in part.remarks if remark.stage == "defaults"]
    for place in part.places:
        remark = defaults(part, place)
        if remark is not None:
            found.append(remark)
    return found


def defaults(part: Part, place: Place) -> Remark | None:
    """What a person should look at, unless a rule says otherwise."""
    if not place.inside:
        return None
    verb = place.touch.verb
    names = tuple(dict.fromkeys((place.relative, place.real)))
    if place.touch.pattern:
        return _defaults_pattern(place)
    secret = any(protected.secret_by_name(name) for name in names)
    if verb in (Verb.READ, Verb.RUN):
        if any(protected.git_part(name) for name in names):
            return Remark(
                "defaults",
                Decision.ESCALATE,
                "git directory",
                f"{shown(place)} may hold a credential",
            )
        if secret:
            return Remark(
                "defaults", Decision.ESCALATE, "secret", f"{shown(place)} may hold a secret"
            )
    if verb in CHANGES:
        if secret:
            return Remark("defaults", Decision.ASK, "secret", f"{shown(place)} may hold a secret")
        why = next(filter(None, (protected.guided(name) for name in names)), "")
        if why:
            return Remark("defaults", Decision.ASK, "guided file", f"{shown(place)}: {why}")
    return None


def _defaults_pattern(place: Place) -> Remark | None:
    """A pattern that was aimed at secrets, or changes what others obey; a bare star is not."""
    names = tuple(dict.fromkeys((place.relative, place.real)))
    guided = next(filter(None, map(protected.guided_by_pattern, names)), "")
    if place.touch.verb in CHANGES and guided:
        return Remark("defaults", Decision.ASK, "guided file", f"{shown(place)}: {guided}")
    name = posixpath.basename(place.relative)  # of both the same
    if place.touch.verb in (Verb.READ, Verb.RUN):
        if _may_name(place, protected.GIT_NAMES):
            reason = f"{shown(place)} may hold a credential"
            return Remark("defaults", Decision.ESCALATE, "git directory", reason)
        if any(map(protected.secret_by_name, names)):
            reason = f"{shown(place)} may hold a secret"
            return Remark("defaults", Decision.ESCALATE, "secret", reason)
    if place.touch.verb is Verb.LIST or not any(char.isalpha() or char == "." for char in name):
        return None
    pattern, dotted = compiled(name), name.startswith(".")
    odd = _CLASS.search(name) and re.search(r"\w", re.sub(r"\[.*\]", "", name))
    for sample in _NAME_SAMPLES:
        loosely = odd and dotted >= sample.startswith(".") and may_be(name, sample)
        if loosely or pattern.fullmatch(sample):
            return Remark("defaults", Decision.ESCALATE, "secret", f"{shown(place)} fits {sample}")
    return None


def shown(place: Place) -> str:
    """A place for people: as written, and where it leads if that is elsewhere."""
    written = place.relative or place.path
    if place.facts.resolved in (place.path, ""):
        return written
    return f"{written} (that is {place.facts.resolved})"
