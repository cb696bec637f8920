"""Linkage of a file in parts: that of the file in memory, or of a sample whose interval holds it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import maskwright as mw
from maskwright_builtin.measures.record_linkage import distance_record_linkage
from maskwright_builtin.measures.record_linkage.distance_record_linkage import (
    DISTANCE_RECORD_LINKAGE,
    DistanceRecordLinkageParams,
)

NAMES = ("a", "b", "c")
TASKS = 2


def _data(values: np.ndarray[Any, np.dtype[np.float64]]) -> mw.Dataset:
    return mw.Dataset(
        tuple(
            mw.Column(mw.Variable(name, decimals=1), values[:, j].copy(), np.isnan(values[:, j]))
            for j, name in enumerate(NAMES)
        )
    )


def _files(records: int, seed: int, *, missing: bool = False) -> tuple[mw.Dataset, mw.Dataset]:
    rng = np.random.default_rng(seed)
    values = np.round(rng.normal(size=(records, len(NAMES))) * 3, 1)
    noise = np.round(rng.normal(size=values.shape), 1)
    if missing:
        values[rng.random(values.shape) < 0.05] = np.nan
    return _data(values), _data(values + noise)


def _over_parts(
    original: mw.Dataset, masked: mw.Dataset, parts: int, params: DistanceRecordLinkageParams
) -> mw.Measurement:
    """What a run over parts does, without a run."""
    merging = DISTANCE_RECORD_LINKAGE.merging
    assert merging is not None
    assert merging.rows is not None
    assert merging.counted is not None
    cuts = np.array_split(np.arange(len(original)), parts)
    comparisons = [
        mw.Comparison(original.taken(rows), replace(masked.taken(rows), origin=None), NAMES) for rows in cuts
    ]
    asked: dict[str, Any] | None = None
    facts: list[Any] = [merging.partial(each, params, None) for each in comparisons]
    while isinstance(found := merging.merged(facts, params, asked), mw.Further):
        asked = dict(found.asked)
        taken = [
            merging.rows(each, params, asked, mw.PartOfFile(int(rows[0]), len(original), TASKS))
            for each, rows in zip(comparisons, cuts, strict=True)
        ]
        if found.rows_to == "parts":
            asked["rows"] = {name: np.concatenate([each[name] for each, _ in taken]) for name in taken[0][0]}
            facts = []
            continue
        facts = [
            merging.counted(
                {name: np.concatenate([each[name][tasks == task] for each, tasks in taken]) for name in taken[0][0]},
                params,
                asked,
            )
            for task in range(TASKS)
        ]
    return found


def _in_memory(original: mw.Dataset, masked: mw.Dataset, params: DistanceRecordLinkageParams) -> mw.Measurement:
    return DISTANCE_RECORD_LINKAGE.compute(mw.Comparison(original, masked, NAMES), params, np.random.default_rng(0))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"direction": "masked_to_original", "nearest": 3},
        {"known": ["c", "a"], "scenarios": "all_subsets"},
    ],
)
def test_all_records_of_a_small_file_are_linked(settings: dict[str, Any]) -> None:
    params = DistanceRecordLinkageParams.model_validate(settings)
    files = _files(300, 1, missing=True)
    found, expected = _over_parts(*files, 3, params), _in_memory(*files, params)
    assert found.value == pytest.approx(expected.value, rel=1e-9)
    assert found.parts == pytest.approx(expected.parts, rel=1e-9)
    assert found.per_variable == pytest.approx(expected.per_variable, rel=1e-9)
    assert found.interval == pytest.approx(expected.interval, rel=1e-9)
    assert found.notes == expected.notes


def test_the_interval_of_a_sample_holds_the_figure_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distance_record_linkage, "SAMPLE", 100)
    params = DistanceRecordLinkageParams.model_validate({"known": list(NAMES)})
    held = 0
    for seed in range(50):
        files = _files(400, seed)
        found, expected = _over_parts(*files, 4, params), _in_memory(*files, params)
        assert found.interval is not None
        low, high = found.interval
        assert low <= found.value <= high
        held += low <= expected.value <= high
        (said,) = [note for note in found.notes if note.startswith("sampled")]
        linked = int(said.split()[1])
        assert high - low <= 2 * 98.0 / math.sqrt(linked) + 1e-9
    assert held >= 46
