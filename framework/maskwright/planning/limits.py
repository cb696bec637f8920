"""Limits of steps as edits: from the step on they bind adjustment, rounding and every later step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from math import lcm
from typing import TYPE_CHECKING, Literal

from maskwright.edits.date_arithmetic import with_dates
from maskwright.edits.edit_set import EditSet
from maskwright.edits.languages.conversion.inexpressible import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import name_text, quoted_text
from maskwright.foundation.errors import InputError
from maskwright.planning.applicable_edits import literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.planning.model import Step
    from maskwright.planning.step_variables import StepVariables
    from maskwright.plugins.limit import Limit


MOST_UNITS = 10**12
"""Larger steps of a grid are no rounding any more."""


@dataclass(frozen=True)
class StepLimit:
    """A limit, and the step that promises it.

    `step`: 1-based.
    """

    step: int
    limit: Limit


def declared_limits(
    steps: Sequence[Step], chosen: Sequence[StepVariables], recoded: frozenset[str]
) -> tuple[StepLimit, ...]:
    """Limits that the parameters of the steps set to what is published as values.

    `recoded`: variables that are published as categories made of their values: no limit of a value is left of them.
    """
    found: list[StepLimit] = []
    for number, (step, own) in enumerate(zip(steps, chosen, strict=True), 1):
        if step.method.limits is None:
            continue
        variables = tuple(own.known[name] for name in own.names if name not in recoded)
        with step.placed(f"step {number}: "):
            found.extend(StepLimit(number, each) for each in step.method.limits(step.params, variables))
    return tuple(found)


def promised_units(limits: Iterable[StepLimit], variables: Iterable[Variable]) -> dict[str, int]:
    """Of how many units of their grid the published values of variables are promised to be multiples.

    `variables`: those without a grid are left out.
    """
    grids = {each.name: each.decimals for each in variables if each.is_numeric and each.decimals is not None}
    found: dict[str, int] = {}
    for each in limits:
        base, places = each.limit.multiple_of, grids.get(each.limit.variable)
        if base is None or places is None or base <= 0:
            continue
        # The smallest number that is a multiple of the base and of a unit, counted in units.
        units = (Fraction(repr(float(base))) * 10**places).numerator
        units = lcm(units, found.get(each.limit.variable, 1))
        if 1 < units <= MOST_UNITS:
            found[each.limit.variable] = units
    return found


def limit_edits(limits: Iterable[StepLimit], variables: Mapping[str, Variable], *, found: bool = False) -> EditSet:
    """Bounds among limits as edits, ``step-2: wage <= limit``.

    `found`: whether the limits were found in the data: their texts then do not say the number.
    """
    edits: dict[str, Edit] = {}
    for each in limits:
        variable = variables[each.limit.variable]
        for name, rule in _rules(each.limit, variable, found=found):
            (edit,) = EditSet.parse([{"rule": rule, "name": f"step-{each.step}: {name}"}])
            # Two groups of a step may say the same.
            edits[edit.name] = replace(edit, text=f"{name} found in the data", place=None) if found else edit
    return with_dates(EditSet(tuple(edits.values())), [*variables.values()])


def _rules(limit: Limit, variable: Variable, *, found: bool) -> Iterator[tuple[str, str]]:
    """Name and text of each bound."""
    try:
        yield from _sayable_rules(limit, variable, found=found)
    except Inexpressible as error:
        raise InputError(f"the limits of {variable.name!r} cannot be kept: {error}") from error


def _sayable_rules(limit: Limit, variable: Variable, *, found: bool) -> Iterator[tuple[str, str]]:
    name = name_text(variable.name)
    if not variable.is_numeric:
        last = len(variable.categories) - 1
        low = 0 if limit.low is None else int(max(limit.low, 0))
        high = last if limit.high is None else int(min(limit.high, last))
        if variable.categories and (low > 0 or high < last):
            allowed = ", ".join(quoted_text(category) for category in variable.categories[low : high + 1])
            yield f"{variable.name} within limits", f"{name} in {{{allowed}}}"
        return
    if limit.high is not None:
        yield (
            f"{variable.name} <= limit",
            f"{name} <= {literal(variable, _on_grid(limit.high, variable, 'highest', found=found))}",
        )
    if limit.low is not None:
        yield (
            f"{variable.name} >= limit",
            f"{name} >= {literal(variable, _on_grid(limit.low, variable, 'lowest', found=found))}",
        )


def _on_grid(value: float, variable: Variable, which: Literal["lowest", "highest"], *, found: bool) -> float:
    """A number that can be published: within a declared limit; nearest to one that is found, where it is rounded to."""
    if variable.decimals is None:
        return value
    units = Decimal(repr(value)).scaleb(variable.decimals)
    rounding = ROUND_HALF_EVEN if found else (ROUND_FLOOR if which == "highest" else ROUND_CEILING)
    return float(units.to_integral_value(rounding).scaleb(-variable.decimals))
