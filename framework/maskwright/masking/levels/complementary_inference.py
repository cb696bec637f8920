"""Inference of complementary cells across levels: by single values, and by edits that tie cells together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.levels.structure_edits import sources_of_edit, spans_records
from maskwright.masking.levels.complementary_suppression import complement_across
from maskwright.masking.levels.dependency_inference import AcrossReader

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.edits.levels.structure_edits import Source

    Cells = dict[Source, NDArray[np.bool_]]
    Lacking = Callable[[Cells], Mapping[Source, NDArray[np.bool_]]]


class AcrossInference:
    """Somebody who reads suppressed cells off the other level, and of which variables he is asked for single values.

    `shown`: as it would be published without suppression; two levels. `published`: variables that are published, keys
    left out. `bound`: that the published records obey. `within`: for each level: cells that edits within its records
    ask for beside these. `last`, `never`: variables to suppress only where no other does, and those that are not
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
        self.reader = self._of(self._wanted)

    def extend_inference(
        self, cells: Mapping[Source, NDArray[np.bool_]], by_edits: Mapping[Source, NDArray[np.bool_]]
    ) -> bool:
        """Ask, from now on, for variables by whose cells edits tell others; whether there were any.

        `cells`: all suppressed cells, beside which nothing asks for more; shape (n,). `by_edits`: those that went
        because edits across records tell others by them; shape (n,).
        """
        tied = tied_by_edits(self._bound, cells, self._wanted)
        if not tied:
            return False
        read = self._of((*self._wanted, *tied)).left(cells)
        told = {(level, name): read[level].left[name] for level, name in tied if name in read[level].left}
        leading = leading_on(self._shown, cells, told, by_edits, self._lacking)
        if leading:
            self._wanted = (*self._wanted, *leading)
            self.reader = self._of(self._wanted)
        return bool(leading)

    def _lacking(self, hidden: Cells) -> Cells:
        lacks: Cells = dict(complement_across(self._shown, hidden, self._bound, self._last, self._never).cells)
        for level in self._within:
            for source, gone in level(hidden).items():
                lacks[source] = lacks.get(source, np.False_) | gone
        return lacks

    def _of(self, wanted: Collection[Source]) -> AcrossReader:
        return AcrossReader(self._shown, self._published, wanted, self._last, self._never)


def tied_by_edits(
    bound: BoundEdits, cells: Mapping[Source, NDArray[np.bool_]], wanted: Collection[Source]
) -> tuple[Source, ...]:
    """Variables of which cells merely went beside others, and that an edit reads with another that has empty cells.

    `cells`: all suppressed cells; shape (n,).
    """
    empty = {source for source, gone in cells.items() if gone.any()}
    tied: set[Source] = set()
    for edits in bound.edits.values():
        for edit in edits:
            read = empty & sources_of_edit(bound, edit)
            # Of several members one may tell the other, in the same variable.
            if len(read) > 1 or spans_records(bound, edit):
                tied |= read
    return tuple(source for source in cells if source in tied and source not in wanted)


def leading_on(
    shown: LinkedData,
    cells: Mapping[Source, NDArray[np.bool_]],
    told: Mapping[Source, NDArray[np.bool_]],
    by_edits: Mapping[Source, NDArray[np.bool_]],
    lacking: Lacking,
) -> tuple[Source, ...]:
    """Variables by whose told cells edits tell other suppressed cells.

    `cells`: all suppressed cells, beside which no edit asks for more; shape (n,). `told`: those of them that single
    values tell; shape (n,). `by_edits`: those that went because edits across records tell others by them; shape (n,).
    """
    of_groups = {
        source: _groups_of(shown, source, gone & told[source]) for source, gone in cells.items() if source in told
    }
    concerned = np.logical_or.reduce(list(of_groups.values())) if of_groups else np.zeros(0, dtype=np.bool_)
    if not concerned.any():
        return ()
    left: Cells = {}
    for source, gone in cells.items():
        rows = concerned if _is_of_top(shown, source) else concerned[_groups(shown)]
        left[source] = np.asarray(gone & rows & ~told.get(source, np.False_))
    leaking = np.zeros(len(concerned), dtype=np.bool_)
    if _any(lacking(_without_none(left))):
        # What went for the told cell's sake alone may be known with it: the others are hidden by fewer, perhaps.
        for source, more in _not_hidden_by(left, by_edits, lacking).items():
            leaking |= _groups_of(shown, source, more)
    return tuple(source for source, groups in of_groups.items() if (groups & leaking).any())


def _not_hidden_by(
    left: Cells, by_edits: Mapping[Source, NDArray[np.bool_]], lacking: Lacking
) -> Mapping[Source, NDArray[np.bool_]]:
    """Cells without which those that are no edit's are told, and which are not among these; none where these do."""
    hidden: Cells = {source: gone & ~by_edits.get(source, np.False_) for source, gone in left.items()}
    while _any(more := lacking(_without_none(hidden))):
        outside = {source: gone & ~left.get(source, np.False_) for source, gone in more.items()}
        if _any(outside):
            return outside
        hidden = {**hidden, **{source: hidden.get(source, np.False_) | gone for source, gone in more.items()}}
    return {}


def _any(cells: Mapping[Source, NDArray[np.bool_]]) -> bool:
    return any(gone.any() for gone in cells.values())


def _without_none(cells: Cells) -> Cells:
    return {source: gone for source, gone in cells.items() if gone.any()}


def _groups(shown: LinkedData) -> NDArray[np.int64]:
    groups = shown.levels[1].groups
    assert groups is not None
    return groups


def _is_of_top(shown: LinkedData, source: Source) -> bool:
    return source[0] == shown.names[0]


def _groups_of(shown: LinkedData, source: Source, cells: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Groups with any of these cells."""
    if _is_of_top(shown, source):
        return cells
    return np.bincount(_groups(shown), cells, len(shown.levels[0])) > 0
