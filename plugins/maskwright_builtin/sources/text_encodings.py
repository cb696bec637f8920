"""Encodings of text files: those that Python reads and writes, and what is said of a name that is none."""

from __future__ import annotations

import codecs
import difflib
from encodings.aliases import aliases

NO_FILES = ("idna", "punycode", "raw-unicode-escape", "undefined", "unicode-escape")
"""Encodings of names and of program text, in which no data file is written."""

LISTED = (
    "utf-8, utf-16, utf-32, ascii, latin-1, iso8859-2 to iso8859-16, cp1250 to cp1258 (Windows), cp437, cp737, cp775, "
    "cp850, cp852, cp855, cp857, cp858, cp860 to cp866, cp869 (DOS), mac-roman, koi8-r, koi8-u, cp500 (EBCDIC), big5, "
    "gb18030, euc-jp, shift-jis, euc-kr"
)


def text_encoding(name: str) -> str:
    """Python's name of a text encoding.

    Parameters
    ----------
    name : str
        Any name that Python knows it by: ``cp850``, ``IBM850`` and ``850`` are one.

    Raises
    ------
    ValueError
        It is unknown, or turns something else than characters into bytes.

    Examples
    --------
    >>> text_encoding("IBM850")
    'cp850'
    """
    try:
        found = codecs.lookup(name)
        # `rot13` and `base64` are codecs, too; only those of texts take part in this.
        "a".encode(name)
    except (LookupError, UnicodeError, ValueError):
        raise ValueError(_no_encoding(name)) from None
    if found.name.replace("_", "-") in NO_FILES or found.incrementaldecoder is None:
        raise ValueError(_no_encoding(name))
    return found.name


def _no_encoding(name: str) -> str:
    texts = {alias: own for alias, own in aliases.items() if not own.endswith("_codec") and own != "rot_13"}
    known = [*texts, *texts.values()]
    near = difflib.get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=0.75)
    meant = f"; did you mean {aliases.get(near[0], near[0])!r}?" if near else "."
    return f"no encoding of texts called {name!r}{meant} Those that Python reads do: {LISTED}"
