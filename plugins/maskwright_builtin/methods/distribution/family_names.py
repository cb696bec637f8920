"""Names of the families of distributions; apart from what fits them, which needs SciPy."""

from __future__ import annotations

from typing import Literal, get_args

FamilyName = Literal[
    "beta", "chi_squared", "exponential", "extreme_value", "gamma", "logistic", "lognormal", "normal", "pareto",
    "poisson", "uniform", "weibull",
]  # fmt: skip

FAMILIES: tuple[FamilyName, ...] = get_args(FamilyName)
