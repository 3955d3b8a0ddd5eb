"""What went wrong in other systems, as people reported it, provoked in this one."""

from __future__ import annotations

import threading
import time
from datetime import timedelta

import psutil
import pytest
from django.conf import settings
from django.db import connection, connections
from django.db.models.functions import Now

from m31a_site import checks
from runtime import approvals, runs, tasks
from runtime.journal import append as journal
from runtime.journal import read
from runtime.journal.append import append
from runtime.journal.kinds import ActionStarted
from runtime.models import Approval, Task, Trace, Worker
from runtime.runs import replay
from runtime.tasks import leases
from runtime.worker import canary, entry, presence, wakeup
from runtime.worker.renewal import Renewal
from tests.agent.scenes import shell, wait_for
from tests.clock import Late, best_of_three, in_time, under
from tests.durable import faulty
from tests.durable.scene import SLOW, STEPS, Scene
from tests.kit import FINISH, Cast
from tests.store.store_kit import (
    ELSEWHERE,
    a_run,
    ask,
    at_once,
    claimed,
    dead,
    end,
    here,
    ids_of,
    recompute,
    state,
    types,
)

LOOK = {"kind": "list_files"}


@pytest.fixture(autouse=True)
def nothing_left(hall: Cast, request: pytest.FixtureRequest):
    """Every test begins without work."""
    if "pg_hall" not in request.fixturenames:
        tasks.reap()
        for run in set(Task.objects.filter(state="ready").values_list("run", flat=True)):
            runs.cancel(run, hall.alice)
    yield


@pytest.fixture
def short(hall: Cast, monkeypatch: pytest.MonkeyPatch) -> float:
    """Leases of one second."""
    monkeypatch.setattr(settings.M31A, "LEASE_SECONDS", 1)
    return 1.0


def test_B2_what_a_message_returns_is_nothing_so_that_no_result_can_be_lost(hall: Cast):
    scene = Scene(hall, [{**LOOK, "say": "x" * 60_000}])
    scene.hand_over()
    assert wakeup.drain(scene.task.pk) is None
    assert scene.told.state == "succeeded"
    assert settings.Q_CLUSTER["save_limit"] == -1


@best_of_three
def test_B5_B32_a_second_message_while_a_slice_goes_on_does_nothing(hall: Cast):
    """The queue sends a message again that it was not told the end of in time."""
    scene = Scene(hall, [{**LOOK, "delay_ms": 4000}])
    scene.hand_over()
    worker = faulty.start(lambda: wakeup.drain(scene.task.pk))
    wait_for(lambda: "task.claimed" in scene.told.types)
    before = scene.told.types
    scene.do(lambda: wakeup.drain(scene.task.pk), lambda: wakeup.drain(scene.task.pk))
    now = scene.told.types
    assert faulty.end_of(worker) == 0
    assert scene.told.types.count("task.claimed") == 1
    assert scene.told.state == "succeeded"
    if "message.completed" in now:
        raise Late("the model had answered before the other messages were looked at")
    assert now == before


@pytest.mark.postgres
def test_B6_a_pass_that_the_end_of_the_server_interrupts_is_done_by_the_next(
    pg_hall: Cast,
    postgres_template,  # type: ignore[no-untyped-def]
):
    lost = [claimed(owner=dead()) for _ in range(3)]
    reaper = faulty.start(tasks.reap, "reap.before=stop@2")
    faulty.frozen(reaper)
    connections.close_all()
    postgres_template.server.restart()
    assert faulty.thaw(reaper) in (0, 1)
    tasks.reap()
    assert [state(claim.task) for claim in lost] == ["ready"] * 3
    assert all(types(claim.run).count("task.lease_expired") == 1 for claim in lost)


@best_of_three
def test_B8_after_a_step_the_next_worker_goes_on_at_once_even_where_it_is_the_only_one(hall: Cast):
    scene = Scene(hall, [LOOK, LOOK])
    scene.do(scene.hand_over)
    scene.die(scene.work, "step.after_commit=kill@2")
    began = time.monotonic()
    scene.do(scene.work)
    assert scene.told.state == "succeeded"
    in_time(began, settings.M31A.LEASE_SECONDS + 5)


@pytest.mark.parametrize("first", ["prune", "reap"])
def test_B9_B13_a_dead_workers_row_may_go_first_and_its_name_may_come_back(hall: Cast, first: str):
    presence.prune()
    claim = claimed(owner=dead())
    host, _, pid, *_ = claim.owner.split("/")
    row = {"host": host, "pid": int(pid), "started_at": Now(), "seen_at": Now()}
    Worker.objects.create(incarnation=claim.owner, **row)
    living = claimed(owner=here())  # the same host and process id, another life
    if first == "prune":
        assert presence.prune() == 1
    assert tasks.reap() == 1
    presence.prune()
    assert not Worker.objects.filter(incarnation=claim.owner).exists()
    assert (state(claim.task), state(living.task)) == ("ready", "running")
    tasks.release(living, "slice")


@best_of_three
def test_B12_a_step_longer_than_five_leases_is_never_taken_back(hall: Cast, short: float):
    scene = Scene(hall, [{**LOOK, "delay_ms": 6000}])
    scene.do(scene.hand_over)
    worker = faulty.start(scene.work)
    renewed, looked = Pauses(), Pauses()
    while scene.told.state not in ("succeeded", "failed"):
        tasks.reap()
        looked.sees(time.monotonic())
        renewed.sees(scene.task.lease_seq)
        time.sleep(0.1)
    code = faulty.end_of(worker)
    under(max(renewed.longest, looked.longest), 0.8)  # else the lease of a second may well end
    assert (code, scene.told.state) == (0, "succeeded")
    assert scene.told.types.count("task.claimed") == 1
    assert "task.lease_expired" not in scene.told.types
    assert scene.task.lease_seq >= 6, "it was renewed all the time"


class Pauses:
    """How long a figure stays the same, in seconds."""

    def __init__(self) -> None:
        self.longest, self._last, self._since = 0.0, 0.0, time.monotonic()

    def sees(self, figure: float) -> None:
        """Look at it once more."""
        now = time.monotonic()
        self.longest = max(self.longest, now - self._since)
        if figure != self._last:
            self._last, self._since = figure, now


@best_of_three
def test_B14_a_renewal_may_be_late_and_one_that_is_too_late_is_fenced_off(hall: Cast, short: float):
    take_all_back()
    began = time.monotonic()
    late, silent = claimed(owner=ELSEWHERE), claimed(owner=ELSEWHERE)
    time.sleep(0.9)
    before = tasks.reap()
    in_time(began, 1.25)
    assert before == 0
    began = time.monotonic()
    assert tasks.renew(late) == "held"
    time.sleep(0.45)
    after = tasks.reap()
    in_time(began, 1.25)
    assert after == 1, "a quarter of the lease after its end"
    assert (state(late.task), state(silent.task)) == ("running", "ready")
    assert (tasks.renew(late), tasks.renew(silent)) == ("held", "lost")
    with pytest.raises(tasks.moves.StaleFence):
        append(silent.by(), [ActionStarted(action="a", kind="verify")], task={"steps": 1})
    tasks.release(late, "slice")


def take_all_back() -> None:
    """What an earlier try left is nobody's."""
    long_ago = journal.now() - timedelta(days=1)
    Task.objects.filter(state="running").update(lease_expires_at=long_ago)
    tasks.reap()


def test_B16_a_heartbeat_alone_is_no_sign_of_life(hall: Cast, monkeypatch: pytest.MonkeyPatch):
    """The canary is a message: who renews leases and takes none does not sing."""
    monkeypatch.setattr(canary, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(canary, "HUNG_SECONDS", 0.3)
    watch, claim = canary.Watch(), claimed()
    assert not watch.hangs()
    with Renewal(claim, threading.Event()):
        for _ in range(4):
            presence.seen(claim.task)
            assert tasks.renew(claim) == "held"
            time.sleep(0.15)
    assert watch.hangs()
    tasks.release(claim, "slice")


def test_B18_a_slow_task_that_is_taken_back_again_and_again_ends(hall: Cast):
    run = a_run(max_attempts=4)
    crashes = []
    while state(ids_of(run)["main"]) == "ready":
        claimed(run, owner=dead())
        for _ in range(3):
            tasks.reap()
        crashes.append(Task.objects.get(run=run).crashes)
    assert crashes == [1, 2, 3, 4]
    assert types(run.pk)[-1] == "run.failed"


def test_B21_answers_go_to_the_question_they_are_about(hall: Cast):
    run = a_run("a", "b")
    first, second = claimed(run), claimed(run)
    asked = [ask(first, digest="1" * 64), ask(second, digest="2" * 64)]
    for approval, verdict in ((asked[1], "deny"), (asked[0], "approve")):
        approvals.decide(approval.pk, by=hall.bob, verdict=verdict, comment="because")
    found = {a.task_id: (a.state, a.digest[0]) for a in Approval.objects.filter(run=run)}
    assert found == {first.task: ("approved", "1"), second.task: ("denied", "2")}
    assert state(first.task) == state(second.task) == "ready"
    assert replay.check(run.pk) == ""


def test_B26_nobody_who_works_can_take_a_task_out_of_its_wait(hall: Cast):
    claim = claimed()
    ask(claim)
    assert tasks.claim(here(), prefer=claim.task, run=claim.run) is None
    assert tasks.renew(claim) == "lost"
    with pytest.raises(tasks.moves.StaleFence):
        end(claim)
    with pytest.raises(tasks.moves.StaleFence):
        tasks.release(claim, "stop")
    assert tasks.reap() == 0
    assert state(claim.task) == "waiting"


def test_B29_no_open_connection_crosses_a_fork_of_the_cluster(
    hall: Cast, monkeypatch: pytest.MonkeyPatch
):
    seen: list[object] = []

    class Forks:
        sentinel = threading.Thread(target=lambda: None)

        def start(self) -> None:
            seen.append([one.connection for one in connections.all(initialized_only=True)])
            self.sentinel.start()

    monkeypatch.setattr(entry, "Cluster", Forks)
    monkeypatch.setattr(entry.death, "of_forks_too", lambda: None)
    monkeypatch.setattr(entry.shutdown, "listen", lambda: None)
    Task.objects.count()
    assert connection.connection is not None
    entry.cluster()
    assert seen == [[None]]


@pytest.mark.postgres
def test_B31_a_follower_sees_every_event_whichever_transaction_commits_first(pg_hall: Cast):
    """Of one run they commit in the order of their numbers; two runs have each their own."""
    run = a_run("a", "b", "c")
    claims = [claimed(run) for _ in range(3)]
    slow = faulty.start(lambda: _add(claims[0], 1), "step.before_commit=stop@1")
    faulty.frozen(slow)  # and holds the lock of the run
    followed: list[int] = []
    written, thawed = threading.Event(), threading.Event()

    def follow() -> None:
        over = False
        while not over:
            over = written.is_set() and thawed.is_set()  # read once more after that
            followed.extend(e.seq for e in read.read(run.pk, followed[-1] if followed else 0))
            time.sleep(0.005)

    def write() -> None:
        for claim in claims[1:]:
            _add(claim, 5)
        written.set()

    def thaw() -> None:
        time.sleep(0.4)
        assert not written.is_set(), "who freezes commits first"
        assert faulty.thaw(slow) == 0
        thawed.set()

    assert at_once([follow, write, thaw]) == [None] * 3
    assert followed == list(range(1, len(types(run.pk)) + 1))
    recompute(run.pk)


def _add(claim: tasks.Claim, count: int) -> None:
    for number in range(count):
        event = ActionStarted(action=f"{claim.task}.{number}", kind="verify")
        append(claim.by(), [event], task={"fence": claim.fence})


def test_B33_who_renews_too_seldom_is_not_started(hall: Cast, monkeypatch: pytest.MonkeyPatch):
    assert checks.leases_outlast_their_renewal() == []
    monkeypatch.setattr("runtime.worker.renewal.renewal_seconds", lambda: 3.0)
    (found,) = checks.leases_outlast_their_renewal()
    assert found.id == "m31a.E003" and "M31A_LEASE_SECONDS" in found.hint


@best_of_three
def test_F43_a_worker_whose_renewal_dies_stops_and_its_task_goes_on_within_one_lease(hall: Cast):
    scene = Scene(hall, [SLOW, *STEPS[1:]])
    scene.do(scene.hand_over)

    def wedged() -> None:
        died = []
        real = leases.renew

        def renew(claim: tasks.Claim) -> str:
            if not died:
                died.append(1)
                raise RuntimeError("the thread ends here")
            return str(real(claim))

        tasks.renew = renew  # type: ignore[assignment]
        scene.work()

    worker = faulty.start(wedged)
    assert faulty.end_of(worker) == 0
    (held,) = scene.told.of("task.claimed")
    assert held["owner"].split("/")[2] == str(worker), "the record names who held it"
    scene.still_thinking()  # it stopped meanwhile
    scene.do(scene.work, scene.decide, scene.work)
    scene.ended_well(lost=1)


@best_of_three
def test_R8_F50_a_cancel_ends_everything_that_a_command_started_and_its_trace_says_so(hall: Cast):
    scene = Scene(hall, [shell("setsid sleep 6173 & sleep 6173"), FINISH])
    scene.do(scene.hand_over, scene.work)
    if scene.told.state == "waiting":
        scene.decide()
    worker = faulty.start(scene.work)
    wait_for(lambda: len(_asleep()) == 2)
    began = time.monotonic()
    runs.cancel(scene.run, hall.alice)
    wait_for(lambda: not _asleep())
    in_time(began, 2)
    assert faulty.end_of(worker) == 0
    assert scene.told.state == "cancelled"
    (trace,) = Trace.objects.filter(run=scene.run)
    assert trace.cancelled and not trace.timed_out
    assert scene.wrong() == []


def _asleep() -> list[int]:
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        if process.info["cmdline"] == ["sleep", "6173"]:
            found.append(process.pid)
    return found
