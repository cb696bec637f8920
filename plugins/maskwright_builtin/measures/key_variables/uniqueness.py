"""Uniqueness on key variables, in the file and, where weights are declared, in the population."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.key_variables.key_classes import KeysParams, key_classes, key_mistakes, key_names

if TYPE_CHECKING:
    from numpy.typing import NDArray


def uniqueness(
    comparison: Comparison,
    params: KeysParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of masked records that are alone with their combination of key variables.

    With f the size of a record's class in the file, the value is ``100 #{f = 1} / n``. Where sampling weights are
    declared, a class stands for about ``F = sum of weights`` people, the sampling fraction is ``pi = f / F``, and with
    the size of the class in the population negative binomial given f, the risk of a record is ``E(1 / F | f) = pi^f / f
    * 2F1(f, f; f + 1; 1 - pi)``; a sample unique is unique in the population with probability pi.

    A missing cell is a value of its own. A record whose weight is missing or below 1 counts with weight 1. Where
    households are declared, f is the number of households in the class, and its weight that of their first
    records.

    There is no interval: the value is a count of the file that is released, in which nothing is estimated. What
    sampling leaves open, whether someone unique in the file is so in the population, is in the parts.

    Parameters
    ----------
    comparison : Comparison
    params : KeysParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts` with weights: ``population_uniques``, percent of records expected to be alone in the population;
        ``mean_risk``, mean over records of the chance in percent of a correct link to the population. `per_record`:
        that chance; without weights 100 for a unique record, else 0.

    Raises
    ------
    InputError
        No key variables, or variables that a file does not have.
    """
    classes = key_classes(comparison, params, "uniqueness")
    notes = [f"key variables: {', '.join(classes.keys)}"]
    sizes = classes.size[classes.of_record]
    unique = sizes == 1
    weights = comparison.masked_weights()
    parts: dict[str, float] = {}
    per_record = np.where(unique, 100.0, 0.0)
    if weights is not None:
        usable = np.where(weights >= 1.0, weights, 1.0)
        changed = int((~(weights >= 1.0)).sum())
        if changed:
            notes.append(f"{changed} record(s) with a weight missing or below 1 count with weight 1")
        fraction = (classes.size / _population(usable, classes.of_record, classes.households))[classes.of_record]
        per_record = 100.0 * individual_risk(sizes, fraction)
        parts = {
            "population_uniques": 100.0 * float(np.where(unique, fraction, 0.0).mean()),
            "mean_risk": float(per_record.mean()),
        }
    return Measurement(100.0 * float(unique.mean()), parts=parts, per_record=per_record, notes=tuple(notes))


def _population(
    weights: NDArray[np.float64], classes: NDArray[np.int64], households: NDArray[np.int64] | None
) -> NDArray[np.float64]:
    """Sum of the weights of each class: of its records, or of the first record of each household in it."""
    if households is not None:
        _, first = np.unique(np.stack([classes, households], axis=1), axis=0, return_index=True)
        weights, classes = weights[first], classes[first]
    return np.asarray(np.bincount(classes, weights=weights), dtype=np.float64)


def individual_risk(size: NDArray[np.int64], fraction: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of 1 / F given f, for F - f negative binomial with f and pi; shape as given.

    Parameters
    ----------
    size : ndarray, int64
        f, at least 1.
    fraction : ndarray, float64
        pi, above 0 and at most 1.

    References
    ----------
    Benedetti and Franconi (1998); Franconi and Polettini (2004), Privacy in Statistical Databases, LNCS 3050, 262-272.
    """
    from scipy.special import hyp2f1  # plugins are listed without SciPy

    f = size.astype(np.float64)
    # 2F1(f, f; f + 1; 1 - pi) = pi^(1 - f) 2F1(1, 1; f + 1; 1 - pi): no huge powers, and never above 1 / f.
    return np.asarray(fraction / f * hyp2f1(1.0, 1.0, f + 1.0, 1.0 - fraction))


UNIQUENESS = Measure(
    name="uniqueness",
    compute=uniqueness,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=KeysParams,
    uses=key_names,
    check=key_mistakes,
    compares_unpaired=True,
    counts_households=True,
    invariant_to=frozenset({"affine", "records", "columns"}),
    reference="Benedetti and Franconi (1998), Statistical and technological solutions for controlled data "
    "dissemination, New Techniques and Technologies for Statistics",
    summary="Percent of masked records alone with their key variables; with weights also in the population.",
)
