"""Variables published on a level of their hierarchies."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright import Band, InputError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from maskwright import Hierarchy, Variable


def hierarchy_of(variable: Variable) -> Hierarchy:
    """Hierarchy that is declared of a variable."""
    if variable.hierarchy is None:
        name = variable.name
        raise InputError(
            f"{name} has no hierarchy: declare one, `{name}: {{hierarchy: ...}}` (maskwright explain hierarchies)"
        )
    return variable.hierarchy


def on_level(variable: Variable, values: NDArray[np.float64], level: int) -> tuple[NDArray[np.int64], Variable]:
    """Node of each value on a level of the variable's hierarchy, and the variable as it is published then.

    `values`: without missing cells: codes into its categories, numbers, or days; shape (n,). `level`: 1 or higher.
    """
    hierarchy = hierarchy_of(variable)
    codes = hierarchy.codes(variable, values, level)
    bands = hierarchy.bands(level)
    if variable.bands:
        of_category = dict(zip(variable.categories, variable.bands, strict=True))
        bands = _flattened(bands, of_category)
    published = replace(variable, type="ordinal" if variable.is_numeric else variable.type, decimals=None, lower=None,
                        upper=None, date_format=None, categories=hierarchy.labels(level),
                        hierarchy=hierarchy.above(level), bands=bands)  # fmt: skip
    return codes, published


def _flattened(bands: tuple[Band, ...], of_category: dict[str, Band]) -> tuple[Band, ...]:
    """Bands of categories that are bands themselves, as what the original values were; empty where unknown."""
    if any(member not in of_category for band in bands for member in band.members or ()):
        return ()
    found = [Band.joined([of_category[str(member)] for member in band.members or ()]) for band in bands]
    known = [band for band in found if band is not None]
    return tuple(known) if len(known) == len(found) else ()
