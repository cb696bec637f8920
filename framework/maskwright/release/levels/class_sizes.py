"""Sizes of equivalence classes in data of two levels: of persons, household rows and households."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.data.classes.classes import Classes
from maskwright.data.classes.group_classes import group_classes
from maskwright.data.record_groups import published_classes
from maskwright.planning.model import size_compared_with
from maskwright.release.record.run_record import LikeClasses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData

    Codes = NDArray[np.int64]


def four_counts(
    linked: LinkedData,
    variable_groups: Mapping[tuple[str, ...], int],
    own_groups: Mapping[tuple[str, ...], int],
    masked: Sequence[str],
    derived: Sequence[str],
    below: Sequence[str],
    k: int,
) -> tuple[LikeClasses, ...]:
    """Count what is published alike."""
    top, low = linked.levels
    assert low.groups is not None
    found = []
    for names, own in variable_groups.items():
        alike = Classes.of([published_classes(low.data, names).codes], units=low.groups)
        size = alike.size[alike.codes]
        found.append(_classes_about(f"{low.name} on {', '.join(names)}, counted in {top.name}", size, own))
    quasi = [column.name for column in top.data if column.variable.role == "quasi_identifier"]
    together = next((own for names, own in own_groups.items() if set(names) == set(masked)), k)
    found += [
        _classes_about(f"{top.name} on {', '.join(names)}", _sizes(published_classes(top.data, names)), own)
        for names, own in own_groups.items() if set(names) != set(masked)
    ]  # fmt: skip
    if quasi and not any(set(quasi) == set(names) for names in (*own_groups, masked)):
        about = f"{top.name} on its quasi-identifiers ({', '.join(quasi)})"
        found.append(
            _classes_about(
                about, _sizes(published_classes(top.data, quasi)), size_compared_with(quasi, own_groups.items(), k)
            )
        )
    if masked:
        found.append(
            _classes_about(f"{top.name} on {', '.join(masked)}", _sizes(published_classes(top.data, masked)), together)
        )
    if derived:
        every = [*masked, *derived]
        found.append(_classes_about(f"{top.name} on {', '.join(every)}", _sizes(published_classes(top.data, every)), k))
    if below or masked:
        rows, members = (
            published_classes(data, names).codes for data, names in ((top.data, [*masked, *derived]), (low.data, below))
        )
        whole = Classes.of([group_classes([rows], members, low.groups, len(top))])
        found.append(_classes_about(f"whole {top.name}, by the masked values of row and members", _sizes(whole), k))
    return tuple(found)


def _classes_about(about: str, sizes: Codes, k: int) -> LikeClasses:
    smallest, below = int(sizes.min(initial=len(sizes))), int((sizes < k).sum())
    return LikeClasses(about=about, records=len(sizes), expected=k, smallest=smallest, below=below)


def _sizes(classes: Classes) -> Codes:
    """Records of the class of each record; shape (n,)."""
    return classes.records[classes.codes]
