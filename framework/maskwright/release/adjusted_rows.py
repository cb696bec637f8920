"""What adjusting moved, in words: which records are counted, and of which level."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from maskwright.release.record.run_record import RunRecord


def moved_rows(record: RunRecord) -> str:
    """``3 of 212 representatives``: how many rows adjusting moved, each counted once; empty when there were none.

    Of data of several levels each level by itself: ``household: 3 of 212 records; person: 9 of 640 records``.
    """
    levels: dict[str, list[str]] = {}
    for kind in ("representatives", "records"):
        parts: dict[str, list[str]] = {}
        for each in record.moved:
            if each.acting_on == kind:
                own = level_of(record, (name for names in each.variables for name in names))
                parts.setdefault(own, []).append(f"{each.moved:,} of {each.rows:,}")
        for level, counts in parts.items():
            groups = f" ({len(counts)} variable groups)" if len(counts) > 1 else ""
            levels.setdefault(level, []).append(f"{', '.join(counts)} {kind}{groups}")
    return "; ".join(f"{level + ': ' if level else ''}{'; '.join(said)}" for level, said in levels.items())


def level_of(record: RunRecord, variables: Iterable[str]) -> str:
    """Level of variables that were moved together; empty where there is only one, or they are of several."""
    known = {each.name: each.level or "" for each in record.variables}
    levels = {known.get(name, "") for name in variables}
    return levels.pop() if len(levels) == 1 else ""


def what_adjusted_counts(record: RunRecord) -> str:
    """What the column "adjusted" of the table of edits counts in data of several levels; empty where it has nothing."""
    if len(record.levels) < 2 or not any(each.adjusted or each.infeasible for each in record.edits):
        return ""
    top, low = list(record.levels)[:2]
    return (
        f"records, not cells, of the level that the edit is about; {top} records where an edit across "
        f"levels moved these with their {low} records"
    )
