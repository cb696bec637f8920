"""Totals derived across levels, put back among the variables that the steps of their level see: for the measures."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Collection

    from maskwright.data.dataset import Dataset


def with_totals(seen: Dataset, level: Dataset, totals: Collection[str]) -> Dataset:
    """Copy with derived totals at their places in the file.

    `seen`: variables that steps see: computed columns may be among them, keys and derived totals are not. `level`: the
    same records, with the variables of the file. `totals`: names of the variables of `level` that are put back.
    """
    own = {each.name: each for each in seen}
    own |= {name: level[name] for name in totals}
    return replace(seen, columns=tuple(own[name] for name in dict.fromkeys((*level.names, *own)) if name in own))
