"""What is wrong with a policy file: which file, which rule, which field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runtime.core.errors import BadInput

MAX_TOLD = 20


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing to mend. `rule` is "" where the file as a whole is meant, `field` likewise."""

    file: str
    rule: str
    field: str
    message: str

    def __str__(self) -> str:
        place = ", ".join(
            part
            for part in (
                self.file,
                self.rule and f"rule {self.rule}",
                self.field and f"field {self.field}",
            )
            if part
        )
        return f"{place}: {self.message}"


class PolicyFault(BadInput):
    """Policy files that cannot be used; nothing of them is in force."""

    def __init__(self, faults: Sequence[Fault]) -> None:
        self.faults = tuple(faults)
        told = [f"{fault}." for fault in self.faults[:MAX_TOLD]]
        if len(self.faults) > MAX_TOLD:
            told.append(f"And {len(self.faults) - MAX_TOLD} more.")
        super().__init__(
            "\n".join(["The policy cannot be used.", *told]),
            remedy="Mend the files and see with `m31a policy test`.",
        )
