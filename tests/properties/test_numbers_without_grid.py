"""Numbers without a grid (a DataFrame of floats): inequalities hold exactly as binary64 evaluates them.

The oracle is plain Python on the floats that `protect` returns. Equalities are judged with the 1e-12 of their terms
that validation allows, because few of them can hold in binary64.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Callable

    Row = dict[str, float]
    Rule = tuple[str, Callable[[Row], bool]]

NAMES = ("a", "b", "c", "d", "e")
METHODS = (
    ("microaggregation", {"k": 3}),
    ("additive_noise", {}),
    ("ipso", {"independent": ["e"]}),
)  # fmt: skip


def world(seed: int) -> tuple[pd.DataFrame, list[Rule]]:
    """Data of very different sizes, and rules around a witness, which every rule allows."""
    rng = np.random.default_rng([7, seed])
    size = dict(zip(NAMES, 10.0 ** rng.integers(-6, 10, len(NAMES)), strict=True))
    if rng.random() < 0.5:
        size = dict.fromkeys(NAMES, float(10.0 ** rng.integers(-6, 10)))
    data = {name: size[name] * rng.lognormal(sigma=1.5, size=40) for name in NAMES}
    data["t"] = data["a"] + data["b"]
    frame = pd.DataFrame(data)
    at = {name: float(frame[name].median()) for name in NAMES}
    one, other, third = (str(name) for name in rng.permutation(NAMES[:4])[:3])
    ratio = 1.1 * at[one] / at[other]
    low, high = 0.9 * at[third], float(at[third] + rng.choice(frame[third]))
    product, limit, bound = at[one] * at[other] * 2, float(at[other]), float(at[third])
    pool: list[Rule] = [
        ("a + b == t", lambda r: abs(r["a"] + r["b"] - r["t"]) <= 1e-12 * sum(abs(r[x]) for x in "abt")),
        (f"{one} <= {ratio!r} * {other}", lambda r: r[one] <= ratio * r[other]),
        (f"{one} < {ratio!r} * {other} + {bound!r}", lambda r: r[one] < ratio * r[other] + bound),
        (f"{third} in ({low!r}, {high!r}]", lambda r: low < r[third] <= high),
        (f"{one} * {other} <= {product!r}", lambda r: r[one] * r[other] <= product),
        (
            f"if {other} < {limit!r} then {third} >= {bound!r}",
            lambda r: not r[other] < limit or r[third] >= bound,
        ),
        (f"c + d <= {at['c'] + at['d']!r}", lambda r: r["c"] + r["d"] <= at["c"] + at["d"]),
        *((f"{name} >= 0", lambda r, name=name: r[name] >= 0) for name in NAMES),
    ]  # fmt: skip
    chosen = [rule for rule in pool if rng.random() < 0.6]
    return frame, chosen or pool[:2]


@pytest.mark.waived("adjustment-distorts", "edit-may-be-wrong")
@pytest.mark.parametrize("worlds", [8, pytest.param(25, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("method", "params"), METHODS, ids=[name for name, _ in METHODS])
def test_inequalities_hold_in_binary64(method: str, params: dict[str, object], worlds: int) -> None:
    violations: list[str] = []
    refused: list[str] = []
    for seed in range(worlds):
        frame, rules = world(seed)
        try:
            masked = mw.protect(
                frame, method, edits=[text for text, _ in rules], seed=seed, params=params,
                declared={name: {"release": "as is"} for name in "abcde" if f"'{name}'" in str(params)},
            )  # fmt: skip
        except mw.EditViolation as error:
            refused.append(f"{seed}: {error}")
            continue
        for row in masked.to_dict("records"):
            violations += [f"{seed}: {text}" for text, obeyed in rules if not obeyed(row)]
    assert violations == []
    assert refused == []
