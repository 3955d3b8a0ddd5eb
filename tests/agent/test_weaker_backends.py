"""Runs whose commands are confined by less than bubblewrap, because somebody accepted that."""

from __future__ import annotations

import pytest

from runtime.approvals import card
from runtime.core.errors import BadInput
from runtime.core.ids import SYSTEM_RUN
from runtime.journal.read import every
from runtime.sandbox import bubblewrap, landlock
from tests.agent.scenes import seen, shell, tool
from tests.kit import EDIT, FINISH, VERIFY, play, workspace

needs_landlock = pytest.mark.skipif(
    landlock.version() < landlock.OLDEST, reason="this kernel has no Landlock of version 6"
)
STEPS = [
    EDIT,
    tool("git", "status", "--short"),
    shell("echo more >> notes.txt"),
    VERIFY,
    FINISH,
]


def backends(told):
    return {p["trace"]["sandbox"]["backend"] for p in told.of("action.completed") if "trace" in p}


@needs_landlock
def test_a_run_under_landlock_is_edited_verified_and_delivered(cast, monkeypatch):
    monkeypatch.setenv("M31A_SANDBOX", "landlock")
    workspace(cast.alice, verify=("grep -q more notes.txt",))
    told = play(cast.alice, STEPS)
    assert told.state == "succeeded", told.reason
    assert backends(told) == {"landlock"}
    assert "M notes.txt" in "".join(seen(told))


@needs_landlock
def test_without_bubblewrap_a_run_needs_the_acceptance_of_its_workspace(cast, monkeypatch):
    monkeypatch.setattr(bubblewrap, "_SYSTEM", ())
    monkeypatch.setattr(bubblewrap, "_packaged", lambda: None)
    workspace(cast.alice, name="accepting", sandbox="landlock")
    assert backends(play(cast.alice, [tool("true"), FINISH], "accepting")) == {"landlock"}
    with pytest.raises(Exception, match="--sandbox landlock") as error:
        workspace(cast.alice, name="strict")
    assert "bubblewrap was not found" in str(error.value)


def test_no_walls_only_where_the_workspace_says_so_and_it_is_on_record(cast):
    made = workspace(cast.alice, name="open", sandbox="none")
    assert made.sandbox == "none"
    registered = [row.payload for row in every(SYSTEM_RUN) if row.type == "workspace.registered"]
    assert registered[-1]["sandbox"] == "none"
    assert backends(play(cast.alice, [tool("true"), FINISH], "open")) == {"none"}
    workspace(cast.alice, name="usual")
    registered = [row.payload for row in every(SYSTEM_RUN) if row.type == "workspace.registered"]
    assert "sandbox" not in registered[-1]


def test_without_any_backend_only_a_workspace_without_walls_works(cast, monkeypatch):
    workspace(cast.alice, name="usual")
    monkeypatch.setattr(bubblewrap, "_SYSTEM", ())
    monkeypatch.setattr(bubblewrap, "_packaged", lambda: None)
    monkeypatch.setattr(landlock, "version", lambda: 0)
    workspace(cast.alice, name="open", sandbox="none")
    assert backends(play(cast.alice, [tool("true"), FINISH], "open")) == {"none"}
    told = play(cast.alice, [tool("true"), FINISH], "usual")
    assert (told.state, told.reason) == ("failed", "unavailable")
    assert backends(told) == set()


@pytest.mark.thorough
def test_a_card_says_that_there_are_no_walls_and_how_long_a_job_may_live(cast, client):
    client.force_login(cast.bob)
    start = {"kind": "start_job", "program": "touch", "args": ["y"]}
    for name, sandbox, said in (
        ("open", "none", "executed without any walls; may write below /"),
        ("usual", "", "executed in the cage; may write below "),
    ):
        workspace(cast.alice, name=name, sandbox=sandbox)
        for step, seconds in ((tool("touch", "x"), 120), (start, 600)):
            told = play(cast.alice, [step, FINISH], name, mode="safe")
            assert said in client.get(f"/approvals/{told.pending.pk}/").content.decode()
            assert card(told.pending)["sandbox"]["seconds"] == seconds
        told = play(cast.alice, [EDIT, FINISH], name, mode="safe")
        assert card(told.pending)["sandbox"]["where"] == "in the cage", "an edit is no command"


def test_another_word_is_refused(cast):
    with pytest.raises(BadInput, match="jail") as error:
        workspace(cast.alice, sandbox="jail")
    assert error.value.field == "sandbox"
