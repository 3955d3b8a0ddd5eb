"""What the gate is told about paths and programs is what commands in the cage would meet."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
from workspace_kit import Site

from runtime.core.digests import sha256
from runtime.policy.facts import Facts


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    made = Site()
    made.write("src/a.py", "a = 1\n")
    made.write("run.sh", "#!/bin/sh\n").chmod(0o755)
    made.write(".venv/pyvenv.cfg", "")
    made.write(".venv/bin/tool", "#!/bin/sh\n").chmod(0o755)
    made.write(".gitignore", ".venv\n")
    made.commit()
    made.start(environments=(str(made.root / ".venv"),))
    made.sh(
        "ln -s src/a.py in; ln -s /etc/passwd out; ln -s loop loop; ln -s .. up; mkfifo pipe;"
        " ln -s $PWD/src folder; ln -s missing/x dangling; ln -s /usr/bin/env tool-link"
    )
    yield made
    made.close()


def test_facts(site: Site) -> None:
    root, look = str(site.root), site.files.sight().facts
    text = Facts("file", f"{root}/src/a.py", True, sha256(b"a = 1\n"))
    for path in ("src/a.py", "./src//a.py", "src/../src/a.py", "in", "folder/a.py",
                 f"{root}/src/a.py", f"../{site.root.name}/in"):  # fmt: skip
        assert look(path) == text, path
    assert look("run.sh").executable
    assert look(".") == look(root) == Facts("dir", root, True)
    assert look("folder") == Facts("dir", f"{root}/src", True)
    assert look("new/file") == Facts("missing", f"{root}/new/file", True)
    assert look("dangling") == Facts("missing", f"{root}/missing/x", True)
    assert look("src/a.py/x").type == "missing"
    assert look("pipe").type == "other"
    assert look("loop").type == "error"
    assert look("a\0b").type == "error"
    assert look("out") == Facts("file", "/etc/passwd", False)
    assert look("up/x").inside is False
    assert look("../x") == Facts("missing", str(site.base / "x"), False)
    assert look("tool-link").executable and not look("tool-link").inside
    assert look("/usr/bin") == Facts("dir", "/usr/bin", False)
    # A mounted environment is no part of the worktree, whatever name leads there.
    assert look(".venv/bin/tool").resolved == "/m31a/env/.venv/bin/tool"
    assert look(".venv/bin/tool").inside is False


def test_links_that_a_pattern_meets(site: Site) -> None:
    root, links = str(site.root), site.files.sight().links
    found = {facts.resolved.removeprefix(f"{root}/") for facts in links(f"{root}/*")}
    assert found == {"in", "out", "loop", "up", "folder", "dangling", "tool-link"}
    assert links(f"{root}/o*") == (Facts("link", f"{root}/out", False),)
    assert links(f"{root}/u*/x*") == (Facts("link", f"{root}/up/x*", False),)
    assert links(f"{root}/f*/*.py") == (Facts("link", f"{root}/folder/*.py", True),)
    assert links(f"{root}/s*/*.py") == links(f"{root}/no*/x") == links(f"{root}/i*/x") == ()
    assert links("/etc/*") == ()


def test_a_name_that_is_no_text_leaves_open_what_a_pattern_becomes(site: Site) -> None:
    site.sh(
        "mkdir odd; ln -s /etc/passwd odd/$(printf 'l\\377'); touch odd/$(printf 'f\\377');"
        " ln -s $(printf 'f\\377') odd/to"
    )
    sight = site.files.sight()
    assert [facts.type for facts in sight.links(f"{site.root}/odd/l*")] == ["error"]
    assert sight.facts("odd/to") == Facts("error", f"{site.root}/odd/to", False)


def test_nothing_of_the_host_outside_the_cage_is_seen(site: Site) -> None:
    look = site.files.sight().facts
    secret = site.base / "secret"
    secret.write_text("x")
    for path in (
        str(secret),
        "/var/lib/keys",
        "/var/log",
        str(site.files.tree),
        "/m31a/scratch/index",
    ):
        assert look(path).type == "missing", path
    assert look("/etc/shadow").type == "missing"


def test_which_is_what_the_cage_runs(site: Site) -> None:
    which = site.files.sight().which
    assert which("tool") == "/m31a/env/.venv/bin/tool"
    assert which("nowhere") is None
    assert which("./run.sh") is None and which("") is None
    for name in ("sh", "env", "git", "python3"):
        done = site.sh(f"readlink -f $(command -v {name})")
        assert which(name) == done.text().strip(), name
    assert os.path.isabs(which("sh") or "")
