"""Dependent variables, which are drawn anew, and independent ones, which are read and stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import DependentVariables, IndependentVariables, InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright import Block
    from maskwright_builtin.methods.synthetic.regression import Regression


class RegressionRoles(BaseModel, extra="forbid", frozen=True):
    """Which variables are dependent and which independent."""

    dependent: Annotated[tuple[str, ...], DependentVariables()] = Field(
        default=(),
        description="Variables to replace. Default: those of the step, or all numeric confidential and "
        "quasi-identifying ones, less the independent ones.",
    )
    independent: Annotated[tuple[str, ...], IndependentVariables()] = Field(
        default=(),
        description="Numeric variables that explain the dependent ones. They are read and stay as they are.",
    )

    @model_validator(mode="after")
    def _apart(self) -> RegressionRoles:
        for role, names in (("dependent", self.dependent), ("independent", self.independent)):
            if len(set(names)) < len(names):
                raise ValueError(f"{role}: a variable is listed twice")
        both = sorted(set(self.dependent) & set(self.independent))
        if both:
            raise ValueError(f"{', '.join(both)}: dependent and independent at once")
        return self


def independent_columns(block: Block, names: Sequence[str]) -> NDArray[np.float64]:
    """Columns of the independent variables; shape (n, p)."""
    strangers = [name for name in names if name not in block.companions]
    if strangers:
        raise InputError(f"the independent variables {', '.join(strangers)} are not in the data of this step")
    columns = (np.column_stack([block.companions[name] for name in names]) if names else np.zeros((block.n, 0))).astype(
        np.float64
    )
    holes = [name for name, column in zip(names, columns.T, strict=True) if not np.isfinite(column).all()]
    holes += [name for name, gone in zip(block.names, block.missing.T, strict=True) if gone.any()]
    if holes:
        raise InputError(
            f"regression takes no missing cells; there are some in {', '.join(holes)}. Leave these variables or "
            "records out, or impute them first"
        )
    return columns


def require_spread(block: Block, regression: Regression) -> None:
    """Refuse dependents that the independents determine: their synthetic values would be the true ones."""
    sizes = np.sqrt(np.einsum("bmp,bmp->p", regression.residuals, regression.residuals))
    total = np.sqrt(np.einsum("mp,mp->p", *[block.values - block.values.mean(axis=0)] * 2))
    noise = 1e-9 * total
    varies = total > 1e-9 * np.abs(block.values).max(axis=0, initial=0.0)
    determined = [name for name, bare in zip(block.names, (sizes <= noise) & varies, strict=True) if bare]
    if determined:
        raise InputError(
            f"the independent variables determine {', '.join(determined)} among the {block.n} records that are masked "
            "together, so that the original values would be published; take an independent variable out"
        )


def require_records(n: int, needed: int, why: str) -> None:
    """Refuse blocks with too few degrees of freedom.

    `n`: records that are masked together.
    """
    if n < needed:
        raise InputError(
            f"{n} records are masked together and at least {needed} are needed ({why}); with fewer, original values "
            "would come back. Use fewer variables, larger blocks, or merge strata"
        )
