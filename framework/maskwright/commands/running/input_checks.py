"""Rules about variables that are not published: they check what arrives, and nobody could check them in a release."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.date_arithmetic import with_dates
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.refusals import EditViolation
from maskwright.planning.applicable_edits import without_violations

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.tally import EditOutcome
    from maskwright.pipeline.resolved import MaskingRequest


def read_by_rules(edits: EditSet, identifiers: Iterable[str]) -> tuple[str, ...]:
    """Those of these identifiers that edits read."""
    used = {name for edit in edits for name in edit.variables}
    return tuple(name for name in identifiers if name in used)


def about_unpublished(edits: EditSet, identifiers: Collection[str]) -> tuple[EditSet, EditSet]:
    """Edits that read none of these identifiers, and those that read one."""
    wanted = [not set(edit.variables).isdisjoint(identifiers) for edit in edits]
    kept, checking = (
        tuple(edit for edit, own in zip(edits, wanted, strict=True) if own is which) for which in (False, True)
    )
    return EditSet(kept, edits.notes), EditSet(checking)


def check_unpublished(
    request: MaskingRequest, whole: Dataset, edits: EditSet, identifiers: Collection[str]
) -> tuple[NDArray[np.int64] | None, tuple[str, ...], tuple[EditOutcome, ...]]:
    """Check the original against edits that read identifiers.

    `request`: says what is done with records that violate an edit. They are left out or stop the run like those of any
    other edit; they cannot be adjusted or mended, since what the edit reads is not in the release. `whole`: the
    original, with those identifiers. Returns positions of the records that are kept; None: all are; Notices: one for
    each edit; those of the edits that are violated.
    """
    if not len(edits):
        return None, (), ()
    stated = with_dates(edits, whole.variables)
    outcome = check_dataset(whole, stated, Domain.from_dataset(whole, domain_tuples(stated)))
    broken = [each for each in outcome.edits if each.violations and each.severity == "error"]
    if broken and request.on_input_violation == "fail":
        shown = ", ".join(f"{each.name}: {each.violations}" for each in broken)
        raise EditViolation(
            Problem(
                f"records of the original violate edits ({shown})",
                hint="on_input_violation is 'fail'; these edits read identifiers, so they check the original only",
            )
        )
    dropped = bool(broken) and request.on_input_violation == "drop"
    kept = without_violations(whole, stated)[1] if dropped else None
    if kept is not None and not len(kept):
        raise InputError("every record violates an edit about identifiers, so on_input_violation: drop leaves none")
    notices = tuple(
        _notice(edit, each.violations, len(whole), identifiers, dropped=dropped and each.severity == "error")
        for edit, each in zip(stated, outcome.edits, strict=True)
    )
    return kept, notices, tuple(broken)


def _notice(edit: Edit, violations: int, n: int, identifiers: Collection[str], *, dropped: bool) -> str:
    names = ", ".join(name for name in edit.variables if name in identifiers)
    found = "every record obeys it"
    if violations:
        found = f"{violations} of {n} record(s) violate it and " + ("were dropped" if dropped else "are not mended")
    return (
        f"edit {edit.name!r} reads {names}, which is not published: it checks the original only, where {found}; it is "
        "no rule of the release"
    )


def left_of(data: Dataset, rows: NDArray[np.int64]) -> Dataset:
    """Original of the records that are left: the others never arrived."""
    return replace(data.taken(rows), origin=data.origin)
