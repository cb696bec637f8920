"""A rule that begins with ``if`` is for the records whose condition holds; it is counted so."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw
from maskwright.cli.main import main

DATA = "age,wage\n10,0\n30,5\n,7\n"


@pytest.mark.parametrize(
    ("rule", "fired"),
    [
        ("if age > 90 then wage == 0", 1),
        ("if age < 16 then wage == 0", 2),
        ("if age < 16 then wage == 0 else wage > 0", 3),
        ("not (age > 90) or wage == 0", 3),
        ("age >= 0", 3),
    ],
)
def test_a_rule_fires_where_its_condition_is_not_false(rule, fired, tmp_path, capsys) -> None:
    """A missing cell leaves open whether the rule is for the record, as with ``when``."""
    (tmp_path / "d.csv").write_text(DATA, encoding="utf-8")
    (tmp_path / "r.yaml").write_text(json.dumps([rule]), encoding="utf-8")
    assert main(["validate", str(tmp_path / "d.csv"), "--edits", str(tmp_path / "r.yaml"), "--json"]) == 0
    (edit,) = json.loads(capsys.readouterr().out)["edits"]
    assert edit["fired"] == fired


def test_a_condition_that_never_holds_applies_to_no_record(tmp_path, capsys) -> None:
    """The rule is kept all the same: masked values may make the condition true."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.integers(1, 80, 60), "wage": rng.integers(0, 9, 60)})
    frame.to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "r.yaml").write_text("- if age > 90 then wage == 0\n- age >= 0\n", encoding="utf-8")
    assert main(["validate", str(tmp_path / "d.csv"), "--edits", str(tmp_path / "r.yaml")]) == 0
    said = capsys.readouterr().out
    assert "applied to" in said
    row = next(line for line in said.splitlines() if line.startswith("edit-1"))
    assert row.split()[2] == "0"
    edits = mw.EditSet.parse(["if age > 90 then wage == 0", "age >= 0"])
    masked = mw.protect(frame, "additive_noise", edits=edits, seed=1, params={"p": 2})
    assert (masked.age > 90).any()
    assert (masked.wage[masked.age > 90] == 0).all()


def test_rules_that_are_for_no_record_say_nothing_of_the_file(tmp_path, capsys) -> None:
    (tmp_path / "d.csv").write_text(DATA.replace(",7", "5,7"), encoding="utf-8")
    (tmp_path / "r.yaml").write_text("- if age > 90 then wage == 0\n", encoding="utf-8")
    assert main(["validate", str(tmp_path / "d.csv"), "--edits", str(tmp_path / "r.yaml")]) == 2
    assert "Rules with 'when' or 'if': it is true of no record" in " ".join(capsys.readouterr().err.split())


@given(
    rows=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=20), limit=st.integers(-1, 5)
)
def test_if_and_when_say_the_same(rows, limit) -> None:
    frame = pd.DataFrame(rows, columns=["a", "b"])
    edits = mw.EditSet.parse([f"if a < {limit} then b == 0", {"rule": "b == 0", "when": f"a < {limit}"}])
    one, other = mw.validate(frame, edits).edits
    assert (one.fired, one.violations, one.unknown) == (other.fired, other.violations, other.unknown)
    assert one.fired == int((frame.a < limit).sum())
