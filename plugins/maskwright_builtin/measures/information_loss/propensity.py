"""Propensity score utility (pMSE): how well a logistic or tree model separates masked from original records."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, MeasureClaims, Measurement
from maskwright_builtin.measures.information_loss.categorical.category_codes import (
    CategoricalParams,
    Categories,
    Names,
    categorical_files,
    variable_mistakes,
)
from maskwright_builtin.measures.information_loss.propensity_logistic import (
    MOST_STEPS,
    Design,
    Files,
    factors_of,
    fit,
    probability,
)
from maskwright_builtin.measures.pairing import listed, pair_records
from maskwright_builtin.numerics.trees.tree import (
    Predictor,
    Predictors,
    TreeLimits,
    categorical_predictor,
    classification_tree,
    numeric_cuts,
    numeric_predictor,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright import Measurable, Progress
    from maskwright_builtin.numerics.arrays import Floats, Integers


LIMITS = TreeLimits(min_leaf=5, complexity=1e-3)
"""Those of the R package synthpop."""


@dataclass(frozen=True, eq=False)
class TreeFit:
    """What a tree finds.

    `per_record`: of the masked records; shape (m,). `null`: the same where files were exchanged at random; shape
    (permutations,).
    """

    pmse: float
    leaves: int
    per_record: Floats
    null: Floats


def tree_fit(
    files: Files,
    sizes: Sequence[int],
    paired: Integers | None,
    permutations: int,
    rng: np.random.Generator,
    progress: Progress,
) -> TreeFit:
    """Grow a tree on both files together, and one on each of some permutations.

    `paired`: original of each masked record, each once; None where pairs are not known. A permutation exchanges the two
    records of a pair with probability 1/2, or all records of both files; shape (m,).
    """
    n, m = len(files.values[0]), len(files.values[1])
    weights = None if files.weights is None else np.concatenate(files.weights)
    predictors = _predictors(files, sizes)
    classes = np.repeat([0, 1], [n, m])
    pmse, leaves, squares = _grown(predictors, classes, weights)
    progress(1.0 / (permutations + 1))
    null = np.empty(permutations)
    for permutation in range(permutations):
        if paired is None:
            exchanged = rng.permutation(classes)
        else:
            exchanged = classes.copy()
            swapped = rng.random(m) < 0.5
            exchanged[n:][swapped] = 0
            exchanged[paired[swapped]] = 1
        null[permutation] = _grown(predictors, exchanged, weights)[0]
        progress((permutation + 2) / (permutations + 1))
    return TreeFit(pmse, leaves, squares[n:], null)


def _predictors(files: Files, sizes: Sequence[int]) -> Predictors:
    numbers, codes = np.concatenate(files.values), np.concatenate(files.codes)
    found: list[Predictor] = [numeric_predictor(column, numeric_cuts(column)) for column in numbers.T]
    found += [categorical_predictor(column.astype(np.int64), size) for column, size in zip(codes.T, sizes, strict=True)]
    return Predictors.of(found)


def _grown(predictors: Predictors, classes: Integers, weights: Floats | None) -> tuple[float, int, Floats]:
    """Mean squared distance of the leaves' shares from the overall one, leaves, and the distance of each record."""
    tree = classification_tree(predictors, classes, 2, weights, LIMITS)
    leaf = tree.leaves(predictors)
    own = np.ones(len(classes)) if weights is None else weights
    total, masked = np.bincount(leaf, own), np.bincount(leaf, own * classes)
    share = np.divide(masked, total, out=np.zeros_like(total), where=total > 0.0)
    squares = (share[leaf] - masked.sum() / total.sum()) ** 2
    return float(np.dot(squares, own) / own.sum()), int(tree.is_leaf.sum()), squares


MISSING_RULE = "a missing cell stands at the mean of its variable, and whether it is missing is a predictor"
MISSING_RULE_OF_TREES = "missing cells go to either side of a split"


class PropensityParams(CategoricalParams, extra="forbid", frozen=True):
    """What the model may use."""

    variables: Names = Field(
        None,
        description="Variables to compare, numeric and categorical. Default: those that are masked, or have role "
        "quasi_identifier or confidential.",
    )
    model: Literal["logistic", "tree"] = Field(
        "logistic",
        description="logistic: a regression, with the chance value of independent draws. tree: a classification tree, "
        "which finds interactions by itself, with the chance value of permutations.",
    )
    order: int = Field(
        2,
        ge=1,
        le=2,
        description="1: the variables alone, which sees shifted means only. 2: also squares and products of the "
        "numbers, which sees changed variances and covariances. Of the logistic model.",
    )
    interactions: bool = Field(
        default=False,
        description="Also products of the indicators of two categorical variables, which sees changed associations. "
        "They lower the ratio to chance, as each is a parameter: report both. Of the logistic model.",
    )
    permutations: int = Field(50, ge=2, le=10_000, description="Of the tree: permutations that give what chance gives.")
    records: int = Field(
        100_000,
        ge=100,
        description="Of the tree: records of each file that are used, drawn at random from longer files.",
    )


def propensity(comparison: Comparison, params: PropensityParams, rng: np.random.Generator) -> Measurement:
    """Mean squared distance of propensity scores from the share of masked records.

        pMSE = mean (p_i - c)^2,   c = m / (n + m)

    over the n original and m masked records together, with p_i the probability of being a masked record that a model
    gives. 0 when the model cannot tell the files apart, c (1 - c) = 0.25 (files of equal size) when it tells every
    record.

    The logistic model has an intercept, the standardised numbers and for order 2 their squares and products, and an
    indicator of every category but one of each categorical variable, with `interactions` also their products;
    parameters that depend on others are left out, so that exactly dependent variables do no harm. What chance gives:
    were the masked records drawn from the distribution of the original file, pMSE would have mean
    ``(k - 1) (1 - c)^2 c / (n + m)`` and standard deviation ``sqrt(2 (k - 1)) (1 - c)^2 c / (n + m)``, k the number of
    independent parameters. The part ``ratio`` is pMSE over that mean, ``standardised`` its distance from the mean in
    standard deviations. Masked records that stay near their own originals give less than chance: a ratio below 1 is
    usual for light masking and 1 is no goal.

    The tree (CART: leaves of at least 5 records, complexity 0.001) splits by all variables. What chance gives is the
    mean over `permutations`, in which the two records of a pair are exchanged with probability 1/2; where records are
    not paired, all records of both files.

    Weighted: records count by their weights in the model and in the mean; the chance values of the logistic model are
    those of equal weights.

    Missing cells of a number stand at the mean, and for each variable with missing cells an indicator is added to the
    predictors; a tree sends them to either side. Of a categorical variable they are a category. Recoded variables are
    compared on the published categories.

    Returns
    -------
    Measurement
        `parts` has ``pmse``, ``ratio``, ``standardised``, ``expected`` and ``parameters`` (of the tree ``leaves``);
        `per_record` holds (p_i - c)^2 of the masked records, None where a sample of them was used; `interval` is None.
    """
    both = _both_files(comparison, params)
    if not both.names:
        return Measurement(float("nan"), notes=(*both.notes, "not defined: there is no variable to compare"))
    if params.model == "tree":
        return _by_tree(comparison, params, rng, both)
    return _by_regression(comparison, params, both)


@dataclass(frozen=True, eq=False)
class _BothFiles:
    """Numbers and categories of both files.

    `names`: of the numbers, then of the categorical variables. `origin`: shape (m,).
    """

    names: tuple[str, ...]
    files: Files
    categories: tuple[Categories, ...]
    origin: Integers | None
    notes: tuple[str, ...]


def _both_files(comparison: Comparison, params: PropensityParams) -> _BothFiles:
    numeric, categorical = comparison.variables, comparison.categorical
    if params.variables is not None:
        names = dict.fromkeys(params.variables)
        both = (comparison.original, comparison.masked)
        numeric = tuple(name for name in names if all(file[name].variable.is_numeric for file in both))
        categorical = tuple(name for name in names if name not in numeric)
    notes: list[str] = []
    lengths = len(comparison.original), len(comparison.masked)
    values = np.empty((lengths[0], 0)), np.empty((lengths[1], 0))
    origin = comparison.origin if comparison.origin is not None else comparison.masked.origin
    if numeric or not categorical:
        rule = MISSING_RULE if params.model == "logistic" else MISSING_RULE_OF_TREES
        pairs = pair_records(replace(comparison, variables=numeric), rule, required=False)
        values, origin = (pairs.original, pairs.masked), pairs.origin
        notes += pairs.notes
    chosen = CategoricalParams(variables=None, weighted=params.weighted)
    found = categorical_files(replace(comparison, categorical=categorical), chosen, "propensity")
    notes += found.notes
    codes = [
        np.stack([getattr(each, file) for each in found.variables], axis=1)
        if found.variables
        else np.empty((length, 0), dtype=np.int32)
        for file, length in zip(("original", "masked"), lengths, strict=True)
    ]
    weights = None if found.weights is None else (found.weights.original, found.weights.masked)
    files = Files(values, (codes[0], codes[1]), weights)
    names_used = (*numeric, *(each.name for each in found.variables))
    return _BothFiles(names_used if all(lengths) else (), files, found.variables, origin, tuple(notes))


def _by_regression(comparison: Comparison, params: PropensityParams, both: _BothFiles) -> Measurement:
    files, notes = both.files, list(both.notes)
    factors = factors_of(both.categories, interactions=params.interactions)
    design = Design.of(*files.values, params.order, factors)
    numbers = both.names[: files.values[0].shape[1]]
    constant = [name for j, name in enumerate(numbers) if j not in design.used]
    constant += [each.name for each in both.categories if each.size < 2]
    if constant:
        notes.append(f"left out, the same in every record of both files: {listed(constant)}")
    model = fit(design, files, comparison.progress)
    if not model.converged:
        notes.append(f"the model did not settle in {MOST_STEPS} steps: the files are distinguished almost surely")
    n, m = len(files.values[0]), len(files.values[1])
    c = m / (n + m)
    total = 0.0
    per_record = np.empty(m)
    share = 0.0
    for file in (0, 1):
        for start, values, codes, count in files.blocks(file):
            scores = design.score(*design.variables(values), codes, model.coefficients)
            squares = (probability(scores) - c) ** 2
            total += float(squares.sum() if count is None else np.dot(squares, count))
            share += len(squares) if count is None else float(count.sum())
            if file == 1:
                per_record[start : start + len(squares)] = squares
    value = total / share
    expected = (model.rank - 1) * (1.0 - c) ** 2 * c / (n + m)
    deviation = np.sqrt(2.0 * (model.rank - 1)) * (1.0 - c) ** 2 * c / (n + m)
    parts = {"pmse": value, "parameters": float(model.rank), "expected": expected}
    if model.rank > 1:
        parts |= {"ratio": value / expected, "standardised": float((value - expected) / deviation)}
    else:
        notes.append("no variable differs between records: nothing distinguishes the files")
    comparison.progress(1.0)
    return Measurement(value, parts, per_record=per_record, notes=tuple(notes))


def _by_tree(
    comparison: Comparison, params: PropensityParams, rng: np.random.Generator, both: _BothFiles
) -> Measurement:
    n, m = len(both.files.values[0]), len(both.files.values[1])
    paired = _one_to_one(n, m, both.origin) if comparison.paired else None
    notes = list(both.notes)
    if paired is None:
        notes.append("records are not paired one to one: chance is that of records exchanged among all of both files")
    files = both.files
    drawn = max(n, m) > params.records
    if drawn:
        rows = [np.sort(rng.choice(length, min(length, params.records), replace=False)) for length in (n, m)]
        if paired is not None:
            rows[0], paired = paired[rows[1]], np.arange(len(rows[1]))
        files = files.chosen(rows[0], rows[1])
        notes.append(f"measured on {params.records} records of each longer file, drawn at random")
    sizes = [each.size for each in both.categories]
    found = tree_fit(files, sizes, paired, params.permutations, rng, comparison.progress)
    expected, deviation = float(found.null.mean()), float(found.null.std(ddof=1))
    parts = {"pmse": found.pmse, "leaves": float(found.leaves), "expected": expected}
    if expected > 0.0:
        parts["ratio"] = found.pmse / expected
    if deviation > 0.0:
        parts["standardised"] = (found.pmse - expected) / deviation
    if found.leaves == 1:
        notes.append("the tree found nothing that distinguishes the files")
    elif expected == 0.0:
        notes.append("there is no ratio to chance: trees of exchanged files find nothing, this one more than chance")
    return Measurement(found.pmse, parts, per_record=None if drawn else found.per_record, notes=tuple(notes))


def _one_to_one(n: int, m: int, origin: Integers | None) -> Integers | None:
    """Original of each masked record, each once; None where they are not paired so."""
    if n != m:
        return None
    if origin is None:
        return np.arange(n)
    return origin if len(np.unique(origin)) == n else None


def _used(params: PropensityParams, given: Measurable) -> tuple[str, ...]:
    return (*given.compared, *given.categorical) if params.variables is None else tuple(params.variables)


PROPENSITY = Measure(
    name="propensity",
    compute=propensity,
    kind="loss",
    unit="squared probability",
    direction="lower",
    range=(0.0, 1.0),
    params=PropensityParams,
    claims=MeasureClaims(
        uses=_used,
        check=variable_mistakes,
        deterministic=False,
        compares_unpaired=True,
        invariant_to={"affine", "records", "columns"},
    ),
    reference="Woo, Reiter, Oganian, Karr (2009), Global measures of data utility; Snoke, Raab, Nowok, Dibben, "
    "Slavkovic (2018), General and specific utility measures for synthetic data, J. Royal Statistical Society A 181(3)",
    summary="How well a logistic model or a tree distinguishes masked records from original ones (pMSE, with its ratio "
    "to chance).",
)
