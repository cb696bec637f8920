"""The Weibull shape is where the likelihood is largest."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from maskwright_builtin.numerics.weibull import weibull_shape


@pytest.mark.parametrize(("shape", "scale"), [(0.3, 5.0), (1.0, 1e-6), (7.0, 1e9)])
def test_no_other_shape_is_more_likely(shape: float, scale: float) -> None:
    values = stats.weibull_min(shape, scale=scale).rvs(400, random_state=3)
    logarithms = np.log(values)

    def misfit(candidate: float) -> float:
        best_scale = np.mean((values / scale) ** candidate) ** (1.0 / candidate) * scale
        return -float(stats.weibull_min(candidate, scale=best_scale).logpdf(values).sum())

    found = weibull_shape(logarithms, float(logarithms.mean()), float(logarithms.std()), 1.0)
    best = optimize.minimize_scalar(misfit, bounds=(shape / 3.0, shape * 3.0), method="bounded").x
    assert found == pytest.approx(best, rel=1e-4)


def test_a_weight_counts_like_copies() -> None:
    values, copies = np.array([1.0, 2.0, 5.0, 11.0]), np.array([1, 3, 2, 2])
    repeated = np.log(np.repeat(values, copies))
    mean, sd = float(repeated.mean()), float(repeated.std())
    weighted = weibull_shape(np.log(values), mean, sd, copies / copies.sum())
    assert weighted == pytest.approx(weibull_shape(repeated, mean, sd, 1.0), rel=1e-12)
