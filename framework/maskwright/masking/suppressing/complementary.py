"""Complementary suppression: cells that have to go with suppressed ones, or edits would give those back."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import ValueCodes, dense
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Progress, silent
from maskwright.masking.suppressing.derivable import Derivation, Given

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import Edit
    from maskwright.edits.evaluation.domain import Domain

Hidden = dict[str, "NDArray[np.bool_]"]


@dataclass(frozen=True)
class Complement:
    """What was suppressed besides.

    Attributes
    ----------
    cells : mapping of name to ndarray of shape (n,), bool
        Cells suppressed besides.
    known : mapping of name to int
        Cells that follow from the edits alone, whatever is suppressed, or from cells that are empty and would not look
        otherwise if they were suppressed.
    undecided : mapping of name to int
        Cells of which it was neither shown that they follow nor that they do not.
    """

    cells: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)
    known: Mapping[str, int] = field(default_factory=dict)
    undecided: Mapping[str, int] = field(default_factory=dict)


def complement(
    shown: Dataset,
    hidden: Mapping[str, NDArray[np.bool_]],
    edits: Sequence[Edit],
    *,
    domain: Domain | None = None,
    last: Collection[str] = (),
    never: Collection[str] = (),
    progress: Progress = silent,
) -> Complement:
    """Choose cells to suppress besides, so that no suppressed cell follows from published cells and edits.

    Greedy, record by record: of the published cells that give a suppressed one away, the one goes that leaves fewest
    suppressed cells known; of equals one that is not in `last`, then the one that fewest edits read, then the first of
    the file. In the end, cells that turn out to be superfluous are published again.

    Parameters
    ----------
    shown : Dataset
        The records as they would be published without suppression.
    hidden : mapping of name to ndarray of shape (n,), bool
        Suppressed cells.
    edits : sequence of Edit
        That every published record obeys.
    domain : Domain, optional
    last : collection of str
        Variables to suppress only where no other does: keys.
    never : collection of str
        Variables that are not suppressed: weights.
    progress : callable

    Raises
    ------
    InputError
        Where a cell follows from variables that may not be suppressed.

    References
    ----------
    The problem is that of tables: Fischetti and Salazar (2001), Solving the cell suppression problem on tabular data
    with linear constraints, Management Science 47(7), 1008-1027; here a record and its edits are the table.
    """
    reached = _reached([name for name in hidden if hidden[name].any()], edits)
    linked = [name for name in hidden if any(name in edit.variables for edit in reached)]
    rows = np.flatnonzero(np.logical_or.reduce([hidden[name] for name in linked])) if linked else np.zeros(0, np.int64)
    if not len(rows):
        return Complement()
    derivation = Derivation(shown, rows, reached, domain)
    readers = {name: sum(name in edit.variables for edit in reached) for name in shown.names}
    cost = {name: (name in last, readers[name], place) for place, name in enumerate(shown.names)}
    cells: Hidden = {}
    known: Counter[str] = Counter()
    undecided: Counter[str] = Counter()
    alike = _alike(derivation.records, hidden, rows)
    for number, places in enumerate(alike):
        gone = frozenset(name for name in linked if hidden[name][rows[places[0]]])
        record = int(places[0])
        choice = _Search(derivation, record, cost, frozenset(never), derivation.fixed(record) - gone).choose(gone)
        for name in choice.added:
            cells.setdefault(name, np.zeros(len(shown), dtype=np.bool_))[rows[places]] = True
        known.update(dict.fromkeys(choice.known, len(places)))
        undecided.update(dict.fromkeys(choice.undecided, len(places)))
        progress((number + 1) / len(alike))
    return Complement(cells, known, undecided)


def _reached(names: Sequence[str], edits: Sequence[Edit]) -> list[Edit]:
    """Edits that read these variables, or variables that such edits read, and so on."""
    seen, found, left = set(names), [], [edit for edit in edits if edit.engine is None]
    while touching := [edit for edit in left if seen & set(edit.variables)]:
        found += touching
        left = [edit for edit in left if edit not in touching]
        seen.update(name for edit in touching for name in edit.variables)
    return found


def _alike(
    records: Dataset, hidden: Mapping[str, NDArray[np.bool_]], rows: NDArray[np.int64]
) -> list[NDArray[np.int64]]:
    """Records with the same values and the same cells suppressed, as positions among `rows`: they are asked once."""
    codes = ValueCodes(records)
    together = np.zeros(len(rows), dtype=np.int64)
    for name in sorted(records.names):
        gone = hidden[name][rows] if name in hidden else np.zeros(len(rows), dtype=np.bool_)
        of_cell = 2 * (codes.of(name) + 1) + gone
        together = dense((together * (2 * codes.distinct(name) + 2) + of_cell).astype(np.float64))
    order = np.argsort(together, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(together[order])) + 1)


def without_cells(data: Dataset, cells: Mapping[str, NDArray[np.bool_]]) -> Dataset:
    """Copy in which the given cells are missing."""
    return data.with_columns({name: data[name].suppressed(gone) for name, gone in cells.items()})


@dataclass(frozen=True)
class _Choice:
    added: tuple[str, ...]
    known: tuple[str, ...]
    undecided: tuple[str, ...]


class _Search:
    """Choice for one record."""

    def __init__(
        self,
        derivation: Derivation,
        record: int,
        cost: Mapping[str, tuple[bool, int, int]],
        never: frozenset[str],
        empty: frozenset[str],
    ) -> None:
        self._derivation, self._record, self._cost = derivation, record, cost
        self._never, self._empty = never, empty

    def choose(self, gone: frozenset[str]) -> _Choice:
        added: list[str] = []
        hopeless: dict[str, Given] = {}
        while True:
            hidden = gone.union(added)
            left = {name: given for name, given in self._given(hidden).items() if name not in hopeless}
            if not left:
                break
            name, given = next(iter(left.items()))
            candidates = sorted(given.by - self._never - self._empty, key=lambda each: self._cost[each])
            if candidates:
                added.append(min(candidates, key=lambda each: (len(self._given(hidden | {each})), self._cost[each])))
                continue
            if given.by - self._empty and not given.is_open:
                raise InputError(
                    f"a suppressed cell of {name} follows from {', '.join(sorted(given.by))}, which is not suppressed: "
                    "leave that variable out of the file, or choose other keys"
                )
            hopeless[name] = given
        for name in sorted(added, key=lambda each: self._cost[each], reverse=True):
            fewer = gone.union(added) - {name}
            if all(each in hopeless and not given.by - self._empty for each, given in self._given(fewer).items()):
                added.remove(name)
        left = self._given(gone.union(added))
        return _Choice(
            tuple(added),
            tuple(name for name, given in left.items() if not given.is_open),
            tuple(name for name, given in left.items() if given.is_open),
        )

    def _given(self, hidden: frozenset[str]) -> dict[str, Given]:
        found = {name: self._derivation.given(self._record, name, hidden) for name in sorted(hidden)}
        return {name: given for name, given in found.items() if given is not None}
