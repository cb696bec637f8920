"""SAS files: transport files keep everything but what was masked; data sets are read only."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pyreadstat
import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N = 60


def write_people(path: Path, version: int = 5) -> list[str]:
    """Write a transport file with every type, label and oddity; the names of all variables but `income`."""
    frame = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(N)],
            "sex": [1.0, 2.0] * (N // 2),
            "income": [np.nan, *np.random.default_rng(1).normal(2000, 500, N - 1).round(2)],
            "born": [np.nan, *(-3000.0 + np.arange(N - 1))],
            "at": 1.6e9 + np.arange(N),
            "time": 200.0 + np.arange(N),
            "town": ["Köln          ", "", *["Bonn"] * (N - 2)],
            "empty": np.full(N, np.nan),
            "share": np.linspace(0, 1, N) / 3,
        }
    )
    pyreadstat.write_xport(
        frame,
        str(path),
        file_format_version=version,
        column_labels={"income": "Income, €", "sex": "Sex"},
        table_name="PEOPLE",
        variable_format={"born": "DATE9.", "at": "DATETIME20.", "time": "TIME8.", "income": "8.2", "town": "$20."},
    )
    return [name for name in frame if name != "income"]


def facts(metadata: Any) -> dict[str, Any]:
    """All that a file says of its variables, but for the time at which it was written and the table's name."""
    names = [name for name in dir(metadata) if not name.startswith("_") and not name.endswith("_time")]
    return {name: getattr(metadata, name) for name in names if name != "table_name"}


@pytest.mark.parametrize("version", [5, 8])
def test_all_but_the_masked_variable_is_as_it_was(tmp_path: Path, masked: Callable[..., Path], version: int) -> None:
    """Cells, labels, formats, widths of texts, and the version of the file."""
    out = masked("in.xpt", write_people(tmp_path / "in.xpt", version), "out.xpt")
    before, said = pyreadstat.read_xport(str(tmp_path / "in.xpt"), disable_datetime_conversion=True)
    after, says = pyreadstat.read_xport(str(out), disable_datetime_conversion=True)
    pd.testing.assert_frame_equal(before.drop(columns="income"), after.drop(columns="income"))
    assert facts(said) == facts(says)
    assert np.isnan(after["income"][0])
    assert (before["income"][1:] != after["income"][1:]).mean() > 0.9
    assert out.read_bytes()[:28] == (tmp_path / "in.xpt").read_bytes()[:28]


def test_equal_releases_are_equal_files(tmp_path: Path, masked: Callable[..., Path]) -> None:
    """The header has no time of writing, and no name of the table."""
    others = write_people(tmp_path / "in.xpt")
    first = masked("in.xpt", others, "out.xpt").read_bytes()
    assert first[:640].count(b"01JAN70:00:00:00") == 4
    assert b"PEOPLE" not in first
    assert masked("in.xpt", others, "out.xpt").read_bytes() == first


@pytest.mark.parametrize(
    ("name", "cell", "declared", "said"),
    [
        ("longer_name", "x", "", "a name has 11 bytes, and 8 fit"),
        ("note", "x" * 201, "", "a text has 201 bytes, and 200 fit"),
        ("note", "x", f", label: {'l' * 41}", "a label has 41 bytes, and 40 fit"),
        ("net-pay", "x", "", "does not take its name"),
    ],
)
def test_what_a_transport_file_cannot_hold_is_refused(
    tmp_path: Path, masked: Callable[..., Path], capsys: pytest.CaptureFixture[str], name: str, cell: str,
    declared: str, said: str,
) -> None:  # fmt: skip
    """By the variable's name; nothing is written."""
    wages = np.random.default_rng(2).normal(50, 9, 40).round(1)
    pd.DataFrame({"income": wages, name: [cell, "y"] * 20}).to_csv(tmp_path / "in.csv", index=False)
    masked("in.csv", [], "out.xpt", f"    {name}: {{role: other{declared}}}\n", code=2)
    err = " ".join(capsys.readouterr().err.split())
    assert said in err
    assert repr(name) in err
    assert not (tmp_path / "out.xpt").exists()


def test_data_sets_are_not_written(
    tmp_path: Path, masked: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """With the formats that are."""
    others = write_people(tmp_path / "in.xpt")
    masked("in.xpt", others, "out.sas7bdat", code=2)
    assert "Write .xpt" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "run.json").exists()


def test_special_missing_values_of_a_data_set_are_missing_codes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As pyreadstat gives them: letters among the numbers."""
    frame = pd.DataFrame({"wage": pd.Series([1.5, "A", None], dtype=object)})
    pyreadstat.write_dta(frame.replace("A", "a"), str(tmp_path / "in.dta"), missing_user_values={"wage": ["a"]})

    def read(path: str, **options: Any) -> Any:
        cells, metadata = pyreadstat.read_dta(str(tmp_path / "in.dta"), **options)
        return {name: ["A" if cell == "a" else cell for cell in each] for name, each in cells.items()}, metadata

    monkeypatch.setattr(pyreadstat, "read_sas7bdat", read)
    (tmp_path / "in.sas7bdat").write_bytes(b"as above")
    data = mw.read(tmp_path / "in.sas7bdat")
    assert data["wage"].variable.missing_codes == (".A",)
    assert data["wage"].missing.tolist() == [False, True, True]


@pytest.mark.parametrize("ending", ["xpt", "sas7bdat"])
@pytest.mark.parametrize("damage", [lambda _: b"hello, world " * 30, lambda data: data[:-200]])
def test_what_is_no_such_file_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[bytes], bytes], ending: str
) -> None:
    """Exit code 2, the file named, no value."""
    write_people(tmp_path / "in.xpt")
    (tmp_path / f"in.{ending}").write_bytes(damage((tmp_path / "in.xpt").read_bytes()))
    assert main(["describe", str(tmp_path / f"in.{ending}")]) == 2
    err = capsys.readouterr().err
    assert "not a SAS" in " ".join(err.split())
    assert "Köln" not in err


@pytest.mark.parametrize("version", [5, 8])
def test_special_missing_values_of_a_transport_file_are_counted(tmp_path: Path, version: int) -> None:
    """Their letters do not come through, which is said."""
    frame = pd.DataFrame({"note": ["A", "", "B"], "wage": [1.5, np.nan, 2.0], "age": [np.nan, 4.0, 0.0]})
    labels = {"wage": "w" * 60} if version == 8 else {}
    pyreadstat.write_xport(frame, str(tmp_path / "in.xpt"), file_format_version=version, column_labels=labels)
    assert not [note for note in mw.read(tmp_path / "in.xpt").notes if "special" in note]
    written = (tmp_path / "in.xpt").read_bytes()
    (tmp_path / "in.xpt").write_bytes(written.replace(b"\x2e" + bytes(7), b"R" + bytes(7), 1))
    data = mw.read(tmp_path / "in.xpt")
    assert [note.split()[0] for note in data.notes if "special missing" in note] == ["1"]
    assert data["age"].missing.tolist() == [True, False, False]
