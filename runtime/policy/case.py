"""One question on its way through the stages: what is known so far, and what was found."""

from __future__ import annotations

from dataclasses import dataclass, field

from runtime.core import digests
from runtime.core.actions import Action

from . import hashing
from .context import Context, Request
from .decision import Decision, worst
from .hosts import NetworkRequest
from .places import Lens
from .reading import Part, Reading
from .verdict import Source


@dataclass(frozen=True, slots=True)
class Finding:
    """What one stage says. `lifts`: names of earlier stages whose outcome no longer counts."""

    outcome: Decision | None = None
    rule: str = ""
    reason: str = ""
    source: Source = "default"
    lifts: frozenset[str] = frozenset()
    layer: int | None = None


NOTHING = Finding()


@dataclass(slots=True)
class Case:
    """Filled by the stages in order. `silenced`: parts about which a rule of layers 1 to 7 has
    spoken, so that the developer defaults have nothing to add."""

    request: Request
    context: Context
    lens: Lens
    subject: Action | NetworkRequest | None = None
    reading: Reading | None = None
    findings: dict[str, Finding] = field(default_factory=dict)
    silenced: set[int] = field(default_factory=set)

    @property
    def parts(self) -> tuple[Part, ...]:
        """The parts that were read. Raises `RuntimeError` where nothing was."""
        if self.reading is None:
            raise RuntimeError("the action was not read")
        return self.reading.parts

    @property
    def mutation(self) -> bool:
        """Whether the action changes something; in doubt it does."""
        return self.reading is None or self.reading.mutation

    def standing(self) -> Decision:
        """The worst outcome so far that nothing has lifted."""
        return worst(finding.outcome for _, finding in self.counted())

    def counted(self) -> list[tuple[str, Finding]]:
        """Findings that count: with an outcome, and not lifted by a later stage."""
        lifted = frozenset[str]().union(*(one.lifts for one in self.findings.values()))
        return [
            (name, finding)
            for name, finding in self.findings.items()
            if finding.outcome is not None and name not in lifted
        ]

    def decisive(self) -> tuple[str, Finding]:
        """The first stage whose counted outcome is the standing decision."""
        standing = self.standing()
        for name, finding in self.counted():
            if finding.outcome is standing:
                return name, finding
        return "", Finding(Decision.ALLOW, "default", "nothing speaks against it")

    def key(self) -> str:
        """The action's key: the same whenever the same thing is proposed again."""
        if self.reading is None:
            return ""
        return digests.action_key(self.reading.canonical, self.reading.cwd, {})

    def operands(self) -> dict[str, str]:
        """Content hashes of everything the action names, by path."""
        if self.reading is None:
            return {}
        return {
            place.relative or place.path: place.facts.sha256 or place.facts.type
            for part in self.reading.parts
            for place in part.places
        }

    def digest(self) -> str:
        """What one approval is bound to. The same before and after grants were applied."""
        if self.reading is None:
            return ""
        before = Case(self.request, self.context, self.lens)
        before.findings = {
            name: finding
            for name, finding in self.findings.items()
            if name not in ("grants", "audit")
        }
        _, asked = before.decisive()
        rules = hashing.rule_hash(asked.rule, asked.layer, self.context.layers)
        return digests.action_digest(self.key(), self.operands(), self.context.tree, rules)
