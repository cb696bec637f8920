"""Equivalence classes by sets of key variables, their sampling fraction, and bands of class size or risk."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Comparison, InputError, Measurement, MeasurePart, MeasureTable, NamesVariables, Problem, plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from maskwright import Measurable
    from maskwright_builtin.numerics.arrays import Floats, Integers


class KeysParams(BaseModel, extra="forbid", frozen=True):
    """The variables by which an intruder could recognise someone."""

    keys: Annotated[Annotated[list[str], Field(min_length=1)] | None, NamesVariables()] = Field(
        None, description="Key variables, of any type. Default: the variables with role quasi_identifier."
    )


NO_KEYS = "no key variables; name them as `keys`, or declare variables with role quasi_identifier"
TWICE = "a key variable is named twice"


def key_names(params: KeysParams, given: Measurable) -> tuple[str, ...]:
    """Names of the key variables."""
    return tuple(params.keys or given.with_role("quasi_identifier"))


def key_mistakes(params: KeysParams, given: Measurable) -> Iterator[tuple[str, str]]:
    """What is wrong with the keys, given the variables: the parameter, and what it is."""
    keys = key_names(params, given)
    if not keys:
        yield "keys", NO_KEYS
    if len(set(keys)) < len(keys):
        yield "keys", TWICE


def chosen_keys(comparison: Comparison, params: KeysParams, measure: str) -> tuple[str, ...]:
    """Names of the key variables of the masked file."""
    roles = {
        variable.name: variable.role for variable in (*comparison.masked.variables, *comparison.original.variables)
    }
    declared = [name for name, role in roles.items() if role == "quasi_identifier" and name in comparison.masked]
    keys = tuple(params.keys or declared)
    if not keys:
        raise InputError(
            Problem(
                f"{measure}: {NO_KEYS}",
                hint=f"on the command line: --set '{measure}.keys=[region,sex,age]'",
            )
        )
    if len(set(keys)) < len(keys):
        raise InputError(f"{measure}: {TWICE}")
    return keys


def key_codes(comparison: Comparison, keys: tuple[str, ...], measure: str, *, pooled: bool = False) -> list[Integers]:
    """Codes 0, 1, ... of each key in the masked file, -1 where missing.

    `pooled`: whether all missing cells have -1; otherwise missing codes that are published apart are values of their
    own.
    """
    if not len(comparison.masked):
        raise InputError(f"{measure}: there is nothing to measure: the masked file has no records")
    return [comparison.keys(name)[1] if pooled else comparison.published_keys(name) for name in keys]


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
    params: KeySetsParams, unit: str, direction: Literal["lower", "higher"], span: tuple[float | None, float | None]
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
    """Measure on the keys or, where there are sets of them, on each set."""
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
        notes=(f"the worst of {plural(len(found), 'set')} of keys is {worst}", *found[worst].notes),
        sentence=found[worst].sentence,
        tables=found[worst].tables,
    )


def has_sets(params: KeysParams) -> bool:
    """Whether there are several sets of keys."""
    return isinstance(params, KeySetsParams) and params.key_sets is not None


def sets_of_keys(comparison: Comparison, params: KeysParams, measure: str) -> dict[str, tuple[str, ...]]:
    """Names of the key variables of each set; of the only one, under an empty name."""
    if not isinstance(params, KeySetsParams) or params.key_sets is None:
        return {"": chosen_keys(comparison, params, measure)}
    if params.keys is not None:
        raise InputError(f"{measure}: {BOTH}")
    return {name: tuple(dict.fromkeys(keys)) for name, keys in params.key_sets.items()}


def in_words(names: Sequence[str]) -> str:
    """``region, sex and age``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


RISK_BANDS: Mapping[str, float] = {
    "up to 0.01": 0.01,
    "0.01 to 0.05": 0.05,
    "0.05 to 0.1": 0.1,
    "0.1 to 0.2": 0.2,
    "0.2 to 0.5": 0.5,
    "0.5 to 1": 1.0,
}
"""Each holds its upper bound."""
SIZE_BANDS: Mapping[str, float] = {"1": 1, "2": 2, "3 to 4": 4, "5 to 9": 9, "10 and more": math.inf}


def risk_table(
    risk: Floats, title: str = "Records by individual risk", records: Integers | None = None
) -> MeasureTable:
    """Records in bands of risk.

    `risk`: of each record, 0 to 1; shape (n,). `records`: how many records have each of these risks, where `risk` are
    those of classes; shape (n,).
    """
    return _table("risk_bands", title, "risk", risk, RISK_BANDS, records)


def size_table(sizes: Integers, what: str = "records", records: Integers | None = None) -> MeasureTable:
    """Records in bands of the size of their class.

    `sizes`: of the class of each record; shape (n,). `records`: how many records are in classes of each of these sizes,
    where `sizes` are different ones; shape (n,).
    """
    title = f"Records by how many {what} share their keys"
    return _table("class_sizes", title, "class size", sizes, SIZE_BANDS, records)


def _table(
    name: str, title: str, heading: str, values: Floats | Integers, bands: Mapping[str, float],
    records: Integers | None = None,
) -> MeasureTable:  # fmt: skip
    band = np.searchsorted(np.array(list(bands.values())), values, side="left")
    counts = np.bincount(np.minimum(band, len(bands) - 1), records, minlength=len(bands))
    rows = tuple((label, float(count)) for label, count in zip(bands, counts, strict=True))
    return MeasureTable(name, title, (heading, "records"), rows, "records")


class FractionParams(BaseModel, extra="forbid", frozen=True):
    """Which part of the population the file holds."""

    sampling_fraction: float | None = Field(
        None,
        gt=0.0,
        le=1.0,
        description="Records of the file over people of the population, in place of weights. Default: records over "
        "the sum of the weights.",
    )


def sampling_fraction(params: FractionParams, records: int, weight: float | None) -> tuple[float, tuple[str, ...]]:
    """Sampling fraction of the masked records, and what a reader should know of it.

    `weight`: sum of the weights; None where there are none.
    """
    if params.sampling_fraction is not None:
        return params.sampling_fraction, ()
    if weight is None:
        return 1.0, ("no weights and no sampling_fraction: the file counts as the whole population",)
    if weight < records:
        return 1.0, ("the weights add up to fewer people than there are records: they are not used",)
    return records / weight, (f"sampling fraction {records / weight:.4g}, from the weights",)
