"""Where nothing can confine: one clear diagnosis, nothing executed, no loop of failing steps."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.worker import doctor
from tests.agent.scenes import tool
from tests.kit import FINISH, play, workspace

SAID = "bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted"


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
