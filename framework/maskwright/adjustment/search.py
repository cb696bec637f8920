"""Search on the published grid, for rows that rounding a projection leaves off an edit.

First the neighbouring grid points, the nearest first; then a descent on how far the row is from its edits, with random
kicks where it gets stuck; then, for whatever was found, a descent on the distance to where the row came from. All
candidates of many rows are judged at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.adjustment.system import System, violation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.adjustment.rounding import Grid
    from maskwright.edits.edit import EditSet

_NEIGHBOURS = 600
_CANDIDATES = 20_000
_DESCENTS = 60
_POLISHES = 12
_MOST_PAIRS = 200


@dataclass(frozen=True, eq=False)
class Search:
    """What candidates are made and judged with.

    Attributes
    ----------
    system : System
    edits : EditSet
    grid : Grid
    names : tuple of str, length f
        Free variables with a grid that can change the verdict of an edit, directly or through a dependent.
    """

    system: System
    edits: EditSet
    grid: Grid
    names: tuple[str, ...]

    @classmethod
    def of(cls, system: System, edits: EditSet, grid: Grid) -> Search:
        """Search over the free variables of a grid."""
        used = set(edits.variables)
        free = [name for name in grid.plan.free if grid.decimals.get(name) is not None]
        return cls(system, edits, grid, tuple(name for name in free if name in used or grid.plan.steps))

    def satisfied(self, values: NDArray[np.float64], index: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Whether rows `index`, holding `values`, satisfy every edit."""
        result = np.ones(len(index), dtype=np.bool_)
        for edit in self.edits:
            result &= self.system.rows.satisfied(edit, values, index)
        return result

    def candidates(self, points: NDArray[np.float64], moves: NDArray[np.int64]) -> NDArray[np.float64]:
        """Every move made on every point, dependents computed.

        Parameters
        ----------
        points : ndarray of shape (m, q)
        moves : ndarray of shape (c, f)
            In grid units.

        Returns
        -------
        ndarray of shape (m * c, q)
            The candidates of the first point come first.
        """
        units = {name: np.repeat(values, len(moves)) for name, values in self.grid.to_units(points).items()}
        nudges = {name: np.tile(moves[:, place], len(points)) for place, name in enumerate(self.names)}
        for name, amount in nudges.items():
            units[name] = units[name] + amount
        return self.grid.compute(units, nudges)

    def neighbours(
        self,
        points: NDArray[np.float64],
        result: NDArray[np.float64],
        satisfied: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> None:
        """Try neighbouring grid points of `points` for rows not satisfied; writes `result` and `satisfied`."""
        index = np.flatnonzero(~satisfied)
        if not len(index) or not self.names:
            return
        moves = neighbours(len(self.names), _NEIGHBOURS, rng)
        done = 0
        while done < len(moves) and len(index):
            some = moves[done : done + max(1, _CANDIDATES // (8 * len(index)))]
            done += len(some)
            found = self.candidates(points[index], some)
            good = self.satisfied(found, np.repeat(index, len(some))).reshape(len(index), len(some))
            first, any_good = np.argmax(good, axis=1), good.any(axis=1)
            chosen = found.reshape(len(index), len(some), -1)[np.arange(len(index)), first]
            result[index[any_good]] = chosen[any_good]
            satisfied[index[any_good]] = True
            index = index[~any_good]

    def repair(
        self,
        points: NDArray[np.float64],
        result: NDArray[np.float64],
        satisfied: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> None:
        """Walk over the grid towards the edits, row by row not satisfied; writes `result` and `satisfied`."""
        left = np.flatnonzero(~satisfied)
        if not self.names:
            return
        moves = self._steps(rng)
        batch = max(1, _CANDIDATES // len(moves))
        for start in range(0, len(left), batch):
            index = left[start : start + batch]
            current = self.grid.round(points[index])
            score = self._score(current, points[index], index)
            for _ in range(_DESCENTS):
                # A third of the moves at a time: less work, and ties are broken differently each time.
                some = moves[rng.permutation(len(moves))[: max(8, len(moves) // 3)]]
                found = self.candidates(current, some)
                scores = self._score(found, np.repeat(points[index], len(some), axis=0), np.repeat(index, len(some)))
                scores = scores.reshape(len(index), len(some))
                best = np.argmin(scores, axis=1)
                rows = np.arange(len(index))
                stuck = scores[rows, best] >= score
                best[stuck] = rng.integers(len(some), size=int(stuck.sum()))
                current = found.reshape(len(index), len(some), -1)[rows, best]
                score = scores[rows, best]
                near = np.flatnonzero(score < 1.0)
                good = np.zeros(len(index), dtype=np.bool_)
                good[near] = self.satisfied(current[near], index[near])
                result[index[good]] = current[good]
                satisfied[index[good]] = True
                index, current, score = index[~good], current[~good], score[~good]
                if not len(index):
                    break

    def polish(self, target: NDArray[np.float64], result: NDArray[np.float64], rows: NDArray[np.int64]) -> None:
        """Bring satisfied rows nearer to `target` as long as single and double moves do so; writes `result`.

        Parameters
        ----------
        target, result : ndarray of shape (r, q)
        rows : ndarray of int64
            Row numbers.
        """
        if not self.names or not len(rows):
            return
        moves = _small_moves(len(self.names))
        batch = max(1, _CANDIDATES // len(moves))
        for start in range(0, len(rows), batch):
            index = rows[start : start + batch]
            for _ in range(_POLISHES):
                found = self.candidates(result[index], moves)
                owner = np.repeat(index, len(moves))
                distance = self._distance(found, target[owner]).reshape(len(index), -1)
                nearer = distance < self._distance(result[index], target[index])[:, None] * (1 - 1e-9)
                good = np.zeros(nearer.size, dtype=np.bool_)
                tried = np.flatnonzero(nearer.ravel())
                good[tried] = self.satisfied(found[tried], owner[tried])
                distance = np.where(good.reshape(nearer.shape), distance, np.inf)
                best, rows_here = np.argmin(distance, axis=1), np.arange(len(index))
                better = np.isfinite(distance[rows_here, best])
                chosen = found.reshape(len(index), len(moves), -1)[rows_here, best]
                result[index[better]] = chosen[better]
                index = index[better]
                if not len(index):
                    break

    def _distance(self, values: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(np.nansum(((values - target) / self.system.scale) ** 2, axis=1))

    def _score(
        self, values: NDArray[np.float64], target: NDArray[np.float64], index: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Shortfall first; the distance only tells apart candidates that are about as near to the edits."""
        away = np.sqrt(self._distance(values, target))
        return violation(self.system, values, index) * 1e3 + away / (1.0 + away)

    def _steps(self, rng: np.random.Generator) -> NDArray[np.int64]:
        """Moves of a walk: single ones by powers of two up to two standard deviations, and pairs of small ones."""
        scale, position = self.system.scale, self.system.position
        moves = [_small_moves(len(self.names))]
        for place, name in enumerate(self.names):
            reach = 2 * scale[position[name]] * 10.0 ** (self.grid.decimals[name] or 0)
            sizes = 2 ** np.arange(1, 2 + min(40, int(np.log2(max(2.0, reach)))))
            single = np.zeros((2 * len(sizes), len(self.names)), dtype=np.int64)
            single[:, place] = np.concatenate([sizes, -sizes])
            moves.append(single)
        found = np.concatenate(moves)
        return found[rng.permutation(len(found))]


def _small_moves(count: int) -> NDArray[np.int64]:
    """Single moves by one unit, and pairs of them as long as these are not too many; shape (c, count)."""
    one = np.eye(count, dtype=np.int64)
    first, second = np.triu_indices(count, 1)
    first, second = first[:_MOST_PAIRS], second[:_MOST_PAIRS]
    pairs = [a * one[first] + b * one[second] for a in (1, -1) for b in (1, -1)]
    return np.concatenate([one, -one, *pairs])


def neighbours(count: int, limit: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Moves of `count` free variables in grid units, the smallest first; shape (m, count), m <= `limit`.

    All single moves of one unit, all double ones, single moves of two and three, then random ones of growing size.
    """
    if count == 0:
        return np.zeros((0, 0), dtype=np.int64)
    one = np.eye(count, dtype=np.int64)
    single = np.stack([one, -one], axis=1).reshape(-1, count)
    first, second = np.triu_indices(count, 1)
    pairs = [a * one[first] + b * one[second] for a in (1, -1) for b in (1, -1)]
    double = np.stack(pairs, axis=1).reshape(-1, count) if len(first) else np.zeros((0, count), dtype=np.int64)
    reach = 2 + np.arange(4 * limit) // 400
    drawn = rng.integers(-reach[:, None], reach[:, None] + 1, size=(4 * limit, count))
    moves = np.concatenate([single, double, 2 * single, 3 * single, drawn])
    _, seen = np.unique(moves, axis=0, return_index=True)
    moves = moves[np.sort(seen)]
    return moves[moves.any(axis=1)][:limit]
