"""Free text of R: the YAML header between lines of three dashes, and statements with their places."""

from __future__ import annotations

import re

from maskwright.foundation.errors import Place

_COMMENT = re.compile(r"""("[^"\\]*"|'[^'\\]*'|`[^`]*`)|#.*""")
_QUOTED = re.compile(r"""("[^"\\]*"|'[^'\\]*'|`[^`]*`)""")
_GOES_ON = re.compile(r"(?:[-+*/^&|<>=!,~({]|:=|%[^%]*%|\belse)\s*$")


def header_and_statements(text: str, file: str) -> tuple[str | None, list[tuple[str, Place]]]:
    """Split a file of rules.

    Returns YAML, with empty lines before it so that places in it are right; a statement goes on in the next line while
    a bracket is open, or where an operator ends the line.
    """
    lines = text.splitlines()
    header = None
    first = next((number for number, line in enumerate(lines) if line.strip()), 0)
    if lines and lines[first].rstrip() == "---":
        end = next((n for n in range(first + 1, len(lines)) if lines[n].rstrip() == "---"), len(lines))
        header = "\n" * (first + 1) + "\n".join(lines[first + 1 : end])
        lines = [""] * (end + 1) + lines[end + 1 :]
    found: list[tuple[str, Place]] = []
    open_text, open_place, depth = "", Place(file), 0
    for number, line in enumerate(lines, start=1):
        code = _COMMENT.sub(lambda match: match[1] or "", line)
        for piece in code.split(";") if not _QUOTED.search(code) else [code]:
            if not piece.strip() and not open_text:
                continue
            if not open_text:
                column = len(code) - len(code.lstrip()) + 1 if piece is code else line.find(piece.strip()) + 1
                open_place = Place(file, number, column, line)
            open_text = f"{open_text}\n{piece}" if open_text else piece.strip()
            bare = _QUOTED.sub("", piece)
            depth += sum(bare.count(bracket) for bracket in "({[") - sum(bare.count(bracket) for bracket in ")}]")
            if depth <= 0 and not _GOES_ON.search(bare):
                found.append((open_text.strip(), open_place))
                open_text, depth = "", 0
    if open_text.strip():
        found.append((open_text.strip(), open_place))
    return header, found
