"""The last steps of a plan, those that only remove: they see values as they are published."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.foundation.progress import Progress, part, stage
from maskwright.masking.protecting.assembling import GroupResult, with_group
from maskwright.masking.protecting.local import protect_group
from maskwright.masking.protecting.variable_group import GroupWork
from maskwright.masking.suppressing.complementary import Complement, complement, without_cells
from maskwright.masking.suppressing.presence import not_applicable, when_present
from maskwright.planning.model import key_names
from maskwright.planning.plan import with_fewer_records

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.context import MaskingContext
    from maskwright.masking.standardisation import Standardisation

_MOST_ROUNDS = 100


@dataclass(frozen=True, eq=False)
class Removal:
    """What was taken away, and what is left.

    Attributes
    ----------
    data : Dataset
    results : tuple of GroupResult
        One for each group of the last steps.
    rows : ndarray of shape (m,), int64
        Records left, as positions in the dataset that came in.
    edits : EditSet
        That hold in what is published: `when` everything they read is there.
    not_applicable : mapping of edit name to int
        Records in which a cell that the edit reads was suppressed.
    suppressed : tuple of mappings
        For each variable with suppressed cells: how many, and how many of them are complementary.
    notices : tuple of str
    """

    data: Dataset
    results: tuple[GroupResult, ...]
    rows: NDArray[np.int64]
    edits: EditSet
    not_applicable: Mapping[str, int] = field(default_factory=dict)
    suppressed: tuple[Mapping[str, Any], ...] = ()
    notices: tuple[str, ...] = ()


def remove(data: Dataset, standardisation: Standardisation, context: MaskingContext) -> Removal:
    """Run the last steps of a plan.

    Parameters
    ----------
    data : Dataset
        Masked, adjusted and rounded.
    standardisation : Standardisation
    context : MaskingContext

    Raises
    ------
    InputError
        When no record would be left, or a suppressed cell follows from a variable that cannot be suppressed.
    PluginError
        When a method breaks its contract.
    """
    plan, edits = context.plan, context.edits
    state = _State(data, data, {}, {}, np.arange(len(data)), 0, 0)
    results: list[GroupResult] = []
    for number, step in enumerate(plan.steps[plan.shaping :], plan.shaping + 1):
        (group,) = [each for each in plan.groups if each.step == number]
        with stage(context.reporter, f"Removing, step {number}: {step.method.name}") as progress:
            if state.data.origin is not None:
                group = with_fewer_records(plan, group, context.original.taken(state.data.origin))
            work = GroupWork(
                number, step.method, step.params, group.variables, group.operators, edits.on(group.variables),
                group.strata.codes if group.strata is not None else np.zeros(len(state.data), dtype=np.int64),
            )  # fmt: skip
            with step.placed(f"step {number} ({step.method.name}): "):
                result = protect_group(state.data, work, standardisation, context, part(progress, 0.0, 0.5))
                if result.kept_rows is not None:
                    state = state.taken(result)
                else:
                    keys = key_names(step, [plan.variables[name] for name in group.variables])
                    state = _suppress(state, result, work, keys, standardisation, context, part(progress, 0.5, 1.0))
            results.append(result)
    counts = not_applicable(edits, state.hidden)
    return Removal(
        state.data, tuple(results), state.rows,
        when_present(edits, [name for name, gone in state.hidden.items() if gone.any()]), counts,
        tuple(state.suppressed()), (*state.said(), *(_not_analysed(edits) if state.suppressed() else ())),
    )  # fmt: skip


def _not_analysed(edits: EditSet) -> list[str]:
    """Edits of which nobody knows here whether they give suppressed cells away."""
    return [
        f"whether edit {edit.name!r} gives suppressed cells away is not known: only an engine understands its test"
        for edit in edits
        if edit.engine is not None
    ]


@dataclass(frozen=True, eq=False)
class _State:
    """Records left: with suppressed cells (`data`) and without (`shown`)."""

    data: Dataset
    shown: Dataset
    hidden: Mapping[str, NDArray[np.bool_]]
    besides: Mapping[str, NDArray[np.bool_]]
    rows: NDArray[np.int64]
    known: int
    undecided: int

    def taken(self, result: GroupResult) -> _State:
        rows = result.kept_rows
        assert rows is not None
        return replace(
            self, data=with_group(self.data, result), shown=self.shown.taken(rows), rows=self.rows[rows],
            hidden={name: gone[rows] for name, gone in self.hidden.items()},
            besides={name: gone[rows] for name, gone in self.besides.items()},
        )  # fmt: skip

    def with_cells(self, result: GroupResult) -> _State:
        """After a method has suppressed cells."""
        data = with_group(self.data, result)
        hidden = dict(self.hidden)
        for variable in result.variables:
            gone = data[variable.name].missing & ~self.shown[variable.name].missing
            if gone.any():
                hidden[variable.name] = gone
        return replace(self, data=data, hidden=hidden)

    def completed(self, found: Complement) -> _State:
        hidden, besides = dict(self.hidden), dict(self.besides)
        for name, gone in found.cells.items():
            hidden[name] = hidden.get(name, False) | gone
            besides[name] = besides.get(name, False) | gone
        return replace(
            self, data=without_cells(self.data, found.cells), hidden=hidden, besides=besides,
            known=found.known, undecided=found.undecided,
        )  # fmt: skip

    def suppressed(self) -> list[dict[str, Any]]:
        return [
            {"variable": name, "cells": int(gone.sum()), "complementary": int(np.sum(self.besides.get(name, False)))}
            for name, gone in self.hidden.items()
            if gone.any()
        ]

    def said(self) -> list[str]:
        notices = [
            f"{each['cells']} cell(s) of {each['variable']} are suppressed"
            + (f", {each['complementary']} of them lest edits give others away" if each["complementary"] else "")
            for each in self.suppressed()
        ]
        if self.known:
            notices.append(f"{self.known} suppressed cell(s) follow from the edits alone, whatever is published")
        if self.undecided:
            notices.append(
                f"of {self.undecided} suppressed cell(s) it is not decided whether edits give them away: the rules are "
                "too hard to analyse"
            )
        return notices


def _suppress(
    state: _State,
    result: GroupResult,
    work: GroupWork,
    keys: Sequence[str],
    standardisation: Standardisation,
    context: MaskingContext,
    progress: Progress,
) -> _State:
    """Complementary suppression after a step that suppresses cells; where it takes keys, the step is run again."""
    certain = [edit for edit in context.edits if edit.severity == "error" and not edit.shadowed]
    weights = [name for name, variable in context.plan.variables.items() if variable.role == "weight"]
    for _ in range(_MOST_ROUNDS):
        state = state.with_cells(result)
        found = complement(
            state.shown, state.hidden, certain, domain=context.domain, last=keys, never=weights, progress=progress
        )
        state = state.completed(found)
        if not any(name in keys for name in found.cells):
            return state
        # Whoever observes has been told of this step.
        result = protect_group(state.data, work, standardisation, replace(context, observe=None))
    raise AssertionError("suppression only ever grows, so it ends")
