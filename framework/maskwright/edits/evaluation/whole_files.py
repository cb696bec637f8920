"""Verdicts of rules about all records together, record by record."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit import FileTest
from maskwright.edits.evaluation.edit_names import unknown_variables
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.expression import Expression, IfThen
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maskwright.data.record_chunk import RecordChunk
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.evaluation.outcomes import Verdict


def is_file_test(edit: Edit) -> bool:
    """Whether an edit is about all records together."""
    return isinstance(edit.engine, FileTest)


class FileVerdicts:
    """Verdicts of the edits that are about all records, which are there once all columns were seen."""

    def __init__(self, edits: Iterable[Edit]) -> None:
        self.edits = [edit for edit in edits if is_file_test(edit)]
        self._found: dict[str, Verdict] = {}

    def prepare(self, columns: RecordChunk, domain: Domain | None) -> None:
        """Take up the columns of all records."""
        for edit in self.edits:
            assert edit.engine is not None
            problems = unknown_variables([replace(edit, variables=edit.engine.names)], columns.names)
            if problems:
                raise EditError(problems)
            verdict = evaluate_exact(edit.expression, columns, domain)
            condition = condition_of(edit)
            fired = np.ones(columns.n, dtype=np.bool_)
            if condition is not None:
                fired = evaluate_exact(condition, columns, domain).holds
            self._found[edit.name] = replace(verdict, fired=fired)

    def of_records(self, edit: Edit, before: int, n: int) -> Verdict | None:
        """Verdict on the `n` records after the first ones; None where it is not known here."""
        verdict = self._found.get(edit.name)
        if verdict is None:
            return None
        these = slice(before, before + n)
        fired = None if verdict.fired is None else verdict.fired[these]
        return replace(verdict, holds=verdict.holds[these], unknown=verdict.unknown[these], fired=fired)


def condition_of(edit: Edit) -> Expression | None:
    """Condition of the records that an edit in YAML is for; None: all, or those that the context matches."""
    rule = edit.expression
    own = rule.condition if isinstance(rule, IfThen) and rule.otherwise is None and edit.binding == "exact" else None
    return own if edit.when is None else edit.when
