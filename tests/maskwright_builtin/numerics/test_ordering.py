"""The stable order of a column is that of numpy's stable sort."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from maskwright_builtin.numerics.ordering import WORTH_COMPILING, stable_order

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

RNG = np.random.default_rng(20261121)
COLUMNS: dict[str, Callable[[int], NDArray[np.float64]]] = {
    "numbers": RNG.standard_normal,
    "many ties": lambda n: RNG.integers(-5, 5, n).astype(float),
    "all equal": np.ones,
    "ascending": lambda n: np.arange(n, dtype=float),
    "descending": lambda n: -np.arange(n, dtype=float),
    "zeros of both signs": lambda n: RNG.choice([-0.0, 0.0, -1.0, 1.0], n),
    "missing and infinite": lambda n: RNG.choice([np.nan, -np.nan, np.inf, -np.inf, 0.5], n),
    "differing in the last digits only": lambda n: 1.0 + RNG.integers(0, 1000, n).astype(float) * 2.0**-52,
    "a few differing in the last digits": lambda n: RNG.permutation(n // 2).repeat(2) + 3.0 + RNG.random(n) * 1e-10,
    "every size": lambda n: RNG.standard_normal(n) * 10.0 ** RNG.integers(-300, 300, n),
}


@pytest.mark.parametrize("n", [0, 1, 2, 100, WORTH_COMPILING, 2**16, 2**16 + 2])
@pytest.mark.parametrize("kind", COLUMNS)
def test_order_is_the_stable_one(kind: str, n: int) -> None:
    values = COLUMNS[kind](n)
    before = values.copy()
    np.testing.assert_array_equal(stable_order(values), np.argsort(values, kind="stable"))
    np.testing.assert_array_equal(values, before)
