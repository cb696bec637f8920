"""Losses of categories against published reference values, cases by hand, and what must not matter."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ["region", "sex", "edu", "occ", "marital", "income"]
ALL = ("contingency_tables", "contingency_table_loss", "cramers_v", "distance_based_loss", "entropy_based_loss")
NOMINAL = {name: {"type": "nominal", "role": "quasi_identifier"} for name in KEYS}
ORDERED = {**NOMINAL, "edu": {"type": "ordinal", "role": "quasi_identifier", "categories": list("012345")}}


@pytest.fixture(scope="module")
def survey(reference: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The survey of the specification, and its version that was masked without randomness."""
    before = pd.read_csv(reference / "categorical_survey.csv")
    after, n = before.copy(), len(before)
    i = before["id"].to_numpy()
    after["edu"] = np.where(7 * i % 10 < 2, np.minimum(before["edu"] + 1, 5), before["edu"])
    after["marital"] = np.where(i % 9 == 0, (before["marital"] + 1) % 5, before["marital"])
    after["occ"] = np.where(i % 5 == 0, before["occ"].to_numpy()[13 * i % n], before["occ"])
    after["region"] = np.where(i % 11 == 0, (before["region"] + 3) % 6, before["region"])
    return before[KEYS].astype(str), after[KEYS].astype(str)


def found(
    files: tuple[pd.DataFrame, pd.DataFrame], name: str, declared: dict[str, Any] | None = None, **params: Any
) -> mw.Measurement:
    return mw.measure(*files, [{name: params}], declared=declared)[name]


def table(**columns: list[str] | str) -> pd.DataFrame:
    return pd.DataFrame({name: list(cells) for name, cells in columns.items()})


# What the specification computed


def test_tables_of_the_survey(survey: tuple[pd.DataFrame, pd.DataFrame], reference: Path) -> None:
    with (reference / "categorical_utility_tables.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        variables = row["table"].split("*")
        ways = int(row["ways"])
        chosen = found(survey, "contingency_tables", NOMINAL, variables=variables, ways=ways)
        if float(row["hellinger"]) == 0.0:
            assert "uses none of the masked variables" in " ".join(chosen.notes)
            continue
        assert chosen.value == pytest.approx(float(row["hellinger"]), abs=1e-6)
        assert chosen.parts[f"total_variation_{ways}"] == pytest.approx(float(row["tvd"]), abs=1e-6)
        loss = found(survey, "contingency_table_loss", NOMINAL, variables=variables, ways=ways)
        assert loss.parts[f"sum_{ways}"] == float(row["abs_diff"])
        assert loss.parts[f"cells_{ways}"] == float(row["cells_of_product"])


def test_means_over_the_tables_of_the_survey(survey: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    measured = found(survey, "contingency_tables", NOMINAL, ways=3)
    loss = found(survey, "contingency_table_loss", NOMINAL, ways=3)
    expected = {
        1: (0.023566, 0.029240, 920, 36),
        2: (0.051783, 0.057615, 4532, 513),
        3: (0.102597, 0.097140, 10188, 3722),
    }
    for ways, (hellinger, variation, total, cells) in expected.items():
        assert measured.parts[f"hellinger_{ways}"] == pytest.approx(hellinger, abs=1e-6)
        assert measured.parts[f"total_variation_{ways}"] == pytest.approx(variation, abs=1e-6)
        assert (loss.parts[f"sum_{ways}"], loss.parts[f"cells_{ways}"]) == (total, cells)
    assert measured.value == measured.parts["hellinger_3"]
    assert measured.parts["hellinger_3_largest"] == pytest.approx(0.198725026, abs=1e-6)
    assert found(survey, "contingency_table_loss", NOMINAL).value == pytest.approx(9.930783, abs=1e-6)


def test_associations_of_the_survey(survey: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    measured = found(survey, "cramers_v", NOMINAL)
    assert measured.value == pytest.approx(0.015381, abs=1e-6)
    assert measured.parts["largest"] == pytest.approx(0.066788, abs=1e-6)
    assert any(note.startswith("changes most: edu * occ") for note in measured.notes)


def test_distances_of_the_survey(survey: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    n = len(survey[0])
    measured = found(survey, "distance_based_loss", ORDERED)
    moved = {name: share * n / 100.0 for name, share in measured.per_variable.items()}
    assert moved == pytest.approx({"region": 238, "sex": 0, "edu": 103.6, "occ": 441, "marital": 291, "income": 0})
    assert measured.parts["sum"] == pytest.approx(sum(moved.values()))
    assert measured.value == pytest.approx(100.0 * measured.parts["sum"] / (n * 6))
    assert measured.per_record is not None
    assert measured.per_record.mean() == pytest.approx(measured.value)
    by_ranks = found(survey, "distance_based_loss", ORDERED, ordered="mid_ranks")
    assert by_ranks.per_variable["edu"] * n / 100.0 == pytest.approx(119.49981, abs=1e-4)


def test_entropies_of_the_survey(survey: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    n = len(survey[0])
    expected = {"edu": 1510.03368, "marital": 1000.91340, "occ": 2997.98466, "region": 1134.41148}
    for name, bits in expected.items():
        measured = found(survey, "entropy_based_loss", NOMINAL, variables=[name])
        assert measured.parts["bits"] == pytest.approx(bits, abs=1e-4)
        categories = survey[0][name].nunique()
        assert measured.value == pytest.approx(100.0 * bits / (n * math.log2(categories)), rel=1e-8)
    assert found(survey, "entropy_based_loss", NOMINAL).parts["bits"] == pytest.approx(sum(expected.values()), abs=1e-3)


def test_propensity_of_the_survey(survey: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    main = found(survey, "propensity", NOMINAL)
    assert main.parts["parameters"] == 31
    assert main.value == pytest.approx(0.00444809, abs=1e-8)
    assert main.parts["ratio"] == pytest.approx(6.22021, abs=1e-5)
    pairs = found(survey, "propensity", NOMINAL, interactions=True)
    assert pairs.parts["parameters"] == 379
    assert pairs.value == pytest.approx(0.01173712, rel=1e-2)
    assert pairs.parts["ratio"] == pytest.approx(1.30263, rel=1e-2)


# By hand


def test_a_table_by_hand() -> None:
    files = table(a="xxyy"), table(a="xyyy")
    measured = found(files, "contingency_tables", ways=1)
    assert measured.value == pytest.approx(math.sqrt(1.0 - math.sqrt(0.5 * 0.25) - math.sqrt(0.5 * 0.75)))
    assert measured.parts["total_variation_1"] == 0.25
    assert found(files, "contingency_table_loss", ways=1).value == 2.0 / 2


def test_an_association_by_hand() -> None:
    """Each tells the other in the original; independent in the masked file."""
    files = table(a="xxyy", b="ppqq"), table(a="xxyy", b="pqpq")
    measured = found(files, "cramers_v")
    assert (measured.parts["mean_original"], measured.parts["mean_masked"]) == (1.0, 0.0)
    assert measured.value == 1.0
    one = found((table(a="xxyy", b="pppp"), table(a="xxyy", b="pppq")), "cramers_v")
    assert math.isnan(one.value), "a category that masking made is no recoding"
    assert "single category" in " ".join(one.notes)


def test_entropy_by_hand() -> None:
    """Where z is published it was x or y, one bit each; the fourth is sure."""
    files = table(a="xyxy"), table(a="zzwy")
    measured = found(files, "entropy_based_loss")
    assert measured.per_record is not None
    assert measured.per_record.tolist() == [1.0, 1.0, 0.0, 0.0]
    assert measured.parts["bits"] == 2.0
    assert measured.value == 50.0


def test_a_missing_cell_is_a_category() -> None:
    before = pd.DataFrame({"a": ["x", "x", None, "y"]})
    after = pd.DataFrame({"a": ["x", None, None, "y"]})
    assert found((before, after), "contingency_table_loss", ways=1).parts == {
        "sum": 2.0,
        "cells": 3.0,
        "sum_1": 2.0,
        "cells_1": 3.0,
    }
    assert found((before, after), "distance_based_loss").value == 25.0
    assert found((before, after), "entropy_based_loss").parts["bits"] == 2.0


def test_an_ordinal_variable_counts_steps_and_missing_cells_as_the_largest() -> None:
    declared = {"a": {"type": "ordinal", "categories": ["low", "mid", "high"]}}
    before = pd.DataFrame({"a": ["low", "mid", "high", "low"]})
    after = pd.DataFrame({"a": ["mid", "low", "low", None]})
    measured = found((before, after), "distance_based_loss", declared)
    assert measured.per_record is not None
    assert measured.per_record.tolist() == [50.0, 50.0, 100.0, 100.0]
    assert found((before, after), "distance_based_loss").value == 100.0


def test_weights_count_as_records() -> None:
    files = table(a="xxy", b="ppq"), table(a="xyy", b="ppq")
    declared = {"w": {"role": "weight"}}
    weighted = tuple(file.assign(w=[2.0, 1.0, 3.0]) for file in files)
    repeated = tuple(file.iloc[[0, 0, 1, 2, 2, 2]] for file in files)
    for name in ALL:
        by_weight = mw.measure(*weighted, [{name: {"weighted": True}}], declared=declared)[name]
        # Weights are scaled to the number of records, and half as many records are half as many to a cell.
        factor = 2.0 if name == "contingency_table_loss" else 1.0
        assert factor * by_weight.value == pytest.approx(found(repeated, name).value), name


def test_a_table_with_more_cells_than_are_counted_at_once() -> None:
    rng = np.random.default_rng(4)
    before = pd.DataFrame(rng.integers(0, 400, (3000, 3)).astype(str), columns=list("abc"))
    after = before.assign(a=np.where(rng.random(3000) < 0.2, "7", before["a"]))
    measured = found((before, after), "contingency_tables", ways=3)
    for ways, chosen in ((2, ["a", "b"]), (3, ["a", "b", "c"])):
        old, new = (file[chosen].value_counts() for file in (before, after))
        old, new = old.align(new, fill_value=0)
        hellinger = math.sqrt(1.0 - np.sqrt(old / 3000 * new / 3000).sum())
        assert measured.parts[f"hellinger_{ways}_largest"] == pytest.approx(hellinger, rel=1e-9)
    loss = found((before, after), "contingency_table_loss", ways=2)
    sizes = [len(set(before[name]) | set(after[name])) for name in "abc"]
    assert loss.parts["cells_2"] == sizes[0] * sizes[1] + sizes[0] * sizes[2] + sizes[1] * sizes[2]
    old = pd.crosstab(before["a"], before["b"]).to_numpy()
    expected = np.outer(old.sum(1), old.sum(0)) / 3000
    v = math.sqrt(((old - expected) ** 2 / expected).sum() / (3000 * (min(old.shape) - 1)))
    assert found((before, before), "cramers_v", variables=["a", "b"]).parts["mean_original"] == pytest.approx(v)


# Recoded variables


def test_a_recoded_number_is_compared_on_the_published_bands() -> None:
    before = pd.DataFrame({"age": [3, 17, 30, 64, 65, 90], "sex": list("fmfmfm")})
    bands = ["young", "young", "middle", "middle", "old", "old"]
    after = before.assign(age=bands)
    for name in ("contingency_tables", "contingency_table_loss", "cramers_v", "distance_based_loss"):
        measured = found((before, after), name)
        assert measured.value == 0.0, name
        assert "recoded, compared on the published categories: age" in measured.notes
    assert found((before, after), "entropy_based_loss").per_variable["age"] == pytest.approx(100.0 / math.log2(6))


def test_cells_suppressed_after_recoding_are_lost_from_their_own_band() -> None:
    before = pd.DataFrame({"age": [3, 17, 30, 64, 65, 90], "sex": list("fmfmfm")})
    suppressed = pd.DataFrame({"age": ["young", None, "middle", "middle", "old", "old"]})
    after = before.assign(age=suppressed["age"])
    measured = found((before, after), "contingency_table_loss", variables=["age"], ways=1)
    # The 17 lies between bands: nobody can tell which one is meant, and it is lost from one of its own.
    assert (measured.parts["sum"], measured.parts["cells"]) == (2.0, 5.0)
    after = before.assign(age=["young", "young", "middle", "middle", "old", "old"])
    more = pd.concat([before, before.assign(age=[4, 5, 31, 32, 66, 67])], ignore_index=True)
    others = pd.DataFrame({"age": ["young", None, "middle", None, "old", None]})
    masked = pd.concat([after, after.assign(age=others["age"])], ignore_index=True)
    measured = found((more, masked), "contingency_table_loss", variables=["age"], ways=1)
    assert (measured.parts["sum"], measured.parts["cells"]) == (6.0, 4.0)


def test_bands_that_overlap_are_no_recoding() -> None:
    """Each number is there once, so that any bands are a function of it: they have to be intervals, too."""
    before = pd.DataFrame({"age": [3, 17, 30, 64, 65, 90], "sex": list("fmfmfm")})
    after = before.assign(age=["young", "young", "old", "middle", "old", "old"], sex=list("ffffmm"))
    measured = found((before, after), "contingency_tables")
    assert set(measured.per_variable) == {"sex"}
    assert any("left out, recoded and then changed otherwise" in note for note in measured.notes)


def test_joined_categories_that_were_changed_a_little_are_compared_with_where_most_went() -> None:
    before = table(a="xxxyyyzzz")
    after = pd.DataFrame({"a": ["xy", "xy", "z", "xy", "xy", "xy", "z", "z", "z"]})
    measured = found((before, after), "contingency_table_loss", ways=1)
    assert measured.parts["sum"] == 2.0
    assert found((before, after), "distance_based_loss").value == pytest.approx(100.0 / 9)


def test_a_variable_that_was_recoded_and_then_changed_is_left_out_with_a_note() -> None:
    before = pd.DataFrame({"a": list("xyzxyz"), "b": list("ppqqpp")})
    joined = before.assign(a=["xy", "xy", "z", "xy", "xy", "z"])
    assert found((before, joined), "contingency_tables").value == 0.0
    moved = joined.assign(a=["xy", "xy", "z", "z", "xy", "z"])
    measured = found((before, moved), "contingency_tables", ways=1)
    assert any(
        "left out, recoded and then changed otherwise" in note and note.endswith(": a") for note in measured.notes
    )
    shorter = found((before, joined.iloc[:4]), "contingency_tables", ways=1)
    assert any("records are not paired" in note for note in shorter.notes)


# What must not matter


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize("seed", range(5))
def test_equal_files_lose_nothing_and_order_and_names_do_not_matter(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    before = pd.DataFrame(rng.integers(0, [3, 4, 2, 5], (200, 4)).astype(str), columns=list("abcd"))
    before = before.mask(rng.random(before.shape) < 0.05)
    after = before.mask(
        rng.random(before.shape) < 0.2, before.sample(frac=1.0, random_state=seed).reset_index(drop=True)
    )
    assert found((before, before), name).value == 0.0
    value = found((before, after), name).value
    assert value > 0.0
    order = rng.permutation(200)
    assert found((before.iloc[order], after.iloc[order]), name).value == pytest.approx(value, rel=1e-12)
    names = {code: f"category {code}" for code in "01234"}
    renamed = before.replace(names), after.replace(names)
    assert found(renamed, name).value == pytest.approx(value, rel=1e-12)
    columns = list("cadb")
    assert found((before[columns], after[columns]), name).value == pytest.approx(value, rel=1e-12)


def test_files_of_other_lengths_are_compared_as_files() -> None:
    before = table(a="xxyyzz", b="pqpqpq")
    doubled = pd.concat([before, before], ignore_index=True)
    assert found((before, doubled), "contingency_tables").value == 0.0
    assert found((before, doubled), "contingency_table_loss").value == 0.0
    assert found((before, doubled), "cramers_v").value == pytest.approx(0.0, abs=1e-9)
    with pytest.raises(mw.InputError, match="each masked record is compared with its own original"):
        found((before, doubled), "entropy_based_loss")


@pytest.mark.parametrize("name", ALL)
def test_numbers_alone_are_not_defined_and_a_note_says_what_to_do(name: str) -> None:
    data = pd.DataFrame({"x": [1.5, 2.5, 3.5], "y": [1, 2, 3]})
    measured = found((data, data), name)
    assert math.isnan(measured.value)
    assert "name variables as `variables`" in " ".join(measured.notes)
    assert found((data, data), name, variables=["x", "y"]).value == 0.0


# Trees that tell the files apart


def test_a_tree_sees_an_association_that_main_effects_do_not() -> None:
    """B tells a in the original and is drawn anew: its distribution changes by chance alone."""
    rng = np.random.default_rng(5)
    before = pd.DataFrame({"a": rng.permutation(["x", "y"] * 500), "n": rng.normal(size=1000)})
    before["b"] = np.where(before["a"] == "x", "p", "q")
    after = before.assign(b=rng.choice(["p", "q"], 1000))
    assert found((before, after), "propensity", order=1).value < 1e-3
    tree = found((before, after), "propensity", model="tree", permutations=20)
    assert tree.value > 0.02
    assert tree.parts["leaves"] >= 3
    assert tree.parts["standardised"] > 4.0
    assert tree.per_record is not None
    pairs = found((before, after), "propensity", interactions=True)
    assert pairs.value > 0.02


def test_a_tree_tells_nothing_of_equal_files_and_little_of_draws() -> None:
    rng = np.random.default_rng(6)
    texts = {name: rng.choice(list(letters), 3000) for name, letters in (("a", "xyz"), ("b", "pq"))}
    data = pd.DataFrame({**texts, "n": rng.normal(size=3000)})
    same = found((data, data), "propensity", model="tree", permutations=5)
    assert (same.value, same.parts["expected"]) == (0.0, 0.0)
    assert "found nothing" in " ".join(same.notes)
    half = data.iloc[:1500].reset_index(drop=True), data.iloc[1500:].reset_index(drop=True)
    drawn = found(half, "propensity", model="tree", permutations=20)
    assert abs(drawn.parts.get("standardised", 0.0)) < 4.0


def test_a_tree_takes_a_sample_of_long_files_and_says_so() -> None:
    rng = np.random.default_rng(7)
    data = pd.DataFrame({"a": rng.choice(list("xyz"), 900)})
    measured = found((data, data.assign(a="x")), "propensity", model="tree", permutations=3, records=300)
    assert measured.per_record is None
    assert any(note.startswith("measured on 300 records") for note in measured.notes)
    assert measured.value > 0.05


def test_a_model_of_too_many_categories_is_refused_with_what_to_do() -> None:
    data = pd.DataFrame({"a": [str(number) for number in range(5000)]})
    with pytest.raises(mw.InputError, match="take model: tree, or name fewer variables"):
        found((data, data.iloc[::-1].reset_index(drop=True)), "propensity")


def test_a_number_of_which_nothing_is_published_is_measured_all_the_same() -> None:
    original = pd.DataFrame({"id": range(20), "age": range(20, 40), "sex": ["f", "m"] * 10})
    masked = original.assign(age=pd.Series([None] * 20, dtype="string"))
    found = mw.measure(original, masked, ["contingency_tables"], key="id", declared={"id": {"role": "identifier"}})
    assert found["contingency_tables"].per_variable == {"age": 1.0, "sex": 0.0}
