"""What a kind of constraint is: a condition that rules call by name, and how rows are moved onto it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from maskwright.plugins.partition import NoParams

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel


@dataclass(frozen=True, eq=False)
class MovableRows:
    """Rows that do not satisfy a constraint, and how they may be moved. Arrays are read-only.

    Attributes
    ----------
    values : ndarray of shape (m, q), float64
        A column for each variable of the constraint, as the rule lists them; no cell is missing.
    movable : ndarray of shape (q,), bool
        Columns that may change; the others are published as they are.
    low, high : ndarray of shape (q,), float64
        Between which the published values have to be, as other edits say; infinite where nothing does.
    step : ndarray of shape (q,), float64
        Published values are its multiples; 0 where they have no grid.
    scale : ndarray of shape (q,), float64
        What a move is counted in: the nearest point has the smallest sum of squares of moves over their scale.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import MovableRows
    >>> rows = MovableRows(values=np.array([[3.0, 8.0]]), movable=np.array([True, False]), low=np.array([0.0, 0.0]),
    ...                    high=np.array([5.0, 9.0]), step=np.array([1.0, 1.0]), scale=np.array([2.0, 4.0]))
    >>> np.where(rows.movable, rows.high, rows.values)
    array([[5., 8.]])
    """

    values: NDArray[np.float64]
    movable: NDArray[np.bool_]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    step: NDArray[np.float64]
    scale: NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class ConstraintKind:
    """A kind of constraint: rules call it as a function, ``name(number, ..., variable, variable, ...)``.

    Attributes
    ----------
    name : str
        What rules call it.
    evaluate : callable
        ``(values, params) -> verdicts``: of an ndarray of shape (n, q), float64, NaN where a cell has no number, one
        verdict for each row, ndarray of shape (n,), int8: 1 where the constraint holds, 0 where it does not, -1 where
        missing cells leave it open. It has the last word, also on the file as it is read back. A pure function,
        defined at the top of a module.
    project : callable or None
        ``(rows, params) -> points``: for `MovableRows` the nearest points that satisfy the constraint, ndarray of shape
        (m, q), float64; a row of NaN where there is none. Only asked of constraints whose variables no other edit
        binds together. None: rows are looked for among the values of others, or the run is refused.
    params : type of pydantic.BaseModel
        Numbers that a rule gives first, in the order of the fields.
    fewest, most : int, int or None
        How many variables a rule may list; None: any number.
    summary : str
        One sentence for `maskwright plugins`.
    reference : str
        Paper, section.
    example : str
        A rule.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import ConstraintKind, NoParams
    >>> def rising(values: np.ndarray, params: NoParams) -> np.ndarray:
    ...     steps = np.diff(values, axis=1)
    ...     return np.where((steps < 0).any(axis=1), 0, np.where(np.isnan(steps).any(axis=1), -1, 1)).astype(np.int8)
    >>> kind = ConstraintKind(name="rising", evaluate=rising, fewest=2, summary="No value is below the one before it.")
    >>> kind.evaluate(np.array([[1.0, 2.0], [2.0, 1.0], [np.nan, 1.0]]), NoParams())
    array([ 1,  0, -1], dtype=int8)
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
