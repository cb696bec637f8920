"""Verdicts on rules while they are typed, and texts in them that no cell holds."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from maskwright import Dataset, Edit, EditSet, LinkedData


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


MOST_KEPT = 1000
"""Rules of which verdicts are kept: whoever types one leaves many behind."""


class RuleVerdicts:
    """Outcomes of rules on one dataset, kept by what the rule says."""

    def __init__(self) -> None:
        self._by_rule: dict[object, Any] = {}
        self._together: tuple[object, Sequence[Any]] = (None, ())

    def outcomes(self, data: Dataset | LinkedData, edits: EditSet) -> Sequence[Any]:
        """What each rule came to, as `maskwright.Outcome.edits`; of several levels, those that linking rests on too."""
        if isinstance(data, mw.LinkedData) or not all(map(stands_alone, edits)):
            # Asked together again only where one of them is another.
            key = tuple(map(_rule_key, edits))
            if self._together[0] != key:
                self._together = key, mw.validate(data, edits, original=data).edits
            return self._together[1]
        new = [each for each in edits if _rule_key(each) not in self._by_rule]
        if len(self._by_rule) + len(new) > MOST_KEPT:
            self._by_rule, new = {}, list(edits)
        if new:
            found = mw.validate(data, mw.EditSet(tuple(new)), original=data).edits
            self._by_rule.update(zip(map(_rule_key, new), found, strict=True))
        return [self._by_rule[_rule_key(each)] for each in edits]


def stands_alone(edit: Edit) -> bool:
    """Whether the outcome is the same whatever the other rules are, and one."""
    return edit.for_validation.engine is None and not edit.ranged


def _rule_key(edit: Edit) -> object:
    """All that the outcome of a rule rests on; not its place, which changes with each line above it."""
    return (edit.name, edit.text, edit.binding, edit.context, edit.shadowed, edit.when, edit.severity, edit.message,
            edit.in_days, edit.level, edit.checked_by, edit.expression)  # fmt: skip
