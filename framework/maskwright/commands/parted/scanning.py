"""The first look at every part: what its variables are, moments, violations on arrival, domains, and a sample."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maskwright.commands.parted.sheet import Stored
from maskwright.commands.parted.whole_variables import WholeVariable
from maskwright.commands.running.arrive import read_rules
from maskwright.data.missing_notes import missing_notes
from maskwright.data.sketches.record_hash import record_hashes, sampled
from maskwright.edits.category_equalities import with_category_equalities
from maskwright.edits.date_arithmetic import with_dates
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.variable_ranges import written_out
from maskwright.planning.applicable_edits import declared_bounds, identifiers_of, refuse_identifiers

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset, Layout
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.doubts import Doubt
    from maskwright.pipeline.resolved import Pipeline

SCANNED = "scanned"
"""File with what was found of a part."""

SAMPLE = 200_000
"""Records, chosen by their hash, on which the plan is made and from which the k-d cuts are."""

LEAF_SAMPLE = 64
"""Sampled records for each block at least: with fewer, leaves would differ in size by more than an eighth."""


@dataclass(frozen=True, eq=False)
class ScannedPart:
    """What the first look at a part found.

    `edits`: as rules and declarations state them of these variables. `hashes`: of the sampled records; shape (m,).
    """

    variables: tuple[WholeVariable, ...]
    edits: EditSet
    outcome: Outcome
    domain: Domain
    sample: Dataset
    hashes: NDArray[np.uint64]
    layout: Layout
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]


def scan(told: Stored, folder: Path, key: str) -> Mapping[str, object]:
    """Look at one part for the first time; a task."""
    sheet = told.read()
    data, first = sheet.records_of(key)
    if data is None:
        return {"records": 0}
    edits = stated_edits(sheet.pipeline, data)
    domain = Domain.from_dataset(data, domain_tuples(edits))
    hashes = record_hashes(first, len(data))
    rows = sampled(hashes, sheet.parts.records, sample_size(sheet.pipeline, sheet.parts.records))
    sample = data.taken(rows)
    # What is missing is counted over all parts.
    own_notes = frozenset(missing_notes(data.columns))
    found = ScannedPart(
        tuple(WholeVariable.of(column) for column in data), edits, check_dataset(data, edits, domain), domain,
        replace(sample, columns=tuple(replace(each, written=None) for each in sample), origin=None),
        hashes[rows], replace(data.layout, missing_as_written={}), data.doubts,
        tuple(note for note in data.notes if note not in own_notes),
    )  # fmt: skip
    Stored.of(found, folder / SCANNED)
    return {"records": len(data)}


def sample_size(pipeline: Pipeline, records: int) -> int:
    """Records that a run samples."""
    size = pipeline.execution.block_size
    return SAMPLE if size is None else max(SAMPLE, LEAF_SAMPLE * (records // size))


def stated_edits(pipeline: Pipeline, data: Dataset) -> EditSet:
    """Edits that rules and declarations state of the variables of a file."""
    hidden = identifiers_of(pipeline.data.variables)
    stated = written_out(read_rules(pipeline), data.names, hidden)
    stated += declared_bounds(data.variables, stated)
    refuse_identifiers(stated, hidden)
    return with_category_equalities(with_dates(stated, data.variables), data.variables)
