"""Blocks for tests of methods."""

from __future__ import annotations

import numpy as np
import pytest

from maskwright import Block, Masked, Variable
from maskwright.plugins.registry import find_method


def block_of(values, missing=None, variables=None, **fields) -> Block:
    values = np.array(values, dtype=float)
    values = values[:, None] if values.ndim == 1 else values
    missing = np.isnan(values) if missing is None else np.asarray(missing).reshape(values.shape)
    variables = variables or tuple(Variable(f"x{number + 1}") for number in range(values.shape[1]))
    p = values.shape[1]
    return Block(np.where(missing, np.nan, values), missing, variables, center=np.zeros(p), scale=np.ones(p), **fields)


def protected(method: str, block: Block, seed: int = 0, **params) -> Masked:
    found = find_method(method)
    return found.protect(block, found.params(**params), np.random.default_rng(seed))


@pytest.fixture(scope="session")
def make_block():
    """Block of given values; NaN is a missing cell."""
    return block_of


@pytest.fixture(scope="session")
def protect():
    """``protect(method, block, seed=0, **params)``: what a method makes of a block."""
    return protected
