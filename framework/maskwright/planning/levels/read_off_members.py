"""Masked variables of one level that the other, published as it is, shows: a total that no rule declares.

Where ``total_wages`` of a household is the sum of its members' ``wages``, masking one of the two hides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import Level, LinkedData

    Numbers = NDArray[np.float64]

HOLDS = 0.99
"""Share of the groups, of those that can tell, in which a relation has to hold."""

FEWEST = 20
"""Groups that have to be there for a relation to be one."""

FEWEST_VALUES = {"count": 2, "sum": 3, "max": 5, "min": 5}
"""Different values in these groups: what few values say is so by chance."""

SLACK = 1e-9
"""Share of a number by which sums in binary fractions may be off."""


def read_off_members(
    linked: LinkedData,
    masked: Mapping[str, Collection[str]],
    tied: Collection[frozenset[tuple[str, str]]],
    sizes: Collection[str] = (),
) -> Iterator[Doubt]:
    """Doubts about masked variables that members, or their group, show.

    Looked for are the number of members, and the sum, the largest and the smallest value of one variable of them. A
    relation is seen in groups of at least two members with a value other than zero: of others it says little.

    Parameters
    ----------
    linked : LinkedData
        The original.
    masked : mapping of level name to collection of str
        Variables that steps mask; all others are published as they are.
    tied : collection of frozenset of (level, name)
        What an edit reads together: steps and edits see to these.
    sizes : collection of str
        Variables of the top level that an edit reads with the number of members.
    """
    top, low = linked.levels
    assert low.groups is not None
    groups, counted = low.groups, len(top)
    totals = dict(_numbers(top))
    members = dict(_numbers(low))
    size = np.bincount(groups, minlength=counted).astype(np.float64)
    for total, own in totals.items():
        if total not in masked.get(top.name, ()) or total in sizes:
            continue
        if found := _same(own, size, size >= 2, "count"):
            yield _doubt(total, f"count({low.name})", f"is {_in(found)}", f"count({low.name}) == {total}")
    for name, values in members.items():
        pairs = [
            total for total in totals
            if (total in masked.get(top.name, ())) != (name in masked.get(low.name, ()))
            and not any({(top.name, total), (low.name, name)} <= each for each in tied)
        ]  # fmt: skip
        if not pairs:
            continue
        several, said = _said(values, groups, counted)
        for total in pairs:
            for function, together in said.items():
                if found := _same(totals[total], together, several, function):
                    read, rule = f"{function}({low.name}.{name})", f"{function}({low.name}.{name}) == {total}"
                    if total in masked.get(top.name, ()):
                        yield _doubt(total, f"{name} of {low.name}", f"is {read}, {_in(found)}", rule)
                    else:
                        yield _doubt(name, f"{total} of {top.name}", f"tells {read}, {_in(found)}", rule)
                    break


def _doubt(name: str, published: str, said: str, rule: str) -> Doubt:
    told = f"{published}, published as it is, {said}" if "count(" not in published else f"{published} {said}"
    hint = f"Declare the rule `{rule}`, so that masking keeps it and nothing is left over; or mask both, or neither."
    return Doubt("follows-from-published", name, told, hint=hint)


def _in(found: tuple[int, int]) -> str:
    return f"in {found[0]:,} of {found[1]:,} groups with two or more values"


def _numbers(level: Level) -> Iterator[tuple[str, Numbers]]:
    """Amounts of a level, NaN where missing: neither keys nor weights nor dates, nor what is not published."""
    for column in level.data:
        variable = column.variable
        if (
            variable.is_numeric and not variable.is_date and variable.name not in level.key_columns
            and variable.role not in ("weight", "identifier")
        ):  # fmt: skip
            yield variable.name, np.where(column.missing, np.nan, column.values)


def _said(values: Numbers, groups: NDArray[np.int64], counted: int) -> tuple[NDArray[np.bool_], dict[str, Numbers]]:
    """Groups in which two or more members have something, and what the members of each say together."""
    has = np.isfinite(values) & (values != 0)
    several = np.bincount(groups[has], minlength=counted) >= 2
    largest, smallest = np.full(counted, -np.inf), np.full(counted, np.inf)
    known = np.isfinite(values)
    np.maximum.at(largest, groups[known], values[known])
    np.minimum.at(smallest, groups[known], values[known])
    total = np.asarray(np.bincount(groups[known], values[known], counted), dtype=np.float64)
    return several, {"sum": total, "max": largest, "min": smallest}


def _same(own: Numbers, together: Numbers, several: NDArray[np.bool_], function: str) -> tuple[int, int] | None:
    """In how many groups two numbers are the same, and of how many; None: in too few."""
    asked = several & np.isfinite(own) & np.isfinite(together) & ((own != 0) | (together != 0))
    own, together = own[asked], together[asked]
    same = np.abs(own - together) <= SLACK * np.maximum(np.abs(own), np.abs(together))
    count, total = int(np.count_nonzero(same)), len(own)
    if total < FEWEST or count < HOLDS * total or len(np.unique(together[same])) < FEWEST_VALUES[function]:
        return None
    return count, total
