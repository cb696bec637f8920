"""The score: the weighted mean of its three measures, with their parts and notes."""

from __future__ import annotations

import numpy as np
import pytest
from pydantic import ValidationError

from maskwright_builtin.measures import MEASURES as OFFERED
from maskwright_builtin.measures.scores import ScoreParams, score

MEASURES = tuple(each.record() for each in OFFERED)

BY_NAME = {measure.name: measure for measure in MEASURES}
PARTS = ("pil", "distance_record_linkage", "interval_disclosure")


@pytest.fixture(scope="module")
def files():
    generator = np.random.default_rng(12)
    original = generator.normal(size=(300, 4))
    return original, original + 0.2 * generator.normal(size=original.shape)


def test_is_half_loss_and_half_risk(compare, files, rng):
    comparison = compare(*files)
    found = score(comparison, ScoreParams.model_validate({}), rng)
    alone = {name: BY_NAME[name].compute(comparison, BY_NAME[name].params(), rng).value for name in PARTS}
    assert found.parts == pytest.approx(alone)
    loss, linkage, intervals = (alone[name] for name in PARTS)
    assert found.value == pytest.approx(0.5 * loss + 0.25 * linkage + 0.25 * intervals)


def test_the_original_data_score_fifty(compare, files, rng):
    assert score(compare(files[0], files[0]), ScoreParams.model_validate({}), rng).value == pytest.approx(50)


def test_other_weights(compare, files, rng):
    params = ScoreParams.model_validate({"pil": 0, "distance_record_linkage": 1, "interval_disclosure": 0})
    found = score(compare(*files), params, rng)
    assert found.value == found.parts["distance_record_linkage"]


def test_an_undefined_part_makes_the_score_undefined_and_says_which(compare, rng):
    empty = np.full((5, 1), np.nan)
    found = score(compare(empty, empty), ScoreParams.model_validate({}), rng)
    assert np.isnan(found.value)
    assert any(note.startswith("pil: not defined") for note in found.notes)


def test_progress_rises_to_one(compare, files, rng):
    shares = []
    score(compare(*files, progress=shares.append), ScoreParams.model_validate({}), rng)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize("bad", [{"pil": 0.6}, {"pil": -0.5, "interval_disclosure": 1.25}, {"risk": 0.5}])
def test_weights_must_be_shares_of_one(bad):
    with pytest.raises(ValidationError):
        ScoreParams(**bad)


@pytest.mark.parametrize("name", ["score", "mg", "weighted_score"])
def test_risks_in_a_score_count_households(name, compare, files, rng):
    """Each part is what its measure says of the same households; the thesis's pairing leaves them out, and says so."""
    comparison = compare(*files, households=np.arange(300) // 4)
    linkage = {"direction": "masked_to_original", "ties": "lowest_index"} if name == "mg" else {}
    part = "ERD" if name == "mg" else "distance_record_linkage"
    params = {"components": [{"measure": part, "weight": 1}]} if name == "weighted_score" else {}
    measure = BY_NAME["distance_record_linkage"]
    expected = measure.compute(comparison, measure.params(**linkage), rng).value
    alone = measure.compute(compare(*files), measure.params(**linkage), rng).value
    found = BY_NAME[name].compute(comparison, BY_NAME[name].params(**params), rng)
    assert found.parts[part] == pytest.approx(expected)
    assert expected > alone
    if name == "mg":
        found = BY_NAME[name].compute(comparison, BY_NAME[name].params(pairing="nearest"), rng)
        assert any("single records are counted" in note for note in found.notes)
