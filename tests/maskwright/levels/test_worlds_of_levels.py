"""Random households and persons, rules across both, and pipelines of all methods: judged by pandas and lxml.

50 worlds here; more by hand with ``python benchmarks/worlds_of_levels.py 2000``.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from worlds.judged import judged
from worlds.refusals import why

WORLDS = range(3000, 3050)


@pytest.mark.timeout(900)
def test_releases_are_right_refusals_justified_and_enough_is_released(tmp_path: Path) -> None:
    """All forms, two forms of the same worlds, and most of the methods."""
    tally = judged(WORLDS, tmp_path)
    assert tally.wrong == []
    assert tally.worlds == len(WORLDS)
    assert tally.verdicts > len(WORLDS)
    assert [said for said in tally.refused if why(said) is None] == []
    assert set(tally.forms) == {"flat", "linked", "nested"}
    assert tally.forms.total() > len(WORLDS) / 4
    assert tally.alike > 0
    assert len(tally.released) > 12
