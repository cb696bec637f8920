"""Bounds by a population file: its people by key variables, k-map, and individual risk."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field

from maskwright import InputError, read
from maskwright_builtin.key_counts.frequencies import individual_risk, matched_sizes, pack_keys, sampling_fraction

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from maskwright import Column, Variable
    from maskwright_builtin.methods.generalisation.hierarchy_levels import Rows
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers


@dataclass(frozen=True, eq=False)
class Population:
    """Keys of people, coded as those of the records of a block.

    `variables`: the keys of the block; categories that only people have follow its own. `columns`: NaN where missing;
    shape (people,).
    """

    variables: tuple[Variable, ...]
    columns: tuple[Floats, ...]

    def __len__(self) -> int:
        return len(self.columns[0])

    def with_records(self, place: int, values: Floats) -> tuple[Variable, Floats]:
        """A key of the records, and after them of the people."""
        return self.variables[place], np.concatenate([values, self.columns[place]])


def read_population(path: Path, keys: Sequence[Variable]) -> Population:
    """Read the keys of a population file, as they are declared for the file that is masked."""
    found = read(path, variables={key.name: _as_declared(key) for key in keys})
    for key in keys:
        if key.name not in found:
            near = difflib.get_close_matches(key.name, found.names, 1)
            hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(found.names[:8])}"
            raise InputError(f"population: the file {path.name} has no variable {key.name!r}{hint}")
    coded = [_coded(key, found[key.name]) for key in keys]
    return Population(tuple(variable for variable, _ in coded), tuple(values for _, values in coded))


def _as_declared(key: Variable) -> dict[str, object]:
    """Options with which a key is read in another file: categories by their texts, whatever their order."""
    options: dict[str, object] = {"type": key.type if key.is_numeric else "nominal"}
    if key.date_format is not None:
        options["format"] = key.date_format
    return options | ({"missing": list(key.missing_codes)} if key.missing_codes else {})


def _coded(key: Variable, column: Column) -> tuple[Variable, Floats]:
    values = np.where(column.missing, np.nan, column.values.astype(np.float64))
    if not key.is_numeric:
        strange = [text for text in column.variable.categories if text not in set(key.categories)]
        key = replace(key, categories=(*key.categories, *strange))
        codes = {text: float(code) for code, text in enumerate(key.categories)}
        table = np.array([*(codes[text] for text in column.variable.categories), np.nan])
        values = table[np.where(column.missing, -1, column.values)]
    if key.hierarchy is not None and key.hierarchy.height:
        try:
            key.hierarchy.codes(key, values[~column.missing], 1)
        except InputError as error:
            raise InputError(f"population: {error}: complete the hierarchy of {key.name}") from None
    return key, values


SLACK = 1e-12
"""By how much a sum of weights may be below its bound, or two risks differ, through rounding."""


class RiskBound(BaseModel, extra="forbid", frozen=True):
    """Largest individual risk, and how many records may be above it."""

    bound: Annotated[float, Field(gt=0, lt=1)] = Field(description="The risk, 0 to 1.")
    share_above: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="Share of the records that may be published with a larger one."
    )


@dataclass(frozen=True)
class LeastPeople:
    """k-map: a least number of people of the population in every class.

    `column`: of `Rows.amounts`: people, or sampling weights. `is_counted`: whether people are counted, in a file of the
    population. Then those are counted who have what a class shows, whatever stands in its missing keys, and show all of
    it themselves.
    """

    least: float
    column: int
    is_counted: bool

    def of_classes(self, rows: Rows) -> Floats:
        """People with the keys of each class."""
        people = rows.amounts[:, self.column]
        if not self.is_counted:
            return people
        missing = rows.codes == rows.blanks
        incomplete = missing.any(axis=1)
        if not (incomplete & (rows.counts > 0)).any():
            return people
        from maskwright_builtin.key_counts.counting_kernel import SUBSET  # Numba is heavy

        packed = pack_keys([np.where(gone, -1, codes) for gone, codes in zip(missing.T, rows.codes.T, strict=True)])
        matched = matched_sizes(packed, people.astype(np.int64), SUBSET)
        return np.where(incomplete, matched, people)

    def failing(self, rows: Rows) -> Booleans:
        """Classes with too few people."""
        return np.asarray(self.of_classes(rows) < self.least * (1 - SLACK), dtype=np.bool_)

    def fails_together(self, rows: Rows, emptied: Booleans) -> bool:
        """Whether these classes have too few people once all their keys are emptied."""
        own = rows.amounts[:, self.column]
        return float(own.sum() if self.is_counted else own[emptied].sum()) < self.least * (1 - SLACK)


@dataclass(frozen=True)
class LargestRisk:
    """A bound on the individual risk of records, as the measure `individual_risk` has it with its defaults.

    `most_above`: records that may be published with a larger risk. `column`: of `Rows.amounts`: sampling weights; None:
    the file is the population.
    """

    bound: float
    most_above: int
    column: int | None

    def of_classes(self, rows: Rows) -> Floats:
        """Risk of the records of each class; 0 for one without records."""
        weights = None if self.column is None else rows.amounts[:, self.column]
        return self._risk(rows.counts, weights)

    def above(self, rows: Rows) -> Booleans:
        """Classes with a larger risk."""
        return np.asarray(self.of_classes(rows) > self.bound, dtype=np.bool_)

    def riskiest(self, rows: Rows, emptied: Booleans) -> Booleans:
        """Classes to empty beside those that are, so that no more records than may be are left above the bound.

        Those of the largest risk; classes of the same risk together, so that no order decides.
        """
        risk = np.where(emptied, 0.0, self.of_classes(rows))
        above = np.flatnonzero(risk > self.bound)
        falling = above[np.argsort(-risk[above], kind="stable")]
        records = rows.counts[falling]
        left = int(records.sum()) - np.cumsum(records)
        if not len(above) or int(records.sum()) <= self.most_above:
            return np.zeros(len(risk), dtype=np.bool_)
        last = risk[falling[np.flatnonzero(left <= self.most_above)[0]]]
        return np.asarray(risk >= last * (1 - SLACK), dtype=np.bool_)

    def fails_together(self, rows: Rows, emptied: Booleans) -> bool:
        """Whether the records of these classes have a larger risk as one class."""
        weights = None if self.column is None else rows.amounts[emptied, self.column].sum(keepdims=True)
        return bool(self._risk(rows.counts[emptied].sum(keepdims=True), weights)[0] > self.bound)

    def _risk(self, counts: Integers, weights: Floats | None) -> Floats:
        there = counts > 0
        file = np.maximum(counts, 1)
        if weights is None:
            return there / file
        fraction, _ = sampling_fraction(file, np.where(there, weights, 1.0))
        return np.where(there, individual_risk(file, fraction), 0.0)
