"""Classes of records that are published alike: what is left of k, counted in the masked file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from maskwright.planning.model import key_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.planning.plan import Plan


def smallest_classes(masked: Dataset, plan: Plan) -> dict[str, Any]:
    """Smallest equivalence classes of a masked file: per group, on quasi-identifiers, on whole records.

    As in `run.json`.
    """
    groups: list[dict[str, Any]] = []
    requested = [step.k for step in plan.steps if step.k is not None]
    sizes = [step.group_records(len(masked)) for step in plan.steps]
    expected = [size for size in sizes if size is not None]
    for group in plan.groups:
        step = plan.steps[group.step - 1]
        size = sizes[group.step - 1]
        if size is not None:
            smallest, below = class_sizes(masked, group.variables, size)
            groups.append(
                {"step": group.step, "variables": list(group.variables), "requested": step.k,
                 "expected": size, "smallest": smallest, "below": below}
            )  # fmt: skip
    for number, step in enumerate(plan.steps, 1):
        promised = step.promised
        if not step.method.has_keys or promised is None:
            continue
        names = [name for group in plan.groups if group.step == number for name in group.variables]
        keys = key_names(step, [plan.variables[name] for name in names])
        smallest, below = class_sizes(masked, keys, promised)
        requested.append(promised)
        expected.append(promised)
        groups.append(
            {"step": number, "variables": list(keys), "requested": promised, "expected": promised,
             "smallest": smallest, "below": below}
        )  # fmt: skip
    k = max(expected) if expected else None
    quasi = [column.name for column in masked if column.variable.role == "quasi_identifier"]
    report: dict[str, Any] = {
        "requested": max(requested) if requested else None, "expected": k, "groups": groups,
        "quasi_identifiers": None, "records": None,
    }  # fmt: skip
    if quasi:
        smallest, below = class_sizes(masked, quasi, k or 2)
        report["quasi_identifiers"] = {"variables": quasi, "smallest": smallest, "below": below}
    smallest, below = class_sizes(masked, masked.names, k or 2)
    report["records"] = {"smallest": smallest, "below": below}
    return report


def class_sizes(data: Dataset, names: Sequence[str], k: int) -> tuple[int, int]:
    """Size of the smallest class of records equal in the named variables, and how many records are in classes below k.

    Missing cells count as one value. Where households are declared, the size of a class is the number of
    households in it.
    """
    codes = np.zeros(len(data), dtype=np.int64)
    for name in names:
        column = data[name]
        values = np.where(column.missing, 0, column.values).astype(np.float64)
        code, found = pd.factorize(values)
        code = np.where(column.missing, len(found), code)
        codes, _ = pd.factorize(codes * (len(found) + 1) + code)
    records = np.bincount(codes)
    sizes = records
    if data.households is not None:
        sizes = np.bincount(np.unique(np.stack([codes, data.households], axis=1), axis=0)[:, 0])
    return int(sizes.min(initial=len(data))), int(records[sizes < k].sum())
