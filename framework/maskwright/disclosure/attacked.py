"""Attacks on a release, scored by how often they are right: what each claims of each variable, and the decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maskwright.data.dependencies import CERTAINTY
from maskwright.disclosure.decision import Claims, certain_cells, claims_of, relations
from maskwright.plugins.attack import Attack, Inference, Published

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import BaseModel

    from maskwright.data.dataset import Column, Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Booleans, Floats, Integers


Decision = Literal["exact", "certain", "figure"]

SAME = 1e-9
"""Share of a number up to which two are the same."""


@dataclass(frozen=True)
class AttackResult:
    """What an attack infers of the hidden cells of a variable.

    Attributes
    ----------
    attack, variable : str
    hidden : int
        Cells whose original value the release does not show.
    claims, right : int
        Hidden cells that the attack names, each by the rule that is right most often in published cells; and how many
        of them rightly.
    base : float
        Share that the published distribution alone would name rightly.
    certain : int
        Hidden cells named by rules of which an intruder would be sure, and rightly so.
    decision : {"exact", "certain", "figure"}
        Whether published edits leave no other value, whether an intruder would be sure and mostly right, or neither.
    rule : str
        That which names most of the cells that are certain; else that which names most.

    Examples
    --------
    >>> from maskwright import AttackResult
    >>> AttackResult("dependency", "age", 10, 8, 4, 0.25, 0, "figure", "other records").precision
    0.5
    """

    attack: str
    variable: str
    hidden: int
    claims: int
    right: int
    base: float
    certain: int
    decision: Decision
    rule: str

    @property
    def precision(self) -> float:
        """Share of the claims that are right; NaN without any."""
        return self.right / self.claims if self.claims else float("nan")

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "attack": self.attack, "variable": self.variable, "hidden": self.hidden, "claims": self.claims,
            "right": self.right, "precision": self.precision if self.claims else None, "base": self.base,
            "certain": self.certain, "decision": self.decision, "rule": self.rule,
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Target:
    """A variable of both files: what each record had, and what the release shows, as codes of one book."""

    name: str
    book: _Book
    own: Integers
    shown: Integers

    @property
    def hidden(self) -> Booleans:
        return np.asarray((self.own >= 0) & (self.shown != self.own))


class _Book:
    """Codes of the values of two columns: equal where the values are."""

    def __init__(self, original: Column, released: Column) -> None:
        self._numeric = original.variable.is_numeric
        if self._numeric:
            both = np.concatenate([each.values[~each.missing].astype(np.float64) for each in (original, released)])
            self._values = np.unique(both)
            self._places: dict[str, int] = {}
        else:
            texts = dict.fromkeys((*original.variable.categories, *released.variable.categories))
            self._places = {text: place for place, text in enumerate(texts)}

    def codes(self, column: Column, values: Floats) -> Integers:
        """Codes of what is said in the terms of a column; -1 for nothing, and one more for what no cell has."""
        found = np.full(len(values), -1, dtype=np.int64)
        there = np.isfinite(values)
        if self._numeric:
            if len(self._values):
                found[there] = self._nearest(values[there])
            return found
        of_category = np.array([*(self._places[text] for text in column.variable.categories), -1], dtype=np.int64)
        found[there] = of_category[values[there].astype(np.int64)]
        return found

    def _nearest(self, values: Floats) -> Integers:
        place = np.clip(np.searchsorted(self._values, values), 1, max(len(self._values) - 1, 1))
        below, above = np.maximum(place - 1, 0), np.minimum(place, len(self._values) - 1)
        lower = np.abs(values - self._values[below]) <= np.abs(values - self._values[above])
        nearest = np.where(lower, below, above)
        is_same = np.abs(values - self._values[nearest]) <= SAME * np.maximum(np.abs(values), 1.0)
        return np.where(is_same, nearest, len(self._values))


def attacked_variables(original: Dataset, released: Dataset) -> tuple[str, ...]:
    """Variables of both files of which the release does not show every cell as it was, and that can be compared."""
    return tuple(each.name for each in _targets(original, released) if each.hidden.any())


def attack_results(
    attacks: Sequence[tuple[Attack, BaseModel]],
    original: Dataset,
    released: Dataset,
    edits: EditSet,
    certainty: float = CERTAINTY,
) -> Iterator[AttackResult]:
    """Results of attacks, for each variable of which cells are hidden.

    `original`, `released`: the same records in the same order. The attack reads the release; the original counts how
    often it is right, and whether its rules hold there as well.
    """
    targets = {each.name: each for each in _targets(original, released) if each.hidden.any()}
    names = tuple(targets)
    complete = original.without([name for name in original.names if name not in released])
    for attack, params in attacks:
        held: dict[tuple[str, str], Claims] = {}
        for each in attack.infer(Published(complete, names, edits), params):
            target = targets[each.variable]
            held[each.variable, each.rule] = claims_of(_codes(target, complete, each), target.own, target.own)
        found: dict[str, _Scored] = {name: _Scored(targets[name], certainty) for name in names}
        families = {name: sum(variable == name for variable, _ in held) or 1 for name in names}
        for each in attack.infer(Published(released, names, edits), params):
            named = _codes(targets[each.variable], released, each)
            in_original = held.get((each.variable, each.rule))
            found[each.variable].add(each, named, in_original, families[each.variable])
        for name, scored in found.items():
            if scored.named.any():
                yield scored.result(attack.name, name)


def _targets(original: Dataset, released: Dataset) -> Iterator[_Target]:
    for name in released.names:
        if name not in original or original[name].variable.is_numeric != released[name].variable.is_numeric:
            continue
        book = _Book(original[name], released[name])
        own, shown = (book.codes(each[name], Published(each, ()).values(name)) for each in (original, released))
        yield _Target(name, book, own, shown)


def _codes(target: _Target, data: Dataset, inference: Inference) -> Integers:
    return target.book.codes(data[target.name], inference.values)


class _Scored:
    """What the rules of an attack say of one variable, the best rule first."""

    def __init__(self, target: _Target, certainty: float) -> None:
        self._target, self._certainty = target, certainty
        self.named = np.zeros(len(target.own), dtype=np.bool_)
        self._right = np.zeros(len(target.own), dtype=np.bool_)
        self._worth = np.full(len(target.own), -1.0)
        self._base = np.zeros(len(target.own))
        self._certain = np.zeros(len(target.own), dtype=np.bool_)
        self._exact = False
        self._rules: list[tuple[int, int, str]] = []

    def add(self, inference: Inference, named: Integers, in_original: Claims | None, tried: int) -> None:
        target = self._target
        claims = claims_of(named, target.own, target.shown)
        cells = (named >= 0) & target.hidden
        families = tried * (1 + int(target.own.max(initial=0)))
        related = () if in_original is None else relations(in_original, families, self._certainty)
        certain = certain_cells(named, target.own, target.shown, related, families, self._certainty)
        if inference.exact and cells.any() and claims.right[0] == claims.named[0]:
            certain, self._exact = cells, True
        # Share of the published cells that the rules name rightly, less where they name few.
        worth = float(claims.seen_right[0] / (claims.seen[0] + 5))
        better = cells & (worth > self._worth)
        self._worth[better] = worth
        self._right[better] = (named == target.own)[better]
        self._base[better] = claims.base[0]
        self.named |= cells
        self._certain |= certain
        self._rules.append((int(certain.sum()), int(cells.sum()), inference.rule))

    def result(self, attack: str, name: str) -> AttackResult:
        decision: Decision = "exact" if self._exact else "certain" if self._certain.any() else "figure"
        named = self.named
        return AttackResult(
            attack, name, int(self._target.hidden.sum()), int(named.sum()), int(self._right[named].sum()),
            float(self._base[named].mean()), int(self._certain.sum()), decision, max(self._rules)[2],
        )  # fmt: skip
