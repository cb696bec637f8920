"""SUDA against figures of another program, against every subset tried out, and its invariances."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright import Column, Comparison, Dataset, InputError, Variable, find_measure
from maskwright.cli.main import main
from maskwright_builtin.measures.key_variables import minimal_sample_uniques as search
from maskwright_builtin.measures.key_variables.minimal_sample_uniques import (
    different_rows,
    minimal_sample_uniques,
    score_weights,
)
from maskwright_builtin.measures.key_variables.suda import dis_suda

SUDA = find_measure("suda")
KEYS = ["region", "sex", "age10", "edu", "occ", "marital"]
SURVEY = Path(__file__).parents[3] / "reference" / "categorical_survey.csv"


def searched(codes, largest=None):
    """Records with a score and their scores, the search and its rows; `codes` by record."""
    columns = [np.array(column, dtype=np.int64) for column in zip(*codes, strict=True)]
    classes = mw.Classes.of(columns)
    rows = different_rows(classes.keys, classes.records)
    found = minimal_sample_uniques(rows, largest or len(columns), lambda _: None)
    records = classes.first[rows.unique]
    return {int(record): score for record, score in zip(records, found.score, strict=True) if score}, found, rows


def tried_out(codes, largest):
    """Minimal sample uniques of each record, by the definition."""
    q = len(codes[0])

    def alone(i, keys):
        mine = [codes[i][key] for key in keys]
        return -1 not in mine and all([other[key] for key in keys] != mine for j, other in enumerate(codes) if j != i)

    found = {}
    for i in range(len(codes)):
        minimal = []
        for size in range(1, q + 1):
            for keys in itertools.combinations(range(q), size):
                if not any(set(each) <= set(keys) for each in minimal) and alone(i, keys):
                    minimal.append(keys)
        found[i] = [keys for keys in minimal if len(keys) <= largest]
    return found


@pytest.fixture(scope="module")
def survey():
    return pd.read_csv(SURVEY, dtype=dict.fromkeys(KEYS, str))


def measured(frame, **params):
    (found,) = mw.measure(frame, frame, [{"suda": {"keys": KEYS, "sampling_fraction": 0.01, **params}}]).values()
    return found


def test_the_survey_has_the_figures_of_another_program(survey):
    """Those of sdcMicro 5.8.1 on the same file: records, scores, DIS and contributions of variables."""
    found = measured(survey)
    parts = found.parts
    assert parts["total_score"] == 7915
    assert [parts[f"msus_{size}"] for size in range(1, 7)] == [0, 7, 459, 1975, 1008, 35]
    assert parts["scored"] == pytest.approx(100 * 1426 / 2622)
    assert int((found.per_record > 0).sum()) == 1426
    assert parts["dis"] / 100 == pytest.approx(0.02961332, abs=1e-7)
    assert found.per_record.sum() / 100 == pytest.approx(92.59774, abs=1e-4)
    assert parts["largest_risk"] / 100 == pytest.approx(0.447986, abs=1e-5)
    assert list(found.per_variable.values()) == pytest.approx(
        [68.31333, 33.91030, 66.12761, 69.38724, 79.36829, 57.47315], abs=1e-4
    )
    assert found.value == pytest.approx(100 * float((found.per_record > 10).mean()))
    assert measured(survey, above=0.3).value < found.value


def test_sets_of_up_to_three_keys(survey):
    found = measured(survey, largest=3)
    assert found.parts["total_score"] == 1461
    assert int((found.per_record > 0).sum()) == 266
    assert [found.parts[f"msus_{size}"] for size in (1, 2, 3)] == [0, 7, 459]
    assert "msus_4" not in found.parts


def test_weights_give_the_sampling_fraction(survey):
    (found,) = mw.measure(survey, survey, [{"suda": {"keys": KEYS}}], declared={"weight": {"role": "weight"}}).values()
    fraction = len(survey) / survey["weight"].sum()
    assert found.parts["dis"] == pytest.approx(measured(survey, sampling_fraction=fraction).parts["dis"])


def test_without_weights_the_file_is_the_population(survey):
    (found,) = mw.measure(survey, survey, [{"suda": {"keys": KEYS}}]).values()
    assert found.value == pytest.approx(found.parts["scored"])
    assert any("whole population" in note for note in found.notes)


def test_a_total_of_a_larger_file():
    """100,000 records of eight keys, drawn as the published comparison says; sdcMicro finds the same total."""
    generator = np.random.Generator(np.random.PCG64(7))
    columns = []
    for levels in (6, 2, 19, 6, 12, 5, 24, 3):
        chance = 1.0 / (np.arange(levels) + 1)
        columns.append(generator.choice(levels, 100_000, p=chance / chance.sum()))
    classes = mw.Classes.of(columns)
    rows = different_rows(classes.keys, classes.records)
    found = minimal_sample_uniques(rows, 8, lambda _: None)
    assert found.score.sum() == 2_447_696
    assert int((found.score > 0).sum()) == 72_457


@pytest.mark.parametrize(
    ("keys", "largest", "weights"), [(6, 6, [120, 24, 6, 2, 1, 1]), (6, 3, [60, 12, 3]), (2, 2, [1, 1]), (1, 1, [1])]
)
def test_weights_of_sets(keys, largest, weights):
    assert score_weights(keys, largest) == weights


FILES = st.integers(1, 5).flatmap(
    lambda q: st.lists(st.tuples(*[st.integers(-1, 3)] * q), min_size=1, max_size=30).map(lambda rows: (q, rows))
)


@given(file=FILES, largest=st.integers(1, 5), hashed=st.booleans())
@settings(max_examples=150, deadline=None)
def test_equals_every_subset_tried_out(file, largest, hashed):
    q, codes = file
    largest = min(largest, q)
    with pytest.MonkeyPatch.context() as patch:
        if hashed:
            patch.setattr(search, "LARGEST_TABLE", 1)
            patch.setattr(search, "LARGEST_NUMBER", 8)
        scores, found, _ = searched(codes, largest)
    expected = tried_out(codes, largest)
    weights = score_weights(q, largest)
    assert scores == {i: sum(weights[len(keys) - 1] for keys in minimal) for i, minimal in expected.items() if minimal}
    counted = dict(zip(found.sets, found.minimal.tolist(), strict=True))
    assert counted == {
        keys: sum(keys in minimal for minimal in expected.values())
        for size in range(1, largest + 1)
        for keys in itertools.combinations(range(q), size)
    }
    for keys, unique in zip(found.sets, found.unique.tolist(), strict=True):
        assert unique == sum(any(set(each) <= set(keys) for each in minimal) for minimal in expected.values())
    assert found.by_key.sum() == sum(
        len(keys) * weights[len(keys) - 1] for minimal in expected.values() for keys in minimal
    )


@given(file=FILES, seed=st.integers(0, 1000))
@settings(max_examples=60, deadline=None)
def test_order_of_records_and_keys_and_names_of_categories_are_irrelevant(file, seed):
    q, codes = file
    generator = np.random.default_rng(seed)
    records, keys, names = generator.permutation(len(codes)), generator.permutation(q), [*generator.permutation(4), -1]
    scores, _, _ = searched(codes)
    others, _, _ = searched([[int(names[codes[i][j]]) for j in keys] for i in records])
    assert {int(records[i]): score for i, score in others.items()} == scores


@given(file=FILES, merged=st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_merging_categories_never_singles_another_record_out_by_one_key(file, merged):
    _, codes = file
    together = [[merged if cell == merged + 1 else cell for cell in row] for row in codes]
    before, after = (tried_out(each, 1) for each in (codes, together))
    _, found, _ = searched(together, 1)
    assert sum(map(len, after.values())) == found.minimal.sum()
    for i, minimal in after.items():
        assert set(minimal) <= set(before[i])


def test_equal_scores_have_the_probability_of_the_file():
    assert dis_suda(np.full(7, 12.0), 0.3, 5) == pytest.approx(0.3)
    assert dis_suda(np.array([0.0, 2.0]), 0.4, 5) == pytest.approx([0.0, 0.4])
    assert dis_suda(np.array([1.0, 2.0]), 1.0, 5).tolist() == [1.0, 1.0]
    assert not dis_suda(np.zeros(3), 0.4, 5).any()


def test_missing_cells_match_nothing_and_single_nobody_out():
    scores, found, rows = searched([(0, -1), (0, 1), (1, 1), (1, 1)])
    # The first record shows only key 0, on which it is not alone; the second is alone on both keys together.
    assert set(scores) == {1}
    assert dict(zip(found.sets, found.minimal.tolist(), strict=True)) == {(0,): 0, (1,): 0, (0, 1): 1}
    assert rows.pairs == 1


def dataset(**columns):
    made = []
    for name, cells in columns.items():
        if all(isinstance(cell, str) for cell in cells):
            categories = tuple(sorted(set(cells)))
            codes = np.array([categories.index(cell) for cell in cells], dtype=np.int32)
            made.append(Column(Variable(name, "nominal", categories=categories), codes, codes < 0))
        else:
            values = np.array(cells, dtype=np.float64)
            made.append(Column(Variable(name), values, np.isnan(values)))
    return Dataset(tuple(made))


def computed(data, **params):
    return SUDA.compute(Comparison(data, data, ()), SUDA.params(**params), np.random.default_rng(0))


def test_sets_are_named_when_asked_for():
    data = dataset(a=["x", "x", "y", "y"], b=["u", "v", "v", "v"])
    found = computed(data, keys=["a", "b"], sets=True)
    assert found.parts["unique on a + b"] == 50
    assert found.parts["minimal a + b"] == 25
    assert found.parts["minimal b"] == 25
    assert found.notes[-1] == "smallest sets that single out most records: b 25 %, a + b 25 %"


def test_values_are_named_when_asked_for_and_only_where_many_have_them():
    a = ["x"] * 12 + ["y"] * 12 + ["z"]
    b = [*range(12), *([0.0] * 12), 0.0]
    data = dataset(a=a, b=[float(each) for each in b])
    assert not [name for name in computed(data, keys=["a", "b"]).parts if "=" in name]
    found = computed(data, keys=["a", "b"], values=3).parts
    # z is the value of one record alone, and so are 1, 2, ..., 11 of b.
    assert [name for name in found if "=" in name] == ["a = x", "b = 0"]
    # Key a singles out z (weight 1), and with b = 0 the first record (weight 1).
    assert found["a = x"] == pytest.approx(50)


def test_too_many_sets_are_refused_by_name():
    names = [f"k{number}" for number in range(16)]
    data = dataset(**{name: [1.0, 2.0] for name in names})
    with pytest.raises(InputError, match=r"16 keys have 65,535 sets.*`largest: 6`"):
        computed(data, keys=names)
    assert computed(data, keys=names, largest=2).parts["msus_1"] == 32
    many = [f"k{number}" for number in range(63)]
    with pytest.raises(InputError, match="at most 62 keys, not 63"):
        computed(dataset(**{name: [1.0, 2.0] for name in many}), keys=many, largest=1)


def test_a_plan_refuses_too_many_sets_before_any_record_is_masked():
    from maskwright import Measurable

    given = Measurable({f"k{number}": Variable(f"k{number}") for number in range(16)}, ())
    assert [parameter for parameter, _ in SUDA.claims.check(SUDA.params(keys=list(given.variables)), given)] == [
        "largest"
    ]
    assert not list(SUDA.claims.check(SUDA.params(keys=list(given.variables), largest=3), given))


def test_a_larger_m_than_keys_is_all_keys():
    data = dataset(a=[1.0, 2.0, 2.0])
    assert math.isclose(computed(data, keys=["a"], largest=5).value, 100 / 3)


def pipeline(folder, thresholds, rng):
    n = 200
    frame = pd.DataFrame(
        {
            "region": rng.choice(["north", "south"], n),
            "job": rng.choice(list("abcd"), n, p=[0.6, 0.3, 0.09, 0.01]),
            "age": rng.integers(20, 40, n),
            "income": rng.integers(100, 9000, n),
        }
    )
    frame.to_csv(folder / "survey.csv", index=False)
    (folder / "pipeline.yaml").write_text(
        "maskwright: 1\n"
        "seed: 1\n"
        "data:\n"
        "  source: survey.csv\n"
        "  variables:\n"
        "    region: {role: quasi_identifier, release: as is}\n"
        "    job: {role: quasi_identifier, release: as is}\n"
        "    age: {role: quasi_identifier, release: as is}\n"
        "protect:\n"
        "  - {method: microaggregation, params: {k: 3}, variables: [income]}\n"
        "measure:\n"
        "  - suda: {sampling_fraction: 0.1, values: 3}\n"
        "  - population_uniques: {sampling_fraction: 0.1}\n"
        f"thresholds: {thresholds}\n"
        "output: {data: masked.csv, record: run.json, public_record: public.json, report: report.html}\n",
        encoding="utf-8",
    )
    return folder / "pipeline.yaml"


def test_an_office_sets_a_threshold(tmp_path, capsys):
    rng = np.random.default_rng(2)
    assert main(["run", str(pipeline(tmp_path, "{suda: 100, population_uniques: 100}", rng)), "--quiet"]) == 0
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["measures"]["suda"]
    assert record["met"]
    # No step masks the keys: the original has the same risk.
    assert record["before"]["value"] == record["value"]
    assert "the only ones with their values of region, job and age" in record["sentence"]
    assert [name for name in record["parts"] if " = " in name]
    public = (tmp_path / "public.json").read_text(encoding="utf-8")
    assert "msus_1" not in public
    assert "age = " not in public
    (tmp_path / "masked.csv").unlink()
    assert main(["run", str(pipeline(tmp_path, "{suda.scored: 0.01}", rng)), "--quiet"]) == 1
    assert "suda.scored" in capsys.readouterr().err
    assert not (tmp_path / "masked.csv").exists()


def test_the_worst_of_several_sets_of_keys():
    data = dataset(a=["x", "x", "y", "y"], b=["u", "v", "v", "v"])
    found = computed(data, key_sets={"few": ["a"], "both": ["a", "b"]})
    assert found.value == found.parts["keys_both"] == 50
    assert found.parts["keys_few"] == 0
