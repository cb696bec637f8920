"""A run measures what masking cost, of numbers and of categories, whether it was asked to or not."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

OF_CATEGORIES = ["contingency_tables", "entropy_based_loss"]
OF_NUMBERS = ["pil", "sse", "spikes"]
PRAM = "{method: pram, variables: [region]}"
BANDS = "{method: recoding, variables: [age]}"
MEANS = "{method: microaggregation, variables: [income], params: {k: 5}}"


def run(folder: Path, steps: list[str], measure: str = "") -> Mapping[str, Any]:
    rng = np.random.default_rng(1)
    pd.DataFrame(
        {
            "region": rng.choice(list("abcd"), 200),
            "sex": rng.choice(["m", "f"], 200),
            "age": rng.integers(0, 95, 200),
            "income": rng.integers(1000, 90_000, 200),
        }
    ).to_csv(folder / "d.csv", index=False)
    masked = "".join(steps)
    declared = "".join(
        f"    {name}: {{role: {role}{'' if name in masked else ', release: as is'}}}\n"
        for name, role in (
            ("region", "quasi_identifier"),
            ("sex", "quasi_identifier"),
            ("age", "quasi_identifier"),
            ("income", "confidential"),
        )
    )
    (folder / "p.yaml").write_text(
        f"maskwright: 1\ndata:\n  source: d.csv\n  variables:\n{declared}protect: [{', '.join(steps)}]\n{measure}"
        "seed: 1\noutput: {data: m.csv, report: r.html}\n",
        encoding="utf-8",
    )
    return mw.run(folder / "p.yaml").record


def test_masked_categories_have_a_loss_in_every_report(tmp_path: Path) -> None:
    record = run(tmp_path, [PRAM])
    assert list(record["measures"]) == OF_CATEGORIES
    assert record["measures"]["contingency_tables"]["value"] > 0.0
    assert record["measures"]["entropy_based_loss"]["per_variable"]["sex"] == 0.0
    assert record["not_measured"] == ["age"]
    report = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "contingency_tables" in report
    assert "anything: no measure was requested" not in report


def test_mixed_ones_have_both_and_each_says_what_it_leaves_out(tmp_path: Path) -> None:
    record = run(tmp_path, [PRAM, BANDS, MEANS])
    assert list(record["measures"]) == [*OF_NUMBERS, *OF_CATEGORIES]
    assert record["measures"]["pil"]["leaves_out"] == ["region", "age"]
    tables = record["measures"]["contingency_tables"]
    assert tables["leaves_out"] == ["income"]
    assert "recoded, compared on the published categories: age" in tables["notes"]
    assert tables["per_variable"]["age"] == 0.0
    assert any(note.startswith("1 of the 3 variables compared are published unmasked") for note in tables["notes"])
    assert record["measures"]["entropy_based_loss"]["per_variable"]["age"] > 50.0, "the detail that bands take away"
    assert record["not_measured"] == []


@pytest.mark.parametrize(
    ("steps", "measure", "expected"),
    [
        ([MEANS], "", OF_NUMBERS),
        ([PRAM, MEANS], "measure: [sse]\n", ["sse", *OF_CATEGORIES]),
        ([PRAM, MEANS], "measure: [cramers_v]\n", ["cramers_v", *OF_NUMBERS]),
        ([PRAM, MEANS], "measure: [k_anonymity]\n", ["k_anonymity", *OF_NUMBERS, *OF_CATEGORIES]),
        ([PRAM], "measure: [{distance_based_loss: {as: contingency_tables}}]\n", ["contingency_tables"]),
        ([PRAM, MEANS], "measure: []\n", []),
    ],
)
def test_what_is_asked_for_is_not_added_to(tmp_path: Path, steps: list[str], measure: str, expected: list[str]) -> None:
    assert list(run(tmp_path, steps, measure)["measures"]) == expected


def test_a_threshold_on_a_loss_that_leaves_masked_variables_out_is_a_doubt(tmp_path: Path) -> None:
    measure = "measure: [contingency_tables, sse]\nthresholds: {contingency_tables: 0.5}\n"
    with pytest.raises(mw.OpenDoubts, match="W403 loss-leaves-out-masked-variables: contingency_tables") as refused:
        run(tmp_path, [PRAM, BANDS, MEANS], measure)
    assert "leaves out masked variables: income" in str(refused.value)
    both = "measure: [contingency_tables, sse]\nthresholds: {contingency_tables: 0.5, sse: 90}\n"
    assert set(run(tmp_path, [PRAM, BANDS, MEANS], both)["measures"]) == {"contingency_tables", "sse"}
    only = "measure: [{contingency_tables: {variables: [sex]}}]\n"
    found = run(tmp_path, [PRAM], only)["measures"]
    assert found["contingency_tables"]["value"] is None
    assert found["contingency_tables"]["leaves_out"] == ["region"]


def test_a_loss_that_nobody_asked_for_never_stops_a_run(tmp_path: Path) -> None:
    """Sums of squares of such numbers overflow, and the measure refuses them."""
    rng = np.random.default_rng(2)
    pd.DataFrame({"x": rng.normal(size=50) * 1e120}).to_parquet(tmp_path / "d.parquet")
    settings = {
        "maskwright": 1,
        "data": {"source": str(tmp_path / "d.parquet")},
        "protect": [{"method": "rank_swapping"}],
        "output": {"data": str(tmp_path / "m.parquet")},
        "seed": 1,
    }
    found = mw.run(settings).record["measures"]
    assert found["sse"]["value"] is None
    assert found["sse"]["notes"][0].startswith("not computed: ")
    with pytest.raises(mw.InputError, match="cannot be measured"):
        mw.run({**settings, "measure": ["sse"]})


def test_two_files_are_measured_by_what_they_hold(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def measured(before: dict[str, list[Any]], after: dict[str, list[Any]]) -> dict[str, Any]:
        for name, columns in (("a.csv", before), ("b.csv", after)):
            pd.DataFrame(columns).to_csv(tmp_path / name, index=False)
        assert main(["measure", str(tmp_path / "a.csv"), str(tmp_path / "b.csv"), "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)["measures"]
        return found

    texts, others = ["p", "q", "p", "q"], ["p", "p", "p", "q"]
    assert list(measured({"a": texts}, {"a": others})) == OF_CATEGORIES
    numbers = [1.5, 2.5, 4.0, 8.0]
    found = measured({"a": texts, "x": numbers}, {"a": others, "x": numbers[::-1]})
    assert list(found) == [*OF_NUMBERS, "distance_record_linkage", *OF_CATEGORIES]
    assert found["entropy_based_loss"]["value"] > 0.0
