"""What all tasks of a run tasks, put together as a run in memory has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.feasibility import clusters_of, home_of
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.findings import Notice
from maskwright.masking.adjusting.adjustment_loss import Cost
from maskwright.masking.adjustment_totals import CategoryTotals, UnitTotals, counts_by_edit
from maskwright.masking.distortion_doubts import DistortionDoubts, EditEffects, distortion_beyond_errors
from maskwright.masking.masked_value_checks import (
    multiple_doubts,
    range_notices,
    unchanged_doubts,
    zero_doubts,
)
from maskwright.masking.masking_result import (
    MaskingResult,
    Removal,
    category_notices,
    conflict_notices,
    method_doubts,
    method_warnings,
    notices_of_edits,
    published_note_doubts,
    spread_findings,
    structural_zeros,
    zero_notices,
    zeros_of_others,
)
from maskwright.masking.promised_classes import class_doubts
from maskwright.masking.protecting.assembling import gather_notes
from maskwright.masking.spikes import LostSpike, SpikeCounts, spike_doubts, spike_notices
from maskwright.masking.unit_adjustment import category_unit_json
from maskwright.planning.keepers import limit_keeper

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright.commands.parted.finishing import Finished
    from maskwright.commands.parted.partial_statistics import DriftTotals
    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.category_adjustment import CategoryCounts
    from maskwright.masking.context import PublishedTerms
    from maskwright.planning.plan import Plan


Facts = Mapping[str, Any]
"""What a task tasks."""


@dataclass(frozen=True, eq=False)
class TaskResults:
    """What the tasks of all stages tasks, each in the order of its keys.

    `groups`: of each variable group of the plan. `parts`: of the finished parts with records, but for what `drift` has.
    """

    groups: Sequence[Sequence[Facts]]
    parts: Sequence[Facts]
    drift: DriftTotals
    finished: Finished
    k: Mapping[str, Any]
    records: int


def masking_result(
    tasks: TaskResults, plan: Plan, edits: EditSet, terms: PublishedTerms | None = None
) -> MaskingResult:
    """Result of masking, without records."""
    units = [UnitTotals(unit) for unit in plan.units]
    for facts in [*(each for group in tasks.groups for each in group), *tasks.parts]:
        for each in facts.get("units", ()):
            units[each["unit"]].add(each)
    categories = [CategoryTotals(unit) for unit in plan.category_units]
    for facts in tasks.parts:
        for each in facts.get("categories", ()):
            categories[each["unit"]].add(each)
    counts = [each.counts for each in categories]
    notes = [_notes(facts) for facts in tasks.groups]
    masked = tasks.finished.masked
    distortion = tasks.drift.distortion
    effects = [EditEffects(each.unit.variables, each.cost.moves, each.unit.computed) for each in units]
    distorted = DistortionDoubts()
    if distortion is not None:
        distorted = distortion_beyond_errors(
            distortion, lambda: tasks.drift.distortion_of_obeying, effects, plan.variables, plan, edits
        )
    lost = tuple(_lost_spikes(tasks.parts))
    before, after = (_zeros([facts["zeros"][at] for facts in tasks.parts]) for at in (0, 1))
    zeros = tuple(structural_zeros(plan, before, after))
    equal = tuple(spread_findings(plan, [_without_spread(facts) for facts in tasks.groups]))
    return MaskingResult(
        masked=masked,
        adjusted=counts_by_edit([*(u.touched for u in units), *(c.touched for c in categories)], edits),
        infeasible=counts_by_edit([*(u.failing for u in units), *(c.failing for c in categories)], edits),
        adjustment=(
            *(unit.to_json() for unit in units if unit.unit.edits), *(category_unit_json(each) for each in counts)
        ),
        moved=tuple(_moved(tasks, plan, units, counts)),
        k=tasks.k,
        notes=tuple(
            {"step": plan.steps[group.step - 1].number, "variables": list(group.variables), **text}
            for group, text in zip(plan.groups, notes, strict=True)
        ),
        zeros=zeros,
        notices=(
            *method_warnings(plan, notes), *(each for each in equal if isinstance(each, Notice)),
            *zero_notices(zeros, zeros_of_others(plan, notes)),
            *spike_notices(lost, plan), *distorted.notices,
            *range_notices(_left(tasks.parts), edits),
            *conflict_notices(names for unit in units for names in unit.conflicts), *category_notices(counts, plan),
            *notices_of_edits(plan, terms),
        ),
        doubts=(
            *_doubts(tasks, plan, before, units, notes), *(each for each in equal if isinstance(each, Doubt)),
            *spike_doubts(lost, plan), *published_note_doubts(plan, notes, counts),
            *distorted.doubts,
        ),
        terms=terms,
        keepers=tuple(limit_keeper(edit) for edit in edits if edit.name not in {each.edit for each in plan.keepers}),
        cost=sum((unit.cost for unit in units), Cost()),
        distortion=distortion,
        doing_most=distorted.doing_most,
        removal=Removal(masked, (), np.zeros(0, dtype=np.int64), edits, masked),
    )  # fmt: skip


def _lost_spikes(parts: Sequence[Facts]) -> Iterator[LostSpike]:
    """Spikes that masked numbers have lost over all parts; of several of one variable the largest."""
    totals: dict[str, SpikeCounts] = {}
    for facts in parts:
        for name, (values, cells, counts) in facts["spikes"].items():
            own = SpikeCounts(tuple(values), tuple(cells), tuple(tuple(each) for each in counts))
            totals[name] = totals[name] + own if name in totals else own
    for name, total in totals.items():
        yield from total.lost(name)


def _left(parts: Sequence[Facts]) -> dict[str, tuple[int, int]]:
    """Values that have left the range of the original, of each variable."""
    total: dict[str, tuple[int, int]] = {}
    for each in parts:
        for name, (negative, beyond) in each["left"].items():
            before = total.get(name, (0, 0))
            total[name] = (before[0] + negative, before[1] + beyond)
    return total


def _notes(facts: Sequence[Facts]) -> dict[str, Any]:
    notes: dict[str, Any] = {}
    for each in facts:
        gather_notes(notes, each.get("notes", {}))
    return notes


def _without_spread(facts: Sequence[Facts]) -> dict[str, set[int]]:
    """Strata in which each variable has no spread, of all parts."""
    found: dict[str, set[int]] = {}
    for each in facts:
        for name, strata in each.get("without_spread", {}).items():
            found.setdefault(name, set()).update(strata)
    return found


def _moved(
    reported: TaskResults, plan: Plan, units: Sequence[UnitTotals], categories: Sequence[CategoryCounts]
) -> Iterator[dict[str, Any]]:
    """Rows moved, over all units that act on the same rows."""
    for number, facts in enumerate([*reported.groups, reported.parts]):
        home = None if number == len(reported.groups) else number
        place = home_of if home is None else clusters_of
        own = [each for each in units if each.unit.edits and place(plan, each.unit) == home]
        others = categories if home is None else ()
        if others or (own and any(each.counts["rows"] for each in own)):
            yield {
                "acting_on": "records" if others else own[0].acting_on,
                "variables": [list(unit.variables) for unit in (*(e.unit for e in own), *(e.unit for e in others))],
                "rows": sum(each["moved"]["rows"] for each in facts if "moved" in each),
                "moved": sum(each["moved"]["moved"] for each in facts if "moved" in each),
            }


def _zeros(counts: Sequence[Mapping[str, Sequence[int]]]) -> dict[str, Sequence[int]]:
    """Counts of all parts, as `zero_counts` has them of one."""
    names = counts[0] if counts else ()
    return {name: [sum(each[name][at] for each in counts) for at in (0, 1)] for name in names}


def _doubts(
    reported: TaskResults, plan: Plan, zeros: Mapping[str, Sequence[int]], units: Sequence[UnitTotals],
    notes: Sequence[Mapping[str, Any]],
) -> Iterator[Doubt]:  # fmt: skip
    said = [dict.fromkeys(doubt for each in facts for doubt in each.get("doubts", ())) for facts in reported.groups]
    yield from method_doubts(plan, said)
    for number, facts in enumerate(reported.groups):
        step = plan.steps[plan.groups[number].step - 1]
        yield from unchanged_doubts(step, (each["unchanged"] for each in facts if "unchanged" in each))
        scarce = dict.fromkeys(name for each in facts for name in each.get("scarce", ()))
        if scarce:
            yield Doubt(
                "promise-not-kept", str(step.number),
                f"in some blocks fewer than k = {step.k} records have a value of {', '.join(scarce)}: what is "
                "published of it there is an average of fewer",
                place=step.place, hint="mask it in memory or in larger blocks, or leave 'missing' at own_pattern",
            )  # fmt: skip
    gaps = {name for name in plan.masked if any(each["missing"][name] for each in reported.parts)}
    yield from class_doubts(plan, gaps, reported.k["groups"])
    off = {name: each.unit.edits for each in units if each.without_multiples for name in each.unit.variables}
    yield from multiple_doubts(plan, [each["beside_multiples"] for each in reported.parts], off)
    moved, joined = _zeros([each["zeros_moved"] for each in reported.parts]), zeros_of_others(plan, notes)
    yield from zero_doubts(plan, moved, zeros, reported.records, joined)
    yield from reported.finished.doubts.values()
