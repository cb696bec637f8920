"""k-anonymity, uniqueness, l-diversity and t-closeness, against plain loops and published examples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from maskwright import Column, Comparison, Dataset, InputError, Variable, find_measure
from maskwright_builtin.key_counts.frequencies import individual_risk

K_ANONYMITY, L_DIVERSITY, T_CLOSENESS, UNIQUENESS = map(
    find_measure, ("k_anonymity", "l_diversity", "t_closeness", "uniqueness")
)


def dataset(table):
    """Columns by name: numbers, or texts for nominal variables; None where missing."""
    columns = []
    for name, cells in table.items():
        gone = np.array([cell is None for cell in cells])
        if all(isinstance(cell, str) for cell in cells if cell is not None):
            categories = tuple(sorted({cell for cell in cells if cell is not None}))
            codes = np.array([-1 if cell is None else categories.index(cell) for cell in cells], dtype=np.int32)
            columns.append(Column(Variable(name, "nominal", "other", categories=categories), codes, gone))
        else:
            values = np.array([np.nan if cell is None else cell for cell in cells], dtype=float)
            columns.append(Column(Variable(name), values, gone))
    return Dataset(tuple(columns))


def compute(measure, table, rng=None, households=None, weights=None, **params):
    data = dataset(table)
    numeric = tuple(variable.name for variable in data.variables if variable.is_numeric)
    comparison = Comparison(data, data, numeric, households=households, weights=weights)
    return measure.compute(comparison, measure.params(**params), rng)


# Li, Li and Venkatasubramanian (2007), tables 4 and 5: zip code, age, salary in thousands, disease.
SALARIES = {
    "zip": ["4767*"] * 3 + ["4790*"] * 3 + ["4760*"] * 3,
    "salary": [3.0, 5.0, 9.0, 6.0, 11.0, 8.0, 4.0, 7.0, 10.0],
}
TABLE_3 = {
    "zip": ["476**"] * 3 + ["4790*"] * 3 + ["476*2"] * 3,
    "salary": [3.0, 4.0, 5.0, 6.0, 11.0, 8.0, 7.0, 9.0, 10.0],
}


def test_the_published_example_of_t_closeness():
    """Their example: D[P1, Q] = 0.375 for {3k, 4k, 5k}, D[P2, Q] = 0.167 for {6k, 8k, 11k}; table 5 has 0.167."""
    found = compute(T_CLOSENESS, TABLE_3, keys=["zip"], sensitive=["salary"])
    assert found.per_record[0] == pytest.approx(0.375)
    assert found.per_record[3] == pytest.approx(1 / 6, abs=5e-4)
    found = compute(T_CLOSENESS, SALARIES, keys=["zip"], sensitive=["salary"])
    assert found.value == pytest.approx(1 / 6, abs=5e-4)


TABLES = st.builds(
    lambda seed, n, levels: (np.random.default_rng(seed), n, levels),
    st.integers(0, 2**32 - 1),
    st.integers(1, 60),
    st.integers(1, 5),
)


@given(drawn=TABLES, households=st.booleans(), missing=st.sampled_from([0.0, 0.2]), nominal=st.booleans())
def test_equal_plain_loops_over_classes(drawn, households, missing, nominal):
    generator, n, levels = drawn

    def cells(texts):
        found = [int(one) for one in generator.integers(0, levels, n)]
        return [None if generator.random() < missing else (f"t{one}" if texts else float(one) * 1.5) for one in found]

    table = {"a": cells(texts=True), "b": cells(texts=False), "s": cells(nominal)}
    households = generator.integers(0, max(1, n // 2), n) if households else None
    who = np.arange(n) if households is None else households
    members = {}
    for i in range(n):
        members.setdefault((table["a"][i], table["b"][i]), []).append(i)
    size = {key: len({int(who[i]) for i in chosen}) for key, chosen in members.items()}
    own = [size[table["a"][i], table["b"][i]] for i in range(n)]
    keys = {"keys": ["a", "b"], "households": households}
    found = compute(K_ANONYMITY, table, k=3, **keys)
    assert found.value == min(size.values())
    assert found.parts["below_k"] == pytest.approx(100 * np.mean(np.array(own) < 3))
    np.testing.assert_allclose(found.per_record, 100 / np.array(own))
    assert compute(UNIQUENESS, table, **keys).value == pytest.approx(100 * np.mean(np.array(own) == 1))
    if all(cell is None for cell in table["s"]):
        assert np.isnan(compute(L_DIVERSITY, table, sensitive=["s"], **keys).value)
        assert np.isnan(compute(T_CLOSENESS, table, sensitive=["s"], **keys).value)
        return
    pairs = {key: sorted({(int(who[i]), table["s"][i]) for i in chosen if table["s"][i] is not None})
             for key, chosen in members.items()}  # fmt: skip
    if households is None:
        pairs = {
            key: [(i, table["s"][i]) for i in chosen if table["s"][i] is not None] for key, chosen in members.items()
        }
    pairs = {key: chosen for key, chosen in pairs.items() if chosen}
    everything = [value for chosen in pairs.values() for _, value in chosen]
    order = sorted(set(everything))
    overall = np.array([everything.count(value) for value in order]) / len(everything)
    distinct, entropies, distances = [], [], []
    for chosen in pairs.values():
        share = np.array([[value for _, value in chosen].count(value) for value in order]) / len(chosen)
        distinct.append((share > 0).sum())
        entropies.append(math.exp(stats.entropy(share)))
        if nominal:
            distances.append(np.abs(share - overall).sum() / 2)
        else:
            distances.append(np.abs(np.cumsum(share - overall)).sum() / max(len(order) - 1, 1))
    assert compute(L_DIVERSITY, table, sensitive=["s"], **keys).value == min(distinct)
    assert compute(L_DIVERSITY, table, sensitive=["s"], count="entropy", **keys).value == pytest.approx(min(entropies))
    assert compute(T_CLOSENESS, table, sensitive=["s"], **keys).value == pytest.approx(max(distances), abs=1e-12)


@pytest.mark.parametrize(("f", "pi"), [(1, 0.01), (1, 0.7), (2, 0.05), (3, 0.2), (10, 0.001), (200, 0.5)])
def test_individual_risk_is_the_mean_of_the_inverse_class_size(f, pi):
    """F - f negative binomial: summed term by term."""
    more = np.arange(0, 400_000)
    expected = float((stats.nbinom.pmf(more, f, pi) / (f + more)).sum())
    assert individual_risk(np.array([f]), np.array([pi]))[0] == pytest.approx(expected, rel=1e-9)


def test_weights_make_sample_uniques_rare_in_the_population():
    table = {"a": [1.0, 2.0, 2.0, 3.0]}
    weights = np.array([10.0, 5.0, 5.0, 1.0])
    found = compute(UNIQUENESS, table, keys=["a"], weights=weights)
    assert found.value == 50
    assert found.parts["population_uniques"] == pytest.approx(100 * (1 / 10 + 1 / 1) / 4)
    expected = 0.1 * math.log(10) / 0.9
    assert found.per_record[0] == pytest.approx(100 * expected)
    assert found.per_record[3] == 100
    found = compute(UNIQUENESS, table, keys=["a"], weights=np.array([np.nan, 0.2, 5.0, 1.0]))
    assert any("2 records" in note for note in found.notes)
    assert np.isfinite(found.per_record).all()


def test_keys_default_to_the_quasi_identifiers():
    data = Dataset(
        (
            Column(Variable("q", role="quasi_identifier"), np.array([1.0, 1.0, 2.0]), np.zeros(3, bool)),
            Column(Variable("c"), np.array([5.0, 6.0, 7.0]), np.zeros(3, bool)),
        )
    )
    comparison = Comparison(data, data, ("q", "c"))
    assert K_ANONYMITY.compute(comparison, K_ANONYMITY.params(), None).parts["classes"] == 2
    found = L_DIVERSITY.compute(comparison, L_DIVERSITY.params(), None)
    assert found.value == 1
    assert found.per_variable == {"c": 1.0}
    assert found.parts["homogeneous"] == pytest.approx(100 / 3)


@pytest.mark.parametrize(
    ("measure", "params", "message"),
    [
        (K_ANONYMITY, {}, "no key variables"),
        (K_ANONYMITY, {"keys": ["a", "a"]}, "named twice"),
        (UNIQUENESS, {"keys": ["A"]}, "no variable called 'A'; did you mean 'a'"),
        (L_DIVERSITY, {"keys": ["a"], "sensitive": ["a"]}, "same time"),
        (T_CLOSENESS, {"keys": ["a", "b"]}, "no sensitive variables"),
    ],
)
def test_what_cannot_be_measured_is_refused_with_a_reason(measure, params, message):
    with pytest.raises(InputError, match=message):
        compute(measure, {"a": [1.0, 2.0], "b": ["x", "y"]}, **params)


def test_a_hundred_keys_do_not_overflow():
    generator = np.random.default_rng(3)
    table = {f"v{j}": generator.normal(size=300).tolist() for j in range(100)}
    assert compute(K_ANONYMITY, table, keys=list(table)).value == 1
    same = {name: cells[:150] * 2 for name, cells in table.items()}
    assert compute(K_ANONYMITY, same, keys=list(table)).value == 2
