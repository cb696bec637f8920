"""Cells that post-randomisation moves records between: combinations of categories that occur, stratum by stratum."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.numbering import numbered, numbered_together

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright import Block, Variable

GONE = -1
"""Code of a cell without a value."""


@dataclass(frozen=True, eq=False)
class Stratum:
    """Records among which one matrix moves, and the cells of all records that are alike.

    `records`: rows of the block; shape (m,). `codes`: cell of each, 0..c-1; shape (m,). `variables`: that all these
    records have a value of. `cells`: categories of each cell; shape (c, v). `counts`: records of each cell, at least 1;
    shape (c,). `within`: values of the variables that its records are alike in; None where missing.
    """

    records: NDArray[np.int64]
    codes: NDArray[np.int64]
    variables: tuple[Variable, ...]
    cells: NDArray[np.int64]
    counts: NDArray[np.int64]
    within: tuple[float | None, ...] = ()

    @property
    def key(self) -> tuple[tuple[str, ...], tuple[float | None, ...]]:
        """What its records are alike in, in whichever part of the file they are."""
        return tuple(variable.name for variable in self.variables), self.within

    def among(self, cells: NDArray[np.int64], counts: NDArray[np.int64]) -> Stratum:
        """The same records, with the cells of all that are alike.

        `cells`: in lexicographic order, those of these records among them; shape (d, v). `counts`: shape (d,).
        """
        places = {tuple(cell): place for place, cell in enumerate(cells.tolist())}
        own = np.array([places[tuple(cell)] for cell in self.cells.tolist()], dtype=np.int64)
        return replace(self, codes=own[self.codes], cells=cells, counts=counts)

    @property
    def frequencies(self) -> NDArray[np.float64]:
        """Share of each cell; shape (c,), sum 1."""
        return np.asarray(self.counts / self.counts.sum(), dtype=np.float64)

    def distances(self) -> NDArray[np.float64]:
        """Distances of cells: 1 for another nominal category, or from one end of an ordinal variable to the other.

        Those of several variables are added; shape (c, c).
        """
        found = np.zeros((len(self.cells), len(self.cells)))
        for variable, codes in zip(self.variables, self.cells.T, strict=True):
            apart = np.abs(codes[:, None] - codes[None, :])
            ordered = variable.type == "ordinal"
            found += apart / max(len(variable.categories) - 1, 1) if ordered else apart > 0
        return found


def strata_of(block: Block, positions: Sequence[int], within: Sequence[str]) -> Iterator[Stratum]:
    """Records with the same values of the `within` variables and the same cells missing, where any has a value.

    `positions`: of the variables that are changed together.
    """
    table = np.where(block.missing[:, positions], GONE, block.values[:, positions]).astype(np.int64)
    combination = numbered_together(list(table.T))
    cells = table[_first(combination)]
    patterns = numbered_together(list((cells.T == GONE).astype(np.int64)))
    strata = numbered_together([patterns[combination], *(block.companions[name] for name in within)])
    count = int(strata.max(initial=0)) + 1
    order = np.argsort(strata, kind="stable") if count > 1 else np.arange(len(strata))
    for records in np.split(order, np.cumsum(np.bincount(strata, minlength=count))[:-1]):
        own = combination[records]
        here = np.flatnonzero(cells[own[0]] != GONE) if len(own) else np.zeros(0, dtype=np.int64)
        if not len(here):
            continue
        codes = numbered(own)
        found = own[_first(codes)]
        values = (float(block.companions[name][records[0]]) for name in within)
        yield Stratum(
            records, codes, tuple(block.variables[positions[int(place)]] for place in here),
            cells[np.ix_(found, here)], np.bincount(codes),
            tuple(None if np.isnan(value) else value for value in values),
        )  # fmt: skip


def _first(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """A record of each code; codes are 0..c-1, each used."""
    found = np.empty(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    found[codes] = np.arange(len(codes))
    return found


def joined(distances: NDArray[np.float64], counts: NDArray[np.int64], least: int) -> NDArray[np.int64]:
    """Classes of cells with at least `least` records: the smallest joins the nearest, until there is none smaller.

    `distances`: of classes, the smallest between their cells counts; shape (c, c). `counts`: shape (c,). Returns
    0..d-1; one class where all cells together have fewer records; shape (c,).
    """
    apart = distances.copy()
    np.fill_diagonal(apart, np.inf)
    sizes = counts.astype(np.float64)
    classes = np.arange(len(counts))
    for _ in range(len(counts) - 1):
        small = int(np.argmin(sizes))
        if sizes[small] >= least:
            break
        into = int(np.argmin(apart[small]))
        classes[classes == small] = into
        sizes[into] += sizes[small]
        nearest = np.minimum(apart[small], apart[into])
        nearest[into] = np.inf
        apart[into], apart[:, into] = nearest, nearest
        apart[small], apart[:, small], sizes[small] = np.inf, np.inf, np.inf
    return np.unique(classes, return_inverse=True)[1]
