"""Conditions that plugins bring into the language of rules: found by name, and evaluated.

Rules know no plugins: the package as a whole finds these for them.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from pydantic import BaseModel, ValidationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from maskwright.edits.expression import KindCondition


class Kind(Protocol):
    """What rules need of a kind of constraint: see `maskwright.ConstraintKind`."""

    @property
    def name(self) -> str:
        """What rules call it."""
        ...

    @property
    def evaluate(self) -> Callable[[NDArray[np.float64], Any], NDArray[np.int8]]:
        """Verdicts of rows."""
        ...

    @property
    def project(self) -> Callable[[Any, Any], NDArray[np.float64]] | None:
        """Nearest points of rows."""
        ...

    @property
    def params(self) -> type[BaseModel]:
        """Numbers that a rule gives first."""
        ...

    @property
    def fewest(self) -> int:
        """How many variables a rule lists at least."""
        ...

    @property
    def most(self) -> int | None:
        """How many it lists at most; None: any number."""
        ...

    @property
    def example(self) -> str:
        """A rule."""
        ...


def known_kinds() -> Mapping[str, Kind]:
    """Kinds of constraints by name, as the package as a whole finds them."""
    package: Any = importlib.import_module("maskwright")
    found: Mapping[str, Kind] = package._constraint_kinds()
    return found


def params_of(kind: Kind, numbers: tuple[Fraction, ...]) -> BaseModel:
    """Parameters of a kind, from the numbers that a rule gives first."""
    given = [each.numerator if each.denominator == 1 else float(each) for each in numbers]
    return kind.params.model_validate(dict(zip(kind.params.model_fields, given, strict=True)))


def wrong_numbers(kind: Kind, numbers: tuple[Fraction, ...]) -> str | None:
    """Say what is wrong with the numbers that a rule gives; None: nothing."""
    try:
        params_of(kind, numbers)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg'][:1].lower()}{first['msg'][1:]}"
    return None


def verdicts_of(condition: KindCondition, values: NDArray[np.float64]) -> NDArray[np.int8]:
    """What a condition says of rows, by the kind's own evaluation.

    `values`: of its columns; NaN where there is no number; shape (n, q). Returns 1 where it holds, 0 where it does not,
    -1 where it is unknown; shape (n,).
    """
    if not len(values):
        return np.zeros(0, dtype=np.int8)
    kind = known_kinds()[condition.name]
    return kind.evaluate(values, params_of(kind, condition.numbers))
