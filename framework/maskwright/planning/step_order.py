"""The order of steps: what a later step takes from the promise of an earlier one, and an order in which none does."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from maskwright.foundation.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from maskwright.planning.model import Step

    VariablesOf = Callable[[Sequence[Step]], tuple[Sequence[Sequence[str]], int]]

MOST_STEPS = 6
"""Of more steps not every order is tried."""


def wrong_order(steps: Sequence[Step], names: Sequence[Sequence[str]], variables_of: VariablesOf) -> list[Problem]:
    """Steps after which a promise of an earlier one no longer holds, with an order that works if there is one.

    `names`: variables that each step masks. `variables_of`: ``(steps) -> (names, mistakes)``: the variables of the same
    steps in another order, and how many mistakes there are in them.
    """
    broken = list(_broken(steps, names))
    if not broken:
        return []
    hint = _way_out(steps, variables_of)
    return [replace(problem, hint=hint) for problem in broken]


def _broken(steps: Sequence[Step], names: Sequence[Sequence[str]]) -> Iterator[Problem]:
    for number, (step, own) in enumerate(zip(steps, names, strict=True), 1):
        for later, (other, theirs) in enumerate(zip(steps[number:], names[number:], strict=True), number + 1):
            if not other.only_removes and ("cells" in step.method.removes or step.method.has_keys):
                yield Problem(
                    f"step {number} ({step.method.name}) works on the values that are published, and step {later} "
                    f"({other.method.name}) changes values after it",
                    other.place,
                )
                break
            if _promise(step) is not None and _takes(other, set(own) & set(theirs)):
                yield Problem(
                    f"step {number} ({step.method.name}) promises k = {_promise(step)}, and step {later} "
                    f"({other.method.name}) takes away from its groups",
                    other.place,
                )
                break


def _promise(step: Step) -> int | None:
    return None if step.planning.k_guarantee == "report" else step.promised


def _takes(step: Step, common: set[str]) -> bool:
    """Whether a step takes away from the groups of another that masks some of the same variables."""
    return "records" in step.method.removes or ("cells" in step.method.removes and bool(common))


def _way_out(steps: Sequence[Step], variables_of: VariablesOf) -> str:
    """An order that works, if need be with promises that are only reported; or that there is none."""
    if len(steps) > MOST_STEPS:
        return "put steps that suppress last, and steps that take records away first"
    found = _working_order(steps, variables_of)
    if found is not None:
        return f"this order works: {_listed(steps, found)}"
    promising = [number for number, step in enumerate(steps) if _promise(step) is not None]
    for size in range(1, len(promising) + 1):
        for chosen in combinations(promising, size):
            reporting = [_reporting(step) if number in chosen else step for number, step in enumerate(steps)]
            found = _working_order(reporting, variables_of)
            if found is not None:
                whose = " and ".join(f"step {number + 1}" for number in chosen)
                return (
                    f"no order keeps all promises; with 'k_guarantee: report' in the params of {whose}, whose smallest "
                    f"class is then reported and not promised, this order works: {_listed(steps, found)}"
                )
    return "no order of these steps keeps what each of them promises: leave one of them out"


def _reporting(step: Step) -> Step:
    return replace(step, planning=step.planning.model_copy(update={"k_guarantee": "report"}))


def _working_order(steps: Sequence[Step], variables_of: VariablesOf) -> tuple[int, ...] | None:
    """Order, as positions, in which nothing is broken, with as few steps as can be past each other; None: none is."""
    _, mistakes = variables_of(steps)
    for order in sorted(permutations(range(len(steps))), key=_inversions):
        moved = [steps[position] for position in order]
        names, more = variables_of(moved)
        if more <= mistakes and next(_broken(moved, names), None) is None:
            return order
    return None


def _inversions(order: Sequence[int]) -> int:
    return sum(first > second for first, second in combinations(order, 2))


def _listed(steps: Sequence[Step], order: Sequence[int]) -> str:
    return ", ".join(f"{position + 1} ({steps[position].method.name})" for position in order)
