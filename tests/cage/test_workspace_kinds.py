"""Directories of every kind a run can start from, with their environments and remotes."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest
from workspace_kit import BRANCH, RUN, Site, Values

from runtime.core.errors import BadInput, Refused
from runtime.workspaces import RunSpace


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    yield made
    made.close()


def test_a_directory_that_is_no_repository_is_copied(site: Site) -> None:
    site.write("src/a.py", "a\n")
    site.write('odd "name"\n\\é', "odd")
    site.write("run", "#!/bin/sh\necho ran\n").chmod(0o700)
    site.write("vendor/lib/b", "b")
    site.git("init", "-q", "vendor/lib")
    os.symlink("/etc/passwd", site.root / "link")
    os.mkfifo(site.root / "pipe")
    site.write(".gitignore", "*.log\n")
    site.write("x.log", "ignored")
    base = site.start(is_git=False)
    assert site.left_out == ["pipe", "vendor/lib/.git"]
    assert site.uncommitted == 0
    done = site.sh("./run; readlink link; cat vendor/lib/b; git status --short; ls -A")
    assert done.text().splitlines()[:2] == ["ran", "/etc/passwd"]
    assert "x.log" not in done.text()
    assert not site.take(base).changed
    assert site.files.editor().read('odd "name"\n\\é') == b"odd"


def test_an_empty_directory_is_a_start_too(site: Site) -> None:
    base = site.start(is_git=False)
    point = site.edit("a", "x", base)
    assert point is not None
    assert site.take(base).tree == point.tree


def test_a_repository_without_a_commit_is_bad_input_and_leaves_nothing(site: Site) -> None:
    site.git("init", "-q")
    with pytest.raises(BadInput, match="no commit") as caught:
        site.start()
    assert "git commit" in caught.value.remedy
    assert not site.files.folder.exists()


def test_a_directory_that_is_gone_is_bad_input(site: Site) -> None:
    space = RunSpace(site.base / "data", Values(str(site.base / "gone")), site.uid, etc=site.base)
    with pytest.raises(BadInput, match="is gone"):
        space.create(RUN)
    assert not space.folder.exists()


def test_a_linked_worktree_and_a_detached_head_are_repositories(site: Site) -> None:
    site.write("a", "1")
    first = site.commit()
    site.write("a", "2")
    site.commit()
    site.git("worktree", "add", "-q", "--detach", str(site.base / "linked"), first)
    site.root = site.base / "linked"
    assert site.start() == first
    assert site.sh("cat a; git rev-parse --abbrev-ref HEAD").text() == f"1m31a/{RUN}\n"


def test_a_repository_that_borrows_objects_is_copied_whole(site: Site) -> None:
    site.write("a", "1")
    site.commit()
    site.git("clone", "-q", "--shared", str(site.root), str(site.base / "borrowing"))
    original, site.root = site.root, site.base / "borrowing"
    base = site.start()
    original.rename(site.base / "moved")
    assert site.sh("git show HEAD:a").text() == "1"
    assert not site.take(base).changed


def test_environments_are_linked_in_read_only_and_no_part_of_the_tree(site: Site) -> None:
    site.write(".gitignore", ".venv/\nnode_modules/\n")
    site.write(".venv/bin/tool", "#!/bin/sh\necho tool of $0\n").chmod(0o755)
    site.write(".venv/pyvenv.cfg", f"home = {os.path.dirname(sys.executable)}\n")
    site.write("web/node_modules/.bin/lint", "#!/bin/sh\necho lint\n").chmod(0o755)
    site.write("web/index.js", "")
    site.commit()
    base = site.start(environments=(str(site.root / ".venv"), str(site.root / "web/node_modules")))
    done = site.sh("tool; lint; readlink .venv web/node_modules; touch .venv/x; ls .venv")
    assert done.text().splitlines() == [
        "tool of /m31a/env/.venv/bin/tool", "lint", "/m31a/env/.venv", "/m31a/env/node_modules",
        "bin", "pyvenv.cfg",
    ]  # fmt: skip
    assert not site.take(base).changed
    assert site.files.editor().list_dir().text().startswith(".gitignore")
    # A command may replace the link; what leads PATH is the mount, and the link comes back.
    site.sh("rm .venv; mkdir -p .venv/bin; printf '#!/bin/sh\\necho evil\\n' > .venv/bin/tool;"
            " chmod +x .venv/bin/tool")  # fmt: skip
    assert site.sh("tool").text() == "tool of /m31a/env/.venv/bin/tool\n"
    site.files.renew_links()
    assert site.sh("readlink .venv").text() == "/m31a/env/.venv\n"


def test_an_environment_that_is_committed_is_left_as_it_is(site: Site) -> None:
    site.write("node_modules/a/index.js", "x")
    site.commit()
    base = site.start(environments=(str(site.root / "node_modules"),))
    assert site.sh("cat node_modules/a/index.js; ls /m31a").text() == "xgit\n"
    assert not site.take(base).changed


class TestPush:
    @pytest.fixture
    def remote(self, site: Site) -> str:
        site.write("a", "1\n")
        site.commit()
        path = str(site.base / "remote.git")
        site.git("clone", "-q", "--bare", str(site.root), path)
        return path

    def commit(self, site: Site) -> tuple[str, str]:
        base = site.start()
        point = site.edit("a", "2\n", base)
        assert point is not None
        return base, site.files.commit(point.tree, base, "two", BRANCH)

    def test_a_commit_reaches_the_remote_once(self, site: Site, remote: str) -> None:
        base, made = self.commit(site)
        for ref in ("main", "topic/new", "main"):
            result = site.files.push("origin", remote, ref, made, None)
            assert (result.outcome, result.ok) == ("done", True), result
        assert "already" in result.text
        assert site.git("rev-parse", "main", "topic/new", cwd=site.base / "remote.git") == (
            f"{made}\n{made}"
        )
        assert base != made

    def test_a_remote_that_moved_on_is_not_overwritten(self, site: Site, remote: str) -> None:
        base, made = self.commit(site)
        site.write("b", "theirs\n")
        theirs = site.commit()
        site.git("push", "-q", remote, "main")
        with pytest.raises(Refused, match="does not follow"):
            site.files.push("origin", remote, "main", made, None)
        assert site.files.push("origin", remote, "main", made, base).outcome == "rejected"
        assert site.git("rev-parse", "main", cwd=site.base / "remote.git") == theirs

    def test_hooks_of_a_local_remote_do_not_run(self, site: Site, remote: str) -> None:
        _, made = self.commit(site)
        mark = site.base / "ran"
        for name in ("pre-receive", "update", "post-receive", "post-update"):
            path = site.base / "remote.git" / "hooks" / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"#!/bin/sh\ntouch {mark}\n")
            path.chmod(0o755)
        assert site.files.push("origin", remote, "main", made, None).ok
        assert not mark.exists()

    def test_strange_addresses_and_refs_are_refused(self, site: Site, remote: str) -> None:
        _, made = self.commit(site)
        for url, ref in (
            ("ext::sh -c 'touch /tmp/x'", "main"),
            ("--upload-pack=x", "main"),
            ("http://example.org/x", "main"),
            ("git://example.org/x", "main"),
            ("fd::17/foo", "main"),
            (remote, "-f"),
            (remote, "a..b"),
            (remote, "main:other"),
            (remote, "refs/notes/x"),
            (remote, "+main"),
            (remote, "x.lock"),
        ):
            with pytest.raises(Refused):
                site.files.push("origin", url, ref, made, None)
