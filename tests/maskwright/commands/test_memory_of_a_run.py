"""What a run holds while it measures: of the masked values those that were read back, and no second copy."""

from __future__ import annotations

import gc
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import maskwright as mw
from maskwright.commands.running.stages import PipelineRun
from maskwright.masking import unit_adjustment
from maskwright.masking.suppressing import suppression_steps

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SETTINGS = {
    "maskwright": 1,
    "seed": 1,
    "data": {"source": "in.csv"},
    "edits": ["a + b == c"],
    "protect": [
        {"method": "microaggregation", "params": {"k": 3, "k_guarantee": "report"}},
        {"method": "sampling", "params": {"fraction": 0.9}},
    ],
    "measure": ["sse"],
    "output": {"data": "out.csv"},
}


def test_masked_values_are_let_go_before_measuring(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"a": rng.integers(0, 99, 60), "b": rng.integers(0, 99, 60)})
    data.assign(c=data["a"] + data["b"]).to_csv(tmp_path / "in.csv", index=False)
    monkeypatch.chdir(tmp_path)
    written: list[weakref.ref[Any]] = []
    returned: list[weakref.ref[Any]] = []
    alive: list[int] = []
    arrange, measure = PipelineRun.arrange, PipelineRun.measure
    adjust, removing = unit_adjustment.adjust_unit, suppression_steps.remove

    def arranged(self: PipelineRun, result: Any) -> Any:
        found = arrange(self, result)
        written.extend(weakref.ref(column.values) for column in found.masked)
        return found

    def adjusted(unit: Any, results: Any, *others: Any) -> Any:
        returned.extend(weakref.ref(each.values) for each in results)
        return adjust(unit, results, *others)

    def removed(*arguments: Any) -> Any:
        gc.collect()
        alive.append(sum(each() is not None for each in returned))
        return removing(*arguments)

    def measured(self: PipelineRun, released: Any) -> Any:
        gc.collect()
        alive.append(sum(each() is not None for each in written))
        return measure(self, released)

    monkeypatch.setattr(PipelineRun, "arrange", arranged)
    monkeypatch.setattr(PipelineRun, "measure", measured)
    monkeypatch.setattr(unit_adjustment, "adjust_unit", adjusted)
    monkeypatch.setattr(suppression_steps, "remove", removed)
    mw.run(SETTINGS)
    assert len(written) == 3
    assert returned
    assert alive == [0, 0]
