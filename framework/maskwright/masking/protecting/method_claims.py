"""Claims of methods, on moments and on aggregation: measured in every call, with warnings where they fail."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.cluster_aggregation import ChosenAggregation
from maskwright.edits.edit import DomainPart
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError, Problem
from maskwright.masking.adjusting.constraint_system import system_of, violated
from maskwright.masking.adjusting.targets import Targets
from maskwright.masking.aggregation import aggregate
from maskwright.planning.model import Keeper
from maskwright.planning.variable_groups import keeps

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.masking.protecting.assembling import GroupResult
    from maskwright.planning.model import Group, Step
    from maskwright.plugins.block import Block
    from maskwright.plugins.method import Masked, Method


MOMENT_TOLERANCE = 1e-6
"""In standard deviations of the file, or products of two: rounding in binary64 stays far below, any masking above."""


def broken_claims(method: Method, params: BaseModel, block: Block, masked: Masked) -> Iterator[str]:
    """Sentences on claims of a method that do not hold in what it made of a block; no count and no value.

    Means are those that the method makes: weighted ones where it says that it uses weights. Looked at are numeric
    variables whose representatives are means; covariances only of records without missing cells.
    """
    claims = method.claims.preserves & {"mean", "covariance"}
    if not claims or masked.variables is not None or not block.n:
        return
    clustered = masked.labels is not None
    columns = [
        position
        for position, variable in enumerate(block.variables)
        if variable.is_numeric and (not clustered or not block.operators or block.operators[position] == "mean")
    ]
    weights = block.weights if method.uses_weights(params) else None
    if "mean" in claims:
        for position in columns:
            before = _mean(block.values[:, position], block.missing[:, position], weights)
            after = _mean(masked.values[:, position], masked.missing[:, position], weights)
            if abs(after - before) > MOMENT_TOLERANCE * _size(block, position):
                yield f"it claims to preserve means, and the mean of {block.variables[position].name} is another one"
    if "covariance" in claims and columns and not (block.missing | masked.missing).any() and block.n > 1:
        scales = np.array([_size(block, position) for position in columns])
        gap = np.abs(_covariances(masked.values[:, columns]) - _covariances(block.values[:, columns]))
        if (gap > MOMENT_TOLERANCE * np.outer(scales, scales)).any():
            yield "it claims to preserve covariances, and some are others"


def with_warnings(masked: Masked, warnings: tuple[str, ...]) -> Masked:
    """A result that also warns of these."""
    if not warnings:
        return masked
    return replace(masked, notes={**masked.notes, "warnings": (*masked.notes.get("warnings", ()), *warnings)})


def _mean(values: NDArray[np.float64], missing: NDArray[np.bool_], weights: NDArray[np.float64] | None) -> float:
    present = ~missing
    if not present.any():
        return 0.0
    if weights is None or not weights[present].any():
        return float(np.mean(values[present]))
    return float(np.average(values[present], weights=weights[present]))


def _covariances(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.atleast_2d(np.cov(values, rowvar=False))


def _size(block: Block, position: int) -> float:
    """Standard deviation of a variable in the file, or what rounding errors of its values are a share of."""
    scale = float(block.scale[position]) if len(block.scale) > position else 1.0
    present = block.values[~block.missing[:, position], position]
    largest = float(np.abs(present).max(initial=0.0))
    return max(scale, 1e-6 * largest)


AGGREGATION_TOLERANCE = 1e-9


def refuse_other_representatives(method: Method, params: BaseModel, block: Block, masked: Masked) -> None:
    """Stop where a method does not make its representatives with the aggregation that the step asks for."""
    chosen = [position for position, each in enumerate(block.operators) if isinstance(each, ChosenAggregation)]
    if not chosen or masked.labels is None or masked.representatives is None:
        return
    weights = block.weights if method.uses_weights(params) else None
    wanted = aggregate(
        block.values[:, chosen], block.missing[:, chosen], masked.labels, [block.operators[each] for each in chosen],
        weights, len(masked.representatives),
    )  # fmt: skip
    size = np.maximum(np.abs(wanted), block.scale[chosen] if len(block.scale) else 1.0)
    if (np.abs(masked.representatives[:, chosen] - wanted) > AGGREGATION_TOLERANCE * size).any():
        message = f"{method.name} makes its representatives in its own way: it has no use for 'aggregation'"
        raise InputError(Problem(message, hint="Leave 'aggregation' out, or take a method such as microaggregation."))


def broken_aggregation_claims(step: Step, group: Group, result: GroupResult, edits: EditSet) -> Iterator[Keeper]:
    """Edits that the aggregation of a step claims to keep and that its representatives break."""
    chosen = step.aggregation
    if chosen is None or result.representatives is None:
        return
    own = {name for name, operator in zip(group.variables, group.operators, strict=True) if operator == str(chosen)}
    claimed = EditSet(tuple(
        edit for edit in edits
        if edit.name in group.edits and set(edit.variables) <= own and edit.kind != "checked" and keeps(chosen, edit)
        and not any(isinstance(part, DomainPart) for part in edit.parts)
    ))  # fmt: skip
    if not len(claimed):
        return
    system = system_of(Targets(result.variables, {}), claimed, np.ones(len(result.variables)), {})
    for name, rows in violated(system, result.representatives).items():
        if rows.any():
            how = (
                f"the aggregation {str(chosen)!r} claims to keep it, and {int(rows.sum())} of {len(rows)} "
                "representatives break it: they are moved onto it"
            )
            yield Keeper(name, "adjustment", how)
