"""The operator's checkout stays as it is, and git runs nothing that a run or a repository planted."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from workspace_kit import BRANCH, Site, state_of

from runtime.core.actions import GitDiff, GitLog, GitShow, GitStatus
from runtime.core.errors import Refused
from runtime.policy.authorised import by_gate
from runtime.workspaces import verbs


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    made.write("a.txt", "one\n")
    made.commit()
    yield made
    made.close()


def test_the_operators_checkout_is_untouched_by_a_whole_run(site: Site) -> None:
    site.write("a.txt", "uncommitted\n")
    site.write("untracked.txt", "x")
    os.mkdir(site.root / "node_modules")
    site.write(".gitignore", "node_modules\n")
    before = state_of(site.root)
    base = site.start(environments=(str(site.root / "node_modules"),))
    site.sh("echo changed > a.txt; rm -rf node_modules/*; git commit -am x; git config a.b c")
    point = site.take(base)
    site.files.restore(site.cage, base)
    site.files.fresh(point.tree).remove()
    assert state_of(site.root) == before


def test_files_that_are_not_committed_are_counted(site: Site) -> None:
    site.write(".gitignore", "*.log\n")
    site.write("b.txt", "b\n")
    site.write("c.txt", "c\n")
    site.commit()
    os.utime(site.root / "c.txt", (1, 1))  # touched, not changed
    site.write("a.txt", "changed\n")
    site.write("new.txt", "untracked")
    site.write("x.log", "ignored")
    site.write("staged.txt", "staged")
    site.git("add", "staged.txt")
    (site.root / "b.txt").unlink()
    site.start()
    assert site.uncommitted == 4  # a.txt, new.txt, staged.txt, b.txt
    assert site.sh("cat a.txt b.txt; ls").text() == "one\nb\na.txt\nb.txt\nc.txt\n"


def test_a_clean_checkout_counts_nothing(site: Site) -> None:
    site.start()
    assert site.uncommitted == 0


def test_filters_monitors_and_hooks_of_a_repository_never_run(site: Site) -> None:
    mark = site.base / "ran"
    evil = f"touch {mark}; cat"
    hook = site.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    for name in ("post-checkout", "pre-commit", "post-commit", "pre-push", "reference-transaction"):
        path = hook.with_name(name)
        path.write_text(f"#!/bin/sh\n{evil} </dev/null\n")
        path.chmod(0o755)
    site.write(".gitattributes", "*.txt filter=evil diff=evil merge=evil ident text eol=crlf\n")
    for key in ("filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
                "diff.evil.textconv", "diff.external", "core.fsmonitor"):  # fmt: skip
        site.git("config", key, evil)
    site.write("a.txt", "dirty\n")
    os.utime(site.root / "a.txt", (1, 1))
    mark.unlink(missing_ok=True)
    base = site.start()
    site.sh("echo '$Id: payload $' > a.txt; printf 'x\\r\\n' > b.txt")
    point = site.take(base)
    assert "payload" in site.files.diff(base, point.tree)
    made = site.files.commit(point.tree, base, "m", BRANCH)
    assert site.files.repository.objects.blob(point.tree, ("b.txt",)) == b"x\r\n"
    remote = site.base / "remote.git"
    site.git("init", "-q", "--bare", str(remote))
    assert site.files.push("origin", str(remote), "main", made, None).ok
    assert not mark.exists()


def test_what_a_command_plants_is_not_run_by_the_server(site: Site) -> None:
    base = site.start()
    site.sh(
        "mkdir evil && printf '[core]\\nfsmonitor = touch /m31a/mark\\n' > evil/config;"
        " rm .git; printf 'gitdir: %s/evil\\n' \"$PWD\" > .git;"
        " printf '* filter=evil\\n' > .gitattributes"
    )
    point = site.take(base)
    paths = [path for _, path in site.files.changed_files(base, point.tree)]
    assert paths == [".gitattributes", "evil/config"]
    site.files.restore(site.cage, base)
    assert site.sh("cat .git; git status --short").text() == "gitdir: /m31a/git\n"


def test_commands_can_read_the_view_and_write_nothing_of_it(site: Site) -> None:
    base = site.start()
    before = state_of(site.files.repository.path)
    done = site.sh(
        "git commit --allow-empty -m x; git checkout -b y; git update-ref refs/heads/z HEAD;"
        " git config a.b c; touch /m31a/git/x; rm -rf /m31a/git/refs; ls /m31a"
    )
    assert "Read-only file system" in done.text("stderr")
    assert done.text() == "git\n"  # no scratch directory
    assert state_of(site.files.repository.path) == before
    assert site.files.repository.head() == base


def test_git_that_reads_shows_the_runs_changes(site: Site) -> None:
    site.start()
    site.sh("echo two >> a.txt; echo new > new.txt")

    def run(action: object) -> str:
        done = site.cage.run(by_gate(verbs.command(action), "action"))  # type: ignore[arg-type]
        assert done.ok, done
        return done.text()

    assert run(GitStatus(kind="git_status")).splitlines()[1:] == [" M a.txt", "?? new.txt"]
    assert "+two" in run(GitDiff(kind="git_diff"))
    assert run(GitDiff(kind="git_diff", path="new.txt")) == ""
    assert "a commit" in run(GitLog(kind="git_log", limit=1))
    assert "+one" in run(GitShow(kind="git_show", rev="HEAD"))
    assert run(GitShow(kind="git_show", rev="HEAD", path="./a.txt")) == "one\n"
    for rev in ("--output=x", "-p", ":a.txt", "HEAD x"):
        with pytest.raises(Refused, match="no revision"):
            verbs.command(GitShow(kind="git_show", rev=rev))


@pytest.mark.skipif(os.geteuid() != 0, reason="about the server as root")
def test_a_strict_umask_and_a_strangers_repository_are_no_obstacle(site: Site) -> None:
    for where, folders, files in os.walk(site.root):
        for name in [".", *folders, *files]:
            os.chown(os.path.join(where, name), 61001, 61001)
    (site.root).chmod(0o700)
    before = os.umask(0o077)
    try:
        base = site.make()
    finally:
        os.umask(before)
    site.sh("true")
    os.umask(0o077)
    try:
        site.files.populate(site.cage, base)
        point = site.edit("new/b.txt", "b\n", base)
        assert point is not None
        made = site.files.commit(point.tree, base, "m", BRANCH)
        assert site.take(made).tree == point.tree
    finally:
        os.umask(before)
    done = site.sh("cat a.txt new/b.txt; git log --oneline | wc -l; git status --short; id -u")
    assert done.text() == "one\nb\n2\n1000\n", done
    assert (site.files.tree / "new/b.txt").stat().st_uid == site.uid
