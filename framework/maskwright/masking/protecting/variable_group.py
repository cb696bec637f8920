"""A variable group of one step: what it is masked from, its blocks, and moments of its missing patterns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.missing import HAD_VALUE
from maskwright.foundation.counts import plural
from maskwright.foundation.errors import InputError
from maskwright.planning.strata import is_zero
from maskwright.plugins.block import Moments
from maskwright.plugins.guarding.frozen import read_only

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import BaseModel

    from maskwright.data.cluster_aggregation import ChosenAggregation
    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.masking.context import Standardisation
    from maskwright.planning.missing_patterns import Pool
    from maskwright.plugins.method import Method


@dataclass(frozen=True, eq=False)
class GroupWork:
    """One variable group to be masked.

    `step`: in the pipeline, 1 for the first. `stream`: place of the step among those of the plan, which names its
    random numbers. `operators`: what makes each variable's representatives. `edits`: that the method may look at.
    `strata`: codes 0..s-1; shape (n,). `companions`: variables that the method reads and leaves as they are.
    `zeros`: variables with structural zeros. `hides_zeros`: whether the method does not see them, and they stay.
    """

    step: int
    stream: int
    method: Method
    params: BaseModel
    variables: tuple[str, ...]
    operators: tuple[str | ChosenAggregation, ...]
    edits: EditSet
    strata: Integers
    companions: tuple[str, ...] = ()
    zeros: tuple[str, ...] = ()
    hides_zeros: bool = False


@dataclass(frozen=True, eq=False)
class GroupSource:
    """What a variable group is masked from: n records of g variables.

    `values`: NaN, or any number, where missing; shape (n, g). `missing`: shape (n, g). `center`, `scale`: of the
    original file; shape (g,). `households`: household of each record, where the data declare households; shape (n,).
    `group_name`: what a household is called. `weights`: sampling weights, where one numeric variable without missing
    cells has them; shape (n,). `missing_kinds`: as in `Block`; shape (n, g). `companions`: variables that the method
    reads and leaves as they are; NaN where missing; shape (n,). `missing_codes`: as `Block.missing_codes`, for methods
    that draw records; shape (n, g). `zeros`: cells that are missing for the method, because their 0 stays; shape (n,
    g).
    """

    variables: tuple[Variable, ...]
    values: Floats
    missing: Booleans
    center: Floats
    scale: Floats
    households: Integers | None = None
    group_name: str = "household"
    weights: Floats | None = None
    missing_kinds: Integers | None = None
    companions: Mapping[str, Floats] = field(default_factory=dict)
    companion_variables: Mapping[str, Variable] = field(default_factory=dict)
    missing_codes: Integers | None = None
    zeros: Booleans | None = None

    @classmethod
    def of(cls, data: Dataset, work: GroupWork, standardisation: Standardisation) -> GroupSource:
        """Columns of the group, and what goes with them."""
        missing = np.stack([data[name].missing for name in work.variables], axis=1)
        zeros = None
        if work.hides_zeros and set(work.zeros) & set(work.variables):
            nothing = np.zeros(len(data), dtype=np.bool_)
            own = [is_zero(data[name]) if name in work.zeros else nothing for name in work.variables]
            zeros = np.stack(own, axis=1)
            missing |= zeros
        return cls(
            variables=tuple(data[name].variable for name in work.variables),
            values=data.matrix(work.variables),
            missing=missing,
            center=np.array([standardisation.center[name] for name in work.variables]),
            scale=np.array([standardisation.scale[name] for name in work.variables]),
            households=data.households,
            group_name=data.group_name,
            weights=sampling_weights(data),
            missing_kinds=_missing_kinds(data, work.variables),
            companions={name: data.matrix([name])[:, 0] for name in work.companions},
            companion_variables={name: data[name].variable for name in work.companions},
            missing_codes=_missing_codes(data, work.variables) if work.method.claims.draws_records else None,
            zeros=zeros,
        )


def _missing_kinds(data: Dataset, names: tuple[str, ...]) -> Integers | None:
    kinds = {name: data[name].missing_kinds() for name in names if data[name].missing.any()}
    if not any(each.any() for each in kinds.values()):
        return None
    nothing = np.zeros(len(data), dtype=np.int64)
    return np.stack([kinds.get(name, nothing) for name in names], axis=1)


def _missing_codes(data: Dataset, names: Sequence[str]) -> Integers:
    found = np.full((len(data), len(names)), HAD_VALUE, dtype=np.int64)
    for position, name in enumerate(names):
        blank = data[name].blank
        if blank is not None:
            found[:, position] = np.where(data[name].missing, blank.codes, HAD_VALUE)
    return found


def sampling_weights(data: Dataset) -> Floats | None:
    """Weights of the records; None where no variable has them, or several have; shape (n,)."""
    columns = [column for column in data if column.variable.role == "weight" and column.variable.is_numeric]
    if len(columns) != 1 or columns[0].missing.any():
        return None
    return np.asarray(columns[0].values, dtype=np.float64)


def kd_blocks(standardised: Floats, block_size: int) -> Integers:
    """Cut records into compact blocks of nearly equal size by a k-d cut; block of each record, 0..b-1; shape (n,).

    A run of records is cut at a position of its column of largest variance, until every run is one of
    ``b = ceil(n / block_size)`` blocks; none has fewer than ``n // b`` records. The result depends on the values and
    the order of the records only: equal values on a cut are separated by it.

    `standardised`: in units of each column's standard deviation, finite; shape (n, p).
    """
    if block_size < 1:
        raise InputError(f"block_size must be at least 1 record, not {block_size}")
    if standardised.ndim != 2:
        raise InputError(
            f"blocks are cut from a matrix (records, variables), not from {plural(standardised.ndim, 'dimension')}"
        )
    if not np.isfinite(standardised).all():
        raise InputError("blocks are cut from finite numbers; replace missing cells first")
    n, p = standardised.shape
    labels = np.zeros(n, dtype=np.int64)
    waiting = [(np.arange(n), 0, -(-n // block_size))]
    while waiting:
        records, first, blocks = waiting.pop()
        if blocks <= 1:
            labels[records] = first
            continue
        left_blocks = blocks // 2
        size = len(records) * left_blocks // blocks
        run = standardised[records]
        column = run[:, int(np.argmax(run.var(axis=0)))] if p else np.zeros(len(records))
        left = _lowest(column, size)
        waiting.append((records[~left], first + left_blocks, blocks - left_blocks))
        waiting.append((records[left], first, left_blocks))
    return labels


def _lowest(column: Floats, size: int) -> Booleans:
    """Mark the `size` lowest values; ties go to the first ones.

    Not ``argpartition``: which of equal values it puts first depends on the processor.
    """
    if size == 0:
        return np.zeros(len(column), dtype=np.bool_)
    border = np.partition(column, size - 1)[size - 1]
    chosen: Booleans = column < border
    equal = np.flatnonzero(column == border)
    chosen[equal[: size - int(chosen.sum())]] = True
    return chosen


class PatternMoments:
    """Moments of each pattern of missing cells among the records of a pool."""

    def __init__(self, pool: Pool, source: GroupSource) -> None:
        self._center, self._scale = source.center, source.scale
        self._missing = np.array([pattern for pattern, _ in pool.patterns])
        found = [self._of_pattern(source.values[pool.records[places]], pattern) for pattern, places in pool.patterns]
        self._n = np.array([len(places) for _, places in pool.patterns], dtype=np.float64)
        self._mean, self._low, self._high, self._scatter = (np.stack(each) for each in zip(*found, strict=True))

    def _of_pattern(self, values: Floats, missing: Booleans) -> tuple[Floats, ...]:
        """Mean, least, largest and sums of products of deviations in standard units; 0 where cells are missing."""
        points = np.where(missing, 0.0, (values - self._center) / self._scale)
        mean = points.mean(axis=0)
        deviations = points - mean
        shown = np.where(missing, 0.0, values)
        return mean, shown.min(axis=0), shown.max(axis=0), deviations.T @ deviations

    def of(self, columns: Integers) -> Moments:
        """Moments of the records that have these cells, and maybe others; there must be one.

        `columns`: positions of the cells; shape (q,).
        """
        having = ~self._missing[:, columns].any(axis=1)
        n, means = self._n[having], self._mean[having][:, columns]
        total = n.sum()
        mean = n @ means / total
        between = means - mean
        cells = np.ix_(columns, columns)
        scatter = self._scatter[having].sum(axis=0)[cells] + (between * n[:, None]).T @ between
        scale = self._scale[columns]
        return Moments(
            n=int(total),
            mean=read_only(self._center[columns] + mean * scale),
            low=read_only(self._low[having].min(axis=0)[columns]),
            high=read_only(self._high[having].max(axis=0)[columns]),
            covariance=read_only(scatter / max(total - 1.0, 1.0) * np.outer(scale, scale)),
        )
