"""XML records: round trips, the two readers agree, hostile files are refused with a place."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

import maskwright as mw
from maskwright import DataError, Layout, Variable
from maskwright_builtin.sources.xml import template
from maskwright_builtin.sources.xml.options import XmlParams
from maskwright_builtin.sources.xml.source import XML, XmlReading, XmlReadingOnce

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'
PLAIN = (
    HEAD
    + "<Microdata>\n  <Record><V1>1</V1><V2>two</V2></Record>\n  <Record><V1>3</V1><V2></V2></Record>\n</Microdata>\n"
)
ROWS = [{"V1": "1", "V2": "two"}, {"V1": "3", "V2": ""}]


@pytest.fixture(params=["as a short file", "as a long file"], scope="module", autouse=True)
def _both_passes(request: pytest.FixtureRequest):
    """Everything is read by array operations, and by the compiled pass that is for long files."""
    with pytest.MonkeyPatch.context() as patched:
        if request.param == "as a long file":
            patched.setattr(template, "WORTH_COMPILING", 0)
        yield


def opened(path: Path, **params: object) -> XmlReading:
    reading = XML.open(path, XML.params(**params), lambda _: None)
    assert isinstance(reading, XmlReading)
    return reading


def rows(path: Path, **params: object) -> list[dict[str, str | None]]:
    return pa.Table.from_batches(list(opened(path, **params).batches())).to_pylist()


def saved(folder: Path, text: str | bytes, name: str = "data.xml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def rewritten(path: Path, target: Path) -> None:
    reading = opened(path)
    batches = list(reading.batches())
    variables = tuple(Variable(name, "nominal") for name in batches[0].schema.names)
    XML.write(target, batches, variables, reading.layout)


def tree_rows(path: Path) -> list[dict[str, str | None]]:
    """Oracle: lxml's tree and XPath's string value, one dictionary a record."""
    root = etree.parse(str(path), etree.XMLParser(resolve_entities=False, no_network=True)).getroot()
    return [
        {etree.QName(cell).localname: str(cell.xpath("string()")) for cell in record.iterchildren("*")}
        for record in root.iterchildren("*")
    ]


def test_reference_file_is_written_as_it_was_read(reference: Path, tmp_path: Path) -> None:
    path = reference / "census16.xml"
    assert opened(path, record="Record").is_plain
    assert rows(path) == tree_rows(path)
    rewritten(path, tmp_path / "out.xml")
    assert (tmp_path / "out.xml").read_bytes() == path.read_bytes()


def test_layout_says_how_the_file_was_written(tmp_path: Path) -> None:
    root = '<Microdata xmlns="urn:census" year="1995">'
    layout = opened(saved(tmp_path, PLAIN.replace("<Microdata>", root))).layout
    assert layout.format == "xml"
    assert layout.details["root_tag"] == '<Microdata xmlns="urn:census">'
    assert layout.details["record_path"] == ("Microdata", "Record")
    assert layout.details["before_record"] == "\n  "


ATTRIBUTES = (
    '<d:Data xmlns:d="urn:d" xmlns:x=\'urn:x\' xml:base="file:///home/geheim/" owner="Anna &amp; Geheim" '
    'version = "2" x:schema="urn:s" >\n<d:Set by="Geheim"><!-- Geheim --><?note Geheim?>\n'
    "<Record><V1>1</V1><V2>one</V2></Record>\n<Record><V1>2</V1><V2>two</V2></Record>\n</d:Set></d:Data>\n"
)


@pytest.mark.parametrize("reader", [XmlReading, XmlReadingOnce])
def test_only_declared_attributes_of_what_is_around_the_records_are_written(
    reader: type[XmlReading | XmlReadingOnce], tmp_path: Path
) -> None:
    text = ATTRIBUTES if reader is XmlReading else ATTRIBUTES.replace("<!-- Geheim --><?note Geheim?>", "")
    path = saved(tmp_path, text)
    for keep, expected in (
        ((), ('<d:Data xmlns:d="urn:d">', "<d:Set>")),
        (("version",), ('<d:Data xmlns:d="urn:d" version = "2">', "<d:Set>")),
        (("x:schema",), ('<d:Data xmlns:d="urn:d" xmlns:x=\'urn:x\' x:schema="urn:s">', "<d:Set>")),
        (("by",), ('<d:Data xmlns:d="urn:d">', '<d:Set by="Geheim">')),
    ):
        reading = reader(path, XmlParams.model_validate({"record": "Record", "keep_attributes": keep}), lambda _: None)
        assert reading.layout.details["start_tags"] == expected
    plain = opened(path, record="Record")
    (note,) = plain.layout.details["notes"]
    assert note.startswith("6 attributes of the elements around the records are not written to the masked file: ")
    assert all(name in note for name in ("xmlns:x", "xml:base", "owner", "version", "x:schema", "by"))
    XML.write(tmp_path / "out.xml", plain.batches(), (Variable("V1"), Variable("V2", "nominal")), plain.layout)
    assert "eheim" not in (tmp_path / "out.xml").read_text(encoding="utf-8")


# What each of these says is the same two records; how they say it is beyond the fast reader unless marked.
SAME = {
    "plain": (PLAIN, True),
    "windows lines": (PLAIN.replace("\n", "\r\n"), True),
    "one line": (PLAIN.replace("\n  ", "").replace("\n</", "</"), True),
    "indented cells": (re.sub(r"(<V\d>|</Record>)", r"\n    \1", PLAIN), True),
    "empty tag": (PLAIN.replace("<V2></V2>", "<V2/>"), True),
    "no declaration": (PLAIN.removeprefix(HEAD), True),
    "comment before the root": (PLAIN.replace("<Microdata>", "<!-- c --><Microdata>"), True),
    "default namespace": (PLAIN.replace("<Microdata>", '<Microdata xmlns="urn:x">'), True),
    "prefixes": (
        re.sub(r"<(/?)(?=[MRV])", r"<\1m:", PLAIN).replace("<m:Microdata", '<m:Microdata xmlns:m="urn:x"'),
        True,
    ),
    "byte order mark": ("\ufeff" + PLAIN, True),
    "comment in a cell": (PLAIN.replace("two", "t<!-- c -->wo"), True),
    "comment between cells": (PLAIN.replace("</V1><V2>two", "</V1><!-- <V2>x</V2> --><V2>two"), True),
    "instruction in a cell": (PLAIN.replace("two", "t<?x y?>wo"), False),
    "CDATA": (PLAIN.replace("two", "<![CDATA[tw]]>o"), False),
    "character reference": (PLAIN.replace("two", "&#116;w&#x6f;"), False),
    "space in a tag": (PLAIN.replace("<V2>two", "<V2 >two"), False),
    "space in an end tag": (PLAIN.replace("</V1>", "</V1\n>"), False),
    "another order": (PLAIN.replace("<V1>3</V1><V2></V2>", "<V2></V2><V1>3</V1>"), False),
    "comment that ends a cell": (PLAIN.replace("two", "two<!-- - > -->"), True),
    "comment after a comment": (PLAIN.replace("two", "<!-- <V1> --><!-- > -->two"), True),
    "comment at the end": (PLAIN + "<!-- end -->", True),
    "UTF-16": (PLAIN.replace("UTF-8", "UTF-16").encode("utf-16"), False),
    "Latin 1": (PLAIN.replace("UTF-8", "ISO-8859-1").encode("latin-1"), False),
    "ASCII": (PLAIN.replace("UTF-8", "US-ASCII"), True),
}


@pytest.mark.parametrize("name", SAME)
def test_one_content_in_many_forms_is_read_alike_and_survives_a_round_trip(name: str, tmp_path: Path) -> None:
    text, is_plain = SAME[name]
    path = saved(tmp_path, text)
    assert opened(path).is_plain == is_plain
    assert rows(path) == rows(path, record="Record") == ROWS
    rewritten(path, tmp_path / "out.xml")
    assert rows(tmp_path / "out.xml") == ROWS
    assert tree_rows(tmp_path / "out.xml") == ROWS
    assert opened(tmp_path / "out.xml").layout.details["start_tags"] == opened(path).layout.details["start_tags"]


def test_text_is_what_xpath_calls_the_string_value(tmp_path: Path) -> None:
    """Markup that only escapes or splits text is not seen; line ends are line feeds; white space is kept."""
    cell = " 75<!-- -->01 &lt;&amp;&#233;<![CDATA[<x>&]]>\r\né\t"
    path = saved(tmp_path, PLAIN.replace("two", cell))
    assert rows(path)[0]["V2"] == " 7501 <&é<x>&\né\t"
    assert rows(path) == tree_rows(path)
    rewritten(path, tmp_path / "out.xml")
    assert tree_rows(tmp_path / "out.xml") == rows(path)


def test_absent_cells_are_null_and_stay_absent(tmp_path: Path) -> None:
    """A column that the first record lacks stands where later records have it."""
    text = "<R><p><a>1</a><c>3</c></p><p><a>4</a><b>5</b><c/></p><p><c>6</c></p></R>"
    path = saved(tmp_path, text)
    assert rows(path) == [
        {"a": "1", "b": None, "c": "3"},
        {"a": "4", "b": "5", "c": ""},
        {"a": None, "b": None, "c": "6"},
    ]
    assert opened(path).is_plain
    rewritten(path, tmp_path / "out.xml")
    assert (tmp_path / "out.xml").read_text() == text.replace("<c/>", "<c></c>") + "\n"


def test_records_inside_another_element(tmp_path: Path) -> None:
    text = (
        '<E v="1">\n  <Info>x</Info>\n  <Records n="2">\n    <P><a>1</a></P>\n    <P><a>2</a></P>\n  </Records>\n</E>\n'
    )
    path = saved(tmp_path, text)
    reading = opened(path, record="P", keep_attributes=["v", "n"])
    assert [batch.to_pylist() for batch in reading.batches()] == [[{"a": "1"}, {"a": "2"}]]
    assert "<Info>" in reading.layout.details["notes"][0]
    XML.write(tmp_path / "out.xml", reading.batches(), (Variable("a"),), reading.layout)
    assert (tmp_path / "out.xml").read_text() == text.replace("  <Info>x</Info>\n", "")


def test_the_repeated_child_is_the_record(tmp_path: Path) -> None:
    path = saved(tmp_path, "<R><Head><x>1</x></Head><p><a>1</a></p><p><a>2</a></p></R>")
    assert rows(path) == [{"a": "1"}, {"a": "2"}]


LAUGHS = '<!DOCTYPE R [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>'
# text, what the message says, line, column
XSI = "http://www.w3.org/2001/XMLSchema-instance"
REFUSED = {
    "document type": (LAUGHS + "\n<R><p><a>&b;</a></p></R>", "document type", 1, None),
    "late document type": (HEAD + "<!DOCTYPE R SYSTEM 'file:///x'>\n<R><p><a>1</a></p></R>", "document type", 2, None),
    "undefined entity": ("<R>\n<p><a>&x;</a></p></R>", "undefined entity", 2, None),
    "UTF-7": ('<?xml version="1.0" encoding="UTF-7"?><R><p><a>1</a></p></R>', "encoding", 1, None),
    "XML 1.1": ('<?xml version="1.1"?><R><p><a>1</a></p></R>', "XML 1.0", 1, None),
    "nested cell": ("<R>\n<p><a><b>1</b></a></p></R>", "nested", 2, 7),
    "nested record": ("<R>\n<p><a>1</a><p><a>1</a></p></p></R>", "inside", 2, None),
    "duplicate cell": ("<R>\n<p><a>1</a><a>2</a></p></R>", "record 1: a second <a>", 2, 12),
    "text between cells": ("<R>\n<p><a>1</a>secret</p></R>", "text between the elements", 2, None),
    "text between records": ("<R>\n<p><a>1</a></p>secret<p><a>2</a></p></R>", "text between the records", 2, None),
    "unbound prefix": ("<R>\n<q:p><a>1</a></q:p></R>", "unbound prefix", 2, None),
    "mismatched tag": ("<R>\n<p><a>secret</b></p></R>", "mismatched tag", 2, None),
    "cut short": ("<R>\n<p><a>1</a></p>\n<p><a>sec", "ends before", 3, None),
    "cut short at a record": ("<R>\n<p><a>1</a></p>\n", "ends before", 3, None),
    "second root": ("<R><p><a>1</a></p></R>\n<R/>", "junk after", 2, None),
    "control character": ("<R>\n<p><a>\x01</a></p></R>", "invalid token", 2, None),
    "not a character": ("<R>\n<p><a>\ufffe</a></p></R>", "invalid token", 2, None),
    "bad UTF-8": (b"<R>\n<p><a>\xff\xfe</a></p></R>", "invalid token", 2, None),
    "ASCII with more": ('<?xml version="1.0" encoding="ASCII"?><R><p><a>é</a></p></R>', "invalid token", 1, None),
    "not XML": ("a,b\n1,2\n", "not well-formed", 1, None),
    "no records": ("<R></R>", "no records", None, None),
    "no variables": ("<R><p/><p/></R>", "no variables", None, None),
    "two candidates": ("<R><p><a>1</a></p><q><a>1</a></q></R>", "several: p, q", None, None),
    "two repeated": ("<R><p><a>1</a></p><p><a>1</a></p><q/><q/></R>", "both <p> and <q>", 1, None),
    "deep": ("<R><p><a>1</a></p><h>" + "<x>" * 3000 + "</x>" * 3000 + "</h></R>", "8 deep", 1, None),
    "long text": ("<R>\n<p><a>" + "7" * 1_000_001 + "</a></p></R>", "longer than 1000000", 2, None),
    "long comment": ("<R>\n<!--" + " " * 9_000_000 + "--><p><a>1</a></p></R>", "longer than", 2, None),
    "comment in a tag": ("<R><p><a>1</a></p>\n<p><a<!-- c -->>2</a></p></R>", "not well-formed", 2, None),
    "comment in an end tag": ("<R><p><a>1</a></p>\n<p><a>2</a<!-- < -->></p></R>", "not well-formed", 2, None),
    "comment with --": ("<R><p><a>1</a></p>\n<p><a>2<!-- -- --></a></p></R>", "not well-formed", 2, None),
    "comment that does not end": ("<R><p><a>1</a></p>\n<p><a>2<!-- </a></p></R>", "ends before", 2, None),
    "empty file": ("", "empty", None, None),
    "long attribute": ('<R>\n<p><a u="' + "7" * 1_000_001 + '"/></p></R>', "longer than 1000000", 2, None),
    "attribute twice": ('<R>\n<p><a u="secret" u="x">1</a></p></R>', "duplicate attribute", 2, None),
    "entity in an attribute": ('<R>\n<p><a u="&x;">1</a></p></R>', "undefined entity", 2, None),
    "attribute of no namespace": ('<R>\n<p><a q:u="secret">1</a></p></R>', "unbound prefix", 2, None),
    "tag in an attribute": ('<R>\n<p><a u="<b>">1</a></p></R>', "invalid token", 2, None),
    "not a character in an attribute": ('<R>\n<p><a u="\ufffe">1</a></p></R>', "invalid token", 2, None),
    "nil that has a text": (f'<R xmlns:i="{XSI}">\n<p><a i:nil="true">secret</a></p></R>', "is xsi:nil", 2, None),
    "nil that has an element": (f'<R xmlns:i="{XSI}">\n<p><a i:nil="1"><b/></a></p></R>', "nested", 2, None),
    "attributes without end": (
        "<R>\n<p><a>1</a></p>" + "".join(f'<p a{i}="1" b{i}="2"/>' for i in range(5_001)) + "</R>",
        "more than 10,000 different", 2, None,
    ),
    "elements without end": (
        "<R>\n<p><a>1</a></p>" + "".join(f"<p><a{i}/></p>" for i in range(10_001)) + "</R>",
        "more than 10,000 different", 2, None,
    ),
    "same expanded attribute twice": (
        '<R xmlns:i="urn:i" xmlns:j="urn:i">\n<p><a i:u="1" j:u="2"/></p></R>', "duplicate attribute", 2, None,
    ),
    "element twice by two prefixes": (
        '<R xmlns:i="urn:i" xmlns:j="urn:i">\n<p><i:a>1</i:a><j:a>2</j:a></p></R>', "a second <i:a>", 2, None,
    ),
    "prefix xmlns": ('<R>\n<p xmlns:xmlns="urn:secret"><a>1</a></p></R>', "reserved prefix", 2, None),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_hostile_and_damaged_files_are_refused_with_a_place_and_no_values(name: str, tmp_path: Path) -> None:
    text, message, line, column = REFUSED[name]
    path = saved(tmp_path, text)
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        rows(path)
    problem = caught.value.problems[0]
    assert problem.place is not None
    assert problem.place.file == str(path)
    assert problem.place.line == line
    if column is not None:
        assert problem.place.column == column
    assert "secret" not in str(caught.value)


WITH_RECORDS = [
    name
    for name, (text, *_) in REFUSED.items()
    if isinstance(text, str) and "<p" in text and name not in ("two candidates", "no variables")
]


@pytest.mark.parametrize("name", WITH_RECORDS)
def test_what_is_wrong_in_a_later_record_is_found_before_any_is_yielded(name: str, tmp_path: Path) -> None:
    text = str(REFUSED[name][0])
    path = saved(tmp_path, text.replace("<p", "<p><a>0</a></p>" * 50 + "<p", 1))
    with pytest.raises(DataError):
        opened(path)


def test_file_that_is_not_there_and_folder(tmp_path: Path) -> None:
    saved(tmp_path, PLAIN, "census.xml")
    with pytest.raises(DataError, match=r"Did you mean 'census\.xml'"):
        rows(tmp_path / "Census.xml")
    with pytest.raises(DataError, match="no folder"):
        rows(tmp_path / "nowhere" / "census.xml")
    with pytest.raises(DataError, match="directory"):
        rows(tmp_path)
    with pytest.raises(DataError, match="at most 10"):
        rows(tmp_path / "census.xml", max_file_size=10)


def test_record_element_that_is_not_there_names_those_that_are(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="Did you mean 'Record'") as caught:
        rows(saved(tmp_path, PLAIN), record="record")
    assert "V1" in str(caught.value)
    with pytest.raises(DataError, match="elements there are"):
        rows(saved(tmp_path, PLAIN), record="Household")


def test_file_changed_between_the_passes_is_noticed(tmp_path: Path) -> None:
    path = saved(tmp_path, PLAIN)
    reading = opened(path)
    path.write_text(PLAIN.replace("V2", "V3"))
    with pytest.raises(DataError, match="changed"):
        list(reading.batches())


def test_names_and_texts_that_xml_cannot_hold(tmp_path: Path) -> None:
    for name in ("two words", "1st", "a:b:c", ""):
        with pytest.raises(DataError, match="name of an XML element"):
            XML.write(tmp_path / "o.xml", [], (Variable(name),), Layout("csv"))
    batch = pa.record_batch([pa.array(["\x02"])], names=["a"])
    with pytest.raises(DataError, match="control characters"):
        XML.write(tmp_path / "o.xml", [batch], (Variable("a"),), Layout("csv"))


def test_full_disk_is_reported(tmp_path: Path) -> None:
    batch = pa.record_batch([pa.array(["1"])], names=["a"])
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("no /dev/full on this system")
    with pytest.raises(DataError, match="No space left"):
        XML.write(full, [batch], (Variable("a"),), Layout("csv"))
    with pytest.raises(DataError, match="cannot be written"):
        XML.write(tmp_path / "no" / "o.xml", [batch], (Variable("a"),), Layout("csv"))


TEXTS = st.text(
    st.characters(codec="utf-8", exclude_categories=("Cs", "Cc")) | st.sampled_from("\t\n\r<>&\"'"), max_size=6
)
NAMES = st.lists(
    st.from_regex(r"[A-Za-zé_][\w.\-]{0,4}", fullmatch=True).filter(str.isprintable),
    min_size=1,
    max_size=4,
    unique=True,
)


@given(data=st.data(), names=NAMES, n=st.integers(1, 12))
def test_any_table_survives_a_round_trip(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, names: list[str], n: int
) -> None:
    names = [name for name in names if name != "Record"] or ["a"]
    cells = {name: data.draw(st.lists(TEXTS, min_size=n, max_size=n)) for name in names}
    path = tmp_path_factory.mktemp("xml") / "t.xml"
    batch = pa.record_batch([pa.array(texts, pa.string()) for texts in cells.values()], names=names)
    # A character that lxml and expat refuse is refused in writing, too.
    if any(re.search("[\ufffe\uffff]", text) for texts in cells.values() for text in texts):
        with pytest.raises(DataError, match="control"):
            XML.write(path, [batch], tuple(map(Variable, names)), Layout())
        return
    try:
        XML.write(path, [batch.slice(0, n // 2), batch.slice(n // 2)], tuple(map(Variable, names)), Layout())
    except DataError as error:
        assert "name of an XML element" in str(error)  # noqa: PT017 - the names drawn are nearly all names
        return
    assert rows(path, record="Record") == batch.to_pylist() == tree_rows(path)


MARKUP = """
<V1> </V1> <V2> </V2> <V1/> <Record> </Record> <!-- --> <![CDATA[ ]]> &amp; &#55; & < > /> <Microdata> </Microdata>
7 -1.5 é \x01 \ufffe ]] <?p?> <!DOCTYPE> a='1' <V3>1</V3> <x:V1> xmlns='u'
"""
SPARSE = (
    "<Microdata><Record><V2>1</V2></Record>\n<Record><V1/><V2>3</V2><V4>x</V4></Record><Record></Record></Microdata>"
)
PIECES = st.sampled_from([*MARKUP.split(), " ", "\r\n", "\t"])


@given(data=st.data())
def test_the_fast_reader_reads_nothing_that_the_parser_reads_otherwise(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """A plain file with pieces of XML put in, deleted or doubled anywhere."""
    from maskwright_builtin.sources.xml.source import form_of

    text = data.draw(st.sampled_from([PLAIN, SPARSE]))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        stop = data.draw(st.integers(at, min(len(text), at + 12)))
        text = text[:at] + data.draw(PIECES | st.just("")) + text[data.draw(st.sampled_from([at, stop])) :]
    path = saved(tmp_path_factory.mktemp("xml"), text)
    params = XML.params(record="Record")
    try:
        reading = opened(path, record="Record")
    except DataError:
        return
    form = form_of(path, params)
    found = form.examine(lambda _: None)
    slow = pa.Table.from_batches(list(form.stream(found.columns, lambda _: None)))
    assert pa.Table.from_batches(list(reading.batches())).equals(slow)
    assert (
        slow.to_pylist() == [dict.fromkeys(slow.schema.names) | row for row in tree_rows(path)] or "Microdata" in text
    )


def test_untouched_cells_are_published_as_they_were_and_signs_are_no_numbers(tmp_path: Path) -> None:
    """XML is read as XPath does: +5 is text; white space, zeros, and no cell or an empty one stay, cell by cell."""
    cells = ["<a>007</a>", "<a> 7 </a>", "<a></a>", "", "<a>1e5</a>", "<a>+5</a>", "<a>R&amp;D</a>", "<a>1.50</a>"]
    numbers = ["<b>1.50</b>", "<b/>", "", "<b> 2</b>", "<b>-0</b>", "<b>.5</b>", "<b>5.</b>", "<b>3.00</b>"]
    rows = zip(cells, numbers, [13.5, 11, 17, 19, 23, 29, 31, 37], strict=True)
    text = "".join(f"<R>{a}{b}<c>{c}</c></R>\n" for a, b, c in rows)
    saved(tmp_path, f"{HEAD}<D>\n{text}</D>\n")
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: data.xml, variables: {a: {type: nominal, role: other}, b: {role: other}}}\n"
        "edits: [c > 0]\nprotect: [{method: additive_noise, variables: [c]}]\n"
        "output: {data: out.xml, report: report.html, record: run.json}\nseed: 1\n"
    )
    assert mw.run(tmp_path / "p.yaml").ok
    found = (tmp_path / "out.xml").read_text()
    masked = re.compile("<c>[^<]*</c>")
    assert masked.sub("", found) == masked.sub("", f"{HEAD}<D>\n{text}</D>\n").replace("<b/>", "<b></b>")


def test_data_that_are_written_plainly_are_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is not is looked at from end to end first, and is the same data with either reading."""
    path = tmp_path / "plain.xml"
    path.write_text(PLAIN, encoding="utf-8")
    late = tmp_path / "late.xml"
    late.write_text(PLAIN.replace("<V2></V2>", "<V2/><V3>5</V3>"), encoding="utf-8")
    examined = XML.open(path, XmlParams.model_validate({}), lambda _: None)
    opened: list[Path] = []
    examine = XmlReading.__init__

    def noted(reading: XmlReading, path: Path, *more: Any) -> None:
        opened.append(path)
        examine(reading, path, *more)

    monkeypatch.setattr(XmlReading, "__init__", noted)
    once = mw.read(path)
    assert opened == []
    assert once.names == ("V1", "V2")
    assert once.layout.details == examined.layout.details
    assert mw.read(late, variables={"V3": {"type": "integer"}})["V3"].missing.tolist() == [True, False]
    assert opened == [late]
