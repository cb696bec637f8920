"""Results of strata and blocks put together over all records, and facts that methods gather beforehand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.missing import HAD_VALUE
from maskwright.foundation.errors import InputError
from maskwright.plugins.guarding.origin import in_step
from maskwright.plugins.method import Limit, Masked

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.masking.protecting.variable_group import GroupWork
    from maskwright.plugins.block import Block, Gathered, Gathering
    from maskwright.plugins.method import Removed


WEIGHT_DECIMALS = 6
"""Weights that are divided by a sampling fraction are rarely whole."""


ZEROS_OF_OTHERS = "zeros_of_others"
"""Note with the number of records whose zero of a variable is that of others in their cluster, by variable."""


@dataclass(frozen=True, eq=False)
class GroupResult:
    """A masked group over all records, before adjustment.

    `values`: shape (n, g). `missing`: shape (n, g). `labels`: shape (n,). `representatives`: shape (c, g). `notes`: of
    the method: numbers summed over blocks, except smallest and largest ones. `kept_rows`: records of the dataset that
    the method kept, ascending, where it dropped some; shape (n,). `weights`: their sampling weights, where the method
    changed them; shape (n,). `limits`: found in the data by the method, in every call. `doubts`: what the method could
    not do of what it is for. `without_spread`: strata in which variables have no spread to scale a change by, and stay.
    `suppressed`: missing cells that lose their missing code; shape (n, g). `missing_codes`:
    positions of the codes of missing cells in those of the columns, where the method drew records: the old ones are of
    other records then; shape (n, g).
    """

    values: Floats
    missing: Booleans
    variables: tuple[Variable, ...]
    labels: Integers | None
    representatives: Floats | None
    notes: Mapping[str, Any] = field(default_factory=dict)
    kept_rows: Integers | None = None
    weights: Floats | None = None
    limits: tuple[Limit, ...] = ()
    doubts: tuple[str, ...] = ()
    without_spread: Mapping[str, AbstractSet[int]] = field(default_factory=dict)
    missing_codes: Integers | None = None
    suppressed: Booleans | None = None

    def without_cells(self) -> GroupResult:
        """Copy without records, clusters and all, once they are in a dataset."""
        none = self.values[:0].copy()
        return replace(
            self, values=none, missing=self.missing[:0].copy(), labels=None, representatives=None, weights=None,
            suppressed=None, missing_codes=None,
        )  # fmt: skip

    def taken(self, rows: Integers) -> GroupResult:
        """The same of these records only; clusters without a record left are left out."""
        codes = None if self.missing_codes is None else self.missing_codes[rows]
        suppressed = None if self.suppressed is None else self.suppressed[rows]
        found = replace(
            self, values=self.values[rows], missing=self.missing[rows], missing_codes=codes, suppressed=suppressed
        )
        if self.labels is None or self.representatives is None:
            return found
        kept, labels = np.unique(self.labels[rows], return_inverse=True)
        return replace(found, labels=labels.astype(np.int64), representatives=self.representatives[kept])


def assemble(
    records: Sequence[Integers], results: Sequence[Masked], shape: tuple[int, ...], variables: tuple[Variable, ...],
    strata: Integers,
) -> GroupResult:  # fmt: skip
    """Put the results of method calls together, in the order of the file.

    `records`: that each call masked; shape (m,). `strata`: of each record; shape (n,).
    """
    values = np.full(shape, np.nan)
    missing = np.ones(shape, dtype=np.bool_)
    suppressed = np.zeros(shape, dtype=np.bool_) if any(each.suppressed is not None for each in results) else None
    clustered = bool(results) and all(
        result.labels is not None and result.representatives is not None for result in results
    )
    labels = np.zeros(shape[0], dtype=np.int64)
    representatives: list[Floats] = []
    offset = 0
    notes: dict[str, Any] = {}
    drawn = bool(results) and all(result.missing_codes is not None for result in results)
    codes = np.full(shape, HAD_VALUE, dtype=np.int64) if drawn and not clustered else None
    for own, result in zip(records, results, strict=True):
        if codes is not None and result.missing_codes is not None:
            codes[own] = result.missing_codes
        values[own] = result.values
        missing[own] = result.missing
        if suppressed is not None and result.suppressed is not None:
            suppressed[own] = result.suppressed
        if clustered and result.labels is not None and result.representatives is not None:
            labels[own] = result.labels + offset
            offset += len(result.representatives)
            representatives.append(result.representatives)
        gather_notes(notes, result.notes)
    changed = next((result.variables for result in results if result.variables is not None), variables)
    changed = tuple(_with_own_labels(before, after) for before, after in zip(variables, changed, strict=True))
    doubts = dict.fromkeys(doubt for result in results for doubt in result.doubts)
    equal: dict[str, set[int]] = {}
    names = [each.name for each in variables]
    for own, result in zip(records, results, strict=True):
        for name in result.without_spread:
            equal.setdefault(name, set()).add(int(strata[own[0]]))
            if np.count_nonzero(~result.missing[:, names.index(name)]) == 1:
                doubts[f"{name}: a true value is published unchanged, because no other is masked with it"] = None
    return GroupResult(
        values, missing, changed, labels if clustered else None,
        np.concatenate(representatives) if clustered else None, notes,
        limits=_widest(results), doubts=tuple(doubts), without_spread=equal, suppressed=suppressed, missing_codes=codes,
    )  # fmt: skip


def _with_own_labels(before: Variable, after: Variable) -> Variable:
    """Variable without labels of codes that it no longer has, where a method published other categories."""
    if after.categories == before.categories or after.is_numeric:
        return after
    return replace(after, labels=tuple((code, label) for code, label in after.labels if code in after.categories))


def without_removed(block: Block, removed: Removed) -> GroupResult:
    """All records and variables of a step, without what a remover takes away."""
    if removed.kept_rows is not None and not len(removed.kept_rows):
        raise InputError("no record would be left: nothing can be released")
    values, missing = removed.left(block)
    suppressed = None
    if removed.cells is not None:
        coded = 0 if block.missing_kinds is None else block.missing_kinds
        suppressed = removed.cells & block.missing & (coded != 0)
    return GroupResult(
        values, missing, block.variables, None, None, removed.notes, removed.kept_rows, removed.weights,
        doubts=removed.doubts, suppressed=suppressed,
    )  # fmt: skip


def _widest(results: Sequence[Masked]) -> tuple[Limit, ...]:
    """For each variable the limits that hold for what all calls returned."""
    names = dict.fromkeys(limit.variable for result in results for limit in result.limits)
    found: list[Limit] = []
    for name in names:
        own = [next((each for each in result.limits if each.variable == name), Limit(name)) for result in results]
        low = [each for each in own if each.low is not None]
        high = [each for each in own if each.high is not None]
        lowest = min(low, key=lambda each: each.low or 0.0) if len(low) == len(own) else Limit(name)
        highest = max(high, key=lambda each: each.high or 0.0) if len(high) == len(own) else Limit(name)
        bases = {each.multiple_of for each in own}
        base = bases.pop() if len(bases) == 1 else None
        found.append(Limit(name, lowest.low, highest.high, base, lowest.low_is, highest.high_is))
    return tuple(found)


def with_group(data: Dataset, result: GroupResult) -> Dataset:
    """Dataset with the columns of a masked group in place of its own, and without the records that are dropped."""
    if result.kept_rows is not None:
        data = _with_weights(data.taken(result.kept_rows), result)
    changed: dict[str, Column] = {}
    for position, variable in enumerate(result.variables):
        missing = result.missing[:, position].copy()
        values = result.values[:, position]
        column = data[variable.name]
        if result.missing_codes is not None and column.blank is not None:
            drawn = result.missing_codes[:, position].astype(column.blank.codes.dtype)
            column = replace(column, blank=replace(column.blank, codes=drawn))
        if variable.is_numeric:
            values = np.where(missing, np.nan, values)
        else:
            values = np.where(missing, -1, np.nan_to_num(values)).astype(np.int32)
        suppressed = None if result.suppressed is None else result.suppressed[:, position]
        changed[variable.name] = column.changed(values, missing, variable, suppressed)
    return data.with_columns(changed)


def _with_weights(data: Dataset, result: GroupResult) -> Dataset:
    """Dataset with the sampling weights that a method gave; they have at least WEIGHT_DECIMALS places."""
    if result.weights is None:
        return data
    (column,) = [column for column in data if column.variable.role == "weight" and column.variable.is_numeric]
    places = None if column.variable.decimals is None else max(column.variable.decimals, WEIGHT_DECIMALS)
    variable = replace(column.variable, type="continuous", decimals=places)
    values = result.weights if places is None else np.round(result.weights, places)
    return data.with_columns({column.name: column.changed(values, variable=variable)})


def gather_notes(notes: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add what a method said of one more block, as `Masked.notes` says."""
    for key, value in more.items():
        if key == "warnings":
            notes[key] = list(dict.fromkeys([*notes.get(key, ()), *value]))
        elif key == "published":
            known = notes.get(key, {})
            notes[key] = {name: [*known.get(name, ()), *each] for name, each in value.items()}
        elif key == ZEROS_OF_OTHERS:
            notes[key] = dict(Counter(notes.get(key, {})) + Counter(value))
        elif key not in notes or not isinstance(value, int | float):
            notes[key] = value
        elif "smallest" in key:
            notes[key] = min(notes[key], value)
        elif "largest" in key:
            notes[key] = max(notes[key], value)
        else:
            notes[key] = notes[key] + value


def gathering_of(work: GroupWork) -> Gathering | None:
    """What the method of a group gathers from all records, if anything."""
    return work.method.claims.gathering


def facts_of_strata(work: GroupWork, blocks: Iterable[tuple[int, Block]]) -> dict[int, Gathered]:
    """What some records say, by stratum."""
    gathering = gathering_of(work)
    assert gathering is not None
    with in_step(work.step):
        return {stratum: gathering.partial(block, work.params) for stratum, block in blocks}


def merged_strata(work: GroupWork, shares: Sequence[Mapping[int, Gathered]]) -> dict[int, Gathered]:
    """What all records say, by stratum."""
    gathering = gathering_of(work)
    assert gathering is not None
    strata = sorted({stratum for each in shares for stratum in each})
    with in_step(work.step):
        return {
            stratum: gathering.merged([each[stratum] for each in shares if stratum in each], work.params)
            for stratum in strata
        }


def notes_of_all(work: GroupWork, gathered: Mapping[int, Gathered], variables: Sequence[Variable]) -> dict[str, Any]:
    """What is to be said once of all records."""
    gathering = gathering_of(work)
    notes: dict[str, Any] = {}
    if gathering is not None and gathering.notes is not None:
        with in_step(work.step):
            for stratum in sorted(gathered):
                gather_notes(notes, gathering.notes(gathered[stratum], variables, work.params))
    return notes
