"""The order of elements, learnt from records none of which need have all of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence


def in_order(names: Sequence[str], followed: Collection[tuple[str, str]]) -> tuple[list[str], bool]:
    """Names in an order that all records show, as near to the given one as can be.

    `followed`: pairs of neighbours in a record: the first stood before the second. Returns whether all records agree.
    Where they do not, of the names that stand before each other the one that is given first comes first.
    """
    waits: dict[str, set[str]] = {name: set() for name in names}
    for before, name in followed:
        waits[name].add(before)
    ordered: list[str] = []
    agree = True
    while waits:
        free = next((name for name, others in waits.items() if others.isdisjoint(waits)), None)
        agree = agree and free is not None
        ordered.append(next(iter(waits)) if free is None else free)
        del waits[ordered[-1]]
    return ordered, agree
