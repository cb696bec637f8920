"""The whole run on data of several levels: masked level by level, released together or not at all."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maskwright.commands.levels.declarations import levels_of
from maskwright.commands.levels.engine_validation import (
    BARE_TOTAL,
    EngineRules,
    engine_rules,
    engine_validated,
    validate_by_engine,
)
from maskwright.commands.levels.loading import LoadedLevels, load_levels, outcomes
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
from maskwright.commands.running.preparation import apply_plan_checks
from maskwright.commands.running.publish import contributions, log_waived, publish_record, refuse_doubts, refuse_results
from maskwright.commands.running.recording import MeasuredRun, run_record
from maskwright.commands.running.stages import PipelineRun, last_doubts
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.foundation.errors import Problem
from maskwright.foundation.progress import notify, stage
from maskwright.foundation.randomness import fresh_seed
from maskwright.masking.protecting.processes import report_compilation
from maskwright.planning.levels.steps import in_pipeline, steps_requiring_k
from maskwright.planning.warnings.publication_warnings import undecided_doubts
from maskwright.plugins.registry import plugins
from maskwright.release.files import Release
from maskwright.release.levels.arrangement import ArrangedLevels, arranged_levels, level_arrangement_notices, places_of
from maskwright.release.levels.record import LevelPart, record_of_levels
from maskwright.release.measures.measuring import compared_levels, compute_level_measures, with_group_linkage
from maskwright.release.protection_checks import unchanged_cells
from maskwright.release.record.measure_record import measure_record
from maskwright.release.record.record_parts import doubt_records
from maskwright.release.record.run_record import (
    DroppedEdit,
    LevelRecord,
    LocalisationRecord,
    PluginRecord,
    ReleasedForm,
    RunRecord,
)
from maskwright.release.release_decision import decide_release

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from maskwright.commands.running.loading import Clock
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.doubts import Doubt
    from maskwright.foundation.progress import Reporter
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.plugins.measurement import Measurement
    from maskwright.release.record.run_record import LikeClasses
    from maskwright.release.release_decision import ReleaseDecision


def run_levels(described: Pipeline, reporter: Reporter, clock: Clock, private: Collection[str]) -> RunRecord:
    """Run a pipeline on data of several levels."""
    loaded = load_levels(described, reporter, clock)
    engine = engine_rules(described)
    planned = plan_levels(described, loaded, reporter, clock)
    if described.checks:
        apply_plan_checks(described, planned.to_json(), reporter)
    loaded = planned.loaded
    measures = measures_of_levels(described, loaded, planned)
    seed = fresh_seed() if described.seed is None else described.seed
    with Release(described.output.paths, frozenset(private)) as release:
        return _LevelsRun(described, loaded, planned, planned, engine, measures, seed, release, reporter, clock).run()


@dataclass(frozen=True, eq=False)
class _LevelsRun:
    described: Pipeline
    loaded: LoadedLevels
    planned: PlannedLevels
    whole: PlannedLevels
    engine: EngineRules | None
    measures: LevelMeasures
    seed: int
    release: Release
    reporter: Reporter
    clock: Clock

    def run(self) -> RunRecord:
        described = self.described
        before = (*self.loaded.doubts, *self.planned.doubts, *self.measures.doubts)
        notices = (*self.loaded.notices, *self.planned.notices, *self.measures.notices)
        self._notify((*self.release.notices, *notices))
        refuse_doubts(described, decide_release(before, described.waivers))
        with self.clock("protect"):
            masked = mask_levels(described, self.planned, self.seed, self.reporter, self.clock)
        return replace(self, planned=masked.planned)._released(masked, before, notices)

    def _released(self, masked: MaskedLevels, before: tuple[Doubt, ...], notices: tuple[str, ...]) -> RunRecord:
        """Write, read back, validate, measure and publish what was masked."""
        described = self.described
        with self.clock("count alike"):
            alike = class_sizes_of(self.planned, masked)
        with self.clock("arrange"):
            arranged = arranged_levels(masked.linked, self.loaded.linked, self.seed)
            order = {
                name: masked.rows[name][rows] if name in masked.rows else rows for name, rows in arranged.order.items()
            }
            arranged = replace(arranged, order=order)
        steps = self.planned.steps
        own = (in_pipeline(each, steps[name].numbers) for name, of in masked.results.items() for each in of.notices)
        left = range_notices_of_levels(self.whole, masked)
        messages = (
            *own,
            *masked.notices,
            *left,
            *level_arrangement_notices(arranged),
            *class_size_notices(masked, alike),
        )
        self._notify(messages)
        written = self._files.write_data(arranged)
        self.loaded.forget_cells_of_files()
        released = self._files.read_back(arranged, written)
        edits = published_edits(self.loaded, masked)
        self._notify(self._files.write_rules(edits, arranged))
        with self.clock("validate"), stage(self.reporter, "Validating"):
            found = outcomes(released, edits.bound, edits.reference)
        # The engine is a process of its own: what waits for it waits beside the reference validation.
        with self.clock("reference validation"), ThreadPoolExecutor(1) as others:
            requested = engine_validated(self.engine, self.loaded.bound, edits.bound)
            by_engine = others.submit(
                copy_context().run, validate_by_engine,
                described, self.engine, self.loaded.bound, edits.bound, released, found, self.release, self.reporter,
            )  # fmt: skip
            self._notify(
                self._files.reference_verdicts(arranged, released, edits, found, {edit.name for edit in requested})
            )
            refuted = by_engine.result()
        runs = self._level_runs()
        of_groups = self._measure_groups(released, arranged)
        measured = self._with_group_linkage(
            {name: self._measured(name, run, released, arranged) for name, run in runs.items()},
            of_groups,
        )
        doubts = (*before, *self._doubts(masked, released, arranged, found))
        judgement = decide_release(doubts, described.waivers)
        self._notify(judgement.notices)
        record = self._record(
            masked, runs, measured, found, released, arranged, judgement, alike, (*notices, *messages), edits
        )  # fmt: skip
        record = self._with_groups(record, of_groups)
        broken = [
            Problem(
                f"edit {each.name!r} does not hold in {each.violations} of {outcome.records} masked {name} records",
                hint=self._way_out(masked, each.name),
            )
            for name, outcome in found.items() for each in outcome.edits if each.violations and each.severity == "error"
        ]  # fmt: skip
        requests = (*self.measures.of_groups, *(each for own in self.measures.of_level.values() for each in own))
        refuse_results(described, (*broken, *refuted), requests, record, judgement)
        log_waived(judgement)
        recoded = {name for ready in self.planned.ready.values() for name in ready.plan.recoded}
        self._files.write_codebook(record, released, arranged, recoded)
        with self.clock("publish"):
            every = {**of_groups, **{label: each for own in measured.values() for label, each in own.items()}}
            record = publish_record(self.release, described, record, contributions(requests, every))
        return record.model_copy(update={"seconds": dict(self.clock.seconds)})

    def _way_out(self, masked: MaskedLevels, edit: str) -> str | None:
        failed = masked.infeasible.get(edit, 0) + sum(each.infeasible.get(edit, 0) for each in masked.results.values())
        if failed:
            return f"no values were found for {failed:,} records"
        bound = self.planned.loaded.bound
        own = next(each for edits in bound.edits.values() for each in edits if each.name == edit)
        insisting = steps_requiring_k(own, self.described.steps, bound)
        if edit not in self.planned.across.adjusted or not insisting:
            return None
        params = f"with 'k_guarantee: report' in the params of step {insisting[0]}"
        way = f"{params} the records of a group are moved together, which breaks k"
        stated = next((each for each in self.planned.loaded.rules if each.name == edit), None)
        guarded = stated is not None and stated.assertion is not None and stated.kind != "linear"
        return f"{way}; {BARE_TOTAL}" if guarded else way

    def _notify(self, notices: Iterable[str]) -> None:
        notify(self.reporter, dict.fromkeys(notices))

    @property
    def _files(self) -> LevelFiles:
        return LevelFiles(self.described, self.loaded.files, self.release, self.reporter, self.clock)

    def _level_data(self, released: LinkedData, arranged: ArrangedLevels, name: str) -> Dataset:
        """Records of a level as they were read back, paired with those that were masked."""
        names = self.planned.ready[name].original.names
        data = released[name].data
        kept = data.without([each for each in data.names if each not in names])
        return replace(
            kept, origin=arranged.order[name], households=released[name].groups, group_name=released.names[0]
        )

    def _level_runs(self) -> dict[str, PipelineRun]:
        """Each level that steps mask, as a run of its own."""
        runs = {}
        for name, ready in self.planned.ready.items():
            own = replace(
                self.described, data=levels_of(self.described).sources[name], levels=None, steps=ready.request.steps,
                measures=self.measures.of_level.get(name, ()), thresholds=self.measures.thresholds,
            )  # fmt: skip
            runs[name] = PipelineRun(own, ready, self.release, self.seed, self.reporter, self.clock)
        return runs

    def _measured(
        self, name: str, run: PipelineRun, released: LinkedData, arranged: ArrangedLevels
    ) -> dict[str, Measurement]:
        """What is measured of a level, beside all its records and with its totals that are derived across levels."""
        places = places_of(arranged.linked, self.loaded.linked)[name]
        totals = [each.name for each in self.planned.ready[name].plan.derived]
        original = with_totals(self.whole.ready[name].original, self.whole.loaded.linked[name].data, totals)
        masked = with_totals(self._level_data(released, arranged, name), released[name].data, totals)
        found: dict[str, Measurement] = {}
        both = (original, self.whole.loaded.linked), (masked, released)
        for requests, before, after in joined_to_groups(run.pipeline.measures, name, *both):
            pipeline, ready = replace(run.pipeline, measures=requests), replace(run.ready, original=before)
            found |= replace(run, pipeline=pipeline, ready=ready).measure(replace(after, origin=places))
        return {each.label: found[each.label] for each in run.pipeline.measures}

    def _measure_groups(self, released: LinkedData, arranged: ArrangedLevels) -> dict[str, Measurement]:
        """What is measured of groups with their members, by label."""
        requests = self.measures.of_groups
        if not requests:
            return {}
        hidden = {name: set(ready.plan.masked) for name, ready in self.planned.ready.items()}
        for each in self.planned.across.derived:
            hidden.setdefault(released.names[0], set()).add(each.variable)
        with self.clock("measure"), report_compilation(self.reporter):
            order = places_of(arranged.linked, self.loaded.linked)
            levels, about = compared_levels(self.loaded.linked, released, order, hidden)
            found = compute_level_measures(requests, levels, self.seed, self.reporter, about=about)
        alone = (each.label for each in requests if each.per_record and found[each.label].per_record is None)
        self._notify(f"{label} has no contributions of single records: none are written" for label in alone)
        return found

    def _with_group_linkage(
        self, measured: Mapping[str, Mapping[str, Measurement]], of_groups: Mapping[str, Measurement]
    ) -> dict[str, Mapping[str, Measurement]]:
        """Measurements of each level; linkage of members says what linking their groups finds."""
        top, low = self.loaded.linked.names
        if low not in measured:
            return dict(measured)
        own, groups = self.measures.of_level[low], self.measures.of_groups
        return {**measured, low: with_group_linkage(measured[low], own, of_groups, groups, (top, low))}

    def _with_groups(self, record: RunRecord, of_groups: Mapping[str, Measurement]) -> RunRecord:
        """Record with what was measured of groups, and the plugins that did."""
        requests, thresholds = self.measures.of_groups, self.measures.thresholds
        found = {each.label: measure_record(each, of_groups[each.label], thresholds) for each in requests}
        infos = {f"measure {each.measure.name}": plugins().info("measure", each.measure.name) for each in requests}
        used = {key: PluginRecord(distribution=each.distribution, version=each.version) for key, each in infos.items()}
        return record.model_copy(
            update={
                "measures": {**found, **record.measures},
                "plugins": {**record.plugins, **used},
                "not_measured": tuple(each for each in record.not_measured if each not in self.measures.compared),
            }
        )

    def _doubts(
        self,
        masked: MaskedLevels,
        released: LinkedData,
        arranged: ArrangedLevels,
        found: Mapping[str, Outcome],
    ) -> tuple[Doubt, ...]:
        doubts: list[Doubt] = [*masked.emptied.doubts, *masked.doubts]
        for name, ready in self.planned.ready.items():
            result = masked.results[name]
            totals = [each.name for each in ready.plan.derived]
            # What the steps of a level got: all its records where these steps took some away.
            got = (self.whole if name in masked.rows else self.planned).loaded.linked[name].data
            original = with_totals(ready.original, got, totals)
            published = with_totals(self._level_data(released, arranged, name), released[name].data, totals)
            unchanged = unchanged_cells(original, published)
            last = last_doubts(ready.plan, original, published, unchanged, result.doubts)
            of_level = (*result.doubts, *ready.doubts_once_masked(result), *last)
            doubts += self.planned.steps[name].in_pipeline(of_level)
        doubts += weight_doubts_across(self.whole, masked.linked, masked.rows)
        doubts += original_doubts_across(self.whole, self.planned, masked.linked, masked.rows)
        for name, outcome in found.items():
            doubts += undecided_doubts(outcome, self.loaded.standing[name])
        return tuple(doubts)

    def _record(
        self,
        masked: MaskedLevels,
        runs: Mapping[str, PipelineRun],
        measured: Mapping[str, Mapping[str, Measurement]],
        found: Mapping[str, Outcome],
        released: LinkedData,
        arranged: ArrangedLevels,
        judgement: ReleaseDecision,
        alike: Sequence[LikeClasses],
        notices: tuple[str, ...],
        edits: PublishedEdits,
    ) -> RunRecord:
        parts, untouched = {}, {}
        done = DoneToVariables(self.described, self.whole, masked, released, arranged)
        for level in released:
            name = level.name
            own = None
            if name in runs:
                ready, result = self.planned.ready[name], masked.results[name]
                data = self._level_data(released, arranged, name)
                inside = self._inside_outcome(name, released, result)
                unchanged = unchanged_cells(ready.original, data)
                pipeline = replace(runs[name].pipeline, path=self.described.path)
                own = run_record(
                    MeasuredRun(pipeline, ready, result, inside, measured[name], unchanged, judgement, self.seed,
                                self.clock.seconds)
                )  # fmt: skip
                own = own.model_copy(update={"variables": done.of_steps(name, own.variables)})
            before = LevelRecord(records=len(level), original_records=self.loaded.records[name])
            numbers = self.planned.steps[name].numbers
            plan = done.plan_of_unmasked(name) if own is None else own.plan
            parts[name] = LevelPart(own, plan, numbers, self.loaded.arrival[name], found[name], before)
            untouched[name] = done.of_others(name)
        record = record_of_levels(
            parts, edits.bound, self.planned.across, alike, untouched, masked.adjusted, masked.infeasible,
            edits.not_applicable, self.planned.cross_level,
        )  # fmt: skip
        record = with_changed_weights(record, self.whole, self.planned, masked.rows)
        keys = tuple(level.declared.key for level in released if not level.declared.keep_key)
        kept, mended = all(level.declared.keep_order for level in released), self.loaded.mended
        return record.model_copy(
            update={
                "doubts": doubt_records(judgement),
                "left_out": {name: count for name, count in self.loaded.dropped.items() if count},
                "localisation": None if mended is None else LocalisationRecord.model_validate(mended.record),
                "release": ReleasedForm(order="kept" if kept else "random", new_keys=keys),
                "notices": tuple(dict.fromkeys((*notices, *record.notices))),
                "dropped_edits": (
                    *(DroppedEdit(name=edit.name, text=edit.text) for edit in self.planned.dropped),
                    *record.dropped_edits,
                ),
                "suppressed": (*record.suppressed, *done.suppressed_elsewhere()),
            }
        )

    def _inside_outcome(self, name: str, released: LinkedData, result: MaskingResult) -> Outcome:
        """Verdicts of the edits that the steps of a level keep, what is asked of members among them."""
        bound = self.loaded.bound
        data = with_linked_columns(released, bound, name, result.edits.variables)
        original = with_linked_columns(self.loaded.linked, bound, name, result.edits.variables)
        return check_dataset(data, result.edits, result.domain(original))
