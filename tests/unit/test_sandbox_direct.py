"""A cage without mounts: which paths with which rights, and where things are found."""

from __future__ import annotations

import os
from pathlib import Path

from runtime.sandbox import CageSpec, Mount, base_etc, landlock
from runtime.sandbox.direct import asks_too_much, places_of, rules, variables
from runtime.sandbox.layout import Cover
from runtime.sandbox.prepared import Prepared, placed


def spec(tmp_path: Path) -> CageSpec:
    for name in ("tree", "git", "scratch"):
        (tmp_path / name).mkdir()
    base_etc(str(tmp_path / "etc"))
    return CageSpec(
        "/home/a/p",
        (
            Mount(f"{tmp_path}/tree", "/home/a/p", writable=True),
            Mount(f"{tmp_path}/git", "/m31a/git"),
            Mount(f"{tmp_path}/scratch", "/m31a/scratch", writable=True, only="git"),
            Mount(f"{tmp_path}/etc", "/etc"),
        ),
    )


def test_rights_by_path_and_profile(tmp_path: Path) -> None:
    made = spec(tmp_path)
    tool, git = (dict(rules(made, name, "/private")) for name in ("tool", "git"))
    assert tool[f"{tmp_path}/tree".encode()] == tool[b"/private"] == landlock.CHANGE
    assert tool[f"{tmp_path}/git".encode()] == tool[b"/usr"] == landlock.READ
    assert f"{tmp_path}/scratch".encode() not in tool
    assert git[f"{tmp_path}/scratch".encode()] == landlock.CHANGE
    for path in (b"/", b"/etc", b"/tmp", b"/dev", b"/dev/shm", b"/home", b"/etc/passwd", b"/run"):
        assert path not in tool
    assert not tool[b"/proc"] & (landlock.WRITE_FILE | landlock.EXECUTE)


def test_what_may_be_changed_is_no_device_and_no_socket() -> None:
    refused = (landlock.MAKE_BLOCK, landlock.MAKE_CHARACTER, landlock.MAKE_SOCKET,
               landlock.DEVICE_CONTROL)  # fmt: skip
    assert not any(landlock.CHANGE & right for right in refused)
    assert landlock.CHANGE & landlock.REFER and landlock.CHANGE & landlock.TRUNCATE
    writing = landlock.CHANGE & ~landlock.READ
    assert not landlock.READ & writing and not landlock.LOOK & (writing | landlock.EXECUTE)


def test_places_are_where_things_really_are(tmp_path: Path) -> None:
    made = spec(tmp_path)
    places = places_of(made)
    assert placed(places, "/home/a/p") == f"{tmp_path}/tree"
    assert placed(places, "/home/a/p/x/../y") == f"{tmp_path}/tree/y"
    assert placed(places, "/m31a/git/HEAD") == f"{tmp_path}/git/HEAD"
    assert placed(places, "/home/a/project") == "/home/a/project"
    assert Prepared((), {}, places=places).place("/usr/bin") == "/usr/bin"
    assert variables(made, "/p")["GIT_CONFIG_SYSTEM"] == f"{tmp_path}/etc/gitconfig"


def test_what_is_asked_beyond_that_is_named(tmp_path: Path) -> None:
    at = str(tmp_path)
    plain = CageSpec(at, (Mount(at, at, writable=True), Mount(at, "/etc")))
    assert asks_too_much(plain, ()) == []
    assert asks_too_much(plain, (Cover(f"{at}/s", hide=True),)) == []
    assert ".git" in asks_too_much(plain, (Cover(f"{at}/.git", hide=False),))[0]
    assert "/m31a/git" in asks_too_much(spec(tmp_path), ())[0]
    os.symlink(at, tmp_path / "link")
    linked = CageSpec(at, (Mount(at, f"{at}/link", writable=True),))
    assert asks_too_much(linked, ()) == []
