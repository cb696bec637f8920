"""Verdicts of rules on data that stay the same: each rule is judged once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright import Dataset, Edit, EditSet, LinkedData

MOST_KEPT = 1000
"""Rules of which verdicts are kept: whoever types one leaves many behind."""


class JudgedRules:
    """Outcomes of rules on one dataset, kept by what the rule says."""

    def __init__(self) -> None:
        self._by_rule: dict[object, Any] = {}
        self._together: tuple[object, Sequence[Any]] = (None, ())

    def outcomes(self, data: Dataset | LinkedData, edits: EditSet) -> Sequence[Any]:
        """What each rule came to, as `maskwright.Outcome.edits`; of several levels, those that linking rests on too.

        `data`: the same in each call.
        """
        if isinstance(data, mw.LinkedData) or not all(map(_stands_alone, edits)):
            # Asked together again only where one of them is another.
            key = tuple(map(_said, edits))
            if self._together[0] != key:
                self._together = key, mw.validate(data, edits, original=data).edits
            return self._together[1]
        new = [each for each in edits if _said(each) not in self._by_rule]
        if len(self._by_rule) + len(new) > MOST_KEPT:
            self._by_rule, new = {}, list(edits)
        if new:
            found = mw.validate(data, mw.EditSet(tuple(new)), original=data).edits
            self._by_rule.update(zip(map(_said, new), found, strict=True))
        return [self._by_rule[_said(each)] for each in edits]


def _stands_alone(edit: Edit) -> bool:
    """Whether the outcome is the same whatever the other rules are, and one."""
    return edit.engine is None and not edit.ranged


def _said(edit: Edit) -> object:
    """All that the outcome of a rule rests on; not its place, which changes with each line above it."""
    return (edit.name, edit.text, edit.binding, edit.context, edit.shadowed, edit.when, edit.severity, edit.message,
            edit.in_days, edit.level, edit.checked_by, edit.expression)  # fmt: skip
