"""Texts that a rule compares with a variable and that never occur in it: mostly they are written otherwise there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from maskwright import Dataset

QUOTED = re.compile(r"""(["'])(.*?)\1""")
COMPARED = re.compile(
    r"""\b(?P<name>\w+)\s*(?:==?|!=)\s*(?P<text>"[^"]*"|'[^']*')|\b(?P<of>\w+)\s+(?:not\s+)?in\s*\{(?P<set>[^}]*)\}"""
)


def never_there(rule: str, levels: Iterable[Dataset]) -> list[tuple[str, str]]:
    """Variables of texts with a text that a rule compares with them, and that none of their cells holds."""
    held: dict[str, frozenset[str]] = {}
    for data in levels:
        for column in data:
            if not column.variable.is_numeric:
                held.setdefault(column.name, frozenset(column.variable.categories))
    return [(name, text) for name, text in dict.fromkeys(_compared(rule)) if name in held and text not in held[name]]


def _compared(rule: str) -> Iterator[tuple[str, str]]:
    for found in COMPARED.finditer(rule):
        name, texts = found["name"] or found["of"], found["text"] or found["set"]
        yield from ((name, text) for _, text in QUOTED.findall(texts))
