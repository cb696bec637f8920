"""How things are set on the terminal: at most 100 columns, tables without lines, no colour into a file or a pipe."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from maskwright.release.wording import plural

if TYPE_CHECKING:
    from collections.abc import Sequence

WIDTH = 100
MOST_NOTICES = 6


class _Screen(Console):
    """Console that leaves a reader who has gone (``| head``) to the command line, which is not at fault."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        raise  # noqa: PLE0704 - rich calls this while it handles the BrokenPipeError


def console(stderr: bool = False) -> Console:
    """Console on standard output (or error) that never exceeds 100 columns."""
    stream = sys.stderr if stderr else sys.stdout
    found = Console(file=stream, highlight=False, soft_wrap=False, emoji=False, markup=False)
    width = min(found.width, WIDTH) if found.is_terminal else WIDTH
    return _Screen(file=stream, width=width, highlight=False, emoji=False, markup=False)


def print_notices(out: Console, notices: Sequence[str], noun: str) -> None:
    """Print the first notices, and how many more there are.

    `noun`: what a notice is called, in the singular: ``note``.
    """
    if not notices:
        return
    out.print()
    for notice in notices[:MOST_NOTICES]:
        item(out, f"{noun}: ", notice)
    if len(notices) > MOST_NOTICES:
        out.print(f"and {plural(len(notices) - MOST_NOTICES, f'more {noun}')}")


def show(out: Console, table: Table) -> None:
    """Print a table; into a file or pipe without the spaces that fill its last column."""
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        out.print(line.rstrip(), soft_wrap=True)


def listed(out: Console, title: str, text: str) -> None:
    """Print an indented line with a title, unless there is nothing to say."""
    if text:
        item(out, f"  {title}: ", text)


def item(out: Console, lead: str, text: str) -> None:
    """Print a line whose continuation lines are indented by the width of `lead`.

    `lead`: printed before the text, on its first line.
    """
    grid = Table.grid(padding=0)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(lead), Text(text))
    show(out, grid)


def paragraph(out: Console, text: Text) -> None:
    """Print a text over as many lines as it needs."""
    grid = Table.grid(padding=0)
    grid.add_row(text)
    show(out, grid)


def heading(out: Console, text: str) -> None:
    """Print a line that stands out."""
    out.print(Text(text, style="bold"), soft_wrap=True)


def table_of(*columns: str) -> Table:
    """Table with these headings and no rows yet."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold", vertical="top")
    return table


def without_column(table: Table, index: int) -> Table:
    """Copy of a table without one column."""
    columns = [column for number, column in enumerate(table.columns) if number != index]
    slim = table_of(*(str(column.header) for column in columns))
    for new, old in zip(slim.columns, columns, strict=True):
        new.justify = old.justify
    for row in zip(*(list(column.cells) for column in columns), strict=True):
        slim.add_row(*row)
    return slim
