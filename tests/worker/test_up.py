"""One command starts everything, and one signal ends it."""

from __future__ import annotations

import signal

import psutil
import pytest

from tests.clock import best_of_three, under
from tests.worker.installation import Installation, alive, until

STARTS, STOPS = 5.0, 5.0
"""Seconds that a later start and a stop may take, on a machine that does nothing else."""


def test_a_later_start_serves_soon_and_ctrl_c_leaves_no_process(installation: Installation) -> None:
    installation.start()
    made = installation.json("user", "add", "alice", "--role", "submitter")
    assert made["link"].startswith(f"{installation.url}/login/"), "where it is served, by any port"
    installation.stop()
    serves_and_stops(installation)


@best_of_three
def serves_and_stops(installation: Installation) -> None:
    floor = installation.floor()
    took = installation.start()
    assert installation.healthy()
    before = installation.processes()
    assert {"up", "web", "cluster", "reconcile"} <= installation.commands()
    code, seconds = installation.stop()
    assert code == 0
    until(lambda: not alive(before))
    assert not (installation.folder / "children.json").exists()
    under(took, max(STARTS, 4 * floor))
    under(seconds, STOPS)


@pytest.mark.thorough
def test_a_killed_supervisor_leaves_no_child(installation: Installation) -> None:
    installation.start()
    before = until(lambda: len(found := installation.processes()) > 7 and found)
    installation.stop(signal.SIGKILL)
    until(lambda: not alive(before))
    # Nothing stands in the way of the next one.
    installation.start()
    assert installation.healthy()


@pytest.mark.thorough
def test_a_child_that_dies_is_started_again_and_takes_its_own_with_it(
    installation: Installation,
) -> None:
    installation.start()
    cluster = installation.child("cluster")
    below = until(lambda: len(found := cluster.children(recursive=True)) > 4 and found)
    family = [cluster, *below]
    cluster.kill()
    until(lambda: not alive(family))
    again = until(lambda: _other(installation, "cluster", cluster.pid))
    assert again.pid != cluster.pid
    web = installation.child("web")
    web.kill()
    until(lambda: _other(installation, "web", web.pid))
    # The port was open all the time: a request only waits.
    assert installation.healthy(60)
    assert "started again" in installation.log.read_text()


def _other(installation: Installation, name: str, pid: int) -> psutil.Process | None:
    try:
        found = installation.child(name)
    except (AssertionError, psutil.NoSuchProcess):
        return None
    return found if found.pid != pid and found.status() != psutil.STATUS_ZOMBIE else None


@pytest.mark.thorough
def test_children_and_other_accounts_see_only_what_they_are_meant_to_see_and_sigterm_ends_all(
    installation: Installation,
) -> None:
    installation.env |= {
        "OPENAI_API_KEY": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
        "PYTHONSTARTUP": "/nowhere",
    }
    installation.start()
    for name in ("web", "cluster", "reconcile"):
        seen = set(installation.child(name).environ())
        assert seen <= {
            "PATH",
            "HOME",
            "LANG",
            "TZ",
            "OPENAI_API_KEY",
            "DJANGO_SETTINGS_MODULE",
        } | {variable for variable in seen if variable.startswith("M31A_")}
        assert "OPENAI_API_KEY" in seen
    modes = {
        path.name: path.stat().st_mode & 0o777
        for path in (
            installation.folder,
            installation.folder / "keys" / "secret",
            installation.folder / "hints",
        )
    }
    assert modes == {"d": 0o700, "secret": 0o600, "hints": 0o700}
    ends_all(installation)


@best_of_three
def ends_all(installation: Installation) -> None:
    if installation.process is None:
        installation.start()
    before = installation.processes()
    code, seconds = installation.stop(signal.SIGTERM)
    installation.process = None
    assert code == 0
    until(lambda: not alive(before))
    under(seconds, STOPS)
