"""Missing cells: what a step can do with them, and missing codes that disclose a value."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.classes.classes import Classes
from maskwright.foundation.counts import plural
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.findings import Notice
from maskwright.planning.missing_patterns import splits_by_pattern, without_holes
from maskwright.planning.model import Group, Step, with_steps
from maskwright.planning.strata import Strata, missing_codes
from maskwright.plugins.parameter_markers import IndependentVariables

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.arrays import Booleans, Integers


LARGEST = 2**62
"""Codes of patterns stay below it: whole numbers of 64 bits hold them."""


def refuse_missing(step: Step, group: Sequence[str], strata: Strata, data: Dataset) -> None:
    """Refuse missing cells that the step's policy or its method cannot take."""
    method, policy = step.method, step.planning.missing
    holes = [] if method.claims.handles_missing else [name for name in step.independents if data[name].missing.any()]
    if holes:
        raise InputError(
            f"{method.name} reads {_counted(holes, data)} and takes no missing cells there: leave "
            f"{'it' if len(holes) == 1 else 'them'} out of '{method.parameter(IndependentVariables)}', or impute the "
            "cells first"
        )
    holes = [name for name in group if data[name].missing.any()]
    if not holes:
        return
    if policy == "refuse":
        raise InputError(f"cells are missing and 'missing: refuse' is set ({_counted(holes, data)})")
    _refuse_scarce(step, holes, data)
    if method.claims.handles_missing:
        return
    wanted = "" if policy == "own_pattern" else f", so 'missing: {policy}' cannot be done"
    if not splits_by_pattern(method):
        raise InputError(
            f"method {method.name!r} takes no missing cells{wanted}; there are some in "
            f"{_counted(holes, data)}. Leave these variables out, impute the cells first, or take a method that takes "
            "missing cells (`maskwright explain NAME` says so)"
        )
    if policy != "own_pattern":
        raise InputError(
            f"method {method.name!r} takes no missing cells{wanted}; with 'missing: own_pattern' it "
            "masks records with the same cells missing apart"
        )
    try:
        without_holes(_records_by_stratum(strata), _missing(group, data), method, step.params)
    except InputError as error:
        raise InputError(f"{error} ({_counted(holes, data)} missing)") from error


def _refuse_scarce(step: Step, names: Sequence[str], data: Dataset) -> None:
    """Refuse variables with values, but of fewer records than the step promises to average."""
    if step.k is None or step.planning.k_guarantee == "report":
        return
    households = data.households if step.method.claims.counts_households else None
    scarce: dict[str, int] = {}
    for name in names:
        rows = np.flatnonzero(~data[name].missing)
        found = len(rows) if households is None else len(np.unique(households[rows]))
        if 0 < found < step.k:
            scarce[name] = found
    if not scarce:
        return
    owners = "records" if households is None else data.groups_said
    counted = ", ".join(f"{name}: {found}" for name, found in scarce.items())
    problem = Problem(
        f"step {step.number} promises k = {step.k}, but fewer {owners} than that have a value of some variables at all "
        f"({counted}): no average of k values exists",
        step.place,
        hint=f"give {'it' if len(scarce) == 1 else 'them'} 'role: identifier' so that nothing of that is published, or "
        "remove these values; 'k_guarantee: report' in the step's params lets a method publish them all the same",
    )
    raise InputError([problem])


def _counted(names: Sequence[str], data: Dataset) -> str:
    return ", ".join(f"{name}: {int(data[name].missing.sum())}" for name in names)


def _missing(group: Sequence[str], data: Dataset) -> Booleans:
    return np.stack([data[name].missing for name in group], axis=1)


def _records_by_stratum(strata: Strata) -> list[Integers]:
    order = np.argsort(strata.codes, kind="stable")
    return np.split(order, np.searchsorted(strata.codes[order], np.arange(1, strata.count)))


def missing_pattern_notices(groups: Sequence[Group], steps: Sequence[Step], data: Dataset | None) -> Iterator[Notice]:
    """How many patterns of missing cells a method that takes none masks apart, and which it cannot mask alone."""
    for group, step in with_steps(groups, steps):
        if data is None or group.strata is None or not splits_by_pattern(step.method):
            continue
        missing = _missing(group.variables, data)
        if not missing.any():
            continue
        found = without_holes(_records_by_stratum(group.strata), missing, step.method, step.params)
        patterns = len({tuple(call.columns) for call in found})
        helped = sum(len(call.records) for call in found if call.beside is not None)
        message = (
            f"{step} takes no missing cells: it masks {patterns} patterns of missing "
            "cells apart, each on the cells that are there"
        )
        if not step.method.claims.within_strata:
            message += ", together with all records that have them"
        elif helped:
            message += (
                f"; {plural(helped, 'record shares', 'records share')} theirs with too few others: masked as records "
                "that have the same cells and more, so that what the method keeps exactly it keeps nearly for them"
            )
        empty = int(missing.all(axis=1).sum())
        message += f"; {plural(empty, 'record has', 'records have')} none of these cells" if empty else ""
        yield Notice("missing-patterns", str(step.number), message, patterns, place=step.place)


def rare_missing_doubts(groups: Sequence[Group], steps: Sequence[Step], data: Dataset | None) -> Iterator[Doubt]:
    """Promises of k that patterns of missing cells break: missing cells stay missing, and tell records apart.

    Each missing code is published, so that a pattern has its own codes; where records are masked within strata, those
    of another stratum publish other values, and do not count.

    Not where ``k_guarantee: report`` is set; `rare_missing_notices` speaks of these steps.
    """
    for group, few in _with_rare_patterns(groups, steps, data):
        step = steps[group.step - 1]
        if step.planning.k_guarantee == "require":
            yield Doubt(
                "promise-not-kept",
                str(step.number),
                f"k = {step.k} cannot hold: {_distinguished(group, few, step)}",
                few,
                None if data is None else len(data), step.place,
                "Impute these cells first, take more records, leave out the variables with the most missing cells, or "
                "set 'k_guarantee: report' in the step's params.",
            )  # fmt: skip


def rare_missing_notices(groups: Sequence[Group], steps: Sequence[Step], data: Dataset | None) -> Iterator[Notice]:
    """The same of steps that need not keep k; parameters as for `rare_missing_doubts`."""
    for group, few in _with_rare_patterns(groups, steps, data):
        step = steps[group.step - 1]
        if step.planning.k_guarantee == "report":
            message = _distinguished(group, few, step)
            yield Notice("missing-cells-distinguish", str(step.number), message, few, place=step.place)


def _with_rare_patterns(
    groups: Sequence[Group], steps: Sequence[Step], data: Dataset | None
) -> Iterator[tuple[Group, int]]:
    """Groups of variables with records that have cells missing as fewer than k records, or households, have."""
    for group in groups:
        k = steps[group.step - 1].k
        if data is None or k is None:
            continue
        few = int(rare_missing_records(group, k, data).sum())
        if few:
            yield group, few


def rare_missing_records(group: Group, k: int, data: Dataset) -> Booleans:
    """Records that have cells of a group of variables missing as fewer than k records, or households, have; (n,)."""
    gaps = np.stack([missing_codes(data[name]) for name in group.variables], axis=1)
    if not gaps.any():
        return np.zeros(len(data), dtype=np.bool_)
    pattern = _patterns(gaps, _separate_strata(group, gaps))
    owners = np.bincount(pattern)
    if data.households is not None:
        owners = np.bincount(Classes.of([pattern, data.households]).keys[0])
    return np.asarray((owners < k)[pattern])


def _separate_strata(group: Group, gaps: Integers) -> Integers:
    """Stratum of each record where patterns are masked apart, shape (n,); 0 for records without any value."""
    if group.strata is None or not any(each.title == "missing cells" for each in group.cut_by):
        return np.zeros(len(gaps), dtype=np.int64)
    return np.where((gaps > 0).all(axis=1), 0, group.strata.codes)


def _patterns(gaps: Integers, start: Integers) -> Integers:
    """Code 0, 1, ... of how the cells of each record are missing, those apart that `start` separates; shape (n,)."""
    codes, span = start, int(start.max(initial=0)) + 1
    for variable in np.flatnonzero(gaps.any(axis=0)).tolist():
        base = int(gaps[:, variable].max()) + 1
        if span * base > LARGEST:
            codes = np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
            span = int(codes.max(initial=0)) + 1
        codes, span = codes * base + gaps[:, variable], span * base
    # Sorting whole numbers takes a tenth of what sorting rows does.
    return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _distinguished(group: Group, few: int, step: Step) -> str:
    own = f" of their stratum ({', '.join(step.within)})" if step.within else ""
    return (
        f"{plural(few, 'record has', 'records have')} cells missing in a way that fewer than k = {step.k} records{own} "
        f"share ({', '.join(group.variables)}): which cells are missing tells them apart"
    )


FEW = 3
"""A code that fewer records have is probably none: offices use a code for all cells without a value for one reason."""

WORDS_WITH_A_NUMBER = re.compile(r"(?=.*[0-9])(?=.*[^0-9\s.,'+-])|.*[0-9][\s.,'][0-9]{3}")
"""A number with words, or with its thousands apart, as no code has: ``about 12``, ``3 000``."""


def disclosing_code_doubts(names: Iterable[str], data: Dataset | None) -> Iterator[Doubt]:
    """Doubts about numbers within texts that are declared missing codes, and that fewer than three records have."""
    if data is None:
        return
    for name in names:
        column = data[name]
        if not column.variable.is_numeric or column.blank is None:
            continue
        texts, codes = column.blank.texts, column.blank.codes
        used = np.bincount(codes[column.missing & (codes >= 0)], minlength=len(texts))
        counted = zip(used.tolist(), texts, strict=True)
        few = sum(count for count, text in counted if count < FEW and WORDS_WITH_A_NUMBER.match(text))
        if few:
            message = (
                f"{few} missing {'cell holds a number' if few == 1 else 'cells hold numbers'} within a text that "
                "hardly any other record has: missing codes are published as they stand, and it may be the value itself"
            )
            yield Doubt("missing-code-tells", name, message, few, len(data))
