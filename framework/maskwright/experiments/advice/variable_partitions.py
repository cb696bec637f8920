"""Partitions of variables: which variables, all partitions of them, and their statistics."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.counts import plural
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.release.measures.variable_selection import MEASURED_ROLES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.experiments.advice.standardisation import Standardised

    Vector = NDArray[np.float64]


Blocks = tuple[tuple[int, ...], ...]
"""Positions of variables, ascending in each block; blocks by size, then by their first position."""


def block_sizes(p: int, size: int) -> tuple[int, ...]:
    """Sizes when p variables are cut into blocks of `size` and one that takes the remainder, which is the last.

    With p = h * size + r there are h - 1 blocks of `size` and one of size + r (thesis, section 7.1).
    """
    count = max(p // size, 1)
    return (*[size] * (count - 1), p - size * (count - 1))


def count_partitions(sizes: Sequence[int]) -> int:
    """Number of ways to cut variables into unordered blocks of these sizes."""
    repeated = math.prod(math.factorial(times) for times in Counter(sizes).values())
    return math.factorial(sum(sizes)) // (math.prod(math.factorial(size) for size in sizes) * repeated)


def partitions(sizes: Sequence[int], atoms: Sequence[Sequence[int]] | None = None) -> Iterator[Blocks]:
    """Every partition into unordered blocks of these sizes, each once.

    `atoms`: variables that have to stay together; by default each is on its own. Together they are 0..p-1.

    The first variable that is not in a block yet gets a block of each size that is left, with every choice of
    companions: the argument that counts partitions also makes them.
    """
    units = [tuple(atom) for atom in atoms] if atoms is not None else [(each,) for each in range(sum(sizes))]
    yield from (_ordered(found) for found in _completed(sorted(units), Counter(sizes)))


def _completed(units: list[tuple[int, ...]], left: Counter[int]) -> Iterator[list[tuple[int, ...]]]:
    if not units:
        yield []
        return
    first, rest = units[0], units[1:]
    for size in sorted(size for size, times in left.items() if times):
        for companions in _of_total(rest, size - len(first)):
            block = tuple(sorted(itertools.chain(first, *companions)))
            remaining = [unit for unit in rest if unit not in companions]
            for others in _completed(remaining, left - Counter([size])):
                yield [block, *others]


def _of_total(units: Sequence[tuple[int, ...]], total: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Every choice of units that hold `total` variables together."""
    if total == 0:
        yield ()
    elif total > 0:
        left = sum(map(len, units))
        for position, unit in enumerate(units):
            if left < total:
                return  # without it, the choices that lead nowhere are 2^p
            left -= len(unit)
            for others in _of_total(units[position + 1 :], total - len(unit)):
                yield (unit, *others)


def random_partition(
    sizes: Sequence[int], rng: np.random.Generator, atoms: Sequence[Sequence[int]] | None = None
) -> Blocks | None:
    """One partition drawn at random; uniformly when no variables have to stay together."""
    units = [tuple(atom) for atom in atoms] if atoms is not None else [(each,) for each in range(sum(sizes))]
    shuffled = [units[position] for position in rng.permutation(len(units))]
    found: list[tuple[int, ...]] = []
    for size in sizes:
        block: list[int] = []
        while len(block) < size and shuffled:
            block.extend(shuffled.pop())
        if len(block) != size:
            return None
        found.append(tuple(sorted(block)))
    return _ordered(found)


def _ordered(blocks: Sequence[tuple[int, ...]]) -> Blocks:
    return tuple(sorted(blocks, key=lambda block: (len(block), block)))


OF_CATEGORIES = (
    "Numbers are clustered; categories are recoded, suppressed or changed. `maskwright advise keys` says which of them "
    "single people out, and `maskwright compare` measures what protects them."
)


@dataclass(frozen=True)
class Chosen:
    """Variables of a file.

    `names`: advised on, in file order. `suspects`: advised on, and perhaps identifiers: whole numbers, a different one
    in every record.
    """

    names: tuple[str, ...]
    left_out: Mapping[str, str]
    suspects: tuple[str, ...] = ()


def choose_variables(data: Dataset, exclude: Sequence[str] = (), only: Sequence[str] | None = None) -> Chosen:
    """Numeric variables with the role quasi_identifier or confidential."""
    strangers = [name for name in exclude if name not in data]
    if strangers:
        raise InputError([Problem(f"--exclude: {unknown_name('variable', name, data.names)}") for name in strangers])
    left_out: dict[str, str] = {}
    for column in data:
        if column.name in exclude:
            left_out[column.name] = "excluded"
        elif column.variable.role not in MEASURED_ROLES:
            left_out[column.name] = f"role {column.variable.role}"
        elif not column.variable.is_numeric:
            left_out[column.name] = column.variable.type
        elif only is not None and column.name not in only:
            left_out[column.name] = "no step of the pipeline lists it"
    names = tuple(name for name in data.names if name not in left_out)
    if len(names) < 2:
        gone = f" ({', '.join(f'{name}: {why}' for name, why in left_out.items())})" if left_out else ""
        raise InputError(
            Problem(
                f"there is nothing to partition: {plural(len(names), 'numeric variable')} to mask{gone}",
                hint=OF_CATEGORIES if any(not data[name].variable.is_numeric for name in left_out) else None,
            )
        )
    return Chosen(names, left_out, tuple(name for name in names if _may_identify(data[name])))


def _may_identify(column: Column) -> bool:
    if column.variable.type != "integer" and column.variable.decimals != 0:
        return False
    values = column.values[~column.missing]
    return len(values) > 1 and len(np.unique(values)) == len(values)


INTRA = range(1, 13)
INTER = range(13, 27)
SINGLE = range(27, 30)
OVER_BLOCKS = 15
"""First code B for the mean, median and sd of an indicator over the blocks."""


def within_block(of: Standardised, block: Sequence[int], statistic: int) -> Vector:
    """List of one of the statistics 1 to 12 of a block.

    Returns one value for each variable or pair of variables of the block; empty for pairs in a block of one.

    1 squared lengths; 2 their differences; 3 squared distances; 4 differences of squared length and that of M;
    5 squared distances from M; 6 products; 7 cosines; 8 covariances; 9 correlations; 10 and 11 products with lengths,
    covariances with variances; 12 variances. After standardisation S_T 1, 2 and 12 are constant, 6 to 9 are equal, and
    so are 10 and 11.
    """
    inside = of.products[np.ix_(block, block)]
    if statistic in (8, 9, 11, 12):
        inside, statistic = of.covariances[np.ix_(block, block)], {8: 6, 9: 7, 11: 10, 12: 1}[statistic]
    lengths: Vector = np.diag(inside)
    if statistic == 1:
        return lengths
    if statistic == 4:
        return np.asarray(np.abs(lengths - inside.mean()))
    if statistic == 5:
        deviations: Vector = lengths - 2.0 * inside.mean(axis=1) + inside.mean()
        return deviations
    above = np.triu_indices(len(block), 1)
    return _of_pairs(inside, above, lengths)[statistic]


def _of_pairs(products: Vector, above: tuple[NDArray[np.intp], ...], lengths: Vector) -> Mapping[int, Vector]:
    """Statistics of pairs of vectors, by the numbers that those within blocks have."""
    pairs = products[above]
    one, other = lengths[above[0]], lengths[above[1]]
    with np.errstate(divide="ignore", invalid="ignore"):
        cosines = pairs / np.sqrt(one * other)
    return {
        2: np.abs(one - other), 3: one + other - 2.0 * pairs, 6: pairs, 7: cosines,
        10: np.concatenate([pairs, lengths]),
    }  # fmt: skip


def between_blocks(of: Standardised, blocks: Sequence[Sequence[int]]) -> Mapping[int, Vector]:
    """Lists of the statistics 13 to 29 of a partition.

    Of the mean vectors M of the blocks, their mean Psi, and the mean Omega of all variables: 13 squared lengths of M;
    14 their differences; 15 squared distances; 16 and 17 the same against Psi; 18 products; 19 cosines;
    20 covariances; 21 correlations; 22 and 23 products with lengths, covariances with variances; 24 variances; 25 and
    26 against Omega; 27, 28 Psi against Omega; 29 the squared length of Psi.
    """
    products, covariances = (
        np.array([[matrix[np.ix_(a, b)].mean() for b in blocks] for a in blocks])
        for matrix in (of.products, of.covariances)
    )
    with_omega = np.array([of.products[list(a)].mean() for a in blocks])
    lengths, variances = np.diag(products), np.diag(covariances)
    above = np.triu_indices(len(blocks), 1)
    psi, omega = products.mean(), of.products.mean()
    pairs, centred = _of_pairs(products, above, lengths), _of_pairs(covariances, above, variances)
    return {
        13: lengths, 14: pairs[2], 15: pairs[3],
        16: np.abs(lengths - psi), 17: lengths + psi - 2.0 * products.mean(axis=1),
        18: pairs[6], 19: pairs[7], 20: centred[6], 21: centred[7], 22: pairs[10], 23: centred[10], 24: variances,
        25: np.abs(lengths - omega), 26: lengths + omega - 2.0 * with_omega,
        27: np.array([abs(psi - omega)]), 28: np.array([psi + omega - 2.0 * with_omega.mean()]), 29: np.array([psi]),
    }  # fmt: skip


def indicator(values: Vector, number: int) -> float:
    """Indicator 1 to 7 of a list: min, max, max-min, max+min, mean, median, sd; NaN of an empty one."""
    if not len(values):
        return float("nan")
    if number == 5:
        return float(np.mean(values))
    if number == 6:
        return float(np.median(values))
    if number == 7:
        return float(np.std(values))
    low, high = float(values.min()), float(values.max())
    return (low, high, high - low, high + low)[number - 1]


def coded(of: Standardised, blocks: Sequence[Sequence[int]], statistic: int, number: int) -> float:
    """Indicator of a partition by the thesis's code ``statistic-number``.

    Returns NaN where it does not exist (pairs in a block of one).
    """
    if statistic in INTRA and 1 <= number <= 14:
        block = blocks[0] if number <= 7 else blocks[-1]
        return indicator(within_block(of, block, statistic), (number - 1) % 7 + 1)
    if statistic in INTRA and OVER_BLOCKS <= number <= 35:
        which, over = divmod(number - OVER_BLOCKS, 3)
        found = np.array([indicator(within_block(of, each, statistic), which + 1) for each in blocks])
        return indicator(found, (5, 6, 7)[over])
    if (statistic in INTER and 1 <= number <= 7) or (statistic in SINGLE and number == 1):
        return indicator(between_blocks(of, blocks)[statistic], number)
    raise ValueError(f"there is no indicator {statistic}-{number}")
