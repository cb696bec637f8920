"""Where reasoning about a record ends before it is decided, what could give a cell away goes with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.disclosure.attacks import equation
from maskwright.foundation.release_outcomes import OpenDoubts

if TYPE_CHECKING:
    from maskwright.masking.masking_result import MaskingResult

PARTS = ["a", "b", "c"]


def masked(rules: list[str]) -> MaskingResult:
    rng = np.random.default_rng(2)
    data = pd.DataFrame(rng.integers(0, 9, (60, 3)), columns=PARTS)
    data["total"] = data.sum(axis=1)
    data["town"] = np.where(np.arange(60) == 7, "alone", "city")
    declared = {name: {"role": "other", "type": "integer"} for name in (*PARTS, "total")}
    declared["town"] = {"role": "quasi_identifier", "type": "nominal"}
    data["a"] = np.where(data["town"] == "alone", 50, data["a"])
    data["total"] = data[PARTS].sum(axis=1)
    declared["a"] = {"role": "quasi_identifier", "type": "integer"}
    return mask_request(
        masking_request(
            data, "local_suppression", edits=rules, params={"k": 2, "keys": ["town", "a"]}, declared=declared, seed=1
        )
    )


@pytest.mark.waived("adjustment-distorts")  # What is suppressed of few records differs from the rest.
def test_nothing_is_known_of_a_cell_that_was_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    rules = ["a + b + c == total"]
    decided = masked(rules)
    gone = decided.masked["a"].missing
    beside = [decided.masked[name].missing for name in ("b", "c", "total")]
    assert gone.any()
    assert (np.sum(beside, axis=0)[gone] >= 1).all()
    monkeypatch.setattr(equation, "MOST_EFFORT", 0)
    with pytest.raises(OpenDoubts, match=r"the search ends after [\d,]+ conditions for one record") as refused:
        masked(rules)
    # All that the edit reads went with the cells of a.
    for name in (*PARTS, "total"):
        assert f"suppressed-cells-undecided: {name}: of {gone.sum()} of {gone.sum()} suppressed" in str(refused.value)
