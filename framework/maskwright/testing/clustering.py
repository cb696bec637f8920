"""Checks of partitions and aggregations."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.errors import PluginFailed
from maskwright.plugins.guarding.frozen import frozen
from maskwright.plugins.guarding.origin import Origin
from maskwright.plugins.guarding.returned_values import checked_representatives
from maskwright.plugins.partition import Aggregation, ClusterCells
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
    from collections.abc import Callable, Iterator, Mapping

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


def _checks_of_aggregation(aggregation: Aggregation, given: Params) -> Iterator[tuple[str, Check]]:
    yield "parameters", partial(params_of, aggregation, given)
    yield "documented", partial(check_documented, aggregation)
    yield "picklable", partial(check_picklable, aggregation, aggregation.represent)
    values = numbers(CELLS, 1)[:, 0]
    for name, cells in (
        ("clusters", values),
        ("negative_numbers", -values),
        ("equal_numbers", np.full(CELLS, 7.0)),
        ("zeros", np.zeros(CELLS)),
        ("large_numbers", values * 1e9 + 1e12),
        ("whole_numbers_with_ties", np.round(values / 100.0)),
    ):
        yield name, partial(_represented, aggregation, given, ClusterCells(cells, STARTS))
    yield "one_cell", partial(_represented, aggregation, given, ClusterCells(values[:1], STARTS[:1]))
    yield "order_of_records", partial(_order_of_records, aggregation, given)
    yield "clusters_apart", partial(_clusters_apart, aggregation, given)
    if aggregation.uses_weights:
        yield "weights", partial(_weights, aggregation, given)
    yield "input_unmodified", partial(_cells_unmodified, aggregation, given)
    yield "concurrent_calls", partial(_concurrent_aggregation, aggregation, given)
    yield "prints_nothing", partial(_silent_aggregation, aggregation, given)
    for claim in sorted(aggregation.keeps & set(_CLAIMS)):
        yield f"keeps_{claim}", partial(_claim, aggregation, given, claim)


aggregation_checks = ChecksOf("aggregation", _checks_of_aggregation)


def _represented(aggregation: Aggregation, given: Params, cells: ClusterCells) -> NDArray[np.float64]:
    """Representatives, held to what the engine demands of them."""
    seen = frozen(cells)
    params = params_of(aggregation, given)
    found = aggregation.represent(seen, params)
    try:
        origin = Origin("aggregation", aggregation.name)
        return checked_representatives(origin, aggregation.keeps, (seen, params), found)
    except PluginFailed as error:
        raise AssertionError(str(error)) from None


def _order_of_records(aggregation: Aggregation, given: Params) -> None:
    values = numbers(CELLS, 1)[:, 0]
    backwards = np.concatenate([part[::-1] for part in np.split(values, STARTS[1:])])
    one, other = (_represented(aggregation, given, ClusterCells(each, STARTS)) for each in (values, backwards))
    require(_near(one, other, values), "the order of records in a cluster changes its representative")


def _clusters_apart(aggregation: Aggregation, given: Params) -> None:
    values = numbers(CELLS, 1)[:, 0]
    together = _represented(aggregation, given, ClusterCells(values, STARTS))
    alone = [
        _represented(aggregation, given, ClusterCells(part, STARTS[:1]))[0] for part in np.split(values, STARTS[1:])
    ]
    require(_near(together, np.array(alone), values), "a representative depends on the values of other clusters")


def _weights(aggregation: Aggregation, given: Params) -> None:
    values = numbers(CELLS, 1)[:, 0]
    weights = np.linspace(0.1, 1.0, CELLS)
    alike, weighed, scaled = (
        _represented(aggregation, given, ClusterCells(values, STARTS, each))
        for each in (np.ones(CELLS), weights, weights * 8.0)
    )
    require(not _near(alike, weighed, values), "uses_weights is claimed, and weights change nothing")
    require(_near(weighed, scaled, values), "weights in other units change the representatives")


def _cells_unmodified(aggregation: Aggregation, given: Params) -> None:
    cells = ClusterCells(numbers(CELLS, 1)[:, 0], STARTS.copy())
    before = cells.values.copy(), cells.starts.copy()
    aggregation.represent(cells, params_of(aggregation, given))
    same = np.array_equal(before[0], cells.values) and np.array_equal(before[1], cells.starts)
    require(same, "represent changed the cells that it was given")


def _concurrent_aggregation(aggregation: Aggregation, given: Params) -> None:
    params = params_of(aggregation, given)
    pieces = [ClusterCells(numbers(CELLS, 1, seed=seed)[:, 0], STARTS) for seed in (1, 2, 3, 4)]
    check_calls(aggregation.represent, lambda cells: aggregation.represent(cells, params), pieces)


def _silent_aggregation(aggregation: Aggregation, given: Params) -> None:
    params, cells = params_of(aggregation, given), ClusterCells(numbers(CELLS, 1)[:, 0], STARTS)
    prints_nothing(lambda: aggregation.represent(cells, params))


def _claim(aggregation: Aggregation, given: Params, claim: str) -> None:
    _CLAIMS[claim](lambda values: _represented(aggregation, given, ClusterCells(values, STARTS)))


def _linear(made: Made) -> None:
    one, other = numbers(CELLS, 2).T
    gap = made(one) + 2.0 * made(other) - made(one + 2.0 * other)
    require(_near(gap, np.zeros(len(gap)), one), "x1 + 2 x2 == x3 holds in each record, not of the representatives")
    shifted = made(one + 100.0) - made(one) - 100.0
    require(_near(shifted, np.zeros(len(gap)), one), "x1 + 100 == x2 holds in each record, not of the representatives")


def _order(made: Made) -> None:
    one, other = numbers(CELLS, 2).T
    for low, high, said in (
        (one, one + other - other.min(), "x1 <= x2"),
        (3.0 * one, 3.0 * one + other - other.min(), "3 x1 <= x2"),
    ):
        factor = 3.0 if said.startswith("3") else 1.0
        excess = factor * made(low / factor) - made(high)
        require(excess.max() <= RELATIVE * np.abs(high).max(), f"{said} holds in each record, not of representatives")
    excess = made(one + 100.0) - made(one) - 100.0
    require(np.abs(excess).max() <= RELATIVE * np.abs(one).max(), "x1 <= x2 + 100 holds in each record, not of all")


def _product(made: Made) -> None:
    one, other = numbers(CELLS, 2).T
    gap = made(one) * made(other) / made(one * other) - 1.0
    require(np.abs(gap).max() <= RELATIVE, "x1 * x2 == x3 holds in each record, not of the representatives")


_CLAIMS: Mapping[str, Callable[[Made], None]] = {"linear": _linear, "order": _order, "product": _product}
"""Of several variables; what is claimed of one variable is looked at in every call."""


def _near(one: NDArray[np.float64], other: NDArray[np.float64], values: NDArray[np.float64]) -> bool:
    return bool(np.abs(one - other).max() <= RELATIVE * np.abs(values).max())
