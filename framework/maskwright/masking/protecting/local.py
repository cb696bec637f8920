"""Masking the planned groups on this machine: a task for each stratum and block, the results put together in order.

A task is self-contained and draws from a generator of its own name, so results do not depend on how many threads work.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import MaskwrightError, PluginError
from maskwright.foundation.progress import Progress, silent
from maskwright.foundation.randomness import generator
from maskwright.masking.protecting.assembling import GroupResult, assemble
from maskwright.masking.protecting.blocks import kd_blocks
from maskwright.masking.protecting.contract import check_masked
from maskwright.masking.protecting.minimum_counts import GroupSource, with_enough_values
from maskwright.planning.missing_patterns import MethodCall, splits_by_pattern, widened, without_holes
from maskwright.plugins.block import Block
from maskwright.plugins.method import Masked, Method

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.dataset import Dataset


@dataclass(frozen=True)
class Execution:
    """How to run.

    Attributes
    ----------
    workers : int
        Threads.
    block_size : int or None
        Largest block of records; None: exact, the whole stratum at once.
    """

    workers: int = 1
    block_size: int | None = None


@dataclass(frozen=True)
class Standardisation:
    """Centre and scale of each variable over the whole original file (ddof = 1); constant variables have scale 1."""

    center: Mapping[str, float]
    scale: Mapping[str, float]

    @classmethod
    def of(cls, data: Dataset, names: Sequence[str]) -> Standardisation:
        """Measure the named variables of the original file; missing cells left out."""
        center: dict[str, float] = {}
        scale: dict[str, float] = {}
        for name in names:
            column = data[name]
            present = np.asarray(column.values, dtype=np.float64)[~column.missing]
            center[name] = float(np.mean(present)) if len(present) else 0.0
            deviation = float(np.std(present - center[name], ddof=1)) if len(present) > 1 else 0.0
            # A spread that is rounding noise is no spread: dividing by it would make noise count as distance.
            noise = 1e-12 * (abs(center[name]) + float(np.max(np.abs(present), initial=0.0)))
            scale[name] = deviation if deviation > noise else 1.0
        return cls(center, scale)

    def updated(self, data: Dataset, names: Sequence[str]) -> Standardisation:
        """The same with the named variables measured again: they have become categories."""
        again = Standardisation.of(data, names)
        return Standardisation({**self.center, **again.center}, {**self.scale, **again.scale})


@dataclass(frozen=True, eq=False)
class GroupWork:
    """One variable group to be masked.

    Attributes
    ----------
    step : int
    method : Method
    params : pydantic.BaseModel
    variables, operators : tuple of str
    edits : EditSet
    strata : ndarray of shape (n,), int64
        Codes 0..s-1.
    companions : tuple of str
        Variables that the method reads and leaves as they are.
    """

    step: int
    method: Method
    params: BaseModel
    variables: tuple[str, ...]
    operators: tuple[str, ...]
    edits: EditSet
    strata: NDArray[np.int64]
    companions: tuple[str, ...] = ()


Observer = Callable[[int, str, Block, Masked | None], None]


def protect_group(
    data: Dataset,
    work: GroupWork,
    standard: Standardisation,
    seed: int,
    execution: Execution,
    observe: Observer | None = None,
    progress: Progress = silent,
) -> GroupResult:
    """Run a method on every stratum and block of a variable group.

    Parameters
    ----------
    data : Dataset
        What the steps before made.
    work : GroupWork
    standard : Standard
    seed : int
    execution : Execution
    observe : callable, optional
        Told of each block before (with None) and after.

    Raises
    ------
    PluginError
        When the method breaks its contract.
    """
    variables = tuple(data[name].variable for name in work.variables)
    values = data.matrix(work.variables)
    missing = np.stack([data[name].missing for name in work.variables], axis=1)
    center = np.array([standard.center[name] for name in work.variables])
    scale = np.array([standard.scale[name] for name in work.variables])
    weights = _weights(data)
    companions = {name: data.matrix([name])[:, 0] for name in work.companions}
    pieces = _pieces(work, values, missing, center, scale, execution)
    shares = _Shares(progress, [len(piece.seen) for piece in pieces])

    def task(number: int) -> Masked:
        piece = pieces[number]
        rows, columns = piece.seen, piece.columns
        cells = np.ix_(rows, columns)
        absent = {name for position, name in enumerate(work.variables) if position not in columns}
        block = Block(
            values=_frozen(values[cells]), missing=_frozen(missing[cells]),
            variables=tuple(variables[column] for column in columns),
            edits=EditSet(tuple(edit for edit in work.edits if not absent & set(edit.variables))),
            operators=tuple(work.operators[column] for column in columns),
            weights=None if weights is None else _frozen(weights[rows]),
            households=None if data.households is None else _frozen(data.households[rows]),
            center=_frozen(center[columns]), scale=_frozen(scale[columns]), file_n=len(values),
            progress=shares.of(number),
            companions={name: _frozen(column[rows]) for name, column in companions.items()},
        )  # fmt: skip
        if observe is not None:
            observe(work.step, work.method.name, block, None)
        rng = generator(seed, "protect", work.step, *work.variables, number)
        masked = _call(work.method, block, work.params, rng)
        check_masked(work.method, work.params, block, masked)
        if observe is not None:
            observe(work.step, work.method.name, block, masked)
        return widened(masked, piece, len(variables))

    if execution.workers > 1 and len(pieces) > 1:
        with ThreadPoolExecutor(execution.workers) as pool:
            results = list(pool.map(task, range(len(pieces))))
    else:
        results = [task(number) for number in range(len(pieces))]
    progress(1.0)
    result = assemble([piece.records for piece in pieces], results, values.shape, variables)
    k = work.method.smallest_cluster(work.params)
    if k is None or not missing.any():
        return result
    weighted = work.method.uses_weights(work.params)
    source = GroupSource(
        values, missing, work.operators, center, scale, work.strata,
        households=data.households if work.method.counts_households else None, weights=weights if weighted else None,
    )  # fmt: skip
    return with_enough_values(result, source, k)


def _weights(data: Dataset) -> NDArray[np.float64] | None:
    columns = [column for column in data if column.variable.role == "weight" and column.variable.is_numeric]
    if len(columns) != 1 or columns[0].missing.any():
        return None
    return np.asarray(columns[0].values, dtype=np.float64)


def _pieces(
    work: GroupWork,
    values: NDArray[np.float64],
    missing: NDArray[np.bool_],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    execution: Execution,
) -> list[MethodCall]:
    """What is masked in one call each, in order: strata, blocks and, for a method that needs it, missing patterns."""
    found = _blocks(work, values, center, scale, execution)
    if missing.any() and splits_by_pattern(work.method):
        return without_holes(found, missing, work.method, work.params)
    return [MethodCall.whole(records, values.shape[1]) for records in found]


def _blocks(
    work: GroupWork,
    values: NDArray[np.float64],
    center: NDArray[np.float64],
    scale: NDArray[np.float64],
    execution: Execution,
) -> list[NDArray[np.int64]]:
    """Records of each stratum and block, in order."""
    order = np.argsort(work.strata, kind="stable")
    bounds = np.searchsorted(work.strata[order], np.arange(int(work.strata.max(initial=0)) + 2))
    strata = [order[start:stop] for start, stop in itertools.pairwise(bounds) if stop > start]
    size = execution.block_size
    if size is None or not work.method.may_be_split:
        return strata
    pieces: list[NDArray[np.int64]] = []
    for records in strata:
        if len(records) <= size:
            pieces.append(records)
            continue
        blocks = kd_blocks(np.nan_to_num((values[records] - center) / scale), size)
        inner = np.argsort(blocks, kind="stable")
        cuts = np.flatnonzero(np.diff(blocks[inner])) + 1
        pieces.extend(records[part] for part in np.split(inner, cuts))
    return pieces


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _call(method: Method, block: Block, params: BaseModel, rng: np.random.Generator) -> Masked:
    try:
        return method.protect(block, params, rng)
    except MaskwrightError:
        raise
    except ValueError as error:
        if "read-only" in str(error):
            raise PluginError(f"method {method.name!r} tried to change its input, which is read-only") from error
        raise


class _Shares:
    """Progress of many tasks as one share, weighted by records; safe to call from several threads."""

    def __init__(self, progress: Progress, sizes: Sequence[int]) -> None:
        self._progress = progress
        self._sizes = sizes
        self._done = [0.0] * len(sizes)
        self._total = max(sum(sizes), 1)
        self._lock = Lock()

    def of(self, number: int) -> Progress:
        """Progress callable of one task."""

        def report(share: float) -> None:
            with self._lock:
                self._done[number] = share * self._sizes[number]
                self._progress(sum(self._done) / self._total)

        return report
