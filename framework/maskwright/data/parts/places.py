"""Records of messages, told by the part that they are in."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.parts.model import Parts
    from maskwright.foundation.errors import Problem

QUOTE = {'"': "&quot;"}
RECORD = re.compile(r"\brecords? ([0-9]+)\b")


@dataclass(frozen=True, eq=False)
class Places:
    """Which part each record is in and its row there, while the parts are being read one after the other.

    `names`: of the parts that were begun. `starts`: the first record of each, counted from 0.
    """

    names: list[str] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)

    def begin(self, name: str, start: int) -> None:
        """Note a part whose first record is to be `start`."""
        self.names.append(name)
        self.starts.append(start)

    def of(self, records: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Position of the part of each of these records (0-based), and its row there, from 1; each of shape (n,)."""
        starts = np.asarray(self.starts, dtype=np.int64)
        at = np.searchsorted(starts, records, side="right") - 1
        return at, np.asarray(records - starts[at] + 1, dtype=np.int64)

    def documents(self, records: NDArray[np.int64], path: str) -> tuple[Any, str, Any]:
        """XPath of each of these records up to its row, which is the last: documents (escaped for XML), path, rows."""
        at, rows = self.of(records)
        files = pa.array([escape("doc('{}')".format(name.replace("'", "''")), QUOTE) for name in self.names])
        return files.take(pa.array(at)), path, pc.cast(pa.array(rows), pa.string())

    def said(self, record: int) -> str:
        """Name of the part of a record, and its row there from 1: ``part-2.csv:17``."""
        at, row = self.of(np.array([record]))
        return f"{self.names[int(at[0])]}:{int(row[0])}"


def in_its_part(problem: Problem, parts: Parts) -> Problem:
    """Mistake in a record of the dataset, with the file that the first record it names is in, and its row there.

    `problem`: records are counted through all parts, from 1.
    """
    found = RECORD.search(problem.message)
    if found is None or not 1 <= int(found[1]) <= parts.records:
        return problem
    name, row = parts.place_of(int(found[1]) - 1)
    return replace(problem, message=f"{problem.message} (record {found[1]} is row {row + 1} of {name})")
