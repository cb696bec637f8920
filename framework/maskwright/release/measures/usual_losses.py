"""Losses that are measured of masked variables where nobody asked for one of their kind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.pipeline.resolved import MeasureRequest
from maskwright.release.measures.measured_variables import names_used, to_be_measured

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.plan import Plan
    from maskwright.plugins.registered import Registry

USUAL_OF_NUMBERS = ("pil", "sse")
"""Names of the measures, of numbers."""

USUAL_OF_CATEGORIES = ("contingency_tables", "entropy_based_loss")
"""Of categories: the tables that users make, and the detail that recoding and suppression take away."""


def with_usual_losses(pipeline: Pipeline, plan: Plan, registry: Registry) -> Pipeline:
    """The pipeline, with a loss of its masked numbers and one of its masked categories.

    Those are added of which no loss or score of the pipeline looks at any, so that no report is silent about what
    masking cost. An empty list, ``measure: []``, asks for none.

    `registry`: plugins that names are looked up in.
    """
    if "measure" in pipeline.settings and pipeline.settings["measure"] == []:
        return pipeline
    return replace(pipeline, measures=(*pipeline.measures, *_missing(pipeline, plan, registry)))


def _missing(pipeline: Pipeline, plan: Plan, registry: Registry) -> Iterator[MeasureRequest]:
    given = to_be_measured(plan)
    labels = {each.label for each in pipeline.measures}
    losses = (each for each in pipeline.measures if each.measure.kind != "risk")
    seen = frozenset[str]().union(*(names_used(each.measure, each.params, given) for each in losses))
    for kind, usual in ((given.compared, USUAL_OF_NUMBERS), (given.categorical, USUAL_OF_CATEGORIES)):
        masked = {name for name in kind if name in plan.altered}
        if masked and seen.isdisjoint(masked):
            for measure in (registry.measures[name] for name in usual if name in registry.measures):
                if measure.name not in labels:
                    yield MeasureRequest(measure.name, measure, measure.params(), asked=False)
