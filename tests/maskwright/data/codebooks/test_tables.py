"""Codebooks as tables: layouts of offices and of R, and mistakes with line, column and nearest name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.data.codebooks.files import read_codebook_file

if TYPE_CHECKING:
    from pathlib import Path

SEX = {
    "categories": ("1", "2"),
    "labels": (("1", "male"), ("2", "female")),
    "missing": (("-1", "refused"), ("-2", "")),
}


def stated(folder: Path, text: str, encoding: str = "utf-8") -> dict[str, dict[str, object]]:
    """What a table declares of each variable."""
    path = folder / "codebook.csv"
    path.write_bytes(text.encode(encoding))
    return {name: each.model_dump(exclude_unset=True) for name, each in mw.read_codebook(path).items()}


def mistakes(folder: Path, text: str) -> list[str]:
    """Messages about a table, with their lines and columns."""
    with pytest.raises(mw.InputError) as caught:
        stated(folder, text)
    return [
        f"{each.place.line}:{each.place.column} {each.message}" if each.place is not None else each.message
        for each in caught.value.problems
    ]


def test_one_row_for_each_variable(tmp_path: Path) -> None:
    """Codes and missing codes stand in one cell each; decimal commas are numbers."""
    found = stated(
        tmp_path,
        "Variable;Label;Type;Role;Unit;Decimals;Min;Max;Values;Missing\n"
        "sex;Sex;;quasi_identifier;;;;;1=male|2=female;-1=refused|-2\n"
        "wage;Wage;numeric;confidential;EUR;2;0;99999,5;;-9\n"
        "plz;Postal code;character;;;;;;;\n",
    )
    assert found["sex"] == {"label": "Sex", "role": "quasi_identifier", **SEX}
    assert found["wage"] == {
        "label": "Wage", "type": "continuous", "role": "confidential", "unit": "EUR", "decimals": 2, "min": 0.0,
        "max": 99999.5, "missing": (("-9", ""),),
    }  # fmt: skip
    assert found["plz"] == {"label": "Postal code", "type": "nominal"}


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_one_row_for_each_code(tmp_path: Path, delimiter: str, encoding: str) -> None:
    """The name of the variable stands in its first row only, as spreadsheets export merged cells."""
    rows = [
        ["variable", "code", "label", "missing"],
        ["sex", "", "Geschlecht", ""],
        ["", "1", "male", "no"],
        ["", "2", "female", "no"],
        ["", "-1", "refused", "ja"],
        ["", "-2", "", "x"],
        ["größe", "", "in cm", ""],
    ]
    found = stated(tmp_path, "\r\n".join(delimiter.join(row) for row in rows) + "\r\n", encoding)
    assert found == {"sex": {"label": "Geschlecht", **SEX}, "größe": {"label": "in cm"}}


def test_what_r_writes(tmp_path: Path) -> None:
    """Row names, NA where nothing is, TRUE and FALSE; a code NA that is missing, or that means something, is a code."""
    found = stated(
        tmp_path,
        '"","variable","type","code","label","missing"\n'
        '"1","sex","numeric",NA,"Sex",NA\n"2","sex",NA,"1","male",FALSE\n"3","sex",NA,"2","female",FALSE\n'
        '"4","sex",NA,"-1","refused",TRUE\n"5","sex",NA,"-2",NA,TRUE\n'
        '"6","age","integer",NA,"Age",NA\n"7","age",NA,"NA","unknown",TRUE\n',
    )
    assert found["sex"] == {"label": "Sex", **SEX}
    assert found["age"] == {"type": "integer", "label": "Age", "missing": (("NA", "unknown"),)}


def test_a_dictionary_of_the_package_labelled(tmp_path: Path) -> None:
    """Its column `missing` counts missing cells: no number in it is taken for a missing code."""
    found = stated(
        tmp_path,
        "pos,variable,label,col_type,missing,levels,value_labels\n"
        "1,sex,Sex,dbl+lbl,12,,[1] male; [2] female\n2,wage,Wage,dbl,3,,\n",
    )
    assert found["sex"] == {"label": "Sex", "categories": SEX["categories"], "labels": SEX["labels"]}
    assert found["wage"] == {"label": "Wage", "type": "continuous"}


def test_a_missing_code_among_the_values(tmp_path: Path) -> None:
    """Some tables list all codes, and again those that mean 'no value': these are no categories."""
    found = stated(tmp_path, "variable,values,missing\nsex,1=male|2=female|-1=refused,-1|-2\n")
    assert found["sex"] == SEX


def test_numbers_with_labels_and_weights(tmp_path: Path) -> None:
    """A number whose largest value has a label stays one; a weight is told by its column."""
    found = stated(tmp_path, "variable,type,values,weight\nage,integer,97=97 and older,no\nw,numeric,,yes\n")
    assert found["age"] == {"type": "integer", "labels": (("97", "97 and older"),)}
    assert found["w"] == {"type": "continuous", "role": "weight"}


def test_every_mistake_at_once(tmp_path: Path) -> None:
    """Each with its line and column, and the nearest name."""
    found = mistakes(
        tmp_path,
        "variable,type,role,code,meaning,missing,decimals\nsex,nominl,,,,,\nsex,,,1,male,perhaps,\nsex,,,1,man,no,\n"
        "age,integer,quasi,,,,two\n",
    )
    assert [each.partition(" ")[0] for each in found] == ["2:5", "3:14", "4:7", "5:13", "5:22"]
    assert "the code '1' is listed twice, first in line 3" in found[2]
    assert "perhaps" in found[1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("varaible,label\nsex,Sex\n", "no column is called 'variable', of 2; did you mean 'varaible'?"),
        ("variable,label,decimal\nsex,Sex,0\n", "1:None no column called 'decimal'; did you mean 'decimals'?"),
        ("variable,label\nsex,Sex,or gender\n", "2:None the row has 3 cells, and the header 2"),
        ("variable,code,value\nsex,1,1\n", "the columns 'code' and 'value' both hold the code"),
        ("variable,label\n,Sex\n", "names no variable"),
        ("variable,type\nsex,nominal\nsex,ordinal\n", "variable 'sex': another type is given in line 2"),
        ("variable,missing\nsex,no\n", "2:5 missing: expected codes that mean 'no value'"),
        ("variable,missing\nage,0\n", "2:5 missing: expected codes that mean 'no value'"),
        ("variable,label\n", "describes no variable"),
        ("variable,min,max\nage,9,1\n", "variable 'age': min is above max"),
    ],
)
def test_what_is_no_codebook(tmp_path: Path, text: str, expected: str) -> None:
    """The line is told wherever there is one."""
    assert any(expected in each for each in mistakes(tmp_path, text))


def test_an_encoding_is_named_or_found_and_told(tmp_path: Path) -> None:
    """A table in the encoding of the data is read with the option of the data; where there is none it is guessed."""
    (tmp_path / "codebook.csv").write_bytes("variable,label\nort,Größe des Orts\n".encode("latin-1"))
    found = read_codebook_file(tmp_path / "codebook.csv")
    assert found.variables["ort"].label == "Größe des Orts"
    assert "codebook.csv is not UTF-8 and is read as cp1252" in next(found.guess())
    assert mw.read_codebook(tmp_path / "codebook.csv", "latin-1")["ort"].label == "Größe des Orts"
    (tmp_path / "data.csv").write_bytes("ort\nKöln\nUlm\n".encode("latin-1"))
    read = mw.read(tmp_path / "data.csv", codebook=tmp_path / "codebook.csv", encoding="latin-1")
    assert read["ort"].variable.label == "Größe des Orts"
    assert not any("cp1252" in each for each in read.notes)
