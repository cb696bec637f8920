"""Edits written as rules of the R package validate: read again, they have the same verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

WRITTEN = {
    "wages + pensions == income": "wages + pensions == income",
    "(wages - pensions) / 2 <= 10": "(wages - pensions) / 2 <= 10",
    "wages - (pensions - tax) >= 0": "wages - (pensions - tax) >= 0",
    "0 <= age <= 120": "0 <= age & age <= 120",
    "age in (0, 120]": "age > 0 & age <= 120",
    "sex in {'M', 'F'}": 'sex %in% c("M", "F")',
    "if sex = 'M' then pregnancies = 0": 'if (sex == "M") pregnancies == 0',
    "income is missing or income >= 0": "is.na(income) | income >= 0",
    "not (a == 1 and b == 2)": "!(a == 1 & b == 2)",
    "`a b` == 1": "`a b` == 1",
    "TRUE_ == 1": "TRUE_ == 1",
    "`if` == 1": "`if` == 1",
    "max(a, b) <= abs(c)": "pmax(a, b) <= abs(c)",
    "x ^ 2 <= 9": "x^2 <= 9",
    "-x <= 2.5": "-x <= 2.5",
}


@pytest.mark.parametrize("rule", WRITTEN)
def test_rules_in_r(rule: str, tmp_path: Path) -> None:
    edits = mw.EditSet.parse([rule])
    text = mw.convert_edits(edits, "validate").text
    path = tmp_path / "rules.yaml"
    path.write_text(text, encoding="utf-8")
    assert WRITTEN[rule] in text.replace("\n", " ").replace("''", "'")
    assert len(mw.read_edits(path, language="validate")) == 1


@pytest.mark.parametrize(
    "rule", ["birth <= 2020-01-01", "town in original", "mod(a, 2) == 0", "round(a) == a", "a is 'refused'"]
)
def test_what_r_cannot_say_is_refused_by_name(rule: str) -> None:
    with pytest.raises(mw.EditError, match="edit edit-1 cannot be written in R"):
        mw.convert_edits(mw.EditSet.parse([rule]), "validate")


def test_names_messages_and_severities_are_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules.yaml").write_text(
        "- {rule: age >= 0, name: age-sign, message: Nobody is younger, severity: warning}\n- a + b == c\n"
    )
    assert main(["edits", str(tmp_path / "rules.yaml"), "--to", "validate"]) == 0
    (tmp_path / "r.yaml").write_text(capsys.readouterr().out, encoding="utf-8")
    first, second = mw.read_edits(tmp_path / "r.yaml", language="validate")
    assert (first.name, first.message, first.severity, second.name) == (
        "age-sign",
        "Nobody is younger",
        "warning",
        "edit-2",
    )


def test_an_unknown_language_is_told_with_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules.yaml").write_text("- a == 1\n")
    assert main(["edits", str(tmp_path / "rules.yaml"), "--to", "schematrom"]) == 2
    assert "did you mean 'schematron'" in capsys.readouterr().err
