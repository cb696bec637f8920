"""Rank swapping: values of a variable change places with values of similar rank."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, InputError, Masked, Method
from maskwright_builtin.methods.single_columns import mask_columns
from maskwright_builtin.numerics.ordering import stable_order

if TYPE_CHECKING:
    from numpy.typing import NDArray


class RankSwappingParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of rank swapping."""

    p: float = Field(
        default=10.0,
        gt=0,
        le=100,
        description="Largest difference of the ranks of two values that are swapped, in percent of the number of "
        "values. More protects more and loses more; usual: 1 to 20.",
    )


def protect(block: Block, params: RankSwappingParams, rng: np.random.Generator) -> Masked:
    """Swap the values of each variable between records whose ranks are near each other.

    Parameters
    ----------
    block : Block
    params : RankSwappingParams
    rng : numpy.random.Generator

    Returns
    -------
    Masked
        Along the m values in ascending order (equal ones in the order of the records), each that is not swapped yet is
        swapped with one of those not swapped yet among the next floor(p m / 100) ranks, each as likely; where there is
        none, it stays. No value moves by more than p percent of m ranks, and the values of each variable are those of
        the original. Missing cells stay missing. O(m log m) time.

    Raises
    ------
    InputError
        When p percent of the values of a variable are less than one rank, so that none could be swapped.

    References
    ----------
    Moore, R. A. (1996): Controlled data-swapping techniques for masking public use microdata sets. Research report
    RR96-04, US Bureau of the Census; method Rank p of Mateo-Sanz's thesis.
    """

    def change(values: NDArray[np.float64], position: int) -> NDArray[np.float64]:
        m = len(values)
        # A product such as 0.07 * 100 may fall short of the whole number it stands for.
        reach = math.floor(params.p * m / 100.0 * (1.0 + 1e-12))
        if reach < 1 or m < 2:
            name = repr(block.names[position])
            raise InputError(
                f"{name} has a single value to mask: there is none to swap it with"
                if m < 2
                else f"p = {params.p:g} percent of the {m} values of {name} are less than one rank, so that none could "
                f"be swapped: take p of at least {math.ceil(1000.0 / m) / 10.0:g}"
            )
        order = stable_order(values)
        swapped = np.empty_like(values)
        swapped[order] = values[order[_partners(m, reach, rng)]]
        return swapped

    return mask_columns(block, change)


def _partners(m: int, reach: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Rank that each of m ranks is swapped with."""
    # The compiler takes half a second to import: not before it is needed.
    from maskwright_builtin.methods.swapping.rank_swapping_kernel import TRIES, swap_ranks

    partners = np.full(m, -1, dtype=np.int64)
    rank = 0
    while rank < m:
        rank = swap_ranks(partners, reach, rank, rng.random(m + 2 * TRIES))
    return partners


RANK_SWAPPING = Method(
    name="rank_swapping",
    protect=protect,
    params=RankSwappingParams,
    scope="variable",
    # Ranks are those of the whole file.
    cut="none",
    within_strata=False,
    variable_types={"continuous", "integer", "date", "datetime", "ordinal"},
    handles_missing=True,
    preserves={"range", "domain", "mean"},
    reference="Moore (1996), Controlled data-swapping techniques, US Bureau of the Census, RR96-04",
    summary="Swaps values of a variable between records whose ranks differ by at most p percent.",
    example="method: rank_swapping\nparams: {p: 15}\n",
)
