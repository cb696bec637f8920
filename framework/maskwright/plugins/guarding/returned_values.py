"""What aggregations and kinds of constraint have to give back: one number, one verdict, one point for each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.plugins.guarding.call import broke_contract
from maskwright.plugins.guarding.frozen import read_only

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from maskwright.plugins.guarding.origin import Origin


def checked_representatives(
    origin: Origin, keeps: AbstractSet[str], arguments: tuple[Any, ...], found: Any
) -> NDArray[np.float64]:
    """Return what an aggregation gave: a finite number for each cluster, and what it claims of a single variable."""
    cells = arguments[0]
    wanted = (len(cells.starts),)
    if not _is_array(found, wanted, np.float64):
        raise broke_contract(
            origin, f"returned {_described(found)}; it has to return float64 numbers of shape {wanted}"
        )
    if not np.isfinite(found).all():
        raise broke_contract(origin, "returned representatives that are no finite numbers")
    if "range" in keeps:
        low, high = (each.reduceat(cells.values, cells.starts) for each in (np.minimum, np.maximum))
        slack = 1e-9 * np.maximum(np.abs(low), np.abs(high))
        if ((found < low - slack) | (found > high + slack)).any():
            raise broke_contract(origin, "claims to keep ranges, and returned values outside those of their clusters")
    if "domain" in keeps and not np.logical_or.reduceat(cells.values == found[cells.clusters], cells.starts).all():
        raise broke_contract(origin, "claims to keep domains, and returned values that their clusters do not have")
    return read_only(found.copy())


def checked_verdicts(origin: Origin, arguments: tuple[Any, ...], found: Any) -> NDArray[np.int8]:
    """Return what a constraint said of rows: 1, 0 or -1 for each."""
    wanted = (len(arguments[0]),)
    if not _is_array(found, wanted, np.int8):
        raise broke_contract(origin, f"returned {_described(found)}; it has to return int8 verdicts of shape {wanted}")
    if not ((found >= -1) & (found <= 1)).all():
        raise broke_contract(origin, "returned verdicts other than 1, 0 and -1")
    return read_only(found.copy())


def checked_points(origin: Origin, arguments: tuple[Any, ...], found: Any) -> NDArray[np.float64]:
    """Return where a constraint put rows: within their bounds, what may not move left alone; NaN where nowhere."""
    rows = arguments[0]
    if not _is_array(found, rows.values.shape, np.float64):
        wanted = rows.values.shape
        raise broke_contract(origin, f"returned {_described(found)}; it has to return float64 points of shape {wanted}")
    missing = np.isnan(found)
    given = ~missing.any(axis=1)
    if not missing[~given].all():
        raise broke_contract(origin, "returned points of which some cells are missing: all of a row are, or none")
    points = found[given]
    if not np.isfinite(points).all():
        raise broke_contract(origin, "returned points that are no finite numbers")
    if (points != rows.values[given])[:, ~rows.movable].any():
        raise broke_contract(origin, "moved values that are published as they are: only movable columns may change")
    slack = 1e-9 * np.maximum(np.abs(points), rows.scale)
    outside = (points < rows.low - slack) | (points > rows.high + slack)
    if outside[:, rows.movable].any():
        raise broke_contract(origin, "returned points outside of the bounds it was given, which other edits set")
    return read_only(found.copy())


def _is_array(found: Any, shape: tuple[int, ...], dtype: type[np.generic]) -> bool:
    return isinstance(found, np.ndarray) and found.shape == shape and found.dtype == dtype


def _described(found: Any) -> str:
    return f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else f"a {type(found).__name__}"
