"""What follows from a call of a model that failed: by itself nothing; further tries where allowed."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from django.utils import timezone

from runtime import runs
from runtime.core import amounts
from runtime.models import Task, User, Workspace
from runtime.providers import warm
from runtime.runs import replay
from runtime.worker import inline
from tests.agent.dying import kill_when
from tests.agent.scenes import task, tool, tree
from tests.kit import EDIT, FINISH, VERIFY, Told, play, workspace
from tests.providers.raw_server import KEY, RawServer
from tests.providers.voices import Voice, status

VOICE = Voice()
BUSY = status(503, VOICE.error("busy"))
LONG = status(*Voice.too_long)


@pytest.fixture(scope="module", autouse=True)
def loaded() -> None:
    warm("openai:any")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., RawServer]]:
    """A model that answers these bytes, one after the other; the last again and again."""
    made: list[RawServer] = []

    def start(*replies: bytes) -> RawServer:
        def reply(connection: socket.socket) -> None:
            number = min(len(one.requests), len(replies)) - 1
            connection.sendall(replies[number])

        one = RawServer(reply)
        one.start()
        made.append(one)
        monkeypatch.setenv("OPENAI_BASE_URL", one.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        return one

    yield start
    for one in made:
        one.stop()


def whole(*steps: dict) -> list[bytes]:  # type: ignore[type-arg]
    return [VOICE.whole("", step) for step in steps]


def place(by: User, **more: object) -> Workspace:
    found = workspace(by)
    Workspace.objects.update(**more)
    found.refresh_from_db()
    return found


def ask(by: User, **more: object) -> Told:
    wish = runs.Submission(
        workspace="work", objective="Mend it.", by=by, provider="openai:some-model", **more
    )
    return Told(runs.submit(wish).run)


def soon() -> None:
    """What waits is due now."""
    Task.objects.filter(state="ready").update(available_at=timezone.now())


def waits(told: Told) -> float:
    """Seconds until the task may be claimed."""
    return (task(told).available_at - timezone.now()).total_seconds()


def test_K4_by_default_a_failed_call_ends_the_task_and_is_an_event(cast, server):
    place(cast.alice)
    asked = server(*whole(EDIT, VERIFY), BUSY)
    told = ask(cast.alice).work()
    assert (told.state, told.reason) == ("failed", "provider_overload")
    failed = told.last("model.failed")
    assert (failed["then"], failed["kind"], failed["attempt"]) == ("fail", "overload", 1)
    assert failed["spent"]["model_calls"] == 1 and "cost" not in failed["spent"]
    assert len(asked.requests) == 3
    assert (tree(told) / "notes.txt").read_text() == "changed\n"
    assert replay.check(told.run.pk) == ""


def test_P14_a_limit_is_waited_for_as_long_as_the_server_says_and_no_worker_is_held(cast, server):
    place(cast.alice, provider_retries=2)
    limited = status(429, VOICE.error("slow down"), "Retry-After: 40")
    server(limited, *whole(FINISH))
    told = ask(cast.alice).work()
    row = task(told)
    assert (told.state, row.state, row.lease_owner, row.reserved) == ("running", "ready", "", "")
    assert 20 < waits(told) <= 41
    failed = told.last("model.failed")
    assert (failed["then"], failed["wait"], failed["retry_after"]) == ("retry", 40, 40)
    assert told.last("task.released") == {"why": "back-off"}
    assert inline.work(until_idle=True) == 0, "nobody claims it before its time"
    soon()
    assert told.work().state == "succeeded"
    assert task(told).attempt == 1, "no attempt is used up"
    assert replay.check(told.run.pk) == ""


def test_back_off_grows_and_is_bounded_by_the_tries_allowed(cast, server):
    place(cast.alice, provider_retries=3)
    asked = server(BUSY)
    told = ask(cast.alice).work()
    for _ in range(3):
        soon()
        told.work()
    assert (told.state, told.reason) == ("failed", "provider_overload")
    assert len(asked.requests) == 4
    found = [(one["then"], one["attempt"]) for one in told.of("model.failed")]
    assert found == [("retry", 1), ("retry", 2), ("retry", 3), ("fail", 4)]
    spans = [one["wait"] for one in told.of("model.failed")[:3]]
    assert all(least <= wait <= 2 * least for wait, least in zip(spans, (1, 2, 4), strict=True))


def test_an_answer_gives_new_tries(cast, server):
    place(cast.alice, provider_retries=1)
    server(BUSY, *whole(tool("true")), BUSY, *whole(FINISH))
    told = ask(cast.alice).work()
    for _ in range(2):
        soon()
        told.work()
    assert told.state == "succeeded", told.reason


def test_nobody_waits_for_an_hour(cast, server):
    place(cast.alice, provider_retries=5)
    server(status(429, VOICE.error("slow down"), "Retry-After: 3600"))
    told = ask(cast.alice).work()
    assert (told.state, told.reason) == ("failed", "provider_rate_limit")
    assert "3600" in told.last("task.failed")["detail"]


@pytest.mark.parametrize("code", [401, 400])
def test_what_will_not_get_better_is_not_tried_again(cast, server, code):
    place(cast.alice, provider_retries=5)
    asked = server(status(code, VOICE.error("no")))
    told = ask(cast.alice).work()
    assert told.state == "failed" and len(asked.requests) == 1


def test_another_model_takes_over_once(cast, server):
    place(cast.alice, provider_retries=1, fallback="openai:other-model")
    asked = server(BUSY, BUSY, *whole(tool("true"), FINISH))
    told = ask(cast.alice).work()
    soon()
    told.work()
    assert told.state == "succeeded", told.reason
    assert [one["then"] for one in told.of("model.failed")] == ["retry", "fallback"]
    models = [b"other-model" in request for request in asked.requests]
    assert models == [False, False, True, True], "it stays for the rest of the task"
    assert replay.check(told.run.pk) == ""


def test_the_other_model_may_fail_as_well(cast, server):
    place(cast.alice, fallback="openai:other-model")
    asked = server(BUSY)
    told = ask(cast.alice).work()
    assert (told.state, told.reason) == ("failed", "provider_overload")
    assert len(asked.requests) == 2
    assert [one["model"] for one in told.of("model.failed")] == [
        "openai:some-model",
        "openai:other-model",
    ]


def test_tries_stay_within_the_budget(cast, server):
    place(cast.alice, provider_retries=50)
    asked = server(BUSY)
    told = ask(cast.alice, budgets={"model_calls": 3}, mode="unattended").work()
    for _ in range(4):
        soon()
        told.work()
    assert (told.state, told.reason) == ("failed", "budget_exhausted")
    assert len(asked.requests) == 3


def test_A17_a_prompt_that_is_too_long_is_shortened_once_where_that_is_allowed(cast, server):
    place(cast.alice, provider_retries=1)
    asked = server(
        *whole(*[tool("echo", "x" * 3000, str(n)) for n in range(6)]), LONG, *whole(FINISH)
    )
    told = ask(cast.alice).work()
    assert told.state == "succeeded", told.reason
    assert told.last("model.failed")["then"] == "compact"
    cut = told.last("context.compacted")
    assert cut["reason"] == "context_length" and cut["after"] < cut["before"]
    assert len(asked.requests[-1]) < len(asked.requests[-2])
    assert replay.check(told.run.pk) == ""


def test_a_prompt_that_is_too_long_fails_the_task_by_default(cast, server):
    place(cast.alice)
    asked = server(LONG)
    told = ask(cast.alice).work()
    assert (told.state, told.reason) == ("failed", "provider_context_length")
    assert len(asked.requests) == 1


def test_a_cut_answer_counts_as_what_was_reserved(cast, server):
    place(cast.alice)
    server(VOICE.head + VOICE.text("I will"))
    told = ask(cast.alice).work()
    assert told.reason == "provider_cut"
    spent = told.last("model.failed")["spent"]
    assert spent["cost"] == spent["estimated_cost"] > 0
    assert spent["output_tokens"] == 16_384


@pytest.mark.parametrize(
    ("reply", "charged"),
    [
        (VOICE.head + VOICE.call(VERIFY) + b'data: {"error": {"message": "busy", "code": 503}}\n\n', True),
        (status(504, VOICE.error("nobody waited")), True),
        (BUSY, False),
        (status(429, VOICE.error("slow down")), False),
    ],
)  # fmt: skip
def test_a_call_that_fails_at_work_counts_as_what_was_reserved_though_nothing_was_said(
    cast, server, reply, charged
):
    place(cast.alice)
    server(reply)
    told = ask(cast.alice).work()
    assert told.reason == "provider_overload" or not charged
    assert bool(told.last("model.failed")["spent"].get("cost")) is charged


@pytest.mark.filterwarnings("ignore:::pydantic")  # as the provider does for itself
@pytest.mark.parametrize("count", ["-5", "1e30", "1" + "0" * 30, "9007199254740993", "2.5", '"x"'])
def test_F51_a_usage_that_cannot_be_breaks_neither_the_budget_nor_the_journal(cast, server, count):
    place(cast.alice)
    odd = (
        VOICE.whole("", tool("true")).replace(b"812", count.encode()).replace(b"34", count.encode())
    )
    server(odd, *whole(FINISH))
    told = ask(cast.alice, budgets={"cost": 2_000_000}, mode="unattended").work()
    assert told.reason in ("budget_exhausted", "") and told.state in ("failed", "succeeded")
    spent = told.last("message.completed")["spent"]
    assert spent["input_tokens"] > 0 and spent["output_tokens"] > 0 and spent["cost"] > 0
    assert replay.check(told.run.pk) == ""


def test_a_cancel_while_it_is_put_off_ends_the_run_at_once(cast, server):
    place(cast.alice, provider_retries=2)
    server(BUSY)
    told = ask(cast.alice).work()
    assert waits(told) > 0 or task(told).state == "ready"
    runs.cancel(told.run.pk, cast.alice)
    assert told.state == "cancelled"


def test_a_task_that_is_put_off_is_not_let_go_before_its_time(cast, server):
    place(cast.alice, provider_retries=2)
    server(status(429, VOICE.error("slow down"), "Retry-After: 590"))
    told = ask(cast.alice).work()
    assert timedelta(seconds=waits(told)) > timedelta(seconds=500)
    inline.work(once=True)
    assert waits(told) > 500


def test_a_retried_run_begins_with_the_first_model(cast, server):
    place(cast.alice, fallback="openai:other-model")
    asked = server(BUSY, BUSY, *whole(FINISH))
    told = ask(cast.alice).work()
    assert told.state == "failed"
    runs.retry(told.run.pk, cast.alice)
    assert told.work().state == "succeeded"
    assert b"some-model" in asked.requests[-1]


def test_a_script_that_fails_says_so_in_an_event(cast):
    workspace(cast.alice)
    told = play(cast.alice, [{"error": "overload: busy"}])
    assert told.last("model.failed")["spent"]["model_calls"] == 1


def test_a_worker_that_dies_in_a_call_leaves_what_it_had_reserved_as_used(cast, server):
    place(cast.alice)
    silent = server()
    silent.reply = lambda connection: connection.recv(1)
    told = ask(cast.alice)
    kill_when(lambda: bool(silent.requests))
    held = amounts.read(task(told).reserved)
    assert held["model_calls"] == 1 and held["cost"] > 0 and held["output_tokens"] == 16_384
    replies = whole(FINISH)
    silent.reply = lambda connection: connection.sendall(replies[0])
    assert told.work().state == "succeeded"
    assert told.last("task.lease_expired")["spent"] == held
    spent = amounts.read(task(told).spent)
    assert spent["model_calls"] == 2 and spent["cost"] > held["cost"]
    assert replay.check(told.run.pk) == ""


def test_a_dead_worker_cannot_make_a_run_cost_more_than_it_was_given(cast, server):
    place(cast.alice)
    silent = server()
    silent.reply = lambda connection: connection.recv(1)
    told = ask(cast.alice, budgets={"cost": 700_000}, mode="unattended")
    kill_when(lambda: bool(silent.requests))
    told.work()
    assert (told.state, told.reason) == ("failed", "budget_exhausted")
    assert len(silent.requests) == 1
