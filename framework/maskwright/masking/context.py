"""What stays the same during one masking: the original, the edits, the plan, the seed, and how to run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.plugins.block import Block
from maskwright.plugins.method import Masked
from maskwright.plugins.remover import Removed

if TYPE_CHECKING:
    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.processes.function_workers import FunctionWorkers
    from maskwright.foundation.progress import Reporter
    from maskwright.masking.published_edits import PublishedTerms
    from maskwright.pipeline.file_model import ExecutionSection
    from maskwright.planning.plan import Plan
    from maskwright.plugins.gathering import Gathered

Observer = Callable[[int, str, Block, Masked | Removed | None], None]
"""Told of the step, its method and a block: before masking with None, and after with what the method returned."""


@dataclass(frozen=True)
class Execution:
    """How to run.

    `workers`: blocks masked at the same time, in threads or processes. `block_size`: largest block of records; None:
    exact, the whole stratum at once. `processes`: whether methods run in processes instead of threads.
    """

    workers: int = 1
    block_size: int | None = None
    processes: bool = False

    @classmethod
    def of(cls, section: ExecutionSection) -> Execution:
        """How a pipeline says that it is run."""
        return cls(section.at_once, section.block_size, section.processes)


@dataclass(frozen=True, eq=False)
class WholeFile:
    """What is known of a whole file of which only some records are here.

    `present`: cells with a value, of each numeric variable. `measured`: masked numeric variables that have a value.
    `domain`: combinations that occur in it, for domain edits. `first`: number of the first of the records here, where
    they follow each other in the file.
    """

    records: int
    present: Mapping[str, int]
    measured: int
    domain: Domain
    first: int = 0


@dataclass(frozen=True, eq=False)
class MaskingContext:
    """What every step of one masking reads and none changes.

    `edits`: that the masked data have to satisfy. `seed`: every random draw comes from a generator of this seed and a
    name of its own. `observe`: told of each block before and after a method masks it. `terms`: in which the edits on
    recoded variables are said; None: no variable is recoded yet. `workers`: processes that methods run in; None: they
    run in threads. `whole`: of which `original` holds some records; None: it holds all. `gathered`: what all records of
    the file said to a method that asks; None: those here are all, and say it.
    """

    original: Dataset
    edits: EditSet
    plan: Plan
    seed: int
    execution: Execution
    reporter: Reporter
    observe: Observer | None = None
    terms: PublishedTerms | None = None
    workers: FunctionWorkers | None = None
    whole: WholeFile | None = None
    gathered: Mapping[int, Gathered] | None = None

    @property
    def reference(self) -> Dataset:
        """The original, with the categories that are published in the place of the values of recoded variables."""
        return self.original if self.terms is None else self.terms.reference

    @cached_property
    def domain(self) -> Domain:
        """Combinations of values in the original, for domain edits."""
        if self.whole is not None:
            return self.whole.domain
        return Domain.from_dataset(self.reference, domain_tuples(self.edits))
