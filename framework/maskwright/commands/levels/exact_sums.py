"""Before masking: which variables are published in steps whose sums binary64 adds exactly."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.masking.standardisation import Standardisation
from maskwright.planning.levels.exact_sums import exact_sums
from maskwright.planning.step_variables import variables_of_steps

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from maskwright.commands.levels.arriving import ArrivedLevels
    from maskwright.data.variable import Variable
    from maskwright.planning.model import Step


def with_exact_sums(
    steps: Sequence[Step],
    arrived: ArrivedLevels,
    variables: Mapping[str, Sequence[Variable]],
    masked: Mapping[str, Collection[str]],
) -> ArrivedLevels:
    """Data whose sums over members are to be exact in binary64 too, where methods average."""
    every = tuple(variable for own in variables.values() for variable in own)
    averaged: set[str] = set()
    for step, chosen in zip(steps, variables_of_steps(steps, every), strict=True):
        if step.only_removes:
            continue  # What is left stays in its steps.
        averaged = averaged | set(chosen.names) if "linear" in step.method.preserves else averaged - set(chosen.names)
    numeric = {
        level.name: [each.name for each in level.data.variables if each.name in averaged and each.decimals]
        for level in arrived.linked
    }
    spread = {
        name: float(size) for level in arrived.linked
        for name, size in Standardisation.of(level.data, numeric[level.name]).scale.items()
    }  # fmt: skip
    found = exact_sums(arrived.bound, arrived.linked, masked, averaged, spread)
    notices = (*arrived.notices, *found.notices())
    return replace(arrived, linked=found.put_on(arrived.linked), notices=notices)
