"""A run goes through one gate, by whatever entrance it came."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from django.test import Client

from runtime.cli import main as cli
from runtime.models import Run, User
from runtime.providers.scripted_server import ScriptedServer
from tests.kit import FINISH, Told, repository, workspace

SECRET = {"kind": "read_file", "path": ".env"}


def by_browser(user: User, model: str) -> None:
    """The form of a new run."""
    browser = Client()
    browser.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
    wish = {"workspace": "work", "objective": "Read it.", "provider": model, "mode": "autonomous"}
    made = browser.post("/runs/new", {**wish, "max_steps": "9", "max_attempts": "1"})
    assert made.status_code == 302


def by_command(user: User, model: str) -> None:
    """`m31a submit`."""
    words = ["submit", "--workspace", "work", "--objective", "Read it.", "--provider", model]
    assert cli.run([*words, "--mode", "autonomous"], user.username, True) == 0


@pytest.mark.thorough
@pytest.mark.parametrize("enter", [by_browser, by_command])
def test_F21_an_escalated_action_waits_for_a_person_by_every_entrance(
    enter: Callable[[User, str], None], cast, monkeypatch, capsys
):
    workspace(cast.alice, repository({"notes.txt": "x\n", ".env": "TOKEN=a-canary\n"}))
    lines = "".join(json.dumps(step) + "\n" for step in (SECRET, FINISH)).encode()
    with ScriptedServer(lines, pause=0.0) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        enter(cast.alice, "openai:test")
        told = Told(Run.objects.exclude(pk="system").get()).work()
    asked = told.pending
    assert (asked.decision, asked.action_kind, told.state) == ("ESCALATE", "read_file", "waiting")
    assert "action.started" not in told.types
    assert not any("a-canary" in str(event.payload) for event in told.events)
    capsys.readouterr()
    assert cli.run(["approvals"], cast.sol.username, True) == 0
    (listed,) = json.loads(capsys.readouterr().out)["approvals"]
    assert (listed["id"], listed["run"], listed["state"]) == (asked.pk, told.run.pk, "pending")
