"""What the engine demands of what a method returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.errors import PluginError
from maskwright.plugins.method import Masked, Method
from maskwright.plugins.remover import Removed, Remover

if TYPE_CHECKING:
    from pydantic import BaseModel

    from maskwright.plugins.block import Block


def check_masked(method: Method, params: BaseModel, block: Block, masked: Masked) -> None:
    """Hold a method to its contract; a plugin's mistake must not become a wrong release.

    Parameters
    ----------
    method : Method
    params : pydantic.BaseModel
        Of the method.
    block : Block
        What the method saw.
    masked : Masked
        What it returned.

    Raises
    ------
    PluginError
        When shapes, cells, labels, records or variables are not what the method has to give or says it gives.
    """
    name = method.name
    if not isinstance(masked, Masked):
        raise PluginError(f"method {name!r} returned a {type(masked).__name__}; it has to return maskwright.Masked")
    shape = block.values.shape
    if masked.values.shape != shape or masked.missing.shape != shape:
        raise PluginError(f"method {name!r} returned values of shape {masked.values.shape}; expected {shape}")
    if not np.all(np.isfinite(masked.values[~masked.missing])):
        raise PluginError(f"method {name!r} returned NaN or infinite values in cells that are not missing")
    if "cells" not in method.removes and not method.draws_records and (masked.missing & ~block.missing).any():
        raise PluginError(f"method {name!r} left cells empty, and does not say that it removes cells")
    _check_suppressed(method, masked)
    _check_detail(method, block, masked)
    if masked.labels is None or masked.representatives is None:
        if method.makes_clusters:
            raise PluginError(f"method {name!r} promises groups but returned no labels and representatives")
        return
    clusters = len(masked.representatives)
    if masked.labels.shape != shape[:1] or masked.labels.min() < 0 or masked.labels.max() >= clusters:
        raise PluginError(f"method {name!r}: labels must be one number 0..{clusters - 1} for each of {block.n} records")
    k = method.smallest_cluster(params)
    if k is not None:
        owners = block.households if block.households is not None and method.counts_households else np.arange(block.n)
        pairs = np.unique(np.stack([masked.labels, owners], axis=1), axis=0)
        smallest = int(np.bincount(pairs[:, 0], minlength=clusters).min())
        if smallest < min(k, len(np.unique(owners))):
            what = "records" if block.households is None or not method.counts_households else "households"
            raise PluginError(f"method {name!r} promised clusters of at least {k} {what}; the smallest has {smallest}")


def _check_suppressed(method: Method, masked: Masked) -> None:
    """Missing codes that a method takes away: of missing cells, and it has said that it removes cells."""
    gone = masked.suppressed
    if gone is None:
        return
    if "cells" not in method.removes or gone.shape != masked.missing.shape or (gone & ~masked.missing).any():
        raise PluginError(
            f"method {method.name!r}: only missing cells, of a method that removes cells, can lose their codes"
        )


def check_removed(remover: Remover, block: Block, removed: Removed) -> None:
    """Hold a remover to its contract: it takes away what it says, and rows, cells and weights fit the block.

    Parameters
    ----------
    remover : Remover
    block : Block
        What it saw.
    removed : Removed
        What it returned.

    Raises
    ------
    PluginError
    """
    name = remover.name
    if not isinstance(removed, Removed):
        raise PluginError(f"method {name!r} returned a {type(removed).__name__}; it has to return maskwright.Removed")
    rows, cells = removed.kept_rows, removed.cells
    wanted, other = (rows, cells) if remover.takes_away == "records" else (cells, rows)
    if wanted is None or other is not None:
        field = "kept_rows" if remover.takes_away == "records" else "cells"
        raise PluginError(f"method {name!r} takes away {remover.takes_away}, so it has to give {field}, and no other")
    if cells is not None and (cells.shape != block.values.shape or cells.dtype != np.bool_):
        raise PluginError(f"method {name!r}: cells must be true or false for each of {block.n} x {block.p} cells")
    if rows is None:
        if removed.weights is not None:
            raise PluginError(f"method {name!r} changes weights, and drops no records")
        return
    rising = rows.ndim == 1 and rows.dtype == np.int64 and bool(np.all(np.diff(rows) > 0))
    if not rising or (len(rows) and (rows[0] < 0 or rows[-1] >= block.n)):
        raise PluginError(f"method {name!r}: kept_rows must hold rows 0..{block.n - 1}, ascending, each once")
    weights = removed.weights
    if weights is not None and (
        block.weights is None or weights.shape != rows.shape or not np.all(np.isfinite(weights))
    ):
        raise PluginError(f"method {name!r}: weights must be one finite number for each record kept")


def _check_detail(method: Method, block: Block, masked: Masked) -> None:
    """Variables that a method changes: as many, of the same names, and categories unless it leaves one as it was."""
    coarser = "detail" in method.removes
    if masked.variables is None:
        if coarser:
            raise PluginError(f"method {method.name!r} publishes categories, and does not say which: give variables")
        return
    if not coarser:
        raise PluginError(f"method {method.name!r} changes variables, and does not say that it removes detail")
    if [each.name for each in masked.variables] != list(block.names):
        raise PluginError(f"method {method.name!r} returned other variables than those of its block")
    for before, after in zip(block.variables, masked.variables, strict=True):
        if after == before:
            continue
        wanted = "ordinal" if before.is_numeric else before.type
        if after.type != wanted and not (before.is_date and after == before):
            raise PluginError(f"method {method.name!r} made {after.type} of {after.name}, which was to be {wanted}")
