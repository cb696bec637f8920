"""Equivalence classes, records that are published alike: what is left of k, counted in the masked file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.record_classes import class_codes
from maskwright.planning.model import key_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright.data.dataset import Dataset
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

    `masked`: with its households, where they are declared.
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
