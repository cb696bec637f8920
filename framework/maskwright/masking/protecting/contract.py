"""What the engine demands of what a method returns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.errors import PluginError
from maskwright.plugins.method import Masked, Method

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
    _check_kept_rows(method, block, masked)
    shape = block.values.shape if masked.kept_rows is None else (len(masked.kept_rows), block.p)
    if masked.values.shape != shape or masked.missing.shape != shape:
        raise PluginError(f"method {name!r} returned values of shape {masked.values.shape}; expected {shape}")
    if not np.all(np.isfinite(masked.values[~masked.missing])):
        raise PluginError(f"method {name!r} returned NaN or infinite values in cells that are not missing")
    had = block.missing if masked.kept_rows is None else block.missing[masked.kept_rows]
    if "cells" not in method.removes and not method.draws_records and (masked.missing & ~had).any():
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
        owners = owners if masked.kept_rows is None else owners[masked.kept_rows]
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


def _check_kept_rows(method: Method, block: Block, masked: Masked) -> None:
    """Records that a method drops: it has said that it drops some, and keeps at least one, in order."""
    rows = masked.kept_rows
    if rows is None:
        if masked.weights is not None:
            raise PluginError(f"method {method.name!r} changes weights, and drops no records")
        return
    if "records" not in method.removes:
        raise PluginError(f"method {method.name!r} drops records, and does not say that it removes records")
    rising = rows.ndim == 1 and rows.dtype == np.int64 and bool(np.all(np.diff(rows) > 0))
    if not rising or (len(rows) and (rows[0] < 0 or rows[-1] >= block.n)):
        raise PluginError(f"method {method.name!r}: kept_rows must hold rows 0..{block.n - 1}, ascending, each once")
    if masked.weights is not None and (
        block.weights is None or masked.weights.shape != rows.shape or not np.all(np.isfinite(masked.weights))
    ):
        raise PluginError(f"method {method.name!r}: weights must be one finite number for each record kept")


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
