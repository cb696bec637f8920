"""Top and bottom coding: values beyond a limit are replaced by one value."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import BaseModel, Field, NaiveDatetime, model_validator

from maskwright import Block, Claims, InputError, Limit, Masked, Method
from maskwright_builtin.methods.column_masking import mask_columns
from maskwright_builtin.numerics.round_numbers import FEWEST, rounded_outwards

if TYPE_CHECKING:
    from maskwright import Variable
    from maskwright_builtin.numerics.arrays import Floats


Value = float | date | NaiveDatetime
Bound = Value | dict[str, Value] | None
EPOCH = datetime(1970, 1, 1)


class TopAndBottomCodingParams(BaseModel, extra="forbid", frozen=True, allow_inf_nan=False):
    """Parameters of top and bottom coding."""

    top: Bound = Field(
        default=None,
        description="Largest value that is published: number, date, or {variable: number}. Those left out have none.",
    )
    bottom: Bound = Field(
        default=None,
        description="Smallest value that is published: number, date, or {variable: number}. Those left out have none.",
    )
    top_share: float = Field(
        default=0.05,
        ge=0,
        lt=1,
        description="Without 'top': share of the largest values that are replaced. Values equal to the limit stay.",
    )
    bottom_share: float = Field(
        default=0.0,
        ge=0,
        lt=1,
        description="Without 'bottom': share of the smallest values that are replaced. Values equal to the limit stay.",
    )
    replace_by: Literal["limit", "mean"] = Field(
        default="limit",
        description="'limit': values beyond it become the limit. 'mean': they become their own mean, which keeps the "
        f"variable's mean; where fewer than {FEWEST} are beyond it, the limit.",
    )

    @model_validator(mode="after")
    def _apart(self) -> TopAndBottomCodingParams:
        given = {"top_share", "bottom_share"} & self.model_fields_set
        for side, limit in (("top", self.top), ("bottom", self.bottom)):
            if limit is not None and f"{side}_share" in given:
                raise ValueError(f"'{side}' and '{side}_share' both say where the limit is; give one")
        if self.top is None and self.bottom is None and self.top_share + self.bottom_share >= 1.0:
            raise ValueError("top_share and bottom_share together leave no value as it is; their sum is below 1")
        return self


def protect(block: Block, params: TopAndBottomCodingParams, rng: np.random.Generator) -> Masked:  # noqa: ARG001
    """Replace the values beyond the limits of each variable.

    Returns
    -------
    Masked
        Values above the upper limit become the limit, or their mean; those below the lower one likewise. The limit of a
        share is the value of the variable below which at least that share of the others lies (the lower value of two
        for the top, the higher for the bottom); where fewer than three records have it, a round number between it and
        the next value, so that the code is not the value of one, if the published decimals leave one there. For ordinal
        variables the limit is a position in the order of the categories, from 0, and replaces the others. Missing cells
        stay missing. A warning says so when a limit leaves a variable as it is.

    Raises
    ------
    InputError
        When a limit is beyond all values of a variable, so that all would become equal, or the lower one is not below
        the upper one.
    """
    warnings: list[str] = []
    limits: list[Limit] = []
    # Of a part of the file it is not said what holds in all of its values.
    part = block.n < block.file_n

    def change(values: Floats, position: int) -> Floats:
        variable = block.variables[position]
        upper, lower = _limits(params, variable, values)
        if upper <= lower and (part or np.ptp(values) > 0.0):
            raise InputError(f"the lower limit of {variable.name!r} is not below the upper one: all would become equal")
        above, below = values > upper, values < lower
        published = {"above": upper, "below": lower}
        called = {"above": "limit", "below": "limit"}
        for beyond, limit, side in ((above, upper, "above"), (below, lower, "below")):
            if beyond.all() and not part:
                raise InputError(f"all values of {variable.name!r} are {side} the limit: they would all become equal")
            by_mean = params.replace_by == "mean" and variable.is_numeric and np.count_nonzero(beyond) >= FEWEST
            if by_mean:
                called[side] = f"mean of the values {side} the limit"
            values[beyond] = published[side] = values[beyond].mean() if by_mean else limit
        if not above.any() and not below.any() and not part:
            warnings.append("a variable has no value beyond its limits: it is left as it is")
        low, high = _finite(published["below"]), _finite(published["above"])
        if not (low is None and high is None):
            limits.append(Limit(variable.name, low, high, low_is=called["below"], high_is=called["above"]))
        return values

    return mask_columns(block, change, {"warnings": warnings}, limits=limits)


def declared_limits(params: TopAndBottomCodingParams, variables: tuple[Variable, ...]) -> tuple[Limit, ...]:
    """Limits that are published as they are declared; those of a share, and means, are found in the data."""
    if params.replace_by == "mean":
        variables = tuple(variable for variable in variables if not variable.is_numeric)
    found = (
        Limit(
            variable.name,
            _finite(_declared(params.bottom, variable)),
            _finite(_declared(params.top, variable)),
        )
        for variable in variables
    )
    return tuple(limit for limit in found if not (limit.low is None and limit.high is None))


def _variant(params: TopAndBottomCodingParams) -> Method:
    """With limits that are given, each record is coded by itself."""
    given = params.top is not None or params.bottom is not None
    shares = {"top_share", "bottom_share"} & params.model_fields_set
    by_record = given and not shares and params.replace_by == "limit"
    return TOP_AND_BOTTOM_CODING.claiming(cut="any") if by_record else TOP_AND_BOTTOM_CODING


def _declared(bound: Bound, variable: Variable) -> float | None:
    """Limit of a variable; those of dates are dates or days."""
    found = bound.get(variable.name) if isinstance(bound, dict) else bound
    if isinstance(found, date):
        since = found if isinstance(found, datetime) else datetime(found.year, found.month, found.day)
        return (since - EPOCH) / timedelta(seconds=86_400 // variable.day)
    return None if found is None else found * variable.day


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and np.isfinite(value) else None


def _limits(params: TopAndBottomCodingParams, variable: Variable, values: Floats) -> tuple[float, float]:
    """Upper and lower limit of a variable; infinite where it has none."""
    top = _declared(params.top, variable)
    bottom = _declared(params.bottom, variable)
    top = np.inf if top is None and isinstance(params.top, dict) else top
    bottom = -np.inf if bottom is None and isinstance(params.bottom, dict) else bottom
    if top is None:
        # A limit that is stated on one side alone asks for nothing on the other.
        share = params.top_share if params.bottom is None or "top_share" in params.model_fields_set else 0.0
        top = _found(values, 1.0 - share, variable, up=True) if share > 0.0 else np.inf
    if bottom is None:
        share = params.bottom_share
        bottom = _found(values, share, variable, up=False) if share > 0.0 else -np.inf
    return top, bottom


def _found(values: Floats, share: float, variable: Variable, *, up: bool) -> float:
    """Limit of a share: no value of a record, unless several have it, or nothing is free on the published grid."""
    limit = np.quantile(values, [share], method="lower" if up else "higher")
    if not variable.is_numeric or variable.is_date:
        return float(limit[0])
    places = 0 if variable.type == "integer" else variable.decimals
    return float(rounded_outwards(limit, values, places, up=up)[0])


TOP_AND_BOTTOM_CODING = Method(
    name="top_and_bottom_coding",
    protect=protect,
    params=TopAndBottomCodingParams,
    scope="variable",
    claims=Claims(
        cut="none",
        within_strata=False,
        variable_types={"continuous", "integer", "date", "datetime", "ordinal"},
        handles_missing=True,
        preserves={"range", "equals"},
        deterministic=True,
        limits=declared_limits,
        changes_few=True,
    ),
    variant=_variant,
    reference="Hundepool et al. (2012), Statistical disclosure control, Wiley, section 3.3.3",
    summary="Values beyond a limit are replaced by the limit, or by their mean.",
    example="method: top_and_bottom_coding\nparams: {top_share: 0.05, bottom_share: 0.05, replace_by: mean}\n",
)


__all__ = ["TOP_AND_BOTTOM_CODING"]
