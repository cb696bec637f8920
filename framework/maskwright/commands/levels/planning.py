"""The plan of each level, and of the edits across levels."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.levels.declarations import (
    composition_columns,
    dropped_identifiers,
)
from maskwright.commands.levels.edit_violations import remedies_without_masking
from maskwright.commands.levels.group_masking import GroupMasking, across_of_groups, plan_group_masking
from maskwright.commands.running.input_violations import violated_edits, violation_counts
from maskwright.commands.running.loading import reasons_first
from maskwright.commands.running.preparation import ReadyRun, prepare
from maskwright.data.record_order import RANDOM_ORDER_OF_LEVEL
from maskwright.disclosure.attacks.group_members import level_disclosure_doubts
from maskwright.edits.edit_set import EditSet
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.edits.levels.structure import Structure
from maskwright.foundation.errors import Problem
from maskwright.foundation.release_outcomes import EditViolation
from maskwright.masking.context import Standardisation
from maskwright.masking.protecting.processes import refuse_unsendable
from maskwright.pipeline.file_model import ReleaseSection
from maskwright.pipeline.resolved import DataInMemory, MaskingRequest
from maskwright.planning.applicable_edits import NO_EDITS
from maskwright.planning.levels.bound_edits import edits_of_levels
from maskwright.planning.levels.cross_level_edits import AcrossLevels, across_levels
from maskwright.planning.levels.exact_sums import averaged_variables, exact_sums
from maskwright.planning.levels.level_steps import (
    LevelSteps,
    made_for_drawing,
    maskable,
    masks_as_groups,
    read_only,
    refuse_taking_by_derived,
    refuse_two_removals,
    refuse_unknown_variables,
    steps_of_level,
    with_keys_above,
    without_derived,
)
from maskwright.planning.levels.recoded_edits import (
    RecodedAcross,
    in_categories,
    published_categories,
    published_variables,
    recoded_across,
)
from maskwright.planning.levels.steps import (
    adjusted_totals,
    checked_under_guarantees,
    refuse_given_back,
    require_k_of_groups,
    require_pairs,
    require_totals,
    require_what_moves,
    treatment,
)
from maskwright.planning.plan import computed_json, step_json
from maskwright.planning.recoded_edits import recoded_edit_notices
from maskwright.planning.step_variables import variables_of_steps
from maskwright.release.levels.record import CrossLevelPlan, plan_of_levels
from maskwright.release.record.record_parts import PlanRecord, StepRecord

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from maskwright.commands.levels.loading import LoadedLevels
    from maskwright.commands.running.loading import Clock
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure_edits import Source
    from maskwright.edits.translation.translate import Translation
    from maskwright.edits.translation.values import Recoded
    from maskwright.foundation.doubts import Doubt
    from maskwright.foundation.findings import Notice
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.model import Step


@dataclass(frozen=True, eq=False)
class PlannedLevels:
    """What a run on several levels will do.

    `loaded`: without groups that steps leave out, and edits that are dropped. `ready`: of the levels that steps mask;
    their data hold no keys, and no variables that are derived. `unmasked`: of the others, with a plan of no steps: what
    is doubted of a file that no step masks is doubted of them. `dropped`: edits across levels that steps drop, because
    what they read is published as categories. `disclosed`: masked variables that the other level shows. `otherwise`:
    where totals stand: who would keep each edit if all were derived; for groups that cannot be moved. `whole`: groups
    that are masked with all their members as one record; `ready` then lists what is masked in each level. `translated`:
    rules across levels as they are stated of published categories, by name; `weakened`: those of them that say less.
    `categories`: recoded variables, as they are published, that rules across levels read as categories.
    """

    loaded: LoadedLevels
    across: AcrossLevels
    steps: Mapping[str, LevelSteps]
    ready: Mapping[str, ReadyRun]
    otherwise: AcrossLevels | None = None
    whole: GroupMasking | None = None
    dropped: tuple[Edit, ...] = ()
    disclosed: tuple[Doubt, ...] = ()
    unmasked: Mapping[str, ReadyRun] = field(default_factory=dict)
    translated: Mapping[str, Edit] = field(default_factory=dict)
    weakened: tuple[Translation, ...] = ()
    categories: Mapping[Source, Variable] = field(default_factory=dict)

    @property
    def every(self) -> dict[str, ReadyRun]:
        """Of all levels, the top first."""
        both = {**self.ready, **self.unmasked}
        return {name: both[name] for name in self.loaded.linked.names}

    def to_json(self) -> dict[str, Any]:
        """One plan of all levels, as plain data."""
        plans = {name: PlanRecord.model_validate(ready.plan.to_json()) for name, ready in self.every.items()}
        records = len(self.loaded.linked.levels[-1])
        return plan_of_levels(plans, self.loaded.bound, self.across, records, self.cross_level).to_json()

    @property
    def cross_level(self) -> CrossLevelPlan:
        """What the plans of the levels do not say: what is derived instead of masked, and drawn in whole groups."""
        top, *lower = self.loaded.linked.names
        computed = tuple(
            StepRecord.model_validate(step_json(step, [computed_json(step.variables or ())]))
            for found in self.steps.values() for step in found.computed.values()
        )  # fmt: skip
        taken = f"whole {top} records, with all their {' and '.join(lower)} records"
        return CrossLevelPlan(
            computed + tuple(
                StepRecord.model_validate(step_json(step, [computed_json(found.derived[step.number])]))
                for found in self.steps.values() for step in found.steps if step.number in found.derived
            ),
            {each.name: each.decimals for ready in self.every.values() for each in ready.plan.derived},
            {number: taken for found in self.steps.values() for number in found.drawing},
            tuple(name for level in self.loaded.linked for name in level.data.names),
        )  # fmt: skip

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Of all levels, but for those that were seen when these were loaded."""
        own = (doubt.on(name) for name, ready in self.every.items() for doubt in ready.doubts)
        return (*(each for each in own if not self.loaded.is_known(each)), *self.disclosed)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What a person should know of the plan."""
        own = (notice.on(name) for name, ready in self.every.items() for notice in ready.notices)
        return tuple(dict.fromkeys((*recoded_edit_notices(self.weakened, self.dropped), *own)))


def plan_levels(described: Pipeline, loaded: LoadedLevels, reporter: Reporter, clock: Clock) -> PlannedLevels:
    """Plan each level as a file of its own, and who keeps the edits across levels."""
    with reasons_first(loaded.doubts, described.waivers):
        return _planned(described, loaded, reporter, clock)


def _planned(described: Pipeline, loaded: LoadedLevels, reporter: Reporter, clock: Clock) -> PlannedLevels:
    linked = loaded.linked
    steps = {level.name: steps_of_level(described.steps, level, linked) for level in linked}
    refuse_unknown_variables(described.steps, linked)
    if described.execution.processes:
        refuse_unsendable(described.steps)
    read = [name for step in described.steps for name in step.companions]
    variables = {
        level.name: maskable(level) + tuple(column.variable for column in composition_columns(read, linked, level.name))
        for level in linked
    }
    # Before the steps of each level are read: all mistakes in them, and in their order, are reported at once.
    variables_of_steps(described.steps, [each for own in variables.values() for each in own])
    treatments = {name: treatment(found.steps, variables[name]) for name, found in steps.items()}
    masked = {name: each.masked for name, each in treatments.items()}
    are_whole = masks_as_groups(described.steps, loaded.linked)
    # For a group with its members, values that obey sums and a product are only found on steps that add exactly.
    of_rules = are_whole and any(edit.kind == "product" for own in loaded.bound.edits.values() for edit in own)
    loaded = with_exact_sums(described.steps, loaded, variables, masked, of_rules=of_rules)
    linked = loaded.linked
    if are_whole:
        return _plan_group_masking(described, loaded, masked, reporter, clock)
    structure = Structure.of(linked)
    categories: dict[Source, Recoded] = {}
    published: dict[Source, Variable] = {}
    for name, own in steps.items():
        categories |= published_categories(name, own.steps, variables[name])
        published |= published_variables(name, own.steps, variables[name])
    recoded = recoded_across(loaded.bound, treatments, loaded.rules, structure, categories)
    bound = _of_published_categories(recoded, loaded)
    of_categories = {source: published[source] for source in categories} if recoded.translated else {}
    refuse_given_back(bound, treatments, linked)
    refuse_two_removals(steps)
    emptied = {name: each.emptied for name, each in treatments.items()}
    adjusted = adjusted_totals(described.steps, masked, linked.names[:-1])
    otherwise = across_levels(
        bound, structure, masked, emptied=emptied, translated=recoded.alone, categories=of_categories,
        values=recoded.bound,
    )  # fmt: skip
    require_totals(otherwise, described.steps)
    across = across_levels(bound, structure, masked, adjusted, emptied, recoded.alone, of_categories, recoded.bound)
    require_pairs(across, bound, masked)
    require_what_moves(across, bound, masked, described.steps)
    require_k_of_groups(across, bound, described.steps)
    across = checked_under_guarantees(across, bound, described.steps)
    _refuse_broken_structure(across, loaded)
    derived = {each.variable for each in across.derived}
    refuse_taking_by_derived(steps, across)
    steps = {level.name: without_derived(steps[level.name], derived, level) for level in linked}
    planned = PlannedLevels(
        replace(loaded, bound=bound),
        across,
        steps,
        {},
        otherwise if adjusted else None,
        dropped=recoded.dropped,
        translated=recoded.translated,
        weakened=recoded.weakened,
        categories=of_categories,
    )
    ready = {
        level.name: ready_level(described, planned, level.name, reporter, clock)
        for level in linked
        if steps[level.name].steps
    }
    return _with_unmasked(described, replace(planned, ready=ready), reporter, clock)


def _of_published_categories(recoded: RecodedAcross, loaded: LoadedLevels) -> BoundEdits:
    """Edits of the levels, those across levels as they are said of published categories."""
    if not recoded.translated:
        return recoded.bound
    rules = EditSet(tuple(recoded.translated.get(edit.name, edit) for edit in loaded.rules), loaded.rules.notes)
    found = edits_of_levels(rules, loaded.linked)
    left = {name: {edit.name for edit in edits} for name, edits in recoded.bound.edits.items()}
    kept = {
        name: EditSet(tuple(edit for edit in edits if edit.name in left[name]), edits.notes)
        for name, edits in found.edits.items()
    }
    return replace(found, edits=kept)


def _with_unmasked(described: Pipeline, planned: PlannedLevels, reporter: Reporter, clock: Clock) -> PlannedLevels:
    """The plan with the levels that no step masks: they are published too; and with what one level tells of another."""
    derived = {each.variable for each in planned.across.derived}
    unmasked = {
        # Their edits are judged with those across levels.
        level.name: _ready(described, planned.loaded, level, LevelSteps(), EditSet(), derived, reporter, clock)
        for level in planned.loaded.linked
        if level.name not in planned.ready
    }
    plans = {name: each.plan for name, each in planned.ready.items()}
    computed = {(each.level, each.variable) for each in planned.across.derived}
    notes = tuple(level_disclosure_doubts(planned.loaded.linked, planned.loaded.bound, plans, computed))
    return replace(planned, unmasked=unmasked, disclosed=notes)


def ready_level(
    described: Pipeline, planned: PlannedLevels, name: str, reporter: Reporter, clock: Clock,
    above: LinkedData | None = None,
) -> ReadyRun:  # fmt: skip
    """One level as a file of its own, with the edits that its steps keep; `above`: levels above that are masked."""
    across, loaded = planned.across, planned.loaded
    derived = {each.variable for each in across.derived}
    return _ready(
        described, loaded, loaded.linked[name], planned.steps[name], across.inside[name], derived, reporter, clock,
        planned.categories, above,
    )  # fmt: skip


def _plan_group_masking(
    described: Pipeline,
    loaded: LoadedLevels,
    masked: Mapping[str, Collection[str]],
    reporter: Reporter,
    clock: Clock,
) -> PlannedLevels:
    """Plan of steps that mask groups with their members as one record."""
    in_order = {name: [each for each in loaded.linked[name].data.names if each in masked[name]] for name in masked}
    loaded, whole = plan_group_masking(described, loaded, in_order, clock)
    across = across_of_groups(loaded, whole)
    _refuse_broken_structure(across, loaded)
    steps, ready = {}, {}
    for level in loaded.linked:
        found = steps_of_level(described.steps, level, loaded.linked)
        variables = maskable(level)
        own = [
            replace(step, variables=chosen.names, groups=(chosen.names,), unit=None)
            for step, chosen in zip(found.steps, variables_of_steps(found.steps, variables), strict=True)
        ]
        steps[level.name] = LevelSteps(tuple(own))
        if own:
            # The plan lists what is masked of the level; its edits are kept, and checked, with those of whole groups.
            ready[level.name] = _ready(described, loaded, level, steps[level.name], EditSet(), (), reporter, clock)
    planned = PlannedLevels(loaded, across, steps, ready, whole=whole)
    return _with_unmasked(described, planned, reporter, clock)


def _ready(
    described: Pipeline,
    loaded: LoadedLevels,
    level: Level,
    steps: LevelSteps,
    edits: EditSet,
    derived: Collection[str],
    reporter: Reporter,
    clock: Clock,
    categories: Mapping[Source, Variable] | None = None,
    above: LinkedData | None = None,
) -> ReadyRun:
    """A level as a file of its own, with its plan; `categories`: that edits read of other levels as published."""
    around = loaded.linked.names[: loaded.linked.names.index(level.name) + 1]
    keeps_order = any(loaded.linked[name].declared.keep_order for name in around)
    data = _to_mask(loaded, level, edits, derived, steps.steps, categories or {})
    handed = steps.handed({each.name: each for each in maskable(level)})
    data = with_keys_above(data, above or loaded.linked, level.name, handed)
    request = MaskingRequest(
        data=DataInMemory(data), edits=edits,
        on_input_violation="mask", steps=handed, seed=described.seed, execution=described.execution,
        waivers=described.waivers,
        release=ReleaseSection(order="kept" if keeps_order else "random"), file=described.file,
    )  # fmt: skip
    computed = [name for name in data.names if name not in level.data or name in level.key_columns]
    ready = prepare(request, reporter, clock, computed=computed, remedy_of_order=RANDOM_ORDER_OF_LEVEL)
    totals = tuple(each.variable for each in level.data if each.name in derived)
    dropped = dropped_identifiers(described.level_sources)
    untouched = tuple(name for name in ready.plan.untouched if name not in computed)
    plan = replace(ready.plan, derived=totals, dropped=dropped, untouched=untouched)
    ready = replace(ready, plan=plan)
    if not any(len(each) for each in loaded.bound.edits.values()):
        return ready
    return replace(ready, notices=tuple(each for each in ready.notices if each.kind != NO_EDITS.kind))


def _to_mask(
    loaded: LoadedLevels, level: Level, edits: EditSet, derived: Collection[str], steps: Sequence[Step],
    categories: Mapping[Source, Variable],
) -> Dataset:  # fmt: skip
    """Records of a level as the steps get them: with what its own edits read, and without its other keys."""
    published = in_categories(loaded.linked, categories) if categories else loaded.linked
    data = with_linked_columns(published, loaded.bound, level.name, edits.variables).with_columns(
        {column.name: column for column in level.data}
    )
    keys = [name for name in level.key_columns if name in edits.variables]
    left = data.without([*(name for name in level.key_columns if name not in keys), *derived])
    # Edits may read them; no step does.
    left = read_only(left, keys)
    read = (name for step in steps for name in step.companions)
    added = [each for each in composition_columns(read, loaded.linked, level.name) if each.name not in left]
    if level.groups is None:
        added += made_for_drawing(level, left, steps)
    left = replace(left, columns=(*left.columns, *added))
    units, unit = loaded.linked.units(level.name), loaded.linked.unit_of(level.name)
    return replace(left, households=units, group_name=unit, notes=(), doubts=())


def _refuse_broken_structure(across: AcrossLevels, loaded: LoadedLevels) -> None:
    checked = (*across.structure, *across.present)
    verdicts = (each for outcome in loaded.standing.values() for each in outcome.edits if each.name in checked)
    broken = violated_edits(verdicts)
    if broken:
        shown = violation_counts(broken)
        names = [each.name for each in broken]
        ways = remedies_without_masking(loaded.linked, loaded.bound, names, localized=loaded.mended is not None)
        hint = "; ".join((*(() if loaded.mended is None else map(str, loaded.mended.notices)), ways))
        message = f"records of the original violate edits of which no step masks a variable ({shown})"
        raise EditViolation(Problem(message, hint=hint))


def with_exact_sums(
    steps: Sequence[Step],
    loaded: LoadedLevels,
    variables: Mapping[str, Sequence[Variable]],
    masked: Mapping[str, Collection[str]],
    *,
    of_rules: bool,
) -> LoadedLevels:
    """Data whose sums over members are to be exact in binary64 too, where methods average."""
    every = tuple(variable for own in variables.values() for variable in own)
    averaged = averaged_variables(steps, variables_of_steps(steps, every))
    numeric = {
        level.name: [each.name for each in level.data.variables if each.name in averaged and each.decimals]
        for level in loaded.linked
    }
    spread = {
        name: float(size) for level in loaded.linked
        for name, size in Standardisation.of(level.data, numeric[level.name]).scale.items()
    }  # fmt: skip
    found = exact_sums(loaded.bound, loaded.linked, masked, averaged, spread, of_rules=of_rules)
    notices = (*loaded.notices, *found.notices())
    return replace(loaded, linked=found.put_on(loaded.linked), notices=notices)
