"""k-anonymity: the smallest class of records with equal key variables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import Field

from maskwright import Comparison, Measure, Measurement, MeasurePart
from maskwright_builtin.measures.key_variables.class_sizes_over_parts import K_ANONYMITY_OVER_PARTS, k_anonymity_of
from maskwright_builtin.measures.key_variables.key_classes import classes_on
from maskwright_builtin.measures.key_variables.key_sets import (
    KeySetsParams,
    key_set_mistakes,
    key_set_names,
    set_parts,
    worst_of_sets,
)
from maskwright_builtin.measures.key_variables.records_in_bands import size_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np


class KAnonymityParams(KeySetsParams, extra="forbid", frozen=True):
    """The key variables, and a k to count by."""

    k: int = Field(3, ge=2, description="`parts` count the records in classes smaller than this.")


def k_anonymity(
    comparison: Comparison,
    params: KAnonymityParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Size of the smallest class of masked records with equal values of all key variables.

    ``min over records i of #{u : keys(u) = keys(i)}``; the file is k-anonymous for every k up to it. Only equality
    counts, so continuous keys that are not clustered give 1. A missing cell is a value of its own. Weights are not
    used. Where households are declared, the size of a class is the number of households in it.

    There is no interval: it is a count of the file that is released, and nothing in it is estimated.

    Parameters
    ----------
    comparison : Comparison
    params : KAnonymityParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts`: ``classes``, their number; ``below_k``, percent of records in classes smaller than k; ``mean_risk``,
        mean of 100 / class size over records, the chance in percent that someone known to be in the file is picked out
        by the keys. `per_record`: 100 / class size. `tables`: records in bands of class size.

    Raises
    ------
    InputError
        No key variables, or variables that a file does not have.
    """
    return worst_of_sets(
        comparison, params, "k_anonymity", lambda keys: _on_keys(comparison, params, keys), direction="higher"
    )


def _on_keys(comparison: Comparison, params: KAnonymityParams, keys: tuple[str, ...]) -> Measurement:
    classes = classes_on(comparison, keys, "k_anonymity")
    sizes = classes.size[classes.of_record]
    risk = 100.0 / sizes
    group = comparison.original.group_name
    what = "record" if classes.households is None else group if group == "household" else f"{group} record"
    found = k_anonymity_of(
        int(classes.size.min()), int((sizes < params.k).sum()), len(sizes), params.k, keys, what,
        {"classes": float(len(classes.size)), "mean_risk": float(risk.mean())}, size_table(sizes, f"{what}s"),
    )  # fmt: skip
    return replace(found, per_record=risk)


def _parts(params: KAnonymityParams) -> Iterator[MeasurePart]:
    yield MeasurePart("classes", "count", "lower")
    yield MeasurePart("below_k", "percent", range=(0.0, 100.0))
    yield MeasurePart("mean_risk", "percent", range=(0.0, 100.0))
    yield from set_parts(params, "count", "higher", (1.0, None))


K_ANONYMITY = Measure(
    name="k_anonymity",
    compute=k_anonymity,
    kind="risk",
    unit="count",
    direction="higher",
    range=(1.0, None),
    params=KAnonymityParams,
    uses=key_set_names,
    check=key_set_mistakes,
    parts=_parts,
    compares_unpaired=True,
    of_one_file=True,
    merging=K_ANONYMITY_OVER_PARTS,
    counts_households=True,
    invariant_to={"affine", "records", "columns"},
    reference="Samarati (2001), IEEE Transactions on Knowledge and Data Engineering 13(6), 1010-1027",
    summary="Size of the smallest class of masked records with equal key variables.",
)
