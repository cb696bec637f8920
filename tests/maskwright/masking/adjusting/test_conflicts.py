"""Records that no masked values can save: the smallest set of edits to blame, by name."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import maskwright as mw


class Heard:
    """Reporter that keeps the notices."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def stage(self, title: str) -> mw.Progress:
        """No bars."""
        return lambda share: None

    def notice(self, text: str) -> None:
        """Keep it."""
        self.notices.append(text)


def _frame() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    low = rng.integers(12, 50, 40)
    return pd.DataFrame({"a": low, "b": low + rng.integers(1, 50, 40), "limit": [100] * 40, "region": ["north"] * 40})


AS_IT_IS = {name: {"role": "other"} for name in ("limit", "region")}
RULES = [
    {"rule": "a <= limit", "name": "below"},
    {"rule": "a >= 10", "name": "above"},
    {"rule": "b >= a + 5", "name": "apart"},
    {"rule": "if region == 'south' then b <= 14", "name": "south"},
]


def _told(frame: pd.DataFrame, method: str = "additive_noise") -> str:
    heard = Heard()
    with pytest.raises(mw.EditViolation):
        mw.protect(
            frame,
            method,
            edits=RULES,
            seed=1,
            variables=["a", "b"],
            reporter=heard,
            params={"k_guarantee": "report"},
            declared=AS_IT_IS,
        )
    return " | ".join(heard.notices)


@pytest.mark.parametrize("method", ["additive_noise", "microaggregation"])
def test_two_edits_that_an_unmasked_value_sets_against_each_other(method: str) -> None:
    """No a is at least 10 and at most 5; the other edits are not blamed."""
    frame = _frame()
    frame.loc[3, "limit"] = 5
    assert "no masked values satisfy below and above together" in _told(frame, method)


def test_a_category_sets_three_edits_against_each_other() -> None:
    """In the south b is at most 14, so a is at most 9."""
    frame = _frame()
    frame.loc[5, "region"] = "south"
    assert "no masked values satisfy above, apart and south together" in _told(frame)


def test_nothing_is_said_where_every_record_can_be_saved() -> None:
    """Values are moved, and nobody is blamed."""
    heard = Heard()
    mw.protect(_frame(), "additive_noise", edits=RULES, seed=1, variables=["a", "b"], reporter=heard, declared=AS_IT_IS)
    assert "no masked values" not in " | ".join(heard.notices)
