"""Models behind an HTTP server: `openai:`, `anthropic:`, `google:`, `openrouter:`, `ollama:`."""

from __future__ import annotations

import importlib
import re
import threading
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace

from runtime.providers.base import Answer, Prompt, ProviderError, cancelled
from runtime.providers.vendors import Endpoint

_NO_TOOLS = re.compile(
    r"(not support|unsupported|no support|support\w* for|that support|not available|requires)"
    r".{0,60}\b(tool|function)|\b(tool|function)\w*\b.{0,60}(not support|unsupported|not available)",
    re.IGNORECASE,
)
_PLAIN = ("google", "ollama")


class HttpProvider:
    """A model behind an endpoint. Usable from several threads."""

    def __init__(self, spec: str, endpoint: Endpoint) -> None:
        self.spec = spec
        self.endpoint = endpoint

    def __repr__(self) -> str:
        return f"HttpProvider({self.spec!r})"

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
        """Ask the server once, without retries; see `Provider.decide`.

        Only where it says that the model has no tools it is asked again, for JSON by a schema,
        and from then on in that way.
        """
        # The client libraries take more than a second to load; only here are they needed.
        from runtime.providers.calling import Call, run

        if cancel.is_set():
            raise cancelled("")
        preload(self.endpoint.vendor.scheme)
        end = time.monotonic() + timeout
        call = Call(prompt, on_text, timeout, max_bytes, secret=self.endpoint.key)
        try:
            return run(call, self._ask(tools=self.endpoint.mode != "json"), cancel)
        except ProviderError as error:
            if self.endpoint.mode != "auto" or not _says_no_tools(error):
                raise
            self.endpoint = replace(self.endpoint, mode="json")
        left = max(end - time.monotonic(), 0.001)
        return run(
            Call(prompt, on_text, left, max_bytes, call.secret), self._ask(tools=False), cancel
        )

    def _ask(self, *, tools: bool) -> Callable[..., Awaitable[Answer]]:
        endpoint = self.endpoint
        if endpoint.vendor.scheme in _PLAIN:
            from runtime.providers import gemini, ollama, plain

            dialect = gemini.Gemini() if endpoint.vendor.scheme == "google" else ollama.Ollama()
            return lambda call: plain.ask(dialect, endpoint, call, tools=tools)
        from runtime.providers import direct, libraries

        return lambda call: direct.ask(libraries.Connection(endpoint, tools=tools), call)


def _says_no_tools(error: ProviderError) -> bool:
    return (
        error.kind == "bad_request"
        and not error.partial
        and _NO_TOOLS.search(error.message) is not None
    )


def preload(scheme: str) -> None:
    """Load what a first call of this scheme would load."""
    if scheme in _PLAIN:
        importlib.import_module("runtime.providers.gemini")
        importlib.import_module("runtime.providers.ollama")
        return
    importlib.import_module("runtime.providers.libraries")
    name = "anthropic_model" if scheme == "anthropic" else "openai_model"
    importlib.import_module(f"runtime.providers.{name}")
