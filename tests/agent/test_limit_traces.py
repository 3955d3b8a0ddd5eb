"""A limit that ended a command is named to the model, in the trace and on the run's page."""

from __future__ import annotations

import pytest

from runtime.core.errors import BadInput
from runtime.core.ids import SYSTEM_RUN
from runtime.journal.read import every
from runtime.models import Trace
from runtime.present.events.action import outcome
from runtime.runs import replay
from tests.agent.scenes import seen, shell
from tests.kit import FINISH, play, workspace

MIB = 1 << 20
LIMITS = {
    "memory_bytes": 64 * MIB,
    "file_bytes": 8 * MIB,
    "written_bytes": 48 * MIB,
    "cpu_seconds": 1,
    "total_output_bytes": 4 * MIB,
}
HOLD = "(head -c 40000000 /dev/zero; sleep 5) | tail"
BITE = {
    "memory_bytes": f"{HOLD} & {HOLD} & {HOLD} & wait",
    "file_bytes": "head -c 9000000 /dev/zero > big",
    "written_bytes": "while :; do head -c 4000000 /dev/zero > again; done",
    "cpu_seconds": "while :; do :; done",
    "total_output_bytes": "head -c 900000000 /dev/zero",
}


@pytest.mark.thorough
def test_every_limit_of_a_workspace_bites_and_its_trace_names_it(cast, client):
    workspace(cast.alice, limits=LIMITS)
    steps = [shell(script) for script in BITE.values()]
    told = play(cast.alice, [*steps, shell("sleep 9", timeout=1), FINISH], mode="autonomous")
    traces = list(Trace.objects.filter(run=told.run.pk).order_by("seq"))
    assert [trace.limit for trace in traces] == [*BITE, None]
    assert traces[-1].timed_out
    for name, text in zip(BITE, seen(told), strict=False):
        assert f"[ended at the limit {name}]" in text
    assert replay.check(told.run.pk) == ""
    client.force_login(cast.alice)
    page = client.get(f"/runs/{told.run.pk}/?tab=traces").content.decode()
    for name in BITE:
        assert f"Ended at the limit {name.replace('_', ' ')}" in page
    assert "Timed out" in page


@pytest.mark.parametrize("name", ["processes", "open_files", "memory_bytes"])
def test_a_limit_that_a_command_ran_into_by_itself_stands_beside_its_status(name):
    words = outcome({"status": 3, "limit": name})
    assert words == f"Exit 3, at the limit {name.replace('_', ' ')}"
    assert outcome({"status": 3, "limit": None}) == outcome({"status": 3}) == "Exit 3"


def test_limits_of_a_workspace_are_on_record_and_checked(cast):
    workspace(cast.alice, limits=LIMITS)
    registered = [row.payload for row in every(SYSTEM_RUN) if row.type == "workspace.registered"]
    assert registered[-1]["limits"] == LIMITS
    for wrong in ({"memory": 1}, {"memory_bytes": 0}):
        with pytest.raises(BadInput):
            workspace(cast.alice, name="other", limits=wrong)
