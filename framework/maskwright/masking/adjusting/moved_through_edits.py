"""What a limit of a method asks of other variables, through the equalities that tie them to the limited one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit import LinearPart, PolynomialPart, ProductPart

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Floats

    Equality = LinearPart | ProductPart | PolynomialPart


def moved_through_edits(
    original: Dataset, returned: Dataset, adjusted: Dataset, edits: EditSet, limited: Collection[str]
) -> Dataset:
    """What methods returned, and of variables that edits tie to a limited one what follows from its change.

    Top coding a part of a sum lowers the total: adjusting it by as much, or by less where others give way too, is the
    method's doing. A wrong edit excuses nothing: what follows is the original and the change.
    """
    if not limited:
        return returned
    before = original if returned.origin is None else original.taken(returned.origin)
    first = {name: _values(before, name) for name in before.names if before[name].variable.is_numeric}
    now = {name: _values(returned, name) if name in returned else values for name, values in first.items()}
    columns = {}
    for name, values in _following(edits, first, now, limited).items():
        if name not in adjusted or not returned[name].variable.is_numeric:
            continue
        method, last = (_values(data, name) for data in (returned, adjusted))
        asked = np.where(np.isfinite(values), values, method)
        within = np.clip(last, np.minimum(method, asked), np.maximum(method, asked))
        columns[name] = replace(returned[name], values=np.where(returned[name].missing, returned[name].values, within))
    return returned.with_columns(columns)


def _values(data: Dataset, name: str) -> Floats:
    return np.where(data[name].missing, np.nan, data[name].values).astype(np.float64)


def _following(
    edits: EditSet, first: Mapping[str, Floats], now: Mapping[str, Floats], limited: Collection[str]
) -> dict[str, Floats]:
    """Values of variables that are reached from the limited ones, those that are tied to them first."""
    found: dict[str, Floats] = {}
    reached = set(limited)
    equalities = [part for part in _equalities(edits) if set(part.variables) <= first.keys()]
    while True:
        known = {**now, **found}
        new = {
            name: _followed(part, name, first, known)
            for part in equalities if reached.intersection(part.variables)
            for name in _movable(part) if name not in reached
        }  # fmt: skip
        if not new:
            return found
        found |= new
        reached |= new.keys()


def _equalities(edits: EditSet) -> Iterator[Equality]:
    for edit in edits:
        for part in edit.parts:
            if isinstance(part, PolynomialPart) or (
                isinstance(part, LinearPart | ProductPart) and part.relation == "=="
            ):
                yield part


def _movable(part: Equality) -> tuple[str, ...]:
    """Variables that an equality can be solved for."""
    if isinstance(part, PolynomialPart):
        return () if part.total is None else (part.total,)
    return part.variables


def _followed(part: Equality, name: str, first: Mapping[str, Floats], now: Mapping[str, Floats]) -> Floats:
    """The variable's original, moved by what the others' changes ask of it."""
    if isinstance(part, LinearPart):
        factors = dict(part.coefficients)
        moved = sum(float(factor) * (now[each] - first[each]) for each, factor in factors.items() if each != name)
        return np.asarray(first[name] - moved / float(factors[name]))
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if isinstance(part, ProductPart):
            powers = dict(part.left) | {each: -power for each, power in part.right}
            logs = [
                (now[each] / first[each]) ** (-power / powers[name]) for each, power in powers.items() if each != name
            ]
            return np.asarray(first[name] * np.prod(logs, axis=0))
        before, after = (
            sum(
                float(factor) * np.prod([values[each] ** float(power) for each, power in powers], axis=0)
                for factor, powers in part.terms
                if powers and powers != ((name, 1),)
            )
            for values in (first, now)
        )
        own = next(float(factor) for factor, powers in part.terms if powers == ((name, 1),))
        return np.asarray(first[name] - (after - before) / own)
