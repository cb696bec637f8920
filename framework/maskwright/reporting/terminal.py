"""Results on the terminal, from plain records: plan, outcome per edit, measures, plugins.

Everything goes to standard output, in at most 100 columns; colour and box characters only where the output is a
terminal. Nothing here shows a value of a data record: the records these functions receive hold none.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from maskwright.reporting.wording import (
    DIRECTION,
    KEPT_BY,
    classes_of_equal_records,
    count,
    duration,
    figure,
    kept_as_planned,
    loss_by_step,
    operator_word,
    plural,
    step_line,
    verdict,
    with_unit,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

WIDTH = 100
MOST_NOTICES = 6
MOST_STRATA = 6
MOST_RECORD_NUMBERS = 10

OUTPUT_TITLES = {
    "data": "the masked data",
    "svrl": "the validation, record by record (confidential)",
    "report": "the report, for a browser",
    "record": "everything about the run (confidential)",
    "public_record": "what may be published with the data",
}


FINDING_TITLES = {
    "contradiction": "CONTRADICTION",
    "unreachable_on_grid": "UNREACHABLE",
    "redundant": "superfluous",
    "implied_equality": "always equal",
    "fixed": "one value only",
    "dead_branch": "dead branch",
}


def console(stderr: bool = False) -> Console:
    """Console on standard output (or error) that never exceeds 100 columns."""
    stream = sys.stderr if stderr else sys.stdout
    found = Console(file=stream, highlight=False, soft_wrap=False, emoji=False, markup=False)
    width = min(found.width, WIDTH) if found.is_terminal else WIDTH
    return Console(file=stream, width=width, highlight=False, emoji=False, markup=False)


def print_plan(plan: Mapping[str, Any]) -> None:
    """Print a plan in full: groups, operators and strata of each step, who keeps each edit, grids, warnings."""
    out = console()
    _heading(out, f"Plan for {plural(plan['records'], 'record')}")
    for step in plan["steps"]:
        _print_step(out, step)
    if plan["edits"]:
        out.print()
        table = _table("edit", "kind", "kept by", "how")
        for edit in plan["edits"]:
            table.add_row(edit["name"], edit["kind"], KEPT_BY.get(edit["kept_by"], edit["kept_by"]), edit["how"])
        _show(out, table)
    out.print()
    _print_untouched(out, plan)
    _list(out, "published grid", _grid(plan.get("grid", {})))
    _print_notices(out, plan.get("warnings", []), "warning")


def _print_step(out: Console, step: Mapping[str, Any]) -> None:
    _item(out, f"Step {step['step']}: ", step_line(step))
    table = _table("group", "variables and operators", "edits inside", "strata (records)")
    for number, group in enumerate(step["groups"], 1):
        variables = ", ".join(_with_operator(name, operator_word(group, name)) for name in group["variables"])
        table.add_row(str(number), variables, ", ".join(group.get("edits", [])), _strata(group.get("strata", [])))
    _show(out, table)


def _with_operator(name: str, operator: str) -> str:
    return name if operator in ("", "mean") else f"{name} ({operator})"


def _strata(strata: Sequence[Mapping[str, Any]]) -> str:
    if len(strata) < 2:
        return "one"
    shown = [
        f"{stratum['label']}: {count(stratum['records'])}" + (" (merged)" if stratum.get("merged") else "")
        for stratum in strata[:MOST_STRATA]
    ]
    if len(strata) > MOST_STRATA:
        shown.append(f"and {len(strata) - MOST_STRATA} more")
    return "; ".join(shown)


def _grid(grid: Mapping[str, int | None]) -> str:
    by_decimals: dict[int | None, list[str]] = {}
    for name, decimals in grid.items():
        by_decimals.setdefault(decimals, []).append(name)
    titles = {None: "not rounded", 0: "whole numbers", 1: "1 decimal"}
    return "; ".join(
        f"{titles.get(decimals, f'{decimals} decimals')}: {', '.join(names)}" for decimals, names in by_decimals.items()
    )


def print_result(record: Mapping[str, Any]) -> None:
    """Print a finished run on one screen: plan, edits before and after, k, measures, files, verdict.

    Notices are not repeated: they were shown when they arose, and are in the report.
    """
    out = console()
    plan = record["plan"]
    mode = record.get("mode", "exact")
    heading = f"Plan: {plural(plan['records'], 'record')}, {plural(len(plan['steps']), 'step')}"
    _heading(out, heading if mode == "exact" else f"{heading}, in {mode}")
    for step in plan["steps"]:
        _item(out, f"  {step['step']}. ", step_line(step, every_parameter=False))
        for group in step["groups"]:
            strata = group.get("strata", [])
            apart = f"  [{plural(len(strata), 'stratum').replace('stratums', 'strata')}]" if len(strata) > 1 else ""
            _item(out, "     · ", ", ".join(group["variables"]) + apart)
    _print_untouched(out, plan)
    if record["edits"]:
        out.print()
        _show(out, _edit_ledger(record["edits"]))
    _print_localisation(out, record.get("localisation"))
    _print_k(out, record.get("k", {}))
    _print_moved(out, record.get("adjustment", []))
    for sentence in loss_by_step(record, by_edit=False):
        _item(out, "loss by step: ", sentence)
    if record["measures"]:
        out.print()
        print_measures(record["measures"])
    _print_files(out, record)
    out.print()
    style = "bold green" if record["ok"] else "bold red"
    total = sum(record.get("seconds", {}).values())
    out.print(Text(verdict(record), style=style) + Text(f"  ({duration(total)})" if total else "", style="dim"))


def _edit_ledger(edits: Sequence[Mapping[str, Any]]) -> Table:
    table = _table("edit", "kind", "violations: original", "masked", "unknown", "kept by", "adjusted")
    for column in (2, 3, 4, 6):
        table.columns[column].justify = "right"
    for edit in edits:
        arrived, left, severity = edit.get("violations_on_arrival"), edit["violations"], edit.get("severity", "error")
        name = Text(edit["name"], style="bold red" if left and severity == "error" else "")
        table.add_row(
            name + Text("" if severity == "error" else f" ({severity})"),
            edit["kind"],
            "" if arrived is None else count(arrived),
            count(left),
            count(edit.get("unknown") or 0),
            kept_as_planned(edit),
            count(edit.get("adjusted") or 0),
        )
    return table if any(edit.get("unknown") for edit in edits) else _without(table, 4)


def _print_localisation(out: Console, found: Mapping[str, Any] | None) -> None:
    if not found or not found["violating"]:
        return
    cells = ", ".join(f"{name} {count(number)}" for name, number in found["adjusted"].items())
    said = f"{count(found['mended'])} of {plural(found['violating'], 'record')} that violated an edit; fields: "
    _item(out, "errors located and adjusted: ", said + (cells or "none"))


def _print_k(out: Console, k: Mapping[str, Any]) -> None:
    if k.get("expected") is None:
        return
    said = f"k = {k['requested']}" if k["expected"] == k.get("requested") else f"groups of {k['expected']} in the mean"
    table = _table(f"{said}: records with equal masked values", "smallest class", f"records below {k['expected']}")
    for column in (1, 2):
        table.columns[column].justify = "right"
    for title, found in classes_of_equal_records(k):
        table.add_row(title, "" if found["smallest"] is None else count(found["smallest"]), count(found["below"] or 0))
    out.print()
    _show(out, table)


def _print_moved(out: Console, adjustment: Iterable[Mapping[str, Any]]) -> None:
    parts = list(adjustment)
    moved = {
        kind: sum(part["moved"] for part in parts if part["acting_on"] == kind)
        for kind in ("representatives", "records")
    }
    rows = {kind: sum(part["rows"] for part in parts if part["acting_on"] == kind) for kind in moved}
    said = [f"{count(moved[kind])} of {count(rows[kind])} {kind}" for kind in moved if rows[kind]]
    if said:
        _item(out, "adjusted onto edits and grid: ", ", ".join(said))


def _print_files(out: Console, record: Mapping[str, Any]) -> None:
    outputs = {key: Path(entry["file"]) for key, entry in record["outputs"].items()}
    if not outputs:
        return
    keys = [key for key in OUTPUT_TITLES if key in outputs] + [key for key in outputs if key not in OUTPUT_TITLES]
    folders = {path.parent for path in outputs.values()}
    together = len(folders) == 1 and folders != {Path()}
    place = f" in {_from_here(folders.pop())}" if together else ""
    out.print()
    # A path is never broken, so that it can be copied.
    _heading(out, f"Files{place}" if record["ok"] else f"Files{place} (the masked data was not released)")
    names = {key: path.name if together else str(_from_here(path)) for key, path in outputs.items()}
    width = min(max(map(len, names.values())), 48)
    for key in keys:
        out.print(f"  {names[key]:<{width}}  {OUTPUT_TITLES.get(key, key)}", soft_wrap=True)


def _from_here(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def print_outcome(outcome: Mapping[str, Any]) -> None:
    """Print a validation: for each edit where it fired, was violated or unknown, and the first record numbers."""
    out = console()
    table = _table("edit", "kind", "fired", "violations", "unknown", "first records")
    for column in (2, 3, 4):
        table.columns[column].justify = "right"
    for edit in outcome["edits"]:
        numbers = edit.get("first_records", [])[:MOST_RECORD_NUMBERS]
        shown = ", ".join(str(number) for number in numbers) + (", …" if edit["violations"] > len(numbers) > 0 else "")
        if edit["violations"] and not numbers:
            shown = "the file as a whole"
        name = Text(edit["name"], style="bold red" if edit["violations"] else "")
        engine = edit.get("checked_by", "model")
        kind = edit["kind"] if engine == "model" else f"{edit['kind']} ({engine})"
        fired = "" if edit.get("fired") is None else count(edit["fired"])
        table.add_row(name, kind, fired, count(edit["violations"]), count(edit.get("unknown") or 0), shown)
    _show(out, table)
    violations = plural(outcome["violations"], "violation")
    where = f"{plural(len(outcome['edits']), 'edit')}, {plural(outcome['records'], 'record')}"
    if not outcome["ok"]:
        out.print(Text(f"{violations} ({where})", style="bold red"))
    elif outcome["violations"]:
        out.print(Text(f"no edit of severity error is violated; {violations} in all ({where})", style="bold green"))
    else:
        out.print(Text(f"every edit holds ({where})", style="bold green"))


def print_edits(found: Mapping[str, Any]) -> None:
    """Print the edits of rule files: kind, rule, place, what analysis found; with data, how many records obey each."""
    out = console()
    keys = ("satisfied", "violations", "unknown") if found.get("records") is not None else ()
    table = _table("edit", "kind", *keys, "rule", "place")
    for column in range(2, 2 + len(keys)):
        table.columns[column].justify = "right"
    for edit in found["edits"]:
        name = edit["name"] if edit["severity"] == "error" else f"{edit['name']} ({edit['severity']})"
        numbers = ["" if edit.get(key) is None else count(edit[key]) for key in keys]
        table.add_row(name, edit["kind"], *numbers, edit["text"], edit.get("place") or "")
    _show(out, table)
    _heading(out, plural(len(found["edits"]), "edit") + (f" on {plural(found['records'], 'record')}" if keys else ""))
    analysis = found.get("analysis", {"findings": [], "not_analysed": []})
    if analysis["findings"]:
        out.print()
    for finding in analysis["findings"]:
        lead = FINDING_TITLES.get(finding["kind"], finding["kind"])
        _item(out, f"{lead}: ", " ".join(filter(None, (finding["message"] + ".", finding["hint"]))))
    for left in analysis["not_analysed"]:
        _item(out, "not analysed: ", f"{plural(left['edits'], 'edit')}, {left['reason']}")
    _print_notices(out, found.get("notes", []), "note")


def print_localisation(found: Mapping[str, Any]) -> None:
    """Print the fields to change: how many records per variable, the first records, what was not localised."""
    out = console()
    table = _table("variable", "records to change it in")
    table.columns[1].justify = "right"
    for name, number in found["variables"].items():
        table.add_row(name, count(number))
    if found["variables"]:
        _show(out, table)
    for entry in found["fields"][:MOST_RECORD_NUMBERS]:
        _item(out, f"record {entry['record']}: ", ", ".join(entry["variables"]) or "only missing cells to fill")
    more = len(found["fields"]) - MOST_RECORD_NUMBERS
    if more > 0:
        out.print(f"and {plural(more, 'more record')}: --json lists them")
    for left in found["not_localised"]:
        _item(out, f"{plural(left['records'], 'record')} not localised: ", left["reason"])
    if found["unproven"]:
        out.print(f"{plural(found['unproven'], 'record')} may need fewer fields: that they do not was not proven")
    _heading(
        out,
        f"{count(found['violating'])} of {plural(found['records'], 'record')} violate an edit; fields located in "
        f"{count(found['localised'])}",
    )


def print_measures(measures: Mapping[str, Mapping[str, Any]]) -> None:
    """Print measures: value with its unit, which direction is better, and the threshold if there is one."""
    out = console()
    table = _table("measure", "value", "", "threshold", "parts")
    table.columns[1].justify = "right"
    for label, measure in measures.items():
        name = label if not measure.get("kind") or measure["kind"] == label else f"{label} ({measure['kind']})"
        table.add_row(
            Text(name, style="bold red" if measure.get("met") is False else ""),
            with_unit(measure["value"], measure["unit"]),
            DIRECTION.get(measure["direction"], measure["direction"]),
            _threshold(measure),
            _parts(measure.get("parts", {})),
        )
    if not any(measure.get("threshold") is not None for measure in measures.values()):
        table = _without(table, 3)
    _show(out, table)


def _threshold(measure: Mapping[str, Any]) -> str:
    if measure.get("threshold") is None:
        return ""
    sign = "<=" if measure["direction"] == "lower" else ">="
    answer = {True: "met", False: "missed", None: ""}[measure.get("met")]
    return f"{sign} {figure(measure['threshold'])} {answer}".rstrip()


def _parts(parts: Mapping[str, float]) -> str:
    names = list(parts)
    if len(names) > 5:
        return f"{len(names)} parts, {names[0]} {figure(parts[names[0]])} … {names[-1]} {figure(parts[names[-1]])}"
    return ", ".join(f"{name} {figure(parts[name])}" for name in names)


def print_plugins(infos: Iterable[Mapping[str, Any]]) -> None:
    """Print installed plugins by kind and name; a broken one with its error."""
    out = console()
    table = _table("kind", "name", "from", "status")
    for info in sorted(infos, key=lambda info: (info["kind"], info["name"])):
        source = " ".join(str(part) for part in (info["distribution"], info["version"]) if part)
        fine = info["status"] == "ok"
        status = "ok" if fine else f"{info['status']}: {info.get('error') or 'no reason given'}"
        table.add_row(info["kind"], info["name"], source, Text(status, style="" if fine else "bold red"))
    _show(out, table)


def _print_untouched(out: Console, plan: Mapping[str, Any]) -> None:
    _list(out, "not masked", ", ".join(plan.get("untouched", [])))
    _list(out, "dropped", ", ".join(plan.get("dropped", [])))


def _print_notices(out: Console, notices: Sequence[str], noun: str) -> None:
    if not notices:
        return
    out.print()
    for notice in notices[:MOST_NOTICES]:
        _item(out, f"{noun}: ", notice)
    if len(notices) > MOST_NOTICES:
        out.print(f"and {plural(len(notices) - MOST_NOTICES, f'more {noun}')}")


def _show(out: Console, table: Table) -> None:
    """Print a table; into a file or pipe without the spaces that fill its last column."""
    if out.is_terminal:
        out.print(table)
        return
    with out.capture() as captured:
        out.print(table)
    for line in captured.get().splitlines():
        out.print(line.rstrip(), soft_wrap=True)


def _list(out: Console, title: str, text: str) -> None:
    if text:
        _item(out, f"  {title}: ", text)


def _item(out: Console, lead: str, text: str) -> None:
    """Print a line whose continuation lines are indented by the width of `lead`."""
    grid = Table.grid(padding=0)
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    grid.add_row(Text(lead), Text(text))
    _show(out, grid)


def _heading(out: Console, text: str) -> None:
    out.print(Text(text, style="bold"), soft_wrap=True)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", show_edge=False)
    for name in columns:
        table.add_column(name, overflow="fold", vertical="top")
    return table


def _without(table: Table, index: int) -> Table:
    columns = [column for number, column in enumerate(table.columns) if number != index]
    slim = _table(*(str(column.header) for column in columns))
    for new, old in zip(slim.columns, columns, strict=True):
        new.justify = old.justify
    for row in zip(*(list(column.cells) for column in columns), strict=True):
        slim.add_row(*row)
    return slim
