"""Suppressed cells of all levels together: complementary ones, and what is then published."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.disclosure.attacks.across_levels import disclosed_by_size
from maskwright.disclosure.attacks.dependency import InferableCells, Reader
from maskwright.disclosure.cells import (
    CellMasks,
    LevelCellMasks,
    joined_cells,
    of_level,
    with_any,
    without_cells,
)
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.foundation.findings import Notice
from maskwright.foundation.progress import Progress, Reporter, silent, stage
from maskwright.masking.levels.across_inference import AcrossInference, read_by_either
from maskwright.masking.levels.complementary_suppression import complement_across
from maskwright.masking.levels.keys_above import cells_of_keys_above, keys_above, of_groups, of_members
from maskwright.masking.promised_classes import smallest_classes
from maskwright.masking.suppressing.complementary_suppression import Complement, complement
from maskwright.masking.suppressing.inference_findings import following_doubts, primary_suppressions
from maskwright.masking.suppressing.published_rules import not_applicable, when_present
from maskwright.masking.suppressing.suppression_steps import cells_suppressed, lost_codes
from maskwright.planning.model import DisclosureSettings, key_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure_edits import Source
    from maskwright.foundation.arrays import Booleans
    from maskwright.foundation.doubts import Doubt
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.planning.plan import Plan


@dataclass(frozen=True, eq=False)
class SuppressionState:
    """What is published where cells are suppressed.

    `shown`: as it would be published without suppression. `results`: with the cells that went besides. `cells`: all
    suppressed cells; shape (n,). `complementary`: those that went because of other records; shape (n,). `doubts`:
    suppressed cells that follow all the same, or perhaps do.
    """

    linked: LinkedData
    shown: LinkedData
    results: Mapping[str, MaskingResult]
    cells: LevelCellMasks = field(default_factory=dict)
    complementary: LevelCellMasks = field(default_factory=dict)
    doubts: tuple[Doubt, ...] = ()
    notices: tuple[Notice, ...] = ()


def suppress_across_levels(
    shown: LinkedData,
    originals: Mapping[str, Dataset],
    results: Mapping[str, MaskingResult],
    plans: Mapping[str, Plan],
    bound: BoundEdits,
    reporter: Reporter,
) -> SuppressionState:
    """Empty the cells that steps suppress, and those by which edits across records would give them back."""
    lifted = cells_of_keys_above(shown, results)
    cells = joined_cells(_cells_of_steps(shown, results), lifted)
    uncoded: dict[Source, Booleans] = {}
    for name, result in results.items():
        uncoded = joined_cells(uncoded, of_groups(shown, result, name, codes_taken(result)))
    if not cells and not any(keys_above(shown, result, name) for name, result in results.items()):
        return SuppressionState(_without(shown, uncoded), shown, results)
    published = _in_published_terms(bound, results)
    levels = {
        level.name: _Level.of(level.data.without(level.key_columns), originals, results, plans, published, level.name)
        for level in shown
    }
    for above, below in shown.pairs:
        counted = disclosed_by_size(shown.pair(above, below), levels[above].published)
        levels[above] = replace(levels[above], counted=(*levels[above].counted, *counted))
    last = {(name, key) for name, level in levels.items() for key in level.keys}
    never = {(name, weight) for name, level in levels.items() for weight in level.weights}
    complementary: dict[Source, Booleans] = {}
    by_edits: dict[Source, Booleans] = {}
    promised: dict[Source, Booleans] = {}
    disclosed: dict[Source, Booleans] = {}
    by_level = {name: level.published for name, level in levels.items()}
    within = tuple(level.by_edits for level in levels.values())
    across = AcrossInference(shown, by_level, published, within, tuple(cells), last, never)
    while True:
        with stage(reporter, "Suppressing across records") as progress:
            found = complement_across(shown, cells, published, last, never, progress)
        disclosed = joined_cells(disclosed, found.disclosed)
        more: dict[Source, Booleans] = dict(found.cells)
        with stage(reporter, "Inferring suppressed cells across levels"):
            off, following = across.complement(joined_cells(cells, more))
        by_edits, disclosed = joined_cells(by_edits, more), joined_cells(disclosed, following)
        more = joined_cells(more, off)
        if more:
            cells = joined_cells(cells, more)
            for name, level in levels.items():
                own = of_level(cells, name)
                with stage(reporter, f"Inferring suppressed cells of {name} from its records") as progress:
                    further, following = level.further(own, progress)
                more, disclosed = joined_cells(more, further), joined_cells(disclosed, following)
        if not more:
            # What went besides makes other classes of keys: every step has to keep what it promises.
            more, uncoded = _for_guarantees(shown, results, cells, uncoded)
            promised = joined_cells(promised, more)
        if not more and not across.extend_inference(cells, by_edits):
            break
        cells, complementary = joined_cells(cells, more), joined_cells(complementary, more)
    hidden = {name: of_level(cells, name) for name in levels}
    return SuppressionState(
        _without(shown, joined_cells(cells, uncoded)),
        shown,
        {
            name: _with_cells(
                result,
                of_members(shown, result, name, cells),
                of_members(shown, result, name, uncoded),
                of_level(complementary, name),
                of_level(lifted, name),
                plans[name],
            )
            for name, result in results.items()
        },
        cells,
        complementary,
        tuple(_doubts(replace(found, disclosed=disclosed), levels, hidden, complementary, across.left(cells))),
        tuple(_suppression_notices(complementary, by_edits, promised, lifted)),
    )


def _cells_of_steps(shown: LinkedData, results: Mapping[str, MaskingResult]) -> dict[Source, Booleans]:
    cells: dict[Source, Booleans] = {}
    for name, result in results.items():
        for column in result.masked:
            if column.name in shown[name].data:
                gone = column.missing & ~shown[name].data[column.name].missing
                if gone.any():
                    cells[name, column.name] = gone
    return cells


def _without(linked: LinkedData, cells: LevelCellMasks) -> LinkedData:
    return linked.with_data({level.name: without_cells(level.data, of_level(cells, level.name)) for level in linked})


def _for_guarantees(
    linked: LinkedData, results: Mapping[str, MaskingResult], cells: LevelCellMasks, uncoded: LevelCellMasks
) -> tuple[dict[Source, Booleans], dict[Source, Booleans]]:
    """Further cells that go so that every step has what it promises; and all codes that are taken away then."""
    more: dict[Source, Booleans] = {}
    codes = dict(uncoded)
    while True:
        # What goes of a group goes of all its members, and these are other classes again.
        added, taken = _suppressed_again(linked, results, joined_cells(cells, more), codes)
        more = joined_cells(more, added)
        if not added and not any(np.any(gone & ~codes.get(source, np.False_)) for source, gone in taken.items()):
            return more, codes
        codes = joined_cells(codes, taken)


def _suppressed_again(
    linked: LinkedData, results: Mapping[str, MaskingResult], cells: LevelCellMasks, uncoded: LevelCellMasks
) -> tuple[dict[Source, Booleans], dict[Source, Booleans]]:
    """What each step suppresses, and the codes it takes away, once more where these have gone."""
    more: dict[Source, Booleans] = {}
    codes: dict[Source, Booleans] = {}
    for name, result in results.items():
        removal = result.removal
        if removal is None or removal.again is None:
            continue
        columns = {column.name: column for column in linked[name].data if column.name in removal.shown}
        own, lost = (of_members(linked, result, name, each) for each in (cells, uncoded))
        hidden, taken = removal.again.cells(removal.shown.with_columns(columns), own, lost)
        codes = joined_cells(codes, of_groups(linked, result, name, taken))
        for (level, variable), gone in of_groups(linked, result, name, hidden).items():
            there = ~linked[level].data[variable].missing if level != name else np.True_
            added = gone & there & ~cells.get((level, variable), np.False_)
            if added.any():
                more = joined_cells(more, {(level, variable): added})
    return more, codes


def _suppression_notices(
    complementary: dict[Source, Booleans], by_edits: dict[Source, Booleans], promised: dict[Source, Booleans],
    lifted: dict[Source, Booleans],
) -> Iterator[Notice]:  # fmt: skip
    for (level, name), cells in lifted.items():
        message = f"{cells_suppressed(count := int(cells.sum()), name)} as well: k is counted with keys of its members"
        yield Notice("cells-suppressed", name, message, count, level=level)
    for source, gone in complementary.items():
        edits = gone & by_edits.get(source, np.False_)
        own = gone & ~edits & promised.get(source, np.False_)
        for cells, why in (
            (edits, "edits across records would reveal others"),
            (gone & ~edits & ~own, "others could be inferred across levels"),
            (own, "what a step promises of its keys is lost by the cells that went so"),
        ):
            if cells.any():
                count = int(cells.sum())
                message = f"{cells_suppressed(count, source[1])} as well, because otherwise {why}"
                yield Notice("cells-suppressed", source[1], message, count, level=source[0])


def codes_taken(result: MaskingResult) -> dict[str, Booleans]:
    """Cells of a level whose missing code a method took away: k counts them with the suppressed ones."""
    return {} if result.removal is None else lost_codes(result.masked, result.removal.shown, {})


@dataclass(frozen=True, eq=False)
class _Level:
    """One level, and what suppression within its records asks for."""

    name: str
    shown: Dataset
    edits: EditSet
    domain: Domain
    keys: tuple[str, ...]
    weights: tuple[str, ...]
    plan: Plan | None
    counted: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        shown: Dataset,
        originals: Mapping[str, Dataset],
        results: Mapping[str, MaskingResult],
        plans: Mapping[str, Plan],
        bound: BoundEdits,
        name: str,
    ) -> _Level:
        plan, result = plans.get(name), results.get(name)
        known = set(shown.names)
        edits = EditSet(
            tuple(
                edit for edit in bound.edits[name]
                if edit.severity == "error" and not edit.shadowed and known.issuperset(edit.variables)
            )
        )  # fmt: skip
        reference = originals[name] if result is None else result.reference(originals[name])
        domain = Domain.from_dataset(reference, domain_tuples(edits))
        keys: dict[str, None] = {}
        for number, step in enumerate(() if plan is None else plan.steps, 1):
            assert plan is not None
            if "cells" in step.method.claims.removes:
                own = [each for group in plan.groups if group.step == number for each in group.variables]
                keys |= dict.fromkeys(key_names(step, [plan.variables[each] for each in own]))
        weights = tuple(each.name for each in shown.variables if each.role == "weight")
        return cls(name, shown, edits, domain, tuple(keys), weights, plan)

    @cached_property
    def published(self) -> tuple[str, ...]:
        """Variables that are published, keys left out."""
        dropped = () if self.plan is None else self.plan.dropped
        return tuple(each for each in self.shown.names if each not in dropped)

    @cached_property
    def reader(self) -> Reader:
        """Of the records of this level; what it finds in them it remembers."""
        # What counting the members tells is known beside any cell: nothing that goes hides it.
        names = [each for each in self.published if each not in self.counted]
        settings = DisclosureSettings() if self.plan is None else self.plan.disclosure
        return Reader(
            self.shown, names, self.keys, self.weights, (),
            certainty=settings.certainty, importance=settings.importance,
        )  # fmt: skip

    def further(self, hidden: CellMasks, progress: Progress) -> tuple[dict[Source, Booleans], dict[Source, Booleans]]:
        """Cells that have to go with these because of other variables of their record, and of records alike.

        And cells that follow from what is empty beside them.
        """
        read = self.reader.complement(hidden)
        inferable = read.cells
        found = self._complement(joined_cells(hidden, inferable), progress)
        return self._of_level(inferable, found.cells), self._of_level(read.disclosed, found.disclosed)

    def by_edits(self, cells: LevelCellMasks) -> dict[Source, Booleans]:
        """Cells of this level that edits within its records ask for beside these."""
        hidden = of_level(cells, self.name)
        return self._of_level(self._complement(hidden, silent).cells) if hidden else {}

    def _complement(self, hidden: CellMasks, progress: Progress) -> Complement[str]:
        return complement(
            self.shown, hidden, list(self.edits), domain=self.domain, last=self.keys, never=self.weights,
            progress=progress,
        )  # fmt: skip

    def _of_level(self, *parts: CellMasks) -> dict[Source, Booleans]:
        joined: dict[str, Booleans] = {}
        for each in parts:
            joined = joined_cells(joined, each)
        return {(self.name, name): gone for name, gone in joined.items()}


def _in_published_terms(bound: BoundEdits, results: Mapping[str, MaskingResult]) -> BoundEdits:
    """Edits as they are said of published categories, without those that are dropped."""
    edits, plain = {}, dict(bound.plain)
    for name, stated in bound.edits.items():
        result = results.get(name)
        own = {} if result is None or result.removal is None else {each.name: each for each in result.removal.stated}
        kept = []
        for edit in stated:
            became = own.get(edit.name, edit)
            if became.text != edit.text:
                plain.pop(edit.name, None)
            if edit.name not in dropped_names(result):
                kept.append(became)
        edits[name] = EditSet(tuple(kept), stated.notes)
    return replace(bound, edits=edits, plain=plain)


def dropped_names(result: MaskingResult | None) -> frozenset[str]:
    """Edits that were dropped once the published categories were known."""
    return frozenset() if result is None or result.terms is None else frozenset(e.name for e in result.terms.dropped)


def _with_cells(
    result: MaskingResult,
    hidden: CellMasks,
    uncoded: CellMasks,
    complementary: CellMasks,
    lifted: CellMasks,
    plan: Plan,
) -> MaskingResult:
    """Result of a level with the cells that went besides; `lifted`: those that keys of its members took."""
    if result.removal is None or not (hidden or uncoded):
        return result
    own = joined_cells(complementary, lifted)
    gone_now = joined_cells(hidden, uncoded)
    masked = without_cells(result.masked, {name: gone for name, gone in gone_now.items() if name in result.masked})
    stated = result.removal.stated
    emptied = {**lost_codes(result.removal.data, result.removal.shown, hidden), **hidden}
    removal = replace(
        result.removal, data=masked, edits=when_present(stated, with_any(emptied)),
        not_applicable=not_applicable(stated, emptied), suppressed=tuple(_counts(result, own, complementary)),
    )  # fmt: skip
    return replace(result, masked=masked, removal=removal, k=smallest_classes(masked, plan))


def _counts(result: MaskingResult, gone: CellMasks, complementary: CellMasks) -> Iterator[Mapping[str, Any]]:
    assert result.removal is not None
    before = {each["variable"]: each for each in result.removal.suppressed}
    for name in dict.fromkeys((*before, *gone)):
        known = before.get(name, {"variable": name, "cells": 0, "complementary": 0, "for_dependencies": 0})
        cells, of_others = (int(np.sum(each.get(name, False))) for each in (gone, complementary))
        yield {**known, "cells": known["cells"] + cells, "complementary": known["complementary"] + of_others}


def _doubts(
    found: Complement[Source],
    levels: Mapping[str, _Level],
    hidden: Mapping[str, CellMasks],
    complementary: LevelCellMasks,
    across: Mapping[str, InferableCells],
) -> Iterator[Doubt]:
    for name, level in levels.items():
        grown = any(where == name for where, _ in complementary)
        left = level.reader.left(hidden[name]) if grown else InferableCells()
        left = read_by_either(left, across[name])
        given_up = frozenset(variable for where, variable in found.given_up if where == name)
        by_edits = Complement(
            {}, of_level(found.known, name), of_level(found.undecided, name), of_level(found.disclosed, name), given_up
        )
        primary = () if level.plan is None else primary_suppressions(level.plan)
        yield from following_doubts(hidden[name], by_edits, left, EditSet(()), level.shown, primary)
