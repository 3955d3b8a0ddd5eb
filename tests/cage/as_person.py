"""The tests of commands and walls, run by whoever starts this: one JSON line per test.

    python as_person.py REPOSITORY

Needs no test framework, so that any interpreter an ordinary account can reach will do.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor

sys.path[:0] = [sys.argv[1], os.path.dirname(os.path.abspath(__file__))]

import cage_making
import test_commands
import test_one_shot
import test_walls

MODULES = (test_commands, test_walls, test_one_shot)


def outcome(name: str, hall: cage_making.Hall) -> dict[str, str]:
    test = next(getattr(module, name) for module in MODULES if hasattr(module, name))
    try:
        test(hall)
    except BaseException:
        return {"test": name, "error": traceback.format_exc()}
    return {"test": name, "error": ""}


def main() -> None:
    os.environ.update(cage_making.PLANTED)
    names = [name for module in MODULES for name in vars(module) if name.startswith("test_")]
    hall = cage_making.Hall()
    try:
        print(json.dumps({"test": "account", "error": "" if os.geteuid() else "still root"}))
        with ThreadPoolExecutor(2) as pool:
            for line in pool.map(lambda name: outcome(name, hall), names):
                print(json.dumps(line), flush=True)
    finally:
        hall.close()


main()
