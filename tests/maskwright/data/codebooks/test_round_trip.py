"""Declarations written as a codebook, in either format, and read again."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis.strategies as st
import pytest
from hypothesis import example, given
from lxml import etree

from maskwright import VariableDeclaration
from maskwright.data.codebooks.codebook import PublishedCodebook
from maskwright.data.codebooks.files import read_codebook_file, write_codebook

DDI = "{ddi:codebook:2_5}"
IN_ORDER = ("labl", "valrng", "txt", "catgry", "varFormat")
"""Parts of a ``var`` that are written, as the schema orders them."""

words = st.text(st.characters(exclude_categories=("C",), max_codepoint=0xFFFF), min_size=1, max_size=12)
texts = words.map(lambda text: " ".join(text.split())).filter(lambda text: text not in ("", "NA"))
codes = st.lists(st.one_of(texts, st.integers(-99, 999).map(str)), unique=True, max_size=6)


@st.composite
def declarations(draw: st.DrawFn) -> VariableDeclaration:
    """A declaration as a codebook can hold it: each code has one meaning, and labelled ones are categories."""
    kind = draw(st.sampled_from(["continuous", "integer", "date", "datetime", "nominal", "ordinal"]))
    every = draw(codes)
    cut = draw(st.integers(0, len(every)))
    valid, missing = every[:cut], every[cut:]
    stated: dict[str, object] = {"type": kind, "label": draw(st.none() | texts), "unit": draw(st.none() | texts)}
    if kind in ("nominal", "ordinal") and valid:
        stated["categories"] = valid
        stated["labels"] = {code: draw(texts) for code in valid if draw(st.booleans())}
    elif kind in ("continuous", "integer"):
        low = draw(st.none() | st.integers(-1000, 1000))
        stated |= {"min": low, "max": None if low is None else low + draw(st.sampled_from([0, 0.5, 1e-7, 1e9]))}
        stated["labels"] = {code: draw(texts) for code in valid}
        stated["decimals"] = draw(st.none() | st.integers(1, 9)) if kind == "continuous" else None
    elif kind == "date":
        stated["format"] = draw(st.sampled_from([None, "%d.%m.%Y", "%Y%m%d"]))
        first = draw(st.none() | st.dates())
        stated |= {"min": None if first is None else first.isoformat(), "unit": None}
    elif kind == "datetime":
        stated["format"] = draw(st.sampled_from([None, "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M:%S.%3f"]))
        last = draw(st.none() | st.datetimes())
        stated |= {"max": None if last is None else last.isoformat(), "unit": None}
    elif kind == "ordinal":
        stated["type"] = "nominal"
    stated["missing"] = {code: draw(st.just("") | texts) for code in missing}
    stated["suppressed_as"] = draw(st.none() | st.sampled_from(["s", "..."]).filter(lambda text: text not in every))
    stated["role"] = draw(st.sampled_from([None, "weight"]))
    return VariableDeclaration.model_validate(stated)


@pytest.mark.parametrize("name", ["codebook.xml", "codebook.csv"])
@given(declared=st.dictionaries(texts, declarations(), min_size=1, max_size=4))
@example({"arrived": VariableDeclaration(type="datetime", max=datetime(2000, 1, 1))})
def test_declarations_come_back(name: str, declared: dict[str, VariableDeclaration]) -> None:
    """Every fact that a codebook holds is the same, whatever the texts are."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / name
        book = PublishedCodebook("title", declared, "file.csv", 3, ("done",), dict.fromkeys(declared, "masked"))
        write_codebook(path, book, as_table=name.endswith(".csv"))
        again = read_codebook_file(path).variables
        assert list(again) == list(declared)
        for variable, before in declared.items():
            assert again[variable].model_dump() == before.model_dump()


@given(declared=st.dictionaries(texts, declarations(), min_size=1, max_size=3))
def test_parts_stand_in_the_order_of_the_schema(declared: dict[str, VariableDeclaration]) -> None:
    """DDI Codebook 2.5: study before files before variables, and the parts of a variable in their order."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "codebook.xml"
        book = PublishedCodebook("title", declared, "file.csv", 3, ("done",), dict.fromkeys(declared, "masked"))
        write_codebook(path, book, as_table=False)
        root = etree.parse(path).getroot()
    assert [part.tag for part in root] == [f"{DDI}{name}" for name in ("stdyDscr", "fileDscr", "dataDscr")]
    assert [part.tag for part in root[0]] == [f"{DDI}citation", f"{DDI}notes"]
    for variable in root.iter(f"{DDI}var"):
        places = [IN_ORDER.index(part.tag.removeprefix(DDI)) for part in variable]
        assert places == sorted(places)
        assert variable.get("wgt", "wgt") == "wgt"
        for category in variable.iter(f"{DDI}catgry"):
            assert [part.tag for part in category] in ([f"{DDI}catValu"], [f"{DDI}catValu", f"{DDI}labl"])
