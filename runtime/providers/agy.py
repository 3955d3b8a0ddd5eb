"""`cli:agy`: Google Antigravity's command line, one confined process to a decision."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

from runtime.core.errors import BadInput
from runtime.providers import agy_contract as contract
from runtime.providers import agy_failures as failures
from runtime.providers import agy_settings, answers, vendor_cage
from runtime.providers.agy_stream import EventReader, TooMuch
from runtime.providers.base import Answer, Message, Prompt, Usage, reported
from runtime.sandbox import Result

HELP_SECONDS = 5.0
_offers_stdin: dict[tuple[str, int, int], bool] = {}


class AgyProvider:
    """AGY as a planner. Usable from several threads."""

    def __init__(self, spec: str, settings: agy_settings.AgySettings) -> None:
        self.spec = spec
        self.where = settings.tool.program
        self._settings = settings

    def __repr__(self) -> str:
        return f"AgyProvider({self.spec!r})"

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
        """One decision; see `Provider.decide`. Raises `Unavailable` where AGY cannot be confined."""
        bounds = _Bounds(on_text, cancel, timeout, max_bytes)
        text = contract.prompt_text(prompt)
        if self._piped(bounds):
            return self._decide_piped(text, prompt, bounds)
        if len(text.encode()) > contract.LONGEST_ARGUMENT:
            raise failures.too_long(len(text.encode()))
        arguments = contract.decision_arguments(text, self._settings.model, timeout)
        result = bounds.run(self._settings, arguments)
        failures.check_end(result, bounds, "provider call")
        try:
            envelope = contract.read_envelope(contract.read_object(result.stdout))
        except contract.BadAnswer as fault:
            raise failures.no_json(fault, bounds.text) from None
        return self._answer(envelope, prompt, bounds)

    def _decide_piped(self, text: str, prompt: Prompt, bounds: _Bounds) -> Answer:
        """The same with the prompt on standard input; the words before the action are shown."""
        arguments = contract.piped_arguments(self._settings.model, bounds.timeout)
        splitter = answers.TextSplitter()
        reader, result = bounds.stream(
            self._settings,
            arguments,
            lambda delta: bounds.show(splitter.feed(delta)),
            stdin=contract.piped_message(text),
            what="provider call",
        )
        failures.check_end(result, bounds, "provider call")
        if reader.result is None:
            raise failures.no_json("the stream ended without a result", bounds.text)
        return self._answer(reader.result, prompt, bounds)

    def stream(
        self,
        prompt: str,
        *,
        on_text: Callable[[str], None],
        cancel: threading.Event,
        timeout: float,
        max_bytes: int,
    ) -> Usage | None:
        """Text without an action, handed on as it comes; the tokens, where AGY says them.

        Raises `ProviderError`; what `on_text` raises passes through and ends the program.
        """
        bounds = _Bounds(on_text, cancel, timeout, max_bytes)
        if len(prompt.encode()) > contract.LONGEST_ARGUMENT:
            raise failures.too_long(len(prompt.encode()))
        arguments = contract.stream_arguments(prompt, self._settings.model, timeout)
        reader, result = bounds.stream(
            self._settings, arguments, bounds.show, stdin=None, what="provider stream"
        )
        failures.check_stream_end(result, bounds, reader.result)
        found = reader.result
        if found is None or (found.input_tokens is None and found.output_tokens is None):
            return None
        asked = Prompt("", (Message("user", prompt),))
        return reported(asked, bounds.text, found.input_tokens, found.output_tokens)

    def _answer(self, envelope: contract.Envelope, prompt: Prompt, bounds: _Bounds) -> Answer:
        if envelope.status != "SUCCESS":
            raise failures.bad_status(envelope.status, bounds.text)
        if envelope.output is None:
            raise failures.no_output(bounds.text)
        fault = contract.misfit(envelope.output)
        written = bounds.text + str(envelope.output)
        usage = reported(prompt, written, envelope.input_tokens, envelope.output_tokens)
        return Answer(
            text=bounds.text,
            action=None if fault else envelope.output,
            usage=usage,
            model=self._settings.model or "agy",
            error=f"The action does not fit the schema: {fault}." if fault else None,
        )

    def _piped(self, bounds: _Bounds) -> bool:
        """Whether the prompt goes by standard input: AGY is asked once what it offers."""
        if self._settings.way != "auto":
            return self._settings.way == "stdin"
        about = os.stat(self._settings.tool.program)
        key = (self._settings.tool.program, about.st_mtime_ns, about.st_size)
        if key not in _offers_stdin:
            result = bounds.run(self._settings, ["--help"], most=HELP_SECONDS)
            if result.status is None or result.timed_out or result.cancelled:
                return False  # it said nothing; the next call asks again
            _offers_stdin[key] = b"--input-format" in result.stdout + result.stderr
        return _offers_stdin[key]


class _Bounds:
    """What one call may take, and what it has shown."""

    def __init__(
        self,
        on_text: Callable[[str], None],
        cancel: threading.Event,
        timeout: float,
        max_bytes: int,
    ) -> None:
        if not timeout > 0:
            raise BadInput("timeout must be positive", field="timeout")
        if max_bytes <= 0:
            raise BadInput("output limit must be positive", field="max_bytes")
        self.cancel = cancel
        self.timeout = timeout
        self.max_bytes = max_bytes
        self._shown: list[str] = []
        self._on_text = on_text
        self._repair = answers.Repair()
        self._end = time.monotonic() + timeout

    @property
    def text(self) -> str:
        """All that was handed on."""
        return "".join(self._shown)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return time.monotonic() >= self._end

    def show(self, text: str) -> None:
        """Hand on text, made valid."""
        text = self._repair.feed(text) if text else ""
        if text:
            self._shown.append(text)
            self._on_text(text)

    def run(
        self,
        settings: agy_settings.AgySettings,
        arguments: list[str],
        *,
        stdin: bytes | None = None,
        most: float | None = None,
        on_output: Callable[[str, bytes], None] | None = None,
    ) -> Result:
        """The program, within what is left of the time. Raises `ProviderError` `size`."""
        if self.cancel.is_set():
            raise failures.cancelled("provider call", self.text)
        left = max(self._end - time.monotonic(), 0.001)
        room = {"stdout": self.max_bytes, "stderr": self.max_bytes}

        def count(stream: str, data: bytes) -> None:
            room[stream] -= len(data)
            if room[stream] < 0:
                raise failures.too_much(self.max_bytes, self.text)

        return vendor_cage.run(
            settings.tool,
            arguments,
            stdin=stdin,
            timeout=left if most is None else min(left, most),
            keep=self.max_bytes,
            cancel=self.cancel,
            on_output=on_output or count,
        )

    def stream(
        self,
        settings: agy_settings.AgySettings,
        arguments: list[str],
        take: Callable[[str], None],
        *,
        stdin: bytes | None,
        what: str,
    ) -> tuple[EventReader, Result]:
        """The program, its events read as they come. A bad line ends it at once."""
        reader = EventReader(self.max_bytes, longest_line=4 * self.max_bytes)

        def read(stream: str, data: bytes) -> None:
            if stream == "stdout":
                for delta in reader.feed(data):
                    take(delta)

        try:
            result = self.run(settings, arguments, stdin=stdin, on_output=read)
            for delta in reader.end() if result.ok else []:
                take(delta)
        except contract.BadAnswer as fault:
            raise failures.no_json(fault, self.text) from None
        except TooMuch:
            raise failures.too_much(self.max_bytes, self.text, stream=True) from None
        return reader, result
