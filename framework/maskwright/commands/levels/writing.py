"""Files that a run on several levels writes, and what is read back of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maskwright.commands.levels.arriving import linked_as
from maskwright.commands.reading import load
from maskwright.data.codebooks.writing import write_codebook
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import stage
from maskwright.masking.suppressing.rule_file import rule_file
from maskwright.release.codebook import release_codebook
from maskwright.release.data_file import write_dataset, write_nested, written_file
from maskwright.release.files import writing
from maskwright.release.levels.second_look import WrittenTable, second_look_at_levels
from maskwright.release.levels.tables import flat_table, joined_table, linked_tables, nested_tables
from maskwright.release.levels.written_cells import refuse_differences
from maskwright.release.second_look import is_read_twice

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from maskwright.commands.levels.published import PublishedEdits
    from maskwright.commands.running.arrive import Clock
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import LevelSources, Pipeline
    from maskwright.release.files import Release
    from maskwright.release.levels.arranging import ArrangedLevels
    from maskwright.release.record.run_record import RunRecord


@dataclass(frozen=True, eq=False)
class LevelFiles:
    """Files of a run on several levels, under the names they have until they are published.

    Attributes
    ----------
    described : Pipeline
        With levels.
    originals : mapping of level name to Dataset
        Files as they were read.
    release : Release
    reporter : Reporter
    clock : Clock
    """

    described: Pipeline
    originals: Mapping[str, Dataset]
    release: Release
    reporter: Reporter
    clock: Clock

    @property
    def _levels(self) -> LevelSources:
        assert self.described.levels is not None
        return self.described.levels

    def write_data(self, arranged: ArrangedLevels) -> None:
        """Write the masked data, in the form they came in, and the map from the old keys if it is asked for."""
        output = self.described.output
        canonical = output.numbers == "canonical"
        with self.clock("write"), stage(self.reporter, "Writing"):
            if output.key_map is not None:
                with writing(self.release.temporary("key_map")):
                    arranged.write_map(self.release.temporary("key_map"))
            if self._levels.form == "flat":
                file = next(iter(self.originals.values()))
                self._write_table("data", flat_table(arranged.linked, file), file, canonical=canonical)
                return
            if self._levels.form == "nested":
                self._write_nested(arranged.linked, canonical=canonical)
                return
            tables = linked_tables(arranged.linked, self.originals)
            for name, table in tables.items():
                self._write_table(f"data.{name}", table, self.originals[name], canonical=canonical)

    def _write_table(self, key: str, table: Dataset, original: Dataset, *, canonical: bool) -> None:
        path = self.release.temporary(key)
        with writing(path):
            write_dataset(table, path, self.described.output.source, original, canonical=canonical)
        self.release.sealed(key)

    def _write_nested(self, linked: LinkedData, *, canonical: bool) -> None:
        path, groups = self.release.temporary("data"), linked.levels[-1].groups
        assert groups is not None
        tables = nested_tables(linked, self.originals)
        with writing(path):
            write_nested(tables, groups, path, self.described.output.source, self.originals, canonical=canonical)
        self.release.sealed("data")

    def read_back(self, arranged: ArrangedLevels) -> LinkedData:
        """Read what was written as anyone would, and link it again.

        Raises
        ------
        InputError
            The files do not have the records that were masked, or nested ones a cell that is not what was meant.
        """
        files: dict[str, Dataset] = {}
        variables = [each for level in arranged.linked for each in level.data.variables]
        with self.clock("read back"):
            for name, source in self._levels.sources.items():
                if self._levels.form == "flat" and files:
                    files[name] = next(iter(files.values()))
                    continue
                key = f"data.{name}" if self._levels.form == "linked" else "data"
                pipeline = replace(self.described, data=source)
                file = written_file(self.release.temporary(key), pipeline, variables)
                with stage(self.reporter, "Reading back") as progress:
                    files[name] = load(file, progress, may_lack="anything")
            released = linked_as(self._levels, files)
        if any(len(a) != len(b) for a, b in zip(released, arranged.linked, strict=True)):
            raise InputError("the written data do not have the records that were masked")
        if self._levels.form == "nested":
            refuse_differences(arranged.linked, released)
        return released

    def look_again(
        self, arranged: ArrangedLevels, released: LinkedData, edits: PublishedEdits, found: Mapping[str, Outcome]
    ) -> tuple[str, ...]:
        """Judge the written tables a second time, by other means: it has the last word.

        Returns
        -------
        tuple of str
            Notices about edits that have no second opinion.

        Raises
        ------
        EvaluationsDisagree
            The two differ.
        """
        source = self.described.output.source
        if self._levels.form == "nested" or not is_read_twice(source):
            return ()
        if self._levels.form == "flat":
            name, file = list(self.originals.items())[-1]
            written = {name: ("data", flat_table(arranged.linked, file))}
        else:
            tables = linked_tables(arranged.linked, self.originals)
            written = {name: (f"data.{name}", table) for name, table in tables.items()}
        with stage(self.reporter, "Validating a second time"):
            looked = {
                name: WrittenTable(self.release.temporary(key), source, table) for name, (key, table) in written.items()
            }
            alone = second_look_at_levels(looked, released, edits.bound, found, edits.reference)
        count = sum(len(each.edits) for each in found.values())
        return (f"{len(alone)} of {count} edits have no second opinion: {', '.join(alone)}",) if alone else ()

    def write_rules(self, edits: PublishedEdits, arranged: ArrangedLevels) -> tuple[str, ...]:
        """Write the rules that hold in the published data, where they are asked for.

        Returns
        -------
        tuple of str
            Notices about rules that could not be written.
        """
        target = self.described.output.edits
        if target is None:
            return ()
        columns = tuple({column.name: column for level in arranged.linked for column in level.data}.values())
        text, notices = rule_file(target, edits.rules, columns, None)
        with writing(self.release.temporary("edits")):
            self.release.temporary("edits").write_text(text, encoding="utf-8")
        return notices

    def write_codebook(
        self, record: RunRecord, released: LinkedData, arranged: ArrangedLevels, recoded: Collection[str]
    ) -> None:
        """Write one codebook of the variables of all levels, where one is asked for.

        Parameters
        ----------
        record : RunRecord
        released : LinkedData
        arranged : ArrangedLevels
            With what is declared of the variables.
        recoded : collection of str
            Variables that are published as other categories.
        """
        target = self.described.output.codebook
        if target is None:
            return
        file = next(reversed(list(self.originals.values())))
        names = dict.fromkeys(name for each in self.originals.values() for name in each.names)
        table = joined_table(released, tuple(names), file)
        variables = tuple(each for level in arranged.linked for each in level.data.variables)
        book = release_codebook(
            self.described.output.data.name, record, table, variables, self.described.data.variables, set(recoded),
            released.levels[0].declared.key,
        )  # fmt: skip
        written = self.release.temporary("codebook")
        with writing(written):
            write_codebook(written, book, as_table=target.suffix.lower() == ".csv")
        self.release.sealed("codebook")
