"""The plan of a run over parts: every part scanned, and the plan made on a sample with what all parts contain."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.commands.parted.task_settings import Stored, WholeVariable, in_file_terms, stacked, whole_variables
from maskwright.commands.running.input_violations import WAYS_OUT, input_violation, violated_edits
from maskwright.commands.running.loading import explained_by, identifier_notices, read_rules, reasons_first
from maskwright.commands.running.preparation import dropped_edits, plan_of_steps
from maskwright.data.column_doubts import missing_notes, missing_sentences
from maskwright.data.sketches.record_hashes import record_hashes, sampled
from maskwright.data.variable import Variable
from maskwright.disclosure.attacks.record_order import file_order_doubts, number_order_doubts
from maskwright.edits.evaluation.check import Outcome
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.evaluation.outcomes import FIRST_RECORDS, MOST_LISTED, EditOutcome, merged_undecidable
from maskwright.edits.languages.schematron.binding import bound_to
from maskwright.edits.normalisation import written_out
from maskwright.edits.type_resolution import with_category_equalities, with_dates
from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.findings import Notice, notices_of
from maskwright.masking.context import Standardisation
from maskwright.planning.applicable_edits import (
    applicable,
    declared_bounds,
    identifiers_of,
    refuse_contradictions,
    refuse_identifiers,
)
from maskwright.planning.recoded_edits import recoded_edit_notices
from maskwright.planning.warnings.misspelt_categories import misspelt_category_doubts
from maskwright.planning.warnings.plan_warnings import strata_notices
from maskwright.planning.warnings.publication_warnings import (
    publication_notices,
    refuse_arithmetic_on_text,
    undecided_doubts,
)
from maskwright.planning.warnings.wrong_edits import wrong_edit_doubts

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset, Layout
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.outcomes import UnknownBecause
    from maskwright.foundation.doubts import Doubt
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.planning.plan import Plan


@dataclass(frozen=True, eq=False)
class ScannedFile:
    """What the first look at all parts found.

    `hashes`: shape (m,). `identifiers`: columns that are there, and are not published.
    """

    variables: Mapping[str, WholeVariable]
    stated: EditSet
    outcome: Outcome
    domain: Domain
    sample: Dataset
    hashes: NDArray[np.uint64]
    layout: Layout
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]
    records: int
    identifiers: tuple[str, ...] = ()


def scanned_file(shares: Sequence[tuple[str, int, ScannedPart]]) -> ScannedFile:
    """What all parts say together."""
    variables = whole_variables((name, each.variables) for name, _, each in shares)
    scanned = [each for _, _, each in shares]
    sample = stacked([in_file_terms(each.sample, variables) for each in scanned])
    doubts: dict[tuple[str, str], Doubt] = {}
    for each in scanned:
        for doubt in each.doubts:
            doubts.setdefault((doubt.kind, doubt.subject), doubt)
    # What is said of every part alike is said of the file; counts of single parts would mislead.
    stated = Counter(note for each in scanned for note in dict.fromkeys(each.notes))
    records = sum(each.outcome.records for each in scanned)
    alike = [note for note, times in stated.items() if times == len(scanned)]
    read = [
        each.grid.notice(name, each.variable.decimals)
        for name, each in variables.items()
        if each.is_read and each.grid is not None and each.variable.decimals is not None
    ]
    alike = [*dict.fromkeys((*alike, *(note for note in read if note is not None)))]
    notes = (*alike, *missing_sentences([each.gone for each in variables.values()], records))
    return ScannedFile(
        variables, scanned[0].edits, merged_outcome([(first, each.outcome) for _, first, each in shares]),
        Domain.merged([each.domain for each in scanned]), sample,
        np.concatenate([each.hashes for each in scanned]), scanned[0].layout, tuple(doubts.values()), notes,
        records,
    )  # fmt: skip


def are_read_alike(shares: Sequence[tuple[str, int, ScannedPart]], whole: ScannedFile) -> bool:
    """Whether each part alone was read with the decimals that the numbers of all of them stand for."""
    for _, _, part in shares:
        for each in part.variables:
            known = whole.variables[each.variable.name]
            own, places = each.variable.decimals, known.variable.decimals
            is_exact = not each.is_read and None not in (own, places)
            if (each.is_read or known.is_read) and each.present and own != places and not is_exact:
                return False
    return True


def merged_outcome(shares: Sequence[tuple[int, Outcome]]) -> Outcome:
    """Verdicts on a file from those on its parts."""
    together = [
        _merged_edit([(first, outcome.edits[position]) for first, outcome in shares])
        for position in range(len(shares[0][1].edits))
    ]
    return Outcome(sum(outcome.records for _, outcome in shares), tuple(together))


def _merged_edit(shares: Sequence[tuple[int, EditOutcome]]) -> EditOutcome:
    verdicts = [each for _, each in shares]
    listed = np.concatenate([each.listed + first for first, each in shares])[:MOST_LISTED]
    fired = sum(each.fired for each in verdicts)
    return replace(
        verdicts[0],
        violations=sum(each.violations for each in verdicts),
        unknown=sum(each.unknown for each in verdicts),
        fired=fired,
        first_records=tuple(int(number) for number in listed[:FIRST_RECORDS]),
        listed=listed,
        reasons=_reasons(each.reasons for each in verdicts),
        undecided=fired > 0 and all(each.undecided for each in verdicts if each.fired),
        undecidable=merged_undecidable((first, each.undecidable) for first, each in shares),
    )


def _reasons(shares: Iterable[tuple[UnknownBecause, ...]]) -> tuple[UnknownBecause, ...]:
    """Why verdicts are unknown, with counts added; the most frequent first."""
    found: dict[tuple[str, str], UnknownBecause] = {}
    for reasons in shares:
        for each in reasons:
            key = (each.variable, each.cause)
            known = found.get(key)
            found[key] = each if known is None else replace(each, records=each.records + known.records)
    return tuple(sorted(found.values(), key=lambda each: -each.records))


@dataclass(frozen=True, eq=False)
class PartsPlan:
    """A plan, and what there is to say of it.

    `plan`: its groups have the strata of the sample. `edits`: that fire on these data. `dropped`: those that steps
    drop, because what they read is published as categories.
    """

    plan: Plan
    edits: EditSet
    standardisation: Standardisation
    notices: tuple[Notice, ...]
    doubts: tuple[Doubt, ...]
    dropped: tuple[Edit, ...] = ()


def planned(pipeline: Pipeline, found: ScannedFile) -> PartsPlan:
    """Plan a run from what all parts say, and a sample."""
    broken = {each.name: each.violations for each in found.outcome.edits}
    failing = violated_edits(found.outcome.edits)
    sample = replace(found.sample, layout=found.layout)
    variables = tuple(each.variable for each in found.variables.values())
    edits, silent = applicable(found.stated, found.outcome, sample)
    wrong = (*wrong_edit_doubts(found.outcome.edits, edits, sample), *misspelt_category_doubts(edits, sample))
    with reasons_first(wrong, pipeline.waivers):
        if failing and pipeline.on_input_violation == "fail":
            raise input_violation(failing, WAYS_OUT)
    if pipeline.disclosure.attacks:
        message = "attacks need the whole release in memory, and this one is made in parts"
        raise InputError(Problem(message, hint="Leave `disclosure.attacks` out, and attack a sample of it."))
    with reasons_first(wrong, pipeline.waivers), explained_by(found.doubts):
        rules = refuse_contradictions(edits, variables, thorough=True)
        refuse_arithmetic_on_text(edits, sample)
        hidden = [Variable(name, "nominal", "identifier") for name in found.identifiers]
        is_whole = len(sample) == found.records
        plan = plan_of_steps(pipeline.steps, [*hidden, *variables], edits, sample, broken, is_whole=is_whole)
    dropped = dropped_edits(edits, plan)
    plan = replace(plan, records=found.records)
    notices = (
        *identifier_notices(found.identifiers), *notices_of("reading", found.notes),
        *notices_of("rules", found.stated.notes), *silent, *rules,
        *recoded_edit_notices(plan.translations, dropped), *plan.warnings,
        *publication_notices(sample, plan, broken, ()),
    )  # fmt: skip
    if len(sample) < found.records:
        # Which strata are small, the whole file says.
        of_sample = strata_notices(plan.groups, plan.steps)
        notices = tuple(each for each in notices if each not in of_sample)
    numbers = [each.name for each in variables if each.is_numeric]
    ordered = (*file_order_doubts(plan, sample, numbers), *number_order_doubts(plan, sample, plan.untouched))
    doubts = (*found.doubts, *wrong, *undecided_doubts(found.outcome), *plan.doubts, *ordered)
    return PartsPlan(plan, plan.edits, standardisation_of(found.variables, plan.masked), notices, doubts, dropped)


def standardisation_of(variables: Mapping[str, WholeVariable], names: Sequence[str]) -> Standardisation:
    """Centre and scale of the named variables, from exact moments of the whole file."""
    moments = {name: variables[name].moments for name in names}
    return Standardisation(
        {name: each.mean for name, each in moments.items()}, {name: each.scale for name, each in moments.items()}
    )


SCANNED = "scanned"
"""File with what was found of a part."""

SAMPLE = 200_000
"""Records, chosen by their hash, on which the plan is made and from which the k-d cuts are."""

LEAF_SAMPLE = 64
"""Sampled records for each block at least: with fewer, leaves would differ in size by more than an eighth."""


@dataclass(frozen=True, eq=False)
class ScannedPart:
    """What the first look at a part found.

    `edits`: as rules and declarations state them of these variables. `hashes`: of the sampled records; shape (m,).
    """

    variables: tuple[WholeVariable, ...]
    edits: EditSet
    outcome: Outcome
    domain: Domain
    sample: Dataset
    hashes: NDArray[np.uint64]
    layout: Layout
    doubts: tuple[Doubt, ...]
    notes: tuple[str, ...]


def scan(settings: Stored, folder: Path, key: str) -> Mapping[str, object]:
    """Look at one part for the first time; a task."""
    sheet = settings.read()
    data, first = sheet.records_of(key)
    if data is None:
        return {"records": 0}
    edits = stated_edits(sheet.pipeline, data)
    domain = Domain.from_dataset(data, domain_tuples(edits))
    hashes = record_hashes(first, len(data))
    rows = sampled(hashes, sheet.parts.records, sample_size(sheet.pipeline, sheet.parts.records))
    sample = data.taken(rows)
    # What is missing is counted over all parts.
    own_notes = frozenset(missing_notes(data.columns))
    found = ScannedPart(
        tuple(WholeVariable.of(column) for column in data), edits, check_dataset(data, edits, domain), domain,
        replace(sample, columns=tuple(replace(each, written=None) for each in sample), origin=None),
        hashes[rows], replace(data.layout, missing_as_written={}), data.doubts,
        tuple(note for note in data.notes if note not in own_notes),
    )  # fmt: skip
    Stored.of(found, folder / SCANNED)
    return {"records": len(data)}


def sample_size(pipeline: Pipeline, records: int) -> int:
    """Records that a run samples."""
    size = pipeline.execution.block_size
    return SAMPLE if size is None else max(SAMPLE, LEAF_SAMPLE * (records // size))


def stated_edits(pipeline: Pipeline, data: Dataset) -> EditSet:
    """Edits that rules and declarations state of the variables of a file."""
    hidden = identifiers_of(pipeline.data.variables)
    stated = written_out(bound_to(read_rules(pipeline), data.layout), data.names, hidden)
    stated += declared_bounds(data.variables, stated)
    refuse_identifiers(stated, hidden)
    return with_category_equalities(with_dates(stated, data.variables), data.variables)
