"""The second pair of eyes: the written file, read and judged once more by other means than the first time.

Every record for rules that are comparisons of sums and products, ranges and sets of numbers, and what is built of them;
a sample of records, spread over the file, for all rules. Rules that an engine evaluates, and verdicts that rest on the
last digits of binary64 arithmetic, have no second opinion.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.edits.evaluation.domain import domain_tuples
from maskwright.edits.evaluation.plain_numbers import CannotTell, Record, exact
from maskwright.edits.evaluation.second_opinion import Opinion, combination
from maskwright.edits.evaluation.second_vectors import MOST, BinaryVectors, Vectors
from maskwright.edits.expression import variable_names
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import EvaluationsDisagree, Problem
from maskwright.plugins.registry import plugins
from maskwright.release.plain_blocks import plain_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.evaluation.second_vectors import Scaled
    from maskwright.edits.evaluation.tally import EditOutcome
    from maskwright.plugins.source import Source
    from maskwright.release.plain_blocks import StoredBlock, TextBlock

    Block = TextBlock | StoredBlock

SAMPLE = 2_000
MOST_ODD = 20_000
"""Records with cells that are no plain numbers, of which a rule on all records is evaluated one by one."""
FEWER = 10
"""Of the sampled records, every tenth is enough for a rule that is evaluated on all records."""
READ_TWICE = ("csv", "xml", "parquet")
SHOWN = 3


@dataclass(eq=False)
class _Seen:
    """What the second evaluation has seen of one edit."""

    edit: Edit
    sampled: dict[int, bool | None] = field(default_factory=dict)
    is_whole: bool = True
    violations: int = 0
    unknown: int = 0
    first: list[int] = field(default_factory=list)
    odd: int = 0


def second_look(
    path: Path,
    file_format: str,
    masked: Dataset,
    edits: EditSet,
    outcome: Outcome,
    original: Dataset,
    sample: int = SAMPLE,
) -> None:
    """Evaluate the edits of a written file a second time.

    Parameters
    ----------
    path : Path
    file_format : str
        One of `READ_TWICE`.
    masked : Dataset
        That was written: its variables in order, and its layout; no records.
    edits : EditSet
    outcome : Outcome
        Of the first evaluation.
    original : Dataset
        Its declarations, and its values for domain edits.
    sample : int
        Records that all rules are evaluated on.

    Raises
    ------
    EvaluationsDisagree
        The two differ: on a verdict, or on the number of records.
    """
    details = masked.layout.details if masked.layout.format == file_format else {}
    path_of_records = tuple(details.get("record_path", ("Microdata", "Record"))) if file_format == "xml" else None
    looked = [_Seen(edit) for edit in edits if edit.engine is None and _is_about(edit, path_of_records)]
    known = {variable.name: variable for variable in original.variables}
    floats = _binary_columns(path) if file_format == "parquet" else frozenset()
    declared = {name: each.decimals for name, each in known.items() if name in floats}
    grids = {name: decimals for name, decimals in declared.items() if decimals is not None}
    opinion = Opinion(
        floats - grids.keys(),
        {name: frozenset(code.strip() for code in each.missing_codes) for name, each in known.items()},
        {names: _combinations(original, names) for names in domain_tuples(each.edit for each in looked)},
    )
    wanted = np.unique(np.linspace(0, max(outcome.records - 1, 0), min(sample, outcome.records)).astype(np.int64))
    done = 0
    try:
        for block in plain_blocks(path, file_format, details, masked.names, grids):
            here = wanted[(wanted >= done) & (wanted < done + len(block))]
            _look(block, done, here, looked, opinion)
            done += len(block)
    except CannotTell:
        raise EvaluationsDisagree(Problem("the written file cannot be cut into records a second time")) from None
    if done != outcome.records:
        raise EvaluationsDisagree(
            Problem(f"the written file has {outcome.records} records, and {done} the second time")
        )
    _compare(looked, outcome)


def is_read_twice(source: Source) -> bool:
    """Whether a written file can be read by other means than its source: the formats that Maskwright brings along."""
    return source.name in READ_TWICE and plugins().info("source", source.name).distribution == "maskwright"


def not_read_twice(source: Source) -> Iterator[Doubt]:
    """Doubt about a written file that is read by its source only."""
    if not is_read_twice(source):
        yield Doubt("written-file-not-read-twice", "", f"only its source, {source.name}, reads the masked file")


def _is_about(edit: Edit, path: tuple[str, ...] | None) -> bool:
    """Whether the context of an edit is the records' element, or a path that ends with it."""
    if edit.shadowed:
        return False
    if edit.context is None or path is None:
        return True
    steps = [step for step in edit.context.strip().split("/") if step]
    whole = edit.context.strip().startswith("/") and not edit.context.strip().startswith("//")
    return list(path) == steps if whole else list(path)[-len(steps) :] == steps


def _binary_columns(path: Path) -> frozenset[str]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    return frozenset(field.name for field in pq.read_schema(path) if pa.types.is_floating(field.type))


def _combinations(original: Dataset, names: tuple[str, ...]) -> frozenset[Any]:
    texts = []
    for name in names:
        column = original[name]
        if column.variable.is_numeric:
            shown = [np.format_float_positional(value, trim="-") for value in column.values.tolist()]
        else:
            categories = (*column.variable.categories, "")
            shown = [categories[code] for code in column.values.tolist()]
        texts.append([None if gone else text for text, gone in zip(shown, column.missing.tolist(), strict=True)])
    return frozenset(combination(*cells) for cells in set(zip(*texts, strict=True)) if None not in cells)


def _look(block: Block, before: int, sampled: Any, looked: Sequence[_Seen], opinion: Opinion) -> None:
    rows = [int(row) for row in sampled]
    few = rows[::FEWER]
    records: dict[int, Record] = {}
    numbers: dict[str, Scaled] = {}

    def numbers_of(name: str) -> Scaled:
        if name not in numbers:
            if name in opinion.binary:
                raise CannotTell
            numbers[name] = _without_codes(block.numbers(name), opinion.missing.get(name, frozenset()))
        return numbers[name]

    for seen in looked:
        if seen.is_whole:
            try:
                _look_at_all(block, before, seen, opinion, numbers_of)
            except CannotTell:
                seen.is_whole = False
        for row in few if seen.is_whole else rows:
            if row not in records:
                records[row] = block.record(row - before)
            try:
                seen.sampled[row] = opinion.verdict(seen.edit, records[row])
            except CannotTell:
                continue


def _without_codes(numbers: Scaled, codes: frozenset[str]) -> Scaled:
    """Numbers of which those that are a missing code are odd."""
    meant = [code * 10**numbers.decimals for code in map(exact, codes) if code is not None]
    coded = np.isin(numbers.values, [int(code) for code in meant if code.denominator == 1 and abs(code) < MOST])
    return replace(numbers, odd=numbers.odd | (coded & ~numbers.missing))


def _look_at_all(block: Block, before: int, seen: _Seen, opinion: Opinion, numbers_of: Any) -> None:
    is_exact = seen.edit.binding == "exact"
    vectors = (Vectors if is_exact else BinaryVectors)(numbers_of, len(block))
    found = vectors.truth(seen.edit.expression)
    columns = [numbers_of(name) for name in variable_names(seen.edit.expression)]
    odd = np.logical_or.reduce([each.odd if is_exact else each.odd | each.missing for each in columns])
    violating = ~odd & ~(found.true | found.unknown)
    seen.unknown += int(np.count_nonzero(found.unknown & ~odd))
    rows = np.flatnonzero(odd)
    seen.odd += len(rows)
    if seen.odd > MOST_ODD:
        raise CannotTell
    for row in rows.tolist():
        verdict = opinion.verdict(seen.edit, block.record(row))
        violating[row] = verdict is False
        seen.unknown += verdict is None
    numbers = np.flatnonzero(violating) + before + 1
    seen.violations += len(numbers)
    seen.first.extend(numbers[: max(0, SHOWN - len(seen.first))].tolist())


def _compare(looked: Sequence[_Seen], outcome: Outcome) -> None:
    first = {each.name: each for each in outcome.edits}
    problems = [problem for seen in looked for problem in _differences(seen, first[seen.edit.name])]
    if problems:
        hint = "This is a bug in Maskwright: nothing was released. Please report it with the rule."
        raise EvaluationsDisagree([*problems, Problem("the two evaluations of the written file disagree", hint=hint)])


def _differences(seen: _Seen, one: EditOutcome) -> list[Problem]:
    # Only the first violations are listed by number.
    last = int(one.listed[-1]) if len(one.listed) < one.violations else None
    listed = frozenset((one.listed - 1).tolist())
    differing = [
        row + 1
        for row, verdict in seen.sampled.items()
        if (last is None or row < last) and (verdict is False) != (row in listed)
    ]
    said: list[str] = []
    if differing:
        shown = ", ".join(map(str, differing[:SHOWN]))
        said.append(f"{len(differing)} of the records looked at are judged differently, first record {shown}")
    if seen.is_whole and seen.violations != one.violations:
        where = f" (first record {', '.join(map(str, seen.first))})" if seen.first else ""
        said.append(f"{one.violations} violations, and {seen.violations} the second time{where}")
    if seen.is_whole and seen.edit.binding == "exact" and seen.unknown != one.unknown:
        said.append(f"{one.unknown} records unknown, and {seen.unknown} the second time")
    return [Problem(f"edit {seen.edit.name!r}: {each}") for each in said]
