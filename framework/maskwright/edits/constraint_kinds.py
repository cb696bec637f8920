"""Kinds of constraints that rules call as functions, ``at_most_nonzero(2, wages, pension, benefits)``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel, Field, ValidationError

from maskwright.foundation.no_params import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from fractions import Fraction

    from numpy.typing import NDArray

    from maskwright.edits.expression import KindCondition


@dataclass(frozen=True, eq=False)
class MovableRows:
    """Rows that do not satisfy a constraint, and how they may be moved.

    `values`: a column for each variable of the constraint, as the rule lists them, no cell missing; shape (m, q).
    `movable`: columns that may change, shape (q,). `low`, `high`: closed bounds that other edits set, shape (q,).
    `step`: published values are its multiples, 0 where they have no grid; shape (q,). `scale`: unit of a move, shape
    (q,): the nearest point has the smallest sum of squares of moves over it.
    """

    values: NDArray[np.float64]
    movable: NDArray[np.bool_]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    step: NDArray[np.float64]
    scale: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ConstraintKind:
    """A kind of constraint: rules call it as ``name(number, ..., variable, variable, ...)``.

    `evaluate`: ``(values, params) ->`` verdicts of rows, int8: 1 where it holds, 0 where it does not, -1 where missing
    cells (NaN) leave it open. `project`: ``(rows, params) ->`` the nearest points of `MovableRows` that satisfy it, a
    row of NaN where there is none; only for constraints whose variables no other edit binds together. `params`: numbers
    that a rule gives first, in the order of the fields. `fewest`, `most`: how many variables a rule may list.
    """

    name: str
    evaluate: Callable[[NDArray[np.float64], Any], NDArray[np.int8]]
    project: Callable[[MovableRows, Any], NDArray[np.float64]] | None = None
    params: type[BaseModel] = NoParams
    fewest: int = 1
    most: int | None = None
    summary: str = ""
    reference: str = ""
    example: str = ""


class AtMostNonzeroParams(BaseModel, extra="forbid", frozen=True):
    """What a rule gives before the variables."""

    most: int = Field(ge=0, description="How many of the variables may differ from 0.")


def at_most_nonzero(values: NDArray[np.float64], params: AtMostNonzeroParams) -> NDArray[np.int8]:
    """Count the values that differ from 0: a person has at most two kinds of income, a firm one main activity.

    A missing cell may be 0 or not: the rule is broken where too many others differ from 0, holds where even all
    missing cells would not make too many, and is unknown in between.

    `values`: shape (n, q). Returns 1, 0 or -1; shape (n,).
    """
    missing = np.isnan(values)
    known = np.count_nonzero((values != 0.0) & ~missing, axis=1)
    most = known + np.count_nonzero(missing, axis=1)
    return np.where(known > params.most, 0, np.where(most <= params.most, 1, -1)).astype(np.int8)


def largest_kept(rows: MovableRows, params: AtMostNonzeroParams) -> NDArray[np.float64]:
    """Keep the values that would be missed most, within their bounds, and set the others to 0.

    A value that stays costs its way into its bounds, one that goes the way to 0, both squared, in units of its scale.
    Those that stay are the ones for which the second is largest beside the first, so no other choice moves less.

    Returns NaN in rows where too many values cannot be 0; shape (m, q).
    """
    inside = np.where(rows.movable, np.clip(rows.values, rows.low, rows.high), rows.values)
    may_go = rows.movable & (rows.low <= 0.0) & (rows.high >= 0.0)
    saved = (rows.values**2 - (rows.values - inside) ** 2) / rows.scale**2
    missed = np.where(may_go, saved, np.where(inside != 0.0, np.inf, -np.inf))
    # Of values that would be missed alike the last ones go.
    order = np.argsort(-missed, axis=1, kind="stable")
    goes = np.zeros(rows.values.shape, dtype=np.bool_)
    np.put_along_axis(goes, order, np.arange(rows.values.shape[1]) >= params.most, axis=1)
    points = np.where(goes & may_go, 0.0, inside)
    points[np.count_nonzero(points, axis=1) > params.most] = np.nan
    return np.asarray(points)


AT_MOST_NONZERO = ConstraintKind(
    name="at_most_nonzero",
    evaluate=at_most_nonzero,
    project=largest_kept,
    params=AtMostNonzeroParams,
    fewest=2,
    summary="At most so many of the variables differ from 0.",
    reference="Own; the nearest point is that of sparse vectors, Blumensath and Davies (2009), Applied and "
    "Computational Harmonic Analysis 27(3), 265-274",
    example="at_most_nonzero(2, wages, pension, benefits)",
)


CONSTRAINT_KINDS: Mapping[str, ConstraintKind] = {each.name: each for each in (AT_MOST_NONZERO,)}
"""By the name that rules call."""


def params_of(kind: ConstraintKind, numbers: tuple[Fraction, ...]) -> BaseModel:
    """Parameters of a kind, from the numbers that a rule gives first."""
    given = [each.numerator if each.denominator == 1 else float(each) for each in numbers]
    return kind.params.model_validate(dict(zip(kind.params.model_fields, given, strict=True)))


def wrong_numbers(kind: ConstraintKind, numbers: tuple[Fraction, ...]) -> str | None:
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
    kind = CONSTRAINT_KINDS[condition.name]
    return kind.evaluate(values, params_of(kind, condition.numbers))
