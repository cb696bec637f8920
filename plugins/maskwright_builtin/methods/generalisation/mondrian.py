"""Strict Mondrian: local recoding, in which each class of records gets bands of its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Band, Block, Claims, InputError, Masked, Method, PromisesK, Variable, write_dates
from maskwright_builtin.methods.class_criteria import KeyNames, key_positions
from maskwright_builtin.numerics.round_numbers import rounded_outwards

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats


class MondrianParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of strict Mondrian."""

    k: Annotated[int, PromisesK()] = Field(
        default=5,
        ge=2,
        strict=True,
        description="Smallest number of published records that are equal on the keys. Usual: 3 to 10.",
    )
    keys: KeyNames = ()


def protect(block: Block, params: MondrianParams, rng: np.random.Generator) -> Masked:  # noqa: ARG001 - the contract
    """Publish, for each class of records, the band from its smallest to its largest value of each key.

    An end that fewer than three records have is moved outwards, to a round number before the next value.

    The file is cut again and again: of a class, the key is taken with the largest range in proportion to that of the
    file, of equal ones the first; records up to its lower median go to one side, the others to the other, if both
    sides have k. If not, the next key is tried; where none can be cut, the class is published. Bands of different
    classes overlap, so that they cannot be tabulated: where that is wanted, `generalisation` publishes one level for
    all.

    Parameters
    ----------
    block : Block
        Numbers, dates and ordinal categories, without missing keys.

    Returns
    -------
    Masked
        With `variables`: bands as ordinal categories, in the order of their lower, then their upper ends.

    Raises
    ------
    InputError
        Fewer than k records.
    """
    positions = key_positions(block, params.keys)
    if block.n < params.k:
        raise InputError(f"k = {params.k} is more than the {block.n} records: no class of {params.k} exists")
    codes = np.empty((block.n, len(positions)), dtype=np.int64)
    distinct: list[Floats] = []
    for place, j in enumerate(positions):
        found, codes[:, place] = np.unique(block.values[:, j], return_inverse=True)
        distinct.append(found)
    ranges = np.array([float(each[-1] - each[0]) for each in distinct])
    starts = np.cumsum([0, *(len(each) for each in distinct)])
    from maskwright_builtin.methods.generalisation.mondrian_kernel import mondrian_classes  # Numba is heavy

    of_record = mondrian_classes(codes, np.concatenate(distinct), starts, ranges, params.k)
    sizes = np.bincount(of_record)
    values, variables = block.values.copy(), list(block.variables)
    spans = np.zeros(len(sizes))
    for place, j in enumerate(positions):
        low, high = np.full(len(sizes), np.inf), np.full(len(sizes), -np.inf)
        np.minimum.at(low, of_record, block.values[:, j])
        np.maximum.at(high, of_record, block.values[:, j])
        ends = _round_ends(low, high, block.values[:, j], block.variables[j])
        pairs, of_class = np.unique(np.stack(ends, axis=1), axis=0, return_inverse=True)
        values[:, j] = of_class.ravel()[of_record]
        variables[j] = banded(block.variables[j], pairs)
        spans += (high - low) / ranges[place] if ranges[place] > 0 else 0.0
    penalty = float(np.dot(sizes, spans)) / (block.n * len(positions))
    return Masked(
        values=values,
        missing=block.missing.copy(),
        variables=tuple(variables),
        notes={
            "classes": len(sizes), "smallest_class": int(sizes.min()), "largest_class": int(sizes.max()),
            "normalised_certainty_penalty": penalty,
        },
    )  # fmt: skip


def banded(variable: Variable, ends: Floats) -> Variable:
    """Variable whose categories are the bands between these smallest and largest values.

    `ends`: shape (bands, 2).
    """
    if variable.is_numeric:
        bands = tuple(Band(lower=low, upper=high, upper_inclusive=True) for low, high in ends.tolist())
        low, high = (_texts(variable, column) for column in ends.T)
    else:
        rank = [(int(first), int(last)) for first, last in ends]
        bands = tuple(Band(members=variable.categories[first : last + 1]) for first, last in rank)
        low = [variable.categories[first] for first, _ in rank]
        high = [variable.categories[last] for _, last in rank]
    names = tuple(one if one == other else f"{one} to {other}" for one, other in zip(low, high, strict=True))
    return replace(
        variable, type="ordinal", decimals=None, lower=None, upper=None, date_format=None, categories=names,
        hierarchy=None, bands=bands if not variable.bands else (),
    )  # fmt: skip


def _round_ends(low: Floats, high: Floats, values: Floats, variable: Variable) -> tuple[Floats, Floats]:
    """Ends of bands that are no value of a record, unless several have it, or nothing is free on the grid."""
    if not variable.is_numeric:
        return low, high
    places = variable.decimals if variable.type == "continuous" else 0
    return rounded_outwards(low, values, places, up=False), rounded_outwards(high, values, places, up=True)


def _texts(variable: Variable, values: Floats) -> list[str]:
    if variable.is_date:
        return list(write_dates(values, np.zeros(len(values), dtype=np.bool_)).to_pylist())
    return [f"{value:.15g}" for value in values.tolist()]


MONDRIAN = Method(
    name="mondrian",
    protect=protect,
    params=MondrianParams,
    scope="all",
    claims=Claims(
        cut="none",
        within_strata=False,
        variable_types={"continuous", "integer", "date", "ordinal"},
        preserves={"k"},
        removes={"detail"},
        deterministic=True,
        changes_few=True,
    ),
    reference="LeFevre, DeWitt and Ramakrishnan (2006), Mondrian multidimensional k-anonymity, ICDE, 25",
    summary="Publishes bands of the keys that are cut class by class, so that each class of equal keys has at least k "
    "records (local recoding).",
    example="method: mondrian\nparams: {k: 3}\n",
)
