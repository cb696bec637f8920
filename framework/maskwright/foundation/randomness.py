"""Seeds, independent generators, and hashes of numbers that are the same for any cut of a file."""

from __future__ import annotations

import hashlib
import secrets
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


def fresh_seed() -> int:
    """Seed from the operating system's entropy, used when the pipeline declares none (63 bits)."""
    return secrets.randbits(63)


def generator(seed: int, *name: str | int) -> np.random.Generator:
    """Generator for the piece of work called `name`."""
    digest = hashlib.sha256("\x1f".join(str(part) for part in name).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *(int(word) for word in words)])))


_GAMMA = np.uint64(0x9E3779B97F4A7C15)


def mixed(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scramble whole numbers one by one: whoever sees many results cannot tell them from random ones.

    Steele, G. L., Lea, D. and Flood, C. H. (2014): Fast splittable pseudorandom number generators. OOPSLA, 453-472:
    one step of SplitMix64.
    """
    found = words + _GAMMA
    found ^= found >> np.uint64(30)
    found *= np.uint64(0xBF58476D1CE4E5B9)
    found ^= found >> np.uint64(27)
    found *= np.uint64(0x94D049BB133111EB)
    found ^= found >> np.uint64(31)
    return found


def row_hashes(rows: NDArray[np.float64]) -> NDArray[np.uint64]:
    """One number for each row, of its cells alone; all NaN are alike, and both zeros; of shape (r, q), gives (r,)."""
    found = np.zeros(len(rows), dtype=np.uint64)
    for column in rows.T:
        found = mixed(found ^ np.where(np.isnan(column), np.nan, column + 0.0).view(np.uint64))
    return found
