"""What commands and background jobs print, on a run's page while they run."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from runtime.journal import book, deltas
from runtime.journal.kind import Payload
from runtime.journal.kinds import ActionCompleted, JobEnded
from tests.browser.watched import Watched


def tell(run: str, *payloads: Payload) -> None:
    with book.open_run(run) as page:
        for payload in payloads:
            page.append(payload, actor="worker", task="t")


def done(action: str, kind: str) -> ActionCompleted:
    return ActionCompleted(action=action, kind=kind, ok=True, observation="all of it")


@pytest.mark.thorough
def test_the_output_of_a_command_is_seen_as_it_comes_and_goes_with_its_end(
    watched: Watched,
) -> None:
    watched.open()
    line = watched.page.locator("li.speaking.output[data-message='t.1']")
    with deltas.DeltaWriter(watched.run, "t", "t.1") as writer:
        writer.add("collecting <b>…</b>\n")
        expect(line).to_have_text("collecting <b>…</b>")
        writer.add("3 passed")
        expect(line).to_contain_text("3 passed")
    tell(watched.run, done("t.1", "run_tool"))
    expect(line).to_have_count(0)
    expect(watched.page.locator("#timeline")).to_contain_text("all of it")
    deltas.remove(watched.run, "t.1")
    assert watched.errors == []


@pytest.mark.thorough
def test_the_output_of_a_job_stays_until_the_job_ends(watched: Watched) -> None:
    watched.open()
    line = watched.page.locator("li.speaking.output[data-message='t.1']")
    with deltas.DeltaWriter(watched.run, "t", "t.1") as writer:
        writer.add("listening")
        expect(line).to_have_text("listening")
        tell(watched.run, done("t.1", "start_job"), done("t.2", "read_file"))
        expect(watched.page.locator("#timeline")).to_contain_text("read_file")
        writer.add(" on 8000")
        expect(line).to_have_text("listening on 8000")
    tell(watched.run, JobEnded(action="t.1", job="j1", reason="stopped", characters=17))
    expect(line).to_have_count(0)
    expect(watched.page.locator("#timeline")).to_contain_text("the model stopped it")
    assert watched.errors == []
