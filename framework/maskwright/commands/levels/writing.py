"""Files that a run on several levels writes, and what is read back of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.levels.arriving import linked_as
from maskwright.commands.running.read_back import read_as_meant
from maskwright.data.codebooks.as_meant import refuse_otherwise
from maskwright.data.codebooks.writing import write_codebook
from maskwright.data.shared_codes import shared_codes
from maskwright.foundation.progress import stage
from maskwright.masking.suppressing.rule_file import rule_file
from maskwright.release.codebook import HeldTexts, release_codebook
from maskwright.release.data_file import write_dataset, write_nested, written_file
from maskwright.release.files import writing
from maskwright.release.levels.second_look import WrittenTable, second_look_at_levels
from maskwright.release.levels.tables import flat_table, joined_table, linked_tables, nested_tables
from maskwright.release.second_look import is_read_twice

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

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
        assert self.described.levels is not None
        return self.described.levels

    def write_data(self, arranged: ArrangedLevels) -> dict[str, Written]:
        """Write the masked data, in the form they came in, and the map from the old keys if it is asked for.

        Returns what was given to be written; of a nested file, each level as it is read.
        """
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

    def _first_rows(self) -> NDArray[np.int64] | None:
        """First row of each group of a flat file, ascending: groups are counted in this order, as on arrival."""
        if self._levels.form != "flat":
            return None
        key = next(iter(self._levels.declared.values())).key
        (codes,) = shared_codes([next(iter(self.originals.values()))[key]])
        return np.sort(np.unique(codes, return_index=True)[1]).astype(np.int64)

    def _write_table(self, key: str, table: Dataset, original: Dataset, *, canonical: bool) -> Written:
        path = self.release.temporary(key)
        with writing(path):
            held = write_dataset(table, path, self.described.output.source, original, canonical=canonical)
        self.release.sealed(key)
        return table, held

    def _write_nested(self, linked: LinkedData, *, canonical: bool) -> dict[str, Written]:
        """Write one file, from which each level is read with the key of its group."""
        path, groups = self.release.temporary("data"), linked.levels[-1].groups
        assert groups is not None
        tables = nested_tables(linked, self.originals)
        with writing(path):
            held = write_nested(tables, groups, path, self.described.output.source, self.originals, canonical=canonical)
        self.release.sealed("data")
        read = linked_tables(linked, self.originals)
        return {f"data.{name}": (table, held[name]) for name, table in read.items()}

    def read_back(self, arranged: ArrangedLevels, written: dict[str, Written]) -> LinkedData:
        """Read what was written as anyone would, compare it with what was given, and link it again.

        `written`: as `write_data` gives it; of a nested file, each level. What was compared is taken out: it is let go.
        """
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
                    files[name] = read_as_meant(file, *written.pop(key), progress)
            return linked_as(self._levels, files)

    def look_again(
        self,
        arranged: ArrangedLevels,
        released: LinkedData,
        edits: PublishedEdits,
        found: Mapping[str, Outcome],
        by_engine: Collection[str] = (),
    ) -> tuple[str, ...]:
        """Judge the written tables a second time, by other means: it has the last word.

        `by_engine`: names of the edits that an engine is asked about. Returns notices about edits that have no second
        opinion.
        """
        source = self.described.output.source
        if not is_read_twice(source):
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
            looked = {
                name: WrittenTable(self.release.temporary(key), source, table) for name, (key, table) in written.items()
            }
            alone = second_look_at_levels(looked, released, edits.bound, found, edits.reference, by_engine)
        count = sum(len(each.edits) for each in found.values())
        return (f"{len(alone)} of {count} edits have no second opinion: {', '.join(alone)}",) if alone else ()

    def write_rules(self, edits: PublishedEdits, arranged: ArrangedLevels) -> tuple[str, ...]:
        """Write the rules that hold in the published data, where they are asked for.

        Returns notices about rules that could not be written.
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

        `arranged`: with what is declared of the variables. `recoded`: variables that are published as other categories.
        """
        target = self.described.output.codebook
        if target is None:
            return
        file = next(reversed(list(self.originals.values())))
        names = dict.fromkeys(name for each in self.originals.values() for name in each.names)
        table = joined_table(released, tuple(names), file)
        variables = tuple(each for level in arranged.linked for each in level.data.variables)
        book = release_codebook(
            self.described.output.data.name, record, HeldTexts.of(table), variables, self.described.data.variables,
            set(recoded), released.levels[0].declared.key,
        )  # fmt: skip
        written = self.release.temporary("codebook")
        with writing(written):
            write_codebook(written, book, as_table=target.suffix.lower() == ".csv")
        refuse_otherwise(written, book)
        self.release.sealed("codebook")
