"""Each matcher in both readings: refusing rules fit in doubt, permitting ones beyond doubt."""

from __future__ import annotations

from datetime import UTC, datetime
from time import process_time
from typing import Any

import pytest

from runtime.policy import Decision, Rule, RuleLayer, addresses, gitignore, windows
from runtime.policy.testing import Link, World, shell, tool

WORLD = World(
    files={
        "/tree/a/key.pem": "k",
        "/tree/a/b.txt": "x",
        "/tree/out": Link("/srv/data"),
        "/tree/alias": Link("a/key.pem"),
    },
    folders={"/tree/build", "/srv/data"},
)


def speaks(action: object, decision: Decision = Decision.DENY, **fields: Any) -> bool:
    """Whether a rule with these fields decides about the action."""
    rule = Rule("the rule", decision, **fields)
    verdict = WORLD.decide(action, layers=(RuleLayer(1, "system", (rule,)),))
    return any(stage.rule == "the rule" for stage in verdict.stages)


def permits(action: object, **fields: Any) -> bool:
    return speaks(action, Decision.ALLOW, **fields)


PUSH: dict[str, Any] = {"program": ("git",), "argv": ("push",)}


@pytest.mark.parametrize(
    ("words", "refused", "permitted"),
    [
        (["push"], True, True),
        (["push", "origin", "main"], True, True),
        (["-C", "sub", "push"], True, True),
        (["--no-pager", "push"], True, True),
        (["-c", "a=b", "push"], True, True),
        (["commit", "-m", "push"], False, False),
        (["log", "push"], False, False),
        (["Push"], False, False),
        ([], False, False),
    ],
)
def test_words_at_the_beginning(words: list[str], refused: bool, permitted: bool) -> None:
    """Of git, its own options are a command line of their own, judged apart."""
    assert speaks(tool("git", *words), **PUSH) is refused
    assert permits(tool("git", *words), **PUSH) is permitted


def test_options_before_the_words() -> None:
    install = {"program": ("npm",), "argv": ("install",)}
    for words in (["-s", "install"], ["--prefix", "x", "install"], ["--", "install"]):
        assert speaks(tool("npm", *words), **install), words
        assert not permits(tool("npm", *words), **install), words


@pytest.mark.parametrize(
    ("place", "words", "refused", "permitted"),
    [
        (1, ["install", "x"], True, True),
        (1, ["-q", "install"], True, False),
        (1, ["--cache", "dir", "install"], True, False),
        (1, ["run", "install"], False, False),
        (2, ["run", "install"], True, True),
        (2, ["run", "-s", "x", "install"], True, False),
        (-1, ["run", "install"], True, True),
        (-1, ["install", "run"], False, False),
        (-1, ["install", "-v"], True, False),
        (3, ["install"], False, False),
    ],
)
def test_words_in_their_places(
    place: int, words: list[str], refused: bool, permitted: bool
) -> None:
    rule = {"program": ("npm",), "at": ((place, ("instal*",)),)}
    assert speaks(tool("npm", *words), **rule) is refused
    assert permits(tool("npm", *words), **rule) is permitted


@pytest.mark.parametrize(
    ("flag", "words", "refused", "permitted"),
    [
        ("--force", ["push", "--force"], True, True),
        ("--force", ["push", "--force=yes"], True, True),
        ("--force", ["push", "--forc"], True, False),
        ("--force", ["push", "--force-with-lease"], False, False),
        ("--force", ["push", "-o", "--force"], True, False),
        ("--force", ["push", "--", "--force"], True, False),
        ("-f", ["push", "-f"], True, True),
        ("-f", ["push", "-uf"], True, False),
        ("-f", ["push", "-u"], False, False),
        ("--remote=o*", ["push", "--remote=origin"], True, True),
        ("--remote=o*", ["push", "--remote", "origin"], True, True),
        ("--remote=o*", ["push", "--remote=up"], False, False),
        ("--remote=o*", ["push", "--remote"], False, False),
        ("-o=ci.*", ["push", "-o", "ci.skip"], True, True),
        ("-o=ci.*", ["push", "-oci.skip"], True, False),
        ("-o=ci.*", ["push", "-o", "x"], False, False),
    ],
)
def test_flags_with_and_without_an_equals_sign(
    flag: str, words: list[str], refused: bool, permitted: bool
) -> None:
    assert speaks(tool("git", *words), program=("git",), flags=(flag,)) is refused
    assert permits(tool("git", *words), program=("git",), flags=(flag,)) is permitted


def test_a_flag_behind_one_that_takes_no_value_is_sure() -> None:
    assert permits(tool("ls", "-a", "--all"), program=("ls",), flags=("--all",))


def test_flags_that_must_not_be_there() -> None:
    dry = {**PUSH, "no_flags": ("--dry-run",)}
    assert speaks(tool("git", "push"), **dry)
    assert not speaks(tool("git", "push", "--dry-run"), **dry)
    assert speaks(tool("git", "push", "-o", "--dry-run"), **dry), "it is a value there"
    assert speaks(tool("git", "push", "--dry"), **dry), "not its own spelling"
    assert permits(tool("git", "push"), **{**PUSH, "no_flags": ("--force",)})
    assert not permits(tool("git", "push", "--forc"), **{**PUSH, "no_flags": ("--force",)})


@pytest.mark.parametrize(
    ("words", "fits"),
    [
        (["-r", "a"], True),
        (["-rq", "a"], True),
        (["-q", "--target=build"], True),
        (["-q", "--target=src"], False),
        (["-r", "-x"], False),
        (["-rx"], False),
        (["--quiet"], False),
        ([], True),
    ],
)
def test_only_these_flags(words: list[str], fits: bool) -> None:
    only = ("-r", "-q", "--target=build")
    assert permits(tool("pip", *words), program=("pip",), only_flags=only) is fits


def test_no_flags_at_all() -> None:
    assert permits(tool("rm", "x"), program=("rm",), only_flags=())
    assert not permits(tool("rm", "-r", "x"), program=("rm",), only_flags=())


def test_words_that_cannot_be_read_fit_what_refuses_only() -> None:
    for script in ("git $X", "git pus*", "git push $(x)"):
        assert speaks(shell(script), **PUSH), script
    assert not permits(shell("git pus*"), **PUSH)
    assert speaks(shell("git push *"), **PUSH, flags=("--force",)), "a file may have that name"
    assert not speaks(shell("git push *.txt"), **PUSH, flags=("--force",))


def test_programs_by_pattern_and_by_the_file_behind_them() -> None:
    assert speaks(tool("python3.12", "x.py"), program=("python3",))
    assert speaks(tool("python3.12", "x.py"), program=("python*",))
    world = World(programs={"g": "/usr/bin/git"})
    layers = (RuleLayer(1, "system", (Rule("r", Decision.DENY, program=("git",)),)),)
    verdict = world.decide(tool("g", "push"), layers=layers, allowed=frozenset({"g"}))
    assert any(stage.rule == "r" for stage in verdict.stages)


@pytest.mark.parametrize(
    ("lines", "path", "fits"),
    [
        (["*.pem"], "a/b/key.pem", True),
        (["*.pem"], "key.pem/x", True),
        (["/key.pem"], "a/key.pem", False),
        (["key.pem"], "a/key.pem", True),
        (["a/*.pem"], "a/key.pem", True),
        (["a/*.pem"], "b/a/key.pem", False),
        (["**/a/*.pem"], "b/a/key.pem", True),
        (["a/**"], "a", False),
        (["a/**"], "a/b/c", True),
        (["a/**/z"], "a/z", True),
        (["a/**/z"], "a/b/c/z", True),
        (["*.pem", "!ok.pem"], "ok.pem", False),
        (["!ok.pem", "*.pem"], "ok.pem", True),
        (["a/", "!a/ok.pem"], "a/ok.pem", True),
        (["a/*", "!a/ok.pem"], "a/ok.pem", False),
        (["file?"], "file1", True),
        (["file[0-9]"], "filex", False),
        ([r"\!x"], "!x", True),
        ([r"a\*"], "a*", True),
        ([r"a\*"], "ab", False),
        (["a/**/b/**/c"], "a/x/b/y/b/c", True),
        (["a/**/b/**/c"], "a/x/c", False),
        (["**/a/**/b"], "x/a/y/a/b", True),
        (["a/**/**/b"], "a/b", True),
        (["a/**/**/b"], "ab", False),
        (["x*y*z*.t"], "xzyz1.t", True),
        (["x*y*z*.t"], "xzy1.t", False),
        (["**"], "any/thing", True),
        (["//etc/ssl"], "/etc/ssl/x", True),
        (["//etc/ssl"], "etc/ssl/x", False),
        (["/etc/ssl"], "/etc/ssl/x", False),
        (["*.pem"], "/etc/ssl/x.pem", True),
    ],
)
def test_lines_as_git_reads_them(lines: list[str], path: str, fits: bool) -> None:
    for careful in (True, False):
        assert gitignore.covers(tuple(lines), path, careful=careful, is_directory=False) is fits


def test_hostile_paths_are_answered_at_once() -> None:
    began = process_time()
    for line in ("*a*a*a*a*a*b", "/a*/**/b*/**/*c*/**/*d"):
        for path in ("a" * 4000, "a/b/" * 1000, "ac/" * 1300):
            gitignore.covers((line, "!x"), path, careful=True, is_directory=False)
    assert process_time() - began < 1


def test_a_line_for_directories_only() -> None:
    assert gitignore.covers(("b/",), "a/b", careful=False, is_directory=True)
    assert not gitignore.covers(("b/",), "a/b", careful=False, is_directory=False)
    assert gitignore.covers(("b/",), "a/b/c", careful=False, is_directory=False)


def test_letter_case_is_no_way_around() -> None:
    assert gitignore.covers(("*.pem",), "X.PEM", careful=True, is_directory=False)
    assert not gitignore.covers(("*.pem",), "X.PEM", careful=False, is_directory=False)
    but = ("*.pem", "!ok.pem")
    assert gitignore.covers(but, "OK.pem", careful=True, is_directory=False)
    assert not gitignore.covers(but, "OK.pem", careful=False, is_directory=False)


@pytest.mark.parametrize(
    ("lines", "wild", "could"),
    [
        (["/secret"], "s*", True),
        (["/secret"], "t*", False),
        (["secret"], "a/s*", True),
        (["*.pem"], "*.py", False),
        (["*.pem"], "*", True),
        (["*.pem"], "k*m", True),
        (["/a/b/*.pem"], "a/*/key.pem", True),
        (["/a/b/*.pem"], "c/*/key.pem", False),
        (["//etc/ssl"], "/etc/s*", True),
        (["//etc/ssl"], "etc/s*", False),
        (["!secret"], "s*", False),
    ],
)
def test_lines_and_words_that_a_shell_expands(lines: list[str], wild: str, could: bool) -> None:
    assert gitignore.may_meet(tuple(lines), wild, deep=False) is could


def test_paths_after_resolution() -> None:
    pem = {"path": ("*.pem",)}
    assert speaks({"kind": "read_file", "path": "alias"}, **pem)
    assert speaks(tool("cat", "a/../alias"), **pem)
    assert not permits({"kind": "read_file", "path": "alias"}, path=("/alias",))
    assert permits({"kind": "read_file", "path": "alias"}, path=("/alias", "*.pem"))
    assert speaks(tool("cat", "out/x"), path=("//srv/data",))
    assert speaks(tool("rm", "-r", "a"), path=("/a/deep/x",)), "it goes with what holds it"
    assert not speaks(tool("cat", "a/b.txt"), path=("/a/deep/x",))


def test_the_names_above_the_worktree_are_nobodys() -> None:
    assert not speaks({"kind": "read_file", "path": "a/b.txt"}, path=("work",))


@pytest.mark.parametrize(
    ("action", "hosts"),
    [
        (tool("curl", "https://A.example.org./x"), ("a.example.org",)),
        (tool("curl", "--url=https://example.org"), ("example.org",)),
        (tool("ssh", "me@b.example.org", "ls"), ("b.example.org",)),
        (tool("git", "clone", "git@c.example.org:x/y.git"), ("c.example.org",)),
        (tool("git", "push", "origin"), ("git.example.org",)),
        ({"kind": "git_push"}, ("git.example.org",)),
        (tool("curl", "http://0x7f.1/"), ("127.0.0.1",)),
        ({"kind": "network", "method": "GET", "target": "https://d.example.org"},
         ("d.example.org",)),
        ({"kind": "network", "method": "CONNECT", "target": "e.example.org:443"},
         ("e.example.org",)),
    ],
)  # fmt: skip
def test_hosts(action: object, hosts: tuple[str, ...]) -> None:
    rule = Rule("the rule", Decision.DENY, host=hosts)
    verdict = WORLD.decide(
        action,
        layers=(RuleLayer(1, "system", (rule,)),),
        remotes={"origin": "git@git.example.org:a/b.git"},
    )
    assert any(stage.rule == "the rule" for stage in verdict.stages)
    assert not speaks(action, host=("other.org",))


def test_hosts_of_rules_that_permit_and_of_everything() -> None:
    get = {"kind": "network", "method": "GET", "target": "https://a.example.org/"}
    assert permits(get, host=("*.example.org",))
    assert not permits(get, host=("example.org",))
    assert not permits(tool("curl", "https://a.example.org", "evil.org"), host=("*.example.org",))
    assert not permits(tool("curl", "https://a.example.org", "x"), host=("*.example.org",))
    assert not permits(tool("pip", "install", "x"), host=("*",)), "nobody can say which host"
    assert speaks(tool("pip", "install", "x"), host=("*",))
    assert not speaks(tool("ls"), host=("*",))
    assert addresses.fits("[::1]", addresses.normal("::1"))


@pytest.mark.parametrize(
    ("window", "at", "inside"),
    [
        ("09:00-17:00", "2030-01-07T09:00", True),
        ("09:00-17:00", "2030-01-07T17:00", False),
        ("mon-fri 09:00-17:00", "2030-01-07T12:00", True),
        ("mon-fri 09:00-17:00", "2030-01-06T12:00", False),
        ("sat,sun 00:00-24:00", "2030-01-06T23:59", True),
        ("fri-mon 00:00-24:00", "2030-01-08T00:00", False),
        ("fri 22:00-06:00", "2030-01-05T05:59", True),
        ("fri 22:00-06:00", "2030-01-05T06:00", False),
        ("fri 22:00-06:00", "2030-01-04T05:00", False),
        ("09:00-10:00 +02:00", "2030-01-07T07:30", True),
        ("09:00-10:00 -05:30", "2030-01-07T14:45", True),
        ("mon 00:00-01:00 +02:00", "2030-01-06T22:30", True),
    ],
)
def test_windows_of_the_week(window: str, at: str, inside: bool) -> None:
    moment = datetime.fromisoformat(at).replace(tzinfo=UTC)
    assert windows.holds(window, moment) is inside


def test_roles_modes_kinds_and_tools() -> None:
    assert speaks(tool("ls"), tool=("*",), role=("implementer", "planner"))
    assert not speaks(tool("ls"), tool=("*",), role=("planner",))
    assert speaks(tool("ls"), tool=("*",), mode=("assisted",))
    assert not speaks(tool("ls"), tool=("*",), mode=("plan",))
    assert speaks(tool("ls"), tool=("*",), kind=("implementation",))
    assert not speaks(tool("ls"), tool=("run_shell",))


@pytest.mark.parametrize(
    "wrong",
    [
        {"tool": ("*",), "decision": Decision.ALLOW},
        {"tool": ("run_tool",), "flags": ("-x",)},
        {"program": ("ls",), "only_flags": ()},
        {"tool": ("run_tool",), "verbs": ("reads",)},
    ],
)
def test_rules_that_cannot_mean_what_they_say(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="rule x"):
        Rule(**{"id": "x", "decision": Decision.DENY, **wrong})
