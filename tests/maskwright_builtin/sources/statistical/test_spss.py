"""SPSS files: everything but what was masked is as it was; what cannot be is refused."""

from __future__ import annotations

import sys
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
DAY = 86_400.0


def write_people(path: Path, **options: Any) -> list[str]:
    """Write a file with every type, label, missing code and oddity; the names of all variables but `income`."""
    random = np.random.default_rng(1)
    income = random.normal(2000, 500, N).round(2)
    income[3:7] = [-9, -8, np.nan, 99999]
    frame = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(N)],
            "sex": [9.0, np.nan, *[1.0, 2.0] * (N // 2 - 1)],
            "income": income,
            "school": random.integers(1, 5, N).astype(float),
            "born": [np.nan, *(DAY * (140_000 + np.arange(N - 1)))],
            "at": 13e9 + 0.25 + np.arange(N),
            "time": 3600.0 + np.arange(N),
            "quarter": DAY * (150_000 + np.arange(N)),
            "town": ["Köln          ", "", *["Bonn"] * (N - 2)],
            "code": ["NA", "F", *["M"] * (N - 2)],
            "long": ["x" * 300, *["é"] * (N - 1)],
            "money": np.append(-0.5, np.full(N - 1, 123456.789)),
            "empty": np.full(N, np.nan),
        }
    )
    pyreadstat.write_sav(
        frame,
        str(path),
        column_labels={"income": "Einkommen, €", "sex": "Sex"},
        variable_value_labels={
            "sex": {1: "male", 2: "female", 9: "no answer"}, "income": {-9: "refused", -7: "other", 0: "none"},
            "school": {1: "a", 2: "b", 3: "c", 4: "d"}, "code": {"F": "female", "M": "male", "zz": "never"},
        },
        missing_ranges={"sex": [9], "income": [{"lo": -np.inf, "hi": -1}, 99999], "code": ["NA"], "born": [5]},
        variable_format={
            "income": "F8.2", "sex": "F1.0", "born": "EDATE10", "at": "DATETIME22.2", "time": "TIME8", "school": "F4.0",
            "quarter": "QYR6", "money": "DOLLAR12.2",
        },
        variable_measure={"sex": "nominal", "income": "scale", "school": "ordinal", "code": "nominal"},
        variable_display_width={"income": 11, "town": 20},
        **options,
    )  # fmt: skip
    return [name for name in frame if name != "income"]


def facts(metadata: Any) -> dict[str, Any]:
    """All that a file says of its variables, but for the time at which it was written."""
    names = [name for name in dir(metadata) if not name.startswith("_") and not name.endswith("_time")]
    return {name: getattr(metadata, name) for name in names}


@pytest.mark.parametrize("ending", ["sav", "zsav"])
def test_all_but_the_masked_variable_is_as_it_was(tmp_path: Path, masked: Callable[..., Path], ending: str) -> None:
    """Cells, labels, missing values and ranges, measures, formats, widths; missing cells of the masked one, too."""
    source = tmp_path / f"in.{ending}"
    others = write_people(source, compress=ending == "zsav")
    out = masked(source.name, others, f"out.{ending}")
    before, said = pyreadstat.read_sav(str(source), user_missing=True, disable_datetime_conversion=True)
    after, says = pyreadstat.read_sav(str(out), user_missing=True, disable_datetime_conversion=True)
    pd.testing.assert_frame_equal(before.drop(columns="income"), after.drop(columns="income"))
    assert facts(said) == facts(says)
    kept = [3, 4, 5, 6]
    np.testing.assert_array_equal(before["income"][kept], after["income"][kept])
    assert (before["income"].drop(kept) != after["income"].drop(kept)).mean() > 0.9
    assert (after["income"].drop(kept) * 100 % 1).round(6).isin([0, 1]).all()


def test_what_the_file_says_of_its_variables_is_known(tmp_path: Path) -> None:
    """Kinds by measure and labels, missing codes with their meanings, no role."""
    write_people(tmp_path / "in.sav")
    known = {each.name: each for each in mw.read(tmp_path / "in.sav").variables}
    assert (known["sex"].type, known["school"].type, known["income"].type) == ("nominal", "ordinal", "continuous")
    assert (known["sex"].label, known["sex"].labels) == ("Sex", (("1", "male"), ("2", "female")))
    assert (known["sex"].missing_codes, known["sex"].missing_meanings) == (("9",), ("no answer",))
    assert known["income"].missing_codes == ("-9", "-8", "-7", "99999")
    assert known["income"].missing_meanings == ("refused", "", "other", "")
    assert known["school"].categories == ("1", "2", "3", "4")
    assert known["code"].missing_codes == ("NA",)
    assert all(each.inferred_role for each in known.values())


def test_labelled_codes_without_a_measure_are_categories(tmp_path: Path) -> None:
    """If every code has a label; a number with a label for one value stays a number."""
    frame = pd.DataFrame({"area": [1.0, 2, 1], "rooms": [1.0, 2, 30], "land": [1.0, 2, 1]})
    labels = {"area": {1: "north", 2: "south"}, "rooms": {30: "thirty or more"}}
    pyreadstat.write_sav(frame, str(tmp_path / "in.sav"), variable_value_labels=labels)
    known = {each.name: each.type for each in mw.read(tmp_path / "in.sav").variables}
    assert known == {"area": "nominal", "rooms": "integer", "land": "integer"}


def test_equal_releases_are_equal_files(tmp_path: Path, masked: Callable[..., Path]) -> None:
    """The header has no time of writing."""
    others = write_people(tmp_path / "in.sav")
    first = masked("in.sav", others, "out.sav").read_bytes()
    assert first[92:109] == b"01 Jan 7000:00:00"
    assert masked("in.sav", others, "out.sav").read_bytes() == first


def test_suppressed_cells_have_a_missing_code_that_the_file_declares(
    tmp_path: Path, masked: Callable[..., Path]
) -> None:
    """With a label; and if there is no room for one more code, that is said."""
    others = write_people(tmp_path / "in.sav")
    declared = "    sex: {role: other, suppressed_as: -5}\n"
    out = masked("in.sav", [name for name in others if name != "sex"], "out.sav", declared)
    _, says = pyreadstat.read_sav(str(out), user_missing=True)
    assert says.missing_ranges["sex"] == [{"lo": 9.0, "hi": 9.0}, {"lo": -5.0, "hi": -5.0}]
    assert says.variable_value_labels["sex"][-5.0] == "suppressed"


def test_a_csv_file_becomes_one_with_labels(tmp_path: Path, masked: Callable[..., Path]) -> None:
    """Codes are numbers where they are written as such; ``007`` is a text."""
    wages = np.random.default_rng(2).normal(50, 9, 40).round(1)
    pd.DataFrame({"sex": [1, 2] * 20, "zip": ["007", "010"] * 20, "income": wages}).to_csv(
        tmp_path / "in.csv", index=False
    )
    declared = (
        "    sex: {role: other, type: nominal, label: Sex, labels: {1: male, 2: female}, missing: {9: no answer}}\n"
    )
    out = masked("in.csv", ["zip"], "out.sav", declared)
    frame, says = pyreadstat.read_sav(str(out), user_missing=True)
    assert frame["sex"].tolist() == [1.0, 2.0] * 20
    assert frame["zip"].tolist() == ["007", "010"] * 20
    assert says.variable_value_labels == {"sex": {1.0: "male", 2.0: "female", 9.0: "no answer"}}
    assert says.missing_ranges == {"sex": [{"lo": 9.0, "hi": 9.0}]}
    assert says.column_names_to_labels["sex"] == "Sex"
    assert says.variable_measure == {"sex": "nominal", "zip": "nominal", "income": "scale"}


@pytest.mark.parametrize(("name", "said"), [("a" * 65, "65 bytes, and 64 fit"), ("a b", "space")])
def test_names_that_do_not_fit_are_refused(
    tmp_path: Path, masked: Callable[..., Path], capsys: pytest.CaptureFixture[str], name: str, said: str
) -> None:
    """By name; nothing is written."""
    wages = np.random.default_rng(2).normal(50, 9, 40).round(1)
    pd.DataFrame({"income": wages, name: ["x", "y"] * 20}).to_csv(tmp_path / "in.csv", index=False)
    masked("in.csv", [name], "out.sav", code=2)
    assert said in capsys.readouterr().err
    assert not (tmp_path / "out.sav").exists()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda _: b"hello, world " * 30, "not an SPSS file"),
        (lambda data: data[:50], "not an SPSS file"),
        (lambda data: data[:-40], "not an SPSS file"),
        (lambda data: b"\x1c\0\0\0\0\0\0\0ENCRYPTEDSAV" + data, "encrypted"),
        (lambda _: b"", "empty"),
    ],
)
def test_what_is_no_such_file_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], damage: Callable[[bytes], bytes], said: str
) -> None:
    """Exit code 2, the file named, no value."""
    write_people(tmp_path / "in.sav")
    (tmp_path / "in.sav").write_bytes(damage((tmp_path / "in.sav").read_bytes()))
    assert main(["describe", str(tmp_path / "in.sav")]) == 2
    err = capsys.readouterr().err
    assert said in " ".join(err.split())
    assert "in.sav" in err
    assert "Köln" not in err


def test_an_unknown_encoding_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the name that was tried."""
    write_people(tmp_path / "in.sav")
    assert main(["describe", str(tmp_path / "in.sav"), "--option", "encoding=klingon"]) == 2
    assert "'klingon'" in capsys.readouterr().err


def test_without_the_package_what_to_install_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit code 2."""
    write_people(tmp_path / "in.sav")
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    assert main(["describe", str(tmp_path / "in.sav")]) == 2
    assert "maskwright[stat]" in capsys.readouterr().err


def test_recoded_numbers_become_texts_with_their_labels(tmp_path: Path) -> None:
    """Codes that are none any more; wider texts get a wider variable."""
    from maskwright_builtin.sources.statistical.spss import SPSS

    write_people(tmp_path / "in.sav")
    data = mw.read(tmp_path / "in.sav")
    import pyarrow as pa

    batch = pa.record_batch({"sex": ["1 or 2"] * 3, "code": ["a longer code"] * 3})
    SPSS.write(tmp_path / "out.sav", [batch], (data["sex"].variable, data["code"].variable), data.layout)
    frame, says = pyreadstat.read_sav(str(tmp_path / "out.sav"), user_missing=True)
    assert frame["sex"].tolist() == ["1 or 2"] * 3
    assert says.column_names_to_labels["sex"] == "Sex"
    assert says.original_variable_types == {"sex": "A6", "code": "A13"}


def test_formats_are_widened_for_masked_numbers_only(tmp_path: Path) -> None:
    """What did not fit before is as it was."""
    from maskwright_builtin.sources.statistical.spss import SPSS

    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [123456.0, 2.0]})
    pyreadstat.write_sav(frame, str(tmp_path / "in.sav"), variable_format={"a": "F3.0", "b": "F3.0"})
    data = mw.read(tmp_path / "in.sav")
    import pyarrow as pa

    batch = pa.record_batch({"a": [12345.0, 1.0], "b": [123456.0, 2.0]})
    SPSS.write(tmp_path / "out.sav", [batch], data.variables, data.layout)
    says = pyreadstat.read_sav(str(tmp_path / "out.sav"))[1]
    assert says.original_variable_types == {"a": "F5.0", "b": "F3.0"}


def test_portable_files_are_read(tmp_path: Path) -> None:
    """Dates and labels; they are not written."""
    frame = pd.DataFrame({"NAME": ["ab", "c", "d"], "WAGE": [1.5, np.nan, -9.0], "BORN": [13e9 // DAY * DAY] * 3})
    pyreadstat.write_por(frame, str(tmp_path / "in.por"), variable_format={"BORN": "DATE11"})
    data = mw.read(tmp_path / "in.por")
    assert data.names == ("NAME", "WAGE", "BORN")
    assert data["WAGE"].values.tolist()[::2] == [1.5, -9.0]


@pytest.mark.parametrize("ending", ["sav", "dta"])
def test_what_describes_the_file_stays_behind_and_is_told(ending: str, tmp_path: Path) -> None:
    """By number: a label or a note may say what is not to be published."""
    frame = pd.DataFrame({"income": np.arange(40.0)})
    if ending == "sav":
        pyreadstat.write_sav(frame, str(tmp_path / "in.sav"), file_label="Draft, secret", note=["one", "two"])
    else:
        pyreadstat.write_dta(frame, str(tmp_path / "in.dta"), file_label="Draft, secret")
    said = " ".join(mw.read(tmp_path / f"in.{ending}").notes)
    told = "its label, 2 notes" if ending == "sav" else "its label"
    assert f"of the file itself, these do not travel to the masked file: {told}" in said
    assert "secret" not in said
