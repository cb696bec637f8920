"""Dominance in the tables that users will make: the p% rule, the (n,k) rule, and the least number of contributors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import (
    Classes,
    Comparison,
    InputError,
    Measure,
    MeasureClaims,
    Measurement,
    MeasurePart,
    MeasureTable,
    NamesVariables,
    Problem,
    plural,
)
from maskwright_builtin.measures.key_variables.key_classes import in_words
from maskwright_builtin.measures.pairing import LARGEST, listed, numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Self

    from maskwright import Measurable
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers

TableVariables = Annotated[list[str], Field(min_length=1)]


class DominanceParams(BaseModel, extra="forbid", frozen=True):
    """The tables, the amounts in them, and the rules by which a cell is sensitive."""

    tables: Annotated[list[TableVariables], Field(min_length=1), NamesVariables()] = Field(
        description="Variables of each table that users will make: [[region, branch], [region]]. A margin is a table "
        "too, if it is named.",
    )
    amounts: Annotated[Annotated[list[str], Field(min_length=1)] | None, NamesVariables()] = Field(
        None,
        description="Numeric variables that are added up in the cells. Default: all that are compared and define no "
        "table.",
    )
    p: float | None = Field(
        10.0,
        gt=0.0,
        le=100.0,
        description="p% rule: a cell is sensitive if the second largest contributor can estimate the largest to within "
        "p percent. null: not used.",
    )
    n: int | None = Field(None, ge=1, strict=True, description="(n,k) rule: how many largest contributors.")
    k: float | None = Field(
        None,
        gt=0.0,
        lt=100.0,
        description="(n,k) rule: a cell is sensitive if its n largest contributors have more than k percent of it.",
    )
    minimum_contributors: int = Field(
        3, ge=1, strict=True, description="A cell with fewer contributors is sensitive. 1: not used."
    )

    @model_validator(mode="after")
    def _rules(self) -> Self:
        if (self.n is None) != (self.k is None):
            raise ValueError("the (n,k) rule needs both n and k")
        if self.p is None and self.n is None and self.minimum_contributors == 1:
            raise ValueError("no rule is left: give p, or n and k, or minimum_contributors")
        return self


@dataclass(frozen=True, eq=False)
class Cells:
    """The cells of one amount in one table, those without any amount left out.

    `total`: sum of the absolute amounts, weighted. `few`, `p_percent`, `n_k`: which are sensitive by each rule.
    `codes`: of each record, the cell; -1 where its amount is missing; shape (m,).
    """

    total: Floats
    few: Booleans
    p_percent: Booleans
    n_k: Booleans
    codes: Integers

    @property
    def sensitive(self) -> Booleans:
        """Sensitive by any rule; shape (c,)."""
        return self.few | self.p_percent | self.n_k

    @property
    def share_of_total(self) -> float:
        """Percent of the amount that is in sensitive cells; 0 of an amount that is 0."""
        total = float(self.total.sum())
        return 100.0 * float(self.total[self.sensitive].sum()) / total if total > 0.0 else 0.0


def cells_of(
    codes: Integers, amounts: Floats, params: DominanceParams, weights: Floats | None = None,
    households: Integers | None = None,
) -> Cells:  # fmt: skip
    """Which cells of one amount are sensitive.

    `codes`: of each record, the cell; `amounts`: NaN where missing; shape (m,).
    """
    there = ~np.isnan(amounts)
    occupied, cell = np.unique(codes[there], return_inverse=True)
    of_record = np.full(len(codes), -1, dtype=np.int64)
    of_record[there] = cell
    size = np.abs(amounts[there])
    weight = np.ones(len(size)) if weights is None else weights[there]
    if households is not None:
        cell, size, weight = _of_units(cell, size, weight, households[there])
    # The largest first, so that sums do not depend on the order of the file.
    order = np.lexsort((weight, -size, cell))
    cell, size, weight = cell[order], size[order], weight[order]
    starts = np.searchsorted(cell, np.arange(len(occupied)))

    def summed(each: Floats) -> Floats:
        return np.add.reduceat(each, starts) if len(starts) else np.zeros(0)

    upto = np.cumsum(weight)
    before = upto - weight
    before -= before[starts][cell] if len(starts) else 0.0

    def of_largest(count: int) -> Floats:
        """How much of the weight of each contributor is among the largest of its cell."""
        return np.clip(count - before, 0.0, weight)

    total, contributors = summed(weight * size), summed((size > 0.0).astype(np.float64))
    occurs = total > 0.0
    p_percent, n_k = (np.zeros(len(total), dtype=np.bool_) for _ in range(2))
    if params.p is not None:
        rest = summed((weight - of_largest(2)) * size)
        p_percent = occurs & (100.0 * rest < params.p * summed(of_largest(1) * size))
    if params.n is not None and params.k is not None:
        n_k = occurs & (100.0 * summed(of_largest(params.n) * size) > params.k * total)
    return Cells(total, occurs & (contributors < params.minimum_contributors), p_percent, n_k, of_record)


def _of_units(cell: Integers, size: Floats, weight: Floats, households: Integers) -> tuple[Integers, Floats, Floats]:
    """Cell, amount and weight of each unit; its weight is the mean of those of its records, by their amounts."""
    units = Classes.of([cell, households])

    def summed(each: Floats) -> Floats:
        return np.bincount(units.codes, each, len(units)).astype(np.float64)

    sizes, records = summed(size), np.bincount(units.codes, minlength=len(units))
    mean = np.divide(summed(weight * size), sizes, out=summed(weight) / records, where=sizes > 0.0)
    return units.keys[0], sizes, mean


def dominance(comparison: Comparison, params: DominanceParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Percent of the cells of the tables made of the masked file that are sensitive.

    With the contributions x1 >= x2 >= ... to a cell and their sum X, the cell is sensitive if

        X - x1 - x2 < p / 100 x1                    (p% rule: who is second largest can estimate the largest)
        x1 + ... + xn > k / 100 X                   ((n,k) rule)
        it has fewer than `minimum_contributors`    (least number of contributors)

    Each amount in each table has cells of its own; the value is of all of them that have an amount. A record whose
    amount is 0 is no contributor. A cell in which all amounts are 0 is not sensitive by these rules, and discloses all
    of them: it is counted in the part ``zero_cells``. Negative amounts contribute with their absolute values, to x and
    to X. Missing amounts are left out; a missing cell of a variable that defines the table is a category.

    The rules are about the values that the masked file shows. How near these are to the original ones is for
    `interval_disclosure` to say: a cell may be dominated by an amount that no respondent has.

    Weights: where they are declared, X is the weighted sum, and a record of weight w counts as w contributors of its
    amount, in part where w is no whole number; a weight below 1 counts as 1. The least number of contributors counts
    records. Where households are declared (`cluster`: in a file of businesses, their group), the records of one
    household in a cell are one contributor with the sum of their amounts.

    There is no interval: it is a count of the tables of the released file, and nothing in it is estimated.

    Returns
    -------
    Measurement
        `parts`: ``sensitive`` cells and ``cells``; percent of cells by each rule, ``few_contributors``, ``p_percent``,
        ``n_k``; ``zero_cells``, percent of cells whose amounts are all 0; ``share_of_total``, percent of the amounts
        that is in sensitive cells, mean over tables and amounts. `per_variable`: percent of the cells of each amount.
        `per_record`: sensitive cells that the record contributes to. `tables`: percent by table and amount.

    Raises
    ------
    InputError
        No amounts, or variables that a file does not have.
    """
    if not len(comparison.masked):
        raise InputError("dominance: there is nothing to measure: the masked file has no records")
    amounts = {name: _amounts(comparison, name) for name in _chosen(comparison, params)}
    weights, households = comparison.masked_weights(), comparison.masked_households()
    notes = list(_notes(comparison, amounts, weights, households))
    weights = None if weights is None else np.maximum(weights, 1.0)
    found: dict[tuple[str, str], Cells] = {}
    per_record = np.zeros(len(comparison.masked))
    for done, names in enumerate(params.tables):
        codes = Classes.of([comparison.published_keys(name) for name in names]).codes
        for name, values in amounts.items():
            own = found[" x ".join(names), name] = cells_of(codes, values, params, weights, households)
            present = own.codes >= 0
            per_record[present] += own.sensitive[own.codes[present]]
        comparison.progress((done + 1) / len(params.tables))
    cells = sum(len(each.total) for each in found.values())
    if not cells:
        return Measurement(float("nan"), notes=(*notes, "not defined: no cell has an amount"))
    sensitive = sum(int(each.sensitive.sum()) for each in found.values())
    by_amount = {name: [each.sensitive for (_, of), each in found.items() if of == name] for name in amounts}
    return Measurement(
        100.0 * sensitive / cells,
        parts={
            "sensitive": float(sensitive),
            "cells": float(cells),
            "few_contributors": _percent([each.few for each in found.values()]),
            "p_percent": _percent([each.p_percent for each in found.values()]),
            "n_k": _percent([each.n_k for each in found.values()]),
            "zero_cells": _percent([each.total == 0.0 for each in found.values()]),
            "share_of_total": float(np.mean([each.share_of_total for each in found.values() if len(each.total)])),
        },
        per_variable={name: _percent(own) for name, own in by_amount.items() if any(map(len, own))},
        per_record=per_record,
        notes=tuple(notes),
        sentence=f"Whoever makes the {plural(len(params.tables), 'table')} of {in_words(list(amounts))} finds "
        f"{plural(cells, 'cell')} with an amount; in {sensitive:,} of them one or few contributors dominate.",
        tables=(
            MeasureTable(
                "sensitive_cells",
                "Sensitive cells by table and amount",
                ("table", "sensitive, %"),
                tuple(
                    (f"{table}: {name}", _percent([each.sensitive]))
                    for (table, name), each in found.items()
                    if len(each.total)
                ),
            ),
        ),
    )


def _percent(cells: Sequence[Booleans]) -> float:
    return 100.0 * float(np.concatenate(cells).mean())


NO_AMOUNTS = "no amounts; name numeric variables as `amounts`"


def _names(params: DominanceParams, compared: Sequence[str]) -> tuple[str, ...]:
    """Names of the amounts."""
    tabulated = {name for names in params.tables for name in names}
    return tuple(params.amounts or (name for name in compared if name not in tabulated))


def _chosen(comparison: Comparison, params: DominanceParams) -> tuple[str, ...]:
    names = _names(params, comparison.variables)
    if not names:
        raise InputError(Problem(f"dominance: {NO_AMOUNTS}", hint="--set 'dominance.amounts=[turnover]'"))
    return names


def _amounts(comparison: Comparison, name: str) -> Floats:
    """Numbers of an amount in the masked file, NaN where missing; shape (m,)."""
    comparison.published_keys(name)  # refuses names that a file does not have
    column = comparison.masked[name]
    if not column.variable.is_numeric:
        raise InputError(f"dominance: {_not_numeric(name)}")
    values = numbers_of(column)
    if np.any(np.abs(values) > LARGEST):
        raise InputError(
            f"dominance: infinite values, or values beyond {LARGEST:g}, cannot be added up; variable: {name}"
        )
    return values


def _not_numeric(name: str) -> str:
    return f"{name} is not numeric, or not published as a number, and cannot be added up"


def _notes(
    comparison: Comparison, amounts: dict[str, Floats], weights: Floats | None, households: Integers | None
) -> Iterator[str]:
    yield f"amounts: {listed(list(amounts))}"
    gone, below = (
        sum(int(np.count_nonzero(chosen(each))) for each in amounts.values())
        for chosen in (np.isnan, lambda each: each < 0.0)
    )
    if gone:
        yield f"left out: {plural(gone, 'missing amount')}"
    if below:
        yield f"taken as their absolute values: {plural(below, 'negative amount')}"
    if weights is not None:
        light = int(np.count_nonzero(weights < 1.0))
        yield "totals are weighted" + (f"; in {plural(light, 'record')} a weight below 1 counts as 1" if light else "")
    if households is not None:
        yield f"records of one {comparison.original.group_name} are one contributor"


def _names_used(params: DominanceParams, given: Measurable) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*(name for names in params.tables for name in names), *_names(params, given.compared)]))


def _mistakes(params: DominanceParams, given: Measurable) -> Iterator[tuple[str, str]]:
    """What is wrong with tables and amounts, given the variables: the parameter, and what it is."""
    if any(len(set(names)) < len(names) for names in params.tables):
        yield "tables", "a table names a variable twice"
    sets = [frozenset(names) for names in params.tables]
    if len(set(sets)) < len(sets):
        yield "tables", "a table is named twice"
    amounts = _names(params, given.compared)
    if not amounts:
        yield "amounts", NO_AMOUNTS
    if len(set(amounts)) < len(amounts):
        yield "amounts", "an amount is named twice"
    for name in amounts:
        if any(name in names for names in sets):
            yield "amounts", f"{name} defines a table"
        elif name in given.variables and not given.variables[name].is_numeric:
            yield "amounts", _not_numeric(name)


def _parts(params: DominanceParams) -> Iterator[MeasurePart]:  # noqa: ARG001 - the contract's
    percent = (0.0, 100.0)
    yield MeasurePart("sensitive", "count")
    yield MeasurePart("cells", "count", "higher")
    for name in ("few_contributors", "p_percent", "n_k", "zero_cells", "share_of_total"):
        yield MeasurePart(name, range=percent)


DOMINANCE = Measure(
    name="dominance",
    compute=dominance,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=DominanceParams,
    parts=_parts,
    claims=MeasureClaims(
        uses=_names_used,
        check=_mistakes,
        compares_unpaired=True,
        of_one_file=True,
        counts_households=True,
        invariant_to={"records", "columns"},
    ),
    reference="Hundepool et al. (2012), Statistical Disclosure Control, Wiley, chapter 4: sensitivity rules of "
    "magnitude tables; weights and holdings as in tau-Argus",
    summary="Share of the cells of declared tables in which one or few contributors dominate (p% and (n,k) rules).",
)
