"""Advice on keys: which sets of variables single out records, and which to treat first."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.requests import measure_requests
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError, Problem, refuse_problems
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.progress import Logged, Reporter
from maskwright.release.measures.measuring import compute_measures
from maskwright.release.record.record_parts import as_lists

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.plugins.measurement import Measurement


USUAL_SIZE = 3
MOST_SETS = 5_000
"""Sets that are searched unless a size is requested: all pairs and triples of 30 variables."""
MOST_VALUES = 100
"""Whole numbers with more different values are taken for amounts, not for keys."""
MOST_TREATED = 3
NOT_NAMED = "not named"


@dataclass(frozen=True)
class KeyVariable:
    """What one variable does.

    `contribution`: percent of the total score that comes from sets with it (SUDA).
    """

    name: str
    values: int
    missing: int
    contribution: float


@dataclass(frozen=True)
class KeySet:
    """What a set of variables does.

    `unique`: records that are alone on the set. `singled_out`: those that are alone on no part of it.
    """

    keys: tuple[str, ...]
    unique: int
    singled_out: int


@dataclass(frozen=True)
class Treated:
    """What is left without a variable, and without those that were treated before it.

    `left`: records that a set of the other variables still singles out.
    """

    name: str
    left: int


@dataclass(frozen=True)
class KeyAdvice:
    """Which sets of variables single people out.

    `largest`: sets of at most so many variables were searched. `singled_out`: records that some set singles out.
    `by_size`: smallest sets of 1, 2, ... variables, over all records. `sets`: that single someone out; most records
    first, and the smaller set where they are as many. `treat`: in which order; at most `MOST_TREATED`.
    """

    records: int
    largest: int
    singled_out: int
    by_size: tuple[int, ...]
    keys: tuple[KeyVariable, ...]
    sets: tuple[KeySet, ...]
    treat: tuple[Treated, ...]
    left_out: Mapping[str, str]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """Return what ``maskwright advise keys --json`` prints."""
        return {name: as_lists(each) for name, each in asdict(self).items()}


def advise_keys(
    data: Dataset,
    *,
    keys: Sequence[str] = (),
    exclude: Sequence[str] = (),
    largest: int | None = None,
    reporter: Reporter | None = None,
) -> KeyAdvice:
    """Say which sets of variables single records out, by the measure `suda`.

    `keys`: variables an intruder may know. By default those with the role quasi_identifier; where there is none, all
    categories and all whole numbers of few different values. `largest`: sets of at most so many variables; by default
    3, or less where there are many variables. Returns of the file as it is: no record's values are in it.

    The variable that contributes most is the first to treat; the next is the one that contributes most to what is left
    without the first. How much a treatment takes away lies between nothing and what leaving the variable out does.
    """
    reporter = reporter or Logged()
    chosen, left_out = _chosen(data, keys, exclude)
    if not len(data):
        raise InputError("there is nothing to look at: the file has no records")
    fitting = [size for size in range(1, USUAL_SIZE + 1) if _count_sets(len(chosen), size) <= MOST_SETS]
    size = min(largest or max(fitting, default=1), len(chosen))
    found = _measured(data, chosen, size, reporter, sets=True)
    sets = [
        KeySet(names, _records(data, found.parts[f"unique on {text}"]), _records(data, found.parts[f"minimal {text}"]))
        for each in range(1, size + 1)
        for names in itertools.combinations(chosen, each)
        for text in (" + ".join(names),)
    ]
    sets = [each for each in sets if each.singled_out]
    variables = [
        KeyVariable(name, _different(data[name]), int(data[name].missing.sum()), found.per_variable[name])
        for name in chosen
    ]
    return KeyAdvice(
        len(data),
        size,
        _records(data, found.parts["scored"]),
        tuple(int(found.parts[f"msus_{each}"]) for each in range(1, size + 1)),
        tuple(sorted(variables, key=lambda each: -each.contribution)),
        tuple(sorted(sets, key=lambda each: (-each.singled_out, len(each.keys)))),
        tuple(_treated(data, chosen, size, found, reporter)),
        {name: why for name, why in left_out.items() if why != NOT_NAMED},
        tuple(_notes(data, variables, size, largest)),
    )


def _chosen(data: Dataset, keys: Sequence[str], exclude: Sequence[str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """Names of the keys in file order, and why the others are none."""
    problems = [
        Problem(f"{option}: {unknown_name('variable', name, data.names)}")
        for option, names in (("--keys", keys), ("--exclude", exclude))
        for name in names
        if name not in data
    ]
    refuse_problems(problems)
    declared = any(column.variable.role == "quasi_identifier" for column in data)
    left_out: dict[str, str] = {}
    for column in data:
        why = _why_not(column, keys, declared=declared)
        if column.name in exclude:
            why = "excluded"
        if why:
            left_out[column.name] = why
    chosen = tuple(name for name in data.names if name not in left_out)
    if not chosen:
        raise InputError(
            Problem(
                "there are no key variables to look at",
                hint="Name those an intruder may know: --keys region,age",
            )
        )
    return chosen, left_out


def _why_not(column: Column, keys: Sequence[str], *, declared: bool) -> str:
    """Why a variable is no key; empty where it is one."""
    variable = column.variable
    if keys:
        return "" if variable.name in keys else NOT_NAMED
    if declared or variable.renewed or variable.role in ("identifier", "weight"):
        if variable.renewed:
            return "identifier that gets new random values"
        return "" if variable.role == "quasi_identifier" else f"role {variable.role}"
    if not variable.is_numeric:
        return ""
    if variable.type != "integer" and variable.decimals != 0:
        return variable.type
    return "" if _different(column) <= MOST_VALUES else f"more than {MOST_VALUES} different numbers"


def _different(column: Column) -> int:
    return len(np.unique(column.values[~column.missing]))


def _count_sets(keys: int, largest: int) -> int:
    return sum(math.comb(keys, size) for size in range(1, largest + 1))


def _measured(data: Dataset, keys: Sequence[str], largest: int, reporter: Reporter, *, sets: bool) -> Measurement:
    requested = {"keys": list(keys), "largest": largest, "sampling_fraction": 1.0, "sets": sets}
    requests = measure_requests([{"suda": requested}])
    (found,) = compute_measures(requests, data, data, EditSet(), {}, 0, reporter, (), before=False).values()
    return found


def _records(data: Dataset, percent: float) -> int:
    return round(percent * len(data) / 100.0)


def _treated(
    data: Dataset, keys: Sequence[str], largest: int, found: Measurement, reporter: Reporter
) -> Iterator[Treated]:
    """The variables that contribute most, one after the other."""
    left = list(keys)
    for _ in range(min(MOST_TREATED, len(keys) - 1)):
        if not found.parts["scored"]:
            return
        worst = max(left, key=lambda name: found.per_variable[name])
        left.remove(worst)
        found = _measured(data, left, min(largest, len(left)), reporter, sets=False)
        yield Treated(worst, _records(data, found.parts["scored"]))


def _notes(data: Dataset, variables: Sequence[KeyVariable], size: int, requested: int | None) -> Iterator[str]:
    if requested is None and size < min(USUAL_SIZE, len(variables)):
        yield f"{len(variables)} variables: only sets of up to {size} are searched; --largest {size + 1} asks for more"
    each_its_own = [each.name for each in variables if each.values == len(data) - each.missing > 1]
    if each_its_own:
        yield f"a different value in every record: {', '.join(each_its_own)}; an identifier is no key: --exclude it"
    if any(each.missing for each in variables):
        yield "a missing cell matches nothing, and no set with it singles its record out"
    if data.households is not None:
        yield "single records are counted, although households are declared"
