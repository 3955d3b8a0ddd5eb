"""Kept sessions, used by whoever starts this: one JSON line for each way to leave something.

PYTHONPATH=REPOSITORY:REPOSITORY/tests/cage python sessions_as_person.py
"""

from __future__ import annotations

import json
import os

from cage_making import Hall
from leaving import LEFT, left_behind
from sessions import is_kept, stands


def main() -> None:
    os.environ.pop("PYTHONPATH")
    hall = Hall()
    try:
        for way in LEFT:
            stands(hall.cage)
            first = hall.sh("readlink /proc/1/exe || tr -d '\\0' < /proc/1/cmdline")
            left, others = left_behind(hall.cage, way)
            print(json.dumps({
                "way": way, "uid": os.geteuid(), "kept": is_kept(first), "seen": first.text().split(),
                "others": others, "said": left.stderr.decode()[-300:],
            }))  # fmt: skip
    finally:
        hall.close()


main()
