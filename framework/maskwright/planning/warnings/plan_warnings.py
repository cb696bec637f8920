"""What a person should be told before a plan is run: what it gives away, and what it had to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.algebra.elimination import eliminate
from maskwright.edits.edit import DomainPart, LinearPart, ProductPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Part
    from maskwright.edits.edit_set import EditSet
    from maskwright.planning.model import Group, Step

MOST_STRATA = 4
"""Small strata that are named."""


def dangers(
    edits: EditSet,
    known: Mapping[str, Variable],
    masked: frozenset[str],
    groups: Sequence[Group],
    steps: Sequence[Step],
    data: Dataset | None = None,
) -> tuple[str, ...]:
    """Sentences about a plan; names and counts only.

    `edits`: that fire on the data. `known`: all variables of the file. `data`: the original; without it nothing is said
    of how many records share a value.
    """
    return (
        *_determined(edits, masked),
        *_singling_out(edits, masked, data),
        *_republished(edits, known, masked, groups, steps, data),
        *_small_strata(groups),
    )


def _determined(edits: EditSet, masked: frozenset[str]) -> list[str]:
    """Masked variables that edits determine from what is published unmasked: anyone can compute the original value."""
    equalities = [
        (edit.name, part)
        for edit in edits
        for part in edit.parts
        if isinstance(part, LinearPart) and part.relation == "==" and part.tolerance == 0
    ]
    rows = [
        ({name: value for name, value in part.coefficients if name in masked}, part.constant) for _, part in equalities
    ]
    solved = eliminate(rows, sorted({name for row, _ in rows for name in row}))
    found = [name for name, (row, _) in solved.items() if len(row) == 1]
    products = [
        hidden[0]
        for edit in edits
        for part in edit.parts
        if isinstance(part, ProductPart) and part.relation == "=="
        and len(hidden := [name for name, _ in (*part.left, *part.right) if name in masked]) == 1
    ]  # fmt: skip
    names = {name: [edit for edit, part in equalities if name in dict(part.coefficients)] for name in found}
    ending = "from variables that are published unmasked: anyone can compute the original value"
    said = [f"edits ({', '.join(names[name])}) determine {name} {ending}" for name in found]
    said += [f"a product edit determines {name} {ending}" for name in products]
    return said


def _singling_out(edits: EditSet, masked: frozenset[str], data: Dataset | None) -> list[str]:
    """Equalities of masked variables with one that is published: records with a value of their own there are unique.

    Masked values have to add up to it record by record, so they differ wherever it does.
    """
    said: list[str] = []
    for edit in edits:
        for part in edit.parts:
            names = part.variables if _is_equality(part) else ()
            hidden = [name for name in names if name in masked]
            shown = [name for name in names if name not in masked]
            if len(hidden) < 2 or not shown or data is None or not set(shown) <= set(data.names):
                continue
            _, classes = np.unique(np.nan_to_num(data.matrix(shown)), axis=0, return_inverse=True)
            alone = int(np.sum(np.bincount(classes) == 1))
            if alone:
                said.append(
                    f"edit {edit.name!r} ties {', '.join(hidden)} to {', '.join(shown)}, published unmasked: "
                    f"{alone} of {len(data)} record(s) have a value of their own there, so their masked values are "
                    "unique too; mask all variables of the edit"
                )
    return said


def _is_equality(part: Part) -> bool:
    return isinstance(part, LinearPart | ProductPart) and part.relation == "=="


def _republished(
    edits: EditSet,
    known: Mapping[str, Variable],
    masked: frozenset[str],
    groups: Sequence[Group],
    steps: Sequence[Step],
    data: Dataset | None,
) -> list[str]:
    """Domain edits that put true values of single records back into the masked file."""
    said: list[str] = []
    for edit in edits:
        for part in edit.parts:
            if not isinstance(part, DomainPart):
                continue
            continuous = [name for name in part.variables if name in masked and known[name].type == "continuous"]
            allowed = any(
                steps[group.step - 1].planning.allow_original_values
                for group in groups
                if set(group.variables) & set(continuous)
            )
            if continuous and allowed:
                said.append(f"edit {edit.name!r} republishes true values of {', '.join(continuous)}, as was allowed")
            rare = 0 if continuous or data is None else _rare_values(part.variables, masked, groups, steps, data)
            if rare:
                said.append(
                    f"edit {edit.name!r} may republish true values of {', '.join(part.variables)}: {rare} of them "
                    "belong to fewer than k records"
                )
    return said


def _rare_values(
    names: Sequence[str],
    masked: frozenset[str],
    groups: Sequence[Group],
    steps: Sequence[Step],
    data: Dataset,
) -> int:
    """Values, or combinations, of masked variables that fewer than k records share."""
    if not masked & set(names) or not set(names) <= set(data.names):
        return 0
    sizes = [steps[group.step - 1].group_records(len(data)) for group in groups if set(group.variables) & set(names)]
    least = max((size for size in sizes if size is not None), default=2)
    values = np.stack([np.asarray(data[name].values, dtype=np.float64) for name in names], axis=1)
    present = ~np.any([data[name].missing for name in names], axis=0)
    _, counts = np.unique(values[present], axis=0, return_counts=True)
    return int(np.sum(counts < least))


def _small_strata(groups: Sequence[Group]) -> list[str]:
    said: list[str] = []
    for group in groups:
        small = [one for one in group.strata.strata if one.merged] if group.strata is not None else []
        if not small or group.strata is None:
            continue
        shown = "; ".join(f"{one.label}: {one.records}" for one in small[:MOST_STRATA])
        more = f"; and {len(small) - MOST_STRATA} more" if len(small) > MOST_STRATA else ""
        what = "1 stratum has" if len(small) == 1 else f"{len(small)} strata have"
        said.append(
            f"{what} fewer than {group.strata.least} records, and joined the nearest one ({shown}{more}); masked "
            f"together: {', '.join(group.variables)}"
        )
    return said
