"""What a run is expected to cost, on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.cli.show.screen import item, show, table_of
from maskwright.release.wording import duration, file_size, plural

if TYPE_CHECKING:
    from rich.console import Console

    from maskwright.release.record.plan_record import CostsRecord


def print_costs(out: Console, costs: CostsRecord) -> None:
    """Print the memory and time that a plan expects, by stage, and what to do where they do not suffice."""
    out.print()
    where = f"over parts, {plural(costs.workers, 'worker')}" if costs.workers else "in memory"
    held = "memory of a worker" if costs.workers else "peak memory"
    table = table_of(f"expected of {plural(costs.records, 'record')}, {where}", held, "processor time")
    for each in costs.stages:
        table.add_row(each.stage, file_size(int(each.megabytes * 1e6)), duration(each.seconds))
    table.add_row("all", file_size(int(costs.peak_megabytes * 1e6)), duration(costs.seconds))
    show(out, table)
    if costs.workers:
        leader, scratch = (file_size(int(each * 1e6)) for each in (costs.leader_megabytes, costs.scratch_megabytes))
        wall = f"about {duration(costs.seconds / costs.workers)} where each worker has a processor of its own"
        item(out, "  ", f"{scratch} of scratch; {leader} of memory for the process that leads; {wall}")
    if not costs.fits and costs.memory_megabytes is not None:
        there = file_size(int(costs.memory_megabytes * 1e6))
        other = "parts of fewer records, a smaller block_size, or fewer workers"
        remedy = other if costs.workers else "execution: {engine: processes, block_size: 50000}"
        item(out, "  ", f"More than there is ({there}): take {remedy}.")
