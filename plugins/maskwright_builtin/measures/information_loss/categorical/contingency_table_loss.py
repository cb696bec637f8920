"""Contingency-table-based information loss (CTBIL)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.information_loss.categorical.contingency_tables import ContingencyTablesParams
from maskwright_builtin.measures.information_loss.categorical.paired_categories import (
    NOTHING,
    categorical_files,
    variable_mistakes,
    variables_used,
)
from maskwright_builtin.measures.information_loss.categorical.tables import tables

if TYPE_CHECKING:
    import numpy as np


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

    Parameters
    ----------
    comparison : Comparison
    params : ContingencyTablesParams
    rng : numpy.random.Generator
        Not used.

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
    uses=variables_used,
    check=variable_mistakes,
    compares_unpaired=True,
    invariant_to={"affine", "records", "columns"},
    reference="Domingo-Ferrer and Torra (2001), Disclosure control methods and information loss for microdata, in "
    "Doyle et al. (eds.), Confidentiality, Disclosure and Data Access, Elsevier, 91-110 (CTBIL)",
    summary="Absolute differences of the tables of categorical variables, by cell (CTBIL).",
)
