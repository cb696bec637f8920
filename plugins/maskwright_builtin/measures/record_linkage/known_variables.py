"""What an intruder may know: scenarios of known variables, and what each variable adds to the risk."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field, field_validator

from maskwright import Comparison, InputError, NamesVariables
from maskwright_builtin.measures.pairing import listed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import Measurable

FIRST_VARIABLES = 7
MOST_SUBSETS = 13

Names = Annotated[list[str], Field(min_length=1)]


class KnownVariablesParams(BaseModel, extra="forbid", frozen=True):
    """What the intruder knows."""

    known: Annotated[Annotated[int, Field(ge=1)] | Names | None, NamesVariables()] = Field(
        None,
        description="The variables the intruder knows: an integer for that many of the first ones, or their names. "
        "Alone it makes one scenario of just these; with `scenarios` the scenarios are made from them.",
    )
    scenarios: Annotated[
        Literal["cumulative", "all_subsets"] | Annotated[list[Names], Field(min_length=1)] | None, NamesVariables()
    ] = Field(
        None,
        description="The scenarios averaged: 'cumulative' for the first known variable, the first two, ...; "
        f"'all_subsets' for every non-empty subset of the known variables (at most {MOST_SUBSETS}); or a list of lists "
        f"of names. Default: cumulative over the first {FIRST_VARIABLES} variables, unless `known` is given.",
    )

    @field_validator("known")
    @classmethod
    def _names_once(cls, known: int | list[str] | None) -> int | list[str] | None:
        if isinstance(known, list) and len(set(known)) < len(known):
            raise ValueError("a variable is named twice")
        return known

    @field_validator("scenarios")
    @classmethod
    def _scenarios_once(cls, scenarios: str | list[list[str]] | None) -> str | list[list[str]] | None:
        if isinstance(scenarios, list):
            if any(len(set(names)) < len(names) for names in scenarios):
                raise ValueError("a variable is named twice in one scenario")
            if len({frozenset(names) for names in scenarios}) < len(scenarios):
                raise ValueError("the same scenario is listed twice")
        return scenarios


@dataclass(frozen=True)
class Scenario:
    """What an intruder knows in one scenario: positions of variables, and the part of the result it counts in."""

    columns: tuple[int, ...]
    part: str


def known_names(params: KnownVariablesParams, given: Measurable) -> tuple[str, ...]:
    """Names of the variables that the intruder knows in any scenario."""
    if isinstance(params.scenarios, list):
        return tuple(dict.fromkeys(name for names in params.scenarios for name in names))
    if isinstance(params.known, list):
        return tuple(params.known)
    return given.compared[: params.known or FIRST_VARIABLES]


def known_mistakes(params: KnownVariablesParams, given: Measurable) -> Iterator[tuple[str, str]]:
    """What is wrong with the scenarios, given the variables: the parameter, and the end of a sentence."""
    names = given.compared
    listed_ones = params.scenarios if isinstance(params.scenarios, list) else []
    chosen = {"known": params.known if isinstance(params.known, list) else []}
    chosen["scenarios"] = [name for scenario in listed_ones for name in scenario]
    for parameter, wanted in chosen.items():
        yield from ((parameter, problem) for problem in not_compared(wanted, names))
    if listed_ones and params.known is not None:
        yield "scenarios", "give either `known` or a list of scenarios, not both"
    if isinstance(params.known, int) and params.known > len(names):
        yield "known", f"known is {params.known}, but only {len(names)} variables are compared"
    known = len(known_names(params, given))
    if params.scenarios == "all_subsets" and known > MOST_SUBSETS:
        yield "scenarios", f"all subsets of {known} variables are too many; name at most {MOST_SUBSETS} as `known`"


def not_compared(chosen: Sequence[str], compared: Sequence[str]) -> Iterator[str]:
    """A problem for each name that is not among the variables compared."""
    for name in dict.fromkeys(chosen):
        if name not in compared:
            yield f"variable {name!r} is not among the numeric variables compared: {listed(list(compared))}"


def scenarios_of(params: KnownVariablesParams, comparison: Comparison, measure: str) -> list[Scenario]:
    """Scenarios as positions among `Comparison.variables`."""
    names = comparison.variables
    if isinstance(params.scenarios, list):
        if params.known is not None:
            raise InputError(f"{measure}: give either `known` or a list of scenarios, not both")
        return [Scenario(positions(chosen, comparison, measure), "+".join(chosen)) for chosen in params.scenarios]
    if isinstance(params.known, list):
        known = positions(params.known, comparison, measure)
    else:
        if params.known is not None and params.known > len(names):
            raise InputError(f"{measure}: known is {params.known}, but only {len(names)} variables are compared")
        known = tuple(range(params.known or min(FIRST_VARIABLES, len(names))))
    if params.scenarios == "all_subsets":
        if len(known) > MOST_SUBSETS:
            raise InputError(
                f"{measure}: all subsets of {len(known)} variables are too many; name at most {MOST_SUBSETS} as `known`"
            )
        sizes = range(1, len(known) + 1)
        return [Scenario(chosen, f"known_{size}") for size in sizes for chosen in combinations(known, size)]
    if params.known is not None and params.scenarios is None:
        return [Scenario(known, f"known_{len(known)}")]
    return [Scenario(known[:size], f"known_{size}") for size in range(1, len(known) + 1)]


def positions(chosen: Sequence[str], comparison: Comparison, measure: str) -> tuple[int, ...]:
    """Positions of named variables among those compared."""
    names = comparison.variables
    for name in chosen:
        # Looking up a variable that is not in the file raises the error that names the nearest one.
        if comparison.original[name].name not in names:
            raise InputError(
                f"{measure}: variable {name!r} is not among the numeric variables compared: {listed(list(names))}"
            )
    return tuple(names.index(name) for name in chosen)


def parts_of(scenarios: Sequence[Scenario], percents: Sequence[float]) -> dict[str, float]:
    """Mean percent of each part over its scenarios."""
    found: dict[str, list[float]] = {}
    for scenario, percent in zip(scenarios, percents, strict=True):
        found.setdefault(scenario.part, []).append(percent)
    return {part: float(np.mean(values)) for part, values in found.items()}


def added_by_variable(
    scenarios: Sequence[Scenario], percents: Sequence[float], names: Sequence[str]
) -> dict[str, float]:
    """How much the risk rises, in percentage points, as each variable becomes known.

    Over cumulative scenarios the rise when the variable joins; over all subsets its Shapley value, the mean rise over
    all orders in which the variables can become known. Both sum to the risk when all are known. Empty for scenarios
    that are not of one of these shapes.

    `percents`: risk in each scenario, in percent. `names`: of the variables compared, by position.

    Shapley (1953), A value for n-person games, Contributions to the Theory of Games 2, 307-317.
    """
    risk = {frozenset(one.columns): percent for one, percent in zip(scenarios, percents, strict=True)}
    risk[frozenset()] = 0.0
    everything = max(risk, key=len)
    size = len(everything)
    rises: dict[int, list[tuple[float, float]]] = {}
    for known, percent in risk.items():
        for column in known:
            if known - {column} in risk:
                share = 1.0 / (size * comb(size - 1, len(known) - 1)) if len(risk) == 2**size else 1.0
                rises.setdefault(column, []).append((share, percent - risk[known - {column}]))
    whole = len(risk) == 2**size or len(risk) == size + 1
    if not whole or set(rises) != everything:
        return {}
    return {names[column]: float(sum(share * rise for share, rise in rises[column])) for column in sorted(rises)}
