"""Sums: exact linear relations with simple coefficients, by robust fits and null spaces."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.algebra.polynomial import Elimination
from maskwright.edits.suggestions.model import Candidate, linear_rule, small_whole

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.edits.suggestions.model import Sample


ROUNDS = 60
PATIENCE = 8
"""Rounds in which the residuals that fit best have to become half as large; else there is nothing to find."""

SMALLEST = 1e-9
"""Below it a residual, in units of its record's largest term, counts as none."""

PENALTIES = (1e-4, 1e-8)
"""Weight of the size of the coefficients against the residuals: of many exact fits the sparsest one wins. The small one
prefers an exact fit to a sparser one that misses by a rounding."""


def sparse_fit(
    terms: NDArray[np.float64], target: NDArray[np.float64], penalty: float = PENALTIES[0]
) -> NDArray[np.float64]:
    """Coefficients with which most records fit exactly, few of them not zero.

    The sum of absolute residuals plus a small concave penalty on the coefficients, minimised by reweighted least
    squares (Daubechies, DeVore, Fornasier, Güntürk 2010). A sum of absolute residuals is minimal where most residuals
    are zero, and records that do not fit have no pull. Every record is divided by its largest term first, so that
    none of them has leverage.

    `terms`: columns of comparable size; shape (m, q). `target`: shape (m,). Returns shape (q,).
    """
    size = np.maximum(np.abs(terms).max(axis=1), np.abs(target))
    some = size > 0
    rows, aim = terms[some] / size[some, None], target[some] / size[some]
    width = rows.shape[1]
    found = np.zeros(width)
    if not len(rows):
        return found
    # Equal penalties would leave ties, and a tie ends in a mixture of both relations.
    uneven = penalty * len(rows) * (1 + 0.01 * np.arange(width) / width)
    weights, ridge = np.ones(len(rows)), uneven.copy()
    floors: list[float] = []
    for _ in range(ROUNDS):
        weighted = rows * weights[:, None]
        gram = weighted.T @ rows
        gram[np.diag_indices(width)] += ridge
        before = found
        found = _solved(gram, weighted.T @ aim)
        residuals = np.abs(aim - rows @ found)
        floor = max(SMALLEST, 0.1 * float(np.quantile(residuals, 0.4)))
        floors.append(floor)
        if len(floors) > PATIENCE and floor > 0.5 * floors[-PATIENCE]:
            break
        weights = 1 / np.maximum(residuals, floor)
        ridge = uneven / np.maximum(np.abs(found), 1e-6) ** 1.5
        if floor <= SMALLEST and np.abs(found - before).max() <= 1e-9:
            break
    return np.asarray(found, dtype=np.float64)


def _solved(gram: NDArray[np.float64], aim: NDArray[np.float64]) -> NDArray[np.float64]:
    """Solution of the weighted equations; the shortest one where two terms are the same but for rounding."""
    try:
        return np.asarray(np.linalg.solve(gram, aim), dtype=np.float64)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(gram, aim, rcond=None)[0], dtype=np.float64)


Vector = list[Fraction]


def null_space(rows: Sequence[Sequence[Fraction]], width: int) -> list[Vector]:
    """Basis of the vectors v with ``row . v == 0`` for every row."""
    equations = Elimination[int]()
    for row in rows:
        equations.add(dict(enumerate(row)), pivot_of=min)
        if len(equations.solved) == width:
            return []
    basis: list[Vector] = []
    for free in sorted(set(range(width)) - set(equations.solved)):
        vector = [Fraction(0)] * width
        vector[free] = Fraction(1)
        for pivot, (terms, _) in equations.solved.items():
            vector[pivot] = -terms.get(free, Fraction(0))
        basis.append(vector)
    return basis


def sparse(basis: list[Vector], width: int) -> list[Vector]:
    """Basis of the same space with fewer and smaller entries: pairs are combined while that helps one of them."""
    found = [list(vector) for vector in basis]

    def entries(vector: Vector) -> tuple[int, Fraction]:
        sizes = [abs(value) for value in vector[:width] if value]
        return len(sizes), sum(sizes, Fraction(0)) / min(sizes, default=Fraction(1))

    improved = True
    while improved:
        improved = False
        for place, vector in enumerate(found):
            for other in found:
                if other is vector:
                    continue
                for column in range(width):
                    if vector[column] and other[column]:
                        factor = vector[column] / other[column]
                        shorter = [value - factor * more for value, more in zip(vector, other, strict=True)]
                        if entries(shorter) < entries(found[place]):
                            found[place] = shorter
                            improved = True
                vector = found[place]  # noqa: PLW2901 - go on from the shorter one
    return found


LARGEST_COEFFICIENT = 1000
FITTED = 2000
"""Records that the fits are made on."""

OF_EACH = 40
"""Among them, where the file has them, records in which a variable is not 0."""

LEAST_EXPLAINED = 5
"""Records that hold thanks to a term, at least."""

OF_CHANCE = 0.2
"""Violations a relation may have, in parts of those chance would leave if its variables were unrelated."""


@dataclass(frozen=True)
class _Table:
    """Cells in units of the smallest decimal, 0 where missing. Sums wrap around; the file is checked without that."""

    names: tuple[str, ...]
    cells: NDArray[np.int64]
    missing: NDArray[np.bool_]
    scale: int

    def total(self, terms: NDArray[np.int64]) -> NDArray[np.int64]:
        """Terms times cells, plus the constant, which comes last; zero where the relation holds."""
        return np.asarray(self.cells @ terms[:-1] + terms[-1])


def sums(sample: Sample, names: Sequence[str]) -> Iterator[Candidate]:
    """Linear relations that hold in enough records."""
    if len(names) < 2:
        return
    table = _table(sample, names)
    whole = np.flatnonzero(~table.missing.any(axis=1))
    found: dict[tuple[int, ...], NDArray[np.int64]] = {}
    groups = [whole] if len(whole) >= 2 * (len(names) + 1) else []
    if len(whole) < len(sample):
        groups.append(np.arange(len(sample)))
    for place, rows in enumerate(groups):
        vectors = [*_exact(table, rows)] if place == 0 and len(rows) == len(whole) else []
        for terms in [*vectors, *_fitted(table, rows)]:
            mended = _mended(table, rows, terms)
            if mended is not None:
                found[tuple(mended.tolist())] = mended
    for terms in [*found.values(), *_shorter(list(found.values()), set(found))]:
        yield from _candidate(sample, table, terms)


def _table(sample: Sample, names: Sequence[str]) -> _Table:
    variables = [sample.data[name].variable for name in names]
    scale = 10 ** max(variable.decimals or 0 for variable in variables)
    values = sample.cells(names)
    missing = np.isnan(values)
    units = np.zeros(values.shape, dtype=np.int64)
    for place, variable in enumerate(variables):
        grid = 10 ** (variable.decimals or 0)
        whole = np.rint(np.where(missing[:, place], 0.0, values[:, place]) * grid).astype(np.int64)
        units[:, place] = whole * (scale // grid)
    return _Table(tuple(names), units, missing, scale)


def _exact(table: _Table, rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """Relations that hold in all records: the null space of a few, and of each record that breaks one of those."""
    width = len(table.names)
    chosen = list(dict.fromkeys(np.linspace(0, len(rows) - 1, min(len(rows), width + 8)).astype(int).tolist()))
    while True:
        records = [[*(Fraction(int(value)) for value in table.cells[rows[row]]), Fraction(1)] for row in chosen]
        kept = [
            terms for vector in sparse(null_space(records, width + 1), width) if (terms := _whole(vector)) is not None
        ]
        broken = {int(np.argmax(wrong)) for terms in kept if (wrong := table.total(terms)[rows] != 0).any()}
        if not broken - set(chosen):
            yield from kept
            return
        chosen.extend(sorted(broken))


def _whole(vector: Sequence[Fraction]) -> NDArray[np.int64] | None:
    """Small whole coefficients, the constant being any; None where there are none, or of less than two variables."""
    whole = small_whole(vector, 2**62)
    if whole is None or sum(map(bool, whole[:-1])) < 2 or max(map(abs, whole[:-1])) > LARGEST_COEFFICIENT:
        return None
    sign = 1 if next(value for value in whole if value) > 0 else -1
    return np.array([sign * int(value) for value in whole], dtype=np.int64)


def _fitted(table: _Table, rows: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    """For each variable its robust sparse fit on the others, in simple coefficients."""
    chosen = _drawn(table, rows)
    cells = table.cells[chosen].astype(np.float64)
    sizes = np.array([np.median(np.abs(column[column != 0])) if column.any() else 1.0 for column in cells.T])
    scaled = cells / sizes
    for target, penalty in product(range(len(table.names)), PENALTIES):
        present = ~table.missing[chosen, target]
        others = np.delete(np.arange(len(table.names)), target)
        constant = np.ones(int(present.sum()))
        fit = sparse_fit(np.column_stack([scaled[present][:, others], constant]), scaled[present, target], penalty)
        vector = [Fraction(0)] * (len(table.names) + 1)
        vector[target] = Fraction(-1)
        for place, value in zip(others, fit[:-1] * sizes[target] / sizes[others], strict=True):
            vector[place] = _simple(float(value))
        vector[-1] = Fraction(round(float(fit[-1] * sizes[target])))
        for each in ([*vector[:-1], Fraction(0)], vector):
            terms = _whole(each)
            if terms is not None:
                yield terms
            if not vector[-1]:
                break


def _drawn(table: _Table, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """An even part of some records, and for each variable some in which it is not 0."""
    if len(rows) <= FITTED:
        return rows
    chosen = [rows[np.linspace(0, len(rows) - 1, FITTED).astype(np.int64)]]
    for column in table.cells.T:
        some = rows[column[rows] != 0]
        chosen.append(some[np.linspace(0, len(some) - 1, min(len(some), OF_EACH)).astype(np.int64)])
    return np.unique(np.concatenate(chosen))


def _simple(value: float) -> Fraction:
    """A simple fraction near a coefficient; 0 where it is none, since what is wrong with it is mended later."""
    for largest, error in ((1, 0.02), (12, 1e-4), (LARGEST_COEFFICIENT, 1e-6)):
        near = Fraction(value).limit_denominator(largest)
        if abs(float(near) - value) <= error * abs(value):
            return near
    return Fraction(0)


def _mended(table: _Table, rows: NDArray[np.int64], terms: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The relation with the terms added that make more records hold, and without those that make none hold."""
    terms, cells = terms.copy(), table.cells[rows]
    rest = table.total(terms)[rows]
    factors = sorted({sign * size for size in {1, *np.abs(terms[:-1]).tolist()} - {0} for sign in (-1, 1)})
    for _ in range(cells.shape[1]):
        wrong = np.flatnonzero(rest)
        best, change = 0, None
        for place in np.flatnonzero(terms[:-1] == 0):
            column = cells[:, place]
            lost = int(np.count_nonzero(column[rest == 0]))
            here = column[wrong]
            for factor in factors:
                won = int(np.count_nonzero((rest[wrong] + factor * here == 0) & (here != 0)))
                if won - lost > best:
                    best, change = won - lost, (place, factor)
        if change is None or best < LEAST_EXPLAINED:
            break
        terms[change[0]] = change[1]
        rest = rest + change[1] * cells[:, change[0]]
    for place in np.flatnonzero(terms):
        less = rest - terms[place] * (cells[:, place] if place < cells.shape[1] else 1)
        if np.count_nonzero(rest == 0) - np.count_nonzero(less == 0) < min(LEAST_EXPLAINED, len(rows) // 4):
            terms[place], rest = 0, less
    return _whole([Fraction(int(value)) for value in terms])


def _shorter(found: list[NDArray[np.int64]], known: set[tuple[int, ...]]) -> Iterator[NDArray[np.int64]]:
    """Differences of two relations in which a variable cancels and that have fewer terms than the longer one."""
    for one in found:
        for other in found:
            for place in np.flatnonzero((one[:-1] != 0) & (other[:-1] != 0)):
                rest = [Fraction(int(x * other[place] - y * one[place])) for x, y in zip(one, other, strict=True)]
                if sum(map(bool, rest)) >= max(np.count_nonzero(one), np.count_nonzero(other)):
                    continue
                terms = _whole(rest)
                if terms is not None and tuple(terms.tolist()) not in known:
                    known.add(tuple(terms.tolist()))
                    yield terms


def _candidate(sample: Sample, table: _Table, terms: NDArray[np.int64]) -> Iterator[Candidate]:
    used = np.flatnonzero(terms[:-1])
    speaks = ~table.missing[:, used].any(axis=1)
    cells = table.cells[:, used][speaks]
    held = cells @ terms[used] + terms[-1] == 0
    # A record whose cells are all 0 says nothing for a sum.
    some = cells.any(axis=1) if terms[-1] == 0 else np.ones(len(cells), dtype=bool)
    if not sample.enough(int(held.sum()), len(held)) or not sample.enough(int(held[some].sum()), int(some.sum())):
        return
    for place in range(len(used)):
        filled = cells[:, place] != 0
        if 2 * np.count_nonzero(held & filled) < np.count_nonzero(filled):
            return
    # Unlike its neighbours of the record, each cell of the shuffled file fits by chance only.
    other = cells[np.argsort(sample.shuffled()[: len(cells)], kind="stable")]
    rest = cells @ terms[used] + terms[-1]
    chance = max(
        float(np.mean(rest + (other[:, place] - cells[:, place]) * terms[used[place]] != 0))
        for place in range(len(used))
    )
    wrong = float(np.mean(~held))
    if chance * OF_CHANCE < wrong:
        return
    vector = {table.names[place]: Fraction(int(terms[place])) for place in used}
    # The side with more terms is the positive one, for `linear_rule` writes what is negative as a total.
    sign = 1 if 2 * sum(value > 0 for value in vector.values()) >= len(vector) else -1
    constant = Fraction(int(terms[-1]), table.scale)
    rule = linear_rule({name: sign * value for name, value in vector.items()}, -sign * constant)
    speaking = float(speaks.mean())
    yield Candidate(
        "equality", rule, chance * speaking, wrong * speaking, vector | ({"": constant} if constant else {})
    )
