"""Several sets of key variables: what different intruders know, and the worst of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, InputError, Measurement, MeasurePart, NamesVariables
from maskwright_builtin.measures.key_variables.key_classes import (
    TWICE,
    KeysParams,
    chosen_keys,
    key_mistakes,
    key_names,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from maskwright import Measurable

BOTH = "give `keys` or `key_sets`, not both; a set may be as large as you like"

KeySet = Annotated[list[str], Field(min_length=1)]


class KeySetsParams(KeysParams, extra="forbid", frozen=True):
    """The key variables, or several sets of them."""

    key_sets: Annotated[dict[str, KeySet] | None, NamesVariables(in_values=True)] = Field(
        None,
        min_length=1,
        description="What different intruders know, {name: [key variables]}, in place of `keys`: {neighbour: [region, "
        "sex, age], employer: [region, occupation]}. The value and the parts are those of the worst set; the value "
        "of each is the part keys_NAME.",
    )


def key_set_names(params: KeySetsParams, given: Measurable) -> tuple[str, ...]:
    """Names of the key variables of all sets."""
    if params.key_sets is None:
        return key_names(params, given)
    return tuple(dict.fromkeys(name for keys in params.key_sets.values() for name in keys))


def key_set_mistakes(params: KeySetsParams, given: Measurable) -> Iterator[tuple[str, str]]:
    """What is wrong with the keys, given the variables: the parameter, and what it is."""
    if params.key_sets is None:
        yield from key_mistakes(params, given)
        return
    if params.keys is not None:
        yield "key_sets", BOTH
    for name, keys in params.key_sets.items():
        if len(set(keys)) < len(keys):
            yield "key_sets", f"{name}: {TWICE}"


def set_parts(
    params: KeySetsParams,
    unit: str,
    direction: Literal["lower", "higher"],
    span: tuple[float | None, float | None],
) -> tuple[MeasurePart, ...]:
    """The parts that hold the values of single sets; `span` is the range of the measure."""
    return tuple(MeasurePart(f"keys_{name}", unit, direction, span) for name in params.key_sets or ())


def worst_of_sets(
    comparison: Comparison,
    params: KeySetsParams,
    measure: str,
    of_keys: Callable[[tuple[str, ...]], Measurement],
    direction: Literal["lower", "higher"] = "lower",
) -> Measurement:
    """Measure on the keys or, where there are sets of them, on each set.

    `of_keys`: the measurement on some keys; its contributions of records are the larger the worse. Returns of the worst
    set, with the value of each set among its parts, and each record's worst contribution.
    """
    found = {name: of_keys(keys) for name, keys in sets_of_keys(comparison, params, measure).items()}
    return found[""] if params.key_sets is None else worst_of(found, direction)


def worst_of(found: Mapping[str, Measurement], direction: Literal["lower", "higher"]) -> Measurement:
    """Measurement of several sets of keys."""
    worst = (max if direction == "lower" else min)(found, key=lambda name: found[name].value)
    contributions = [each.per_record for each in found.values() if each.per_record is not None]
    return Measurement(
        found[worst].value,
        parts={**found[worst].parts, **{f"keys_{name}": each.value for name, each in found.items()}},
        per_record=np.maximum.reduce(contributions) if contributions else None,
        notes=(f"the worst of {len(found)} set(s) of keys is {worst}", *found[worst].notes),
        sentence=found[worst].sentence,
        tables=found[worst].tables,
    )


def sets_of_keys(comparison: Comparison, params: KeySetsParams, measure: str) -> dict[str, tuple[str, ...]]:
    """Names of the key variables of each set; of the only one, under an empty name."""
    if params.key_sets is None:
        return {"": chosen_keys(comparison, params, measure)}
    if params.keys is not None:
        raise InputError(f"{measure}: {BOTH}")
    return {name: tuple(dict.fromkeys(keys)) for name, keys in params.key_sets.items()}


def listed(keys: tuple[str, ...]) -> str:
    """``region, sex and age``."""
    return keys[0] if len(keys) == 1 else f"{', '.join(keys[:-1])} and {keys[-1]}"
