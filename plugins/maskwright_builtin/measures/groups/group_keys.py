"""Keys of groups: those of their own row, and the set of their members' keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Classes, ComparedLevels, InputError, NamesVariables
from maskwright_builtin.measures.key_variables.key_classes import in_words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import Measurable
    from maskwright_builtin.numerics.arrays import Floats, Integers


class GroupKeysParams(BaseModel, extra="forbid", frozen=True):
    """What an intruder knows of a group and of its members."""

    row: Annotated[list[str] | None, NamesVariables()] = Field(
        None,
        description="Key variables of the upper level, of any type: [region, size]; an empty list for none. Default: "
        "those with role quasi_identifier.",
    )
    members: Annotated[list[str] | None, NamesVariables()] = Field(
        None,
        description="Key variables of the members, of any type: [sex, age]; an empty list for none. Default: those "
        "with role quasi_identifier.",
    )


NO_KEYS = "no key variables; name them as `row` and `members`, or declare variables with role quasi_identifier"


def group_key_names(params: GroupKeysParams, given: Measurable) -> tuple[str, ...]:
    """Names of the key variables of both levels."""
    row, members = (_declared(given, level) for level in given.levels)
    return (*(row if params.row is None else params.row), *(members if params.members is None else params.members))


def _declared(given: Measurable, level: str) -> list[str]:
    return [name for name in given.with_role("quasi_identifier") if name in given.levels[level]]


def group_key_mistakes(params: GroupKeysParams, given: Measurable) -> Iterator[tuple[str, str]]:
    """What is wrong with the keys, given the variables: the parameter, and what it is."""
    yield from level_mistakes({"row": params.row or (), "members": params.members or ()}, given)
    if not group_key_names(params, given):
        yield "row", NO_KEYS


def level_mistakes(named: dict[str, Sequence[str]], given: Measurable) -> Iterator[tuple[str, str]]:
    """Names that are of the other level, or named twice."""
    top, lowest = given.levels
    for parameter, names in named.items():
        own, other = (top, lowest) if parameter.endswith("row") else (lowest, top)
        for name in names:
            if name in given.levels[other]:
                yield parameter, f"{name} is a variable of the level {other}, and not of {own}"
        if len(set(names)) < len(names):
            yield parameter, "a variable is named twice"


def chosen_keys(levels: ComparedLevels, params: GroupKeysParams, measure: str) -> tuple[list[str], list[str]]:
    """Names of the keys of the rows, and of those of the members."""
    row = levels.with_role(levels.top, "quasi_identifier") if params.row is None else params.row
    members = levels.with_role(levels.lowest, "quasi_identifier") if params.members is None else params.members
    if not row and not members:
        raise InputError(f"{measure}: {NO_KEYS}")
    require_level(levels, levels.top, row, measure, "row")
    require_level(levels, levels.lowest, members, measure, "members")
    return list(row), list(members)


def require_level(levels: ComparedLevels, level: str, names: Sequence[str], measure: str, parameter: str) -> None:
    """Refuse variables that are not of a level, or are named twice."""
    for name in names:
        if levels.level_of(name) != level:
            raise InputError(f"{measure}: {parameter}: {name} is no variable of the level {level}")
    if len(set(names)) < len(names):
        raise InputError(f"{measure}: {parameter}: a variable is named twice")


def kinds_of(members: Sequence[Integers], count: int) -> Integers:
    """Class of each member by its keys; all alike where there are none."""
    return Classes.of(members).codes if members else np.zeros(count, dtype=np.int64)


def known_in_words(levels: ComparedLevels, row: Sequence[str], members: Sequence[str]) -> str:
    """What is known, for a sentence: ``region and size of a household, and sex and age of each person``."""
    parts = []
    if row:
        parts.append(f"{in_words(row)} of a {levels.top}")
    if members:
        parts.append(f"{in_words(members)} of each {levels.lowest}")
    return " and ".join(parts)


def groups_of(levels: ComparedLevels) -> Integers:
    """Group of each masked member, ascending."""
    groups = levels.masked[levels.lowest].groups
    assert groups is not None
    return groups


SIZES = ("1", "2", "3", "4", "5", "6 and more")


def by_size(values: Floats, sizes: Integers) -> tuple[tuple[str, float], ...]:
    """Mean of a figure of groups by how many members they have; sizes that no group has are left out.

    `values`: shape (g,). `sizes`: shape (g,).
    """
    band = np.minimum(sizes, len(SIZES))
    return tuple(
        (label, float(values[band == size].mean())) for size, label in enumerate(("0", *SIZES)) if (band == size).any()
    )
