"""What a source is: a file format that is read and written in bounded memory, and what it can hold."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

from maskwright.foundation.errors import InputError
from maskwright.foundation.no_params import NoParams
from maskwright.foundation.progress import silent
from maskwright.plugins.legal_values import frozen_sets

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.dataset import Layout, WrittenBatch
    from maskwright.data.levels.linked_data import NestedDocument, NestedElements
    from maskwright.data.notations import NumberNotation
    from maskwright.data.variable import Variable
    from maskwright.foundation.progress import Progress
    from maskwright.plugins.legal_values import Unheld


class Reading(Protocol):
    """A file opened for reading.

    A reading may also have ``written_batches()``, which yields `WrittenBatch` where `batches` yields record batches: a
    column that no step changes is then written as the file held it. And it may have ``declared``, a mapping of name to
    `VariableDeclaration`: what the file itself says of its variables (labels, missing codes), and holds as far as the
    pipeline does not declare otherwise. A reading of text cells may have ``numbers``, a `NumberNotation`: how the file
    writes numbers, where that is not as XPath reads them.
    """

    def batches(self) -> Iterator[Any]:
        """Yield `pyarrow.RecordBatch` of consecutive records.

        Text formats yield string columns (null: no cell, "": empty cell). Typed formats may yield numeric and
        dictionary columns (null: no value). All batches have the same schema.
        """
        ...

    @property
    def layout(self) -> Layout:
        """How to write the file again; complete once `batches` is exhausted."""
        ...


class NestedReading(Protocol):
    """A file with records inside records, opened for reading."""

    @property
    def elements(self) -> NestedElements | None:
        """Names of its elements; None: no record has records in it."""
        ...

    def documents(self, at_once: int | None = ...) -> Iterator[NestedDocument]:
        """Yield the file in documents of so many records of the top level; None: of all."""
        ...


@dataclass(frozen=True)
class FormatFacts:
    """What a file of a format holds, in a few words each; "" where it holds nothing of the kind.

    Attributes
    ----------
    types : str
        Of cells.
    labels : str
        What variables and their codes mean.
    missing_codes : str
        Missing codes, and what they mean.
    dates : str
    precision : str
        Of numbers.
    texts : str
        How long they may be.
    names : str
        Which variables may have.
    file_itself : str
        What a file says of itself and not of a variable, and what becomes of it.
    order : str
        Of the records.

    Examples
    --------
    >>> from maskwright import FormatFacts
    >>> FormatFacts(types="texts", dates="ISO texts").by_name()["labels"]
    'none'
    """

    types: str = ""
    labels: str = ""
    missing_codes: str = ""
    dates: str = ""
    precision: str = ""
    texts: str = ""
    names: str = ""
    file_itself: str = ""
    order: str = "kept"

    def by_name(self) -> dict[str, str]:
        """What is said of each, by its name in words."""
        return {each.name.replace("_", " "): getattr(self, each.name) or "none" for each in fields(self)}


@dataclass(frozen=True, kw_only=True)
class Format:
    """What files of a format can hold, and what has to be heeded when one is written.

    Attributes
    ----------
    is_opened_in_spreadsheets : bool
        Whether people open such files in a spreadsheet, which runs texts that begin like formulas: they are counted.
    reads_folders : bool
        Whether `open` also takes a folder, whose files are one data file together. What is written is one file.
    has_letter_codes : bool
        Whether a typed format has missing values among numbers that are none, as Stata's ``.a``: a column with such a
        code is then given to `write` as texts.
    not_written : str or None
        Of a format that is only read: what to write in its place. A pipeline that would write it is refused.
    missing_codes : callable or None
        ``variable -> {code: code}``, of a format whose files say themselves which cells mean "no value": each declared
        code of such a variable that can be held as missing, and what it is called there (``.a`` for ``-9`` in Stata).
        None: a cell with such a code is a value like any other to those who read the file.
    labels_codes : bool
        Whether files of the format say what codes mean (of variables of numbers, at least): labels that are known of
        codes in the released file have then to be there when it is read back.
    holds : FormatFacts or None
        What files of the format hold and what they cannot, for ``maskwright explain formats``.
    refuse_unwritable : callable or None
        ``(path, variables, layout) -> None``: raises `DataError` where `write` would, as far as the names and labels of
        variables and the layout of the original tell; asked before anything is masked.
    lost_when_replaced : callable or None
        ``path -> str or None``: what else than one table is in a file that a release would replace, in a few words.
    loses : set of {"blanks_at_end", "blanks_at_ends", "zeros_of_times"}
        What of texts files of the format cannot hold: nothing else may differ when a written file is read back.
    omits_empty_variables : bool
        Whether a file lacks a variable that has no value in any of its records, as where cells are elements.
    params_of_written : callable or None
        ``params -> params``: options for a file that `write` has just written, where less has to be checked than
        of a file of which nothing is known.

    Examples
    --------
    >>> from maskwright import Format
    >>> Format(loses={"blanks_at_end"}).reads_folders
    False
    """

    is_opened_in_spreadsheets: bool = False
    reads_folders: bool = False
    has_letter_codes: bool = False
    not_written: str | None = None
    missing_codes: Callable[[Variable], Mapping[str, str]] | None = None
    labels_codes: bool = False
    holds: FormatFacts | None = None
    refuse_unwritable: Callable[[Path, tuple[Variable, ...], Layout], None] | None = None
    lost_when_replaced: Callable[[Path], str | None] | None = None
    loses: AbstractSet[Unheld] = frozenset()
    omits_empty_variables: bool = False
    params_of_written: Callable[[Any], BaseModel] | None = None

    def __post_init__(self) -> None:
        """Freeze its set."""
        frozen_sets(self)


@dataclass(frozen=True, kw_only=True)
class NestedFormat:
    """How a format reads and writes records inside each other.

    The options of such a source for reading are `members` and `group`, which leave one level of the file.

    Attributes
    ----------
    open : callable
        ``(path, params, progress) -> NestedReading``: the file in documents of whole records of the top level.
    write : callable
        ``(path, tables, variables, groups, layouts) -> None``: as `Source.write`, with a table, variables and a layout
        of each level by its name, the top level first; `groups` has for each other level an array of the position of
        each record's group in the level above, ascending.

    Examples
    --------
    >>> from maskwright import NestedFormat
    >>> nested = NestedFormat(
    ...     open=lambda path, params, progress: None, write=lambda path, tables, variables, groups, layouts: None
    ... )
    >>> nested.write("file", {}, {}, {}, {}) is None
    True
    """

    open: Callable[[Path, Any, Progress], NestedReading]
    write: Callable[
        [
            Path,
            Mapping[str, Iterable[Any]],
            Mapping[str, tuple[Variable, ...]],
            Mapping[str, NDArray[np.int64]],
            Mapping[str, Layout],
        ],
        None,
    ]


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file format, or whatever else records are read from.

    Attributes
    ----------
    name : str
        ``xml``, ``csv``, ``parquet``.
    suffixes : tuple of str
        File name endings it claims, lower case with the dot.
    open : callable
        ``(path, params, progress) -> Reading``.
    write : callable
        ``(path, batches, variables, layout) -> None``: write batches of published text (string columns) or typed
        values to `path`, which is a temporary name; the caller moves it into place. Columns of
        ``layout.as_written`` are in the form in which `Reading` gave them as written, and so are the cells of
        ``layout.missing_as_written``.
    params : type of pydantic.BaseModel
        The options of the pipeline's ``data:`` section that concern this format.
    writes_text : bool
        Whether `write` wants string columns (canonical number text) rather than typed ones.
    open_once : callable or None
        As `open`, for those who read the records once and can start over: records may be handed on before the rest of
        the file has been looked at, and `ReadAgain` is raised where it turns out that `open` was needed.
    content : callable or None
        ``(path, params) -> Iterator of bytes``, of a source that is no file, such as a table of a server: all that its
        records are, to see later whether they are still the same. `path` is then what ``source:`` names.
    read_plainly : callable or None
        Of formats that Maskwright brings along only, for the second evaluation; of a package's own source it is
        refused, since a second reader by the same hand is no second opinion. ``(path, details, names) -> Iterator``:
        the file that `write` has written, read by other means than `open` does. `details` is ``layout.details``,
        `names` the columns in order; a block is a list of rows, a row a list of the texts of its cells in that order
        (None: no cell).
    format : Format
        What files of the format can hold.
    nested : NestedFormat or None
        Of a format that can hold records inside each other.
    summary : str

    Examples
    --------
    >>> import maskwright as mw
    >>> source = mw.Source(name="nothing", suffixes=(".nothing",), open=lambda path, params, progress: None,
    ...                    write=lambda path, batches, variables, layout: None, summary="Reads and writes nothing.")
    >>> source.params is mw.NoParams, source.writes_text
    (True, True)
    """

    name: str
    suffixes: tuple[str, ...]
    open: Callable[[Path, Any, Progress], Reading]
    write: Callable[[Path, Iterable[Any], tuple[Variable, ...], Layout], None]
    params: type[BaseModel] = NoParams
    writes_text: bool = True
    open_once: Callable[[Path, Any, Progress], Reading] | None = None
    content: Callable[[Path, Any], Iterator[bytes]] | None = None
    read_plainly: (
        Callable[[Path, Mapping[str, Any], Sequence[str]], Iterator[Sequence[Sequence[str | None]]]] | None
    ) = None
    format: Format = Format()
    nested: NestedFormat | None = None
    summary: str = ""


@contextmanager
def batches_of(reading: Reading) -> Iterator[Iterator[Any]]:
    """Batches of a file; it is closed at the end, however much of it was read: a source may read ahead in threads."""
    batches = iter(reading.batches())
    try:
        yield batches
    finally:
        close = getattr(batches, "close", None)
        if close is not None:
            close()


@contextmanager
def written_batches_of(reading: Reading) -> Iterator[Iterator[WrittenBatch]]:
    """Batches of a file with its cells as they are written, where the source gives them; it is closed at the end."""
    from maskwright.data.dataset import WrittenBatch  # heavy: plugins are listed without it

    own = getattr(reading, "written_batches", None)
    if own is None:
        with batches_of(reading) as batches:
            yield map(WrittenBatch, batches)
        return
    written = iter(own())
    try:
        yield written
    finally:
        close = getattr(written, "close", None)
        if close is not None:
            close()


def number_notation(reading: Reading) -> NumberNotation:
    """How a file writes numbers; plainly, where its source does not say."""
    # Whoever lists plugins reads no numbers.
    from maskwright.data.notations import PLAIN

    notation: NumberNotation = getattr(reading, "numbers", PLAIN)
    return notation


LARGEST_SCANNED = 50_000_000
"""Bytes of a file that is opened for the names of its columns, though nothing else can be done with it."""


def column_names(
    source: Source, path: Path, params: Any, largest: int | None = LARGEST_SCANNED
) -> tuple[str, ...] | None:
    """Names in a data file, for messages about names; none where it is larger than so many bytes, or not readable."""
    try:
        if largest is not None and path.stat().st_size > largest:
            return None
        with batches_of(source.open(path, params, silent)) as batches:
            first = next(batches, None)
    except (InputError, OSError):
        return None
    return None if first is None else tuple(first.schema.names)
