"""l-diversity and t-closeness of equivalence classes, also of a file in partitions."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from maskwright import (
    Comparison,
    Further,
    InputError,
    Measure,
    MeasureClaims,
    Measurement,
    MeasurePart,
    Merging,
    PartOfFile,
    Problem,
    class_hashes,
    plural,
)
from maskwright_builtin.measures.key_variables.key_classes import KeyClasses, chosen_keys, key_classes
from maskwright_builtin.measures.key_variables.sensitive_classes import (
    SensitiveParams,
    diversity_of_classes,
    l_diversity_of,
    moved,
    moved_along,
    names_used,
    sensitive_mistakes,
    sensitive_names,
    t_closeness_of,
    undefined,
    values_by_class,
)
from maskwright_builtin.measures.partition_statistics import distinct_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright_builtin.measures.partition_statistics import Columns, Facts, Request
    from maskwright_builtin.numerics.arrays import Integers


MOST_VALUES = 10_000
"""Different values of a sensitive variable, at most: each part counts the records of each of them."""


def sensitive_of_part(measure: str, comparison: Comparison, params: SensitiveParams, request: object) -> Facts:  # noqa: ARG001
    """Which keys and sensitive variables there are, and how many records of one part have each value."""
    keys = chosen_keys(comparison, params, measure)
    for name in keys:
        comparison.published_keys(name)
    none = np.zeros(0, dtype=np.int64)
    names = sensitive_names(comparison, params, KeyClasses(keys, none, none, None), measure)
    values, missing = {}, {}
    for name in names:
        column = comparison.masked[name]
        own, counts = np.unique(column.values[~column.missing], return_counts=True)
        if len(own) > MOST_VALUES:
            raise InputError(
                Problem(
                    f"{measure}: {name} has more than {MOST_VALUES} different values in a part, which is too many over "
                    "parts",
                    hint="name `sensitive` variables with fewer values, or leave out `execution: engine`",
                )
            )
        values[name] = [own.tolist(), counts.tolist()]
        missing[name] = int(column.missing.sum())
    ordered = {name: comparison.masked[name].variable.type != "nominal" for name in names}
    return {
        "records": len(comparison.masked), "keys": list(keys), "values": values, "missing": missing,
        "ordered": ordered, "compared": list(comparison.variables),
    }  # fmt: skip


def values_of_part(
    comparison: Comparison,
    params: SensitiveParams,  # noqa: ARG001
    request: Request,
    part: PartOfFile,
) -> tuple[Columns, Integers]:
    """Classes of one part with the sensitive values in them, by the task that looks at the class."""
    assert request is not None
    one, other = class_hashes(comparison.masked, request["keys"])
    rows: dict[str, NDArray[np.generic]] = {"one": one, "other": other}
    for name, values in request["values"].items():
        column = comparison.masked[name]
        rank = np.searchsorted(np.array(values), np.where(column.missing, values[0] if values else 0, column.values))
        rows[f"v:{name}"] = np.where(column.missing, -1, rank).astype(np.int64)
    keys = tuple(rows)
    found, _ = distinct_rows(rows | {"records": np.ones(len(one), dtype=np.int64)}, keys)
    return found, (found["one"].astype(np.uint64) % np.uint64(part.tasks)).astype(np.int64)


def _by_class(columns: Columns, name: str, of_class: Integers) -> tuple[Integers, Integers]:
    """Class and value of each record with a value, ordered by class, then by value."""
    value, records = columns[f"v:{name}"].astype(np.int64), columns["records"].astype(np.int64)
    order = np.lexsort((value, of_class))
    order = order[value[order] >= 0]
    return np.repeat(of_class[order], records[order]), np.repeat(value[order], records[order])


def _classes(columns: Columns) -> tuple[Integers, Integers]:
    """Class of each row, and records of each class."""
    rows = {name: columns[name] for name in ("one", "other", "records")}
    found, of_row = distinct_rows(rows, ("one", "other"))
    return of_row, found["records"].astype(np.int64)


def least_of_classes(columns: Columns, params: LDiversityParams, request: Request) -> Facts:
    """Smallest diversity of each sensitive variable in the classes of one task."""
    assert request is not None
    of_class, sizes = _classes(columns)
    least, by_variable = np.full(len(sizes), np.inf), {}
    for name in request["values"]:
        found = diversity_of_classes(*_by_class(columns, name, of_class), len(sizes), params.count)
        if np.isfinite(found).any():
            by_variable[name] = float(found.min())
        least = np.minimum(least, found)
    return {"least": by_variable, "homogeneous": int(sizes[least <= 1.0].sum())}


def farthest_of_classes(columns: Columns, params: SensitiveParams, request: Request) -> Facts:  # noqa: ARG001
    """Largest distance of each sensitive variable in the classes of one task, and their sum over records."""
    assert request is not None
    of_class, sizes = _classes(columns)
    farthest, by_variable = np.full(len(sizes), -np.inf), {}
    for name in request["values"]:
        own, value = _by_class(columns, name, of_class)
        if not len(value):
            continue
        distance = (moved_along if request["ordered"][name] else moved)(own, value, np.array(request["shares"][name]))
        by_variable[name] = float(distance.max())
        present = np.unique(own)
        farthest[present] = np.maximum(farthest[present], distance)
    known = np.isfinite(farthest)
    return {
        "farthest": by_variable, "known": int(sizes[known].sum()),
        "total": float((farthest[known] * sizes[known]).sum()),
    }  # fmt: skip


def _begun(facts: Sequence[Facts]) -> Further | Measurement:
    first = facts[0]
    about = f"key variables: {', '.join(first['keys'])}; sensitive: {', '.join(first['values'])}"
    values, shares, notes = {}, {}, [about]
    for name in first["values"]:
        counts: dict[float, int] = {}
        for each in facts:
            for value, count in zip(*each["values"][name], strict=True):
                counts[value] = counts.get(value, 0) + count
        total = sum(counts.values())
        values[name] = sorted(counts)
        shares[name] = [counts[value] / total for value in values[name]]
        missing = sum(each["missing"][name] for each in facts)
        if missing:
            notes.append(f"left out: {plural(missing, 'record')} without a value of {name}")
    if not any(values.values()):
        return undefined(notes)
    request = {name: first[name] for name in ("keys", "ordered", "compared")}
    records = sum(each["records"] for each in facts)
    return Further({**request, "values": values, "shares": shares, "notes": notes, "records": records}, rows_to="tasks")


def l_diversity_of_parts(facts: Sequence[Facts], params: LDiversityParams, request: Request) -> Measurement | Further:  # noqa: ARG001
    """The measure `l_diversity` of a file in parts."""
    if request is None:
        return _begun(facts)
    least = {
        name: min(each["least"][name] for each in facts if name in each["least"])
        for name in request["values"]
        if any(name in each["least"] for each in facts)
    }
    homogeneous = sum(each["homogeneous"] for each in facts)
    return l_diversity_of(
        least, homogeneous, request["records"], tuple(request["keys"]), request["compared"], request["notes"]
    )  # fmt: skip


def t_closeness_of_parts(facts: Sequence[Facts], params: SensitiveParams, request: Request) -> Measurement | Further:  # noqa: ARG001
    """The measure `t_closeness` of a file in parts."""
    if request is None:
        return _begun(facts)
    farthest = {
        name: max(each["farthest"][name] for each in facts if name in each["farthest"])
        for name in request["values"]
        if any(name in each["farthest"] for each in facts)
    }
    mean = math.fsum(each["total"] for each in facts) / sum(each["known"] for each in facts)
    return t_closeness_of(farthest, mean, tuple(request["keys"]), request["compared"], request["notes"])


L_DIVERSITY_OVER_PARTS = Merging(
    partial=partial(sensitive_of_part, "l_diversity"), merged=l_diversity_of_parts, rows=values_of_part,
    counted=least_of_classes,
)  # fmt: skip
T_CLOSENESS_OVER_PARTS = Merging(
    partial=partial(sensitive_of_part, "t_closeness"), merged=t_closeness_of_parts, rows=values_of_part,
    counted=farthest_of_classes,
)  # fmt: skip


class LDiversityParams(SensitiveParams, extra="forbid", frozen=True):
    """Keys, sensitive variables, and how diversity is counted."""

    count: Literal["distinct", "entropy"] = Field(
        "distinct",
        description="'distinct': different values. 'entropy': exp of their entropy, the number of equally frequent "
        "values that would be as diverse.",
    )


def l_diversity(comparison: Comparison, params: LDiversityParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Smallest diversity of a sensitive variable in a class of masked records with equal key variables.

    With p_s the share of value s in a class: `distinct` counts the s with p_s > 0, `entropy` is ``exp(-sum_s p_s log
    p_s)``; the value is the minimum over classes and sensitive variables. At 1, someone in such a class needs no link
    to be known: everybody there has the same value.

    A missing key is a value of its own; a missing sensitive cell is left out, and a class with no value counts for
    nothing. Weights are not used. Where households are declared, a household counts once for each
    value it has.

    There is no interval: it is a count of the file that is released, and nothing in it is estimated.

    Returns
    -------
    Measurement
        `parts`: ``homogeneous``, percent of records in a class in which some sensitive variable has a single value.
        `per_variable`: the smallest diversity of each sensitive variable among those compared. `per_record`: that of
        the record's class.

    Raises
    ------
    InputError
        No key or sensitive variables, or variables that a file does not have.
    """
    classes = key_classes(comparison, params, "l_diversity")
    names = sensitive_names(comparison, params, classes, "l_diversity")
    least = np.full(len(classes.size), np.inf)
    by_variable: dict[str, float] = {}
    notes = [f"key variables: {', '.join(classes.keys)}; sensitive: {', '.join(names)}"]
    for name, of_class, value, _, missing in values_by_class(comparison, names, classes):
        diversity = diversity_of_classes(of_class, value, len(classes.size), params.count)
        if np.isfinite(diversity).any():
            by_variable[name] = float(diversity.min())
        least = np.minimum(least, diversity)
        if missing:
            notes.append(f"left out: {plural(missing, 'record')} without a value of {name}")
    if not by_variable:
        return undefined(notes)
    of_record = least[classes.of_record]
    found = l_diversity_of(
        by_variable, int((of_record <= 1.0).sum()), len(of_record), classes.keys, comparison.variables, notes
    )
    return replace(found, per_record=np.where(np.isfinite(of_record), of_record, np.nan))


def _l_diversity_parts(params: LDiversityParams) -> tuple[MeasurePart, ...]:  # noqa: ARG001 - the contract
    return (MeasurePart("homogeneous", "percent", range=(0.0, 100.0)),)


L_DIVERSITY = Measure(
    name="l_diversity",
    compute=l_diversity,
    kind="risk",
    unit="count",
    direction="higher",
    range=(1.0, None),
    params=LDiversityParams,
    claims=MeasureClaims(
        uses=names_used,
        check=sensitive_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        counts_households=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_l_diversity_parts,
    merging=L_DIVERSITY_OVER_PARTS,
    reference="Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam (2007), ACM Transactions on Knowledge Discovery "
    "from Data 1(1), article 3",
    summary="Smallest number of different sensitive values in a class of masked records with equal keys.",
)


def t_closeness(comparison: Comparison, params: SensitiveParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Largest distance between the sensitive values of a class of masked records with equal keys and of the whole file.

    The earth mover's distance between the shares p_s of the class and q_s of the file. With v different values in
    order, ``sum_i |sum_{s <= i} (p_s - q_s)| / (v - 1)`` for numeric and ordinal variables; ``sum_s |p_s - q_s| / 2``
    for nominal ones. 0: a class tells nothing; the value is the maximum over classes and sensitive variables.

    A missing key is a value of its own; a missing sensitive cell is left out, and a class with no value counts for
    nothing. Weights are not used. Where households are declared, a household counts once for each
    value it has in a class.

    There is no interval: it is a distance within the file that is released, and nothing in it is estimated.

    Returns
    -------
    Measurement
        `parts`: ``mean``, over records. `per_variable`: the largest distance of each sensitive variable among those
        compared. `per_record`: that of the record's class.

    Raises
    ------
    InputError
        No key or sensitive variables, or variables that a file does not have.
    """
    classes = key_classes(comparison, params, "t_closeness")
    names = sensitive_names(comparison, params, classes, "t_closeness")
    farthest = np.full(len(classes.size), -np.inf)
    by_variable: dict[str, float] = {}
    notes = [f"key variables: {', '.join(classes.keys)}; sensitive: {', '.join(names)}"]
    for name, of_class, value, ordered, missing in values_by_class(comparison, names, classes):
        if missing:
            notes.append(f"left out: {plural(missing, 'record')} without a value of {name}")
        if not len(value):
            continue
        counts = np.bincount(value)
        distance = (moved_along if ordered else moved)(of_class, value, counts / counts.sum())
        by_variable[name] = float(distance.max())
        present = np.unique(of_class)
        farthest[present] = np.maximum(farthest[present], distance)
    if not by_variable:
        return undefined(notes)
    of_record = farthest[classes.of_record]
    known = np.isfinite(of_record)
    mean = float(of_record[known].mean())
    found = t_closeness_of(by_variable, mean, classes.keys, comparison.variables, notes)
    return replace(found, per_record=np.where(known, of_record, np.nan))


def _t_closeness_parts(params: SensitiveParams) -> tuple[MeasurePart, ...]:  # noqa: ARG001 - the contract
    return (MeasurePart("mean", "share", range=(0.0, 1.0)),)


T_CLOSENESS = Measure(
    name="t_closeness",
    compute=t_closeness,
    kind="risk",
    unit="share",
    direction="lower",
    range=(0.0, 1.0),
    params=SensitiveParams,
    claims=MeasureClaims(
        uses=names_used,
        check=sensitive_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        counts_households=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_t_closeness_parts,
    merging=T_CLOSENESS_OVER_PARTS,
    reference="Li, Li and Venkatasubramanian (2007), t-closeness: privacy beyond k-anonymity and l-diversity, IEEE "
    "23rd International Conference on Data Engineering, 106-115",
    summary="Largest distance between the sensitive values of a class with equal keys and of the whole file.",
)
