"""PRAM, the post-randomisation method: categories change at random along a Markov matrix."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field, field_validator, model_validator

from maskwright import Block, Claims, CompanionVariables, InputError, Masked, Method, PublishedIf
from maskwright_builtin.methods.post_randomisation.markov import (
    MarkovMatrix,
    Retaining,
    direct,
    lifted,
    made_invariant,
    mixed,
    uniform_retaining,
)
from maskwright_builtin.methods.post_randomisation.randomisation import (
    Randomising,
    gathering_of,
    joined,
    randomised,
    refuse_many_cells,
)

if TYPE_CHECKING:
    from maskwright_builtin.methods.post_randomisation.randomisation import Moves, Stratum, Transition
    from maskwright_builtin.numerics.arrays import Floats

SUM = 1e-9
"""How far the sum of stated probabilities may be from 1."""


class PramParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of PRAM."""

    retain: Annotated[float, PublishedIf("publish_matrix")] = Field(
        default=0.8,
        ge=0,
        lt=1,
        description="Without 'matrix' and 'theta': least probability that a category stays. Invariant: otherwise a "
        "category is drawn from their frequencies. Not invariant: otherwise it becomes one of the others, each as "
        "likely.",
    )
    matrix: Annotated[dict[str, dict[str, float]] | None, PublishedIf("publish_matrix")] = Field(
        default=None,
        description="Markov matrix: {category: {category it becomes: probability}}; a row for each category that "
        "occurs, sums 1; left out is 0. For all variables of the step.",
    )
    invariant: bool = Field(
        default=True,
        description="Expected frequencies of the categories are those of the original. A given matrix P is followed by "
        "the second stage that makes it so; false takes it as it is.",
    )
    construction: Literal["two_stage", "direct"] = Field(
        default="two_stage",
        description="'direct': the rarest category changes with probability 'theta', a category k with theta f_min / "
        "f_k, and becomes each other one as likely; invariant, and 'retain' is not used.",
    )
    theta: Annotated[float | None, PublishedIf("publish_matrix")] = Field(
        default=None,
        gt=0,
        le=1,
        description="Of the direct construction: probability that the rarest category changes.",
    )
    nearness: Annotated[float | None, PublishedIf("publish_matrix")] = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="Categories at distance d are proposed in proportion to exp(-d / nearness). Another nominal "
        "category is 1 away, ordinal ones by their places, from end to end 1; over variables it is added. Left out: "
        "distance does not count.",
    )
    joint: bool = Field(
        default=False,
        description="The variables of the step change together: a record moves between the combinations that occur in "
        "the original, so that every edit among these variables is kept.",
    )
    within: Annotated[tuple[str, ...], CompanionVariables()] = Field(
        default=(),
        description="Variables, not masked by the step, of any type: one matrix for each combination of their values, "
        "with the frequencies of its records, so that tables by these variables stay in expectation.",
    )
    join_below: int = Field(
        default=5,
        ge=1,
        description="With 'nearness' and the direct construction: categories (combinations) of fewer records are "
        "joined with the nearest ones, and drawn inside from their frequencies; their number is recorded.",
    )
    publish_matrix: bool = Field(
        default=False,
        description="Put the matrices, and the parameters that give them, into the public record, for analysts who "
        "correct for them; not those from which frequencies of fewer than 10 records can be computed.",
    )

    @field_validator("matrix")
    @classmethod
    def _probabilities(cls, matrix: dict[str, dict[str, float]] | None) -> dict[str, dict[str, float]] | None:
        if matrix == {}:
            raise ValueError("a matrix has a row for each category")
        for category, row in (matrix or {}).items():
            if not all(0.0 <= probability <= 1.0 for probability in row.values()):
                raise ValueError(f"row {category!r}: a probability lies between 0 and 1")
            total = math.fsum(row.values())
            if abs(total - 1.0) > SUM:
                raise ValueError(f"row {category!r}: the probabilities sum to {total:.6g}, not to 1")
        return matrix

    @model_validator(mode="after")
    def _one_way(self) -> PramParams:
        given = self.model_fields_set
        if self.matrix is not None and "retain" in given:
            raise ValueError("'matrix' and 'retain' both say what stays; give one")
        if self.matrix is not None and (self.joint or self.nearness is not None):
            raise ValueError("'matrix' is of single variables and says how near they are: no 'joint', no 'nearness'")
        if (self.construction == "direct") != (self.theta is not None):
            raise ValueError("'construction: direct' and 'theta' go together")
        if self.construction == "direct":
            others = [name for name in ("retain", "matrix", "nearness") if name in given]
            if others or not self.invariant:
                raise ValueError(f"'construction: direct' is invariant and takes 'theta' only, not {others or 'false'}")
        return self


def protect(block: Block, params: PramParams, rng: np.random.Generator) -> Masked:
    """Change the categories of each variable, or of all together, at random.

    Parameters
    ----------
    block : Block
        Of nominal or ordinal variables.

    Returns
    -------
    Masked
        Each record's category k becomes l with probability p_kl, independently of the other records. Only categories
        (with `joint`, combinations) that occur among the records of the block with the same `within` values are
        reached; what a given matrix promises others stays with k. Edits between variables that change one by one are
        kept by adjustment afterwards, which may lead to others and is reported: the effective matrix is then another.
        Where a condition on the variable governs numbers that are masked too, records on either side of it are apart:
        a category never moves a record to the other side. Missing cells stay missing. A notice says when a variable
        has a single category among records that are masked together, which then stays.

    Raises
    ------
    InputError
        When the matrix has no row for a category that occurs, or names one that the variable does not have; when a
        matrix would be of more than 2,000 combinations.

    Notes
    -----
    Of a variable with one matrix R, the invariant two-stage one made from a proposal P, expected frequencies are f,
    the rarest category is kept least, and the diagonal of R is not that of P. ``retain I + (1 - retain) R`` is
    invariant too.
    """
    return randomised(block, _randomising(params), GATHERING.of(block, params), rng)


def _randomising(params: PramParams) -> Randomising:
    return Randomising(
        name="PRAM", transition=partial(transition, params), together=params.joint, within=params.within,
        published=params.publish_matrix, tells_frequencies=params.invariant or params.nearness is not None,
    )  # fmt: skip


GATHERING = gathering_of(_randomising)


def transition(params: PramParams, stratum: Stratum, moves: Moves) -> Transition:
    """Probabilities of what each category, or combination, of a stratum becomes."""
    frequencies = stratum.frequencies
    plain = params.matrix is None and params.construction == "two_stage" and params.nearness is None
    if plain and params.invariant:
        return Retaining(frequencies, params.retain)
    refuse_many_cells(stratum)
    if plain:
        return MarkovMatrix(uniform_retaining(len(frequencies), params.retain))
    if params.matrix is not None:
        given = _given(params.matrix, stratum)
        return MarkovMatrix(made_invariant(given, frequencies) if params.invariant else given)
    return _by_classes(params, stratum, moves)


def _by_classes(params: PramParams, stratum: Stratum, moves: Moves) -> MarkovMatrix:
    """Matrix over classes of cells in which no cell is so rare that moving is near certain, or impossible."""
    frequencies, distances = stratum.frequencies, stratum.distances()
    classes = joined(distances, stratum.counts, params.join_below)
    shares = np.asarray(np.bincount(classes, weights=frequencies), dtype=np.float64)
    moves.joined += int(np.sum(np.bincount(classes)[classes] > 1))
    if params.theta is not None:
        if len(shares) < 2:
            moves.lone += len(stratum.records)
            return MarkovMatrix(np.eye(len(frequencies)))
        matrix = direct(shares, params.theta)
        stays = np.diag(matrix)
        return MarkovMatrix(lifted(matrix - np.diag(stays), classes, frequencies) + np.diag(stays[classes]))
    apart = np.full((len(shares), len(shares)), np.inf)
    np.minimum.at(apart, (classes[:, None], classes[None, :]), distances)
    assert params.nearness is not None
    proposed = np.exp(-apart / params.nearness)
    proposed /= proposed.sum(axis=1, keepdims=True)
    matrix = made_invariant(proposed, shares) if params.invariant else proposed
    return MarkovMatrix(mixed(lifted(matrix, classes, frequencies), params.retain))


def _given(matrix: dict[str, dict[str, float]], stratum: Stratum) -> Floats:
    """The given probabilities among the categories that occur; what is promised to others stays."""
    (variable,), found = stratum.variables, stratum.cells[:, 0]
    named = {*matrix, *(category for row in matrix.values() for category in row)}
    strangers = sorted(named - set(variable.categories))
    if strangers:
        raise InputError(
            f"matrix: {', '.join(map(repr, strangers[:5]))}{', ...' if len(strangers) > 5 else ''} "
            f"{'is' if len(strangers) == 1 else 'are'} not among the categories of {variable.name!r}; variables with "
            "other categories need a step of their own"
        )
    names = [variable.categories[code] for code in found]
    without = sum(name not in matrix for name in names)
    if without:
        raise InputError(f"matrix: {without} of the categories of {variable.name!r} that occur have no row")
    given = np.array([[matrix[one].get(other, 0.0) for other in names] for one in names])
    given[np.diag_indices(len(names))] += 1.0 - given.sum(axis=1)
    given = np.clip(given, 0.0, 1.0)
    return np.asarray(given / given.sum(axis=1, keepdims=True))


def _variant(params: PramParams) -> Method:
    """PRAM of combinations sees all variables of the step, and keeps what holds among them."""
    if not params.joint:
        return PRAM
    return replace(PRAM.claiming(preserves=PRAM.claims.preserves | {"combinations"}), scope="all")


PRAM = Method(
    name="pram",
    protect=protect,
    params=PramParams,
    scope="variable",
    claims=Claims(
        cut="none",
        changes_few=True,
        variable_types={"ordinal", "nominal"},
        handles_missing=True,
        preserves={"domain"},
        gathering=GATHERING,
    ),
    variant=_variant,
    reference="Kooiman, Willenborg and Gouweleeuw (1997), PRAM: a method for disclosure limitation of microdata, "
    "Statistics Netherlands; Gouweleeuw et al. (1998), Journal of Official Statistics 14(4), 463-478",
    summary="Changes categories at random along a Markov matrix, given or made to keep expected frequencies.",
    example="method: pram\nvariables: [region]\nparams: {retain: 0.8}\n",
)
