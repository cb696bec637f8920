"""Data and rule files read, for every command alike; data that a program has stand for their file."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa

from maskwright.commands.declared_variables import codebook_named, codebook_notices, without_extremes
from maskwright.commands.requests import (
    DeclaredVariables,
    data_request,
    declarations_of,
    rule_options,
)
from maskwright.data.dataset import Dataset, WrittenBatch
from maskwright.data.declaration import VariableDeclaration, declared_together, with_missing_codes
from maskwright.data.inference import read_dataset
from maskwright.data.parts.model import in_its_part
from maskwright.data.record_groups import with_household_role, with_households
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.foundation.errors import DataError, InputError, Place, Problem, refuse_problems
from maskwright.foundation.files import note_read
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.progress import Progress, silent
from maskwright.pipeline.resolved import DataInMemory, DataSource
from maskwright.pipeline.variable_names import names_in
from maskwright.plugins.registry import find_rule_language
from maskwright.plugins.source import number_notation, written_batches_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from maskwright.data.dataset import Column
    from maskwright.data.frame_libraries import Data
    from maskwright.edits.edit_set import EditSet
    from maskwright.plugins.source import Reading


UNTYPED_KEYS = frozenset({"role", "label", "unchanged", "reliability"})
"""Keys of a declaration that leave it to the file what its cells are."""


def held_without(data: DataSource, left_out: Collection[str], keys: Collection[str]) -> Dataset | None:
    """What is held of a file, without some variables; None where the file has to be read."""
    held = data.held
    hidden = frozenset(held.names if held is not None else ()) & frozenset(left_out)
    if held is None or keys:
        return None
    if not hidden:
        return held
    # What reading says may be of a variable that is left out; and where all that is left is text, numbers are looked
    # for in it. A number that no one declared says that the file has numbers, or that it is a file of text.
    kept = held.without(sorted(hidden))
    is_surely_typed_alike = held.of_file is None and any(_is_number_by_itself(data, column) for column in kept)
    return kept if is_surely_typed_alike and not held.notes and not held.doubts else None


def _is_number_by_itself(data: DataSource, column: Column) -> bool:
    declared = data.variables.get(column.name)
    return column.variable.is_numeric and (declared is None or declared.model_fields_set <= UNTYPED_KEYS)


MayLack = Literal["nothing", "identifiers", "anything"]


def read(
    path: str | Path,
    *,
    variables: DeclaredVariables | None = None,
    codebook: str | Path | None = None,
    file_format: str | None = None,
    cluster: str | None = None,
    **options: object,
) -> Dataset:
    """Read a file of microdata.

    Parameters
    ----------
    path : str or Path
        Of a format that `maskwright plugins` lists, by its ending.
    variables : mapping of name to declaration, optional
        ``{"V1": {"role": "weight"}}``; the rest is inferred.
    codebook : str or Path, optional
        A table (.csv) or DDI Codebook (.xml): what it says holds as far as `variables` does not say otherwise.
    file_format : str, optional
        Name of the source plugin, when the ending does not tell.
    cluster : str, optional
        Variable that identifies households: k and linkage then count households. Its role is `other` unless it is
        declared otherwise.
    **options
        Of the format: ``record="Record"`` (XML), ``delimiter=";"``, ``encoding="latin-1"`` (CSV).

    Returns
    -------
    Dataset
        Identifiers included; `Dataset.to_pandas` gives a DataFrame.

    Raises
    ------
    InputError
        An option or a declaration that cannot be.
    DataError
        The file is missing, damaged or hostile, or a column is part numbers, part text.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> pd.DataFrame({"age": range(20, 40), "region": ["north", "south"] * 10}).to_csv("people.csv", index=False)
    >>> mw.read("people.csv", variables={"age": {"role": "quasi_identifier"}}, delimiter=",")
    Dataset(20 records, 2 variables: age, region)
    """
    request = data_request(
        path, variables=variables, codebook=codebook, file_format=file_format, cluster=cluster, options=options
    )  # fmt: skip
    return load(request, identifiers=True)


def read_codebook(path: str | Path, encoding: str | None = None) -> dict[str, VariableDeclaration]:
    r"""Read a codebook: what it declares of each variable.

    Parameters
    ----------
    path : str or Path
        A table (.csv), or DDI Codebook 2.5 (.xml); ``maskwright explain codebooks``.
    encoding : str, optional
        Of a table that is not UTF-8.

    Returns
    -------
    dict of name to VariableDeclaration
        As ``mw.read(path, variables=...)`` and ``mw.protect(frame, declared=...)`` take it.

    Raises
    ------
    InputError
        With every mistake, each with its line.

    Examples
    --------
    >>> from pathlib import Path
    >>> import maskwright as mw
    >>> _ = Path("codebook.csv").write_text("variable,type,values\nsex,nominal,1=male|2=female", encoding="utf-8")
    >>> mw.read_codebook("codebook.csv")["sex"].labels
    (('1', 'male'), ('2', 'female'))
    """
    from maskwright.data.codebooks.files import read_codebook_file  # of codebooks alone

    return dict(read_codebook_file(Path(path), encoding).variables)


def read_edits(path: str | Path, language: str | None = None, **options: object) -> EditSet:
    """Read edits from a rule file.

    Parameters
    ----------
    path : str or Path
    language : str, optional
        ``yaml``, ``schematron``, ``validate``, ``banff`` or that of a plugin; by default the file's ending tells.
    **options
        Of the rule language, for instance ``phase="release"`` of Schematron; ``maskwright explain schematron``.

    Returns
    -------
    EditSet

    Raises
    ------
    EditError
        With every mistake: file, line, column, what was expected.

    Examples
    --------
    >>> from pathlib import Path
    >>> import maskwright as mw
    >>> _ = Path("rules.yaml").write_text("edits: ['age in [0, 120]', wages + pensions == income]", encoding="utf-8")
    >>> [edit.kind for edit in mw.read_edits("rules.yaml")]
    ['range', 'linear']
    """
    reader = find_rule_language(language or Path(path))
    return reader.read_with(Path(path), rule_options(reader, options))


def load(
    data: DataSource | DataInMemory,
    progress: Progress = silent,
    *,
    identifiers: bool = False,
    keys: Collection[str] = (),
    may_lack: MayLack = "nothing",
    again: bool = False,
) -> Dataset:
    """Dataset of a file or of what a program has."""
    declared = dict(data.variables)
    if data.cluster is not None:
        declared = with_household_role(declared, data.cluster)
    named = {name for name, each in declared.items() if each.is_identifier} - set(keys)
    declared |= {name: _key(declared[name]) for name in keys if name in declared}
    if isinstance(data, DataInMemory):
        read = _in_memory(data, _present(declared, may_lack, names_in(data) or ()))
        named |= {column.name for column in read if column.variable.role == "identifier"} - set(keys)
    else:
        left_out = set() if identifiers else named - {data.cluster}
        held = held_without(data, left_out, keys)
        read = _from_file(data, declared, progress, left_out, may_lack, again=again) if held is None else held
    if data.cluster is not None:
        read = with_households(read, data.cluster)
    return read if identifiers else read.without([name for name in read.names if name in named])


def dataset_of(data: Data, declared: DeclaredVariables | None = None, argument: str = "data") -> Dataset:
    """Dataset of what a program has, identifiers included; a Dataset as it is, declared when it was made."""
    from maskwright.data.frame_libraries import taken_in  # of data frames alone

    held = taken_in(data, argument).data
    known = declarations_of(declared, names=names_in(DataInMemory(held)) or ()).variables
    if isinstance(held, Dataset):
        return held
    return load(DataInMemory(held, known), identifiers=True, may_lack="identifiers")


def domain_of(original: Data | None, declared: DeclaredVariables | None, edits: EditSet) -> Domain | None:
    """Values of the original that domain edits ask for; None where no original is given."""
    if original is None:
        return None
    return Domain.from_dataset(dataset_of(original, declared, "original"), domain_tuples(edits))


def _key(declared: VariableDeclaration) -> VariableDeclaration:
    """Declaration of a key: whatever its cells look like, they are texts that are alike or are not."""
    return declared.model_copy(update={"type": "nominal", "decimals": None, "min": None, "max": None})


def _present(
    declared: Mapping[str, VariableDeclaration], may_lack: MayLack, names: Collection[str]
) -> dict[str, VariableDeclaration]:
    """Declarations without those of variables that are absent and may be."""
    return {
        name: each
        for name, each in declared.items()
        if name in names or may_lack == "nothing" or (may_lack == "identifiers" and not each.is_identifier)
    }


def _in_memory(data: DataInMemory, declared: Mapping[str, VariableDeclaration]) -> Dataset:
    from maskwright.data.frame_libraries import dataset_from_table  # of data frames alone
    from maskwright.data.frames import dataset_from_frame  # of data frames alone

    if not isinstance(data.data, Dataset):
        names = names_in(data) or ()
        unknown = [
            Problem(unknown_name("variable", name, names), Place("argument declared"))
            for name in declared
            if name not in names and name != data.cluster
        ]
        refuse_problems(unknown)
        make = dataset_from_table if isinstance(data.data, pa.Table) else dataset_from_frame
        return make(data.data, declared)
    if declared:
        hint = "say it where it is made: mw.read(path, variables={...}, cluster=...)"
        raise InputError(
            Problem("a Dataset was declared when it was made: nothing more can be declared of it", hint=hint)
        )
    return data.data


def _from_file(
    data: DataSource,
    declared: Mapping[str, VariableDeclaration],
    progress: Progress,
    left_out: set[str],
    may_lack: MayLack,
    *,
    again: bool,
) -> Dataset:
    """Read a file, but for these variables."""

    def read(open_file: Callable[[Path, Any, Progress], Reading]) -> Dataset:
        reading = open_file(data.path, data.params, progress)
        return _from_reading(reading, data, declared, left_out, may_lack, again=again)

    note_read(data.path)
    if data.source.open_once is not None:
        # Mistakes are looked at again, because a variable may stand in later records only.
        with contextlib.suppress(InputError):
            return read(data.source.open_once)
    return read(data.source.open)


def _from_reading(
    reading: Reading,
    data: DataSource,
    declared: Mapping[str, VariableDeclaration],
    left_out: set[str],
    may_lack: MayLack,
    *,
    again: bool,
) -> Dataset:
    with written_batches_of(reading) as batches:
        first = next(batches, None)
        if first is None:
            return read_dataset((), lambda: reading.layout, declared, file=data.name)
        names = first.cells.schema.names
        hidden = frozenset(names) & left_out
        kept = (_without(batch, hidden) for batch in itertools.chain((first,), batches))
        of_file: Mapping[str, VariableDeclaration] | None = getattr(reading, "declared", None)
        absent = data.described_only - frozenset(names)
        there = {name: each for name, each in declared.items() if name not in absent}
        together = declared_together(of_file or {}, there)
        stated = {name: each for name, each in together.items() if name not in hidden}
        known = with_missing_codes(_present(stated, may_lack, names), data.missing, frozenset(names) - hidden)
        given, notation = codebook_notices(data, names), number_notation(reading)
        with codebook_named(data.codebook), located_in_parts(reading):
            read = read_dataset(kept, lambda: reading.layout, known, file=data.name, notation=notation, again=again)
        reported = None if of_file is None else {name: each for name, each in of_file.items() if name not in hidden}
        return without_extremes(replace(read, notes=(*given, *read.notes), of_file=reported), data)


@contextlib.contextmanager
def located_in_parts(reading: Reading) -> Iterator[None]:
    """Name with a mistake in a record of a dataset in parts the file that it is in, and its row there."""
    try:
        yield
    except DataError as error:
        parts = reading.layout.details.get("parts")
        if parts is None:
            raise
        raise type(error)([in_its_part(each, parts) for each in error.problems]) from None


def _without(batch: WrittenBatch, hidden: frozenset[str]) -> WrittenBatch:
    """Batch without these columns."""
    if not hidden:
        return batch
    written = {name: cells for name, cells in batch.written.items() if name not in hidden}
    return WrittenBatch(batch.cells.drop_columns(sorted(hidden)), written)


def refuse_xpath_on_commas(edits: EditSet, sources: Iterable[DataSource]) -> None:
    """Refuse tests of Schematron on a document whose numbers have commas: to XPath, none of them is a number.

    Files that hold no documents are another matter: no engine reads them, and their numbers are evaluated as numbers.
    """
    first = next((edit for edit in edits if edit.assertion is not None), None)
    if first is None:
        return
    for each in sources:
        if each.source.nested is not None and getattr(each.params, "decimal", ".") == ",":
            message = f"edit {first.name!r} is Schematron, which reads numbers with a point, and {each.name} has commas"
            hint = "Hold the rules in YAML (`maskwright edits RULES --to yaml`), or write the file with points."
            raise InputError(Problem(message, first.place, hint))
