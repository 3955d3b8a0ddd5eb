"""Policy files: what they say, what is refused and how that is told, and what covers what."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.policy import Decision, policy_hash
from runtime.policy.language import Book, PolicyFault, place_of, read
from runtime.policy.testing import World, shell, tool

WORLD = World()
PUSH = """
[[rule]]
id = "no-force"
decision = "DENY"
reason = "History that others have is not rewritten."
program = "git"
argv = ["push"]
flags = ["-f", "--force"]
"""


def rule(text: str) -> str:
    return f'[[rule]]\nid = "r"\ndecision = "DENY"\n{text}\n'


def faults(text: str, number: int = 1) -> list[str]:
    return [str(fault) for fault in read("f.toml", text, number).faults]


def book(**texts: str) -> Book:
    places = {name.replace("__", "/") + ".toml": text for name, text in texts.items()}
    return Book.of(read(name, text, *place_of(name)) for name, text in places.items())


def decide(action: object, rules: Book, **more: Any) -> Decision:
    layers = rules.layers(
        workspace="demo", user="alice", run="run", role="implementer", kind="implementation"
    )
    return WORLD.decide(action, layers=layers, **more).decision


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x =", "f.toml: this is no TOML"),
        ("[" * 9000, "this is no TOML"),
        ("rules = 1", "f.toml, field rules: unknown; a file has"),
        ("rule = 1", "field rule: write [[rule]]"),
        ("rule = [1]", "rule number 1: a rule is a table"),
        ('layer = "user"', "field layer: the file's place makes it one of system"),
        ('[[rule]]\ntool = "*"', "rule number 1, field id: is missing"),
        ('[[rule]]\nid = "a b"\ndecision = "DENY"', "rule a b, field id: an id is"),
        ('[[rule]]\nid = "r"\ntool = "*"', "rule r, field decision: is missing"),
        ('[[rule]]\nid = "r"\ndecision = "deny"\ntool = "*"', "'deny' is none of ALLOW, ASK"),
        (rule(""), "rule r: name a tool, a program, a path or a host"),
        (rule('tool = "*"\nunless = 1'), "rule r, field unless: unknown; a rule has id, decision"),
        (rule('tool = "run_shel"'), "field tool: 'run_shel' is none of"),
        (rule("tool = []"), "field tool: give one to"),
        (rule('tool = "*"\nreason = ""'), "field reason: a reason is one line"),
        (rule('program = "/bin/git"'), "field program: '/bin/git' is no program's name"),
        (rule('program = "git"\nargv = "push"'), "field argv: write a list of words"),
        (rule('tool = "*"\nargv = ["push"]'), "rule r: arguments need a program"),
        (rule('program = "git"\nat = { 0 = "x" }'), "field at: '0' is no place"),
        (rule('program = "git"\nat = ["x"]'), "field at: write a table"),
        (rule('program = "git"\nflags = "force"'), "field flags: 'force' is no flag"),
        (rule('program = "git"\nno_flags = ["--"]'), "field no_flags: '--' is no flag"),
        (rule('program = "git"\nonly_flags = ["-v"]'), "only_flags is for rules that permit"),
        (rule('path = "a["'), "field path: a bracket is not closed"),
        (rule('path = "../x"'), "field path: names must not be empty, . or .."),
        (rule('path = "~/x"'), "field path: write the absolute path"),
        (rule('path = "#x"'), "field path: git takes this for a comment"),
        (rule('path = "x\\\\"'), "a backslash at the end"),
        (rule('path = " x"'), "without blanks around it"),
        (rule('tool = "*"\nverbs = "reads"'), "verbs need a path"),
        (rule('path = "x"\nverbs = "eats"'), "field verbs: 'eats' is none of reads"),
        (rule('host = "a b"'), "field host: 'a b' is no host"),
        (rule('host = "*.*.org"'), "is no host"),
        (rule('tool = "*"\nrole = "boss"'), "field role: 'boss' is none of implementer"),
        (rule('tool = "*"\nmode = "yolo"'), "field mode: 'yolo' is none of plan"),
        (rule('tool = "*"\nkind = "x"'), "field kind: 'x' is none of"),
        (rule('tool = "*"\ntime = "always"'), "field time: 'always' is no window"),
        (rule('tool = "*"\ntime = "25:00-26:00"'), "'25:00' is no time of day"),
        (rule('tool = "*"\ntime = "9:00-17:00"'), "is no window"),
        (rule('tool = "*"\ntime = "xyz 09:00-17:00"'), "'xyz' is no day"),
        (rule('tool = "*"\ntime = "09:00-09:00"'), "the window is empty"),
        (rule('tool = "*"\nexpires = "2030-01-01"'), "field expires: write a date"),
        (rule('tool = "*"\nexpires = 2030-01-01T00:00:00'), "with its offset"),
        (rule('tool = "*"\nmatch = "ls"'), "field match: write a list"),
        (rule('tool = "*"\nmatch = [1]'), "field match 1: an example is a command line or a table"),
        (rule('tool = "*"\nmatch = [" "]'), "field match 1: the command is empty"),
        (rule('tool = "verify"\nmatch = ["ls"]'), "field match 1: the rule is about no commands"),
        (rule('tool = "*"\nmatch = [{kind = "fly"}]'), "field match 1: kind: it must be one of"),
        (rule('tool = "*"\nmatch = [{kind = "read_file"}]'), "field match 1: path: Field required"),
        (rule('tool = "*"\nmatch = [{command = "ls", mood = 1}]'), "unknown field 'mood'"),
        (rule('tool = "*"\nmatch = [{command = "ls", mode = "x"}]'), "mode: one of plan"),
        (rule('tool = "*"\nmatch = [{command = "ls", at = 2030-01-01}]'), "with its offset"),
        (rule('tool = "run_tool"\nmatch = ["ls \'"]'), "field match 1: No closing quotation"),
        (PUSH + 'match = ["git push"]', "field match 1: the rule does not match git push"),
        (PUSH + 'no_match = ["git push -uf"]', "field no_match 1: the rule matches git push -uf"),
        (PUSH + PUSH, "rule no-force, field id: another rule of this file has it"),
    ],
)
def test_F32_what_is_wrong_is_told_with_file_rule_and_field(text: str, told: str) -> None:
    found = faults(text)
    assert any(told in one for one in found), found
    assert all(one.startswith("f.toml") for one in found)


def test_every_fault_is_told_and_one_fault_keeps_all_files_out() -> None:
    text = rule('path = "a["\nhost = "a b"\nmode = "x"')
    assert len(faults(text)) == 3
    with pytest.raises(PolicyFault, match=r"f\.toml, rule r, field path") as caught:
        Book.of([read("f.toml", text, 1), read("g.toml", PUSH, 2)])
    assert len(caught.value.faults) == 3 and caught.value.exit_code == 2


@pytest.mark.thorough
@settings(max_examples=40)
@given(st.text(max_size=80) | st.text(max_size=60).map(lambda text: PUSH + text))
def test_any_text_is_read_without_an_exception(text: str) -> None:
    found = read("f.toml", text, 1)
    assert found.faults or found.layer.rules or "rule" not in text


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("system.toml", (1, "")),
        ("organisation.toml", (2, "")),
        ("workspaces/demo.toml", (3, "demo")),
        ("users/alice@example.org.toml", (4, "alice@example.org")),
        ("runs/01abc.toml", (5, "01abc")),
        ("roles/reviewer.toml", (6, "reviewer")),
        ("kinds/review.toml", (7, "review")),
    ],
)
def test_the_place_of_a_file_is_its_layer(name: str, place: tuple[int, str]) -> None:
    assert place_of(name) == place


@pytest.mark.parametrize(
    "name",
    ["organization.toml", "workspaces/a/b.toml", "workspace/demo.toml", "roles/boss.toml", "x"],
)
def test_a_file_without_a_layer_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"no layer has this file|is none of"):
        place_of(name)


def test_examples_are_tried_in_their_own_circumstances() -> None:
    text = """
[[rule]]
id = "night"
decision = "DENY"
tool = "*"
mode = "unattended"
role = "reviewer"
time = "18:00-06:00 +02:00"
expires = 2030-06-30
match = [
  "ls",
  { command = "ls", mode = "unattended", at = 2030-06-01T17:00:00Z },
  { command = "ls", at = 2030-06-01T03:59:00Z },
]
no_match = [
  { command = "ls", mode = "safe" },
  { command = "ls", role = "planner" },
  { command = "ls", at = 2030-06-01T12:00:00Z },
  { command = "ls", at = 2030-07-01T20:00:00Z },
]
[[rule]]
id = "linked"
decision = "DENY"
path = "/secrets"
match = [{ command = "cat docs/x", links = { "docs/x" = "../secrets/key" } }]
no_match = ["cat docs/x"]
[[rule]]
id = "permits-all-of-it"
decision = "ALLOW"
program = "pip"
argv = ["install", "-r"]
match = ["pip install -r requirements.txt"]
no_match = ["pip install -r requirements.txt && rm -r src"]
"""
    assert faults(text) == []


LAYERS = ["system", "organisation", "workspaces__demo", "users__alice", "runs__run",
          "roles__implementer", "kinds__implementation"]  # fmt: skip


@pytest.mark.parametrize("high", range(len(LAYERS) - 1))
def test_lower_layers_only_tighten(high: int) -> None:
    ask = '[[rule]]\nid = "a"\ndecision = "ASK"\nprogram = "touch"\n'
    permit = ask.replace("ASK", "ALLOW")
    refuse = ask.replace("ASK", "DENY")
    action = tool("touch", "x")
    assert decide(action, book(**{LAYERS[high]: ask, LAYERS[high + 1]: permit})) is Decision.ASK
    assert decide(action, book(**{LAYERS[high]: permit, LAYERS[high + 1]: ask})) is Decision.ASK
    assert decide(action, book(**{LAYERS[high]: permit, LAYERS[high + 1]: refuse})) is Decision.DENY
    assert decide(action, book(**{LAYERS[high]: permit})) is Decision.ALLOW


def test_a_file_holds_for_its_own_subject_only() -> None:
    refuse = rule('tool = "*"')
    assert decide(tool("ls"), book(workspaces__demo=refuse)) is Decision.DENY
    for other in ("workspaces__other", "users__bob", "runs__x", "roles__planner", "kinds__review"):
        assert decide(tool("ls"), book(**{other: refuse})) is Decision.ALLOW


def test_an_expired_rule_counts_no_more() -> None:
    rules = book(system=rule('program = "ls"\nexpires = 2030-01-01'))
    before, after = datetime(2030, 1, 1, 23, tzinfo=UTC), datetime(2030, 1, 2, tzinfo=UTC)
    assert decide(tool("ls"), rules, moment=before) is Decision.DENY
    assert decide(tool("ls"), rules, moment=after) is Decision.ALLOW
    assert decide(tool("ls"), rules, moment=None) is Decision.DENY
    permits = book(system=rule('program = "rm"\nexpires = 2030-01-01').replace("DENY", "ALLOW"))
    assert decide(tool("rm", "x"), permits, moment=before) is Decision.ALLOW
    assert decide(tool("rm", "x"), permits, moment=None) is Decision.ASK


VALUES: dict[str, list[str]] = {
    "id": ['"r"', '"s"'],
    "decision": ['"DENY"', '"ASK"'],
    "reason": ['"one"', '"two"'],
    "tool": ['"run_tool"', '["run_tool", "run_shell"]'],
    "program": ['"ls"', '"l*"'],
    "argv": ['["a"]', '["a", "b"]'],
    "at": ['{ 1 = "a" }', '{ 1 = ["a", "b"] }', '{ -1 = "a" }'],
    "flags": ['"-x"', '"-x=1"'],
    "no_flags": ['"-y"', '["-y", "-z"]'],
    "path": ['"p"', '["p", "!p/q"]'],
    "verbs": ['"reads"', '"writes"'],
    "host": ['"*"', '"example.org"'],
    "role": ['"planner"', '"reviewer"'],
    "mode": ['"plan"', '"safe"'],
    "kind": ['"review"', '"research"'],
    "time": ['"09:00-10:00"', '"mon 09:00-10:00"'],
    "expires": ["2030-01-01", "2030-01-01T00:00:00Z"],
    "no_match": ['["true"]', '["false"]'],
}
TABLES = st.fixed_dictionaries({name: st.sampled_from(values) for name, values in VALUES.items()})


@settings(max_examples=40)
@given(TABLES, st.sampled_from(sorted(VALUES)), st.data())
def test_the_policy_hash_covers_every_field(
    table: dict[str, str], name: str, data: st.DataObject
) -> None:
    other = data.draw(st.sampled_from([one for one in VALUES[name] if one != table[name]]))
    hashes = set()
    for values in (table, {**table, name: other}):
        text = "[[rule]]\n" + "".join(f"{key} = {value}\n" for key, value in values.items())
        rules = book(system=text)
        layers = rules.layers(workspace="", user="", run="", role="", kind="")
        hashes.add((rules.hash, policy_hash(WORLD.context(layers=layers))))
    (one, two) = hashes
    assert one[0] != two[0] and one[1] != two[1]


def test_the_hash_of_a_book_knows_which_file_a_rule_stands_in() -> None:
    assert book(system=PUSH).hash != book(organisation=PUSH).hash
    assert book(workspaces__a=PUSH).hash != book(workspaces__b=PUSH).hash
    assert book(system=PUSH).hash == book(system="# a remark\n" + PUSH, organisation="").hash


def test_layers_of_a_task_are_the_same_object() -> None:
    rules = book(system=PUSH, workspaces__demo=PUSH)
    who = {"workspace": "demo", "user": "", "run": "", "role": "", "kind": ""}
    assert rules.layers(**who) is rules.layers(**who)
    assert [one.number for one in rules.layers(**who)] == [1, 3]


def test_a_rule_of_the_language_decides() -> None:
    rules = book(system=PUSH)
    verdict = WORLD.decide(
        shell("cd a && timeout 9 git -C b push --forc origin"),
        layers=rules.layers(workspace="", user="", run="", role="", kind=""),
    )
    assert (verdict.decision, verdict.rule, verdict.source) == (Decision.DENY, "no-force", "rule")
    assert verdict.reason == "History that others have is not rewritten."
