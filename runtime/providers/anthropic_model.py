"""`anthropic:` models of the client library. Loads Anthropic's SDK."""

from __future__ import annotations

# The SDK would load this in the first call, and hold up its timeout and cancellation.
import anthropic.resources.beta.messages  # noqa: F401
import httpx2
from anthropic import AsyncAnthropic
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.profiles import ModelProfile, merge_profile
from pydantic_ai.providers.anthropic import AnthropicProvider

from runtime.providers.vendors import NO_KEY, Endpoint

# Whether a model takes a schema is for it to say, not for a list.
_PROFILE = ModelProfile(supports_json_schema_output=True)


def build(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
    """The model behind an endpoint, speaking through `http`, never trying twice."""
    sdk = AsyncAnthropic(
        base_url=endpoint.base_url,
        api_key=endpoint.key or NO_KEY,
        http_client=http,
        max_retries=0,
        timeout=http.timeout,
    )
    provider = AnthropicProvider(anthropic_client=sdk)
    return AnthropicModel(
        endpoint.model,
        provider=provider,
        profile=merge_profile(provider.model_profile(endpoint.model), _PROFILE),
    )
