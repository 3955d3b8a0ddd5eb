"""A process that appends to a run as fast as it can; `test_concurrency` starts several."""

from __future__ import annotations

import os
import sys

import django


def main(run: str, task: str, fence: int, count: int) -> None:
    """Append by the hot path and by the slow one, in turn; say when ready, then wait to begin."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "m31a_site.settings")
    django.setup()
    from runtime.journal.append import append
    from runtime.journal.book import open_run
    from runtime.journal.chain import By
    from runtime.journal.kinds import ActionStarted, TaskReady

    me = f"worker {os.getpid()}"
    by = By(run, task, 1, fence, me)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    for n in range(count):
        if n % 4 == 3:
            with open_run(run) as book:
                book.append(TaskReady(why=f"{me} {n}"), actor=me, task=task)
        else:
            append(by, [ActionStarted(action=f"{me} {n}", kind="verify")], task={"steps": n})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
