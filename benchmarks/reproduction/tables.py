"""Tables of the reproduction book: cells, the file of results, and the Markdown of a page."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Callable, Iterable  # noqa: TC003 - fields of dataclasses
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from grades import GRADES, NOT_REPRODUCIBLE, OPEN, SPARE, WITHIN_TOLERANCE, decimals, grade_of_cell

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
PAGES = HERE.parents[1] / "docs" / "reproduction"
TESTS = HERE.parents[1] / "tests"
GOLDEN = TESTS / "golden"
REFERENCE = TESTS / "reference"
COLUMNS = ("group", "row", "column", "printed", "computed", "tolerance", "scatter", "grade")
HEADER = ("table", "source", "command", "version", "date", "seconds")
WIDE = 3
"""Columns up to which each has a column of its own for what was computed."""
NOT_PRINTED = "not printed"
"""What stands for the grade of a figure that a source draws or describes, and does not print: it is not counted."""
UNPRINTED_DECIMALS = 2

OVERVIEWS = {"overview": True, "other_programs": False}
"""Tables of the index, and whether they are of what papers print."""


def one_thread() -> None:
    """Prepare a process that shares the processors with others: threads of its own would only wait."""
    os.environ["MASKWRIGHT_THREADS"] = "1"


@dataclass(frozen=True)
class Cell:
    """One printed figure and ours; `printed` is empty where the source prints none."""

    row: str
    column: str
    printed: str
    computed: str = ""
    tolerance: float = 0.0
    scatter: float = 0.0
    group: str = ""

    @property
    def grade(self) -> str:
        """How well they agree."""
        if not self.printed:
            return NOT_PRINTED
        return grade_of_cell(self.printed, self.computed, self.tolerance, self.scatter)

    @property
    def difference(self) -> Decimal | None:
        """Absolute difference, if there are a printed and a computed figure."""
        if not self.printed or self.computed in ("", OPEN):
            return None
        return abs(Decimal(self.computed) - Decimal(self.printed))


def as_printed(text: str, places: int) -> str:
    """A figure with the decimals of its source, where a file of figures has dropped zeros at the end."""
    return f"{Decimal(text):.{places}f}"


def cell(
    row: object, column: object, printed: object, computed: float | None, *, tolerance: float = 0.0,
    scatter: float = 0.0, group: str = "",
) -> Cell:  # fmt: skip
    """Cell of a computed number, which is written with two decimals more than the printed one; None: none is."""
    text = "" if printed is None else str(printed)
    if computed is None:
        return Cell(str(row), str(column), text, group=group)
    # Counts are whole numbers on both sides.
    spare = SPARE if text and (decimals(text) or not float(computed).is_integer()) else 0
    places = decimals(text) if text else UNPRINTED_DECIMALS
    ours = f"{computed:.{places + spare}f}"
    # Of zero the sign is noise of rounding.
    ours = ours.removeprefix("-") if not float(ours) else ours
    # Digits beyond the fourth of a scatter hang on the machine.
    return Cell(str(row), str(column), text, ours, float(f"{tolerance:.6g}"), float(f"{scatter:.3g}"), group)


@dataclass(frozen=True)
class Table:
    """How a table is computed and shown.

    ``by_group``: a page shows one line for each group of cells, for tables of many hundred cells. ``needs``: a file
    that is not part of the project. ``printed``: whether the source prints figures, which are counted. ``shares``: name
    of what it computes together with other tables. ``reads_results``: it reads the results of other tables.
    ``counted``: whether its figures count in the overview; those that stand in another table too do not.
    """

    name: str
    title: str
    source: str
    compute: Callable[[], Iterable[Cell]] = field(repr=False)
    slow: bool = False
    by_group: bool = False
    needs: Path | None = None
    printed: bool = True
    shares: str = ""
    reads_results: bool = False
    counted: bool = True

    @property
    def command(self) -> str:
        """What computes it."""
        return f"python benchmarks/reproduction/recompute.py {self.name}"

    @property
    def of_a_paper(self) -> bool:
        """Whether its figures are printed in the source, and not those of another program or recomputation."""
        return not self.source.startswith("independent")

    @property
    def file(self) -> Path:
        """Where its results are."""
        return RESULTS / f"{self.name}.csv"


@dataclass(frozen=True)
class Paper:
    """A source and its tables; ``page`` names a page of docs/reproduction."""

    page: str
    title: str
    tables: tuple[Table, ...]


@dataclass(frozen=True)
class Results:
    """A file of results."""

    header: dict[str, str]
    cells: tuple[Cell, ...]
    grades: tuple[str, ...]


def write(table: Table, cells: Iterable[Cell], version: str, date: str, seconds: float) -> None:
    """Write the results of a table, and the seconds of the processor that it took."""
    values = (table.title, table.source, table.command, version, date, f"{seconds:.0f}")
    with table.file.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"# {name}: {value}\n" for name, value in zip(HEADER, values, strict=True))
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for each in cells:
            allowed = [f"{value:g}" if value else "" for value in (each.tolerance, each.scatter)]
            writer.writerow([each.group, each.row, each.column, each.printed, each.computed, *allowed, each.grade])


def read(table: Table) -> Results:
    """Results of a table as they are committed."""
    with table.file.open(encoding="utf-8", newline="") as file:
        lines = file.readlines()
    header = dict(line[2:].rstrip("\n").split(": ", 1) for line in lines if line.startswith("# "))
    rows = list(csv.DictReader(line for line in lines if not line.startswith("# ")))
    cells = tuple(
        Cell(
            row["row"], row["column"], row["printed"], row["computed"], float(row["tolerance"] or 0),
            float(row["scatter"] or 0), row["group"],
        )
        for row in rows
    )  # fmt: skip
    return Results(header, cells, tuple(row["grade"] for row in rows))


def markdown(table: Table, results: Results) -> str:
    """What a page shows of a table."""
    printed = "printed" if table.of_a_paper else "stated"
    if not table.printed:
        body = computed_only(results.cells)
    else:
        body = grouped(results.cells) if table.by_group else listed(results.cells, printed)
    counts = Counter(results.grades)
    graded = ", ".join(f"{counts[grade]} {grade}" for grade in GRADES if counts[grade])
    header = results.header
    number = "1 figure" if len(results.cells) == 1 else f"{len(results.cells)} figures"
    graded = graded if table.printed else "printed nowhere"
    footer = f"{number}: {graded}. Maskwright {header['version']}, {header['date']}, `{header['command']}`."
    return "\n".join([f"**{header['table']}** ({header['source']})", "", *body, "", footer])


def listed(cells: tuple[Cell, ...], printed: str) -> list[str]:
    """One line for each row of the printed table."""
    columns = list(dict.fromkeys(each.column for each in cells))
    rows: dict[tuple[str, str], dict[str, Cell]] = {}
    for each in cells:
        rows.setdefault((each.group, each.row), {})[each.column] = each
    wide = len(columns) <= WIDE
    heads = [head for name in columns for head in ((name, f"{name}, computed") if wide else (name,))]
    if wide and columns == [""]:
        heads = [printed, "computed"]
    lines = [_line(["", *heads, "largest difference", "grade"]), _line(["---", *(["---:"] * (len(heads) + 1)), "---"])]
    for (group, name), found in rows.items():
        shown = []
        for column in columns:
            one = found.get(column)
            pair = (one.printed, one.computed or "–") if one else ("", "")
            shown.extend(pair if wide else [" / ".join(part for part in pair if part)])
        title = ", ".join(part for part in (group, name) if part)
        lines.append(_line([title, *shown, largest(found.values()), worst(found.values())]))
    if not wide:
        lines += ["", f"Each place: {printed} / computed."]
    return lines


def computed_only(cells: tuple[Cell, ...]) -> list[str]:
    """One line for each row of a table that no source prints."""
    columns = list(dict.fromkeys(each.column for each in cells))
    rows: dict[str, dict[str, str]] = {}
    for each in cells:
        rows.setdefault(", ".join(part for part in (each.group, each.row) if part), {})[each.column] = each.computed
    lines = [_line(["", *columns]), _line(["---", *(["---:"] * len(columns))])]
    return [*lines, *(_line([name, *(found.get(column, "") for column in columns)]) for name, found in rows.items())]


def grouped(cells: tuple[Cell, ...]) -> list[str]:
    """One line for each group of cells."""
    groups: dict[str, list[Cell]] = {}
    for each in cells:
        groups.setdefault(each.group, []).append(each)
    shown = [grade for grade in GRADES if any(each.grade == grade for each in cells)]
    allowed = WITHIN_TOLERANCE in shown
    heads = ["median difference", "largest difference", *(["largest tolerance"] if allowed else [])]
    lines = [_line(["", "figures", *shown, *heads]), _line(["---", *(["---:"] * (len(shown) + len(heads) + 1))])]
    for name, found in groups.items():
        counts = Counter(each.grade for each in found)
        differences = [median(found), largest(found)]
        if allowed:
            differences.append(f"{tolerance:.2g}" if (tolerance := max(each.tolerance for each in found)) else "")
        lines.append(_line([name, str(len(found)), *(str(counts[grade]) for grade in shown), *differences]))
    return lines


def largest(cells: Iterable[Cell]) -> str:
    """Largest difference of cells, to two digits."""
    found = [each.difference for each in cells if each.difference is not None]
    return _short(max(found)) if found else "–"


def median(cells: Iterable[Cell]) -> str:
    """Median difference of cells (the lower one of two), to two digits."""
    found = sorted(each.difference for each in cells if each.difference is not None)
    return _short(found[(len(found) - 1) // 2]) if found else "–"


def worst(cells: Iterable[Cell]) -> str:
    """The worst grade among the cells of a row that were computed, and how many were not."""
    grades = [each.grade for each in cells]
    without = (NOT_REPRODUCIBLE, OPEN)
    computed = [grade for grade in grades if grade not in without]
    if not computed:
        return max(grades, key=GRADES.index)
    missing = [f"{grades.count(grade)} {grade}" for grade in without if grade in grades]
    return max(computed, key=GRADES.index) + (f" ({', '.join(missing)})" if missing else "")


def linked(paper: Paper) -> str:
    """Link from the index."""
    return f"[{paper.title}]({paper.page}.md)"


def overview(papers: Iterable[Paper], *, of_papers: bool) -> str:
    """The table over all papers: of what they print, or of what other programs found."""
    lines = [
        _line(["source", "tables", "figures", *GRADES]),
        _line(["---", *(["---:"] * (len(GRADES) + 2))]),
    ]
    total: Counter[str] = Counter()
    tables = 0
    for paper in papers:
        shown = [table for table in paper.tables if table.printed and table.counted]
        chosen = [table for table in shown if table.of_a_paper == of_papers]
        if not chosen:
            continue
        counts = Counter(grade for table in chosen for grade in read(table).grades)
        total += counts
        tables += len(chosen)
        lines.append(_counted(linked(paper), len(chosen), counts))
    return "\n".join([*lines, _counted("all", tables, total)])


def _counted(name: str, tables: int, counts: Counter[str]) -> str:
    return _line([name, str(tables), str(counts.total()), *(str(counts[grade]) for grade in GRADES)])


def filled(page: str, name: str, block: str) -> str:
    """Page with a block between its two comments.

    Raises
    ------
    LookupError
        If the page has no place for it.
    """
    start, end = f"<!-- results: {name} -->\n", f"<!-- end of {name} -->"
    before, found, rest = page.partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise LookupError(f"the page has no lines '{start.strip()}' and '{end}': write them where the table belongs")
    return f"{before}{start}{block}\n{end}{after}"


def _line(parts: Iterable[str]) -> str:
    return "| " + " | ".join(parts) + " |"


def _short(value: Decimal) -> str:
    return f"{float(value):.2g}" if value else "0"
