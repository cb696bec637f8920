"""Sampling: a simple random sample of the records, or of the households, is published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import Block, Claims, CompanionVariables, Formerly, InputError, Method, Removed
from maskwright_builtin.numerics.ordering import numbered_together

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Integers


class SamplingParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of sampling."""

    fraction: float | None = Field(
        default=None, gt=0, le=1, allow_inf_nan=False, description="Share of the records that are published."
    )
    size: int | None = Field(
        default=None, ge=1, strict=True, description="Number of records that are published, instead of a share."
    )
    whole_households: Annotated[bool, Formerly("whole_clusters")] = Field(
        default=True,
        description="Where households are declared: draw households and publish all their "
        "records; 'fraction' and 'size' then count households. false draws single records.",
    )
    strata: Annotated[tuple[str, ...], CompanionVariables()] = Field(
        default=(),
        description="Variables by which is drawn: the same share of the records (households) with each combination of "
        "their values, at least one of each. With 'fraction'.",
    )
    adjust_weights: bool = Field(
        default=True,
        description="Divide the variable of role weight by the share that was drawn, so that weighted totals estimate "
        "those of the whole file. Weights then have at least 6 decimals. Without such a variable nothing is divided.",
    )

    @model_validator(mode="after")
    def _fraction_or_size(self) -> SamplingParams:
        if (self.fraction is None) == (self.size is None):
            raise ValueError("say how many records to draw: 'fraction' or 'size', one of them")
        if self.strata and self.fraction is None:
            raise ValueError("strata are drawn from by 'fraction', the same share of each")
        return self


def remove(block: Block, params: SamplingParams, rng: np.random.Generator) -> Removed:
    """Keep a simple random sample without replacement, in the order of the file.

    Of N units (records, or households) n = round(fraction * N), but at least 1, are drawn; every set of n has
    the same chance. Each unit is drawn with probability n / N, so a weight w becomes w * N / n (Horvitz-Thompson).
    With strata, that is done in each of them: n_h = round(fraction * N_h), but at least 1.

    Returns with `kept_rows` and, where the block has weights and they are to be adjusted, `weights`.

    Cochran, W. G. (1977): Sampling Techniques, 3rd edition. Wiley, chapters 2 and 9. Hundepool, A. et al. (2012):
    Statistical Disclosure Control. Wiley, section 3.4.1.
    """
    households = block.households if params.whole_households else None
    unit = np.arange(block.n) if households is None else np.unique(households, return_inverse=True)[1]
    total = int(unit.max(initial=-1)) + 1
    what = "records" if households is None else "households"
    if params.size is not None and params.size > total:
        units = "records" if households is None else block.groups_said
        raise InputError(f"a sample of {params.size} {units} is requested; there are {total}")
    chosen = np.zeros(total, dtype=np.bool_)
    factor = np.ones(total)
    stratum = _strata(block, params.strata, unit, total)
    for number in range(int(stratum.max(initial=-1)) + 1):
        inside = np.flatnonzero(stratum == number)
        drawn = params.size if params.size is not None else max(1, round((params.fraction or 1.0) * len(inside)))
        chosen[inside[rng.choice(len(inside), size=drawn, replace=False)]] = True
        factor[inside] = len(inside) / drawn
    kept = np.flatnonzero(chosen[unit]).astype(np.int64)
    weights = block.weights[kept] * factor[unit][kept] if block.weights is not None and params.adjust_weights else None
    return Removed(
        kept_rows=kept,
        weights=weights,
        notes={
            f"{what}_drawn": int(chosen.sum()),
            f"{what}_in_all": total,
            "weights_divided_by_share": weights is not None,
        },
    )


def _strata(block: Block, names: tuple[str, ...], unit: Integers, total: int) -> Integers:
    """Stratum of each unit; shape (total,)."""
    if not names:
        return np.zeros(total, dtype=np.int64)
    codes = numbered_together([block.companions[name] for name in names])
    found = np.zeros(total, dtype=np.int64)
    found[unit] = codes
    if not np.array_equal(found[unit], codes):
        raise InputError(f"members of a {block.group_name} differ in {', '.join(names)}: it belongs to no one stratum")
    return found


SAMPLING = Method(
    name="sampling",
    remove=remove,
    params=SamplingParams,
    claims=Claims(removes={"records"}, preserves={"linear", "product", "inequality", "range", "domain"}),
    reference="Cochran (1977), Sampling Techniques, chapters 2 and 9; Hundepool et al. (2012), Statistical Disclosure "
    "Control, section 3.4.1",
    summary="Publishes a simple random sample of the records, or of whole households.",
    example="method: sampling\nparams: {fraction: 0.5}\n",
)
