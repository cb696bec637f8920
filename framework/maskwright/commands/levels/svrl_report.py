"""SVRL on data of several levels: every edit as it was evaluated, and the household and member where it fails."""

from __future__ import annotations

from dataclasses import replace
from typing import IO, TYPE_CHECKING

import numpy as np

from maskwright.data.levels.nested_document import NestedElements
from maskwright.edits.engines.nested.checker import Node, place_of
from maskwright.edits.evaluation.placed import Placed
from maskwright.edits.evaluation.svrl import SvrlWriter
from maskwright.foundation.progress import silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.tally import EditOutcome
    from maskwright.pipeline.resolved import DataSource, LevelSources


def write_linked_svrl(
    stream: IO[bytes],
    linked: LinkedData,
    edits: Mapping[str, Iterable[Edit]],
    found: Iterable[EditOutcome],
    sources: LevelSources,
) -> None:
    """Write where edits fail on linked records: ``/Survey/Household[3]/Person[2]``.

    Of files that are no XML the elements are called as the levels are: ``/records/household[3]/person[2]``, the second
    person of the third household in the order of the file.

    `found`: of each of these edits, in this order.
    """
    placed = placed_edits(linked, edits, found, sources)
    with SvrlWriter(stream, [edit for edit, _ in placed], None) as writer:
        writer.write_placed(sum(map(len, linked)), [each for _, each in placed])


def placed_edits(
    linked: LinkedData, edits: Mapping[str, Iterable[Edit]], found: Iterable[EditOutcome], sources: LevelSources
) -> list[tuple[Edit, Placed]]:
    """Edits with the elements that they are about, and where each fails; parameters as in `write_linked_svrl`."""
    elements = _elements(sources)
    of_level = zip(edits.values(), (elements.group, elements.member), strict=True)
    stated = [replace(edit, context=element) for each, element in of_level for edit in each]
    return [(edit, _placed(each, linked, elements)) for edit, each in zip(stated, found, strict=True)]


def _elements(levels: LevelSources) -> NestedElements:
    """Names for locations: those of the file, or of the levels."""
    (top, upper), (bottom, lower) = levels.declared.items()
    if levels.form != "nested":
        return NestedElements(("records",), top, bottom)
    return NestedElements(_path(levels.sources[top]), upper.record or top, lower.record or bottom)


def _path(source: DataSource) -> tuple[str, ...]:
    assert source.source.open_nested is not None
    elements = source.source.open_nested(source.path, source.params, silent).elements
    return ("records",) if elements is None else elements.path


def _placed(found: EditOutcome, linked: LinkedData, elements: NestedElements) -> Placed:
    """Where an edit fails, of the first that are listed."""
    top, bottom = linked.levels
    rows = found.listed - 1
    if found.level == top.name:
        nodes = [Node(int(row) + 1, 0) for row in rows]
    else:
        assert bottom.groups is not None
        groups = bottom.groups[rows]
        first = np.searchsorted(bottom.groups, groups)
        nodes = [
            Node(int(group) + 1, int(row - start) + 1) for group, row, start in zip(groups, rows, first, strict=True)
        ]
    message = found.message or found.name
    failed = [((node.group, node.member), place_of(elements, node), (message,)) for node in nodes]
    return Placed(found.fired, [], failed)
