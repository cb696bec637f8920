"""Facts that measures get of the parts: put in less room as they come, so that the process that leads holds few."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.parted.packed_facts import PackedFacts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.pipeline.resolved import MeasureRequest
    from maskwright.plugins.engine import Receipt

    Facts = Mapping[str, Any]

AT_ONCE = 8
"""Parts whose facts are held as they came."""

NAME = "measures"
"""What a task tells for measures."""


class MeasureFacts:
    """Facts of one round, by label, in the order of the parts.

    `asked`: what they ask in this round; nothing in the first.
    """

    def __init__(self, requests: Sequence[MeasureRequest], asked: Mapping[str, Facts] | None = None) -> None:
        self._requests = {each.label: each for each in requests}
        self._asked = asked or {}
        self._found: dict[str, list[Facts | PackedFacts]] = {}
        self._waiting: dict[str, int] = {}

    def taken(self, receipt: Receipt) -> Receipt:
        """Take what a task tells for measures; its receipt without that."""
        for label, facts in receipt.facts.get(NAME, {}).items():
            self.add(label, facts)
        return replace(receipt, facts={name: each for name, each in receipt.facts.items() if name != NAME})

    def add(self, label: str, facts: Facts) -> None:
        """Add the facts of the next part, or of the next task that counts."""
        request, found = self._requests[label], self._found.setdefault(label, [])
        condensed = None if request.measure.merging is None else request.measure.merging.condensed
        if condensed is None:
            found.append(PackedFacts(facts))
            return
        found.append(facts)
        waiting = self._waiting[label] = self._waiting.get(label, 0) + 1
        if waiting > AT_ONCE:
            found[:] = condensed(found, request.params, self._asked.get(label))
            self._waiting[label] = 0

    def of(self, label: str) -> list[Facts]:
        """Facts for one measure: as `Merging.merged` takes them."""
        return [each.unpacked() if isinstance(each, PackedFacts) else each for each in self._found.get(label, [])]
