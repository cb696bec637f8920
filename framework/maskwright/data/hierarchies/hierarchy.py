"""Hierarchies of categories, of numbers and of days: levels 0 to h, each a function of the one below."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.variable import Band, Hierarchy
from maskwright.foundation.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.variable import Variable


ANY = "*"
"""Category that stands for every value."""


@dataclass(frozen=True)
class CategoryLevel:
    """One level of a hierarchy of categories.

    Attributes
    ----------
    labels : tuple of str
    of : tuple of int
        Node of each leaf.

    Examples
    --------
    >>> from maskwright import CategoryLevel
    >>> CategoryLevel(("north", "south"), (0, 1, 1)).labels
    ('north', 'south')
    """

    labels: tuple[str, ...]
    of: tuple[int, ...]


@dataclass(frozen=True)
class CategoryHierarchy(Hierarchy):
    """Hierarchy of listed values.

    Attributes
    ----------
    items : tuple of str or float
        The values of level 0: texts of categories, or numbers, rising.
    levels : tuple of CategoryLevel
        Level 1 and those above it.
    below : int
        How many levels of the declared hierarchy are below level 0.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import CategoryHierarchy, CategoryLevel, Variable
    >>> towns = CategoryHierarchy(("A", "B", "C"), (CategoryLevel(("north", "south"), (0, 1, 1)),))
    >>> town = Variable("town", "nominal", categories=("C", "A"))
    >>> towns.codes(town, np.array([0, 1, 1]), 1).tolist()
    [1, 0, 0]
    """

    items: tuple[str | float, ...]
    levels: tuple[CategoryLevel, ...]
    below: int = 0
    _places: dict[str | float, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_places", {item: place for place, item in enumerate(self.items)})

    @property
    def height(self) -> int:
        """Number of the highest level."""
        return len(self.levels)

    @property
    def raised(self) -> int:
        """Level of the declared hierarchy that level 0 is."""
        return self.below

    def labels(self, level: int) -> tuple[str, ...]:
        """What the nodes of a level are called."""
        return self.levels[self.checked(level)].labels

    def bands(self, level: int) -> tuple[Band, ...]:
        """The leaves of each node."""
        found = self.levels[self.checked(level)]
        members: list[list[str | float]] = [[] for _ in found.labels]
        for item, node in zip(self.items, found.of, strict=True):
            members[node].append(item)
        return tuple(Band(members=tuple(each)) for each in members)

    def codes(self, variable: Variable, values: NDArray[np.float64], level: int) -> NDArray[np.int64]:
        """Node of each value on a level."""
        of = np.array([*self.levels[self.checked(level)].of, -1], dtype=np.int64)
        places, outside = self.places(variable, values)
        if outside.any():
            count = int(outside.sum())
            raise InputError(f"{count} of {len(values)} values of {variable.name} are not in its hierarchy")
        return np.asarray(of[places], dtype=np.int64)

    def places(self, variable: Variable, values: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """Leaf of each value, -1 where there is none; and where there is none. Both of shape (n,)."""
        if variable.is_numeric:
            known = np.array(self.items, dtype=np.float64)
            found = np.minimum(np.searchsorted(known, values), len(known) - 1)
            places = np.where(known[found] == values, found, -1)
        else:
            of_category = [self._places.get(category, -1) for category in variable.categories]
            places = np.array([*of_category, -1], dtype=np.int64)[values.astype(np.int64)]
        return places, places < 0

    def leaves(self, level: int) -> NDArray[np.float64]:
        """How many values are below each node."""
        found = self.levels[self.checked(level)]
        return np.bincount(found.of, minlength=len(found.labels)).astype(np.float64)

    def spans(self, level: int) -> NDArray[np.float64]:
        """Share of the domain that each node leaves open."""
        return (self.leaves(level) - 1) / max(len(self.items) - 1, 1)

    def above(self, level: int) -> Hierarchy:
        """Hierarchy of the nodes of a level."""
        own, higher = self.levels[self.checked(level)], self.levels[level:]
        parents = [(each.labels, dict(zip(own.of, each.of, strict=True))) for each in higher]
        return _of_nodes(own.labels, parents, self.below + level)


@dataclass(frozen=True)
class IntervalLevel:
    """One level of a hierarchy of numbers or days.

    Attributes
    ----------
    borders : tuple of float
        Rising; one more than labels. Band i is from border i to under border i + 1.
    labels : tuple of str

    Examples
    --------
    >>> from maskwright import IntervalLevel
    >>> IntervalLevel((0.0, 18.0, 120.0), ("child", "adult")).labels
    ('child', 'adult')
    """

    borders: tuple[float, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True)
class IntervalHierarchy(Hierarchy):
    """Hierarchy of numbers, or of days.

    Attributes
    ----------
    lower, upper : float
        Smallest and largest possible value: of what spans are shares.
    levels : tuple of IntervalLevel
        Level 1 and those above it.
    whole : bool
        Whether values are whole numbers (or days), so that there are so many of them in a band.
    closed : bool
        Whether the last border of a level belongs to its last band.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import IntervalHierarchy, IntervalLevel, Variable
    >>> ages = IntervalHierarchy(0, 120, (IntervalLevel((0.0, 18.0, 120.0), ("child", "adult")),), closed=True)
    >>> ages.codes(Variable("age"), np.array([3.0, 18.0, 120.0]), 1).tolist()
    [0, 1, 1]
    """

    lower: float
    upper: float
    levels: tuple[IntervalLevel, ...]
    whole: bool = False
    closed: bool = False

    @property
    def height(self) -> int:
        """Number of the highest level."""
        return len(self.levels)

    def labels(self, level: int) -> tuple[str, ...]:
        """What the bands of a level are called."""
        return self.levels[self.checked(level)].labels

    def bands(self, level: int) -> tuple[Band, ...]:
        """From where to where each band goes."""
        borders = self.levels[self.checked(level)].borders
        last = len(borders) - 2
        return tuple(
            Band(lower=borders[i], upper=borders[i + 1], upper_inclusive=self.closed and i == last)
            for i in range(last + 1)
        )

    def codes(self, variable: Variable, values: NDArray[np.float64], level: int) -> NDArray[np.int64]:
        """Band of each number on a level."""
        borders = np.array(self.levels[self.checked(level)].borders)
        outside = int(np.count_nonzero(self.outside(values, level)))
        if outside:
            raise InputError(f"{outside} of {len(values)} values of {variable.name} are not in its hierarchy")
        return np.asarray(np.searchsorted(borders[1:-1], values, side="right"), dtype=np.int64)

    def outside(self, values: NDArray[np.float64], level: int = 1) -> NDArray[np.bool_]:
        """Where a number is in no band of a level; shape (n,)."""
        borders = self.levels[self.checked(level)].borders
        above = values > borders[-1] if self.closed else values >= borders[-1]
        return np.asarray((values < borders[0]) | above, dtype=np.bool_)

    def leaves(self, level: int) -> NDArray[np.float64]:
        """Whole numbers in each band, within the possible values; of continuous numbers the width."""
        borders = np.array(self.levels[self.checked(level)].borders)
        low, high = np.maximum(borders[:-1], self.lower), borders[1:]
        if not self.whole:
            return np.asarray(np.maximum(np.minimum(high, self.upper) - low, 0.0), dtype=np.float64)
        last = np.ceil(high) - 1
        if self.closed:
            last[-1] = np.floor(high[-1])
        return np.asarray(np.maximum(np.minimum(last, self.upper) - np.ceil(low) + 1, 0.0), dtype=np.float64)

    def spans(self, level: int) -> NDArray[np.float64]:
        """Share of the possible values that each band leaves open."""
        span = max(self.upper - self.lower, 0.0) or 1.0
        return np.asarray(np.maximum(self.leaves(level) - self.whole, 0.0) / span, dtype=np.float64)

    def above(self, level: int) -> Hierarchy:
        """Hierarchy of the bands of a level."""
        own = self.levels[self.checked(level)]
        starts = np.array(own.borders[:-1])
        higher = [
            (each.labels, dict(enumerate(np.searchsorted(np.array(each.borders[1:-1]), starts, side="right").tolist())))
            for each in self.levels[level:]
        ]
        return _of_nodes(own.labels, higher, level)


def _of_nodes(
    labels: tuple[str, ...], higher: list[tuple[tuple[str, ...], dict[int, int]]], below: int
) -> CategoryHierarchy:
    """Hierarchy whose leaves are the nodes of one level: labels and parents of those above it."""
    levels = (CategoryLevel(names, tuple(parent.get(i, 0) for i in range(len(labels)))) for names, parent in higher)
    return CategoryHierarchy(labels, tuple(levels), below)
