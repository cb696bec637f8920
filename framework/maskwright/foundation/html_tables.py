"""Small pieces of HTML for notebooks: a title, sentences, tables; everything is escaped.

Colours are those of the notebook, light or dark: only lines are drawn, in a grey that shows on both.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MOST_ROWS = 200

_STYLE = (
    "<style>.maskwright{color:inherit}.maskwright table{border-collapse:collapse;margin:0 0 .8em}"
    ".maskwright table tr{background:none}.maskwright table :is(th,td){text-align:left;vertical-align:top;"
    "white-space:normal;padding:.25em 1em .25em 0;border-bottom:1px solid rgba(128,128,128,.4)}"
    ".maskwright table :is(th,td).n{text-align:right;font-variant-numeric:tabular-nums}</style>"
)


def block(title: str, *parts: str) -> str:
    """Titled block of such pieces."""
    return f'<div class="maskwright">{_STYLE}<p><strong>{escape(title)}</strong></p>{"".join(parts)}</div>'


def sentence(text: str, lead: str = "") -> str:
    """Paragraph of text, after a lead in bold face; nothing where there is no text."""
    if not text:
        return ""
    return f"<p>{f'<strong>{escape(lead)}</strong> ' if lead else ''}{escape(text)}</p>"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], numbers: Iterable[int] = ()) -> str:
    """Table with a head; nothing where there are no rows."""
    held = list(rows)
    if not held:
        return ""
    right = set(numbers)
    kinds = [' class="n"' if position in right else "" for position in range(len(columns))]
    head = "".join(f'<th scope="col"{kind}>{escape(title)}</th>' for kind, title in zip(kinds, columns, strict=True))
    lines = (
        "".join(f"<td{kind}>{escape(str(cell))}</td>" for kind, cell in zip(kinds, row, strict=True))
        for row in held[:MOST_ROWS]
    )
    body = "".join(f"<tr>{line}</tr>" for line in lines)
    more = f"and {len(held) - MOST_ROWS:,} more" if len(held) > MOST_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{sentence(more)}"
