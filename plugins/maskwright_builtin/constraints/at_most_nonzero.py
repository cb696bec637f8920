"""``at_most_nonzero(2, wages, pension, benefits)``: so many of the variables differ from 0, and no more."""

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

    Parameters
    ----------
    values : ndarray of shape (n, q), float64
    params : AtMostNonzeroParams

    Returns
    -------
    ndarray of shape (n,), int8
        1, 0 or -1.
    """
    missing = np.isnan(values)
    known = np.count_nonzero((values != 0.0) & ~missing, axis=1)
    most = known + np.count_nonzero(missing, axis=1)
    return np.where(known > params.most, 0, np.where(most <= params.most, 1, -1)).astype(np.int8)


def largest_kept(rows: MovableRows, params: AtMostNonzeroParams) -> NDArray[np.float64]:
    """Set the values that are nearest to 0 to 0, in units of their scale, until so many are left.

    That is the nearest point: every point that satisfies the constraint has at least as many zeros, and each of them
    costs the square of the value that was there.

    Parameters
    ----------
    rows : MovableRows
        Of m rows.
    params : AtMostNonzeroParams

    Returns
    -------
    ndarray of shape (m, q), float64
        NaN in rows where too many values cannot be 0.
    """
    may_be_0 = rows.movable & (rows.low <= 0.0) & (rows.high >= 0.0)
    costs = np.where(may_be_0, np.abs(rows.values) / rows.scale, np.inf)
    # Of values that are equally near to 0 the last ones go.
    order = np.argsort(-costs, axis=1, kind="stable")
    goes = np.zeros(rows.values.shape, dtype=np.bool_)
    np.put_along_axis(goes, order, np.arange(rows.values.shape[1]) >= params.most, axis=1)
    points = np.where(goes & may_be_0, 0.0, rows.values)
    points[np.count_nonzero(points, axis=1) > params.most] = np.nan
    return points


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
