"""Means and covariances on parts of the file: random subsets, and the categories of declared variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import Field, field_validator

from maskwright import Comparison, Measure, Measurement, NamesVariables
from maskwright_builtin.measures.common.pairing import Pairs, pair_records, spread
from maskwright_builtin.measures.common.weighting import WeightedParams, Weights, weights_of
from maskwright_builtin.measures.information_loss.file_statistics import file_statistics
from maskwright_builtin.measures.information_loss.subdomain_changes import (
    MISSING_RULE,
    SMALLEST,
    changes,
    scales,
    summary,
)
from maskwright_builtin.measures.information_loss.subdomains_over_parts import SUBDOMAINS_OVER_PARTS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from maskwright import Measurable

Records = tuple["NDArray[np.int64]", "NDArray[np.int64]"]
"""Records of a subdomain in the original and in the masked file."""


class SubdomainParams(WeightedParams, extra="forbid", frozen=True):
    """Which parts of the file."""

    domains: Annotated[list[Annotated[str, Field(min_length=1)]], NamesVariables()] = Field(
        default_factory=list,
        description="Variables, of any type, whose every value is a subdomain; each file is cut by its own values.",
    )
    random: int = Field(100, ge=0, le=100_000, description="Number of random subsets of the masked records.")
    share: float = Field(0.1, gt=0, le=1, description="Share of the masked records in each random subset.")

    @field_validator("domains")
    @classmethod
    def _names_once(cls, domains: list[str]) -> list[str]:
        if len(set(domains)) < len(domains):
            raise ValueError("a variable is named twice")
        return domains


def subdomains(comparison: Comparison, params: SubdomainParams, rng: np.random.Generator) -> Measurement:
    """Change of means and covariances on subdomains, in percent of standard deviations, mean over subdomains.

        d(mean_j)  = 100 abs(m'_j - m_j) / s_j
        d(cov_ij)  = 100 abs(v'_ij - v_ij) / (s_i s_j),   i <= j

    with s_j the standard deviation of the whole original variable (divisor n - 1), so that a small subdomain cannot
    inflate the measure. A random subset compares masked records with their own originals; a declared subdomain is cut
    in each file by that file's own variable, as an analyst of the masked file would. 0 for the original data.

    Weighted: means and covariances are weighted.

    Missing cells: each statistic uses the records that have the values; of a declared variable, missing is no
    subdomain. Subdomains with fewer than two records in a file, and constant variables, are left out with a note.

    Parameters
    ----------
    comparison : Comparison
    params : SubdomainParams
    rng : numpy.random.Generator
        Draws the random subsets.

    Returns
    -------
    Measurement
        `parts` has ``random_means``, ``random_covariances`` and the same for each declared variable; `value` is the
        mean of the parts; `per_variable` the mean over all subdomains of what concerns the variable; `interval` the 95
        percent interval of the value that the drawing of the random subsets leaves open.
    """
    if params.random:
        comparison.require_pairs(
            "the random subsets compare masked records with their own originals (random: 0 leaves them out)"
        )
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    weights = weights_of(comparison, "subdomains", weighted=params.weighted)
    notes = list(pairs.notes)
    scale = scales([spread(pairs.original[:, j], ddof=1) for j in range(pairs.p)], notes)
    gathered: dict[str, list[NDArray[np.float64]]] = {}
    small = 0
    planned = _subdomains(comparison, pairs, params, rng)
    for done, (label, records) in enumerate(planned):
        comparison.progress(done / len(planned))
        if min(len(records[0]), len(records[1])) < SMALLEST:
            small += 1
            continue
        old = file_statistics(pairs.original[records[0]], _of(weights, "original", records[0]))
        new = file_statistics(pairs.masked[records[1]], _of(weights, "masked", records[1]))
        gathered.setdefault(label, []).append(changes(old, new, scale))
    comparison.progress(1.0)
    return summary(gathered, small, pairs.names, notes)


def _names_used(params: SubdomainParams, given: Measurable) -> tuple[str, ...]:
    return (*given.compared, *params.domains)


def _subdomains(
    comparison: Comparison, pairs: Pairs, params: SubdomainParams, rng: np.random.Generator
) -> list[tuple[str, Records]]:
    m = len(pairs.masked)
    found: list[tuple[str, Records]] = []
    size = max(1, round(params.share * m))
    for _ in range(params.random):
        records = np.sort(rng.choice(m, size=size, replace=False))
        found.append(("random", (records if pairs.origin is None else pairs.origin[records], records)))
    for name in params.domains:
        found.extend((name, each) for each in _categories(*comparison.keys(name)))
    return found


def _categories(original: NDArray[np.int64], masked: NDArray[np.int64]) -> Iterator[Records]:
    orders = [np.argsort(codes, kind="stable") for codes in (original, masked)]
    last = int(max(original.max(), masked.max()))
    bounds = [
        np.searchsorted(codes[order], np.arange(last + 2))
        for codes, order in zip((original, masked), orders, strict=True)
    ]
    for code in range(last + 1):
        first, other = (order[each[code] : each[code + 1]] for order, each in zip(orders, bounds, strict=True))
        yield first, other


def _of(weights: Weights | None, file: str, records: NDArray[np.int64]) -> NDArray[np.float64] | None:
    return None if weights is None else (weights.original if file == "original" else weights.masked)[records]


SUBDOMAINS = Measure(
    name="subdomains",
    compute=subdomains,
    kind="loss",
    unit="percent of standard deviations",
    direction="lower",
    range=(0.0, None),
    params=SubdomainParams,
    uses=_names_used,
    deterministic=False,
    compares_unpaired=True,
    merging=SUBDOMAINS_OVER_PARTS,
    invariant_to={"affine", "columns"},
    reference="Domingo-Ferrer and González-Nicolás (2010), Hybrid microdata using microaggregation, Information "
    "Sciences 180(15): means and covariances on random subsets; MS hybrid data of Muralidhar and Sarathy (2008)",
    summary="Change of means and covariances on random subsets and on the categories of declared variables.",
)
