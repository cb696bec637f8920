"""Recompute published tables and write them into the reproduction book.

``python benchmarks/reproduction/recompute.py [TABLE ...]``: results go to ``results/TABLE.csv``, with the version and
the date, and from there into the pages of ``docs/reproduction``. Without a name all tables that take seconds are
computed; ``--slow`` adds those that take longer, ``--list`` names all, ``--pages`` only writes the pages anew.

On every processor a table is computed, those that took longest last time first. A table that fails leaves its results
as they are; the others are computed, and the exit code is 1.

Numbers come from the methods and measures of Maskwright; grades are those of ``grades.py``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import resource
import sys
import time
import traceback
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

# Before NumPy is loaded: on small matrices more threads only wait, and take five times as much of the processor.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from papers import PAPERS
from tables import GRADES, OVERVIEWS, PAGES, Table, filled, markdown, one_thread, overview, read, write

import maskwright

TABLES = {table.name: table for paper in PAPERS for table in paper.tables}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    parser.add_argument("--slow", action="store_true", help="also tables that take longer than a few seconds")
    parser.add_argument("--list", action="store_true", help="name all tables")
    parser.add_argument("--pages", action="store_true", help="write the pages from the results, compute nothing")
    chosen = parser.parse_args()
    if chosen.list:
        for names in in_groups(list(TABLES.values())):
            # Tables of a group are computed together, and the first one bears the time of all.
            seconds = sum(seconds_of_last_time(TABLES[name]) for name in names)
            for table in map(TABLES.__getitem__, names):
                print(f"{table.name:<34}{'slow  ' if table.slow else '      '}{seconds:>6.0f} s  {table.title}")
        return
    unknown = [name for name in chosen.tables if name not in TABLES]
    if unknown:
        parser.error(f"no table is named {', '.join(unknown)}; --list names all")
    failed: list[str] = []
    if not chosen.pages:
        names = chosen.tables or [table.name for table in TABLES.values() if chosen.slow or not table.slow]
        failed = compute_all([TABLES[name] for name in dict.fromkeys(names)])
    write_pages()
    if failed:
        sys.exit(f"not computed: {', '.join(failed)}")


def compute_all(tables: list[Table]) -> list[str]:
    """Compute tables, on all processors if they are several, and return the names of those that failed."""
    begin, failed = time.monotonic(), []
    # What reads the results of other tables comes after them.
    for last in (False, True):
        groups = in_groups([table for table in tables if table.reads_results == last])
        if len(groups) < 2:
            failed += [name for group in groups for name in compute(group)]
            continue
        count, spawned = min(len(groups), os.cpu_count() or 1), get_context("spawn")
        with ProcessPoolExecutor(count, mp_context=spawned, initializer=one_thread) as pool:
            failed += [name for names in pool.map(compute, groups) for name in names]
    grades = Counter(grade for table in tables if table.printed for grade in read(table).grades)
    counted = ", ".join(f"{grades[grade]} {grade}" for grade in GRADES if grades[grade])
    spent = sum(seconds_of_last_time(table) for table in tables if table.name not in failed)
    print(f"{len(tables)} tables, {grades.total()} printed figures: {counted}")
    print(f"{spent:.0f} s of the processor, {(time.monotonic() - begin) / 60:.1f} minutes")
    return failed


def in_groups(tables: list[Table]) -> list[tuple[str, ...]]:
    """Names of tables that share what they compute, the longest groups first."""
    groups: dict[str, list[Table]] = {}
    for table in tables:
        groups.setdefault(table.shares or table.name, []).append(table)
    longest_first = sorted(groups.values(), key=lambda group: -sum(map(seconds_of_last_time, group)))
    return [tuple(table.name for table in group) for group in longest_first]


def seconds_of_last_time(table: Table) -> float:
    """Seconds of the processor that a table took; a slow one that was never timed counts as the longest."""
    known = read(table).header.get("seconds") if table.file.is_file() else None
    return float(known) if known else (1e4 if table.slow else 0.0)


def compute(names: tuple[str, ...]) -> list[str]:
    """Compute tables in this process, write their results, and return the names of those that failed."""
    failed = []
    for table in map(TABLES.__getitem__, names):
        if table.needs is not None and not table.needs.is_file():
            print(f"{table.name}: left as it is, {table.needs.name} is not part of the project and is not beside it")
            continue
        begin = processor_seconds()
        try:
            cells = list(table.compute())
        except Exception:  # noqa: BLE001 - one table that fails, for whatever reason, is said, and the others go on
            traceback.print_exc()
            failed.append(table.name)
            continue
        seconds = processor_seconds() - begin
        today = dt.datetime.now(tz=dt.UTC).date().isoformat()
        write(table, cells, maskwright.__version__, today, seconds)
        print(f"{table.name}: {len(cells)} figures, {seconds:.1f} s of the processor", flush=True)
    return failed


def processor_seconds() -> float:
    """Time of the processor that this process and those that it started have had."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def write_pages() -> None:
    """Write every table into its page, and the overview into the index."""
    for paper in PAPERS:
        path = PAGES / f"{paper.page}.md"
        page = path.read_text(encoding="utf-8")
        for table in paper.tables:
            page = filled(page, table.name, markdown(table, read(table)))
        path.write_text(page, encoding="utf-8")
    path = PAGES / "index.md"
    index = path.read_text(encoding="utf-8")
    for name, of_papers in OVERVIEWS.items():
        index = filled(index, name, overview(PAPERS, of_papers=of_papers))
    path.write_text(index, encoding="utf-8")


if __name__ == "__main__":
    main()
