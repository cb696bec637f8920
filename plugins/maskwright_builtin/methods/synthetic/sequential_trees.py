"""Sequential trees: each variable from those before it, with the missing codes of its cells."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from maskwright import GoverningPart, LinearPart, PolynomialPart, ProductPart, Variable
from maskwright_builtin.methods.synthetic.donors import DonorSearch, LeafDonors, Tally
from maskwright_builtin.numerics.trees.tree import (
    Predictor,
    Predictors,
    TreeLimits,
    categorical_predictor,
    classification_tree,
    numeric_cuts,
    numeric_predictor,
    regression_tree,
)

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from maskwright import Block, Completion, EditSet, Part, Progress
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers


MOST_CLASSES = 48
"""Categories that a tree distinguishes when it grows; rarer ones count as one, and are donors as they are."""
MOST_PLACES = 4
"""Digits after the point that are looked for where none are declared."""


@dataclass(frozen=True)
class Growth:
    """How trees grow.

    `sample`: records that a tree is grown on, at most; all are donors.
    """

    limits: TreeLimits
    sample: int


class SyntheticSequence:
    """Distributions of variables, each given those before it, learnt from original records.

    `given`: what is not synthesised, before all others; shape (n,). `order`: what is synthesised, in this order.
    `originals`: numbers or category codes of these variables; NaN where missing; shape (n,). `progress`: gets the share
    of trees that have grown.

    The tree of a variable with missing cells predicts first whether there is a value, a second one which.
    """

    def __init__(
        self,
        given: Mapping[str, tuple[Variable, Floats]],
        order: Sequence[Variable],
        originals: Mapping[str, Floats],
        growth: Growth,
        rng: np.random.Generator,
        progress: Progress,
    ) -> None:
        self._growth, self._rng = growth, rng
        self._given = {name: _Coding(variable, values) for name, (variable, values) in given.items()}
        self._order = tuple(order)
        self._codings: dict[str, _Coding] = {}
        self._donors: dict[str, tuple[LeafDonors | None, LeafDonors | None]] = {}
        n = len(originals[order[0].name])
        before = [_nothing(n), *(self._given[name].coded(values) for name, (_, values) in given.items())]
        for place, variable in enumerate(order):
            values = originals[variable.name]
            self._donors[variable.name] = self._learnt(variable, values, Predictors.of(before))
            self._codings[variable.name] = _Coding(variable, values)
            before.append(self._codings[variable.name].coded(values))
            progress((place + 1) / len(order))

    @property
    def trees(self) -> tuple[LeafDonors, ...]:
        """The trees and their donors."""
        return tuple(each for both in self._donors.values() for each in both if each is not None)

    def _learnt(
        self, variable: Variable, values: Floats, before: Predictors
    ) -> tuple[LeafDonors | None, LeafDonors | None]:
        missing = np.isnan(values)
        whether, which = None, None
        if missing.any() and not missing.all():
            whether = self._grown(before, missing.astype(np.float64), is_category=True, places=None)
        if not missing.all():
            present = values[~missing]
            which = self._grown(
                before.chosen(~missing) if missing.any() else before, present,
                is_category=not variable.is_numeric, places=_places(variable, present),
            )  # fmt: skip
        return whether, which

    def _grown(self, before: Predictors, values: Floats, *, is_category: bool, places: int | None) -> LeafDonors:
        sampled, chosen = before, values
        if len(values) > self._growth.sample:
            rows = np.sort(self._rng.choice(len(values), self._growth.sample, replace=False))
            sampled, chosen = before.chosen(rows), values[rows]
        if is_category:
            classes, number = _classes(chosen)
            tree = classification_tree(sampled, classes, number, limits=self._growth.limits)
        else:
            tree = regression_tree(sampled, chosen, limits=self._growth.limits)
        return LeafDonors(tree, before, values, is_category=is_category, places=places)

    def drawn(
        self,
        m: int,
        given: Mapping[str, Floats],
        known: Mapping[str, Floats],
        completion: Completion,
        rng: np.random.Generator,
        tally: Tally,
        progress: Progress,
    ) -> tuple[dict[str, Floats], Booleans]:
        """Synthetic records.

        `given`: what is not synthesised, of each record; shape (m,). `known`: as far as edits read it; shape (m,).
        Returns whether a value was found for each variable; shape (m,).
        """
        before = [_nothing(m), *(coding.coded(given[name]) for name, coding in self._given.items())]
        found: dict[str, Floats] = {}
        possible = np.ones(m, dtype=np.bool_)
        for place, variable in enumerate(self._order):
            name = variable.name
            whether, which = self._donors[name]
            predictors = Predictors.of(before)
            gone = np.full(m, which is None)
            if whether is not None:
                gone = whether.drawn(whether.tree.leaves(predictors), rng) > 0.0
            values = np.full(m, np.nan)
            if which is not None and not gone.all():
                rows = np.flatnonzero(~gone)
                leaves = which.tree.leaves(predictors.chosen(rows))
                fixed = {each: column[rows] for each, column in (*known.items(), *found.items())}
                search = DonorSearch(name, which, completion, fixed, rng, tally)
                values[rows], possible[rows] = _both(possible[rows], search.values(leaves))
                tally.add("cells_from_leaves_of_one_value", int(which.of_one_value(leaves).sum()))
            found[name] = values
            before.append(self._codings[name].coded(values))
            progress((place + 1) / len(self._order))
        return found, possible


def _both(possible: Booleans, drawn: tuple[Floats, Booleans]) -> tuple[Floats, Booleans]:
    return drawn[0], possible & drawn[1]


def _places(variable: Variable, values: Floats) -> int | None:
    """Digits after the point that drawn numbers have: those declared, or those that all originals get by with."""
    if variable.type in ("integer", "date"):
        return 0
    if variable.decimals is not None:
        return variable.decimals
    return next((places for places in range(MOST_PLACES + 1) if np.array_equal(np.round(values, places), values)), None)


def _classes(values: Floats) -> tuple[Integers, int]:
    """Categories as the classes of a tree, the rarest as one."""
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    rank = np.empty(len(counts), dtype=np.int64)
    rank[np.argsort(-counts, kind="stable")] = np.arange(len(counts))
    return np.minimum(rank, MOST_CLASSES - 1)[codes.ravel()], min(len(counts), MOST_CLASSES)


def _nothing(n: int) -> Predictor:
    """A predictor without information, for the first variable of all."""
    return Predictor(np.zeros(n, dtype=np.uint16), 2, nominal=True)


class _Coding:
    """How the values of a variable are given to trees, in original and in synthetic records."""

    def __init__(self, variable: Variable, originals: Floats) -> None:
        self._variable = variable
        self._cuts = numeric_cuts(originals) if variable.is_numeric else np.zeros(0)

    def coded(self, values: Floats) -> Predictor:
        """Values as a predictor."""
        if self._variable.is_numeric:
            return numeric_predictor(values, self._cuts)
        codes = np.where(np.isnan(values), -1, values).astype(np.int64)
        return categorical_predictor(codes, len(self._variable.categories), nominal=self._variable.type == "nominal")


def default_order(
    variables: Sequence[Variable], values: Mapping[str, Floats], edits: EditSet, first: Sequence[str]
) -> tuple[str, ...]:
    """Order in which variables are synthesised: those with few categories first, then numbers, then what edits define.

    What the condition of an edit reads comes before what its consequence reads.

    `values`: shape (n,).
    """
    rank: dict[str, tuple[int, int]] = {}
    for variable in variables:
        present = values[variable.name][~np.isnan(values[variable.name])]
        rank[variable.name] = (int(variable.is_numeric), 0 if variable.is_numeric else len(np.unique(present)))
    rest = [name for name in sorted(rank, key=lambda name: rank[name]) if name not in first]
    defined = {total for _, total in _definitions(part for edit in edits for part in edit.parts)}
    before = _before(_precedences(edits), rest)
    order = list(first)
    while rest:
        free = [name for name in rest if before[name].isdisjoint(rest)]
        order.append(min(free, key=lambda name: name in defined))
        rest.remove(order[-1])
    return tuple(order)


def _before(precedences: Iterable[tuple[str, str]], names: Collection[str]) -> dict[str, set[str]]:
    """All that each variable waits for; of precedences that contradict each other the first one counts."""
    before: dict[str, set[str]] = {name: set() for name in names}
    for earlier, later in precedences:
        if earlier not in before or later not in before or later in {earlier, *before[earlier]}:
            continue
        for name, own in before.items():
            if name == later or later in own:
                own |= {earlier, *before[earlier]}
    return before


def _precedences(edits: EditSet) -> Iterator[tuple[str, str]]:
    """Pairs of variables, of which the first should be drawn first; those that matter most first."""
    parts = [part for edit in edits for part in edit.parts]
    yield from _definitions(parts)
    governed = [
        (part.condition_variables, each)
        for part in parts if isinstance(part, GoverningPart)
        for each in (*part.consequent, *part.otherwise)
    ]  # fmt: skip
    # Without a value for its condition, an equality leaves later variables only what makes the condition false.
    for names, each in governed:
        if _is_equality(each):
            yield from itertools.product(names, each.variables)
    yield from _definitions(each for _, each in governed)
    for names, each in governed:
        yield from itertools.product(names, each.variables)


def _definitions(parts: Iterable[Part]) -> Iterator[tuple[str, str]]:
    """Variables by which an equality defines another one, and that: ``a + b == total``."""
    totals: set[str] = set()
    for part in parts:
        total = part.total if _is_equality(part) else None
        if total is not None and total not in totals:
            totals.add(total)
            yield from ((name, total) for name in part.variables if name != total)


def _is_equality(part: Part) -> TypeGuard[LinearPart | ProductPart | PolynomialPart]:
    return isinstance(part, PolynomialPart) or (isinstance(part, LinearPart | ProductPart) and part.relation == "==")


NONE = -2
"""Where there is a value."""

_CODE = " code"


@dataclass(frozen=True, eq=False)
class MissingCodeTrees:
    """Draws the missing code of each synthetic cell without a value.

    Each variable's code has a tree on all other variables and the codes before it, grown on the original records
    without a value.

    `kinds`: of each variable, its codes in the original. `trees`: of variables of several codes.
    """

    names: tuple[str, ...]
    kinds: tuple[Integers, ...]
    trees: Mapping[str, SyntheticSequence]
    completion: Completion

    @classmethod
    def of(
        cls,
        block: Block,
        given: Mapping[str, tuple[Variable, Floats]],
        completion: Completion,
        growth: Growth,
        rng: np.random.Generator,
    ) -> MissingCodeTrees | None:
        """Grow them; None where nothing is known of codes. `given`: further predictors, which stay; shape (n,)."""
        if block.missing_codes is None:
            return None
        learnt = dict(given)
        for j, variable in enumerate(block.variables):
            learnt[variable.name] = (variable, np.where(block.missing[:, j], np.nan, block.values[:, j]))
        every, trees = [], {}
        for j, name in enumerate(block.names):
            rows = np.flatnonzero(block.missing[:, j])
            kinds, codes = np.unique(block.missing_codes[rows, j], return_inverse=True)
            every.append(kinds.astype(np.int64))
            variable = _code_of(name, kinds)
            if len(kinds) > 1:
                trees[name] = SyntheticSequence(
                    {each: (kind, column[rows]) for each, (kind, column) in learnt.items() if each != name},
                    [variable], {variable.name: codes.astype(np.float64)}, growth, rng, lambda _: None,
                )  # fmt: skip
            known = np.full(block.n, np.nan)
            known[rows] = codes
            learnt[variable.name] = (variable, known)
        return cls(block.names, tuple(every), trees, completion)

    def drawn(self, values: Floats, given: Mapping[str, Floats], rng: np.random.Generator) -> Integers:
        """Codes of synthetic cells, `NONE` where there is a value; shape (m, p).

        `values`: synthetic; NaN where missing; shape (m, p). `given`: as the trees were grown with; shape (m,).
        """
        gone = np.isnan(values)
        found = np.full(values.shape, NONE, dtype=np.int64)
        seen = {**given, **{name: values[:, j] for j, name in enumerate(self.names)}}
        for j, (name, kinds) in enumerate(zip(self.names, self.kinds, strict=True)):
            wanted = np.flatnonzero(gone[:, j])
            variable = _code_of(name, kinds)
            drawn = np.zeros(len(wanted))
            if len(wanted) and name in self.trees:
                here = {each: column[wanted] for each, column in seen.items() if each != name}
                tree = self.trees[name]
                codes = tree.drawn(len(wanted), here, {}, self.completion, rng, Tally(), lambda _: None)[0]
                drawn = codes[variable.name]
            found[wanted, j] = kinds[drawn.astype(np.int64)] if len(kinds) else NONE
            now = np.full(len(values), np.nan)
            now[wanted] = drawn
            seen[variable.name] = now
        return found


def _code_of(name: str, kinds: Integers) -> Variable:
    return Variable(f"{_CODE} of {name}", "nominal", categories=tuple(map(str, kinds.tolist())))
