"""Rank-limited ordinal noise: a category moves by few places in the order of the categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, Field

from maskwright import Block, Claims, CompanionVariables, Masked, Method, PublishedIf
from maskwright_builtin.methods.post_randomisation.markov import MarkovMatrix, mixed, neighbours
from maskwright_builtin.methods.post_randomisation.randomisation import (
    Randomising,
    gathering_of,
    randomised,
    refuse_many_cells,
)

if TYPE_CHECKING:
    import numpy as np

    from maskwright_builtin.methods.post_randomisation.randomisation import Moves, Stratum, Transition


class OrdinalNoiseParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of ordinal noise."""

    places: int = Field(default=1, ge=1, strict=True, description="Most places by which a category moves. Usual: 1, 2.")
    retain: Annotated[float, PublishedIf("publish_matrix")] = Field(
        default=0.5, ge=0, lt=1, description="Least probability that a category stays."
    )
    invariant: bool = Field(
        default=True,
        description="Expected frequencies of the categories are those of the original; false: each category within "
        "reach is as likely.",
    )
    within: Annotated[tuple[str, ...], CompanionVariables()] = Field(
        default=(),
        description="Variables, not masked by the step, of any type: frequencies are those of the records with the "
        "same values of them.",
    )
    publish_matrix: bool = Field(
        default=False,
        description="Put the matrices, and the parameters that give them, into the public record, for analysts who "
        "correct for them; not those from which frequencies of fewer than 10 records can be computed.",
    )


def protect(block: Block, params: OrdinalNoiseParams, rng: np.random.Generator) -> Masked:
    """Move each category by a random number of places, `places` at most.

    Parameters
    ----------
    block : Block
        Of ordinal variables; places are counted in the order of all declared categories.

    Returns
    -------
    Masked
        Categories that occur among the records with the same `within` values are reached, others are not. Missing
        cells stay missing. Edits are kept by adjustment afterwards, which may move further and is reported.

    References
    ----------
    Kooiman, Willenborg and Gouweleeuw (1997), as PRAM, with a banded matrix; invariant moves are accepted as in
    Metropolis, N. et al. (1953): Equation of state calculations by fast computing machines. Journal of Chemical Physics
    21(6), 1087-1092, because the second stage of an invariant PRAM would move twice as far.
    """
    return randomised(block, _randomising(params), GATHERING.of(block, params), rng)


def _randomising(params: OrdinalNoiseParams) -> Randomising:
    def chances(stratum: Stratum, moves: Moves) -> Transition:  # noqa: ARG001 - of all transitions
        refuse_many_cells(stratum)
        frequencies = stratum.frequencies if params.invariant else None
        return MarkovMatrix(mixed(neighbours(stratum.cells[:, 0], params.places, frequencies), params.retain))

    return Randomising(
        name="ordinal noise", transition=chances, within=params.within, published=params.publish_matrix,
        tells_frequencies=params.invariant,
    )  # fmt: skip


GATHERING = gathering_of(_randomising)


ORDINAL_NOISE = Method(
    name="ordinal_noise",
    protect=protect,
    params=OrdinalNoiseParams,
    scope="variable",
    claims=Claims(
        cut="none",
        changes_few=True,
        variable_types={"ordinal"},
        handles_missing=True,
        preserves={"domain"},
        gathering=GATHERING,
    ),
    reference="Kooiman, Willenborg and Gouweleeuw (1997), PRAM, with a banded matrix; Metropolis et al. (1953), "
    "Journal of Chemical Physics 21(6), 1087-1092",
    summary="Moves ordinal categories by at most a given number of places; expected frequencies stay.",
    example="method: ordinal_noise\nvariables: [education]\nparams: {places: 1}\n",
)
