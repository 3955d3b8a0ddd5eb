"""The bundled sample: a small Python repository with a bug, and a run that mends it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dulwich.client import LocalGitClient
from dulwich.objects import Blob, Commit, Tree
from dulwich.refs import Ref
from dulwich.repo import Repo

from runtime.core.errors import Refused

NAME = "sample"
VERIFY = "python3 -m unittest -q"
OBJECTIVE = "average() gives a wrong result and the tests fail. Mend it and push the fix."
BRANCH = "main"

_AVERAGE = '''\
def average(numbers):
    """The arithmetic mean of some numbers."""
    return sum(numbers) / (len(numbers) - 1)
'''
_MENDED = _AVERAGE.replace("(len(numbers) - 1)", "len(numbers)")
_FILES = {
    ".gitignore": "__pycache__/\n",
    "README.md": "# calc\n\nA few functions for lists of numbers.\n\n    python3 -m unittest -q\n",
    "calc/__init__.py": '"""Functions for lists of numbers."""\n\n'
    "from calc.numbers import average, spread\n\n"
    '__all__ = ["average", "spread"]\n',
    "calc/numbers.py": '"""What can be said about a list of numbers."""\n\n\n'
    + _AVERAGE
    + "\n\ndef spread(numbers):\n"
    '    """The distance from the smallest to the largest."""\n'
    "    return max(numbers) - min(numbers)\n",
    "tests/__init__.py": "",
    "tests/test_numbers.py": "import unittest\n\nfrom calc import average, spread\n\n\n"
    "class NumbersTest(unittest.TestCase):\n"
    "    def test_average(self):\n"
    "        self.assertEqual(average([1, 2, 3, 6]), 3)\n\n"
    "    def test_average_of_one(self):\n"
    "        self.assertEqual(average([5]), 5)\n\n"
    "    def test_spread(self):\n"
    "        self.assertEqual(spread([4, 9, 2]), 7)\n",
}


def make(folder: Path) -> Path:
    """Make `folder`/calc with its remote `origin`, the bare repository `folder`/calc.git.

    What is there already stays as it is; of a half-made pair nothing is used. Raises `Refused`
    where something else has the name.
    """
    root, remote = folder / "calc", folder / "calc.git"
    if (root / ".git" / "m31a-sample").is_file():
        return root
    for path in (root, remote):
        if path.exists():
            raise Refused(
                f"{path} is in the way of the sample workspace.", remedy=f"Remove {path}."
            )
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, text in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    head = Ref(f"refs/heads/{BRANCH}".encode())
    with Repo.init(str(root), default_branch=BRANCH.encode()) as repo:
        repo.refs[head] = _commit(repo)
        repo.get_worktree().reset_index()
        config = repo.get_config()
        config.set((b"remote", b"origin"), b"url", str(remote).encode())
        config.set((b"remote", b"origin"), b"fetch", b"+refs/heads/*:refs/remotes/origin/*")
        config.write_to_path()
        remote.mkdir()
        with Repo.init_bare(str(remote), default_branch=BRANCH.encode()) as bare:
            LocalGitClient().fetch(str(root), bare)
            bare.refs[head] = repo.refs[head]
    (root / ".git" / "m31a-sample").write_text("made by the demo\n", encoding="utf-8")
    return root


def _commit(repo: Repo) -> Any:
    """The first commit: every file of the sample."""
    trees: dict[str, Tree] = {"": Tree()}
    for name, text in _FILES.items():
        folder, _, base = name.rpartition("/")
        blob = Blob.from_string(text.encode())
        repo.object_store.add_object(blob)
        trees.setdefault(folder, Tree()).add(base.encode(), 0o100644, blob.id)
    for folder, tree in trees.items():
        if folder:
            repo.object_store.add_object(tree)
            trees[""].add(folder.encode(), 0o040000, tree.id)
    repo.object_store.add_object(trees[""])
    commit = Commit()
    commit.tree = trees[""].id
    commit.author = commit.committer = b"Sample <sample@localhost>"
    commit.author_time = commit.commit_time = 1767225600
    commit.author_timezone = commit.commit_timezone = 0
    commit.message = b"Functions for lists of numbers\n"
    repo.object_store.add_object(commit)
    return commit.id


def sample_script() -> bytes:
    """The run of the demo, as JSON lines: it reads, mends, is refused, commits, asks, verifies."""
    mended = _MENDED.splitlines()[2]
    steps: list[dict[str, Any]] = [
        {
            "say": "The tests fail in average(). I read the module to see how it counts.",
            "kind": "read_file",
            "path": "calc/numbers.py",
        },
        {
            "say": "It divides by one less than the number of items, so every mean is too large,"
            " and a list of one item divides by zero. I divide by the number of items.",
            "kind": "replace_text",
            "path": "calc/numbers.py",
            "expected": _AVERAGE.splitlines()[2],
            "replacement": mended,
        },
        {
            "say": "That is the whole change, so I finish.",
            "kind": "finish",
            "summary": "average() divides by the number of items.",
        },
        {
            "say": "Nothing is finished before it is verified. I commit the change first.",
            "kind": "git_commit",
            "message": "Divide by the number of items in average()",
        },
        {
            "say": "The commit goes to origin; a person has to allow that.",
            "kind": "git_push",
            "remote": "origin",
            "ref": "mend-average",
        },
        {
            "say": "Now the operator's own tests decide.",
            "kind": "verify",
        },
        {
            "say": "All tests pass.",
            "kind": "finish",
            "summary": "average() divides by the number of items; the tests pass, and the commit is"
            " on origin.",
        },
    ]
    for step in steps:
        step["delay_ms"] = 600  # slow enough to be watched
    return b"".join(json.dumps(step, ensure_ascii=False).encode() + b"\n" for step in steps)
