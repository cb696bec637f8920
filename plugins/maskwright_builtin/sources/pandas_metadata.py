"""What pandas writes into a Parquet file about a frame: the types of its columns and which of them are its index.

Nothing of the original's metadata is published but names of types that are known, and names of columns that are
published anyway: the metadata of the masked file are made anew.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Mapping

KEY = b"pandas"
KNOWN = re.compile(r"U?Int(8|16|32|64)|Float(32|64)|boolean|string|str|object")
UNNAMED_INDEX = re.compile(r"__index_level_[0-9]+__")


@dataclass(frozen=True)
class PandasFrame:
    """A frame as a Parquet file describes it.

    `types`: types of pandas that the column's type does not tell, such as ``Int64``. `index`: columns that were the
    index.
    """

    types: Mapping[str, str] = field(default_factory=dict)
    index: tuple[str, ...] = ()

    @property
    def unnamed_index(self) -> tuple[str, ...]:
        """Columns that hold an index without a name, which nobody chose to publish."""
        return tuple(name for name in self.index if UNNAMED_INDEX.fullmatch(name))


def described_frame(schema: Any) -> PandasFrame:
    """Frame that a Parquet file was made of, as far as it says so in a way that is understood."""
    try:
        said = json.loads((schema.metadata or {}).get(KEY, b"{}"))
        pairs = [(each["field_name"], each["numpy_type"]) for each in said.get("columns", ())]
        index = [each for each in said.get("index_columns", ()) if isinstance(each, str)]
    except (ValueError, TypeError, KeyError, AttributeError):
        return PandasFrame()
    names = frozenset(schema.names)
    types = {
        name: kind
        for name, kind in pairs
        if isinstance(name, str) and name in names and isinstance(kind, str) and _is_known(kind, schema.field(name))
    }
    return PandasFrame(types, tuple(name for name in index if name in names))


def _is_known(kind: str, stored: Any) -> bool:
    return bool(KNOWN.fullmatch(kind)) or kind == f"{stored.type}[pyarrow]"


def with_frame(schema: Any, frame: PandasFrame, types: Mapping[str, Any]) -> Any:
    """Schema with metadata from which pandas makes a frame like the original's.

    `types`: of the original: pandas's type of a column holds as long as this one does.
    """
    kept = {
        name: kind
        for name, kind in frame.types.items()
        if name in schema.names and schema.field(name).type == types.get(name)
    }
    index = [name for name in frame.index if name in schema.names]
    if not kept and not index:
        return schema
    plain = schema.empty_table().to_pandas().astype(kept)
    made = pa.Table.from_pandas(plain.set_index(index) if index else plain, schema, preserve_index=bool(index))
    return schema.with_metadata({KEY: made.schema.metadata[KEY]})
