"""Guarantees of steps counted in the masked file: equivalence classes, multiples, structural zeros."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.record_groups import class_codes
from maskwright.foundation.doubts import Doubt
from maskwright.planning.model import key_names
from maskwright.planning.strata import is_zero

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.planning.plan import Plan


def smallest_classes(masked: Dataset, plan: Plan) -> dict[str, Any]:
    """Smallest equivalence classes of a masked file: per group, on quasi-identifiers, on whole records.

    As in `run.json`.
    """
    groups = promised_classes(masked, plan)
    k = max((each["expected"] for each in groups), default=None)
    quasi = [column.name for column in masked if column.variable.role == "quasi_identifier"]
    return {
        "requested": max((each["requested"] for each in groups if each["requested"] is not None), default=None),
        "expected": k,
        "groups": groups,
        "quasi_identifiers": {"variables": quasi, **_counted(masked, quasi, k or 2)} if quasi else None,
        "records": _counted(masked, masked.names, k or 2),
    }


def promised_classes(masked: Dataset, plan: Plan) -> list[dict[str, Any]]:
    """Smallest class of a masked file on each group of variables that a step promises k of.

    As `groups` in the `k` of `run.json`.
    """
    return [*_of_clusters(masked, plan), *_of_keys(masked, plan)]


def _of_clusters(masked: Dataset, plan: Plan) -> Iterator[dict[str, Any]]:
    """Groups of variables whose step puts one representative in the place of each cluster of records."""
    for group in plan.groups:
        step = plan.steps[group.step - 1]
        size = step.group_records(len(masked))
        if size is not None:
            yield {
                "step": group.step, "variables": list(group.variables), "requested": step.k,
                "guaranteed": step.k is not None and step.planning.k_guarantee == "require",
                **_counted(masked, group.variables, size),
            }  # fmt: skip


def _of_keys(masked: Dataset, plan: Plan) -> Iterator[dict[str, Any]]:
    """Keys of the steps that promise k records with each combination of them."""
    for number, step in enumerate(plan.steps, 1):
        promised = step.promised
        if not step.method.has_keys or promised is None:
            continue
        names = [name for group in plan.groups if group.step == number for name in group.variables]
        keys = key_names(step, [plan.variables[name] for name in names])
        yield {
            "step": number, "variables": list(keys), "requested": promised,
            "guaranteed": step.planning.k_guarantee == "require",
            **_counted(masked, keys, promised),
        }  # fmt: skip


def _counted(masked: Dataset, names: Sequence[str], k: int) -> dict[str, int]:
    smallest, below = class_sizes(masked, names, k)
    return {"expected": k, "smallest": smallest, "below": below}


def class_sizes(data: Dataset, names: Sequence[str], k: int) -> tuple[int, int]:
    """Size of the smallest class of records equal in the named variables, and how many records are in classes below k.

    A missing cell is a value of its own, and so is each missing code. Where households are declared, the size of a
    class is the number of households in it.
    """
    codes = class_codes(data, names)
    records = np.bincount(codes)
    sizes = records
    if data.households is not None:
        # Whole numbers that stand for pairs: sorting rows of two takes ten times as long.
        households = int(data.households.max(initial=0)) + 1
        sizes = np.bincount(np.unique(codes * households + data.households) // households)
    return int(sizes.min(initial=len(data))), int(records[sizes < k].sum())


RELATIVE = 1e-9
"""How far from a multiple a binary64 number may be that stands for it."""


def guarantee_doubts(
    plan: Plan, original: Dataset, masked: Dataset, off: Mapping[str, Sequence[str]]
) -> Iterator[Doubt]:
    """Doubts about promised values that are not there; classes are counted in the end, in what is published."""
    yield from multiple_doubts(plan, [beside_multiples(plan, masked)], off)
    yield from _structural_zeros(plan, original, masked)


def beside_multiples(plan: Plan, masked: Dataset) -> tuple[tuple[int, int], ...]:
    """For each promise of the plan, how many values are no multiples though they should be, and of how many."""
    found = []
    for each in plan.promised:
        base, column = each.limit.multiple_of, masked[each.limit.variable]
        if base is None or not column.variable.is_numeric:
            found.append((0, 0))
            continue
        values = column.values[~column.missing].astype(np.float64)
        off = np.abs(values - np.rint(values / base) * base) > RELATIVE * np.maximum(np.abs(values), base)
        found.append((int(off.sum()), len(values)))
    return tuple(found)


def multiple_doubts(
    plan: Plan, parts: Sequence[Sequence[Sequence[int]]], off: Mapping[str, Sequence[str]]
) -> Iterator[Doubt]:
    """Doubts about promised multiples."""
    for position, each in enumerate(plan.promised):
        count, total = (sum(part[position][at] for part in parts) for at in (0, 1))
        if count:
            variable = plan.variables[each.limit.variable]
            edits = ", ".join(off.get(variable.name, ()))
            why = f", since adjusting found none that satisfy {edits}" if edits else ""
            yield Doubt(
                "promise-not-kept", str(each.step),
                f"{count} of {total} values of {variable.name} are no multiples of its base{why}",
                count=count, total=total, place=plan.steps[each.step - 1].place, hint=_way_out(edits, variable),
            )  # fmt: skip


def _way_out(edits: str, variable: Variable) -> str:
    if edits:
        return "take a smaller base, or one that the numbers in these edits are multiples of"
    if variable.decimals is None:
        return "declare its decimals: values without a grid are adjusted without regard to multiples"
    return "give the variables of an equality one base, or round a total no further than its parts"


def _structural_zeros(plan: Plan, original: Dataset, masked: Dataset) -> Iterator[Doubt]:
    for number, step in enumerate(plan.steps, 1):
        for name in step.planning.structural_zeros:
            before, after = original[name], masked[name]
            if not after.variable.is_numeric:
                continue
            differs = (is_zero(before) != is_zero(after)) & ~before.missing & ~after.missing
            if differs.any():
                count = int(differs.sum())
                yield Doubt(
                    "promise-not-kept", str(number),
                    f"in {count} of {len(differs)} records a structural zero of {name} became another value, or "
                    "another value a zero",
                    count=count, total=len(differs), place=step.place,
                    hint=f"state the rule that governs its zeros as an edit (if ... then {name} == 0)",
                )  # fmt: skip


def class_doubts(plan: Plan, masked: Dataset, groups: Iterable[Mapping[str, Any]]) -> Iterator[Doubt]:
    """Classes smaller than promised.

    An empty cell is a value of its own, and so is each missing code; cells that a later step took may have made a
    class too small. Only where clusters are made of available cases may their classes be smaller: their averages rest
    on k values, and the plan counts patterns of missing cells that fewer than k records share.
    """
    for found in groups:
        step = plan.steps[found["step"] - 1]
        promised = found["requested"] if step.planning.k_guarantee == "require" else None
        if promised is None:
            continue
        of_available_cases = not step.method.has_keys and step.planning.missing == "available_cases"
        if of_available_cases and any(masked[name].missing.any() for name in found["variables"]):
            continue
        if found["smallest"] < promised:
            yield Doubt(
                "promise-not-kept", str(found["step"]),
                f"k = {promised} is promised of {', '.join(found['variables'])}, and the smallest class has "
                f"{found['smallest']}",
                count=found["smallest"], place=step.place,
            )  # fmt: skip
