"""Changes of means and covariances on subdomains, however these were found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Measurement

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright_builtin.measures.information_loss.file_statistics import FileStatistics

MISSING_RULE = "each statistic uses the records of its own file that have the values"
SMALLEST = 2
"""Records that a subdomain must have in both files to have a covariance."""


def scales(deviations: Sequence[float], notes: list[str]) -> NDArray[np.float64]:
    """Standard deviations of the original variables, NaN of constant ones, which a note is added for; shape (p,)."""
    scale = np.array(deviations)
    scale[scale == 0.0] = np.nan
    if np.isnan(scale).any():
        notes.append(f"left out because they are constant in the original file: {int(np.isnan(scale).sum())} variables")
    return scale


def changes(old: FileStatistics, new: FileStatistics, scale: NDArray[np.float64]) -> NDArray[np.float64]:
    """Change of the means in the first row, of the covariances in the others; shape (1 + p, p), NaN if not defined.

    `old`, `new`: of one subdomain of both files. `scale`: of the whole original file; shape (p,).
    """
    means = np.abs(new.mean - old.mean) / scale
    covariances = np.abs(new.covariance - old.covariance) / np.outer(scale, scale)
    return 100.0 * np.vstack([means, covariances])


def summary(
    gathered: Mapping[str, list[NDArray[np.float64]]], small: int, names: tuple[str, ...], notes: list[str]
) -> Measurement:
    """The measure, from the changes of all subdomains.

    `gathered`: shape (1 + p, p).
    """
    if small:
        notes.append(f"left out, fewer than {SMALLEST} records in one of the files: {small} subdomains")
    upper = np.triu_indices(len(names))
    parts: dict[str, float] = {}
    errors: list[float] = []
    for label, changes in gathered.items():
        every = np.stack(changes)
        for name, cells in (("means", every[:, 0, :]), ("covariances", every[:, 1:, :][:, upper[0], upper[1]])):
            there = ~np.isnan(cells)
            if not there.any():
                continue
            each = np.array([row[use].mean() for row, use in zip(cells, there, strict=True) if use.any()])
            parts[f"{label}_{name}"] = float(each.mean())
            sampled = label == "random" and len(each) > 1
            errors.append(float(each.var(ddof=1)) / len(each) if sampled else 0.0)
    if not parts:
        return Measurement(float("nan"), notes=(*notes, "not defined: no subdomain can be compared"))
    value = float(np.mean(list(parts.values())))
    together = np.stack([each for changes in gathered.values() for each in changes])
    per_variable = {}
    for j, name in enumerate(names):
        own = together[:, :, j]
        if not np.isnan(own).all():
            per_variable[name] = float(np.nanmean(own))
    interval = None
    if any(errors):
        # Means and covariances come from the same subsets, so their errors are added, not pooled.
        reach = 1.96 * float(np.sqrt(errors).sum()) / len(parts)
        interval = (max(0.0, value - reach), value + reach)
    return Measurement(value, parts, per_variable, interval=interval, notes=tuple(notes))
