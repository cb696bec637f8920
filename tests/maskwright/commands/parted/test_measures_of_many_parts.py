"""Facts of many parts are put in less room as they come, and measures find the same in them."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

import maskwright as mw
from maskwright.commands.parted.task_run import AT_ONCE, MeasureFacts, PackedFacts
from maskwright.plugins.registry import plugins
from maskwright_builtin.measures import partition_statistics

if TYPE_CHECKING:
    from maskwright.pipeline.resolved import MeasureRequest

RECORDS, PARTS = 3_000, 40
NAMES = ("pay", "age", "left")

MEASURES: dict[str, dict[str, object]] = {
    "pil": {},
    "hellinger": {"categorical": ["sex"]},
    "weighted_score": {"components": [{"measure": "pil", "weight": 0.5}, {"measure": "sse", "weight": 0.5}]},
}


def _files() -> tuple[mw.Dataset, mw.Dataset]:
    """Numbers that rarely repeat, numbers that often do, numbers that some parts lack, and categories."""
    rng = np.random.default_rng(3)
    pay, age = rng.lognormal(3, 2, RECORDS), rng.integers(0, 90, RECORDS).astype(float)
    left = np.where(np.arange(RECORDS) < RECORDS // 3, np.nan, rng.normal(size=RECORDS))
    sex = mw.Variable("sex", type="categorical", categories=("F", "M"))
    codes = rng.integers(0, 2, RECORDS).astype(np.int32)
    files = []
    for noise in (0.0, 0.3):
        columns = [
            mw.Column(mw.Variable(name), values + noise * rng.normal(size=RECORDS), np.isnan(values))
            for name, values in zip(NAMES, (pay, age, left), strict=True)
        ]
        files.append(mw.Dataset((*columns, mw.Column(sex, codes, np.zeros(RECORDS, dtype=bool)))))
    return files[0], files[1]


def _over_parts(name: str, given: dict[str, object], *, condenses: bool) -> tuple[mw.Measurement, int]:
    """What a run over parts does, without a run; and how many facts it held at most."""
    measure = plugins().measures[name]
    request = cast("MeasureRequest", SimpleNamespace(label=name, measure=measure, params=measure.params(**given)))
    merging = measure.merging
    assert merging is not None
    original, masked = _files()
    comparisons = [
        mw.Comparison(original.taken(rows), replace(masked.taken(rows), origin=None), NAMES)
        for rows in np.array_split(np.arange(RECORDS), PARTS)
    ]
    asked: dict[str, Any] | None = None
    held = 0
    while True:
        facts = MeasureFacts([request], None if asked is None else {name: asked})
        told = [merging.partial(each, request.params, asked) for each in comparisons]
        for each in told:
            facts.add(name, each)
            held = max(held, len(facts.of(name)))
        found = merging.merged(facts.of(name) if condenses else told, request.params, asked)
        if isinstance(found, mw.Measurement):
            return found, held
        asked = dict(found.asked)


@pytest.mark.parametrize("most", [partition_statistics.MOST_POINTS, 20])
@pytest.mark.parametrize("name", MEASURES)
def test_they_say_the_same_in_less_room(name: str, most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_statistics, "MOST_POINTS", most)
    (found, held), (expected, _) = (_over_parts(name, MEASURES[name], condenses=each) for each in (True, False))
    assert found.value == expected.value
    assert dict(found.parts) == dict(expected.parts)
    assert dict(found.per_variable) == dict(expected.per_variable)
    assert found.notes == expected.notes
    # A component of the score tells little, and is held as it came.
    assert held <= (PARTS if name == "weighted_score" else AT_ONCE + 1)


def test_what_measures_are_told_is_held_as_text_where_nothing_puts_it_together() -> None:
    measure = plugins().measures["sse"]
    facts = MeasureFacts([cast("MeasureRequest", SimpleNamespace(label="sse", measure=measure, params=None))])
    told = [{"pairs": number, "squares": [0.1 * number, None]} for number in range(PARTS)]
    for number, each in enumerate(told):
        kept = facts.taken(mw.Receipt("finish", str(number), {}, {"records": 7, "measures": {"sse": each}}))
        assert dict(kept.facts) == {"records": 7}
    assert facts.of("sse") == told
    assert all(isinstance(each, PackedFacts) for each in facts._found["sse"])
