"""The edits of the two-level example: Maskwright and an evaluator in pandas name the same records."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.commands.demo.levels.files import LevelsDemoFiles, write_levels_demo
from maskwright.commands.demo.levels.model import HOUSEHOLD, PERSON
from maskwright.edits.levels.binding import bind
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.structure import Structure

sys.path.insert(0, str(Path(__file__).parents[2] / "levels"))
from pandas_evaluator import AMOUNTS, TEXTS, evaluate, read_flat

KEYS = ("hhid", "pno")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> LevelsDemoFiles:
    return write_levels_demo(tmp_path_factory.mktemp("levels"), 1_500)


def numbers(cells: pd.DataFrame) -> pd.DataFrame:
    return cells.assign(**{name: pd.to_numeric(cells[name]) for name in cells if name not in TEXTS})


def levels_of(pipeline: Path) -> dict[str, dict]:
    levels = yaml.safe_load(pipeline.read_text(encoding="utf-8"))["data"]["levels"]
    return {name: {key: said for key, said in level.items() if key != "source"} for name, level in levels.items()}


def violating(linked: mw.LinkedData, edits: Path) -> dict[str, list[bool]]:
    bound = bind(mw.read_edits(edits), Structure.of(linked))
    found = {}
    for level, rules in bound.edits.items():
        chunk = mw.RecordChunk.from_dataset(with_linked_columns(linked, bound, level))
        for rule in rules:
            verdict = mw.evaluate(rule, chunk)
            found[rule.name] = (~verdict.holds & ~verdict.unknown).tolist()
    return found


def in_pandas(flat: pd.DataFrame) -> dict[str, list[bool]]:
    return {
        name: verdict.violated.tolist()
        for name, verdict in evaluate(flat).items()
        if not name.startswith(("constant: ", "pointer: "))
    }


def damaged(flat: pd.DataFrame, seed: int) -> pd.DataFrame:
    """Cells exchanged, emptied, negated and made large, of households in all their rows."""
    rng = np.random.default_rng(seed)
    household = flat["hhid"].factorize()[0]
    found = flat.copy()
    for name in (each for each in (*HOUSEHOLD, *PERSON) if each not in KEYS):
        of_household = name in HOUSEHOLD
        count = household[-1] + 1 if of_household else len(flat)
        what, other = rng.random(count), rng.choice(flat[name].unique(), count)
        if of_household:
            what, other = what[household], other[household]
        texts = flat[name].mask(what < 0.08, other).mask(what > 0.96)
        if name in AMOUNTS:
            texts = texts.where((what < 0.08) | (what > 0.09), "-" + texts)
        if name == "age":
            texts = texts.where((what < 0.08) | (what > 0.09), "115")
        found[name] = texts
    return found


def test_flat_and_linked_form_give_the_verdicts_of_pandas(files: LevelsDemoFiles) -> None:
    flat = read_flat(files.flat)
    expected = in_pandas(flat)
    of_flat = mw.linked_data(numbers(flat), levels_of(files.pipelines[0]))
    assert violating(of_flat, files.edits) == expected
    tables = {"household": numbers(read_flat(files.households)), "person": numbers(read_flat(files.persons))}
    assert violating(mw.linked_data(tables, levels_of(files.pipelines[1])), files.edits) == expected
    assert sum(map(sum, expected.values())) >= 11


@pytest.mark.parametrize("seed", range(4))
def test_the_verdicts_agree_on_missing_and_wrong_cells(files: LevelsDemoFiles, seed: int) -> None:
    flat = damaged(read_flat(files.flat), seed)
    expected = in_pandas(flat)
    assert violating(mw.linked_data(numbers(flat), levels_of(files.pipelines[0])), files.edits) == expected
    assert {name for name, violated in expected.items() if not any(violated)} == {"numbers-differ"}
