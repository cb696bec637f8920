"""Results on the terminal, from plain data: plan, run, measures, plugins.

Everything goes to standard output, in at most 100 columns; colour and box characters only where the output is a
terminal. Nothing here shows a value of a data record: the records these functions receive hold none.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from maskwright.cli.show.expected_costs import print_costs
from maskwright.cli.show.screen import (
    console,
    heading,
    item,
    listed,
    paragraph,
    print_notices,
    show,
    table_of,
    without_column,
)
from maskwright.release.record.measure_record import MeasureRecord
from maskwright.release.record.plan_record import PlanRecord
from maskwright.release.record.run_record import RunRecord
from maskwright.release.wording import (
    KEPT_BY,
    beside_verdict,
    classes_of_equal_records,
    count,
    duration,
    figure,
    groups_told_apart,
    kept_as_planned,
    loss_by_step,
    moved_rows,
    names,
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

    from maskwright.release.record.plan_record import GroupRecord, StepRecord
    from maskwright.release.record.run_record import EditRecord, LocalisationRecord

NO_VALUE = ("not defined", "undefined")
MOST_STRATA = 6
MOST_NAMED = 6
"""Variables that are named before the others are counted."""
MOST_LEFT_OUT = 3

OUTPUT_TITLES = {
    "data": "the masked data",
    "svrl": "the validation, record by record (confidential)",
    "report": "the report, for a browser",
    "record": "everything about the run (confidential)",
    "public_record": "what may be published with the data",
    "edits": "the rules that hold in the masked data, to publish with it",
    "codebook": "what the masked data hold, and what was done with them",
    "key_map": "which original record each masked one is, and its old keys (confidential)",
}


def print_plan(shown: Mapping[str, object]) -> None:
    """Print a plan in full: groups, operators and strata of each step, who keeps each edit, grids, warnings.

    Parameters
    ----------
    shown : mapping
        As ``maskwright plan --json`` prints it.
    """
    plan = PlanRecord.model_validate(shown)
    out = console()
    heading(out, "Plan without data" if plan.records is None else f"Plan for {plural(plan.records, 'record')}")
    for step in plan.steps:
        _print_step(out, step, with_data=plan.records is not None)
    if plan.edits:
        out.print()
        table = table_of("edit", "kind", "kept by", "how")
        for edit in plan.edits:
            how = edit.how if edit.form is None else f"{edit.form}: {edit.becomes}"
            table.add_row(edit.name, edit.kind, KEPT_BY[edit.kept_by], how)
        show(out, table)
    out.print()
    _print_untouched(out, plan)
    listed(out, "published grid", _grid(plan.grid))
    if plan.costs is not None:
        print_costs(out, plan.costs)
    print_notices(out, plan.warnings, "warning")
    print_notices(out, plan.notices, "note")
    for check in plan.checks:
        out.print()
        item(out, f"{check.check}, which {'refuses this plan' if check.refuses else 'warns'}: ", check.message)
        if check.hint is not None:
            item(out, "    ", check.hint)
    for doubt in plan.doubts:
        out.print()
        about = f"step {doubt.subject}: " if doubt.about == "step" else f"{doubt.subject}: " if doubt.subject else ""
        item(out, f"{doubt.id} {doubt.doubt}: ", about + doubt.message)
        item(out, "    ", doubt.remedy if doubt.because is None else f"waived, because: {doubt.because}")
    if any(doubt.because is None for doubt in plan.doubts) or any(check.refuses for check in plan.checks):
        out.print(Text("As it stands, nothing would be released.", style="bold red"))


def _print_step(out: Console, step: StepRecord, *, with_data: bool) -> None:
    item(out, f"Step {step.step}: ", step_line(step))
    table = table_of("group", "variables and operators", "edits inside", "strata: records")
    for number, group in enumerate(step.groups, 1):
        variables = ", ".join(_with_operator(name, operator_word(group, name)) for name in group.variables)
        table.add_row(str(number), variables, ", ".join(group.edits), _strata(group, with_data=with_data))
    show(out, table)


def _with_operator(name: str, operator: str) -> str:
    return name if operator in ("", "mean") else f"{name} ({operator})"


def _strata(group: GroupRecord, *, with_data: bool) -> str:
    """Strata of a group, one a line, the largest first; without data, what will cut the records."""
    if not with_data:
        return "cut by: " + "; ".join(group.cut_by) if group.cut_by else "one"
    if len(group.strata) < 2:
        return "one"
    largest = sorted(group.strata, key=lambda stratum: -stratum.records)
    shown = [
        f"{count(stratum.records)}: {stratum.label}" + (" (merged)" if stratum.merged else "")
        for stratum in largest[:MOST_STRATA]
    ]
    if len(largest) > MOST_STRATA:
        shown.append(f"and {len(largest) - MOST_STRATA} more")
    return "\n".join(shown)


def _grid(grid: Mapping[str, int | None]) -> str:
    by_decimals: dict[int | None, list[str]] = {}
    for name, decimals in grid.items():
        by_decimals.setdefault(decimals, []).append(name)
    titles = {None: "not rounded", 0: "whole numbers", 1: "1 decimal"}
    return "; ".join(
        f"{titles.get(decimals, f'{decimals} decimals')}: {', '.join(names)}" for decimals, names in by_decimals.items()
    )


def print_result(shown: Mapping[str, object]) -> None:
    """Print a finished run on one screen: plan, edits before and after, k, measures, files, verdict.

    Notices are not repeated: they were shown when they arose, and are in the report.

    Parameters
    ----------
    shown : mapping
        The run record, as in `run.json`.
    """
    record = RunRecord.model_validate(shown)
    out = console()
    plan = record.plan
    planned = f"Plan: {plural(plan.records, 'record')}, {plural(len(plan.steps), 'step')}"
    heading(out, planned if record.mode == "exact" else f"{planned}, in {record.mode}")
    for step in plan.steps:
        item(out, f"  {step.step}. ", step_line(step, every_parameter=False))
        for group in step.groups:
            strata = len(group.strata)
            apart = f"  [{plural(strata, 'stratum').replace('stratums', 'strata')}]" if strata > 1 else ""
            item(out, "     · ", ", ".join(group.variables) + apart)
    _print_unmasked(out, plan)
    listed(out, "order of the records", "random" if record.release.order == "random" else "")
    if record.edits:
        out.print()
        show(out, _edit_ledger(record.edits))
    _print_localisation(out, record.localisation)
    _print_k(out, record)
    _print_k_of_groups(out, record)
    listed_rows = moved_rows(record.moved)
    if listed_rows:
        item(out, "moved onto edits: ", listed_rows)
    item(out, "loss by step: ", loss_by_step(record, by_edit=False))
    if record.measures:
        out.print()
        _print_measures(out, record.measures)
    _print_files(out, record)
    out.print()
    style = "bold green" if record.ok else "bold red"
    total = sum(record.seconds.values())
    spent = Text(f"  ({duration(total)})" if total else "", style="dim")
    paragraph(out, Text(verdict(record), style=style) + spent)
    for title, text in beside_verdict(record, MOST_NAMED):
        listed(out, title, text)


def _edit_ledger(edits: Sequence[EditRecord]) -> Table:
    table = table_of(
        "edit", "kind", "violations: original", "masked", "unknown", "not applicable", "kept by", "adjusted"
    )
    for column in (2, 3, 4, 5, 7):
        table.columns[column].justify = "right"
    for edit in edits:
        name = Text(edit.name, style="bold red" if edit.violations and edit.severity == "error" else "")
        table.add_row(
            name + Text("" if edit.severity == "error" else f" ({edit.severity})"),
            edit.kind,
            count(edit.violations_on_arrival),
            count(edit.violations),
            count(edit.unknown),
            count(edit.not_applicable),
            kept_as_planned(edit),
            count(edit.adjusted),
        )
    if not any(edit.not_applicable for edit in edits):
        table = without_column(table, 5)
    return table if any(edit.unknown for edit in edits) else without_column(table, 4)


def _print_localisation(out: Console, found: LocalisationRecord | None) -> None:
    if found is None or not found.violating:
        return
    cells = ", ".join(f"{name} {count(number)}" for name, number in found.adjusted.items())
    said = (
        f"{count(found.mended)} of {plural(found.violating, found.level or 'record')} that violated an edit; fields: "
    )
    item(out, "errors located and adjusted: ", said + (cells or "none"))


def _print_k(out: Console, record: RunRecord) -> None:
    k = record.k
    if k.expected is None:
        return
    said = f"k = {k.requested}" if k.expected == k.requested else f"groups of {k.expected} in the mean"
    table = table_of(f"{said}: records with equal masked values", "smallest class", f"records below {k.expected}")
    for column in (1, 2):
        table.columns[column].justify = "right"
    for title, found in classes_of_equal_records(record):
        table.add_row(title, count(found.smallest), count(found.below))
    out.print()
    show(out, table)


def _print_k_of_groups(out: Console, record: RunRecord) -> None:
    """The four counts of k for data of two levels."""
    if not record.k_of_groups:
        return
    table = table_of("k of groups: what is published alike", "records", "smallest class", f"below {record.k.expected}")
    for column in (1, 2, 3):
        table.columns[column].justify = "right"
    for found in record.k_of_groups:
        table.add_row(found.about, count(found.records), count(found.smallest), count(found.below))
    out.print()
    show(out, table)
    said = groups_told_apart(record)
    if said:
        out.print(said)


def _print_files(out: Console, record: RunRecord) -> None:
    outputs = {key: Path(entry.file) for key, entry in record.outputs.items()}
    if not outputs:
        return
    keys = [key for key in OUTPUT_TITLES if key in outputs] + [key for key in outputs if key not in OUTPUT_TITLES]
    folders = {path.parent for path in outputs.values()}
    together = len(folders) == 1 and folders != {Path()}
    place = f" in {_from_here(folders.pop())}" if together else ""
    out.print()
    # A path is never broken, so that it can be copied.
    heading(out, f"Files{place}" if record.ok else f"Files{place} (the masked data was not released)")
    names = {key: path.name if together else str(_from_here(path)) for key, path in outputs.items()}
    width = min(max(map(len, names.values())), 48)
    for key in keys:
        out.print(f"  {names[key]:<{width}}  {OUTPUT_TITLES.get(key, key)}", soft_wrap=True)


def _from_here(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


def print_measures(shown: Mapping[str, object]) -> None:
    """Print measures: value with its unit, its interval, which direction is better, and the threshold if there is one.

    Of a measure without a value the first note says why.

    Parameters
    ----------
    shown : mapping of label to mapping
        As ``maskwright measure --json`` prints them.
    """
    _print_measures(console(), {label: MeasureRecord.model_validate(each) for label, each in shown.items()})


def _print_measures(out: Console, measures: Mapping[str, MeasureRecord]) -> None:
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
            _parts(measure.parts),
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
    said = []
    if measure.threshold is not None:
        said.append(_threshold(measure.threshold, measure.direction, met=measure.met is True))
    said += [
        f"{name} {_threshold(each.threshold, each.direction, met=each.met)}"
        for name, each in measure.part_thresholds.items()
    ]
    return ", ".join(said)


def _threshold(bound: float, direction: str, *, met: bool) -> str:
    return f"{'<=' if direction == 'lower' else '>='} {figure(bound)} {'met' if met else 'missed'}"


def _parts(parts: Mapping[str, float | None]) -> str:
    names = list(parts)
    if len(names) > 5:
        return f"{len(names)} parts, {names[0]} {figure(parts[names[0]])} … {names[-1]} {figure(parts[names[-1]])}"
    return ", ".join(f"{name} {figure(parts[name])}" for name in names)


def print_plugins(infos: Iterable[Mapping[str, str | None]]) -> None:
    """Print installed plugins by kind and name; a broken one with its error."""
    out = console()
    table = table_of("kind", "name", "from", "status")
    for info in sorted(infos, key=lambda info: (info["kind"], info["name"])):
        source = " ".join(str(part) for part in (info["distribution"], info["version"]) if part)
        fine = info["status"] == "ok"
        status = f"{info['status']}: {info.get('error') or 'no reason given'}"
        if fine:
            status = "; ".join(filter(None, ["ok", info.get("conflict")]))
        table.add_row(info["kind"], info["name"], source, Text(status, style="" if fine else "bold red"))
    show(out, table)


def _print_untouched(out: Console, plan: PlanRecord) -> None:
    listed(out, "not masked", ", ".join(plan.published_as_they_are))
    _print_unmasked(out, plan)


def _print_unmasked(out: Console, plan: PlanRecord) -> None:
    """Variables of which something is taken; those that are published as they are stand in the verdict."""
    listed(out, "not masked, but cells that give suppressed ones away are suppressed", ", ".join(plan.may_lose_cells))
    listed(out, "dropped", ", ".join(plan.dropped))
    listed(out, "new random values", ", ".join(plan.new_keys))
