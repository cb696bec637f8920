"""l-diversity and t-closeness of a file in parts: classes and their sensitive values, shuffled by the hash of keys."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright import Comparison, Further, InputError, Measurement, Merging, PartOfFile, Problem, class_hashes
from maskwright_builtin.measures.common.distinct_rows import distinct_rows
from maskwright_builtin.measures.key_variables.key_classes import KeyClasses, chosen_keys
from maskwright_builtin.measures.key_variables.sensitive_classes import (
    diversity_of_classes,
    l_diversity_of,
    moved,
    moved_along,
    t_closeness_of,
    undefined,
)
from maskwright_builtin.measures.key_variables.sensitive_variables import sensitive_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright_builtin.measures.key_variables.l_diversity import LDiversityParams
    from maskwright_builtin.measures.key_variables.sensitive_variables import SensitiveParams

Facts = dict[str, Any]

MOST_VALUES = 10_000
"""Different values of a sensitive variable: each part tells how many records have each of them."""


def sensitive_of_part(measure: str, comparison: Comparison, params: SensitiveParams, asked: object) -> Facts:  # noqa: ARG001
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
    asked: Mapping[str, Any] | None,
    part: PartOfFile,
) -> tuple[dict[str, NDArray[np.generic]], NDArray[np.int64]]:
    """Classes of one part with the sensitive values in them, by the task that looks at the class."""
    assert asked is not None
    one, other = class_hashes(comparison.masked, asked["keys"])
    rows: dict[str, NDArray[np.generic]] = {"one": one, "other": other}
    for name, values in asked["values"].items():
        column = comparison.masked[name]
        rank = np.searchsorted(np.array(values), np.where(column.missing, values[0] if values else 0, column.values))
        rows[f"v:{name}"] = np.where(column.missing, -1, rank).astype(np.int64)
    keys = tuple(rows)
    found, _ = distinct_rows(rows | {"records": np.ones(len(one), dtype=np.int64)}, keys)
    return found, (found["one"].astype(np.uint64) % np.uint64(part.tasks)).astype(np.int64)


def _by_class(
    columns: Mapping[str, NDArray[np.generic]], name: str, of_class: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Class and value of each record with a value, ordered by class, then by value."""
    value, records = columns[f"v:{name}"].astype(np.int64), columns["records"].astype(np.int64)
    order = np.lexsort((value, of_class))
    order = order[value[order] >= 0]
    return np.repeat(of_class[order], records[order]), np.repeat(value[order], records[order])


def _classes(columns: Mapping[str, NDArray[np.generic]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Class of each row, and records of each class."""
    rows = {name: columns[name] for name in ("one", "other", "records")}
    found, of_row = distinct_rows(rows, ("one", "other"))
    return of_row, found["records"].astype(np.int64)


def least_of_classes(
    columns: Mapping[str, NDArray[np.generic]], params: LDiversityParams, asked: Mapping[str, Any] | None
) -> Facts:
    """Smallest diversity of each sensitive variable in the classes of one task."""
    assert asked is not None
    of_class, sizes = _classes(columns)
    least, by_variable = np.full(len(sizes), np.inf), {}
    for name in asked["values"]:
        found = diversity_of_classes(*_by_class(columns, name, of_class), len(sizes), params.count)
        if np.isfinite(found).any():
            by_variable[name] = float(found.min())
        least = np.minimum(least, found)
    return {"least": by_variable, "homogeneous": int(sizes[least <= 1.0].sum())}


def farthest_of_classes(
    columns: Mapping[str, NDArray[np.generic]],
    params: SensitiveParams,  # noqa: ARG001
    asked: Mapping[str, Any] | None,
) -> Facts:
    """Largest distance of each sensitive variable in the classes of one task, and their sum over records."""
    assert asked is not None
    of_class, sizes = _classes(columns)
    farthest, by_variable = np.full(len(sizes), -np.inf), {}
    for name in asked["values"]:
        own, value = _by_class(columns, name, of_class)
        if not len(value):
            continue
        distance = (moved_along if asked["ordered"][name] else moved)(own, value, np.array(asked["shares"][name]))
        by_variable[name] = float(distance.max())
        present = np.unique(own)
        farthest[present] = np.maximum(farthest[present], distance)
    known = np.isfinite(farthest)
    return {
        "farthest": by_variable, "known": int(sizes[known].sum()),
        "total": float((farthest[known] * sizes[known]).sum()),
    }  # fmt: skip


def _begun(facts: Sequence[Mapping[str, Any]]) -> Further | Measurement:
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
            notes.append(f"{missing} record(s) without a value of {name} are left out")
    if not any(values.values()):
        return undefined(notes)
    asked = {name: first[name] for name in ("keys", "ordered", "compared")}
    records = sum(each["records"] for each in facts)
    return Further({**asked, "values": values, "shares": shares, "notes": notes, "records": records}, rows_to="tasks")


def l_diversity_of_parts(
    facts: Sequence[Mapping[str, Any]],
    params: LDiversityParams,  # noqa: ARG001
    asked: Mapping[str, Any] | None,
) -> Measurement | Further:
    """The measure `l_diversity` of a file in parts.

    `facts`: of `sensitive_of_part`, then of `least_of_classes`.
    """
    if asked is None:
        return _begun(facts)
    least = {
        name: min(each["least"][name] for each in facts if name in each["least"])
        for name in asked["values"]
        if any(name in each["least"] for each in facts)
    }
    homogeneous = sum(each["homogeneous"] for each in facts)
    return l_diversity_of(
        least, homogeneous, asked["records"], tuple(asked["keys"]), asked["compared"], asked["notes"]
    )  # fmt: skip


def t_closeness_of_parts(
    facts: Sequence[Mapping[str, Any]],
    params: SensitiveParams,  # noqa: ARG001
    asked: Mapping[str, Any] | None,
) -> Measurement | Further:
    """The measure `t_closeness` of a file in parts.

    `facts`: of `sensitive_of_part`, then of `farthest_of_classes`.
    """
    if asked is None:
        return _begun(facts)
    farthest = {
        name: max(each["farthest"][name] for each in facts if name in each["farthest"])
        for name in asked["values"]
        if any(name in each["farthest"] for each in facts)
    }
    mean = math.fsum(each["total"] for each in facts) / sum(each["known"] for each in facts)
    return t_closeness_of(farthest, mean, tuple(asked["keys"]), asked["compared"], asked["notes"])


L_DIVERSITY_OVER_PARTS = Merging(
    partial=partial(sensitive_of_part, "l_diversity"), merged=l_diversity_of_parts, rows=values_of_part,
    counted=least_of_classes,
)  # fmt: skip
T_CLOSENESS_OVER_PARTS = Merging(
    partial=partial(sensitive_of_part, "t_closeness"), merged=t_closeness_of_parts, rows=values_of_part,
    counted=farthest_of_classes,
)  # fmt: skip
