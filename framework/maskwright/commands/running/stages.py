"""Stages of a run between plan and publication: mask, write, read back, validate, measure, and what is doubted then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.running.recording import MeasuredRun, run_record
from maskwright.commands.running.release_files import ReleaseFiles
from maskwright.data.stored_cells import rows_of
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.findings import Notice, notices_of
from maskwright.foundation.progress import Progress, Reporter, notify, part
from maskwright.masking.context import Execution, Observer
from maskwright.masking.mask import mask
from maskwright.masking.promised_classes import class_doubts, promised_classes
from maskwright.masking.protecting.processes import report_compilation
from maskwright.plugins.guarding.observers import tell
from maskwright.plugins.registry import plugins
from maskwright.release.data_file import written_file
from maskwright.release.file_validation import check_file
from maskwright.release.files import Release, output_stream
from maskwright.release.measures.measuring import compute_measures
from maskwright.release.measures.variable_selection import (
    released_categories,
    released_variables,
    unmasked_variable_notices,
)
from maskwright.release.output_format import as_read_back, in_output_format, with_new_codes
from maskwright.release.protection_checks import unchanged_cells, unchanged_doubts
from maskwright.release.pseudonymisation import arrangement_notices
from maskwright.release.reference_validation import (
    has_reference_reader,
    validate_by_reference,
    validated_once_notices,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maskwright.commands.running.loading import Clock
    from maskwright.commands.running.preparation import ReadyRun
    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import MeasureRequest, Pipeline
    from maskwright.planning.plan import Plan
    from maskwright.plugins.block import Block
    from maskwright.plugins.measurement import Measurement
    from maskwright.plugins.method import Masked, Removed
    from maskwright.release.protection_checks import UnchangedCells
    from maskwright.release.record.run_record import RunRecord
    from maskwright.release.release_decision import ReleaseDecision


def masked_by_plan(ready: ReadyRun, described: Pipeline, seed: int, reporter: Reporter) -> MaskingResult:
    """What the steps make of the records that they got, observed by the plugins that observe steps."""
    execution = Execution.of(described.execution)
    return mask(ready.original, ready.edits, ready.plan, seed, execution, reporter, observer_of_steps())


@dataclass(frozen=True, eq=False)
class PipelineRun:
    """A pipeline that is being run.

    `ready`: its data and edits, read, and the plan. `release`: its files, under temporary names.
    """

    pipeline: Pipeline
    ready: ReadyRun
    release: Release
    seed: int
    reporter: Reporter
    clock: Clock

    def notify(self, notices: Iterable[Notice]) -> None:
        """Give these notices to the reporter of the run."""
        notify(self.reporter, notices)

    @property
    def files(self) -> ReleaseFiles:
        """Files of the run."""
        return ReleaseFiles(self.pipeline, self.release, self.reporter, self.clock)

    def mask(self) -> MaskingResult:
        """Mask the original in memory."""
        with self.clock("protect"), report_compilation(self.reporter):
            result = masked_by_plan(self.ready, self.pipeline, self.seed, self.reporter)
        self.notify(result.notices)
        return self.ready.with_doubts_once_masked(result)

    def arrange(self, result: MaskingResult) -> MaskingResult:
        """Give the masked records their new keys and their order, and write the map from the old ones if requested."""
        from maskwright.release.part_layout import in_parts  # of parts

        output, ready = self.pipeline.output, self.ready
        with self.clock("arrange"):
            endings = self.pipeline.data.source.suffixes
            released = in_parts(ready.arranged(result.masked, self.seed), ready.original, output, endings)
            self.files.write_key_map(released.write_map)
            data, renamed, of_format = in_output_format(released.data, output, result.edits, ready.plan.recoded)
        messages = (*arrangement_notices(released), *of_format)
        self.notify(messages)
        result = result.published_as(data, with_new_codes(result.edits, renamed))
        return replace(result, notices=(*result.notices, *messages))

    def write(self, result: MaskingResult) -> Mapping[str, Any]:
        """Write the masked data to a temporary file; the columns that are as the original holds them."""
        return self.files.write("data", result.masked, self.ready.original)

    def read_back(self, result: MaskingResult, held: Mapping[str, Any]) -> Dataset:
        """Read the masked file as anyone would, and compare it with what was written."""
        masked, original = result.masked, self.ready.original
        released = self.files.read_back("data", self.pipeline.data, (masked, held), masked.variables)
        return as_read_back(replace(released, origin=masked.origin), self.pipeline.output, result.edits, original)

    def validate(self, result: MaskingResult, progress: Progress) -> tuple[Outcome, list[Notice]]:
        """Verdict of every edit on every record of the masked file, as if nothing were known of how it was made.

        With a notice of the edits that were evaluated only once. Runs in a thread, so it reports nothing itself.
        """
        file = written_file(self.release.temporary("data"), self.pipeline, ())
        original = self.ready.original
        reference = result.reference(original)
        known = {variable.name: variable for variable in reference.variables}
        published = (each for each in result.masked.variables if each.name in known)  # new keys are no variables
        known |= {each.name: _with_codes_of(known[each.name], each) for each in published}
        twice = has_reference_reader(file.source)
        has_svrl = self.pipeline.output.svrl is not None
        with self.clock("validate"), output_stream(self.release, "svrl", is_wanted=has_svrl) as svrl:
            outcome = check_file(
                file.path, file.source, file.params, result.edits, domain=result.domain(original), variables=known,
                svrl=svrl, progress=part(progress, 0.0, 0.5 if twice else 1.0),
            )  # fmt: skip
        if not twice:
            return outcome, []
        with self.clock("reference validation"):
            alone = validate_by_reference(
                file.path, file.source, result.masked, result.edits, outcome, reference,
                progress=part(progress, 0.5, 1.0),
            )  # fmt: skip
        return outcome, [*validated_once_notices(alone, len(outcome.edits))]

    def measure(self, released: Dataset) -> dict[str, Measurement]:
        """Loss and risk of what was read back, by label."""
        plan, requests, original = self.ready.plan, self.pipeline.measures, self.ready.original
        with self.clock("measure"), report_compilation(self.reporter):
            if any(each.asked for each in requests):
                names = released_variables(original, released, plan.altered, plan.recoded)
                about = unmasked_variable_notices(names, plan.altered)
                self.notify(notices_of("unmasked-variables-measured", about[:1]))
            found = measured_files(requests, plan, original, released, self.seed, self.reporter)
        self.notify(without_contributions(requests, found))
        return found


@dataclass(frozen=True, eq=False)
class ReleasedLevel:
    """Records of one level that were read back, measured and compared with the original; a flat file is one level.

    `outcome`: verdicts of the edits that the steps keep. `doubts`: that arose since the plan was made.
    """

    run: PipelineRun
    result: MaskingResult
    outcome: Outcome
    measured: Mapping[str, Measurement]
    unchanged: tuple[UnchangedCells, ...]
    doubts: tuple[Doubt, ...]

    @staticmethod
    def of(
        run: PipelineRun, result: MaskingResult, original: Dataset, released: Dataset, outcome: Outcome,
        measured: Mapping[str, Measurement], counted: Dataset | None = None,
    ) -> ReleasedLevel:  # fmt: skip
        """Compare what was read back with the records that the steps got, totals that are derived afterwards too.

        `counted`: records in whose classes k is counted, where it is counted with keys of the levels above.
        """
        with run.clock("unchanged values"):
            unchanged = unchanged_cells(original, released)
            seen = last_doubts(run.ready.plan, original, released, unchanged, result.doubts, counted)
        return ReleasedLevel(run, result, outcome, measured, unchanged, (*result.doubts, *seen))

    def record(self, judgement: ReleaseDecision) -> RunRecord:
        """Record of the run, not ok yet."""
        run = self.run
        return run_record(
            MeasuredRun(run.pipeline, run.ready, self.result, self.outcome, self.measured, self.unchanged, judgement,
                        run.seed, run.clock.seconds)
        )  # fmt: skip


def measured_files(
    requests: Sequence[MeasureRequest], plan: Plan, original: Dataset, released: Dataset, seed: int, reporter: Reporter
) -> dict[str, Measurement]:
    """Loss and risk of a released file against its original, by label."""
    names = released_variables(original, released, plan.altered, plan.recoded)
    categories = released_categories(original, released, plan.altered)
    return compute_measures(
        requests, original, released, plan.edits_on_values, plan.to_json(), seed, reporter, (*names, *categories),
        about=unmasked_variable_notices(names, plan.altered),
        about_categories=unmasked_variable_notices(categories, plan.altered), changed=plan.altered,
        drawn=plan.draws_records,
    )  # fmt: skip


def without_contributions(requests: Iterable[MeasureRequest], found: Mapping[str, Measurement]) -> Iterator[Notice]:
    """Notices about measures that say nothing of single records, though they were asked to."""
    for each in requests:
        if each.per_record and found[each.label].per_record is None:
            message = f"{each.label} has no contributions of single records: none are written"
            yield Notice("no-contributions", each.label, message)


def _with_codes_of(original: Variable, masked: Variable) -> Variable:
    """Variable of the original with the missing codes that it has in the masked file."""
    return replace(
        original,
        missing_codes=masked.missing_codes,
        missing_meanings=masked.missing_meanings,
        suppressed_as=masked.suppressed_as,
    )


def observer_of_steps() -> Observer | None:
    """Tell plugins that observe steps; a plugin that fails there is not let off."""
    observers = plugins().observers
    if not any(observers.values()):
        return None

    def observe(step: int, method: str, block: Block, masked: Masked | Removed | None) -> None:
        tell(observers["before_step" if masked is None else "after_step"], step, method, block, masked)

    return observe


def last_doubts(
    plan: Plan, original: Dataset, released: Dataset, unchanged: Iterable[UnchangedCells],
    known_doubts: Sequence[Doubt], counted: Dataset | None = None,
) -> tuple[Doubt, ...]:  # fmt: skip
    """Doubts about the released file: variables that are as they were, and classes smaller than promised.

    Every release of data in memory is counted here, after the last cell went.
    """
    if released.households is None and original.households is not None:
        origin = slice(None) if released.origin is None else rows_of(original, released)
        released = replace(released, households=original.households[origin])
    counted = released if counted is None else counted
    return (
        *unchanged_doubts(unchanged, plan, known_doubts, (original, released)),
        *class_doubts(
            plan, {column.name for column in counted if column.missing.any()}, promised_classes(counted, plan)
        ),
        *_weight_doubts(plan, original, released),
        *_attack_doubts(plan, original, released, known_doubts),
    )


def _attack_doubts(plan: Plan, original: Dataset, released: Dataset, known_doubts: Sequence[Doubt]) -> Iterator[Doubt]:
    """Doubts about cells that an attack of the pipeline names with certainty, where nothing else has said so."""
    if not plan.disclosure.attacks or plan.draws_records:
        return
    from maskwright.disclosure.attacked import attack_results
    from maskwright.plugins.registry import find_attack

    before = original if released.origin is None else original.taken(rows_of(original, released))
    known = {
        each.subject for each in known_doubts if each.kind in ("suppressed-cells-follow", "follows-from-published")
    }
    chosen = [(attack, attack.params()) for attack in map(find_attack, plan.disclosure.attacks)]
    for each in attack_results(chosen, before, released, plan.edits, plan.disclosure.certainty):
        if each.decision != "figure" and each.variable not in known:
            is_suppressed = (released[each.variable].missing & ~before[each.variable].missing).any()
            kind = "suppressed-cells-follow" if is_suppressed else "follows-from-published"
            message = (
                f"{each.certain} of {each.hidden} cells that are not shown can be inferred by {each.rule} (attack "
                f"{each.attack}; it names {each.claims}, {each.right} of them rightly)"
            )
            hint = f"Recode {each.variable} instead of hiding cells of it, or leave out what the attack reads."
            yield Doubt(kind, each.variable, message, each.certain, each.hidden, hint=hint)


def _weight_doubts(plan: Plan, original: Dataset, released: Dataset) -> Iterator[Doubt]:
    """Doubts about suppressed cells, and about recoded or perturbed ones, that the weights show."""
    if not any(column.variable.role == "weight" for column in released):
        return
    before = original if released.origin is None else original.taken(rows_of(original, released))
    from maskwright.disclosure.attacks.weight import (
        factors_of_weights,
        original_category_doubts,
        published_weights,
        same_weight_doubts,
        weight_doubts,
    )

    if any(column.missing.any() for column in released):
        for name, factor in factors_of_weights(before, released).items():
            yield from weight_doubts(name, factor, before, released)
        for each in published_weights(before, released):
            yield from same_weight_doubts(each.name, each.values, before, released, released.households)
    yield from original_category_doubts(plan, before, released)
