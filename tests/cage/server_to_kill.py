"""A server in the middle of its work, for a test that ends it: LABEL MARK."""

from __future__ import annotations

import sys
import threading

import cage_making

from runtime.core.commands import Shell
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage


def main() -> None:
    label, mark = sys.argv[1:3]
    hall = cage_making.Hall()
    cage = Cage(hall.spec(label=label))
    script = f"(setsid sleep {mark} &) ; sleep {mark} & sleep {mark}"

    def busy() -> None:
        while True:
            cage.run(by_operator(Shell(f"sleep {mark} & true"), "test"))

    threading.Thread(target=busy, daemon=True).start()
    threading.Thread(target=busy, daemon=True).start()
    cage.run(
        by_operator(Shell(f"echo ready; {script}"), "test"),
        on_output=lambda _, data: print(hall.base, cage.broker_pid, flush=True),
    )


main()
