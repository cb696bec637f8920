"""Tests of Schematron that are false where cells are missing, of which Maskwright's own verdict is unknown.

XPath compares a cell without a number as false, unless the test says otherwise. Masking gives no missing cell a value,
so such a record would be found broken after the run as it is before.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check import evaluate
from maskwright.edits.evaluation.check_data import chunks_of
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.release.check_nested import check_nested

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.evaluation.tally import EditOutcome
    from maskwright.edits.languages.schematron.options import SchematronOptions
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.foundation.progress import Progress
    from maskwright.pipeline.resolved import LevelSources

WHAT_TO_DO = (
    "a comparison with a cell that is no number is false in XPath: let the test say what holds then, as "
    "`not(number(x) = number(x)) or ...`, or state the rule in YAML"
)


@dataclass(frozen=True, eq=False)
class FalseOnMissing:
    """What an engine finds broken in the original because cells are missing.

    `arrival`: in which these records count as violations, as they do in `maskwright validate`. `records`: where an edit
    of severity error is broken so.
    """

    arrival: Mapping[str, Outcome]
    records: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def false_on_missing(
    levels: LevelSources,
    rules: EditSet,
    limits: SchematronOptions,
    linked: LinkedData,
    bound: BoundEdits,
    arrival: Mapping[str, Outcome],
    progress: Progress,
) -> FalseOnMissing:
    """Ask an engine about the edits of which verdicts are unknown.

    `rules`: schematron, as an engine is asked about it.
    """
    stated = {edit.name: edit for edits in bound.edits.values() for edit in edits}
    open_ = {each.name for outcome in arrival.values() for each in outcome.edits if each.unknown}
    asked = EditSet(tuple(edit for edit in rules if edit.name in open_ and not _is_written(stated[edit.name])))
    if not len(asked):
        return FalseOnMissing(arrival)
    top, bottom = levels.sources
    source = levels.sources[top]
    assert source.source.open_nested is not None
    reading = source.source.open_nested(source.path, source.params, progress)
    found = check_nested(source.path, reading, asked, limits, levels=(top, bottom), most_listed=sum(map(len, linked)))
    broken = {}
    for each in found.edits:
        failing = np.zeros(len(linked[each.level]), dtype=np.bool_)
        failing[each.listed - 1] = True
        failing &= unknown_records(stated[each.name], linked, bound)
        if failing.any():
            broken[each.name] = failing
    told = {name: replace(outcome, edits=tuple(_counted(each, broken) for each in outcome.edits))
            for name, outcome in arrival.items()}  # fmt: skip
    errors = {
        name: [broken[edit.name] for edit in edits if edit.name in broken and edit.severity == "error"]
        for name, edits in bound.edits.items()
    }
    records = {name: np.logical_or.reduce(each) for name, each in errors.items() if each}
    said = ", ".join(f"{name}: {int(each.sum())}" for name, each in broken.items())
    notices = (f"tests that are false where cells are missing ({said} records): {WHAT_TO_DO}",) if broken else ()
    return FalseOnMissing(told, records, notices)


def unknown_records(edit: Edit, linked: LinkedData, bound: BoundEdits) -> NDArray[np.bool_]:
    """Records of its level for which the verdict of an edit is unknown."""
    data = with_linked_columns(linked, bound, edit.level)
    domain = Domain.from_dataset(data, domain_tuples(EditSet((edit,))))
    unknown = [evaluate(edit, chunk, domain).unknown for chunk in chunks_of(data)]
    return np.concatenate(unknown) if unknown else np.zeros(0, dtype=np.bool_)


def _is_written(edit: Edit) -> bool:
    """Whether a test was written from a rule, with guards for what is missing."""
    return edit.assertion is not None and edit.assertion.rule is not None


def _counted(each: EditOutcome, broken: Mapping[str, NDArray[np.bool_]]) -> EditOutcome:
    if each.name not in broken:
        return each
    count = int(broken[each.name].sum())
    return replace(each, violations=each.violations + count, unknown=each.unknown - count)
