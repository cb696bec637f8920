"""A run on data of several levels: masked level by level, released together or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.levels.loading import load_levels
from maskwright.commands.levels.masking import MaskedLevels, mask_levels
from maskwright.commands.levels.masking_results import (
    DoneToVariables,
    class_size_notices,
    class_sizes_of,
    original_doubts_across,
    range_notices_of_levels,
    weight_doubts_across,
    with_changed_weights,
    with_totals,
)
from maskwright.commands.levels.measuring import LevelMeasures, joined_to_groups, measures_of_levels
from maskwright.commands.levels.planning import PlannedLevels, plan_levels
from maskwright.commands.levels.publishing import LevelFiles, PublishedEdits, published_edits
from maskwright.commands.running.cost_estimates import costs_json, costs_of_plan, limit_of
from maskwright.commands.running.input_violations import violated_edits
from maskwright.commands.running.preparation import ToPublish, output_findings
from maskwright.commands.running.release_candidate import PlannedRun, ReleaseCandidate
from maskwright.commands.running.release_files import ReleaseFiles
from maskwright.commands.running.stages import PipelineRun, ReleasedLevel, without_contributions
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.foundation.errors import Problem
from maskwright.foundation.findings import Notice, distinct_notices
from maskwright.foundation.progress import notify, stage
from maskwright.foundation.randomness import fresh_seed
from maskwright.masking.promised_classes import smallest_classes
from maskwright.masking.protecting.processes import report_compilation
from maskwright.planning.costs import costs_together
from maskwright.planning.levels.bound_edits import outcomes
from maskwright.planning.levels.recoded_edits import in_categories
from maskwright.planning.levels.steps import steps_requiring_k
from maskwright.planning.warnings.publication_warnings import undecided_doubts
from maskwright.release.levels.arrangement import ArrangedLevels, arranged_levels, level_arrangement_notices, places_of
from maskwright.release.levels.engine_validation import (
    BARE_TOTAL,
    EngineRules,
    engine_rules,
    engine_validated,
    validate_by_engine,
)
from maskwright.release.levels.record import LevelPart, record_of_levels
from maskwright.release.measures.measuring import compared_levels, compute_level_measures
from maskwright.release.record.record_parts import doubt_records, notice_record
from maskwright.release.record.run_record import (
    DroppedEdit,
    LevelRecord,
    LocalisationRecord,
    ReleasedForm,
    RunRecord,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright.commands.levels.loading import LoadedLevels
    from maskwright.commands.running.loading import Clock
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.doubts import Doubt
    from maskwright.foundation.progress import Reporter
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.costs import Costs
    from maskwright.plugins.measurement import Measurement
    from maskwright.release.files import Release
    from maskwright.release.record.run_record import LikeClasses
    from maskwright.release.release_decision import ReleaseDecision


@dataclass(frozen=True, eq=False, kw_only=True)
class PlannedOnLevels(PlannedRun):
    """A planned run on data of several levels: masked level by level, released together or not at all."""

    planned: PlannedLevels
    engine: EngineRules | None
    measures: LevelMeasures

    @staticmethod
    def of(described: Pipeline, reporter: Reporter, clock: Clock) -> PlannedOnLevels:
        """Read and link the levels, and plan each."""
        loaded = load_levels(described, reporter, clock)
        engine = engine_rules(described)
        planned = plan_levels(described, loaded, reporter, clock)
        measures = measures_of_levels(described, planned.loaded, planned)
        tables = {
            level.name: ToPublish(level.data, level.data.variables, planned.every[level.name].plan.recoded)
            for level in planned.loaded.linked
        }
        doubts, notices = output_findings(described, tables)
        variables = [each for level in planned.loaded.linked for each in level.data.variables]
        return PlannedOnLevels(
            pipeline=described, doubts=(*planned.loaded.doubts, *planned.doubts, *measures.doubts, *doubts),
            notices=(*planned.loaded.notices, *planned.notices, *measures.notices, *notices), reporter=reporter,
            clock=clock, planned=planned, engine=engine, measures=measures,
            rules=(planned.loaded.rules, variables, None), variables={each.name: each for each in variables},
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return the plan of all levels, as ``maskwright plan --json`` prints it."""
        return self.planned.to_json()

    def costs(self, assumed: int | None) -> Costs:
        """Return expected memory and time; the records assumed are of the lowest level."""
        levels = self.planned.loaded.linked.levels
        times = 1.0 if assumed is None else assumed / max(len(levels[-1]), 1)
        return costs_together([
            costs_of_plan(
                self.pipeline, self.planned.every[level.name].plan, len(level.data.names), round(times * len(level))
            )
            for level in levels
        ])  # fmt: skip

    def extent(self, assumed: int | None) -> dict[str, Any]:
        """Return the records of each level, and expected memory and time."""
        counts = {level.name: len(level) for level in self.planned.loaded.linked.levels}
        return {"levels": counts} | costs_json(self.costs(assumed), limit_of(self.pipeline), self.pipeline)

    def carry_out(self, release: Release) -> CandidateOnLevels:
        """Mask level by level, write, read back, validate and measure."""
        seed = fresh_seed() if self.pipeline.seed is None else self.pipeline.seed
        with self.clock("protect"):
            masked = mask_levels(self.pipeline, self.planned, seed, self.reporter, self.clock)
        return _LevelsRun(self, masked, seed, release).written()


@dataclass(frozen=True, eq=False, kw_only=True)
class CandidateOnLevels(ReleaseCandidate):
    """Masked levels that were written, read back, validated and measured.

    `levels`: those that steps mask. `of_groups`: what was measured of groups with their members. `found`: verdicts on
    each level. `notices`: of the whole run.
    """

    run: _LevelsRun
    levels: Mapping[str, ReleasedLevel]
    of_groups: Mapping[str, Measurement]
    found: Mapping[str, Outcome]
    released: LinkedData
    arranged: ArrangedLevels
    alike: Sequence[LikeClasses]
    notices: tuple[Notice, ...]
    edits: PublishedEdits

    def record(self, judgement: ReleaseDecision) -> RunRecord:
        """Record of the run, from those of its levels; not ok yet."""
        run, masked, loaded = self.run, self.run.masked, self.run.loaded
        parts, untouched = {}, {}
        done = DoneToVariables(run.start.pipeline, run.start.planned, masked, self.released, self.arranged)
        for level in self.released:
            name = level.name
            own = None
            if name in self.levels:
                own = self.levels[name].record(judgement)
                own = own.model_copy(update={"variables": done.of_steps(name, own.variables)})
            before = LevelRecord(records=len(level), original_records=loaded.records[name])
            plan = done.plan_of_unmasked(name) if own is None else own.plan
            parts[name] = LevelPart(own, plan, loaded.arrival[name], self.found[name], before)
            untouched[name] = done.of_others(name)
        record = record_of_levels(
            parts, self.edits.bound, run.planned.across, self.alike, untouched, masked.adjusted, masked.infeasible,
            self.edits.not_applicable, run.planned.cross_level,
        )  # fmt: skip
        record = with_changed_weights(record, run.start.planned, run.planned, masked.rows)
        keys = tuple(level.declared.key for level in self.released if not level.declared.keep_key)
        kept, mended = all(level.declared.keep_order for level in self.released), loaded.mended
        dropped = (DroppedEdit(name=edit.name, text=edit.text) for edit in run.planned.dropped)
        record = record.model_copy(
            update={
                "doubts": doubt_records(judgement),
                "left_out": {name: count for name, count in loaded.dropped.items() if count},
                "localisation": None if mended is None else LocalisationRecord.model_validate(mended.record),
                "release": ReleasedForm(order="kept" if kept else "random", new_keys=keys),
                "notices": tuple(dict.fromkeys((*map(notice_record, self.notices), *record.notices))),
                "dropped_edits": (*dropped, *record.dropped_edits),
                "suppressed": (*record.suppressed, *done.suppressed_elsewhere()),
            }
        )
        return run.start.measures.recorded(record, self.of_groups)

    def complete(self, record: RunRecord) -> None:
        """Write the codebook."""
        recoded = {name for ready in self.run.planned.ready.values() for name in ready.plan.recoded}
        self.run.files.write_codebook(record, self.released, self.arranged, recoded)


@dataclass(frozen=True, eq=False)
class _LevelsRun:
    """A run that is carried out; `start`: its plan for all groups, as `planned` is for those that steps left."""

    start: PlannedOnLevels
    masked: MaskedLevels
    seed: int
    release: Release

    @property
    def planned(self) -> PlannedLevels:
        return self.masked.planned

    @property
    def loaded(self) -> LoadedLevels:
        return self.start.planned.loaded

    @property
    def files(self) -> LevelFiles:
        files = ReleaseFiles(self.start.pipeline, self.release, self.start.reporter, self.start.clock)
        return LevelFiles(files, self.loaded.files)

    def written(self) -> CandidateOnLevels:
        """Write what was masked, read it back, validate and measure it."""
        masked, clock = self.masked, self.start.clock
        with clock("count alike"):
            alike = class_sizes_of(self.planned, masked)
        with clock("arrange"):
            arranged = self._arranged()
            edits = published_edits(self.loaded, masked)
            arranged, edits, of_format = self.files.in_output_format(arranged, masked, edits)
        messages = (
            *(each.on(name) for name, result in masked.results.items() for each in result.notices), *masked.notices,
            *range_notices_of_levels(self.start.planned, masked), *level_arrangement_notices(arranged), *of_format,
            *class_size_notices(masked, alike),
        )  # fmt: skip
        self._notify(messages)
        written = self.files.write_data(arranged)
        self.loaded.forget_cells_of_files()
        released = self.files.read_back(arranged, written, edits)
        with clock("validate"), stage(self.start.reporter, "Validating"):
            found = outcomes(released, edits.bound, edits.reference)
        refuted = self._validated_otherwise(arranged, released, edits, found)
        of_groups = self._measure_groups(released, arranged)
        levels = self._released_levels(released, arranged, of_groups)
        broken = [
            Problem(
                f"edit {each.name!r} does not hold in {each.violations} of {outcome.records} masked {name} records",
                hint="; ".join(filter(None, (self._way_out(each.name), *each.undecidable_because))) or None,
            )
            for name, outcome in found.items() for each in violated_edits(outcome.edits)
        ]  # fmt: skip
        of_levels = {label: each for level in levels.values() for label, each in level.measured.items()}
        return CandidateOnLevels(
            doubts=self._doubts(levels, found), violated=(*broken, *refuted), measured={**of_groups, **of_levels},
            requests=self.start.measures.requests, run=self, levels=levels, of_groups=of_groups, found=found,
            released=released, arranged=arranged, alike=alike, notices=(*self.start.notices, *messages), edits=edits,
            rules=edits.rules,
            columns=[*{column.name: column for level in arranged.linked for column in level.data}.values()],
            layout=None,
        )  # fmt: skip

    def _arranged(self) -> ArrangedLevels:
        """Masked levels under their new keys and in their new order."""
        arranged, left = arranged_levels(self.masked.linked, self.loaded.linked, self.seed), self.masked.rows
        order = {name: left[name][rows] if name in left else rows for name, rows in arranged.order.items()}
        return replace(arranged, order=order)

    def _validated_otherwise(
        self, arranged: ArrangedLevels, released: LinkedData, edits: PublishedEdits, found: Mapping[str, Outcome]
    ) -> Sequence[Problem]:
        """What an engine says of the written files that is not so; by other means they are validated besides."""
        start, stated = self.start, self.loaded.bound
        # The engine is a process of its own, and runs during the reference validation.
        with start.clock("reference validation"), ThreadPoolExecutor(1) as others:
            by_engine = others.submit(
                copy_context().run, validate_by_engine, start.pipeline, start.engine, stated, edits.bound, released,
                found, self.release, start.reporter,
            )  # fmt: skip
            elsewhere = {edit.name for edit in engine_validated(start.engine, stated, edits.bound)}
            self._notify(self.files.reference_verdicts(arranged, released, edits, found, elsewhere))
            return by_engine.result()

    def _way_out(self, edit: str) -> str | None:
        masked = self.masked
        failed = masked.infeasible.get(edit, 0) + sum(each.infeasible.get(edit, 0) for each in masked.results.values())
        if failed:
            return f"no values were found for {failed:,} records"
        bound = self.planned.loaded.bound
        own = next(each for edits in bound.edits.values() for each in edits if each.name == edit)
        insisting = steps_requiring_k(own, self.start.pipeline.steps, bound)
        if edit not in self.planned.across.adjusted or not insisting:
            return None
        params = f"with 'k_guarantee: report' in the params of step {insisting[0].number}"
        way = f"{params} the records of a group are moved together, which breaks k"
        stated = next((each for each in self.planned.loaded.rules if each.name == edit), None)
        guarded = stated is not None and stated.assertion is not None and stated.kind != "linear"
        return f"{way}; {BARE_TOTAL}" if guarded else way

    def _notify(self, notices: Iterable[Notice]) -> None:
        notify(self.start.reporter, distinct_notices(notices))

    def _level_run(self, name: str) -> PipelineRun:
        """A level that steps mask, as a run of its own."""
        start, ready = self.start, self.planned.ready[name]
        own = replace(
            start.pipeline, data=start.pipeline.level_sources.sources[name], levels=None, steps=ready.request.steps,
            measures=start.measures.of_level.get(name, ()), thresholds=start.measures.thresholds,
        )  # fmt: skip
        return PipelineRun(own, ready, self.release, self.seed, start.reporter, start.clock)

    def _released_levels(
        self, released: LinkedData, arranged: ArrangedLevels, of_groups: Mapping[str, Measurement]
    ) -> dict[str, ReleasedLevel]:
        """Each level that steps mask, measured, and compared with the records that its steps got."""
        runs = {name: self._level_run(name) for name in self.planned.ready}
        data = {name: self._level_data(released, arranged, name) for name in runs}
        measured: dict[str, Mapping[str, Measurement]] = {
            name: self._measured(name, run, data[name], released, arranged) for name, run in runs.items()
        }
        measured = self.start.measures.with_group_linkage(measured, of_groups, self.loaded.linked)
        levels = {}
        for name, run in runs.items():
            ready = run.ready
            # Whoever knows whole records knows those of their groups.
            joined = released.with_columns_above(data[name], name, released.variables_above(name))
            result = ready.with_doubts_once_masked(self.masked.results[name])
            result = replace(result, k=smallest_classes(joined, ready.plan))
            # What the steps of a level got: all its records where these steps took some away.
            got = (self.start.planned if name in self.masked.rows else self.planned).loaded.linked[name].data
            above = [key for step in ready.plan.steps for key in step.keys_above]
            original = with_totals(
                ready.original.without(above), got, [each.name for each in ready.plan.derived]
            )  # fmt: skip
            inside = self._inside_outcome(name, released, result)
            levels[name] = ReleasedLevel.of(run, result, original, data[name], inside, measured[name], joined)
        return levels

    def _level_data(self, released: LinkedData, arranged: ArrangedLevels, name: str) -> Dataset:
        """Records of a level as they were read back, paired with those that were masked; with derived totals."""
        ready, data = self.planned.ready[name], released[name].data
        kept = data.without([each for each in data.names if each not in ready.original.names])
        units, unit = released.units(name), released.unit_of(name)
        kept = replace(kept, origin=arranged.order[name], households=units, group_name=unit)
        return with_totals(kept, data, [each.name for each in ready.plan.derived])

    def _measured(
        self, name: str, run: PipelineRun, masked: Dataset, released: LinkedData, arranged: ArrangedLevels
    ) -> dict[str, Measurement]:
        """What is measured of a level, beside all its records and with its totals that are derived across levels."""
        whole, linked = self.start.planned, self.loaded.linked
        places = places_of(arranged.linked, linked)[name]
        totals = [each.name for each in run.ready.plan.derived]
        above = [key for step in run.ready.plan.steps for key in step.keys_above]
        original = with_totals(whole.ready[name].original.without(above), linked[name].data, totals)
        found: dict[str, Measurement] = {}
        for requests, before, after in joined_to_groups(
            run.pipeline.measures, name, (original, linked), (masked, released)
        ):
            pipeline, ready = replace(run.pipeline, measures=requests), replace(run.ready, original=before)
            found |= replace(run, pipeline=pipeline, ready=ready).measure(replace(after, origin=places))
        return {each.label: found[each.label] for each in run.pipeline.measures}

    def _measure_groups(self, released: LinkedData, arranged: ArrangedLevels) -> dict[str, Measurement]:
        """What is measured of groups with their members, by label."""
        requests, start = self.start.measures.of_groups, self.start
        if not requests:
            return {}
        hidden = {name: set(ready.plan.masked) for name, ready in self.planned.ready.items()}
        for each in self.planned.across.derived:
            hidden.setdefault(each.level, set()).add(each.variable)
        with start.clock("measure"), report_compilation(start.reporter):
            order, two = places_of(arranged.linked, self.loaded.linked), released.names[-2:]
            levels, about = compared_levels(self.loaded.linked.pair(*two), released.pair(*two), order, hidden)
            found = compute_level_measures(requests, levels, self.seed, start.reporter, about=about)
        self._notify(without_contributions(requests, found))
        return found

    def _doubts(self, levels: Mapping[str, ReleasedLevel], found: Mapping[str, Outcome]) -> tuple[Doubt, ...]:
        masked, whole = self.masked, self.start.planned
        return (
            *masked.emptied.doubts,
            *masked.doubts,
            *(each.on(name) for name, level in levels.items() for each in level.doubts),
            *weight_doubts_across(whole, masked.linked, masked.rows),
            *original_doubts_across(whole, self.planned, masked.linked, masked.rows),
            *(each for name, own in found.items() for each in undecided_doubts(own, self.loaded.standing[name])),
        )

    def _inside_outcome(self, name: str, released: LinkedData, result: MaskingResult) -> Outcome:
        """Verdicts of the edits that the steps of a level keep, what is asked of members among them."""
        bound = self.planned.loaded.bound
        data = with_linked_columns(released, bound, name, result.edits.variables)
        originals = in_categories(self.loaded.linked, self.planned.categories)
        original = with_linked_columns(originals, bound, name, result.edits.variables)
        return check_dataset(data, result.edits, result.domain(original))
