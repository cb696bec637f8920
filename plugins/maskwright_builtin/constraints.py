"""Kinds of constraints that come with Maskwright: at most so many non-zero variables."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from maskwright import ConstraintKind, MovableRows

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


CONSTRAINTS = (AT_MOST_NONZERO,)
