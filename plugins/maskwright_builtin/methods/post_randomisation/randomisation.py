"""Randomisation of a block along Markov matrices, one for each stratum and combination of categories."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from maskwright import Gathering, InputError, Masked, uniform_by_record
from maskwright_builtin.numerics.ordering import numbered, numbered_together

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from maskwright import Block, Variable
    from maskwright_builtin.numerics.arrays import Floats, Integers


GONE = -1
"""Code of a cell without a value."""


@dataclass(frozen=True, eq=False)
class Stratum:
    """Records among which one matrix moves, and the cells of all records that are alike.

    `records`: rows of the block; shape (m,). `codes`: cell of each, 0..c-1; shape (m,). `variables`: that all these
    records have a value of. `cells`: categories of each cell; shape (c, v). `counts`: records of each cell, at least 1;
    shape (c,). `within`: values of the variables that its records are alike in; None where missing.
    """

    records: Integers
    codes: Integers
    variables: tuple[Variable, ...]
    cells: Integers
    counts: Integers
    within: tuple[float | None, ...] = ()

    @property
    def key(self) -> tuple[tuple[str, ...], tuple[float | None, ...]]:
        """What its records are alike in, in whichever part of the file they are."""
        return tuple(variable.name for variable in self.variables), self.within

    def among(self, cells: Integers, counts: Integers) -> Stratum:
        """The same records, with the cells of all that are alike.

        `cells`: in lexicographic order, those of these records among them; shape (d, v). `counts`: shape (d,).
        """
        places = {tuple(cell): place for place, cell in enumerate(cells.tolist())}
        own = np.array([places[tuple(cell)] for cell in self.cells.tolist()], dtype=np.int64)
        return replace(self, codes=own[self.codes], cells=cells, counts=counts)

    @property
    def frequencies(self) -> Floats:
        """Share of each cell; shape (c,), sum 1."""
        return np.asarray(self.counts / self.counts.sum(), dtype=np.float64)

    def distances(self) -> Floats:
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
    """Records with the same values of the `within` variables and the same cells missing, where any has a value."""
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


def _first(codes: Integers) -> Integers:
    """A record of each code; codes are 0..c-1, each used."""
    found = np.empty(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    found[codes] = np.arange(len(codes))
    return found


def joined(distances: Floats, counts: Integers, least: int) -> Integers:
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


MOST_CELLS = 2_000
"""Of one matrix: it takes 32 megabytes, and seconds to make."""

FEWEST_PUBLISHED = 10
"""Records of each category in a matrix that is published: from an invariant matrix its frequencies can be computed."""

PUBLISHED_DECIMALS = 12

LONE = (
    "records that are masked together share one category, which stays: where blocks, 'within' or the conditions of "
    "edits cut the records apart by category, {} changes nothing there (records_of_lone_categories in the run record "
    "counts them)"
)


WITHHELD = (
    f"a matrix is not published, because a category has fewer than {FEWEST_PUBLISHED} records: from an invariant "
    "matrix the frequencies of the original can be computed"
)


class Transition(Protocol):
    """What moves the records of a stratum."""

    @property
    def probabilities(self) -> Floats:
        """Matrix of shape (c, c); rows sum to 1."""
        ...

    def draw(self, codes: Integers, uniforms: Floats) -> Integers:
        """New code of each record, by its number in [0, 1)."""
        ...


@dataclass
class Moves:
    """What is noted on the strata of a block.

    `joined`: cells that were joined with others. `lone`: records with a value in strata of one cell. `withheld`:
    matrices that would disclose frequencies of rare cells.
    """

    joined: int = 0
    lone: int = 0
    matrices: list[dict[str, Any]] = field(default_factory=list)
    withheld: int = 0


@dataclass(frozen=True)
class Randomising:
    """How the records of a block are moved.

    `name`: of the method, for messages. `transition`: ``(stratum, moves) -> Transition``: what moves the records of a
    stratum of two or more cells. `together`: whether the variables of the block are changed together, or each by
    itself. `within`: Companions: records with different values of them are apart. `published`: whether the matrices go
    into the public record. `tells_frequencies`: whether frequencies of the original can be computed from them.
    """

    name: str
    transition: Callable[[Stratum, Moves], Transition]
    together: bool = False
    within: Sequence[str] = ()
    published: bool = False
    tells_frequencies: bool = True

    def strata(self, block: Block) -> Iterator[Stratum]:
        """Records of a block that are moved along one matrix, and their cells."""
        strangers = [each for each in self.within if each not in block.companions]
        if strangers:
            raise InputError(f"within: {', '.join(strangers)} are not in the data of this step")
        sets = [tuple(range(block.p))] if self.together else [(position,) for position in range(block.p)]
        for positions in sets:
            yield from strata_of(block, positions, self.within)


def gathering_of(randomising: Callable[[Any], Randomising]) -> Gathering:
    """What is gathered of all records: their cells, and notes on the matrices.

    `randomising`: of parameters; a function of a module.
    """
    return Gathering(
        partial=partial(_cells_of_part, randomising), merged=_cells_of_all, notes=partial(_notes, randomising)
    )


def _cells_of_part(randomising: Callable[[Any], Randomising], block: Block, params: Any) -> dict[str, Any]:
    """Cells of some records, and how many records have each, stratum by stratum; plain data."""
    strata = randomising(params).strata(block)
    return {"strata": [[*each.key, each.cells.tolist(), each.counts.tolist()] for each in strata]}


def _cells_of_all(facts: Sequence[Mapping[str, Any]], params: Any) -> dict[str, Any]:  # noqa: ARG001
    """Cells of all records, from those of parts."""
    found: dict[tuple[tuple[str, ...], tuple[float | None, ...]], Counter[tuple[int, ...]]] = {}
    for each in facts:
        for names, within, cells, counts in each["strata"]:
            known = found.setdefault((tuple(names), tuple(within)), Counter())
            known.update(dict(zip(map(tuple, cells), counts, strict=True)))
    strata = []
    for (names, within), counted in found.items():
        cells = sorted(counted)
        strata.append([names, within, cells, [counted[cell] for cell in cells]])
    return {"strata": strata}


def _table(gathered: Mapping[str, Any]) -> dict[Any, tuple[Integers, Integers]]:
    """Cells and counts by the key of the stratum."""
    return {
        (tuple(names), tuple(within)): (np.array(cells, dtype=np.int64), np.array(counts, dtype=np.int64))
        for names, within, cells, counts in gathered["strata"]
    }


def randomised(block: Block, randomising: Randomising, gathered: Mapping[str, Any], rng: np.random.Generator) -> Masked:
    """Move the records of a block; missing cells stay missing."""
    values, moves = block.values.copy(), Moves()
    known = _table(gathered)
    drawn = uniform_by_record(block, rng, 1 if randomising.together else block.p)
    for own in randomising.strata(block):
        stratum = own.among(*known[own.key])
        if len(stratum.cells) < 2:
            moves.lone += len(stratum.records)
            continue
        columns = np.array([block.names.index(variable.name) for variable in stratum.variables])
        chances = randomising.transition(stratum, moves)
        numbers = drawn[stratum.records, 0 if randomising.together else columns[0]]
        values[np.ix_(stratum.records, columns)] = stratum.cells[chances.draw(stratum.codes, numbers)]
    block.progress(1.0)
    changed = int(np.count_nonzero((values != block.values) & ~block.missing))
    notes: dict[str, Any] = {"changed_cells": changed}
    if moves.lone:
        notes["records_of_lone_categories"] = moves.lone
    if block.gathered is None:
        notes |= notes_of_all(gathered, block.variables, randomising)
    if moves.lone:
        # No doubt: the step is one where it changes nothing at all.
        notes["warnings"] = [*notes.get("warnings", ()), LONE.format(randomising.name)]
    return Masked(values, block.missing.copy(), notes=notes)


def _notes(
    randomising: Callable[[Any], Randomising], gathered: Mapping[str, Any], variables: Sequence[Variable], params: Any
) -> dict[str, Any]:
    return notes_of_all(gathered, variables, randomising(params))


def notes_of_all(
    gathered: Mapping[str, Any], variables: Sequence[Variable], randomising: Randomising
) -> dict[str, Any]:
    """Notes on all records: cells that were joined, and the matrices, where they are published."""
    moves = Moves()
    of_name = {variable.name: variable for variable in variables}
    nothing = np.zeros(0, dtype=np.int64)
    # In the order of the variables, of the cells that are there, and of the values of 'within'.
    order = {name: place for place, name in enumerate(of_name)}
    for key, (cells, counts) in sorted(_table(gathered).items(), key=lambda each: _place(each[0], order)):
        if len(cells) < 2:
            continue
        stratum = Stratum(nothing, nothing, tuple(of_name[name] for name in key[0]), cells, counts, key[1])
        chances = randomising.transition(stratum, moves)
        if randomising.published:
            _publish(stratum, chances, moves, tells_frequencies=randomising.tells_frequencies)
    notes: dict[str, Any] = {}
    if moves.joined:
        notes["joined_cells"] = moves.joined
    if randomising.published:
        notes["published"] = {"matrices": moves.matrices}
    if moves.withheld:
        notes["matrices_withheld"] = moves.withheld
        notes["warnings"] = [WITHHELD]
    return notes


def _place(key: tuple[tuple[str, ...], tuple[float | None, ...]], order: Mapping[str, int]) -> tuple[Any, ...]:
    names, within = key
    there = tuple(place for name, place in order.items() if name in names)
    gone = tuple(place not in there for place in order.values())
    return (gone if len(names) > 1 else there), tuple(math.inf if value is None else value for value in within)


def refuse_many_cells(stratum: Stratum) -> None:
    """Refuse a matrix that is too large, by name."""
    if len(stratum.cells) > MOST_CELLS:
        names = ", ".join(variable.name for variable in stratum.variables)
        raise InputError(
            f"{names}: {len(stratum.cells)} categories or combinations occur, and a matrix is made of at most "
            f"{MOST_CELLS}; name variables to stay inside of in 'within', take fewer variables together, or recode "
            "them first"
        )


def _publish(stratum: Stratum, chances: Transition, moves: Moves, *, tells_frequencies: bool) -> None:
    """Put a matrix among those that are published, unless it could disclose a person."""
    refuse_many_cells(stratum)
    if tells_frequencies and stratum.counts.min() < FEWEST_PUBLISHED:
        moves.withheld += 1
        return
    names = [
        [variable.categories[code] for variable, code in zip(stratum.variables, cell, strict=True)]
        for cell in stratum.cells
    ]
    moves.matrices.append(
        {
            "variables": [variable.name for variable in stratum.variables],
            "records": int(stratum.counts.sum()),
            "categories": [each[0] for each in names] if len(stratum.variables) == 1 else names,
            "probabilities": np.round(chances.probabilities, PUBLISHED_DECIMALS).tolist(),
        }
    )
