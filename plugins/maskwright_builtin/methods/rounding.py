"""Rounding to multiples of a base: to the nearest or at random, with totals and edits kept."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, Field, field_validator

from maskwright import (
    Block,
    Claims,
    EditSet,
    InputError,
    Limit,
    LinearPart,
    Masked,
    Method,
    RecordChunk,
    evaluate,
    uniform_by_record,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from maskwright import Variable
    from maskwright_builtin.numerics.arrays import Booleans, Floats


@dataclass(frozen=True, eq=False)
class Total:
    """A variable as a linear combination of others: column `position` is ``constant + values @ weights``."""

    position: int
    weights: Floats
    constant: float


def find_totals(names: Sequence[str], edits: EditSet) -> tuple[Total, ...]:
    """Totals in an order in which each can be computed, parts before what is made of them.

    Of an equality between the named variables the total is the variable that stands alone on one side, else the last
    one; equalities whose total is one already are left out.
    """
    found: dict[str, dict[str, float]] = {}
    constants: dict[str, float] = {}
    for edit in edits:
        for part in edit.parts:
            if not isinstance(part, LinearPart) or part.relation != "==" or part.tolerance:
                continue
            shares = dict(part.coefficients)
            total = part.total or part.coefficients[-1][0]
            if not set(shares) <= set(names) or total in found or _depends_on(total, shares, found):
                continue
            own = shares.pop(total)
            found[total] = {name: float(-share / own) for name, share in shares.items()}
            constants[total] = float(part.constant / own)
    order: list[str] = []
    while len(order) < len(found):
        order += [
            total for total, shares in found.items()
            if total not in order and all(name in order or name not in found for name in shares)
        ]  # fmt: skip
    return tuple(
        Total(names.index(total), np.array([found[total].get(name, 0.0) for name in names]), constants[total])
        for total in order
    )


def _depends_on(total: str, parts: Iterable[str], found: dict[str, dict[str, float]]) -> bool:
    """Whether one of the parts is itself made of the total, however indirectly."""
    waiting, seen = [name for name in parts if name != total], set[str]()
    while waiting:
        name = waiting.pop()
        if name == total:
            return True
        if name not in seen:
            seen.add(name)
            waiting += found.get(name, {})
    return False


def with_totals(values: Floats, totals: Sequence[Total]) -> Floats:
    """Copy with the totals computed; a total that is missing, or lacks a part, stays as it is.

    `values`: NaN where missing; shape (n, p).
    """
    values = values.copy()
    for total in totals:
        parts = np.flatnonzero(total.weights)
        computed = total.constant + values[:, parts] @ total.weights[parts]
        own = values[:, total.position]
        values[:, total.position] = np.where(np.isnan(computed) | np.isnan(own), own, computed)
    return values


MOST_TRIED = 150
"""Ways to round a record otherwise that are tried before it is left to adjustment."""


class RoundingParams(BaseModel, extra="forbid", frozen=True, allow_inf_nan=False):
    """Parameters of rounding."""

    base: float | dict[str, float] = Field(
        description="Values become multiples of it: a number, or {variable: number} with one for each variable of the "
        "step. A multiple of the published grid; in days of dates and datetimes (0.25: six hours)."
    )
    kind: Literal["deterministic", "random"] = Field(
        default="deterministic",
        description="'deterministic': to the nearest multiple, halves up. 'random': up with the probability of the "
        "remainder (a third of the base above a multiple: a third), so that sums are not shifted.",
    )

    @field_validator("base")
    @classmethod
    def _positive(cls, base: float | dict[str, float]) -> float | dict[str, float]:
        bases = list(base.values()) if isinstance(base, dict) else [base]
        if not bases or not all(each > 0.0 for each in bases):
            raise ValueError("a base is greater than 0")
        return base


def protect(block: Block, params: RoundingParams, rng: np.random.Generator) -> Masked:
    """Round the variables of a group so that its edits hold between the multiples.

    Returns
    -------
    Masked
        Parts of an equality are rounded and its total is computed from them. Random rounding draws one number for a
        record, not for a cell, so that x <= y stays true for variables of one base; the nearest multiple keeps it too.
        Records in which an edit inside the group still fails try the neighbouring multiple in one variable, then in
        two, and take the first way in which all hold. Notes count those for which there was none (left to adjustment,
        which may leave the multiples) and cells that are no multiples, such as totals of parts with finer bases.
        Missing cells stay missing.

    Raises
    ------
    InputError
        When a variable has no base, or one that is not a multiple of its published grid.

    References
    ----------
    Willenborg, L. and de Waal, T. (2001): Elements of statistical disclosure control. Lecture Notes in Statistics 155,
    section 9.3, for both kinds of rounding; the way edits are kept is our own.
    """
    base = _bases(block, params)
    units = block.values / base
    # Quotients such as 0.3 / 0.1 fall short of the whole number they stand for.
    near = np.rint(units)
    units = np.where(np.abs(units - near) <= 1e-9 * np.maximum(np.abs(near), 1.0), near, units)
    # With u uniform in [0, 1) a remainder r goes up, floor(r + u) = 1, with probability r.
    shift = np.full((block.n, 1), 0.5) if params.kind == "deterministic" else uniform_by_record(block, rng, 1)
    rounded = np.floor(units + shift)
    other = np.where(rounded > units, rounded - 1.0, np.where(rounded < units, rounded + 1.0, rounded))
    totals = find_totals(block.names, block.edits)
    values = with_totals(rounded * base, totals)
    values, repaired, left = _repaired(block, values, other * base, totals)
    multiples = np.rint(values / base) * base
    off = np.abs(values - multiples) > 1e-9 * np.maximum(np.abs(values), base)
    block.progress(1.0)
    return Masked(
        values,
        block.missing.copy(),
        notes={
            "changed_cells": int(np.count_nonzero((values != block.values) & ~block.missing)),
            "records_rounded_otherwise_for_edits": repaired,
            "records_left_to_adjustment": left,
            "cells_that_are_no_multiples": int(np.count_nonzero(off)),
        },
    )


def declared_limits(params: RoundingParams, variables: tuple[Variable, ...]) -> tuple[Limit, ...]:
    """Multiples of the bases; a variable without one is refused when it is rounded."""
    bases = params.base if isinstance(params.base, dict) else {each.name: params.base for each in variables}
    known = [each for each in variables if each.name in bases]
    return tuple(Limit(each.name, multiple_of=bases[each.name] * each.day) for each in known)


def _variant(params: RoundingParams) -> Method:
    """Records that are equal are rounded alike unless it is left to chance."""
    return ROUNDING.claiming(preserves={"equals"}) if params.kind == "deterministic" else ROUNDING


def _bases(block: Block, params: RoundingParams) -> Floats:
    """Base of each variable; shape (p,)."""
    if isinstance(params.base, dict):
        without = [name for name in block.names if name not in params.base]
        if without:
            raise InputError(f"base: {', '.join(without)} have none; name one for each variable of the step")
        bases = np.array([params.base[name] for name in block.names])
    else:
        bases = np.full(block.p, params.base)
    bases = np.asarray(bases * [variable.day for variable in block.variables], dtype=np.float64)
    for variable, base in zip(block.variables, bases, strict=True):
        if variable.decimals is not None:
            steps = base * 10.0**variable.decimals
            if round(steps) < 1 or abs(steps - round(steps)) > 1e-9 * steps:
                raise InputError(
                    f"base {base:g} of {variable.name!r} is not a multiple of its published grid, "
                    f"{10.0**-variable.decimals:g}: rounding to the grid would leave the multiples. Take a multiple, "
                    "or declare other decimals"
                )
    return bases


def _repaired(block: Block, values: Floats, other: Floats, totals: Sequence[Total]) -> tuple[Floats, int, int]:
    """Values, in which as many records as possible obey the edits; how many were changed for it, and how many do not.

    `values`, `other`: the rounded values, and for each the multiple on the other side of the original; shape (n, p).
    """
    # Edits that read other variables as well are adjustment's, which sees them.
    edits = EditSet(tuple(edit for edit in block.edits if set(edit.variables) <= set(block.names)))
    edits = EditSet(tuple(edit for edit in edits if edit.kind != "domain" and edit.engine is None))
    if not len(edits):
        return values, 0, 0
    failing = np.flatnonzero(~_obeyed(block, edits, values))
    first = len(failing)
    for ways, flips in enumerate(_flips(block.p, {total.position for total in totals})):
        if not len(failing) or ways == MOST_TRIED:
            break
        tried = values[failing]
        tried[:, flips] = other[failing][:, flips]
        tried = with_totals(tried, totals)
        good = _obeyed(block, edits, tried)
        values[failing[good]] = tried[good]
        failing = failing[~good]
    return values, first - len(failing), len(failing)


def _flips(p: int, totals: set[int]) -> Iterator[list[int]]:
    """Variables to round the other way: one, then two, never a total."""
    free = [position for position in range(p) if position not in totals]
    for size in (1, 2):
        for chosen in itertools.combinations(free, size):
            yield list(chosen)


def _obeyed(block: Block, edits: EditSet, values: Floats) -> Booleans:
    """Records in which no edit fails; shape (m,)."""
    columns = RecordChunk.from_arrays(
        {name: values[:, position] for position, name in enumerate(block.names)},
        {variable.name: variable.decimals for variable in block.variables},
    )
    obeyed = np.ones(len(values), dtype=np.bool_)
    for edit in edits:
        verdict = evaluate(edit, columns)
        obeyed &= verdict.holds | verdict.unknown
    return obeyed


ROUNDING = Method(
    name="rounding",
    protect=protect,
    params=RoundingParams,
    scope="group",
    claims=Claims(
        cut="any",
        variable_types={"continuous", "integer", "date", "datetime"},
        handles_missing=True,
        limits=declared_limits,
    ),
    variant=_variant,
    reference="Willenborg and de Waal (2001), Elements of statistical disclosure control, LNS 155, section 9.3",
    summary="Rounds to multiples of a base, to the nearest or at random, keeping edits between the multiples.",
    example="method: rounding\nparams: {base: 5, kind: random}\n",
)


__all__ = ["ROUNDING"]
