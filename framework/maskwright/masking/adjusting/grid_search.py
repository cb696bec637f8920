"""Search on the published grid, for rows that rounding a projection leaves off an edit.

First the neighbouring grid points, the nearest first; then a descent on how far the row is from its edits, with random
kicks where it gets stuck; then, for whatever was found, a descent on the distance to where the row came from. All
candidates of many rows are judged at once. What is drawn at random is the same for every row, or depends on what the
row holds: no row is moved otherwise because others are there.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from maskwright.foundation.randomness import mixed, row_hashes
from maskwright.masking.adjusting.constraint_system import ConstraintSystem, violation
from maskwright.masking.adjusting.derivation import ProductDerivation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.masking.adjusting.rounding import Grid

_NEIGHBOURS = 600
_CANDIDATES = 20_000
_DESCENTS = 60
_POLISHES = 12
_MOST_PAIRS = 200
_STRIDES = np.array([1, 2, 3, 5, 9, 17, 33, 65])
_LONGEST = 10**9
_SEEMS_SATISFIED = 1.0
_MOST_MEMBERS = 64
_MOST_JUMPS = 40


@dataclass(frozen=True, eq=False)
class AdjustedRows:
    """The rows while they are adjusted: each attempt writes what it finds into these arrays.

    `start`: as the methods returned them, the dependents of the plan computed; never written; shape (r, q). `points`:
    on every edit as far as that was found, before rounding; shape (r, q). `rounded`: on the grid; shape (r, q).
    `satisfied`: whether `rounded` satisfies every edit, and has no code for "no value"; shape (r,). `projected`:
    whether a projection was tried; shape (r,).
    """

    start: Floats
    points: Floats
    rounded: Floats
    satisfied: Booleans
    projected: Booleans


@dataclass(frozen=True, eq=False)
class GridSearch:
    """What candidates are made and judged with.

    `names`: free variables with a grid that can change the verdict of an edit, directly or through a dependent. `held`:
    what cells of the rows have to be; NaN where they may be anything; shape (r, q). `codes`: by position of the
    variable: codes for "no value", which no cell may become.
    """

    system: ConstraintSystem
    edits: EditSet
    grid: Grid
    names: tuple[str, ...]
    held: Floats | None = None
    codes: Mapping[int, Floats] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        system: ConstraintSystem,
        edits: EditSet,
        grid: Grid,
        held: Floats | None = None,
        codes: Mapping[int, Floats] | None = None,
    ) -> GridSearch:
        """Search over the free variables of a grid; `held`: shape (r, q)."""
        used = set(edits.variables)
        free = [name for name in grid.plan.free if grid.decimals.get(name) is not None]
        names = tuple(name for name in free if name in used or grid.plan.steps)
        return cls(system, edits, grid, names, held, codes or {})

    def satisfied(self, values: Floats, index: Integers) -> Booleans:
        """Whether rows `index`, holding `values`, satisfy every edit, and no cell of theirs is a code."""
        result = np.ones(len(index), dtype=np.bool_)
        for edit in self.edits:
            result &= self.system.targets.satisfied(edit, values, index)
        if self.held is not None:
            wanted = self.held[index]
            result &= np.all(np.isnan(wanted) | (values == wanted), axis=1)
        for place, codes in self.codes.items():
            result &= ~np.isin(values[:, place], codes)
        return result

    def candidates(self, points: Floats, moves: Integers) -> Floats:
        """Every move made on every point, dependents computed.

        `points`: shape (m, q). `moves`: in grid units, or strides of them; shape (c, f). Returns the candidates of the
        first point come first; shape (m * c, q).
        """
        units = {name: np.repeat(values, len(moves)) for name, values in self.grid.to_units(points).items()}
        nudges = {name: np.tile(moves[:, place], len(points)) for place, name in enumerate(self.names)}
        for name, amount in nudges.items():
            units[name] = units[name] + amount * self.grid.strides.get(name, 1)
        return self.grid.compute(units, nudges)

    def neighbours(self, rows: AdjustedRows, rng: np.random.Generator) -> None:
        """Write neighbouring grid points of `points` into rows that are not satisfied and that these satisfy."""
        index = np.flatnonzero(~rows.satisfied)
        if not len(index) or not self.names:
            return
        moves = neighbours(len(self.names), _NEIGHBOURS, rng)
        done = 0
        while done < len(moves) and len(index):
            some = moves[done : done + max(1, _CANDIDATES // (8 * len(index)))]
            done += len(some)
            found = self.candidates(rows.points[index], some)
            good = self.satisfied(found, np.repeat(index, len(some))).reshape(len(index), len(some))
            first, any_good = np.argmax(good, axis=1), good.any(axis=1)
            chosen = found.reshape(len(index), len(some), -1)[np.arange(len(index)), first]
            rows.rounded[index[any_good]] = chosen[any_good]
            rows.satisfied[index[any_good]] = True
            index = index[~any_good]

    def repair(self, all_rows: AdjustedRows, rng: np.random.Generator) -> None:
        """Walk over the grid from `points` towards the edits, for rows not satisfied; written where it ends on them."""
        left, points = np.flatnonzero(~all_rows.satisfied), all_rows.points
        if not len(left) or not self.names:
            return
        moves = self._steps(rng)
        # A third of the moves at a time: less work, and ties are broken differently each time.
        descents = [rng.permutation(len(moves))[: max(8, len(moves) // 3)] for _ in range(_DESCENTS)]
        batch = max(1, _CANDIDATES // len(moves))
        for start in range(0, len(left), batch):
            index = left[start : start + batch]
            current = self.grid.round(points[index])
            score = self._score(current, points[index], index) + 1e3
            kick = row_hashes(points[index])
            for chosen in descents:
                some = moves[chosen]
                found = self.candidates(current, some)
                found = np.concatenate([found.reshape(len(index), len(some), -1), *self._jumps(current)], axis=1)
                count = found.shape[1]
                found, owner = found.reshape(len(index) * count, -1), np.repeat(np.arange(len(index)), count)
                scores = self._score(found, points[index[owner]], index[owner])
                # What looks satisfied may still fail in binary64, where the next candidate does not.
                near = np.flatnonzero(scores < _SEEMS_SATISFIED)
                holds = near[self.satisfied(found[near], index[owner[near]])]
                scores[np.setdiff1d(near, holds)] += 1e3
                scores = scores.reshape(len(index), count)
                best = np.argmin(scores, axis=1)
                rows = np.arange(len(index))
                stuck = scores[rows, best] >= score
                kick = mixed(kick)
                best[stuck] = kick[stuck] % np.uint64(count)
                current = found.reshape(len(index), count, -1)[rows, best]
                score = scores[rows, best]
                good = score < _SEEMS_SATISFIED
                all_rows.rounded[index[good]] = current[good]
                all_rows.satisfied[index[good]] = True
                index, current, score, kick = index[~good], current[~good], score[~good], kick[~good]
                if not len(index):
                    break

    def polish(self, target: Floats, result: Floats, rows: Integers) -> None:
        """Bring satisfied rows nearer to `target` as long as single and double moves do so; writes `result`.

        `target`, `result`: shape (r, q).
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
                distance = self.distance(found, target[owner]).reshape(len(index), -1)
                nearer = distance < self.distance(result[index], target[index])[:, None] * (1 - 1e-9)
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

    def distance(self, values: Floats, target: Floats) -> Floats:
        """Squared standardised distances, shape (r,)."""
        return np.asarray(np.nansum(((values - target) / self.system.scale) ** 2, axis=1))

    def _score(self, values: Floats, target: Floats, index: Integers) -> Floats:
        """Shortfall first; the distance only ranks candidates that are about as near to the edits."""
        away = np.sqrt(self.distance(values, target))
        return violation(self.system, values, index) * 1e3 + away / (1.0 + away)

    def _jumps(self, current: Floats) -> Iterator[Floats]:
        """Rows with two factors replaced by the nearest pairs whose product is one of the values allowed for it.

        Returns shape (m, j, q).
        """
        for one, other, pairs in self._pairs:
            columns = [self.system.position[one], self.system.position[other]]
            step = [10.0 ** -(self.grid.decimals[name] or 0) for name in (one, other)]
            away = (current[:, None, columns] - pairs * step) / self.system.scale[columns]
            nearest = np.argsort(np.nan_to_num(np.sum(away**2, axis=2)), axis=1, kind="stable")[:, :_MOST_JUMPS]
            jumped = np.repeat(current, nearest.shape[1], axis=0)
            units = self.grid.to_units(jumped)
            units[one], units[other] = pairs[nearest, 0].ravel(), pairs[nearest, 1].ravel()
            yield self.grid.compute(units, {}).reshape(len(current), nearest.shape[1], -1)

    @cached_property
    def _pairs(self) -> list[tuple[str, str, Floats]]:
        """For products that have to take listed values: the pairs of factors, in grid units, that give one."""
        found: list[tuple[str, str, Floats]] = []
        listed = {each.variables[0]: each for each in self.system.sets if len(each.variables) == 1}
        for step in self.grid.plan.steps:
            if not isinstance(step, ProductDerivation) or step.variable not in listed or len(step.factors) != 2:
                continue
            (one, first), (other, second) = step.factors
            if (first, second) != (1, 1) or not {one, other} <= set(self.names):
                continue
            unit = step.coefficient / 10 ** ((self.grid.decimals[one] or 0) + (self.grid.decimals[other] or 0))
            pairs: list[Floats] = []
            for value in self.system.sets[listed[step.variable]][:_MOST_MEMBERS, 0]:
                product = Fraction(str(float(value))) / unit
                if product.denominator == 1 and 0 < product < _LONGEST:
                    tried = np.arange(1, int(product.numerator**0.5) + 1)
                    small = tried[product.numerator % tried == 0].astype(np.float64)
                    pairs.extend((np.stack([small, product.numerator / small], axis=1),))
                    pairs.extend((np.stack([product.numerator / small, small], axis=1),))
            if pairs:
                found.append((one, other, np.concatenate(pairs)))
        return found

    def _steps(self, rng: np.random.Generator) -> Integers:
        """Moves of a walk: single ones by powers of two up to two standard deviations, and pairs of small ones."""
        scale, position = self.system.scale, self.system.position
        moves = [_small_moves(len(self.names))]
        for place, name in enumerate(self.names):
            reach = 2 * scale[position[name]] * 10.0 ** (self.grid.decimals[name] or 0)
            sizes = 2 ** np.arange(1, 2 + min(40, int(np.log2(max(2.0, reach)))))
            single = np.zeros((2 * len(sizes), len(self.names)), dtype=np.int64)
            single[:, place] = np.concatenate([sizes, -sizes])
            moves.append(single)
        moves.extend(self._along_equalities())
        found = np.concatenate(moves)
        return found[rng.permutation(len(found))]

    def _along_equalities(self) -> Iterator[Integers]:
        """Moves of two variables after which an equality that nobody derives holds as before."""
        constraints = [each for constraint in self.system.constraints for each in constraint.alternatives[:1]]
        for linear in (
            each
            for alternative in constraints
            for each in alternative.linear
            if each.relation == "==" and not each.tolerance
        ):
            steps = {
                name: coefficient / 10 ** (self.grid.decimals[name] or 0)
                for name, coefficient in linear.coefficients
                if name in self.names
            }
            for one, other in itertools.combinations(steps, 2):
                ratio = steps[one] / steps[other]
                move = np.zeros((2 * len(_STRIDES), len(self.names)), dtype=np.int64)
                strides = np.concatenate([_STRIDES, -_STRIDES])
                if max(abs(ratio.numerator), ratio.denominator) < _LONGEST:
                    move[:, self.names.index(one)] = strides * ratio.denominator
                    move[:, self.names.index(other)] = -strides * ratio.numerator
                    yield move


def _small_moves(count: int) -> Integers:
    """Single moves by one unit, and pairs of them as long as these are not too many; shape (c, count)."""
    one = np.eye(count, dtype=np.int64)
    first, second = np.triu_indices(count, 1)
    first, second = first[:_MOST_PAIRS], second[:_MOST_PAIRS]
    pairs = [a * one[first] + b * one[second] for a in (1, -1) for b in (1, -1)]
    return np.concatenate([one, -one, *pairs])


def neighbours(count: int, limit: int, rng: np.random.Generator) -> Integers:
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
