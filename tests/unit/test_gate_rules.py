"""Rules of the layers 1 to 7, path patterns, and the hashes that cover them."""

from __future__ import annotations

from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import Any

import pytest

from runtime.core import canonical
from runtime.policy import Decision, Rule, RuleLayer, policy_hash, worst
from runtime.policy.patterns import covers, may_cover_below
from runtime.policy.reading import Verb
from runtime.policy.testing import World, shell, tool

A, Q, E, D = Decision.ALLOW, Decision.ASK, Decision.ESCALATE, Decision.DENY
WORLD = World(files={"/tree/secret": "s", "/tree/src/a.py": "x", "/tree/pkg/deep/b.txt": "x"})


def ruled(action: object, *rules: Rule, number: int = 3, **more: Any) -> Decision:
    return WORLD.decide(action, layers=(RuleLayer(number, "x", rules),), **more).decision


def test_decisions_are_ordered() -> None:
    assert A < Q < E < D and D > E >= Q and A <= A
    assert worst([A, None, E, Q]) is E and worst([]) is A


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("src", "src", True),
        ("src", "src/a/b.py", True),
        ("src/", "src/a", True),
        ("./src", "src/a", True),
        ("src", "srcs/a", False),
        ("src", "lib/src", False),
        ("*.py", "a/b/c.py", True),
        ("*.py", "a.pyc", False),
        ("src/*.py", "src/a.py", True),
        ("src/*.py", "src/sub/a.py", False),
        ("src/**/*.py", "src/sub/deep/a.py", True),
        ("src/**/*.py", "src/a.py", True),
        ("src/**", "src/x/y", True),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab].txt", "b.txt", True),
        ("[!ab].txt", "c.txt", True),
        ("[!ab].txt", "a.txt", False),
        ("[].txt", "[].txt", True),
        ("/etc", "/etc/x", True),
        (".", "anything/at/all", True),
    ],
)
def test_patterns(pattern: str, path: str, fits: bool) -> None:
    assert covers(pattern, path) is fits


@pytest.mark.parametrize(
    ("pattern", "directory", "could"),
    [
        ("secret", ".", True),
        ("secret/x", "secret", True),
        ("src/secret", "src", True),
        ("src/secret", "docs", False),
        ("*.pem", "docs", True),
        ("src/*.pem", "src/sub", True),
        ("src/*.pem", "docs", False),
        ("/etc/x", ".", False),
    ],
)
def test_patterns_below_a_directory(pattern: str, directory: str, could: bool) -> None:
    assert may_cover_below(pattern, directory) is could


REFUSE_SECRET = Rule("no-secret", D, path=("/secret",))


@pytest.mark.parametrize(
    "action",
    [
        {"kind": "read_file", "path": "secret"},
        {"kind": "read_file", "path": "./src/../secret"},
        {"kind": "read_file", "path": "SECRET"},
        {"kind": "grep", "pattern": "x"},
        {"kind": "git_show", "rev": "HEAD:secret"},
        {"kind": "git_show", "rev": "HEAD", "path": "secret"},
        tool("cat", "secret"),
        tool("grep", "-r", "x", "."),
        tool("rg", "x"),
        tool("git", "show", ":secret"),
        tool("git", "grep", "x", "--", "secret"),
        tool("cp", "secret", "public"),
        tool("sort", "-T", "build", "secret"),
        shell("cat < secret"),
        shell("cat s*"),
        shell("head src/../secret"),
    ],
)
def test_F28_a_refused_path_is_refused_through_every_door(action: object) -> None:
    assert ruled(action, REFUSE_SECRET) is D


def test_a_refused_path_leaves_others_alone() -> None:
    assert ruled({"kind": "read_file", "path": "src/a.py"}, REFUSE_SECRET) is A
    assert ruled(tool("grep", "-r", "x", "src"), REFUSE_SECRET) is A


@pytest.mark.parametrize(
    "action",
    [
        tool("git", "add", "-A"),
        tool("timeout", "5", "git", "add", "-A"),
        tool("env", "CI=1", "git", "add", "-A"),
        tool("setsid", "git", "add", "-A"),
        tool("xargs", "git", "add", "-A"),
        tool("nice", "-n", "5", "env", "git", "--no-pager", "add", "-A"),
        tool("git", "add", "--verbose", "-A"),
        shell("true && git add -A"),
        shell("sh -c 'git add -A'"),
        tool("./w", "git", "add", "-A"),
    ],
)
def test_F24_a_refused_command_is_refused_through_wrappers(action: object) -> None:
    assert ruled(action, Rule("no-add", D, program=("git",), argv=("add", "-A"))) is D


@pytest.mark.parametrize("program", ["/tmp/git", "./git", "/usr/bin/git"])
def test_F25_look_alikes_of_a_refused_program(program: str) -> None:
    assert ruled(tool(program, "push"), Rule("no-push", D, program=("git",), argv=("push",))) is D


def test_a_permitting_rule_holds_for_exactly_its_words() -> None:
    rule = Rule("ok", A, program=("pip",), argv=("install", "-r"))
    assert ruled(tool("pip", "install", "-r", "req.txt"), rule) is A
    assert ruled(tool("pip", "--isolated", "install", "-r", "req.txt"), rule) is Q


def test_a_permitting_path_must_cover_every_place() -> None:
    rule = Rule("ok", A, path=("build",), verbs=(Verb.DELETE,))
    assert ruled(tool("rm", "-r", "build/x"), rule) is A
    assert ruled(tool("rm", "-r", "build/x", "src"), rule) is Q
    assert ruled(shell("rm -r build/*"), rule) is Q


def test_a_rule_by_tool() -> None:
    rule = Rule("no-shell", D, tool=("run_shell",))
    assert ruled(shell("ls"), rule) is D
    assert ruled(tool("ls"), rule) is A


def test_no_rule_lifts_boundary_veto_or_opacity() -> None:
    everything = (
        Rule("a", A, tool=("run_tool",)),
        Rule("b", A, tool=("run_shell",)),
        Rule("c", A, tool=("write_file",)),
    )
    assert ruled(tool("sudo", "ls"), *everything, number=1) is D
    assert ruled(tool("touch", "../x"), *everything, number=1) is D
    assert ruled(shell("$X"), *everything, number=1) is Q
    escape = {"kind": "write_file", "path": ".git/config", "content": ""}
    assert ruled(escape, *everything, number=1) is D


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": ""},
        {"id": "x"},
        {"id": "x", "tool": ("run_tool",), "argv": ("a",)},
    ],
)
def test_a_rule_that_would_match_everything_is_no_rule(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="rule"):
        Rule(decision=D, **wrong)


def test_a_layer_has_a_number_from_1_to_7() -> None:
    with pytest.raises(ValueError, match="layer 8"):
        RuleLayer(8, "grants", ())


RULE = Rule(
    id="id",
    decision=A,
    reason="why",
    tool=("run_tool",),
    program=("ls",),
    argv=("-l",),
    at=((1, ("a",)),),
    flags=("-l",),
    no_flags=("-r",),
    only_flags=("-l",),
    path=("src",),
    verbs=(Verb.READ,),
    host=("example.org",),
    role=("reviewer",),
    mode=("plan",),
    kind=("review",),
    time=("mon 09:00-10:00",),
    expires=datetime(2030, 1, 1, tzinfo=UTC),
    match=("1",),
    no_match=("2",),
)
OTHER: dict[str, Any] = {
    "id": "id2",
    "decision": D,
    "reason": "why not",
    "tool": ("run_shell",),
    "program": ("cat",),
    "argv": ("-n",),
    "at": ((1, ("b",)),),
    "flags": ("-x",),
    "no_flags": (),
    "only_flags": None,
    "path": ("docs",),
    "verbs": (Verb.WRITE,),
    "host": ("*",),
    "role": (),
    "mode": ("safe",),
    "kind": (),
    "time": (),
    "expires": datetime(2030, 1, 2, tzinfo=UTC),
    "match": (),
    "no_match": ("2", "3"),
}


@pytest.mark.parametrize("name", [item.name for item in fields(Rule)])
def test_the_policy_hash_covers_every_field_of_a_rule(name: str) -> None:
    more = {"only_flags": None} if name == "decision" else {}
    changed = replace(RULE, **{name: OTHER[name]}, **more)
    hashes = {
        policy_hash(WORLD.context(layers=(RuleLayer(3, "x", (rule,)),))) for rule in (RULE, changed)
    }
    assert len(hashes) == 2


def test_the_policy_hash_covers_layers_and_programs() -> None:
    contexts = [
        WORLD.context(),
        WORLD.context(layers=(RuleLayer(3, "x", ()),)),
        WORLD.context(layers=(RuleLayer(4, "x", ()),)),
        WORLD.context(layers=(RuleLayer(3, "y", ()),)),
        WORLD.context(allowed=frozenset({"ls"})),
    ]
    assert len({policy_hash(context) for context in contexts}) == len(contexts)
    assert policy_hash(WORLD.context()) == policy_hash(World(root="/other").context())


def test_keys_are_equal_for_equal_things() -> None:
    def key(action: object) -> str:
        return WORLD.decide(action).key

    assert key({"kind": "read_file", "path": "./src//a.py"}) == key(
        {"kind": "read_file", "path": "/tree/src/a.py"}
    )
    assert key(tool("ls")) == key({"kind": "run_tool", "program": "ls"})
    assert key(tool("ls", cwd="src/.")) == key(tool("ls", cwd="src"))
    assert key(tool("ls", cwd="src")) != key(tool("ls"))
    assert key(shell("ls   -l \n")) == key(shell("ls -l"))
    assert key(shell("echo 'a  b'")) != key(shell("echo 'a b'"))
    assert key(tool("ls", "-l")) != key(shell("ls -l"))


def test_a_verdict_fits_one_event_and_is_canonical() -> None:
    for action in (tool("pytest", "-q"), shell("cd src && pytest -q"), tool("rm", "-r", "src")):
        data = canonical.encode(WORLD.decide(action).as_payload())
        assert len(data) < 4096


def test_facts_and_operands_are_kept_with_the_verdict() -> None:
    verdict = WORLD.decide(tool("python3", "src/a.py"))
    assert dict(verdict.facts)["src/a.py"].type == "file"
    assert set(verdict.operands) == {"src/a.py"} and len(verdict.operands["src/a.py"]) == 64
    missing = WORLD.decide({"kind": "write_file", "path": "new.py", "content": ""})
    assert missing.operands == {"new.py": "missing"}


def test_A15_a_change_of_what_verification_runs_is_named() -> None:
    edit = {"kind": "write_file", "path": "tests/test_a.py", "content": ""}
    verdict = WORLD.decide(edit, verification_inputs=("tests", "conftest.py"))
    assert verdict.decision is A
    assert "changes what the verification runs: tests/test_a.py" in verdict.effects


def test_a_path_is_looked_at_once() -> None:
    world = World(files={"/tree/a": "x"})
    world.decide(shell("cat a a a && wc a && head ./a"))
    assert world.looked.count("a") == 1
