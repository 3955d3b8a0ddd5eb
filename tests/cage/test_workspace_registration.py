"""What `workspace add` finds out, and what it refuses before anything is registered."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from workspace_kit import Site

from runtime.core.errors import BadInput
from runtime.policy.programs import DEFAULT_PROGRAMS
from runtime.workspaces import advice, prepare, sample


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    made.write("a.txt", "one\n")
    made.commit()
    yield made
    made.close()


def test_everything_of_a_repository_is_found(site: Site) -> None:
    site.write(".venv/pyvenv.cfg", "home = /usr/bin\n")
    site.write("node_modules/x/index.js", "")
    site.write("venv/readme", "a directory that is called so")
    site.git("remote", "add", "origin", "../origin.git")
    site.git("remote", "add", "hub", "git@example.org:team/project.git")
    site.git("remote", "add", "web", "https://example.org/project")
    site.git("remote", "add", "secret", "https://user:password@example.org/project")
    site.git("remote", "add", "token", "https://a-token@example.org/project")
    site.git("remote", "add", "odd", "ext::sh -c x")
    values = prepare(
        "calc",
        str(site.root) + "/./",
        verify=["python3 -m unittest -q", "sh -c 'exit 0'"],
        allow=["terraform"],
    )
    assert values == {
        "name": "calc",
        "root": str(site.root),
        "is_git": True,
        "allowed": sorted(DEFAULT_PROGRAMS | {"terraform"}),
        "verify": [["python3", "-m", "unittest", "-q"], ["sh", "-c", "exit 0"]],
        "environments": [str(site.root / ".venv"), str(site.root / "node_modules")],
        "remotes": {
            "hub": "git@example.org:team/project.git",
            "origin": str(site.base / "origin.git"),
            "web": "https://example.org/project",
        },
        "limits": {},
        "hosts": [],
        "retention": "redacted",
        "sandbox": "",
    }
    said = advice(str(site.root), True, values["verify"])
    assert len(said) == 3 and all("@" not in line for line in said)
    assert any("can never finish" in line for line in advice(str(site.root), True, []))


def test_allow_only_replaces_the_preset(site: Site) -> None:
    assert prepare("x", str(site.root), allow_only=["make"])["allowed"] == ["make"]


def test_a_verification_program_is_looked_up_in_the_cage_and_not_run(site: Site) -> None:
    mark = site.base / "ran"
    site.write("check", f"#!/bin/sh\ntouch {mark}\n").chmod(0o755)
    site.write(".venv/pyvenv.cfg", "")
    site.write(".venv/bin/mytool", f"#!/bin/sh\ntouch {mark}\n").chmod(0o755)
    assert prepare("x", str(site.root), verify=["./check --all", "mytool", "/usr/bin/env true"])
    assert not mark.exists()
    hidden = site.base / "bin" / "hidden"
    hidden.parent.mkdir()
    hidden.write_text("#!/bin/sh\n")
    hidden.chmod(0o755)
    site.write("plain", "")
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{hidden.parent}:{path}"
    try:
        for command in ("hidden", str(hidden), "nowhere -x", "./missing", "./plain", "cd /", "if"):
            with pytest.raises(BadInput, match="does not exist in the cage") as caught:
                prepare("x", str(site.root), verify=["true", command])
            assert caught.value.field == "verify"
            assert repr(command.split()[0]) in caught.value.message
    finally:
        os.environ["PATH"] = path


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("name", {"name": "a/b"}),
        ("name", {"name": ""}),
        ("name", {"name": "-x"}),
        ("path", {"path": "missing"}),
        ("path", {"path": "project/a.txt"}),
        ("path", {"path": "/"}),
        ("path", {"path": "/usr/lib"}),
        ("path", {"path": "/tmp"}),
        ("path", {"path": "empty"}),
        ("path", {"path": "bare.git"}),
        ("verify", {"verify": ["'open"]}),
        ("verify", {"verify": [" "]}),
        ("allow", {"allow": ["/bin/x"]}),
        ("allow_only", {"allow_only": ["a b"]}),
        ("env", {"env": ["missing"]}),
        ("env", {"env": [".."]}),
        ("env", {"env": ["a b"]}),
        ("retention", {"retention": "some"}),
        ("limits", {"limits": {"memory": 1}}),
    ],
)
def test_bad_input_names_field_value_and_remedy(
    site: Site, field: str, given: dict[str, object]
) -> None:
    (site.base / "empty").mkdir()
    site.git("init", "-q", str(site.base / "empty"))
    site.git("init", "-q", "--bare", str(site.base / "bare.git"))
    (site.root / "a b").mkdir()
    wish: dict[str, object] = {"name": "x", "path": "project"} | given
    if not str(wish["path"]).startswith("/"):
        wish["path"] = str(site.base / str(wish["path"]))
    with pytest.raises(BadInput) as caught:
        prepare(**wish)  # type: ignore[arg-type]
    assert caught.value.field == field
    assert caught.value.remedy
    assert caught.value.exit_code == 2


def test_a_directory_inside_a_repository_is_a_plain_directory(site: Site) -> None:
    site.write("part/x", "x")
    values = prepare("x", str(site.root / "part"), verify=["true"])
    assert values["is_git"] is False and values["remotes"] == {}
    assert "copied as a plain directory" in advice(values["root"], False, [["true"]])[0]


def test_the_sample_is_made_once_fails_and_can_be_mended(tmp_path: Path) -> None:
    from runtime.core.actions import parse
    from runtime.providers import script

    root = sample.make(tmp_path / "sample")
    assert sample.make(tmp_path / "sample") == root
    values = prepare(sample.NAME, str(root), verify=[sample.VERIFY])
    assert values["remotes"] == {"origin": str(root.parent / "calc.git")}
    assert advice(values["root"], True, values["verify"]) == []
    lines = script.parse(sample.sample_script())
    kinds = [parse(line.action).body()["kind"] for line in lines]
    assert kinds == [
        "read_file", "replace_text", "finish", "git_commit", "git_push", "verify", "finish",
    ]  # fmt: skip

    site = Site()
    try:
        site.root = root
        base = site.start()
        assert site.uncommitted == 0
        assert site.sh(sample.VERIFY).status == 1
        edit = parse(lines[1].action)
        text = site.files.editor().plan(edit).after.decode()  # type: ignore[arg-type]
        site.edit("calc/numbers.py", text, base)
        done = site.sh(sample.VERIFY)
        assert done.status == 0, done
        assert not site.files.changed_files(base, site.take(base).tree)[1:]
    finally:
        site.close()
