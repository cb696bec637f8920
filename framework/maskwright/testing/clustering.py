"""Checks of partitions."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from maskwright.testing.checks import (
    Check,
    ChecksOf,
    Params,
    check_documented,
    check_picklable,
    generator,
    leaves_alone,
    params_of,
    require,
)
from maskwright.testing.conduct import check_calls, prints_nothing
from maskwright.testing.sample_data import block_of, numbers, with_holes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.plugins.block import Block
    from maskwright.plugins.partition import Partition

    Made = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def _checks(partition: Partition, given: Params) -> Iterator[tuple[str, Check]]:
    yield "parameters", partial(params_of, partition, given)
    yield "documented", partial(check_documented, partition)
    yield "picklable", partial(check_picklable, partition, partition.cluster)
    p = 1 if partition.one_variable else 3
    for n, k in ((1, 3), (2, 3), (3, 3), (5, 3), (6, 3), (7, 3), (53, 5), (60, 2), (40, 1)):
        yield f"sizes_n{n}_k{k}", partial(_sizes, partition, given, block_of(numbers(n, p)), k)
    values = numbers(40, p)
    constant = values.copy()
    constant[:, -1] = 7.0
    for name, block in (
        ("constant_column", block_of(constant)),
        ("identical_records", block_of(np.full((20, p), 5.0))),
        ("one_variable", block_of(values[:, :1])),
        ("missing_cells", block_of(with_holes(values))),
        ("large_numbers", block_of(values * 1e9 + 1e12)),
        ("whole_numbers_with_ties", block_of(np.round(values / 100.0))),
    ):
        yield name, partial(_sizes, partition, given, block, 3)
    yield "input_unmodified", partial(_input_unmodified, partition, given)
    yield "same_seed_same_result", partial(_same_seed, partition, given)
    yield "concurrent_calls", partial(_concurrent, partition, given)
    yield "prints_nothing", partial(_silent, partition, given)
    if partition.deterministic:
        yield "deterministic", partial(_deterministic, partition, given)


partition_checks = ChecksOf("partition", _checks)


def _usual(partition: Partition, n: int) -> Block:
    return block_of(numbers(n, 1 if partition.one_variable else 3))


def _labels(partition: Partition, params: BaseModel, block: Block, k: int, seed: int = 20230) -> NDArray[np.int64]:
    return partition.cluster(block, k, params, generator(seed))


def _sizes(partition: Partition, given: Params, block: Block, k: int) -> None:
    labels = _labels(partition, params_of(partition, given), block, k)
    require(isinstance(labels, np.ndarray) and labels.dtype == np.int64, "labels must be an int64 array")
    require(labels.shape == (block.n,), f"labels must have shape ({block.n},), one for each record")
    require(labels.min() >= 0, "labels start at 0")
    sizes = np.bincount(labels)
    require(sizes.min() > 0, "cluster numbers must be 0..c-1 without gaps")
    if block.n < 2 * k:
        require(len(sizes) == 1, f"{block.n} records are fewer than 2k = {2 * k}: expected one cluster")
    else:
        require(sizes.min() >= k, f"a cluster has fewer than k = {k} records")


def _input_unmodified(partition: Partition, given: Params) -> None:
    block = _usual(partition, 30)
    before = block.values.copy()
    _labels(partition, params_of(partition, given), block, 3)
    require(np.array_equal(before, block.values), "cluster changed the values of its block")


def _same_seed(partition: Partition, given: Params) -> None:
    params, block = params_of(partition, given), _usual(partition, 50)
    one, other = (_labels(partition, params, block, 4) for _ in range(2))
    require(np.array_equal(one, other), "two calls with the same seed gave different labels")


def _concurrent(partition: Partition, given: Params) -> None:
    params = params_of(partition, given)
    blocks = [block_of(numbers(40, 1 if partition.one_variable else 3, seed=seed)) for seed in (1, 2, 3, 4)]
    check_calls(partition.cluster, lambda block: _labels(partition, params, block, 3), blocks)


def _silent(partition: Partition, given: Params) -> None:
    params, block = params_of(partition, given), _usual(partition, 30)
    prints_nothing(lambda: _labels(partition, params, block, 3))


def _deterministic(partition: Partition, given: Params) -> None:
    params, block = params_of(partition, given), _usual(partition, 50)
    untouched = leaves_alone(generator(), lambda rng: partition.cluster(block, 4, params, rng))
    require(untouched, "deterministic is claimed, and cluster takes numbers from rng")
    one, other = (_labels(partition, params, block, 4, seed) for seed in (1, 2))
    require(np.array_equal(one, other), "deterministic is claimed, and two calls gave different labels")


RELATIVE = 1e-9
STARTS = np.array([0, 1, 3, 6, 11, 17, 30])
"""Clusters of 1, 2, 3, 5, 6, 13 and 10 cells."""
CELLS = 40
