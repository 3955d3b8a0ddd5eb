"""Specifications and settings are checked before anything connects, and keys stay hidden."""

from __future__ import annotations

import subprocess
import sys

import pytest

from runtime.core.errors import BadInput
from runtime.providers import configured, describe, load

LOCAL = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}


@pytest.mark.parametrize("spec", ["", "gpt", "openai:", "other:x", "scripted:f"])
def test_unknown_or_incomplete_provider_is_refused(spec: str) -> None:
    with pytest.raises(BadInput) as refusal:
        load(spec, env=LOCAL)
    assert refusal.value.exit_code == 2


def test_unknown_provider_lists_the_known_ones() -> None:
    with pytest.raises(BadInput, match=r"scripted:FILE, openai:MODEL, anthropic:MODEL"):
        load("other:x", env={})


def test_openai_without_server_and_key_names_the_settings() -> None:
    with pytest.raises(BadInput) as refusal:
        load("openai:m", env={})
    assert "OPENAI_BASE_URL" in str(refusal.value)
    assert "OPENAI_API_KEY" in str(refusal.value)


@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1:8000",
        "ftp://host/v1",
        "http://",
        "http://user:sk-secret@host/v1",
        "http://host/v1?key=sk-secret",
        "http://host:99999/v1",
        "http://[::1/v1",
        "http://host/\nv1",
    ],
)
def test_openai_base_url_must_be_plain(url: str) -> None:
    with pytest.raises(BadInput, match="OPENAI_BASE_URL") as refusal:
        load("openai:m", env={"OPENAI_BASE_URL": url})
    assert "sk-secret" not in str(refusal.value)


def test_openai_mode_must_be_known() -> None:
    with pytest.raises(BadInput, match="M31A_OPENAI_MODE"):
        load("openai:m", env={**LOCAL, "M31A_OPENAI_MODE": "magic"})


def test_openai_key_shows_nowhere() -> None:
    model = load("openai:m", env={**LOCAL, "OPENAI_API_KEY": "sk-secret"})
    settings = model.endpoint  # type: ignore[attr-defined]
    assert settings.key == "sk-secret"
    assert "sk-secret" not in repr(model) + str(model) + repr(settings)
    with pytest.raises(BadInput) as refusal:
        load("openai:m", env={"OPENAI_API_KEY": "sk-secret\x07"})
    assert "sk-secret" not in str(refusal.value)


def test_default_provider_is_read_from_its_setting() -> None:
    assert configured({}) is None
    assert configured({"M31A_PROVIDER": " "}) is None
    assert configured({"M31A_PROVIDER": "openai:m"}) == "openai:m"


def test_doctor_sees_what_is_set_and_what_is_missing() -> None:
    assert not describe({})[0].ready
    assert "M31A_PROVIDER" in describe({})[0].detail
    assert not describe({"M31A_PROVIDER": "openai:m"})[0].ready
    ready = describe({"M31A_PROVIDER": "openai:m", **LOCAL, "OPENAI_API_KEY": "sk-secret"})[0]
    assert ready.ready
    assert ready.detail == LOCAL["OPENAI_BASE_URL"]
    assert describe({"M31A_PROVIDER": "scripted:f"})[0].ready


def test_loading_a_provider_loads_no_client_library() -> None:
    program = (
        "import sys; from runtime import providers;"
        "providers.load('openai:m', env={'OPENAI_API_KEY': 'k'});"
        "print([name for name in ('openai', 'pydantic_ai', 'httpx2', 'anthropic')"
        " if name in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30
    )
    assert shown.stdout.strip() == "[]"


def test_no_part_of_the_product_loads_a_client_library_before_a_model_is_asked() -> None:
    program = (
        "import sys, django; django.setup();"
        "import m31a_site.console, runtime.cli.main, runtime.agent.driver, runtime.worker.entry;"
        "import m31a_site.asgi;"
        "from runtime import providers; providers.describe({'M31A_PROVIDER': 'openai:m'});"
        "print([name for name in ('openai', 'pydantic_ai', 'httpx2', 'anthropic', 'genai_prices')"
        " if name in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=50
    )
    assert shown.stdout.strip() == "[]"
