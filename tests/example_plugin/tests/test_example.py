"""The example keeps the contract of its kinds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from maskwright_example.mean_shift import EXAMPLE_MEAN_SHIFT
from maskwright_example.noise import EXAMPLE_NOISE

from maskwright.testing import measure_checks, method_checks

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.mark.parametrize("check", method_checks([EXAMPLE_NOISE]))
def test_the_method_keeps_its_contract(check: Callable[[], object]) -> None:
    check()


@pytest.mark.parametrize("check", measure_checks([EXAMPLE_MEAN_SHIFT]))
def test_the_measure_keeps_its_contract(check: Callable[[], object]) -> None:
    check()
