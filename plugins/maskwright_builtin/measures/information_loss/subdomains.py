"""Means and covariances on subdomains: random subsets and categories, also of a file in partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field, field_validator

from maskwright import (
    Comparison,
    Further,
    InputError,
    Measure,
    MeasureClaims,
    Measurement,
    Merging,
    NamesVariables,
    Problem,
)
from maskwright_builtin.measures.information_loss.moments import file_statistics
from maskwright_builtin.measures.information_loss.partition_losses import missing_notes, moments_of_part
from maskwright_builtin.measures.information_loss.partition_moments import StandardUnits, pair_sums, statistics_of_sums
from maskwright_builtin.measures.pairing import (
    Pairs,
    WeightedParams,
    Weights,
    pair_records,
    spread,
    weighted_over_parts,
    weights_of,
)
from maskwright_builtin.measures.partition_statistics import places_of_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright import Measurable
    from maskwright_builtin.measures.information_loss.moments import FileStatistics
    from maskwright_builtin.measures.partition_statistics import Facts, Request
    from maskwright_builtin.numerics.arrays import Floats, Integers


MISSING_RULE = "each statistic uses the records of its own file that have the values"
SMALLEST = 2
"""Records that a subdomain must have in both files to have a covariance."""


def scales(deviations: Sequence[float], notes: list[str]) -> Floats:
    """Standard deviations of the original variables, NaN of constant ones, which a note is added for; shape (p,)."""
    scale = np.array(deviations)
    scale[scale == 0.0] = np.nan
    if np.isnan(scale).any():
        notes.append(f"left out because they are constant in the original file: {int(np.isnan(scale).sum())} variables")
    return scale


def changes(old: FileStatistics, new: FileStatistics, scale: Floats) -> Floats:
    """Change of the means in the first row, of the covariances in the others; shape (1 + p, p), NaN if not defined.

    `scale`: of the whole original file; shape (p,).
    """
    means = np.abs(new.mean - old.mean) / scale
    covariances = np.abs(new.covariance - old.covariance) / np.outer(scale, scale)
    return 100.0 * np.vstack([means, covariances])


def summary(gathered: Mapping[str, list[Floats]], small: int, names: tuple[str, ...], notes: list[str]) -> Measurement:
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


MOST_SUBDOMAINS = 1_000
"""Different values of a declared variable, at most: a part has sums for each of them."""


def subdomains_of_part(comparison: Comparison, params: SubdomainParams, request: Request) -> Facts:
    """Moments of one part in the first round, then products of variables in each subdomain."""
    if request is None:
        return moments_of_part(comparison, params, None)
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    units = StandardUnits.from_json(request["units"])
    found: dict[str, Any] = {}
    for name in params.domains:
        found[name] = {}
        for file, data, values in ((0, comparison.original, pairs.original), (1, comparison.masked, pairs.masked)):
            for value, rows in places_of_values(data[name]).items():
                own = found[name].setdefault(value, [None, None])
                sums = pair_sums(values[rows], units.center, units.scale, to_fourth=False)
                own[file] = {"records": len(rows), "sums": sums}
        if len(found[name]) > MOST_SUBDOMAINS:
            raise InputError(
                Problem(
                    f"subdomains: {name} has more than {MOST_SUBDOMAINS} different values, and a run over parts sums "
                    "each of them apart",
                    hint="name variables with fewer values as `domains`, or leave out `execution: engine`",
                )
            )
    return found


def subdomain_changes_of_parts(
    facts: Sequence[Facts], params: SubdomainParams, request: Request
) -> Measurement | Further:
    """The measure `subdomains` of a file in parts."""
    if request is None:
        return Further({"units": StandardUnits.of(facts).to_json(), "notes": missing_notes(facts, MISSING_RULE)})
    units, notes = StandardUnits.from_json(request["units"]), list(request["notes"])
    scale = scales(units.deviation.tolist(), notes)
    gathered: dict[str, list[Floats]] = {}
    small = 0
    for name in params.domains:
        for value in sorted({value for each in facts for value in each[name]}):
            own = [each[name].get(value, [None, None]) for each in facts]
            files = [[part[file] for part in own if part[file] is not None] for file in (0, 1)]
            if min(sum(each["records"] for each in file) for file in files) < SMALLEST:
                small += 1
                continue
            old, new = (
                statistics_of_sums([each["sums"] for each in file], units.center, units.scale) for file in files
            )
            gathered.setdefault(name, []).append(changes(old, new, scale))
    return summary(gathered, small, units.names, notes)


def _refused(params: SubdomainParams) -> str | None:
    if params.random:
        return "random subsets are drawn from all records at once: say `random: 0`, and name `domains`"
    return weighted_over_parts(params)


SUBDOMAINS_OVER_PARTS = Merging(partial=subdomains_of_part, merged=subdomain_changes_of_parts, refused=_refused)


Records = tuple["Integers", "Integers"]
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
    gathered: dict[str, list[Floats]] = {}
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


def _categories(original: Integers, masked: Integers) -> Iterator[Records]:
    orders = [np.argsort(codes, kind="stable") for codes in (original, masked)]
    last = int(max(original.max(), masked.max()))
    bounds = [
        np.searchsorted(codes[order], np.arange(last + 2))
        for codes, order in zip((original, masked), orders, strict=True)
    ]
    for code in range(last + 1):
        first, other = (order[each[code] : each[code + 1]] for order, each in zip(orders, bounds, strict=True))
        yield first, other


def _of(weights: Weights | None, file: str, records: Integers) -> Floats | None:
    return None if weights is None else (weights.original if file == "original" else weights.masked)[records]


SUBDOMAINS = Measure(
    name="subdomains",
    compute=subdomains,
    kind="loss",
    unit="percent of standard deviations",
    direction="lower",
    range=(0.0, None),
    params=SubdomainParams,
    claims=MeasureClaims(
        uses=_names_used, deterministic=False, compares_unpaired=True, invariant_to={"affine", "columns"}
    ),
    merging=SUBDOMAINS_OVER_PARTS,
    reference="Domingo-Ferrer and González-Nicolás (2010), Hybrid microdata using microaggregation, Information "
    "Sciences 180(15): means and covariances on random subsets; MS hybrid data of Muralidhar and Sarathy (2008)",
    summary="Change of means and covariances on random subsets and on the categories of declared variables.",
)
