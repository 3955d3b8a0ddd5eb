"""How `openai:` settings become a model of the client library. Loads that library."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

# The library would load these two in the first call, and hold up its timeout and cancellation.
import genai_prices.data  # noqa: F401
import openai.resources.chat.completions.completions  # noqa: F401
from openai import AsyncOpenAI
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider as CloudProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from runtime.providers import wire
from runtime.providers.answers import TOOL
from runtime.providers.direct import Opened
from runtime.providers.openai_settings import CLOUD, Mode, OpenAISettings
from runtime.providers.schema import action_schema

_DESCRIPTION = "Propose the one next action. Fill in only the fields that its kind has."
_NO_KEY = "none"
# A stream without a finish reason was cut.
_PROFILE = OpenAIModelProfile(openai_chat_streaming_requires_finish_reason=True)


class Connection:
    """Opens one HTTP client per call, so that ending a call ends its socket."""

    def __init__(self, settings: OpenAISettings) -> None:
        self._settings = settings

    @asynccontextmanager
    async def open(self, state: wire.Wire, timeout: float) -> AsyncIterator[Opened]:
        """A model over a fresh client that reports into `state`; closed at the end."""
        async with wire.client(state, timeout) as http:
            sdk = AsyncOpenAI(
                base_url=self._settings.base_url,
                api_key=self._settings.key or _NO_KEY,
                http_client=http,
                max_retries=0,
                timeout=http.timeout,
            )
            yield Opened(
                model=OpenAIChatModel(
                    self._settings.model,
                    provider=_provider(self._settings.base_url, sdk),
                    profile=_PROFILE,
                ),
                parameters=_parameters(self._settings.mode),
                settings=ModelSettings(parallel_tool_calls=False),
            )


def _provider(base_url: str, sdk: AsyncOpenAI) -> CloudProvider | OpenAICompatibleProvider:
    if base_url == CLOUD:
        return CloudProvider(openai_client=sdk)
    return OpenAICompatibleProvider("openai-compatible", openai_client=sdk)


def _parameters(mode: Mode) -> ModelRequestParameters:
    """What binds the answer to an action: a tool that must be called, or a response format."""
    if mode == "json":
        return ModelRequestParameters(
            output_mode="native",
            output_object=OutputObjectDefinition(
                name=TOOL,
                description=_DESCRIPTION,
                json_schema=action_schema(),
                strict=False,
            ),
        )
    tool = ToolDefinition(
        name=TOOL,
        description=_DESCRIPTION,
        parameters_json_schema=action_schema(),
        strict=False,
    )
    return ModelRequestParameters(function_tools=[tool], allow_text_output=False)
