"""Results on the terminal, from plain records: plan, run, measures, plugins.

Everything goes to standard output, in at most 100 columns; colour and box characters only where the output is a
terminal. Nothing here shows a value of a data record: the records these functions receive hold none.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from maskwright.cli.show.screen import console, heading, item, listed, print_notices, show, table_of, without_column
from maskwright.release.wording import (
    KEPT_BY,
    classes_of_equal_records,
    count,
    duration,
    figure,
    kept_as_planned,
    loss_by_step,
    moved_rows,
    operator_word,
    plural,
    step_line,
    verdict,
    with_unit,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

MOST_STRATA = 6

OUTPUT_TITLES = {
    "data": "the masked data",
    "svrl": "the validation, record by record (confidential)",
    "report": "the report, for a browser",
    "record": "everything about the run (confidential)",
    "public_record": "what may be published with the data",
    "edits": "the rules that hold in the masked data, to publish with it",
}


def print_plan(plan: Mapping[str, Any]) -> None:
    """Print a plan in full: groups, operators and strata of each step, who keeps each edit, grids, warnings."""
    out = console()
    heading(out, "Plan without data" if plan["records"] is None else f"Plan for {plural(plan['records'], 'record')}")
    for step in plan["steps"]:
        _print_step(out, step, with_data=plan["records"] is not None)
    if plan["edits"]:
        out.print()
        table = table_of("edit", "kind", "kept by", "how")
        for edit in plan["edits"]:
            table.add_row(edit["name"], edit["kind"], KEPT_BY.get(edit["kept_by"], edit["kept_by"]), edit["how"])
        show(out, table)
    out.print()
    _print_untouched(out, plan)
    listed(out, "published grid", _grid(plan.get("grid", {})))
    print_notices(out, plan.get("warnings", []), "warning")


def _print_step(out: Console, step: Mapping[str, Any], *, with_data: bool) -> None:
    item(out, f"Step {step['step']}: ", step_line(step))
    table = table_of("group", "variables and operators", "edits inside", "strata: records")
    for number, group in enumerate(step["groups"], 1):
        variables = ", ".join(_with_operator(name, operator_word(group, name)) for name in group["variables"])
        table.add_row(str(number), variables, ", ".join(group.get("edits", [])), _strata(group, with_data=with_data))
    show(out, table)


def _with_operator(name: str, operator: str) -> str:
    return name if operator in ("", "mean") else f"{name} ({operator})"


def _strata(group: Mapping[str, Any], *, with_data: bool) -> str:
    """Strata of a group, one a line, the largest first; without data, what will cut the records."""
    strata = group.get("strata", [])
    if not with_data:
        return "cut by: " + "; ".join(group["cut_by"]) if group.get("cut_by") else "one"
    if len(strata) < 2:
        return "one"
    largest = sorted(strata, key=lambda stratum: -stratum["records"])
    shown = [
        f"{count(stratum['records'])}: {stratum['label']}" + (" (merged)" if stratum.get("merged") else "")
        for stratum in largest[:MOST_STRATA]
    ]
    if len(strata) > MOST_STRATA:
        shown.append(f"and {len(strata) - MOST_STRATA} more")
    return "\n".join(shown)


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
    planned = f"Plan: {plural(plan['records'], 'record')}, {plural(len(plan['steps']), 'step')}"
    heading(out, planned if mode == "exact" else f"{planned}, in {mode}")
    for step in plan["steps"]:
        item(out, f"  {step['step']}. ", step_line(step, every_parameter=False))
        for group in step["groups"]:
            strata = group.get("strata", [])
            apart = f"  [{plural(len(strata), 'stratum').replace('stratums', 'strata')}]" if len(strata) > 1 else ""
            item(out, "     · ", ", ".join(group["variables"]) + apart)
    _print_untouched(out, plan)
    if record["edits"]:
        out.print()
        show(out, _edit_ledger(record["edits"]))
    _print_localisation(out, record.get("localisation"))
    _print_k(out, record.get("k", {}))
    _print_moved(out, record.get("moved", []))
    for sentence in loss_by_step(record, by_edit=False):
        item(out, "loss by step: ", sentence)
    if record["measures"]:
        out.print()
        print_measures(record["measures"])
    _print_files(out, record)
    out.print()
    style = "bold green" if record["ok"] else "bold red"
    total = sum(record.get("seconds", {}).values())
    out.print(Text(verdict(record), style=style) + Text(f"  ({duration(total)})" if total else "", style="dim"))


def _edit_ledger(edits: Sequence[Mapping[str, Any]]) -> Table:
    table = table_of(
        "edit", "kind", "violations: original", "masked", "unknown", "not applicable", "kept by", "adjusted"
    )
    for column in (2, 3, 4, 5, 7):
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
            count(edit.get("not_applicable") or 0),
            kept_as_planned(edit),
            count(edit.get("adjusted") or 0),
        )
    for column, key in ((5, "not_applicable"), (4, "unknown")):
        if not any(edit.get(key) for edit in edits):
            table = without_column(table, column)
    return table


def _print_localisation(out: Console, found: Mapping[str, Any] | None) -> None:
    if not found or not found["violating"]:
        return
    cells = ", ".join(f"{name} {count(number)}" for name, number in found["adjusted"].items())
    said = f"{count(found['mended'])} of {plural(found['violating'], 'record')} that violated an edit; fields: "
    item(out, "errors located and adjusted: ", said + (cells or "none"))


def _print_k(out: Console, k: Mapping[str, Any]) -> None:
    if k.get("expected") is None:
        return
    said = f"k = {k['requested']}" if k["expected"] == k.get("requested") else f"groups of {k['expected']} in the mean"
    table = table_of(f"{said}: records with equal masked values", "smallest class", f"records below {k['expected']}")
    for column in (1, 2):
        table.columns[column].justify = "right"
    for title, found in classes_of_equal_records(k):
        table.add_row(title, "" if found["smallest"] is None else count(found["smallest"]), count(found["below"] or 0))
    out.print()
    show(out, table)


def _print_moved(out: Console, found: Iterable[Mapping[str, Any]]) -> None:
    said = moved_rows(found)
    if said:
        item(out, "moved onto edits: ", said)


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
    heading(out, f"Files{place}" if record["ok"] else f"Files{place} (the masked data was not released)")
    names = {key: path.name if together else str(_from_here(path)) for key, path in outputs.items()}
    width = min(max(map(len, names.values())), 48)
    for key in keys:
        out.print(f"  {names[key]:<{width}}  {OUTPUT_TITLES.get(key, key)}", soft_wrap=True)


def _from_here(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def print_measures(measures: Mapping[str, Mapping[str, Any]]) -> None:
    """Print measures: value with its unit, its interval, which direction is better, and the threshold if there is one.

    Of a measure without a value the first note says why.
    """
    out = console()
    some = any(measure.get("interval") for measure in measures.values())
    table = table_of("measure", "value (95 %)" if some else "value", "better", "threshold", "parts")
    table.columns[1].justify = "right"
    for label, measure in measures.items():
        name = label if not measure.get("kind") or measure["kind"] == label else f"{label} ({measure['kind']})"
        table.add_row(
            Text(name, style="bold red" if measure.get("met") is False else ""),
            with_unit(measure["value"], measure["unit"]) + _interval(measure),
            measure["direction"],
            _threshold(measure),
            _parts(measure.get("parts", {})),
        )
    if not any(measure.get("threshold") is not None for measure in measures.values()):
        table = without_column(table, 3)
    show(out, table)
    for label, measure in measures.items():
        if measure["value"] is None:
            for note in measure.get("notes", [])[:1]:
                item(out, f"{label}: ", note)


def _interval(measure: Mapping[str, Any]) -> str:
    if not measure.get("interval"):
        return ""
    low, high = measure["interval"]
    return f" ({figure(low)} to {figure(high)})"


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
    table = table_of("kind", "name", "from", "status")
    for info in sorted(infos, key=lambda info: (info["kind"], info["name"])):
        source = " ".join(str(part) for part in (info["distribution"], info["version"]) if part)
        fine = info["status"] == "ok"
        status = "ok" if fine else f"{info['status']}: {info.get('error') or 'no reason given'}"
        table.add_row(info["kind"], info["name"], source, Text(status, style="" if fine else "bold red"))
    show(out, table)


def _print_untouched(out: Console, plan: Mapping[str, Any]) -> None:
    may_lose = plan.get("may_lose_cells", [])
    listed(out, "not masked", ", ".join(name for name in plan.get("untouched", []) if name not in may_lose))
    listed(out, "not masked, but cells that give suppressed ones away are suppressed", ", ".join(may_lose))
    listed(out, "dropped", ", ".join(plan.get("dropped", [])))
