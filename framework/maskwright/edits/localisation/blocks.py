"""Blocks of violating records, in as many processes as are asked for; the fields are the same for any number."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dataset import Dataset
from maskwright.edits.localisation.records import Records
from maskwright.edits.localisation.search import Search
from maskwright.foundation.errors import Problem
from maskwright.foundation.processes.child_process import ProcessEndedError
from maskwright.foundation.processes.function_workers import FunctionWorkers
from maskwright.foundation.processes.processors import share_of_each
from maskwright.foundation.processes.worker_ended import WorkerEnded
from maskwright.foundation.progress import Progress, part

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from fractions import Fraction

    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.localisation.search import Located
    from maskwright.edits.reasoning.clauses import Clause

RECORDS_AT_ONCE = 500
"""Violating records of a block: what the search learns of one record, it remembers for the others of the block."""

WORTH_PROCESSES = 2000
"""Violating records from which starting processes takes less time than it saves."""


@dataclass(frozen=True, eq=False)
class Localising:
    """What the search for fields knows of every block.

    `texts`: categories of each variable that is no number, in the order in which they are tried.
    """

    edits: Mapping[str, Edit]
    clauses: Sequence[Clause]
    texts: Mapping[str, tuple[str, ...]]
    costs: Mapping[str, Fraction]
    domain: Domain


def located(known: Localising, data: Dataset, workers: int, progress: Progress) -> Iterator[Located]:
    """Fields to change of each record, in order.

    `data`: violating records, with the variables that edits use. `workers`: processes at work at the same time, where
    there are records enough; 1: this one.
    """
    starts = range(0, len(data), RECORDS_AT_ONCE)
    blocks = [_rows(data, start, min(start + RECORDS_AT_ONCE, len(data))) for start in starts]
    at_once = min(workers, len(blocks))
    if at_once <= 1 or len(data) < WORTH_PROCESSES:
        for number, block in enumerate(blocks):
            yield from _located(part(progress, number / len(blocks), (number + 1) / len(blocks)), known, block)
        return
    # The processes are ended first where something fails: no thread waits for them then.
    with (
        ThreadPoolExecutor(at_once) as threads,
        FunctionWorkers(share_of_each(at_once), prepare=_import_search) as processes,
    ):
        try:
            for number, found in enumerate(threads.map(lambda block: processes.call(_located, known, block), blocks)):
                yield from found
                progress((number + 1) / len(blocks))
        except ProcessEndedError as ended:
            said = f"a process that located errors {ended}"
            raise WorkerEnded(Problem(said, hint="Was there enough memory? Take fewer workers.")) from None


def _import_search() -> None:
    """Nothing is left to be done: this module was imported for the call."""


def _rows(data: Dataset, start: int, stop: int) -> Dataset:
    rows = np.arange(start, stop, dtype=np.int64)
    return Dataset(tuple(column.taken(rows) for column in data))


def _located(progress: Progress, known: Localising, block: Dataset) -> list[Located]:
    records = Records(block, known.edits, known.clauses, known.texts, known.domain)
    return list(Search(records, known.clauses, known.costs).located(progress))
