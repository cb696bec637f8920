"""The cheapest set of variables that has one in each of several sets: weighted set covering, exact."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction


class Covering:
    """Cheapest covers, each computed once.

    Sets of variables are integers whose bit ``i`` stands for variable ``i``.

    `weights`: positive, one for each variable.
    """

    def __init__(self, weights: Sequence[Fraction]) -> None:
        shared = math.lcm(*(weight.denominator for weight in weights)) if weights else 1
        count = len(weights)
        # Of covers that cost the same the one with the earliest variables is taken: the answer is unique.
        self._costs = [
            (int(weight * shared) << count) - (1 << (count - 1 - place)) for place, weight in enumerate(weights)
        ]
        self._known: dict[frozenset[int], int] = {}

    def cheapest(self, sets: frozenset[int]) -> int:
        """Cheapest set of variables that meets all `sets`, none of which is empty.

        Of several the one that has the first variable in which they differ.
        """
        if sets not in self._known:
            found = 0
            for part in _apart(_smallest(sets)):
                found |= _Search(self._costs).cover(part)
            self._known[sets] = found
        return self._known[sets]


def places(mask: int) -> list[int]:
    """Places of the bits of a set, in order."""
    found = []
    while mask:
        lowest = mask & -mask
        found.append(lowest.bit_length() - 1)
        mask ^= lowest
    return found


def _smallest(sets: Iterable[int]) -> list[int]:
    """Sets that contain no other set."""
    found: list[int] = []
    for one in sorted(set(sets), key=int.bit_count):
        if not any(other & one == other for other in found):
            found.append(one)
    return found


def _apart(sets: list[int]) -> list[list[int]]:
    """Sets in groups that share no variable."""
    groups: list[tuple[int, list[int]]] = []
    for one in sets:
        joined, members = one, [one]
        rest = []
        for mask, group in groups:
            if mask & joined:
                joined |= mask
                members += group
            else:
                rest.append((mask, group))
        groups = [*rest, (joined, members)]
    return [group for _, group in groups]


class _Search:
    """Branch and bound: the lower bound is the cheapest variable of each of some sets that share none."""

    def __init__(self, costs: Sequence[int]) -> None:
        self._costs = costs
        self._best: tuple[int, int] | None = None

    def cover(self, sets: list[int]) -> int:
        self._extend(sets, 0, 0, 0)
        assert self._best is not None
        return self._best[1]

    def _extend(self, sets: list[int], chosen: int, cost: int, banned: int) -> None:
        if not sets:
            if self._best is None or cost < self._best[0]:
                self._best = (cost, chosen)
            return
        bound, seen = cost, 0
        for one in sets:
            allowed = one & ~banned
            if not allowed:
                return
            if not allowed & seen:
                seen |= allowed
                bound += min(self._costs[place] for place in places(allowed))
        if self._best is not None and bound >= self._best[0]:
            return
        narrowest = min((one & ~banned for one in sets), key=int.bit_count)
        for place in sorted(places(narrowest), key=lambda each: self._costs[each]):
            bit = 1 << place
            self._extend([one for one in sets if not one & bit], chosen | bit, cost + self._costs[place], banned)
            banned |= bit
