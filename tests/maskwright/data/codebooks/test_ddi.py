"""DDI Codebook: what is read of a hand-written survey, and hostile or foreign files that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<codeBook xmlns="ddi:codebook:2_5" version="2.5"><dataDscr>\n'
CATEGORIES = "<catgry><catValu>a</catValu></catgry><catgry><catValu>b</catValu></catgry>"
FOOT = "\n</dataDscr></codeBook>\n"


def stated(folder: Path, variables: str) -> dict[str, dict[str, object]]:
    """What a codebook with these ``var`` elements declares of each variable."""
    (folder / "codebook.xml").write_text(HEAD + variables + FOOT, encoding="utf-8")
    found = mw.read_codebook(folder / "codebook.xml")
    return {name: each.model_dump(exclude_unset=True) for name, each in found.items()}


def test_a_coded_variable(tmp_path: Path) -> None:
    """Categories with labels, missing codes from categories and from ranges; questions and statistics are not read."""
    found = stated(
        tmp_path,
        """<var ID="V1" name="sex" dcml="0" intrvl="discrete"><location width="2"/><labl>Sex
           of the person</labl><labl xml:lang="de">Geschlecht</labl><qstn><qstnLit>Are you?</qstnLit></qstn>
           <valrng><range min="1" max="2"/></valrng><invalrng><range UNITS="INT" min="-3" max="-1"/></invalrng>
           <sumStat type="max">2</sumStat>
           <catgry><catValu>1</catValu><labl>male</labl><catStat type="freq">20</catStat></catgry>
           <catgry><catValu>2</catValu><labl>female</labl></catgry>
           <catgry missing="Y" missType="refusal"><catValu> -1 </catValu><labl>refused</labl></catgry>
           <varFormat type="numeric"/></var>""",
    )
    assert found["sex"] == {
        "type": "nominal", "label": "Sex of the person", "categories": ("1", "2"),
        "labels": (("1", "male"), ("2", "female")), "missing": (("-1", "refused"), ("-3", ""), ("-2", "")),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ('<var name="x" intrvl="contin" dcml="0"/>', {"type": "integer"}),
        (
            '<var name="x" intrvl="contin" dcml="2" measUnit="EUR"/>',
            {"type": "continuous", "decimals": 2, "unit": "EUR"},
        ),
        ('<var name="x" wgt="wgt" nature="ratio"/>', {"type": "continuous", "role": "weight"}),
        ('<var name="x"><varFormat type="character"/></var>', {"type": "nominal"}),
        ('<var name="x"><varFormat type="numeric"/></var>', {"type": "continuous"}),
        ('<var name="x"><varFormat type="numeric" category="date"/></var>', {}),
        ('<var name="x"><varFormat category="date" formatname="date.iso8601"/></var>', {"type": "date"}),
        ('<var name="x"/>', {}),
        (
            f'<var name="x" nature="ordinal">{CATEGORIES}</var>',
            {"type": "ordinal", "categories": ("a", "b")},
        ),
        (
            '<var name="x" intrvl="contin"><valrng><range min="0" max="6"/><range min="7" max="9.5"/></valrng></var>',
            {"type": "continuous", "min": 0.0, "max": 9.5},
        ),
        (
            f'<var name="x" intrvl="contin"><invalrng><item VALUE="-9"/></invalrng>{CATEGORIES}</var>',
            {"type": "continuous", "missing": (("-9", ""),)},
        ),
    ],
)
def test_types(tmp_path: Path, element: str, expected: dict[str, object]) -> None:
    """From interval, nature, decimals and format; what none of them tells is inferred from the cells."""
    assert stated(tmp_path, element)["x"] == expected


def test_older_versions(tmp_path: Path) -> None:
    """DDI 1.2 and 2.1 have no namespace."""
    path = tmp_path / "codebook.xml"
    path.write_text('<codeBook><dataDscr><var name="x" wgt="wgt"/></dataDscr></codeBook>', encoding="utf-8")
    assert mw.read_codebook(path)["x"].role == "weight"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('<!DOCTYPE codeBook [<!ENTITY a SYSTEM "file:///etc/passwd">]><codeBook>&a;</codeBook>', "a DOCTYPE"),
        ("<DDIInstance/>", "not DDIInstance"),
        ("<codeBook><dataDscr>" + "<a>" * 100, "nested more than 64"),
        ("<codeBook><dataDscr></codeBook>", "not well-formed"),
        ("<codeBook><dataDscr><var/></dataDscr></codeBook>", "a var without a name"),
        ('<codeBook><dataDscr><var name="x"/><var name="x"/></dataDscr></codeBook>', "described twice"),
        (
            '<codeBook><dataDscr><var name="x"><invalrng><range max="-1"/></invalrng></var></dataDscr></codeBook>',
            "variable 'x': this range of missing values cannot be listed",
        ),
        (
            '<codeBook><dataDscr><var name="x" intrvl="contin" dcml="many"/></dataDscr></codeBook>',
            "variable 'x': decimals: expected a whole number",
        ),
        ("<codeBook/>", "describes no variable"),
    ],
)
def test_what_is_refused(tmp_path: Path, text: str, expected: str) -> None:
    """Nothing is fetched or expanded, and each mistake has its line."""
    path = tmp_path / "codebook.xml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(mw.InputError) as caught:
        mw.read_codebook(path)
    assert expected in str(caught.value)
    assert str(path) in str(caught.value)
