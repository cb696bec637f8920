"""Validation of written levels by an engine, where rules came from Schematron; and the SVRL report."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import IO, TYPE_CHECKING

import numpy as np

from maskwright.data.levels.linked_data import NestedElements
from maskwright.edits.edit import LinearPart
from maskwright.edits.edit_set import EditSet
from maskwright.edits.engines.nested_checker import Node, place_of
from maskwright.edits.evaluation.outcomes import Failure, Placed
from maskwright.edits.evaluation.svrl import SvrlWriter
from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.edits.levels.structure_edits import sources_of_edit
from maskwright.foundation.errors import Problem, refuse_problems
from maskwright.foundation.findings import Notice
from maskwright.foundation.progress import notify, silent, stage
from maskwright.pipeline.edits_section import read_edits_of
from maskwright.pipeline.resolved import Pipeline, RuleFile, RuleText
from maskwright.planning.levels.bound_edits import unknown_records
from maskwright.release.data_file import written_file
from maskwright.release.file_validation import check_nested
from maskwright.release.files import output_stream

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.evaluation.outcomes import EditOutcome
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.foundation.progress import Progress, Reporter
    from maskwright.pipeline.resolved import DataSource, LevelSources
    from maskwright.plugins.rules import RuleLanguage
    from maskwright.release.files import Release


def write_linked_svrl(
    stream: IO[bytes],
    linked: LinkedData,
    edits: Mapping[str, Iterable[Edit]],
    found: Iterable[EditOutcome],
    sources: LevelSources,
) -> None:
    """Write where edits fail on linked records: ``/Survey/Household[3]/Person[2]``.

    Of files that are no XML the elements are called as the levels are: ``/records/household[3]/person[2]``, the second
    person of the third household in the order of the file.
    """
    placed = placed_edits(linked, edits, found, sources)
    with SvrlWriter(stream, [edit for edit, _ in placed], None) as writer:
        writer.write_placed(sum(map(len, linked)), [each for _, each in placed])


def placed_edits(
    linked: LinkedData, edits: Mapping[str, Iterable[Edit]], found: Iterable[EditOutcome], sources: LevelSources
) -> list[tuple[Edit, Placed]]:
    """Edits with the elements that they are about, and where each fails; parameters as in `write_linked_svrl`."""
    elements = _elements(sources)
    of_level = zip(edits.values(), elements.records, strict=True)
    stated = [replace(edit, context=element) for each, element in of_level for edit in each]
    return [(edit, _placed(each, linked, elements)) for edit, each in zip(stated, found, strict=True)]


def _elements(levels: LevelSources) -> NestedElements:
    """Names for locations: those of the file, or of the levels."""
    if levels.form != "nested":
        return NestedElements(("records",), tuple(levels.declared))
    path = _path(next(iter(levels.sources.values())))
    return NestedElements(path, tuple(level.record or name for name, level in levels.declared.items()))


def _path(source: DataSource) -> tuple[str, ...]:
    assert source.source.nested is not None
    elements = source.source.nested.open(source.path, source.params, silent).elements
    return ("records",) if elements is None else elements.path


def _placed(found: EditOutcome, linked: LinkedData, elements: NestedElements) -> Placed:
    """Where an edit fails, of the first that are listed."""
    level, rows = linked[found.level or linked.names[0]], found.listed - 1
    places: list[NDArray[np.int64]] = []
    while level.groups is not None:
        groups = level.groups[rows]
        places.insert(0, rows - np.searchsorted(level.groups, groups))
        level, rows = linked[level.declared.above or ""], groups
    numbers = np.stack([rows, *places], axis=1) + 1
    nodes = [Node(tuple(each)) for each in numbers.tolist()]
    message = found.message or found.name
    failed = [Failure(node.places, place_of(elements, node), (message,)) for node in nodes]
    return Placed(found.fired, [], failed)


SCHEMATRON = "schematron"
WHAT_TO_DO = (
    "a comparison with a cell that is no number is false in XPath: let the test say what holds then, as "
    "`not(number(x) = number(x)) or ...`, or state the rule in YAML"
)
BARE_TOTAL = (
    "a total is derived where the test is the equality alone, or says its rule in `mw:rule`, as "
    "`maskwright edits RULES --to schematron` writes it"
)
TOLERANCE = "sum(Person/x) - total <= 0.001 and sum(Person/x) - total >= -0.001"


@dataclass(frozen=True, eq=False)
class EngineRules:
    """Schematron of a run on nested XML, as an engine is asked about it.

    `edits`: all have an engine; named as the run names them. `are_all`: whether the run has no other rules.
    """

    edits: EditSet
    limits: SchematronOptions
    are_all: bool


def engine_rules(described: Pipeline) -> EngineRules | None:
    """Rules of a pipeline that an engine is asked about; None: its data are no nested XML, or none is Schematron."""
    levels = described.level_sources
    schematron = [each for each in described.edits if isinstance(each, RuleFile) and each.reader.name == SCHEMATRON]
    if levels.form != "nested" or not schematron:
        return None
    edits, problems = read_edits_of([_for_engine(each) for each in described.edits], levels.declared)
    refuse_problems(problems)
    limits = next((each.params for each in schematron if isinstance(each.params, SchematronOptions)), None)
    return EngineRules(
        EditSet(tuple(edit for edit in edits if edit.engine is not None)),
        limits or SchematronOptions(),
        len(schematron) == len(described.edits),
    )


def binary_sum_notices(linked: LinkedData, bound: BoundEdits) -> tuple[Notice, ...]:
    """Notices about equalities of Schematron that a processor may find broken where they hold."""
    strict = [
        edit.name
        for edits in bound.edits.values() for edit in edits
        if edit.assertion is not None and edit.assertion.rule is None
        and any(isinstance(part, LinearPart) and part.relation == "==" and not part.tolerance for part in edit.parts)
        and any(_has_fractions(linked[level].data, name) for level, name in sources_of_edit(bound, edit))
    ]  # fmt: skip
    if not strict:
        return ()
    message = (
        "XPath adds binary numbers, in the order of the document, and may find a sum of numbers with decimals unequal "
        "where it is equal; give it a tolerance"
    )
    return (Notice("sums-in-binary", "", f"{', '.join(strict)}: {message}: {TOLERANCE}", len(strict)),)


def _has_fractions(data: Dataset, name: str) -> bool:
    return name in data and data[name].variable.is_numeric and data[name].variable.decimals != 0


def validate_by_engine(
    described: Pipeline,
    rules: EngineRules | None,
    stated: BoundEdits,
    published: BoundEdits,
    released: LinkedData,
    found: Mapping[str, Outcome],
    release: Release,
    reporter: Reporter,
) -> tuple[Problem, ...]:
    """Ask the engine about the written file, and write the SVRL report where one is asked for."""
    with contextlib.ExitStack() as stack:
        stream = stack.enter_context(output_stream(release, "svrl", is_wanted=described.output.svrl is not None))
        requested = engine_validated(rules, stated, published)
        by_engine = rules is not None and rules.are_all and len(requested) == len(rules.edits)
        if stream is not None and not by_engine:
            outcomes = [replace(each, level=name) for name, outcome in found.items() for each in outcome.edits]
            write_linked_svrl(stream, released, published.edits, outcomes, described.level_sources)
        if rules is None:
            return ()
        if len(requested) < len(rules.edits):
            others = ", ".join(edit.name for edit in rules.edits if edit not in requested.edits)
            message = f"no engine is asked about edits that hold in another form than they are stated: {others}"
            notify(reporter, [Notice("not-asked-of-an-engine", "", message)])
        progress = stack.enter_context(stage(reporter, "Validating a second time"))
        svrl = stream if by_engine else None
        adjacent = _on_structure(released, published, found, requested, described.level_sources) if by_engine else []
        outcome = _by_engine(described, replace(rules, edits=requested), release, svrl, adjacent, progress)
    own = {each.name: each for one in found.values() for each in one.edits}
    return tuple(_refuted(outcome, own, lambda name: _on_missing(name, outcome, released, published)))


def _by_engine(
    described: Pipeline,
    rules: EngineRules,
    release: Release,
    svrl: IO[bytes] | None,
    others: Sequence[tuple[Edit, Placed]],
    progress: Progress,
) -> Outcome:
    names = tuple(described.level_sources.sources)
    first = described.level_sources.sources[names[0]]
    file = written_file(release.temporary("data"), replace(described, data=first), ())
    assert file.source.nested is not None
    reading = file.source.nested.open(file.path, file.params, progress)
    return check_nested(file.path, reading, rules.edits, rules.limits, levels=names, svrl=svrl, evaluated=others)


def _on_structure(
    released: LinkedData, published: BoundEdits, found: Mapping[str, Outcome], requested: EditSet, levels: LevelSources
) -> list[tuple[Edit, Placed]]:
    """Edits that no test of the schema says, those on pointers, and where they fail."""
    outcomes = [replace(each, level=name) for name, outcome in found.items() for each in outcome.edits]
    names = {edit.name for edit in requested}
    return [
        each for each in placed_edits(released, published.edits, outcomes, levels) if each[0].name not in names
    ]  # fmt: skip


def _on_missing(name: str, outcome: Outcome, released: LinkedData, published: BoundEdits) -> int:
    """Records in which an engine finds an edit broken because cells that it reads are missing."""
    (edit,) = (edit for edits in published.edits.values() for edit in edits if edit.name == name)
    (found,) = (each for each in outcome.edits if each.name == name)
    unknown = unknown_records(edit, released, published)[found.listed - 1]
    # Only the first of many are listed: where all of these are unknown, so are the others taken to be.
    return found.violations if unknown.all() else int(unknown.sum())


def _refuted(outcome: Outcome, found: Mapping[str, EditOutcome], on_missing: Callable[[str], int]) -> Iterator[Problem]:
    """A problem for each edit that an engine contradicts; one that is violated in any case is not listed twice."""
    for each in outcome.edits:
        own = found[each.name]
        if each.severity != "error" or own.violations:
            continue
        if each.violations:
            undecidable = sum(one.count for one in each.undecidable)
            missing = min(on_missing(each.name), each.violations - undecidable)
            rounded = each.violations - undecidable - missing
            because = (f"in {undecidable} its test cannot be evaluated" if undecidable else "",
                       f"in {missing} cells that it reads are missing" if missing else "",
                       f"in {rounded} it holds by exact arithmetic" if rounded else "")  # fmt: skip
            hints = (*each.undecidable_because,
                     WHAT_TO_DO if missing else "",
                     f"XPath adds binary numbers, in the order of the document: give sums a tolerance, {TOLERANCE}"
                     if rounded else "")  # fmt: skip
            yield Problem(
                f"edit {each.name!r}: {each.checked_by} finds it broken in {each.violations} of {each.fired} masked "
                f"{each.level} records: {' and '.join(filter(None, because))}",
                hint="; ".join(filter(None, hints)),
            )
        elif not each.fired and own.fired > own.unknown:
            yield Problem(
                f"edit {each.name!r}: {each.checked_by} finds no record that it is about in the written document, and "
                f"there are {own.fired}",
                hint="Elements in a namespace are not what a rule without a prefix names. State such rules in YAML.",
            )


def engine_validated(rules: EngineRules | None, stated: BoundEdits, published: BoundEdits) -> EditSet:
    """Rules that an engine is asked about: those that hold in the published data as they are stated."""
    if rules is None:
        return EditSet()
    before = {edit.name: edit for each in stated.edits.values() for edit in each}
    after = {edit.name: edit for each in published.edits.values() for edit in each}
    return EditSet(
        tuple(
            edit for edit in rules.edits
            if edit.name in after and edit.name in before
            and (after[edit.name].text, after[edit.name].when) == (before[edit.name].text, before[edit.name].when)
        )
    )  # fmt: skip


def _for_engine(rules: RuleText | RuleFile) -> RuleText | RuleFile:
    """Rules whose tests an engine gets as they are, where they are Schematron."""
    if isinstance(rules, RuleText) or rules.reader.name != SCHEMATRON:
        return rules

    def read(path: Path, params: SchematronOptions | None = None) -> EditSet:
        return read_schematron(path, params, for_engine=True)

    reader: RuleLanguage = replace(rules.reader, read=read, read_leveled=None)
    return replace(rules, reader=reader)
