"""What ``maskwright explain scale`` says: runs over parts, and what each method and measure does in them."""

from __future__ import annotations

import textwrap

from maskwright.cli.show.explained_parameters import WIDTH
from maskwright.commands.parted.support import support
from maskwright.plugins.registry import plugins

SCALE = "scale"

LEAD = (
    "With `execution: {engine: NAME}` a pipeline runs over the parts of its data, for files larger than memory: the "
    "parts are read once for their variables, moments, violations and a sample of 200,000 records chosen by the hash "
    "of their numbers; the plan is made; records are shuffled to the leaves of a k-d cut from that sample, masked and "
    "adjusted block by block, put back in their order, written, read back, and validated twice, part by part; measures "
    "are merged sums. All parts are released, or none. Results are the same bytes for every engine, any number of "
    "workers and any order of completion, and the same values for any number of files."
)

LIMITS = (
    "Exact: edits, strata, moments, counts, smallest classes, and measures where the table says so. Blocked: clusters "
    "are made in blocks of near records. Sampled: up to 100,000 records are linked to all records of every part, with "
    "a 95 percent interval of 98 / sqrt(m) percentage points. Looked at in the sample only: dependencies between "
    "variables, which the plan warns of. Methods that ask something of all records first (frequencies, spreads, "
    "periods that occur) get it as exact counts and sums, and give the values of a run in memory. Not done yet over "
    "parts: households, levels, categories in clusters, removed records and cells, rules beyond a record, key maps, "
    "random order. What cannot be had is refused by name before anything is masked."
)


def scale_page() -> str:
    """The page, with a row for each method and measure that is installed."""
    lines: list[str] = []
    for paragraph in (LEAD, LIMITS):
        lines += [*textwrap.wrap(paragraph, WIDTH), ""]
    rows = [("", "runs", "result", ""), *((each.name, each.form, each.result, each.why) for each in support(plugins()))]
    widths = [max(len(row[at]) for row in rows) for at in range(3)]
    for row in rows:
        lead = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        lines.append(f"{lead}  {row[3]}".rstrip())
    return "\n".join(lines)
