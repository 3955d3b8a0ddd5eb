"""Whatever is proposed: an answer, the same answer again, and never yes to what was not read."""

from __future__ import annotations

import subprocess
import sys
from time import process_time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.core import canonical
from runtime.policy import STAGE_NAMES, Decision, settings_that_run
from runtime.policy.programs import PROGRAMS, find
from runtime.policy.shell import read_script
from runtime.policy.testing import Link, World, shell, tool
from tests.clock import best_of_three, under

WORLD = World(
    files={"/tree/a.txt": "x", "/tree/out": Link("/etc"), "/tree/.git/config": "c"},
    folders={"/tree/src"},
)
DEFAULT_ALLOWED = WORLD.context().allowed
PLAIN = "ls cat rm sudo git status echo a.txt src ../x ~ / .git -rf --force -c export PATH=x ! # ="
SIGNS = (
    "$X ${X} $( ) ` ; & && || | > >> < << <<EOF EOF ' \" \\ { } ( [ ]] {a,b} * ? 2>&1 &> |& <( $'x'"
)
WORDY = "if then fi for do done f() function case esac in eval ."
PIECES = st.sampled_from(
    [
        *PLAIN.split(),
        *SIGNS.split(),
        *WORDY.split(),
        *(" ", "\n", "\t", "\r", "\u200b", "\x00", "é"),
    ]
)
SCRIPTS = st.lists(PIECES, min_size=1, max_size=14).map(" ".join) | st.text(max_size=60)
WORDS = st.text(max_size=12) | PIECES
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3)
    ),
    max_leaves=6,
)


def judged(action: object, **known: Any) -> Decision:
    """The decision, with everything that must hold of every verdict."""
    first = WORLD.decide(action, **known)
    again = WORLD.decide(action, **known)
    assert first == again
    assert tuple(stage.name for stage in first.stages) == STAGE_NAMES
    assert first.source != "error", first.reason
    canonical.encode(first.as_payload())
    return first.decision


@given(VALUES | st.dictionaries(st.sampled_from(["kind", "path", "args", "x"]), VALUES))
def test_F32_any_json_gets_an_answer(raw: object) -> None:
    assert judged(raw) is Decision.DENY


@settings(max_examples=200)
@given(st.sampled_from(sorted(PROGRAMS)), st.lists(WORDS, max_size=6))
def test_any_command_line_gets_an_answer(program: str, args: list[str]) -> None:
    decision = judged(tool(program, *args), allowed=frozenset(PROGRAMS))
    table = find(program)
    assert table is not None
    assert not (table.veto and decision is not Decision.DENY)
    assert judged(tool("sudo", program, *args), allowed=frozenset(PROGRAMS)) is Decision.DENY


@pytest.mark.thorough
@settings(max_examples=300)
@given(SCRIPTS)
def test_any_script_gets_an_answer_and_veto_survives_company(script: str) -> None:
    judged(shell(script), allowed=frozenset(PROGRAMS))
    assert judged(shell(f"sudo ls; {script}"), allowed=frozenset(PROGRAMS)) is not Decision.ALLOW


@settings(max_examples=300)
@given(SCRIPTS)
def test_what_the_shell_itself_rejects_or_expands_is_never_allowed(script: str) -> None:
    if "\0" in script or not script.strip():
        return
    decision = judged(shell(script))
    if decision is Decision.ALLOW:
        bare = script.replace("'", "").replace('"', "")
        # Quotes may make it plain, and what stands behind # is no code at all.
        assert "$(" not in bare or "'" in script or "#" in script
        # What only bash knows (`&>`), a plain shell refuses to run at all.
        parsed = subprocess.run(
            ["bash", "-n", "-c", script], capture_output=True, timeout=10, check=False
        )
        assert parsed.returncode == 0, script


@given(st.text(max_size=200))
def test_settings_of_git_never_fail(text: str) -> None:
    assert isinstance(settings_that_run(text), tuple)


@pytest.mark.parametrize(
    "script",
    [
        "(" * 5000,
        "$(" * 3000,
        "{ " * 3000 + "ls" + "; }" * 3000,
        "if true; then " * 400,
        "ls;" * 20000,
        "a" * 60000,
        "'" * 9999,
        "<<EOF\n" * 500,
        "sh -c '" * 8 + "ls",
        "eval " * 3000 + "ls",
        "case x in " * 500,
        "`" * 4001,
        "! " * 4000 + "ls",
    ],
)
@best_of_three
def test_monsters_are_answered_in_time_and_not_allowed(script: str) -> None:
    started = process_time()
    decision = judged(shell(script))
    assert decision is not Decision.ALLOW
    under(process_time() - started, 6)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", ["1", "2"])
def test_letters_of_all_the_world_do_not_take_the_process_down(seed: str) -> None:
    """In a process of its own: without care, a scanner reads far beyond a table of C."""
    code = (
        "import random, sys\n"
        "from runtime.policy.testing import World, shell\n"
        "draw = random.Random(int(sys.argv[1])); world = World()\n"
        "letter = lambda: chr(draw.choice((draw.randrange(128), draw.randrange(0xE000, 0x110000))))\n"
        "for _ in range(3000):\n"
        "    world.decide(shell(''.join(letter() for _ in range(draw.randint(1, 60)))))\n"
    )
    ended = subprocess.run([sys.executable, "-c", code, seed], timeout=50, check=False)
    assert ended.returncode == 0


def test_what_a_shell_takes_for_another_end_does_not_hide_code() -> None:
    script = "cat <<'é'\nü\necho '\né\nrm -rf src\necho '"
    assert judged(shell(script)) is not Decision.ALLOW
    assert judged(shell("cat <<'END'\né\nEND\nls é")) is Decision.ALLOW


NOT_FOR_A_SHELL = [">> 2>&1", "echo x > 1>2", "cat < 0<src", "{ }", "ls > \n src/x", "&> \n x"]


@pytest.mark.parametrize("script", NOT_FOR_A_SHELL)
def test_what_the_grammar_takes_and_no_shell_does_is_not_allowed(script: str) -> None:
    assert judged(shell(script)) is not Decision.ALLOW


def test_long_and_plain_is_still_plain() -> None:
    assert judged(shell("ls | " * 1000 + "wc")) is Decision.ALLOW
    assert judged(shell("echo " + "a{" * 2000)) is Decision.ALLOW


@best_of_three
def test_the_longest_arguments_are_answered_in_time() -> None:
    started = process_time()
    for action in (
        tool("rm", *["x/y"] * 1000),
        tool("sed", "s/a/b/" * 20000, "a.txt"),
        tool("awk", "a" * 100000),
        tool("python3", "-c", "(" * 8000),
        tool("env", *["A=b"] * 1000),
        tool("env", *["env"] * 900),
        tool("git", *["-C", "src"] * 400),
        tool("tar", "c" * 100000),
        tool("ls", "-" + "l" * 100000),
        shell("[ " + "x" * 50000 + " ]"),
    ):
        judged(action)
    under(process_time() - started, 8)


def test_a_command_line_needs_no_grammar() -> None:
    code = (
        "import sys\n"
        "from runtime.policy.testing import World, tool\n"
        "World().decide(tool('git', 'status')); World().decide(tool('env', 'A=1', 'make'))\n"
        "assert not any(name.startswith('tree_sitter') for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_there_is_always_a_part() -> None:
    from runtime.policy.argv import CommandReader
    from runtime.policy.places import Lens

    context = WORLD.context()
    reader = CommandReader(context, Lens.of(context), "run_shell")
    for script in ("", " ", "# only words", ":"):
        assert len(read_script(reader, script, ".", 0)) >= 1


def test_decisions_are_quick() -> None:
    """Far above what they take, so that a busy machine does not fail it."""
    lines = [tool("git", "status"), tool("pytest", "-q"), tool("rm", "-rf", "src")]
    scripts = [shell("cd src && pytest -q"), shell("cat a.txt | sort | uniq -c > out.txt")]
    for action in (*lines, *scripts):
        WORLD.decide(action)
    for actions, bound in ((lines, 0.010), (scripts, 0.030)):
        times = []
        for action in actions * 20:
            started = process_time()
            WORLD.decide(action)
            times.append(process_time() - started)
        assert sorted(times)[len(times) // 2] < bound
