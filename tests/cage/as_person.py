"""The tests of commands and walls, run by whoever starts this: one JSON line per test.

    PYTHONPATH=REPOSITORY:REPOSITORY/tests/cage python as_person.py

Needs no test framework, so that any interpreter an ordinary account can reach will do.
"""

from __future__ import annotations

import json
import os
import traceback
from concurrent.futures import ThreadPoolExecutor

import cage_making
import test_caged_commands
import test_network_reach
import test_one_shot
import test_walls


def main() -> None:
    os.environ.pop("PYTHONPATH")
    os.environ.update(cage_making.PLANTED)
    tests = {
        name: thing
        for module in (test_caged_commands, test_walls, test_one_shot, test_network_reach)
        for name, thing in vars(module).items()
        if name.startswith("test_")
    }
    hall = cage_making.Hall()
    try:
        hall.sh("true")  # the start takes its time; commands are measured
        with ThreadPoolExecutor(2) as pool:
            running = {name: pool.submit(test, hall) for name, test in tests.items()}
            for name, future in running.items():
                error = future.exception()
                text = "".join(traceback.format_exception(error)) if error else ""
                print(json.dumps({"test": name, "uid": os.geteuid(), "error": text}), flush=True)
    finally:
        hall.close()


main()
