"""Data frames of any library: taken in as pandas or Arrow holds them, and given back in the type that came.

narwhals knows the libraries; what it does not know comes as a stream of Arrow (the PyCapsule interface).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa

from maskwright.data.dataset import Dataset
from maskwright.foundation.errors import DataError, InputError, Place, Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    import pandas as pd
    from narwhals.typing import IntoDataFrame, IntoLazyFrame
    from numpy.typing import NDArray

    class ArrowStream(Protocol):
        """What has the Arrow PyCapsule interface of tables."""

        def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
            """Stream of record batches."""

    Frame: TypeAlias = pd.DataFrame | IntoDataFrame | IntoLazyFrame | ArrowStream
    Data: TypeAlias = Dataset | Frame

ACCEPTED = (
    "a Dataset or a data frame: of pandas, polars, pyarrow, DuckDB or another library that narwhals or the Arrow "
    "PyCapsule interface knows"
)


@dataclass(frozen=True, eq=False)
class TakenIn:
    """Data of a program as the framework reads them.

    `frame`: the frame, collected where it was lazy, of a library that narwhals knows.
    """

    data: Dataset | pd.DataFrame | pa.Table
    given: object
    frame: Any = None
    notices: tuple[str, ...] = ()


def taken_in(data: object, argument: str = "data") -> TakenIn:
    """Take in what a program has; nothing is copied that need not be.

    `data`: what is lazy is collected, and a stream is read to its end. `argument`: that `data` is, for messages.
    """
    import narwhals as nw
    import pandas as pd

    if isinstance(data, (Dataset, pd.DataFrame, pa.Table)):
        return TakenIn(data, data)
    place = Place(f"argument {argument}")
    frame = nw.from_native(data, pass_through=True)
    if isinstance(frame, nw.LazyFrame):
        library = frame.implementation.value
        notice = f"{argument} is lazy ({library}): all of its records are collected in memory"
        if frame.implementation.is_duckdb():
            _refuse_zones_of_times(data, place)
        # DuckDB and others have no frames in memory of their own.
        collected = frame.collect()
        return TakenIn(_as_table(collected, place), data, collected, (notice,))
    if isinstance(frame, nw.DataFrame):
        return TakenIn(_as_table(frame, place), data, frame)
    if not isinstance(data, type) and hasattr(data, "__arrow_c_stream__"):
        try:
            return TakenIn(pa.table(data), data)
        except (pa.ArrowException, TypeError, ValueError):
            pass
    raise InputError(Problem(f"expected {ACCEPTED}; not {_called(data)}", place, _hint(data)))


def _called(data: object) -> str:
    return "nothing" if data is None else f"a {type(data).__name__}"


def _hint(data: object) -> str | None:
    from os import PathLike

    if isinstance(data, (str, PathLike)):
        return "A file is read first: mw.read(path)."
    if hasattr(data, "to_frame"):
        return "One column is no table: make a data frame of it with to_frame()."
    return None if data is None else "Make a data frame of it: a name for each column, and a record in each row."


def _as_table(frame: Any, place: Place) -> pa.Table:
    try:
        table: pa.Table = frame.to_arrow()
    except (pa.ArrowException, TypeError, ValueError, NotImplementedError) as error:
        lacking = {name: frame.schema[name] for name in frame.columns if not _has_arrow_form(frame, name)}
        if not lacking:
            raise
        raise _no_arrow_form(lacking, place) from error
    return table


def _no_arrow_form(types: Mapping[str, object], place: Place) -> DataError:
    listed = ", ".join(f"{name} ({kind})" for name, kind in list(types.items())[:5])
    hint = "Convert them to text, numbers or dates, or drop them."
    return DataError(Problem(f"columns of types that Arrow does not have: {listed}", place, hint))


def _refuse_zones_of_times(relation: Any, place: Place) -> None:
    """DuckDB gives such times to Arrow without their zones, and says nothing."""
    types = dict(zip(relation.columns, relation.types, strict=True))
    zoned = {name: kind for name, kind in types.items() if kind.id == "time with time zone"}
    if zoned:
        raise _no_arrow_form(zoned, place)


def _has_arrow_form(frame: Any, name: str) -> bool:
    try:
        frame.select(name).to_arrow()
    except Exception:  # noqa: BLE001 - libraries differ in what they raise
        return False
    return True


def given_back(
    released: pa.Table, taken: TakenIn, untouched: Collection[str], origin: NDArray[Any] | None = None
) -> object:
    """Released records in the type that came in.

    `untouched`: columns that no step touched. `origin`: record of the original that each released one comes from, where
    some were dropped; shape (n,). Returns a lazy frame where one came, of the released records; a pyarrow.Table where
    Arrow's stream was all that was known.
    """
    import narwhals as nw

    given = taken.given
    if isinstance(given, pa.RecordBatch):
        return released.combine_chunks().to_batches()[0]
    if isinstance(given, pa.RecordBatchReader):
        return released.to_reader()
    if taken.frame is None:
        return released
    came: Any = nw.from_native(given, pass_through=True)
    if came.implementation.is_duckdb():
        return _as_relation(released, came.to_native(), untouched if origin is None else ())
    frame = _as_before(nw.from_arrow(released, backend=taken.frame.implementation), taken.frame, untouched, origin)
    if isinstance(came, nw.LazyFrame):
        frame = frame.lazy(backend=came.implementation)
    return frame if came is given else frame.to_native()


def _as_before(frame: Any, original: Any, untouched: Collection[str], origin: NDArray[Any] | None) -> Any:
    """Give columns the types that Arrow does not carry: the library's own categories."""
    import narwhals as nw

    rows = original if origin is None else original[origin.tolist()]
    columns = []
    for name in frame.columns:
        before = original.schema.get(name)
        if name in untouched and (origin is None or not isinstance(before, nw.Enum)):
            columns.append(rows.get_column(name))
        elif isinstance(before, nw.Categorical | nw.Enum):
            values = frame.get_column(name).cast(nw.String)
            occurring = set(values.unique().drop_nulls().to_list())
            listed = before.categories if isinstance(before, nw.Enum) else ()
            is_listed = bool(listed) and occurring <= set(listed)
            columns.append(
                values.cast(nw.Enum([each for each in listed if each in occurring]) if is_listed else nw.Categorical)
            )
    return frame.with_columns(*columns) if columns else frame


def _as_relation(released: pa.Table, original: Any, untouched: Collection[str]) -> Any:
    """Relation of DuckDB; Arrow lacks some of its types, and DuckDB takes dictionaries for texts."""
    import duckdb

    relation = duckdb.from_arrow(released)
    before = dict(zip(original.columns, original.types, strict=True))
    columns = []
    for name, kind in zip(relation.columns, relation.types, strict=True):
        quoted, wanted = '"' + name.replace('"', '""') + '"', before.get(name, kind)
        if name not in untouched and wanted.id == "enum":
            cells = released.column(name)
            codes = cells.chunk(0).dictionary.to_pylist() if pa.types.is_dictionary(cells.type) else ()
            listed = ", ".join("'" + code.replace("'", "''") + "'" for code in codes)
            wanted = f"ENUM({listed})" if codes else kind
        elif name not in untouched:
            wanted = kind
        columns.append(quoted if wanted == kind else f"CAST({quoted} AS {wanted}) AS {quoted}")
    return relation.project(", ".join(columns))
