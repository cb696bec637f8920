"""Microaggregation from end to end: which operator each variable gets, and that edits, k and totals hold with it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

K = 4


def protect(data, edits, declared=None, **params):
    return mw.protect(
        data, "microaggregation", edits=edits, seed=1, variables=list(data), declared=declared,
        params={"k": K, "group_size": "all", **params},
    )  # fmt: skip


def rng():
    return np.random.default_rng(11)


def test_means_keep_sums_and_inequalities_exactly():
    a, b = rng().integers(1, 900, (2, 150))
    data = pd.DataFrame({"a": a, "b": b, "total": a + b})
    masked = protect(data, ["a + b == total", "a <= total", "b in [1, 900]"])
    assert (masked["a"] + masked["b"] == masked["total"]).all()
    assert masked.groupby(list(masked)).size().min() >= K
    # Means, rounded to whole numbers in groups of at least four: totals move by less than half a unit a record.
    assert abs(masked["a"].sum() - data["a"].sum()) <= 0.5 * len(data)


def test_geometric_means_keep_products_inside_sign_patterns():
    """A zero or a negative factor in a cluster would make the geometric mean 0 or undefined: signs are kept apart."""
    draw = rng()
    price = np.round(draw.gamma(3, 4, 240), 2) + 0.01
    number = draw.integers(1, 50, 240) * draw.choice([-1, 0, 1], 240, p=[0.2, 0.2, 0.6])
    data = pd.DataFrame({"price": price, "number": number.astype(float), "value": np.round(price * number, 4)})
    declared = {"price": {"decimals": 2}, "number": {"decimals": 0}, "value": {"decimals": 4}}
    masked = protect(data, ["price * number == value"], declared)
    assert mw.validate(masked, ["price * number == value"], declared=declared).ok
    np.testing.assert_allclose(masked["price"] * masked["number"], masked["value"], rtol=1e-12)
    np.testing.assert_array_equal(np.sign(masked["number"]), np.sign(data["number"]))
    assert masked.groupby(list(masked)).size().min() >= K


def test_a_total_that_is_also_a_factor_keeps_both_edits():
    """No one operator keeps a sum and a product of the same variable: the product is derived from the masked total."""
    draw = rng()
    wages, other = draw.integers(100, 4000, 200), draw.integers(0, 900, 200)
    rate = draw.integers(1, 60, 200)
    data = pd.DataFrame({"wages": wages, "other": other, "income": wages + other, "rate": rate})
    data["tax"] = data["income"] * data["rate"]
    edits = ["wages + other == income", "income * rate == tax", "tax >= 0"]
    masked = protect(data, edits)
    assert (masked["wages"] + masked["other"] == masked["income"]).all()
    assert (masked["income"] * masked["rate"] == masked["tax"]).all()
    assert masked.groupby(list(masked)).size().min() >= K


def test_lower_medians_give_values_that_occur():
    data = pd.DataFrame({"age": rng().integers(18, 90, 400), "pay": rng().integers(0, 9000, 400)})
    masked = protect(data, ["age in original"], declared={"age": {"unchanged": 98}})
    assert set(masked["age"]) <= set(data["age"])
    assert not masked["age"].equals(data["age"])
    assert mw.validate(masked, ["age in original"], original=data).ok


def survey(n=300):
    draw = rng()
    town, schooling = draw.choice(list("ABCDEF"), n), draw.choice(["low", "middle", "high"], n)
    wage = np.round(np.array([900 + 1500 * "ABCDEF".index(each) for each in town]) + draw.normal(0, 60, n)).astype(int)
    return pd.DataFrame({"town": town, "schooling": schooling, "wage": wage, "bonus": draw.integers(0, 300, n)}).assign(
        pay=lambda frame: frame["wage"] + frame["bonus"]
    )


SURVEY = {
    "town": {"type": "nominal", "role": "quasi_identifier"},
    "schooling": {"type": "ordinal", "categories": ["low", "middle", "high"], "role": "quasi_identifier"},
}


@pytest.mark.parametrize("partition", ["mdav", "refine", "maximum_distance", "variable_size_mdav"])
def test_categories_are_masked_next_to_numbers(partition):
    data = survey()
    edits = ["wage + bonus == pay", "if town == 'A' then wage <= 2000", "bonus >= 0"]
    masked = protect(data, edits, SURVEY, partition=partition)
    assert mw.validate(masked, edits, original=data, declared=SURVEY).ok
    assert set(masked["town"]) <= set(data["town"])
    assert set(masked["schooling"]) <= {"low", "middle", "high"}
    assert masked.groupby(list(masked)).size().min() >= K
    # Modes of clusters of similar wages: towns differ by wages, so that most records keep theirs.
    assert (masked["town"] == data["town"]).mean() > 0.9


def test_clusters_take_the_mode_and_the_lower_median():
    data = pd.DataFrame(
        {
            "town": list("xyyzzzxx"),
            "level": list("abbcabcc"),
            "pay": [1, 2, 3, 4, 91, 92, 93, 94],
        }
    )
    declared = {"town": {"type": "nominal"}, "level": {"type": "ordinal", "categories": ["a", "b", "c"]}}
    masked = protect(data, [], declared)
    rows = [tuple(row) for row in masked.itertuples(index=False)]
    assert rows[:4] == [("y", "b", 2)] * 4 or rows[:4] == [("y", "b", 3)] * 4
    assert {row[:2] for row in rows[4:]} == {("x", "b")}


def test_every_two_categories_are_equally_far_apart():
    """Whatever their order in the file: shuffling the names of towns changes no cluster."""
    data = survey(120)[["town", "wage"]]
    data["wage"] = rng().normal(50, 9, 120)
    names = dict(zip("ABCDEF", "DAFCEB", strict=True))
    one, other = (
        protect(frame, [], {"town": {"type": "nominal"}})
        for frame in (data, data.assign(town=data["town"].map(names)))
    )  # fmt: skip
    np.testing.assert_array_equal(one["wage"], other["wage"])


def test_too_many_categories_for_distances_are_refused_by_name():
    data = pd.DataFrame({"code": [f"c{number}" for number in range(260)], "pay": np.arange(260) * 7 % 260})
    with pytest.raises(mw.InputError, match="code has 260 categories"):
        protect(data, [], {"code": {"type": "nominal"}})


def test_weighted_means_keep_weighted_totals():
    draw = rng()
    wage, other = draw.gamma(2, 900, (2, 200))
    data = pd.DataFrame({"weight": draw.uniform(1, 40, 200), "wage": wage, "other": other, "total": wage + other})
    declared = {"weight": {"role": "weight"}}

    def masked(**params):
        return mw.protect(
            data, "microaggregation", edits=["wage + other == total"], seed=1, declared=declared,
            params={"k": 5, **params},
        )  # fmt: skip

    plain, weighted = masked(), masked(weighted=True)
    pd.testing.assert_series_equal(weighted["weight"], data["weight"])
    for name in ("wage", "other", "total"):
        assert (weighted[name] * data["weight"]).sum() == pytest.approx((data[name] * data["weight"]).sum(), rel=1e-9)
        assert plain[name].sum() == pytest.approx(data[name].sum(), rel=1e-9)
        assert abs(weighted[name].sum() / data[name].sum() - 1) > 1e-4
    np.testing.assert_allclose(weighted["wage"] + weighted["other"], weighted["total"], rtol=1e-12)
    with pytest.raises(mw.InputError, match="needs survey weights"):
        mw.protect(data.drop(columns="weight"), "microaggregation", seed=1, params={"k": 5, "weighted": True})


def farms(n=300):
    draw = rng()
    farm = np.where(draw.random(n) < 0.4, 0, draw.integers(1, 900, n))
    wage = np.where(draw.random(n) < 0.1, 0, draw.integers(800, 4000, n))
    return pd.DataFrame({"farm": farm, "wage": wage, "total": farm + wage})


def test_structural_zeros_stay_and_their_share_is_reported(tmp_path):
    data = farms()
    data.to_csv(tmp_path / "farms.csv", index=False)
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: farms.csv}\nedits: [farm + wage == total]\nprotect:\n"
        "  - {method: microaggregation, params: {k: 4, structural_zeros: [farm, wage]}}\n"
        "output: {data: masked.csv, report: report.html, record: run.json}\nseed: 1\n"
    )
    record = mw.run(tmp_path / "p.yaml").record
    masked = pd.read_csv(tmp_path / "masked.csv")
    assert (masked["farm"] + masked["wage"] == masked["total"]).all()
    # Merged patterns of fewer than four records may differ; all others keep their zeros.
    assert np.mean((masked["farm"] == 0) == (data["farm"] == 0)) > 0.97
    for each in record["structural_zeros"]:
        assert each["before"] == pytest.approx((data[each["variable"]] == 0).mean())
        assert each["after"] == pytest.approx((masked[each["variable"]] == 0).mean())
    assert [each["variable"] for each in record["structural_zeros"]] == ["farm", "wage"]
    assert "structural zeros of farm" in (tmp_path / "report.html").read_text()
    assert any("farm = 0" in one["label"] for one in record["plan"]["steps"][0]["groups"][0]["strata"])
    # Without them, averages of nothing and something are published.
    plain = mw.protect(data, "microaggregation", seed=1, params={"k": 4})
    assert (plain["farm"] == 0).mean() < (masked["farm"] == 0).mean()


@pytest.mark.parametrize(
    ("zeros", "said"),
    [(["farn"], "did you mean 'farm'"), (["town"], "no variable that the step masks called 'town'")],
)
def test_wrong_names_of_structural_zeros_are_refused(zeros, said):
    data = farms(40).assign(town="x")
    with pytest.raises(mw.InputError, match=said):
        mw.protect(data, "microaggregation", seed=1, params={"k": 4, "structural_zeros": zeros})
