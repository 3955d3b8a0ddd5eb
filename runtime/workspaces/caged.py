"""Git that looks at a worktree: fixed scripts, run inside the cage under the profile `git`.

Index and new objects lie in a scratch directory that no proposed command ever sees. Whatever
git says on its standard error is a refusal: a directory that it cannot open is only a warning
to git, and the tree would keep the old content.
"""

from __future__ import annotations

import shlex

from runtime.core.commands import Exec
from runtime.core.errors import Refused, Unavailable
from runtime.policy.authorised import by_runtime
from runtime.sandbox import Cage, Result

GIT, SCRATCH = "/m31a/git", "/m31a/scratch"
SECONDS = 120.0
LEFT_OUT = "left-out"
"""File in the scratch directory: paths that no tree takes, each ended by NUL."""

_HEAD = f"""set -e
export GIT_DIR={GIT} GIT_WORK_TREE="$PWD" GIT_INDEX_FILE={SCRATCH}/index
rm -f "$GIT_INDEX_FILE.lock"
"""
POPULATE = f"""{_HEAD}
rm -f "$GIT_INDEX_FILE"
git read-tree "$TREE"
git checkout-index -a -f -u
"""
# The index keeps what it knows of files that are the same in $BASE.
CHECKPOINT = f"""{_HEAD}
export GIT_OBJECT_DIRECTORY={SCRATCH}/objects GIT_ALTERNATE_OBJECT_DIRECTORIES={GIT}/objects
rm -rf "$GIT_OBJECT_DIRECTORY"
mkdir "$GIT_OBJECT_DIRECTORY"
[ "$SAME" = 1 ] || git read-tree --reset "$BASE"
git add -A
[ ! -s {SCRATCH}/{LEFT_OUT} ] || git update-index -z --force-remove --stdin < {SCRATCH}/{LEFT_OUT}
tree=$(git write-tree)
echo "$tree"
[ "$tree" = "$BASE" ] ||
    printf '%s\\n^%s\\n' "$tree" "$BASE" | git pack-objects -q --revs --window=0 --stdout
"""
# Directories that a command made unreadable or unwritable are ours again first; `git clean` would
# pass over whatever is called .git.
RESTORE = f"""{_HEAD}
find . -xdev -type d ! -perm -0700 -exec chmod u+rwx {{}} \\;
find . -xdev -iname .git -prune -exec rm -rf {{}} +
git read-tree "$TREE"
git checkout-index -a -f -u
git clean -ffdq
"""
OPEN = """set -e
find . -xdev -type d ! -perm -0700 -exec chmod u+rwx {} \\;
"""
REFRESH = f"""{_HEAD}
export GIT_INDEX_FILE={SCRATCH}/head-index
rm -f "$GIT_INDEX_FILE" "$GIT_INDEX_FILE.lock"
git read-tree HEAD
git update-index -q --refresh || true
"""


def script(cage: Cage, text: str, *, stdout_to: int | None = None, **values: str) -> Result:
    """Run one of the scripts above. Raises `Refused` with what git said, `Unavailable` where the
    cage itself failed."""
    for place in (GIT, SCRATCH):  # elsewhere under a backend that mounts nothing
        text = text.replace(place, shlex.quote(cage.place(place)))
    command = by_runtime(Exec("/bin/sh", ("-c", text)), "git")
    done = cage.run(command, timeout=SECONDS, profile="git", env=values, stdout_to=stdout_to)
    if done.failure:
        raise Unavailable(done.failure)
    said = " ".join(done.text("stderr").split())
    if done.timed_out:
        raise Refused(
            f"Git did not end within {SECONDS:g} seconds.", remedy="Remove very large files."
        )
    if done.limit:
        raise Refused(f"Git reached the workspace's limit {done.limit}.")
    if not done.ok or done.stderr:
        raise Refused(
            f"Git cannot take in the worktree: {said[-800:] or f'status {done.status}'}",
            remedy="Remove or repair what it names.",
        )
    return done
