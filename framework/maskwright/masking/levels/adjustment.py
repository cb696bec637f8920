"""Adjustment across levels: totals derived from members, and bounds met by whole clusters."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.record_chunk import Cells, column_cells, number_cells
from maskwright.edits.algebra.conditions import expression_of
from maskwright.edits.edit import Edit, LinearPart
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.masking.adjusting.adjust import adjust
from maskwright.masking.adjusting.adjustment_loss import Cost, cost_of_joined, moves_by_edit
from maskwright.masking.adjusting.targets import Targets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.foundation.arrays import Floats, Integers
    from maskwright.planning.levels.cross_level_edits import AcrossLevels, DerivedVariable


MOST_UNITS = 2**53
"""Whole units of a grid up to which a binary64 number holds each."""


def with_derived(data: Dataset, derived: Sequence[DerivedVariable]) -> Dataset:
    """Copy in which derived variables are computed from the others."""
    for each in derived:
        data = data.with_columns({each.variable: _computed(data, each)})
    return data


def _computed(data: Dataset, derived: DerivedVariable) -> Column:
    column = data[derived.variable]
    missing = column.missing.copy()
    for name, _ in derived.terms:
        missing |= data[name].missing
    values = _in_units(data, derived, column.variable.decimals)
    if values is None:
        values = np.full(len(data), float(derived.constant))
        for name, factor in derived.terms:
            values = values + float(factor) * data[name].values
    return column.changed(np.where(missing, np.nan, values), missing)


def _in_units(data: Dataset, derived: DerivedVariable, decimals: int | None) -> Floats | None:
    """Values from whole units of the grids; None where a variable has no grid, or the factors leave that of the sum."""
    if decimals is None:
        return None
    scale = Fraction(10) ** decimals
    if (derived.constant * scale).denominator != 1:
        return None
    units = np.full(len(data), int(derived.constant * scale), dtype=np.int64)
    for name, factor in derived.terms:
        places = data[name].variable.decimals
        if places is None:
            return None
        step = factor * scale / Fraction(10) ** places
        if step.denominator != 1:
            return None
        whole = np.rint(np.nan_to_num(data[name].values) * 10.0**places)
        units += int(step) * whole.astype(np.int64)
    return np.asarray(units / float(scale))


@dataclass(frozen=True, eq=False)
class Repaired:
    """What meeting the bounds did; `by_edit`: records that broke each before; `cost`: how far each moved a variable."""

    data: Dataset
    moved: int
    by_edit: dict[str, int]
    cost: Cost = field(default_factory=Cost)


def repaired(
    data: Dataset,
    across: AcrossLevels,
    movable: Sequence[str],
    inside: EditSet,
    scale: Sequence[float],
    rng: np.random.Generator,
) -> Repaired:
    """Move clusters to where the bounds hold for all of their records, and derive anew."""
    names = tuple(name for name in movable if name in data)
    stated = [(edit, part) for edit in across.repaired for part in edit.parts if isinstance(part, LinearPart)]
    held = [_whole(part) for _, part in stated]
    fixed_sums = [_fixed_sum(data, part, names) for part in held]
    own = [_sum(data, [(name, value) for name, value in part.coefficients if name in names]) for part in held]
    broken = {edit.name: 0 for edit, _ in stated}
    failing = np.zeros(len(data), dtype=np.bool_)
    for (edit, _), part, fixed, value in zip(stated, held, fixed_sums, own, strict=True):
        over = value + fixed > float(part.constant) if part.relation == "<=" else value + fixed >= float(part.constant)
        broken[edit.name] += int(over.sum())
        failing |= over
    if not failing.any() or not names:
        return Repaired(data, 0, broken)
    values = data.matrix(names)
    _, first, labels = np.unique(values, axis=0, return_index=True, return_inverse=True, equal_nan=True)
    companions: dict[str, Cells] = {}
    edits = []
    for number, ((edit, _), part, fixed) in enumerate(zip(stated, held, fixed_sums, strict=True)):
        name = f"tightest bound {number + 1}"
        tightest = np.full(len(first), -np.inf)
        np.maximum.at(tightest, labels, fixed)
        companions[name] = number_cells(tightest[labels], np.isinf(tightest[labels]), _decimals(data, part))
        edits.append(_bound(edit, part, names, name, number))
    companions |= {
        name: column_cells(data[name]) for edit in inside for name in edit.read if name not in names and name in data
    }
    # Combinations of masked records are of the original already: none but these is taken.
    domain = Domain.from_dataset(data, domain_tuples(inside))
    targets = Targets(tuple(data[name].variable for name in names), companions, labels, domain)
    together = EditSet((*inside, *edits))
    adjustment = adjust(values[first], targets, together, np.asarray(scale, dtype=np.float64), rng)
    moved = adjustment.values[labels]
    columns = {
        name: data[name].changed(np.where(data[name].missing, np.nan, moved[:, place]))
        for place, name in enumerate(names)
    }
    after = with_derived(data.with_columns(columns), across.derived)
    changed = int(np.any((moved != values) & ~np.isnan(values), axis=1).sum())
    read = {edit.name: edit.variables for edit in together}
    moves = moves_by_edit(adjustment, values[first], labels, names, np.asarray(scale), read, {})
    as_stated = {bound.name: edit.name for bound, (edit, _) in zip(edits, stated, strict=True)}
    return Repaired(after, changed, broken, cost_of_joined(moves, {name: name for name in names}, as_stated))


def _whole(part: LinearPart) -> LinearPart:
    """The same bound in whole factors, so that its sums lie on the grid of its variables."""
    factor = math.lcm(*(value.denominator for _, value in part.coefficients))
    whole = tuple((name, value * factor) for name, value in part.coefficients)
    return replace(part, coefficients=whole, constant=part.constant * factor)


def _bound(edit: Edit, part: LinearPart, movable: Sequence[str], companion: str, number: int) -> Edit:
    own = tuple((name, value) for name, value in part.coefficients if name in movable)
    stated = replace(part, coefficients=(*own, (companion, Fraction(1))))
    return Edit(
        f"{edit.name} ({number + 1})", expression_of(stated), (stated,), stated.variables, edit.text, place=edit.place
    )


def _fixed_sum(data: Dataset, part: LinearPart, movable: Sequence[str]) -> Floats:
    """What the variables that stay add to a bound; a missing cell leaves it open."""
    fixed = _sum(data, [(name, value) for name, value in part.coefficients if name not in movable])
    return np.where(np.isnan(fixed), -np.inf, fixed)


def _sum(data: Dataset, terms: Sequence[tuple[str, Fraction]]) -> Floats:
    """Sum with whole factors, in units of the finest grid where there is one: exact in binary64."""
    places = [data[name].variable.decimals for name, _ in terms]
    finest = None if None in places else max((each for each in places if each is not None), default=0)
    total = np.zeros(len(data))
    for name, factor in terms:
        values = np.asarray(data[name].values, dtype=np.float64)
        scaled = values if finest is None else np.rint(values * 10.0**finest)
        total = total + float(factor) * scaled
    return total if finest is None else total / 10.0**finest


def _decimals(data: Dataset, part: LinearPart) -> int | None:
    places = [data[name].variable.decimals for name, _ in part.coefficients]
    return None if None in places else max((each for each in places if each is not None), default=0)


def derived_instead(
    linked: LinkedData,
    bound: BoundEdits,
    level: str,
    across: AcrossLevels,
    groups: Integers,
    scale: Mapping[str, float],
    movable: Sequence[str],
    rng: np.random.Generator,
) -> LinkedData:
    """Levels in which the totals of some groups of a level are derived, and bounds that read them are met."""
    top = linked[level]
    linked_columns = with_linked_columns(linked, bound, level).taken(groups)
    linked_columns = with_derived(linked_columns, across.derived)
    derived = {each.variable for each in across.derived}
    if across.repaired:
        left = [name for name in movable if name not in derived]
        linked_columns = repaired(
            linked_columns, across, left, across.inside[top.name], [scale[name] for name in left], rng
        ).data
    columns = {}
    for name in {*movable, *derived}:
        values, missing = top.data[name].values.copy(), top.data[name].missing.copy()
        values[groups], missing[groups] = linked_columns[name].values, linked_columns[name].missing
        columns[name] = top.data[name].changed(values, missing)
    return linked.with_data({top.name: top.data.with_columns(columns)})
