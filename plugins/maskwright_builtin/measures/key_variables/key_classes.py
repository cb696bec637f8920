"""Classes of masked records that nobody can tell apart by the key variables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field

from maskwright import Comparison, InputError, NamesVariables, Problem
from maskwright_builtin.key_counts.classes import class_sizes, classes_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from maskwright import Measurable


class KeysParams(BaseModel, extra="forbid", frozen=True):
    """The variables by which an intruder could recognise someone."""

    keys: Annotated[Annotated[list[str], Field(min_length=1)] | None, NamesVariables()] = Field(
        None, description="Key variables, of any type. Default: the variables with role quasi_identifier."
    )


@dataclass(frozen=True, eq=False)
class KeyClasses:
    """The classes of records with equal keys; a missing cell is a value of its own.

    `of_record`: class 0..c-1 of each masked record; shape (m,). `size`: records in each class, or households where
    households are declared; shape (c,). `households`: shape (m,).
    """

    keys: tuple[str, ...]
    of_record: NDArray[np.int64]
    size: NDArray[np.int64]
    households: NDArray[np.int64] | None


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


def key_codes(
    comparison: Comparison, keys: tuple[str, ...], measure: str, *, pooled: bool = False
) -> list[NDArray[np.int64]]:
    """Codes 0, 1, ... of each key in the masked file, -1 where missing.

    `pooled`: whether all missing cells have -1; otherwise missing codes that are published apart are values of their
    own.
    """
    if not len(comparison.masked):
        raise InputError(f"{measure}: there is nothing to measure: the masked file has no records")
    return [comparison.keys(name)[1] if pooled else comparison.published_keys(name) for name in keys]


def classes_on(comparison: Comparison, keys: tuple[str, ...], measure: str) -> KeyClasses:
    """Classes of the masked file on some keys."""
    of_record = classes_of(key_codes(comparison, keys, measure))
    households = comparison.masked_households()
    return KeyClasses(keys, of_record, class_sizes(of_record, households), households)


def key_classes(comparison: Comparison, params: KeysParams, measure: str) -> KeyClasses:
    """Classes of the masked file."""
    return classes_on(comparison, chosen_keys(comparison, params, measure), measure)
