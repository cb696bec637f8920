"""Domingo-Ferrer (2009): microaggregation-based hybrid data. The paper prints statements, no table of figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from synthetic import measured, protected, roles, scored
from tables import Cell, Paper, Table, cell

import maskwright as mw
from maskwright import InputError
from papers.synthetic_data import SCENARIOS, census

if TYPE_CHECKING:
    from collections.abc import Iterator


SOURCE = "Domingo-Ferrer (2009), Microaggregation-based numerical hybrid data"
KS = (22, 30, 50, 100, 200, 540, 1080)
# Confidential and other variables, and the least k that the paper's formula |X| + 2|Y| + 1 gives.
LEAST = {
    "9 confidential, 3 others": (SCENARIOS["S1"], "16"),
    "4 confidential, 3 others": (((4, 7, 12, 13), (1, 2, 3)), "11"),
}
STATED = {
    "PIL": ("9.7", "11.2", "11.5", "13.4", "12.9", "15.7", "15.9"),
    "ERD": ("5.1", "3.7", "2.7", "1.6", "1.3", "0.7", "0.6"),
    "ICD": ("28.5", "25.9", "22.8", "17.8", "15.6", "12.2", "9.8"),
}
SEEDS = 10
NINE_DEGREES = 3.25
"""Student's t, 9 degrees of freedom, 99 %."""
EXACT = 1e-9


def hybrid(k: int, seed: int = 1) -> tuple[dict[str, list[str]], pd.DataFrame]:
    own = roles(census(), SCENARIOS["S1"])
    return own, protected(census(), "micro_hybrid", seed, {"k": k, **own})


def moments(before: pd.DataFrame, after: pd.DataFrame) -> tuple[float, float]:
    """Largest change of a mean in standard deviations, and of a covariance in products of two."""
    a, b = before.to_numpy(float), after[before.columns].to_numpy(float)
    spread = a.std(axis=0, ddof=1)
    means = np.abs(a.mean(axis=0) - b.mean(axis=0)) / spread
    covariances = np.abs(np.cov(a.T) - np.cov(b.T)) / np.outer(spread, spread)
    return float(means.max()), float(covariances.max())


def cells_of_the_lemmas() -> Iterator[Cell]:
    for k in (KS[0], KS[2], KS[-1]):
        own, masked = hybrid(k)
        names = own["dependent"] + own["independent"]
        shift = moments(census()[names], masked)
        for name, value in zip(("mean", "covariance"), shift, strict=True):
            yield cell(f"Lemma 1, largest change of a {name}, k = {k}", "", "0.000000000", value, tolerance=EXACT)
    names, masked = census().columns, hybrid(1)[1]
    yield cell(
        "k = 1, values that differ from the original ones", "", "0", int((masked[names] != census()).sum().sum())
    )
    for name, (scenario, printed) in LEAST.items():
        yield cell(f"least k, {name}", "", printed, least_k(roles(census(), scenario)))


def least_k(own: dict[str, list[str]]) -> int:
    """Smallest k that is not refused."""
    for k in range(2, 60):
        try:
            protected(census(), "micro_hybrid", 1, {"k": k, **own})
        except InputError:
            continue
        return k
    raise LookupError("every k up to 59 is refused")


def beside_microaggregation(k: int) -> tuple[dict[str, float], dict[str, float]]:
    """Loss and risk of hybrid data, and of means in place of the confidential values of the same clusters."""
    own, masked = hybrid(k)
    every = own["dependent"] + own["independent"]
    free = {name: {"type": "continuous", "decimals": 9} for name in every}
    means = mw.protect(
        census()[every], "microaggregation", seed=1, params={"k": k, "group_size": "all"}, declared=free
    )  # fmt: skip
    plain = census().assign(**{name: means[name] for name in own["dependent"]})
    return scored(census(), masked, own["dependent"]), scored(census(), plain, own["dependent"])


def cells_of_growing_k() -> Iterator[Cell]:
    for place, k in enumerate(KS):
        rows = []
        for seed in range(SEEDS):
            own, masked = hybrid(k, seed)
            rows.append(measured(census(), masked, own["dependent"]))
        found = pd.DataFrame(rows)
        for name, key in (("PIL", "pil"), ("ERD", "ERD"), ("ICD", "ICD")):
            # The stated figures are of one seed.
            scatter = NINE_DEGREES * found[key].std(ddof=1) * np.sqrt(1 + 1 / SEEDS) + 0.05
            yield cell(f"k = {k}", name, STATED[name][place], found[key].mean(), scatter=scatter)


PAPER = Paper(
    "hybrid-data",
    "Microaggregation-based hybrid data (Domingo-Ferrer 2009)",
    (
        Table("hybrid_lemmas", "Lemma 1 and the least k", SOURCE, cells_of_the_lemmas, slow=True),
        Table("hybrid_k", "Loss and risk as k grows, S1", "independent recomputation", cells_of_growing_k, slow=True),
    ),
)
