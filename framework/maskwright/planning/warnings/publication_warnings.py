"""What a careful person would ask about the data and the rules before publishing; names and counts, never values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.undeclared_dates import date_remedy
from maskwright.edits.edit import GoverningPart, LinearPart, Part, ProductPart, RangePart
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.progress import Caution
from maskwright.planning.warnings.labels import labels_of_suppressed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.planning.plan import Plan

SUSPICIOUS_SHARE = 0.5
MANY_CATEGORIES = 20
DISTINCT_SHARE = 0.05


def suspicious_edit_notices(arrival: Outcome) -> Iterator[str]:
    """Edits that most records of the original violate: the rule is more likely to be wrong than the data."""
    for each in arrival.edits:
        if each.fired and each.violations > SUSPICIOUS_SHARE * each.fired:
            share = 100 * each.violations / each.fired
            yield (
                f"edit {each.name!r} is violated by {share:.0f} % of the original records that it is for: is the rule "
                "right?"
            )


def refuse_arithmetic_on_text(edits: EditSet, data: Dataset) -> None:
    """Stop when an edit computes with a variable that holds text."""
    problems = [
        Problem(
            f"edit {edit.name!r} computes with {name}, which was read as text",
            edit.place,
            date_remedy(name, data[name].variable.categories)
            or "are there thousands separators or decimal commas in the file? Declare its type, or mend the file",
        )
        for edit in edits
        for name in sorted(set(_computed_with(edit.parts, compared=edit.binding == "exact")))
        if name in data and _is_text(data, name)
    ]
    if problems:
        raise EditError(problems)


def _computed_with(parts: Iterable[Part], *, compared: bool) -> Iterator[str]:
    """Variables that have to be numbers; XPath has a verdict, false, when it compares text with a number."""
    for part in parts:
        match part:
            case LinearPart() | ProductPart():
                yield from part.variables
            case RangePart() if compared and part.texts is None:
                yield part.variable
            case GoverningPart():
                inner = (*part.consequent, *part.otherwise, *(part.condition_parts or ()))
                yield from _computed_with(inner, compared=compared)
            case _:
                pass


def _is_text(data: Dataset, name: str) -> bool:
    variable = data[name].variable
    if variable.is_numeric:
        return False
    import pandas as pd  # heavy: workers of a large run do without

    numbers = pd.to_numeric(pd.Series(variable.categories, dtype="object"), errors="coerce")
    return bool(numbers.isna().mean() > SUSPICIOUS_SHARE)


def publication_notices(
    data: Dataset, plan: Plan, broken: Mapping[str, int], computed: Collection[str] = ()
) -> Iterator[str]:
    """Edits that nothing will mend; variables that may identify records.

    `broken`: records that violate each edit on arrival. `computed`: columns that edits read and that are not published.
    """
    yield from _unmasked_violation_notices(plan, broken)
    shown = [name for name in plan.untouched if name not in computed and not data[name].variable.renewed]
    for name in shown:
        column = data[name]
        distinct = len(column.variable.categories)
        if not column.variable.is_numeric and distinct > max(MANY_CATEGORIES, DISTINCT_SHARE * len(data)):
            yield Caution(
                f"{name} is published as it is and has {distinct} different texts: if it identifies, declare "
                f"`{name}: {{role: identifier}}`"
            )
    # A label of a suppressed code is emptied where the code is, and says nothing beside it.
    labels = labels_of_suppressed(shown, plan.groups, plan.steps, plan.variables, data)
    shown = [name for name in shown if name not in labels]
    alone = _unique_records(data, shown) if shown else 0
    if alone:
        yield Caution(
            f"{alone} record(s) are unique on the variables that are published unmasked ({', '.join(shown)}): "
            "whoever knows these finds them"
        )


def _unmasked_violation_notices(plan: Plan, broken: Mapping[str, int]) -> Iterator[str]:
    """Edits that the original violates on variables that no step touches: the run is bound to end without a release."""
    if any(step.method.removes for step in plan.steps):
        return
    masked = set(plan.masked)
    for edit in plan.edits:
        count = broken.get(edit.name, 0)
        if count and edit.severity == "error" and not masked & set(edit.variables):
            yield (
                f"{count} original record(s) violate edit {edit.name!r} and no step masks its variables "
                f"({', '.join(edit.variables)}), so that nothing can be released: mask them too, correct or leave out "
                "these records (on_input_violation: localize or drop), or give the edit `severity: warning`"
            )


def _unique_records(data: Dataset, names: Iterable[str]) -> int:
    import pandas as pd  # heavy: workers of a large run do without

    codes = np.zeros(len(data), dtype=np.int64)
    for name in names:
        column = data[name]
        code, found = pd.factorize(np.where(column.missing, np.nan, column.values.astype(np.float64)))
        codes, _ = pd.factorize(codes * (len(found) + 1) + code + 1)
    return int(np.sum(np.bincount(codes) == 1)) if len(codes) else 0
