"""The last steps of a plan, those that only remove: they see values as they are published."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.record_groups import household_columns
from maskwright.disclosure.attacks.dependency import InferableCells, Reader
from maskwright.disclosure.cells import CellMasks, joined_cells, with_any, without_cells
from maskwright.foundation.counts import plural
from maskwright.foundation.findings import Notice
from maskwright.foundation.progress import Progress, part, silent, stage
from maskwright.masking.context import MaskingContext, Standardisation, in_published_terms
from maskwright.masking.masking_result import Removal
from maskwright.masking.protecting.assembling import GroupResult, with_group
from maskwright.masking.protecting.local import protect_group
from maskwright.masking.protecting.variable_group import GroupWork
from maskwright.masking.suppressing.clusters_left import (
    PromisedClusters,
    cells_for_clusters,
    cells_of_strata,
    formed_clusters,
    promised_clusters,
)
from maskwright.masking.suppressing.complementary_suppression import Complement, complement
from maskwright.masking.suppressing.inference_findings import (
    complementary_cells,
    following_doubts,
    lost_code_doubts,
    primary_suppressions,
)
from maskwright.masking.suppressing.published_detail import in_published_detail
from maskwright.masking.suppressing.published_rules import not_applicable, when_present
from maskwright.planning.model import key_names, with_steps

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.arrays import Booleans, Integers
    from maskwright.planning.model import Group, Step
    from maskwright.planning.plan import Plan


def remove(data: Dataset, standardisation: Standardisation, context: MaskingContext) -> Removal:
    """Run the last steps of a plan."""
    plan = context.plan
    state = _State(data, data, np.arange(len(data)), formed_clusters(plan, data))
    results: list[GroupResult] = []
    left_out = 0
    removing = [
        _Removing.of(group, step, state, standardisation, context)
        for group, step in with_steps(plan.groups, plan.steps)
        if group.step <= plan.shaping and step.only_removes and step.method.has_keys
    ]
    # Who was left out before values were final is judged again by what is published.
    state = _with_all_guarantees([None for _ in removing], state, removing, context)
    for position, step in enumerate(plan.steps[plan.shaping :], plan.shaping + 1):
        (group,) = [each for each in plan.groups if each.step == position]
        with stage(context.reporter, f"Removing, step {step.number}: {step.method.name}") as progress:
            context = in_published_terms(context, state.shown)
            own, before = _Removing.of(group, step, state, standardisation, context), state
            with step.placed(step.number, step.method.name):
                result = protect_group(state.data, own.work, standardisation, context, part(progress, 0.0, 0.5))
                if own.keys:
                    removing.append(own)
                    state = _remove(state, result, own, context, part(progress, 0.5, 1.0))
                    state = _with_all_guarantees([*(before for _ in removing[1:]), state], state, removing, context)
                else:
                    state, removing = state.taken(result), []
            left_out += 0 if result.kept_rows is None else len(before.rows) - len(result.kept_rows)
            results.append(result.without_cells())
    state = replace(state, left_out=len(data) - len(state.rows) - left_out)
    if len(state.rows) < len(data):
        # Records that were left out are no longer among those that cells can be inferred from.
        left = _reader(state, (), plan).left(state.hidden)
        state = replace(state, inferable=replace(left, disclosed=state.inferable.disclosed))
    context = in_published_terms(context, state.shown)
    edits = context.edits
    lost = state.lost_codes()
    emptied = joined_cells(state.hidden, lost)
    return Removal(
        state.data, tuple(results), state.rows,
        when_present(edits, with_any(emptied)), state.shown,
        not_applicable(edits, emptied), tuple(state.suppressed()), tuple(state.notices()),
        (
            *following_doubts(
                state.hidden, state.by_edits, state.inferable, edits, state.shown, primary_suppressions(plan)
            ),
            *lost_code_doubts(lost, edits),
        ),
        edits,
        SuppressedAgain(tuple(removing), context) if removing or promised_clusters(plan) else None,
        complementary_cells(plan, state.hidden),
    )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _State:
    """Records left: with suppressed cells (`data`) and without (`shown`)."""

    data: Dataset
    shown: Dataset
    rows: Integers
    promised: tuple[PromisedClusters, ...] = ()
    hidden: CellMasks = field(default_factory=dict)
    for_edits: CellMasks = field(default_factory=dict)
    for_attacks: Mapping[tuple[str, str], Booleans] = field(default_factory=dict)
    for_clusters: CellMasks = field(default_factory=dict)
    by_edits: Complement[str] = field(default_factory=Complement[str])
    inferable: InferableCells = field(default_factory=InferableCells)
    left_out: int = 0

    def taken(self, result: GroupResult) -> _State:
        assert result.kept_rows is not None
        rows, data = result.kept_rows, with_group(self.data, result)
        hidden, for_edits, for_clusters, disclosed, read = (
            {name: gone[rows] for name, gone in each.items()}
            for each in (
                self.hidden,
                self.for_edits,
                self.for_clusters,
                self.by_edits.disclosed,
                self.inferable.disclosed,
            )
        )
        return replace(
            self, data=data, shown=self.shown.taken(rows), rows=self.rows[rows],
            promised=tuple(each.taken(rows) for each in self.promised),
            hidden=hidden, for_edits=for_edits, for_clusters=for_clusters,
            for_attacks={key: gone[rows] for key, gone in self.for_attacks.items()},
            by_edits=replace(self.by_edits, disclosed=disclosed), inferable=replace(self.inferable, disclosed=read),
        )  # fmt: skip

    def with_cells(self, result: GroupResult) -> _State:
        """After a method has suppressed cells."""
        data, shown = with_group(self.data, result), in_published_detail(self.shown, result)
        hidden = dict(self.hidden)
        for variable in result.variables:
            name = variable.name
            gone = data[name].missing & ~shown[name].missing
            # Missing codes that were suppressed: such a cell had no value.
            gone |= self.hidden.get(name, np.False_) & shown[name].missing
            if gone.any():
                hidden[name] = gone
        return replace(self, data=data, shown=shown, hidden=hidden)

    def with_complement(self, found: Complement[str]) -> _State:
        """After cells were suppressed that edits would give others away by."""
        found = replace(found, disclosed=joined_cells(self.by_edits.disclosed, found.disclosed))
        state = replace(self, for_edits=joined_cells(self.for_edits, found.cells), by_edits=found)
        return state._without(found.cells)

    def with_inferred_cells(self, found: InferableCells) -> _State:
        """After cells were suppressed by which others could be inferred."""
        found = replace(found, disclosed=joined_cells(self.inferable.disclosed, found.disclosed))
        state = replace(self, for_attacks=joined_cells(self.for_attacks, found.by_attack), inferable=found)
        return state._without(found.cells)

    def with_clusters_left(self, plan: Plan) -> _State:
        """After cells were suppressed of clusters that show others, or of which fewer than k would stay equal."""
        cells = cells_for_clusters(self.data, self.shown, self.promised)
        cells = joined_cells(cells, cells_of_strata(self.data, self.shown, plan))
        there = with_any({name: gone & ~self.shown[name].missing for name, gone in cells.items()})
        return replace(
            self, data=without_cells(self.data, cells), hidden=joined_cells(self.hidden, there),
            for_clusters=joined_cells(self.for_clusters, there),
        ) if cells else self  # fmt: skip

    def _without(self, cells: CellMasks) -> _State:
        return replace(self, data=without_cells(self.data, cells), hidden=joined_cells(self.hidden, cells))

    def suppressed(self) -> list[dict[str, Any]]:
        return [self._counts(name, gone) for name, gone in self.hidden.items() if gone.any()]

    def _counts(self, name: str, gone: Booleans) -> dict[str, Any]:
        own = {attack: cells for (of, attack), cells in self.for_attacks.items() if of == name}
        inferred = np.logical_or.reduce([np.zeros_like(gone), *own.values()])
        for_edits = self.for_edits.get(name, np.zeros_like(gone))
        also = for_edits | inferred | self.for_clusters.get(name, np.False_)
        # A cell counts for the first attack that needed it.
        by_attack = {attack: int(cells.sum()) for attack, cells in own.items()}
        by_attack |= {"equation": int((for_edits & ~inferred).sum())}
        return {
            "variable": name,
            "cells": int(gone.sum()),
            "complementary": int(also.sum()),
            "for_dependencies": int(inferred.sum()),
            "by_attack": {attack: count for attack, count in sorted(by_attack.items()) if count},
        }

    def lost_codes(self) -> dict[str, Booleans]:
        return lost_codes(self.data, self.shown, self.hidden)

    def notices(self) -> Iterator[Notice]:
        for each in self.suppressed():
            clusters = int(np.sum(self.for_clusters.get(each["variable"], False)))
            inferable, edits = each["for_dependencies"], each["complementary"] - each["for_dependencies"] - clusters
            by_attack = {attack: count for attack, count in each["by_attack"].items() if attack != "equation"}
            counts = ", ".join(f"{attack} {count}" for attack, count in by_attack.items())
            reasons = (
                (edits, "edits would reveal suppressed cells"),
                (inferable, f"suppressed cells could be inferred from similar records ({counts})"),
                (clusters, "their cluster would show suppressed cells, or fewer than k records of it would be left"),
            )
            message = cells_suppressed(each["cells"], each["variable"]) + "".join(
                f", {f'{count} of them ' if count < each['cells'] else ''}as complementary suppression, because {why}"
                for count, why in reasons
                if count
            )
            yield Notice("cells-suppressed", each["variable"], message, each["cells"])
        for name, gone in self.hidden.items():
            there, cells = int(np.sum(gone | ~self.shown[name].missing)), int(gone.sum())
            if 2 * cells > there:
                # Rounded down: 100 % is all of them.
                message = (
                    f"{name}: {cells} of its {there} cells are suppressed ({100 * cells // there} %), too many "
                    "to analyse it: recode it, lower k, use fewer keys, or leave it out of the release"
                )
                yield Notice("most-cells-suppressed", name, message, cells, there)
        for name, gone in self.lost_codes().items():
            count = int(gone.sum())
            message = f"{plural(count, 'missing code')} of {name} published as suppressed cells"
            yield Notice("missing-codes-suppressed", name, message, count)
        if self.left_out:
            left_out = plural(self.left_out, "record is", "records are")
            message = f"{left_out} left out as well: fewer than k would be left that are equal on the keys of a step"
            yield Notice("rare-groups-left-out", "", message, self.left_out)


def cells_suppressed(count: int, name: str) -> str:
    """``1 cell of age is suppressed``, ``3 cells of age are suppressed``."""
    return plural(count, f"cell of {name} is suppressed", f"cells of {name} are suppressed")


def lost_codes(data: Dataset, shown: Dataset, hidden: CellMasks) -> dict[str, Booleans]:
    """Cells that were missing before, and whose missing code a method took away."""
    found: dict[str, Booleans] = {}
    for column in data:
        before = shown[column.name]
        if before.missing.any():
            gone = before.missing & (column.missing_kinds() != before.missing_kinds())
            gone &= ~hidden.get(column.name, np.False_)
            found |= {column.name: gone} if gone.any() else {}
    return found


@dataclass(frozen=True, eq=False)
class _Removing:
    """A step that takes away by keys, as often as it has to be run."""

    work: GroupWork
    keys: Sequence[str]
    standardisation: Standardisation
    k: int | None

    @classmethod
    def of(
        cls, group: Group, step: Step, state: _State, standardisation: Standardisation, context: MaskingContext
    ) -> _Removing:
        """What a step has to do with the records left."""
        work = GroupWork(
            step.number, group.step, step.method, step.params, group.variables, group.operators,
            context.edits.on(group.variables), np.zeros(len(state.data), dtype=np.int64), step.companions,
        )  # fmt: skip
        keys = key_names(step, [context.plan.variables[name] for name in group.variables])
        return cls(work, keys, standardisation, step.promised)

    def again(self, state: _State, context: MaskingContext) -> GroupResult:
        """What it takes away of what is left; observers have been notified of this step."""
        work = replace(self.work, strata=np.zeros(len(state.data), dtype=np.int64))
        return protect_group(state.data, work, self.standardisation, replace(context, observe=None))

    def counts(self, before: _State, after: _State) -> bool:
        """Whether records went, or cells that it counts: of keys, or of sensitive variables."""
        if len(before.rows) != len(after.rows):
            return True
        seen = [name for name in (*self.keys, *self.work.companions) if name in after.hidden]
        return any(bool(np.any(after.hidden[name] != before.hidden.get(name, False))) for name in seen)


@dataclass(frozen=True, eq=False)
class SuppressedAgain:
    """Steps that suppress cells, to be run again where cells go for reasons that they know nothing of."""

    steps: tuple[_Removing, ...]
    context: MaskingContext

    def cells(self, shown: Dataset, hidden: CellMasks, lost: CellMasks) -> tuple[CellMasks, CellMasks]:
        """All cells that are suppressed, and codes that are lost, once every step has again what it promises.

        `hidden`, `lost`: suppressed cells, and cells whose missing code was taken away; shape (n,).
        """
        gone = {name: each for name, each in joined_cells(hidden, lost).items() if name in shown}
        suppressing = [step for step in self.steps if "cells" in step.work.method.claims.removes]
        # No record goes any more: where cells of keys went of some records, they go of those equal to them.
        left_out = [step for step in self.steps if step not in suppressing and step.k is not None]
        promised = (
            *promised_clusters(self.context.plan),
            *(PromisedClusters(tuple(step.keys), step.k) for step in left_out if step.k is not None),
        )
        state = _State(without_cells(shown, gone), shown, np.arange(len(shown)), promised, hidden)
        while True:
            before = state
            for step in suppressing:
                state = state.with_cells(step.again(state, self.context))
            state = state.with_clusters_left(self.context.plan)
            if not any(step.counts(before, state) for step in suppressing):
                return state.hidden, state.lost_codes()


def _with_all_guarantees(
    known: Sequence[_State | None], state: _State, steps: Sequence[_Removing], context: MaskingContext
) -> _State:
    """Run steps again whose keys or records went with another, until none lacks anything.

    `known`: of each step, a state in which it lacked nothing.
    """
    last = list(known)
    while waiting := [
        number for number, each in enumerate(steps) if (of := last[number]) is None or each.counts(of, state)
    ]:
        number = waiting[0]
        state = _remove(state, steps[number].again(state, context), steps[number], context, silent)
        last[number] = state
    return state


def _remove(state: _State, result: GroupResult, step: _Removing, context: MaskingContext, progress: Progress) -> _State:
    """What a step takes away, and what has to go with that; where that is what the step counts, it runs again."""
    weights = _weights(context.plan)
    reader: Reader | None = None
    while True:
        shown = state.shown
        state = state.with_cells(result) if result.kept_rows is None else state.taken(result)
        context = in_published_terms(context, state.shown)
        certain = [edit for edit in context.edits if edit.severity == "error" and not edit.shadowed]
        before = state
        while True:
            if state.hidden:
                if reader is None or state.shown is not shown:
                    reader, shown = _reader(state, step.keys, context.plan), state.shown
                state = state.with_inferred_cells(reader.complement(state.hidden))
                found = complement(
                    state.shown, _constant_cells(state), certain, domain=context.domain, last=step.keys,
                    never=(*weights, *household_columns(state.shown, context.plan.untouched)), progress=progress,
                )  # fmt: skip
                state = state.with_complement(found)
                if found.cells:
                    continue
            complete = state.with_clusters_left(context.plan)
            if complete is state:
                break
            state = complete
        if not step.counts(before, state):
            return state
        result = step.again(state, context)


def _constant_cells(state: _State) -> dict[str, Booleans]:
    """Suppressed cells of variables of several values: where all have one (`*`), everybody knows what was there."""
    found = {}
    for name, gone in state.hidden.items():
        column = state.shown[name]
        values = column.values[~column.missing]
        if (len(values) and (values != values[0]).any()) or (gone & column.missing).any():
            found[name] = gone
    return found


def _reader(state: _State, keys: Sequence[str], plan: Plan) -> Reader:
    published = [name for name in state.shown.names if name not in plan.dropped]
    return Reader(
        state.shown, published, keys, _weights(plan), household_columns(state.shown, plan.untouched),
        certainty=plan.disclosure.certainty, importance=plan.disclosure.importance,
    )  # fmt: skip


def _weights(plan: Plan) -> tuple[str, ...]:
    return tuple(name for name, variable in plan.variables.items() if variable.role == "weight")
