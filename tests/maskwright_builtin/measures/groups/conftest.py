"""A measure of groups, computed on a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

if TYPE_CHECKING:
    import maskwright as mw


@pytest.fixture
def measured():
    def run(measure: mw.Measure, both: mw.Comparison, **params: Any) -> mw.Measurement:
        return measure.compute(both, measure.params(**params), np.random.default_rng(0))

    return run
