"""Several processes, each with its own memory of the rules: none decides by older rules than the
journal says are in force, and none journals rules that are not those of the files."""

from __future__ import annotations

import itertools
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runtime import blobs
from runtime.gating import files, loaded, policies
from runtime.journal.book import open_system
from runtime.journal.kinds import PolicyLoaded
from runtime.journal.read import every
from runtime.policy.language import Book, PolicyFault
from runtime.worker import inline
from tests.agent.scenes import tool
from tests.durable import faulty
from tests.kit import FINISH, rule, submit, workspace

NO_ID = rule("DENY", 'program = "id"', "no-id")
NO_WC = rule("DENY", 'program = "wc"', "no-wc")
BROKEN = rule("DENY", 'path = "a["')


class Other:
    """Another process. It stops after each look at the rules, until it is to look again."""

    def __init__(self, note: Path, before: Callable[[], object] = policies.forget) -> None:
        self._note = note
        self.pid = faulty.start(lambda: self._look(before))
        faulty.frozen(self.pid)

    def rules(self) -> list[str]:
        """Let it look: the rules by which it would decide now, or why it would not."""
        os.kill(self.pid, signal.SIGCONT)
        faulty.frozen(self.pid)
        return self.told()

    def told(self) -> list[str]:
        """What its last look told."""
        return self._note.read_text().split("\n")[:-1]

    def _look(self, before: Callable[[], object]) -> None:
        before()
        while True:
            try:
                told = names(policies.in_force("worker"))
            except PolicyFault as error:
                told = [str(error).replace("\n", " ")]
            self._note.write_text("".join(f"{one}\n" for one in told))
            pause()


@pytest.fixture
def other(policy, tmp_path) -> Iterator[Callable[..., Other]]:
    """Start other processes."""
    begun: list[Other] = []

    def start(*given: Callable[[], object]) -> Other:
        begun.append(Other(tmp_path / f"{len(begun)}", *given))
        return begun[-1]

    yield start
    for one in begun:
        faulty.put_down(one.pid)


def pause() -> None:
    """Wait for SIGCONT."""
    os.kill(os.getpid(), signal.SIGSTOP)


def names(book: Book) -> list[str]:
    """The rules of a book."""
    return [one.id for document in book.documents for one in document.layer.rules]


def reload() -> list[str]:
    """What this process, which plays the reconciler, takes up."""
    return names(policies.in_force("reconciler"))


def journaled() -> list[tuple[str, list[str]]]:
    """Who put which files in force, in order."""
    events = [one.payload for one in every("system") if one.type == "policy.loaded"]
    return [(one["by"], [name for name, _ in one["files"]]) for one in events]


def claim_in_the_journal(book_hash: str) -> None:
    """Write that other rules are in force."""
    with open_system() as chain:
        chain.append(PolicyLoaded(hash=book_hash, by="reconciler", rules=1), actor="reconciler")


def test_F32_a_worker_that_was_idle_decides_by_what_others_loaded_before_a_file_broke(cast, policy):
    workspace(cast.alice)
    told = submit(cast.alice, [tool("id"), FINISH])

    def work() -> None:
        assert policies.in_force("worker").empty
        pause()
        inline.work(until_idle=True)

    worker = faulty.start(work)
    try:
        faulty.frozen(worker)
        policy("organisation.toml", NO_ID)
        assert reload() == ["no-id"]
        policy("system.toml", BROKEN)
        assert faulty.thaw(worker) == 0
    finally:
        faulty.put_down(worker)
    decided = told.of("policy.decided")[0]
    assert (decided["decision"], decided["rule"]) == ("DENY", "no-id")
    assert "run_tool" not in [one["kind"] for one in told.of("action.started")]
    assert journaled() == [("reconciler", ["organisation.toml"])]


def test_an_idle_process_never_journals_its_older_rules_and_vanished_files_are_still_missed(
    policy, other
):
    idle, asleep = other(), other()
    gone = policy("organisation.toml", NO_ID)
    reload()
    broken = policy("system.toml", BROKEN)
    assert idle.rules() == ["no-id"]
    gone.unlink()
    broken.unlink()
    assert idle.rules() == ["no-id"]
    assert asleep.rules() == ["no-id"], "the files are as they were when it looked last"
    assert journaled() == [("reconciler", ["organisation.toml"])]
    assert "organisation.toml: its rules were in force, and it is gone" in str(policies.fault())
    assert "and it is gone" in other().told()[0]


def test_rules_that_change_before_they_are_journaled_are_not_journaled(policy, other):
    def pausing() -> None:
        policies.forget()
        append = loaded.append

        def late(*given):
            pause()
            return append(*given)

        loaded.append = late

    policy("organisation.toml", NO_ID)
    slow = other(pausing)
    policy("organisation.toml", NO_WC)
    assert reload() == ["no-wc"]
    assert slow.rules() == ["no-wc"]
    assert journaled() == [("reconciler", ["organisation.toml"])]


def test_while_files_are_broken_the_journal_is_followed_and_mended_ones_count_everywhere(
    policy, other
):
    policy("organisation.toml", NO_ID)
    both = [other(), other()]
    assert [one.told() for one in both] == [["no-id"]] * 2
    policy("system.toml", BROKEN)
    assert [one.rules() for one in both] == [["no-id"]] * 2
    policy("system.toml", NO_WC)
    assert reload() == ["no-wc", "no-id"]
    policy("system.toml", BROKEN)
    assert [one.rules() for one in both] == [["no-wc", "no-id"]] * 2
    assert "field path" in other().told()[0], "a process that begins then refuses"
    policy("system.toml", "")
    assert [one.rules() for one in both] == [["no-id"]] * 2
    assert [len(found) for _, found in journaled()] == [1, 2, 1]
    assert policies.fault() is None


def test_rules_that_lie_in_an_artifact_are_read_from_there_or_nothing_is_decided(policy, other):
    idle = other()
    policy("organisation.toml", NO_ID + "#" * 5000)
    reload()
    policy("system.toml", BROKEN)
    assert idle.rules() == ["no-id"]
    policy("system.toml", "")
    assert idle.rules() == ["no-id"]
    policy("organisation.toml", NO_WC + "#" * 5000)
    reload()
    row = policies.last_loaded()
    assert row is not None
    blobs.path(row.payload["texts"]["artifact"]).unlink()
    policy("system.toml", BROKEN)
    assert "field texts: The bytes of" in idle.rules()[0]
    assert reload() == ["no-wc"], "who read the very same rules from the files needs no artifact"
    policy("system.toml", "")
    assert idle.rules() == ["no-wc"]


def test_texts_that_are_not_the_rules_of_their_hash_are_no_rules(policy, other):
    policy("organisation.toml", NO_ID)
    idle = other()
    policy("system.toml", BROKEN)
    claim_in_the_journal("a1" * 32)
    (refused,) = idle.rules()
    assert "system.toml, rule r, field path" in refused
    assert "field texts: they make the hash" in refused and "not a1a1a1a1a1a1" in refused
    policy("system.toml", "")
    assert idle.rules() == ["no-id"]


def test_where_the_journal_names_other_rules_than_good_files_these_are_journaled_anew(
    policy, other
):
    policy("organisation.toml", NO_ID)
    both = [other(), other()]
    claim_in_the_journal("a1" * 32)
    assert [one.rules() for one in both] == [["no-id"]] * 2
    wrong = ("reconciler", [])
    right = ("worker", ["organisation.toml"])
    assert journaled() == [right, wrong, right]


@pytest.mark.parametrize("place", [policies, files])
def test_files_that_keep_changing_leave_what_was_journaled_in_force(
    policy, monkeypatch, caplog, place
):
    policy("organisation.toml", NO_ID)
    reload()
    policy("organisation.toml", NO_WC)
    if place is files:
        inodes = itertools.count()
        monkeypatch.setattr(files, "signature", lambda _: (("system.toml", 0, 0, next(inodes)),))
    else:
        monkeypatch.setattr(policies, "_as_seen", lambda: False)
    assert reload() == ["no-id"]
    assert "change" in caplog.text and "stay in force" in caplog.text
    monkeypatch.undo()
    assert reload() == ["no-wc"]
