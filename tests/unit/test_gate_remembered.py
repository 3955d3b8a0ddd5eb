"""Answers that are remembered as a rule: what is offered, what it lifts, and what it never does."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.core import actions, canonical
from runtime.journal.kind import MAX_PAYLOAD
from runtime.policy import Decision, GrantFact, Remembered, Rule, RuleLayer
from runtime.policy.canonicalise import read
from runtime.policy.places import Lens
from runtime.policy.rules import Circumstances
from runtime.policy.testing import World, shell, tool

ALLOW, ASK, ESCALATE, DENY = Decision.ALLOW, Decision.ASK, Decision.ESCALATE, Decision.DENY
WORLD = World(files={"/tree/a.txt": "x", "/tree/.env": "x"}, folders={"/tree/src", "/tree/backend"})
AROUND = Circumstances("implementer", "implementation", "assisted")
PYTEST = shell("cd backend && PYTHONPATH=. uv run pytest x -q")


def parts(action, line):
    """The commands of a line that is written as an action was."""
    context, words = WORLD.context(), shlex.split(line)
    other = shell(line) if action["kind"] == "run_shell" else tool(words[0], *words[1:])
    lens = Lens.of(context)
    return read(actions.parse(other), context, lens).parts


def offered(action, index=0, **known) -> Remembered:
    return WORLD.decide(action, **known).offers[index]


def under(rule: Remembered, action, most=ASK, **known):
    grant = GrantFact("g1", "", most, "run", "bob", rule)
    return WORLD.decide(action, grants=(grant,), **known)


def test_F11_a_rule_is_offered_narrowest_first_with_what_fits_and_what_does_not():
    first, second, third = WORLD.decide(PYTEST).offers
    assert first.text() == "uv run pytest x …, any further words, no options but -q"
    assert (second.argv, third.argv) == (("run", "pytest"), ("run",))
    fits, others = second.examples()
    assert fits == ["uv run pytest -q", "uv run pytest another", "uv run pytest one two"]
    assert others == ["uv run another", "uv run pytest --another", "another run pytest"]


@pytest.mark.parametrize("count", [1, 20, 200])
def test_F11_a_rule_that_its_event_could_not_hold_is_not_offered(count):
    flags = " ".join(f"--deselect=tests/test_number_{n}.py" for n in range(count))
    offers = WORLD.decide(shell(f"PYTHONPATH=. uv run pytest {flags}")).offers
    assert bool(offers) == (count < 100)
    for rule in offers:
        by = {"grant": "g", "approval": "a", "key": "k" * 64, "scope": "run", "subject": "r",
              "lifts": "ASK"}  # fmt: skip
        assert len(canonical.encode({**by, "rule": rule.as_data()})) < MAX_PAYLOAD


def test_F11_the_rule_covers_the_like_and_says_so():
    rule = offered(PYTEST, 1)
    covered = under(rule, shell("cd backend && PYTHONPATH=. uv run pytest y"))
    assert (covered.decision, covered.source, covered.rule) == (ALLOW, "grant", "g1")
    for script in (
        "PYTHONPATH=. uv run ruff",
        "PYTHONPATH=. uv run pytest --pdb",
        "HOME=. uv run pytest y",
        "PYTHONPATH=. uv run pytest y && PYTHONPATH=. uv run ruff",
        "PYTHONPATH=. uv run pytest $X",
        "uv sync",
    ):
        assert under(rule, shell(script)).decision is not ALLOW, script


@pytest.mark.parametrize(
    ("asked", "like", "others"),
    [
        (
            tool("pip", "install", "requests"),
            tool("pip", "install", "requests", "urllib3"),
            [
                tool("pip", "install", "requests", "git+https://evil.example/x"),
                tool("pip", "install", "requests", "https://evil.example/x.whl"),
            ],
        ),
        (
            tool("git", "fetch", "https://code.example/a.git"),
            tool("git", "fetch", "https://code.example/b.git"),
            [tool("git", "fetch", "https://evil.example/a.git"), tool("git", "fetch", "e@f.gh:i")],
        ),
    ],
)
def test_a_remembered_rule_opens_no_host_that_was_not_on_the_card(asked, like, others):
    rule = WORLD.decide(asked).offers[-1]
    assert under(rule, like).decision is ALLOW
    assert [under(rule, one).decision for one in others] == [ASK] * len(others)
    assert Remembered.parse(rule.as_data()) == rule
    assert all(host in rule.text() for host in rule.hosts)


@pytest.mark.parametrize("action", [PYTEST, tool("git", "branch", "topic")])
def test_every_example_is_what_it_says(action):
    for rule in WORLD.decide(action).offers:
        for lines, wanted in zip(rule.examples(), (True, False), strict=True):
            for line in lines:
                found = any(rule.rule.matches(part, AROUND) for part in parts(action, line))
                assert found is wanted, (rule.text(), line)


@pytest.mark.parametrize(
    "action",
    [
        shell("uv run $X"),
        shell("uv run pytest *"),
        shell("uv run a && uv run b"),
        tool("python3", "-c", "print(1)"),
        {"kind": "git_push"},
        shell("cat .env"),
        shell("sudo ls"),
        shell("ls"),
    ],
)
def test_nothing_is_offered_where_a_rule_could_not_be_understood(action):
    assert WORLD.decide(action).offers == ()


def test_a_rule_lifts_no_rule_of_the_operator_and_no_escalation():
    rule = offered(tool("git", "branch", "topic"), 1)
    other = tool("git", "branch", "other")
    assert under(rule, other).decision is ALLOW
    asks = RuleLayer(1, "system", (Rule("ask-git", ASK, program=("git",)),))
    assert under(rule, other, layers=(asks,)).decision is ASK
    rises = RuleLayer(1, "system", (Rule("up", ESCALATE, program=("git",)),))
    assert under(rule, other, ESCALATE, layers=(rises,)).decision is ESCALATE
    assert under(rule, tool("git", "branch", "-D", "other")).decision is ASK
    assert under(rule, other, mode="plan").decision is DENY


def test_in_a_safe_run_it_counts_for_what_it_names():
    first = WORLD.decide(tool("touch", "a.txt"), mode="safe")
    rule = first.offers[0]
    assert under(rule, tool("touch", "a.txt", "src"), mode="safe").decision is ALLOW
    assert under(rule, tool("touch", "src"), mode="safe").decision is ASK
    assert under(rule, shell("touch a.txt; touch src"), mode="safe").decision is ASK


def test_a_rule_survives_being_written_down():
    rule = offered(PYTEST)
    assert Remembered.parse(rule.as_data()) == rule
    assert Remembered.parse(rule.as_data()).digest == rule.digest


SOME = "branch tag -q --x=1 x add .. /etc .env -D"
WORDS = st.lists(st.sampled_from(SOME.split()), max_size=5)


@settings(max_examples=300)
@given(WORDS, WORDS)
def test_what_a_rule_covers_begins_with_its_words_and_has_no_other_options(first, then):
    for rule in WORLD.decide(tool("git", *first)).offers:
        found = under(rule, tool("git", *then))
        before = WORLD.decide(tool("git", *then))
        if found.decision is ALLOW and before.decision is not ALLOW:
            assert before.decision is ASK
            assert tuple(then[: len(rule.argv)]) == rule.argv
            assert {word for word in then if word.startswith("-")} <= set(rule.flags)
            assert shlex.join(rule.argv) in rule.text()
