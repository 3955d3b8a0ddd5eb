"""Which backend confines a command, what it says of itself, and when nothing runs instead."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace

import ordinary
import pytest
from cage_making import SECRET, Hall, alive, tag
from workspace_kit import Site, Values

from runtime.core.commands import Exec, Shell
from runtime.core.errors import BadInput, Unavailable
from runtime.policy.authorised import by_operator, by_runtime
from runtime.sandbox import (
    Cage,
    Limits,
    OneShot,
    Result,
    bubblewrap,
    check,
    findings,
    landlock,
    pick_uid,
)
from runtime.sandbox.cell import Cell
from runtime.workspaces import RunSpace

TRUE = by_operator(Exec("true"), "test")
needs_landlock = pytest.mark.skipif(
    landlock.version() < landlock.OLDEST, reason="this kernel has no Landlock of version 6"
)


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without bubblewrap."""
    monkeypatch.setattr(bubblewrap, "_SYSTEM", ())
    monkeypatch.setattr(bubblewrap, "_packaged", lambda: None)


@pytest.fixture
def folder(hall: Hall) -> Iterator[str]:
    """A plain directory of the run's account, that everybody can pass to."""
    where = tempfile.mkdtemp(prefix="m31a-plain-")
    os.chmod(where, 0o755)
    if hall.uid is not None:
        os.chown(where, hall.uid, hall.uid)
    yield where
    shutil.rmtree(where)


@needs_landlock
def test_without_bubblewrap_landlock_confines_what_asks_no_more(hidden: None, folder: str) -> None:
    finding = check()
    assert finding.ok and finding.backend == "landlock", finding
    with OneShot(folder) as shot:
        result = shot.run(by_operator(Shell("pwd; echo x > made; cat /etc/passwd"), "test"))
    assert result.text() == f"{folder}\n" and os.path.exists(f"{folder}/made")
    facts = result.attestation
    assert facts["backend"] == "landlock" and facts["landlock_version"] >= 6
    assert "landlock:files,tcp,signals,abstract-sockets" in str(facts["layers"])
    assert {"F20", "W08", "W09", "W12", "W23", "P30"} <= set(str(facts["not_held"]).split())
    report = result.report()["sandbox"]
    assert isinstance(report, dict) and report["not_held"] == facts["not_held"]


@needs_landlock
def test_what_asks_for_more_than_landlock_gives_is_refused(
    hall: Hall, hidden: None, folder: str
) -> None:
    """Places of its own, and a repository that stays read-only inside a writable directory."""
    with Cage(hall.spec()) as cage, pytest.raises(Unavailable) as error:
        cage.run(by_operator(Shell("echo x > ran"), "test"))
    assert "bubblewrap was not found" in error.value.message
    assert "--sandbox landlock" in error.value.remedy
    os.mkdir(f"{folder}/.git")
    with OneShot(folder) as shot, pytest.raises(Unavailable, match="read-only inside"):
        shot.run(by_operator(Shell("echo x > ran"), "test"))
    assert not os.path.exists(f"{hall.tree}/ran") and not os.path.exists(f"{folder}/ran")


@needs_landlock
def test_the_owner_of_the_files_can_accept_landlock(hall: Hall, hidden: None) -> None:
    with Cage(replace(hall.spec(), accepts="landlock")) as cage:
        result = cage.run(by_operator(Shell(f"pwd; cat {hall.secret}; id -u"), "test"))
    assert result.attestation["backend"] == "landlock"
    assert SECRET not in result.text() and result.text().startswith(f"{hall.tree}\n")


def test_where_bubblewrap_works_an_accepted_weaker_backend_is_not_used(hall: Hall) -> None:
    with Cage(replace(hall.spec(), accepts="landlock")) as cage:
        assert cage.run(TRUE).attestation["backend"] == "bubblewrap"


@needs_landlock
def test_the_operator_can_pin_landlock(hall: Hall, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("M31A_SANDBOX", "landlock")
    with Cage(hall.spec()) as cage:
        assert cage.run(TRUE).attestation["backend"] == "landlock"


def test_a_pinned_backend_is_used_or_nothing_runs(
    hall: Hall, hidden: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M31A_SANDBOX", "bubblewrap")
    spec = replace(hall.spec(), accepts="none")
    with Cage(spec) as cage, pytest.raises(Unavailable, match="was not found"):
        cage.run(TRUE)


@pytest.mark.parametrize("name", ["none", "", "firejail", "Landlock"])
def test_an_unknown_pin_and_none_for_everybody_are_refused(
    hall: Hall, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("M31A_SANDBOX", name)
    assert not check().ok and "M31A_SANDBOX" in check().detail
    with Cage(hall.spec()) as cage, pytest.raises(BadInput, match="M31A_SANDBOX"):
        cage.run(TRUE)


def test_without_any_backend_nothing_runs_and_both_reasons_are_said(
    hall: Hall, hidden: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(landlock, "version", lambda: 5)
    finding = check()
    assert not finding.ok and finding.backend == "none"
    assert "bubblewrap was not found" in finding.detail and "version 5" in finding.detail
    with Cage(hall.spec()) as cage, pytest.raises(Unavailable, match="version 5"):
        cage.run(TRUE)


def test_none_only_where_it_was_accepted_and_it_says_so(hall: Hall) -> None:
    mark = tag()
    with Cage(replace(hall.spec(), accepts="none")) as cage:
        result = cage.run(by_operator(Shell(f"id -u; (setsid sleep {mark} &)"), "test"))
        assert cage.run(by_operator(Exec("sleep", (mark,)), "test"), timeout=0.2).timed_out
    assert result.attestation["backend"] == "none" and result.attestation["network"] == "open"
    assert result.text() == f"{os.geteuid() if hall.uid is None else hall.uid}\n"
    assert alive(mark) == []
    with Cage(replace(hall.spec(), accepts="jail")) as cage, pytest.raises(BadInput, match="jail"):
        cage.run(TRUE)


def test_every_backend_of_the_machine_is_found_out() -> None:
    found = findings()
    assert found["bubblewrap"].ok
    assert found["landlock"].ok == (landlock.version() >= landlock.OLDEST)
    for finding in found.values():
        assert finding.detail and (finding.ok or finding.remedy)


@needs_landlock
def test_where_namespaces_are_refused_landlock_is_found_by_itself() -> None:
    """As in a container that refuses them: made by bubblewrap itself, around the whole server."""
    outer = shutil.which("bwrap")
    if not outer:
        pytest.skip("bubblewrap is not installed: nothing here can take the namespaces away")
    with ordinary.person() as person:
        around = [outer, "--dev-bind", "/", "/", "--unshare-user", "--disable-userns", "--"]
        done = person.run(*around, *person.script("locked_in.py"))
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.rpartition("ANSWER ")[2])
    assert answer["ok"] and answer["backend"] == answer["facts"]["backend"] == "landlock"
    assert (answer["ran"], answer["seen"]) == (["made"], "")
    assert "read-only inside" in answer["refused"] and "M31A_SANDBOX=landlock" in answer["remedy"]
    assert "namespace" in answer["refused"]


@needs_landlock
@pytest.mark.skipif(os.geteuid() != 0, reason="about the server as root")
def test_root_of_a_container_without_namespaces_confines_by_landlock() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    path = f"{os.path.dirname(os.path.dirname(here))}:{here}"
    done = subprocess.run(
        [sys.executable, "-B", f"{here}/locked_root.py", f"{here}/locked_in.py"],
        env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=60,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout.rpartition("ANSWER ")[2])
    assert answer["backend"] == answer["facts"]["backend"] == "landlock"
    assert (answer["ran"], answer["seen"], answer["facts"]["uid"]) == (["made"], "", 61234)
    assert "cannot pass" in answer["closed"] and "read-only inside" in answer["refused"]


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    """A workspace whose run is confined by Landlock."""
    monkeypatch.setenv("M31A_SANDBOX", "landlock")
    made = Site()
    made.write("a.txt", "one\n")
    made.write(".venv/bin/tool", "#!/bin/sh\necho tool\n").chmod(0o755)
    made.write(".gitignore", ".venv\n")
    made.commit()
    yield made
    made.close()


@needs_landlock
def test_a_run_works_under_landlock(site: Site) -> None:
    """The same trees, commits and looks; paths are the machine's."""
    base = site.start(environments=(str(site.root / ".venv"),))
    done = site.sh("pwd; tool; echo two >> a.txt; git status --short; git log --oneline | wc -l")
    assert done.text() == f"{site.files.tree}\ntool\n M a.txt\n1\n", done
    point = site.take(base)
    assert "+two" in site.files.diff(base, point.tree)
    refused = site.sh("git commit -qam x; git config a.b c; touch .venv/bin/x; cat ../git/HEAD")
    assert any(why in refused.text("stderr") for why in ("ermission denied", "ead-only"))
    assert site.files.repository.head() == base and os.listdir(site.root / ".venv/bin") == ["tool"]
    assert "two" in site.files.restore(site.cage, base)
    assert site.sh("cat a.txt").text() == "one\n"
    sight = site.files.sight()
    assert sight.facts("a.txt").inside and sight.facts(str(site.files.tree / "a.txt")).inside
    assert (sight.which("tool") or "").endswith("/.venv/bin/tool")
    assert not sight.facts(str(site.files.folder / "git" / "HEAD")).inside


@needs_landlock
def test_two_runs_see_nothing_of_each_other_under_landlock(site: Site) -> None:
    site.start()
    other = site.base / "data" / "runs" / "other"
    space = RunSpace(other, Values(str(site.root)), pick_uid(()), etc=site.base / "etc")
    space.create("01hyyyyyyyyyyyyyyyyyyyyyyy")
    (other / "tree" / "secret").write_text(SECRET)
    os.chmod(other / "tree" / "secret", 0o644)
    seen = site.sh(f"cat {other}/tree/secret; ls {other} {site.root} {site.base}; ls ../scratch")
    assert seen.text() == ""
    scratch = by_runtime(Shell(f"ls {site.files.folder}/scratch"), "test")
    assert site.cage.run(scratch, profile="git").status == 0
    assert site.cage.run(scratch).status != 0


@needs_landlock
def test_the_private_directory_of_a_cage_goes_with_it(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M31A_SANDBOX", "landlock")
    deep = "mkdir -p $HOME/a/b && echo x > $TMPDIR/f && chmod 0 $HOME/a && echo $HOME"
    with Cage(hall.spec(Limits())) as cage:
        home = cage.run(by_operator(Shell(deep), "test")).text().strip()
        assert os.path.isdir(home)
    assert not os.path.exists(os.path.dirname(home))


def test_without_walls_a_command_that_kills_its_keeper_takes_no_other_along(hall: Hall) -> None:
    mark, stop = tag(), threading.Event()
    with Cell(hall.spec(), backend="none") as cell:

        def others() -> None:
            while not stop.is_set():
                done.append(cell.run(TRUE))

        done: list[Result] = []
        threads = [threading.Thread(target=others) for _ in range(3)]
        for thread in threads:
            thread.start()
        murder = by_operator(Shell(f"kill -9 $PPID; sleep 600; : {mark}"), "test")
        told = [cell.run(murder, timeout=20) for _ in range(8)]
        stop.set()
        for thread in threads:
            thread.join()
        assert {one.failure for one in told} == {
            "The command was not completed: the process that watched it was killed."
        }
        assert done and all(one.ok for one in done)
        assert alive(mark) == []
