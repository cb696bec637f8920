"""Missing cells and methods that take none: records are masked apart by which cells they have, on those cells alone.

A method then sees complete records only. Where fewer records share a pattern of missing cells than the method needs,
it also sees records that have the same cells and others besides; what it makes of those is not used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.errors import InputError
from maskwright.planning.cell_holders import OtherHolders, Pool
from maskwright.plugins.parameter_markers import PromisesK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.plugins.method import Masked
    from maskwright.plugins.remover import AnyMethod

LEAST = 10
"""Records of one pattern that are masked on their own: fewer would show little but their own spread."""

ENOUGH = 1_000
"""Records of other patterns that a method sees with a rare one, at most: there may be hundreds of rare ones."""


@dataclass(frozen=True, eq=False)
class MethodCall:
    """Records that are masked in one call of a method.

    `records`: to be masked; shape (m,). `columns`: positions of the variables that it masks; shape (q,). `beside`:
    records that the method sees with these, in their pool; None: none.
    """

    records: NDArray[np.int64]
    columns: NDArray[np.int64]
    beside: OtherHolders | None = None

    @classmethod
    def whole(cls, records: NDArray[np.int64], p: int) -> MethodCall:
        """These records, and all p variables."""
        return cls(records, np.arange(p))

    @property
    def seen(self) -> NDArray[np.int64]:
        """Records that the method sees, the first m of them `records`; found anew each time, as they may be many."""
        return self.records if self.beside is None else np.concatenate([self.records, self.beside.records()])

    @property
    def count(self) -> int:
        """Number of records that the method sees."""
        return len(self.records) + (0 if self.beside is None else self.beside.count)


def splits_by_pattern(method: AnyMethod) -> bool:
    """Whether records with missing cells can be kept from a method that takes none, and masked on the cells they have.

    Not where it promises groups of records, or leaves records out: both speak of all records at once.
    """
    grouped = method.parameter(PromisesK) is not None or method.mean_cluster_size is not None
    return not method.handles_missing and not grouped and not method.removes


def without_holes(
    blocks: Sequence[NDArray[np.int64]], missing: NDArray[np.bool_], method: AnyMethod, params: BaseModel
) -> list[MethodCall]:
    """Cut blocks by their patterns of missing cells.

    `blocks`: records of each stratum and block. `missing`: shape (n, p). `method`: takes no missing cells; one that is
    not masked within strata sees, with every pattern, all records that have its cells. Returns in the order of the
    blocks, then of the patterns; records without any value are in none.
    """
    found: list[MethodCall] = []
    file = Pool(np.arange(len(missing)), missing)
    for records in blocks:
        block = Pool(records, missing)
        for pattern, places in block.patterns:
            if not pattern.all():
                found.append(_method_call(pattern, places, block, file, method, params))
    return found


def each_pattern(blocks: Sequence[NDArray[np.int64]], missing: NDArray[np.bool_]) -> list[MethodCall]:
    """Cut blocks by their patterns of missing cells, for a method that knows of all records what it needs.

    `missing`: shape (n, p). Returns as `without_holes` has them, with no records beside.
    """
    pools = (Pool(records, missing) for records in blocks)
    return [
        MethodCall(pool.records[places], np.flatnonzero(~pattern))
        for pool in pools for pattern, places in pool.patterns if not pattern.all()
    ]  # fmt: skip


def _method_call(
    pattern: NDArray[np.bool_],
    places: NDArray[np.int64],
    block: Pool,
    file: Pool,
    method: AnyMethod,
    params: BaseModel,
) -> MethodCall:
    """Records of one pattern, with as many others as the method needs: of their own block, or else of the file."""
    own, columns = block.records[places], np.flatnonzero(~pattern)
    needed = 1 if method.fewest_records is None else method.fewest_records(params, len(columns))
    least = max(needed, LEAST)
    call = MethodCall(own, columns)
    if len(own) >= least and method.within_strata:
        return call
    most = max(ENOUGH, 4 * least) if method.within_strata else None
    for pool, excepted in ((block, places), (file, own)):
        call = MethodCall(own, columns, pool.holders(columns, excepted, most))
        if call.count >= least:
            return call
    # A file that is too small as a whole is the method's to refuse: it knows the limit of these very data.
    if pattern.any() and call.count < needed:
        raise InputError(
            f"method {method.name!r} takes no missing cells, and masks records with the same cells missing apart: it "
            f"needs {needed} records that have the same {len(columns)} cells, and for {len(own)} record(s) there are "
            f"only {call.count}. Leave out the variables with the most missing cells, impute them first, or take a "
            "method that takes missing cells (`maskwright explain NAME` says so)"
        )
    return call


def widened(masked: Masked, call: MethodCall, p: int) -> Masked:
    """What a method made in one call, for the call's own records only, with the cells it did not see left missing.

    `masked`: of `seen` records and the variables in `columns`. `p`: number of variables of the group.
    """
    if len(call.columns) == p and len(masked.values) == len(call.records):
        return masked
    rows = len(call.records)
    values = np.full((rows, p), np.nan)
    missing = np.ones((rows, p), dtype=np.bool_)
    values[:, call.columns] = masked.values[:rows]
    missing[:, call.columns] = masked.missing[:rows]
    return replace(masked, values=values, missing=missing, labels=None, representatives=None)
