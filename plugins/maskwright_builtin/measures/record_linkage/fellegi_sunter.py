"""The Fellegi-Sunter model: agreement patterns counted over all pairs of records, and its estimation by EM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.threads import in_order

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright import Progress
    from maskwright_builtin.numerics.arrays import Floats, Integers


MOST_ITERATIONS = 5_000
TOLERANCE = 1e-10
"""EM has converged when no probability changes by more, a prior relative to itself."""
START = 0.9
"""Where the agreement probabilities among matches start."""
SMALLEST = 1e-12
"""Probabilities stay this far from 0 and 1, so that logarithms are finite."""


@dataclass(frozen=True, eq=False)
class Classes:
    """Matches and non-matches, as EM found them.

    `m`, `u`: probability of agreeing on each variable for a matching and for a non-matching pair; shape (d,). `prior`:
    probability that a pair matches. `error`: standard error of `m` if pairs were independent; infinite where the file
    does not determine it; shape (d,).
    """

    m: Floats
    u: Floats
    prior: float
    converged: bool
    error: Floats

    def weights(self) -> Floats:
        """How much agreeing rather than not speaks for a match, ``log2(m / u) - log2((1 - m) / (1 - u))``; (d,)."""
        return np.asarray(np.log2(self.m / self.u) - np.log2((1.0 - self.m) / (1.0 - self.u)))

    def probabilities(self) -> tuple[Floats, Floats]:
        """Probability of each pattern for a matching and for a non-matching pair; shape (2**d,) each."""
        d = len(self.m)
        agrees = ((np.arange(2**d)[:, None] >> np.arange(d)) & 1).astype(np.float64)
        return _probability(agrees, self.m), _probability(agrees, self.u)


def fit_classes(counts: Integers, prior: float, *, estimate_prior: bool) -> Classes:
    """Fit two classes to the counts of agreement patterns by EM.

    `counts`: pairs with each pattern, bit j for variable j; shape (2**d,). `prior`: probability that a pair matches;
    with `estimate_prior`, where it starts.

    Jaro (1989), Journal of the American Statistical Association 84(406), 414-420; Winkler (1988).
    """
    d = int(np.log2(len(counts)))
    agrees = ((np.arange(len(counts))[:, None] >> np.arange(d)) & 1).astype(np.float64)
    share = counts / counts.sum()
    m, u = np.full(d, START), np.clip(share @ agrees, SMALLEST, 1.0 - SMALLEST)
    converged = False
    for _ in range(MOST_ITERATIONS):
        matching, other = prior * _probability(agrees, m), (1.0 - prior) * _probability(agrees, u)
        mass = share * matching / (matching + other)
        rest = share - mass
        total = float(mass.sum())
        new_m, new_u = (
            np.clip(one @ agrees / max(float(one.sum()), SMALLEST**2), SMALLEST, 1.0 - SMALLEST) for one in (mass, rest)
        )
        new_prior = min(max(total, SMALLEST), 1.0 - SMALLEST) if estimate_prior else prior
        # A prior of one in a million must settle too, so its change counts relative to itself.
        change = max(np.abs(new_m - m).max(), np.abs(new_u - u).max(), abs(new_prior - prior) / prior)
        m, u, prior = new_m, new_u, new_prior
        if change < TOLERANCE:
            converged = True
            break
    return Classes(m, u, prior, converged, _standard_error(agrees, counts, m, u, prior))


def _probability(agrees: Floats, probability: Floats) -> Floats:
    """Probability of each pattern in a class; shape (2**d,)."""
    return np.asarray(np.exp(agrees @ np.log(probability) + (1.0 - agrees) @ np.log1p(-probability)))


def _standard_error(agrees: Floats, counts: Integers, m: Floats, u: Floats, prior: float) -> Floats:
    """Standard errors of `m` from the information of the multinomial counts, with the prior known."""
    d = len(m)
    matching, other = prior * _probability(agrees, m), (1.0 - prior) * _probability(agrees, u)
    slopes = np.hstack(
        [
            matching[:, None] * (agrees - m) / (m * (1.0 - m)),
            other[:, None] * (agrees - u) / (u * (1.0 - u)),
        ]
    )
    # In units of the binomial deviation of each probability, so that small ones do not look undetermined.
    scale = np.sqrt(np.concatenate([m * (1.0 - m), u * (1.0 - u)]))
    slopes *= scale
    information = (slopes / np.maximum(matching + other, SMALLEST**2)[:, None]).T @ slopes * float(counts.sum())
    values, vectors = np.linalg.eigh(information)
    determined = values > 1e-10 * max(values.max(), 1e-300)
    variance = (vectors[:, determined] ** 2 / values[determined]).sum(axis=1)
    loose = (vectors[:, ~determined] ** 2).sum(axis=1) > 1e-6
    error = np.where(loose, np.inf, np.sqrt(variance)) * scale
    return np.asarray(error[:d])


RECORDS_AT_ONCE = 256
TABLE_PER_RECORD = 8
"""Groups are counted in a table while it has at most this many places for each record; else they are numbered."""


def same_cell_subsets(
    queries: Integers, targets: Integers, progress: Progress
) -> Iterator[tuple[int, Integers, Integers]]:
    """For every non-empty set of variables, how many targets agree with each query on all of them.

    Records are joined by their cells, one variable at a time; a record that has no partner on some variables has none
    on more of them and is dropped. Time is a join for each set, memory O(n).

    `queries`, `targets`: cell of each value, 0, 1, ...; a missing cell, -1, agrees with nothing; shape (q, d) and (t,
    d).
    """
    d = queries.shape[1]
    sizes = [int(max(queries[:, j].max(initial=0), targets[:, j].max(initial=0))) + 1 for j in range(d)]

    def descend(
        first: int, pattern: int, groups: tuple[_Grouped, _Grouped], size: int
    ) -> Iterator[tuple[int, Integers, Integers]]:
        for j in range(first, d):
            left, right = (
                _split(one, cells[:, j], sizes[j]) for one, cells in zip(groups, (queries, targets), strict=True)
            )
            joined, places = _numbered(left[1], right[1], size * sizes[j])
            in_left, in_right = (np.bincount(keys, minlength=places) for keys in joined)
            kept = in_right[joined[0]] > 0, in_left[joined[1]] > 0
            narrowed = (left[0][kept[0]], joined[0][kept[0]]), (right[0][kept[1]], joined[1][kept[1]])
            if len(narrowed[0][0]):
                yield pattern | 1 << j, narrowed[0][0], in_right[narrowed[0][1]]
                yield from descend(j + 1, pattern | 1 << j, narrowed, places)
            if pattern == 0:
                progress(1.0 - 2.0 ** -(j + 1))

    everyone = [(np.arange(len(cells)), np.zeros(len(cells), dtype=np.int64)) for cells in (queries, targets)]
    yield from descend(0, 0, (everyone[0], everyone[1]), 1)
    progress(1.0)


_Grouped = tuple["Integers", "Integers"]
"""Positions of records, and the group each is in."""


def _split(grouped: _Grouped, cells: Integers, size: int) -> _Grouped:
    """Groups split by the cell of one more variable; records without a value leave."""
    records, groups = grouped
    cell = cells[records]
    present = cell >= 0
    if not present.all():
        records, groups, cell = records[present], groups[present], cell[present]
    return records, groups * size + cell


def _numbered(left: Integers, right: Integers, size: int) -> tuple[tuple[Integers, Integers], int]:
    """Both files' groups with numbers below the returned one, which is not much larger than the files."""
    if size <= TABLE_PER_RECORD * (len(left) + len(right)) + 64:
        return (left, right), size
    values, numbers = np.unique(np.concatenate([left, right]), return_inverse=True)
    return (numbers[: len(left)], numbers[len(left) :]), len(values)


def same_cell_patterns(queries: Integers, targets: Integers, progress: Progress) -> Integers:
    """How many of all pairs have each agreement pattern exactly; shape (2**d,), int64, bit j for variable j.

    Pairs that agree at least on a set are counted by joins; inclusion and exclusion (the Moebius inversion over
    supersets) makes the exact patterns of them, in whole numbers.

    `queries`, `targets`: cell of each value, 0, 1, ...; a missing cell, -1, agrees with nothing; shape (q, d) and (t,
    d).
    """
    d = queries.shape[1]
    counts = np.zeros(2**d, dtype=np.int64)
    counts[0] = len(queries) * len(targets)
    for pattern, _, partners in same_cell_subsets(queries, targets, progress):
        counts[pattern] = int(partners.sum())
    for j in range(d):
        by_variable = counts.reshape(-1, 2, 2**j)
        by_variable[:, 0] -= by_variable[:, 1]
    return counts


def best_same_cell(
    queries: Integers, targets: Integers, ranks: Integers, progress: Progress
) -> tuple[Integers, Integers]:
    """Best rank among the patterns of each query's pairs, and how many targets have it; each of shape (q,).

    `queries`, `targets`: cell of each value, 0, 1, ...; a missing cell, -1, agrees with nothing; shape (q, d) and (t,
    d). `ranks`: of each pattern; one more agreement must rank strictly higher. The best pattern that some target agrees
    with at least is then one that it has exactly; shape (2**d,).
    """
    best = np.full(len(queries), ranks[0])
    ties = np.full(len(queries), len(targets), dtype=np.int64)
    for pattern, chosen, partners in same_cell_subsets(queries, targets, progress):
        rank = ranks[pattern]
        better, equal = best[chosen] < rank, best[chosen] == rank
        ties[chosen] = np.where(better, partners, ties[chosen] + np.where(equal, partners, 0))
        best[chosen] = np.maximum(best[chosen], rank)
    return best, ties


def within_patterns(queries: Floats, targets: Floats, reach: Floats, progress: Progress) -> Integers:
    """How many of all pairs have each agreement pattern, agreeing where values differ by at most `reach`.

    Every pair is visited.

    `queries`, `targets`: NaN where missing, which agrees with nothing; shape (q, d) and (t, d). `reach`: largest
    difference of values that agree; shape (d,). Returns bit j of a place is set where variable j agrees; shape (2**d,).
    """
    from maskwright_builtin.measures.record_linkage.agreement_kernel import count_patterns

    columns = np.ascontiguousarray(targets.T)
    counts = np.zeros(2 ** queries.shape[1], dtype=np.int64)
    chunks = _chunks(len(queries))

    def count(chunk: slice) -> Integers:
        found = np.zeros_like(counts)
        count_patterns(np.ascontiguousarray(queries[chunk]), columns, reach, found)
        return found

    for done, found in enumerate(in_order(count, chunks), start=1):
        counts += found
        progress(done / len(chunks))
    return counts


def best_within(
    queries: Floats, targets: Floats, reach: Floats, ranks: Integers, progress: Progress
) -> tuple[Integers, Integers]:
    """Best rank among the patterns of each query's pairs, and how many targets have it; as `best_same_cell`.

    `queries`, `targets`: NaN where missing, which agrees with nothing; shape (q, d) and (t, d). `reach`: largest
    difference of values that agree; shape (d,). `ranks`: rank of each pattern, not negative; the best is the largest;
    shape (2**d,).
    """
    from maskwright_builtin.measures.record_linkage.agreement_kernel import best_patterns

    columns = np.ascontiguousarray(targets.T)
    best, ties = np.empty(len(queries), dtype=np.int64), np.empty(len(queries), dtype=np.int64)
    chunks = _chunks(len(queries))

    def find(chunk: slice) -> None:
        best_patterns(np.ascontiguousarray(queries[chunk]), columns, reach, ranks, best[chunk], ties[chunk])

    for done, _ in enumerate(in_order(find, chunks), start=1):
        progress(done / len(chunks))
    return best, ties


def _chunks(n: int) -> list[slice]:
    return [slice(begin, begin + RECORDS_AT_ONCE) for begin in range(0, n, RECORDS_AT_ONCE)]


def marginal_counts(counts: Integers, kept: list[int]) -> Integers:
    """Counts of the patterns on some of the variables."""
    full = np.arange(len(counts))
    small = sum(((full >> j & 1) << place for place, j in enumerate(kept)), start=np.zeros_like(full))
    result = np.zeros(2 ** len(kept), dtype=np.int64)
    np.add.at(result, small, counts)
    return result
