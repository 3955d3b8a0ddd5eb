"""Each step by which a session is made, and each look after a command, is needed: without it, a
probe of the battery gets through, or a command finds what another one left."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import battery
import pytest
import sessions
import weakening
from cage_making import Hall, alive, tag
from ground import Ground

from runtime.core.commands import Exec, Shell
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage, OneShot

pytestmark = pytest.mark.thorough
Change = tuple[str, str, str]


def without(step: str, indent: int = 4) -> Change:
    """Leave a line out."""
    return ("inner", f"{' ' * indent}{step}\n", "")


def not_joined(name: str) -> Change:
    """Stay in one of the broker's namespaces."""
    step = "_join(name, there[name], kind)"
    return ("inner", f"        {step}\n", f"        if name != '{name}': {step}\n")


# Without these, what others use too would end a session.
UNSEEN: Change = ("inner", " and traces.none()", "")
IN_USE: Change = ("traces", 'while self._living_sockets() != b"sockets: used 0"', "while False")
PROBES: list[tuple[str, tuple[Change, ...], str]] = [
    (
        "no filter",
        (without("privileges.install(privileges.Filter(filter_text))"),),
        "W14 P23 P24 P27",
    ),
    ("no limits", (without("resource.setrlimit(which, (value, value))", 8),), "W20"),
    ("the machine's network", (not_joined("net"), IN_USE, UNSEEN), "N01 N02"),
    ("the machine's queues", (not_joined("ipc"), UNSEEN), "P41"),
]


@pytest.mark.parametrize(("changes", "probes"), [(c, p) for _, c, p in PROBES],
                         ids=[name for name, _, _ in PROBES])  # fmt: skip
def test_a_step_that_is_left_out_is_noticed_by_a_probe(
    ground: Ground, tmp_path: Path, changes: tuple[Change, ...], probes: str
) -> None:
    tmp_path.chmod(0o755)
    with (
        sessions.altered(tmp_path, *changes),
        OneShot(ground.ws, limits=battery.BOUNDS) as shot,
    ):
        failed, _ = battery.run(ground, sessions.Kept(shot), "kept", probes.split())
    assert set(failed) == set(probes.split()), failed


def says(hall: Hall, script: str) -> str:
    """What a script says in a session."""
    return sessions.Kept(hall.cage).run(by_operator(Shell(script), "test")).text()


def bounding(hall: Hall) -> bool:
    return "CapBnd:\t0000000000000000" not in says(hall, "grep CapBnd /proc/self/status")


def memory(hall: Hall) -> bool:
    return (
        says(hall, "head -c 1 /proc/1/environ && echo read; exec 3<>/proc/1/mem && echo open") != ""
    )


def words(hall: Hall) -> bool:
    return "broker.py" in says(hall, "tr '\\0' ' ' < /proc/1/cmdline")


def others(hall: Hall) -> bool:
    return "m31a-cage" in says(hall, "cat /proc/1/cmdline")


def interrupted(hall: Hall) -> bool:
    cage = sessions.Kept(hall.cage)
    return bool(cage.run(by_operator(Shell("kill -INT 1; sleep 0.2"), "test")).failure)


def outlived(hall: Hall) -> bool:
    mark = tag()
    says(hall, f"setsid sleep {mark} & exit")
    return alive(mark) != []


def left(hall: Hall) -> bool:
    says(hall, "echo x > /tmp/left")
    return "left" in says(hall, "ls /tmp")


def limited(hall: Hall) -> bool:
    says(hall, "prlimit --pid 1 --nofile=50:50")
    return says(hall, "ulimit -n") == "50\n"


def idle(hall: Hall) -> bool:
    says(hall, "ionice -c 3 -p 1")
    return says(hall, "ionice") == "idle\n"


def crowded(hall: Hall) -> bool:
    sessions.stands(hall.cage)
    before = sessions.place(hall.cage)
    with sessions.held(hall) as found:
        beside = hall.sh("true")
    assert sessions.is_kept(found[0]) and not sessions.is_kept(beside)
    return sessions.place(hall.cage) == before


def unled(hall: Hall) -> bool:
    return says(hall, "ps -o sid= -p $$").strip() != "1"


STEPS: list[tuple[str, Change, Callable[[Hall], bool]]] = [
    ("capabilities that could come back", without("privileges.surrender()"), bounding),
    ("memory that can be looked into", ("inner", "_DUMPABLE, 0)", "_DUMPABLE, 1)"), memory),
    ("a command line that tells", without("ctypes.memset(words[0], 0, words[1])"), words),
    ("bubblewrap's own /proc", without('privileges.mount(b"proc", b"/proc", b"proc", hidden)'), others),
    (
        "a handler that a signal reaches",
        without("signal.signal(signal.SIGINT, signal.SIG_DFL)  # what has no handler does not reach us"),
        interrupted,
    ),
    ("nobody asks who is left", ("inner", "_nobody_left() and ", ""), outlived),
    ("nobody looks for traces", ("inner", " and traces.none()", ""), left),
    (
        "nobody looks at limits",
        ("traces", "            *map(resource.getrlimit, range(_LIMITS)),\n", ""),
        limited,
    ),
    (
        "nobody looks at the priority for the disk",
        ("traces", "            libc.syscall(self.io_priority, 1, 0),\n", ""),
        idle,
    ),
    ("nobody asks who ran beside", ("session", "clean and not self.crowded and", "clean and"), crowded),
    (
        "the first process leads no session",
        without(
            "os.setsid()  # whose members commands are, as they are of bubblewrap's: they may make their own"
        ),
        unled,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("change", "noticed"), [(c, n) for _, c, n in STEPS],
                         ids=[name for name, _, _ in STEPS])  # fmt: skip
def test_a_step_that_is_left_out_is_noticed(
    tmp_path: Path, change: Change, noticed: Callable[[Hall], bool]
) -> None:
    tmp_path.chmod(0o755)
    whole = Hall()
    try:
        assert not noticed(whole)
    finally:
        whole.close()
    weak = Hall()
    try:
        with sessions.altered(tmp_path, change):
            assert noticed(weak)
    finally:
        weak.close()


def test_where_commands_could_write_unseen_no_session_is_made(hall: Hall) -> None:
    more = weakening.words(lambda said: [*said[:-2], "--tmpfs", "/mnt", *said[-2:]])
    with weakening.Weakened(hall.spec(), more, ()) as cell, pytest.raises(AssertionError):
        sessions.stands(cell, 1.0)
    with Cage(hall.spec()) as cage:
        sessions.stands(cage)
        assert cage.run(by_operator(Exec("true"), "test")).ok
