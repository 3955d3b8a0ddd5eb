"""`openai:` and `openrouter:` models of the client library. Loads the OpenAI SDK."""

from __future__ import annotations

import httpx2

# The SDK would load this in the first call, and hold up its timeout and cancellation.
import openai.resources.chat.completions.completions  # noqa: F401
from openai import AsyncOpenAI
from pydantic_ai.models import Model
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.models.openrouter import OpenRouterModel
from pydantic_ai.profiles import merge_profile
from pydantic_ai.profiles.openai import OpenAIModelProfile
from pydantic_ai.providers.openai import OpenAIProvider as CloudProvider
from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider
from pydantic_ai.providers.openrouter import OpenRouterProvider

from runtime.providers.vendors import NO_KEY, Endpoint

# A stream without a finish reason was cut. Whether a model takes a schema is for it to say.
_PROFILE = OpenAIModelProfile(
    openai_chat_streaming_requires_finish_reason=True, supports_json_schema_output=True
)


def build(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
    """The model behind an endpoint, speaking through `http`, never trying twice."""
    sdk = AsyncOpenAI(
        base_url=endpoint.base_url,
        api_key=endpoint.key or NO_KEY,
        http_client=http,
        max_retries=0,
        timeout=http.timeout,
    )
    if endpoint.vendor.scheme == "openrouter":
        provider = OpenRouterProvider(openai_client=sdk)
        return OpenRouterModel(
            endpoint.model,
            provider=provider,
            profile=merge_profile(provider.model_profile(endpoint.model), _PROFILE),
        )
    return OpenAIChatModel(
        endpoint.model,
        provider=CloudProvider(openai_client=sdk)
        if endpoint.base_url == endpoint.vendor.cloud
        else OpenAICompatibleProvider("openai-compatible", openai_client=sdk),
        profile=_PROFILE,
    )
