"""What analysis says: findings about rules, and what it did not look at."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.foundation.errors import Place

FindingKind = Literal["contradiction", "unreachable_on_grid", "redundant", "implied_equality", "fixed", "dead_branch"]


@dataclass(frozen=True)
class Finding:
    """Something about rules that a person should know.

    `edits`: the rules concerned; ``bounds of V3`` stands for declared bounds of a variable. `place`: of the first rule
    concerned. `hint`: what to do about it.
    """

    kind: FindingKind
    edits: tuple[str, ...]
    message: str
    place: Place | None = None
    hint: str | None = None

    @property
    def blocks(self) -> bool:
        """Whether nothing can be masked under these rules."""
        return self.kind in ("contradiction", "unreachable_on_grid")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        place = None if self.place is None else str(self.place)
        return {"kind": self.kind, "edits": list(self.edits), "message": self.message, "place": place,
                "hint": self.hint}  # fmt: skip


@dataclass(frozen=True)
class Analysis:
    """Everything found in a set of rules.

    `findings`: those that block first, then in file order. `skipped`: what was not analysed, and why: reason to number
    of rules.
    """

    findings: tuple[Finding, ...] = ()
    skipped: Mapping[str, int] = field(default_factory=dict)

    @property
    def blocking(self) -> tuple[Finding, ...]:
        """Findings under which no record can be published."""
        return tuple(finding for finding in self.findings if finding.blocks)

    def to_json(self) -> dict[str, Any]:
        """Plain data, as ``maskwright edits --json`` prints it."""
        return {
            "findings": [finding.to_json() for finding in self.findings],
            "not_analysed": [{"reason": reason, "edits": count} for reason, count in self.skipped.items()],
        }


def listed(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
