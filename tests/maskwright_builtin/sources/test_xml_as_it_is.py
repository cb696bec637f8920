"""XML as offices have it: namespaces anywhere, attributes, nil. What is read is written again, as lxml sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.sax.saxutils import escape, quoteattr

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import maskwright as mw
from maskwright import DataError, Variable
from maskwright_builtin.sources.xml.source import XML, XmlReading

if TYPE_CHECKING:
    from pathlib import Path

XSI = "http://www.w3.org/2001/XMLSchema-instance"
SHAPES = """<data xmlns="urn:s" xmlns:q="urn:q">
 <row id="7" q:by="me"><zip>00123</zip><circle>round</circle><n>5</n></row>
 <row><zip>01234</zip><circle angle="360">wide</circle><n unit="kg">8</n></row>
 <row><zip>00500</zip><circle/><n>-1</n></row>
</data>
"""


def opened(path: Path, **params: object) -> XmlReading:
    reading = XML.open(path, XML.params(**params), lambda _: None)
    assert isinstance(reading, XmlReading)
    return reading


def saved(folder: Path, text: str, name: str = "data.xml") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def rows(path: Path, **params: object) -> list[dict[str, str | None]]:
    return pa.Table.from_batches(list(opened(path, **params).batches())).to_pylist()


def rewritten(path: Path, target: Path, **params: object) -> Path:
    reading = opened(path, **params)
    batches = list(reading.batches())
    XML.write(target, batches, tuple(Variable(name, "nominal") for name in batches[0].schema.names), reading.layout)
    return target


def content(path: Path) -> list[object]:
    """Records as lxml sees them: expanded names, attributes, texts."""
    root = etree.parse(path, etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
    return [
        (record.tag, dict(record.attrib), [(cell.tag, dict(cell.attrib), cell.text or "") for cell in record])
        for record in root
    ]


def test_attributes_are_variables_and_come_out_as_they_went_in(tmp_path: Path) -> None:
    path = saved(tmp_path, SHAPES)
    first, second, third = rows(path)
    assert list(first) == ["@id", "@q:by", "zip", "circle", "circle/@angle", "n", "n/@unit"]
    assert (first["@id"], first["@q:by"], first["n/@unit"]) == ("7", "me", None)
    assert (second["circle/@angle"], second["n/@unit"], third["circle"]) == ("360", "kg", "")
    assert content(rewritten(path, tmp_path / "out.xml")) == content(path)
    frame = pd.read_xml(tmp_path / "out.xml", xpath="//s:row", namespaces={"s": "urn:s"}, dtype=str)
    assert frame["zip"].tolist() == ["00123", "01234", "00500"]
    assert frame["id"].iloc[0] == "7"


@pytest.mark.parametrize(("ignored", "left"), [(["*"], []), (["@id", "n/@unit"], ["@q:by", "circle/@angle"])])
def test_attributes_that_are_ignored_are_not_written_and_a_note_says_so(
    tmp_path: Path, ignored: list[str], left: list[str]
) -> None:
    path = saved(tmp_path, SHAPES)
    assert [name for name in rows(path, ignore_attributes=ignored)[0] if "@" in name] == left
    (note,) = (each for each in opened(path, ignore_attributes=ignored).layout.details["notes"] if "ignore" in each)
    assert "@id" in note
    assert "n/@unit" in note
    text = rewritten(path, tmp_path / "out.xml", ignore_attributes=ignored).read_text()
    assert "unit" not in text
    assert ("angle" in text) == bool(left)


def test_nil_is_a_missing_value(tmp_path: Path) -> None:
    text = f"""<f xmlns:xsi="{XSI}"><row><n xsi:nil="true"/><t xsi:nil="false">x</t></row><row><n>8</n><t/></row></f>"""
    path = saved(tmp_path, text)
    assert rows(path) == [{"n": "", "t": "x"}, {"n": "8", "t": ""}]
    data = mw.read(path)
    assert data["n"].variable.is_numeric
    written = content(rewritten(path, tmp_path / "out.xml"))
    assert written == [
        ("row", {}, [("n", {f"{{{XSI}}}nil": "true"}, ""), ("t", {}, "x")]),
        ("row", {}, [("n", {}, "8"), ("t", {}, "")]),
    ]


def test_elements_of_one_name_in_two_namespaces_are_two_variables(tmp_path: Path) -> None:
    text = """<f xmlns:a="urn:a" xmlns:b="urn:b"><r><b:x>1</b:x><a:x b:k="2">3</a:x><y>4</y></r></f>"""
    path = saved(tmp_path, text)
    assert rows(path) == [{"b:x": "1", "a:x": "3", "a:x/@b:k": "2", "y": "4"}]
    assert content(rewritten(path, tmp_path / "out.xml")) == content(path)
    assert [each.name for each in mw.describe(mw.read(path)).variables] == ["b:x", "a:x", "a:x/@b:k", "y"]


def test_an_attribute_of_what_is_not_published_is_refused(tmp_path: Path) -> None:
    reading = opened(saved(tmp_path, SHAPES))
    batch = pa.Table.from_batches(list(reading.batches())).select(["n/@unit", "zip"]).to_batches()
    with pytest.raises(DataError, match="'n/@unit' is an attribute of an element that is not written"):
        XML.write(
            tmp_path / "o.xml", batch, (Variable("n/@unit", "nominal"), Variable("zip", "nominal")), reading.layout
        )


URIS = ["", "urn:a", "urn:b"]
PREFIXES = ["", "p", "q"]
TEXTS = st.sampled_from(["1", "", " x ", "R&D", "<", "é", '"'])


@st.composite
def documents(draw: st.DrawFn) -> str:
    """Flat records whose names are in namespaces that the root, the record or the element itself declares."""
    names = draw(st.lists(st.tuples(st.sampled_from(["x", "y", "z"]), st.sampled_from(URIS)), min_size=1, unique=True))
    attributes = {
        name: draw(st.lists(st.tuples(st.sampled_from(["k", "l"]), st.sampled_from(URIS)), max_size=2, unique=True))
        for name in (*names, ("r", ""))
    }
    around = {prefix: draw(st.sampled_from(URIS)) for prefix in draw(st.sets(st.sampled_from(PREFIXES)))}
    around = {prefix: uri for prefix, uri in around.items() if uri or not prefix}

    def tag(name: str, uri: str, declared: dict[str, str], scope: dict[str, str], *, is_attribute: bool = False) -> str:
        if is_attribute and not uri:
            return name
        known = [prefix for prefix, of in {"": "", **scope, **declared}.items() if of == uri]
        known = [prefix for prefix in known if prefix or not is_attribute]
        free = [each for each in PREFIXES if each not in declared and (uri if each else not is_attribute)]
        prefix = draw(st.sampled_from(known or free or [f"n{len(declared)}"]))
        # What is used on an element is declared on it too, so that nothing else on it takes the prefix.
        declared[prefix] = uri
        return f"{prefix}:{name}" if prefix else name

    def element(name: tuple[str, str], scope: dict[str, str], inside: list[tuple[str, str]] | None) -> str:
        declared: dict[str, str] = {}
        own = tag(*name, declared, scope)
        chosen = [each for each in attributes[name if inside is None else ("r", "")] if draw(st.booleans())]
        written = [f" {tag(*each, declared, scope, is_attribute=True)}={quoteattr(draw(TEXTS))}" for each in chosen]
        spaces = "".join(
            f" xmlns{':' if each else ''}{each}={quoteattr(uri)}"
            for each, uri in declared.items()
            if scope.get(each, "") != uri
        )
        if inside is None:
            text = escape(draw(TEXTS))
        else:
            text = "".join(element(each, scope | declared, None) for each in inside if draw(st.booleans()))
        return f"<{own}{spaces}{''.join(written)}>{text}</{own}>"

    record = ("rec", draw(st.sampled_from(URIS)))
    spaces = "".join(f" xmlns{':' if each else ''}{each}={quoteattr(uri)}" for each, uri in around.items())
    count = draw(st.integers(1, 4))
    return f"<root{spaces}>{''.join(element(record, around, names) for _ in range(count))}</root>"


@given(text=documents())
def test_any_flat_file_is_written_as_it_was_read(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    folder = tmp_path_factory.mktemp("xml")
    path = saved(folder, text)
    try:
        written = rewritten(path, folder / "out.xml", record="rec")
    except DataError as error:
        assert "have no variables" in str(error)  # noqa: PT017 - a draw without cells and attributes
        return
    assert content(written) == content(path)
    assert (
        opened(written, record="rec").layout.details["expanded"]
        == opened(path, record="rec").layout.details["expanded"]
    )
