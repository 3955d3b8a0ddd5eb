"""What every provider takes and gives: the prompt, the answer, and one kind of failure.

A provider only proposes. The action of an answer is decoded JSON that nobody has validated yet.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, Protocol, get_args

from runtime.core import letters
from runtime.core.errors import M31AError

Kind = Literal[
    "auth",
    "rate_limit",
    "timeout",
    "overload",
    "context_length",
    "refusal",
    "malformed",
    "cut",
    "unreachable",
    "exhausted",
    "size",
    "cancelled",
    "bad_request",
]
KINDS: frozenset[str] = frozenset(get_args(Kind))
RETRYABLE: frozenset[Kind] = frozenset({"rate_limit", "timeout", "overload", "cut", "unreachable"})
"""Failures after which the same question may succeed later."""
MOST_TOKENS = 1_000_000_000
"""More than any call can use: what a server says beyond is no number of tokens."""


@dataclass(frozen=True, slots=True)
class Message:
    """One part of the conversation. Observations are user messages in the caller's envelopes.

    `weight` is its size in letters (see `core.letters`), counted once: each step asks for that of
    all messages again.
    """

    role: Literal["user", "assistant"]
    text: str
    weight: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weight", letters.weight(self.text))


@dataclass(frozen=True, slots=True)
class Facts:
    """What the prompt says in words, for programs that want it by name."""

    task: str
    allowed_programs: tuple[str, ...] = ()
    verification_programs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prompt:
    """Everything that the model is told for one answer, in no provider's own format."""

    system: str
    messages: tuple[Message, ...]
    facts: Facts | None = None

    def weight(self) -> int:
        """The size of all texts together, in letters (see `core.letters`)."""
        return letters.weight(self.system) + sum(message.weight for message in self.messages)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call; `estimated` where the provider did not say all, and we counted letters."""

    input_tokens: int
    output_tokens: int
    estimated: bool


@dataclass(frozen=True, slots=True)
class Answer:
    """One whole answer of a model.

    `text` is all that was streamed. Exactly one of `action` and `error` is set: `error` tells the
    model why its answer holds no usable action; it is no failure of the provider.
    """

    text: str
    action: object
    usage: Usage
    model: str
    error: str | None = None


class ProviderError(M31AError):
    """The provider gave no whole answer.

    `kind` is one of `KINDS`, `retry_after` the seconds that the provider asked us to wait,
    `retryable` whether the same question may succeed later (never tried here), and `partial` the
    text that had streamed before: it is no answer. `began`: the model may have been at work, so
    that the call may have to be paid for, though no text had come.
    """

    def __init__(
        self,
        kind: Kind,
        message: str,
        *,
        retry_after: int | None = None,
        retryable: bool | None = None,
        partial: str = "",
        began: bool = False,
        remedy: str = "",
    ) -> None:
        super().__init__(message, remedy=remedy)
        self.kind: Kind = kind
        self.retry_after = retry_after
        self.retryable = kind in RETRYABLE if retryable is None else retryable
        self.partial = partial
        self.began = began or bool(partial)


class Provider(Protocol):
    """A model behind one specification such as `openai:MODEL`."""

    @property
    def spec(self) -> str:
        """The specification that this provider was loaded from."""
        ...

    def decide(
        self,
        prompt: Prompt,
        *,
        ordinal: int,
        task_key: str,
        on_text: Callable[[str], None],
        cancel: threading.Event,
        timeout: float,
        max_bytes: int,
    ) -> Answer:
        """Ask for one action, handing text to `on_text` (in this thread) as it comes.

        `ordinal` counts the task's journaled model answers, `task_key` names the task in its
        workflow; `timeout` is seconds for the whole call, `max_bytes` bounds the response. Setting
        `cancel` ends the call within half a second and tells the provider.
        Raises `ProviderError`. What `on_text` raises passes through and ends the call as well.
        """
        ...


def estimate(prompt: Prompt, written: str) -> Usage:
    """Usage for an answer whose provider reported none: rather too much than too little."""
    read = -(-prompt.weight() // letters.PER_TOKEN)
    return Usage(read, letters.tokens(written), estimated=True)


def reported(prompt: Prompt, written: str, read: object, wrote: object) -> Usage:
    """Usage as a server reports it, as far as that can be. What is no count of tokens, or none at
    all, is estimated; a count beyond all bounds counts as the bound."""
    guess = estimate(prompt, written)
    counts = (_count(read, guess.input_tokens), _count(wrote, guess.output_tokens))
    return Usage(*counts, estimated=counts != (read, wrote))


def _count(said: object, guess: int) -> int:
    return min(said, MOST_TOKENS) if type(said) is int and said > 0 else guess


def cancelled(partial: str) -> ProviderError:
    """The error of a call that the caller cancelled."""
    return ProviderError("cancelled", "The model call was cancelled.", partial=partial)


def too_slow(timeout: float, partial: str) -> ProviderError:
    """The error of a call that used up its time."""
    return ProviderError(
        "timeout",
        f"The model gave no whole answer within {timeout:g} s.",
        partial=partial,
    )


def too_large(max_bytes: int, partial: str) -> ProviderError:
    """The error of a response beyond its bound."""
    return ProviderError(
        "size",
        f"The model's response is larger than {max_bytes} bytes.",
        partial=partial,
    )
