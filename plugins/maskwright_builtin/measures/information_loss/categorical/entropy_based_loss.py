"""Entropy-based information loss (EBIL): what is no longer known of the original value, given the published one."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.common.pairing import listed
from maskwright_builtin.measures.common.weighting import weights_of
from maskwright_builtin.measures.information_loss.categorical.paired_categories import (
    NOTHING,
    CategoricalParams,
    plain_codes,
    variable_mistakes,
    variables_used,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray


def entropy_based_loss(
    comparison: Comparison,
    params: CategoricalParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Uncertainty about the original categories that is left when the published ones are known (EBIL), in percent.

        EBIL of a variable = sum over records of H(V | V' = x'),   H = -sum_v p(v | x') log2 p(v | x')

    with p(v | x') the share of original value v among the records that publish x': the joint table of both files. In
    percent of ``n log2 c``, the most that c different original values allow; `value` is the mean over variables. 0
    where the published value tells the original one.

    It is the detail that recoding and suppression take away, too: the original values are not recoded, and a missing
    published cell is a category from which the original one is to be guessed. It knows which original value each
    published one came from, which a user does not: a variable whose categories were exchanged throughout loses nothing.
    A number that was recoded to bands is measured by its different values.

    Weighted: records count by their weights.

    Parameters
    ----------
    comparison : Comparison
    params : CategoricalParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts` has ``bits``, the sum over records and variables, and ``bits_per_record``; `per_variable` the percent of
        each variable; `per_record` the bits of each masked record, over all variables. There is no interval: it
        compares these two files.

    Raises
    ------
    UnpairedRecords
    """
    comparison.require_pairs("entropy_based_loss compares each masked record with its own original")
    names = comparison.categorical if params.variables is None else tuple(dict.fromkeys(params.variables))
    m = len(comparison.masked)
    if not names or not m:
        return Measurement(float("nan"), notes=(NOTHING,))
    weights = weights_of(comparison, "entropy_based_loss", weighted=params.weighted)
    own = None if weights is None else weights.masked
    origin = comparison.origin if comparison.origin is not None else comparison.masked.origin
    per_variable: dict[str, float] = {}
    per_record = np.zeros(m)
    for position, name in enumerate(names):
        old, new = plain_codes(comparison.original[name]) + 1, plain_codes(comparison.masked[name]) + 1
        different = len(np.unique(old))
        bits = conditional_entropy(old if origin is None else old[origin], new, own)
        total = float(bits.sum() if own is None else np.dot(bits, own))
        per_variable[name] = 100.0 * total / (m * math.log2(different)) if different > 1 else 0.0
        per_record += bits
        comparison.progress((position + 1) / len(names))
    everything = float(per_record.sum() if own is None else np.dot(per_record, own))
    never = [name for name in names if comparison.original[name].missing.all()]
    notes = ["a missing cell counts as a category"]
    if never:
        notes.append(f"no record of the original has a value, nothing can be lost: {listed(never)}")
    parts = {"bits": everything, "bits_per_record": everything / m}
    return Measurement(float(np.mean(list(per_variable.values()))), parts, per_variable, per_record, notes=tuple(notes))


def conditional_entropy(
    old: NDArray[np.int64], new: NDArray[np.int64], weights: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Bits of uncertainty about the old code of each record, given its new one; shape (m,).

    `old`, `new`: codes 0, 1, ; shape (m,). `weights`: shape (m,).
    """
    span = int(old.max()) + 1
    pairs, pair = np.unique(new * span + old, return_inverse=True)
    joint = np.bincount(pair, weights, len(pairs)).astype(np.float64)
    given = pairs // span
    total = np.bincount(given, joint)
    there = joint > 0.0
    share = joint[there] / total[given[there]]
    entropy = np.bincount(given[there], -share * np.log2(share), len(total))
    # Rounding may leave a certain value with less than nothing.
    return np.maximum(entropy, 0.0)[new]


ENTROPY_BASED_LOSS = Measure(
    name="entropy_based_loss",
    compute=entropy_based_loss,
    kind="loss",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=CategoricalParams,
    uses=variables_used,
    check=variable_mistakes,
    invariant_to={"affine", "records", "columns"},
    reference="Kooiman, Willenborg and Gouweleeuw (1998), PRAM: a method for disclosure limitation of microdata, "
    "Statistics Netherlands; Domingo-Ferrer and Torra (2001), Disclosure control methods and information loss for "
    "microdata, Elsevier, 91-110 (EBIL)",
    summary="What is no longer known of the original categories, given the published ones, in bits and percent (EBIL).",
)
