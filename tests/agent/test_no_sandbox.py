"""Where nothing can confine: one clear diagnosis, nothing executed, no loop of failing steps; told
once in the journal and in red on the page, until it is mended."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from runtime.core.ids import SYSTEM_RUN
from runtime.journal.read import every
from runtime.models import User, Worker
from runtime.runs import confining
from runtime.sandbox import bubblewrap
from runtime.worker import collector, doctor, reconcile
from tests.agent.scenes import tool
from tests.kit import FINISH, Told, play, workspace

SAID = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"


def fake(folder: Path, text: str) -> str:
    """A program that says that it is bubblewrap, and does something else."""
    folder.chmod(0o755)
    path = folder / "bwrap"
    path.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && {{ echo bubblewrap 0.11.0; exit; }}\n{text}\n'
    )
    os.chmod(path, 0o755)
    return str(path)


def told_of_it() -> list[tuple[str, dict[str, Any]]]:
    """What the system chain says of the sandbox: the last part of each type, and its payload."""
    rows = [row for row in every(SYSTEM_RUN) if row.type.startswith("sandbox.")]
    return [(row.type.removeprefix("sandbox."), row.payload) for row in rows]


def shown(by: User, *, part: bool = True) -> str:
    """The System page, or the part of it that renews itself."""
    client = Client(headers={"hx-request": "true"} if part else {})
    client.force_login(by)
    return client.get("/system/").text


def executed(told: Told) -> list[str]:
    """Events that say that a command began."""
    return [one for one in told.types if one in ("action.started", "action.completed")]


def hide(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """No bubblewrap is found anywhere. Landlock may work here, which runs do not take unasked."""
    monkeypatch.setattr(bubblewrap, "_SYSTEM", ())
    monkeypatch.setattr(bubblewrap, "_packaged", lambda: None)


def name_none(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """The settings name one that is not there."""
    monkeypatch.setenv("M31A_BWRAP", str(folder / "gone"))


def exit_1(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """It is there, and ends with 1."""
    monkeypatch.setenv("M31A_BWRAP", fake(folder, "exit 1"))


BROKEN = [hide, *(pytest.param(one, marks=pytest.mark.thorough) for one in (exit_1, name_none))]


@pytest.mark.parametrize("broken", BROKEN)
def test_F33_nothing_runs_the_journal_says_so_once_and_the_page_is_red_until_it_is_mended(
    cast, monkeypatch, tmp_path, broken
):
    workspace(cast.alice)
    steps = [tool("true"), tool("true"), FINISH]
    with monkeypatch.context() as patch:
        broken(patch, tmp_path)
        runs = [play(cast.alice, steps) for _ in range(2)]
        assert [(run.state, run.reason) for run in runs] == [("failed", "unavailable")] * 2
        assert [executed(run) for run in runs] == [[], []]
        [(kind, said)] = told_of_it()
        assert kind == "unavailable" and "bubblewrap" in said["backends"]
        assert said["detail"] and said["remedy"]
        page = shown(cast.alice)
        notice = page[page.index('<div class="notice error"') :].partition("</div></div>")[0]
        assert "The sandbox is unavailable" in notice and "<time" in notice
        assert said["remedy"][:12] in notice
    assert play(cast.alice, steps).state == "succeeded"
    assert [kind for kind, _ in told_of_it()] == ["unavailable", "available"]
    assert "notice error" not in shown(cast.alice)


def test_F33_a_bubblewrap_that_breaks_under_its_old_name_and_date_is_told_as_well(
    cast, monkeypatch, tmp_path
):
    workspace(cast.alice)
    path = fake(tmp_path, f'exec {bubblewrap.find().path} "$@"')
    monkeypatch.setenv("M31A_BWRAP", path)
    confining.look("worker")
    assert told_of_it() == []
    dated = os.stat(path).st_mtime_ns
    fake(tmp_path, "exit 1")
    os.utime(path, ns=(dated, dated))
    told = play(cast.alice, [tool("true"), FINISH])
    assert (told.state, executed(told)) == ("failed", [])
    assert [kind for kind, _ in told_of_it()] == ["unavailable"]


def test_the_reconciler_tells_before_any_run_needs_it_and_when_the_remedy_changes(
    cast, monkeypatch, tmp_path
):
    passes = collector.Collector()
    for text in ("exit 1", "exit 1", f"echo '{SAID}' >&2; exit 1"):
        monkeypatch.setenv("M31A_BWRAP", fake(tmp_path, text))
        reconcile._pass(passes)
    first, second = told_of_it()
    assert first[0] == second[0] == "unavailable"
    assert "AppArmor" not in first[1]["remedy"] and "AppArmor" in second[1]["remedy"]
    [trouble] = confining.troubles()
    [began, _] = [row.at for row in every(SYSTEM_RUN) if row.type == "sandbox.unavailable"]
    assert (trouble.since, trouble.remedy) == (began, second[1]["remedy"])
    monkeypatch.delenv("M31A_BWRAP")
    reconcile._pass(passes)
    assert told_of_it()[-1][0] == "available" and confining.troubles() == []


def test_another_machine_counts_while_it_has_workers(cast, monkeypatch, tmp_path):
    monkeypatch.setenv("M31A_BWRAP", fake(tmp_path, "exit 1"))
    monkeypatch.setattr(confining.socket, "gethostname", lambda: "elsewhere")
    confining.look("worker")
    monkeypatch.undo()
    confining.review("reconciler")
    assert [kind for kind, _ in told_of_it()] == ["unavailable"], "one machine mends no other"
    assert confining.troubles() == []
    now = "2026-01-02T03:04:05Z"
    Worker.objects.create(
        incarnation="elsewhere/b/1/1/x", host="elsewhere", pid=1, started_at=now, seen_at=now
    )
    assert [one.host for one in confining.troubles()] == ["elsewhere"]
    assert "elsewhere" in shown(cast.alice)


def test_F35_a_launcher_that_cannot_start_ends_the_run_with_one_diagnosis(
    cast, monkeypatch, tmp_path
):
    workspace(cast.alice)
    tmp_path.chmod(0o755)
    path = Path(tmp_path, "bwrap")
    path.write_text(
        f'#!/bin/sh\n[ "$1" = --version ] && {{ echo bubblewrap 0.11.0; exit; }}\n'
        f"echo '{SAID}' >&2; exit 1\n"
    )
    os.chmod(path, 0o755)
    monkeypatch.setenv("M31A_BWRAP", str(path))
    told = play(cast.alice, [tool("true")] * 5 + [FINISH])
    assert (told.state, told.types.count("task.failed")) == ("failed", 1)
    assert told.types.count("action.proposed") <= 1 and not told.of("action.completed")
    failed = str(told.last("task.failed"))
    assert SAID.removeprefix("bwrap: ") in failed and "bwrap-userns-restrict" in failed
    row = doctor._sandbox()
    assert row.level == "FAULT" and "bwrap-userns-restrict" in row.remedy


def test_doctor_says_what_bounds_memory_and_processes(monkeypatch, tmp_path):
    row = doctor._groups()
    assert row.ok or "Delegate=yes" in row.remedy
    monkeypatch.setenv("M31A_CGROUP", str(tmp_path))
    row = doctor._groups()
    assert row.level == "WARN" and str(tmp_path) in row.detail and row.remedy
    assert doctor._surroundings().detail.endswith(".")
