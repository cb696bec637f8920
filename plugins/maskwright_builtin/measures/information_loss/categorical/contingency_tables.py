"""Distances between the tables of two files, over one, two and three variables."""

from __future__ import annotations

import numpy as np
from pydantic import Field

from maskwright import Comparison, Measure, Measurement
from maskwright_builtin.measures.information_loss.categorical.category_shares import category_tables
from maskwright_builtin.measures.information_loss.categorical.paired_categories import (
    NOTHING,
    CategoricalParams,
    categorical_files,
    named,
    variable_mistakes,
    variables_used,
)
from maskwright_builtin.measures.information_loss.categorical.tables import tables


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

    Parameters
    ----------
    comparison : Comparison
    params : ContingencyTablesParams
    rng : numpy.random.Generator
        Not used.

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
            notes.append(f"farthest apart of the {len(hellinger[way])} table(s) of {way}: {worst[way][1]}")
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
    uses=variables_used,
    check=variable_mistakes,
    compares_unpaired=True,
    invariant_to={"affine", "records", "columns"},
    reference="Gomatam, Karr and Sanil (2005), Data swapping as a decision problem, Journal of Official Statistics "
    "21(4), 635-655 (Hellinger distance and total variation of tables)",
    summary="Mean Hellinger distance between the tables of one, two and three categorical variables of both files.",
)
