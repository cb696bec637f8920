"""Weights of members, where groups were drawn and their weights multiplied."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.masking.protecting.assembling import WEIGHT_DECIMALS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData


def weight_factors(before: Dataset, after: Dataset) -> NDArray[np.float64] | None:
    """What a step that took records away multiplied the weight of each record by; None: it left weights alone."""
    name = next((each.name for each in before.variables if each.role == "weight"), None)
    if name is None or name not in after:
        return None
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.asarray(after[name].values / before[name].values, dtype=np.float64)
    return np.where(np.isfinite(factors), factors, 1.0)


def with_weights_of_groups(left: LinkedData, factors: NDArray[np.float64] | None) -> LinkedData:
    """Groups whose members' weights are multiplied as those of the groups were."""
    if factors is None or (factors == 1.0).all():
        return left
    top, *lower = left
    changed = {}
    for level in lower:
        name = next((each.name for each in level.data.variables if each.role == "weight"), None)
        if name is None:
            continue
        column = level.data[name]
        places = column.variable.decimals
        values = column.values * factors[left.groups_in(level.name, top.name)]
        decimals = None if places is None else max(places, WEIGHT_DECIMALS)
        values = values if decimals is None else np.round(values, decimals)
        weights = column.changed(values, variable=replace(column.variable, type="continuous", decimals=decimals))
        changed[level.name] = level.data.with_columns({name: weights})
    return left.with_data(changed)
