"""What edits give away: cases by hand, linear programming as oracle, and intervals that always hold the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog

from maskwright import Column, Comparison, Dataset, EditSet, InputError, Variable
from maskwright_builtin.measures.attribute_disclosure.edit_bounds import EditBounds
from maskwright_builtin.measures.attribute_disclosure.edit_knowledge_disclosure import (
    EditKnowledgeDisclosureParams,
    edit_knowledge_disclosure,
    edits_known,
)
from maskwright_builtin.measures.scores import SCORE, ScoreParams


def dataset(table, decimals=None, **more):
    return Dataset(
        tuple(
            Column(
                Variable(name, decimals=decimals), np.asarray(cells, dtype=float), np.isnan(np.asarray(cells, float))
            )
            for name, cells in table.items()
        ),
        **more,
    )


def disclosed(original, masked, rules, rng=None, decimals=None, households=None, **params):
    files = dataset(original, decimals), dataset(masked, decimals)
    comparison = Comparison(*files, tuple(original), EditSet.parse(rules), households=households)
    return edit_knowledge_disclosure(comparison, EditKnowledgeDisclosureParams(**params), rng)


def bounds(rules, records, **known):
    """Intervals of every variable of the rules for `records` records; known ones are given."""
    edits = EditSet.parse(rules)
    unknown = {name: np.full(records, np.inf) for name in edits.variables}
    low = {name: np.asarray(known.get(name, -ends), float) for name, ends in unknown.items()}
    high = {name: np.asarray(known.get(name, ends), float) for name, ends in unknown.items()}
    return EditBounds(edits, low, high)


@pytest.mark.parametrize(
    ("rules", "known", "expected"),
    [
        (["a + b == t"], {"a": 3, "t": 10}, {"b": (7, 7)}),
        (["a + b == t", "a - b == d"], {"t": 10, "d": 4}, {"a": (7, 7), "b": (3, 3)}),
        (
            ["a + b == t", "c + d == a", "a + c == e"],
            {"t": 10, "b": 2, "e": 9},
            {"a": (8, 8), "c": (1, 1), "d": (7, 7)},
        ),
        (["x <= t", "x >= 0"], {"t": 5}, {"x": (0, 5)}),
        (["a + b <= t", "a >= 1", "b >= 2"], {"t": 10}, {"a": (1, 8), "b": (2, 9)}),
        (["a * b == c"], {"a": 4, "c": 10}, {"b": (2.5, 2.5)}),
        (["a * b == c"], {"a": 0, "c": 0}, {"b": (-np.inf, np.inf)}),
        (["a * b <= c", "a >= 2", "b >= 0"], {"c": 10}, {"b": (0, 5)}),
        (["x in {1, 2, 7}"], {}, {"x": (1, 7)}),
        (["if g < 5 then x <= 3 else x >= 8"], {"g": 4}, {"x": (-np.inf, 3)}),
        (["if g < 5 then x <= 3 else x >= 8"], {"g": 5}, {"x": (8, np.inf)}),
        (["if g < 5 then x <= 3"], {}, {"x": (-np.inf, np.inf)}),
        (["abs(a - b) <= 2"], {"a": 10}, {"b": (8, 12)}),
        (["2 * a + 3 * b == 12", "a >= 0", "b >= 0"], {}, {"a": (0, 6), "b": (0, 4)}),
        (["a <= b", "b <= c", "c <= 4", "a >= 4"], {}, {"a": (4, 4), "b": (4, 4)}),
    ],
)
def test_intervals_by_hand(rules, known, expected):
    found = bounds(rules, 1, **{name: [value] for name, value in known.items()})
    for name, ends in expected.items():
        assert (found.low[name][0], found.high[name][0]) == pytest.approx(ends), name
    assert not found.contradicted.any()


def test_conditions_apply_to_the_records_they_hold_for():
    found = bounds(["if g < 5 then x <= 3 else x >= 8"], 3, g=[1.0, 9.0, np.inf])
    assert found.high["x"].tolist()[:2] == [3, np.inf]
    assert found.low["x"].tolist()[:2] == [-np.inf, 8]


def test_records_that_break_edits_by_published_values_imply_nothing():
    found = bounds(["a <= b", "x <= a"], 2, a=[1.0, 5.0], b=[2.0, 2.0])
    assert found.contradicted.tolist() == [False, True]
    assert found.high["x"].tolist() == [1.0, np.inf]


def test_what_cannot_be_used_is_named():
    edits = EditSet.parse([{"rule": "x in original", "name": "seen"}, {"rule": "x <= y", "name": "order"}])
    ends = {"x": np.array([np.inf]), "y": np.array([3.0])}
    found = EditBounds(edits, {"x": -ends["x"], "y": ends["y"]}, ends)
    assert found.unused == ["seen"]
    assert found.high["x"][0] == 3


@given(seed=st.integers(0, 2**32 - 1), rules=st.integers(1, 4), known=st.integers(0, 3))
def test_linear_edits_against_linear_programming(seed, rules, known):
    """Never narrower than what linear programming allows, and a point wherever equalities alone make one."""
    generator = np.random.default_rng(seed)
    names = ["a", "b", "c", "d", "e"]
    truth = generator.integers(0, 20, 5).astype(float)
    texts, upper, equal = [f"{name} in [0, 20]" for name in names], [], []
    for _ in range(rules):
        row = generator.integers(-2, 3, 5)
        if not np.any(row[:5]):
            continue
        total = float(row @ truth)
        left = " + ".join(f"{factor} * {name}" for factor, name in zip(row, names, strict=True) if factor)
        if generator.random() < 0.5:
            texts.append(f"{left} == {total:g}")
            equal.append((row, total))
        else:
            total += float(generator.integers(0, 3))
            texts.append(f"{left} <= {total:g}")
            upper.append((row, total))
    given = {name: [value] for name, value in list(zip(names, truth, strict=True))[:known]}
    found = bounds(texts, 1, **given)
    box = [(value, value) if j < known else (0, 20) for j, value in enumerate(truth)]
    for j, name in enumerate(names):
        ends = [
            linprog(sign * np.eye(5)[j], *(np.array([one[k] for one in upper]) if upper else None for k in (0, 1)),
                    *(np.array([one[k] for one in equal]) if equal else None for k in (0, 1)), bounds=box).fun * sign
            for sign in (1, -1)
        ]  # fmt: skip
        assert found.low[name][0] <= ends[0] + 1e-6
        assert found.high[name][0] >= ends[1] - 1e-6
    assert not found.contradicted.any()
    system = np.array([row for row, _ in equal], dtype=float).reshape(-1, 5)[:, known:]
    for j in range(known, 5):
        unit = np.eye(5)[j, known:]
        if np.linalg.matrix_rank(np.vstack([system, unit])) == np.linalg.matrix_rank(system) and len(system):
            assert found.low[names[j]][0] == pytest.approx(truth[j], abs=1e-6)
            assert found.high[names[j]][0] == pytest.approx(truth[j], abs=1e-6)


@given(seed=st.integers(0, 2**32 - 1), signs=st.booleans())
def test_intervals_always_hold_the_truth(seed, signs):
    """Products, quotients, conditions and sums over records of any sign, whatever is published."""
    generator = np.random.default_rng(seed)
    n = 30
    a, b, c, d = generator.integers(-9 if signs else 1, 10, (4, n)).astype(float)
    original = {"a": a, "b": b, "c": c, "p": a * b, "q": a * b * c, "s": a + b - c, "d": d, "w": np.maximum(d, a)}
    rules = [
        "a * b == p", "p * c == q", "a + b - c == s", "w >= a", "w >= d", "if a > 3 then w > 3", "a * a >= 0",
        "if d > a then w == d else w == a", "a in [-9, 9]", "b in [-9, 9]",
    ]  # fmt: skip
    known = [name for name in original if generator.random() < 0.5]
    ends = {name: np.full(n, np.inf) for name in original}
    low = {name: original[name] if name in known else -ends[name] for name in original}
    high = {name: original[name] if name in known else ends[name] for name in original}
    found = EditBounds(EditSet.parse(rules), low, high)
    assert not found.contradicted.any()
    for name, values in original.items():
        assert (found.low[name] <= values + 1e-7).all(), name
        assert (found.high[name] >= values - 1e-7).all(), name


def files(n=200, seed=1):
    generator = np.random.default_rng(seed)
    a, b = generator.integers(0, 100, (2, n)).astype(float)
    original = {"a": a, "b": b, "t": a + b, "x": generator.normal(size=n)}
    noise = {name: cells + generator.integers(-30, 31, n) for name, cells in original.items()}
    return original, noise


def test_a_total_and_a_part_left_unmasked_give_the_other_part_away():
    original, noise = files()
    masked = {**noise, "a": original["a"], "t": original["t"]}
    found = disclosed(original, masked, ["a + b == t"])
    assert found.value == 100
    assert found.parts["determined"] == 100
    assert found.per_variable == {"b": 100}
    assert found.parts["linkage_with_edits"] > found.parts["linkage"] + 20
    assert any("published unmasked: a, t" in note for note in found.notes)
    assert any("determine values of b" in note for note in found.notes)


def test_bounds_are_weaker_than_equalities_and_still_counted():
    original, noise = files()
    for name, small in (("a", 1.0), ("b", 2.0), ("t", 3.0)):
        original[name][:30] = small
    masked = {**noise, "t": original["t"]}
    found = disclosed(original, masked, ["a + b == t", "a >= 0", "b >= 0"])
    assert found.parts["bounded"] == 100
    assert found.parts["held"] == 100
    total = original["t"]
    assert found.parts["percent_10"] == pytest.approx(
        np.mean([100 * np.mean(total / 2 <= 0.1 * np.std(original[name])) for name in ("a", "b")])
    )
    assert 0 < found.value < 50


def test_originals_that_violate_the_edits_are_not_held():
    original, noise = files()
    original["b"] = original["b"] + np.where(np.arange(200) < 50, 7.0, 0.0)
    masked = {**noise, "a": original["a"], "t": original["t"]}
    found = disclosed(original, masked, ["a + b == t"])
    assert found.parts["determined"] == 100
    assert found.parts["held"] == 75
    assert found.value == 75


def test_households_and_missing_cells():
    original, noise = files()
    original["b"][:20] = np.nan
    masked = {**noise, "a": original["a"], "t": original["t"].copy()}
    masked["t"][100:] = np.nan
    households = np.arange(200) // 2
    found = disclosed(original, masked, ["a + b == t"], unmasked=["a", "t"], households=households)
    assert found.value == pytest.approx(100 * 40 / 90)
    assert np.isnan(found.per_record[:20]).all()


def test_the_grid_narrows_what_follows():
    original = {"a": [1.0, 4.0, 2.0], "t": [2.0, 8.0, 4.0]}
    masked = {"a": [3.0, 3.0, 3.0], "t": original["t"]}
    rules = ["4 * a >= 2 * t - 1", "4 * a <= 2 * t + 1"]
    assert disclosed(original, masked, rules, decimals=0).parts["determined"] == 100
    assert disclosed(original, masked, rules).parts["determined"] == 0


def test_nothing_masked_is_everything_known_and_no_edits_give_nothing():
    original, noise = files()
    found = disclosed(original, original, ["a + b == t"])
    assert found.value == 100
    assert any("every value is known" in note for note in found.notes)
    found = disclosed(original, noise, [])
    assert found.value == 0
    assert any("no edit names a masked variable" in note for note in found.notes)
    with pytest.raises(InputError, match="did you mean 'a'"):
        disclosed(original, noise, [], unmasked=["A"])


def test_warnings_are_not_taken_as_true():
    original, noise = files()
    masked = {**noise, "a": original["a"], "t": original["t"]}
    found = disclosed(original, masked, [{"rule": "a + b == t", "severity": "warning"}])
    assert found.value == 0


def test_census_totals(census, rng):
    """PTOTVAL = POTHVAL + PEARNVAL holds in all records: two published, the third is known."""
    masked = census + 0.3 * census.std().to_numpy() * np.random.default_rng(4).normal(size=census.shape)
    masked[["PTOTVAL", "POTHVAL"]] = census[["PTOTVAL", "POTHVAL"]]
    rules = ["PTOTVAL = POTHVAL + PEARNVAL", "FICA <= PEARNVAL", "FICA >= 0", "TAXINC <= AGI"]
    found = disclosed(dict(census.items()), dict(masked.items()), rules)
    assert found.per_variable["PEARNVAL"] == 100
    assert found.per_variable["TAXINC"] == 0
    assert 0 < found.per_variable["FICA"] < 100
    assert found.parts["held"] == 100


def test_an_intruder_who_knows_the_edits_repairs_records_that_break_them():
    """Against the least-squares projection by hand; published values stay, and records that obey the edits too."""
    rng = np.random.default_rng(5)
    a, b, c = rng.normal(10, 3, (3, 60))
    original = {"a": a, "b": b, "t": a + b, "c": c}
    masked = {name: values + rng.normal(0, 1, 60) for name, values in original.items()} | {"c": c}
    masked["t"][:10] = masked["a"][:10] + masked["b"][:10]
    files = dataset(original), dataset(masked)
    comparison = Comparison(*files, tuple(original), EditSet.parse(["a + b == t"]))
    moved = edits_known(comparison).masked
    table = np.column_stack([masked[name] for name in ("a", "b", "t")])
    scale = table.std(axis=0, ddof=1)
    normal = np.array([1.0, 1.0, -1.0])
    step = (table @ normal) / (normal**2 @ scale**2)
    expected = table - np.outer(step, normal * scale**2)
    np.testing.assert_allclose(np.column_stack([moved[name].values for name in ("a", "b", "t")]), expected, atol=1e-6)
    np.testing.assert_array_equal(moved["c"].values, c)
    np.testing.assert_allclose(moved["a"].values[:10], masked["a"][:10], atol=1e-12)


def test_the_score_of_an_intruder_who_knows_the_edits():
    """Loss stays what it is; where the edits tell every masked value, records are linked as in the original."""
    rng = np.random.default_rng(6)
    a, b = rng.normal(10, 3, (2, 80))
    original = {"a": a, "b": b, "t": a + b}
    masked = original | {"t": rng.permutation(a + b)}
    files = dataset(original), dataset(masked)
    comparison = Comparison(*files, ("t",), EditSet.parse(["a + b == t"]))
    plain, known = (
        SCORE.compute(comparison, ScoreParams.model_validate({"knows_edits": knows}), rng) for knows in (False, True)
    )
    assert known.parts["pil"] == plain.parts["pil"]
    assert plain.parts["distance_record_linkage"] < 20
    assert known.parts["distance_record_linkage"] == known.parts["interval_disclosure"] == 100
    obeyed = replace(comparison, masked=dataset(original | {"a": a + 1, "t": a + b + 1}), variables=("a", "t"))
    plain, known = (
        SCORE.compute(obeyed, ScoreParams.model_validate({"knows_edits": knows}), rng) for knows in (False, True)
    )
    assert known.value == pytest.approx(plain.value)
