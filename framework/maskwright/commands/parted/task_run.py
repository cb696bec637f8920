"""A run and its workers: stages are named, their tasks done, and their receipts kept."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.parted.packed_facts import PackedFacts
from maskwright.commands.parted.sheet import Stored
from maskwright.foundation.errors import DataError
from maskwright.foundation.progress import stage
from maskwright.plugins.engine import Stage
from maskwright.release.facts import file_facts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from maskwright.commands.running.arrive import Clock
    from maskwright.data.parts.model import Parts
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.plugins.engine import Receipt, Workers
    from maskwright.release.record.cut_record import GroupCutRecord

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
        *told: object,
        kept: Callable[[Receipt], Receipt] = lambda receipt: receipt,
    ) -> list[Receipt]:
        """Have the tasks of one stage done; of each receipt what `kept` gives is held to the end of the run."""
        # Whatever tasks are told follows from what the run is made of: so a run that is resumed knows its receipts.
        identity = hashlib.sha256(f"{self.identity} {name}".encode()).hexdigest()
        doing = Stage(name, functools.partial(work, *told), self.scratch, identity)
        receipts = []
        with self.clock(title.lower()), stage(self.reporter, title) as progress:
            for number, receipt in enumerate(self.workers.run(doing, keys), 1):
                receipts.append(_packed(kept(receipt)))
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


def _packed(receipt: Receipt) -> Receipt:
    return replace(receipt, facts=PackedFacts(receipt.facts))
