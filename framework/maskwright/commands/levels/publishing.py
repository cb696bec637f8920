"""Publishing several levels: the edits that hold in the released data, and the files that are written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.levels.declarations import levels_of
from maskwright.commands.levels.loading import edits_of_levels, linked_as
from maskwright.commands.running.publish import write_release_codebook
from maskwright.commands.running.stages import check_round_trip
from maskwright.data.classes.classes import Classes
from maskwright.data.record_groups import shared_codes
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.structure import Structure, StructureColumn
from maskwright.edits.levels.structure_edits import spans_records, with_conditions
from maskwright.foundation.findings import Notice
from maskwright.foundation.progress import stage
from maskwright.masking.levels.suppression_state import dropped_names
from maskwright.release.codebook import HeldTexts
from maskwright.release.data_file import write_dataset, write_nested, written_file
from maskwright.release.files import writing
from maskwright.release.levels.arrangement import flat_table, joined_table, linked_tables, nested_tables
from maskwright.release.levels.reference_validation import WrittenTable, validate_levels_by_reference
from maskwright.release.reference_validation import has_reference_reader

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from maskwright.commands.levels.loading import LoadedLevels
    from maskwright.commands.levels.masking import MaskedLevels
    from maskwright.commands.running.loading import Clock
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import LevelSources, Pipeline
    from maskwright.release.files import Release
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


Written = tuple["Dataset", "Mapping[str, Any]"]
"""What a source was given, and those of its columns that are exactly as the original holds them."""


@dataclass(frozen=True, eq=False)
class LevelFiles:
    """Files of a run on several levels, under the names they have until they are published.

    `originals`: files as they were read.
    """

    described: Pipeline
    originals: Mapping[str, Dataset]
    release: Release
    reporter: Reporter
    clock: Clock

    @property
    def _levels(self) -> LevelSources:
        return levels_of(self.described)

    def write_data(self, arranged: ArrangedLevels) -> dict[str, Written]:
        """Write the masked data, in the form they came in, and the map from the old keys if it is asked for."""
        output = self.described.output
        canonical = output.numbers == "canonical"
        with self.clock("write"), stage(self.reporter, "Writing"):
            if output.key_map is not None:
                with writing(self.release.temporary("key_map")):
                    arranged.write_map(self.release.temporary("key_map"), self._first_rows())
            if self._levels.form == "flat":
                file = next(iter(self.originals.values()))
                return {"data": self._write_table("data", flat_table(arranged.linked, file), file, canonical=canonical)}
            if self._levels.form == "nested":
                return self._write_nested(arranged.linked, canonical=canonical)
            return {
                f"data.{name}": self._write_table(f"data.{name}", table, self.originals[name], canonical=canonical)
                for name, table in linked_tables(arranged.linked, self.originals).items()
            }

    def _first_rows(self) -> dict[str, NDArray[np.int64]] | None:
        """First rows of the groups of a flat file, ascending: groups are counted in this order, as on arrival."""
        if self._levels.form != "flat":
            return None
        file = next(iter(self.originals.values()))
        codes: list[NDArray[np.int64]] = []
        found = {}
        for name in [*self._levels.declared][:-1]:
            codes += shared_codes([file[self._levels.declared[name].key]])
            found[name] = np.sort(Classes.of(codes).first).astype(np.int64)
        return found

    def _write_table(self, key: str, table: Dataset, original: Dataset, *, canonical: bool) -> Written:
        path = self.release.temporary(key)
        with writing(path):
            held = write_dataset(table, path, self.described.output.source, original, canonical=canonical)
        self.release.sealed(key)
        return table, held

    def _write_nested(self, linked: LinkedData, *, canonical: bool) -> dict[str, Written]:
        """Write one file, from which each level is read with the key of its group."""
        path = self.release.temporary("data")
        groups = {level.name: level.groups for level in linked if level.groups is not None}
        tables = nested_tables(linked, self.originals)
        with writing(path):
            held = write_nested(tables, groups, path, self.described.output.source, self.originals, canonical=canonical)
        self.release.sealed("data")
        read = linked_tables(linked, self.originals)
        return {f"data.{name}": (table, held[name]) for name, table in read.items()}

    def read_back(self, arranged: ArrangedLevels, written: dict[str, Written]) -> LinkedData:
        """Read what was written as anyone would, compare it with what was given, and link it again."""
        files: dict[str, Dataset] = {}
        variables = [each for level in arranged.linked for each in level.data.variables]
        with self.clock("read back"):
            for name, source in self._levels.sources.items():
                if self._levels.form == "flat" and files:
                    files[name] = next(iter(files.values()))
                    continue
                key = "data" if self._levels.form == "flat" else f"data.{name}"
                path = self.release.temporary("data" if self._levels.form == "nested" else key)
                file = written_file(path, replace(self.described, data=source), variables)
                with stage(self.reporter, "Reading back") as progress:
                    files[name] = check_round_trip(file, *written.pop(key), progress)
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
        source = self.described.output.source
        if not has_reference_reader(source):
            return ()
        without_records = arranged.linked.taken(np.zeros(0, dtype=np.int64))
        if self._levels.form == "flat":
            name, file = list(self.originals.items())[-1]
            written = {name: ("data", flat_table(without_records, file))}
        else:
            tables = linked_tables(without_records, self.originals)
            key = "data" if self._levels.form == "nested" else "data.{}"
            written = {name: (key.format(name), table) for name, table in tables.items()}
        with stage(self.reporter, "Validating a second time"):
            profiled = {
                name: WrittenTable(self.release.temporary(key), source, table) for name, (key, table) in written.items()
            }
            alone = validate_levels_by_reference(profiled, released, edits.bound, found, edits.reference, by_engine)
        count = sum(len(each.edits) for each in found.values())
        message = f"{len(alone)} of {count} edits have no second opinion: {', '.join(alone)}"
        return (Notice("validated-once", "", message, len(alone), count),) if alone else ()

    def write_codebook(
        self, record: RunRecord, released: LinkedData, arranged: ArrangedLevels, recoded: Collection[str]
    ) -> None:
        """Write one codebook of the variables of all levels, where one is asked for."""
        if self.described.output.codebook is None:
            return
        file = next(reversed(list(self.originals.values())))
        names = dict.fromkeys(name for each in self.originals.values() for name in each.names)
        table = joined_table(released, tuple(names), file)
        variables = tuple(each for level in arranged.linked for each in level.data.variables)
        write_release_codebook(
            self.release, self.described, record, HeldTexts.of(table), variables, set(recoded),
            released.levels[0].declared.key,
        )  # fmt: skip
