"""Edits on the terminal: what a validation found, what rule files say, which fields to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from maskwright.cli.show.screen import console, heading, item, print_notices, show, table_of
from maskwright.release.wording import count, plural

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

MOST_LOCATIONS = 3
MOST_RECORD_NUMBERS = 10

FINDING_TITLES = {
    "contradiction": "CONTRADICTION",
    "unreachable_on_grid": "UNREACHABLE",
    "redundant": "superfluous",
    "implied_equality": "always equal",
    "fixed": "one value only",
    "dead_branch": "dead branch",
}


def print_outcome(outcome: Mapping[str, Any]) -> None:
    """Print a validation: for each edit where it fired, was violated or unknown, and the first record numbers."""
    out = console()
    levels = outcome.get("levels", {})
    of_level = ("level",) if levels else ()
    table = table_of("edit", *of_level, "kind", "applied to", "violations", "unknown", "first records")
    for column in (2, 3, 4):
        table.columns[column + len(of_level)].justify = "right"
    for edit in outcome["edits"]:
        numbers = edit.get("first_places", edit.get("first_records", []))[:MOST_RECORD_NUMBERS]
        shown = ", ".join(str(number) for number in numbers) + (", …" if edit["violations"] > len(numbers) > 0 else "")
        if edit["violations"] and not numbers:
            shown = "the file as a whole"
        name = Text(edit["name"], style="bold red" if edit["violations"] else "")
        engine = edit.get("checked_by", "model")
        kind = edit["kind"] if engine == "model" else f"{edit['kind']} ({engine})"
        fired = "" if edit.get("fired") is None else count(edit["fired"])
        level = (edit.get("level", ""),) if levels else ()
        table.add_row(name, *level, kind, fired, count(edit["violations"]), count(edit.get("unknown") or 0), shown)
    show(out, table)
    violations = plural(outcome["violations"], "violation")
    unknown = sum(edit.get("unknown") or 0 for edit in outcome["edits"])
    sizes = [f"{count(size)} {level}" for level, size in levels.items()] or [plural(outcome["records"], "record")]
    where = ", ".join([plural(len(outcome["edits"]), "edit"), *sizes])
    _print_reasons(out, outcome)
    if not outcome["ok"]:
        said = violations if outcome["violations"] else f"no edit is violated; {plural(unknown, 'verdict')} unknown"
        out.print(Text(f"{said} ({where})", style="bold red"))
    elif outcome["violations"]:
        out.print(Text(f"no edit of severity error is violated; {violations} in all ({where})", style="bold green"))
    elif unknown:
        # A verdict that rests on a missing cell or a division by zero is no verdict that the edit holds.
        out.print(Text(f"no edit is violated; {plural(unknown, 'verdict')} unknown ({where})", style="bold yellow"))
    else:
        out.print(Text(f"every edit holds ({where})", style="bold green"))


def print_document_outcome(outcome: Mapping[str, Any]) -> None:
    """Print the validation of a whole document: for each test where it fired, was violated, and the first locations."""
    out = console()
    table = table_of("edit", "kind", "applied to", "violations", "first locations")
    for column in (2, 3):
        table.columns[column].justify = "right"
    for edit in outcome["edits"]:
        places = edit["first_locations"][:MOST_LOCATIONS]
        shown = "\n".join(places) + ("\n…" if edit["violations"] > len(places) > 0 else "")
        name = Text(edit["name"], style="bold red" if edit["violations"] and edit["severity"] == "error" else "")
        kind = f"{edit['kind']} ({edit['checked_by']})"
        table.add_row(name, kind, count(edit["fired"]), count(edit["violations"]), Text(shown))
    show(out, table)
    for edit in outcome["edits"]:
        for message in edit.get("first_messages", ())[:MOST_LOCATIONS]:
            item(out, edit["name"], message)
    violations = plural(outcome["violations"], "violation")
    where = plural(len(outcome["edits"]), "test")
    if not outcome["ok"]:
        out.print(Text(f"{violations} ({where})", style="bold red"))
    elif outcome["violations"]:
        out.print(Text(f"no edit of severity error is violated; {violations} in all ({where})", style="bold green"))
    else:
        out.print(Text(f"every edit holds ({where})", style="bold green"))


def _print_reasons(out: Console, found: Mapping[str, Any]) -> None:
    """Why verdicts are unknown: of rules that are unknown in every record, or of all where that is asked for."""
    everywhere = found.get("undecided", {})
    for name, reasons in (everywhere | found.get("unknown_because", {})).items():
        what = "unknown in every record it is for: " if name in everywhere else "unknown: "
        item(out, f"{name} is {what}", "; ".join(reasons))


def print_edits(found: Mapping[str, Any]) -> None:
    """Print the edits of rule files: kind, rule, place, what analysis found; with data, how many records obey each."""
    out = console()
    keys = ("satisfied", "violations", "unknown") if found.get("records") is not None else ()
    table = table_of("edit", "kind", *keys, "rule", "place")
    for column in range(2, 2 + len(keys)):
        table.columns[column].justify = "right"
    for edit in found["edits"]:
        name = edit["name"] if edit["severity"] == "error" else f"{edit['name']} ({edit['severity']})"
        numbers = ["" if edit.get(key) is None else count(edit[key]) for key in keys]
        table.add_row(name, edit["kind"], *numbers, edit["text"], edit.get("place") or "")
    show(out, table)
    heading(out, plural(len(found["edits"]), "edit") + (f" on {plural(found['records'], 'record')}" if keys else ""))
    analysis = found.get("analysis", {"findings": [], "not_analysed": []})
    if analysis["findings"]:
        out.print()
    for finding in analysis["findings"]:
        lead = FINDING_TITLES.get(finding["kind"], finding["kind"])
        item(out, f"{lead}: ", " ".join(filter(None, (finding["message"] + ".", finding["hint"]))))
    for left in analysis["not_analysed"]:
        item(out, "not analysed: ", f"{plural(left['edits'], 'edit')}, {left['reason']}")
    print_notices(out, found.get("notes", []), "note")


def print_localisation(found: Mapping[str, Any]) -> None:
    """Print the fields to change: how many records per variable, the first records, what was not localised."""
    out, record = console(), found.get("level", "record")
    table = table_of("variable", f"{record}s to change it in")
    table.columns[1].justify = "right"
    for name, number in found["variables"].items():
        table.add_row(name, count(number))
    if found["variables"]:
        show(out, table)
    for entry in found["fields"][:MOST_RECORD_NUMBERS]:
        item(out, f"{record} {entry['record']}: ", ", ".join(entry["variables"]) or "only missing cells to fill")
    more = len(found["fields"]) - MOST_RECORD_NUMBERS
    if more > 0:
        out.print(f"and {plural(more, f'more {record}')}: --json lists them")
    for left in found["not_localised"]:
        item(out, f"{plural(left['records'], record)} not localised: ", left["reason"])
    _print_reasons(out, found)
    if found["unproven"]:
        out.print(f"{plural(found['unproven'], record)} may need fewer fields: that they do not was not proven")
    heading(
        out,
        f"{count(found['violating'])} of {plural(found['records'], record)} violate an edit; fields located in "
        f"{count(found['localised'])}",
    )
