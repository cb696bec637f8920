"""Domain edits for reasoning: of the combinations in the original, those that agree with the published cells."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from maskwright.data.dependencies import dense
from maskwright.data.number_text import read_numbers
from maskwright.edits.reasoning.clauses import Clause, TextSet, clause_of
from maskwright.edits.reasoning.simplex import Row

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import DomainPart
    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.reasoning.answers import Value

MOST_COMBINATIONS = 2_000
"""Alternatives of one clause."""

Comparable = float | str
Group = dict[tuple[int, ...], "NDArray[np.int64]"]


class Occurring:
    """Combinations of the variables of one domain edit."""

    def __init__(self, source: str, part: DomainPart, domain: Domain, shown: Dataset) -> None:
        self.source, self.variables = source, part.variables
        self._numeric = {name: shown[name].variable.is_numeric for name in part.variables}
        self._decimals = {name: shown[name].variable.decimals for name in part.variables}
        self._texts = {
            name: _texts_by_value(shown[name].variable.categories)
            for name in part.variables
            if not self._numeric[name]
        }  # fmt: skip
        found = domain.combinations(part.variables)
        columns: list[NDArray[np.int64]] = []
        self._values: list[list[Comparable]] = []
        for place, name in enumerate(part.variables):
            words = np.array(found.texts[place].to_pylist(), dtype=object)
            numbers = found.numbers[:, place]
            both = [text if text is not None else number for text, number in zip(words, numbers.tolist(), strict=True)]
            numbered: dict[Comparable, int] = {}
            columns.append(np.array([numbered.setdefault(self._said(name, each), len(numbered)) for each in both]))
            self._values.append(list(numbered))
        self._codes = np.stack(columns, axis=1).astype(np.int64)
        self._numbered = [{value: code for code, value in enumerate(values)} for values in self._values]
        self._groups: dict[tuple[str, ...], Group] = {}
        self._answers: dict[tuple[tuple[str, ...], tuple[int, ...]], tuple[NDArray[np.int64], bool]] = {}

    def __call__(self, fixed: Mapping[str, Value], name: str, value: Value) -> tuple[Clause, bool]:
        """Clause on the free variables: one alternative for each combination in which `name` has another value.

        `name`: variable asked for, free; it may be that of another edit. Returns whether these are all combinations; of
        very many, some are taken.
        """
        known = tuple(each for each in self.variables if each in fixed)
        free = [place for place, each in enumerate(self.variables) if each not in fixed]
        left, whole = self._projected(known, tuple(self._code(each, fixed[each]) for each in known), free)
        if name in self.variables and name not in fixed:
            left = left[left[:, free.index(self.variables.index(name))] != self._code(name, value)]
        alternatives = tuple(
            tuple(self._atom(self.variables[place], code) for place, code in zip(free, row, strict=True))
            for row in left.tolist()
        )
        return clause_of(self.source, alternatives), whole

    def _projected(
        self, known: tuple[str, ...], codes: tuple[int, ...], free: Sequence[int]
    ) -> tuple[NDArray[np.int64], bool]:
        """Different combinations of the free variables among those with these codes of the known ones."""
        key = (known, codes)
        if key not in self._answers:
            rows = self._grouped(known).get(codes, np.zeros(0, dtype=np.int64))
            found = np.unique(self._codes[rows][:, list(free)], axis=0)
            self._answers[key] = (found[:: len(found) // MOST_COMBINATIONS + 1], len(found) <= MOST_COMBINATIONS)
        return self._answers[key]

    def _said(self, name: str, value: Comparable) -> Comparable:
        places = self._decimals[name]
        return value if isinstance(value, str) or places is None else float(f"{value:.{places}f}") + 0.0

    def _code(self, name: str, value: Value) -> int:
        place = self.variables.index(name)
        return self._numbered[place].get(_comparable(value) if isinstance(value, str) else float(value), -1)

    def _grouped(self, known: tuple[str, ...]) -> Group:
        """Combinations by their codes of the known variables."""
        if known not in self._groups:
            places = [self.variables.index(name) for name in known]
            of_row = np.zeros(len(self._codes), dtype=np.int64)
            for place in places:
                of_row = dense((of_row * len(self._values[place]) + self._codes[:, place]).astype(np.float64))
            order = np.argsort(of_row, kind="stable")
            groups = np.split(order, np.flatnonzero(np.diff(of_row[order])) + 1)
            self._groups[known] = {tuple(self._codes[rows[0], places].tolist()): rows for rows in groups}
        return self._groups[known]

    def _atom(self, name: str, code: int) -> Row | TextSet:
        value = self._values[self.variables.index(name)][code]
        if self._numeric[name]:
            places = self._decimals[name]
            number = Fraction(float(value)) if places is None else Fraction(f"{float(value):.{places}f}")
            return Row(self.source, {name: Fraction(1)}, "==", number)
        return TextSet(name, self._texts[name].get(value, ()))


@lru_cache(maxsize=10_000)
def _comparable(text: str) -> Comparable:
    """Text as domain edits compare it: by the number it says, if it says one."""
    return next(iter(_texts_by_value((text,))))


def _texts_by_value(categories: tuple[str, ...]) -> dict[Comparable, tuple[str, ...]]:
    """Categories that are the same to a domain edit."""
    spoken = read_numbers(pa.array(categories, pa.string()))
    found: dict[Comparable, list[str]] = {}
    for text, number, says in zip(categories, spoken.values.tolist(), spoken.is_number.tolist(), strict=True):
        found.setdefault(number + 0.0 if says else text, []).append(text)
    return {value: tuple(texts) for value, texts in found.items()}
