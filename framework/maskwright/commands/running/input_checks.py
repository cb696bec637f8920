"""Checks of the input: records left out for violations, rules about unpublished variables, decimal commas."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.type_resolution import with_dates
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.release_outcomes import EditViolation
from maskwright.planning.applicable_edits import without_violations

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.outcomes import EditOutcome
    from maskwright.pipeline.resolved import DataSource, MaskingRequest


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
    """Check the original against edits that read identifiers."""
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


MANY = 0.1
"""Share of the records, or groups, of which the edits or the declaration are likelier to be wrong than the data."""

FEWEST = 10
"""Records, or groups, that are many in any file."""

MOST_NAMED = 3


def is_many(some: int, of: int) -> bool:
    """Whether some of these records, or groups, are too many to be mistakes.

    Parameters
    ----------
    some, of : int

    Examples
    --------
    >>> is_many(9, 20), is_many(10, 101), is_many(10, 100)
    (False, False, True)
    """
    return some >= FEWEST and some >= MANY * of


def dropped_doubts(lost: int, of: int, what: str, broken: Iterable[EditOutcome]) -> Iterator[Doubt]:
    """A doubt where a large part of the file is left out."""
    if not is_many(lost, of):
        return
    worst = sorted(broken, key=lambda each: -each.violations)
    shown = ", ".join(f"{each.name}: {each.violations:,}" for each in worst[:MOST_NAMED])
    shown += f" and {len(worst) - MOST_NAMED} more" if len(worst) > MOST_NAMED else ""
    message = f"{lost:,} of {of:,} {what} ({lost / of:.0%}) violate an edit ({shown}) and would be dropped"
    yield Doubt("many-records-dropped", "", message, lost, of)


def refuse_xpath_on_commas(edits: EditSet, sources: Iterable[DataSource]) -> None:
    """Refuse tests of Schematron on a document whose numbers have commas: to XPath, none of them is a number.

    Files that hold no documents are another matter: no engine ever reads them, and their numbers are judged as numbers.
    """
    first = next((edit for edit in edits if edit.assertion is not None), None)
    if first is None:
        return
    for each in sources:
        if each.source.nested is not None and getattr(each.params, "decimal", ".") == ",":
            message = f"edit {first.name!r} is Schematron, which reads numbers with a point, and {each.name} has commas"
            hint = "Hold the rules in YAML (`maskwright edits RULES --to yaml`), or write the file with points."
            raise InputError(Problem(message, first.place, hint))
