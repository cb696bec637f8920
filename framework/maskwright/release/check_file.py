"""Verdict of every edit on every record of a file, read as a stream."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa

from maskwright.data.date_columns import format_of
from maskwright.data.declaration import VariableDeclaration
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.date_arithmetic import with_dates
from maskwright.edits.engines.record_document import RecordForm
from maskwright.edits.evaluation.check_data import check, record_path
from maskwright.foundation.errors import InputError
from maskwright.foundation.file_identity import note_read
from maskwright.foundation.progress import Progress, silent
from maskwright.plugins.source import batches_of, number_notation

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pydantic import BaseModel

    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.evaluation.check_data import Fired
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.plugins.source import Reading, Source


def check_file(
    path: Path,
    source: Source,
    params: BaseModel,
    edits: EditSet,
    *,
    domain: Domain | None = None,
    variables: Mapping[str, Variable] | None = None,
    others: Variable | None = None,
    described: Callable[[Mapping[str, VariableDeclaration]], Mapping[str, Variable]] | None = None,
    svrl: IO[bytes] | None = None,
    fired: Fired = "summary",
    is_share: bool = False,
    progress: Progress = silent,
) -> Outcome:
    """Verdict of every edit on every record of a file, read as a stream.

    `domain`: combinations that occur in the original, for domain edits. `variables`: missing codes and declared
    decimals. `others`: the same of the variables that are not in the mapping. `described`: in place of `variables`:
    gives them when it gets what the file itself says of its variables. `svrl`: that an SVRL report is written to.
    `fired`: whether that report says once of each rule that it fired, or once for each record. `is_share`: whether the
    file is one of many: a share of the report is written.
    """

    def checked(reading: Reading) -> Outcome:
        with batches_of(reading) as batches:
            first = next(batches, None)
            known = variables if described is None else described(getattr(reading, "declared", {}))
            known = _with_forms(known or {}, first)
            # Undeclared variables may be dates, too: their cells tell, one by one.
            stated = with_dates(edits, [*known.values()])
            notation = number_notation(reading)
            chunks = (
                RecordChunk.from_batch(batch, known, others, notation)
                for batch in (batches if first is None else itertools.chain((first,), batches))
            )
            form = RecordForm.of_layout(reading.layout.details)
            return check(
                chunks, stated, record_path(reading.layout), domain, svrl, fired=fired, form=form,
                places=lambda: getattr(reading, "places", None), is_share=is_share,
            )  # fmt: skip

    note_read(path)
    if source.open_once is not None:
        # Nothing has been written when this fails: the report is put together at the end. Mistakes are looked at again
        # too, because a variable may stand in later records only.
        with contextlib.suppress(InputError):
            return checked(source.open_once(path, params, progress))
    return checked(source.open(path, params, progress))


def _with_forms(known: Mapping[str, Variable], first: Any) -> dict[str, Variable]:
    """Variables, in which datetimes of no declared form have that of their first cell."""
    found = dict(known)
    for name, variable in known.items():
        formless = variable.type == "datetime" and variable.date_format is None
        if not formless or first is None or name not in first.schema.names:
            continue
        cells = first.column(name)
        if pa.types.is_string(cells.type) or pa.types.is_large_string(cells.type):
            meant = VariableDeclaration(type="datetime", missing=tuple((code, "") for code in variable.empty_texts))
            found[name] = replace(variable, date_format=format_of(pa.chunked_array([cells]), meant))
    return found
