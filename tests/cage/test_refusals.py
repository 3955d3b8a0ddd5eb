"""When nothing runs, and what is said about it."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from cage_making import ROOT, Hall

from runtime.core.commands import Exec, Shell
from runtime.core.errors import BadInput, Unavailable
from runtime.policy.authorised import by_operator, by_runtime
from runtime.sandbox import Cage, CageSpec, Limits, Mount, bubblewrap, check

TRUE = by_operator(Exec("true"), "test")
MARK = by_operator(Shell("echo x > ran"), "test")


@pytest.fixture
def unmarked(hall: Hall) -> Iterator[Hall]:
    """A hall in which nothing may have run at the end."""
    assert not os.path.exists(f"{hall.tree}/ran")
    yield hall
    assert not os.path.exists(f"{hall.tree}/ran")


def fake(hall: Hall, text: str) -> str:
    path = f"{hall.base}/bwrap-{abs(hash(text))}"
    with open(path, "w", encoding="ascii") as file:
        file.write(
            f'#!/bin/sh\n[ "$1" = --version ] && {{ echo bubblewrap 0.11.0; exit; }}\n{text}\n'
        )
    os.chmod(path, 0o755)
    return path


def test_F33_without_bubblewrap_nothing_runs(
    unmarked: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M31A_BWRAP", "/no/such/bwrap")
    finding = check()
    assert not finding.ok and finding.backend == "none"
    assert "/no/such/bwrap" in finding.detail and "apt install bubblewrap" in finding.remedy
    with Cage(unmarked.spec()) as cage, pytest.raises(Unavailable, match="apt install bubblewrap"):
        cage.run(MARK)
    with Cage(unmarked.spec()) as cage, pytest.raises(Unavailable, match="/no/such/bwrap"):
        cage.run(MARK)


def test_F33_hidden_everywhere(unmarked: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bubblewrap, "_SYSTEM", ())
    monkeypatch.setattr(bubblewrap, "_packaged", lambda: None)
    with Cage(unmarked.spec()) as cage, pytest.raises(Unavailable, match="was not found"):
        cage.run(MARK)


@pytest.mark.parametrize(
    "text",
    ["exit 1", "exec /bin/sh -c 'echo x > ran'",
     "echo 'bwrap: setting up uid map: Permission denied' >&2; exit 1"],
    ids=["exits with 1", "does something else", "is denied"],
)  # fmt: skip
def test_F33_a_bubblewrap_that_does_not_confine_is_found_out(
    unmarked: Hall, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("M31A_BWRAP", fake(unmarked, text))
    finding = check()
    assert not finding.ok and finding.remedy
    assert "AppArmor" in finding.remedy or "denied" not in text
    with Cage(unmarked.spec()) as cage, pytest.raises(Unavailable):
        cage.run(MARK)


def test_F33_a_program_that_is_not_bubblewrap(
    unmarked: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("/bin/false", "/bin/true", "bwrap", ""):
        monkeypatch.setenv("M31A_BWRAP", path)
        with Cage(unmarked.spec()) as cage, pytest.raises(Unavailable):
            cage.run(MARK)


def test_a_set_user_id_bubblewrap_is_refused(
    unmarked: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = fake(unmarked, "exit 1")
    os.chmod(path, 0o4755)
    monkeypatch.setenv("M31A_BWRAP", path)
    with Cage(unmarked.spec()) as cage, pytest.raises(Unavailable, match="chmod u-s"):
        cage.run(MARK)


def test_the_packages_bubblewrap_works_where_the_system_has_none(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "_SYSTEM", ())
    finding = check()
    assert finding.ok and finding.facts["bubblewrap_kind"] == "package", finding
    with Cage(hall.spec()) as cage:
        result = cage.run(TRUE)
    assert result.ok and result.attestation["bubblewrap_kind"] == "package"


def test_the_finding_holds_on_this_machine(hall: Hall) -> None:
    finding = check()
    assert finding.ok and finding.backend == "bubblewrap", finding
    assert finding.facts["uid"] != 0
    with Cage(hall.spec()) as cage:
        assert cage.run(TRUE).ok


@pytest.mark.parametrize("given", [Exec("true"), "true", None, ["true"]])
def test_what_nobody_authorised_is_not_executed(hall: Hall, given: object) -> None:
    with pytest.raises(Unavailable, match="authorised"):
        hall.cage.run(given)  # type: ignore[arg-type]
    with pytest.raises(Unavailable, match="authorised"):
        hall.cage.run(by_operator(given if given != Exec("true") else 1, "test"))  # type: ignore[arg-type]


@pytest.mark.parametrize("cwd", ["..", "a/../..", "/etc", "/", "a\0b", "x" * 5000])
def test_E1_a_working_directory_outside_is_refused_before_anything_starts(
    hall: Hall, cwd: str
) -> None:
    with Cage(hall.spec()) as cage:
        with pytest.raises(BadInput) as error:
            cage.run(by_operator(Exec("true", cwd=cwd), "test"))
        assert cage.broker_pid is None and error.value.field == "cwd"


@pytest.mark.parametrize(
    "command",
    [Exec(""), Exec("a\0b"), Exec("true", ("\0",)), Exec("true", ("x" * (128 << 10),)),
     Exec("true", ("y" * 1000,) * 300), Exec("true", ("\ud800",)),
     Exec("true", env=(("LD_PRELOAD", "/x.so"),)), Exec("true", env=(("A=B", "x"),)),
     Exec("true", env=(("A", "\0"),))],
    ids=lambda command: repr(command)[:40],
)  # fmt: skip
def test_what_cannot_be_passed_on_is_refused(hall: Hall, command: Exec) -> None:
    with pytest.raises(BadInput):
        hall.cage.run(by_operator(command, "test"))


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf")])
def test_a_timeout_is_positive_and_finite(hall: Hall, timeout: float) -> None:
    with pytest.raises(BadInput, match="timeout"):
        hall.cage.run(TRUE, timeout=timeout)


def test_the_git_profile_and_env_are_the_runtimes_own(hall: Hall) -> None:
    os.makedirs(f"{hall.base}/scratch", exist_ok=True)
    scratch = Mount(f"{hall.base}/scratch", "/m31a/scratch", only="git")
    look = Shell("ls -d /m31a/scratch; echo $GIT_DIR")
    with Cage(hall.spec(None, "git", scratch)) as cage:
        for options in ({"profile": "git"}, {"env": {"GIT_DIR": "/x"}}):
            with pytest.raises(Unavailable, match="runtime"):
                cage.run(by_operator(look, "test"), **options)  # type: ignore[arg-type]
        seen = cage.run(by_runtime(look, "test"), profile="git", env={"GIT_DIR": "/m31a/git"})
        assert seen.stdout == b"/m31a/scratch\n/m31a/git\n"
        assert cage.run(by_operator(look, "test")).stdout == b"\n"
        with pytest.raises(BadInput, match="LD_PRELOAD"):
            cage.run(by_runtime(look, "test"), env={"LD_PRELOAD": "/x.so"})


def test_a_source_that_is_missing_is_named_and_nothing_runs(unmarked: Hall) -> None:
    gone = Mount(f"{unmarked.base}/gone", "/m31a/env/gone")
    named = pytest.raises(Unavailable, match=r"/gone, which belongs at /m31a/env/gone")
    with Cage(unmarked.spec(None, "gone", gone)) as cage, named:
        cage.run(MARK)


def test_a_source_that_goes_between_two_runs_is_a_failure(unmarked: Hall) -> None:
    place = f"{unmarked.base}/fleeting"
    os.makedirs(place)
    with Cage(unmarked.spec(None, "fleeting", Mount(place, "/m31a/env/f"))) as cage:
        assert cage.run(TRUE).ok
        os.rmdir(place)
        result = cage.run(TRUE)
    assert result.status is None and result.failure is not None


@pytest.mark.parametrize(
    "target",
    [f"{ROOT}/node_modules", "/", "/usr", "/proc/x", "/dev/shm", "/tmp", "a", "/a/../b", "/a/"],
)
def test_a_mount_in_a_dangerous_place_is_refused(hall: Hall, target: str) -> None:
    os.makedirs(f"{hall.base}/extra", exist_ok=True)
    spec = hall.spec(None, "danger", Mount(f"{hall.base}/extra", target))
    with Cage(spec) as cage, pytest.raises(BadInput):
        cage.run(TRUE)


def test_as_root_an_account_must_be_named(hall: Hall) -> None:
    if os.geteuid() != 0:
        pytest.skip("an ordinary account cannot start anything as root")
    for uid in (None, 0):
        spec = CageSpec(ROOT, (Mount(hall.tree, ROOT, True), Mount(hall.etc, "/etc")), uid=uid)
        with Cage(spec) as cage, pytest.raises(Unavailable, match="names no account"):
            cage.run(TRUE)


@pytest.mark.parametrize(
    "limits", [{"processes": 0}, {"wall_seconds": float("inf")}, {"memory_bytes": -1}]
)
def test_limits_are_positive_and_finite(limits: dict[str, float]) -> None:
    with pytest.raises(BadInput, match=next(iter(limits))):
        Limits(**limits)  # type: ignore[arg-type]
