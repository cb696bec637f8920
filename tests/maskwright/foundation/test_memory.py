"""Memory that is freed goes back to the system."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from maskwright import Column, Variable
from maskwright.foundation.processes.resources import give_back_memory

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


@pytest.mark.parametrize(("named", "used"), [(None, "system"), ("mimalloc", "mimalloc")])
def test_arrow_has_the_memory_of_the_c_library_unless_another_is_named(
    named: str | None, used: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    if named is not None:
        if named not in pa.supported_memory_backends():
            pytest.skip(f"this build of Arrow has no {named}")
        monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", named)
    asked = (
        "import pyarrow as pa; from maskwright.foundation.processes.resources import share_memory_with_arrow as share; "
        "share(); "
        "print(pa.default_memory_pool().backend_name)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == used


def test_columns_without_missing_cells_share_a_mask_that_cannot_be_written() -> None:
    first, second = (
        Column(Variable(name, "continuous"), np.ones(3), np.zeros(3, dtype=np.bool_)) for name in ("a", "b")
    )
    assert first.missing is second.missing
    assert not first.missing.any()
    with pytest.raises(ValueError, match="WRITEABLE"):
        first.missing.setflags(write=True)
    own = Column(Variable("c", "continuous"), np.array([1.0, np.nan, 1.0]), np.array([False, True, False]))
    assert own.missing.tolist() == [False, True, False]
