"""Keys of a block as codes on the levels of their hierarchies, distinct rows, and the loss of each level."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskwright import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright import Block, Variable
    from maskwright_builtin.methods.generalisation.population import Population
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers, Integers32


@dataclass(frozen=True, eq=False)
class Key:
    """One key variable with its levels.

    Codes of a level are 0, 1, ..., the last of them for missing cells: one for each missing code that is published
    apart, and the very last for what suppressed cells have.

    `levels`: levels of the hierarchy that may be published, rising. `height`: the highest level of the hierarchy.
    `maps`: for each of these levels, the code of each leaf; shape (leaves + missing,). `spans`: for each level, the
    share of the domain that each code leaves open; 0 for a missing cell. `counts`: for each level, the records of each
    code. `leaves`: the records of each leaf; shape (leaves + missing,). `missing`: how many codes of each level are for
    missing cells.
    """

    variable: Variable
    levels: tuple[int, ...]
    height: int
    maps: tuple[Integers32, ...]
    spans: tuple[Floats, ...]
    counts: tuple[Integers, ...]
    leaves: Integers
    missing: int

    @property
    def raised(self) -> int:
        """Level of the declared hierarchy on which the variable is published already."""
        return 0 if self.variable.hierarchy is None else self.variable.hierarchy.raised

    def between(self, low: int, high: int) -> Integers32:
        """Code on one of the levels, given by position, of each code on a lower one."""
        found = np.empty(len(self.counts[low]), dtype=np.int32)
        found[self.maps[low]] = self.maps[high]
        return found


@dataclass(frozen=True, eq=False)
class Rows:
    """Distinct rows of codes.

    `codes`: shape (r, q). `counts`: records; shape (r,). `amounts`: sums over them of what is requested: sampling
    weights, people of a population file; shape (r, m). `of_leaf`: place of each leaf row, or for the leaf rows of each
    record. `blanks`: code of a missing cell in each key; shape (q,).
    """

    codes: Integers32
    counts: Integers
    amounts: Floats
    of_leaf: Integers32
    blanks: Integers32

    @property
    def bytes(self) -> int:
        """Memory that they take."""
        return sum(each.nbytes for each in (self.codes, self.counts, self.amounts, self.of_leaf))

    def on(self, maps: Sequence[Integers32], most: int | None = None) -> Rows:
        """Rows with coarser codes, `of_leaf` for these rows; more than `most` of them, if there are, and not all."""
        starts = np.cumsum([0, *(len(each) for each in maps[:-1])])
        most = len(self.counts) if most is None else most
        from maskwright_builtin.methods.generalisation.rows_kernel import rolled_up  # Numba is heavy

        joined = rolled_up(self.codes, self.counts, self.amounts, np.concatenate(maps), starts, most)
        return Rows(*joined, blanks=np.array([each[-1] for each in maps], dtype=np.int32))


def key_of(
    variable: Variable, values: Floats, missing: Booleans, kinds: Integers, asked: tuple[int, int] | None, n: int
) -> tuple[Key, Integers32]:
    """Levels of a key, and the leaf code of each record.

    `values`: those of a population file after those of the records; shape (n + people,). `missing`: shape (n +
    people,). `kinds`: of missing cells; 0 what suppressed cells have; shape (n + people,).
    """
    hierarchy = variable.hierarchy
    raised = 0 if hierarchy is None else hierarchy.raised
    height = raised + (0 if hierarchy is None else hierarchy.height)
    low, high = (raised, height) if asked is None else asked
    if high > height:
        raise InputError(
            f"levels: {variable.name} has "
            + ("no hierarchy" if not height else f"levels 0 to {height}")
            + f", and level {high} is requested (maskwright explain hierarchies)"
        )
    levels = tuple(range(max(low, raised), high + 1)) or (raised,)
    distinct, places = _distinct(values[~missing])
    blanks = int(kinds.max(initial=0)) + 1
    leaf = (len(distinct) + blanks - 1 - kinds).astype(np.int32)
    leaf[~missing] = places
    of_leaf = np.bincount(leaf[:n], minlength=len(distinct) + blanks)
    maps, spans, counts = [], [], []
    for level in levels:
        if level == raised or hierarchy is None:
            nodes, span = np.arange(len(distinct)), np.zeros(len(distinct))
        else:
            found, nodes = np.unique(hierarchy.codes(variable, distinct, level - raised), return_inverse=True)
            span = hierarchy.spans(level - raised)[found]
        own = np.append(nodes, len(span) + np.arange(blanks)).astype(np.int32)
        maps.append(own)
        spans.append(np.append(span, np.zeros(blanks)))
        counts.append(np.bincount(own, weights=of_leaf, minlength=len(span) + blanks).astype(np.int64))
    return Key(variable, levels, height, tuple(maps), tuple(spans), tuple(counts), of_leaf, blanks), leaf


def _distinct(values: Floats) -> tuple[Floats, Integers]:
    """Different values, rising, and the place of each among them: by a table where they are whole and close."""
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)
    if high - low > len(values) or not np.array_equal(values, np.floor(values)):
        distinct, places = np.unique(values, return_inverse=True)
        return distinct, places
    steps = (values - low).astype(np.int64)
    occurs = np.bincount(steps, minlength=1) > 0
    return low + np.flatnonzero(occurs).astype(np.float64), (np.cumsum(occurs) - 1)[steps]


def keys_and_rows(
    block: Block,
    positions: Sequence[int],
    asked: Mapping[str, tuple[int, int]],
    weights: Floats | None = None,
    population: Population | None = None,
) -> tuple[tuple[Key, ...], Rows]:
    """Keys of a block, and its distinct rows on the lowest level of each; `of_leaf` is for records.

    `weights`: summed as the first of `Rows.amounts`; shape (n,).
    """
    people = 0 if population is None else len(population)
    found = []
    for place, j in enumerate(positions):
        variable, values, missing, kinds = (
            block.variables[j],
            block.values[:, j],
            block.missing[:, j],
            block.kinds_of(j),
        )
        if population is not None:
            variable, values = population.with_records(place, values)
            # People of the population have their codes in a file of its own: of them all missing cells are alike.
            missing, kinds = np.isnan(values), np.zeros(len(values), dtype=np.int64)
        found.append(key_of(variable, values, missing, kinds, asked.get(variable.name), block.n))
    keys = tuple(key for key, _ in found)
    codes = np.ascontiguousarray(np.stack([leaf for _, leaf in found], axis=1))
    counts = np.repeat(np.array([1, 0]), [block.n, people])
    amounts = [] if weights is None else [np.append(weights, np.zeros(people))]
    amounts += [] if population is None else [1.0 - counts]
    columns = np.stack(amounts, axis=1) if amounts else np.zeros((len(counts), 0))
    every = Rows(codes, counts, columns, np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32))
    rows = _sorted(every.on([key.maps[0] for key in keys]))
    return keys, replace(rows, of_leaf=rows.of_leaf[: block.n])


def _sorted(rows: Rows) -> Rows:
    """Rows in the order of their codes, keys with the most categories last: those are made coarser first."""
    widths = rows.codes.max(axis=0).astype(np.int64) + 1
    if np.prod(widths, dtype=object) >= 2**63:
        return rows
    place = np.zeros(len(rows.codes), dtype=np.int64)
    for j in np.argsort(widths, kind="stable"):
        place = place * widths[j] + rows.codes[:, j]
    order = np.argsort(place)
    rank = np.empty(len(order), dtype=np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    return replace(
        rows,
        codes=np.ascontiguousarray(rows.codes[order]),
        counts=rows.counts[order],
        amounts=rows.amounts[order],
        of_leaf=rank[rows.of_leaf],
    )


LossName = Literal["entropy", "lm", "discernibility", "height"]


class CellLoss:
    """A loss that is a sum over cells: of each key's level, and more for cells that are emptied.

    `worth`: how much each key counts.
    """

    def __init__(self, name: LossName, keys: Sequence[Key], n: int, worth: Sequence[float]) -> None:
        self._levels: list[Floats] = []
        self._emptied: list[list[Floats]] = []
        total = sum(worth)
        high = sum(each for key, each in zip(keys, worth, strict=True) if key.height)
        for key, each in zip(keys, worth, strict=True):
            if name == "lm":
                scale = each / (n * total)
                levels = [float(np.dot(c, s)) * scale for c, s in zip(key.counts, key.spans, strict=True)]
                emptied = [_but_missing((1.0 - span) * scale, key.missing) for span in key.spans]
            elif name == "entropy":
                levels = [each * (_bits(c) - _bits(key.leaves)) for c in key.counts]
                emptied = [_but_missing(each * np.log2(n / np.maximum(c, 1)), key.missing) for c in key.counts]
            else:
                levels = [each * level / key.height / high if key.height else 0.0 for level in key.levels]
                emptied = [np.zeros(len(c)) for c in key.counts]
            self._levels.append(np.array(levels))
            self._emptied.append(emptied)

    def bounds(self, levels: Integers) -> Floats:
        """Loss of nodes with no cell emptied, which no true loss is below; shape (nodes,)."""
        return np.asarray(sum(own[levels[:, j]] for j, own in enumerate(self._levels)), dtype=np.float64)

    def loss(self, node: Sequence[int], rows: Rows, emptied: Booleans) -> float:
        """Loss of a node in which these rows are emptied."""
        found = sum(float(own[level]) for own, level in zip(self._levels, node, strict=True))
        gone, counts = rows.codes[emptied], rows.counts[emptied]
        if not len(gone):
            return found
        for j, level in enumerate(node):
            more = self._emptied[j][level]
            found += float(np.dot(np.bincount(gone[:, j], weights=counts, minlength=len(more)), more))
        return found

    def most_emptied(self, loss: float) -> int | None:  # noqa: ARG002 - of Discernibility
        """Emptied records of a node that costs no more than this; None: that is not known."""
        return None


class Discernibility:
    """Sum of the squares of the classes that are left, and n for each emptied record (Bayardo and Agrawal 2005)."""

    def __init__(self, keys: Sequence[Key], n: int) -> None:
        self._keys, self._n = keys, n

    def bounds(self, levels: Integers) -> Floats:
        """Loss of classes that are all of one size, as many as combinations of categories; shape (nodes,)."""
        widest = np.ones(len(levels))
        for j, key in enumerate(self._keys):
            widest *= np.array([np.count_nonzero(counts) for counts in key.counts], dtype=np.float64)[levels[:, j]]
        return np.asarray(self._n * (self._n / widest), dtype=np.float64)

    def loss(self, node: Sequence[int], rows: Rows, emptied: Booleans) -> float:  # noqa: ARG002 - of CellLoss
        """Loss of a node in which these rows are emptied."""
        kept = rows.counts[~emptied].astype(np.float64)
        return float(np.dot(kept, kept)) + float(rows.counts[emptied].sum()) * self._n

    def most_emptied(self, loss: float) -> int:
        """Emptied records of a node that costs no more than this."""
        return int(loss / self._n)


def loss_of(name: LossName, keys: Sequence[Key], n: int, worth: Sequence[float]) -> CellLoss | Discernibility:
    """The loss of this name."""
    return Discernibility(keys, n) if name == "discernibility" else CellLoss(name, keys, n, worth)


def _bits(counts: Integers) -> float:
    present = counts[counts > 0].astype(np.float64)
    return float(np.dot(present, np.log2(present)))


def _but_missing(losses: Floats, missing: int) -> Floats:
    """An empty cell that was missing has lost nothing."""
    losses[-missing:] = 0.0
    return losses
