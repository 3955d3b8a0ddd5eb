"""Words with wildcards, as shells really expand them in a directory full of links: none that
leads out of it is allowed unasked."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from runtime.policy import Decision
from runtime.policy.testing import World, shell
from runtime.sandbox import CageSpec, Mount
from runtime.workspaces.sight import Sight

WORDS = 3_000
FOLDERS = ("sub/deep", "with blank", "x")
OUT = (
    "lnk", "sub/lnk", "sub/deep/Lnk", "[a]", "l-k", "l^k", "l!k", "_nk", "l]k", "\u00e9l", "\u00dfk",
    "with blank/l k", "sub/.hid", "x/l*k", "l\\k", "{l}", "~", "-rf", "l\nk", "x/l?",
)  # fmt: skip
PIECES = (
    "*", "?", "[a-z]", "[!a]", "[^a]", "[[:alpha:]]", "[!L]", "[A-Z]", "[A-z]", "[]]", "[\\]]", "l", "n",
    "k", "n", "k", "h", "i", "-", "_", '"*"', "\\*", "\\[", "\\]", '["a-z"]', "'['", "]", "sub", "deep",
    "/", "/", "/", "..", "./", ".", "**", "'{l}'", "self/", "inside/", "x/", "//", "\u00e9",
)  # fmt: skip


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("words") / "tree"
    for folder in FOLDERS:
        (made / folder).mkdir(parents=True)
    for name in OUT:
        (made / name).symlink_to("/etc")
    (made / "inside").symlink_to("sub")
    (made / "self").symlink_to(".")
    (made / "gone").symlink_to("nowhere")
    (made / "plain").write_text("x")
    return made


def some_words(seed: int) -> list[str]:
    chance, words = random.Random(seed), []
    while len(words) < WORDS:
        word = "".join(chance.choices(PIECES, k=chance.randint(2, 7)))
        if not word.startswith("/") and any(sign in word for sign in "*?["):
            words.append(word)
    return words


def expanded(program: str, words: list[str], root: Path) -> list[list[bytes]]:
    """What a shell makes of each word."""
    loops = (
        f"for one in {word}; do printf '%s\\0' \"$one\"; done; printf '\\1\\0'" for word in words
    )
    environment = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
    script = "\n".join(loops).encode()
    done = subprocess.run(
        [program], input=script, cwd=root, env=environment, capture_output=True, check=True
    )
    rows = done.stdout.split(b"\1\0")[:-1]
    assert len(rows) == len(words), done.stderr
    return [row.split(b"\0")[:-1] for row in rows]


def leaves(root: Path, name: bytes) -> bool:
    real = os.path.realpath(os.path.join(os.fsencode(root), name))
    return not (real + b"/").startswith(os.fsencode(root) + b"/")


@pytest.mark.parametrize("seed", [31, 7])
@pytest.mark.parametrize("program", ["sh", "bash"])
def test_no_word_that_a_shell_expands_to_something_outside_is_allowed(
    root: Path, program: str, seed: int
) -> None:
    if not shutil.which(program):
        pytest.skip(f"there is no {program} here")
    words = some_words(seed)
    out = [
        word
        for word, names in zip(words, expanded(program, words, root), strict=True)
        if any(leaves(root, name) for name in names)
    ]
    sight = Sight(str(root), CageSpec(root=str(root), mounts=(Mount(str(root), str(root)),)))
    world = World(root=str(root))
    allowed = [
        word
        for word in out
        if world.decide(shell(f"cat {word}"), look=sight.facts, links=sight.links).decision
        is Decision.ALLOW
    ]
    assert allowed == [] and len(out) > 10
