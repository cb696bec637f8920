"""What a person may declare of a variable in the pipeline's ``data: variables:`` section."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, model_validator

from maskwright.data.variable import Role, VariableType


def _texts(value: Any) -> Any:
    """Cell texts from a list, or from one text or number: ``missing: 9`` and ``missing: [9, ""]`` are both natural."""
    if value is None:
        return ()
    if isinstance(value, (str, int, float)):
        value = (value,)
    if isinstance(value, (list, tuple)):
        return tuple(_text(item) for item in value)
    return value


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return repr(value) if isinstance(value, (int, float)) else value


CellTexts = Annotated[tuple[str, ...], BeforeValidator(_texts, json_schema_input_type=str | float | list[str | float])]


class VariableDeclaration(BaseModel, extra="forbid", frozen=True):
    """Declared facts of one variable; whatever is left out is inferred from the file."""

    type: VariableType | None = Field(
        default=None,
        description="continuous, integer (numbers), ordinal or nominal (categories). Left out: inferred from cells.",
    )
    role: Role | None = Field(
        default=None,
        description="identifier (dropped), quasi_identifier or confidential (masked), weight or other (kept as it is). "
        "Left out: confidential for numbers, other for text.",
    )
    release: Literal["as is", "new"] | None = Field(
        default=None,
        description="'as is': it may be published unmasked whatever its role; the record and the report say so. 'new': "
        "an identifier, or the variable of `cluster`, is published as a key with new random values. Left out: "
        "identifiers are dropped; what has to be masked and is not, and text of no declared role, stop the release.",
    )
    unchanged: float | None = Field(
        default=None,
        ge=0,
        le=100,
        description="Percent of its cells (those with a value, other than 0) that may be as they were although it is "
        "masked. Left out: 50 for a confidential variable, unless a method is expected to leave more.",
    )
    unit: str | None = Field(default=None, description="Unit of measurement, shown in reports.")
    decimals: int | None = Field(
        default=None,
        ge=0,
        le=15,
        description="Published decimals: masked values are rounded to them. Left out: those seen in the file.",
    )
    min: float | None = Field(
        default=None, allow_inf_nan=False, description="Smallest possible value, inclusive; becomes a range edit."
    )
    max: float | None = Field(
        default=None, allow_inf_nan=False, description="Largest possible value, inclusive; becomes a range edit."
    )
    categories: CellTexts = Field(
        default=(), description="Categories of an ordinal (in order) or nominal variable, as the file writes them."
    )
    missing: CellTexts = Field(
        default=(), description="Cell texts that mean 'no value', besides an empty or absent cell."
    )

    reliability: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="How much the variable is trusted when error localisation chooses which fields to change: the cost "
        "of changing it (on_input_violation: localize).",
    )

    @model_validator(mode="after")
    def _is_consistent(self) -> VariableDeclaration:
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("min is above max")
        if len(set(self.categories)) != len(self.categories):
            raise ValueError("a category is listed twice")
        if self.categories and self.type in ("continuous", "integer"):
            raise ValueError(f"categories are for ordinal and nominal variables, and the type says {self.type}")
        if self.categories and (self.decimals is not None or self.min is not None or self.max is not None):
            raise ValueError(
                "decimals, min and max are for numbers, and categories make this variable nominal or ordinal"
            )
        return self
