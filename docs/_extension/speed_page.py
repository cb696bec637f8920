"""The page on speed beside others, from the figures that `benchmarks/compare.py` has kept."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

HISTORY = Path(__file__).resolve().parents[2] / "benchmarks" / "history.csv"
LEAD = (
    "`python benchmarks/compare.py` does the same work in Maskwright and in a peer, in turns in one process, at about "
    "n, 3n and 10n records. A peer is another program, the plain way, or a limit, such as sorting the same columns. "
    "*Times* says how many times as long the peer takes, in processor seconds: below 1 it is faster. *Power* is that "
    "of the number of records with which our time grows. It ends with 1 where a ratio has fallen by more than a "
    "quarter since the last version."
)


def speed_page() -> Mapping[str, str]:
    """Text of the page, by the name of its file: the last figures of each work, and those of versions before."""
    with HISTORY.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    works: dict[tuple[str, str], list[dict[str, str]]] = {}
    for row in rows:
        works.setdefault((row["work"], row["peer"]), []).append(row)
    lines = ["| work | peer | records | times | power | measured | before |", "|---|---|---|---|---|---|---|"]
    for (work, peer), kept in works.items():
        last, before = kept[-1], kept[:-1]
        power = "" if last["exponent"] == "nan" else last["exponent"]
        measured = f"{last['version']}, {last['date']}"
        earlier = ", ".join(f"{row['ratio']} in {row['version']}" for row in reversed(before))
        lines.append(
            f"| {work} | {peer} | {int(last['records']):,} | {last['ratio']} | {power} | {measured} | {earlier} |"
        )
    table = "\n".join(lines)
    return {"speed.md": f"# Speed beside others\n\n{LEAD}\n\n{table}\n"}
