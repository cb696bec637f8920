"""A tree that learns a variable from all others: what any statistician would try."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Attack, Inference, Published
from maskwright_builtin.numerics.trees.tree import (
    MOST_CODES,
    Predictors,
    TreeLimits,
    categorical_predictor,
    classification_tree,
    numeric_cuts,
    numeric_predictor,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright_builtin.numerics.arrays import Floats, Integers

FOLDS = 5
"""Parts of the published records, each of which is named by a tree of the others."""


class LearnedParams(BaseModel, extra="forbid", frozen=True):
    """How the tree grows, and when it is believed."""

    min_leaf: int = Field(5, ge=1, description="Least number of records of a leaf.")
    purity: float = Field(
        0.9, gt=0, le=1, description="Share of the records of a leaf that have one value, from which the leaf names it."
    )
    sample: int = Field(20_000, ge=100, description="Published records from which a tree learns, at most.")
    most_values: int = Field(
        100, ge=2, description="Different values of a variable up to which it is learned; numbers with more are not."
    )


def infer_by_tree(published: Published, params: LearnedParams) -> Iterator[Inference]:
    """What a classification tree of all other variables says of each cell.

    A cell that is published is named by a tree that has not learned from it (five parts in turn). Predictors are
    numbers in intervals and categories; an empty cell is a value of its own.
    """
    for name in published.targets:
        values = published.values(name)
        shown = np.flatnonzero(np.isfinite(values))
        distinct, classes = np.unique(values[shown], return_inverse=True)
        others = _predictors(published, name)
        if others is None or not 2 <= len(distinct) <= params.most_values or len(shown) < FOLDS * params.min_leaf:
            continue
        named = np.full(len(values), np.nan)
        parts = np.arange(len(shown)) % FOLDS
        for part in range(FOLDS):
            _name(named, others, shown[parts != part], classes[parts != part], shown[parts == part], distinct, params)
        _name(named, others, shown, classes, np.flatnonzero(np.isnan(values)), distinct, params)
        yield Inference(name, "a tree that learned it from all other variables", named)


def _name(
    named: Floats,
    others: Predictors,
    learned: Integers,
    classes: Integers,
    queried: Integers,
    distinct: Floats,
    params: LearnedParams,
) -> None:
    """Put into `named` what a tree of some records says of others."""
    if len(learned) > params.sample:
        some = np.linspace(0, len(learned) - 1, params.sample).astype(np.int64)
        learned, classes = learned[some], classes[some]
    if not len(queried):
        return
    limits = TreeLimits(min_leaf=params.min_leaf)
    tree = classification_tree(others.chosen(learned), classes, len(distinct), limits=limits)
    leaves = tree.leaves(others.chosen(learned)).astype(np.int64)
    counts = np.bincount(leaves * len(distinct) + classes, minlength=len(tree.feature) * len(distinct))
    table = counts.reshape(-1, len(distinct))
    most = table.argmax(axis=1)
    is_pure = table.max(axis=1) >= params.purity * np.maximum(table.sum(axis=1), 1)
    leaf = tree.leaves(others.chosen(queried)).astype(np.int64)
    named[queried] = np.where(is_pure[leaf], distinct[most[leaf]], np.nan)


def _predictors(published: Published, name: str) -> Predictors | None:
    found = []
    for column in published.data:
        variable, values = column.variable, published.values(column.name)
        if column.name == name or not np.isfinite(values).any():
            continue
        if variable.is_numeric:
            found.append(numeric_predictor(values, numeric_cuts(values)))
        elif len(variable.categories) < MOST_CODES:
            codes = np.where(np.isfinite(values), values, -1).astype(np.int64)
            found.append(categorical_predictor(codes, len(variable.categories), nominal=variable.type == "nominal"))
    return Predictors.of(found) if found else None


LEARNED = Attack(
    name="learned",
    infer=infer_by_tree,
    params=LearnedParams,
    reference="Breiman, Friedman, Olshen, Stone (1984), Classification and Regression Trees, Wadsworth.",
    summary="What a classification tree learns of each variable from all others: ranges, pairs and coordinates too.",
)
