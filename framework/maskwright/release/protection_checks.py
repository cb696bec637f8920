"""Checks that protection took place: every planned step was run, and how many published cells are unchanged."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.data.classes.classes import Classes
from maskwright.data.record_groups import shared_codes
from maskwright.data.stored_cells import rows_of
from maskwright.foundation.counts import plural
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import Problem, StepNotDone

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.planning.model import Step
    from maskwright.planning.plan import Plan
    from maskwright.release.record.record_parts import PlanRecord
    from maskwright.release.record.run_record import RunRecord


MOST_UNCHANGED = 50.0
"""Percent of the cells of a confidential variable that may be as they were, unless it is declared."""

LEAST_DECLARED = 80
"""Percentage that is proposed to be declared, at least."""

MOST_NAMED = 4
"""Variables that a message names."""

FEW_VALUES = 20
"""Different values up to which a number may be a code."""


@dataclass(frozen=True)
class UnchangedCells:
    """Cells of a variable that have the value of the original.

    `cells`: cells of the released records whose original has a value, other than 0 for a number: zeros are many, and
    tell little. `unchanged`: those of them that show that value. `values`: how many different ones there are. `zeros`:
    cells that are left out since they are 0. `by_chance`: how many would show it if the published values were in any
    other order; counted where more than half do.
    """

    variable: Variable
    cells: int
    unchanged: int
    values: int
    zeros: int = 0
    by_chance: float = 0.0

    @property
    def percent(self) -> float | None:
        """Share of the cells that are unchanged; None where there are none."""
        return 100 * self.unchanged / self.cells if self.cells else None

    @property
    def percent_beyond_chance(self) -> float:
        """Share of the cells that are unchanged, of those that chance would have changed."""
        return 100 * max(self.unchanged - self.by_chance, 0.0) / max(self.cells - self.by_chance, 1e-9)


def unchanged_cells(original: Dataset, released: Dataset) -> tuple[UnchangedCells, ...]:
    """Compare each released variable with the original, record by record."""
    origin = slice(None) if released.origin is None else rows_of(original, released)
    return tuple(_compared(original[column.name], column, origin) for column in released if column.name in original)


def _compared(before: Column, after: Column, origin: NDArray[np.int64] | slice) -> UnchangedCells:
    values, telling = before.values[origin], ~before.missing[origin]
    present = int(np.count_nonzero(telling))
    if before.variable.is_numeric:
        telling &= values != 0
        same = _numbers(after) == values
    else:
        same = _codes(after, before.variable.categories) == values
    same &= telling & ~after.missing
    different = int(pc.count_distinct(pa.array(values[telling])).as_py())
    cells = int(np.count_nonzero(telling))
    unchanged, by_chance = int(np.count_nonzero(same)), 0.0
    if 100 * unchanged > MOST_UNCHANGED * cells:
        old, new = shared_codes([before, after])
        by_chance = float(_shares(new, old)[old[origin][telling]].sum())
    return UnchangedCells(before.variable, cells, unchanged, different, present - cells, by_chance)


def _shares(codes: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.float64]:
    """Share of the records that have each code, of all that have one; 0 for codes that only others have."""
    counts = np.bincount(codes[codes >= 0], minlength=int(max(codes.max(initial=-1), others.max(initial=-1))) + 1)
    return np.asarray(counts / max(int(counts.sum()), 1), dtype=np.float64)


def _numbers(column: Column) -> NDArray[np.float64]:
    """Values; of categories, the numbers that their texts are."""
    if column.variable.is_numeric:
        return np.asarray(column.values, dtype=np.float64)
    numbers = np.array([*map(_number, column.variable.categories), np.nan])
    return np.asarray(numbers[column.values], dtype=np.float64)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


def _codes(column: Column, categories: Sequence[str]) -> NDArray[np.int64]:
    """Position of each cell's text in the categories of the original; -1 for another text."""
    if column.variable.is_numeric:
        known: Mapping[float, int] = {_number(text): position for position, text in enumerate(categories)}
        found, places = np.unique(column.values, return_inverse=True)
        return np.array([known.get(value, -1) for value in found.tolist()], dtype=np.int64)[places]
    position_of = {text: position for position, text in enumerate(categories)}
    new = np.array([*(position_of.get(text, -1) for text in column.variable.categories), -1], dtype=np.int64)
    return np.asarray(new[column.values], dtype=np.int64)


@dataclass(frozen=True)
class FoundValues:
    """What whoever knows other variables of a record finds out about a masked one.

    `known`: these variables. `records`: those that are found among fewer than `least` published ones, which show one
    value of the masked variable. `right`: for how many of them it is their own. `by_chance`: for how many a value of
    any published record would be.
    """

    known: tuple[str, ...]
    least: int
    records: int
    right: int
    by_chance: float

    @property
    def mostly_right(self) -> bool:
        """Whether more than half are guessed, beyond chance and beyond the error of few records."""
        n = self.records
        if not n:
            return False
        share, chance = self.right / n, self.by_chance / n
        # Wilson's lower bound.
        error = SIDE * math.sqrt(share * (1 - share) / n + SIDE**2 / (4 * n**2))
        low = (share + SIDE**2 / (2 * n) - error) / (1 + SIDE**2 / n)
        return low - chance > MOST_UNCHANGED / 100 * (1 - chance)


SIDE = 1.645
"""Standard errors below which a share lies with 5 %."""


def found_values(original: Dataset, released: Dataset, name: str, known: Sequence[str], least: int) -> FoundValues:
    """Values of a variable that an intruder finds who looks for each record by original values of known variables.

    A variable that was recoded is known by its published category; others only by their own values, so that what was
    perturbed leads to no record or to others. Numbers that are 0 are not counted: zeros are many.
    """
    origin = slice(None) if released.origin is None else rows_of(original, released)
    keys, shown = [], []
    for each in known:
        before, after = shared_codes([original[each], released[each]])
        keys.append(after if released[each].variable.bands else before[origin])
        shown.append(after)
    n = len(released)
    classes = Classes.of([np.concatenate(both) for both in zip(keys, shown, strict=True)])
    own, published = classes.codes[:n], classes.codes[n:]
    values, masked = shared_codes([original[name], released[name]])
    values, column = values[origin], original[name]
    telling = ~column.missing[origin]
    if column.variable.is_numeric:
        telling &= column.values[origin] != 0
    equal = np.bincount(published, minlength=len(classes))[own]
    pairs = Classes.of([classes.codes, np.concatenate([values, masked])])
    of_pair = classes.codes[pairs.first]
    shows = np.bincount(pairs.codes[n:], minlength=len(pairs)) > 0
    different = np.bincount(of_pair[shows], minlength=len(classes))[own]
    found = np.flatnonzero(telling & (equal > 0) & (equal < least) & (different == 1))
    right = int(shows[pairs.codes[:n]][found].sum())
    return FoundValues(tuple(known), least, len(found), right, float(_shares(masked, values)[values[found]].sum()))


def unchanged_doubts(
    found: Iterable[UnchangedCells],
    plan: Plan,
    known: Iterable[Doubt] = (),
    files: tuple[Dataset, Dataset] | None = None,
) -> Iterator[Doubt]:
    """Doubts about masked variables that are mostly, or altogether, as they were.

    Steps that only remove records or cells may find nothing to remove: what no other step masks is no doubt here. Of a
    variable with one value nothing follows. A step that promises k hides records among others, not values: where like
    records are many, most stay, and are a doubt where whoever knows the quasi-identifiers, or all other variables where
    none are declared, finds a record among fewer than k and is right. A number with few values of which nothing is
    declared may be a code. A total that is derived across levels is as it was where nothing that it is computed from is
    masked.

    `files`: original and released records; None: they are not in memory together, and what remains altogether is a
    doubt.
    """
    messages = {doubt.subject for doubt in known if doubt.kind == "step-changed-nothing"}
    derived = {each.name for each in plan.derived}
    changed_by: dict[str, list[Step]] = {}
    for group in plan.groups:
        step = plan.steps[group.step - 1]
        for name in () if step.only_removes else group.variables:
            changed_by.setdefault(name, []).append(step)
    for seen in found:
        variable, share, steps = seen.variable, seen.percent, changed_by.get(seen.variable.name, ())
        is_masked = bool(steps) or variable.name in derived
        if share is None or not is_masked or variable.as_is or variable.name in messages or seen.values == 1:
            continue
        reason = _reason(seen, steps, plan, files)
        if reason is not None:
            value = "a value other than 0" if seen.zeros else "a value"
            message = f"{seen.unchanged} of {seen.cells} cells with {value} are as they were{reason}"
            instead = "Mask it more strongly" if steps else "It is derived from others: mask these"
            passing = max(LEAST_DECLARED, math.ceil(share))
            hint = f"{instead}, or declare the percentage that may stay: `{variable.name}: {{unchanged: {passing}}}`."
            if any(step.within for step in steps):
                hint += " Where it is constant in the strata of `within`, who knows these knows it: nothing masks it."
            yield Doubt("values-unchanged", variable.name, message, seen.unchanged, seen.cells, hint=hint)


def _reason(
    seen: UnchangedCells, steps: Sequence[Step], plan: Plan, files: tuple[Dataset, Dataset] | None
) -> str | None:
    """Why so many unchanged cells are too many, as the end of a sentence; None: they are not."""
    share, allowed = seen.percent or 0.0, seen.variable.unchanged
    if allowed is not None:
        return f", and at most {allowed:g} % may be" if share > allowed else None
    is_confidential = seen.variable.role == "confidential"
    may_stay = bool(steps) and _may_stay(seen, steps)
    if is_confidential and not may_stay:
        return f", and at most {MOST_UNCHANGED:g} % may be" if seen.percent_beyond_chance > MOST_UNCHANGED else None
    promises_k = any(step.promised is not None for step in steps)
    if share == 100 and (files is None or not promises_k):
        return ""
    if is_confidential and promises_k and files is not None and share > MOST_UNCHANGED:
        known = _known(seen.variable.name, plan, files[1])
        guessed = found_values(*files, seen.variable.name, known, _least(known, plan)) if known else None
        if guessed is not None and guessed.mostly_right:
            return (
                f"; whoever knows {_named(guessed.known)} finds {plural(guessed.records, 'record')} among fewer than "
                f"{guessed.least}, which show one value, and it is their own in {guessed.right}"
            )
    return None


def _named(names: Sequence[str]) -> str:
    shown = ", ".join(names[:MOST_NAMED])
    return shown if len(names) <= MOST_NAMED else f"{shown} and {len(names) - MOST_NAMED} others"


LEAST = 3
"""Records that hide each other where no step promises k."""


def _least(known: Sequence[str], plan: Plan) -> int:
    """Records that hide each other on known variables: the smallest k that a step promises of them."""
    steps = [plan.steps[group.step - 1] for group in plan.groups if not set(known).isdisjoint(group.variables)]
    return min((step.promised for step in steps if step.promised is not None), default=LEAST)


def _known(name: str, plan: Plan, released: Dataset) -> list[str]:
    """What an intruder knows: the quasi-identifiers, or all other variables where there are none."""
    others = [each for each in plan.variables.values() if each.name != name and each.name in released.names]
    shown = [each for each in others if each.role not in ("identifier", "weight") and not each.renewed]
    keys = [each.name for each in shown if each.role == "quasi_identifier"]
    return keys or [each.name for each in shown]


def _may_stay(seen: UnchangedCells, steps: Sequence[Step]) -> bool:
    """Whether the methods are expected to leave most values of a variable as they are."""
    may_be_code = seen.values <= FEW_VALUES and seen.variable.inferred_role
    promised = any(step.promised is not None for step in steps)
    return (promised and not may_be_code) or all(step.method.claims.changes_few for step in steps)


_HINT = "nothing was published; this is a mistake in Maskwright: please report it with the pipeline, without data"


def require_every_step_planned(steps: Sequence[Step], plan: PlanRecord) -> None:
    """Refuse a plan that lacks a step."""
    planned = {each.step for each in plan.steps if each.groups}
    _refuse(Problem(f"{step} is not in the plan", step.place, _HINT) for step in steps if step.number not in planned)


def require_every_step_run(steps: Sequence[Step], record: RunRecord) -> None:
    """Refuse to release what a step of the plan was not run on."""
    require_every_step_planned(steps, record.plan)
    run = {(each.step, frozenset(each.variables)) for each in record.methods}
    _refuse(
        Problem(f"step {each.step} ({each.method}) was not run on {', '.join(group.variables)}", None, _HINT)
        for each in record.plan.steps
        for group in each.groups
        if set(group.variables) > set(group.computed) and (each.step, frozenset(group.variables)) not in run
    )


def _refuse(problems: Iterator[Problem]) -> None:
    found = list(problems)
    if found:
        raise StepNotDone(found)
