"""XML whose bytes are of another encoding than it declares: told as that, wherever XML is read, and without a value."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright import InputError

if TYPE_CHECKING:
    from pathlib import Path

DECLARED = '<?xml version="1.0" encoding="ISO-8859-1"?>'
MAY_BE_LATIN_1 = "It is probably Latin-1 (ISO-8859-1) or windows-1252. Declare Latin-1 in the first line of the file, "
NO_UTF_8 = "the bytes here are no UTF-8"

DOCUMENT = "<rows>\n<row><town>Zürich</town><size>3</size></row>\n<row><town>Wels</town><size>4</size></row></rows>"
NESTED = (
    "<rows>\n<home><town>Zürich</town><hid>1</hid><person><pno>1</pno><age>3</age></person></home>\n"
    "<home><town>Wels</town><hid>2</hid><person><pno>1</pno><age>4</age></person></home></rows>"
)
SCHEMA = (
    '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="row">'
    '\n<assert id="a" test="size &gt; 2">Größe</assert></rule></pattern></schema>'
)
CODEBOOK = '<codeBook><dataDscr><var name="size"><labl>\nGröße</labl></var></dataDscr></codeBook>'


def read_flat(path: Path) -> object:
    return mw.read(path)


def read_nested(path: Path) -> object:
    pipeline = path.with_name("p.yaml")
    pipeline.write_text(
        f"maskwright: 1\ndata:\n  source: {path.name}\n  levels:\n    home: {{key: hid, record: home}}\n"
        "    person: {key: pno, in: home, record: person}\n"
        "protect: [{method: rounding, variables: [age], params: {base: 5}}]\noutput: {data: out.xml}\n",
        encoding="utf-8",
    )
    return mw.run(pipeline)


def read_document(path: Path) -> object:
    schema = path.with_name("fine.sch")
    schema.write_text(SCHEMA, encoding="utf-8")
    return mw.validate_document(path, schema)


def read_schema(path: Path) -> object:
    return mw.read_edits(path)


def read_codebook(path: Path) -> object:
    return mw.read_codebook(path)


READERS = {
    "flat": (read_flat, "in.xml", DOCUMENT),
    "nested": (read_nested, "in.xml", NESTED),
    "document": (read_document, "in.xml", DOCUMENT),
    "schema": (read_schema, "in.sch", SCHEMA),
    "codebook": (read_codebook, "in.xml", CODEBOOK),
}


@pytest.mark.parametrize("kind", READERS)
@pytest.mark.parametrize(
    ("declaration", "why"),
    [
        ("", "in which a file is read that declares no encoding"),
        ('<?xml version="1.0"?>', "in which a file is read that declares no encoding"),
        ('<?xml version="1.0" encoding="UTF-8"?>', "which the file declares"),
    ],
)
def test_latin_1_that_is_not_declared(tmp_path: Path, kind: str, declaration: str, why: str) -> None:
    read, name, text = READERS[kind]
    path = tmp_path / name
    path.write_bytes((declaration + text).encode("latin-1"))
    with pytest.raises(InputError) as refused:
        read(path)
    problem = refused.value.problems[0]
    assert problem.message.endswith(f"{NO_UTF_8}, {why}")
    assert problem.hint is not None
    assert problem.hint.startswith(MAY_BE_LATIN_1 + DECLARED)
    assert problem.place is not None
    assert problem.place.line == 2
    column = text.splitlines()[1].index("ü" if "ü" in text else "ö") + 1
    assert problem.place.column == column
    assert not any(value in str(refused.value) for value in ("rich", "Gr"))


@pytest.mark.parametrize("name", ["flat", "document", "codebook"])
def test_what_it_says_to_declare_is_read(tmp_path: Path, name: str) -> None:
    read, file, text = READERS[name]
    path = tmp_path / file
    path.write_bytes((DECLARED + text).encode("latin-1"))
    assert read(path) is not None


def told(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        mw.read(path)
    return str(refused.value)


def test_other_encodings_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "in.xml"
    of_windows = told(path, DOCUMENT.replace("3<", "3 €<").encode("cp1252"))
    assert "It is probably windows-1252, or of DOS or an old Mac" in of_windows
    mixed = told(path, DOCUMENT.encode().replace(b"Wels", b"Linz \xe4"))
    assert "Before this place the file is UTF-8" in mixed
    ascii_declared = b'<?xml version="1.0" encoding="US-ASCII"?>'
    of_utf_8 = told(path, ascii_declared + DOCUMENT.encode())
    assert "the bytes here are no ASCII, which the file declares" in of_utf_8
    assert "It is probably UTF-8: declare it" in of_utf_8
    assert MAY_BE_LATIN_1 in told(path, ascii_declared + DOCUMENT.encode("latin-1"))


@pytest.mark.parametrize(
    "content",
    [
        "<rows><row><town>a\ufffe</town></row></rows>".encode(),
        "\ufeff<rows><row><town>a\ufffe</town></row></rows>".encode("utf-16-le"),
        b"<rows><row><town>a\x01</town></row></rows>",
        b"<rows><row><town>a & b</town></row></rows>",
    ],
    ids=["no character of XML", "the same in UTF-16", "control character", "ampersand"],
)
def test_what_is_no_matter_of_encoding_is_not_told_as_one(tmp_path: Path, content: bytes) -> None:
    said = told(tmp_path / "in.xml", content)
    assert "not well-formed" in said
    assert NO_UTF_8 not in said
    assert "Latin-1" not in said


@pytest.mark.parametrize("before", range(5))
def test_a_character_that_begins_at_the_end_of_a_block(tmp_path: Path, before: int) -> None:
    """Files are read in blocks of 2 MB: the parser waits for the rest of what may be a character of several bytes."""
    block = 2 * 1024 * 1024
    start = b"<rows>"
    row = b"<row><town>abcdefghij</town></row>\n"
    many = row * ((block - 200) // len(row))
    opening = b"<row><town>"
    filling = b"x" * (block - len(start) - len(many) - len(opening) - before)
    content = start + many + opening + filling + "Zürich".encode("latin-1")[1:] + b"</town></row></rows>"
    assert abs(content.index(b"\xfc") - block) <= 4
    assert NO_UTF_8 in told(tmp_path / "in.xml", content)


def test_packed_files_are_looked_at_unpacked(tmp_path: Path) -> None:
    said = told(tmp_path / "in.xml.gz", gzip.compress(DOCUMENT.encode("latin-1")))
    assert NO_UTF_8 in said
