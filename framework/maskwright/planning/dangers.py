"""What a person should be told before a plan is run: what it gives away, and what it had to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.adjustment.derivation import eliminate
from maskwright.edits.edit import DomainPart, EditSet, LinearPart, ProductPart

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.planning.model import Group, StepRequest


def dangers(
    edits: EditSet,
    known: Mapping[str, Variable],
    masked: frozenset[str],
    groups: Sequence[Group],
    steps: Sequence[StepRequest],
) -> tuple[str, ...]:
    """Sentences about a plan; names and counts only.

    Parameters
    ----------
    edits : EditSet
        That fire on the data.
    known : mapping of name to Variable
        All variables of the file.
    masked : frozenset of str
    groups, steps
        Of the plan.
    """
    return (*_determined(edits, masked), *_republished(edits, known, masked, groups, steps), *_small_strata(groups))


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


def _republished(
    edits: EditSet,
    known: Mapping[str, Variable],
    masked: frozenset[str],
    groups: Sequence[Group],
    steps: Sequence[StepRequest],
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
    return said


def _small_strata(groups: Sequence[Group]) -> list[str]:
    return [
        f"stratum '{one.label}' has {one.records} record(s), fewer than {group.strata.least}: merged with the nearest "
        f"stratum ({', '.join(group.variables)})"
        for group in groups
        if group.strata is not None
        for one in group.strata.strata
        if one.merged
    ]
