"""Stages of a run between plan and publication: mask, write, read back, validate, measure."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from maskwright.commands.running.release_validation import check_round_trip
from maskwright.foundation.progress import Progress, Reporter, part, stage
from maskwright.masking.context import Execution, Observer
from maskwright.masking.mask import mask
from maskwright.masking.protecting.processes import report_compilation
from maskwright.masking.suppressing.published_rules import rule_file
from maskwright.plugins.guarding.observers import tell
from maskwright.plugins.guarding.origin import package_label
from maskwright.plugins.registry import plugins
from maskwright.release.data_file import write_dataset, written_file
from maskwright.release.file_validation import check_file
from maskwright.release.files import Release, writing
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
from maskwright.release.part_layout import in_parts
from maskwright.release.pseudonymisation import arrangement_notices
from maskwright.release.reference_validation import has_reference_reader, validate_by_reference

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright.commands.running.loading import Clock
    from maskwright.commands.running.preparation import ReadyRun
    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.plugins.block import Block
    from maskwright.plugins.measurement import Measurement
    from maskwright.plugins.method import Masked, Removed


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

    def tell(self, notices: Iterable[str]) -> None:
        """Tell the person who runs it."""
        for notice in notices:
            self.reporter.notice(notice)

    def mask(self) -> MaskingResult:
        """Mask the original in memory."""
        ready = self.ready
        with self.clock("protect"), report_compilation(self.reporter):
            result = mask(
                ready.original, ready.edits, ready.plan, self.seed,
                Execution.of(self.pipeline.execution), self.reporter, _observer(),
            )  # fmt: skip
        self.tell(result.notices)
        return replace(result, doubts=(*result.doubts, *ready.order_doubts(result)))

    def arrange(self, result: MaskingResult) -> MaskingResult:
        """Give the masked records their new keys and their order, and write the map from the old ones if asked for."""
        output = self.pipeline.output
        with self.clock("arrange"):
            endings = self.pipeline.data.source.suffixes
            released = in_parts(self.ready.arranged(result.masked, self.seed), self.ready.original, output, endings)
            data, said = released.data, [*arrangement_notices(released)]
            if output.key_map is not None:
                with writing(self.release.temporary("key_map")):
                    released.write_map(self.release.temporary("key_map"))
            if output.source.format.is_opened_in_spreadsheets:
                said += formula_notices(data, result.edits, escapes=output.escapes_formulas)
                data = escaped(data, result.edits) if output.escapes_formulas else data
            others = [name for name in data.names if name not in self.ready.plan.recoded]
            has_codebook = output.codebook is not None
            said += missing_code_notices(data.without(others), output.source, has_codebook=has_codebook)
        self.tell(said)
        data, renamed = in_codes_of(data, output.source)
        result = result.published_as(data, with_new_codes(result.edits, renamed))
        return replace(result, notices=(*result.notices, *said))

    def write(self, result: MaskingResult) -> Mapping[str, Any]:
        """Write masked data and rules to temporary files; the columns that are as the original holds them."""
        file, title = self.release.temporary("data"), f"Writing{package_label(self.pipeline.output.source.write)}"
        with self.clock("write"), stage(self.reporter, title), writing(file):
            held = write_dataset(
                result.masked, file, self.pipeline.output.source, self.ready.original,
                canonical=self.pipeline.output.numbers == "canonical",
            )  # fmt: skip
        self.release.sealed("data")  # what is read back and checked from here on is what is published
        self._write_rules(result)
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

    def validate(self, result: MaskingResult, progress: Progress) -> tuple[Outcome, list[str]]:
        """Verdict of every edit on every record of the masked file, as if nothing were known of how it was made.

        Told as well is which edits nobody has judged a second time. Works in a thread, so it tells nobody by itself.
        """
        file = written_file(self.release.temporary("data"), self.pipeline, ())
        original = self.ready.original
        reference = result.reference(original)
        known = {variable.name: variable for variable in reference.variables}
        published = (each for each in result.masked.variables if each.name in known)  # new keys are no variables
        known |= {each.name: _with_codes_of(known[each.name], each) for each in published}
        twice = has_reference_reader(file.source)
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.clock("validate"))
            svrl = None
            if self.pipeline.output.svrl is not None:
                stack.enter_context(writing(self.release.temporary("svrl")))
                svrl = stack.enter_context(self.release.temporary("svrl").open("wb"))
            outcome = check_file(
                file.path, file.source, file.params, result.edits, domain=result.domain(original), variables=known,
                svrl=svrl, progress=part(progress, 0.0, 0.5 if twice else 1.0),
            )  # fmt: skip
        if not twice:
            return outcome, []
        with self.clock("second look"):
            alone = validate_by_reference(
                file.path, file.source, result.masked, result.edits, outcome, reference,
                progress=part(progress, 0.5, 1.0),
            )  # fmt: skip
        if not alone:
            return outcome, []
        return outcome, [f"{len(alone)} of {len(outcome.edits)} edits have no second opinion: {', '.join(alone)}"]

    def measure(self, released: Dataset) -> dict[str, Measurement]:
        """Loss and risk of what was read back, by label."""
        plan, requests, original = self.ready.plan, self.pipeline.measures, self.ready.original
        with self.clock("measure"), report_compilation(self.reporter):
            names = released_variables(original, released, plan.altered, plan.recoded)
            about = unmasked_variable_notices(names, plan.altered)
            categories = released_categories(original, released, plan.altered)
            if any(each.asked for each in requests):
                self.tell(about[:1])
            found = compute_measures(
                requests, original, released, plan.edits_on_values, plan.to_json(), self.seed, self.reporter,
                (*names, *categories), about=about,
                about_categories=unmasked_variable_notices(categories, plan.altered), changed=plan.altered,
                drawn=plan.draws_records,
            )  # fmt: skip
        self.tell(
            f"{each.label} has no contributions of single records: none are written"
            for each in requests
            if each.per_record and found[each.label].per_record is None
        )
        return found

    def _write_rules(self, result: MaskingResult) -> None:
        """Write the rules that hold in the published data, where they are not those of the original."""
        target = self.pipeline.output.edits
        if target is None:
            return
        place = result.masked.layout.details.get("record_path")
        text, notices = rule_file(target, result.edits, result.masked, place[-1] if place else None)
        self.tell(notices)
        with writing(self.release.temporary("edits")):
            self.release.temporary("edits").write_text(text, encoding="utf-8")


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
