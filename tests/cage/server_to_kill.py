"""A server in the middle of its work, for a test that ends it: LABEL MARK [unbound]."""

from __future__ import annotations

import sys
import threading

import cage_making
import sessions
import weakening

from runtime.core.commands import Shell
from runtime.policy.authorised import by_operator
from runtime.sandbox import Cage
from runtime.sandbox.cell import Cell


def main() -> None:
    label, mark = sys.argv[1:3]
    hall = cage_making.Hall()
    cage: Cell = Cage(hall.spec(label=label))
    if sys.argv[3:] == ["unbound"]:
        loose = weakening.words(weakening.without("--die-with-parent"))
        cage = weakening.Weakened(hall.spec(label=label), loose, ())
    script = f"(setsid sleep {mark} &) ; sleep {mark} & sleep {mark}"

    def busy() -> None:
        while True:
            cage.run(by_operator(Shell(f"sleep {mark} & true"), "test"))

    def hold() -> None:
        cage.run(
            by_operator(Shell(f"echo held; sleep {mark}"), "test"), on_output=lambda *_: held.set()
        )

    sessions.stands(cage)
    held = threading.Event()  # the session; whatever else runs has namespaces of its own
    threading.Thread(target=hold, daemon=True).start()
    assert held.wait(20)
    threading.Thread(target=busy, daemon=True).start()
    threading.Thread(target=busy, daemon=True).start()
    cage.run(
        by_operator(Shell(f"echo ready; {script}"), "test"),
        on_output=lambda _, data: print(hall.base, cage.broker_pid, flush=True),
    )


main()
