"""Data of several levels loaded: read, linked, and every edit evaluated on the level that it is about."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from maskwright.commands.levels.declarations import (
    dropped_identifiers,
    forgotten_variables,
    is_composition,
    refuse_rules_on_identifiers,
    without_dropped,
)
from maskwright.commands.levels.edit_violations import (
    FalseOnMissing,
    false_on_missing,
    is_of_structure,
    on_violation,
)
from maskwright.commands.reading import load
from maskwright.commands.running.loading import (
    Clock,
    identifier_notices,
    read_rules,
    reasons_first,
    with_further_mistakes,
)
from maskwright.data.levels.linked_data import refuse_deeper
from maskwright.data.levels.linking import levels_of_flat, linked_levels
from maskwright.edits.levels.as_schematron import as_stated
from maskwright.edits.levels.column_values import with_columns_of_rules, with_linked_columns
from maskwright.foundation.errors import InputError, Problem, refuse_problems
from maskwright.foundation.findings import Notice, notices_of
from maskwright.foundation.progress import silent, stage
from maskwright.masking.levels.error_localization import CorrectedLevels, corrected_levels
from maskwright.pipeline.variable_names import (
    in_order,
    names_in,
    unknown_uses,
    wrong_level_names,
)
from maskwright.planning.levels.bound_edits import edits_of_levels, outcomes
from maskwright.planning.warnings.misspelt_categories import misspelt_category_doubts
from maskwright.planning.warnings.publication_warnings import refuse_arithmetic_on_text
from maskwright.planning.warnings.wrong_edits import wrong_edit_doubts
from maskwright.release.levels.engine_validation import binary_sum_notices, engine_rules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.foundation.doubts import Doubt
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import DataSource, LevelSources, Pipeline, VariableUse


def encoding_notices(levels: LevelSources, files: Mapping[str, Dataset]) -> Iterator[Notice]:
    """Files whose letters beyond ASCII are all UTF-8, and that are read in another encoding, which takes any bytes."""
    for name, data in files.items():
        encoding = getattr(levels.sources[name].params, "encoding", None)
        if not isinstance(encoding, str) or encoding.lower().replace("_", "-") in ("utf-8", "utf8", "auto"):
            continue
        texts = {text for each in data.variables for text in each.categories if not text.isascii()}
        if texts and all(_is_utf8(text, encoding) for text in texts):
            message = (
                f"{levels.sources[name].name} is read as {encoding}, and its letters beyond ASCII are UTF-8: they are "
                f"taken for others (an umlaut for two signs). One `encoding` holds for the files of all levels: save "
                f"this one as {encoding}, or all as UTF-8"
            )
            yield Notice("other-encoding", "", message, level=name)


def _is_utf8(text: str, encoding: str) -> bool:
    try:
        text.encode(encoding).decode("utf-8")
    except (UnicodeError, LookupError):
        return False
    return True


AnyItem = TypeVar("AnyItem")


@dataclass(frozen=True, eq=False)
class LoadedLevels:
    """Data of several levels as they are before any step.

    `linked`: of the groups that are masked. `arrival`: verdicts on the files as they came: before groups were dropped,
    and before fields were mended. `standing`: verdicts on these as they are masked. `files`: as they were read, for how
    they are written; of a flat file the same twice. `rules`: as they are stated, before they are bound to levels.
    `records`: before groups that break edits were dropped. `mended`: under ``on_input_violation: localize``: which
    fields of which groups were adjusted. Confidential. `dropped`: records of groups that break edits and were dropped.
    """

    linked: LinkedData
    bound: BoundEdits
    arrival: Mapping[str, Outcome]
    standing: Mapping[str, Outcome]
    files: dict[str, Dataset]
    rules: EditSet
    records: Mapping[str, int]
    notices: tuple[Notice, ...] = ()
    doubts: tuple[Doubt, ...] = field(default=())
    mended: CorrectedLevels | None = None
    dropped: Mapping[str, int] = field(default_factory=dict)

    def is_known(self, doubt: Doubt) -> bool:
        """Whether what a doubt says of its subject was said when the levels were loaded."""
        return any(
            (each.kind, each.subject, each.level) == (doubt.kind, doubt.subject, doubt.level) for each in self.doubts
        )

    def forget_cells_of_files(self) -> None:
        """Let go of the cells of the files as they were read, wherever these data are held.

        They are copied where cells are published as they were; when the masked data are written, only names, order and
        form of the files are needed any more, and a large run is at its peak of memory after that.
        """
        for name, file in self.files.items():
            self.files[name] = file.taken(np.zeros(0, dtype=np.int64))


def load_levels(described: Pipeline, reporter: Reporter, clock: Clock) -> LoadedLevels:
    """Read and link the levels, bind the edits to them, and do with groups that break edits what the pipeline says."""
    if described.on_input_violation == "localize":
        refuse_deeper(tuple(described.level_sources.declared), "`on_input_violation: localize` locates errors in")
    levels = described.level_sources
    try:
        with with_further_mistakes(described):
            rules = read_rules(described)
            refuse_rules_on_identifiers(rules, levels)
    except InputError:
        # Rules that name elements are about none where the records are called otherwise: that comes first.
        for each in levels.sources.values() if levels.form == "nested" else ():
            each.source.open(each.path, each.params, silent)
        raise

    def read(source: DataSource) -> Dataset:
        with stage(reporter, f"Reading {source.name}") as progress:
            return load(source, progress, may_lack="anything")

    with clock("read"):
        with with_further_mistakes(described):
            files = files_of(levels, read)
        wrong = _unknown(levels, files, [use for use in described.uses if not is_composition(use.name)])
        if wrong:
            raise InputError(in_order(wrong, described.file))
        linked = linked_as(levels, files)
    doubts, notices = forgotten_variables(described, linked)
    with reasons_first(doubts, described.waivers):
        loaded = _checked(described, linked, rules, files, reporter, clock)
    return replace(loaded, doubts=(*doubts, *loaded.doubts), notices=(*loaded.notices, *notices))


def _checked(
    described: Pipeline,
    linked: LinkedData,
    rules: EditSet,
    files: dict[str, Dataset],
    reporter: Reporter,
    clock: Clock,
) -> LoadedLevels:
    """Linked levels with their edits, after what the pipeline says is done with groups that break them."""
    with clock("check"), stage(reporter, "Checking the original"):
        rules = as_stated(rules, linked)
        bound = edits_of_levels(rules, linked)
        arrival = outcomes(linked, bound)
    for level in linked:
        refuse_arithmetic_on_text(bound.edits[level.name], with_linked_columns(linked, bound, level.name))
    sums = binary_sum_notices(linked, bound) if described.level_sources.form == "nested" else ()
    found = _as_an_engine_finds(described, linked, bound, arrival, reporter)
    arrival = dict(found.arrival)
    notes = (
        *identifier_notices(dropped_identifiers(described.level_sources)),
        *notices_of("reading", linked.notes),
        *sums,
        *found.notices,
        *encoding_notices(described.level_sources, files),
        *notices_of("reading", _once(note for each in files.values() for note in each.notes)),
    )
    records = {level.name: len(level) for level in linked}
    wrong = _once(
        doubt.on(level.name)
        for level in linked if any(each.violations for each in arrival[level.name].edits)
        for doubt in wrong_edit_doubts(
            arrival[level.name].edits, bound.edits[level.name], with_columns_of_rules(linked, bound, level.name),
            [edit.name for edit in bound.edits[level.name] if is_of_structure(bound, edit)],
        )
    )  # fmt: skip
    misspelt = tuple(
        doubt.on(level.name)
        for level in linked for doubt in misspelt_category_doubts(bound.edits[level.name], level.data)
    )  # fmt: skip
    with reasons_first((*wrong, *misspelt), described.waivers):
        done = on_violation(described, linked, files, bound, found)
    linked, stated = done.linked, done.notices
    if stated:
        bound = edits_of_levels(rules, linked)
    standing = outcomes(linked, bound) if stated else arrival
    mended = None
    if described.on_input_violation == "localize":
        with clock("localize"), stage(reporter, "Locating errors"):
            trusted = _trust(described.level_sources, linked)
            mended = corrected_levels(linked, bound, trusted, described.execution.workers)
        linked, stated = mended.linked, (*stated, *mended.notices)
        bound = edits_of_levels(rules, linked)
        standing = outcomes(linked, bound)
    doubts = _once((*(doubt for each in files.values() for doubt in each.doubts), *wrong, *misspelt, *done.doubts))
    notices = (*notes, *notices_of("rules", rules.notes), *stated)
    return LoadedLevels(linked, bound, arrival, standing, files, rules, records, notices, doubts, mended, done.dropped)


def files_of(levels: LevelSources, read: Callable[[DataSource], Dataset]) -> dict[str, Dataset]:
    """The file of each level; one that holds all levels as rows is read once."""
    if levels.form == "flat":
        return dict.fromkeys(levels.sources, read(next(iter(levels.sources.values()))))
    return {name: read(source) for name, source in levels.sources.items()}


def linked_as(levels: LevelSources, files: Mapping[str, Dataset]) -> LinkedData:
    """Levels of files in one of the three forms."""
    names = {name: source.name for name, source in levels.sources.items()}
    levels = without_dropped(levels, {name: file.names for name, file in files.items()})
    problems = _unknown(levels, files, levels.uses)
    refuse_problems(problems)
    if levels.form == "flat":
        lowest = list(files)[-1]
        return levels_of_flat(files[lowest], levels.declared, names[lowest])
    return linked_levels(files, levels.declared, names)


def _unknown(levels: LevelSources, files: Mapping[str, Dataset], uses: Sequence[VariableUse]) -> list[Problem]:
    """A problem for each name, of the levels or used, that no file has; identifiers are in a file, and not read."""

    def wrong(names: Mapping[str, tuple[str, ...]]) -> list[Problem]:
        every = list(dict.fromkeys(name for own in names.values() for name in own))
        return [*wrong_level_names(levels, names), *unknown_uses(uses, every)]

    names = {name: file.names for name, file in files.items()}
    # A file is looked at a second time only for a name that was not read: the names of an XML file take a whole pass.
    if wrong(names):
        for level, source in levels.sources.items():
            named = names_in(source) or ()
            hidden = (name for name, each in source.variables.items() if each.is_identifier and name in named)
            names[level] = tuple(dict.fromkeys((*names[level], *hidden)))
    return wrong(names)


def _as_an_engine_finds(
    described: Pipeline, linked: LinkedData, bound: BoundEdits, arrival: Mapping[str, Outcome], reporter: Reporter
) -> FalseOnMissing:
    """Verdicts on the original, with the tests of Schematron that are false where cells are missing."""
    rules = engine_rules(described)
    if rules is None:
        return FalseOnMissing(arrival)
    with stage(reporter, "Asking the engine about missing cells") as progress:
        return false_on_missing(described.level_sources, rules.edits, rules.limits, linked, bound, arrival, progress)


def _trust(levels: LevelSources, linked: LinkedData) -> dict[str, float]:
    """How much each variable of a level is trusted."""
    declared = {name: each for source in levels.sources.values() for name, each in source.variables.items()}
    return {name: declared[name].reliability for level in linked for name in level.data.names if name in declared}


def _once(items: Iterable[AnyItem]) -> tuple[AnyItem, ...]:
    return tuple(dict.fromkeys(items))
