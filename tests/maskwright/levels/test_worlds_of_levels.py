"""Random households and persons, rules across both, and pipelines of all methods: judged by pandas and lxml.

50 worlds here; more by hand with ``python benchmarks/worlds_of_levels.py 2000``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from worlds.judged import judged
from worlds.refusals import why

if TYPE_CHECKING:
    from worlds.judged import Tally

WORLDS = range(3000, 3050)


@pytest.fixture(scope="module")
def tally(tmp_path_factory: pytest.TempPathFactory) -> Tally:
    return judged(WORLDS, tmp_path_factory.mktemp("worlds"))


@pytest.mark.timeout(600)
def test_nothing_is_wrong_in_any_release_or_verdict(tally: Tally) -> None:
    assert tally.wrong == []
    assert tally.worlds == len(WORLDS)
    assert tally.verdicts > len(WORLDS)


def test_every_refusal_is_justified(tally: Tally) -> None:
    assert [said for said in tally.refused if why(said) is None] == []


def test_enough_is_released(tally: Tally) -> None:
    """All forms, two forms of the same worlds, and most of the methods."""
    assert set(tally.forms) == {"flat", "linked", "nested"}
    assert tally.forms.total() > len(WORLDS) / 4
    assert tally.alike > 0
    assert len(tally.released) > 12
