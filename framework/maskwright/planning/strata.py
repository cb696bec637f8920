"""Strata: records that must not be averaged with one another.

Records on different sides of a governing edit's condition, with different signs in a product, or (when asked) with
different cells missing or different structural zeros are clustered apart. A stratum with fewer than k records is merged
into the nearest one; the representatives of its clusters are then adjusted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.spatial import cKDTree

from maskwright.data.columns import Columns
from maskwright.edits.binary64 import evaluate_xpath
from maskwright.edits.domain import Domain, domain_tuples
from maskwright.edits.edit import DomainPart, EditSet, GoverningPart
from maskwright.edits.exact import evaluate_exact
from maskwright.edits.expression import variable_names
from maskwright.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset


_MOST_MERGED_ONE_BY_ONE = 500


@dataclass(frozen=True)
class Stratum:
    """One stratum as it was before merging."""

    label: str
    records: int
    merged: bool


@dataclass(frozen=True, eq=False)
class Strata:
    """Strata of a variable group.

    Attributes
    ----------
    codes : ndarray of shape (n,), int64
        Stratum of each record after merging, 0..s-1.
    strata : tuple of Stratum
        Before merging.
    mixed : frozenset of str
        Edits whose condition differs inside a merged stratum.
    least : int
        Fewest records that a stratum was to have.
    """

    codes: NDArray[np.int64]
    strata: tuple[Stratum, ...]
    mixed: frozenset[str]
    least: int = 1

    @property
    def count(self) -> int:
        """Number of strata after merging."""
        return int(self.codes.max()) + 1 if len(self.codes) else 0


def stratify(
    data: Dataset,
    group: Sequence[str],
    geometric: Sequence[str],
    edits: EditSet,
    masked: frozenset[str],
    k: int,
    *,
    by_missing: bool = False,
    structural_zeros: Sequence[str] = (),
) -> Strata:
    """Cut the records into strata for one variable group.

    Parameters
    ----------
    data : Dataset
        The original records.
    group : sequence of str
    geometric : sequence of str
        Variables aggregated by geometric mean, whose sign patterns are kept apart.
    edits : EditSet
        Governing edits that touch the group.
    masked : frozenset of str
        All masked variables; a condition may use those of the group and unmasked ones.
    k : int
        Smallest stratum, in records or, where they are declared, in clusters of records; 1 merges nothing.
    by_missing : bool
        Keep records with different missing cells apart.
    structural_zeros : sequence of str
        Variables whose zeros and other values are kept apart, where they are in the group.

    Raises
    ------
    InputError
        When there are fewer than k records.
    """
    n = len(data)
    if n < k:
        raise InputError(f"k = {k} is larger than the number of records, {n}: no group of {k} records exists")
    criteria = _conditions(data, group, edits, masked)
    for name in geometric:
        values = np.nan_to_num(np.asarray(data[name].values, dtype=np.float64))
        code = np.sign(values).astype(np.int64) + 1
        criteria.append((None, code, [f"{name} {what}" for what in ("< 0", "= 0", "> 0")]))
    if by_missing:
        criteria.extend(
            (None, data[name].missing.astype(np.int64), [f"{name} present", f"{name} missing"]) for name in group
        )
    criteria.extend(
        (None, is_zero(data[name]).astype(np.int64), [f"{name} not 0", f"{name} = 0"])
        for name in structural_zeros
        if name in group
    )
    return _merge(_cross(criteria, n), data, group, k, criteria)


def is_zero(column: Column) -> NDArray[np.bool_]:
    """Cells of a numeric column that are 0; missing ones are not."""
    return np.asarray((column.values == 0) & ~column.missing, dtype=np.bool_)


def _conditions(
    data: Dataset, group: Sequence[str], edits: EditSet, masked: frozenset[str]
) -> list[tuple[str | None, NDArray[np.int64], list[str]]]:
    """Criteria from edits: conditions that govern, and unmasked values that masked ones have to occur with."""
    criteria: list[tuple[str | None, NDArray[np.int64], list[str]]] = []
    columns: Columns | None = None
    domain: Domain | None = None
    for edit in edits:
        for part in edit.parts:
            if isinstance(part, DomainPart) and set(part.variables) & set(group):
                outside = [name for name in part.variables if name not in masked]
                if outside:
                    criteria.append((edit.name, *_values_of(data, outside)))
            if not isinstance(part, GoverningPart):
                continue
            used = set(variable_names(part.condition))
            if used & masked - set(group):
                continue
            if columns is None:
                columns = Columns.from_dataset(data)
                domain = Domain.from_dataset(data, domain_tuples(edits))
            judge = evaluate_xpath if edit.binding == "xpath1" else evaluate_exact
            verdict = judge(part.condition, columns, domain)
            unknown = verdict.unknown & (edit.binding == "exact")
            code = np.where(unknown, 2, verdict.holds.astype(np.int64))
            said = [f"condition of {edit.name} {what}" for what in ("does not hold", "holds", "is unknown")]
            criteria.append((edit.name, code, said))
    return criteria


def _values_of(data: Dataset, names: Sequence[str]) -> tuple[NDArray[np.int64], list[str]]:
    """Code of each combination of unmasked values: a masked value has to occur with the one it is published with."""
    codes = np.zeros(len(data), dtype=np.int64)
    for name in names:
        column = data[name]
        _, code = np.unique(np.where(column.missing, np.nan, column.values.astype(np.float64)), return_inverse=True)
        _, codes = np.unique(codes * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    count = int(codes.max(initial=-1)) + 1
    return codes, [f"value {number + 1} of {', '.join(names)}" for number in range(count)]


def _cross(
    criteria: Sequence[tuple[str | None, NDArray[np.int64], list[str]]], n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Combine criteria: codes of shape (n,) and the combination of each code, shape (s, criteria)."""
    if not criteria:
        return np.zeros(n, dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
    codes = np.zeros(n, dtype=np.int64)
    for _, code, _ in criteria:
        _, codes = np.unique(codes * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    _, first = np.unique(codes, return_index=True)
    return codes, np.stack([code[first] for _, code, _ in criteria], axis=1)


def _merge(
    crossed: tuple[NDArray[np.int64], NDArray[np.int64]],
    data: Dataset,
    group: Sequence[str],
    k: int,
    criteria: Sequence[tuple[str | None, NDArray[np.int64], list[str]]],
) -> Strata:
    codes, combinations = crossed
    sizes = np.bincount(codes, minlength=len(combinations))
    counts = sizes if data.clusters is None else _clusters_in(codes, data.clusters, len(combinations))
    target = np.arange(len(combinations))
    if (counts < k).any() and len(combinations) > 1:
        centres = _centres(data, group, codes, len(combinations))
        total = counts.astype(np.float64)
        alive = sizes > 0
        if np.sum(counts < k) > _MOST_MERGED_ONE_BY_ONE:
            _merge_many(counts, centres, target, alive, total, k)
            if data.clusters is not None:
                total = _clusters_in(target[codes], data.clusters, len(combinations)).astype(np.float64)
        while (total[alive] < k).any() and alive.sum() > 1:
            small = int(min(np.flatnonzero(alive), key=lambda number: (total[number], number)))
            others = np.array([number for number in np.flatnonzero(alive) if number != small])
            distance = np.sum((centres[others] - centres[small]) ** 2, axis=1)
            into = int(others[np.argmin(distance)])
            weight = total[small] + total[into]
            centres[into] = (centres[into] * total[into] + centres[small] * total[small]) / weight
            total[into], alive[small] = weight, False
            target[target == small] = into
            if data.clusters is not None:
                # A household with records in both strata counts once.
                total[into] = len(np.unique(data.clusters[target[codes] == into]))
    kept, renumbered = np.unique(target, return_inverse=True)
    merged = np.array([int(np.sum(target == target[number])) > 1 for number in range(len(combinations))])
    labels = [
        ", ".join(said[value] for (_, _, said), value in zip(criteria, row, strict=True)) or "all records"
        for row in combinations
    ]
    mixed = {
        name
        for position, (name, _, _) in enumerate(criteria)
        if name is not None
        for into in kept
        if len(np.unique(combinations[target == into, position])) > 1
    }
    return Strata(
        renumbered[codes],
        tuple(
            Stratum(label, int(size), bool(was) and int(count) < k)
            for label, size, count, was in zip(labels, sizes, counts, merged, strict=True)
        ),
        frozenset(mixed),
        k,
    )


def _clusters_in(codes: NDArray[np.int64], clusters: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Number of clusters of records in each stratum; shape (count,)."""
    return np.bincount(np.unique(np.stack([codes, clusters], axis=1), axis=0)[:, 0], minlength=count)


def _merge_many(
    sizes: NDArray[np.int64],
    centres: NDArray[np.float64],
    target: NDArray[np.int64],
    alive: NDArray[np.bool_],
    total: NDArray[np.float64],
    k: int,
) -> None:
    """Merge thousands of small strata at once, each into the nearest large one, or all into the largest."""
    small = np.flatnonzero(sizes < k)
    large = np.flatnonzero(sizes >= k)
    if not len(large):
        large = np.array([int(np.argmax(sizes))])
        small = small[small != large[0]]
    _, nearest = cKDTree(centres[large]).query(centres[small])
    into = large[np.asarray(nearest)]
    target[small] = into
    np.add.at(total, into, sizes[small])
    alive[small] = False


def _centres(data: Dataset, group: Sequence[str], codes: NDArray[np.int64], count: int) -> NDArray[np.float64]:
    """Standardised mean of each stratum; missing cells left out."""
    values = data.matrix(group)
    known = ~np.isnan(values)
    spread = np.array(
        [np.std(column[here]) if here.any() else 1.0 for column, here in zip(values.T, known.T, strict=True)]
    )
    spread[spread == 0] = 1.0
    centres = np.zeros((count, len(group)))
    for position in range(len(group)):
        here = known[:, position]
        sums = np.bincount(codes[here], weights=values[here, position] / spread[position], minlength=count)
        counts = np.bincount(codes[here], minlength=count)
        centres[:, position] = sums / np.maximum(counts, 1)
    return centres
