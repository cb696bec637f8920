"""Edits of files and of data: listed and analysed, written in another language, or found in data."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.levels.input_files import linked_sources
from maskwright.commands.options import NO_OPTIONS, ReadingOptions, data_files, pipeline_levels, read_rule_files
from maskwright.commands.profiled_file import with_found_options
from maskwright.commands.reading import dataset_of, load
from maskwright.commands.requests import DeclaredVariables, Rules, edits_of
from maskwright.data.levels.linked_data import refuse_deeper
from maskwright.edits.edit import LinearPart
from maskwright.edits.edit_set import EditSet, UnreadRulesError
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.expression import variable_names
from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.languages.schematron.binding import bound_to
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.normalisation import written_out
from maskwright.edits.suggestions.model import Suggestions
from maskwright.edits.suggestions.suggest import LIMIT
from maskwright.edits.suggestions.suggest import suggest as suggest_rules
from maskwright.foundation.errors import EditError, InputError
from maskwright.foundation.progress import Reporter, notify, silent, stage
from maskwright.planning.levels.bound_edits import edits_of_levels
from maskwright.plugins.registry import find_rule_writer
from maskwright.plugins.rules import RulesFor

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from maskwright.data.frame_libraries import Data
    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.languages.conversion.converted import Converted
    from maskwright.pipeline.resolved import LevelSources


def convert_rules(
    files: Sequence[Path],
    target: str,
    *,
    language: str | None,
    data: Path | None,
    record: str | None,
    options: ReadingOptions = NO_OPTIONS,
    decimals: int | None,
    reporter: Reporter,
) -> tuple[str, EditError | None]:
    """Rules of some files in another language, and what of them it cannot say; what differs is said as notices."""
    levels = pipeline_levels(options, () if data is None else (data,))
    if levels is not None:
        rules = read_rule_files(files, options, language, levels.declared)
        found, refused = _on_levels(rules, target, levels, decimals, reporter)
        return _with_notices(found, rules, reporter), refused
    if data is None:
        # The element that rules are to be about, then, and no option of a file.
        options = options.without("record")
    given = data_files([] if data is None else (data,), options, [] if language else files)
    rules, unread = _read_as_far_as_can_be(files, options, language)
    about = RulesFor(record=record or RulesFor.record)
    for file in given:
        with stage(reporter, f"Reading {file.name}"):
            original = load(file, identifiers=True, may_lack="identifiers")
        rules = written_out(bound_to(rules, original.layout), [column.name for column in original])
        about = RulesFor.of(original.variables, original.layout, record)
    if decimals is not None:
        about = replace(about, decimals=decimals)
    if target == "yaml":
        # Whoever reads rules in YAML reads what is declared of the data as well.
        about = replace(about, empty={})
    write = find_rule_writer(target).write
    assert write is not None
    found, refused = _as_far_as_can_be(rules, lambda edits: write(edits, about))
    wrong = [*(() if unread is None else unread.problems), *(() if refused is None else refused.problems)]
    return _with_notices(found, rules, reporter), EditError(wrong) if wrong else None


def _read_as_far_as_can_be(
    files: Sequence[Path], options: ReadingOptions, language: str | None
) -> tuple[EditSet, EditError | None]:
    """Rules of files without those of R that are not understood; and why not."""
    try:
        return read_rule_files(files, options, language), None
    except UnreadRulesError as error:
        if not error.edits:
            raise
        return error.edits, error


def _as_far_as_can_be(rules: EditSet, write: Callable[[EditSet], Converted]) -> tuple[Converted, EditError | None]:
    """Rules as they are written, without those that cannot be; and why not."""
    try:
        return write(rules), None
    except EditError as error:
        kept = EditSet(tuple(edit for edit in rules if _can_be_written(edit, write)), rules.notes)
        if not kept or len(kept) == len(rules):
            raise
        return write(kept), error


def _can_be_written(edit: Edit, write: Callable[[EditSet], Converted]) -> bool:
    try:
        write(EditSet((edit,)))
    except EditError:
        return False
    return True


def _on_levels(
    rules: EditSet, target: str, levels: LevelSources, decimals: int | None, reporter: Reporter
) -> tuple[Converted, EditError | None]:
    """Rules of data of several levels: Schematron is about records inside records then."""
    from maskwright.commands.levels.input_files import linked_sources
    from maskwright.edits.languages.conversion.convert import convert_edits
    from maskwright.edits.levels.as_schematron import as_stated, nested_schematron_file

    def in_yaml(edits: EditSet) -> Converted:
        return convert_edits(edits, "yaml")

    if target == "yaml" and all(edit.assertion is None or edit.assertion.rule is None for edit in rules):
        return _as_far_as_can_be(rules, in_yaml)
    if target not in ("yaml", "schematron"):
        find_rule_writer(target)  # an unknown name is the first mistake
        raise InputError(f"rules on data of several levels are written in yaml and schematron, not in {target}")
    with stage(reporter, "Reading the levels") as progress:
        linked = linked_sources(levels, progress)
    rules = as_stated(rules, linked)
    if target == "yaml":
        return _as_far_as_can_be(rules, in_yaml)
    return _as_far_as_can_be(rules, lambda edits: nested_schematron_file(edits, linked, decimals))


def _with_notices(found: Converted, rules: EditSet, reporter: Reporter) -> str:
    notify(reporter, dict.fromkeys((*rules.notes, *found.notes)))
    return found.text


def describe_edits(
    files: Sequence[Path],
    *,
    data: Path | None,
    options: ReadingOptions = NO_OPTIONS,
    reporter: Reporter,
    language: str | None = None,
) -> dict[str, Any]:
    """List edits with kind and text, and analyse them; with data, how many records satisfy each."""
    from maskwright.edits.analysis.analyse import analyse

    given = data_files([] if data is None else (data,), options, [] if language else files)
    rules = read_rule_files(files, options, language)
    counts: Mapping[str, Any] = {}
    notes = list(rules.notes)
    records = None
    variables: tuple[Variable, ...] = ()
    for file in given:
        with stage(reporter, f"Reading {file.name}"):
            dataset = load(file, identifiers=True, may_lack="identifiers")
        variables = dataset.variables
        rules = written_out(bound_to(rules, dataset.layout), dataset.names)
        with stage(reporter, f"Checking {file.name}"):
            outcome = check_dataset(dataset, rules, Domain.from_dataset(dataset, domain_tuples(rules)))
        counts = {edit.name: edit for edit in outcome.edits}
        records = outcome.records
        notes += [
            f"edit {edit.name!r} is unknown in every record it is for: {'; '.join(edit.unknown_because)}"
            for edit in outcome.edits
            if edit.undecided
        ]
    with stage(reporter, "Analysing the edits"):
        analysis = analyse(rules, variables)
    # Warnings stop nothing, so neither do contradictions with them.
    warnings = {edit.name for edit in rules if edit.severity != "error"}
    blocked = any(warnings.isdisjoint(finding.edits) for finding in analysis.blocking)

    def satisfied(name: str) -> dict[str, int | None]:
        if name not in counts:
            return {"satisfied": None, "violations": None, "unknown": None, "fired": None}
        found = counts[name]
        return {
            "satisfied": found.fired - found.violations - found.unknown,
            "violations": found.violations,
            "unknown": found.unknown,
            "fired": found.fired,
        }

    return {
        "records": records,
        "edits": [
            {
                "name": edit.name,
                "kind": edit.kind,
                "severity": edit.severity,
                "text": edit.text,
                "variables": list(edit.variables),
                "place": None if edit.place is None else str(edit.place),
                **satisfied(edit.name),
            }
            for edit in rules
        ],
        "analysis": {"blocked": blocked, **analysis.to_json()},
        "notes": notes,
    }


def suggest_levels(
    linked: LinkedData, known: EditSet, share: float | None, *, limit: int, show_values: bool = False
) -> Suggestions:
    """Find rules of groups and of members: sums and numbers of members, and members beside their group."""
    refuse_deeper(linked.names, "rules are suggested for")
    top, low = linked.levels
    read = [f"count({low.name})", *(f"sum({low.name}.{name_text(name)})" for name in _amounts(low))]
    above = [f"{top.name}.{name_text(name)}" for name in _amounts(top)]
    seen = {top.name: read, low.name: above}
    requested = EditSet.parse([
        {"rule": f"{each} == {each}" if level == top.name else f"{own} == {each}", "name": f"read: {each}"}
        for level, several in seen.items() for each in several
        for own in (_amounts(low)[:1] if level == low.name else [""])
    ])  # fmt: skip
    bound = edits_of_levels(known + requested, linked)
    found = []
    notes: dict[str, None] = {}
    of_sums = EditSet()
    for level in (low, top):
        data = with_linked_columns(linked, bound, level.name, seen[level.name]).without(_keys(level))
        stated = EditSet(tuple(
            edit for edit in bound.edits[level.name]
            if not edit.name.startswith("read: ") and all(name in data for name in variable_names(edit.expression))
        ))  # fmt: skip
        stated = stated if level is low else stated.joined(of_sums)
        own = suggest_rules(replace(data, households=None), stated, share, limit=limit, show_values=show_values)
        notes |= dict.fromkeys(own.notes)
        of_sums = _of_sums(own, low) if level is low else of_sums
        for each in own.found:
            if each.kind == "dependency" and any(name in each.rule for name in seen[level.name]):
                continue  # combinations of what members say together are looked up nowhere
            rule = each.rule
            for name in seen[level.name]:
                rule = rule.replace(f"`{name}`", name)
            about = ", ".join(filter(None, (f"level {level.name}", each.ground)))
            if level.name == top.name or any(name in rule for name in data.names if name not in above):
                found.append(replace(each, rule=rule, ground=about))
    found.sort(key=lambda each: -each.usefulness)
    kept = tuple(found[:limit] if limit else found)
    return Suggestions(len(low), kept, tuple(notes), shows_values=show_values)


def _of_sums(found: Suggestions, low: Level) -> EditSet:
    """What sums of each member say of the sums over members."""
    rules = []
    sums = [each.rule for each in found.found if each.kind == "equality" and not each.tolerance]
    for edit in EditSet.parse(sums):
        part = edit.parts[0] if len(edit.parts) == 1 else None
        if isinstance(part, LinearPart) and not part.constant and set(edit.variables) <= {*_amounts(low)}:
            terms = (f"{value} * `sum({low.name}.{name_text(name)})`" for name, value in part.coefficients)
            rules.append(f"{' + '.join(terms)} == 0")
    return EditSet.parse([{"rule": rule, "name": f"of sums {number}"} for number, rule in enumerate(rules, 1)])


def _amounts(level: Level) -> list[str]:
    """Numbers of a level that are no keys, pointers or weights."""
    keys = level.key_columns
    return [
        each.name for each in level.data.variables if each.is_numeric and not each.is_date and each.name not in keys
    ]


def _keys(level: Level) -> list[str]:
    return [name for name in level.key_columns if name in level.data]


def suggest(
    data: Data,
    edits: Rules | None = None,
    *,
    share: float | None = None,
    declared: DeclaredVariables | None = None,
    limit: int = LIMIT,
    show_values: bool = False,
) -> Suggestions:
    """Find rules that hold in data: sums, products, proportions, codes with labels, conditionals, orderings, ranges.

    They are suggestions, for a person to accept or reject, and they come from the data: publishing them discloses it.
    The most useful come first: those that most records would violate if variables had nothing to do with each other,
    and few records do. What follows from others is left out.

    Parameters
    ----------
    data : Dataset or data frame
    edits : EditSet or sequence of rules, optional
        Rules that are known; what follows from them is not suggested.
    share : float, optional
        Suggest what holds in at least this share of the records of which it speaks. By default 1, and 0.95 for sums,
        products and what is computed from others, of which a few records are mistakes.
    declared : mapping of name to declaration, optional
        For a data frame.
    limit : int, default 30
        Suggestions, at most; 0: all.
    show_values : bool, default False
        Whether constants, lists of values, conditionals that name codes, and exact bounds of ranges are found too: they
        are values of records.

    Returns
    -------
    Suggestions
        ``found`` (each with ``rule``, ``tolerance``, ``statement`` (both, as functions and files take a rule),
        ``records`` in which it holds, ``of`` those it speaks of, ``violations``, ``share``, ``usefulness``), ``notes``.

    Raises
    ------
    InputError
        Wrong rules or declarations; a share outside (0, 1]; a negative limit; no records.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> data = pd.DataFrame(np.random.default_rng(1).integers(0, 100, (20, 2)), columns=["wages", "pensions"])
    >>> data["income"] = data["wages"] + data["pensions"]
    >>> [each.rule for each in mw.suggest(data, ["wages >= 0", "pensions >= 0"]).found]
    ['wages + pensions == income', 'wages in [0, 100]', 'pensions in [0, 100]', 'income in [0, 180]']
    """
    dataset = dataset_of(data, declared)
    known = written_out(bound_to(edits_of(edits), dataset.layout), dataset.names)
    return suggest_rules(dataset, known, share, limit=limit, show_values=show_values)


def suggest_for_file(
    data: Path | None,
    files: Sequence[Path],
    *,
    share: float | None,
    language: str | None,
    options: ReadingOptions = NO_OPTIONS,
    reporter: Reporter,
    limit: int = LIMIT,
    show_values: bool = False,
) -> Suggestions:
    """Rules that hold in a data file and do not follow from those in the rule files."""
    levels = pipeline_levels(options, () if data is None else (data,))
    if levels is not None:
        rules = read_rule_files(files, options, language, levels.declared)
        with stage(reporter, "Reading the levels") as progress:
            linked = linked_sources(levels, progress)
        with stage(reporter, "Searching for rules"):
            return suggest_levels(linked, rules, share, limit=limit, show_values=show_values)
    if data is None:
        raise InputError("--suggest finds rules in a data file: name it with --data, and leave --to out")
    (file,) = data_files((data,), options, [] if language else files)
    rules = read_rule_files(files, options, language)
    with stage(reporter, f"Reading {data.name}"):
        file, stated = with_found_options(file, silent)
        dataset = load(file, identifiers=True, may_lack="identifiers")
    notify(reporter, stated)
    with stage(reporter, "Searching for rules") as progress:
        known = written_out(bound_to(rules, dataset.layout), dataset.names)
        return suggest_rules(dataset, known, share, progress, limit=limit, show_values=show_values)
