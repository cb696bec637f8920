"""Rows of the thesis's tables A.1 to A.5, from the experiment file that reproduces all of them, by `compare`.

The whole experiment is benchmarks/reproduction/thesis.py. Printed figures: thesis, Appendix A; two decimals.
"""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from maskwright.experiments.advice.variable_partitions import coded, partitions
from maskwright.experiments.compare import compare, run_cells
from maskwright.experiments.experiment import read_experiment
from maskwright.foundation.progress import Quiet

GOLDEN = Path(__file__).parent
REPRODUCTION = Path(__file__).parents[2] / "benchmarks" / "reproduction"
# What the specification suggests as regression tests, and a row of each family in which it found differences.
EXACT = [
    "MicZ k=3", "MicPCP k=3", "Micmul k=3", "Micmul k=16", "Mic5mul k=3", "MicOI k=3", "MicOI k=12",
]  # fmt: skip
STATED = [
    "Micmul k=4",
    "Mic2mul k=20",
    "Micmul k=20",
    "Mic2mul k=3",
    "Mic3mul k=5",
    "Mic4mul k=7",
    "Mic6mul k=19",
    "MicOI k=13",
]


def script_of(name: str) -> Any:
    if not REPRODUCTION.is_dir():
        pytest.skip("the experiments (folder 'benchmarks') are not part of a source distribution")
    specification = importlib.util.spec_from_file_location(f"reproduction_{name}", REPRODUCTION / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module  # dataclasses look their module up there
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def grades() -> Any:
    return script_of("grades")


@pytest.fixture(scope="module")
def partitions_script() -> Any:
    return script_of("partitions")


def folder_with(reference: Path, tmp_path: Path, experiment: str, *files: str) -> Path:
    shutil.copy(REPRODUCTION / experiment, tmp_path)
    for file in files:
        shutil.copy(reference / file, tmp_path)
    return tmp_path / experiment


def test_the_rows_of_the_thesis_have_the_grades_that_the_specification_states(
    reference: Path, tmp_path: Path, grades: Any
) -> None:
    described = read_experiment(folder_with(reference, tmp_path, "thesis.yaml", "census.csv"))
    cells = described.cells()
    assert len(cells) == 215
    chosen = [cell for cell in cells if cell.name in {*EXACT, *STATED}]
    compared = run_cells(described, chosen, Quiet(), workers=1)
    rows = grades.grade(compared.runs, grades.published(GOLDEN / "thesis_tables_a1_to_a5.csv")).rows
    found = {f"{row.family} k={row.parameter:.0f}": row for row in rows.itertuples()}
    assert {name: found[name].grade for name in EXACT} == dict.fromkeys(EXACT, "exact")
    for name in EXACT:
        assert found[name].difference < 0.02
    assert {name: found[name].grade for name in STATED} == dict.fromkeys(STATED, "within the stated difference")
    # With each record's own original the conclusions differ: published 28.24 is not what a release would score.
    assert found["Micmul k=16"]._asdict()["_6"] > 30.0


def test_every_published_variant_has_a_cell(reference: Path, tmp_path: Path, grades: Any) -> None:
    described = read_experiment(folder_with(reference, tmp_path, "thesis.yaml", "census.csv"))
    printed = grades.published(GOLDEN / "thesis_tables_a1_to_a5.csv")
    cells = {
        (cell.family, round(next(iter(cell.values.values())) * (100 if cell.family == "Addt" else 1)))
        for cell in described.cells()
        if cell.values
    }
    assert cells == {(family, round(parameter)) for family, parameter in printed.index if family != "Distr"}


# Specification of the source papers, section 6.4: PIL of 16 variables, with MDAV.
S1 = {4: 25.60, 8: 35.77, 10: 38.96, 20: 50.46}
S2 = {4: 24.07, 6: 31.63, 8: 37.05, 10: 41.19, 20: 50.91}


def test_scenarios_of_constrained_microaggregation(reference: Path, tmp_path: Path) -> None:
    path = folder_with(reference, tmp_path, "constrained.yaml", "census16.xml")
    path.write_text(path.read_text().replace("{from: 1, to: 99}", "[1, 4, 6, 8, 10, 20]"))
    compared = compare(path, workers=1, draw=False)
    points = compared.points
    for k, loss in S2.items():
        assert points.loc[f"S2 k={k} [ignored]", "pil"] == pytest.approx(loss, abs=0.02)
    for k, loss in S1.items():
        # The file has round(10^6 / V11) where the specification computed with 1 / V11, and cells are rounded.
        assert points.loc[f"S1 k={k} [kept]", "pil"] == pytest.approx(loss, abs=0.5)
    assert (points["violations"] == 0).all()
    assert points.loc["S1 k=1 [kept]", "score"] == 50.0
    # The geometric mean biases means, which the paper does not report.
    assert 6.0 < points.loc["S1 k=4 [kept]", "pil.means"] < 11.0
    assert points.loc["S2 k=4 [ignored]", "pil.means"] < 0.1


def test_correlations_of_appendix_b_from_cached_blocks(reference: Path, partitions_script: Any) -> None:
    """The 13 partitions into 1 + 12 at k = 10, under the protocol of the thesis and under the ordinary one."""
    script = partitions_script
    census = pd.read_csv(reference / "census.csv")
    names, masks = tuple(census.columns), script.Masks(census)
    original = script.dataset(census.to_numpy(float), names)
    listed = list(partitions((1, 12)))
    losses = {
        protocol: [script.measured(original, names, masks.masked(blocks, 10), protocol)["PI"] for blocks in listed]
        for protocol in script.PROTOCOLS
    }
    assert len(masks) == 26
    printed = pd.read_csv(GOLDEN / "thesis_tables_7_1_to_7_15.csv", comment="#").query(
        "variant == 'Mic1-12mul' and measure == 'PI' and k == 10"
    )
    # DMM's last step is open: the specification reproduces k = 10 to about one in a hundred.
    assert np.mean(losses["thesis-protocol"]) == pytest.approx(printed["mean"].item(), abs=0.5)
    stated = pd.read_csv(GOLDEN / "thesis_appendix_b_k10.csv", comment="#").query(
        "variant == 'Mic1-12mul' and measure == 'PI'"
    )
    correlation = np.corrcoef(census.to_numpy(float).T)
    for protocol, group in stated.groupby("protocol"):
        for row in group.itertuples():
            values = [coded(correlation, blocks, row.A, row.B) for blocks in listed]
            if np.std(values) > 1e-9:
                assert np.corrcoef(values, losses[protocol])[0, 1] == pytest.approx(row.recomputed_corr, abs=0.02)
    # The warning of the advice: an indicator that points one way under one protocol points the other under the other.
    by_indicator = stated.set_index(["protocol", "A", "B"])["recomputed_corr"]
    assert by_indicator["thesis-protocol", 5, 8] < 0 < by_indicator["all-records", 5, 8]
    assert by_indicator["thesis-protocol", 5, 11] < 0
    assert by_indicator["all-records", 5, 11] < 0
