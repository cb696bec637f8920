"""Recompute published tables and write them into the reproduction book.

``python benchmarks/reproduction/recompute.py [TABLE ...]``: results go to ``results/TABLE.csv``, with the version and
the date, and from there into the pages of ``docs/reproduction``. Without a name all tables that take seconds are
computed; ``--slow`` adds those that take minutes, ``--list`` names all, ``--pages`` only writes the pages anew.

Numbers come from the methods and measures of Maskwright; grades are those of ``grades.py``.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
import resource

# Before NumPy is loaded: on small matrices more threads only wait, and take five times as much of the processor.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from papers import PAPERS
from tables import OVERVIEWS, PAGES, Table, filled, markdown, overview, read, write

import maskwright


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", metavar="TABLE")
    parser.add_argument("--slow", action="store_true", help="also tables that take minutes")
    parser.add_argument("--list", action="store_true", help="name all tables")
    parser.add_argument("--pages", action="store_true", help="write the pages from the results, compute nothing")
    chosen = parser.parse_args()
    known = {table.name: table for paper in PAPERS for table in paper.tables}
    if chosen.list:
        for table in known.values():
            print(f"{table.name:<34}{'slow  ' if table.slow else '      '}{table.title}")
        return
    unknown = [name for name in chosen.tables if name not in known]
    if unknown:
        parser.error(f"no table is named {', '.join(unknown)}; --list names all")
    if not chosen.pages:
        for name in chosen.tables or [table.name for table in known.values() if chosen.slow or not table.slow]:
            compute(known[name])
    write_pages()


def compute(table: Table) -> None:
    """Compute one table and write its results."""
    if table.needs is not None and not table.needs.is_file():
        print(f"{table.name}: left as it is, {table.needs.name} is not part of the project and is not beside it")
        return
    begin = processor_seconds()
    cells = list(table.compute())
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    write(table, cells, maskwright.__version__, today)
    print(f"{table.name}: {len(cells)} figures, {processor_seconds() - begin:.1f} s of the processor", flush=True)


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
