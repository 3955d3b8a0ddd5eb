"""The sandbox's plain parts: what is kept of output, environment, accounts, sentences."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.core.commands import Exec
from runtime.core.errors import BadInput
from runtime.sandbox import Result, diagnosis, environment, pick_uid, uid_range
from runtime.sandbox.output import Kept
from runtime.sandbox.processes import number_after


def result(stdout: bytes, room: int) -> Result:
    kept = Kept(room)
    kept.feed(stdout)
    return Result(
        status=0, signal=None, timed_out=False, cancelled=False, limit=None,
        stdout=kept.bytes(), stderr=b"", stdout_bytes=kept.total, stderr_bytes=0,
        truncated=bool(kept.cut), duration_ms=1, cpu_ms=1, peak_memory=1, attestation={},
        failure=None, stdout_head=len(kept.head),
    )  # fmt: skip


@given(st.lists(st.binary(max_size=40)), st.integers(1, 50))
def test_E9_head_and_tail_are_exact_however_it_is_cut_up(pieces: list[bytes], room: int) -> None:
    kept, whole = Kept(room), b"".join(pieces)
    for piece in pieces:
        kept.feed(piece)
    head, tail = room // 2, room - room // 2
    expected = whole if len(whole) <= room else whole[:head] + whole[len(whole) - tail :]
    assert kept.bytes() == expected
    assert (kept.total, kept.cut) == (len(whole), len(whole) - len(expected))


@given(st.text(min_size=1), st.integers(2, 20))
def test_E11_a_cut_never_splits_a_character(text: str, room: int) -> None:
    data = text.encode("utf-8", "replace")
    shown = result(data, room).text()
    assert "\ufffd" not in shown or "\ufffd" in text
    if len(data) <= room:
        assert shown == data.decode()


def test_E11_invalid_bytes_and_nul_become_text() -> None:
    assert result(b"a\xff\0b", 100).text() == "a\ufffd\0b"
    assert result("äöü".encode(), 5).text() == "ä\n[… 2 bytes cut …]\nü"
    assert result(b"\x80" * 40, 10).text().count("\ufffd") > 0


def test_E10_the_environment_is_built_from_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANY_SECRET", "x")
    built = environment.build(("/m31a/env/.venv/bin",), {"A": "1"}, {"A": "2"})
    assert b"ANY_SECRET" not in built and built[b"A"] == b"2"
    assert built[b"PATH"].startswith(b"/m31a/env/.venv/bin:/usr/local/bin:/usr/bin:")
    assert b"GIT_CONFIG_NOSYSTEM" not in built and built[b"GIT_OPTIONAL_LOCKS"] == b"0"


@pytest.mark.parametrize("name", ["LD_PRELOAD", "LD_LIBRARY_PATH", "GLIBC_TUNABLES", "GCONV_PATH",
                                  "LOCPATH", "", "1A", "A=B", "A B", "A\0", "A\n"])  # fmt: skip
def test_names_that_the_loader_obeys_are_refused(name: str) -> None:
    with pytest.raises(BadInput):
        environment.build((), {name: "x"})


def test_the_range_of_accounts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("M31A_UID_RANGE", raising=False)
    assert uid_range() == (231072, 296607)
    monkeypatch.setenv("M31A_UID_RANGE", "5000-5001")
    assert uid_range() == (5000, 5001)
    if os.geteuid() == 0:
        assert pick_uid(set()) == 5000 and pick_uid({5000}) == 5001
        with pytest.raises(BadInput, match="in use"):
            pick_uid({5000, 5001})
    else:
        assert pick_uid(set()) is None


@pytest.mark.parametrize(
    "text", ["", "5", "0-10", "500-600", "9-8", "a-b", "5000-4294967295", "-5000-6000"]
)
def test_a_range_that_cannot_be_is_refused(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("M31A_UID_RANGE", text)
    with pytest.raises(BadInput, match="M31A_UID_RANGE"):
        uid_range()


@pytest.mark.parametrize(
    ("said", "word"),
    [
        ("bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "AppArmor"),
        ("bwrap: setting up uid map: Permission denied", "AppArmor"),
        ("bwrap: No permissions to create new namespace, likely because ...", "seccomp"),
        ("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths"),
        ("bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces"
         " exceeded (ENOSPC)", "max_user_namespaces"),
        ("bwrap: Creating new namespace failed: Resource temporarily unavailable", "LimitNPROC"),
        ("bwrap: Unknown option --disable-userns", "0.8.0"),
        ("bwrap: Failed to mount tmpfs: Permission denied", "SELinux"),
        ("something else", "doctor"),
    ],
)  # fmt: skip
def test_every_known_complaint_has_its_remedy(said: str, word: str) -> None:
    assert word in diagnosis.remedy(said)
    assert word in diagnosis.failure(said.encode(), Exec("x"))


def test_E13_sentences_for_what_was_not_executed() -> None:
    def why(text: str) -> str:
        return diagnosis.failure(f"bwrap: execvp x: {text}".encode(), Exec("x"))

    assert "not found" in why("No such file or directory")
    assert "not executable" in why("Permission denied")
    assert "Argument list too long" in why("Argument list too long")


def test_numbers_in_what_the_kernel_and_bubblewrap_say() -> None:
    assert number_after(b'{ "child-pid": 123, "net": 4 }', b'"child-pid"') == 123
    assert number_after(b'{ "exit-code": 0 }', b'"exit-code"') == 0
    assert number_after(b"{ }", b'"exit-code"') is None
    assert number_after(b"rchar: 1\nwrite_bytes: 4096\n", b"\nwrite_bytes") == 4096
