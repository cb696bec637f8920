"""Which rows each edit had moved: that violate it, that rounding takes off it, and that a search moved with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.masking.adjusting.derivation import equalities_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.adjusting.targets import Targets


def with_rounding(
    broken: Mapping[str, NDArray[np.bool_]],
    targets: Targets,
    edits: EditSet,
    rounded: NDArray[np.float64],
    index: NDArray[np.int64],
) -> dict[str, NDArray[np.bool_]]:
    """Rows that violate each edit, with those among `index` that plain rounding takes off it.

    `broken`: shape (r,). `rounded`: shape (r, q).
    """
    found = dict(broken)
    for edit in edits:
        off = index[~targets.satisfied(edit, rounded[index], index)]
        if len(off):
            found[edit.name] = found.get(edit.name, np.zeros(len(rounded), dtype=np.bool_)).copy()
            found[edit.name][off] = True
    return found


def with_taken_up(
    touched: Mapping[str, NDArray[np.bool_]],
    targets: Targets,
    edits: EditSet,
    index: NDArray[np.int64],
    plain: NDArray[np.float64],
    values: NDArray[np.float64],
) -> dict[str, NDArray[np.bool_]]:
    """Rows touched by each edit, with those among `index` in which an equality takes up what a search moved.

    `touched`: shape (r,). `index`: rows whose values were searched for, and found. `plain`, `values`: as plain rounding
    left them, and as they were found; shape (r, q).
    """
    result = dict(touched)
    moved = (plain[index] != values[index]) & ~np.isnan(values[index])
    for name in dict.fromkeys(equality.name for equality in equalities_of(edits)):
        columns = [targets.names.index(each) for each in edits[name].variables if each in targets.names]
        rows = index[np.any(moved[:, columns], axis=1)]
        if len(rows):
            result[name] = result.get(name, np.zeros(len(values), dtype=np.bool_)).copy()
            result[name][rows] = True
    return result


def by_stated_edit(touched: Mapping[str, NDArray[np.bool_]], stated: Mapping[str, str]) -> dict[str, NDArray[np.bool_]]:
    """Rows touched by each edit as it was stated: those that any of its conjuncts touched.

    `touched`: by conjunct; shape (r,). `stated`: edit that each conjunct is of.
    """
    found: dict[str, NDArray[np.bool_]] = {}
    for name, rows in touched.items():
        edit = stated[name]
        found[edit] = found[edit] | rows if edit in found else rows
    return found
