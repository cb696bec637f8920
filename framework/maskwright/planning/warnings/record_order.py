"""Masked variables that are read off an order: of the records in the file, or by a number published as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.data.record_order import blocks_in_order_of_numbers, is_in_blocks, is_in_order
from maskwright.foundation.doubts import Doubt
from maskwright.planning.model import with_steps
from maskwright.planning.warnings.attribute_inference import published_numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from maskwright.data.dataset import Dataset
    from maskwright.planning.model import Step
    from maskwright.planning.plan import Plan


RANDOM_ORDER = "Publish the records in random order: `release: {order: random}`."
RANDOM_ORDER_OF_LEVEL = "Publish the records in random order: leave `keep_order` out."


def masked_in_rows(plan: Plan) -> dict[str, Step]:
    """Variables whose published values stand in the rows of the original ones, and may be read off there; their steps.

    Of categories that become coarser the order shows no more than they do, and of those that are suppressed it is
    examined which cells are. The order of numbers shows where each is among all.
    """
    found: dict[str, Step] = {}
    for group, step in with_steps(plan.groups, plan.steps):
        claims = step.method.claims
        if claims.draws_records or not step.method.changes_cells:
            continue
        is_only_of_numbers = step.only_removes or "detail" in claims.removes
        for name in group.variables:
            variable = plan.variables[name]
            if not variable.as_is and name not in plan.drawn and (variable.is_numeric or not is_only_of_numbers):
                found.setdefault(name, step)
    return found


def file_order_doubts(
    plan: Plan, data: Dataset, names: Collection[str] | None = None, remedy: str = RANDOM_ORDER
) -> Iterator[Doubt]:
    """Doubts about masked variables that the file is sorted by: its order shows what they were.

    `names`: that are examined; None: all. `remedy`: how the records are published in random order.
    """
    masked = masked_in_rows(plan)
    for name, step in masked.items():
        if name not in data or (names is not None and name not in names):
            continue
        shows = is_in_order if plan.variables[name].is_numeric else is_in_blocks
        if shows(data, name, tests=len(masked)):
            message = "it can be read off the order of the records: the file is sorted by it"
            yield Doubt("follows-from-published", name, message, place=step.place, hint=remedy, step=step.number)


def number_order_doubts(plan: Plan, data: Dataset, published: Collection[str]) -> Iterator[Doubt]:
    """Doubts about masked categories that lie in blocks where anybody sorts the records by a published number.

    What numbers have to do with numbers, and what single values say, is examined elsewhere, and not said again.
    """
    reported = {each.subject for each in plan.doubts if each.kind == "follows-from-published"}
    masked = {
        name: step for name, step in masked_in_rows(plan).items()
        if name in data and name not in reported and not plan.variables[name].is_numeric
    }  # fmt: skip
    numbers = dict(published_numbers(data, [name for name in published if name in data])) if masked else {}
    plain = {name: values for name, values in numbers.items() if name in data}
    for name, number in blocks_in_order_of_numbers(data, tuple(masked), plain):
        step = masked[name]
        message = f"it can be read off the order of {number}, published as it is: sorted by it, equal values follow"
        yield Doubt(
            "follows-from-published", name, message, place=step.place, hint=remedy_of_number(number),
            step=step.number, given_by=number,
        )  # fmt: skip


def remedy_of_number(number: str) -> str:
    """What to do about a published number whose order shows what is masked."""
    return f"Mask {number} in a step, recode it, or leave it out (`{number}: {{role: identifier}}`)."
