"""Steps that households, the block size or processes rule out, refused before any data are read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.data.dataset import Dataset
from maskwright.foundation.errors import InputError, Problem
from maskwright.masking.protecting.processes import refuse_unsendable
from maskwright.pipeline.resolved import DataInMemory

if TYPE_CHECKING:
    from maskwright.pipeline.resolved import MaskingRequest


def refuse_steps(request: MaskingRequest) -> None:
    """Refuse steps that households, the block size or processes rule out, before any data are read."""
    _refuse_units(request)
    _refuse_methods_that_count_records(request)
    _refuse_small_blocks(request)
    if request.execution.processes:
        refuse_unsendable(request.steps)


def _refuse_units(request: MaskingRequest) -> None:
    """Only data of several levels have groups that can be masked as one record."""
    problems = [
        Problem(f"step {number}: unit: {step.unit!r} is a level, and the data have none", step.place,
                "Declare `data: levels:`; `maskwright explain levels` says how.")
        for number, step in enumerate(request.steps, 1) if step.unit is not None
    ]  # fmt: skip
    if problems:
        raise InputError(problems)


def _refuse_methods_that_count_records(request: MaskingRequest) -> None:
    """With households declared, k is a number of households; a method that promises k has to count them."""
    cluster = request.data.cluster
    held = request.data.data if isinstance(request.data, DataInMemory) else None
    if cluster is None and not (isinstance(held, Dataset) and held.households is not None):
        return
    named = "" if cluster is None else f" ({cluster})"
    said = held.groups_said if isinstance(held, Dataset) else "households"
    hint = f"use a method that counts {said}" + (
        "" if cluster is None else ", or remove 'cluster', knowing that k then counts single records"
    )
    problems = [
        Problem(
            f"step {number}: {step.method.name} counts k in single records, and {said} are declared{named}",
            step.place,
            hint,
        )
        for number, step in enumerate(request.steps, 1)
        if step.promised is not None and not step.method.counts_households
    ]
    if problems:
        raise InputError(problems)


def _refuse_small_blocks(request: MaskingRequest) -> None:
    """A block has to hold two clusters, or a file just above the block size would be cut below k."""
    size = request.execution.block_size
    problems = [
        Problem(
            f"block_size is {size}, but step {number} needs blocks of at least 2 k = {2 * step.k} records", step.place
        )
        for number, step in enumerate(request.steps, 1)
        if size is not None and step.k is not None and size < 2 * step.k
    ]
    if problems:
        raise InputError(problems)
