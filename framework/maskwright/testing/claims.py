"""Whether what a method claims to preserve does hold in what it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import BaseModel

from maskwright.foundation.errors import PluginError, PluginFailed
from maskwright.masking.protecting.method_contract import checked_masked, checked_removed
from maskwright.plugins.method import Masked, Method, Removed
from maskwright.testing.checks import generator, require
from maskwright.testing.sample_data import block_of, numbers, with_companions, with_holes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from maskwright.data.variable import VariableType
    from maskwright.plugins.block import Block

RELATIVE = 1e-9
"""Rounding in binary64, far above the error of a sum of a hundred terms, far below any effect of masking."""

_DOMAIN_TYPES: tuple[VariableType, ...] = ("ordinal", "integer", "continuous", "nominal")

ParamsOf = Callable[[Method, Any], BaseModel]
"""``(method, given) -> params``: parameters of a method from those a person gave for the kit."""

Claim = Callable[[Method, ParamsOf, Any], None]
"""``(method, params_of, given) -> None``: raises AssertionError where what the method claims is not true."""


def returned(method: Method, params: BaseModel, block: Block, rng: np.random.Generator) -> Masked | Removed:
    """What a method or a remover returns, held to what the engine demands of it."""
    seen = with_companions(block, method.companion_variables(params))
    try:
        if method.remove is not None:
            removed = method.remove(seen, params, rng)
            checked_removed(method, seen, removed)
            return removed
        assert method.protect is not None
        masked = method.protect(seen, params, rng)
        checked_masked(method.with_params(params), params, seen, masked)
    except (PluginError, PluginFailed) as error:
        raise AssertionError(str(error)) from None
    return masked


def protected(method: Method, params: BaseModel, block: Block, rng: np.random.Generator) -> Masked:
    """What a method makes of a block, or what a remover leaves of it."""
    found = returned(method, params, block, rng)
    return Masked(*found.left(block)) if isinstance(found, Removed) else found


def _masked(method: Method, params_of: ParamsOf, given: Any, block: Block) -> NDArray[np.float64]:
    params = params_of(method, given)
    values = protected(method, params, block, generator()).values
    require(np.isfinite(values).all(), "values must be finite where nothing is missing")
    return values


def _several_variables(method: Method, claim: str) -> None:
    require(method.scope != "variable", f"a method that sees one variable at a time cannot claim {claim!r}")


def linear(method: Method, params_of: ParamsOf, given: Any) -> None:
    """Require that a sum that holds in every record holds in every masked record."""
    _several_variables(method, "linear")
    parts = numbers(60, 2)
    values = np.column_stack([parts, parts.sum(axis=1)])
    masked = _masked(method, params_of, given, block_of(values, rules=["x1 + x2 == x3"]))
    gap = np.abs(masked[:, 0] + masked[:, 1] - masked[:, 2])
    require(gap.max() <= RELATIVE * np.abs(values).max(), "x1 + x2 == x3 holds in the input, not in the output")


def product(method: Method, params_of: ParamsOf, given: Any) -> None:
    """Require that a product of positive factors that holds in every record holds in every masked record."""
    _several_variables(method, "product")
    factors = numbers(60, 2)
    values = np.column_stack([factors, factors.prod(axis=1)])
    block = block_of(values, rules=["x1 * x2 == x3"], operator="geometric_mean")
    masked = _masked(method, params_of, given, block)
    gap = np.abs(masked[:, 0] * masked[:, 1] / masked[:, 2] - 1.0)
    require(gap.max() <= RELATIVE, "x1 * x2 == x3 holds in the input, not in the output")


def inequality(method: Method, params_of: ParamsOf, given: Any) -> None:
    """Require that an inequality that holds in every record holds in every masked record."""
    _several_variables(method, "inequality")
    parts = numbers(60, 2)
    values = np.column_stack([parts[:, 0], parts.sum(axis=1)])
    masked = _masked(method, params_of, given, block_of(values, rules=["x1 <= x2"]))
    excess = masked[:, 0] - masked[:, 1]
    require(excess.max() <= RELATIVE * np.abs(values).max(), "x1 <= x2 holds in the input, not in the output")


def in_range(method: Method, params_of: ParamsOf, given: Any) -> None:
    """Require that masked values stay between the smallest and the largest original value."""
    values = numbers(60, 1 if method.scope == "variable" else 3)
    masked = _masked(method, params_of, given, block_of(values))
    slack = RELATIVE * np.abs(values).max()
    inside = (masked >= values.min(axis=0) - slack) & (masked <= values.max(axis=0) + slack)
    require(inside.all(), "masked values leave the range of the original ones")


def _domain_type(method: Method) -> VariableType:
    for variable_type in _DOMAIN_TYPES:
        if variable_type in method.claims.variable_types:
            return variable_type
    raise AssertionError("variable_types names no type of variable")


def domain(method: Method, params_of: ParamsOf, given: Any) -> None:
    """Require that every masked value is one that occurs in the original column."""
    variable_type = _domain_type(method)
    values = numbers(60, 1 if method.scope == "variable" else 3, variable_type)
    masked = _masked(method, params_of, given, block_of(values, variable_type, operator="lower_median"))
    for position in range(values.shape[1]):
        known = np.isin(masked[:, position], values[:, position])
        require(known.all(), "a masked value occurs nowhere in the original column")


def mean(method: Method, params_of: ParamsOf, given: Any) -> None:
    """Require that means of the masked variables are those of the original ones."""
    values = numbers(60, 1 if method.scope == "variable" else 3)
    masked = _masked(method, params_of, given, block_of(values))
    gap = np.abs(masked.mean(axis=0) - values.mean(axis=0)) / values.std(axis=0)
    require(gap.max() <= RELATIVE, "the means of the masked variables are not those of the original ones")


def covariance(method: Method, params_of: ParamsOf, given: Any) -> None:
    """Require that covariances of the masked variables are those of the original ones."""
    values = numbers(60, 1 if method.scope == "variable" else 3)
    masked = _masked(method, params_of, given, block_of(values))
    scale = np.outer(values.std(axis=0, ddof=1), values.std(axis=0, ddof=1))
    gap = np.abs(np.cov(masked, rowvar=False) - np.cov(values, rowvar=False)) / scale
    require(gap.max() <= 1e3 * RELATIVE, "the covariances of the masked variables are not those of the original ones")


def combinations(method: Method, params_of: ParamsOf, given: Any) -> None:
    """Require that each masked record has values that one original record had together, cells without one included."""
    _several_variables(method, "combinations")
    variable_type = _domain_type(method)
    values = with_holes(numbers(60, 3, variable_type))
    block = block_of(values, variable_type, operator="lower_median")
    params = params_of(method, given)
    masked = protected(method, params, block, generator()).values
    known = {row.tobytes() for row in np.nan_to_num(values, nan=-1.0)}
    require(
        all(row.tobytes() in known for row in np.nan_to_num(masked, nan=-1.0)),
        "a masked record has values that no original record has together",
    )


def equals(method: Method, params_of: ParamsOf, given: Any) -> None:
    """Require that records that are equal come out equal."""
    variable_type = _domain_type(method)
    values = np.repeat(numbers(12, 1 if method.scope == "variable" else 3, variable_type), 5, axis=0)
    masked = protected(method, params_of(method, given), block_of(values, variable_type), generator()).values
    alike = all(np.array_equal(masked[at : at + 5], masked[[at] * 5], equal_nan=True) for at in range(0, 60, 5))
    require(alike, "records that are equal in the input are not in the output")


def households(method: Method, params_of: ParamsOf, given: Any) -> None:
    """Require that what is the same within each household stays so."""
    variable_type = _domain_type(method)
    values = np.repeat(numbers(20, 1 if method.scope == "variable" else 3, variable_type), 3, axis=0)
    homes = np.repeat(np.arange(20, dtype=np.int64), 3)
    block = replace(block_of(values, variable_type, operator="lower_median"), households=homes)
    masked = _masked(method, params_of, given, block)
    first = masked[np.searchsorted(homes, homes)]
    require(np.array_equal(masked, first), "members of a household had the same values, and do not have them any more")


# "k" is a check of its own, with the k of the parameters.
CLAIMS: Mapping[str, Claim] = {
    "linear": linear,
    "product": product,
    "inequality": inequality,
    "range": in_range,
    "domain": domain,
    "mean": mean,
    "covariance": covariance,
    "combinations": combinations,
    "equals": equals,
    "households": households,
}
