"""Masking the planned groups on this machine: a task for each stratum and block, the results put together in order.

A task is self-contained and draws from a generator of its own name, so results do not depend on how many threads work.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.spatial import cKDTree

from maskwright.errors import InputError, MaskwrightError, PluginError
from maskwright.execution.blocks import kd_blocks
from maskwright.plugins.block import Block
from maskwright.plugins.method import Masked, Method
from maskwright.progress import Progress, silent
from maskwright.randomness import generator

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import EditSet


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
class Standard:
    """Centre and scale of each variable over the whole original file (ddof = 1); constant variables have scale 1."""

    center: Mapping[str, float]
    scale: Mapping[str, float]

    @classmethod
    def of(cls, data: Dataset, names: Sequence[str]) -> Standard:
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


@dataclass(frozen=True, eq=False)
class GroupResult:
    """A masked group over all records, before adjustment.

    Attributes
    ----------
    values : ndarray of shape (n, g)
    missing : ndarray of shape (n, g), bool
    variables : tuple of Variable
    labels : ndarray of shape (n,), int64, or None
    representatives : ndarray of shape (c, g), or None
    notes : mapping
        Of the method: numbers summed over blocks, except smallest and largest ones.
    """

    values: NDArray[np.float64]
    missing: NDArray[np.bool_]
    variables: tuple[Variable, ...]
    labels: NDArray[np.int64] | None
    representatives: NDArray[np.float64] | None
    notes: Mapping[str, Any] = field(default_factory=dict)


Observer = Callable[[int, str, Block, Masked | None], None]


def protect_group(
    data: Dataset,
    work: GroupWork,
    standard: Standard,
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
    if missing.any() and "missing" not in work.method.accepts:
        holes = ", ".join(name for name, gone in zip(work.variables, missing.T, strict=True) if gone.any())
        raise InputError(
            f"step {work.step}: method {work.method.name!r} takes no missing cells; there are some in {holes}"
        )
    center = np.array([standard.center[name] for name in work.variables])
    scale = np.array([standard.scale[name] for name in work.variables])
    weights = _weights(data)
    companions = {name: data.matrix([name])[:, 0] for name in work.companions}
    pieces = _pieces(work, values, center, scale, execution)
    shares = _Shares(progress, [len(piece) for piece in pieces])

    def task(number: int) -> Masked:
        records = pieces[number]
        block = Block(
            values=_frozen(values[records]), missing=_frozen(missing[records]), variables=variables, edits=work.edits,
            operators=work.operators, weights=None if weights is None else _frozen(weights[records]),
            clusters=None if data.clusters is None else _frozen(data.clusters[records]),
            center=_frozen(center), scale=_frozen(scale), file_n=len(values), progress=shares.of(number),
            companions={name: _frozen(column[records]) for name, column in companions.items()},
        )  # fmt: skip
        if observe is not None:
            observe(work.step, work.method.name, block, None)
        rng = generator(seed, "protect", work.step, *work.variables, number)
        masked = _call(work.method, block, work.params, rng)
        _check(work, block, masked)
        if observe is not None:
            observe(work.step, work.method.name, block, masked)
        return masked

    if execution.workers > 1 and len(pieces) > 1:
        with ThreadPoolExecutor(execution.workers) as pool:
            results = list(pool.map(task, range(len(pieces))))
    else:
        results = [task(number) for number in range(len(pieces))]
    progress(1.0)
    result = _assemble(pieces, results, values.shape, variables)
    k = _promised(work)
    if k is None or not missing.any():
        return result
    return _with_enough_values(result, missing, scale, k)


def _promised(work: GroupWork) -> int | None:
    """Smallest cluster that the method promises with these parameters."""
    name = work.method.k_parameter
    value = None if name is None else getattr(work.params, name)
    return None if value is None else int(value)


def _weights(data: Dataset) -> NDArray[np.float64] | None:
    columns = [column for column in data if column.variable.role == "weight" and column.variable.is_numeric]
    if len(columns) != 1 or columns[0].missing.any():
        return None
    return np.asarray(columns[0].values, dtype=np.float64)


def _pieces(
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
    if size is None or not work.method.blockable:
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


def _check(work: GroupWork, block: Block, masked: Masked) -> None:
    """Hold a method to its contract; a plugin's mistake must not become a wrong release."""
    name = work.method.name
    if not isinstance(masked, Masked):
        raise PluginError(f"method {name!r} returned a {type(masked).__name__}; it has to return maskwright.Masked")
    if masked.origin is not None:
        raise PluginError(f"method {name!r} drops records, which this version of the engine does not support")
    if masked.values.shape != block.values.shape or masked.missing.shape != block.values.shape:
        raise PluginError(
            f"method {name!r} returned values of shape {masked.values.shape}; the block has {block.values.shape}"
        )
    if not np.all(np.isfinite(masked.values[~masked.missing])):
        raise PluginError(f"method {name!r} returned NaN or infinite values in cells that are not missing")
    if masked.labels is None or masked.representatives is None:
        if work.method.k_parameter is not None or work.method.expected_group is not None:
            raise PluginError(f"method {name!r} promises groups but returned no labels and representatives")
        return
    clusters = len(masked.representatives)
    if masked.labels.shape != (block.n,) or masked.labels.min() < 0 or masked.labels.max() >= clusters:
        raise PluginError(f"method {name!r}: labels must be one number 0..{clusters - 1} for each of {block.n} records")
    k = _promised(work)
    if k is not None:
        smallest = int(np.bincount(masked.labels, minlength=clusters).min())
        if smallest < min(k, block.n):
            raise PluginError(f"method {name!r} promised clusters of at least {k} records; the smallest has {smallest}")


def _assemble(
    pieces: Sequence[NDArray[np.int64]],
    results: Sequence[Masked],
    shape: tuple[int, ...],
    variables: tuple[Variable, ...],
) -> GroupResult:
    values = np.full(shape, np.nan)
    missing = np.ones(shape, dtype=np.bool_)
    clustered = all(result.labels is not None and result.representatives is not None for result in results)
    labels = np.zeros(shape[0], dtype=np.int64)
    representatives: list[NDArray[np.float64]] = []
    offset = 0
    notes: dict[str, Any] = {}
    for records, result in zip(pieces, results, strict=True):
        values[records] = result.values
        missing[records] = result.missing
        if clustered and result.labels is not None and result.representatives is not None:
            labels[records] = result.labels + offset
            offset += len(result.representatives)
            representatives.append(result.representatives)
        _gather(notes, result.notes)
    changed = next((result.variables for result in results if result.variables is not None), variables)
    if not clustered:
        return GroupResult(values, missing, changed, None, None, notes)
    return GroupResult(values, missing, changed, labels, np.concatenate(representatives), notes)


def _with_enough_values(
    result: GroupResult, missing: NDArray[np.bool_], scale: NDArray[np.float64], k: int
) -> GroupResult:
    """Representatives that rest on at least k values each.

    A cluster in which fewer than k records have a value would publish an average of those few, in the end the true
    value of one. It gets the value of the nearest cluster with enough, or the mean of all.
    """
    if result.labels is None or result.representatives is None:
        return result
    representatives = result.representatives.copy()
    clusters = len(representatives)
    points = np.nan_to_num(representatives / scale)
    replaced = 0
    for column in range(representatives.shape[1]):
        present = np.bincount(result.labels[~missing[:, column]], minlength=clusters)
        few, enough = np.flatnonzero((present > 0) & (present < k)), np.flatnonzero(present >= k)
        if not len(few):
            continue
        if not len(enough):
            values = result.values[~missing[:, column], column]
            average = np.mean if result.variables[column].is_numeric else _most_frequent
            representatives[few, column] = float(average(values))
        else:
            _, nearest = cKDTree(points[enough]).query(points[few])
            representatives[few, column] = representatives[enough[np.asarray(nearest)], column]
        replaced += len(few)
    values = np.where(result.missing, np.nan, representatives[result.labels])
    notes = dict(result.notes) | ({"values taken from the nearest cluster": replaced} if replaced else {})
    return replace(result, values=values, representatives=representatives, notes=notes)


def _most_frequent(values: NDArray[np.float64]) -> float:
    found, counts = np.unique(values, return_counts=True)
    return float(found[np.argmax(counts)])


def _gather(notes: dict[str, Any], more: Mapping[str, Any]) -> None:
    for key, value in more.items():
        if key == "warnings":
            notes[key] = list(dict.fromkeys([*notes.get(key, ()), *value]))
        elif key not in notes or not isinstance(value, int | float):
            notes[key] = value
        elif "smallest" in key:
            notes[key] = min(notes[key], value)
        elif "largest" in key:
            notes[key] = max(notes[key], value)
        else:
            notes[key] = notes[key] + value


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
