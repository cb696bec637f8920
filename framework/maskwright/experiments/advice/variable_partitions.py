"""Partitions of variables into blocks: how many there are, and each of them (Mateo-Sanz thesis, 7.2 to 7.4)."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np

Blocks = tuple[tuple[int, ...], ...]
"""Positions of variables, ascending in each block; blocks by size, then by their first position."""


def block_sizes(p: int, size: int) -> tuple[int, ...]:
    """Sizes when p variables are cut into blocks of `size` and one that takes the remainder, which is the last.

    With p = h * size + r there are h - 1 blocks of `size` and one of size + r (thesis, section 7.1).
    """
    count = max(p // size, 1)
    return (*[size] * (count - 1), p - size * (count - 1))


def count_partitions(sizes: Sequence[int]) -> int:
    """Number of ways to cut variables into unordered blocks of these sizes.

    `sizes`: each at least 1. Returns p! / (product of the factorials of the sizes, and of how often each size occurs);
    formulas (7.2) and (7.4) of the thesis are the cases of one size, and of one size with one larger block.
    """
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
        for position, unit in enumerate(units):
            for others in _of_total(units[position + 1 :], total - len(unit)):
                yield (unit, *others)


def random_partition(
    sizes: Sequence[int], rng: np.random.Generator, atoms: Sequence[Sequence[int]] | None = None
) -> Blocks | None:
    """One partition drawn at random; uniformly when no variables have to stay together.

    `atoms`: positions of variables that stay together; every variable is in one. Returns none when the atoms, in the
    order drawn, do not fill the blocks: draw again.
    """
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
