"""Memory that is freed goes back to the system."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from maskwright.foundation.memory import give_back_memory

STATUS = Path("/proc/self/statm")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="counts pages as Linux tells them")
def test_small_arrays_between_others_are_given_back() -> None:
    def pages() -> int:
        return int(STATUS.read_text(encoding="ascii").split()[1])

    kept = [np.ones(4_000) for _ in range(5_000)]
    before = pages()
    del kept[::2]
    give_back_memory()
    assert pages() < before - 10_000
    assert len(kept) == 2_500
