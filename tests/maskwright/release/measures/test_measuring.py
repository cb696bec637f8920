"""What is published unmasked counts in the measures of a run: an intruder knows it too."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

PIPELINE = """
maskwright: 1
seed: 1
data:
  source: survey.csv
  variables:
    age: {role: quasi_identifier, release: as is}
    w: {role: weight}
    note: {role: other}
protect:
  - {method: microaggregation, variables: [wage, rent], params: {k: 10}}
measure:
  - sse
  - distance_record_linkage: {known: [age, wage, rent], as: all}
  - distance_record_linkage: {known: [age], as: age}
output: {data: masked.csv, record: run.json}
"""


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """120 records, the age of each its own."""
    rng = np.random.default_rng(7)
    n = 120
    frame = pd.DataFrame(
        {"age": rng.permutation(n), "wage": rng.integers(0, 9000, n), "rent": rng.integers(0, 900, n),
         "w": rng.integers(1, 9, n), "note": rng.integers(0, 9, n)}
    )  # fmt: skip
    frame.to_csv(tmp_path / "survey.csv", index=False)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE, encoding="utf-8")
    return tmp_path


def test_a_run_measures_what_a_comparison_of_the_two_files_measures(survey: Path) -> None:
    run = mw.run(survey / "pipeline.yaml").record["measures"]
    roles = {"age": {"role": "quasi_identifier"}, "w": {"role": "weight"}, "note": {"role": "other"}}
    original, masked = (pd.read_csv(survey / name) for name in ("survey.csv", "masked.csv"))
    known = {"known": ["age", "wage", "rent"]}
    found = mw.measure(original, masked, ["sse", {"distance_record_linkage": known}], declared=roles)
    assert run["all"]["value"] == pytest.approx(found["distance_record_linkage"].value)
    assert run["sse"]["value"] == pytest.approx(found["sse"].value)
    assert run["age"]["value"] == 100.0
    assert set(run["sse"]["per_variable"]) == {"age", "wage", "rent"}
    assert run["sse"]["per_variable"]["age"] == 0.0


def test_the_run_names_the_unmasked_variables_that_are_measured(survey: Path) -> None:
    for each in mw.run(survey / "pipeline.yaml").record["measures"].values():
        (said,) = (note for note in each["notes"] if "unmasked" in note)
        assert said.startswith("1 of the 3 variables compared are published unmasked")
        assert said.endswith(": age")
