"""What a run may hold on the disk, over all its commands, and worktrees that are full of traps."""

from __future__ import annotations

import errno
import shutil
from typing import Any

import pytest
from django.conf import settings

from runtime.models import Workspace
from runtime.runs import replay
from runtime.sandbox import etc
from tests.agent.scenes import seen, tool, tree, write
from tests.kit import FINISH, VERIFY, Told, play, repository, workspace

FILL = "import sys\nopen(sys.argv[1], 'wb').write(b'x' * int(sys.argv[2]))\n"
MANY = "import os\nos.makedirs('many')\nfor n in range(300): open(f'many/{n}', 'w').close()\n"
HOLES = "import os\nos.truncate(os.open('holes', os.O_RDWR | os.O_CREAT), 50 << 20)\n"
HARD = "import os\nos.makedirs('links')\nfor n in range(20): os.link('big', f'links/{n}')\n"
MIB = 1 << 20
FILES = {"fill.py": FILL, "many.py": MANY, "holes.py": HOLES, "hard.py": HARD,
         ".gitignore": "big*\nlinks/\nholes\n"}  # fmt: skip


def bounded(by: Any, **limits: int) -> None:
    workspace(by, repository(FILES))
    Workspace.objects.update(limits=limits)


def fill(name: str, size: int) -> dict[str, Any]:
    return tool("python3", "fill.py", name, str(size))


def settled(told: Told) -> None:
    assert told.state == "succeeded", told.reason
    assert replay.check(told.run.pk) == ""


def test_a_run_over_its_bytes_does_nothing_more_until_it_has_made_room(cast):
    bounded(cast.alice, tree_bytes=4 * MIB)
    remove = {"kind": "run_tool", "program": "rm", "args": ["big2"]}
    told = play(
        cast.alice,
        [fill("big1", 2 * MIB), fill("big2", 3 * MIB), fill("big3", MIB), write("a.txt", "a"),
         VERIFY, {"kind": "read_file", "path": "fill.py"}, remove, fill("big3", MIB),
         write("a.txt", "a"), VERIFY, FINISH],
        mode="autonomous",
    )  # fmt: skip
    _, over, again, edit, proof, read, freed, more, *_ = seen(told)
    assert "no checkpoint: The worktree holds 5.0 MiB on the disk" in over
    assert "allows 4.0 MiB" in over and "run_tool rm" in over
    for text in (again, edit, proof):
        assert "The worktree holds 5.0 MiB" in text
    assert "open(sys.argv[1]" in read, "to read is possible all the same"
    assert "exit status 0" in freed and "no checkpoint" not in freed and "exit status 0" in more
    assert sorted(path.name for path in tree(told).glob("big*")) == ["big1", "big3"]
    assert (tree(told) / "a.txt").exists()
    settled(told)


def test_files_count_as_well_as_bytes(cast):
    bounded(cast.alice, tree_entries=200)
    told = play(
        cast.alice,
        [tool("python3", "many.py"), tool("true"), tool("rm", "-r", "many"), tool("true"), FINISH],
        mode="autonomous",
    )
    over, refused, freed, after, _ = seen(told)
    assert "more than 200 entries" in over and "more than 200 entries" in refused
    assert "exit status 0" in freed and "exit status 0" in after
    settled(told)


def test_holes_and_further_links_take_up_no_room(cast):
    bounded(cast.alice, tree_bytes=4 * MIB)
    told = play(
        cast.alice,
        [tool("python3", "holes.py"), fill("big", MIB), tool("python3", "hard.py"), tool("true"),
         FINISH],
    )  # fmt: skip
    assert all("exit status 0" in text and "no checkpoint" not in text for text in seen(told)[:4])
    settled(told)


def test_a_job_starts_only_where_there_is_room(cast):
    bounded(cast.alice, tree_bytes=2 * MIB)
    told = play(
        cast.alice,
        [fill("big", 3 * MIB), {"kind": "start_job", "program": "sleep", "args": ["60"]},
         {"kind": "apply_patch", "patch": "--- a/hard.py\n+++ /dev/null\n@@ -1,3 +0,0 @@\n"
          + "".join(f"-{line}\n" for line in HARD.splitlines())}],
    )  # fmt: skip
    _, job, deletion = seen(told)[:3]
    assert "The worktree holds" in job and told.of("job.started") == []
    assert "hard.py deleted" in deletion, "what only removes files is done"


TRAPS = """import os, socket
os.makedirs('farm')
for n in range(500):
    os.symlink('/proc/self/root' if n % 3 else f'{n - 1}', f'farm/{n}')
os.symlink('.', 'farm/round')
os.mkfifo('farm/pipe')
s = socket.socket(socket.AF_UNIX); s.bind('farm/sock')
open(b'farm/\\xff\\xfe name', 'wb').write(b'x')
open('farm/new\\nline', 'w').write('x')
os.makedirs('farm/shut'); open('farm/shut/x', 'w').close()
top = os.getcwd()
os.chdir('farm')
for n in range(40):
    name = 'd' * 200
    os.mkdir(name); os.chdir(name)
open('bottom', 'w').write('needle')
"""


@pytest.mark.thorough
@pytest.mark.parametrize("ignored", [True, False], ids=["ignored", "in the tree"])
def test_a_worktree_full_of_traps_holds_up_nothing_and_leads_nowhere(cast, ignored):
    more = {".gitignore": "farm/\n"} if ignored else {}
    workspace(cast.alice, repository({"traps.py": TRAPS, "notes.txt": "needle\n", **more}))
    told = play(
        cast.alice,
        [tool("python3", "traps.py"),
         {"kind": "list_files", "path": "farm"},
         {"kind": "glob", "pattern": "**/*"},
         {"kind": "grep", "pattern": "needle"},
         {"kind": "git_diff"},
         {"kind": "read_file", "path": "farm/pipe"},
         {"kind": "read_file", "path": "farm/round/round/pipe"},
         {"kind": "read_file", "path": "farm/1/etc/hostname"},
         write("farm/1/x", "x"),
         write("made.txt", "made"),
         {"kind": "git_status"}, VERIFY, FINISH],
    )  # fmt: skip
    texts = seen(told)
    assert "a named pipe" in texts[1] and "a socket" in texts[1] and "\\udcff" in texts[1]
    assert "notes.txt" in texts[2]
    assert "notes.txt:1:needle" in texts[3]
    assert "named pipe" in texts[5] and "symbolic link" in texts[6]
    assert (tree(told) / "made.txt").read_text() == "made"
    if ignored:
        settled(told)
    else:
        assert "cannot take in the worktree" in texts[4]
        assert told.types.count("finish.refused") == 1, "what git cannot take is named"


def test_a_disk_that_is_full_when_a_cages_own_files_are_made_ends_the_run_and_leaves_no_half(
    cast, monkeypatch
):
    workspace(cast.alice)
    shared = settings.M31A.DATA_DIR / "etc"
    shutil.rmtree(shared, ignore_errors=True)

    def full(source: str, target: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", target)

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(etc.shutil, "copyfile", full)
        told = play(cast.alice, [tool("true"), FINISH])
    assert (told.state, told.reason) == ("failed", "disk_full")
    assert list(shared.iterdir()) == []
    assert play(cast.alice, [tool("true"), FINISH]).state == "succeeded"
