"""What every task of a run is told: written once into the scratch folder, and read by each process once."""

from __future__ import annotations

import functools
import hashlib
import io
import os
import pickle
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.commands.parted.whole_variables import in_whole_terms
from maskwright.commands.reading import load
from maskwright.data.dataset import Layout
from maskwright.foundation.errors import DataError
from maskwright.foundation.progress import silent
from maskwright.planning.model import Step
from maskwright.plugins.parts_reading import files_source
from maskwright.plugins.registry import find_source, plugins
from maskwright.plugins.source import written_batches_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.commands.parted.whole_variables import WholeVariable
    from maskwright.data.dataset import Dataset
    from maskwright.data.parts.model import Part, Parts
    from maskwright.pipeline.resolved import Pipeline


@dataclass(frozen=True, eq=False)
class Sheet:
    """A run and its parts.

    `variables`: as the whole file has them; empty until all parts were read once. `layout`: of the first part with
    records, once that is known.
    """

    pipeline: Pipeline
    parts: Parts
    seed: int
    variables: Mapping[str, WholeVariable]
    layout: Layout = field(default_factory=Layout)

    def part_of(self, key: str) -> tuple[Part, int]:
        """Part that a key names by its position, and the number of its first record."""
        position = int(key)
        return self.parts.parts[position], self.parts.offsets[position]

    def records_of(self, key: str) -> tuple[Dataset | None, int]:
        """Records of the part that a key names, None where it has none, and the number of the first."""
        part, first = self.part_of(key)
        return (self.read(part) if part.records else None), first

    def read(self, part: Part) -> Dataset:
        """Read a part without identifiers; its variables are those of the whole file once these are known."""
        source = files_source(find_source(part.format), (part,), self.parts.schema)
        file = replace(self.pipeline.data, path=Path(part.path), source=source)
        data = load(file, again=bool(self.variables))
        data = data.without([each.name for each in data.variables if each.role == "identifier"])
        return in_whole_terms(data, self.variables) if self.variables else data

    def layout_of(self, part: Part) -> Layout:
        """How a part without records is written: as the first one that has some, where its own file does not say."""
        source = files_source(find_source(part.format), (part,), self.parts.schema)
        reading = source.open(Path(part.path), self.pipeline.data.params, silent)
        with written_batches_of(reading) as batches:
            for _ in batches:
                pass
        own = reading.layout
        if own.details["layouts"]:
            return own
        return replace(self.layout, details={**self.layout.details, "parts": own.details["parts"]})


@dataclass(frozen=True)
class Stored:
    """Something that tasks read, in a file of the scratch folder; small enough to be sent with each of them.

    `sha256`: of the file: what a task is given is what the run wrote.
    """

    path: str
    sha256: str

    @classmethod
    def of(cls, content: object, path: Path) -> Stored:
        """Write something for tasks to read; readable by the owner only."""
        written = _dumped(content)
        handle = os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(written)
        return cls(str(path), hashlib.sha256(written).hexdigest())

    def read(self) -> Any:
        """What was written; each process keeps the last few."""
        return _read(self.path, self.sha256)


@functools.lru_cache(maxsize=4)
def _read(path: str, sha256: str) -> Any:
    written = Path(path).read_bytes()
    if hashlib.sha256(written).hexdigest() != sha256:
        raise DataError("a file in the scratch folder of the run was changed by another program")
    return _Reading(io.BytesIO(written)).load()


KINDS = ("sources", "methods", "partitions", "measures", "edit_readers", "reports")
"""Of plugins that tasks take by name: their functions may be no functions of a module."""


class _Writing(pickle.Pickler):
    """Plugins are written by their names: a worker has its own."""

    def persistent_id(self, found: object) -> tuple[str, str] | None:
        name = getattr(found, "name", None)
        if isinstance(name, str):
            for kind in KINDS:
                if getattr(plugins(), kind).get(name) is found:
                    return kind, name
        return None

    def reducer_override(self, found: object) -> Any:
        if isinstance(found, Step) and found.method.name in plugins().methods:
            said = {each.name: getattr(found, each.name) for each in fields(found) if each.name != "method"}
            return _step, (found.method.name, said)
        return NotImplemented


def _step(method: str, said: dict[str, Any]) -> Step:
    """A step whose method is that of this worker, as it is with the parameters of the step."""
    return Step(method=plugins().methods[method].with_params(said["params"]), **said)


class _Reading(pickle.Unpickler):
    """What the run itself wrote: the hash is that of its own message."""

    def persistent_load(self, said: tuple[str, str]) -> object:
        return getattr(plugins(), said[0])[said[1]]


def _dumped(content: object) -> bytes:
    written = io.BytesIO()
    _Writing(written, protocol=5).dump(content)
    return written.getvalue()
