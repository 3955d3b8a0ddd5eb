"""The command line loads only what it calls; its table must name every command."""

from __future__ import annotations

import argparse
from importlib import import_module

import pytest

from runtime.cli import main


@pytest.mark.parametrize("name", main.GROUPS)
def test_the_table_names_the_commands_of_each_module(name: str) -> None:
    commands = argparse.ArgumentParser().add_subparsers()
    import_module(f"runtime.cli.{name}").add(commands)
    assert set(commands.choices) == set(main.GROUPS[name].split())
