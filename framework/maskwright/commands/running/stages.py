"""Stages of a run between plan and publication: mask, write, read back, validate, measure, and what is doubted then."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.reading import load
from maskwright.data.stored_cells import rows_of
from maskwright.foundation.errors import InputError
from maskwright.foundation.findings import Notice, notices_of
from maskwright.foundation.progress import Progress, Reporter, notify, part, stage
from maskwright.masking.context import Execution, Observer
from maskwright.masking.mask import mask
from maskwright.masking.promised_classes import class_doubts, promised_classes
from maskwright.masking.protecting.processes import report_compilation
from maskwright.plugins.guarding.observers import tell
from maskwright.plugins.guarding.origin import package_label
from maskwright.plugins.registry import plugins
from maskwright.release.data_file import write_dataset, written_file
from maskwright.release.file_validation import check_file
from maskwright.release.files import Release, output_stream, writing
from maskwright.release.measures.measuring import compute_measures
from maskwright.release.measures.variable_selection import (
    released_categories,
    released_variables,
    unmasked_variable_notices,
)
from maskwright.release.output_format import (
    escaped,
    formula_notices,
    in_codes_of,
    missing_code_notices,
    unescaped,
    with_new_codes,
)
from maskwright.release.protection_checks import unchanged_doubts
from maskwright.release.pseudonymisation import arrangement_notices
from maskwright.release.reference_validation import has_reference_reader, validate_by_reference
from maskwright.release.round_trip_check import refuse_difference, refuse_written

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.commands.running.loading import Clock
    from maskwright.commands.running.preparation import ReadyRun
    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.doubts import Doubt
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import DataSource, MeasureRequest, Pipeline
    from maskwright.planning.plan import Plan
    from maskwright.plugins.block import Block
    from maskwright.plugins.measurement import Measurement
    from maskwright.plugins.method import Masked, Removed
    from maskwright.release.protection_checks import UnchangedCells


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

    def mask(self) -> MaskingResult:
        """Mask the original in memory."""
        ready = self.ready
        with self.clock("protect"), report_compilation(self.reporter):
            result = mask(
                ready.original, ready.edits, ready.plan, self.seed,
                Execution.of(self.pipeline.execution), self.reporter, _observer(),
            )  # fmt: skip
        self.notify(result.notices)
        return replace(result, doubts=(*result.doubts, *ready.doubts_once_masked(result)))

    def arrange(self, result: MaskingResult) -> MaskingResult:
        """Give the masked records their new keys and their order, and write the map from the old ones if requested."""
        from maskwright.release.part_layout import in_parts  # of parts

        output = self.pipeline.output
        with self.clock("arrange"):
            endings = self.pipeline.data.source.suffixes
            released = in_parts(self.ready.arranged(result.masked, self.seed), self.ready.original, output, endings)
            data, messages = released.data, [*arrangement_notices(released)]
            if output.key_map is not None:
                with writing(self.release.temporary("key_map")):
                    released.write_map(self.release.temporary("key_map"))
            if output.source.format.is_opened_in_spreadsheets:
                messages += formula_notices(data, result.edits, escapes=output.escapes_formulas)
                data = escaped(data, result.edits) if output.escapes_formulas else data
            others = [name for name in data.names if name not in self.ready.plan.recoded]
            has_codebook = output.codebook is not None
            messages += missing_code_notices(data.without(others), output.source, has_codebook=has_codebook)
        self.notify(messages)
        data, renamed = in_codes_of(data, output.source)
        result = result.published_as(data, with_new_codes(result.edits, renamed))
        return replace(result, notices=(*result.notices, *messages))

    def write(self, result: MaskingResult) -> Mapping[str, Any]:
        """Write masked data and rules to temporary files; the columns that are as the original holds them."""
        file, title = self.release.temporary("data"), f"Writing{package_label(self.pipeline.output.source.write)}"
        with self.clock("write"), stage(self.reporter, title), writing(file):
            held = write_dataset(
                result.masked, file, self.pipeline.output.source, self.ready.original,
                canonical=self.pipeline.output.numbers == "canonical",
            )  # fmt: skip
        self.release.sealed("data")  # what is read back and checked from here on is what is published
        return held

    def read_back(self, result: MaskingResult, held: Mapping[str, Any]) -> Dataset:
        """Read the masked file as anyone would, and compare it with what was written."""
        masked = result.masked
        file = written_file(self.release.temporary("data"), self.pipeline, masked.variables)
        with self.clock("read back"), stage(self.reporter, "Reading back") as progress:
            released = check_round_trip(file, masked, held, progress)
        released = _with_bands(replace(released, origin=masked.origin), masked.variables)
        output = self.pipeline.output
        escapes = output.source.format.is_opened_in_spreadsheets and output.escapes_formulas
        return unescaped(released, result.edits, self.ready.original) if escapes else released

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
        if not alone:
            return outcome, []
        message = f"{len(alone)} of {len(outcome.edits)} edits have no second opinion: {', '.join(alone)}"
        return outcome, [Notice("validated-once", "", message, len(alone), len(outcome.edits))]

    def measure(self, released: Dataset) -> dict[str, Measurement]:
        """Loss and risk of what was read back, by label."""
        plan, requests, original = self.ready.plan, self.pipeline.measures, self.ready.original
        with self.clock("measure"), report_compilation(self.reporter):
            if any(each.asked for each in requests):
                names = released_variables(original, released, plan.altered, plan.recoded)
                about = unmasked_variable_notices(names, plan.altered)
                self.notify(notices_of("unmasked-variables-measured", about[:1]))
            found = measured_files(requests, plan, original, released, self.seed, self.reporter)
        alone = (each.label for each in requests if each.per_record and found[each.label].per_record is None)
        self.notify(without_contributions(alone))
        return found


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


def without_contributions(labels: Iterable[str]) -> Iterator[Notice]:
    """Notices about measures that say nothing of single records, though they were asked to."""
    for label in labels:
        message = f"{label} has no contributions of single records: none are written"
        yield Notice("no-contributions", label, message)


def _with_bands(released: Dataset, variables: Sequence[Variable]) -> Dataset:
    """The file that was read back, with what the categories of recoded variables stand for, which no file says."""
    known = {variable.name: dict(zip(variable.categories, variable.bands, strict=True)) for variable in variables
             if variable.bands}  # fmt: skip
    columns = []
    for column in released:
        bands, categories = known.get(column.name, {}), column.variable.categories
        if bands and all(category in bands for category in categories):
            own = replace(column.variable, bands=tuple(bands[category] for category in categories))
            column = replace(column, variable=own)  # noqa: PLW2901 - the same column, better known
        columns.append(column)
    return replace(released, columns=tuple(columns))


def _with_codes_of(original: Variable, masked: Variable) -> Variable:
    """Variable of the original with the missing codes that it has in the masked file."""
    return replace(
        original,
        missing_codes=masked.missing_codes,
        missing_meanings=masked.missing_meanings,
        suppressed_as=masked.suppressed_as,
    )


def _observer() -> Observer | None:
    """Tell plugins that observe steps; a plugin that fails there is not let off."""
    observers = plugins().observers
    if not any(observers.values()):
        return None

    def observe(step: int, method: str, block: Block, masked: Masked | Removed | None) -> None:
        tell(observers["before_step" if masked is None else "after_step"], step, method, block, masked)

    return observe


def check_round_trip(file: DataSource, meant: Dataset, held: Mapping[str, Any], progress: Progress) -> Dataset:
    """Read a written file once, and stop unless it holds what was meant: what is measured from here on is that file.

    `held`: as `write_dataset` gives it; shape (n,).
    """
    try:
        read = load(file, progress, identifiers=True, may_lack="anything")
    except InputError as error:
        message = "; ".join(dict.fromkeys(problem.sentence for problem in error.problems))
        refuse_written(file.source, f"the written file cannot be read back ({message})")
    if file.source.format.omits_empty_variables:
        read = _as_shown(_with_traceless(read, meant), meant)
    if file.source.format.reads_folders and set(read.names) == set(meant.names):
        # What folders say stands behind the columns of the files, wherever it stood before.
        read = replace(read, columns=tuple(read[name] for name in meant.names))
    # What is published on no grid is no decimal up to rounding, even if all its numbers are near to some.
    free = {each.name for each in meant if each.variable.is_numeric and each.variable.decimals is None}
    read = read.with_columns({name: read[name].as_stored() for name in free if name in read})
    refuse_difference(meant, read, file.source, held)
    read = read.without([name for name, each in file.variables.items() if each.role == "identifier" and name in read])
    # No one asks again how cells are written; measuring needs the memory.
    return replace(read, columns=tuple(replace(column, written=None) for column in read))


def _with_traceless(read: Dataset, meant: Dataset) -> Dataset:
    """The file with the variables that have not a single cell: where cells are elements these leave no trace."""
    every = slice(None)
    traceless = {
        column.name: column
        for column in meant
        if column.name not in read and column.missing.all() and column.nothing(every, None).null_count == len(column)
    }
    if not traceless:
        return read
    known = {column.name: column for column in read} | traceless
    added = [name for name in read.names if name not in meant]
    return replace(read, columns=tuple(known[name] for name in (*meant.names, *added) if name in known))


def _as_shown(read: Dataset, meant: Dataset) -> Dataset:
    """The file in the order that was meant, unless a record shows another: where cells are elements, some may lack.

    Of two variables that no record has both of, the file does not say which comes first.
    """
    place = {name: number for number, name in enumerate(read.names)}
    if read.names == meant.names or place.keys() != set(meant.names):
        return read
    turned = [(a, b) for a, b in combinations(meant.names, 2) if place[a] > place[b]]
    there = {name: _has_cell(read[name]) for name in {name for pair in turned for name in pair}}
    if any(np.any(there[a] & there[b]) for a, b in turned):
        return read
    return replace(read, columns=tuple(read[name] for name in meant.names))


def _has_cell(column: Column) -> NDArray[np.bool_]:
    is_told: NDArray[np.bool_] = np.asarray(column.nothing(slice(None), None).is_valid())
    return ~column.missing | is_told


def last_doubts(
    plan: Plan, original: Dataset, released: Dataset, unchanged: Iterable[UnchangedCells], told: Sequence[Doubt]
) -> tuple[Doubt, ...]:
    """Doubts about the released file: variables that are as they were, and classes smaller than promised.

    Every release of data in memory is counted here, after the last cell went.
    """
    if released.households is None and original.households is not None:
        origin = slice(None) if released.origin is None else rows_of(original, released)
        released = replace(released, households=original.households[origin])
    classes = promised_classes(released, plan)
    return (
        *unchanged_doubts(unchanged, plan, told),
        *class_doubts(plan, {column.name for column in released if column.missing.any()}, classes),
        *_weight_doubts(plan, original, released),
    )


def _weight_doubts(plan: Plan, original: Dataset, released: Dataset) -> Iterator[Doubt]:
    """Doubts about suppressed cells, and about recoded or perturbed ones, that the weights show."""
    if not any(column.variable.role == "weight" for column in released):
        return
    before = original if released.origin is None else original.taken(rows_of(original, released))
    from maskwright.masking.suppressing.weight_inference import (
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
