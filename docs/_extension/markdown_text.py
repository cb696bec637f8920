"""Plain text and docstrings as markdown that says the same."""

from __future__ import annotations

import re
import textwrap
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_CODE = re.compile(r"(``.+?``|`[^`]+`)", re.DOTALL)
_MEANS_SOMETHING = re.compile(r"([\\*_\[\]<>#|$~{}])")


def as_markdown(text: str) -> str:
    """Text of a docstring: code stays code, indented lines are formulas, anything else is words.

    Parameters
    ----------
    text : str
        Paragraphs with an empty line between them.
    """
    return "\n\n".join(_paragraph(each) for each in re.split(r"\n\s*\n", text.strip("\n")))


def one_line(text: str) -> str:
    """Text as one paragraph."""
    return _words(" ".join(text.split()))


def code(text: str) -> str:
    """Text as code within a line; '' stays ''."""
    if not text:
        return ""
    ticks = "``" if "`" in text else "`"
    return f"{ticks} {text} {ticks}" if "`" in text else f"{ticks}{text}{ticks}"


def listed(names: Iterable[str]) -> str:
    """Names as code, with commas."""
    return ", ".join(code(name) for name in names)


def block(text: str, language: str = "text") -> str:
    """A block of code, fenced with more backticks than it has itself."""
    fence = "`" * max(3, 1 + max((len(each) for each in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def defined(term: str, said: str) -> str:
    """An entry of a list of definitions."""
    return f"{term}\n:   {textwrap.indent(said, '    ').lstrip()}\n"


def _paragraph(text: str) -> str:
    lines = text.splitlines()
    if any(line.startswith("    ") for line in lines):
        return block(textwrap.dedent(text))
    return "\n".join(_words(line) for line in _joined(lines))


def _joined(lines: list[str]) -> list[str]:
    """Lines of a paragraph in one, so that code which goes over the end of a line is whole; items of lists apart."""
    found: list[str] = []
    for line in lines:
        if not found or re.match(r"\s*([-*]|\d+\.) ", line):
            found.append(line)
        else:
            found[-1] += f" {line.strip()}"
    return found


def _words(text: str) -> str:
    parts = _CODE.split(text)
    return "".join(
        code(part.strip("`")) if at % 2 else _MEANS_SOMETHING.sub(r"\\\1", part) for at, part in enumerate(parts)
    )
