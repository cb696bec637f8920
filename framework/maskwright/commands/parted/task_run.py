"""A run and its workers: stages are named, tasks done, receipts kept, and their facts held in packed form."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from maskwright.commands.parted.task_settings import Stored
from maskwright.foundation.errors import DataError
from maskwright.foundation.progress import stage
from maskwright.plugins.engine import Stage
from maskwright.release.data_file import file_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from maskwright.commands.running.loading import Clock
    from maskwright.data.parts.model import Parts
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import MeasureRequest, Pipeline
    from maskwright.plugins.engine import Receipt, Workers
    from maskwright.release.record.record_parts import GroupCutRecord

    Facts = Mapping[str, Any]


class PackedFacts(Mapping[str, Any]):
    """Facts that are read from their text each time that they are asked for."""

    __slots__ = ("_text",)

    def __init__(self, facts: Mapping[str, Any]) -> None:
        self._text = json.dumps(dict(facts)).encode()

    def unpacked(self) -> dict[str, Any]:
        """All of them."""
        facts: dict[str, Any] = json.loads(self._text)
        return facts

    def __getitem__(self, name: str) -> Any:
        return self.unpacked()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.unpacked())

    def __len__(self) -> int:
        return len(self.unpacked())


FINISHED = "finish"
"""Stage whose tasks write the masked parts."""

AGAIN = "finish-again"
"""The same, where rows of some parts need feasible ones of others."""

BLOCK_SIZE = 50_000
"""Records of a block where the pipeline does not say."""


@dataclass(eq=False)
class PartedRun:
    """A run over parts, with the workers that its tasks are given to."""

    pipeline: Pipeline
    parts: Parts
    seed: int
    scratch: Path
    workers: Workers
    reporter: Reporter
    clock: Clock
    identity: str
    done: dict[str, list[Receipt]] = field(default_factory=dict)
    finished: str = FINISHED
    joined: str | None = None
    cuts: list[GroupCutRecord] = field(default_factory=list)

    @property
    def block_size(self) -> int:
        """Records of a block."""
        return self.pipeline.execution.block_size or BLOCK_SIZE

    @property
    def published(self) -> str:
        """Stage whose tasks wrote the files that will be released."""
        return self.joined or self.finished

    @property
    def part_keys(self) -> list[str]:
        """Keys of tasks that read one part."""
        return [str(position) for position in range(len(self.parts))]

    def run(
        self,
        name: str,
        title: str,
        work: Callable[..., Mapping[str, object]],
        keys: Sequence[str],
        *arguments: object,
        kept: Callable[[Receipt], Receipt] = lambda receipt: receipt,
    ) -> list[Receipt]:
        """Have the tasks of one stage done; of each receipt what `kept` gives is held to the end of the run."""
        # The arguments of tasks follow from what the run is made of: so a run that is resumed knows its receipts.
        identity = hashlib.sha256(f"{self.identity} {name}".encode()).hexdigest()
        doing = Stage(name, functools.partial(work, *arguments), self.scratch, identity)
        receipts = []
        with self.clock(title.lower()), stage(self.reporter, title) as progress:
            for number, receipt in enumerate(self.workers.run(doing, keys), 1):
                held = kept(receipt)
                receipts.append(replace(held, facts=PackedFacts(held.facts)))
                progress(number / len(keys))
        self.done[name] = receipts
        return receipts

    def store(self, name: str, content: object) -> Stored:
        """Write something that tasks read."""
        return Stored.of(content, self.scratch / f"{name}.told")

    def read(self, name: str, file: str) -> Iterator[Any]:
        """What the tasks of a stage stored in a file of this name: as it was when they said that they were done."""
        for receipt in self.done[name]:
            if file in receipt.files:
                yield Stored(str(self.scratch / name / receipt.key / file), receipt.files[file]).read()

    def files(self, name: str, file: str) -> list[Path]:
        """Files of this name that the tasks of a stage wrote: each is as it was when they said that they were done."""
        found = []
        for receipt in self.done[name]:
            if file in receipt.files:
                path = self.scratch / name / receipt.key / file
                if file_facts(path)["sha256"] != receipt.files[file]:
                    raise DataError("a file in the scratch folder of the run was changed by another program")
                found.append(path)
        return found

    def folders(self, name: str) -> tuple[str, ...]:
        """Where the tasks of a stage put their files; "" for parts without records."""
        return tuple(
            "" if receipt.facts.get("records") == 0 else str(self.scratch / name / receipt.key)
            for receipt in self.done[name]
        )


AT_ONCE = 8
"""Parts whose facts are held as they came."""

NAME = "measures"
"""What a task tells for measures."""


class MeasureFacts:
    """Facts of one round, by label, in the order of the parts.

    `asked`: what they ask in this round; nothing in the first.
    """

    def __init__(self, requests: Sequence[MeasureRequest], requested: Mapping[str, Facts] | None = None) -> None:
        self._requests = {each.label: each for each in requests}
        self._asked = requested or {}
        self._found: dict[str, list[Facts | PackedFacts]] = {}
        self._waiting: dict[str, int] = {}

    def taken(self, receipt: Receipt) -> Receipt:
        """Take what a task tells for measures; its receipt without that."""
        for label, facts in receipt.facts.get(NAME, {}).items():
            self.add(label, facts)
        return replace(receipt, facts={name: each for name, each in receipt.facts.items() if name != NAME})

    def add(self, label: str, facts: Facts) -> None:
        """Add the facts of the next part, or of the next task that counts."""
        request, found = self._requests[label], self._found.setdefault(label, [])
        condensed = None if request.measure.merging is None else request.measure.merging.condensed
        if condensed is None:
            found.append(PackedFacts(facts))
            return
        found.append(facts)
        waiting = self._waiting[label] = self._waiting.get(label, 0) + 1
        if waiting > AT_ONCE:
            found[:] = condensed(found, request.params, self._asked.get(label))
            self._waiting[label] = 0

    def of(self, label: str) -> list[Facts]:
        """Facts for one measure: as `Merging.merged` takes them."""
        return [each.unpacked() if isinstance(each, PackedFacts) else each for each in self._found.get(label, [])]


MODULES = (
    *(f"maskwright.commands.parted.{name}" for name in ("planning", "shuffling", "protecting", "finishing")),
    "maskwright.masking.adjusting.polyhedron_projection_kernel",
    "pyarrow.parquet",
    # Arrow imports it for the first array that it makes of Python's, or gives to NumPy.
    "pandas",
    # Numba imports it for the first kernel.
    "scipy.linalg.cython_blas",
)


def import_for_tasks() -> None:
    """Import these modules and all plugins, and do what the first rule and the first kernel of a process wait for."""
    from maskwright.edits.rule_language.rules import parse_value
    from maskwright.plugins.registry import plugins

    for name in MODULES:
        import_module(name)
    plugins()
    parse_value("x")
    numba: Any = import_module("numba.core.registry").cpu_target
    numba.typing_context.refresh()
    numba.target_context.refresh()
