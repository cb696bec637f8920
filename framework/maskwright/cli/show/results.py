"""Plans, runs and plugins on the terminal, from plain data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

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
from maskwright.cli.show.tables import print_table_of_measures
from maskwright.data.parts.part_files import address_of, is_remote
from maskwright.release.record.record_parts import PlanRecord
from maskwright.release.wording import (
    KEPT_BY,
    classes_of_equal_records,
    count,
    duration,
    file_size,
    groups_told_apart,
    kept_as_planned,
    loss_by_step,
    moved_rows,
    names,
    operator_word,
    plural,
    release_remarks,
    step_line,
    unchanged_shares,
    unmasked_but_changed,
    verdict,
    what_adjusted_counts,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from rich.console import Console
    from rich.table import Table

    from maskwright.release.record.record_parts import CostsRecord, GroupRecord, StepRecord
    from maskwright.release.record.run_record import EditRecord, LocalisationRecord, RunRecord


def print_costs(out: Console, costs: CostsRecord) -> None:
    """Print the memory and time that a plan expects, by stage, and what to do where they do not suffice."""
    out.print()
    where = f"over parts, {plural(costs.workers, 'worker')}" if costs.workers else "in memory"
    held = "memory of a worker" if costs.workers else "peak memory"
    table = table_of(f"expected of {plural(costs.records, 'record')}, {where}", held, "processor time")
    for each in costs.stages:
        table.add_row(each.stage, file_size(int(each.megabytes * 1e6)), duration(each.seconds))
    table.add_row("all", file_size(int(costs.peak_megabytes * 1e6)), duration(costs.seconds))
    show(out, table)
    if costs.workers:
        leader, scratch = (file_size(int(each * 1e6)) for each in (costs.leader_megabytes, costs.scratch_megabytes))
        wall = f"about {duration(costs.seconds / costs.workers)} where each worker has a processor of its own"
        item(out, "  ", f"{scratch} of scratch; {leader} of memory for the process that leads; {wall}")
    if costs.basis:
        compiled = f"; the first run compiles the kernels of {names(costs.to_compile)}" if costs.to_compile else ""
        item(out, "  ", f"time: {costs.basis}{compiled}")
    if not costs.fits and costs.memory_megabytes is not None:
        there = file_size(int(costs.memory_megabytes * 1e6))
        other = "parts of fewer records, a smaller block_size, or fewer workers"
        remedy = other if costs.workers else "execution: {engine: processes, block_size: 50000}"
        if costs.in_one_process:
            remedy = "a larger memory_limit, a sample of the records, or a pipeline without what needs all of them"
        item(out, "  ", f"More than there is ({there}): take {remedy}.")


MOST_STRATA = 6
MOST_NAMED = 6
"""Variables that are named before the others are counted."""

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
    """Print a plan in full: groups, operators and strata of each step, who keeps each edit, grids, warnings."""
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
    print_notices(out, [each.message for each in plan.warnings], "warning")
    print_notices(out, [each.message for each in plan.notices], "note")
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


def print_planned_variables(shown: Mapping[str, object]) -> None:
    """Print what each variable is, what says so, and which steps mask it."""
    plan = PlanRecord.model_validate(shown)
    table = table_of("variable", "type", "role", "declared", "published")
    for each in plan.variables:
        where = each.declared_by or "no"
        where += f", line {each.line}" if each.line is not None else ""
        steps = f" by step {', '.join(map(str, each.steps))}" if each.published == "masked" else ""
        table.add_row(each.name, each.type or "not read", each.role, where, each.published + steps)
    show(console(), table)


def _print_step(out: Console, step: StepRecord, *, with_data: bool) -> None:
    item(out, f"Step {step.step}: ", step_line(step))
    if step.takes is not None:
        item(out, "  takes ", step.takes)
        return
    table = table_of("group", "variables and operators", "edits inside", "strata: records")
    for number, group in enumerate(step.groups, 1):
        variables = ", ".join(_with_operator(name, operator_word(group, name)) for name in group.variables)
        table.add_row(str(number), variables, ", ".join(group.edits), _strata(group, with_data=with_data))
    show(out, table)


def _print_unless_empty(out: Console, lead: str, text: str) -> None:
    if text:
        item(out, lead, text)


def _with_operator(name: str, operator: str, shown: Collection[str] | None = None) -> str:
    is_shown = operator not in ("", "mean") if shown is None else operator in shown
    return f"{name} ({operator})" if is_shown else name


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
    """Print a finished run on one screen: plan, edits before and after, k, measures, files, verdict."""
    from maskwright.release.record.run_record import RunRecord  # models of pydantic, which a plan does without

    record = RunRecord.model_validate(shown)
    out = console()
    plan = record.plan
    planned = f"Plan: {plural(plan.records, 'record')}, {plural(len(plan.steps), 'step')}"
    heading(out, planned if record.mode == "exact" else f"{planned}, in {record.mode}")
    for step in plan.steps:
        item(out, f"  {step.step}. ", step_line(step, every_parameter=False))
        if step.takes is not None:
            item(out, "     · ", step.takes)
            continue
        for group in step.groups:
            strata = len(group.strata)
            apart = f"  [{plural(strata, 'stratum', 'strata')}]" if strata > 1 else ""
            named = (_with_operator(name, operator_word(group, name), ("computed",)) for name in group.variables)
            if group.variables:
                item(out, "     · ", ", ".join(named) + apart)
    for variable in unmasked_but_changed(record):
        item(out, f"  {variable.name}: ", variable.done)
    _print_not_published(out, plan)
    listed(out, "order of the records", "random" if record.release.order == "random" else "")
    if record.edits:
        out.print()
        show(out, _edit_ledger(record.edits))
        listed(out, "counted as adjusted", what_adjusted_counts(record))
    _print_localisation(out, record.localisation)
    _print_k(out, record)
    _print_k_of_groups(out, record)
    _print_unless_empty(out, "moved onto edits: ", moved_rows(record))
    _print_unless_empty(out, "loss by step: ", loss_by_step(record, by_edit=False))
    _print_unless_empty(out, "unchanged values other than 0: ", unchanged_shares(record, 3))
    if record.measures:
        out.print()
        print_table_of_measures(out, record.measures)
    _print_files(out, record)
    out.print()
    style = "bold green" if record.ok else "bold red"
    total = sum(record.seconds.values())
    spent = Text(f"  ({duration(total)})" if total else "", style="dim")
    paragraph(out, Text(verdict(record), style=style) + spent)
    for title, text in release_remarks(record, MOST_NAMED):
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
    message = (
        f"{count(found.mended)} of {plural(found.violating, found.level or 'record')} that violated an edit; fields: "
    )
    item(out, "errors located and adjusted: ", message + (cells or "none"))


def _print_k(out: Console, record: RunRecord) -> None:
    k = record.k
    if k.expected is None:
        return
    message = f"k = {k.requested}" if k.expected == k.requested else f"groups of {k.expected} in the mean"
    rows = classes_of_equal_records(record)
    several = len({found.expected for _, found, _ in rows}) > 1
    title = "Records with equal masked values" if several else f"{message}: records with equal masked values"
    table = _table_of_classes(title, ["smallest class"], k.expected, "records ", several=several)
    for about, found, _ in rows:
        own = [count(found.expected)] * several
        table.add_row(about, *own, count(found.smallest), count(found.below))
    out.print()
    show(out, table)


def _table_of_classes(title: str, columns: Sequence[str], k: int, what: str = "", *, several: bool) -> Table:
    """Table of classes, with a column for the k of each row where they differ."""
    own = ["k"] * several
    table = table_of(title, *own, *columns, f"{what}below its k" if several else f"{what}below {k}")
    for column in table.columns[1:]:
        column.justify = "right"
    return table


def _print_k_of_groups(out: Console, record: RunRecord) -> None:
    """The four counts of k for data of two levels."""
    if not record.k_of_groups:
        return
    several = len({found.expected for found in record.k_of_groups}) > 1
    title = "k of groups: what is published alike"
    largest = record.k_of_groups[0].expected
    table = _table_of_classes(title, ["records", "smallest class"], largest, several=several)
    for found in record.k_of_groups:
        own = [count(found.expected)] * several
        table.add_row(found.about, *own, count(found.records), count(found.smallest), count(found.below))
    out.print()
    show(out, table)
    stated = groups_told_apart(record)
    if stated:
        out.print(stated)


def _print_files(out: Console, record: RunRecord) -> None:
    outputs = {key: Path(entry.file) for key, entry in record.outputs.items()}
    if not outputs:
        return
    keys = [key for key in OUTPUT_TITLES if key in outputs] + [key for key in outputs if key not in OUTPUT_TITLES]
    folders = {path.parent for path in outputs.values()}
    together = len(folders) == 1 and folders != {Path()} and not any(is_remote(str(each)) for each in folders)
    place = f" in {_from_here(folders.pop())}" if together else ""
    out.print()
    # A path is never broken, so that it can be copied.
    heading(out, f"Files{place}" if record.ok else f"Files{place} (the masked data was not released)")
    names = {key: path.name if together else address_of(str(_from_here(path))) for key, path in outputs.items()}
    width = min(max(map(len, names.values())), 48)
    for key in keys:
        out.print(f"  {names[key]:<{width}}  {OUTPUT_TITLES.get(key, key)}", soft_wrap=True)


def _from_here(path: Path) -> Path:
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


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
    listed(out, "not masked, but cells that give suppressed ones away are suppressed", ", ".join(plan.may_lose_cells))
    _print_not_published(out, plan)


def _print_not_published(out: Console, plan: PlanRecord) -> None:
    """Variables that are dropped, or whose values are new; those that are published unmasked stand in the verdict."""
    listed(out, "dropped", ", ".join(plan.dropped))
    listed(out, "new random values", ", ".join(plan.new_keys))
