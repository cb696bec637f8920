"""Records on their way to their readers: all of them, in order, from one file or several."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from maskwright.commands.parted.shuffling import borders_of, gathered, spill, spilled

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("count", [4, 100_000])
def test_each_reader_gets_its_records_in_their_order(tmp_path: Path, count: int) -> None:
    readers = np.array([2, 0, 2, 3, 0], dtype=np.int64)
    columns = {"row": np.arange(5, dtype=np.int32), "v:x": np.array([0.5, np.nan, -0.0, 1e300, 2.0])}
    spill(tmp_path / "g0", columns, readers, count)
    assert borders_of(tmp_path / "g0")[:5].tolist() == [0, 2, 2, 4, 5]
    found = spilled(tmp_path / "g0", 2, 4)
    assert found["row"].tolist() == [0, 2, 3]
    assert found["row"].dtype == np.int32
    assert found["v:x"].tobytes() == np.array([0.5, -0.0, 1e300]).tobytes()
    assert [each.stat().st_mode & 0o777 for each in tmp_path.iterdir()] == [0o600]


def test_several_files_follow_each_other(tmp_path: Path) -> None:
    for number, size in enumerate((3, 0, 2)):
        readers = np.zeros(size, dtype=np.int64)
        spill(tmp_path / f"p{number}", {"row": np.arange(size) + 10 * number}, readers, 2)
    paths = [tmp_path / f"p{number}" for number in range(3)]
    found, counts = gathered(paths, 0, 1)
    assert found["row"].tolist() == [0, 1, 2, 20, 21]
    assert counts.tolist() == [3, 0, 2]
    nothing, counts = gathered(paths, 1, 2)
    assert nothing["row"].shape == (0,)
    assert counts.tolist() == [0, 0, 0]
