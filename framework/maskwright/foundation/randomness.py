"""One seed, one independent generator for each named step, group and block.

A generator is derived from the seed and a *name*, never from the order in which work is done, so a result does not
depend on the number of threads or on which block runs first.
"""

from __future__ import annotations

import hashlib
import secrets

import numpy as np


def fresh_seed() -> int:
    """Seed from the operating system's entropy, used when the pipeline declares none (63 bits)."""
    return secrets.randbits(63)


def generator(seed: int, *name: str | int) -> np.random.Generator:
    """Generator for the piece of work called `name`.

    `seed`: the run's seed, >= 0. `name`: what the numbers are for, for instance ``("protect", 1, "V9+V10", 0)``.
    Returns PCG64; the same seed and name give the same stream on every machine.
    """
    digest = hashlib.sha256("\x1f".join(str(part) for part in name).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4")
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, *(int(word) for word in words)])))
