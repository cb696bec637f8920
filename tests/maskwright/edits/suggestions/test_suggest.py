"""Rules found in data: made-up files with known rules, the reference files, and what must not be suggested."""

from __future__ import annotations

import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.cli.main import main
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.frames import dataset_from_frame
from maskwright.edits.suggestions.model import as_yaml
from maskwright.edits.suggestions.null_spaces import null_space, sparse
from maskwright.edits.suggestions.robust_fit import PENALTIES, sparse_fit
from maskwright.edits.suggestions.suggest import suggest


def made_up(n=300):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({
        "wages": rng.integers(5000, 90000, n), "other": rng.integers(1, 900, n), "hours": rng.integers(5, 60, n),
        "rate": rng.integers(7, 80, n), "size": rng.integers(1, 6, n), "year": np.full(n, 2026),
        "noise": rng.integers(-500, 500, n),
    })  # fmt: skip
    frame["total income"] = frame["wages"] + frame["other"]
    frame["doubled"] = 2 * frame["wages"] - 3 * frame["noise"] + 7
    frame["pay"] = frame["hours"] * frame["rate"]
    frame["tax"] = np.rint(0.0765 * frame["wages"]).astype(int)
    frame["sex"] = rng.choice(["M", "F"], n)
    return frame


def rules(frame, kind=None, **more):
    found = mw.suggest(frame, **more)
    return [each.rule for each in found.found if kind in (None, each.kind)]


def test_every_kind_is_found():
    frame = made_up()
    assert set(rules(frame, "equality")) == {"wages + other == `total income`", "3 * noise + doubled == 2 * wages + 7"}
    assert rules(frame, "product") == ["hours * rate == pay"]
    assert rules(frame, "constant", show_values=True) == ["year == 2026"]
    assert rules(frame, "proportion") == ["0.0765 * wages == tax"]
    assert rules(frame, "ordering") == [], "the sum, what is computed, and signs say it already"
    assert {"size in {1, 2, 3, 4, 5}", "sex in {'F', 'M'}"} == set(rules(frame, "set", show_values=True))
    assert "hours in [0, 60]" in rules(frame, "range")


def test_all_of_them_hold_and_can_be_pasted(tmp_path):
    frame = made_up()
    found = mw.suggest(frame)
    assert all(each.records == each.of == len(frame) for each in found.found)
    (tmp_path / "rules.yaml").write_text(as_yaml(found, "made up"), encoding="utf-8")
    edits = mw.read_edits(tmp_path / "rules.yaml")
    assert len(edits) == len(found.found)
    assert mw.validate(frame, edits).ok
    assert "coincidences" in (tmp_path / "rules.yaml").read_text(encoding="utf-8")


def test_nearly_held_rules_on_demand():
    frame = made_up()
    frame.loc[[5, 77], "total income"] += 100
    assert "wages + other == `total income`" not in rules(frame, share=1.0)
    found = {each.rule: each for each in mw.suggest(frame, share=0.95).found}
    near = found["wages + other == `total income`"]
    assert (near.records, near.of) == (298, 300)


def test_decimals_are_exact():
    rng = np.random.default_rng(1)
    cents = rng.integers(1, 10**9, (200, 2))
    frame = pd.DataFrame({"a": cents[:, 0] / 100, "b": cents[:, 1] / 10})
    frame["c"] = [(10 * x + 100 * y) / 1000 for x, y in cents]
    declared = {"a": {"decimals": 2}, "b": {"decimals": 1}, "c": {"decimals": 2}}
    assert rules(frame, "equality", declared=declared) == ["a + b == c"]


def test_known_rules_are_left_out():
    frame = made_up()
    known = ["other + wages == `total income`", "other >= 0", "hours * rate == pay"]
    left = rules(frame, edits=known, show_values=True)
    assert "wages + other == `total income`" not in left
    assert "hours * rate == pay" not in left
    assert "wages <= `total income`" not in left
    assert "year == 2026" in left


def test_missing_cells_and_few_records():
    frame = made_up()
    frame["wages"] = frame["wages"].astype(float)
    frame.loc[::7, "wages"] = np.nan
    declared = {"wages": {"decimals": 0}}
    found = {each.rule: each for each in mw.suggest(frame, declared=declared).found}
    assert found["wages + other == `total income`"].of == 300 - 43
    assert mw.suggest(frame.head(1)).records == 1
    with pytest.raises(mw.InputError, match="no records"):
        mw.suggest(frame.head(0))
    with pytest.raises(mw.InputError, match="share"):
        mw.suggest(frame, share=1.5)


def test_rare_values_are_not_listed():
    frame = made_up()
    frame.loc[0, "size"] = 9
    assert not any(rule.startswith("size in {") for rule in rules(frame, show_values=True))


def test_names_that_rules_cannot_write_are_left_out():
    frame = pd.DataFrame({"a`b": range(50), "if": range(1, 51), "b c": range(2, 52)})
    found = rules(frame)
    assert any("`if`" in rule for rule in found)
    assert not any("a`b" in rule for rule in found)


def test_reference_files(reference):
    census = mw.read(reference / "census.csv")
    assert rules(census, "equality") == ["POTHVAL + PEARNVAL == PTOTVAL"]
    assert set(rules(census, "ordering")) == {"TAXINC <= AGI", "FEDTAX <= TAXINC"}
    sixteen = mw.read(reference / "census16.xml", record="Record")
    assert set(rules(sixteen, "equality")) == {"V8 + V9 == V10", "V9 + V10 == V14"}
    assert rules(sixteen, "product") == ["V5 * V15 == V16"]
    eia = {each.rule: each.records for each in mw.suggest(mw.read(reference / "eia.csv"), share=0.93).found}
    assert eia["RESREVENUE + COMREVENUE + INDREVENUE + OTHREVENUE == TOTREVENUE"] == 4074
    assert eia["RESSALES + COMSALES + INDSALES + OTHRSALES == TOTSALES"] == 4073
    assert "(UTILITYID, UTILNAME) in original" in eia
    unlike = ("RESREVENUE <= COMSALES", "OTHREVENUE <= RESREVENUE", "MONTH <= INDSALES", "UTILITYID <= TOTSALES")
    assert not set(unlike) & set(eia)


def test_tarragona_has_no_equality(reference_file):
    assert rules(mw.read(reference_file("tarragona.csv")), "equality") == []


@given(st.lists(st.lists(st.integers(-4, 4), min_size=5, max_size=5), min_size=1, max_size=4))
@settings(max_examples=80)
def test_null_spaces(rows):
    exact = [[Fraction(value) for value in row] for row in rows]
    basis = null_space(exact, 5)
    assert len(basis) == 5 - np.linalg.matrix_rank(np.array(rows))
    for vector in [*basis, *sparse(basis, 5)]:
        assert all(sum(a * b for a, b in zip(row, vector, strict=True)) == 0 for row in exact)
    if basis:
        reduced = np.array([[float(value) for value in vector] for vector in sparse(basis, 5)])
        assert np.linalg.matrix_rank(reduced) == len(basis)


def test_commands(tmp_path, capsys):
    made_up().to_csv(tmp_path / "survey.csv", index=False)
    (tmp_path / "rules.yaml").write_text("edits:\n- wages <= 40000\n- size <= 3\n- wages >= 50000\n", encoding="utf-8")
    data = str(tmp_path / "survey.csv")
    assert main(["edits", "--data", data, "--suggest"]) == 0
    assert "  - hours * rate == pay  # 300 of 300 records" in capsys.readouterr().out
    assert main(["edits", "--data", data, "--suggest", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["suggestions"]
    assert main(["edits", "--suggest"]) == 2
    assert main(["edits"]) == 2
    assert main(["edits", "--data", data, "--suggest", "--share", "0"]) == 2
    capsys.readouterr()
    assert main(["edits", str(tmp_path / "rules.yaml"), "--data", data, "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    assert found["analysis"]["blocked"] is True
    assert found["analysis"]["findings"][0]["edits"] == ["edit-1", "edit-3"]
    first = found["edits"][0]
    assert first["satisfied"] + first["violations"] == first["fired"] == found["records"] == 300
    (tmp_path / "rules.yaml").write_text("edits:\n- wages <= 40000\n- size <= 3\n", encoding="utf-8")
    assert main(["localize", data, "--edits", str(tmp_path / "rules.yaml"), "--json"]) == 1
    located = json.loads(capsys.readouterr().out)
    assert set(located["variables"]) == {"wages", "size"}
    assert main(["localize", data, "--edits", str(tmp_path / "rules.yaml"), "--weight", "size=2"]) == 1
    assert "violate an edit" in capsys.readouterr().out
    assert main(["localize", data, "--edits", str(tmp_path / "rules.yaml"), "--weight", "size"]) == 2


@given(
    low=st.integers(-10_000, 10_000), span=st.integers(20, 30_000), places=st.integers(0, 3),
)  # fmt: skip
def test_bounds_of_ranges_hold_and_are_no_values_of_records(low, span, places):
    """Unless a value is 1, 2 or 5 times a power of ten: then nobody can tell."""
    values = np.linspace(low, low + span, 50).round().astype(int) / 10**places
    frame = pd.DataFrame({"x": values})
    data = dataset_from_frame(frame, {"x": VariableDeclaration(decimals=places)})
    (rule,) = [each.rule for each in suggest(data).found if each.kind == "range"]
    bounds = [Fraction(bound) for bound in rule.removeprefix("x in [").removesuffix("]").split(", ")]
    for bound, value in zip(bounds, (values.min(), values.max()), strict=True):
        assert bound == 0 or bound != Fraction(str(value)) or str(abs(bound.numerator)).rstrip("0") in ("1", "2", "5")
    assert bounds[0] <= Fraction(str(values.min()))
    assert bounds[1] >= Fraction(str(values.max()))
    (exact,) = [each.rule for each in suggest(data, show_values=True).found if each.kind == "range"]
    assert [Fraction(bound) for bound in exact.removeprefix("x in [").removesuffix("]").split(", ")] == [
        Fraction(str(values.min())), Fraction(str(values.max()))
    ]  # fmt: skip


def test_exact_bounds_only_when_asked_for_and_said_to_be_confidential(tmp_path, capsys):
    pd.DataFrame({"x": range(3, 87)}).to_csv(tmp_path / "d.csv", index=False)
    arguments = ["edits", "--data", str(tmp_path / "d.csv"), "--suggest"]
    assert main(arguments) == 0
    said = capsys.readouterr().out
    assert "x in [0, 90]" in said
    assert "86" not in said
    assert main([*arguments, "--show-values"]) == 0
    said = capsys.readouterr().out
    assert "x in [3, 86]" in said
    assert "bounds of ranges are values of records: confidential" in said


def test_constants_and_listed_values_only_when_asked_for(tmp_path, capsys):
    frame = pd.DataFrame({"code": [7351] * 40, "name": ["Geheim"] * 40, "class": [4217, 8113] * 20, "x": range(40)})
    frame.to_csv(tmp_path / "d.csv", index=False)
    arguments = ["edits", "--data", str(tmp_path / "d.csv"), "--suggest"]
    for more in ([], ["--json"]):
        assert main([*arguments, *more]) == 0
        said = capsys.readouterr().out
        assert not any(value in said for value in ("Geheim", "7351", "4217", "8113"))
        assert "constants and lists of values are not shown" in said
    assert main([*arguments, "--show-values"]) == 0
    said = capsys.readouterr().out
    assert all(value in said for value in ("Geheim", "7351", "4217", "8113"))
    assert not [each for each in mw.suggest(frame).found if each.kind in ("constant", "set")]


def test_categories_with_quotes_are_suggested_as_the_language_writes_them() -> None:
    frame = pd.DataFrame({"region": ["Côte d'Azur", "Nord"] * 10, "said": ["a'b\"c", "d"] * 10})
    found = [each.rule for each in mw.suggest(frame, show_values=True).found]
    assert found == ["(region, said) in original", "region in {\"Côte d'Azur\", 'Nord'}"]
    assert mw.validate(frame, found, original=frame).ok


def test_columns_that_are_all_proportional():
    data = pd.DataFrame({"age": [20 + each % 50 for each in range(60)], "tax": [10 * each for each in range(60)]})
    data = data.assign(gross=10 * data["tax"], net=9 * data["tax"])
    assert "9 * tax == net" in [each.rule for each in mw.suggest(data).found]


def test_a_sum_beside_its_own_copy() -> None:
    random = np.random.default_rng(0)
    total = random.integers(1, 900, 30).astype(float)
    terms = np.column_stack([total, total, random.integers(0, 50, (30, 2)), np.ones(30)])
    found = sparse_fit(terms, total, PENALTIES[1])
    assert np.abs(terms @ found - total).max() < 1e-6 * total.max()
