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
from maskwright.commands.running.preparation import ToPublish, output_findings
from maskwright.commands.running.recording import MeasuredRun, run_record
from maskwright.commands.running.release_candidate import PlannedRun, ReleaseCandidate
from maskwright.commands.running.release_files import ReleaseFiles
from maskwright.commands.running.stages import PipelineRun, last_doubts, without_contributions
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.levels.column_values import with_linked_columns
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.findings import Notice, distinct_notices
from maskwright.foundation.progress import notify, stage
from maskwright.foundation.randomness import fresh_seed
from maskwright.masking.protecting.processes import report_compilation
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
from maskwright.release.protection_checks import unchanged_cells
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

    from maskwright.commands.running.loading import Clock
    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.doubts import Doubt
    from maskwright.foundation.progress import Reporter
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import Pipeline
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
        return PlannedOnLevels(
            pipeline=described, doubts=(*planned.loaded.doubts, *planned.doubts, *measures.doubts, *doubts),
            notices=(*planned.loaded.notices, *planned.notices, *measures.notices, *notices), reporter=reporter,
            clock=clock, planned=planned, engine=engine, measures=measures,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Return the plan of all levels, as ``maskwright plan --json`` prints it."""
        return self.planned.to_json()

    def extent(self, assumed: int | None) -> dict[str, Any]:
        """Return the records of each level; what these cost is not estimated."""
        if assumed is not None:
            hint = "Leave out `--assume-records`."
            raise InputError(Problem("what records of several levels cost is not estimated", hint=hint))
        return {"levels": {level.name: len(level) for level in self.planned.loaded.linked}}

    def carry_out(self, release: Release) -> CandidateOnLevels:
        """Mask level by level, write, read back, validate and measure."""
        seed = fresh_seed() if self.pipeline.seed is None else self.pipeline.seed
        with self.clock("protect"):
            masked = mask_levels(self.pipeline, self.planned, seed, self.reporter, self.clock)
        return _LevelsRun(self, masked.planned, seed, release).written(masked)


@dataclass(frozen=True, eq=False, kw_only=True)
class CandidateOnLevels(ReleaseCandidate):
    """Masked levels that were written, read back, validated and measured.

    `found`: verdicts on each level. `of_level`, `of_groups`: what was measured of each level, and of groups with their
    members. `notices`: of the whole run.
    """

    run: _LevelsRun
    masked: MaskedLevels
    runs: Mapping[str, PipelineRun]
    of_level: Mapping[str, Mapping[str, Measurement]]
    of_groups: Mapping[str, Measurement]
    found: Mapping[str, Outcome]
    released: LinkedData
    arranged: ArrangedLevels
    alike: Sequence[LikeClasses]
    notices: tuple[Notice, ...]
    edits: PublishedEdits

    def record(self, judgement: ReleaseDecision) -> RunRecord:
        """Record of the run, not ok yet."""
        record = self.run.record(self, judgement)
        return self.run.start.measures.recorded(record, self.of_groups)

    def complete(self, record: RunRecord) -> None:
        """Write the codebook."""
        recoded = {name for ready in self.run.planned.ready.values() for name in ready.plan.recoded}
        self.run.files.write_codebook(record, self.released, self.arranged, recoded)


@dataclass(frozen=True, eq=False)
class _LevelsRun:
    """A run that is carried out; `planned`: of the groups that steps left, as `start` is of all."""

    start: PlannedOnLevels
    planned: PlannedLevels
    seed: int
    release: Release

    def written(self, masked: MaskedLevels) -> CandidateOnLevels:
        """Write what was masked, read it back, validate and measure it."""
        with self.start.clock("count alike"):
            alike = class_sizes_of(self.planned, masked)
        with self.start.clock("arrange"):
            arranged = arranged_levels(masked.linked, self.start.planned.loaded.linked, self.seed)
            order = {
                name: masked.rows[name][rows] if name in masked.rows else rows for name, rows in arranged.order.items()
            }
            arranged = replace(arranged, order=order)
        own = (each.on(name) for name, of in masked.results.items() for each in of.notices)
        left = range_notices_of_levels(self.start.planned, masked)
        edits = published_edits(self.start.planned.loaded, masked)
        with self.start.clock("arrange"):
            arranged, edits, of_format = self.files.in_output_format(arranged, masked, edits)
        messages = (
            *own, *masked.notices, *left, *level_arrangement_notices(arranged), *of_format,
            *class_size_notices(masked, alike),
        )  # fmt: skip
        self._notify(messages)
        written = self.files.write_data(arranged)
        self.start.planned.loaded.forget_cells_of_files()
        released = self.files.read_back(arranged, written, edits)
        with self.start.clock("validate"), stage(self.start.reporter, "Validating"):
            found = outcomes(released, edits.bound, edits.reference)
        # The engine is a process of its own, and runs during the reference validation.
        with self.start.clock("reference validation"), ThreadPoolExecutor(1) as others:
            requested = engine_validated(self.start.engine, self.start.planned.loaded.bound, edits.bound)
            by_engine = others.submit(
                copy_context().run, validate_by_engine,
                self.start.pipeline, self.start.engine, self.start.planned.loaded.bound, edits.bound, released, found,
                self.release, self.start.reporter,
            )  # fmt: skip
            self._notify(
                self.files.reference_verdicts(arranged, released, edits, found, {edit.name for edit in requested})
            )
            refuted = by_engine.result()
        runs = self._level_runs()
        of_groups = self._measure_groups(released, arranged)
        by_level = {name: self._measured(name, run, released, arranged) for name, run in runs.items()}
        measured = self.start.measures.with_group_linkage(by_level, of_groups, self.start.planned.loaded.linked)
        broken = [
            Problem(
                f"edit {each.name!r} does not hold in {each.violations} of {outcome.records} masked {name} records",
                hint=self._way_out(masked, each.name),
            )
            for name, outcome in found.items() for each in outcome.edits if each.violations and each.severity == "error"
        ]  # fmt: skip
        return CandidateOnLevels(
            doubts=self._doubts(masked, released, arranged, found), violated=(*broken, *refuted),
            measured={**of_groups, **{label: each for own in measured.values() for label, each in own.items()}},
            requests=self.start.measures.requests,
            run=self, masked=masked, runs=runs, of_level=measured, of_groups=of_groups, found=found, released=released,
            arranged=arranged, alike=alike, notices=(*self.start.notices, *messages), edits=edits, rules=edits.rules,
            columns=[*{column.name: column for level in arranged.linked for column in level.data}.values()],
            layout=None,
        )  # fmt: skip

    def _way_out(self, masked: MaskedLevels, edit: str) -> str | None:
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

    @property
    def files(self) -> LevelFiles:
        start = self.start
        files = ReleaseFiles(start.pipeline, self.release, start.reporter, start.clock)
        return LevelFiles(files, start.planned.loaded.files)

    def _level_data(self, released: LinkedData, arranged: ArrangedLevels, name: str) -> Dataset:
        """Records of a level as they were read back, paired with those that were masked."""
        names = self.planned.ready[name].original.names
        data = released[name].data
        kept = data.without([each for each in data.names if each not in names])
        units, unit = released.units(name), released.unit_of(name)
        return replace(kept, origin=arranged.order[name], households=units, group_name=unit)

    def _level_runs(self) -> dict[str, PipelineRun]:
        """Each level that steps mask, as a run of its own."""
        runs = {}
        described, measures = self.start.pipeline, self.start.measures
        for name, ready in self.planned.ready.items():
            own = replace(
                described, data=described.level_sources.sources[name], levels=None, steps=ready.request.steps,
                measures=measures.of_level.get(name, ()), thresholds=measures.thresholds,
            )  # fmt: skip
            runs[name] = PipelineRun(own, ready, self.release, self.seed, self.start.reporter, self.start.clock)
        return runs

    def _measured(
        self, name: str, run: PipelineRun, released: LinkedData, arranged: ArrangedLevels
    ) -> dict[str, Measurement]:
        """What is measured of a level, beside all its records and with its totals that are derived across levels."""
        whole = self.start.planned
        places = places_of(arranged.linked, whole.loaded.linked)[name]
        totals = [each.name for each in self.planned.ready[name].plan.derived]
        original = with_totals(
            self.start.planned.ready[name].original, self.start.planned.loaded.linked[name].data, totals
        )
        masked = with_totals(self._level_data(released, arranged, name), released[name].data, totals)
        found: dict[str, Measurement] = {}
        both = (original, whole.loaded.linked), (masked, released)
        for requests, before, after in joined_to_groups(run.pipeline.measures, name, *both):
            pipeline, ready = replace(run.pipeline, measures=requests), replace(run.ready, original=before)
            found |= replace(run, pipeline=pipeline, ready=ready).measure(replace(after, origin=places))
        return {each.label: found[each.label] for each in run.pipeline.measures}

    def _measure_groups(self, released: LinkedData, arranged: ArrangedLevels) -> dict[str, Measurement]:
        """What is measured of groups with their members, by label."""
        requests = self.start.measures.of_groups
        if not requests:
            return {}
        hidden = {name: set(ready.plan.masked) for name, ready in self.planned.ready.items()}
        for each in self.planned.across.derived:
            hidden.setdefault(each.level, set()).add(each.variable)
        with self.start.clock("measure"), report_compilation(self.start.reporter):
            order = places_of(arranged.linked, self.start.planned.loaded.linked)
            two = released.names[-2:]
            original, masked = self.start.planned.loaded.linked.pair(*two), released.pair(*two)
            levels, about = compared_levels(original, masked, order, hidden)
            found = compute_level_measures(requests, levels, self.seed, self.start.reporter, about=about)
        alone = (each.label for each in requests if each.per_record and found[each.label].per_record is None)
        self._notify(without_contributions(alone))
        return found

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
            got = (self.start.planned if name in masked.rows else self.planned).loaded.linked[name].data
            original = with_totals(ready.original, got, totals)
            published = with_totals(self._level_data(released, arranged, name), released[name].data, totals)
            unchanged = unchanged_cells(original, published)
            last = last_doubts(ready.plan, original, published, unchanged, result.doubts)
            own = (*result.doubts, *ready.doubts_once_masked(result), *last)
            doubts += (each.on(name) for each in own)
        doubts += weight_doubts_across(self.start.planned, masked.linked, masked.rows)
        doubts += original_doubts_across(self.start.planned, self.planned, masked.linked, masked.rows)
        for name, outcome in found.items():
            doubts += undecided_doubts(outcome, self.start.planned.loaded.standing[name])
        return tuple(doubts)

    def record(self, candidate: CandidateOnLevels, judgement: ReleaseDecision) -> RunRecord:
        """Record of the run, from those of its levels."""
        masked, released, arranged = candidate.masked, candidate.released, candidate.arranged
        runs, found, edits = candidate.runs, candidate.found, candidate.edits
        parts, untouched = {}, {}
        done = DoneToVariables(self.start.pipeline, self.start.planned, masked, released, arranged)
        for level in released:
            name = level.name
            own = None
            if name in runs:
                ready, result = self.planned.ready[name], masked.results[name]
                data = self._level_data(released, arranged, name)
                inside = self._inside_outcome(name, released, result)
                unchanged = unchanged_cells(ready.original, data)
                pipeline = replace(runs[name].pipeline, path=self.start.pipeline.path)
                own = run_record(
                    MeasuredRun(
                        pipeline, ready, result, inside, candidate.of_level[name], unchanged, judgement, self.seed,
                        self.start.clock.seconds,
                    )
                )  # fmt: skip
                own = own.model_copy(update={"variables": done.of_steps(name, own.variables)})
            before = LevelRecord(records=len(level), original_records=self.start.planned.loaded.records[name])
            plan = done.plan_of_unmasked(name) if own is None else own.plan
            parts[name] = LevelPart(own, plan, self.start.planned.loaded.arrival[name], found[name], before)
            untouched[name] = done.of_others(name)
        record = record_of_levels(
            parts, edits.bound, self.planned.across, candidate.alike, untouched, masked.adjusted, masked.infeasible,
            edits.not_applicable, self.planned.cross_level,
        )  # fmt: skip
        record = with_changed_weights(record, self.start.planned, self.planned, masked.rows)
        keys = tuple(level.declared.key for level in released if not level.declared.keep_key)
        kept, mended = all(level.declared.keep_order for level in released), self.start.planned.loaded.mended
        return record.model_copy(
            update={
                "doubts": doubt_records(judgement),
                "left_out": {name: count for name, count in self.start.planned.loaded.dropped.items() if count},
                "localisation": None if mended is None else LocalisationRecord.model_validate(mended.record),
                "release": ReleasedForm(order="kept" if kept else "random", new_keys=keys),
                "notices": tuple(dict.fromkeys((*map(notice_record, candidate.notices), *record.notices))),
                "dropped_edits": (
                    *(DroppedEdit(name=edit.name, text=edit.text) for edit in self.planned.dropped),
                    *record.dropped_edits,
                ),
                "suppressed": (*record.suppressed, *done.suppressed_elsewhere()),
            }
        )

    def _inside_outcome(self, name: str, released: LinkedData, result: MaskingResult) -> Outcome:
        """Verdicts of the edits that the steps of a level keep, what is asked of members among them."""
        bound = self.planned.loaded.bound
        data = with_linked_columns(released, bound, name, result.edits.variables)
        originals = in_categories(self.start.planned.loaded.linked, self.planned.categories)
        original = with_linked_columns(originals, bound, name, result.edits.variables)
        return check_dataset(data, result.edits, result.domain(original))
