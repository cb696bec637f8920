"""Inference across levels while cells are suppressed: which variables single values are examined of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.disclosure.attacks.across_levels import AcrossReader
from maskwright.disclosure.attacks.dependency import InferableCells
from maskwright.disclosure.cells import LevelCellMasks, joined_cells, with_any
from maskwright.edits.levels.structure_edits import sources_of_edit, spans_records
from maskwright.masking.levels.complementary_suppression import complement_across

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure_edits import Source
    from maskwright.foundation.arrays import Booleans

    Lacking = Callable[[dict[Source, Booleans]], LevelCellMasks]


class AcrossInference:
    """Inference of suppressed cells from other levels, and the variables whose single values it examines.

    `shown`: as it would be published without suppression. `published`: variables that are published, keys
    left out. `bound`: that the published records obey. `within`: for each level: further cells that edits within
    its records require. `last`, `never`: variables to suppress only where no other does, and those that are not
    suppressed.
    """

    def __init__(
        self,
        shown: LinkedData,
        published: Mapping[str, Collection[str]],
        bound: BoundEdits,
        within: Sequence[Lacking],
        wanted: Collection[Source],
        last: Collection[Source],
        never: Collection[Source],
    ) -> None:
        self._shown, self._published, self._wanted = shown, published, tuple(wanted)
        self._bound, self._within, self._last, self._never = bound, within, last, never
        self._readers = self._of(self._wanted)

    def complement(self, hidden: LevelCellMasks) -> tuple[dict[Source, Booleans], dict[Source, Booleans]]:
        """Cells to suppress as well, and cells that follow from which others of their record are empty."""
        more: dict[Source, Booleans] = {}
        disclosed: dict[Source, Booleans] = {}
        for reader in self._readers:
            found, following = reader.complement(_of_levels(joined_cells(hidden, more), reader.levels))
            more, disclosed = joined_cells(more, found), joined_cells(disclosed, following)
        return more, disclosed

    def left(self, hidden: LevelCellMasks) -> dict[str, InferableCells]:
        """Suppressed cells that can be inferred all the same, by level."""
        return self._left(self._readers, hidden)

    def _left(self, readers: Sequence[AcrossReader], hidden: LevelCellMasks) -> dict[str, InferableCells]:
        found = dict.fromkeys(self._shown.names, InferableCells())
        for reader in readers:
            for level, read in reader.left(_of_levels(hidden, reader.levels)).items():
                found[level] = read_by_either(found[level], read)
        return found

    def extend_inference(self, cells: LevelCellMasks, by_edits: LevelCellMasks) -> bool:
        """Examine, from now on, variables whose cells disclose others by edits; whether there were any.

        `cells`: all suppressed cells, after which nothing requires more; shape (n,). `by_edits`: those that went
        because edits across records disclose others by them; shape (n,).
        """
        tied = tied_by_edits(self._bound, cells, self._wanted)
        if not tied:
            return False
        read = self._left(self._of((*self._wanted, *tied)), cells)
        disclosed = {(level, name): read[level].left[name] for level, name in tied if name in read[level].left}
        leading = leading_on(self._shown, cells, disclosed, by_edits, self._lacking)
        if leading:
            self._wanted = (*self._wanted, *leading)
            self._readers = self._of(self._wanted)
        return bool(leading)

    def _lacking(self, hidden: dict[Source, Booleans]) -> dict[Source, Booleans]:
        lacks: dict[Source, Booleans] = dict(
            complement_across(self._shown, hidden, self._bound, self._last, self._never).cells
        )
        for level in self._within:
            lacks = joined_cells(lacks, level(hidden))
        return lacks

    def _of(self, wanted: Collection[Source]) -> tuple[AcrossReader, ...]:
        return tuple(
            AcrossReader(self._shown.pair(*pair), self._published, wanted, self._last, self._never)
            for pair in self._shown.pairs
        )


def _of_levels(cells: LevelCellMasks, levels: Collection[str]) -> dict[Source, Booleans]:
    return {source: gone for source, gone in cells.items() if source[0] in levels}


def read_by_either(one: InferableCells, other: InferableCells) -> InferableCells:
    """What either can infer."""
    names = dict.fromkeys((*one.left, *other.left))
    by = {name: joined_cells(one.by.get(name, {}), other.by.get(name, {})) for name in names}
    return InferableCells({}, joined_cells(one.left, other.left), by)


def tied_by_edits(bound: BoundEdits, cells: LevelCellMasks, wanted: Collection[Source]) -> tuple[Source, ...]:
    """Variables of complementary cells alone, which an edit reads with another variable that has suppressed cells.

    `cells`: all suppressed cells; shape (n,).
    """
    empty = set(with_any(cells))
    tied: set[Source] = set()
    for edits in bound.edits.values():
        for edit in edits:
            read = empty & sources_of_edit(bound, edit)
            # Of several members one may disclose the other, in the same variable.
            if len(read) > 1 or spans_records(bound, edit):
                tied |= read
    return tuple(source for source in cells if source in tied and source not in wanted)


def leading_on(
    shown: LinkedData,
    cells: LevelCellMasks,
    disclosed: LevelCellMasks,
    by_edits: LevelCellMasks,
    lacking: Lacking,
) -> tuple[Source, ...]:
    """Variables whose disclosed cells disclose other suppressed cells by edits.

    `cells`: all suppressed cells, after which no edit requires more; shape (n,). `disclosed`: those of them that
    single values disclose; shape (n,). `by_edits`: those that went because edits across records disclose others by
    them; shape (n,).
    """
    of_groups = {
        source: _groups_of(shown, source, gone & disclosed[source])
        for source, gone in cells.items()
        if source in disclosed
    }
    concerned = np.logical_or.reduce(list(of_groups.values())) if of_groups else np.zeros(0, dtype=np.bool_)
    if not concerned.any():
        return ()
    left: dict[Source, Booleans] = {}
    for source, gone in cells.items():
        rows = concerned[shown.groups_in(source[0], shown.names[0])]
        left[source] = np.asarray(gone & rows & ~disclosed.get(source, np.False_))
    leaking = np.zeros(len(concerned), dtype=np.bool_)
    if with_any(lacking(with_any(left))):
        # What was suppressed for the disclosed cell alone may be known with it: fewer may hide the others.
        for source, more in _not_hidden_by(left, by_edits, lacking).items():
            leaking |= _groups_of(shown, source, more)
    return tuple(source for source, groups in of_groups.items() if (groups & leaking).any())


def _not_hidden_by(left: dict[Source, Booleans], by_edits: LevelCellMasks, lacking: Lacking) -> LevelCellMasks:
    """Cells without which those of no edit are disclosed, and which are not among these; none where these suffice."""
    hidden: dict[Source, Booleans] = {source: gone & ~by_edits.get(source, np.False_) for source, gone in left.items()}
    while with_any(more := lacking(with_any(hidden))):
        outside = {source: gone & ~left.get(source, np.False_) for source, gone in more.items()}
        if with_any(outside):
            return outside
        hidden = joined_cells(hidden, more)
    return {}


def _groups_of(shown: LinkedData, source: Source, cells: Booleans) -> Booleans:
    """Records of the top level with any of these cells."""
    return shown.above(cells, source[0], shown.names[0])
