"""Sending a commit to a remote that was recorded with the workspace.

Git gets the git directory alone. No hook runs on this side, and none in a remote that is a
directory of this machine; a remote's branch only moves forward, and only from where it was seen.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from runtime.core.errors import Refused, Unavailable

from .repository import Repository, host_git, oid, said, trust_file

PROTOCOLS = "file:https:ssh"
SECONDS = 120.0
_RECEIVE = (
    "git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c core.alternateRefsCommand=true"
    " -c receive.denyCurrentBranch=refuse -c receive.autogc=false receive-pack"
)
_REF = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._@+-]*(/[A-Za-z0-9_][A-Za-z0-9._@+-]*)*")
_NETWORK = re.compile(r"(https|ssh)://[^/]+/.+")
_SCP = re.compile(r"[A-Za-z0-9_.@-]+:(?!:|//).+")


@dataclass(frozen=True, slots=True)
class PushResult:
    """`done`: the remote has the commit. `rejected`: it said no, nothing moved. `unknown`: the
    answer did not arrive, so it may or may not have moved."""

    outcome: Literal["done", "rejected", "unknown"]
    text: str

    @property
    def ok(self) -> bool:
        """Whether the remote has the commit."""
        return self.outcome == "done"


def ref_name(ref: str) -> str:
    """A branch or tag as a full ref name. Raises `Refused` for what git would not take."""
    full = ref if ref.startswith("refs/") else f"refs/heads/{ref}"
    bad = ".." in full or "@{" in full or full.endswith((".", ".lock")) or ".lock/" in full
    if bad or not _REF.fullmatch(full) or not full.startswith(("refs/heads/", "refs/tags/")):
        raise Refused(f"{ref!r} is no branch or tag.", remedy="Name a branch, such as main.")
    return full


def usable(url: str) -> bool:
    """Whether an address is of a kind that pushes go to: a directory, https or ssh."""
    if url.startswith(("/", "file:///")):
        return True
    return bool(_NETWORK.fullmatch(url) or ("://" not in url and _SCP.fullmatch(url)))


def remote_head(repository: Repository, url: str, ref: str) -> str | None:
    """Where a ref of the remote is, None where it has none. Raises `Unavailable`."""
    done = host_git(
        "ls-remote", "--refs", "--", _address(url), ref_name(ref),
        env=_environment(repository), timeout=SECONDS,
    )  # fmt: skip
    if done.status != 0:
        raise Unavailable(f"The remote does not answer: {said(done)}")
    rows = [line.split("\t") for line in done.stdout.decode("utf-8", "replace").splitlines()]
    return next((row[0] for row in rows if row[1:] == [ref_name(ref)]), None)


def push(
    repository: Repository, remote: str, url: str, ref: str, commit: str, expected: str | None
) -> PushResult:
    """Move `ref` of the remote to `commit`, from `expected` or (None) from where it is now.

    A repetition finds the commit there already and is `done`. Raises `Refused` where it would not
    be a step forward, `Unavailable` where the remote does not answer at all.
    """
    full, address = ref_name(ref), _address(url)
    there = remote_head(repository, url, ref)
    if there == commit:
        return PushResult("done", f"{remote} has {commit} on {full} already.")
    expected = expected or there
    if expected is not None and not _is_ancestor(repository, expected, commit):
        raise Refused(
            f"{full} of {remote} is at {expected}, which the run's commit does not follow.",
            remedy="Push to a branch of the run's own.",
        )
    try:
        done = host_git(
            "--bare", f"--git-dir={repository.path}", "-c", "core.hooksPath=/dev/null",
            "-c", "push.followTags=false", "-c", "push.recurseSubmodules=no",
            "push", "--porcelain", "--no-verify", "--no-progress", f"--receive-pack={_RECEIVE}",
            f"--force-with-lease={full}:{expected or ''}", "--", address, f"{oid(commit)}:{full}",
            env=_environment(repository), timeout=SECONDS,
        )  # fmt: skip
    except Unavailable as error:
        return PushResult("unknown", error.message)
    if done.status == 0:
        return PushResult("done", f"{commit} is on {full} of {remote}.")
    answer = done.stdout.decode("utf-8", "replace")
    if any(line.startswith("!") for line in answer.splitlines()):
        return PushResult("rejected", _short(f"{answer} {said(done)}"))
    return PushResult("unknown", said(done))


def _is_ancestor(repository: Repository, old: str, new: str) -> bool:
    done = repository.run("merge-base", "--is-ancestor", oid(old), oid(new), check=False)
    return done.status == 0


def _address(url: str) -> str:
    if not usable(url):
        raise Refused(
            f"Nothing is pushed to {url!r}.",
            remedy="Register the workspace with a remote that is a directory, https or ssh.",
        )
    return url


def _environment(repository: Repository) -> dict[str, str]:
    return {
        "GIT_ALLOW_PROTOCOL": PROTOCOLS,
        "GIT_CONFIG_GLOBAL": str(trust_file(repository.path.parent)),
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oConnectTimeout=20",
        "GIT_ASKPASS": "true",
    }


def _short(text: str) -> str:
    return " ".join(text.split())[-800:]
