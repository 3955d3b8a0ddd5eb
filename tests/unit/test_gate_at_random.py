"""A hundred thousand random actions: no crash, one answer each, no yes to what no shell reads."""

from __future__ import annotations

import random
import subprocess

import pytest

from runtime.policy import Decision
from runtime.policy.programs import PROGRAMS
from runtime.policy.testing import Link, World, shell, tool

pytestmark = pytest.mark.timeout(300)

WORLD = World(
    files={"/tree/a.txt": "x", "/tree/out": Link("/etc"), "/tree/.git/config": "c"},
    folders={"/tree/src"},
)
ALL = frozenset(PROGRAMS)
NAMES = sorted(PROGRAMS)
PLAIN = "ls cat rm sudo git status echo a.txt src ../x ~ / .git -rf --force -c export X=x ! #"
SIGNS = "$X ${X} $( ) ` ; & && || | > >> < << <<EOF EOF ' \" \\ { } ( [ ]] {a,b} * ? 2>&1"
WORDY = "&> |& <( <<< $'x' (( )) [[ =~ if then fi for do done f() case esac in eval . while"
WHOLE = ["ls src", "cat a.txt", "echo x", "git status", "true", "wc -l < a.txt", "echo '$X' | cat"]
BLANK = " \n\t\r\u200b\x00é\U000f0000"
PIECES = [*PLAIN.split(), *SIGNS.split(), *WORDY.split(), *BLANK]
SHARE, SAMPLE = 20_000, 2_000
"""Actions of one seed with `--thorough`, and without."""


def script(draw: random.Random) -> dict[str, object]:
    """Pieces of the language in any order, plain commands with a piece between, any characters."""
    kind = draw.random()
    if kind < 0.1:
        pieces = (draw.choice(WHOLE if at % 2 == 0 else PIECES) for at in range(draw.randint(1, 7)))
        return shell(" ".join(pieces))
    if kind < 0.7:
        return shell(" ".join(draw.choices(PIECES, k=draw.randint(1, 14))))
    return shell("".join(letter(draw) for _ in range(draw.randint(1, 60))))


def command(draw: random.Random) -> dict[str, object]:
    """A program of the tables with any words."""
    words = [
        draw.choice(PIECES)
        if draw.random() < 0.7
        else "".join(letter(draw) for _ in range(draw.randint(0, 12)))
        for _ in range(draw.randint(0, 6))
    ]
    return tool(draw.choice(NAMES), *words)


def letter(draw: random.Random) -> str:
    most = draw.choice((0x7F, 0x7F, 0xFF, 0xD7FF, 0x10FFFF))
    place = draw.randrange(1, most)
    return chr(place) if not 0xD800 <= place < 0xE000 else "-"


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(5))
def test_F32_random_actions_get_one_answer_and_no_unread_script_runs(
    seed: int, request: pytest.FixtureRequest
) -> None:
    share = SHARE if request.config.getoption("--thorough") else SAMPLE
    draw = random.Random(seed)
    allowed = []
    for number in range(share):
        action = script(draw) if number % 3 else command(draw)
        verdict = WORLD.decide(action, allowed=ALL)
        assert verdict.source != "error", (action, verdict.reason)
        if number % 10 == 0:
            assert WORLD.decide(action, allowed=ALL) == verdict
        if verdict.decision is Decision.ALLOW and "script" in action:
            allowed.append(str(action["script"]))
    assert len(allowed) > share // 100
    for text in allowed:
        read = subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False)
        assert read.returncode == 0, text
