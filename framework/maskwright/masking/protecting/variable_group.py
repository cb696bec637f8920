"""A variable group of one step: what is to be done with it, and what it is masked from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.missing import HAD_VALUE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from pydantic import BaseModel

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.standardisation import Standardisation
    from maskwright.plugins.aggregation import ChosenAggregation
    from maskwright.plugins.remover import AnyMethod


@dataclass(frozen=True, eq=False)
class GroupWork:
    """One variable group to be masked.

    `step`: 1-based. `operators`: what makes each variable's representatives. `edits`: that the method may look at.
    `strata`: codes 0..s-1; shape (n,). `companions`: variables that the method reads and leaves as they are.
    """

    step: int
    method: AnyMethod
    params: BaseModel
    variables: tuple[str, ...]
    operators: tuple[str | ChosenAggregation, ...]
    edits: EditSet
    strata: NDArray[np.int64]
    companions: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class GroupSource:
    """What a variable group is masked from: n records of g variables.

    `values`: NaN, or any number, where missing; shape (n, g). `missing`: shape (n, g). `center`, `scale`: of the
    original file; shape (g,). `households`: household of each record, where the data declare households; shape (n,).
    `group_name`: what a household is called. `weights`: sampling weights, where one numeric variable without missing
    cells has them; shape (n,). `missing_kinds`: as in `Block`; shape (n, g). `companions`: variables that the method
    reads and leaves as they are; NaN where missing; shape (n,). `missing_codes`: as `Block.missing_codes`, for methods
    that draw records; shape (n, g).
    """

    variables: tuple[Variable, ...]
    values: NDArray[np.float64]
    missing: NDArray[np.bool_]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    households: NDArray[np.int64] | None = None
    group_name: str = "household"
    weights: NDArray[np.float64] | None = None
    missing_kinds: NDArray[np.int64] | None = None
    companions: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    companion_variables: Mapping[str, Variable] = field(default_factory=dict)
    missing_codes: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, data: Dataset, work: GroupWork, standardisation: Standardisation) -> GroupSource:
        """Columns of the group, and what goes with them.

        `data`: what the steps before made.
        """
        return cls(
            variables=tuple(data[name].variable for name in work.variables),
            values=data.matrix(work.variables),
            missing=np.stack([data[name].missing for name in work.variables], axis=1),
            center=np.array([standardisation.center[name] for name in work.variables]),
            scale=np.array([standardisation.scale[name] for name in work.variables]),
            households=data.households,
            group_name=data.group_name,
            weights=_weights(data),
            missing_kinds=_missing_kinds(data, work.variables),
            companions={name: data.matrix([name])[:, 0] for name in work.companions},
            companion_variables={name: data[name].variable for name in work.companions},
            missing_codes=_missing_codes(data, work.variables) if work.method.draws_records else None,
        )


def _missing_kinds(data: Dataset, names: tuple[str, ...]) -> NDArray[np.int64] | None:
    kinds = {name: data[name].missing_kinds() for name in names if data[name].missing.any()}
    if not any(each.any() for each in kinds.values()):
        return None
    nothing = np.zeros(len(data), dtype=np.int64)
    return np.stack([kinds.get(name, nothing) for name in names], axis=1)


def _missing_codes(data: Dataset, names: Sequence[str]) -> NDArray[np.int64]:
    found = np.full((len(data), len(names)), HAD_VALUE, dtype=np.int64)
    for position, name in enumerate(names):
        blank = data[name].blank
        if blank is not None:
            found[:, position] = np.where(data[name].missing, blank.codes, HAD_VALUE)
    return found


def _weights(data: Dataset) -> NDArray[np.float64] | None:
    columns = [column for column in data if column.variable.role == "weight" and column.variable.is_numeric]
    if len(columns) != 1 or columns[0].missing.any():
        return None
    return np.asarray(columns[0].values, dtype=np.float64)
