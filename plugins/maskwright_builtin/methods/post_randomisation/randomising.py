"""Moving the records of a block along Markov matrices, one for each stratum, and what is said of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from maskwright import InputError, Masked
from maskwright_builtin.methods.post_randomisation.cells import strata_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from maskwright import Block
    from maskwright_builtin.methods.post_randomisation.cells import Stratum

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

    def draw(self, codes: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """New code of each record."""
        ...


@dataclass
class Moves:
    """What is to be said of the strata of a block.

    Attributes
    ----------
    joined : int
        Cells that were joined with others.
    lone : int
        Records with a value in strata of one cell.
    matrices : list of dict
        To be published.
    withheld : int
        Matrices that would tell frequencies of rare cells.
    """

    joined: int = 0
    lone: int = 0
    matrices: list[dict[str, Any]] = field(default_factory=list)
    withheld: int = 0


def randomised(
    block: Block,
    sets: Sequence[Sequence[int]],
    within: Sequence[str],
    transition: Callable[[Stratum, Moves], Transition],
    rng: np.random.Generator,
    *,
    name: str,
    published: bool = False,
    tells_frequencies: bool = True,
) -> Masked:
    """Move the records of a block; missing cells stay missing.

    Parameters
    ----------
    block : Block
    sets : sequence of sequences of int
        Positions of the variables that are changed together.
    within : sequence of str
        Companions: records with different values of them are apart.
    transition : callable
        ``(stratum, moves) -> Transition``: what moves the records of a stratum of two or more cells.
    rng : numpy.random.Generator
    name : str
        Of the method, for messages.
    published : bool
        Whether the matrices go into the public record.
    tells_frequencies : bool
        Whether frequencies of the original can be computed from them.
    """
    strangers = [each for each in within if each not in block.companions]
    if strangers:
        raise InputError(f"within: {', '.join(strangers)} are not in the data of this step")
    values, moves = block.values.copy(), Moves()
    for done, positions in enumerate(sets, 1):
        for stratum in strata_of(block, positions, within):
            if len(stratum.cells) < 2:
                moves.lone += len(stratum.records)
                continue
            chances = transition(stratum, moves)
            cells = stratum.cells[chances.draw(stratum.codes, rng)]
            columns = np.array([block.names.index(variable.name) for variable in stratum.variables])
            values[np.ix_(stratum.records, columns)] = cells
            if published:
                _publish(stratum, chances, moves, tells_frequencies=tells_frequencies)
        block.progress(done / len(sets))
    changed = int(np.count_nonzero((values != block.values) & ~block.missing))
    notes: dict[str, Any] = {"changed_cells": changed}
    if moves.joined:
        notes["joined_cells"] = moves.joined
    if moves.lone:
        notes["records_of_lone_categories"] = moves.lone
    if published:
        notes["published"] = {"matrices": moves.matrices}
    if moves.withheld:
        notes["matrices_withheld"] = moves.withheld
        notes["warnings"] = [WITHHELD]
    return Masked(values, block.missing.copy(), notes=notes, doubts=(LONE.format(name),) if moves.lone else ())


def refuse_many_cells(stratum: Stratum) -> None:
    """Refuse a matrix that is too large, by name.

    Raises
    ------
    InputError
    """
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
            "records": len(stratum.records),
            "categories": [each[0] for each in names] if len(stratum.variables) == 1 else names,
            "probabilities": np.round(chances.probabilities, PUBLISHED_DECIMALS).tolist(),
        }
    )
