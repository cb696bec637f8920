"""Attribute inference across levels: masked variables that another level discloses, as a total no rule declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.doubts import Doubt
from maskwright.planning.warnings.attribute_inference import SLACK
from maskwright.planning.warnings.observed_numbers import FEWEST_NUMBERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.foundation.arrays import Booleans, Floats, Integers


HOLDS = 0.99
"""Share of the groups, of those with evidence, in which a relation has to hold."""

FEWEST_VALUES = {"count": 2, "sum": 3, "max": 5, "min": 5, "mean": 5}
"""Different values in these groups: what few values say is so by chance."""


def level_inference_doubts(
    linked: LinkedData,
    masked: Mapping[str, Collection[str]],
    tied: Collection[frozenset[tuple[str, str]]],
    sizes: Collection[str] = (),
    computed: Collection[str] = (),
) -> Iterator[Doubt]:
    """Doubts about masked variables that members, or their group, show; none by what is `computed` from masked ones.

    Examined are the number of members, and the sum, the mean (as the file rounds it), the largest and the smallest
    value of one variable of them; of dates the first and the last. A relation is seen in groups of at least two members
    with a value other than zero: of others it says little.
    """
    top, low = linked.levels
    assert low.groups is not None
    groups, counted = low.groups, len(top)
    totals = {name: own for name, own in _numbers(top) if name not in computed}
    members = dict(_numbers(low))
    size = np.bincount(groups, minlength=counted).astype(np.float64)
    for total, own in totals.items():
        if total not in masked.get(top.name, ()) or total in sizes or top.data[total].variable.is_date:
            continue
        if found := same_numbers(own, size, size >= 2, "count"):
            yield _doubt(total, f"count({low.name}) is {_in(found)}", f"count({low.name}) == {total}")
    for name, values in members.items():
        pairs = [
            total for total in totals
            if (total in masked.get(top.name, ())) != (name in masked.get(low.name, ()))
            and not any({(top.name, total), (low.name, name)} <= each for each in tied)
        ]  # fmt: skip
        if not pairs:
            continue
        several, described = _member_totals(values, groups, counted)
        for total in pairs:
            relation = _relation(top, low, total, name, totals[total], several, described)
            if relation is None:
                continue
            function, where = relation
            read = f"{function}({low.name}.{name})"
            rule = None if function == "mean" else f"{read} == {total}"
            if total in masked.get(top.name, ()):
                yield _doubt(total, f"{name} of {low.name}, published as it is, is {read}, {_in(where)}", rule)
            else:
                yield _doubt(name, f"{total} of {top.name}, published as it is, tells {read}, {_in(where)}", rule)


def _relation(
    top: Level, low: Level, total: str, name: str, own: Floats, several: Booleans, described: Mapping[str, Floats]
) -> tuple[str, tuple[int, int]] | None:
    """What of the members a variable of their group is, and in how many groups of how many."""
    upper, lower = top.data[total].variable, low.data[name].variable
    for function, together in described.items():
        # Of dates there is no sum.
        if upper.is_date == lower.is_date and (not upper.is_date or function in ("max", "min")):
            places = upper.decimals if function == "mean" else None
            if found := same_numbers(own, together, several, function, places):
                return function, found
    return None


def _doubt(name: str, message: str, rule: str | None) -> Doubt:
    return Doubt("follows-from-published", name, message, hint=remedy(rule))


def remedy(rule: str | None = None) -> str:
    """What to do about variables of two levels of which one discloses the other."""
    lead = "Mask both" if rule is None else f"Declare the rule `{rule}`, so that masking keeps it, and mask both"
    return f"{lead}, or neither; or do not publish one of them (`role: identifier`); or waive this by name."


def _in(found: tuple[int, int]) -> str:
    return f"in {found[0]:,} of {found[1]:,} groups with two or more values"


def _numbers(level: Level) -> Iterator[tuple[str, Floats]]:
    """Amounts and dates of a level, NaN where missing: neither keys nor weights, nor what is not published."""
    for column in level.data:
        variable = column.variable
        if (
            variable.is_numeric and variable.name not in level.key_columns
            and variable.role not in ("weight", "identifier")
        ):  # fmt: skip
            yield variable.name, np.where(column.missing, np.nan, column.values)


def _member_totals(values: Floats, groups: Integers, counted: int) -> tuple[Booleans, dict[str, Floats]]:
    """Groups in which two or more members have something, and what the members of each say together."""
    has = np.isfinite(values) & (values != 0)
    several = np.bincount(groups[has], minlength=counted) >= 2
    largest, smallest = np.full(counted, -np.inf), np.full(counted, np.inf)
    known = np.isfinite(values)
    np.maximum.at(largest, groups[known], values[known])
    np.minimum.at(smallest, groups[known], values[known])
    total = np.asarray(np.bincount(groups[known], values[known], counted), dtype=np.float64)
    counts = np.bincount(groups[known], minlength=counted)
    mean = np.divide(total, counts, out=np.full(counted, np.nan), where=counts > 0)
    return several, {"sum": total, "max": largest, "min": smallest, "mean": mean}


def same_numbers(
    own: Floats, together: Floats, several: Booleans, function: str, places: int | None = None
) -> tuple[int, int] | None:
    """In how many groups two numbers are the same, and of how many; None: in too few.

    `own`, `together`: NaN where there is none; shape (groups,). `several`: groups with evidence; shape (groups,).
    """
    comparable = several & np.isfinite(own) & np.isfinite(together) & ((own != 0) | (together != 0))
    own, together = own[comparable], together[comparable]
    off = 0.0 if places is None else 0.5 * 10.0**-places
    same = np.abs(own - together) <= off + SLACK * np.maximum(np.abs(own), np.abs(together))
    count, total = int(np.count_nonzero(same)), len(own)
    if total < FEWEST_NUMBERS or count < HOLDS * total or len(np.unique(together[same])) < FEWEST_VALUES[function]:
        return None
    return count, total
