"""Random trees, patches and paths: what git would do is done, all of it or nothing, and never
anything outside of the worktree."""

from __future__ import annotations

import os
import random
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from dulwich.objects import Tree
from dulwich.repo import Repo
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runtime import faults
from runtime.core.actions import ApplyPatch, InvalidAction, ReplaceText, WriteFile, parse
from runtime.core.errors import Refused
from runtime.policy.authorised import by_gate
from runtime.workspaces import Editor
from runtime.workspaces.diffs import of_edits
from runtime.workspaces.objects import Objects

pytestmark = pytest.mark.thorough

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""Git's name of the tree that holds nothing."""
FAST = "/dev/shm" if os.path.isdir("/dev/shm") else None
QUICK = settings(max_examples=150, suppress_health_check=list(HealthCheck))
Files = dict[str, tuple[bytes, int]]

LINES = st.sampled_from([b"one", b"two", b"three", b"", b" indented", b"\tx", "ä".encode(), b"x\r"])
NAMES = st.sampled_from(["a.txt", "b c.txt", "d/e.py", "d/f/g.sh", "ü.md", "-dash", "h"])


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    text = b"".join(line + b"\n" for line in draw(st.lists(LINES, max_size=30)))
    return text[:-1] if text and draw(st.booleans()) else text


MODES = st.sampled_from([0o644, 0o755])
TREES = st.dictionaries(NAMES, st.tuples(texts(), MODES), max_size=7)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Files, Files]:
    """Two trees, the second one made of the first by changes, so that there is context."""
    before = draw(TREES)
    after = dict(before)
    for name in list(before):
        what = draw(st.sampled_from(["keep", "edit", "edit", "delete", "mode", "move"]))
        text, mode = before[name]
        if what == "edit":
            lines = text.split(b"\n")
            for _ in range(draw(st.integers(1, 3))):
                lines.insert(draw(st.integers(0, len(lines))), draw(LINES))
            after[name] = (b"\n".join(lines), mode)
        elif what == "mode":
            after[name] = (text, 0o755 ^ 0o644 ^ mode)
        elif what in ("delete", "move"):
            del after[name]
            if what == "move":
                after[f"moved/{name}"] = (text, mode)
    for name, value in draw(TREES).items():
        if name not in before:
            after[name] = value
    return before, after


@contextmanager
def folder() -> Iterator[Path]:
    made = Path(tempfile.mkdtemp(dir=FAST))
    try:
        yield made
    finally:
        shutil.rmtree(made)


def fill(root: Path, files: Files) -> None:
    for name, (text, mode) in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        path.chmod(mode)


def found(root: Path) -> Files:
    return {
        path.relative_to(root).as_posix(): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


def patch(text: str) -> ApplyPatch:
    action = parse({"kind": "apply_patch", "patch": text})
    assert isinstance(action, ApplyPatch)
    return action


@pytest.fixture(scope="module")
def objects() -> Iterator[tuple[Objects, Path]]:
    with folder() as made:
        with Repo.init_bare(str(made)) as repo:
            repo.object_store.add_object(Tree())
        yield Objects(made), made


def git_diff(objects: tuple[Objects, Path], before: Files, after: Files) -> str:
    store, path = objects
    trees = [
        store.with_changes(EMPTY, [(name, text, mode) for name, (text, mode) in files.items()])
        for files in (before, after)
    ]
    done = subprocess.run(
        ["git", "-c", "core.quotepath=false", "diff", "-M", "--no-color", *trees],
        cwd=path, check=True, capture_output=True,
    )  # fmt: skip
    return done.stdout.decode()


@QUICK
@given(pair=pairs())
def test_what_git_writes_is_applied_as_git_means_it(
    objects: tuple[Objects, Path], pair: tuple[Files, Files]
) -> None:
    before, after = pair
    text = git_diff(objects, before, after)
    if not text:
        return
    with folder() as base:
        root = base / "tree"
        root.mkdir()
        fill(root, before)
        editor = Editor(root, None)
        planned = editor.plan_patch(patch(text))
        done = editor.apply(by_gate(patch(text), "a"), planned)
        assert found(root) == after
        assert [e.state_after for e in done.edits] == [editor.state(e.path) for e in done.edits]
        assert os.listdir(base / "staging") == []
        shown = of_edits(done.edits)
        assert all(
            name in shown or not name.isascii() for edit in done.edits for name in [edit.path]
        )


@QUICK
@given(pair=pairs(), nth=st.integers(1, 12), after_it=st.booleans())
def test_a_patch_that_fails_in_the_middle_is_undone(
    objects: tuple[Objects, Path], pair: tuple[Files, Files], nth: int, after_it: bool
) -> None:
    before, after = pair
    text = git_diff(objects, before, after)
    if not text:
        return
    point = "edit.after_rename" if after_it else "edit.before_rename"
    hits = 0

    def hit(name: str) -> None:
        nonlocal hits
        hits += name == point
        if hits == nth:
            raise OSError(28, "No space left on device")

    with folder() as base, pytest.MonkeyPatch.context() as patched:
        root = base / "tree"
        root.mkdir()
        fill(root, before)
        editor = Editor(root, None)
        planned = editor.plan_patch(patch(text))
        patched.setattr(faults, "hit", hit)
        try:
            editor.apply(by_gate(patch(text), "a"), planned)
        except OSError:
            assert found(root) == before
            held = {os.path.dirname(name) for name in before}
            empty = [p for p in root.rglob("*") if p.is_dir() and not any(p.iterdir())]
            assert empty == [], f"directories made for nothing beside {held}"
        else:
            assert hits < nth and found(root) == after


@QUICK
@given(pair=pairs(), cut=st.integers(0, 12))
def test_what_is_left_of_a_patch_after_a_crash_can_be_done(
    objects: tuple[Objects, Path], pair: tuple[Files, Files], cut: int
) -> None:
    """A crash leaves the first edits done, and the others not."""
    before, after = pair
    text = git_diff(objects, before, after)
    if not text:
        return
    with folder() as base:
        root = base / "tree"
        root.mkdir()
        fill(root, before)
        editor = Editor(root, None)
        planned = editor.plan_patch(patch(text))
        for edit in planned.edits[:cut]:
            path = root / edit.path
            if edit.after is None:
                path.unlink()
            else:
                fill(root, {edit.path: (edit.after, edit.mode)})
        done = {edit.path for edit in planned.edits[:cut]}
        rest = editor.plan_patch(patch(text), done)
        assert [e.path for e in rest.edits] == [e.path for e in planned.edits[cut:]]
        editor.apply(by_gate(patch(text), "a"), rest)
        assert found(root) == after


# Anything at all


@dataclass
class World:
    """A worktree full of traps, and a place outside that they lead to."""

    base: Path

    def __post_init__(self) -> None:
        self.root, self.outside = self.base / "tree", self.base / "outside"
        for made in (self.root, self.root / "d", self.outside, self.outside / "d"):
            made.mkdir()
        for made in (self.root, self.outside):
            (made / "a").write_text("one\ntwo\nthree\n")
            (made / "d" / "b").write_text("one\n")
        (self.root / "out").symlink_to(self.outside)
        (self.root / "file").symlink_to(self.outside / "a")
        (self.root / "loop").symlink_to("loop")
        (self.root / "up").symlink_to("..")
        (self.root / "etc").symlink_to("/etc")
        os.mkfifo(self.root / "pipe")
        self.editor = Editor(self.root, None)

    def around(self) -> list[tuple[str, int, int, bytes]]:
        """Everything beside the worktree, down to its times."""
        rows = []
        for path in sorted([self.base, self.outside, *self.outside.rglob("*")]):
            about = path.lstat()
            data = path.read_bytes() if stat.S_ISREG(about.st_mode) else b""
            rows.append(
                (str(path), about.st_mode, 0 if path == self.base else about.st_mtime_ns, data)
            )
        return [*rows, ("names", 0, 0, " ".join(sorted(os.listdir(self.base))).encode())]

    def inside(self) -> dict[str, tuple[int, bytes]]:
        """Every entry of the worktree."""
        rows = {}
        for where, folders, files in os.walk(self.root):
            for name in (*folders, *files):
                path = os.path.join(where, name)
                about = os.lstat(path)
                data = b""
                if stat.S_ISREG(about.st_mode):
                    data = Path(path).read_bytes()
                elif stat.S_ISLNK(about.st_mode):
                    data = os.fsencode(os.readlink(path))
                rows[os.path.relpath(path, self.root)] = (about.st_mode, data)
        return rows


WORDS = ("a", "b", "d", "out", "file", "loop", "up", "etc", "pipe", "..", ".", "", ".git", ".GIT",
         "new", "~", "-x", "a\nb", "a\tb", "é", "\u202e", "x" * 300, "staging", "hosts", " ", "b/",
         "\\", '"', "tree", "outside", "/dev/null", "git~1")  # fmt: skip


def some_path(chance: random.Random) -> str:
    path = "/".join(chance.choice(WORDS) for _ in range(chance.randint(1, 4)))
    if chance.random() < 0.1:
        path = "/" + path
    if chance.random() < 0.02:
        path = (path + "/") * chance.choice((20, 2000))
    return path


def some_patch(chance: random.Random) -> str:
    """A patch that may be right, may be wrong, and may be about anything."""
    parts = []
    for _ in range(chance.randint(1, 3)):
        old, new = some_path(chance), some_path(chance)
        good = chance.random() < 0.4
        if good:
            old = new = chance.choice(("a", "d/b", "new", "d/new", "new/new"))
        kind = chance.choice(("change", "create", "delete", "rename", "mode"))
        if kind == "change":
            part = f"--- a/{old}\n+++ b/{old}\n@@ -1 +1 @@\n-one\n+1\n"
        elif kind == "create":
            part = f"--- /dev/null\n+++ b/{new}\n@@ -0,0 +1 @@\n+new\n"
        elif kind == "delete":
            part = f"--- a/{old}\n+++ /dev/null\n@@ -1 +0,0 @@\n-one\n"
        elif kind == "rename":
            new = chance.choice(("moved", new))
            part = f"diff --git a/{old} b/{new}\nrename from {old}\nrename to {new}\n"
        else:
            part = f"diff --git a/{old} b/{old}\nold mode 100644\nnew mode 100755\n"
        if chance.random() < 0.15:
            at = chance.randrange(len(part))
            part = part[:at] + chance.choice(("x", "\n", "-", "+", "\\", "@@", "")) + part[at + 1 :]
        parts.append(part)
    return "".join(parts)


def tried(world: World, raw: dict[str, str]) -> bool:
    """Try an edit; whether it was done. Otherwise nothing at all has changed."""
    before = world.inside()
    try:
        action = parse(raw)
        if isinstance(action, ApplyPatch):
            planned = world.editor.plan_patch(action)
            touched = {edit.path for edit in planned.edits}
            world.editor.apply(by_gate(action, "a"), planned)
        elif isinstance(action, WriteFile):
            touched = {world.editor.write(by_gate(action, "a")).path}
        else:
            assert isinstance(action, ReplaceText)
            touched = {world.editor.replace(by_gate(action, "a")).path}
    except (Refused, InvalidAction):
        assert world.inside() == before
        return False
    after = world.inside()
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    held = {path for path in changed if stat.S_ISDIR((before.get(path) or after[path])[0])}
    assert changed - held <= touched, "no file but those that the edit names"
    return True


BATCH, EXAMPLES = 100, 100


@pytest.mark.timeout(300)
def test_ten_thousand_random_paths_and_patches_change_nothing_outside() -> None:
    done = []

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(seed=st.integers(0, 2**32))
    def batches(seed: int) -> None:
        done.append(batch(random.Random(seed)))

    batches()
    assert sum(done) > EXAMPLES, "some of them are real edits"


def batch(chance: random.Random) -> int:
    """Try so many edits that nothing outside changes; how many were done."""
    done = 0
    with folder() as base:
        world = World(base)
        (base / "staging").mkdir()
        around = world.around()
        for _ in range(BATCH):
            kind = chance.choice(("write_file", "replace_text", "apply_patch", "apply_patch"))
            raw = {"kind": kind}
            if kind == "apply_patch":
                raw["patch"] = some_patch(chance)
            else:
                raw["path"] = some_path(chance)
                more = {"expected": "one", "replacement": "1"}
                raw |= {"content": "one\n"} if kind == "write_file" else more
            done += tried(world, raw)
        assert world.around() == around
        assert os.listdir(base / "staging") == []
    return done
