"""Publishing several levels: the edits that hold in the released data, and the files that are written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.levels.loading import linked_as
from maskwright.commands.running.publish import write_release_codebook
from maskwright.data.classes.classes import Classes
from maskwright.data.record_groups import shared_codes
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.structure import Structure, StructureColumn
from maskwright.edits.levels.structure_edits import spans_records, with_conditions
from maskwright.foundation.progress import stage
from maskwright.masking.levels.suppression_state import dropped_names
from maskwright.planning.levels.bound_edits import edits_of_levels
from maskwright.release.codebook import HeldTexts
from maskwright.release.levels.arrangement import flat_table, joined_table, linked_tables, nested_tables
from maskwright.release.levels.reference_validation import WrittenTable, validate_levels_by_reference
from maskwright.release.output_format import as_read_back, in_output_format, with_new_codes
from maskwright.release.reference_validation import has_reference_reader, validated_once_notices

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from maskwright.commands.levels.loading import LoadedLevels
    from maskwright.commands.levels.masking import MaskedLevels
    from maskwright.commands.running.release_files import ReleaseFiles, Written
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.foundation.findings import Notice
    from maskwright.pipeline.resolved import LevelSources
    from maskwright.release.levels.arrangement import ArrangedLevels
    from maskwright.release.record.run_record import RunRecord


@dataclass(frozen=True, eq=False)
class PublishedEdits:
    """Edits that hold in what is published.

    `rules`: the same as rules that can be written, without those that linking rests on. `reference`: the original,
    recoded alike: what edits on combinations in the original refer to. `not_applicable`: records that an edit across
    levels is not about, because a cell that it reads was suppressed.
    """

    bound: BoundEdits
    rules: EditSet
    reference: LinkedData
    not_applicable: Mapping[str, int]


def published_edits(loaded: LoadedLevels, masked: MaskedLevels) -> PublishedEdits:
    """Edits of a run as they hold of its masked data.

    An edit on one record holds as its level says; one across records when the cells that it reads are there.
    """
    stated = masked.planned.loaded.bound
    levels = {edit.name: name for name, edits in stated.edits.items() for edit in edits}
    gone = {name for result in masked.results.values() for name in dropped_names(result)}
    gone |= {edit.name for ready in masked.planned.ready.values() for edit in ready.dropped}
    kept = EditSet(
        tuple(
            masked.planned.translated.get(edit.name, edit) for edit in loaded.rules
            if edit.name in levels and edit.name not in gone
        ),
        loaded.rules.notes,
    )  # fmt: skip
    spanning = {edit.name for edits in stated.edits.values() for edit in edits if spans_records(stated, edit)}
    rules = with_conditions(
        kept, {name: level for name, level in levels.items() if name in spanning}, Structure.of(masked.linked),
        {source for source, cells in masked.emptied.cells.items() if cells.any()},
    )  # fmt: skip
    bound = edits_of_levels(rules, loaded.linked)
    translated = {
        each.original.name for result in masked.results.values() if result.terms is not None
        for each in result.terms.translations
    } | {each.original.name for ready in masked.planned.ready.values() for each in ready.plan.translations}  # fmt: skip
    own = {
        (name, edit.name): edit
        for name, result in masked.results.items() for edit in result.edits
        if edit.name not in spanning or edit.name in translated
    }  # fmt: skip
    edits = {
        name: EditSet(tuple(own.get((name, edit.name), edit) for edit in each if edit.name in levels
                            and edit.name not in gone), each.notes)
        for name, each in bound.edits.items()
    }  # fmt: skip
    bound = replace(bound, edits=edits)
    return PublishedEdits(
        bound, _written(rules, bound, own), _recoded_original(loaded, masked),
        _not_applicable(bound, spanning, masked),
    )  # fmt: skip


def _recoded_original(loaded: LoadedLevels, masked: MaskedLevels) -> LinkedData:
    """The original with the variables that are recoded as they are published: without the records that are left out."""
    recoding = {name: result.terms for name, result in masked.results.items() if result.terms is not None}
    if not recoding:
        return loaded.linked
    left = masked.planned.loaded.linked
    changed = {}
    for name, terms in recoding.items():
        columns = {each: terms.reference[each] for each in terms.variables}
        if any(len(column) != len(left[name]) for column in columns.values()):
            columns = {each: column.taken(masked.rows[name]) for each, column in columns.items()}
        changed[name] = left[name].data.with_columns(columns)
    return left.with_data(changed)


def _written(rules: EditSet, bound: BoundEdits, own: Mapping[tuple[str, str], Edit]) -> EditSet:
    """Rules to write: as they are stated where they are unchanged, and declared bounds cross_level."""
    stated = {edit.name: edit for edit in rules}
    structure = {
        column.name for columns in bound.columns.values() for column in columns if isinstance(column, StructureColumn)
    }
    found = []
    for name, edits in bound.edits.items():
        for edit in edits:
            changed = own.get((name, edit.name))
            plain = stated.get(edit.name, edit)
            if structure.isdisjoint(edit.variables):
                found.append(plain if changed is None or changed.text == plain.text else changed)
    order = {name: place for place, name in enumerate(stated)}
    return EditSet(tuple(sorted(found, key=lambda edit: order.get(edit.name, len(order)))))


def _not_applicable(bound: BoundEdits, spanning: set[str], masked: MaskedLevels) -> dict[str, int]:
    """Records of which an edit across levels says nothing, though it would if no cell were suppressed."""
    counts: dict[str, int] = {}
    if not masked.emptied.cells:
        return counts
    for name, edits in bound.edits.items():
        requested = EditSet(tuple(edit for edit in edits if edit.name in spanning and edit.when is not None))
        if not len(requested):
            continue
        fired = []
        for linked in (masked.emptied.shown, masked.linked):
            data = with_linked_columns(linked, bound, name)
            outcome = check_dataset(data, requested, Domain.from_dataset(data, domain_tuples(requested)))
            fired.append(np.array([each.fired for each in outcome.edits]))
        for edit, lost in zip(requested, (fired[0] - fired[1]).tolist(), strict=True):
            if lost:
                counts[edit.name] = lost
    return counts


@dataclass(frozen=True, eq=False)
class LevelFiles:
    """Files of a run on several levels, under the names they have until they are published.

    `originals`: files as they were read.
    """

    files: ReleaseFiles
    originals: Mapping[str, Dataset]

    @property
    def _levels(self) -> LevelSources:
        return self.files.described.level_sources

    def in_output_format(
        self, arranged: ArrangedLevels, masked: MaskedLevels, edits: PublishedEdits
    ) -> tuple[ArrangedLevels, PublishedEdits, tuple[Notice, ...]]:
        """Levels and edits as the files are to hold them, and notices; the map from the old keys is written before."""
        self.files.write_key_map(lambda path: arranged.write_map(path, self._first_rows()))
        changed: dict[str, Dataset] = {}
        renamed: dict[str, Mapping[str, str]] = {}
        notices: list[Notice] = []
        for level in arranged.linked:
            recoded = masked.planned.every[level.name].plan.recoded
            changed[level.name], own, found = in_output_format(
                level.data, self.files.described.output, edits.rules, recoded
            )
            for name, codes in own.items():
                renamed |= {name: codes, f"{level.name}.{name}": codes}
            notices += [each.on(level.name) for each in found]
        arranged = replace(arranged, linked=arranged.linked.with_data(changed))
        own_edits = {name: with_new_codes(each, renamed) for name, each in edits.bound.edits.items()}
        edits = replace(
            edits, bound=replace(edits.bound, edits=own_edits), rules=with_new_codes(edits.rules, renamed)
        )  # fmt: skip
        return arranged, edits, tuple(notices)

    def write_data(self, arranged: ArrangedLevels) -> dict[str, Written]:
        """Write the masked data, in the form they came in."""
        if self._levels.form == "nested":
            return self._write_nested(arranged.linked)
        return {
            name: (table, self.files.write(self._key(name), table, self.originals[name]))
            for name, table in self._tables(arranged.linked).items()
        }  # fmt: skip

    def _tables(self, linked: LinkedData) -> dict[str, Dataset]:
        """Table of each file, by its lowest level."""
        if self._levels.form != "flat":
            return linked_tables(linked, self.originals)
        name, file = list(self.originals.items())[-1]
        return {name: flat_table(linked, file)}

    def _key(self, level: str) -> str:
        """Key of the output that holds the records of a level."""
        return f"data.{level}" if self._levels.form == "linked" else "data"

    def _first_rows(self) -> dict[str, NDArray[np.int64]] | None:
        """First rows of the groups of a flat file, ascending: groups are counted in this order, as in the original."""
        if self._levels.form != "flat":
            return None
        file = next(iter(self.originals.values()))
        codes: list[NDArray[np.int64]] = []
        found = {}
        for name in [*self._levels.declared][:-1]:
            codes += shared_codes([file[self._levels.declared[name].key]])
            found[name] = np.sort(Classes.of(codes).first).astype(np.int64)
        return found

    def _write_nested(self, linked: LinkedData) -> dict[str, Written]:
        """Write one file, from which each level is read with the key of its group."""
        groups = {level.name: level.groups for level in linked if level.groups is not None}
        held = self.files.write_nested(nested_tables(linked, self.originals), groups, self.originals)
        return {name: (table, held[name]) for name, table in linked_tables(linked, self.originals).items()}

    def read_back(self, arranged: ArrangedLevels, written: dict[str, Written], edits: PublishedEdits) -> LinkedData:
        """Read what was written as anyone would, compare it with what was given, and link it again."""
        files: dict[str, Dataset] = {}
        variables = [each for level in arranged.linked for each in level.data.variables]
        output, sources = self.files.described.output, self._levels.sources
        for name in [*written]:
            read = self.files.read_back(self._key(name), sources[name], written.pop(name), variables)
            files[name] = as_read_back(read, output, edits.rules, self.originals[name])
        if self._levels.form == "flat":
            files = dict.fromkeys(sources, *files.values())
        with self.files.clock("read back"):
            return linked_as(self._levels, files)

    def reference_verdicts(
        self,
        arranged: ArrangedLevels,
        released: LinkedData,
        edits: PublishedEdits,
        found: Mapping[str, Outcome],
        by_engine: Collection[str] = (),
    ) -> tuple[Notice, ...]:
        """Judge the written tables a second time, by other means: it has the last word."""
        source = self.files.described.output.source
        if not has_reference_reader(source):
            return ()
        tables = self._tables(arranged.linked.taken(np.zeros(0, dtype=np.int64)))
        with stage(self.files.reporter, "Validating a second time"):
            profiled = {
                name: WrittenTable(self.files.release.temporary(self._key(name)), source, table)
                for name, table in tables.items()
            }
            alone = validate_levels_by_reference(profiled, released, edits.bound, found, edits.reference, by_engine)
        return tuple(validated_once_notices(alone, sum(len(each.edits) for each in found.values())))

    def write_codebook(
        self, record: RunRecord, released: LinkedData, arranged: ArrangedLevels, recoded: Collection[str]
    ) -> None:
        """Write one codebook of the variables of all levels, where one is asked for."""
        if self.files.described.output.codebook is None:
            return
        file = next(reversed(list(self.originals.values())))
        names = dict.fromkeys(name for each in self.originals.values() for name in each.names)
        table = joined_table(released, tuple(names), file)
        variables = tuple(each for level in arranged.linked for each in level.data.variables)
        write_release_codebook(
            self.files.release, self.files.described, record, HeldTexts.of(table), variables, set(recoded),
            released.levels[0].declared.key,
        )  # fmt: skip
