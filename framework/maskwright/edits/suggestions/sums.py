"""Sums: linear relations with simple coefficients, exact ones and those that hold up to rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.suggestions.model import Candidate, linear_rule, small_whole
from maskwright.edits.suggestions.null_spaces import null_space, sparse
from maskwright.edits.suggestions.relations import (
    LARGEST_COEFFICIENT,
    LEAST_EXPLAINED,
    Relation,
    Table,
    in_units,
    multiples,
    shorter,
    whole_relation,
)
from maskwright.edits.suggestions.robust_fit import PENALTIES, gram, sparse_fit
from maskwright.edits.suggestions.rounding import BINARY, Numbers, tolerance_for
from maskwright.foundation.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from maskwright.edits.suggestions.model import Sample


LARGEST_ROUNDED = 12
"""Coefficients of sums that hold up to rounding, at most: with larger ones they would hold up to anything."""

FITTED = 64
OF_A_TERM = 5
"""Records that the fits are made on: so many, and so many for each variable."""

OF_EACH = 20
"""Among them, where the file has them, records in which a variable is not 0."""

PROMISING = 0.5
"""Share of these records that a fit meets up to rounding, where it is looked into."""

CERTAIN = 4.0
"""Standard errors within which a coefficient is a simple one, or none."""

LEAST_MENDED = 0.1
"""Share of the records in which a relation holds that is worth mending."""

OF_CHANCE = 0.2
"""Violations a relation may have, in parts of those chance would leave if its variables were unrelated."""

LEAST_CHANCE = 0.5
"""Share of the records that chance would leave violated by a relation with a tolerance, at least."""

NULL = 1e-10
"""Part of the largest eigenvalue below which one may be 0."""

EACH_MATTERS = 0.3
"""Share of the records that violate a relation when the cell of one of its variables is another record's, at least."""


def sums(sample: Sample, names: Sequence[str]) -> Iterator[Candidate]:
    """Linear relations that hold in enough records."""
    if len(names) < 2:
        return
    numbers = Numbers(sample, names)
    missing = np.isnan(numbers.values)
    errors = np.column_stack([numbers.errors(place) for place in range(len(names))])
    table = Table(numbers, np.where(missing, 0.0, numbers.values), np.where(missing, 0.0, errors), missing)
    whole = np.flatnonzero(~missing.any(axis=1))
    groups = [whole] if len(whole) >= 2 * (len(names) + 1) else []
    if len(whole) < len(sample):
        groups.append(np.arange(len(sample)))
    tried: set[tuple[int | Fraction, ...]] = set()
    found: dict[tuple[int | Fraction, ...], Relation] = {}
    for rows in groups:
        for relation in [*(_exact(table, rows, sample) if rows is whole else ()), *_fitted(table, rows)]:
            if relation.key in tried:
                continue
            tried.add(relation.key)
            mended = _mended(table, rows, relation)
            if mended is not None:
                found[mended.key] = mended
    every = [*found.values(), *shorter(list(found.values()), {key[:-1] for key in found})]
    of_units = {each.key: each for each in (in_units(table, relation) for relation in every)}
    for relation in of_units.values():
        yield from _candidate(sample, table, relation)


def _exact(table: Table, rows: NDArray[np.int64], sample: Sample) -> Iterator[Relation]:
    """Relations that hold in all records: the null space of a few, and of each record that breaks one of those."""
    names = [name for name in table.numbers.names if name in sample.exact]
    places = np.array([table.numbers.names.index(name) for name in names], dtype=np.int64)
    places = places[_dependent(table.cells[np.ix_(rows, places)])]
    names = [table.numbers.names[place] for place in places]
    if len(places) < 2:
        return
    decimals = [sample.data[name].variable.decimals or 0 for name in names]
    grids = 10.0 ** np.array(decimals)
    steps = np.array([10 ** (max(decimals) - each) for each in decimals], dtype=np.int64)
    units = np.rint(table.cells[np.ix_(rows, places)] * grids).astype(np.int64) * steps
    width = len(places)
    chosen = list(dict.fromkeys(np.linspace(0, len(rows) - 1, min(len(rows), width + 8)).astype(int).tolist()))
    while True:
        records = [[*(Fraction(int(value)) for value in units[row]), Fraction(1)] for row in chosen]
        kept = [
            terms for vector in sparse(null_space(records, width + 1), width) if (terms := _whole(vector)) is not None
        ]
        # Sums of whole numbers wrap around; the file is checked without that.
        broken = {int(np.argmax(wrong)) for terms in kept if (wrong := units @ terms[:-1] + terms[-1] != 0).any()}
        if not broken - set(chosen):
            break
        chosen.extend(sorted(broken))
    for terms in kept:
        spread = np.zeros(len(table.numbers.names), dtype=np.int64)
        spread[places] = terms[:-1]
        yield Relation(spread, Fraction(int(terms[-1]), 10 ** max(decimals)))


def _dependent(cells: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Columns that a linear dependence, with a constant, may be of."""
    scaled = np.column_stack([cells / np.maximum(np.abs(cells).max(axis=0), 1e-300), np.ones(len(cells))])
    sizes, directions = np.linalg.eigh(gram(scaled))
    null = directions[:, sizes <= NULL * max(sizes[-1], 1e-300)]
    return np.asarray(np.abs(null[:-1]).max(axis=1, initial=0.0) > np.sqrt(NULL))


def _whole(vector: Sequence[Fraction]) -> NDArray[np.int64] | None:
    """Small whole coefficients, the constant being any; None where there are none, or of less than two variables."""
    whole = small_whole(vector, 2**62)
    if whole is None or sum(map(bool, whole[:-1])) < 2 or max(map(abs, whole[:-1])) > LARGEST_COEFFICIENT:
        return None
    sign = 1 if next(value for value in whole if value) > 0 else -1
    return np.array([sign * int(value) for value in whole], dtype=np.int64)


def _fitted(table: Table, rows: NDArray[np.int64]) -> Iterator[Relation]:
    """For each variable its robust sparse fit on the others, in simple coefficients."""
    chosen = _drawn(table, rows)
    cells, errors = table.cells[chosen], table.errors[chosen]
    sizes = np.array([np.median(np.abs(column[column != 0])) if column.any() else 1.0 for column in cells.T])
    scaled, slack = cells / sizes, errors / sizes
    single = ~multiples(table, chosen)
    for target in range(cells.shape[1]):
        present = ~table.missing[chosen, target] & (cells[:, target] != 0)
        if np.count_nonzero(present) < LEAST_EXPLAINED:
            continue
        others = np.flatnonzero(single & (np.arange(len(single)) != target))
        terms = np.column_stack([scaled[:, others], np.ones(len(chosen))])[~table.missing[chosen, target]]
        aim = scaled[~table.missing[chosen, target], target]
        among = present[~table.missing[chosen, target]]
        bounds = slack[~table.missing[chosen, target]]
        for penalty in PENALTIES:
            fit = sparse_fit(terms, aim, penalty)
            within = np.abs(terms @ fit - aim) <= bounds[:, others] @ np.abs(fit[:-1]) + bounds[:, target]
            if np.mean(within[among]) < PROMISING:
                break
            values, doubt = _without_small(terms[within], aim[within], fit)
            factors = sizes[target] / np.append(sizes[others], 1.0)
            vector = [Fraction(0)] * cells.shape[1]
            vector[target] = Fraction(-1)
            for place, value, error in zip(others, values * factors, doubt * factors, strict=False):
                vector[place] = _simple(float(value), float(error))
            relation = whole_relation(vector, Fraction(0))
            if relation is not None:
                yield Relation(relation.terms, _constant(table, chosen, relation.terms))


def _without_small(
    terms: NDArray[np.float64], aim: NDArray[np.float64], fit: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Coefficients of least squares, 0 where they may be none, and by how much they may be wrong."""
    kept = np.flatnonzero(np.abs(fit) > 1e-7)
    values, doubt = np.zeros(len(fit)), np.zeros(len(fit))
    while len(kept):
        inverse = np.linalg.pinv(gram(terms[:, kept]))
        values[:] = doubt[:] = 0
        values[kept] = inverse @ (terms[:, kept].T @ aim)
        misses = aim - terms[:, kept] @ values[kept]
        spread = np.sqrt(float(misses @ misses) / max(len(aim) - len(kept), 1))
        doubt[kept] = CERTAIN * spread * np.sqrt(np.maximum(np.diag(inverse), 0))
        more = kept[np.abs(values[kept]) > np.maximum(doubt[kept], 1e-7)]
        if len(more) == len(kept):
            break
        values[np.setdiff1d(kept, more)] = 0
        kept = more
    return values, doubt


def _constant(table: Table, rows: NDArray[np.int64], terms: NDArray[np.int64]) -> Fraction:
    """The simplest constant with which most records hold; 0 where they do without."""
    relation = Relation(terms)
    speaks = rows[~table.missing[np.ix_(rows, np.flatnonzero(relation.terms))].any(axis=1)]
    if not len(speaks):
        return Fraction(0)
    rest, bound = table.rest(relation, speaks), table.bound(relation, speaks)
    middle = float(np.median(rest))
    off = float(np.median(np.abs(rest - middle)))
    lost = BINARY * float(np.median(np.abs(table.cells[speaks]) @ np.abs(relation.terms)))
    if abs(middle) <= (lost if off <= lost else float(np.median(bound))):
        return Fraction(0)
    for places in range(-9, 10):
        near = Fraction(round(Fraction(middle) * Fraction(10) ** places)) / Fraction(10) ** places
        if abs(float(near) - middle) <= max(off, lost):
            return -near
    return Fraction(0)


def _drawn(table: Table, rows: NDArray[np.int64]) -> NDArray[np.int64]:
    """Some records at random, the same every time, and for each variable some in which it is not 0."""
    many = FITTED + OF_A_TERM * (table.cells.shape[1] + 1)
    if len(rows) <= many:
        return rows
    order = generator(0, "fitted").permutation(rows)
    chosen = [order[:many]]
    for column in table.cells.T:
        lacking = OF_EACH - int(np.count_nonzero(column[chosen[0]]))
        if lacking > 0:
            chosen.append(order[many:][column[order[many:]] != 0][:lacking])
    return np.unique(np.concatenate(chosen))


def _simple(value: float, doubt: float) -> Fraction:
    """A simple fraction near a coefficient; 0 where it is none, since what is wrong with it is mended later."""
    if abs(value) <= doubt:
        return Fraction(0)
    for largest, error in ((1, 0.02), (12, 1e-4), (LARGEST_COEFFICIENT, 1e-6)):
        near = Fraction(value).limit_denominator(largest)
        if abs(float(near) - value) <= max(error * abs(value), min(doubt, 0.25) if largest == 1 else 0.0):
            return near
    return Fraction(0)


def _mended(table: Table, rows: NDArray[np.int64], relation: Relation) -> Relation | None:
    """The relation with the terms added that make more records hold, and without those that make none hold."""
    terms, cells, errors = relation.terms.copy(), table.cells[rows], table.errors[rows]
    rest, bound = table.rest(relation, rows), table.bound(relation, rows)
    if np.mean(np.abs(rest) <= bound) < LEAST_MENDED:
        return None
    for _ in range(cells.shape[1]):
        change = _best_term(terms, cells, errors, rest, bound)
        if change is None:
            break
        added, factor = change
        terms[added] = factor
        rest, bound = rest + factor * cells[:, added], bound + abs(factor) * errors[:, added]
    held = int(np.count_nonzero(np.abs(rest) <= bound))
    least = min(LEAST_EXPLAINED, len(rows) // 4)
    for place in np.flatnonzero(terms):
        less, lower = rest - terms[place] * cells[:, place], bound - abs(terms[place]) * errors[:, place]
        without = int(np.count_nonzero(np.abs(less) <= lower))
        if held - without < least:
            terms[place], rest, bound, held = 0, less, lower, without
    mended = whole_relation([Fraction(int(value)) for value in terms], Fraction(0))
    return None if mended is None else Relation(mended.terms, _constant(table, rows, mended.terms))


def _best_term(
    terms: NDArray[np.int64],
    cells: NDArray[np.float64],
    errors: NDArray[np.float64],
    rest: NDArray[np.float64],
    bound: NDArray[np.float64],
) -> tuple[int, int] | None:
    """The variable and coefficient with which most records hold more than without; None where hardly any do."""
    held = np.abs(rest) <= bound
    wrong = np.flatnonzero(~held)
    factors = sorted({sign * size for size in {1, *np.abs(terms).tolist()} - {0} for sign in (-1, 1)})
    best, change = LEAST_EXPLAINED - 1, None
    for place in np.flatnonzero(terms == 0):
        here, error = cells[wrong, place], errors[wrong, place]
        some = here != 0
        if np.count_nonzero(some) <= best:
            continue
        for factor in factors:
            hold = np.abs(rest[wrong] + factor * here) <= bound[wrong] + abs(factor) * error
            won = int(np.count_nonzero(hold & some))
            if won > best:
                off = np.abs(rest + factor * cells[:, place]) > bound + abs(factor) * errors[:, place]
                won -= int(np.count_nonzero(off & held))
            if won > best:
                best, change = won, (int(place), int(factor))
    return change


def _candidate(sample: Sample, table: Table, relation: Relation) -> Iterator[Candidate]:
    used = np.flatnonzero(relation.terms)
    speaks = np.flatnonzero(~table.missing[:, used].any(axis=1))
    cells, terms = table.cells[np.ix_(speaks, used)], relation.terms[used].astype(np.float64)
    rest = table.rest(relation, speaks)
    sizes = np.abs(cells) @ np.abs(terms)
    coarsest = float(np.max(np.where(table.numbers.noise == 0, table.numbers.halves, 0.0)[used] * np.abs(terms)))
    tolerance = tolerance_for(np.abs(rest), table.bound(relation, speaks), sizes, coarsest, sample.equal_share)
    if tolerance and (np.abs(terms).max() > LARGEST_ROUNDED or (len(used) == 2 and np.ptp(np.abs(terms)))):
        return  # what is computed from one variable is searched for as such
    allowed = float(tolerance) + BINARY * sizes
    held = np.abs(rest) <= allowed
    # A record whose cells are all 0 says nothing for a sum.
    some = cells.any(axis=1) if relation.constant == 0 else np.ones(len(cells), dtype=bool)
    if not all(sample.equal_enough(int((held & each).sum()), int(each.sum())) for each in (some | True, some)):
        return
    # Unlike its neighbours of the record, each cell of the shuffled file fits by chance only.
    other = cells[np.argsort(sample.shuffled()[: len(cells)], kind="stable")]
    chance = 0.0
    for place in range(len(used)):
        filled = cells[:, place] != 0
        if 2 * np.count_nonzero(held & filled) < np.count_nonzero(filled):
            return
        broken = np.abs(rest + (other[:, place] - cells[:, place]) * terms[place]) > allowed
        moved = held & (other[:, place] != cells[:, place])
        if np.count_nonzero(broken & moved) < EACH_MATTERS * np.count_nonzero(moved):
            return
        chance = max(chance, float(np.mean(broken)))
    wrong = float(np.mean(~held))
    if chance * OF_CHANCE < wrong or (tolerance and chance < LEAST_CHANCE * np.mean(some)):
        return
    vector = {table.numbers.names[place]: Fraction(int(relation.terms[place])) for place in used}
    # The side with more terms is the positive one, for `linear_rule` writes what is negative as a total.
    sign = 1 if 2 * sum(value > 0 for value in vector.values()) >= len(vector) else -1
    rule = linear_rule({name: sign * value for name, value in vector.items()}, -sign * relation.constant)
    speaking = len(speaks) / len(sample)
    whole = vector | ({"": relation.constant} if relation.constant else {})
    yield Candidate("equality", rule, chance * speaking, wrong * speaking, whole, tolerance=tolerance)
