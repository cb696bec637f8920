"""Tables on the terminal: measures, descriptions of data, edits and what a validation found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from maskwright.cli.show.screen import console, heading, item, listed, print_notices, show, table_of, without_column
from maskwright.data.number_text import plain_text
from maskwright.release.wording import count, figure, names, plural, with_unit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Console

    from maskwright.commands.describe_data import Description
    from maskwright.commands.init import StartedPipeline
    from maskwright.data.profiling.column_profile import ColumnProfile
    from maskwright.disclosure.attacked import AttackResult
    from maskwright.release.record.measure_record import MeasureRecord


NO_VALUE = ("not defined", "undefined")
MOST_LEFT_OUT = 3


def print_measures(shown: Mapping[str, object]) -> None:
    """Print measures: value with unit, interval, direction and threshold; where there is no value, why."""
    from maskwright.release.record import measure_record as records  # models of pydantic

    print_table_of_measures(
        console(), {label: records.MeasureRecord.model_validate(each) for label, each in shown.items()}
    )


def print_attacks(found: Sequence[AttackResult]) -> None:
    """Print what attacks claim of each variable, how often they are right, and the decision."""
    out = console()
    if not found:
        out.print("No attack names any cell that the release does not show.")
        return
    table = table_of(
        "variable", "attack", "hidden", "claims", "right", "precision", "base", "certain", "decision", "by"
    )
    for column in table.columns[2:8]:
        column.justify = "right"
    for each in found:
        table.add_row(
            each.variable, each.attack, str(each.hidden), str(each.claims), str(each.right),
            f"{100 * each.precision:.0f} %" if each.claims else "", f"{100 * each.base:.0f} %", str(each.certain),
            Text(each.decision, style="" if each.decision == "figure" else "bold red"), each.rule,
        )  # fmt: skip
    out.print(table)


def print_table_of_measures(out: Console, measures: Mapping[str, MeasureRecord]) -> None:
    """Print a table of measures, and what has no place in it; parameters as in the record of a run."""
    some = any(measure.interval for measure in measures.values())
    table = table_of(
        "measure", "before", "value (95 %)" if some else "value", "leaves out", "better", "threshold", "parts"
    )
    table.columns[1].justify = table.columns[2].justify = "right"
    for label, measure in measures.items():
        name = label if measure.kind == label else f"{label} ({measure.kind})"
        table.add_row(
            Text(name, style="bold red" if measure.missed else ""),
            "" if measure.before is None else with_unit(measure.before.value, measure.unit),
            with_unit(measure.value, measure.unit) + _interval(measure),
            Text(names(measure.leaves_out, MOST_LEFT_OUT), style="bold"),
            measure.direction,
            _thresholds(measure),
            _parts(measure),
        )
    if not any(map(_thresholds, measures.values())):
        table = without_column(table, 5)
    if not any(measure.leaves_out for measure in measures.values()):
        table = without_column(table, 3)
    if all(measure.before is None for measure in measures.values()):
        table = without_column(table, 1)
    show(out, table)
    for label, measure in measures.items():
        if measure.value is None:
            why = [note for note in measure.notes if note.startswith(NO_VALUE)] or measure.notes
            for note in why[:1]:
                item(out, f"{label}: ", note)
        elif measure.sentence:
            item(out, f"{label}: ", measure.sentence)


def _interval(measure: MeasureRecord) -> str:
    if measure.interval is None:
        return ""
    low, high = measure.interval
    return f" ({figure(low)} to {figure(high)})"


def _thresholds(measure: MeasureRecord) -> str:
    messages = []
    if measure.threshold is not None:
        messages.append(_threshold(measure.threshold, measure.direction, met=measure.met is True))
    messages += [
        f"{name} {_threshold(each.threshold, each.direction, met=each.met)}"
        for name, each in measure.part_thresholds.items()
    ]
    return ", ".join(messages)


def _threshold(bound: float, direction: str, *, met: bool) -> str:
    return f"{'<=' if direction == 'lower' else '>='} {figure(bound)} {'met' if met else 'missed'}"


def _parts(measure: MeasureRecord) -> str:
    units = {name: measure.unit_of(name) for name in measure.parts}
    shown = [
        f"{name} {with_unit(value, 'count') if units[name] == 'count' else figure(value)}"
        for name, value in measure.parts.items()
    ]
    return f"{shown[0]} … {shown[-1]}" if len(shown) > 5 else ", ".join(shown)


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
    _print_source(out, found)
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


def _print_source(out: Console, found: Description) -> None:
    heading(out, f"{found.source}: {plural(found.records, 'record')}, {plural(len(found.variables), 'variable')}")
    listed(out, "read with", "; ".join(found.tried))


def print_unsure(out: Console, found: Description) -> None:
    """Print what a person should decide, of the file and of each variable."""
    messages = [("the file", text) for text in found.unsure]
    messages += [(each.name, unsure.text) for each in found.variables for unsure in each.unsure]
    if messages:
        out.print()
        heading(out, "Unsure")
        for subject, text in messages:
            item(out, f"  {subject}: ", text)
    out.print()


def _print_values(out: Console, variables: tuple[ColumnProfile, ...]) -> None:
    out.print()
    heading(out, "Values of records: confidential")
    for each in variables:
        if each.lowest is not None and each.highest is not None:
            item(out, f"  {each.name}: ", f"{plain_text(each.lowest)} to {plain_text(each.highest)}")
        if each.categories is not None:
            shown = ", ".join(f"{name} ({count(cells)})" for name, cells in each.categories.items())
            rest = each.distinct - len(each.categories)
            item(out, f"  {each.name}: ", shown + (f", and {count(rest)} more" if rest else ""))


MOST_ALIKE = 8


def print_started(started: StartedPipeline) -> None:
    """Print what a starting pipeline was made of, what was unsure, and what its plan says."""
    out = console()
    found = started.description
    _print_source(out, found)
    for title, role in ROLES.items():
        listed(out, title, ", ".join(each.name for each in found.variables if each.role == role))
    print_unsure(out, found)
    if started.doubts:
        heading(out, "Its plan has doubts, which stand in it as comments: nothing is released until you decide")
        alike: dict[str, list[str]] = {}
        for doubt in started.doubts:
            alike.setdefault(doubt.text, []).append(doubt.variable)
        for text, names in alike.items():
            shown = ", ".join(names[:MOST_ALIKE]) + (f" and {len(names) - MOST_ALIKE} more" * (len(names) > MOST_ALIKE))
            item(out, "  ", f"{shown}: {text}" if names[0] else text)
        out.print()
    if started.problem:
        item(out, "Its plan fails: ", started.problem)
    if started.hint:
        item(out, "  ", started.hint)
    out.print(f"Wrote {started.path}. Read it, decide what is unsure, then: maskwright plan {started.path}")


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
    unknown = sum(edit.get("unknown") or 0 for edit in outcome["edits"])
    sizes = [f"{count(size)} {level}" for level, size in levels.items()] or [plural(outcome["records"], "record")]
    where = ", ".join([plural(len(outcome["edits"]), "edit"), *sizes])
    _print_reasons(out, outcome)
    _print_verdict(out, outcome, where, unknown)


def _print_verdict(out: Console, outcome: Mapping[str, Any], where: str, unknown: int = 0) -> None:
    """Print what the verdicts on all edits come to; `unknown`: verdicts that rest on missing cells."""
    violations = plural(outcome["violations"], "violation")
    undecided = f"no edit is violated; {plural(unknown, 'verdict')} unknown"
    if not outcome["ok"]:
        out.print(
            Text(f"{violations if outcome['violations'] or not unknown else undecided} ({where})", style="bold red")
        )
    elif outcome["violations"]:
        out.print(Text(f"no edit of severity error is violated; {violations} in all ({where})", style="bold green"))
    elif unknown:
        # A verdict that rests on a missing cell or a division by zero is no verdict that the edit holds.
        out.print(Text(f"{undecided} ({where})", style="bold yellow"))
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
            item(out, f"{edit['name']}: ", message)
    _print_undecidable(out, outcome)
    _print_verdict(out, outcome, plural(len(outcome["edits"]), "test"))


def _print_undecidable(out: Console, found: Mapping[str, Any]) -> None:
    """Tests that cannot be evaluated on some records: where, and why."""
    for edit in found.get("edits", ()):
        for sentence in edit.get("undecidable", ()):
            item(out, f"{edit['name']} cannot be decided: ", sentence)


def _print_reasons(out: Console, found: Mapping[str, Any]) -> None:
    """Why verdicts are unknown: of rules that are unknown in every record, or of all where that is requested."""
    everywhere = found.get("undecided", {})
    _print_undecidable(out, found)
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
