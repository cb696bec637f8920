"""Records of the original that violate edits: left out, refused or let through, as ``on_input_violation`` says."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.type_resolution import with_dates
from maskwright.foundation.counts import plural
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.findings import Notice
from maskwright.foundation.release_outcomes import EditViolation
from maskwright.planning.applicable_edits import without_violations

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.evaluation.outcomes import EditOutcome
    from maskwright.pipeline.resolved import MaskingRequest

WAYS_OUT = (
    "on_input_violation is 'fail'; 'mask' masks and mends them, 'drop' leaves them out, 'localize' adjusts as few "
    "fields as possible first; or give the edit `severity: warning`"
)
WAYS_OUT_OF_CHECKED = (
    "nothing mends what such an edit says: `on_input_violation: drop` leaves these records out, with their groups; or "
    "mend the file, or give the edit `severity: warning`"
)
NONE_LEFT = "Mend the file, or give the edit `severity: warning`."


def _beyond(broken: Iterable[EditOutcome], edits: EditSet) -> list[EditOutcome]:
    """Verdicts on edits that are about several records, which nothing can mend."""
    return [each for each in broken if edits[each.name].looks_beyond]


def are_mendable(arrival: Outcome, edits: EditSet) -> bool:
    """Whether some edit that records violate could be mended in them: none that is about several records can."""
    broken = violated_edits(arrival.edits)
    return len(_beyond(broken, edits)) < len(broken)


def refuse_unmendable(arrival: Outcome, edits: EditSet) -> None:
    """Stop where fields are to be adjusted, and records violate an edit about several: no field of one mends it."""
    beyond = _beyond(violated_edits(arrival.edits), edits)
    if beyond:
        raise input_violation(beyond, f"on_input_violation is 'localize'; {WAYS_OUT_OF_CHECKED}")


def on_violation(
    request: MaskingRequest, original: Dataset, edits: EditSet, arrival: Outcome
) -> tuple[tuple[Dataset, NDArray[np.int64]] | None, Outcome, tuple[Notice, ...]]:
    """Do what the pipeline says with records that violate an edit: those kept, and where they stood; None: all are."""
    broken = violated_edits(arrival.edits)
    if not broken or request.on_input_violation == "mask":
        return None, arrival, ()
    beyond = _beyond(broken, edits)
    if request.on_input_violation == "fail":
        raise input_violation(broken, WAYS_OUT_OF_CHECKED if len(beyond) == len(broken) else WAYS_OUT)
    shown = violation_counts(broken)
    kept, rows = without_violations(original, edits)
    if len(kept) == 0:
        message = f"every record violates an edit ({shown}), so on_input_violation: drop leaves none"
        raise InputError(Problem(message, hint=NONE_LEFT if beyond else None))
    outcome = check_dataset(kept, edits, Domain.from_dataset(kept, domain_tuples(edits)))
    dropped = len(original) - len(kept)
    also = " or belong to a group that did" if dropped > sum(each.violations for each in broken) else ""
    message = f"dropped: {plural(dropped, 'record')} that violated an edit in the original data{also} ({shown})"
    return (kept, rows), outcome, (Notice("records-dropped", "", message, dropped, len(original)),)


def about_unpublished(edits: EditSet, identifiers: Collection[str]) -> tuple[EditSet, EditSet]:
    """Edits that read none of these identifiers, and those that read one."""
    wanted = [not set(edit.named).isdisjoint(identifiers) for edit in edits]
    kept, checking = (
        tuple(edit for edit, own in zip(edits, wanted, strict=True) if own is which) for which in (False, True)
    )
    return EditSet(kept, edits.notes), EditSet(checking)


def violated_edits(verdicts: Iterable[EditOutcome]) -> list[EditOutcome]:
    """Verdicts on edits of severity error that some record violates."""
    return [each for each in verdicts if each.violations and each.severity == "error"]


def violation_counts(broken: Iterable[EditOutcome]) -> str:
    """``edit-1: 3, edit-2: 5``."""
    return ", ".join(f"{each.name}: {each.violations}" for each in broken)


def input_violation(broken: Iterable[EditOutcome], hint: str) -> EditViolation:
    """Error for an original in which edits are violated, where the pipeline does not mask such records."""
    found = tuple(broken)
    message = f"records of the original violate edits ({violation_counts(found)})"
    return EditViolation(Problem(message, hint=f"{_first_records(found)}; {hint}"))


MOST_EDITS_SHOWN, MOST_RECORDS_SHOWN = 3, 5
"""Violated edits of which the first records are named, and how many of them."""


def _first_records(broken: Sequence[EditOutcome]) -> str:
    """``edit-1 in records 6, 45``."""
    named = []
    for each in broken[:MOST_EDITS_SHOWN]:
        numbers = ", ".join(map(str, each.first_records[:MOST_RECORDS_SHOWN]))
        more = ", ..." if each.violations > MOST_RECORDS_SHOWN else ""
        level = f" of {each.level}" if each.level else ""
        named.append(f"{each.name} in record{'' if each.violations == 1 else 's'} {numbers}{more}{level}")
    more = "; ..." if len(broken) > MOST_EDITS_SHOWN else ""
    return f"{'; '.join(named)}{more}"


def check_unpublished(
    request: MaskingRequest, whole: Dataset, edits: EditSet, identifiers: Collection[str]
) -> tuple[NDArray[np.int64] | None, tuple[Notice, ...], tuple[EditOutcome, ...]]:
    """Check the original against edits that read identifiers."""
    if not len(edits):
        return None, (), ()
    stated = with_dates(edits, whole.variables)
    outcome = check_dataset(whole, stated, Domain.from_dataset(whole, domain_tuples(stated)))
    broken = violated_edits(outcome.edits)
    if broken and request.on_input_violation == "fail":
        hint = (
            "on_input_violation is 'fail', and nothing mends identifiers: `on_input_violation: drop` leaves these "
            "records out; or mend the file, or give the edit `severity: warning`"
        )
        raise input_violation(broken, hint)
    dropped = bool(broken) and request.on_input_violation == "drop"
    kept = without_violations(whole, stated)[1] if dropped else None
    if kept is not None and not len(kept):
        message = "every record violates an edit about identifiers, so on_input_violation: drop leaves none"
        raise InputError(Problem(message, hint=NONE_LEFT))
    notices = tuple(
        _notice(edit, each.violations, len(whole), identifiers, dropped=dropped and each.severity == "error")
        for edit, each in zip(stated, outcome.edits, strict=True)
    )
    return kept, notices, tuple(broken)


def _notice(edit: Edit, violations: int, n: int, identifiers: Collection[str], *, dropped: bool) -> Notice:
    names = ", ".join(name for name in edit.named if name in identifiers)
    found = "every record obeys it"
    if violations:
        left = "were dropped" if dropped else "are not mended"
        found = f"{violations} of {plural(n, 'record')} violate it and {left}"
    message = (
        f"edit {edit.name!r} reads {names}, which is not published: it checks the original only, where {found}; it is "
        "no rule of the release"
    )
    return Notice("checks-the-original-only", edit.name, message, violations, n, edit.place)


def left_of(data: Dataset, rows: NDArray[np.int64]) -> Dataset:
    """Original of the records that are left, as if the others had not been in the file."""
    return replace(data.taken(rows), origin=data.origin)


MANY = 0.1
"""Share of the records, or groups, of which the edits or the declaration are likelier to be wrong than the data."""

FEWEST = 10
"""Records, or groups, that are many in any file."""

MOST_NAMED = 3


def is_many(some: int, of: int) -> bool:
    """Whether some of these records, or groups, are too many to be mistakes.

    >>> is_many(9, 20), is_many(10, 101), is_many(10, 100)
    (False, False, True)
    """
    return some >= FEWEST and some >= MANY * of


def dropped_doubts(
    lost: int, of: int, what: str, broken: Iterable[EditOutcome], are_mendable: bool = True
) -> Iterator[Doubt]:
    """A doubt where a large part of the file is left out."""
    if not is_many(lost, of):
        return
    worst = sorted(broken, key=lambda each: -each.violations)
    shown = ", ".join(f"{each.name}: {each.violations:,}" for each in worst[:MOST_NAMED])
    shown += f" and {len(worst) - MOST_NAMED} more" if len(worst) > MOST_NAMED else ""
    message = f"{lost:,} of {of:,} {what} ({lost / of:.0%}) violate an edit ({shown}) and would be dropped"
    hint = None if are_mendable else f"Look at the edits that are named and correct them. {NONE_LEFT}"
    yield Doubt("many-records-dropped", "", message, lost, of, hint=hint)
