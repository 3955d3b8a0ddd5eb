"""The whole battery, run by whoever starts this: BACKEND [control]. One JSON document at the end.

Needs no test framework, so that any interpreter an ordinary account can reach will do.
"""

from __future__ import annotations

import json
import os
import sys

import battery
import cage_making
from ground import Ground

from runtime.sandbox import Cage, CageSpec, Mount, OneShot


def main() -> None:
    os.environ.pop("PYTHONPATH")
    os.environ.update(cage_making.PLANTED)
    ground = Ground()
    try:
        if sys.argv[1] == "control":
            answer = without_walls(ground)
        else:
            with OneShot(ground.ws, limits=battery.BOUNDS) as shot:
                failed, weak = battery.run(ground, shot, sys.argv[1])
            terminal = os.isatty(0)
            answer = {"uid": os.geteuid(), "terminal": terminal, "failed": failed, "weak": weak}
    finally:
        ground.close()
    print("ANSWER", json.dumps(answer), flush=True)


def without_walls(ground: Ground) -> dict[str, object]:
    """Which of the harmless probes do what they attempt where nothing stops them."""
    spec = CageSpec(
        ground.ws, (Mount(ground.ws, ground.ws, writable=True),), limits=battery.BOUNDS,
        accepts="none",
    )  # fmt: skip
    worked, failed = [], {}
    with Cage(spec) as cage:
        for name, about in battery.probes().items():
            if about.get("control", True) and about.get("must", "fail") == "fail":
                if "status" in about:
                    continue
                result = cage.run(battery.command(ground, about, "1"))
                if result.status == 0:
                    worked.append(name)
                else:
                    failed[name] = repr(
                        (result.status, result.failure, result.text("stderr")[-200:])
                    )
                ground.restore()
    return {"uid": os.geteuid(), "worked": worked, "failed": failed}


main()
