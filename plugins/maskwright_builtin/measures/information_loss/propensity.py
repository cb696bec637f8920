"""Propensity score utility (pMSE): how well a logistic model tells masked records from original ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, Measurement, Progress
from maskwright_builtin.measures.common.pairing import listed, pair_records, present_values
from maskwright_builtin.measures.common.weighting import WeightedParams, weights_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

MISSING_RULE = "a missing cell stands at the mean of its variable, and whether it is missing is a predictor"
RECORDS_AT_ONCE = 2048
"""Records per block: the block and its products stay in the processor's cache."""
ENOUGH_TO_START = 32768
MOST_STEPS = 60
CONVERGED = 1e-12
"""Newton's method stops when the next step would gain no more deviance than this: far below its sampling error."""
NEGLIGIBLE = 1e-10
"""Directions of the design with a smaller share of its largest variance are exact dependences."""


class PropensityParams(WeightedParams, extra="forbid", frozen=True):
    """What the model may use."""

    order: int = Field(
        2,
        ge=1,
        le=2,
        description="1: the variables alone, which sees shifted means only. 2: also their squares and products, which "
        "sees changed variances and covariances.",
    )


def propensity(comparison: Comparison, params: PropensityParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Mean squared distance of propensity scores from the share of masked records.

        pMSE = mean (p_i - c)^2,   c = m / (n + m)

    over the n original and m masked records together, with p_i the probability of being a masked record that a logistic
    regression gives. 0 when the model cannot tell the files apart, c (1 - c) = 0.25 (files of equal size) when it tells
    every record.

    What chance gives: were the masked records drawn from the distribution of the original file, pMSE would have mean
    ``(k - 1) (1 - c)^2 c / (n + m)`` and standard deviation ``sqrt(2 (k - 1)) (1 - c)^2 c / (n + m)``, k the number of
    independent parameters. The part ``ratio`` is pMSE over that mean, ``standardised`` its distance from the mean in
    standard deviations. Masked records that stay near their own originals give less than chance: a ratio below 1 is
    usual for light masking and 1 is no goal.

    The model has an intercept, the standardised variables and for order 2 their squares and products; parameters that
    depend on others are left out, so that exactly dependent variables do no harm.

    Weighted: records count by their weights in the model and in the mean; the chance values are those of equal weights.

    Missing cells stand at the mean, and for each variable with missing cells an indicator is added to the predictors.

    Parameters
    ----------
    comparison : Comparison
    params : PropensityParams
    rng : numpy.random.Generator
        Not used.

    Returns
    -------
    Measurement
        `parts` has ``pmse``, ``ratio``, ``standardised``, ``expected`` and ``parameters``; `per_record` holds
        (p_i - c)^2 of the masked records; `interval` is None.
    """
    pairs = pair_records(comparison, MISSING_RULE, required=False)
    weights = weights_of(comparison, "propensity", weighted=params.weighted)
    notes = list(pairs.notes)
    design = _Design.of(pairs.original, pairs.masked, params.order)
    constant = [name for j, name in enumerate(pairs.names) if j not in design.used]
    if constant:
        notes.append(f"left out, the same in every record of both files: {listed(constant)}")
    counts = None if weights is None else (weights.original, weights.masked)
    files = _Files((pairs.original, pairs.masked), counts)
    fit = _fit(design, files, comparison.progress)
    if not fit.converged:
        notes.append(f"the model did not settle in {MOST_STEPS} steps: the files are told apart almost surely")
    n, m = len(pairs.original), len(pairs.masked)
    c = m / (n + m)
    total = 0.0
    per_record = np.empty(m)
    share = 0.0
    for file in (0, 1):
        for start, values, count in files.blocks(file):
            squares = (_probability(design.score(*design.variables(values), fit.coefficients)) - c) ** 2
            total += float(squares.sum() if count is None else np.dot(squares, count))
            share += len(squares) if count is None else float(count.sum())
            if file == 1:
                per_record[start : start + len(squares)] = squares
    value = total / share
    expected = (fit.rank - 1) * (1.0 - c) ** 2 * c / (n + m)
    deviation = np.sqrt(2.0 * (fit.rank - 1)) * (1.0 - c) ** 2 * c / (n + m)
    parts = {"pmse": value, "parameters": float(fit.rank), "expected": expected}
    if fit.rank > 1:
        parts |= {"ratio": value / expected, "standardised": float((value - expected) / deviation)}
    else:
        notes.append("no variable differs between records: there is nothing to tell the files apart by")
    comparison.progress(1.0)
    return Measurement(value, parts, per_record=per_record, notes=tuple(notes))


@dataclass(frozen=True, eq=False)
class _Design:
    """How records become rows of the model: center and scale of the used variables, those with missing cells."""

    used: tuple[int, ...]
    center: NDArray[np.float64]
    scale: NDArray[np.float64]
    holes: tuple[int, ...]
    order: int
    upper: tuple[NDArray[np.int64], NDArray[np.int64]]

    @classmethod
    def of(cls, original: NDArray[np.float64], masked: NDArray[np.float64], order: int) -> _Design:
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
        return cls(tuple(used), np.array(center), np.array(scale), tuple(holes), order, (rows, columns))

    @property
    def size(self) -> int:
        """Number of parameters, dependent ones included."""
        p = len(self.used)
        return 1 + p + len(self.holes) + (p * (p + 1) // 2 if self.order == 2 else 0)

    def variables(self, values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Standardised variables of a block of records, and indicators of missing cells."""
        standardised = values[:, list(self.used)]  # a copy
        standardised -= self.center
        standardised /= self.scale
        if not self.holes:
            return standardised, None
        np.nan_to_num(standardised, copy=False, nan=0.0)
        return standardised, np.isnan(values[:, list(self.holes)]).astype(np.float64)

    def rows(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """All predictors of a block of records; shape (b, size)."""
        standardised, gone = self.variables(values)
        columns = [np.ones((len(values), 1)), standardised] + ([] if gone is None else [gone])
        if self.order == 2:
            columns += [standardised[:, j : j + 1] * standardised[:, j:] for j in range(len(self.used))]
        return np.concatenate(columns, axis=1)

    def score(
        self, standardised: NDArray[np.float64], gone: NDArray[np.float64] | None, coefficients: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """``rows @ coefficients`` without making the products: they are a quadratic form."""
        p, first = len(self.used), 1 + len(self.used) + len(self.holes)
        form = np.zeros((p, p))
        if self.order == 2:
            form[self.upper] = coefficients[first:]
        score: NDArray[np.float64] = np.einsum("ij,ij->i", standardised @ form + coefficients[1 : 1 + p], standardised)
        score += coefficients[0]
        if gone is not None:
            score += np.einsum("ij,j->i", gone, coefficients[1 + p : first])
        return score

    def gradient(
        self, standardised: NDArray[np.float64], gone: NDArray[np.float64] | None, error: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """``error @ rows``, likewise."""
        weighted = standardised * error[:, None]
        pieces = [np.array([error.sum()]), weighted.sum(axis=0)]
        if gone is not None:
            pieces.append(np.einsum("i,ij->j", error, gone))
        if self.order == 2:
            pieces.append((weighted.T @ standardised)[self.upper])
        return np.concatenate(pieces)


@dataclass(frozen=True, eq=False)
class _Files:
    """Both files, and the weights of their records."""

    values: tuple[NDArray[np.float64], NDArray[np.float64]]
    weights: tuple[NDArray[np.float64], NDArray[np.float64]] | None

    def blocks(self, file: int) -> Iterator[tuple[int, NDArray[np.float64], NDArray[np.float64] | None]]:
        """Start, records and weights of each block of a file."""
        for start in range(0, len(self.values[file]), RECORDS_AT_ONCE):
            chosen = slice(start, start + RECORDS_AT_ONCE)
            yield start, self.values[file][chosen], None if self.weights is None else self.weights[file][chosen]

    def share(self, file: int) -> float:
        """Records of a file, or their weight."""
        return float(len(self.values[file])) if self.weights is None else float(self.weights[file].sum())

    def thinned(self) -> _Files:
        """About `ENOUGH_TO_START` records of each file, evenly taken."""
        step = max(1, max(map(len, self.values)) // ENOUGH_TO_START)
        values = self.values[0][::step], self.values[1][::step]
        weights = None if self.weights is None else (self.weights[0][::step], self.weights[1][::step])
        return _Files(values, weights)


@dataclass(frozen=True, eq=False)
class _Fit:
    coefficients: NDArray[np.float64]
    rank: int
    converged: bool


def _probability(score: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-score)))


def _fit(design: _Design, files: _Files, progress: Progress) -> _Fit:
    """Maximum likelihood by Newton's method.

    The information matrix of all records costs more than everything else, and a step only has to go the right way: it
    is taken from a part of the records until nothing is left to gain, and then once from all of them to make sure.
    """
    coefficients = np.zeros(design.size)
    # The intercept alone fits the shares of the files: the start, and the fit when nothing else can be told.
    coefficients[0] = np.log(files.share(1) / files.share(0))
    thin = files.thinned()
    if len(thin.values[0]) < len(files.values[0]) and all(thin.share(file) > 0.0 for file in (0, 1)):
        coefficients = _newton(design, thin, thin, coefficients, lambda share: progress(0.2 * share)).coefficients
        coefficients = _newton(
            design, files, thin, coefficients, lambda share: progress(0.2 + 0.6 * share)
        ).coefficients
    return _newton(design, files, files, coefficients, lambda share: progress(0.8 + 0.2 * share))


def _newton(
    design: _Design, files: _Files, informing: _Files, coefficients: NDArray[np.float64], progress: Progress
) -> _Fit:
    """Newton's method with step halving; the information matrix comes from `informing` and is kept while it serves."""
    factor = (files.share(0) + files.share(1)) / (informing.share(0) + informing.share(1))
    information = _Information.of(design, informing, coefficients, factor)
    rank = information.rank
    deviance, gradient = _likelihood(design, files, coefficients)
    for step in range(MOST_STEPS):
        direction = information.solve(gradient)
        decrement = float(gradient @ direction)
        if decrement <= CONVERGED * (1.0 + 1e-2 * deviance):
            return _Fit(coefficients, rank, True)
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
            return _Fit(coefficients, rank, True)
        if length < 1.0 or float(gradient @ information.solve(gradient)) > 0.05 * decrement:
            information = _Information.of(design, informing, coefficients, factor)
    return _Fit(coefficients, rank, False)


@dataclass(frozen=True, eq=False)
class _Information:
    """Information matrix of the model by eigenvectors of its scaled form, without directions that hold nothing."""

    values: NDArray[np.float64]
    vectors: NDArray[np.float64]
    root: NDArray[np.float64]

    @classmethod
    def of(cls, design: _Design, files: _Files, coefficients: NDArray[np.float64], factor: float = 1.0) -> _Information:
        matrix = np.zeros((design.size, design.size))
        for file in (0, 1):
            for _, values, count in files.blocks(file):
                rows = design.rows(values)
                probability = _probability(rows @ coefficients)
                spread = probability * (1.0 - probability)
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

    def solve(self, gradient: NDArray[np.float64]) -> NDArray[np.float64]:
        """Newton step of least length."""
        along = (self.vectors.T @ (gradient / self.root)) / self.values
        return np.asarray(self.vectors @ along / self.root)


def _likelihood(design: _Design, files: _Files, coefficients: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
    """Deviance and gradient of the log likelihood."""
    deviance, gradient = 0.0, np.zeros(design.size)
    for file in (0, 1):
        for _, values, count in files.blocks(file):
            standardised, gone = design.variables(values)
            score = design.score(standardised, gone, coefficients)
            # -log p of what the record is: log(1 + exp(s)) - file * s, without overflow.
            lost = np.log1p(np.exp(-np.abs(score))) + np.maximum(score, 0.0) - file * score
            error = file - _probability(score)
            if count is not None:
                lost, error = lost * count, error * count
            deviance += 2.0 * float(lost.sum())
            gradient += design.gradient(standardised, gone, error)
    return deviance, gradient


PROPENSITY = Measure(
    name="propensity",
    compute=propensity,
    kind="loss",
    unit="squared probability",
    direction="lower",
    range=(0.0, 1.0),
    params=PropensityParams,
    compares_unpaired=True,
    invariant_to=frozenset({"affine", "records", "columns"}),
    reference="Woo, Reiter, Oganian, Karr (2009), Global measures of data utility; Snoke, Raab, Nowok, Dibben, "
    "Slavkovic (2018), General and specific utility measures for synthetic data, J. Royal Statistical Society A 181(3)",
    summary="How well a logistic model tells masked records from original ones (pMSE, with its ratio to chance).",
)
