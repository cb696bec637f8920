"""Reference validation: the written file, read and evaluated a second time by independent means."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.edits.evaluation.domain import domain_tuples
from maskwright.edits.evaluation.reference_evaluator import ReferenceEvaluator, combination
from maskwright.edits.evaluation.reference_values import NUMBER, Undetermined, day_number, exact, truth
from maskwright.edits.evaluation.reference_vectors import DIGITS, Cells, ExactVectors, XPathVectors
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import EvaluationsDisagree, Problem
from maskwright.foundation.findings import Notice
from maskwright.foundation.progress import Progress, silent
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from fractions import Fraction
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.evaluation.outcomes import EditOutcome
    from maskwright.plugins.source import Source
    from maskwright.release.reference_reader import Readable


SAMPLE = 2_000
FEWER = 10
"""Of the sampled records, every tenth is enough for a rule that is evaluated on all records."""
READ_TWICE = ("csv", "xml", "parquet")


@dataclass(eq=False)
class ReferenceVerdict:
    """What the second evaluation has seen of one edit: record numbers count from 1."""

    edit: Edit
    sampled: dict[int, bool | None] = field(default_factory=dict)
    is_whole: bool = True
    violating: set[int] = field(default_factory=set)
    unknown: int = 0
    untold: int = 0


def validate_by_reference(
    path: Path,
    source: Source,
    masked: Dataset,
    edits: EditSet,
    outcome: Outcome,
    original: Dataset,
    sample: int = SAMPLE,
    progress: Progress = silent,
) -> tuple[str, ...]:
    """Evaluate the edits of a written file a second time."""
    from maskwright.release.part_layout import unrenamed_parts  # of parts

    file_format = source.name
    details = masked.layout.details if masked.layout.format == file_format else {}
    path_of_records = tuple(details.get("record_path", ("Microdata", "Record"))) if file_format == "xml" else None
    own = (edit for edit in edits if edit.for_validation.engine is None)
    verdicts = [ReferenceVerdict(edit) for edit in own if _is_about(edit, path_of_records)]
    decimals = {variable.name: variable.decimals for variable in original.variables}
    floats = binary_columns(path, source, masked)
    binary = frozenset(name for name in floats if decimals.get(name) is None)
    opinion = evaluator_of(masked.variables, binary, combinations_asked(original, verdicts))
    wanted = np.unique(np.linspace(0, max(outcome.records - 1, 0), min(sample, outcome.records)).astype(np.int64))
    done = 0
    try:
        numeric = {each.name for each in masked.variables if each.is_numeric and not each.is_date}
        for block in unrenamed_parts(path, source, masked.layout, masked.names, numeric):
            n = len(block[masked.names[0]])
            here = wanted[(wanted >= done) & (wanted < done + n)] - done
            evaluate_block(block, n, done, here.tolist(), verdicts, opinion, decimals)
            done += n
            progress(min(1.0, done / max(outcome.records, 1)))
    except Undetermined:
        raise EvaluationsDisagree(Problem("the written file cannot be cut into records a second time")) from None
    if done != outcome.records:
        raise EvaluationsDisagree(
            Problem(f"the written file has {outcome.records} records, and {done} the second time")
        )
    refuse_disagreement(differences(verdicts, outcome), "the written file")
    return unjudged_edits(verdicts, outcome)


def evaluator_of(
    variables: Iterable[Variable], binary: frozenset[str], asked: Mapping[tuple[str, ...], frozenset[Any]]
) -> ReferenceEvaluator:
    """Reference evaluator that knows missing codes and dates of the written variables.

    `binary`: variables that the file stores as binary64, without declared decimals. `asked`: see `combinations_asked`.
    """
    known = tuple(variables)
    return ReferenceEvaluator(
        binary,
        {each.name: frozenset(code.strip() for code in each.empty_texts) for each in known},
        {each.name: tuple((code.strip(), meaning) for code, meaning in each.empty_meanings) for each in known},
        asked,
        {each.name: each.date_text for each in known if each.is_date},
    )


def combinations_asked(
    original: Dataset, verdicts: Iterable[ReferenceVerdict]
) -> dict[tuple[str, ...], frozenset[Any]]:
    """Combinations in the original for each tuple of variables that the edits require to occur there."""
    return {names: combinations(original, names) for names in domain_tuples(each.edit for each in verdicts)}


def refuse_disagreement(problems: Sequence[Problem], what: str) -> None:
    """Stop where the two evaluations of written files differ."""
    if problems:
        hint = "This is a bug in Maskwright: nothing was released. Please report it with the rule."
        raise EvaluationsDisagree([*problems, Problem(f"the two evaluations of {what} disagree", hint=hint)])


def unjudged_edits(
    verdicts: Iterable[ReferenceVerdict], outcome: Outcome, judged_elsewhere: Collection[str] = ()
) -> tuple[str, ...]:
    """Edits that fired and that the second evaluation could not decide on most of the sampled records."""
    evaluated = {seen.edit.name for seen in verdicts if seen.is_whole or len(seen.sampled) > seen.untold}
    evaluated |= {*judged_elsewhere}
    return tuple(each.name for each in outcome.edits if each.fired and each.name not in evaluated)


def has_reference_reader(source: Source) -> bool:
    """Whether a written file can be read by other means than its source: the formats that Maskwright brings along."""
    is_ours = plugins().info("source", source.name).distribution == "maskwright"
    return is_ours and (source.name in READ_TWICE or source.read_plainly is not None)


def no_reference_doubts(source: Source) -> Iterator[Doubt]:
    """Doubt about a written file that is read by its source only."""
    if not has_reference_reader(source):
        yield Doubt("written-file-not-read-twice", "", f"only its source, {source.name}, reads the masked file")


def validated_once_notices(alone: Sequence[str], of: int) -> Iterator[Notice]:
    """A notice of the edits that are evaluated only once."""
    if alone:
        message = f"{len(alone)} of {of} edits have no second opinion: {', '.join(alone)}"
        yield Notice("validated-once", "", message, len(alone), of)


def _is_about(edit: Edit, path: tuple[str, ...] | None) -> bool:
    """Whether the context of an edit is the records' element, or a path that ends with it."""
    if edit.shadowed:
        return False
    if edit.context is None or path is None:
        return True
    steps = [step for step in edit.context.strip().split("/") if step]
    whole = edit.context.strip().startswith("/") and not edit.context.strip().startswith("//")
    return list(path) == steps if whole else list(path)[-len(steps) :] == steps


def binary_columns(path: Path, source: Source, masked: Dataset) -> frozenset[str]:
    """Names of the variables that a written file stores as binary64."""
    if source.name != "parquet":
        return frozenset(each.name for each in masked.variables if each.is_numeric and not source.writes_text)
    import pyarrow as pa
    import pyarrow.parquet as pq

    from maskwright.release.part_layout import first_file  # of parts

    schema = pq.read_schema(first_file(path, masked.layout))
    return frozenset(field.name for field in schema if pa.types.is_floating(field.type))


def combinations(original: Dataset, names: tuple[str, ...]) -> frozenset[Any]:
    """Combinations of values of the original in which none is missing."""
    columns: list[list[float | str | None]] = []
    for name in names:
        column = original[name]
        values = column.values.tolist()
        if not column.variable.is_numeric:
            texts = column.variable.categories
            meant = (*combination(texts, map(_number, texts)), "")
            values = [meant[code] for code in values]
        columns.append([None if gone else each for each, gone in zip(values, column.missing.tolist(), strict=True)])
    return frozenset(cells for cells in zip(*columns, strict=True) if None not in cells)


def _number(text: str) -> Fraction | None:
    number = exact(text)
    day = day_number(text) if number is None else None
    return number if day is None else day


def evaluate_block(
    block: Mapping[str, Readable],
    n: int,
    before: int,
    rows: Sequence[int],
    looked: Sequence[ReferenceVerdict],
    opinion: ReferenceEvaluator,
    decimals: dict[str, int | None],
) -> None:  # fmt: skip
    """Evaluate all edits on the `n` records of a block, or, where that cannot be, on some of its rows."""
    cells = functools.cache(lambda name: cells_of(block[name], name, opinion, decimals.get(name)))
    stated = functools.cache(lambda name: cells_of(block[name], name, opinion, decimals.get(name), knows_dates=False))
    # Most rules ask for few of the sampled records: those of the others need no text.
    record = functools.cache(lambda row: {name: column.text(row) for name, column in block.items()})
    for seen in looked:
        if seen.is_whole:
            evaluator = ExactVectors(cells) if seen.edit.binding == "exact" else XPathVectors(stated)
            try:
                true, false = (np.broadcast_to(each, n) for each in truth(seen.edit.expression, evaluator))
                seen.violating.update((np.flatnonzero(false) + before + 1).tolist())
                seen.unknown += int(np.count_nonzero(~(true | false)))
            except Undetermined:
                seen.is_whole = False
        step = FEWER if seen.is_whole else 1
        for row in rows[::step]:
            try:
                seen.sampled[row + before + 1] = opinion.verdict(seen.edit, record(row))
            except Undetermined:
                seen.untold += 1


def cells_of(
    column: Readable, name: str, opinion: ReferenceEvaluator, decimals: int | None, *, knows_dates: bool = True
) -> Cells:
    """Numbers of a column; of dates their days, but for XPath, which knows none."""
    is_date = knows_dates and name in opinion.dates
    values, odd = column.days(opinion.dates[name]) if is_date else column.numbers(decimals)
    codes = opinion.missing.get(name, frozenset())
    days = (opinion.number(name, code) for code in codes) if is_date else ()
    numbers = [float(day) for day in days if day is not None] or [float(code) for code in codes if NUMBER.match(code)]
    missing, absent = np.isnan(values), np.zeros_like(odd)
    for row in np.flatnonzero(odd | np.isin(values, numbers)).tolist():
        text = column.text(row)
        found = None if is_date else NUMBER.match(text or "")
        if found and len(found[1].rstrip("0")) > DIGITS:
            raise Undetermined
        number = opinion.number(name, text) if knows_dates and not found else None
        values[row] = float(found[1]) if found else np.nan if number is None else float(number)
        missing[row], absent[row] = opinion.is_blank(name, text), text is None
    return Cells(values, missing, absent)


def differences(verdicts: Iterable[ReferenceVerdict], outcome: Outcome) -> list[Problem]:
    """How the verdicts of the second evaluation differ from those of the first."""
    first = {each.name: each for each in outcome.edits}
    return [problem for seen in verdicts for problem in _differences(seen, first[seen.edit.name])]


def _differences(seen: ReferenceVerdict, one: EditOutcome) -> list[Problem]:
    # Only the first violations are listed by number.
    last = int(one.listed[-1]) if len(one.listed) < one.violations else math.inf
    listed = frozenset(one.listed.tolist())
    differing = {number for number, verdict in seen.sampled.items() if (verdict is False) != (number in listed)}
    if seen.is_whole:
        differing |= listed ^ seen.violating
    differing = {number for number in differing if number <= last}
    messages: list[str] = []
    if differing:
        messages.append(f"{len(differing)} records are judged differently, first record {min(differing)}")
    if seen.is_whole and len(seen.violating) != one.violations:
        messages.append(f"{one.violations} violations, and {len(seen.violating)} the second time")
    if seen.is_whole and seen.edit.binding == "exact" and seen.unknown != one.unknown:
        messages.append(f"{one.unknown} records unknown, and {seen.unknown} the second time")
    return [Problem(f"edit {seen.edit.name!r}: {each}") for each in messages]
