"""Sizes of equivalence classes in data of levels: of persons, household rows and households."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from maskwright.data.classes.classes import Classes
from maskwright.data.classes.group_classes import group_classes
from maskwright.data.record_groups import published_classes
from maskwright.planning.model import size_compared_with
from maskwright.release.record.run_record import LikeClasses

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData

    Codes = NDArray[np.int64]


@dataclass(frozen=True)
class CountedLevel:
    """What is counted of a level.

    `groups`: variables that steps mask together, each with its own k. `masked`, `derived`: variables of the level that
    are masked, and those that are computed across levels.
    """

    groups: Mapping[tuple[str, ...], int] = field(default_factory=dict)
    masked: Sequence[str] = ()
    derived: Sequence[str] = ()


def class_sizes(linked: LinkedData, counted: Mapping[str, CountedLevel], k: int) -> tuple[LikeClasses, ...]:
    """Count what is published alike: records of the lowest level, then those of each level above, by itself and whole.

    `counted`: of each level. `k`: of what no step promises its own.
    """
    lowest = linked.levels[-1]
    own = counted[lowest.name]
    found = [_in_units(linked, lowest.name, names, k_of) for names, k_of in own.groups.items()]
    rows = published_classes(lowest.data, own.masked).codes
    some = bool(own.masked)
    for upper, lower in reversed(list(pairwise(linked))):
        own = counted[upper.name]
        found += _of_rows(linked, upper.name, own, k)
        some = some or bool(own.masked)
        assert lower.groups is not None
        row = published_classes(upper.data, [*own.masked, *own.derived]).codes
        rows = group_classes([row], rows, lower.groups, len(upper))
        if some:
            about = f"whole {upper.name}, by the masked values of row and members"
            found.append(_classes_about(about, _sizes(Classes.of([rows])), k))
    return tuple(found)


def _of_rows(linked: LinkedData, level: str, own: CountedLevel, k: int) -> Iterator[LikeClasses]:
    """Rows of a level: on each group of variables, on quasi-identifiers, on masked values, and with those derived."""
    data, masked = linked[level].data, own.masked
    quasi = [column.name for column in data if column.variable.role == "quasi_identifier"]
    for names, k_of in own.groups.items():
        if set(names) != set(masked):
            yield _in_units(linked, level, names, k_of)
    if quasi and not any(set(quasi) == set(names) for names in (*own.groups, masked)):
        about = f"on its quasi-identifiers ({', '.join(quasi)})"
        yield _in_units(linked, level, quasi, size_compared_with(quasi, own.groups.items(), k), about)
    if masked:
        together = next((k_of for names, k_of in own.groups.items() if set(names) == set(masked)), k)
        yield _in_units(linked, level, masked, together)
    if own.derived:
        yield _in_units(linked, level, [*masked, *own.derived], k)


def _in_units(linked: LinkedData, level: str, names: Sequence[str], k: int, about: str = "") -> LikeClasses:
    """Classes of the records of a level on some variables, in the records that k counts."""
    units, unit = linked.units(level), linked.unit_of(level)
    alike = Classes.of([published_classes(linked[level].data, names).codes], units=units)
    counted = "" if units is None else f", counted in {unit}"
    return _classes_about(f"{level} {about or 'on ' + ', '.join(names)}{counted}", alike.size[alike.codes], k)


def _classes_about(about: str, sizes: Codes, k: int) -> LikeClasses:
    smallest, below = int(sizes.min(initial=len(sizes))), int((sizes < k).sum())
    return LikeClasses(about=about, records=len(sizes), expected=k, smallest=smallest, below=below)


def _sizes(classes: Classes) -> Codes:
    """Records of the class of each record; shape (n,)."""
    return classes.records[classes.codes]
