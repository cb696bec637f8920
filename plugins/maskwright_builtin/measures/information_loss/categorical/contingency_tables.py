"""Contingency tables of both files over one to three variables, their distances, and CTBIL."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, prod
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, MeasureClaims, Measurement, plural
from maskwright_builtin.measures.information_loss.categorical.category_codes import (
    NOTHING,
    CategoricalParams,
    categorical_files,
    category_tables,
    named,
    variable_mistakes,
    variables_used,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright import Progress
    from maskwright_builtin.measures.information_loss.categorical.category_codes import CategoricalFiles, Categories
    from maskwright_builtin.numerics.arrays import Floats, Integers, Integers32


FEW_CELLS = 2**16
"""Cells that are always counted in one table, however few records there are."""
MOST_CELLS = 2**24
"""Cells beyond which only those are counted that a record is in."""


@dataclass(frozen=True, eq=False)
class Table:
    """One table of both files.

    `original`, `masked`: records in each cell, or their weight scaled to the number of records; the masked ones scaled
    to as many records as the original has. Cells that no record of either file is in may be left out; shape (c,).
    `cells`: of the product of the domains, empty ones included. `occurring`: numbers of the cells, with the last
    variable running fastest; None where all are there; shape (c,).
    """

    variables: tuple[Categories, ...]
    original: Floats
    masked: Floats
    cells: int
    occurring: Integers | None

    @property
    def hellinger(self) -> float:
        """Hellinger distance of the two distributions, 0 to 1."""
        # Half the sum of squared differences: equal tables give 0 and not the root of a rounding error.
        roots = np.sqrt(self.original / self.original.sum()) - np.sqrt(self.masked / self.masked.sum())
        return float(np.sqrt(min(1.0, 0.5 * float(np.dot(roots, roots)))))

    @property
    def total_variation(self) -> float:
        """Total variation distance of the two distributions, 0 to 1."""
        return float(np.abs(self.original / self.original.sum() - self.masked / self.masked.sum()).sum()) / 2.0

    @property
    def difference(self) -> float:
        """Sum of absolute differences of the counts."""
        return float(np.abs(self.original - self.masked).sum())


def tables(files: CategoricalFiles, ways: int, progress: Progress, least: int = 1) -> Iterator[Table]:
    """Tables of all sets of `least` to `ways` variables.

    A set of three takes the joint codes of its first two, so that each table costs one pass over either file.
    """
    variables = files.variables
    q, done = len(variables), 0
    total = sum(comb(q, way) for way in range(least, ways + 1))
    for i, first in enumerate(variables):
        for table in _of_first(files, i, first, ways):
            if len(table.variables) >= least:
                yield table
                done += 1
                progress(done / total)


def _of_first(files: CategoricalFiles, i: int, first: Categories, ways: int) -> Iterator[Table]:
    """Tables whose first variable is the i-th."""
    nothing = (np.zeros(files.records[0], dtype=np.int32), np.zeros(files.records[1], dtype=np.int32))
    yield _table(files, (first,), nothing, (first.original, first.masked), 1)
    if ways < 2:
        return
    for j in range(i + 1, len(files.variables)):
        second = files.variables[j]
        yield _table(files, (first, second), (first.original, first.masked), (second.original, second.masked),
                     first.size)  # fmt: skip
        if ways < 3 or j + 1 == len(files.variables):
            continue
        joint, size = _joined(first, second)
        for third in files.variables[j + 1 :]:
            yield _table(files, (first, second, third), joint, (third.original, third.masked), size)


def _joined(first: Categories, second: Categories) -> tuple[tuple[Integers32, Integers32], int]:
    """Joint codes of two variables in both files, and how many there are."""
    if first.size * second.size < 2**31:
        narrow = (first.original * second.size + second.original, first.masked * second.size + second.masked)
        return (narrow[0].astype(np.int32), narrow[1].astype(np.int32)), first.size * second.size
    wide = [
        a.astype(np.int64) * second.size + b
        for a, b in ((first.original, second.original), (first.masked, second.masked))
    ]
    occurring, codes = np.unique(np.concatenate(wide), return_inverse=True)
    return (codes[: len(wide[0])].astype(np.int32), codes[len(wide[0]) :].astype(np.int32)), len(occurring)


def _table(
    files: CategoricalFiles,
    variables: tuple[Categories, ...],
    first: tuple[Integers32, Integers32],
    second: tuple[Integers32, Integers32],
    first_size: int,
) -> Table:
    size = variables[-1].size
    cells = first_size * size
    n, m = files.records
    occurring = None
    if cells > min(MOST_CELLS, max(FEW_CELLS, 4 * (n + m))):
        wide = [a.astype(np.int64) * size + b for a, b in zip(first, second, strict=True)]
        occurring, codes = np.unique(np.concatenate(wide), return_inverse=True)
        first = np.zeros(n, dtype=np.int32), np.zeros(m, dtype=np.int32)
        second = codes[:n].astype(np.int32), codes[n:].astype(np.int32)
        size = cells = len(occurring)
    weights = (None, None) if files.weights is None else (files.weights.original, files.weights.masked)
    counts = [_counted(a, b, size, cells, own) for a, b, own in zip(first, second, weights, strict=True)]
    # Weights have mean 1 already; files of other lengths are brought to the original's.
    return Table(variables, counts[0], counts[1] * (n / m), prod(each.size for each in variables), occurring)


def _counted(first: Integers32, second: Integers32, size: int, cells: int, weights: Floats | None) -> Floats:
    # Numba: plugins are listed without it.
    from maskwright_builtin.measures.information_loss.categorical.counting_kernel import count_pairs, weigh_pairs

    if weights is not None:
        weighed = np.zeros(cells)
        weigh_pairs(first, second, size, weights, weighed)
        return weighed
    counted = np.zeros(cells, dtype=np.int64)
    count_pairs(first, second, size, counted)
    return counted.astype(np.float64)


class ContingencyTablesParams(CategoricalParams, extra="forbid", frozen=True):
    """The variables, and over how many of them a table is made."""

    ways: int = Field(2, ge=1, le=3, description="Tables over up to so many variables, 1 to 3.")


def contingency_tables(
    comparison: Comparison,
    params: ContingencyTablesParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Mean distance between the contingency tables of both files.

    For counts a_c of the original and b_c of the masked file, with totals N and N':

        Hellinger = sqrt(1 - sum sqrt(a_c b_c / (N N'))),   total variation = sum |a_c / N - b_c / N'| / 2

    0 for equal distributions, 1 for such that have no cell in common. `value` is the mean Hellinger distance of the
    tables over as many variables as `ways` says. It rises with the number of cells for the same masking: compare only
    equal ways and variables.

    A missing cell is a category. Recoded variables are compared on the published categories, so that the detail that
    recoding takes away is not counted: see entropy_based_loss. Weighted: records count by their weights.

    Returns
    -------
    Measurement
        `parts`: for each number of ways w, means and largest values over its tables: ``hellinger_w``,
        ``hellinger_w_largest``, ``total_variation_w``, ``total_variation_w_largest``. `per_variable`: Hellinger
        distance of each variable alone. `tables`: for each variable, percent of the records of both files in each
        category, not weighted; categories that fewer than 10 records of the original have are joined, and those beyond
        20. A note names the tables that are farthest apart. There is no interval: it compares these two files.
    """
    files = categorical_files(comparison, params, "contingency_tables")
    if not files.variables or not all(files.records):
        return Measurement(float("nan"), notes=(*files.notes, NOTHING))
    ways = min(params.ways, len(files.variables))
    hellinger: dict[int, list[float]] = {way: [] for way in range(1, ways + 1)}
    variation: dict[int, list[float]] = {way: [] for way in range(1, ways + 1)}
    worst: dict[int, tuple[float, str]] = {}
    per_variable: dict[str, float] = {}
    for table in tables(files, ways, comparison.progress):
        way, distance = len(table.variables), table.hellinger
        hellinger[way].append(distance)
        variation[way].append(table.total_variation)
        if way == 1:
            per_variable[table.variables[0].name] = distance
        if distance > worst.get(way, (0.0, ""))[0]:
            worst[way] = distance, named(table.variables)
    parts: dict[str, float] = {}
    notes = list(files.notes)
    for way in range(1, ways + 1):
        parts |= {
            f"hellinger_{way}": float(np.mean(hellinger[way])),
            f"hellinger_{way}_largest": max(hellinger[way]),
            f"total_variation_{way}": float(np.mean(variation[way])),
            f"total_variation_{way}_largest": max(variation[way]),
        }
        if way in worst:
            notes.append(f"farthest apart of {plural(len(hellinger[way]), 'table')} of {way}: {worst[way][1]}")
    if ways < params.ways:
        notes.append(f"tables of at most {ways}: there are no more variables")
    return Measurement(
        parts[f"hellinger_{ways}"],
        parts,
        per_variable,
        notes=tuple(notes),
        tables=category_tables(comparison, files),
    )


CONTINGENCY_TABLES = Measure(
    name="contingency_tables",
    compute=contingency_tables,
    kind="loss",
    unit="Hellinger distance",
    direction="lower",
    range=(0.0, 1.0),
    params=ContingencyTablesParams,
    claims=MeasureClaims(
        uses=variables_used,
        check=variable_mistakes,
        compares_unpaired=True,
        invariant_to={"affine", "records", "columns"},
    ),
    reference="Gomatam, Karr and Sanil (2005), Data swapping as a decision problem, Journal of Official Statistics "
    "21(4), 635-655 (Hellinger distance and total variation of tables)",
    summary="Mean Hellinger distance between the tables of one, two and three categorical variables of both files.",
)


def contingency_table_loss(
    comparison: Comparison,
    params: ContingencyTablesParams,
    rng: np.random.Generator,  # noqa: ARG001
) -> Measurement:
    """Absolute differences of the contingency tables of both files, by cell (CTBIL).

        CTBIL = sum over tables over up to `ways` variables, over cells, of |a - b|

    with counts a of the original and b of the masked file. The sum grows with records and tables, so `value` is the
    sum divided by the number of cells, which is that of the products of the domains: the categories that a record of
    either file has. Counts of a masked file of another length are scaled to that of the original.

    A missing cell is a category. Recoded variables are compared on the published categories. Weighted: weighted counts,
    scaled to the number of records.

    Returns
    -------
    Measurement
        `parts`: ``sum`` and ``cells``, and both for each number of ways w, ``sum_w``, ``cells_w``. `per_variable`: the
        sum of each variable alone. There is no interval: it compares these two files.
    """
    files = categorical_files(comparison, params, "contingency_table_loss")
    if not files.variables or not all(files.records):
        return Measurement(float("nan"), notes=(*files.notes, NOTHING))
    ways = min(params.ways, len(files.variables))
    sums = dict.fromkeys(range(1, ways + 1), 0.0)
    cells = dict.fromkeys(range(1, ways + 1), 0)
    per_variable: dict[str, float] = {}
    for table in tables(files, ways, comparison.progress):
        way = len(table.variables)
        sums[way] += table.difference
        cells[way] += table.cells
        if way == 1:
            per_variable[table.variables[0].name] = table.difference
    parts = {"sum": sum(sums.values()), "cells": float(sum(cells.values()))}
    for way in sums:
        parts |= {f"sum_{way}": sums[way], f"cells_{way}": float(cells[way])}
    return Measurement(parts["sum"] / parts["cells"], parts, per_variable, notes=files.notes)


CONTINGENCY_TABLE_LOSS = Measure(
    name="contingency_table_loss",
    compute=contingency_table_loss,
    kind="loss",
    unit="records per cell",
    direction="lower",
    range=(0.0, None),
    params=ContingencyTablesParams,
    claims=MeasureClaims(
        uses=variables_used,
        check=variable_mistakes,
        compares_unpaired=True,
        invariant_to={"affine", "records", "columns"},
    ),
    reference="Domingo-Ferrer and Torra (2001), Disclosure control methods and information loss for microdata, in "
    "Doyle et al. (eds.), Confidentiality, Disclosure and Data Access, Elsevier, 91-110 (CTBIL)",
    summary="Absolute differences of the tables of categorical variables, by cell (CTBIL).",
)
