"""PRAM, the post-randomisation method: categories change at random along a Markov matrix."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field, field_validator, model_validator

from maskwright import Block, InputError, Masked, Method
from maskwright_builtin.methods.post_randomisation.markov import (
    draw,
    invariant_retaining,
    made_invariant,
    uniform_retaining,
)
from maskwright_builtin.methods.single_columns import mask_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright import Variable

SUM = 1e-9
"""How far the sum of stated probabilities may be from 1."""


class PramParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of PRAM."""

    retain: float = Field(
        default=0.8,
        ge=0,
        lt=1,
        description="Without 'matrix': least probability that a category stays. Invariant: otherwise a category is "
        "drawn from their frequencies. Not invariant: otherwise it becomes one of the others, each as likely.",
    )
    matrix: dict[str, dict[str, float]] | None = Field(
        default=None,
        description="Markov matrix: {category: {category it becomes: probability}}; a row for each category that "
        "occurs, sums 1; left out is 0. For all variables of the step.",
    )
    invariant: bool = Field(
        default=True,
        description="Expected frequencies of the categories are those of the original. A given matrix P is followed by "
        "the second stage that makes it so; false takes it as it is.",
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
        if self.matrix is not None and "retain" in self.model_fields_set:
            raise ValueError("'matrix' and 'retain' both say what stays; give one")
        return self


def protect(block: Block, params: PramParams, rng: np.random.Generator) -> Masked:
    """Change the categories of each variable at random.

    Parameters
    ----------
    block : Block
        Of nominal or ordinal variables.
    params : PramParams
    rng : numpy.random.Generator

    Returns
    -------
    Masked
        Each record's category k becomes l with probability p_kl, independently of the other records. Only categories
        that occur among the records of the block are reached; what a given matrix promises others stays with k. Edits
        between categories are kept by adjustment afterwards, which may lead to others. Where a condition on the
        variable governs numbers that are masked too, records on either side of it are apart: a category never moves a
        record to the other side. Missing cells stay missing. It is a doubt when a variable has a single category in a
        block, which then stays.

    Raises
    ------
    InputError
        When the matrix has no row for a category that occurs, or names one that the variable does not have.

    References
    ----------
    Kooiman, P., Willenborg, L. and Gouweleeuw, J. (1997): PRAM: a method for disclosure limitation of microdata.
    Report, Statistics Netherlands; Gouweleeuw et al. (1998), Journal of Official Statistics 14(4), 463-478.
    """
    doubts: list[str] = []

    def change(values: NDArray[np.float64], position: int) -> NDArray[np.float64]:
        found, codes = np.unique(values.astype(np.int64), return_inverse=True)
        if len(found) < 2:
            doubts.append(
                "records that are masked together share one category, which stays: where blocks or the conditions of "
                "edits cut the records apart by category, PRAM changes nothing"
            )
            return values
        matrix = markov_matrix(params, block.variables[position], found, np.bincount(codes))
        return found[draw(codes, matrix, rng)].astype(np.float64)

    return mask_columns(block, change, doubts=doubts)


def markov_matrix(
    params: PramParams, variable: Variable, found: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Probabilities of what each category that occurs becomes; shape (c, c).

    Parameters
    ----------
    params : PramParams
    variable : Variable
    found : ndarray of shape (c,), int64
        Codes that occur, ascending; c >= 2.
    counts : ndarray of shape (c,), int64
        How often.

    Raises
    ------
    InputError
        The matrix names other categories, or has no row for one that occurs.
    """
    frequencies = counts / counts.sum()
    if params.matrix is None:
        if params.invariant:
            return invariant_retaining(frequencies, params.retain)
        return uniform_retaining(len(found), params.retain)
    named = {*params.matrix, *(category for row in params.matrix.values() for category in row)}
    strangers = sorted(named - set(variable.categories))
    if strangers:
        raise InputError(
            f"matrix: {', '.join(map(repr, strangers[:5]))}{', ...' if len(strangers) > 5 else ''} "
            f"{'is' if len(strangers) == 1 else 'are'} not among the categories of {variable.name!r}; variables with "
            "other categories need a step of their own"
        )
    names = [variable.categories[code] for code in found]
    without = sum(name not in params.matrix for name in names)
    if without:
        raise InputError(f"matrix: {without} of the categories of {variable.name!r} that occur have no row")
    given = np.array([[params.matrix[one].get(other, 0.0) for other in names] for one in names])
    given[np.diag_indices(len(names))] += 1.0 - given.sum(axis=1)
    given = np.clip(given, 0.0, 1.0)
    given /= given.sum(axis=1, keepdims=True)
    return made_invariant(given, frequencies) if params.invariant else given


PRAM = Method(
    name="pram",
    protect=protect,
    params=PramParams,
    scope="variable",
    may_be_split=True,
    # Few categories occur in a block, so that most stay what they are.
    protects_in_blocks=False,
    changes_few=True,
    variable_types=frozenset({"ordinal", "nominal"}),
    handles_missing=True,
    preserves=frozenset({"domain"}),
    reference="Kooiman, Willenborg and Gouweleeuw (1997), PRAM: a method for disclosure limitation of microdata, "
    "Statistics Netherlands; Gouweleeuw et al. (1998), Journal of Official Statistics 14(4), 463-478",
    summary="Changes categories at random along a Markov matrix, given or made to keep expected frequencies.",
    example="method: pram\nvariables: [region]\nparams: {retain: 0.8}\n",
)
