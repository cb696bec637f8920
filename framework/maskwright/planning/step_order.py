"""The order of steps: the one in which they run, promises that an order breaks, and orders that keep them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from maskwright.foundation.errors import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.planning.model import Step

    VariablesOf = Callable[[Sequence[Step]], tuple[Sequence["StepVariables"], int]]


MOST_STEPS = 6
"""Of more steps not every order is tried."""


@dataclass(frozen=True)
class StepVariables:
    """Variables of one step.

    `names`: masked by the step, in file order. `known`: all variables of the file as the step finds them: a step before
    may have made categories of numbers. `keys`: those of them by which it counts equal records.
    """

    names: tuple[str, ...]
    known: Mapping[str, Variable]
    keys: tuple[str, ...] = ()


def wrong_order(steps: Sequence[Step], chosen: Sequence[StepVariables], variables_of: VariablesOf) -> list[Problem]:
    """Steps after which a promise of an earlier one no longer holds, with an order that works if there is one."""
    broken = list(_broken(steps, chosen))
    if not broken:
        return []
    hint = _way_out(steps, variables_of)
    return [replace(problem, hint=hint) for problem in broken]


def in_running_order(steps: Sequence[Step], chosen: Sequence[StepVariables]) -> list[Step]:
    """Steps in the order in which they run: who is rare in the published keys leaves before clusters are formed.

    A step that leaves out whole records by keys that are published as they are, or recoded, takes the same ones
    wherever it stands; behind steps that promise clusters it would leave fewer than k of many. Of keys that are masked
    otherwise, it waits for the values that are published.
    """
    order = list(range(len(steps)))
    for position, (step, own) in enumerate(zip(steps, chosen, strict=True)):
        if not _leaves_out_by_keys(step):
            continue
        earlier = order[: order.index(position)]
        changing = [
            each for each in earlier
            if steps[each].method.changes_cells and not set(own.keys).isdisjoint(chosen[each].names)
        ]  # fmt: skip
        counting = [each for each in earlier if steps[each].moves_records or not steps[each].method.changes_cells]
        first = max((order.index(each) + 1 for each in (*changing, *counting)), default=0)
        place = next((at for at, each in enumerate(earlier) if at >= first and steps[each].k is not None), len(earlier))
        if any("detail" not in steps[each].method.claims.removes for each in changing):
            place = max([len(earlier), *(at for at, each in enumerate(order) if not steps[each].only_removes)])
        order.remove(position)
        order.insert(place, position)
    return [steps[position] for position in order]


def _leaves_out_by_keys(step: Step) -> bool:
    return step.method.has_keys and step.method.claims.removes == {"records"}


def _broken(steps: Sequence[Step], chosen: Sequence[StepVariables]) -> Iterator[Problem]:
    for position, (step, own) in enumerate(zip(steps, chosen, strict=True), 1):
        for other, theirs in zip(steps[position:], chosen[position:], strict=True):
            if not other.only_removes and _needs_published(step, own, theirs):
                yield Problem(
                    f"{step} works on the values that are published, and {other} changes values after it",
                    other.place,
                )
                break
            if _guarantee(step) is not None and _takes(other, step, set(own.names) & set(theirs.names)):
                yield Problem(
                    f"{step} promises k = {_guarantee(step)}, and {other} takes away from its groups",
                    other.place,
                )
                break


def _needs_published(step: Step, own: StepVariables, later: StepVariables) -> bool:
    """Whether a step has to see what later ones make of values: of its keys alone, where it only leaves out records."""
    if _leaves_out_by_keys(step):
        return not set(own.keys).isdisjoint(later.names)
    return "cells" in step.method.claims.removes or step.method.has_keys


def _guarantee(step: Step) -> int | None:
    return None if step.planning.k_guarantee == "report" else step.promised


def _takes(step: Step, before: Step, common: set[str]) -> bool:
    """Whether a step takes away from the groups of another that masks some of the same variables.

    Of clusters a step that suppresses takes the rest as well, where fewer than k would be left; and steps that suppress
    cells or records run again until each has what it promises.
    """
    if step.method.has_keys and (before.k is not None or before.only_removes):
        return False
    removes = step.method.claims.removes
    return "records" in removes or ("cells" in removes and bool(common))


def order_without_mistakes(steps: Sequence[Step], variables_of: VariablesOf) -> str | None:
    """An order in which every step can mask its variables and does something to them."""

    def works(moved: Sequence[Step]) -> bool:
        chosen, mistakes = variables_of(moved)
        return not mistakes and _keeps_promises(moved, chosen) and not _limits_bands(moved, chosen)

    return other_order(steps, works)


def _keeps_promises(steps: Sequence[Step], chosen: Sequence[StepVariables]) -> bool:
    return next(_broken(steps, chosen), None) is None and not _undone(steps, chosen)


def _limits_bands(steps: Sequence[Step], chosen: Sequence[StepVariables]) -> bool:
    """Whether a step sets limits to what an earlier one has made bands of: limits in numbers do nothing there."""
    return any(
        "detail" in step.method.claims.removes
        and later.method.claims.limits is not None
        and set(own.names) & set(theirs.names)
        for (step, own), (later, theirs) in combinations(zip(steps, chosen, strict=True), 2)
    )


def leaves_equal(later: Step, changed: set[str], promised: set[str], k: int) -> bool:
    """Whether a step leaves at least k records equal in the `promised` variables when it masks `changed` together."""
    if "equals" in later.method.claims.preserves:
        return changed <= promised
    return later.k is not None and later.k >= k and promised <= changed


def _undone(steps: Sequence[Step], chosen: Sequence[StepVariables]) -> bool:
    """Whether a step changes what an earlier one made equal, so that this order would be no way out."""
    names = [set(each.names) for each in chosen]
    return any(
        step.k is not None and _guarantee(step) is not None and not later.only_removes and not own.isdisjoint(theirs)
        and not leaves_equal(later, own.intersection(theirs), own, step.k)
        for (step, own), (later, theirs) in combinations(zip(steps, names, strict=True), 2)
    )  # fmt: skip


def _way_out(steps: Sequence[Step], variables_of: VariablesOf) -> str:
    """An order that works, if need be with promises that are only reported; or that there is none."""
    if len(steps) > MOST_STEPS:
        return "put steps that suppress last, and steps that take records away first"
    found = order_without_mistakes(steps, variables_of)
    if found is not None:
        return found
    _, mistakes = variables_of(steps)

    def works(moved: Sequence[Step]) -> bool:
        chosen, more = variables_of(moved)
        return more <= mistakes and _keeps_promises(moved, chosen)

    found = other_order(steps, works)
    if found is not None:
        return found
    promising = [position for position, step in enumerate(steps) if _guarantee(step) is not None]
    for size in range(1, len(promising) + 1):
        for chosen in combinations(promising, size):
            reporting = [_reporting(step) if position in chosen else step for position, step in enumerate(steps)]
            found = other_order(reporting, works)
            if found is not None:
                whose = " and ".join(f"step {steps[position].number}" for position in chosen)
                return (
                    f"no order keeps all promises; with 'k_guarantee: report' in the params of {whose}, whose smallest "
                    f"class is then reported and not promised, {found}"
                )
    return "no order of these steps keeps what each of them promises: leave one of them out"


def _reporting(step: Step) -> Step:
    return replace(step, planning=step.planning.model_copy(update={"k_guarantee": "report"}))


def other_order(steps: Sequence[Step], works: Callable[[Sequence[Step]], bool]) -> str | None:
    """Sentence on the order that works in which as few steps as can be are past each other, with the lines to write."""
    if len(steps) > MOST_STEPS:
        return None
    orders = permutations(range(len(steps)))
    for order in sorted(orders, key=lambda order: sum(first > second for first, second in combinations(order, 2))):
        moved = [steps[position] for position in order]
        if works(moved):
            listed = ", ".join(map(str, moved))
            return "\n".join([f"this order works: {listed}; write", *(f"      - {_written(each)}" for each in moved)])
    return None


def _written(step: Step) -> str:
    """A step as one line of a pipeline."""
    import yaml  # of refused steps

    params = {
        **step.params.model_dump(mode="json", by_alias=True, exclude_unset=True),
        **step.planning.model_dump(mode="json", exclude_unset=True),
    }
    entry = {
        "method": step.method.name, "variables": None if step.variables is None else list(step.variables),
        "groups": [list(group) for group in step.groups], "unit": step.unit, "params": params,
    }  # fmt: skip
    given = {key: value for key, value in entry.items() if value}
    text: str = yaml.safe_dump(given, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.strip()
