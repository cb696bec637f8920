"""Small surveys of two levels, as measures of groups get them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import maskwright as mw

LEVELS = {"household": {"key": "hhid"}, "person": {"key": "pno", "in": "household"}}


def linked(households: pd.DataFrame, persons: pd.DataFrame) -> mw.LinkedData:
    return mw.linked_data({"household": households, "person": persons}, LEVELS)


def comparison(original: mw.LinkedData, masked: mw.LinkedData, origin: Any = None, **more: Any) -> mw.Comparison:
    def plain(side: mw.LinkedData, level: str) -> mw.Dataset:
        return side[level].data.without(side[level].key_columns)

    variables = {
        level: tuple(each.name for each in plain(original, level).variables if each.is_numeric)
        for level in original.names
    }
    origins = {} if origin is None else {"household": np.asarray(origin)}
    levels = mw.ComparedLevels(original, masked, origins, variables, **more)
    top = levels.top
    found = origins.get(top)
    return mw.Comparison(plain(original, top), plain(masked, top), variables[top], origin=found, levels=levels)


def random_survey(seed: int, households: int = 12, largest: int = 4, values: int = 5, variables: int = 2):
    """Households and persons with few different values, so that there are ties; and a masked copy."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, largest + 1, households)
    home = np.repeat(np.arange(households), sizes)
    upper = pd.DataFrame({"hhid": np.arange(households), "region": rng.integers(0, 2, households).astype(str),
                          "total": rng.integers(0, values, households).astype(float)})  # fmt: skip
    lower = pd.DataFrame({"hhid": home, "pno": np.arange(len(home)) - np.searchsorted(home, home),
                          "sex": rng.integers(1, 3, len(home)).astype(str)})  # fmt: skip
    for j in range(variables):
        lower[f"x{j}"] = rng.integers(0, values, len(home)).astype(float)
    other = lower.copy()
    for j in range(variables):
        other[f"x{j}"] += rng.integers(-1, 2, len(home))
    return (upper, lower), (upper.assign(total=upper.total + rng.integers(-1, 2, households)), other)


def shuffled(tables: tuple[pd.DataFrame, pd.DataFrame], seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The same households with their members in another order; households stay in theirs."""
    upper, lower = tables
    mixed = lower.sample(frac=1.0, random_state=seed).sort_values("hhid", kind="stable")
    return upper, mixed
