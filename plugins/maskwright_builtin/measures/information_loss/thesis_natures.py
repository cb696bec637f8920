"""The natures of information loss of the Mateo-Sanz thesis, however their statistics were found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Measurement
from maskwright_builtin.measures.common.pairing import listed
from maskwright_builtin.measures.information_loss.variation import terms

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright_builtin.measures.information_loss.file_statistics import FileStatistics

MISSING_RULE = "PI1 uses the pairs with both values, the other parts the records of their own file that have the values"
NATURES = (("PI1",), ("PI2", "PI4"), ("PI3", "PI5"))
"""Parts about values, about single variables, and about pairs of variables: each nature weighs one third."""


def mean_of_natures(
    per_variable: Mapping[str, float],
    old: FileStatistics,
    new: FileStatistics,
    names: Sequence[str],
    about: Sequence[str],
) -> Measurement:
    """The measure `pi`.

    `per_variable`: PI1 of each variable that can be compared.
    """
    notes = list(about)
    without = [name for name in names if name not in per_variable]
    if without:
        notes.append(f"left out of PI1, no record has a value in both files: {listed(without)}")
    found = {"PI1": float(np.mean(list(per_variable.values()))) if per_variable else float("nan")}
    found |= _statistics(old, new)
    parts = {name: value for name, value in found.items() if not np.isnan(value)}
    absent = [name for name in found if name not in parts]
    if absent:
        notes.append(f"not defined for these variables and left out of the mean: {listed(absent)}")
    undefined = int(np.isnan(old.correlation - new.correlation)[np.triu_indices(len(names), 1)].sum())
    if undefined and len(names) > 1:
        notes.append(f"correlations left out because they are not defined in one of the files: {undefined} pairs")
    natures = [
        np.mean([parts[name] for name in names if name in parts]) for names in NATURES if set(names) & set(parts)
    ]
    if not natures:
        return Measurement(float("nan"), notes=(*notes, "not defined: no variable can be compared"))
    return Measurement(float(np.mean(natures)), parts, per_variable, notes=tuple(notes))


def _statistics(old: FileStatistics, new: FileStatistics) -> dict[str, float]:
    """PI2 to PI5; NaN for what does not exist."""
    above = np.triu_indices(len(old.mean), 1)
    cells = {
        "PI2": terms(old.mean, new.mean, "mean_variation"),
        "PI3": terms(old.covariance[above], new.covariance[above], "mean_variation"),
        "PI4": terms(np.diag(old.covariance), np.diag(new.covariance), "mean_variation"),
        "PI5": terms(old.correlation[above], new.correlation[above], "mean_absolute"),
    }
    return {
        name: float(100.0 * np.nanmean(each)) if not np.isnan(each).all() and each.size else float("nan")
        for name, each in cells.items()
    }
