"""A small survey with an edit, and experiments on it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

EXPERIMENT = """\
maskwright: 1
data: {source: survey.csv}
edits: [wage + rent == income]
grid:
  - family: together
    method: microaggregation
    params: {partition: mdav}
    vary: {k: {from: 1, to: 4}}
  - family: fuzzy
    method: fuzzy_microaggregation
    vary: {k: [5, 10]}
    repeats: 2
measure: [pil, score, {distance_record_linkage: {known: 2}}]
map: {risk: distance_record_linkage, loss: pil}
seed: 7
output: results
"""


class Study:
    """A folder with a survey, in which experiments are written."""

    text = EXPERIMENT

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rng = np.random.default_rng(3)
        wage, rent, age = rng.integers(900, 9000, 60), rng.integers(10, 3000, 60), rng.integers(18, 90, 60)
        rows = [f"{w},{r},{w + r},{a}" for w, r, a in zip(wage, rent, age, strict=True)]
        (folder / "survey.csv").write_text("wage,rent,income,age\n" + "\n".join(rows) + "\n")

    def experiment(self, *changes: tuple[str, str], text: str = EXPERIMENT) -> Path:
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = self.folder / "experiment.yaml"
        path.write_text(text)
        return path


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


@pytest.fixture(scope="session")
def cells(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with what is known of the cells of the experiment as it stands."""
    made = Study(tmp_path_factory.mktemp("cells"))
    mw.compare(made.experiment(), workers=1)
    return made.folder / "results" / ".cache"


@pytest.fixture
def known(study: Study, cells: Path) -> Study:
    """The survey, and an experiment whose cells are known already."""
    shutil.copytree(cells, study.folder / "results" / ".cache")
    return study
