"""Each wall is needed: with one taken away, a probe of the battery gets through.

Whoever changes the profile keeps this table. What no probe notices has a test of its own below.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import battery
import pytest
import weakening
from cage_making import Hall, alive, until
from ground import Ground
from weakening import chain, instead, unfiltered, without, words

from runtime.core.commands import Exec, Shell
from runtime.policy.authorised import Authorised, by_operator
from runtime.sandbox import OneShot, Result, end_leftovers, landlock, processes
from runtime.sandbox.layout import Cover
from tests.clock import begun, best_of_three, in_its_grace

pytestmark = pytest.mark.thorough

HERE = os.path.dirname(os.path.abspath(__file__))
NET = ("--unshare-net",)
CAPABLE = chain(
    instead(("--cap-drop", "ALL"), ("--cap-add", "ALL")), without("--disable-userns"),
    without("--uid", "1000"), without("--gid", "1000"),
)  # fmt: skip

WEAKENINGS: list[tuple[str, weakening.Change, str]] = [
    ("the machine's network", words(without(*NET)), "F20 N01 N02 N04"),
    ("the machine's tree", words(weakening.whole_host), "F02 F03 F04 F05 F06 F12 F29 N05"),
    (
        "the machine's processes",
        words(chain(without("--unshare-pid"), instead(("--proc", "/proc"), ("--ro-bind", "/proc", "/proc")))),
        "P01 P15 P30",
    ),
    ("no filter", unfiltered, "W14 P23 P24 P27"),
    ("a writable root", words(without("--remount-ro", "/")), "W07 W21"),
    ("a writable /dev", words(without("--remount-ro", "/dev")), "W21"),
    ("memory without a bound", words(weakening.unsized), "W22"),
    ("the server's environment", weakening.environment, "F16"),
    ("the machine's queues", words(without("--unshare-ipc")), "P41"),
    ("capabilities", words(CAPABLE), "P21"),
    (
        "settings of its own namespaces",
        words(chain(CAPABLE, without("--ro-bind", "/proc/sys", "/proc/sys"))),
        "W19",
    ),
    (
        "the machine's shared memory",
        words(lambda said: [*without("--remount-ro", "/")(said), "--bind", "/dev/shm", "/dev/shm"]),
        "F15",
    ),
]  # fmt: skip


def noticed(ground: Ground, cage: battery.Runner, probes: str, backend: str = "bubblewrap") -> None:
    """Each of the probes gets through."""
    failed, _ = battery.run(ground, cage, backend, probes.split())
    assert set(failed) == set(probes.split()), failed


@pytest.mark.parametrize(("change", "probes"), [(c, p) for _, c, p in WEAKENINGS],
                         ids=[name for name, _, _ in WEAKENINGS])  # fmt: skip
def test_a_weaker_cage_is_noticed(ground: Ground, change: weakening.Change, probes: str) -> None:
    with weakening.WeakShot(ground.ws, change, limits=battery.BOUNDS) as shot:
        noticed(ground, shot, probes)


def test_descriptors_that_are_inherited_are_noticed(ground: Ground) -> None:
    change = weakening.inherits(ground)
    with weakening.WeakShot(ground.ws, change, limits=battery.BOUNDS) as shot:
        noticed(ground, shot, "F10 F11")


COVERS: list[tuple[Callable[[Cover], bool], str]] = [
    (lambda cover: cover.hide, "W08 W09 W10 W11 W12 W13"),
    (lambda cover: not cover.hide, "N06"),
]


@pytest.mark.parametrize(("keep", "probes"), COVERS, ids=["no protected .git", "no hidden sockets"])
def test_a_path_that_is_not_covered_is_noticed(
    ground: Ground, keep: Callable[[Cover], bool], probes: str
) -> None:
    with weakening.WeakShot(
        ground.ws, lambda prepared: prepared, limits=battery.BOUNDS, keep=keep
    ) as shot:
        noticed(ground, shot, probes)


def test_a_mount_at_a_place_that_a_command_can_shape_is_noticed(ground: Ground) -> None:
    """Masking paths that are not there yet, as many do: the second cage makes them, on the host."""
    masks = [
        f"{ground.ws}/{name}" for name in (".vscode/x", ".claude/commands", ".husky/pre-commit")
    ]
    masked = words(lambda said: [*said, *(w for m in masks for w in ("--ro-bind", "/dev/null", m))])

    class SecondTime:
        """Whole the first time, weakened the second."""

        def __init__(self, *shots: OneShot) -> None:
            self.shots = list(shots)

        def run(self, authorised: Authorised[Any], *, timeout: float | None = None) -> Result:
            return self.shots.pop(0).run(authorised, timeout=timeout)

    with (
        OneShot(ground.ws, limits=battery.BOUNDS) as whole,
        weakening.WeakShot(ground.ws, masked, limits=battery.BOUNDS) as weak,
    ):
        noticed(ground, SecondTime(whole, weak), "W24")


LIMITS = {"processes": (4000, "P10"), "file_bytes": (1 << 40, "W20 W38"),
          "memory_bytes": (64 << 30, "P11")}  # fmt: skip


@pytest.mark.parametrize("name", LIMITS)
def test_a_missing_bound_is_noticed(ground: Ground, name: str) -> None:
    value, probes = LIMITS[name]
    limits = replace(battery.BOUNDS, **{name: value})
    with OneShot(ground.ws, limits=limits) as shot:
        noticed(ground, shot, probes)


needs_landlock = pytest.mark.skipif(
    landlock.version() < landlock.OLDEST, reason="this kernel has no Landlock of version 6"
)
LANDLOCK = [
    ("no Landlock", weakening.no_landlock, "F02 F14 F29 W01 W04 P01"),
    ("reading everywhere", weakening.READ_ALL, "F02 F03 F06 F14 F15 F29"),
    ("writing everywhere", weakening.WRITE_ALL, "W01 W04 W33"),
    ("no filter", unfiltered, "N02 N05 N11 P15 P23 P24 P41 F28"),
]


@needs_landlock
@pytest.mark.parametrize(("change", "probes"), [(c, p) for _, c, p in LANDLOCK],
                         ids=[name for name, _, _ in LANDLOCK])  # fmt: skip
def test_weaker_rules_are_noticed(ground: Ground, change: weakening.Change, probes: str) -> None:
    with weakening.WeakShot(ground.ws, change, limits=battery.BOUNDS, backend="landlock") as shot:
        noticed(ground, shot, probes, "landlock")


# What the battery cannot notice, because something else stands behind it.


def test_user_namespaces_are_disabled_even_without_the_filter(hall: Hall) -> None:
    open_too = words(without("--disable-userns"))
    attempt = by_operator(Exec("unshare", ("-U", "true")), "test")
    with weakening.Weakened(hall.spec(), unfiltered, ()) as cell:
        assert cell.run(attempt).status != 0
    with weakening.Weakened(hall.spec(), lambda made: open_too(unfiltered(made)), ()) as cell:
        assert cell.run(attempt).status == 0


def test_a_command_has_a_session_of_its_own(hall: Hall) -> None:
    """Else it could reach the server's terminal, and its group could not be signalled."""
    ask = by_operator(Exec("python3", ("-c", "import os; print(os.getsid(0) != 0)")), "test")
    assert hall.cage.run(ask).stdout == b"True\n"
    with weakening.Weakened(hall.spec(), words(without("--new-session")), ()) as cell:
        assert cell.run(ask).stdout == b"False\n"


@pytest.mark.parametrize(
    ("binding", "guarded"),
    [(True, True), (False, True), (False, False)],
    ids=["whole", "guardian alone", "weakened"],
)
def test_commands_die_with_a_broker_that_nobody_cleans_up_after(
    binding: bool, guarded: bool
) -> None:
    """Server and broker are killed at once: the kernel's bond is left, and the guardian, since
    that bond is not there yet in the moment after the gate."""
    label, mark = f"bond-{uuid.uuid4().hex[:8]}", f"3600.{uuid.uuid4().int % 10**12}"
    script = os.path.join(HERE, "server_to_kill.py")
    repository = os.path.dirname(os.path.dirname(HERE))
    words_ = [sys.executable, script, label, mark, *([] if binding else ["unbound"])]
    server = subprocess.Popen(
        words_, env=os.environ | {"PYTHONPATH": f"{repository}:{HERE}"}, stdout=subprocess.PIPE,
        text=True, start_new_session=True,
    )  # fmt: skip
    assert server.stdout is not None
    base = ""
    try:
        base, broker = server.stdout.readline().split()
        assert until(lambda: len(alive(mark)) >= 3)
        if not guarded:
            os.kill(guardians(int(broker))[0], signal.SIGKILL)
        os.kill(server.pid, signal.SIGSTOP)  # it would clean up
        os.kill(int(broker), signal.SIGKILL)
        server.kill()
        if guarded:
            assert until(lambda: not alive(mark)), alive(mark)
        else:
            time.sleep(0.5)
            assert alive(mark)
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
        end_leftovers(label)
        until(lambda: not alive(mark))
        shutil.rmtree(base, ignore_errors=True)
    assert alive(mark) == []


def guardians(broker: int) -> list[int]:
    """The children of a broker that are forked from it, the oldest first: that is the guardian.
    What it is about to start looks like one until it has become what it is to be."""
    with open(f"/proc/{broker}/cmdline", "rb") as file:
        line = file.read()
    return [
        pid
        for pid in processes.children(broker)
        if processes.read_small(f"/proc/{pid}/cmdline") == line
    ]


@best_of_three
def test_the_shell_and_the_group_get_the_first_signal(hall: Hall) -> None:
    script = Shell("trap 'echo bye' TERM; echo set; sleep 9 & wait")
    result = hall.cage.run(by_operator(script, "test"), timeout=0.3)
    begun(result.stdout)
    in_its_grace(result.signal)
    assert result.timed_out and result.text() == "set\nbye\n"
