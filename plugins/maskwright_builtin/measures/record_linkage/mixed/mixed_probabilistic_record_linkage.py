"""Probabilistic record linkage over keys of any type together (Fellegi and Sunter)."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, InputError, Measure, MeasureClaims, Measurement, NamesVariables
from maskwright_builtin.measures.key_variables.key_classes import in_words, key_set_names, worst_of_sets
from maskwright_builtin.measures.record_linkage.fellegi_sunter import SMALLEST
from maskwright_builtin.measures.record_linkage.mixed.agreement_levels import (
    MISSING,
    PATTERNS_AT_MOST,
    LevelClasses,
    Levels,
    all_levels,
    fit_levels,
    pattern_counts,
    shares,
    true_levels,
)
from maskwright_builtin.measures.record_linkage.mixed.mixed_record_linkage import (
    MixedFiles,
    MixedKeysParams,
    linkage_parts,
    mixed_key_mistakes,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright_builtin.measures.record_linkage.mixed.mixed_keys import MixedKey
    from maskwright_builtin.measures.record_linkage.mixed.row_costs_kernel import Costs
    from maskwright_builtin.numerics.arrays import Booleans, Floats

NAME = "mixed_probabilistic_record_linkage"
BIT = 2.0**30
"""Weights are rounded to this part of a bit and summed as whole numbers, so that equal weights are ties."""


class MixedProbabilisticRecordLinkageParams(MixedKeysParams, extra="forbid", frozen=True):
    """What the intruder knows, and how agreements are weighed."""

    estimate: Literal["true_pairs", "em"] = Field(
        "true_pairs",
        description="Where the shares of agreeing pairs come from. 'true_pairs': from the pairs of masked and original "
        "records, which the releasing office knows; the worst case. 'em': from all pairs without knowing the true "
        "ones, as an intruder would; on keys that depend on each other EM often finds other groups than matches.",
    )
    prior: Annotated[float, Field(gt=0, lt=1)] | Literal["estimated", "one_each"] = Field(
        "estimated",
        description="For 'em': the share of matches among all pairs. 'estimated' with the rest; 'one_each': 1 / "
        "records searched.",
    )
    frequencies: bool = Field(
        True,
        description="Whether agreement on a rare value weighs more: log2(m / share of the records searched that agree "
        "with it), in place of log2(m / u).",
    )
    ordered: Literal["levels", "equality"] = Field(
        "levels", description="Ordered categories: 'levels' equal, next to each other, farther; or equal and not."
    )
    missing: Literal["neutral", "level"] = Field(
        "neutral",
        description="A key that is missing in either record: 'neutral' has weight 0, 'level' a weight of its own.",
    )
    tolerance: Annotated[dict[str, Annotated[float, Field(ge=0)]], NamesVariables()] = Field(
        default_factory=dict,
        description="Numbers that differ by at most so much agree: {age: 1}. Others must be equal.",
    )


def mixed_probabilistic_record_linkage(
    comparison: Comparison,
    params: MixedProbabilisticRecordLinkageParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Percent of records whose highest-weight partner in the other file is their own, on keys of any type.

    Every key of a pair of records has a level g: equal, or within the tolerance; for ordered categories next to each
    other; farther. With ``m_jg`` its share among matches and ``u_jg`` among other pairs, the weight of a pair is
    ``sum_j log2(m_jg / u_jg)``; of agreement, with `frequencies`, ``log2(m_j / share of the value)``. A value agrees
    with a published band or group that it lies in. Each record is linked to the partner of highest weight; partners of
    equal weight share the link.

    With 'true_pairs' m and u are counted, exactly. With 'em' they are fitted to the counts of the patterns of all
    pairs under independence within both classes (start: 0.9 and 0.1 agree); where there are more than 2e8 pairs of
    distinct rows, a part of the records is compared with all, and a note says how many. A key with m <= u says nothing
    for a match, is not used for links, and is named in the notes.

    Missing cells, suppressed ones among them, are neutral or a level of their own (`missing`). Records with no key in
    common are never linked. Weights of records are not used: the risk is that of the records released.

    Households: where they are declared a link is correct when it reaches any record of the same household, matches are
    the pairs within one, and the value is the percent of households of which at least one record is linked, or all are
    (`household`).

    Interval, 95 percent: ``mean +- z sd / sqrt(n + z^2)``, as in probabilistic_record_linkage.

    Returns
    -------
    Measurement
        `parts`: ``linkageQ``, the value with its number of keys Q; ``correct_links`` and ``mean_ties`` as in
        mixed_record_linkage; ``prior``; for each key V ``m_V`` and ``u_V``, and ``true_m_V``, which no intruder knows
        (shares). `per_variable`: bits by which agreement rather than disagreement speaks for a match. `per_record`:
        percent earned by each masked record.

    Raises
    ------
    InputError
        No keys, unknown ones, too many; no records; too many patterns for EM.
    """
    return worst_of_sets(comparison, params, NAME, partial(_on_keys, comparison, params))


def _on_keys(
    comparison: Comparison, params: MixedProbabilisticRecordLinkageParams, keys: tuple[str, ...]
) -> Measurement:
    files = MixedFiles(comparison, params, keys, NAME, "steps" if params.ordered == "levels" else "equality")
    levels = _levels(files.keys, params, missing=files.missing)
    counted, share = all_levels(files.queries, files.targets, levels)
    true = true_levels(files.queries, files.targets, files.households, levels)
    notes = list(files.notes)
    neutral = params.missing == "neutral"
    informative = levels.has.copy()
    informative[MISSING] &= not neutral
    if params.estimate == "em":
        classes, note = _by_em(files, params, levels, informative)
        notes += note
    else:
        d = len(keys)
        own, other = (
            [shares(one[informative[:, j], j]) for j in range(d)] for one in (true, np.maximum(counted - true, 0.0))
        )
        classes = LevelClasses(own, other, float(true[:, 0].sum() / counted[:, 0].sum()))
        notes.append("m and u are counted from the true pairs, which only the releasing office knows")
    if files.missing:
        notes.append(f"a key missing in either record {'is neutral' if neutral else 'is a level of its own'}")
    used = [bool(m[0] > u[0] * (1.0 + 1e-9)) for m, u in zip(classes.m, classes.u, strict=True)]
    silent = tuple(key.name for key, use in zip(files.keys, used, strict=True) if not use)
    if silent:
        notes.append(f"not used for links, matches agree no more often than other pairs: {in_words(silent)}")
    found = files.link(_costs(classes, levels, informative, used, share if params.frequencies else None))
    parts = {"prior": classes.prior}
    bits = {}
    for j, key in enumerate(files.keys):
        there = float(true[:MISSING, j].sum())
        parts |= {f"m_{key.name}": float(classes.m[j][0]), f"u_{key.name}": float(classes.u[j][0])}
        if there:
            parts[f"true_m_{key.name}"] = float(true[0, j] / there)
        weight = np.log2(classes.m[j] / classes.u[j])
        bits[key.name] = float(weight[0] - weight[int(informative[:2, j].sum())])
    measured = files.measurement(found, notes, parts)
    return Measurement(
        measured.value, measured.parts, bits, measured.per_record, measured.interval, measured.notes, measured.sentence
    )


def _levels(keys: Sequence[MixedKey], params: MixedProbabilisticRecordLinkageParams, *, missing: bool) -> Levels:
    names = {key.name for key in keys}
    stray = [name for name in params.tolerance if name not in names]
    if stray and params.key_sets is None:
        raise InputError(f"{NAME}: `tolerance` names {in_words(tuple(stray))}, not among the keys")
    reach = [params.tolerance.get(key.name, 0.0) * key.scale if key.kind == "numeric" else 0.0 for key in keys]
    ordered = np.array([key.kind == "ordered" and key.span > 1.0 for key in keys])
    near = np.array([size * (1.0 + 1e-12) for size in reach])
    everywhere = np.ones(len(keys), dtype=np.bool_)
    gone = np.array([missing and bool((key.original.codes < 0).any() or (key.masked.codes < 0).any()) for key in keys])
    return Levels(near, np.where(ordered, 1.0, near), np.array([everywhere, ordered, everywhere, gone]))


def _by_em(
    files: MixedFiles, params: MixedProbabilisticRecordLinkageParams, levels: Levels, informative: Booleans
) -> tuple[LevelClasses, list[str]]:
    patterns = int(np.prod(levels.has.sum(axis=0), dtype=np.float64))
    if patterns > PATTERNS_AT_MOST:
        raise InputError(
            f"{NAME}: {patterns:,} patterns of agreement are too many for EM, at most {PATTERNS_AT_MOST:,}: name fewer "
            "keys, set ordered: equality, or estimate: true_pairs"
        )
    counts, compared = pattern_counts(files.queries, files.targets, levels)
    notes = []
    records = len(files.queries.of_record)
    if compared < records:
        notes.append(f"patterns are counted for {compared:,} of the {records:,} records, each compared with all")
    present = counts > 0
    sizes = informative.sum(axis=0)
    own = [level[present] for level in levels.of_patterns()]
    own = [np.where(level < size, level, -1) for level, size in zip(own, sizes, strict=True)]
    start = params.prior if isinstance(params.prior, float) else 1.0 / len(files.targets.of_record)
    classes = fit_levels(own, sizes.tolist(), counts[present], start, estimate_prior=params.prior == "estimated")
    if not classes.converged:
        notes.append("EM did not converge; m and u are where it stopped")
    return classes, notes


def _costs(
    classes: LevelClasses, levels: Levels, informative: Booleans, used: Sequence[bool], share: Sequence[Floats] | None
) -> Costs:
    """Weights as costs: the highest weight is the least cost."""
    from maskwright_builtin.measures.record_linkage.mixed.row_costs_kernel import Costs

    d = len(used)
    by_level = np.zeros((4, d))
    top = np.zeros((1 if share is None else len(share[0]), d))
    for j in np.flatnonzero(used).tolist():
        by_level[informative[:, j], j] = -np.rint(BIT * np.log2(classes.m[j] / classes.u[j]))
        top[:, j] = by_level[0, j]
        if share is not None:
            top[:, j] = -np.rint(BIT * np.log2(classes.m[j][0] / np.maximum(share[j], SMALLEST)))
    none = np.zeros(d, dtype=np.bool_)
    sides = top, by_level[1], by_level[2], by_level[MISSING]
    return Costs(none, np.zeros(d), levels.near, levels.next, *sides, np.ones(d + 1))


MIXED_PROBABILISTIC_RECORD_LINKAGE = Measure(
    name=NAME,
    compute=mixed_probabilistic_record_linkage,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=MixedProbabilisticRecordLinkageParams,
    claims=MeasureClaims(
        uses=key_set_names,
        check=mixed_key_mistakes,
        counts_households=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=linkage_parts,
    reference="Fellegi and Sunter (1969), Journal of the American Statistical Association 64, 1183-1210; weights by "
    "frequency: Newcombe et al. (1959), Science 130, 954-959; EM: Jaro (1989), Journal of the American Statistical "
    "Association 84, 414-420",
    summary="Percent of records linked to their own by the weight of agreements, on keys of any type.",
)
