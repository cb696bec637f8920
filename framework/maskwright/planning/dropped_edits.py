"""Edits that end with the values they are about: a recoded variable has categories where its edits want values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError, Problem, unknown_name
from maskwright.planning.step_variables import variables_of_steps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.planning.model import Step


def without_dropped(edits: EditSet, steps: Sequence[Step], variables: Sequence[Variable]) -> EditSet:
    """Edits without those that steps drop because they publish coarser categories.

    Parameters
    ----------
    edits : EditSet
    steps : sequence of Step
        ``release_edits: {drop: [...]}`` lists the variables whose edits a step may drop.
    variables : sequence of Variable
        Of the file.

    Raises
    ------
    InputError
        An edit reads a variable that a step recodes and does not list, or a step lists one that it does not recode.
    """
    chosen = variables_of_steps(steps, variables)
    problems: list[Problem] = []
    released: set[str] = set()
    coarse: dict[str, int] = {}
    for number, (step, found) in enumerate(zip(steps, chosen, strict=True), 1):
        own = found.names if "detail" in step.method.removes else ()
        coarse |= dict.fromkeys(own, number)
        for name in step.planning.release_edits.drop:
            if name in own:
                released.add(name)
            else:
                said = unknown_name("variable that the step publishes as categories", name, own)
                problems.append(Problem(f"step {number}: release_edits.drop: {said}"))
    dropped: list[str] = []
    for edit in edits:
        kept = [name for name in edit.variables if name in coarse and name not in released]
        problems.extend(
            Problem(
                f"step {coarse[name]} publishes {name} as coarser categories, and edit {edit.name!r} reads its values",
                edit.place,
                f"leave {name} as it is, or let the edit go: 'release_edits: {{drop: [{name}]}}' in the step's params",
            )
            for name in kept
        )
        if any(name in released for name in edit.variables):
            dropped.append(edit.name)
    if problems:
        raise InputError(problems)
    return EditSet(tuple(edit for edit in edits if edit.name not in dropped), edits.notes)


def dropped_edit_notices(dropped: Sequence[Edit]) -> tuple[str, ...]:
    """Notices about dropped edits."""
    return tuple(
        f"edit {edit.name!r} is dropped, as release_edits says: what it reads ({', '.join(edit.variables)}) is "
        "published as categories, so nobody can check it"
        for edit in dropped
    )
