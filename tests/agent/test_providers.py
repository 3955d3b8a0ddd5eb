"""Failures of a provider end the run with their name, and keep what was done."""

from __future__ import annotations

import json
import socket

import pytest

from runtime import runs
from runtime.core.errors import BadInput
from runtime.models import Delta
from runtime.providers import script
from runtime.providers.scripted_server import ScriptedServer
from runtime.runs import replay
from runtime.workspaces import sample
from tests.agent.scenes import Meanwhile, answer, seen, tool, tree
from tests.kit import EDIT, FINISH, VERIFY, Told, play, workspace


def lines(*steps: dict) -> bytes:  # type: ignore[type-arg]
    return "".join(json.dumps(step) + "\n" for step in steps).encode()


@pytest.fixture
def model(monkeypatch):
    """Serves a script over HTTP, and points the product to it."""
    servers = []

    def serve(data: bytes, **more):
        server = ScriptedServer(data, pause=0.0, **more)
        servers.append(server)
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        return server

    yield serve
    for server in servers:
        server.close()


def ask(by, workspace="work", **more) -> Told:
    """A run whose model is behind OPENAI_BASE_URL."""
    wish = runs.Submission(
        workspace=workspace,
        objective=more.pop("objective", "Do it."),
        by=by,
        provider="openai:test",
        **more,
    )
    return Told(runs.submit(wish).run)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("503: service unavailable", "overload"),
        ("401: wrong key", "auth"),
        ("429: slow down", "rate_limit"),
        ("timeout", "timeout"),
        ("something odd", "malformed"),
        ("unreachable: no route", "unreachable"),
    ],
)
def test_a_failure_of_the_provider_ends_the_run_under_its_name(cast, error, kind):
    workspace(cast.alice)
    told = play(cast.alice, [{"error": error}])
    assert (told.state, told.reason) == ("failed", f"provider_{kind}")
    assert error in told.last("task.failed")["detail"]
    assert replay.check(told.run.pk) == ""


def test_K4_a_failure_after_a_verified_edit_keeps_the_edit_and_can_be_retried(cast, model):
    workspace(cast.alice)
    server = model(lines(EDIT, VERIFY, {"error": "503: busy"}))
    told = ask(cast.alice).work()
    assert (told.state, told.reason) == ("failed", "provider_overload")
    assert (tree(told) / "notes.txt").read_text() == "changed\n"
    server.lines = script.parse(lines(EDIT, VERIFY, FINISH))
    runs.retry(told.run.pk, cast.alice)
    told.work()
    assert told.state == "succeeded", told.reason
    assert "finish.refused" not in told.types, "the verification still counts"
    assert "worktree.restored" not in told.types, "no lease was lost"
    assert told.last("delivery.completed")["files"] == 1
    assert [event.attempt for event in told.events if event.type == "task.claimed"] == [1, 2]
    assert replay.check(told.run.pk) == ""


def test_what_was_said_before_a_failure_is_kept_as_cut(cast, model):
    workspace(cast.alice)
    model(lines({"say": "I will now ", "error": "cut"}))
    told = ask(cast.alice).work()
    assert told.state == "failed" and told.reason.startswith("provider_")
    assert told.last("message.cut")["text"] == "I will now "
    assert not Delta.objects.filter(run=told.run.pk).exists()


def test_an_unreachable_server_is_named(cast, monkeypatch):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        # Bound, so that nobody else gets it, and nobody listens there.
        port = probe.getsockname()[1]
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{port}/v1")
        workspace(cast.alice)
        told = ask(cast.alice).work()
    assert (told.state, told.reason) == ("failed", "provider_unreachable")


def test_no_provider_is_bad_input_that_names_the_setting(cast, monkeypatch):
    for name in ("M31A_PROVIDER", "OPENAI_BASE_URL", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    workspace(cast.alice)
    wish = runs.Submission(workspace="work", objective="x", by=cast.alice)
    with pytest.raises(BadInput) as refused:
        runs.submit(wish)
    assert "M31A_PROVIDER" in str(refused.value) and refused.value.field == "provider"


@pytest.mark.thorough
def test_the_demo_passes_through_an_openai_server(cast, model, tmp_path):
    root = sample.make(tmp_path / "sample")
    workspace(cast.alice, root, verify=(sample.VERIFY,))
    server = model(sample.sample_script())
    told = ask(cast.alice, require_edit=True, objective=sample.OBJECTIVE).work()
    assert told.state == "waiting", told.reason
    assert told.pending.action_kind == "git_push"
    answer(told, cast.bob)
    told.work()
    assert told.state == "succeeded", told.reason
    assert told.types.count("finish.refused") == 1
    assert told.types.count("delivery.completed") == 1
    assert told.last("message.completed")["model"] != ""
    told.run.refresh_from_db()
    assert told.run.steps == len(server.exchanges) == 7
    first = server.exchanges[0].body["messages"]
    assert sample.OBJECTIVE in str(first)
    assert replay.check(told.run.pk) == ""


def test_a_cancel_hangs_up_on_the_server(cast, model):
    workspace(cast.alice)
    server = model(lines({**FINISH, "delay_ms": 30_000}))
    told = ask(cast.alice)
    with Meanwhile(told, "task.claimed", lambda: runs.cancel(told.run.pk, cast.alice)):
        told.work()
    assert told.state == "cancelled"
    assert not server.exchanges or server.exchanges[0].hung_up.wait(20)


def test_an_answer_without_an_action_is_refused_and_the_model_is_told(cast, model):
    workspace(cast.alice)
    model(lines({"kind": "dance", "say": "La la."}, tool("true"), FINISH))
    told = ask(cast.alice).work()
    assert told.state == "succeeded"
    assert told.types.count("answer.refused") == 1
    assert "kind" in seen(told)[0] or "tag" in seen(told)[0]
