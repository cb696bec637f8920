"""A run prepared: refused steps, the plan, and the checks of the plan. Nothing is masked or written."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from maskwright.commands.running.cost_estimates import refuse_unreadable
from maskwright.commands.running.loading import CheckedInput, Clock, explained_by, load_input, reasons_first
from maskwright.data.dataset import Dataset
from maskwright.data.record_order import RANDOM_ORDER
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import InputError, Problem, refuse_problems
from maskwright.foundation.findings import Notice
from maskwright.foundation.progress import Reporter, notify, stage
from maskwright.foundation.release_outcomes import PlanRefused
from maskwright.masking.protecting.processes import refuse_unsendable
from maskwright.pipeline.execution_section import choice_notices
from maskwright.pipeline.file_model import kind_called
from maskwright.pipeline.resolved import DataInMemory, Pipeline
from maskwright.pipeline.variable_names import in_order
from maskwright.planning.applicable_edits import refuse_contradictions
from maskwright.planning.make_plan import make_plan
from maskwright.planning.recoded_edits import (
    published_before_data,
    recoded_alone,
    recoded_edit_notices,
    recoded_variables,
    settled,
)
from maskwright.planning.warnings.publication_warnings import household_doubts, publication_notices
from maskwright.planning.warnings.wrong_edits import distorting_edit_doubts
from maskwright.plugins.guarding.frozen import frozen
from maskwright.release.data_file import data_facts
from maskwright.release.measures.variable_selection import (
    covered_by_thresholds,
    measure_doubts,
    measure_problems,
    to_be_measured,
)
from maskwright.release.output_format import label_notices, missing_code_notices
from maskwright.release.pseudonymisation import Arranged, arranged
from maskwright.release.reference_validation import no_reference_doubts

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.foundation.doubts import Doubt
    from maskwright.masking.masking_result import MaskingResult
    from maskwright.pipeline.extras.plan_checks import PlanFinding
    from maskwright.pipeline.resolved import MaskingRequest
    from maskwright.planning.model import Step
    from maskwright.planning.plan import Plan


def refuse_steps(request: MaskingRequest) -> None:
    """Refuse steps that households, the block size or processes rule out, before any data are read."""
    _refuse_units(request)
    _refuse_methods_that_count_records(request)
    _refuse_small_blocks(request)
    if request.execution.processes:
        refuse_unsendable(request.steps)


def _refuse_units(request: MaskingRequest) -> None:
    """Only data of several levels have groups that can be masked as one record."""
    problems = [
        Problem(f"unit: {step.unit!r} is a level, and the data have none", step.place,
                "Declare `data: levels:`; `maskwright explain levels` says how.", step=step.number)
        for step in request.steps if step.unit is not None
    ]  # fmt: skip
    refuse_problems(problems)


def _refuse_methods_that_count_records(request: MaskingRequest) -> None:
    """With households declared, k is a number of households; a method that promises k has to count them."""
    cluster = request.data.cluster
    held = request.data.data if isinstance(request.data, DataInMemory) else None
    if cluster is None and not (isinstance(held, Dataset) and held.households is not None):
        return
    named = "" if cluster is None else f" ({cluster})"
    message = held.groups_said if isinstance(held, Dataset) else "households"
    hint = f"use a method that counts {message}" + (
        "" if cluster is None else ", or remove 'cluster', knowing that k then counts single records"
    )
    problems = [
        Problem(
            f"{step.method.name} counts k in single records, and {message} are declared{named}",
            step.place,
            hint,
            step=step.number,
        )
        for step in request.steps
        if step.promised is not None and not step.method.claims.counts_households
    ]
    refuse_problems(problems)


def _refuse_small_blocks(request: MaskingRequest) -> None:
    """A block has to hold two clusters, or a file just above the block size would be cut below k."""
    size = request.execution.block_size
    problems = [
        Problem(
            f"block_size is {size}, but step {step.number} needs blocks of at least 2 k = {2 * step.k} records",
            step.place,
        )
        for step in request.steps
        if size is not None and step.k is not None and size < 2 * step.k
    ]
    refuse_problems(problems)


@dataclass(frozen=True, eq=False, kw_only=True)
class ReadyRun(CheckedInput):
    """A request with its data and edits read, and the plan made.

    `edits`: that fire on these data, and that the steps do not drop. `dropped`: those that they drop, because what they
    read is published as categories. `remedy_of_order`: how its records are published in random order.
    """

    request: MaskingRequest
    plan: Plan
    dropped: tuple[Edit, ...] = ()
    remedy_of_order: str = RANDOM_ORDER

    @property
    def is_shuffled(self) -> bool:
        """Whether the records are released in random order."""
        requested = self.request.release.order
        return requested == "random" or (requested is None and bool(self.keys.names))

    def with_doubts_once_masked(self, result: MaskingResult) -> MaskingResult:
        """Add doubts about edits that distort, and about what the order of the records says if it is the original's."""
        wrong = distorting_edit_doubts(
            result.doing_most, self.arrival.edits, self.edits, self.original, self.doubts
        )  # fmt: skip
        found, removal = [*result.doubts, *wrong], result.removal
        if removal is not None and removal.data is not removal.shown:
            from maskwright.masking.suppressing.inference_findings import order_doubts  # of suppressed cells

            inferred = {each.subject for each in found if each.kind == "suppressed-cells-follow"}
            found += order_doubts(
                removal.shown, removal.data, self.plan.untouched, inferred, is_shuffled=self.is_shuffled,
                remedy=self.remedy_of_order,
            )  # fmt: skip
        return replace(result, doubts=tuple(found))

    def arranged(self, masked: Dataset, seed: int) -> Arranged:
        """Masked data with their new keys, in the order of the release."""
        return arranged(
            masked, self.original, self.keys, seed, is_shuffled=self.is_shuffled, untouched=self.plan.untouched
        )


def prepare(
    request: MaskingRequest,
    reporter: Reporter,
    clock: Clock | None = None,
    *,
    thorough: bool = True,
    computed: Collection[str] = (),
    remedy_of_order: str = RANDOM_ORDER,
) -> ReadyRun:
    """Read data and edits, check the original, make the plan."""
    from maskwright.disclosure.attacks.record_order import file_order_doubts, number_order_doubts

    timed = clock or Clock()
    refuse_steps(request)
    refuse_unreadable(request)
    loaded = load_input(request, reporter, timed, thorough=thorough)
    with timed("plan"), stage(reporter, "Planning"):
        plan = plan_of(request, loaded, computed)
        loaded = _with_digits_for_xpath(loaded, plan)
    dropped = dropped_edits(loaded.edits, plan)
    notices = (
        *loaded.notices,
        *recoded_edit_notices(plan.translations, dropped),
        *_idle_workers_notices(request, plan),
        *plan.warnings,
        *publication_notices(loaded.original, plan, loaded.broken, computed),
    )
    ready = ReadyRun(**vars(loaded), request=request, plan=plan, dropped=dropped, remedy_of_order=remedy_of_order)
    shown = [name for name in plan.untouched if name not in computed and not plan.variables[name].renewed]
    by_order = [] if ready.is_shuffled else [*file_order_doubts(plan, ready.original, remedy=remedy_of_order)]
    by_order += number_order_doubts(plan, ready.original, shown)
    by_order += household_doubts(ready.original, plan, is_shuffled=ready.is_shuffled)
    return replace(ready, edits=plan.edits, notices=notices, doubts=(*loaded.doubts, *plan.doubts, *by_order))


class ToPublish(NamedTuple):
    """A table that is to be published: the original, its variables as they are published, and those recoded."""

    original: Dataset
    variables: tuple[Variable, ...]
    recoded: Collection[str]


def output_findings(
    described: Pipeline, tables: Mapping[str, ToPublish]
) -> tuple[tuple[Doubt, ...], tuple[Notice, ...]]:
    """Doubts and notices of the files to be written, before anything is masked; what a format cannot hold is refused.

    `tables`: by level; that of a flat file has no name.
    """
    output, has_codebook = described.output, described.output.codebook is not None
    notices = [*choice_notices(described), *earlier_release_notices(described)]
    for level, (original, variables, recoded) in tables.items():
        if output.source.format.refuse_unwritable is not None:
            path = output.level_data.get(level, output.data)
            output.source.format.refuse_unwritable(path, variables, original.layout)
        found = (
            *missing_code_notices(original.without(tuple(recoded)), output.source, has_codebook=has_codebook),
            *label_notices(original, output.source, has_codebook=has_codebook),
        )
        notices += [each.on(level) for each in found] if level else found
    return tuple(no_reference_doubts(output.source)), tuple(notices)


def _with_digits_for_xpath(loaded: CheckedInput, plan: Plan) -> CheckedInput:
    """Columns that are published as they are keep the file's digits where tests in XPath alone calculate with them.

    In binary64 1.1 + 2.2 equals 3.3000000000000003, and not 3.3: with other digits, such a test would fail.
    """
    altered = {*plan.altered}
    exact, kept, changed = set[str](), set[str](), set[str]()
    for edit in plan.edits:
        is_exact = edit.engine is None and edit.binding == "exact"
        (exact if is_exact else kept if altered.isdisjoint(edit.variables) else changed).update(edit.variables)
    read = [each for each in loaded.original if each.stored is not None and each.name in kept | changed]
    columns = {each.name: each.as_stored() for each in read if each.name in kept - exact - changed}
    notices = []
    if columns:
        message = f"{', '.join(columns)}: published with the digits of the file, with which tests in XPath calculate"
        notices.append(Notice("digits-of-the-file", "", message, len(columns)))
    others = [each.name for each in read if each.name in kept - altered - columns.keys()]
    if others:
        message = (
            f"{', '.join(others)}: published as decimals, with which sums in binary arithmetic may differ: a test in "
            "XPath has to allow for half a unit of the last decimal, as `maskwright edits --to schematron` writes it"
        )
        notices.append(Notice("published-as-decimals", "", message, len(others)))
    return replace(
        loaded, original=loaded.original.with_columns(columns), notices=(*loaded.notices, *notices)
    )  # fmt: skip


def plan_of(request: MaskingRequest, loaded: CheckedInput, computed: Collection[str] = ()) -> Plan:
    """Plan of a request's steps on data that have been read; its edits are those that the steps do not drop."""
    variables = [*loaded.identifiers, *loaded.original.variables]
    with reasons_first(loaded.doubts, request.waivers), explained_by(loaded.doubts):
        plan = plan_of_steps(
            request.steps, variables, loaded.edits, loaded.original, loaded.broken, computed, is_whole=True
        )  # fmt: skip
    return replace(plan, disclosure=request.disclosure)


def plan_of_steps(
    steps: Sequence[Step],
    variables: Sequence[Variable],
    edits: EditSet,
    data: Dataset | None = None,
    broken: Mapping[str, int] | None = None,
    computed: Collection[str] = (),
    *,
    is_whole: bool = False,
) -> Plan:
    """Plan with what becomes of the edits on recoded variables, as far as that is known before masking.

    Steps are refused whose limits no record could satisfy, or in whose categories an edit cannot be expressed.
    `is_whole`: whether the data are those that the steps get.
    """
    coarse = recoded_variables(edits, steps, variables, broken or {}, data)
    known = published_before_data(steps, variables, coarse)
    tried = recoded_alone(steps, variables, coarse) if is_whole else {}
    coarse = replace(coarse, foreseen=frozenset(known), tried=frozenset(tried))
    found = settled(edits, coarse, known, lambda _: None, coarse.steps.keys() - known.keys())
    dropped = {edit.name for edit in found.dropped}
    kept = EditSet(tuple(edit for edit in edits if edit.name not in dropped), edits.notes)
    plan = make_plan(
        steps, variables, kept, data, broken, coarse=coarse, translations=found.translations, elsewhere=computed
    )
    if len(plan.limits):
        refuse_contradictions(plan.edits + plan.limits, tuple(plan.variables.values()), thorough=False)
    if data is not None and tried:
        from maskwright.masking.context import refuse_untranslatable  # with all that masks

        refuse_untranslatable(plan, variables, data)
    return plan


def doubts_of_measures(request: Pipeline, plan: Plan) -> tuple[Doubt, ...]:
    """Doubts about what a pipeline measures; mistakes in it are refused here, before anything is masked."""
    given = to_be_measured(plan)
    problems = measure_problems(request.measures, given)
    if problems:
        raise InputError(in_order(problems, request.file))
    covered = covered_by_thresholds(request.measures, request.thresholds, given, plan.masked)
    return tuple(measure_doubts(request.measures, request.thresholds, given, plan.masked, covered))


def dropped_edits(edits: EditSet, plan: Plan) -> tuple[Edit, ...]:
    """Edits that the steps of a plan drop."""
    kept = {edit.name for edit in plan.edits}
    return tuple(edit for edit in edits if edit.name not in kept)


def earlier_release_notices(request: Pipeline) -> tuple[Notice, ...]:
    """Notice when the record to be replaced says that these data were released before, with other random numbers.

    Two releases of one file that were masked at random can be averaged, which takes noise away.
    """
    path = request.output.record
    if path is None or not path.is_file() or all(step.is_deterministic for step in request.steps):
        return ()
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
        before = {entry["sha256"] for entry in record["inputs"] if entry["role"] == "data"}
        seed = record["seed"]
    except (OSError, ValueError, KeyError, TypeError):
        return (Notice("replaces-another-file", "", f"{path.name} exists and is no run record: it will be replaced"),)
    sources = [request.data] if request.levels is None else request.levels.sources.values()
    if seed == request.seed or before.isdisjoint(data_facts(each)["sha256"] for each in sources):
        return ()
    danger = "whoever gets both releases can average them and so remove noise"
    message = f"{path.name} says that these data were masked before with another seed: {danger}"
    return (Notice("released-before", "", message),)


def _idle_workers_notices(request: MaskingRequest, plan: Plan) -> tuple[Notice, ...]:
    """Notice where workers are requested, and nothing makes the blocks that they would share."""
    workers = request.execution.workers
    strata = [1 if group.strata is None else group.strata.count for group in plan.groups]
    if workers in (None, 1) or request.execution.block_size is not None or max(strata, default=1) > 1:
        return ()
    message = f"execution: workers: {workers} mask blocks at the same time, and there is one for each variable group"
    message += ": add `block_size: 50000` for blocks, or `engine: processes` for a run over parts"
    return (Notice("idle-workers", "", message),)


def apply_plan_checks(described: Pipeline, plan: Mapping[str, Any], reporter: Reporter) -> None:
    """Tell what the checks of a pipeline warn of, and stop where one refuses."""
    found = list(_findings(described, plan))
    notify(reporter, (Notice("plan-check", "", f"{name}: {each.message}") for name, each in found if not each.refuses))
    refused = [Problem(f"{name}: {each.message}", hint=each.hint) for name, each in found if each.refuses]
    if refused:
        raise PlanRefused(refused)


def plan_findings(described: Pipeline, plan: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What the checks say, as ``maskwright plan --json`` prints it."""
    return [
        {"check": name, "refuses": each.refuses, "message": each.message, "hint": each.hint}
        for name, each in _findings(described, plan)
    ]


def plan_for_checks(described: Pipeline, plan: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a check is given: the plan, and of the pipeline what is no part of it; nothing in it can be changed."""
    settings = {
        "measure": [each.label for each in described.measures],
        "thresholds": dict(described.thresholds),
        "waived": [kind.name for waiver in described.waivers if (kind := kind_called(waiver.doubt)) is not None],
        "output": list(described.output.paths),
    }
    return frozen({**plan, "pipeline": settings})


def _findings(described: Pipeline, plan: Mapping[str, Any]) -> Iterator[tuple[str, PlanFinding]]:
    if not described.checks:
        return
    shown = plan_for_checks(described, plan)
    for each in described.checks:
        for finding in each.extra.work(shown, each.params):
            yield each.extra.name, finding
