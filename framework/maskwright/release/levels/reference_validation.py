"""Reference validation of several levels: written files, nested ones too, read, grouped and evaluated independently."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from lxml import etree

from maskwright.edits.evaluation.domain import domain_tuples
from maskwright.edits.evaluation.reference_evaluator import ReferenceEvaluator
from maskwright.edits.evaluation.reference_values import Undetermined
from maskwright.edits.expression import variable_names
from maskwright.foundation.errors import EvaluationsDisagree, Problem
from maskwright.release.levels.packed_columns import WholeColumns, parts, whole_columns
from maskwright.release.levels.reference_columns import SecondColumns, WrittenLevel, in_order, with_meanings
from maskwright.release.reference_reader import Notation, plain_blocks, text_column, texts_by_name
from maskwright.release.reference_validation import (
    SAMPLE,
    ReferenceVerdict,
    binary_columns,
    combinations_asked,
    differences,
    evaluate_block,
    evaluator_of,
    refuse_disagreement,
    unjudged_edits,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.plugins.source import Source
    from maskwright.release.reference_reader import Readable

    Rows = list[dict[str, str]]


GROUPS = 10_000
"""Groups that are read before their cells are packed."""


def nested_columns(path: Path, tables: Sequence[Dataset], keys: Sequence[str]) -> list[dict[str, Readable]]:
    """Whole columns of the levels of a file, the top one first; those of lower ones hold the keys of their groups, too.

    `keys`: of each level.
    """
    elements = [_local(table.layout.details["record"]) for table in tables]
    rows = [_Rows(table) for table in tables]

    def take(element: Any, depth: int, above: Mapping[str, str]) -> None:
        members = [child for child in element if _local_name(child) in elements[depth + 1 : depth + 2]]
        own = texts_by_name(element, frozenset(members))
        rows[depth].add([{**own, **{_tag(tables[depth], key): text for key, text in above.items()}}])
        for each in members:
            take(each, depth + 1, {**above, keys[depth]: own[_tag(tables[depth], keys[depth])]})

    try:
        for _, element in etree.iterparse(
            path, tag=f"{{*}}{elements[0]}", resolve_entities=False, no_network=True, huge_tree=True
        ):
            take(element, 0, {})
            element.clear()
            while element.getprevious() is not None:
                del element.getparent()[0]
    except (etree.XMLSyntaxError, KeyError):
        raise Undetermined from None
    return [each.columns() for each in rows]


class _Rows:
    """Cells of a level, packed after so many records."""

    def __init__(self, table: Dataset) -> None:
        self._tags = {name: _tag(table, name) for name in table.names}
        has_commas = table.layout.details.get("decimal") == ","
        numeric = [each.name for each in table.variables if each.is_numeric and not each.is_date]
        self._notations = dict.fromkeys(numeric if has_commas else (), Notation(",", None))
        self._rows: Rows = []
        self._found = WholeColumns(table.names)

    def add(self, rows: Rows) -> None:
        self._rows += rows
        if len(self._rows) >= GROUPS:
            self._pack()

    def columns(self) -> dict[str, Readable]:
        self._pack()
        return self._found.joined()

    def _pack(self) -> None:
        rows = self._rows
        self._found.add(
            {
                name: replace(text_column([row.get(tag) for row in rows]), notation=self._notations.get(name))
                for name, tag in self._tags.items()
            }
        )
        self._rows = []


def _tag(table: Dataset, name: str) -> str:
    """Name of a variable's element or attribute, with its namespaces."""
    expanded: str = table.layout.details.get("expanded", {}).get(name, name)
    return expanded


def _local(tag: str) -> str:
    return tag.rpartition(":")[2]


def _local_name(element: Any) -> str:
    """Name of an element without its namespace; empty for what is none."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


@dataclass(frozen=True, eq=False)
class WrittenTable:
    """A file that was written.

    `table`: its variables in order, and its layout; no records.
    """

    path: Path
    source: Source
    table: Dataset


def validate_levels_by_reference(
    tables: Mapping[str, WrittenTable],
    released: LinkedData,
    bound: BoundEdits,
    found: Mapping[str, Outcome],
    reference: LinkedData,
    judged_elsewhere: Collection[str] = (),
) -> tuple[str, ...]:
    """Evaluate the edits of written files of levels a second time."""
    try:
        columns = _columns(tables, released, bound)
    except Undetermined:
        raise EvaluationsDisagree(Problem("the written files cannot be cut into records a second time")) from None
    problems: list[Problem] = []
    alone: list[str] = []
    for level in columns.levels:
        outcome = found[level.name]
        if outcome.records != level.records:
            message = f"{outcome.records} records of the level {level.name} were written, and {level.records} are read"
            raise EvaluationsDisagree(Problem(f"{message} the second time"))
        requested = [edit for edit in bound.edits[level.name] if edit.name not in judged_elsewhere]
        verdicts = _reference_verdicts(columns, level, requested, reference)
        problems += differences(verdicts, outcome)
        alone += unjudged_edits(verdicts, outcome, judged_elsewhere)
    refuse_disagreement(problems, "the written files")
    return tuple(alone)


def _reference_verdicts(
    columns: SecondColumns, level: WrittenLevel, edits: Sequence[Edit], reference: LinkedData
) -> list[ReferenceVerdict]:
    """What the second evaluation sees of the edits of a level."""
    block: dict[str, Readable] = {}
    decimals: dict[str, int | None] = {}
    meanings: dict[str, str] = {}
    verdicts: list[ReferenceVerdict] = []
    original = reference[level.name].data
    for edit in edits:
        try:
            found = {name: columns.column(level.name, name) for name in variable_names(edit.expression)}
        except Undetermined:
            continue
        if any(name not in original for names in domain_tuples((edit,)) for name in names):
            continue
        verdicts.append(ReferenceVerdict(edit))
        block |= found
        for name in found:
            meant = columns.meant(level.name, name)
            if meant is None:
                decimals[name] = None
            else:
                decimals[name] = columns.level(meant[0]).decimals.get(meant[1])
                meanings[name] = meant[1]
    opinion = with_meanings(columns.opinion, meanings)
    requested = combinations_asked(original, verdicts)
    n = level.records
    rows = np.unique(np.linspace(0, max(n - 1, 0), min(SAMPLE, n)).astype(np.int64))
    own = ReferenceEvaluator(opinion.binary, opinion.missing, opinion.meant, requested, opinion.dates)
    for part in parts(n if verdicts else 0):
        here = {name: column.taken(part) for name, column in block.items()}
        before = int(part[0])
        inside = rows[(rows >= before) & (rows <= part[-1])] - before
        evaluate_block(here, len(part), before, inside.tolist(), verdicts, own, decimals)
    return verdicts


def _columns(tables: Mapping[str, WrittenTable], released: LinkedData, bound: BoundEdits) -> SecondColumns:
    """The levels as the written files show them."""
    bottom = released.levels[-1]
    is_nested = len({each.path for each in tables.values()}) < len(tables)
    read = _read_nested(tables, released) if is_nested else {name: _read(each) for name, each in tables.items()}
    binary: set[str] = set()
    for each in tables.values():
        decimals = {variable.name: variable.decimals for variable in each.table.variables}
        binary |= {one for one in binary_columns(each.path, each.source, each.table) if decimals.get(one) is None}
    opinion = evaluator_of((own for each in tables.values() for own in each.table.variables), frozenset(binary), {})
    levels = []
    for depth, level in enumerate(released):
        file = level.name if level.name in read else bottom.name
        keys = [above.declared.key for above in released.levels[:depth]]
        kept = dict.fromkeys(name for name in (*level.data.names, *keys) if name in read[file])
        own = _taken({name: read[file][name] for name in kept}, level.rows, len(released[file]))
        known = {variable.name: variable.decimals for variable in tables[file].table.variables}
        levels.append(WrittenLevel(level.name, level.declared, len(level), own, known))
    varied = [name for level in released for name in level.varying] if len(tables) == 1 else []
    varying = {name: read[bottom.name][name] for name in varied}
    columns = {name: {each.name: each for each in every} for name, every in bound.columns.items()}
    return SecondColumns(levels, opinion, columns, _taken(varying, bottom.rows, len(bottom)))


def _taken(columns: Mapping[str, Readable], rows: NDArray[np.int64], records: int) -> dict[str, Readable]:
    """Cells of some of the records of a file, in their order."""
    return dict(columns) if np.array_equal(rows, np.arange(records)) else in_order(columns, rows)


def _read_nested(tables: Mapping[str, WrittenTable], released: LinkedData) -> dict[str, dict[str, Readable]]:
    """Whole columns of a file with records inside each other."""
    top = released.names[0]
    keys = [level.declared.key for level in released]
    found = nested_columns(tables[top].path, [each.table for each in tables.values()], keys)
    return dict(zip(tables, found, strict=True))


def _read(written: WrittenTable) -> dict[str, Readable]:
    """Whole columns of a file."""
    table, source = written.table, written.source
    details = table.layout.details if table.layout.format == source.name else {}
    numeric = {each.name for each in table.variables if each.is_numeric and not each.is_date}
    return whole_columns(plain_blocks(written.path, source, details, table.names, numeric), table.names)
