"""`openai:MODEL`: any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import threading
from collections.abc import Callable

from runtime.providers.base import Answer, Prompt
from runtime.providers.openai_settings import OpenAISettings


class OpenAIProvider:
    """A model behind an OpenAI-compatible server."""

    def __init__(self, spec: str, settings: OpenAISettings) -> None:
        self.spec = spec
        self._settings = settings

    def __repr__(self) -> str:
        return f"OpenAIProvider({self.spec!r})"

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
        """Ask the server once, without retries; see `Provider.decide`."""
        # The client libraries take more than a second to load; only here are they needed.
        from runtime.providers import direct, openai_model

        call = direct.Call(prompt, on_text, timeout, max_bytes, secret=self._settings.key)
        return direct.run(openai_model.Connection(self._settings), call, cancel)
