"""What was done to each variable: masked by which steps, emptied beside others, renumbered, or left as it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.planning.model import Step
    from maskwright.planning.plan import Plan


@dataclass(frozen=True)
class Treatment:
    """What was done to the values of a variable.

    `said`: in words that may be published. `altered`: whether any value that is published, or was, is another than in
    the original.
    """

    said: str
    altered: bool


UNCHANGED = Treatment("unchanged", altered=False)
NEW_KEYS = Treatment("new random values", altered=True)


def treatment(
    plan: Plan, name: str, emptied: int = 0, beside: Sequence[str] = (), *, reweighted: bool = False
) -> Treatment:
    """What a run did to a variable.

    `beside`: variables that steps suppress, and beside whose cells they went where no step names this variable.
    `reweighted`: of a weight: whether it was divided by the share of the records that was drawn.
    """
    if plan.variables[name].renewed:
        return NEW_KEYS
    numbers = dict.fromkeys(group.step for group in plan.groups if name in group.variables)
    computed = {group.step for group in plan.groups if name in group.computed}
    steps = [(number, plan.steps[number - 1]) for number in numbers]
    shaping = [(number, step) for number, step in steps if not step.only_removes]
    said = [
        f"computed from masked values (step {number})" if number in computed else _named(number, step)
        for number, step in shaping
    ]
    suppressing = [_named(number, step) for number, step in steps if "cells" in step.method.removes]
    if suppressing:
        said.append(f"{_cells(emptied)} emptied by {' and '.join(suppressing)}")
    elif emptied:
        said.append(emptied_beside(emptied, beside))
    if reweighted:
        said.append("divided by the share of the records that was drawn")
    altered = bool(shaping or emptied or reweighted)
    leaving = [_named(number, step) for number, step in steps if "records" in step.method.removes]
    if not said and leaving:
        said.append(f"unchanged in the records that {' and '.join(leaving)} leaves")
    return Treatment("; ".join(said), altered) if said else UNCHANGED


def emptied_beside(cells: int, beside: Sequence[str]) -> str:
    """``12 cells emptied beside suppressed ones of cc``."""
    return f"{_cells(cells)} emptied beside suppressed ones" + (f" of {', '.join(beside)}" if beside else "")


def _cells(count: int) -> str:
    return f"{count:,} cell" + "s" * (count != 1)


def _named(number: int, step: Step) -> str:
    return f"{step.method.name} (step {number})"
