"""How an endpoint becomes a model of the client library. Loads that library."""

from __future__ import annotations

import warnings
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

# The library would load this one in the first call, and hold up its timeout and cancellation.
import genai_prices.data  # noqa: F401
import httpx2
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.output import OutputObjectDefinition
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from runtime.providers import wire
from runtime.providers.answers import TOOL
from runtime.providers.direct import Opened
from runtime.providers.schema import DESCRIPTION, action_schema, union_schema
from runtime.providers.vendors import Endpoint

# They quote what a server sent, on the server's own standard error, for each odd value of it.
warnings.filterwarnings("ignore", category=Warning, module=r"pydantic(_ai)?(\.|\Z)")


class Connection:
    """Opens one HTTP client per call, so that ending a call ends its socket."""

    def __init__(self, endpoint: Endpoint, *, tools: bool) -> None:
        self.vendor = endpoint.vendor
        self._endpoint = endpoint
        self._tools = tools

    @asynccontextmanager
    async def open(self, state: wire.Wire, timeout: float) -> AsyncIterator[Opened]:
        """A model over a fresh client that reports into `state`; closed at the end."""
        async with wire.client(state, timeout) as http:
            yield Opened(
                model=_model(self._endpoint, http),
                parameters=_parameters(self._tools, claude=self.vendor.scheme == "anthropic"),
                settings=_settings(self._endpoint),
            )


def _settings(endpoint: Endpoint) -> ModelSettings:
    """One action to an answer, and a bound where the server takes one."""
    if endpoint.longest:
        return ModelSettings(parallel_tool_calls=False, max_tokens=endpoint.longest)
    return ModelSettings(parallel_tool_calls=False)


def _model(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
    """Each vendor's module is loaded only for its own models."""
    if endpoint.vendor.scheme == "anthropic":
        from runtime.providers import anthropic_model

        return anthropic_model.build(endpoint, http)
    from runtime.providers import openai_model

    return openai_model.build(endpoint, http)


def _parameters(tools: bool, *, claude: bool) -> ModelRequestParameters:
    """What binds the answer to an action: a tool that must be called, or a response format.

    Claude says nothing before a tool that it is forced to call, and some of its models refuse to
    be forced; it is told in words. With a schema it is always strict.
    """
    if not tools:
        return ModelRequestParameters(
            output_mode="native",
            output_object=OutputObjectDefinition(
                name=TOOL,
                description=DESCRIPTION,
                json_schema=action_schema() if claude else union_schema(),
                strict=None if claude else False,
            ),
        )
    tool = ToolDefinition(
        name=TOOL,
        description=DESCRIPTION,
        parameters_json_schema=action_schema(),
        strict=False,
    )
    return ModelRequestParameters(function_tools=[tool], allow_text_output=claude)
