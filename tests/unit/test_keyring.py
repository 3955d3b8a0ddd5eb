"""Keys come from a file that nobody else can read, and never show."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.core.errors import BadInput
from runtime.secrets import Redactor, stored_keys

KEY = "sk-made-up-0123456789"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "providers.toml"
    path.write_text(f'OPENAI_API_KEY = "{KEY}"\nMY_TOKEN = "t"\n')
    path.chmod(0o600)
    return path


def read(path: Path) -> dict[str, str]:
    return stored_keys({"M31A_KEYS_FILE": str(path)})


def test_keys_are_read_by_name(file: Path) -> None:
    assert read(file) == {"OPENAI_API_KEY": KEY, "MY_TOKEN": "t"}


def test_file_that_is_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="is not there"):
        read(tmp_path / "none.toml")


def test_file_of_the_data_folder_may_be_missing() -> None:
    assert stored_keys({}) == {}


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601, 0o777])
def test_F55_file_that_others_may_read_is_refused_with_the_remedy(file: Path, mode: int) -> None:
    file.chmod(mode)
    with pytest.raises(BadInput, match="chmod 600") as refusal:
        read(file)
    assert KEY not in str(refusal.value)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_F55_file_of_another_account_is_refused(file: Path) -> None:
    os.chown(file, 12345, 12345)
    with pytest.raises(BadInput, match="12345"):
        read(file)


def test_F55_link_folder_and_pipe_are_no_file_of_keys(file: Path, tmp_path: Path) -> None:
    link, pipe = tmp_path / "link", tmp_path / "pipe"
    link.symlink_to(file)
    os.mkfifo(pipe, 0o600)
    for path in (link, pipe, tmp_path):
        with pytest.raises(BadInput):
            read(path)


@pytest.mark.parametrize(
    "text",
    [
        f"OPENAI_API_KEY = {KEY}",
        f'OPENAI_API_KEY = ["{KEY}"]',
        f'[keys]\nOPENAI_API_KEY = "{KEY}"',
        f'path = "{KEY}"',
        f'OPENAI_API_KEY = "{KEY}"\n' + "# more\n" * 20_000,
        f'OPENAI_API_KEY = "{KEY}\udcff"',
    ],
)
def test_F55_file_that_is_no_list_of_keys_is_refused_without_showing_one(
    file: Path, text: str
) -> None:
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput) as refusal:
        read(file)
    assert KEY not in str(refusal.value)
    assert refusal.value.__cause__ is None


def test_redactor_learns_keys_that_were_read_later() -> None:
    redactor = Redactor({"old": "an-older-secret"})
    redactor.learn({"OPENAI_API_KEY": "quite-plain-value", "SHORT": "abc"})
    shown = redactor.text("an-older-secret quite-plain-value abc")
    assert shown == "[redacted:old] [redacted:OPENAI_API_KEY] abc"
