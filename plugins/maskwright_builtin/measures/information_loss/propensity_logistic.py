"""The logistic regression that distinguishes masked records from original ones, on numbers and categories."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from maskwright import InputError, Progress
from maskwright_builtin.measures.pairing import present_values

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright_builtin.measures.information_loss.categorical.category_codes import Categories
    from maskwright_builtin.numerics.arrays import Floats, Integers, Integers32

RECORDS_AT_ONCE = 2048
"""Records per block: the block and its products stay in the processor's cache."""
ENOUGH_TO_START = 32768
MOST_STEPS = 60
CONVERGED = 1e-12
"""Newton's method stops when the next step would gain no more deviance than this: far below its sampling error."""
NEGLIGIBLE = 1e-10
"""Directions of the design with a smaller share of its largest variance are exact dependences."""
MOST_PARAMETERS = 4000
"""The information matrix of more takes minutes, and adds less and less."""


@dataclass(frozen=True, eq=False)
class Factor:
    """Indicators of the levels of a categorical variable, or of the products of two.

    `variables`: positions of one or two categorical variables. `parameter`: position of the parameter of each (pair of)
    level(s) among those of all factors; -1 for a level of reference.
    """

    variables: tuple[int, ...]
    parameter: Integers

    @classmethod
    def of(cls, variables: Sequence[Categories], chosen: tuple[int, ...], first: int) -> Factor:
        """Parameters, from number `first` on, of the levels that a record of either file has; 0 is the reference."""
        sizes = [variables[j].size for j in chosen]
        there = np.zeros(sizes, dtype=np.bool_)
        for file in ("original", "masked"):
            there[tuple(getattr(variables[j], file) for j in chosen)] = True
        for axis in range(len(chosen)):
            np.moveaxis(there, axis, 0)[0] = False
        parameter = np.full(there.shape, -1, dtype=np.int64)
        parameter[there] = first + np.arange(np.count_nonzero(there))
        return cls(chosen, parameter)


def factors_of(variables: Sequence[Categories], *, interactions: bool) -> tuple[Factor, ...]:
    """Factors of categorical variables, and of their pairs."""
    chosen: list[tuple[int, ...]] = [(j,) for j in range(len(variables))]
    chosen += combinations(range(len(variables)), 2) if interactions else ()
    found: list[Factor] = []
    first = 0
    for each in chosen:
        wide = int(np.prod([variables[j].size for j in each], dtype=np.float64))
        factor = Factor.of(variables, each, first) if wide <= MOST_PARAMETERS**2 else None
        first += wide if factor is None else int(np.count_nonzero(factor.parameter >= 0))
        if factor is None or first > MOST_PARAMETERS:
            raise InputError(
                f"propensity: a logistic model of these categories would have more than {MOST_PARAMETERS} parameters; "
                "take model: tree, or name fewer variables"
            )
        found.append(factor)
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Design:
    """How records become rows of the model: center and scale of the used variables, those with missing cells."""

    used: tuple[int, ...]
    center: Floats
    scale: Floats
    holes: tuple[int, ...]
    order: int
    upper: tuple[Integers, Integers]
    factors: tuple[Factor, ...]

    @classmethod
    def of(cls, original: Floats, masked: Floats, order: int, factors: tuple[Factor, ...]) -> Design:
        """Center and scale of the numbers that differ between records, and the factors as they are."""
        used, center, scale, holes = [], [], [], []
        for j in range(original.shape[1]):
            files = [present_values(file[:, j]) for file in (original, masked)]
            there = sum(file.size for file in files)
            if 0 < there < len(original) + len(masked):
                holes.append(j)
            present = [file for file in files if file.size]
            if not present or max(file.max() for file in present) == min(file.min() for file in present):
                continue
            middle = float(present[0].mean())
            used.append(j)
            center.append(middle)
            scale.append(float(np.sqrt(np.mean([np.mean((file - middle) ** 2) for file in present]))) or 1.0)
        rows, columns = np.triu_indices(len(used))
        return cls(tuple(used), np.array(center), np.array(scale), tuple(holes), order, (rows, columns), factors)

    @property
    def of_numbers(self) -> int:
        """Number of parameters of the intercept and the numbers, dependent ones included; those of factors follow."""
        p = len(self.used)
        return 1 + p + len(self.holes) + (p * (p + 1) // 2 if self.order == 2 else 0)

    @property
    def size(self) -> int:
        """Number of all parameters."""
        return self.of_numbers + sum(int(np.count_nonzero(each.parameter >= 0)) for each in self.factors)

    def levels(self, codes: Integers32) -> Integers:
        """Parameter of each factor for a block of records, shape (b, f); `size` for a level of reference."""
        found = np.empty((len(codes), len(self.factors)), dtype=np.int64)
        for j, factor in enumerate(self.factors):
            found[:, j] = factor.parameter[tuple(codes[:, variable] for variable in factor.variables)]
        return np.where(found < 0, self.size, found + self.of_numbers)

    def variables(self, values: Floats) -> tuple[Floats, Floats | None]:
        """Standardised variables of a block of records, and indicators of missing cells."""
        standardised = values[:, list(self.used)]  # a copy
        standardised -= self.center
        standardised /= self.scale
        if not self.holes:
            return standardised, None
        np.nan_to_num(standardised, copy=False, nan=0.0)
        return standardised, np.isnan(values[:, list(self.holes)]).astype(np.float64)

    def rows(self, values: Floats, codes: Integers32) -> Floats:
        """All predictors of a block of records; shape (b, size)."""
        standardised, gone = self.variables(values)
        columns = [np.ones((len(values), 1)), standardised] + ([] if gone is None else [gone])
        if self.order == 2:
            columns += [standardised[:, j : j + 1] * standardised[:, j:] for j in range(len(self.used))]
        if self.factors:
            indicators = np.zeros((len(values), self.size - self.of_numbers + 1))
            np.put_along_axis(indicators, self.levels(codes) - self.of_numbers, 1.0, axis=1)
            columns.append(indicators[:, :-1])
        return np.concatenate(columns, axis=1)

    def score(self, standardised: Floats, gone: Floats | None, codes: Integers32, coefficients: Floats) -> Floats:
        """``rows @ coefficients`` without making the products: they are a quadratic form."""
        p, first = len(self.used), 1 + len(self.used) + len(self.holes)
        form = np.zeros((p, p))
        if self.order == 2:
            form[self.upper] = coefficients[first : self.of_numbers]
        score: Floats = np.einsum("ij,ij->i", standardised @ form + coefficients[1 : 1 + p], standardised)
        score += coefficients[0]
        if gone is not None:
            score += np.einsum("ij,j->i", gone, coefficients[1 + p : first])
        if self.factors:
            score += np.append(coefficients, 0.0)[self.levels(codes)].sum(axis=1)
        return score

    def gradient(self, standardised: Floats, gone: Floats | None, codes: Integers32, error: Floats) -> Floats:
        """``error @ rows``, likewise."""
        weighted = standardised * error[:, None]
        pieces = [np.array([error.sum()]), weighted.sum(axis=0)]
        if gone is not None:
            pieces.append(np.einsum("i,ij->j", error, gone))
        if self.order == 2:
            pieces.append((weighted.T @ standardised)[self.upper])
        if self.factors:
            levels = self.levels(codes)
            sums = np.bincount(levels.ravel(), np.repeat(error, len(self.factors)), self.size + 1)
            pieces.append(sums[self.of_numbers : -1])
        return np.concatenate(pieces)


@dataclass(frozen=True, eq=False)
class Files:
    """Both files, and the weights of their records."""

    values: tuple[Floats, Floats]
    codes: tuple[Integers32, Integers32]
    weights: tuple[Floats, Floats] | None

    def blocks(self, file: int) -> Iterator[tuple[int, Floats, Integers32, Floats | None]]:
        """Start, numbers, categories and weights of each block of a file."""
        for start in range(0, len(self.values[file]), RECORDS_AT_ONCE):
            chosen = slice(start, start + RECORDS_AT_ONCE)
            count = None if self.weights is None else self.weights[file][chosen]
            yield start, self.values[file][chosen], self.codes[file][chosen], count

    def chosen(self, original: Integers, masked: Integers) -> Files:
        """Some records of either file."""
        values = self.values[0][original], self.values[1][masked]
        weights = None if self.weights is None else (self.weights[0][original], self.weights[1][masked])
        return Files(values, (self.codes[0][original], self.codes[1][masked]), weights)

    def share(self, file: int) -> float:
        """Records of a file, or their weight."""
        return float(len(self.values[file])) if self.weights is None else float(self.weights[file].sum())

    def thinned(self) -> Files:
        """About `ENOUGH_TO_START` records of each file, evenly taken."""
        step = max(1, max(map(len, self.values)) // ENOUGH_TO_START)
        values = self.values[0][::step], self.values[1][::step]
        weights = None if self.weights is None else (self.weights[0][::step], self.weights[1][::step])
        return Files(values, (self.codes[0][::step], self.codes[1][::step]), weights)


@dataclass(frozen=True, eq=False)
class Fit:
    """Coefficients, the number of independent ones, and whether Newton's method settled."""

    coefficients: Floats
    rank: int
    converged: bool


def probability(score: Floats) -> Floats:
    """Logistic function of scores; shape (n,)."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-score)))


def fit(design: Design, files: Files, progress: Progress) -> Fit:
    """Maximum likelihood by Newton's method.

    The information matrix of all records costs more than everything else, and a step only has to go the right way: it
    is taken from a part of the records until nothing is left to gain, and then once from all of them to make sure.
    """
    coefficients = np.zeros(design.size)
    # The intercept alone fits the shares of the files: the start, and the fit when nothing else is known.
    coefficients[0] = np.log(files.share(1) / files.share(0))
    thin = files.thinned()
    if len(thin.values[0]) < len(files.values[0]) and all(thin.share(file) > 0.0 for file in (0, 1)):
        coefficients = _newton(design, thin, thin, coefficients, lambda share: progress(0.2 * share)).coefficients
        coefficients = _newton(
            design, files, thin, coefficients, lambda share: progress(0.2 + 0.6 * share)
        ).coefficients
    return _newton(design, files, files, coefficients, lambda share: progress(0.8 + 0.2 * share))


def _newton(design: Design, files: Files, informing: Files, coefficients: Floats, progress: Progress) -> Fit:
    """Newton's method with step halving; the information matrix comes from `informing` and is kept while it serves."""
    factor = (files.share(0) + files.share(1)) / (informing.share(0) + informing.share(1))
    information = _Information.of(design, informing, coefficients, factor)
    rank = information.rank
    deviance, gradient = _likelihood(design, files, coefficients)
    for step in range(MOST_STEPS):
        direction = information.solve(gradient)
        decrement = float(gradient @ direction)
        if decrement <= CONVERGED * (1.0 + 1e-2 * deviance):
            return Fit(coefficients, rank, True)
        length = 1.0
        trial, found = coefficients, (deviance, gradient)
        for _ in range(30):
            trial = coefficients + length * direction
            found = _likelihood(design, files, trial)
            if found[0] <= deviance * (1.0 + 1e-14):
                break
            length /= 2.0
        settled = deviance - found[0] <= 1e-13 * deviance
        coefficients, (deviance, gradient) = trial, found
        progress(min(0.95, (step + 1) / 8))
        if settled:
            return Fit(coefficients, rank, True)
        if length < 1.0 or float(gradient @ information.solve(gradient)) > 0.05 * decrement:
            information = _Information.of(design, informing, coefficients, factor)
    return Fit(coefficients, rank, False)


@dataclass(frozen=True, eq=False)
class _Information:
    """Information matrix of the model by eigenvectors of its scaled form, without directions that hold nothing."""

    values: Floats
    vectors: Floats
    root: Floats

    @classmethod
    def of(cls, design: Design, files: Files, coefficients: Floats, factor: float = 1.0) -> _Information:
        matrix = np.zeros((design.size, design.size))
        for file in (0, 1):
            for _, values, codes, count in files.blocks(file):
                rows = design.rows(values, codes)
                likely = probability(rows @ coefficients)
                spread = likely * (1.0 - likely)
                rows *= np.sqrt(spread if count is None else spread * count)[:, None]
                matrix += rows.T @ rows
        root = np.sqrt(factor * np.diag(matrix))
        root[root == 0.0] = 1.0
        values, vectors = np.linalg.eigh(factor * matrix / np.outer(root, root))
        kept = values > NEGLIGIBLE * values[-1]
        return cls(values[kept], vectors[:, kept], root)

    @property
    def rank(self) -> int:
        """Number of independent parameters."""
        return len(self.values)

    def solve(self, gradient: Floats) -> Floats:
        """Newton step of least length."""
        along = (self.vectors.T @ (gradient / self.root)) / self.values
        return np.asarray(self.vectors @ along / self.root)


def _likelihood(design: Design, files: Files, coefficients: Floats) -> tuple[float, Floats]:
    """Deviance and gradient of the log likelihood."""
    deviance, gradient = 0.0, np.zeros(design.size)
    for file in (0, 1):
        for _, values, codes, count in files.blocks(file):
            standardised, gone = design.variables(values)
            score = design.score(standardised, gone, codes, coefficients)
            # -log p of what the record is: log(1 + exp(s)) - file * s, without overflow.
            lost = np.log1p(np.exp(-np.abs(score))) + np.maximum(score, 0.0) - file * score
            error = file - probability(score)
            if count is not None:
                lost, error = lost * count, error * count
            deviance += 2.0 * float(lost.sum())
            gradient += design.gradient(standardised, gone, codes, error)
    return deviance, gradient
