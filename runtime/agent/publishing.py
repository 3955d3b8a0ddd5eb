"""Git that writes: verbs of the server, done on the run's git directory alone."""

from __future__ import annotations

import re

from runtime import tasks
from runtime.core.actions import GitCommit, GitPush
from runtime.core.errors import Refused, StaleFence, Unavailable
from runtime.journal.kinds import ActionOutcomeUnknown, CheckpointCreated
from runtime.secrets import redactor

from .outcome import Outcome
from .session import Session
from .state import Pending

TRAILER = re.compile(
    r"(?im)^[ \t]*(?=(?:m31a-[a-z-]*|submitted-by|approved-by|verified-by)[ \t]*:)"
)
"""Where a line begins that only the runtime may write into a commit's message."""


def branch(session: Session) -> str:
    """The run's branch."""
    return f"m31a/{session.run.pk}"


def commit(session: Session, pending: Pending, action: GitCommit) -> Outcome:
    """Commit the whole tree to the run's branch."""
    state = session.state
    if session.space.repository.objects.tree_of(state.head) == state.tree:
        return Outcome(True, "Nothing to commit: the tree is that of the last commit.")
    if TRAILER.search(action.message):
        raise Refused(
            "M31A-…, Submitted-by, Approved-by and Verified-by are the runtime's to say.",
            remedy="Leave those lines out of the message.",
        )
    made = commit_tree(session, action.message)
    session.space.refresh_index(session.cage)
    outcome = Outcome(True, f"Committed {made[:12]} to {branch(session)}.")
    outcome.events.append(
        CheckpointCreated(
            tree=state.tree, commit=state.commit, action=pending.action, files=[], head=made
        )
    )
    return outcome


def commit_tree(session: Session, message: str) -> str:
    """Commit the run's tree onto its branch; the new commit.

    A commit that the journal does not know was interrupted: the branch is set back first.
    """
    state, space, ref = session.state, session.space, f"refs/heads/{branch(session)}"
    message = redactor().text(message)
    try:
        return space.commit(state.tree, state.head, message, ref)
    except Refused:
        space.repository.run("update-ref", "--no-deref", ref, state.head)
        return space.commit(state.tree, state.head, message, ref)


def push(session: Session, pending: Pending, action: GitPush) -> Outcome:
    """Push the run's branch to a recorded remote, never over somebody else's work."""
    remote = action.remote or "origin"
    url = session.workspace.remotes.get(remote)
    if url is None:
        known = ", ".join(sorted(session.workspace.remotes)) or "none"
        raise Refused(f"There is no recorded remote {remote!r}; recorded: {known}.")
    ref = action.ref or branch(session)
    if tasks.renew(session.claim) == "lost":
        raise StaleFence("Another claim owns the task now.")
    try:
        result = session.space.push(remote, url, ref, session.state.head, None)
    except Unavailable as error:
        raise Refused(error.message, remedy=error.remedy) from error
    if result.outcome == "unknown":
        event = ActionOutcomeUnknown(
            action=pending.action,
            kind=pending.kind,
            reason=f"{result.text} Look at the remote before you push again.",
        )
        return Outcome(False, event.reason, instead=event)
    return Outcome(result.ok, result.text)
