"""Kinds of constraints of plugins: in the language of rules, evaluated, projected onto, guarded, and told by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.testing import RanPipeline, run_pipeline_in

if TYPE_CHECKING:
    from pathlib import Path


RULE = "at_most_nonzero(2, wages, pension, benefits)"


def incomes(n: int = 150) -> pd.DataFrame:
    rng = np.random.default_rng(2)
    found = pd.DataFrame({name: rng.integers(100, 4000, n) for name in ("wages", "pension", "benefits")})
    none = rng.integers(0, 3, n)
    for place, name in enumerate(found):
        found.loc[none == place, name] = 0
    return found


def ran(folder: Path, edits: list[Any], *plugins: object, method: str = "additive_noise", **params: Any) -> RanPipeline:
    incomes().to_csv(folder / "incomes.csv", index=False)
    pipeline = {
        "data": {"source": "incomes.csv"},
        "edits": edits,
        "protect": [{"method": method, "params": params}],
        "output": {"data": "masked.csv", "record": "run.json"},
    }
    return run_pipeline_in(folder, pipeline, plugins=plugins)


@pytest.mark.parametrize(("method", "params"), [("additive_noise", {}), ("microaggregation", {"k": 5})])
def test_values_are_moved_to_the_nearest_point(tmp_path: Path, method: str, params: dict[str, Any]) -> None:
    found = ran(tmp_path, [{"rule": RULE, "name": "kinds"}], method=method, **params)
    assert found.exit_code == 0, found.messages
    (edit,) = found.record["edits"]
    assert (edit["planned"], edit["kept_by"], edit["violations"]) == ("adjustment", "adjustment", 0)
    assert "nearest point that at_most_nonzero gives" in edit["how"]
    masked = pd.read_csv(tmp_path / "masked.csv")
    assert ((masked != 0).sum(axis=1) <= 2).all()


def test_intervals_of_other_edits_are_kept(tmp_path: Path) -> None:
    found = ran(tmp_path, [RULE, *(f"{name} in [0, 3900]" for name in ("wages", "pension", "benefits"))])
    assert found.exit_code == 0, found.messages
    masked = pd.read_csv(tmp_path / "masked.csv")
    assert ((masked != 0).sum(axis=1) <= 2).all()
    assert masked.min().min() >= 0
    assert masked.max().max() <= 3900


def test_what_other_edits_bind_is_only_checked_and_says_why(tmp_path: Path) -> None:
    found = ran(tmp_path, [RULE, "wages <= 4000 + pension"], method="microaggregation", k=5)
    (edit,) = (each for each in found.record["edits"] if each["text"] == RULE)
    assert edit["planned"] == "checked"
    assert "other edits bind its variables" in edit["how"]
    # Released only where a point was found for every record; else refused, and nothing is written.
    assert found.exit_code in (0, 1)
    assert (tmp_path / "masked.csv").exists() == (found.exit_code == 0)


def test_missing_cells_leave_a_rule_open() -> None:
    data = pd.DataFrame({"a": [1, 0, None, None, 3], "b": [1, 0, 2, 0, 3], "c": [1, 0, 2, 0, None]})
    outcome = mw.validate(data, ["at_most_nonzero(2, a..c)", "at_most_nonzero(1, a, b, c)"])
    assert [(each.violations, each.unknown) for each in outcome.edits] == [(1, 2), (3, 0)]


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("at_most_nonzero(2, a)", "takes most, and then 2 or more variables, not 1"),
        ("at_most_nonzero(a, b, c)", "begins with a number, most; found the variable a"),
        ("at_most_nonzero(1.5, b, c)", "most: input should be a valid integer"),
        ("at_most_nonzer(1, b, c)", "did you mean 'at_most_nonzero'"),
        ("at_most_nonzero(1, b, 'c')", "needs numbers; found a text"),
        ("at_most_nonzero(1, b, c) + 1 > 2", "found a condition"),
    ],
)
def test_wrong_calls_are_told_at_their_place(rule: str, said: str) -> None:
    with pytest.raises(mw.EditError) as error:
        mw.EditSet.parse([rule])
    assert said in str(error.value)


def test_other_languages_say_by_name_that_they_cannot(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text(f"edits:\n- {{rule: '{RULE}', name: kinds}}\n- wages >= 0\n")
    assert main(["edits", str(rules), "--to", "yaml"]) == 0
    assert RULE in capsys.readouterr().out
    for language in ("schematron", "validate"):
        main(["edits", str(rules), "--to", language])
        told = " ".join("".join(capsys.readouterr()).split())
        assert "kinds" in told
        assert "at_most_nonzero" in told


def test_a_kind_that_is_not_installed_is_a_mistake_in_the_rules(tmp_path: Path) -> None:
    found = ran(tmp_path, ["tens(wages, pension)"])
    assert found.exit_code == 2
    assert "no function called 'tens'" in str(found.error)
