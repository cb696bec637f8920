"""Linkage over mixed keys: published figures of the survey, an oracle in fractions that visits every pair, bands."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw
from maskwright_builtin.measures.record_linkage.mixed.agreement_levels import Levels, pattern_counts
from maskwright_builtin.measures.record_linkage.mixed.mixed_keys import mixed_keys, rows_of

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ["region", "sex", "age", "edu", "occ", "marital"]
NOMINAL = ["region", "sex", "occ", "marital"]
GOWER, FELLEGI_SUNTER = "mixed_record_linkage", "mixed_probabilistic_record_linkage"


@pytest.fixture(scope="module")
def survey(reference: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    before = pd.read_csv(reference / "categorical_survey.csv")
    n = len(before)
    one = np.arange(1, n + 1)
    after = before.assign(
        edu=np.where(7 * one % 10 < 2, np.minimum(before.edu + 1, 5), before.edu),
        marital=np.where(one % 9 == 0, (before.marital + 1) % 5, before.marital),
        occ=np.where(one % 5 == 0, before.occ.to_numpy()[13 * one % n], before.occ),
        region=np.where(one % 11 == 0, (before.region + 3) % 6, before.region),
    )
    return before[KEYS], after[KEYS]


def measured(before: pd.DataFrame, after: pd.DataFrame, name: str, **params: object) -> mw.Measurement:
    return mw.measure(before, after, [{name: params}])[name]


def test_gower_on_the_survey(survey: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    """Source: reference values of the survey, with distances in 470ths."""
    found = measured(*survey, GOWER, keys=KEYS, nominal=NOMINAL, direction="masked_to_original")
    assert found.parts["correct_links"] == pytest.approx(1396.084127, abs=1e-6)
    assert found.value == pytest.approx(53.24501, abs=1e-5)
    assert found.parts["linkage6"] == found.value
    assert found.parts["mean_ties"] == pytest.approx(1.63272, abs=1e-5)
    assert "the original file is searched" in found.notes[0]


def test_patterns_of_the_survey_are_exact(survey: tuple[pd.DataFrame, pd.DataFrame], reference: Path) -> None:
    files = [mw.Dataset(tuple(
        mw.Column(mw.Variable(name), frame[name].to_numpy(dtype=np.float64), np.zeros(len(frame), dtype=bool))
        for name in KEYS)) for frame in survey]  # fmt: skip
    original, masked = files
    keys, _ = mixed_keys(mw.Comparison(original, masked, ()), KEYS, KEYS, "equality")
    has = np.array([[True] * 6, [False] * 6, [True] * 6, [False] * 6])
    rows = rows_of([key.original for key in keys]), rows_of([key.masked for key in keys])
    counts, compared = pattern_counts(*rows, Levels(np.zeros(6), np.zeros(6), has))
    table = pd.read_csv(reference / "categorical_linkage_patterns.csv", dtype={"pattern": str})
    # Level 0 is agreement, so the number of a pattern has a bit for each key that disagrees.
    places = [sum((digit == "0") << j for j, digit in enumerate(pattern)) for pattern in table["pattern"]]
    assert counts[places].tolist() == table["pairs"].tolist()
    assert compared == len(survey[0])


def test_em_and_the_true_pairs_of_the_survey(survey: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    em = measured(*survey, FELLEGI_SUNTER, keys=KEYS, nominal=KEYS, estimate="em", frequencies=False)
    of = [[em.parts[f"{what}_{key}"] for key in KEYS] for what in ("m", "u", "true_m")]
    assert of[0] == pytest.approx([0.17933, 0.50370, 0.07934, 0.99022, 1.0, 0.81436], abs=1e-4)
    assert of[1] == pytest.approx([0.17157, 0.50017, 0.01116, 0.23717, 0.11144, 0.40309], abs=1e-4)
    assert em.parts["prior"] * len(survey[0]) == pytest.approx(93.7677, abs=1e-3)
    true = [0.90923, 1.0, 1.0, 0.80244, 0.83181, 0.88902]
    assert of[2] == pytest.approx(true, abs=1e-5)
    office = measured(*survey, FELLEGI_SUNTER, keys=KEYS, nominal=KEYS)
    assert [office.parts[f"m_{key}"] for key in KEYS] == pytest.approx(true, abs=1e-5)
    others = [0.17156, 0.50011, 0.01322, 0.26389, 0.14295, 0.41761]
    assert [office.parts[f"u_{key}"] for key in KEYS] == pytest.approx(others, abs=1e-5)
    assert office.value > em.value


def distance(one: list[object], other: list[object], spans: list[int | None], missing: str) -> Fraction | None:
    total, common = Fraction(0), 0
    for x, y, span in zip(one, other, spans, strict=True):
        if x is None or y is None:
            total += missing == "distant"
        else:
            common += 1
            total += Fraction(abs(x - y), span) if span else x != y
    if not common:
        return None
    return total / (common if missing == "left_out" else len(spans))


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 40),
    holes=st.sampled_from([0.0, 0.15, 0.5]),
    missing=st.sampled_from(["left_out", "distant"]),
    direction=st.sampled_from(["original_to_masked", "masked_to_original"]),
)
def test_equals_visiting_every_pair_in_fractions(seed: int, n: int, holes: float, missing: str, direction: str) -> None:
    rng = np.random.default_rng(seed)
    before = [
        [int(rng.integers(0, size)) if rng.random() >= holes else None for size in (3, 4, 7, 50)] for _ in range(n)
    ]
    after = [[int(rng.integers(0, size)) if rng.random() < 0.2 else (value if rng.random() >= holes else None)
              for value, size in zip(row, (3, 4, 7, 50), strict=True)] for row in before]  # fmt: skip
    names = ["a", "b", "c", "d"]
    categories = {"a": [str(x) for x in range(3)], "c": [str(x) for x in range(7)]}
    frames = []
    for rows in (before, after):
        frame = pd.DataFrame(rows, columns=names, dtype="Float64")
        frame["a"] = pd.Categorical(frame["a"].map(lambda x: str(int(x)), na_action="ignore"), categories["a"])
        frame["c"] = pd.Categorical(
            frame["c"].map(lambda x: str(int(x)), na_action="ignore"), categories["c"], ordered=True
        )
        frames.append(frame)
    numbers = [row[3] for row in before if row[3] is not None]
    span = max(numbers) - min(numbers) if numbers else 0
    spans: list[int | None] = [None, None, 6, span or None]
    queries, targets = (before, after) if direction == "original_to_masked" else (after, before)
    chance, ties = [], []
    for i, query in enumerate(queries):
        all_of = [distance(query, target, spans, missing) for target in targets]
        known = [value for value in all_of if value is not None]
        ties.append(sum(value == min(known) for value in known) if known else 0)
        chance.append(100.0 / ties[-1] if known and all_of[i] == min(known) else 0.0)
    found = measured(frames[0], frames[1], GOWER, keys=names, nominal=["b"], missing=missing, direction=direction)
    np.testing.assert_allclose(found.per_record, chance, atol=1e-9)
    linked = [number for number in ties if number]
    assert found.parts["mean_ties"] == pytest.approx(np.mean(linked) if linked else 0.0)
    order = rng.permutation(n)
    shuffled, shuffled_too = (frame.iloc[order] for frame in frames)
    again = measured(shuffled, shuffled_too, GOWER, keys=names[::-1], nominal=["b"], missing=missing,
                     direction=direction)  # fmt: skip
    np.testing.assert_allclose(again.per_record, np.array(chance)[order], atol=1e-9)


@pytest.mark.parametrize("name", [GOWER, FELLEGI_SUNTER])
def test_equal_records_share_the_link_and_distinct_ones_are_all_found(name: str) -> None:
    alike = pd.DataFrame({"a": ["x"] * 20, "b": [3] * 20})
    assert measured(alike, alike, name, keys=["a", "b"]).value == pytest.approx(5.0)
    distinct = pd.DataFrame({"a": [f"t{i}" for i in range(20)], "b": range(20)})
    assert measured(distinct, distinct, name, keys=["a", "b"]).value == pytest.approx(100.0)
    empty = pd.DataFrame({"a": pd.Series([None] * 20, dtype=object), "b": [np.nan] * 20})
    assert measured(distinct, empty.assign(b=empty.b.astype(float)), name, keys=["b"]).value == 0.0


def test_a_value_in_its_published_band_is_at_no_distance() -> None:
    ages, towns = [20, 25, 40, 45, 70], list("abcde")
    before = pd.DataFrame({"age": ages, "town": towns})
    bands = tuple(mw.Band(low, high) for low, high in ((-np.inf, 30), (30, 60), (60, np.inf)))
    age = mw.Variable("age", "ordinal", categories=("young", "middle", "old"), bands=bands)
    groups = (mw.Band(members=("a", "c")), mw.Band(members=("b", "d", "e")))
    town = mw.Variable("town", "nominal", categories=("ac", "bde"), bands=groups)
    none = np.zeros(5, dtype=bool)
    original = mw.Dataset((
        mw.Column(mw.Variable("age", "integer", "quasi_identifier", decimals=0), np.array(ages, dtype=float), none),
        mw.Column(mw.Variable("town", "nominal", "quasi_identifier", categories=tuple(towns)),
                  np.arange(5, dtype=np.int32), none),
    ))  # fmt: skip
    masked = mw.Dataset((
        mw.Column(age, np.array([0, 0, 1, 1, 2], dtype=np.int32), none),
        mw.Column(town, np.array([0, 1, 0, 1, 1], dtype=np.int32), none),
    ))  # fmt: skip
    assert before.shape == (5, 2)
    for name in (GOWER, FELLEGI_SUNTER):
        assert mw.measure(original, masked, [{name: {"keys": ["age"]}}])[name].value == pytest.approx(60.0)
        assert mw.measure(original, masked, [{name: {"keys": ["age", "town"]}}])[name].value == pytest.approx(100.0)


def test_a_run_knows_what_recoded_categories_stand_for(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"age": rng.integers(18, 90, 60), "sex": rng.choice(list("fm"), 60)})
    frame.to_csv(tmp_path / "d.csv", index=False)
    roles = {"age": {"role": "quasi_identifier"}, "sex": {"role": "quasi_identifier", "release": "as is"}}
    record = mw.run({
        "maskwright": 1,
        "data": {"source": str(tmp_path / "d.csv"), "variables": roles},
        "protect": [{"method": "recoding", "params": {"recode": {"age": [30, 50, 70]}}}],
        "measure": [GOWER],
        "output": {"data": str(tmp_path / "m.csv"), "record": str(tmp_path / "run.json")},
        "seed": 1,
    }).record  # fmt: skip
    classes = frame.assign(age=np.searchsorted([30, 50, 70], frame.age, side="right")).value_counts()
    assert record["measures"][GOWER]["value"] == pytest.approx(100.0 * len(classes) / 60)


@pytest.mark.parametrize("name", [GOWER, FELLEGI_SUNTER])
def test_names_that_are_not_keys_are_refused(name: str) -> None:
    frame = pd.DataFrame({"a": list("xy"), "b": [1, 2]})
    with pytest.raises(mw.InputError, match="not among the keys"):
        measured(frame, frame, name, keys=["a"], nominal=["b"])


def test_a_household_is_linked_when_any_of_its_records_is(compare, rng) -> None:
    from maskwright_builtin.measures.record_linkage.mixed.mixed_record_linkage import MIXED_RECORD_LINKAGE

    original = np.repeat(np.arange(4.0), 2)[:, None]
    comparison = compare(original, original[::-1].copy(), households=np.array([0, 0, 1, 1, 2, 2, 3, 3]))
    params = MIXED_RECORD_LINKAGE.params(keys=["v1"])
    assert MIXED_RECORD_LINKAGE.compute(comparison, params, rng).value == 0.0
    same = compare(original, original, households=np.array([0, 0, 1, 1, 2, 2, 3, 3]))
    assert MIXED_RECORD_LINKAGE.compute(same, params, rng).value == 100.0


@pytest.mark.parametrize("missing", ["left_out", "distant"])
@pytest.mark.parametrize("holes", [0.02, 0.3])
def test_many_records_equal_visiting_every_pair_for_any_threads(
    missing: str, holes: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Enough records that rows are looked up in tables and in trees, on several threads."""
    from maskwright_builtin.measures.record_linkage.mixed import nearest_rows
    from maskwright_builtin.numerics import threads

    rng = np.random.default_rng(8)
    n, sizes = 2500, (4, 3, 6, 9, 60)
    before = np.column_stack([np.minimum(rng.geometric(0.35, n) - 1, size - 1) for size in sizes]).astype(float)
    after = before.copy()
    for j in (0, 2, 4):
        drawn = rng.random(n) < 0.2
        after[drawn, j] = rng.integers(0, sizes[j], int(drawn.sum()))
    for cells in (before, after):
        cells[rng.random(cells.shape) < holes] = np.nan
    total, common = np.zeros((n, n)), np.zeros((n, n), dtype=np.int64)
    span = int(np.nanmax(before[:, 4]) - np.nanmin(before[:, 4]))
    for j in range(5):
        one, other = before[:, j][:, None], after[:, j][None, :]
        there = ~(np.isnan(one) | np.isnan(other))
        # 60 times the distance times the range: whole numbers for every number of keys in common.
        far = np.abs(one - other) if j == 4 else (one != other) * float(span)
        total += np.where(there, 60.0 * far, 60.0 * span if missing == "distant" else 0.0)
        common += there
    mean = np.where(common > 0, total / (np.maximum(common, 1) if missing == "left_out" else 1), np.inf)
    nearest = (mean == mean.min(axis=1)[:, None]) & np.isfinite(mean)
    ties = nearest.sum(axis=1)
    chance = 100.0 * (np.diag(nearest) / np.maximum(ties, 1))
    original, masked = (pd.DataFrame(cells, columns=list("abcde")) for cells in (before, after))
    monkeypatch.setattr(nearest_rows, "QUERIES_AT_ONCE", 300)
    for count in (1, 2, 5):
        monkeypatch.setattr(threads, "processors", lambda count=count: count)
        found = measured(original, masked, GOWER, keys=list("abcde"), nominal=list("abcd"), missing=missing)
        np.testing.assert_array_equal(found.per_record, chance)
        assert found.parts["mean_ties"] == pytest.approx(ties[ties > 0].mean(), rel=1e-12)
