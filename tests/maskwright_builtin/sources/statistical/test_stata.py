"""Stata files: everything but what was masked is as it was, missing values that are letters included."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.release.data_file import write_dataset
from maskwright_builtin.sources.statistical.stata import STATA

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N = 60


def write_people(path: Path) -> list[str]:
    """Write a file with every type, label, missing code and oddity; the names of all variables but `income`."""
    income: list[Any] = np.random.default_rng(1).normal(2000, 500, N).round(2).tolist()
    income[3:6] = ["a", "r", None]
    job: list[Any] = [1, "b", *[2, 3] * (N // 2 - 1)]
    frame = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(N)],
            "sex": np.array([1, 2] * (N // 2), dtype="int32"),
            "income": pd.Series(income, dtype=object),
            "job": pd.Series(job, dtype=object),
            "born": [np.nan, *(-3000.0 + np.arange(N - 1))],
            "at": 1.6e12 + 1000 * np.arange(N),
            "month": 200.0 + np.arange(N),
            "town": ["Köln", "", *["Bonn"] * (N - 2)],
            "story": ["x" * 3000, *["y"] * (N - 1)],
            "empty": np.full(N, np.nan),
            "rooms": pd.array([1, None] * (N // 2), dtype="Int32"),
            "share": np.linspace(0, 1, N) / 3,
        }
    )
    pyreadstat.write_dta(
        frame,
        str(path),
        column_labels={"income": "Income, €", "sex": "Sex"},
        missing_user_values={"income": ["a", "r", "z"], "job": ["b"], "rooms": ["q"]},
        variable_value_labels={
            "sex": {1: "male", 2: "female"}, "income": {"a": "refused", "z": "never"}, "rooms": {"q": "not asked"},
            "job": {1: "x", 2: "y", 3: "z", "b": "does not apply"},
        },
        variable_format={"born": "%td", "at": "%tc", "month": "%tm", "income": "%9.2f", "town": "%20s"},
    )  # fmt: skip
    return [name for name in frame if name != "income"]


def facts(metadata: Any) -> dict[str, Any]:
    """All that a file says of its variables, but for the time at which it was written."""
    names = [name for name in dir(metadata) if not name.startswith("_") and not name.endswith("_time")]
    return {name: getattr(metadata, name) for name in names}


def test_all_but_the_masked_variable_is_as_it_was(tmp_path: Path, masked: Callable[..., Path]) -> None:
    """Cells, labels, letters of missing values, formats; missing cells of the masked one, too."""
    out = masked("in.dta", write_people(tmp_path / "in.dta"), "out.dta")
    before, said = pyreadstat.read_dta(str(tmp_path / "in.dta"), user_missing=True, disable_datetime_conversion=True)
    after, says = pyreadstat.read_dta(str(out), user_missing=True, disable_datetime_conversion=True)
    pd.testing.assert_frame_equal(before.drop(columns="income"), after.drop(columns="income"))
    assert facts(said) == facts(says)
    assert after["income"][3:5].tolist() == ["a", "r"]
    assert after["income"].isna().tolist() == before["income"].isna().tolist()
    rest = [0, 1, 2, *range(6, N)]
    assert (before["income"][rest] != after["income"][rest]).mean() > 0.9


def test_pandas_reads_it_alike(tmp_path: Path, masked: Callable[..., Path]) -> None:
    """A library that has its own reader, which knows dates and letters."""
    out = masked("in.dta", write_people(tmp_path / "in.dta"), "out.dta")
    before, after = (
        pd.read_stata(path, convert_missing=True, convert_categoricals=False, convert_dates=False)
        for path in (tmp_path / "in.dta", out)
    )
    pd.testing.assert_frame_equal(before.drop(columns="income"), after.drop(columns="income"))
    assert after["income"][3:6].map(str).tolist() == [".a", ".r", "."]


def test_what_the_file_says_of_its_variables_is_known(tmp_path: Path) -> None:
    """Labelled codes are categories, letters are missing codes with their meanings, no role."""
    write_people(tmp_path / "in.dta")
    known = {each.name: each for each in mw.read(tmp_path / "in.dta").variables}
    assert (known["sex"].type, known["sex"].label) == ("nominal", "Sex")
    assert (known["income"].type, known["income"].decimals) == ("continuous", 2)
    assert known["income"].missing_codes == (".a", ".r", ".z")
    assert known["income"].missing_meanings == ("refused", "", "never")
    assert (known["job"].type, known["job"].missing_codes) == ("nominal", (".b",))
    assert known["job"].labels == (("1", "x"), ("2", "y"), ("3", "z"))
    assert (known["rooms"].type, known["rooms"].missing_codes) == ("integer", (".q",))
    assert all(each.inferred_role for each in known.values())


def test_edits_know_a_missing_value_by_its_meaning(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As the file labels it."""
    write_people(tmp_path / "in.dta")
    (tmp_path / "rules.yaml").write_text('edits: [{name: told, rule: not (income is "refused")}]', encoding="utf-8")
    assert main(["validate", str(tmp_path / "in.dta"), "--edits", str(tmp_path / "rules.yaml")]) == 1
    assert "told" in capsys.readouterr().out


def test_equal_releases_are_equal_files(tmp_path: Path, masked: Callable[..., Path]) -> None:
    """The header has no time of writing."""
    others = write_people(tmp_path / "in.dta")
    first = masked("in.dta", others, "out.dta").read_bytes()
    assert b"<timestamp>\x1101 Jan 1970 00:00</timestamp>" in first
    assert masked("in.dta", others, "out.dta").read_bytes() == first


@pytest.mark.parametrize("version", [114, 117, 118])
def test_files_that_pandas_wrote_are_read(tmp_path: Path, masked: Callable[..., Path], version: int) -> None:
    """Of old versions, with small integers; all values are as they were."""
    frame = pd.DataFrame(
        {
            "small": np.arange(40, dtype="int8"), "middle": np.arange(40, dtype="int16"),
            "single": np.linspace(0, 1, 40).astype("float32"), "town": ["Köln", "Bonn"] * 20,
            "area": pd.Categorical(["n", "s"] * 20), "born": pd.Timestamp("2001-02-03"),
            "income": np.random.default_rng(1).normal(2000, 500, 40).round(1),
        }
    )  # fmt: skip
    frame.to_stata(tmp_path / "in.dta", write_index=False, version=version, convert_dates={"born": "td"})
    out = masked("in.dta", [name for name in frame if name != "income"], "out.dta")
    before, after = pd.read_stata(tmp_path / "in.dta"), pd.read_stata(out)
    for name in frame.columns.drop("income"):
        assert before[name].tolist() == after[name].tolist(), name


def test_texts_alone_are_a_file_of_texts(tmp_path: Path) -> None:
    """Digits in texts stay texts, though no column is of numbers."""
    pyreadstat.write_dta(pd.DataFrame({"zip": ["1", "2"], "town": ["a", "b"]}), str(tmp_path / "in.dta"))
    assert [each.type for each in mw.read(tmp_path / "in.dta").variables] == ["nominal", "nominal"]


def test_names_that_stata_does_not_take_are_refused(
    tmp_path: Path, masked: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """By name; nothing is written."""
    wages = np.random.default_rng(2).normal(50, 9, 40).round(1)
    pd.DataFrame({"income": wages, "net-wage": ["x", "y"] * 20}).to_csv(tmp_path / "in.csv", index=False)
    masked("in.csv", ["net-wage"], "out.dta", code=2)
    assert "'net-wage'" in capsys.readouterr().err
    assert not (tmp_path / "out.dta").exists()


@pytest.mark.parametrize("damage", [lambda _: b"hello, world " * 30, lambda data: data[:200], lambda data: data[:-40]])
def test_what_is_no_such_file_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[bytes], bytes]
) -> None:
    """Exit code 2, the file named, no value."""
    write_people(tmp_path / "in.dta")
    (tmp_path / "in.dta").write_bytes(damage((tmp_path / "in.dta").read_bytes()))
    assert main(["describe", str(tmp_path / "in.dta")]) == 2
    err = capsys.readouterr().err
    assert "not a Stata file" in " ".join(err.split())
    assert "Köln" not in err


def test_suppressed_cells_have_a_letter_of_their_own(tmp_path: Path) -> None:
    """In a column that had no letter before, too; a text that Stata does not have is refused."""
    frame = pd.DataFrame({"wage": [1.5, 2.5, np.nan], "age": [30.0, 40.0, 50.0]})
    pyreadstat.write_dta(frame, str(tmp_path / "in.dta"))
    data = mw.read(tmp_path / "in.dta", variables={"wage": {"suppressed_as": ".s"}})
    gone = np.array([True, False, True])
    masked = data.with_columns({"wage": data["wage"].changed(np.array([np.nan, 2.5, np.nan]), gone)})
    write_dataset(masked, tmp_path / "out.dta", STATA, data)
    after, _ = pyreadstat.read_dta(str(tmp_path / "out.dta"), user_missing=True)
    assert after["wage"].isna().tolist() == [False, False, True]
    assert after["wage"].tolist()[:2] == ["s", 2.5]
    other = mw.read(tmp_path / "in.dta", variables={"wage": {"suppressed_as": "gone"}})
    masked = other.with_columns({"wage": other["wage"].changed(np.array([np.nan, 2.5, np.nan]), gone)})
    with pytest.raises(mw.DataError, match="a code of its missing cells cannot be written"):
        write_dataset(masked, tmp_path / "again.dta", STATA, other)
