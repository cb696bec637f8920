"""The history of ratios to peers: read, added to, and held against what is measured now."""

from __future__ import annotations

import csv
from dataclasses import astuple, dataclass, fields
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

FALLEN = 0.75
"""Share of the last ratio below which a slow-down is said."""


@dataclass(frozen=True)
class Kept:
    """A row of the history: at `records` the peer takes `ratio` times as long; ours grows with the power `exponent`."""

    version: str
    date: str
    work: str
    peer: str
    records: int
    ratio: float
    exponent: float


def kept_rows(path: Path) -> list[Kept]:
    """The history, oldest first."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return [
            Kept(row["version"], row["date"], row["work"], row["peer"], int(row["records"]), float(row["ratio"]),
                 float(row["exponent"]))
            for row in csv.DictReader(file)
        ]  # fmt: skip


def keep(path: Path, rows: list[Kept]) -> None:
    """Add rows; those of the same version and work are replaced."""
    new = {(row.version, row.work) for row in rows}
    rows = [row for row in kept_rows(path) if (row.version, row.work) not in new] + rows
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([field.name for field in fields(Kept)])
        writer.writerows(astuple(row) for row in rows)


def has_fallen(ratio: float, before: Kept | None) -> bool:
    """Whether the ratio has fallen by more than a quarter since the row of the history."""
    return before is not None and ratio < FALLEN * before.ratio
