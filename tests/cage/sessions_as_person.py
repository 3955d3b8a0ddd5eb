"""Kept sessions, used by whoever starts this: one JSON line for each way to leave something.

PYTHONPATH=REPOSITORY:REPOSITORY/tests/cage python sessions_as_person.py
"""

from __future__ import annotations

import json
import os

from cage_making import Hall
from leaving import LEFT, python
from sessions import is_kept, stands


def main() -> None:
    os.environ.pop("PYTHONPATH")
    hall = Hall()
    try:
        for way, code in LEFT.items():
            stands(hall.cage)
            before = hall.sh(
                "cut -d' ' -f22 /proc/1/stat; readlink /proc/1/exe || tr -d '\\0' < /proc/1/cmdline"
            )
            left = python(hall.cage, code)
            after = hall.sh("cut -d' ' -f22 /proc/1/stat")
            print(json.dumps({
                "way": way, "uid": os.geteuid(), "kept": is_kept(before) and is_kept(left),
                "seen": before.text().split()[1:], "others": before.text().split()[0] != after.text().strip(),
                "said": left.stderr.decode()[-300:],
            }))  # fmt: skip
    finally:
        hall.close()


main()
