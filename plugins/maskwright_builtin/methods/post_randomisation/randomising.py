"""Moving the records of a block along Markov matrices, one for each stratum, and what is said of it."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from maskwright import InputError, Masked, uniform_by_record
from maskwright_builtin.methods.post_randomisation.cells import Stratum, strata_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright import Block, Variable

MOST_CELLS = 2_000
"""Of one matrix: it takes 32 megabytes, and seconds to make."""

FEWEST_PUBLISHED = 10
"""Records of each category in a matrix that is published: from an invariant matrix its frequencies can be computed."""

PUBLISHED_DECIMALS = 12

LONE = (
    "records that are masked together share one category, which stays: where blocks, 'within' or the conditions of "
    "edits cut the records apart by category, {} changes nothing"
)


WITHHELD = (
    f"a matrix is not published, because a category has fewer than {FEWEST_PUBLISHED} records: from an invariant "
    "matrix the frequencies of the original can be computed"
)


class Transition(Protocol):
    """What moves the records of a stratum."""

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Matrix of shape (c, c); rows sum to 1."""
        ...

    def draw(self, codes: NDArray[np.int64], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """New code of each record, by its number in [0, 1)."""
        ...


@dataclass
class Moves:
    """What is to be said of the strata of a block.

    `joined`: cells that were joined with others. `lone`: records with a value in strata of one cell. `withheld`:
    matrices that would tell frequencies of rare cells.
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


def cells_of_part(block: Block, randomising: Randomising) -> dict[str, Any]:
    """Cells of some records, and how many records have each, stratum by stratum; plain data."""
    return {
        "strata": [
            [*each.key, each.cells.tolist(), each.counts.tolist()] for each in randomising.strata(block)
        ]
    }  # fmt: skip


def cells_of_all(facts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
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


def _table(gathered: Mapping[str, Any]) -> dict[Any, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Cells and counts by the key of the stratum."""
    return {
        (tuple(names), tuple(within)): (np.array(cells, dtype=np.int64), np.array(counts, dtype=np.int64))
        for names, within, cells, counts in gathered["strata"]
    }


def randomised(block: Block, randomising: Randomising, gathered: Mapping[str, Any], rng: np.random.Generator) -> Masked:
    """Move the records of a block; missing cells stay missing.

    `rng`: a record draws by its position in the file: one number for all variables that are changed together.
    """
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
    doubts = (LONE.format(randomising.name),) if moves.lone else ()
    return Masked(values, block.missing.copy(), notes=notes, doubts=doubts)


def notes_of_all(
    gathered: Mapping[str, Any], variables: Sequence[Variable], randomising: Randomising
) -> dict[str, Any]:
    """What is said once of all records: cells that were joined, and the matrices, where they are published."""
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
    """Put a matrix among those that are published, unless somebody could be seen in it."""
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
