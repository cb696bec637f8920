"""A weighted score of a file in parts: its components one after the other, each in as many rounds as it asks for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from maskwright import Comparison, Further, Measurement, Merging, PartOfFile
from maskwright_builtin.measures.scores.score_components import resolved, score_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright_builtin.measures.scores.weighted_score import WeightedScoreParams

    Facts = Mapping[str, Any]
    Asked = Mapping[str, Any] | None

ROWS = "rows"
"""What is asked of all parts has the rows that they gave under this name."""


def partial(comparison: Comparison, params: WeightedScoreParams, asked: Asked) -> Facts:
    """What the component whose turn it is wants to know of one part."""
    merging, own = _at_work(params, asked)
    return merging.partial(comparison, own, _asked_of(asked))


def merged(facts: Sequence[Facts], params: WeightedScoreParams, asked: Asked) -> Measurement | Further:
    """The score, or what a component asks."""
    merging, own = _at_work(params, asked)
    found = merging.merged(facts, own, _asked_of(asked))
    done = [] if asked is None else list(asked["done"])
    if isinstance(found, Further):
        return Further({"done": done, "asked": dict(found.asked)}, found.rows_to)
    done.append([None if math.isnan(found.value) else found.value, list(found.notes)])
    if len(done) < len(params.components):
        return Further({"done": done, "asked": None})
    values = [(math.nan if value is None else value, notes) for value, notes in done]
    return score_of((each, *own) for each, own in zip(params.components, values, strict=True))


def condensed(facts: Sequence[Facts], params: WeightedScoreParams, asked: Asked) -> Sequence[Facts]:
    """Facts of some neighbouring parts in less room, where the component whose turn it is can say them so."""
    merging, own = _at_work(params, asked)
    return facts if merging.condensed is None else merging.condensed(facts, own, _asked_of(asked))


def rows(
    comparison: Comparison, params: WeightedScoreParams, asked: Asked, part: PartOfFile
) -> tuple[Mapping[str, NDArray[np.generic]], NDArray[np.int64]]:
    """Rows of one part that the component whose turn it is asks for."""
    merging, own = _at_work(params, asked)
    assert merging.rows is not None
    return merging.rows(comparison, own, _asked_of(asked), part)


def counted(columns: Mapping[str, NDArray[np.generic]], params: WeightedScoreParams, asked: Asked) -> Facts:
    """What the component whose turn it is says of the rows that one task got.

    `columns`: shape (n,).
    """
    merging, own = _at_work(params, asked)
    assert merging.counted is not None
    return merging.counted(columns, own, _asked_of(asked))


def refused(params: WeightedScoreParams) -> str | None:
    """Why such a score cannot be had over parts: a component that cannot."""
    for component in params.components:
        measure, own = resolved(component)
        if measure.merging is None:
            return f"its component {component.name} needs the whole file in memory"
        why = None if measure.merging.refused is None else measure.merging.refused(own)
        if why is not None:
            return f"its component {component.name}: {why}"
    return None


def _at_work(params: WeightedScoreParams, asked: Asked) -> tuple[Merging, BaseModel]:
    """The component whose turn it is."""
    measure, own = resolved(params.components[0 if asked is None else len(asked["done"])])
    assert measure.merging is not None, "refused"
    return measure.merging, own


def _asked_of(asked: Asked) -> Asked:
    """What that component has asked."""
    if asked is None or asked["asked"] is None:
        return None
    return {**asked["asked"], **({ROWS: asked[ROWS]} if ROWS in asked else {})}


WEIGHTED_SCORE_OVER_PARTS = Merging(
    partial=partial, merged=merged, condensed=condensed, sampled=True, rows=rows, counted=counted, refused=refused
)
