"""Adjustment of synthetic values to the edits that keeps their means and covariances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import Field

from maskwright import EditSet
from maskwright_builtin.methods.synthetic.regression import RegressionRoles, square_factor

if TYPE_CHECKING:
    from maskwright import Block
    from maskwright_builtin.methods.synthetic.regression import Regression
    from maskwright_builtin.numerics.arrays import Floats


RESTORED = 1e-6
"""Largest shift of a mean (in standard deviations) or a correlation at which the moments count as kept."""

BEYOND = 0.9
"""How far beyond the edits a round goes on, as a share of the way to them; halves the number of rounds."""

FINITE_FREE = frozenset({"linear", "range", "product", "governing"})
"""Kinds of edit that do not need the values of the original file."""


class MomentsAndEdits(RegressionRoles, frozen=True):
    """Whether edits may cost the means and covariances."""

    restore_moments: bool = Field(
        default=False,
        description="Look for values that satisfy the edits and keep means and covariances too, before the engine "
        "adjusts what is left. The record says how far it came before that; what adjusting cost the means and "
        "covariances in the end, with edits that read other variables too, stands under moment_drift.",
    )
    max_rounds: int = Field(
        default=200,
        ge=1,
        strict=True,
        description="For restore_moments: rounds of bringing values onto the one and the other.",
    )


@dataclass(frozen=True)
class Restored:
    """How far values satisfy edits and moments together.

    `before`: largest shift of a mean (in standard deviations of the dependent) or of a covariance (in products of
    standard deviations) among dependents and independents that bringing the values onto the edits at once would cost.
    `after`: the same after `rounds` rounds. `records`: records that broke an edit at first.
    """

    rounds: int
    before: float
    after: float
    records: int


def onto_edits(
    block: Block, params: MomentsAndEdits, target: Regression, values: Floats, *, restore: bool = True
) -> tuple[Floats, Restored | None]:
    """Values on the edits that keep the moments, as near as alternating projections come.

    `params`: nothing is done without `restore_moments`. `target`: of the original block, a stack of one: its means,
    fitted values and residual cross products are kept. `values`: synthetic values; shape (n, L). `restore`: whether
    these values keep moments in the first place. Returns on the edits as far as they can be projected on; what is left,
    and rounding, is the engine's; shape (n, L).

    Values on the edits are the nearest ones, in standardised distance. Values with the moments are F + QR nearest to
    a given residual Z: with the singular value decomposition ZR' = USV', Q = UV' (orthogonal Procrustes problem).
    The two are taken in turn until they agree, each time going on beyond the edits (over-relaxation). Where the set
    of records with these moments and edits is empty, they never do, and the shift of the moments says by how much.
    """
    edits = EditSet(
        tuple(
            edit
            for edit in block.edits
            if edit.kind in FINITE_FREE and set(edit.variables) <= {*block.names, *block.companions}
        )
    )
    if not (restore and params.restore_moments and len(edits)):
        return values, None

    # Its search trees take time to import: not before they are needed.
    from maskwright import project

    def feasible(points: Floats) -> Floats:
        return project(points, block.variables, edits, block.scale, block.companions)[0]

    scale = block.scale
    best = point = feasible(values)
    records = int(np.count_nonzero((best != values).any(axis=1)))
    before = after = moments_shift(target, best, scale)
    rounds = 0
    while after > RESTORED and rounds < params.max_rounds:
        rounds += 1
        kept = _with_moments(target, point, scale)
        met = feasible(kept)
        shift = moments_shift(target, met, scale)
        if shift < after:
            best, after = met, shift
        point = met + BEYOND * (met - kept)
        block.progress(0.4 + 0.6 * rounds / params.max_rounds)
    return best, Restored(rounds, before, after, records)


def note_moments(restored: Restored | None) -> dict[str, Any]:
    """What the run record should hold of it."""
    if restored is None:
        return {}
    notes: dict[str, Any] = {
        "records_brought_onto_edits": restored.records,
        "largest_rounds": restored.rounds,
        "largest_moment_shift_without_restoring": restored.before,
        "largest_moment_shift_before_adjustment": restored.after,
    }
    if restored.after > RESTORED:
        said = (
            "the edits and the means and covariances could not both be kept: the edits are, and a mean or covariance "
            "is off, by how much stands in the run record"
        )
        notes["warnings"] = [said]
    return notes


def moments_shift(target: Regression, values: Floats, scale: Floats) -> float:
    """Largest shift of a mean or covariance of the dependents, with each other and with the independents.

    `values`: shape (n, L). `scale`: standard deviations of the dependents; independents count in theirs; shape (L,).
    """
    n = len(values)
    shift = np.abs(values.mean(axis=0) - target.mean[0, 0]) / scale
    moved = (values - values.mean(axis=0)) / scale
    kept = (target.fitted + target.residuals)[0] / scale
    covariance = np.abs(moved.T @ moved - kept.T @ kept) / max(n - 1, 1)
    across = np.abs(target.design[0].T @ (moved - kept)) / np.sqrt(max(n - 1, 1))
    return float(max(shift.max(initial=0.0), covariance.max(initial=0.0), across.max(initial=0.0)))


def _with_moments(target: Regression, values: Floats, scale: Floats) -> Floats:
    """Nearest values whose moments are those of the target."""
    design = target.design[0]
    free = (values - target.mean[0] - target.fitted[0]) / scale
    free -= free.mean(axis=0)
    free -= design @ (design.T @ free)
    factor = target.factor[0] / scale
    rank = int(target.residual_rank[0])
    left, _, right = np.linalg.svd(free @ factor[:rank].T, full_matrices=False)
    return np.asarray(target.mean[0] + target.fitted[0] + (left @ right @ factor[:rank]) * scale)


def hybrid_factor(target: Regression, alpha: Floats) -> tuple[Floats, float]:
    """Factor of the residuals that a share `alpha` of the old ones leaves room for, and its smallest eigenvalue.

    `alpha`: shape (L, L). Returns of the cross products E'E - alpha E'E alpha', on the scale of correlations; negative:
    there is no such factor; shape (1, L, L).
    """
    cross = target.residuals[0].T @ target.residuals[0]
    length = np.sqrt(np.diag(cross))
    length = np.where(length > 0, length, 1.0)
    left = (cross - alpha @ cross @ alpha.T) / np.outer(length, length)
    factor, smallest = square_factor(((left + left.T) / 2)[None])
    return factor * length, float(smallest[0])
