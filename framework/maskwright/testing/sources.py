"""Checks of sources: what they write they read again, and what is no file of theirs they refuse in words."""

from __future__ import annotations

import tempfile
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maskwright.commands.reading import load
from maskwright.data.dataset import Layout
from maskwright.foundation.errors import InputError, WrittenOtherwise
from maskwright.foundation.progress import Progress, silent
from maskwright.pipeline.resolved import DataSource
from maskwright.plugins.registry import plugins
from maskwright.plugins.source import batches_of
from maskwright.release.data_file import write_dataset, written_data
from maskwright.release.round_trip_check import refuse_difference
from maskwright.testing.checks import (
    DEFAULTS,
    NO_EXCUSES,
    Check,
    Excuses,
    Params,
    check_described,
    checks_of_all,
    collected,
    params_of,
    require,
)
from maskwright.testing.conduct import (
    check_calls,
    prints_nothing,
    recognisable_values,
    reveals_no_values,
    without_network,
)
from maskwright.testing.pipeline_runs import offered
from maskwright.testing.sample_data import (
    Table,
    awkward_tables,
    counted_tables,
    damaged,
    recognisable_table,
    usual_tables,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from _pytest.mark.structures import ParameterSet

    from maskwright.data.dataset import Dataset
    from maskwright.plugins.source import Source

_NO_SAMPLES: Mapping[str, Path] = {}
_NO_RECORDS: Mapping[str, int] = {}


def source_checks(
    sources: Sequence[Source],
    *,
    params: Params = DEFAULTS,
    samples: Mapping[str, Path] = _NO_SAMPLES,
    records: Mapping[str, int] = _NO_RECORDS,
    excuses: Excuses = NO_EXCUSES,
) -> list[ParameterSet]:
    """Collect checks that sources keep their contract, for ``@pytest.mark.parametrize("check", ...)``.

    Parameters
    ----------
    sources : sequence of Source
    params : mapping of source name to parameters
        To read with; left out: the parameter model's defaults.
    samples : mapping of source name to Path
        A file of made-up records, of a format that is only read, or that writes only what it has read before. Tables of
        the kit's own are written by all others.
    records : mapping of source name to int
        How many records its sample holds: of a file that it did not write, only who made the file knows.
    excuses : mapping of check name, or "source-check", to reason
        Checks that are known to fail; strict: an excuse that is no longer needed fails.

    Returns
    -------
    list of pytest.param
        Each holds a function without arguments.
    """

    def checks(source: Source) -> Iterator[tuple[str, Check]]:
        yield from _Trial(source, params, samples.get(source.name), records.get(source.name)).checks()

    return collected(checks_of_all("source", sources, checks), excuses)


class _Trial:
    """A source and what it is tried with."""

    def __init__(self, source: Source, given: Params, sample: Path | None, records: int | None) -> None:
        self._source, self._given, self._sample, self._count = source, given, sample, records

    def checks(self) -> Iterator[tuple[str, Check]]:
        source = self._source
        yield "parameters", partial(params_of, source, self._given)
        yield "documented", partial(check_described, source.name, source.summary, source.params)
        if source.content is not None or not source.suffixes:
            return  # it reads no files
        if source.format.not_written is not None and self._sample is None:
            yield "sample", self._needs_a_sample
        else:
            yield from self._of_files()
        yield "no_such_file", self._no_such_file
        yield "directory", self._directory
        yield "empty_file", self._empty_file

    def _of_files(self) -> Iterator[tuple[str, Check]]:
        if self._sample is None:
            for name, table in usual_tables():
                yield f"{name}_come_back" if name != "order" else "order_is_kept", partial(self._comes_back, table)
            for name, table in awkward_tables():
                yield name, partial(self._comes_back_or_is_refused, table)
            for name, table in counted_tables():
                yield name, partial(self._counted, table)
            yield "no_records", self._no_records
            yield "written_alike", self._same_bytes_twice
        else:
            yield "records_of_the_sample", self._sample_counted
        if self._source.format.not_written is None:
            yield "read_and_written_again", self._written_again
            yield "writes_one_file", self._writes_one_file
        yield "opens_twice", self._opens_twice
        yield "reading", self._reading
        yield "progress_is_a_share", self._progress
        yield "concurrent_calls", self._concurrent
        yield "prints_nothing", self._silent
        # What is cut and changed is known only when there is a file: the names are those of a text.
        for name, _ in damaged(b"text"):
            yield name, partial(self._damaged, name)

    def _params(self) -> Any:
        return params_of(self._source, self._given)

    @contextmanager
    def _folder(self) -> Iterator[Path]:
        """Name of a file in an empty folder."""
        with tempfile.TemporaryDirectory(prefix="maskwright-") as folder:
            yield Path(folder) / f"data{self._source.suffixes[0]}"

    @contextmanager
    def _file(self, seed: int = 13) -> Iterator[Path]:
        """File of the format, in a folder of its own."""
        with self._folder() as path:
            if self._sample is None:
                self._write(recognisable_table(seed).dataset(), path)
                yield path
            else:
                copied = path.with_name(self._sample.name)
                copied.write_bytes(self._sample.read_bytes())
                yield copied

    def _write(self, data: Dataset, path: Path, original: Dataset | None = None) -> None:
        if self._source.format.refuse_unwritable is not None:
            self._source.format.refuse_unwritable(path, data.variables, data.layout)
        write_dataset(data, path, self._source, original)

    def _file_of(self, path: Path, data: Dataset) -> DataSource:
        return written_data(path, self._source, self._params(), data.variables)

    def _loaded(self, path: Path) -> Dataset:
        """Dataset of a file of which nothing is declared."""
        return load(DataSource(path, self._source, self._params(), {}), identifiers=True)

    def _read(self, path: Path, progress: Progress = silent) -> tuple[list[Any], Layout]:
        """All batches of a file, and its layout."""
        reading = self._source.open(path, self._params(), progress)
        with batches_of(reading) as batches:
            found = list(batches)
        return found, reading.layout

    def _records(self, path: Path) -> list[Any]:
        batches, _ = self._read(path)
        return [record for batch in batches for record in batch.to_pylist()]

    def _comes_back(self, table: Table) -> None:
        data = table.dataset()
        with self._folder() as path:
            self._write(data, path)
            _same(data, load(self._file_of(path, data), identifiers=True), self._source)

    def _comes_back_or_is_refused(self, table: Table) -> None:
        data = table.dataset()
        with self._folder() as path:
            try:
                self._write(data, path)
                found = load(self._file_of(path, data), identifiers=True)
            except InputError as error:
                require(bool(str(error).strip()), "a refusal must say why")
                return
            _same(data, found, self._source)

    def _counted(self, table: Table) -> None:
        """As many records are read as were written: a reader that leaves one out cannot be noticed by the engine."""
        data = table.dataset()
        with self._folder() as path:
            try:
                self._write(data, path)
                found = len(self._records(path))
            except InputError as error:
                require(bool(str(error).strip()), "a refusal must say why")
                return
            _same_count(found, len(data))

    def _sample_counted(self) -> None:
        said = f"records={{{self._source.name!r}: N}}"
        require(self._count is not None, f"say how many records the sample holds, {said}: the kit cannot know")
        with self._file() as path:
            _same_count(len(self._records(path)), self._count or 0)

    def _no_records(self) -> None:
        """Nothing to write is written, or refused in words."""
        data = recognisable_table().dataset()
        none = data.taken(data.columns[0].values[:0].astype("int64"))
        with self._folder() as path:
            try:
                self._write(none, path)
                found = self._records(path)
            except InputError as error:
                require(bool(str(error).strip()), "a refusal must say why")
                return
            require(not found, "a file without records is read as one with records")

    def _same_bytes_twice(self) -> None:
        with self._file() as one, self._file() as other:
            require(one.read_bytes() == other.read_bytes(), "the same records, written twice, give different files")

    def _written_again(self) -> None:
        """What was read is written and read as it was, with the layout of the file."""
        with self._file() as path, self._folder() as again:
            data = self._loaded(path)
            target = again.with_name(path.name)
            self._write(data, target, data)
            _same(data, self._loaded(target), self._source)
            require(self._records(path) == self._records(target), "cells that no step touched are written otherwise")

    def _writes_one_file(self) -> None:
        with self._file() as path, self._folder() as again:
            data = self._loaded(path)
            target = again.with_name(path.name)
            self._write(data, target, data)
            found = sorted(each.name for each in target.parent.iterdir())
            require(found == [target.name], "write must leave one file, under the name that it was given")

    def _opens_twice(self) -> None:
        """A file is read several times, and not always to its end."""
        with self._file() as path:
            whole = self._records(path)
            reading = self._source.open(path, self._params(), silent)
            with batches_of(reading) as batches:
                next(batches, None)
            require(self._records(path) == whole, "a file that was not read to its end reads otherwise afterwards")
            first, second = (self._source.open(path, self._params(), silent) for _ in range(2))
            with batches_of(first) as ones, batches_of(second) as others:
                pairs = [(one.to_pylist(), other.to_pylist()) for one, other in zip(ones, others, strict=True)]
            require(all(one == other for one, other in pairs), "a file that is open twice reads otherwise")

    def _reading(self) -> None:
        """Batches have one schema, and the layout names the format and holds no values."""
        with self._file() as path:
            batches, layout = self._read(path)
        require(all(isinstance(batch, pa.RecordBatch) for batch in batches), "batches must be pyarrow.RecordBatch")
        require(bool(batches), "a file with records has batches")
        schema = batches[0].schema
        require(all(batch.schema.equals(schema) for batch in batches), "all batches must have the same schema")
        require(len(set(schema.names)) == len(schema.names), "names of columns must be unique")
        require(isinstance(layout, Layout), "layout must be a maskwright.Layout")
        require(layout.format == self._source.name, f"the format of the layout must be {self._source.name!r}")
        values = recognisable_table().frame["amount"].to_numpy()
        reveals_no_values(repr(dict(layout.details)), recognisable_values(values), "details of the layout")

    def _progress(self) -> None:
        shares: list[float] = []
        with self._file() as path:
            self._read(path, shares.append)
        require(all(0.0 <= share <= 1.0 for share in shares), "progress must be given a share between 0 and 1")
        require(shares == sorted(shares), "the share given to progress must not fall")

    def _concurrent(self) -> None:
        with self._file(1) as one, self._file(2) as two, self._file(3) as three, self._file(4) as four:
            check_calls(self._source.open, self._records, (one, two, three, four))
        if self._sample is None:
            check_calls(
                self._source.write, self._through, [recognisable_table(seed).dataset() for seed in (1, 2, 3, 4)]
            )

    def _through(self, data: Dataset) -> list[Any]:
        with self._folder() as path:
            self._write(data, path)
            return self._records(path)

    def _silent(self) -> None:
        with self._file() as path, without_network():
            prints_nothing(partial(self._records, path))
        if self._sample is None:
            with without_network():
                prints_nothing(partial(self._through, recognisable_table().dataset()))

    def _damaged(self, name: str) -> None:
        """Read as far as it can be, or refused in words that hold no value."""
        with self._file() as path:
            content = dict(damaged(path.read_bytes())).get(name)
            if content is None:
                return  # the format is not text, so it has no encoding
            path.write_bytes(content)
            self._is_refused(path, must=False)

    def _no_such_file(self) -> None:
        with self._folder() as path:
            self._is_refused(path)

    def _directory(self) -> None:
        with self._folder() as path:
            path.mkdir()
            self._is_refused(path)

    def _empty_file(self) -> None:
        with self._folder() as path:
            path.touch()
            self._is_refused(path)

    def _is_refused(self, path: Path, *, must: bool = True) -> None:
        try:
            found = self._records(path)
        except InputError as error:
            _check_refusal(error, path)
            return
        except Exception as error:
            message = f"{type(error).__name__}: a file that is not right is refused with maskwright.DataError"
            raise AssertionError(message) from error
        require(not must or not found, "what is no file of this format is read as one with records")

    def _needs_a_sample(self) -> None:
        raise AssertionError(f"the kit cannot write such files: give it one, samples={{{self._source.name!r}: Path}}")


def _check_refusal(error: InputError, path: Path) -> None:
    said = [f"{problem.place or ''} {problem.sentence}" for problem in error.problems]
    require(all(path.name in each for each in said), "a refusal must name the file: Problem(message, Place(str(path)))")
    values = recognisable_table().frame["amount"].to_numpy()
    reveals_no_values(str(error), recognisable_values(values), "refusals")


def _same_count(found: int, wanted: int) -> None:
    require(found == wanted, f"{found} records are read of a file with {wanted}: none may be left out or added")


def _same(meant: Dataset, found: Dataset, source: Source) -> None:
    """Require what the engine requires of every file that it releases."""
    known = source.name in plugins().sources
    try:
        with nullcontext() if known else offered([source]):
            refuse_difference(meant, found, source)
    except WrittenOtherwise as error:
        raise AssertionError(error.problems[0].sentence) from None
