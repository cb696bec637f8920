"""Measures of equivalence classes have the same value, to the last bit, however the file is cut and ordered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright import Column, Comparison, Dataset, Further, Measurement, PartOfFile, Variable
from maskwright.commands.parted.shuffling import together
from maskwright_builtin.measures.key_variables import class_measures

if TYPE_CHECKING:
    from collections.abc import Sequence

CATEGORIES = ("a", "b", "c", "d")
KEYS = ["region", "age", "sex"]
SETS = {"key_sets": {"neighbour": ["region", "age"], "colleague": ["sex", "age"]}}

MEASURES: list[tuple[str, dict[str, Any]]] = [
    ("k_anonymity", {"keys": KEYS}),
    ("k_anonymity", SETS),
    ("uniqueness", {"keys": KEYS}),
    ("uniqueness", SETS),
    ("k_map", {"keys": KEYS, "k": 20}),
    ("individual_risk", {"keys": KEYS, "bound": [0.05, 0.3]}),
    ("individual_risk", {"keys": KEYS, "target_rate": [0.01, 0.2], "without_each_key": True}),
    *(("individual_risk", {"keys": KEYS, "count": count}) for count in ("alpha0", "subset", "wildcard")),
    ("l_diversity", {"keys": KEYS[:2], "sensitive": ["sex", "pay"]}),
    ("l_diversity", {"keys": KEYS[:2], "sensitive": ["sex", "pay"], "count": "entropy"}),
    ("suda", {"keys": KEYS, "sets": True}),
    ("suda", {**SETS, "largest": 1}),
    ("t_closeness", {"keys": KEYS[:2], "sensitive": ["sex", "pay"]}),
]


def survey(seed: int, n: int) -> tuple[Dataset, np.ndarray]:
    """Records with holes in keys and sensitive variables, and weights with many digits."""
    rng = np.random.default_rng(seed)
    columns = []
    for name in ("region", "sex"):
        codes = rng.integers(-1, 3, n).astype(np.int32)
        columns.append(Column(Variable(name, "nominal", "quasi_identifier", categories=CATEGORIES), codes, codes < 0))
    for name, high in (("age", 4), ("pay", 7)):
        values = rng.integers(-2, high, n) + 0.5
        columns.append(Column(Variable(name), values, rng.random(n) < 0.1))
    return Dataset(tuple(columns)), rng.uniform(0.3, 90.0, n)


def compared(data: Dataset, weights: np.ndarray, own: np.ndarray) -> Comparison:
    part = data.taken(own)
    return Comparison(part, part, ("pay",), weights=weights[own])


def plain(facts: Any) -> Any:
    return json.loads(json.dumps(facts))


def of_parts(measure: mw.Measure, params: Any, parts: Sequence[Comparison], tasks: int) -> Measurement:
    """What a measure says of parts, as the engine has it."""
    merging = measure.merging
    assert merging is not None
    assert merging.rows is not None
    assert merging.counted is not None
    assert merging.refused is None or merging.refused(params) is None
    found = merging.merged([plain(merging.partial(each, params, None)) for each in parts], params, None)
    if isinstance(found, Measurement):
        return found
    assert isinstance(found, Further)
    asked = plain(found.asked)
    rows = [merging.rows(each, params, asked, PartOfFile(0, 0, tasks)) for each in parts]
    facts = []
    for task in range(tasks):
        columns = together([{name: own[to == task] for name, own in each.items()} for each, to in rows])
        facts.append(plain(merging.counted(columns, params, asked)))
    done = merging.merged(facts, params, asked)
    assert isinstance(done, Measurement)
    return done


@pytest.mark.parametrize(("name", "params"), MEASURES, ids=lambda each: each if isinstance(each, str) else "")
@settings(max_examples=12)
@given(st.integers(0, 2**32), st.integers(7, 120), st.integers(1, 3))
def test_any_cut_gives_the_same_bits(name: str, params: dict[str, Any], seed: int, n: int, tasks: int) -> None:
    data, weights = survey(seed, n)
    measure = mw.find_measure(name)
    chosen = measure.params.model_validate(params)
    rng = np.random.default_rng(seed)
    whole = measure.compute(compared(data, weights, np.arange(n)), chosen, rng)
    for count in (1, 3, 7):
        parts = [compared(data, weights, own) for own in np.array_split(rng.permutation(n), count)]
        found = of_parts(measure, chosen, parts, tasks)
        assert repr(found.value) == repr(whole.value)
        shared = set(found.parts) & set(whole.parts)
        assert set(whole.parts) - shared <= {"outlying_records", "risk_for_rate_"}
        assert {each: found.parts[each] for each in shared} == {each: whole.parts[each] for each in shared}
        assert (found.per_variable, found.notes, found.sentence, found.tables) == (
            whole.per_variable, whole.notes, whole.sentence, whole.tables,
        )  # fmt: skip


@given(st.integers(0, 2**32), st.integers(7, 120))
def test_they_are_what_pandas_counts(seed: int, n: int) -> None:
    data, weights = survey(seed, n)
    frame = pd.DataFrame({each.name: np.where(each.missing, -9.0, each.values) for each in data})
    sizes = frame.groupby(KEYS)["pay"].transform("size").to_numpy()
    comparison, rng = compared(data, weights, np.arange(n)), np.random.default_rng(0)

    def measured(name: str, **params: Any) -> Measurement:
        measure = mw.find_measure(name)
        return measure.compute(comparison, measure.params.model_validate({"keys": KEYS, **params}), rng)

    k_anonymity = measured("k_anonymity", k=4)
    assert k_anonymity.value == sizes.min()
    assert k_anonymity.parts["below_k"] == pytest.approx(100.0 * np.mean(sizes < 4))
    assert k_anonymity.per_record == pytest.approx(100.0 / sizes)
    assert measured("uniqueness").value == pytest.approx(100.0 * np.mean(sizes == 1))
    people = frame.assign(weight=weights).groupby(KEYS)["weight"].transform("sum").to_numpy()
    assert measured("k_map").per_record == pytest.approx(100.0 / people)
    shown = frame[~data["pay"].missing]
    values = shown.groupby(KEYS[:2])["pay"].nunique()
    assert measured("l_diversity", keys=KEYS[:2], sensitive=["pay"]).value == values.min()
    whole = shown["pay"].value_counts(normalize=True).sort_index()
    distances = [
        np.abs((own["pay"].value_counts(normalize=True).reindex(whole.index, fill_value=0.0) - whole).cumsum()).sum()
        / max(len(whole) - 1, 1)
        for _, own in shown.groupby(KEYS[:2])
    ]
    found = measured("t_closeness", keys=KEYS[:2], sensitive=["pay"])
    assert found.value == pytest.approx(max(distances), abs=1e-12)


def test_more_classes_than_one_task_holds_are_refused_with_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    data, weights = survey(1, 60)
    monkeypatch.setattr(class_measures, "MOST_AT_ONCE", 3)
    measure = mw.find_measure("suda")
    params = measure.params.model_validate({"keys": KEYS})
    classes = data.to_pandas()[KEYS].drop_duplicates()
    with pytest.raises(mw.InputError, match=rf"suda: all classes are needed at once, and there are {len(classes)} "):
        of_parts(measure, params, [compared(data, weights, np.arange(60))], 2)


def test_values_of_keys_are_not_named_over_parts() -> None:
    measure = mw.find_measure("suda")
    assert measure.merging is not None
    assert measure.merging.refused is not None
    assert "`values` are named of records in memory" in str(measure.merging.refused(measure.params(values=3)))
