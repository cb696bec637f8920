"""The score: the weighted mean of its three measures, with their parts and notes."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from maskwright_builtin.measures import MEASURES
from maskwright_builtin.measures.scores.score import ScoreParams, score

BY_NAME = {measure.name: measure for measure in MEASURES}
PARTS = ("pil", "distance_record_linkage", "interval_disclosure")


@pytest.fixture(scope="module")
def files():
    generator = np.random.default_rng(12)
    original = generator.normal(size=(300, 4))
    return original, original + 0.2 * generator.normal(size=original.shape)


def test_is_half_loss_and_half_risk(compare, files, rng):
    comparison = compare(*files)
    found = score(comparison, ScoreParams(), rng)
    alone = {name: BY_NAME[name].compute(comparison, BY_NAME[name].params(), rng).value for name in PARTS}
    assert found.parts == pytest.approx(alone)
    loss, linkage, intervals = (alone[name] for name in PARTS)
    assert found.value == pytest.approx(0.5 * loss + 0.25 * linkage + 0.25 * intervals)


def test_the_original_data_score_fifty(compare, files, rng):
    assert score(compare(files[0], files[0]), ScoreParams(), rng).value == pytest.approx(50)


def test_other_weights(compare, files, rng):
    params = ScoreParams(pil=0, distance_record_linkage=1, interval_disclosure=0)
    found = score(compare(*files), params, rng)
    assert found.value == found.parts["distance_record_linkage"]


def test_an_undefined_part_makes_the_score_undefined_and_says_which(compare, rng):
    empty = np.full((5, 1), np.nan)
    found = score(compare(empty, empty), ScoreParams(), rng)
    assert np.isnan(found.value)
    assert any(note.startswith("pil: not defined") for note in found.notes)


def test_progress_rises_to_one(compare, files, rng):
    shares = []
    score(compare(*files, progress=shares.append), ScoreParams(), rng)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize("bad", [{"pil": 0.6}, {"pil": -0.5, "interval_disclosure": 1.25}, {"risk": 0.5}])
def test_weights_must_be_shares_of_one(bad):
    with pytest.raises(ValidationError):
        ScoreParams(**bad)
