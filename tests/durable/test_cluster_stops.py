"""Clusters that are told to stop, many times over."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from subprocess import PIPE

import psutil
import pytest

from runtime.worker import entry
from tests.agent.scenes import wait_for
from tests.kit import Cast


@pytest.mark.timeout(400)
def test_B3_every_stop_of_a_cluster_ends_within_its_bound(hall: Cast, pytestconfig: pytest.Config):
    """A hundred where the run is a long one. A cluster that hangs is killed with its group."""
    stops = 100 if pytestconfig.getoption("--chaos-seconds") >= 60 else 8
    hung, took = 0, []
    # A process of one thread forks them: a lock that another thread holds would never be let go.
    words = [sys.executable, "-c", FORKS_CLUSTERS]
    with subprocess.Popen(words, stdin=PIPE, stdout=PIPE, text=True, bufsize=1) as launcher:
        assert launcher.stdin is not None and launcher.stdout is not None
        for _ in range(stops):
            launcher.stdin.write("another\n")
            family = _family(int(launcher.stdout.readline()))
            leader = family[0]
            time.sleep(0.2)
            assert leader.is_running() and not _dead(leader), "nobody has told it to stop"
            began = time.monotonic()
            os.killpg(leader.pid, entry.shutdown.SIGNAL)
            leader.terminate()
            try:
                leader.wait(3.5)
            except psutil.TimeoutExpired:
                hung += 1
            with contextlib.suppress(ProcessLookupError):
                os.killpg(leader.pid, signal.SIGKILL)
            took.append(time.monotonic() - began)
            wait_for(lambda family=family: all(_dead(p) for p in family))
    took.sort()
    print(f"stops: {stops}, hung: {hung}, slowest: {took[-1]:.2f} s")
    assert took[-3] < 4.5, "the machine may stand still in one, not in three of them"


FORKS_CLUSTERS = """
import os, signal, sys, traceback
import django
django.setup()
from runtime.worker import entry
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for _ in sys.stdin:
    pid = os.fork()
    if pid == 0:
        os.setsid()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        try:
            entry.cluster()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    print(pid, flush=True)
"""


def _family(pid: int) -> list[psutil.Process]:
    """The cluster and its processes, as soon as they are all there."""
    leader = psutil.Process(pid)
    wait_for(lambda: len(leader.children(recursive=True)) >= 4)
    return [leader, *leader.children(recursive=True)]


def _dead(process: psutil.Process) -> bool:
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True
