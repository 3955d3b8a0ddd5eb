"""What this hold uses of the run's budgets: reserved before, settled after, each with the events.

The holder writes what it is about to use into its task's row, with the events of the step before
where it can; only then it looks whether that is within the limits. A holder that dies leaves it
there, and it counts as used.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from django.conf import settings

from runtime import budgets
from runtime.core import amounts
from runtime.core.errors import StaleFence
from runtime.journal.kind import Payload
from runtime.models import Task
from runtime.providers import Answer, Prompt, ProviderError
from runtime.sandbox import Result

from . import machine
from .jobs import MAX_SECONDS
from .state import Pending, State

if TYPE_CHECKING:
    from .session import Session

LETTERS_PER_TOKEN = 2
"""So few make a token only in data that is rare in prompts: a bound."""
SCHEMA_TOKENS = 4000
FREE_KINDS = frozenset(
    {"auth", "rate_limit", "unreachable", "overload", "bad_request", "context_length", "exhausted"}
)
"""Failures before the model was asked, so that nothing is charged for them."""
COMMANDS = frozenset({"run_tool", "run_shell", "start_job", "verify", "finish"})


class Purse:
    """What a task has used, and what is reserved in its row."""

    def __init__(self, task: Task) -> None:
        self.spent = amounts.read(task.spent)
        self.reserved: dict[str, int] = {}
        run = task.run
        self.limits = budgets.limits(amounts.read(run.budgets), run.max_steps, run.max_attempts)
        """The run's limits, as of the last look."""
        self.wall_left = self.cpu_left = float("inf")
        """Seconds that the run may still take, as of the last look."""

    @property
    def artifact_bytes(self) -> int:
        """What the run may keep together."""
        return self.limits["artifact_bytes"]

    @property
    def memory_bytes(self) -> int:
        """What one command of the run may hold."""
        return self.limits["memory_bytes"]

    def look(self, stand: budgets.Standing) -> None:
        """Take over how the run stands."""
        self.limits = dict(stand.limits)
        self.wall_left = stand.left("wall_seconds") / 1000
        self.cpu_left = stand.left("cpu_seconds") / 1000

    def took(self, seconds: float) -> None:
        """So much of the time is gone since."""
        self.wall_left -= seconds

    def settled(self, events: Iterable[Payload], wants: Mapping[str, int]) -> dict[str, str]:
        """The columns of the task after events, with what is reserved from then on."""
        self.spent = amounts.add(self.spent, *spent_by(events))
        self.reserved = dict(wants)
        return {
            "spent": amounts.written(self.spent),
            "reserved": amounts.written(self.reserved),
        }


def spent_by(events: Iterable[Payload]) -> list[Mapping[str, int]]:
    """What each event says was used."""
    return [given for event in events if (given := getattr(event, "spent", None))]


def wanted(session: Session, state: State) -> dict[str, int]:
    """What is to be reserved for what comes next in a state, and for the jobs that live."""
    match machine.step(state):
        case machine.AskModel():
            ahead = _of_call(session, state)
        case machine.Recover(pending=pending):
            ahead = _of_command(session, pending)
        case _:
            ahead = {}
    live = len(session.jobs.live())
    return amounts.add(ahead, {"cpu_ms": int(live * MAX_SECONDS * 1000)})


def _of_call(session: Session, state: State) -> dict[str, int]:
    """The most that the next call of the model can use."""
    if session.scripted:
        return {"model_calls": 1}
    read, most = _bound(session.prompts.make(state)), int(settings.M31A.OUTPUT_TOKENS)
    return {
        "model_calls": 1,
        "input_tokens": read,
        "output_tokens": most,
        "cost": session.price.of(read, most),
        "wall_ms": int(settings.M31A.MODEL_SECONDS) * 1000,
    }


def _bound(prompt: Prompt) -> int:
    return -(-prompt.weight() // LETTERS_PER_TOKEN) + SCHEMA_TOKENS


def _of_command(session: Session, pending: Pending) -> dict[str, int]:
    """What a command can use of what is left. A reading has no effects, and takes next to nothing."""
    if pending.kind not in COMMANDS:
        return {}
    limits = session.limits
    body = pending.body if isinstance(pending.body, Mapping) else {}
    seconds = body.get("timeout") if isinstance(body.get("timeout"), int) else limits.wall_seconds
    wall = min(float(seconds or 0), session.purse.wall_left)
    cpu = min(float(seconds or 0), limits.cpu_seconds, session.purse.cpu_left)
    return {"wall_ms": int(wall * 1000), "cpu_ms": int(cpu * 1000)}


def of_answer(session: Session, answer: Answer, seconds: float) -> dict[str, int]:
    """What an answer used. What a script claims nothing about is not charged."""
    used = {"model_calls": 1, "wall_ms": int(seconds * 1000)}
    usage = answer.usage
    if session.scripted and usage.estimated:
        return used
    cost = session.price.of(usage.input_tokens, usage.output_tokens)
    tokens = {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
    return amounts.add(used, tokens, _guessed(session, tokens, cost, usage.estimated))


def _guessed(
    session: Session, tokens: Mapping[str, int], cost: int, estimated: bool
) -> dict[str, int]:
    """The cost, and how much of cost and tokens nobody measured."""
    found = {"cost": cost}
    if estimated or session.price.estimated:
        found["estimated_cost"] = cost
    if estimated:
        found |= {f"estimated_{name}": value for name, value in tokens.items()}
    return found


def of_failure(session: Session, error: ProviderError, seconds: float) -> dict[str, int]:
    """What a failed call may have used: nothing where the model was not asked, else all that was
    reserved, for nobody was told."""
    used = {"model_calls": 1, "wall_ms": int(seconds * 1000)}
    if session.scripted or (error.kind in FREE_KINDS and not error.began):
        return used
    read = _bound(session.prompts.make(session.state))
    tokens = {"input_tokens": read, "output_tokens": int(settings.M31A.OUTPUT_TOKENS)}
    cost = session.price.of(*tokens.values())
    return amounts.add(used, tokens, _guessed(session, tokens, cost, True))


def of_results(results: Sequence[Result]) -> dict[str, int]:
    """What commands used that ran one after the other."""
    return amounts.add(
        *(
            {
                "wall_ms": result.duration_ms,
                "cpu_ms": result.cpu_ms,
                "memory_bytes": result.peak_memory,
                "output_bytes": result.stdout_bytes + result.stderr_bytes,
            }
            for result in results
        )
    )


def of_trace(trace: Mapping[str, int] | None, *, waited: bool = True) -> dict[str, int] | None:
    """What a command used, by its trace. `waited`: the run waited for it."""
    if trace is None:
        return None
    return amounts.add(
        {
            "wall_ms": trace["duration_ms"] if waited else 0,
            "cpu_ms": trace["cpu_ms"],
            "memory_bytes": trace["peak_memory"],
            "output_bytes": trace["stdout_bytes"] + trace["stderr_bytes"],
        }
    )


def secure(session: Session) -> budgets.Verdict:
    """Reserve what comes next, where that was not done with the step before, and then look."""
    purse = session.purse
    wants = wanted(session, session.state)
    if not amounts.covers(purse.reserved, wants):
        held = Task.objects.filter(pk=session.task.pk, fence=session.claim.fence, state="running")
        if held.update(reserved=amounts.written(wants)) != 1:
            raise StaleFence("Another claim owns the task now.")
        purse.reserved = wants
    stand = budgets.standing(session.run.pk)
    purse.look(stand)
    session.see_limit(stand.limits["steps"])
    state = session.state
    free = state.pending is None  # else it goes on with an action that a person was asked about
    asks = free and session.run.mode != "unattended"
    return budgets.judge(stand, state.passed, calls=free, asks=asks)
