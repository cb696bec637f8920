"""A description of microdata on the terminal: one line for each variable, then what was unsure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.cli.show.screen import console, heading, item, listed, show, table_of
from maskwright.data.number_text import plain_text
from maskwright.release.wording import count, plural

if TYPE_CHECKING:
    from rich.console import Console

    from maskwright.commands.describe_data import Description
    from maskwright.commands.init import StartedPipeline
    from maskwright.data.looking.variable_look import VariableLook


ROLES = {
    "dropped (identifiers)": "identifier",
    "others may know (quasi-identifiers)": "quasi_identifier",
    "confidential": "confidential",
    "weights": "weight",
    "published as they are": "other",
    "nothing says what they are": None,
}


def print_description(found: Description) -> None:
    """Print what each variable looks like."""
    out = console()
    heading(out, f"{found.source}: {plural(found.records, 'record')}, {plural(len(found.variables), 'variable')}")
    listed(out, "read with", "; ".join(found.tried))
    listed(out, "household", found.household or "")
    out.print()
    table = table_of("variable", "type", "looks like", "role", "cells", "missing", "codes", "different", "decimals")
    for column in table.columns[1:4]:
        column.no_wrap = True
    for place in (4, 5, 7, 8):
        table.columns[place].justify = "right"
    for each in found.variables:
        codes = ", ".join(f"{code} ({count(cells)})" for code, cells in each.missing_codes.items())
        decimals = "" if each.decimals is None else str(each.decimals)
        table.add_row(
            each.name, each.type, each.looks_like, each.role or "?", count(each.cells), count(each.missing), codes,
            count(each.distinct), decimals,
        )  # fmt: skip
    show(out, table)
    if found.shows_values:
        _print_values(out, found.variables)
    print_unsure(out, found)
    if not found.shows_values:
        out.print("Values of records are not shown; --show-values adds extremes and categories.")


def print_unsure(out: Console, found: Description) -> None:
    """Print what a person should decide, of the file and of each variable."""
    said = [("the file", text) for text in found.unsure]
    said += [(each.name, text) for each in found.variables for text in each.unsure]
    if said:
        out.print()
        heading(out, "Unsure")
        for subject, text in said:
            item(out, f"  {subject}: ", text)
    out.print()


def _print_values(out: Console, variables: tuple[VariableLook, ...]) -> None:
    out.print()
    heading(out, "Values of records: confidential")
    for each in variables:
        if each.lowest is not None and each.highest is not None:
            item(out, f"  {each.name}: ", f"{plain_text(each.lowest)} to {plain_text(each.highest)}")
        if each.categories is not None:
            shown = ", ".join(f"{name} ({count(cells)})" for name, cells in each.categories.items())
            rest = each.distinct - len(each.categories)
            item(out, f"  {each.name}: ", shown + (f", and {count(rest)} more" if rest else ""))


def print_started(started: StartedPipeline) -> None:
    """Print what a starting pipeline was made of, what was unsure, and what its plan says."""
    out = console()
    found = started.description
    heading(out, f"{found.source}: {plural(found.records, 'record')}, {plural(len(found.variables), 'variable')}")
    listed(out, "read with", "; ".join(found.tried))
    for title, role in ROLES.items():
        listed(out, title, ", ".join(each.name for each in found.variables if each.role == role))
    print_unsure(out, found)
    if started.doubts:
        heading(out, "Its plan has doubts, which stand in it as comments: nothing is released until you decide")
        for doubt in started.doubts:
            item(out, "  ", doubt)
        out.print()
    if started.problem:
        item(out, "Its plan fails: ", started.problem)
    if started.hint:
        item(out, "  ", started.hint)
    out.print(f"Wrote {started.path}. Read it, decide what is unsure, then: maskwright plan {started.path}")
