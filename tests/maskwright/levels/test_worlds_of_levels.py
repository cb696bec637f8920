"""Random households and persons, rules across both, and pipelines of all methods: judged by pandas and lxml.

Worlds that name every method here, 50 with ``pytest -m slow``, and by hand with
``python benchmarks/worlds_of_levels.py 2000``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from worlds.judged import Tally, judged
from worlds.pipelines import methods, pipeline
from worlds.refusals import why
from worlds.world import World

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST = 3000


def every_method() -> list[int]:
    """Worlds whose pipelines name each of the methods, of those that name most of them first."""
    named = {
        seed: {step["method"] for step in pipeline(World(seed), "flat")["protect"]}
        for seed in range(FIRST, FIRST + len(methods()))
    }
    chosen: list[int] = []
    left = set(methods())
    while left:
        chosen.append(max(named, key=lambda seed: len(named[seed] & left)))
        left -= named[chosen[-1]]
    return chosen


def expect_nothing_wrong(worlds: Sequence[int], folder: Path) -> Tally:
    """Releases are right, refusals justified, and enough is released."""
    tally = judged(worlds, folder)
    assert tally.wrong == []
    assert tally.worlds == len(worlds)
    assert tally.verdicts > len(worlds)
    assert [said for said in tally.refused if why(said) is None] == []
    assert set(tally.forms) == {"flat", "linked", "nested"}
    assert tally.forms.total() > len(worlds) / 4
    assert tally.alike > 0
    return tally


@pytest.mark.timeout(900)
def test_releases_are_right_refusals_justified_and_enough_is_released(tmp_path: Path) -> None:
    """All forms, two forms of the same worlds, and pipelines that name each of the methods."""
    tally = expect_nothing_wrong(every_method(), tmp_path)
    assert set(tally.tried) == set(methods())
    assert len(tally.released) > 8


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_many_releases_are_right_refusals_justified_and_enough_is_released(tmp_path: Path) -> None:
    tally = expect_nothing_wrong(range(FIRST, FIRST + 50), tmp_path)
    assert len(tally.released) > 12
