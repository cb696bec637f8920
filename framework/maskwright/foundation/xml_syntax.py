"""Syntax of XML: names, and what is wrong with a file that is not well-formed."""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING
from xml.parsers import expat

from maskwright.foundation.errors import Problem

if TYPE_CHECKING:
    from maskwright.foundation.errors import Place


_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
_INVALID_TOKEN = expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN]
_NO_LATIN_1 = re.compile(rb"[\x80-\x9f]")
"""Control characters there, which no file of data has."""
_UTF_8, _ASCII = ("utf-8", "utf8"), ("us-ascii", "ascii")


def marked_encoding(start: bytes) -> str | None:
    """Encoding that the first bytes of an XML file tell, whatever it declares; None: they tell none.

    Parameters
    ----------
    start : bytes
        Three or more.

    Examples
    --------
    >>> from maskwright import marked_encoding
    >>> marked_encoding(b"<?xml"), marked_encoding("<a/>".encode("utf-16-le"))
    (None, 'utf-16-le')
    """
    return next((name for mark, name in _MARKS if start.startswith(mark)), None)


def xml_problem(error: expat.ExpatError, place: Place, content: bytes, at: int, encoding: str | None) -> Problem:
    r"""Problem of a file that expat does not take for well-formed; no text of the file is shown.

    Parameters
    ----------
    error : expat.ExpatError
    place : Place
        Line and column at which the parser stopped.
    content : bytes
        Of the file, from around that place or whole.
    at : int
        Where in `content` the parser stopped, its ``ErrorByteIndex``; outside of it, the bytes are not looked at.
    encoding : str or None
        In which the file is read: that it declares, or that its first bytes tell; None for neither, which is UTF-8.

    Examples
    --------
    >>> from xml.parsers import expat
    >>> from maskwright import Place, xml_problem
    >>> content = "<rows><row><town>K\xf6ln</town></row></rows>".encode("latin-1")
    >>> parser = expat.ParserCreate()
    >>> try:
    ...     _ = parser.Parse(content, True)
    ... except expat.ExpatError as error:
    ...     print(xml_problem(error, Place("towns.xml", 1, 19), content, parser.ErrorByteIndex, None).hint[:52])
    It is probably Latin-1 (ISO-8859-1) or windows-1252.
    """
    message = f"not well-formed XML: {expat.ErrorString(error.code)}"
    declared = (encoding or "utf-8").lower()
    if error.code != _INVALID_TOKEN or declared not in (*_UTF_8, *_ASCII) or not 0 <= at < len(content):
        return Problem(message, place)
    if content[at] < 0x80 or (declared in _UTF_8 and _is_utf_8(content[at : at + 4])):
        return Problem(message, place)
    named = "UTF-8" if declared in _UTF_8 else "ASCII"
    why = "which the file declares" if encoding is not None else "in which a file is read that declares no encoding"
    return Problem(f"{message}: the bytes here are no {named}, {why}", place, _what_to_do(content, at, declared))


def _is_utf_8(start: bytes) -> bool:
    """Whether the first character is written in UTF-8, such as it is that XML does not allow."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError as error:
        return error.start > 0
    return True


def _what_to_do(content: bytes, at: int, declared: str) -> str:
    rest = content[at:]
    if declared in _ASCII and _is_utf_8(rest[:4]):
        return 'It is probably UTF-8: declare it in the first line of the file, <?xml version="1.0" encoding="UTF-8"?>.'
    if declared in _UTF_8 and not content[:at].removeprefix(codecs.BOM_UTF8).isascii():
        return (
            "Before this place the file is UTF-8: a part of it was perhaps copied in from a file in Latin-1 or "
            "windows-1252. Write that part as UTF-8."
        )
    if _NO_LATIN_1.search(rest):
        return "It is probably windows-1252, or of DOS or an old Mac, which is not read: convert the file to UTF-8."
    return (
        "It is probably Latin-1 (ISO-8859-1) or windows-1252. Declare Latin-1 in the first line of the file, "
        '<?xml version="1.0" encoding="ISO-8859-1"?>, or convert the file to UTF-8; windows-1252 has to be converted.'
    )


_NAME_START = (
    r"A-Z_a-z\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u02FF\u0370-\u037D\u037F-\u1FFF\u200C\u200D\u2070-\u218F"
    r"\u2C00-\u2FEF\u3001-\uD7FF\uF900-\uFDCF\uFDF0-\uFFFD\U00010000-\U000EFFFF"
)
NCNAME = rf"[{_NAME_START}][{_NAME_START}\-.0-9\u00B7\u0300-\u036F\u203F\u2040]*"
"""Pattern of a name without a prefix."""
