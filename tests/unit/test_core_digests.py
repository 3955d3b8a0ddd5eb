"""Digests, recomputed by hand from the words of the design."""

from __future__ import annotations

from datetime import UTC, datetime
from hashlib import sha256

import pytest

from runtime.core import digests, ids
from runtime.core.clock import stamp
from runtime.core.commands import Exec, Shell
from runtime.journal import chain
from runtime.journal.chain import By, Draft


def test_the_first_hash_before_a_run_is_that_of_its_name():
    expected = sha256(b"m31a/1/" + b"01abc").hexdigest()
    assert digests.first_head("01abc") == expected


def test_a_link_hashes_the_hash_before_as_text_and_the_bytes():
    before = "0" * 64
    assert digests.link(before, b"{}") == sha256(before.encode("ascii") + b"{}").hexdigest()


def test_the_key_of_an_action_is_that_of_its_canonical_form():
    action = {"kind": "run_tool", "program": "ls", "args": ["é", '"']}
    by_hand = (
        '{"action":{"args":["é","\\""],"kind":"run_tool","program":"ls"},'
        '"cwd":"sub","env":{"A":"1"}}'
    )
    key = digests.action_key(action, "sub", {"A": "1"})
    assert key == sha256(by_hand.encode()).hexdigest()


def test_the_digest_of_an_action_binds_operands_tree_and_rules():
    by_hand = '{"key":"k","operands":[["a","1"],["b","2"]],"rules":"r","tree":"t"}'
    expected = sha256(by_hand.encode()).hexdigest()
    assert digests.action_digest("k", {"b": "2", "a": "1"}, "t", "r") == expected
    others = {
        digests.action_digest("x", {"b": "2", "a": "1"}, "t", "r"),
        digests.action_digest("k", {"b": "3", "a": "1"}, "t", "r"),
        digests.action_digest("k", {"b": "2"}, "t", "r"),
        digests.action_digest("k", {"b": "2", "a": "1"}, "u", "r"),
        digests.action_digest("k", {"b": "2", "a": "1"}, "t", "s"),
    }
    assert len(others) == 5
    assert expected not in others


def test_the_hash_of_an_event_is_that_of_its_canonical_form():
    by = By("01run", "01task", 2, 3, 'user:"é"')
    draft = Draft("action.started", 1, '{"action":"a","kind":"verify"}')
    head = digests.first_head("01run")
    rows = chain.rows(by, "2026-01-02T03:04:05.000006Z", 6, head, [draft, draft])
    by_hand = (
        '{"actor":"user:\\"é\\"","at":"2026-01-02T03:04:05.000006Z","attempt":2,"fence":3,'
        '"payload":{"action":"a","kind":"verify"},"run":"01run","seq":%d,"task":"01task",'
        '"type":"action.started","v":1}'
    )
    first = sha256(head.encode() + (by_hand % 7).encode()).hexdigest()
    second = sha256(first.encode() + (by_hand % 8).encode()).hexdigest()
    assert [(row[1], row[10], row[11]) for row in rows] == [(7, head, first), (8, first, second)]


def test_an_event_of_nobodys_task_holds_null():
    body = chain.body(
        By("system", None, None, None, "runtime"), "T", 1, Draft("link.made", 1, "{}")
    )
    assert body == (
        b'{"actor":"runtime","at":"T","attempt":null,"fence":null,"payload":{},"run":"system",'
        b'"seq":1,"task":null,"type":"link.made","v":1}'
    )


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC), "2026-01-02T03:04:05.000000Z"),
        (datetime(2026, 12, 31, 23, 59, 59, 999999, UTC), "2026-12-31T23:59:59.999999Z"),
    ],
)
def test_a_moment_has_six_decimals_and_a_Z(at, text):
    assert stamp(at) == text


def test_identifiers_sort_by_time_and_are_recognised():
    early = ids.make(datetime(2026, 1, 1, tzinfo=UTC), b"\xff" * 10)
    late = ids.make(datetime(2026, 1, 1, 0, 0, 0, 1000, UTC), b"\0" * 10)
    assert early < late
    assert ids.is_id(early)
    assert len(early) == 26
    for text in (
        "",
        early.upper(),
        early[:-1],
        early + "0",
        "system",
        "../" + early[3:],
        early + "\n",
    ):
        assert not ids.is_id(text)


def test_E17_the_two_commands_stay_two_types():
    assert Exec("ls", ("a b", "", "$(x);", "\n'\"")).argv() == ["ls", "a b", "", "$(x);", "\n'\""]
    assert Shell("ls | wc").argv() == ["/bin/sh", "-c", "ls | wc"]
    assert Exec("x") != Shell("x")
