"""Masking the planned groups on this machine: a task for each stratum and block, the results put together in order.

A task is self-contained and draws from a generator of its own name, so results do not depend on how many threads or
processes work.
"""

from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.missing import HAD_VALUE
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Progress, silent
from maskwright.foundation.randomness import generator
from maskwright.masking.aggregation import with_enough_values
from maskwright.masking.protecting.assembling import (
    ZEROS_OF_OTHERS,
    GroupResult,
    assemble,
    facts_of_strata,
    gather_notes,
    gathering_of,
    merged_strata,
    notes_of_all,
    without_removed,
)
from maskwright.masking.protecting.method_contract import (
    broken_claims,
    checked_masked,
    checked_removed,
    refuse_other_representatives,
    with_warnings,
)
from maskwright.masking.protecting.processes import in_worker
from maskwright.masking.protecting.variable_group import GroupSource, PatternMoments, kd_blocks
from maskwright.planning.missing_patterns import MethodCall, each_pattern, splits_by_pattern, widened, without_holes
from maskwright.plugins.block import Block
from maskwright.plugins.guarding.call import in_this_context
from maskwright.plugins.guarding.frozen import FrozenDict, read_only
from maskwright.plugins.guarding.origin import in_step

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.arrays import Integers
    from maskwright.masking.context import MaskingContext, Standardisation
    from maskwright.masking.protecting.variable_group import GroupWork
    from maskwright.planning.missing_patterns import Pool
    from maskwright.plugins.block import Gathered, Moments
    from maskwright.plugins.method import Masked, Method


def protect_group(
    data: Dataset,
    work: GroupWork,
    standardisation: Standardisation,
    context: MaskingContext,
    progress: Progress = silent,
) -> GroupResult:
    """Run a method on every stratum and block of a variable group."""
    source = GroupSource.of(data, work, standardisation)
    if work.method.is_remover:
        return _remove(work.method, work, source, context, progress)
    calls = _method_calls(work, source, context.execution.block_size)
    gathered = _gathered(work, source, context)
    sees_moments = work.method.with_params(work.params).claims.others == "moments"
    if sees_moments and not work.method.claims.within_strata:
        calls, moments = _calls_on_separate(calls, source)
    else:
        moments = [None] * len(calls)
    shares = _Shares(progress, [call.count for call in calls])

    def protect(number: int) -> Masked:
        block = replace(_block(calls[number], work, source, shares.of(number)), moments=moments[number])
        block = _placed_in_file(block, calls[number].seen, context)
        if gathered is not None:
            block = replace(block, gathered=gathered[int(work.strata[calls[number].records[0]])])
        # Where any cut gives the same values, blocks draw from the same numbers, each record its own of them.
        part = () if work.method.claims.cut == "any" or gathered is not None else (number,)
        rng = generator(context.seed, "protect", work.stream, *work.variables, *part)
        masked = _protect_block(block, work, rng, context, alone=len(calls) == 1)
        return widened(masked, calls[number], len(source.variables))

    results = _in_order(protect, len(calls), context.execution.workers)
    progress(1.0)
    result = assemble([call.records for call in calls], results, source.values.shape, source.variables, work.strata)
    if source.zeros is not None:
        values, missing = np.where(source.zeros, 0.0, result.values), result.missing & ~source.zeros
        result = replace(result, values=values, missing=missing)
    if work.method.claims.draws_records and result.missing_codes is None:
        result = replace(result, missing_codes=np.full(result.missing.shape, HAD_VALUE, dtype=np.int64))
    if gathered is not None and context.gathered is None:
        notes = dict(result.notes)
        gather_notes(notes, notes_of_all(work, gathered, source.variables))
        result = replace(result, notes=notes)
    return _with_majority_zeros(_with_guaranteed_counts(result, work, source), work, source)


def facts_of_records(
    data: Dataset, work: GroupWork, standardisation: Standardisation, context: MaskingContext
) -> dict[int, Gathered]:
    """What a method gathers from some records of a file, by stratum."""
    return _facts(work, GroupSource.of(data, work, standardisation), context)


def _facts(work: GroupWork, source: GroupSource, context: MaskingContext) -> dict[int, Gathered]:
    def block(records: Integers) -> Block:
        whole = _block(MethodCall.whole(records, len(source.variables)), work, source, silent)
        return _placed_in_file(whole, records, context)

    strata = _blocks(work, source, None)
    return facts_of_strata(work, ((int(work.strata[records[0]]), block(records)) for records in strata))


def _gathered(work: GroupWork, source: GroupSource, context: MaskingContext) -> Mapping[int, Gathered] | None:
    """What a method gathers from all records; None where it gathers nothing."""
    if gathering_of(work) is None or context.gathered is not None:
        return context.gathered
    return merged_strata(work, [_facts(work, source, context)])


def _placed_in_file(block: Block, seen: Integers, context: MaskingContext) -> Block:
    """Block whose records are counted in the whole file."""
    if context.whole is None:
        return block
    return replace(block, file_n=context.whole.records, records=read_only(seen + context.whole.first))


def whole_block(
    data: Dataset, work: GroupWork, standardisation: Standardisation, seed: int
) -> tuple[Block, np.random.Generator]:
    """What the method sees of a variable group that is masked in one call, and what it draws from."""
    source = GroupSource.of(data, work, standardisation)
    calls = _method_calls(work, source, None)
    if len(calls) != 1:
        raise InputError(
            f"{work.method.name} masks {len(calls)} parts of these records apart from each other, because edits bind "
            "some of them otherwise or cells are missing"
        )
    return _block(calls[0], work, source, silent), generator(seed, "protect", work.stream, *work.variables, 0)


def _remove(
    remover: Method, work: GroupWork, source: GroupSource, context: MaskingContext, progress: Progress
) -> GroupResult:
    """Take away what a remover removes of all records."""
    assert remover.remove is not None
    block = _block(MethodCall.whole(np.arange(len(source.values)), len(source.variables)), work, source, progress)
    rng = generator(context.seed, "protect", work.stream, *work.variables, 0)
    with in_step(work.step):
        if context.observe is not None:
            context.observe(work.step, remover.name, block, None)
        removed = checked_removed(remover, block, remover.remove(block, work.params, rng))
        if context.observe is not None:
            context.observe(work.step, remover.name, block, removed)
    progress(1.0)
    return without_removed(block, removed)


def _method_calls(work: GroupWork, source: GroupSource, block_size: int | None) -> list[MethodCall]:
    """What is masked in one call each, in order: strata, blocks and, for a method that needs it, missing patterns."""
    blocks = _blocks(work, source, block_size)
    if source.missing.any() and splits_by_pattern(work.method):
        if gathering_of(work) is not None:
            return each_pattern(blocks, source.missing)
        return without_holes(blocks, source.missing, work.method, work.params)
    return [MethodCall.whole(records, len(source.variables)) for records in blocks]


def _calls_on_separate(
    calls: Sequence[MethodCall], source: GroupSource
) -> tuple[list[MethodCall], list[Moments | None]]:
    """Calls on the records that are masked alone, and the moments of those that they would see with them."""
    of_pool: dict[Pool, PatternMoments] = {}
    moments: list[Moments | None] = []
    for call in calls:
        if call.beside is None:
            moments.append(None)
            continue
        pool = call.beside.pool
        if pool not in of_pool:
            of_pool[pool] = PatternMoments(pool, source)
        moments.append(of_pool[pool].of(call.columns))
    return [replace(call, beside=None) for call in calls], moments


def _blocks(work: GroupWork, source: GroupSource, block_size: int | None) -> list[Integers]:
    """Records of each stratum and block, in order."""
    order = np.argsort(work.strata, kind="stable")
    bounds = np.searchsorted(work.strata[order], np.arange(int(work.strata.max(initial=0)) + 2))
    strata = [order[start:stop] for start, stop in itertools.pairwise(bounds) if stop > start]
    if block_size is None or work.method.claims.cut == "none":
        return strata
    blocks: list[Integers] = []
    for records in strata:
        if len(records) <= block_size:
            blocks.append(records)
            continue
        if work.method.claims.cut == "any":
            blocks.extend(np.split(records, range(block_size, len(records), block_size)))
            continue
        standardised = np.nan_to_num((source.values[records] - source.center) / source.scale)
        numbers = kd_blocks(standardised, block_size)
        inner = np.argsort(numbers, kind="stable")
        cuts = np.flatnonzero(np.diff(numbers[inner])) + 1
        blocks.extend(records[part] for part in np.split(inner, cuts))
    return blocks


def _block(call: MethodCall, work: GroupWork, source: GroupSource, progress: Progress) -> Block:
    """What the method sees in one call: copies, which it cannot change."""
    records, columns = call.seen, call.columns
    cells = np.ix_(records, columns)
    absent = {name for position, name in enumerate(work.variables) if position not in columns}
    return Block(
        values=read_only(source.values[cells]), missing=read_only(source.missing[cells]),
        variables=tuple(source.variables[column] for column in columns),
        edits=EditSet(tuple(edit for edit in work.edits if not absent & set(edit.variables))),
        operators=tuple(work.operators[column] for column in columns),
        weights=None if source.weights is None else read_only(source.weights[records]),
        households=None if source.households is None else read_only(source.households[records]),
        records=read_only(records),
        center=read_only(source.center[columns]), scale=read_only(source.scale[columns]), file_n=len(source.values),
        missing_kinds=None if source.missing_kinds is None else read_only(source.missing_kinds[cells]),
        progress=progress,
        companions=FrozenDict({name: read_only(column[records]) for name, column in source.companions.items()}),
        companion_variables=FrozenDict(source.companion_variables),
        missing_codes=None if source.missing_codes is None else read_only(source.missing_codes[cells]),
        group_name=source.group_name,
    )  # fmt: skip


def _protect_block(
    block: Block, work: GroupWork, rng: np.random.Generator, context: MaskingContext, *, alone: bool
) -> Masked:
    """Call the method and hold it to its contract; observers are called before and after."""
    observe, method = context.observe, work.method
    assert method.protect is not None
    # A block that is alone has nothing to be masked beside.
    workers = None if alone else context.workers
    protect = method.protect if workers is None else in_worker(workers, work.step, method)
    with in_step(work.step):
        if observe is not None:
            observe(work.step, method.name, block, None)
        masked = checked_masked(method, work.params, block, protect(block, work.params, rng))
        refuse_other_representatives(method, work.params, block, masked)
        masked = with_warnings(masked, tuple(broken_claims(method, work.params, block, masked)))
        if observe is not None:
            observe(work.step, method.name, block, masked)
    return masked


def _in_order(task: Callable[[int], Masked], count: int, workers: int) -> list[Masked]:
    """Results of tasks 0, 1, ..., on as many threads as there are workers."""
    if workers > 1 and count > 1:
        with ThreadPoolExecutor(workers) as pool:
            return list(pool.map(in_this_context(task), range(count)))
    return [task(number) for number in range(count)]


def _with_guaranteed_counts(result: GroupResult, work: GroupWork, source: GroupSource) -> GroupResult:
    """Where cells are missing and the method promises k: every published average rests on k values."""
    k = work.method.smallest_cluster(work.params)
    if k is None or not source.missing.any():
        return result
    counted = replace(
        source,
        households=source.households if work.method.claims.counts_households else None,
        weights=source.weights if work.method.uses_weights(work.params) else None,
    )
    return with_enough_values(result, work, counted, k)


def _with_majority_zeros(result: GroupResult, work: GroupWork, source: GroupSource) -> GroupResult:
    """Where records with other structural zeros had to be clustered together: those of the record most like them.

    A pattern that a record has can be kept with the edits; what most have of each variable by itself may not. What a
    record has not is taken as most of the others in its cluster have it.
    """
    columns = [place for place, variable in enumerate(result.variables) if variable.name in work.zeros]
    if not columns or result.labels is None or result.representatives is None:
        return result
    representatives, labels, count = result.representatives.copy(), result.labels, len(result.representatives)
    there = ~source.missing[:, columns]
    own = (source.values[:, columns] == 0) & there
    zeros, others = (
        np.stack([np.bincount(labels, each, minlength=count) for each in cells.T], axis=1)
        for cells in (own, there & ~own)
    )
    filled = np.where(there, own, (zeros > others)[labels])
    unlike = np.where(filled, others[labels], zeros[labels]).sum(axis=1)
    order = np.lexsort((np.sum(~there, axis=1), unlike, labels))
    clusters, first = np.unique(labels[order], return_index=True)
    pattern = np.zeros(zeros.shape, dtype=np.bool_)
    pattern[clusters] = filled[order[first]]
    rows, places = np.nonzero(pattern & (others > 0))
    representatives[rows, np.array(columns)[places]] = 0.0
    values = np.where(result.missing, np.nan, representatives[labels])
    changed = np.sum(there & ((values[:, columns] == 0) != own), axis=0)
    joined = {result.variables[at].name: int(n) for at, n in zip(columns, changed, strict=True) if n}
    notes = {**result.notes, ZEROS_OF_OTHERS: joined} if joined else result.notes
    return replace(result, values=values, representatives=representatives, notes=notes)


class _Shares:
    """Progress of many tasks as one share, weighted by records; safe to call from several threads."""

    def __init__(self, progress: Progress, sizes: Sequence[int]) -> None:
        self._progress = progress
        self._sizes = sizes
        self._done = [0.0] * len(sizes)
        self._total = max(sum(sizes), 1)
        self._lock = Lock()

    def of(self, number: int) -> Progress:
        """Progress callable of one task."""

        def report(share: float) -> None:
            with self._lock:
                self._done[number] = share * self._sizes[number]
                self._progress(sum(self._done) / self._total)

        return report
