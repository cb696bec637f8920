"""Random numbers that belong to records: however a file is cut into blocks, each record gets its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.hashed_numbers import mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.plugins.block import Block

_BITS = 52
"""Of each number: its half is then a number in binary64, too."""


def uniform_by_record(block: Block, rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Numbers of each record between 0 and 1, for methods with ``cut="any"``.

    They are a function of the generator and of the record's position in the file: a block of some records has the same
    numbers for them as the whole file.

    Parameters
    ----------
    block : Block
    rng : numpy.random.Generator
        What the method got; two keys of 64 bits are drawn from it for each column.
    count : int
        How many numbers each record gets.

    Returns
    -------
    ndarray of shape (n, count), float64
        Uniform, above 0 and below 1.

    References
    ----------
    Even, S. and Mansour, Y. (1997): A construction of a cipher from a single pseudorandom permutation. Journal of
    Cryptology 10, 151-161: positions are scrambled between two keys; the permutation is that of SplitMix64.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import numpy as np
    >>> from maskwright import Block, Variable, uniform_by_record
    >>> values = np.arange(4.0)[:, None]
    >>> whole = Block(values, np.isnan(values), (Variable("wages"),))
    >>> part = replace(whole, values=values[2:], missing=whole.missing[2:], records=np.array([2, 3]))
    >>> drawn = uniform_by_record(whole, np.random.default_rng(1), 1)
    >>> bool((uniform_by_record(part, np.random.default_rng(1), 1) == drawn[2:]).all())
    True
    """
    return uniform_of_records(np.arange(block.n) if block.records is None else block.records, rng, count)


def uniform_of_records(records: NDArray[np.int64], rng: np.random.Generator, count: int) -> NDArray[np.float64]:
    """Numbers between 0 and 1 of records with these positions in the file; as `uniform_by_record` has them.

    `records`: shape (n,). `count`: how many numbers each record gets. Returns shape (n, count).
    """
    keys = rng.integers(0, 2**64, size=(count, 2), dtype=np.uint64)
    words = [mixed(mixed(records.astype(np.uint64) ^ first) ^ second) for first, second in keys]
    drawn = np.stack(words, axis=1) if count else np.zeros((len(records), 0), dtype=np.uint64)
    # The middle of each of 2**52 equal parts: neither 0 nor 1, whose normal quantiles are infinite.
    return ((drawn >> np.uint64(64 - _BITS)).astype(np.float64) + 0.5) / 2.0**_BITS
