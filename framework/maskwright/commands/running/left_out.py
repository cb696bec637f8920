"""Records that are left out since they, or their group, violate an edit on arrival: how many, and whether too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from maskwright.edits.evaluation.tally import EditOutcome

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
    """A doubt where a large part of the file is left out.

    `lost`, `of`: records that are left out, and those of the original. `what`: ``records``, or what they are called.
    """
    if not is_many(lost, of):
        return
    worst = sorted(broken, key=lambda each: -each.violations)
    shown = ", ".join(f"{each.name}: {each.violations:,}" for each in worst[:MOST_NAMED])
    shown += f" and {len(worst) - MOST_NAMED} more" if len(worst) > MOST_NAMED else ""
    message = f"{lost:,} of {of:,} {what} ({lost / of:.0%}) violate an edit ({shown}) and would be dropped"
    yield Doubt("many-records-dropped", "", message, lost, of)
