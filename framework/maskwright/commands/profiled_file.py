"""Files read with the options that they need, to be described: codes that seem to be missing ones, levels inside."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from maskwright.data.declaration import VariableDeclaration, declared_together, with_missing_codes
from maskwright.data.inference import read_dataset
from maskwright.data.profiling.column_profile import CellKinds, cell_kinds, uses_decimal_comma
from maskwright.data.profiling.level_advice import names_groups
from maskwright.data.record_groups import with_household_role
from maskwright.foundation.errors import DataError, InputError, Problem
from maskwright.foundation.files import note_read
from maskwright.foundation.progress import Progress, Reporter, part, silent, stage
from maskwright.plugins.source import batches_of, number_notation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from maskwright.data.dataset import Dataset, Layout
    from maskwright.data.notations import NumberNotation
    from maskwright.pipeline.resolved import DataSource


ALTERNATIVES: Mapping[str, tuple[object, ...]] = {
    "encoding": ("cp1252", "latin-1"),
    "delimiter": (";", "\t", "|", ","),
    "header": (False, True),
}
"""Options that are tried, in this order, where a file cannot be read without and its format has them."""

ONE_BYTE = ("cp1252", "latin-1")


@dataclass(frozen=True, eq=False)
class ProfiledFile:
    """A file as it was read.

    `file`: with the options that it needs. `codes`: texts that seem to mean 'no value', and that no one declared.
    `options`: options that were found: no one had given them. `mixed`: columns in which some cells are numbers and some
    are not.
    """

    file: DataSource
    data: Dataset
    codes: Mapping[str, tuple[str, ...]]
    options: Mapping[str, object]
    tried: tuple[str, ...]
    unsure: tuple[str, ...]
    mixed: Mapping[str, CellKinds]


@dataclass(eq=False)
class _Cells:
    """The batches of a file, and what the cells of its text columns look like."""

    batches: list[Any]
    layout: Layout
    kinds: Mapping[str, CellKinds]
    declared: Mapping[str, VariableDeclaration]
    notation: NumberNotation


def with_found_options(file: DataSource, progress: Progress) -> tuple[DataSource, tuple[str, ...]]:
    """A file with options that were not given and that it needs, and the decimal comma of its numbers."""
    note_read(file.path)
    unsure: list[str] = []
    cells, options, tried = _first_that_reads(file, progress)
    if _is_free(file, "decimal") and uses_decimal_comma(cells.kinds.values()):
        _with_decimal_comma(file, cells, options, tried, unsure, progress)
    return _with(file, options), (*(f"taken: {text}" for text in tried), *unsure)


def profile_file(file: DataSource, progress: Progress) -> ProfiledFile:
    """Read a file with the options that it needs, and with the missing codes that it seems to have."""
    note_read(file.path)
    unsure: list[str] = []
    reading = part(progress, 0.0, 0.7)
    cells, options, tried = _first_that_reads(file, reading)
    if "encoding" in options and options["encoding"] in ONE_BYTE:
        unsure.append(f"{options['encoding']} or another encoding of one byte: look at letters with accents")
    if "header" in options:
        message = "holds names" if options["header"] else "is a record, so that variables are called V1, V2, ..."
        unsure.append(f"whether the first row {message}")
    if "delimiter" in options:
        unsure.append(f"whether {options['delimiter']!r} is the delimiter")
    if file.codebook is not None:
        unsure.extend(file.codebook.guess())
    if _is_free(file, "decimal") and uses_decimal_comma(cells.kinds.values()):
        cells = _with_decimal_comma(file, cells, options, tried, unsure, reading)
    names = cells.batches[0].schema.names if cells.batches else ()
    known = declared_together(cells.declared, file.stated_of(names))
    stated = {name for name, each in known.items() if each.missing or each.type or each.categories}
    of_file = {code for code, _ in file.missing}
    found = {name: tuple(kinds.missing.keys() - of_file) for name, kinds in cells.kinds.items() if name not in stated}
    codes = {name: tuple(sorted(words)) for name, words in found.items() if words}
    mixed = {name: kinds for name, kinds in cells.kinds.items() if kinds.odd and name not in stated}
    declared = _declared(with_missing_codes(known, file.missing, names), codes, mixed)
    if file.cluster is not None:
        declared = with_household_role(declared, file.cluster)
    data = read_dataset(
        _taken(cells.batches), cells.layout, declared, part(progress, 0.8, 1.0), file.name, notation=cells.notation
    )
    return ProfiledFile(_with(file, options), data, codes, options, tuple(tried), tuple(unsure), mixed)


def _first_that_reads(file: DataSource, progress: Progress) -> tuple[_Cells, dict[str, object], list[str]]:
    try:
        return _read(file, progress), {}, []
    except DataError as error:
        first = error
    problem = first.problems[0]
    free = {name: values for name, values in ALTERNATIVES.items() if _is_free(file, name)}
    singles = [(name, value) for name, values in free.items() for value in values]
    encodings = [each for each in singles if each[0] == "encoding"]
    pairs = [(one, other) for one in encodings for other in singles if other[0] != "encoding"]
    useless: set[tuple[str, object]] = set()
    for candidate in [*((each,) for each in singles), *pairs]:
        if useless.intersection(candidate):
            continue
        options = dict(candidate)
        try:
            cells = _read(_with(file, options), progress, least=2 if "delimiter" in options else 1)
        except DataError as error:
            if len(candidate) == 1 and error.problems[0].anywhere == problem.anywhere:
                useless.add(candidate[0])
            continue
        if options.get("header") is False and not _starts_with_a_record(cells):
            continue
        message = " and ".join(f"{name}: {value!r}" for name, value in candidate)
        return cells, options, [f"{message}: without, {problem.sentence}"]
    raise first


def _starts_with_a_record(cells: _Cells) -> bool:
    """Whether the first row may be of the kind of the others, and names would be values: no text above numbers."""
    return not any(each.numbers > 1 and each.others == 1 for each in cells.kinds.values())


def _with_decimal_comma(
    file: DataSource, cells: _Cells, options: dict[str, object], tried: list[str], unsure: list[str], progress: Progress
) -> _Cells:
    count = sum(bool(each.commas) for each in cells.kinds.values())
    columns = "1 column has" if count == 1 else f"{count} columns have"
    try:
        found = _read(_with(file, {**options, "decimal": ","}), progress)
    except DataError as error:
        stated = error.problems[0].sentence
        unsure.append(f"{columns} numbers with a decimal comma, read as text, for with decimal: ',': {stated}")
        return cells
    options["decimal"] = ","
    tried.append(f"decimal: ',': {columns} numbers with a decimal comma")
    return found


def _read(file: DataSource, progress: Progress, least: int = 1) -> _Cells:
    """Read all batches of a file, of so many columns at least, and count what is in its text columns."""
    reading = file.source.open(file.path, file.params, part(progress, 0.0, 0.6))
    found: list[Any] = []
    with batches_of(reading) as batches:
        for batch in batches:
            if len(batch.schema.names) < least:
                raise DataError("the rows have one cell")
            found.append(batch)
    names = found[0].schema.names if found else []
    texts = [place for place in range(len(names)) if pa.types.is_string(found[0].schema.field(place).type)]
    kinds: dict[str, CellKinds] = {}
    notation = number_notation(reading)
    for place in texts:
        kinds[names[place]] = cell_kinds(pa.chunked_array([notation.plain(batch.column(place))[0] for batch in found]))
        progress(0.6 + 0.4 * (place + 1) / len(names))
    return _Cells(found, reading.layout, kinds, getattr(reading, "declared", {}), notation)


def _taken(batches: list[Any]) -> Iterator[Any]:
    """Batches that are let go one by one."""
    while batches:
        yield batches.pop(0)


def _declared(
    known: Mapping[str, VariableDeclaration], codes: Mapping[str, tuple[str, ...]], mixed: Collection[str]
) -> dict[str, VariableDeclaration]:
    declared = dict(known)
    for name in {*codes, *mixed}:
        before = declared.get(name, VariableDeclaration())
        missing = (*before.missing, *((code, "") for code in codes.get(name, ())))
        kind = "nominal" if name in mixed else before.type
        declared[name] = before.model_copy(update={"missing": missing, "type": kind})
    return declared


def _is_free(file: DataSource, option: str) -> bool:
    """Whether the format has an option that was not given."""
    return option in file.source.params.model_fields and option not in file.params.model_fields_set


def _with(file: DataSource, options: Mapping[str, object]) -> DataSource:
    stated = file.params.model_dump(exclude_unset=True)
    return replace(file, params=file.source.params.model_validate({**stated, **options})) if options else file


def read_profiled(file: DataSource, reporter: Reporter) -> ProfiledFile:
    """Read a file with the options that it needs, as a stage of its own."""
    with stage(reporter, f"Profiling {file.name}") as progress:
        return profile_file(file, progress)


def is_nested(file: DataSource) -> bool:
    """Whether a file has records inside its records, and no one has said which are to be read."""
    return len(_records_inside(file)) > 1


def _records_inside(file: DataSource) -> tuple[str, ...]:
    """Elements that are records, outermost first; none where no record is in another."""
    nested = file.source.nested
    if nested is None or "record" in file.params.model_fields_set:
        return ()
    elements = nested.open(file.path, file.params, silent).elements
    return () if elements is None else tuple(elements.records)


@dataclass(frozen=True, eq=False)
class LevelsInside:
    """Groups and their members in one file, the elements that are their records, and the key of the groups."""

    upper: ProfiledFile
    lower: ProfiledFile
    records: tuple[str, str]
    key: str


def levels_inside(file: DataSource, reporter: Reporter) -> LevelsInside:
    """Both levels of a nested file; the key is the first variable that may be one."""
    records = _records_inside(file)
    if len(records) != 2:  # one alone is no level
        hint = f"Declare them by hand: {', '.join(records)}; maskwright explain levels."
        raise InputError(Problem(f"{file.name} has records inside records inside records", hint=hint))
    top, low = records
    upper = read_profiled(_with(file, {"record": top, "members": (low,)}), reporter)
    key = next((each.name for each in upper.data if names_groups(each)), None)
    if key is None:
        hint = f"Levels need a key: add an element with a number of its own to each <{top}>."
        raise InputError(Problem(f"{file.name}: no variable of <{top}> identifies its records", hint=hint))
    lower = read_profiled(_with(file, {"record": low, "group": {top: key}}), reporter)
    return LevelsInside(upper, lower, (top, low), key)
