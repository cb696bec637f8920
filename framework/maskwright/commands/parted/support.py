"""What each method and measure does in a run over parts, from its own declarations: no list of names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from maskwright.plugins.method import Method

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.planning.model import AdjustmentUnit
    from maskwright.planning.plan import Plan
    from maskwright.plugins.measure import Measure
    from maskwright.plugins.method import Method
    from maskwright.plugins.registered import Registry

CATEGORIES = frozenset({"nominal", "ordinal"})
"""Types of variables that are no numbers."""

Form = Literal["local", "block", "global", "refused"]
Result = Literal["exact", "blocked", "approximate", "sampled", "refused"]


@dataclass(frozen=True)
class Support:
    """A row of the table of ``maskwright explain scale``.

    `form`: each record by itself; blocks of near records; sums over all parts; not at all. `result`: against a run in
    memory.
    """

    kind: Literal["method", "measure"]
    name: str
    form: Form
    result: Result
    why: str


def is_by_record(method: Method) -> bool:
    """Whether a method masks each record by itself, if need be after it was told something of all."""
    return method.claims.cut == "any" or method.claims.gathering is not None


def home_of(plan: Plan, unit: AdjustmentUnit) -> int | None:
    """Group whose clusters a unit is adjusted with, where they are made; None where records are, part by part."""
    if unit.group is None or is_by_record(plan.steps[plan.groups[unit.group].step - 1].method):
        return None
    return unit.group


def refused_method(method: Method) -> str | None:
    """Why a method cannot run over parts; None where it can."""
    if method.is_remover:
        return "takes records or cells away, and that needs all records at once"
    if "cells" in method.claims.removes:
        return "leaves cells empty, and that needs all records at once"
    if method.claims.draws_records:
        return "draws records anew"
    if method.claims.cut == "none" and method.claims.gathering is None:
        said = "sees all records at once"
        return said if method.variant is None else f"{said}, unless its parameters ask nothing of the others"
    if not is_by_record(method) and (
        "detail" in method.claims.removes or not method.claims.variable_types - CATEGORIES
    ):
        return "masks categories in blocks, which a run over parts does not do yet"
    return None


def support_of_method(method: Method) -> Support:
    """What a method does in a run over parts."""
    why = refused_method(method)
    if why is not None:
        return Support("method", method.name, "refused", "refused", why)
    if method.claims.cut == "any":
        return Support("method", method.name, "local", "exact", "changes each record by itself, part by part")
    if method.claims.gathering is not None:
        said = "asks something of all records first, then changes each by itself, part by part"
        said += f"; not with {method.claims.gathering.not_with}" if method.claims.gathering.not_with else ""
        return Support("method", method.name, "local", "exact", said)
    said = "in blocks of near records, cut by a sample; as good as `block_size` in memory"
    return Support("method", method.name, "block", "blocked", said)


def support_of_measure(measure: Measure) -> Support:
    """What a measure does in a run over parts."""
    merging = measure.merging
    if merging is None:
        return Support("measure", measure.name, "refused", "refused", "needs the whole file in memory")
    said = "rows of all parts, shuffled to tasks that count them" if merging.counted else "sums of all parts"
    said = "a sample of the records against all parts" if merging.sampled else said
    said += "" if merging.refused is None else "; some parameters are refused"
    return Support("measure", measure.name, "global", merging.result, said)


def support(registry: Registry) -> Iterator[Support]:
    """Every method and measure that is installed."""
    for method in registry.methods.values():
        yield support_of_method(method)
    for measure in registry.measures.values():
        yield support_of_measure(measure)
