"""What a person may declare of a variable in the pipeline's ``data: variables:`` section."""

from __future__ import annotations

import re
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, NaiveDatetime, model_validator

from maskwright.data.date_texts import ISO, format_mistake, has_time
from maskwright.data.hierarchies.declaration import DeclaredHierarchy
from maskwright.data.variable import Role, Variable, VariableType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


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


def codes_with_meanings(value: Any) -> Any:
    """Codes with what they mean: a mapping, or a list in which nothing is said of any."""
    if isinstance(value, dict):
        return tuple((_text(code), "" if meaning is None else meaning) for code, meaning in value.items())
    texts = _texts(value)
    if not isinstance(texts, tuple):
        return texts
    return tuple(each if isinstance(each, tuple) else (each, "") for each in texts)


def _labels(value: Any) -> Any:
    return tuple((_text(code), text) for code, text in value.items()) if isinstance(value, dict) else value


def _day(value: Any) -> Any:
    # Pydantic takes the text of a midnight for a date, and so a moment for a day.
    if not isinstance(value, str):
        return value
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", value.strip()):
        raise ValueError("a date is written 2005-12-31")
    return date.fromisoformat(value.strip())


def _number(bound: float | date | None, *, in_seconds: bool) -> float | None:
    if not isinstance(bound, date):
        return bound
    since = bound if isinstance(bound, datetime) else datetime(bound.year, bound.month, bound.day)
    return (since - EPOCH) / timedelta(seconds=1 if in_seconds else 86_400)


CellText = Annotated[str, BeforeValidator(_text, json_schema_input_type=str | float)]
CellTexts = Annotated[tuple[str, ...], BeforeValidator(_texts, json_schema_input_type=str | float | list[str | float])]

CodeMeanings = Annotated[
    tuple[tuple[str, str], ...],
    BeforeValidator(
        codes_with_meanings, json_schema_input_type=str | float | list[str | float] | dict[str, str | None]
    ),
]
Labels = Annotated[tuple[tuple[str, str], ...], BeforeValidator(_labels, json_schema_input_type=dict[str, str])]


Bound = Annotated[float, Field(allow_inf_nan=False)] | Annotated[date, BeforeValidator(_day)] | NaiveDatetime
"""A number, or a date or a moment in ISO form: 2005-12-31, 2005-12-31T14:05:00."""

EPOCH = datetime(1970, 1, 1)


class VariableDeclaration(BaseModel, extra="forbid", frozen=True):
    """Declared facts of one variable; whatever is left out is inferred from the file.

    Examples
    --------
    >>> from maskwright import VariableDeclaration
    >>> VariableDeclaration(type="date", format="%d.%m.%Y", role="quasi_identifier").is_date
    True
    >>> declared = VariableDeclaration(type="integer", missing={-1: "does not apply", -2: "refused"})
    >>> declared.missing_codes
    ('-1', '-2')
    """

    type: VariableType | None = Field(
        default=None,
        description="continuous, integer (numbers), date, datetime (date and time of day), ordinal or nominal "
        "(categories). Left out: inferred from cells.",
    )
    format: str | None = Field(
        default=None,
        description="How the dates of a text file are written: %Y, %m, %d and %q (quarter) with signs between them, "
        "such as %d.%m.%Y or %Y%m%d; of a datetime also %H, %M, %S and decimals of a second, %3f, and at the end a "
        "zone, Z or +01:00. Left out: %Y-%m-%d, and what the first datetime has.",
    )
    role: Role | None = Field(
        default=None,
        description="identifier (dropped), quasi_identifier or confidential (masked), weight or other (kept as it is). "
        "Left out: confidential for numbers, other for dates and text.",
    )
    release: Literal["as is", "new"] | None = Field(
        default=None,
        description="'as is': it may be published unmasked whatever its role; the record and the report say so, "
        "and of an identifier a doubt has to be waived. 'new': an identifier, "
        "or the variable of `cluster`, is published as a key with new random values. Left out: "
        "identifiers are dropped; what has to be masked and is not, and text of no declared role, stop the release.",
    )
    unchanged: float | None = Field(
        default=None,
        ge=0,
        le=100,
        description="Percent of its cells (those with a value, other than 0) that may be as they were although it is "
        "masked. Left out: 50 for a confidential variable, beyond chance; where a method is expected to leave more, as "
        "many as whoever knows the other variables cannot find out.",
    )
    distortion: float | None = Field(
        default=None,
        ge=0,
        allow_inf_nan=False,
        description="Standard deviations of the original by which adjusting to edits and rounding may move its mean or "
        "its standard deviation; deciles have no bound. Left out: 0.05, in files of fewer than 400 records the "
        "standard error of a mean, and as far as the method itself moved it.",
    )
    unit: str | None = Field(default=None, description="Unit of measurement, shown in reports.")
    decimals: int | None = Field(
        default=None,
        ge=0,
        le=15,
        description="Published decimals: masked values are rounded to them. Left out: those seen in the file.",
    )
    min: Bound | None = Field(
        default=None, description="Smallest possible value or first possible date, inclusive; becomes a range edit."
    )
    max: Bound | None = Field(
        default=None, description="Largest possible value or last possible date, inclusive; becomes a range edit."
    )
    categories: CellTexts = Field(
        default=(), description="Categories of an ordinal (in order) or nominal variable, as the file writes them."
    )
    missing: CodeMeanings = Field(
        default=(),
        description="Cell texts that mean 'no value', besides an empty or absent cell; as a list, or with what each of "
        "them means: {-1: does not apply, -2: refused}.",
    )
    suppressed_as: CellText | None = Field(
        default=None,
        description="Text of a published cell whose value was taken away. Left out: an empty or absent cell.",
    )
    label: str | None = Field(default=None, description="What the variable is, in words.")
    labels: Labels = Field(default=(), description="What codes mean, in words: {1: employed, 2: retired}.")
    hierarchy: DeclaredHierarchy | None = Field(
        default=None,
        description="Coarser and coarser categories of its values, level by level: the name of a file, or a rule that "
        "makes them (maskwright explain hierarchies).",
    )

    reliability: float = Field(
        default=1.0,
        gt=0,
        allow_inf_nan=False,
        description="How much the variable is trusted when error localisation chooses which fields to change: the cost "
        "of changing it (on_input_violation: localize).",
    )

    @property
    def empty_texts(self) -> tuple[str, ...]:
        """Cell texts that mean 'no value', that of suppressed cells included: a file may have been masked before."""
        return self.missing_codes if self.suppressed_as is None else (*self.missing_codes, self.suppressed_as)

    @property
    def missing_meanings(self) -> tuple[str, ...]:
        """What each missing code means, "" where nothing is said; empty where nothing is said of any."""
        return tuple(meaning for _, meaning in self.missing) if any(meaning for _, meaning in self.missing) else ()

    @property
    def missing_codes(self) -> tuple[str, ...]:
        """Cell texts that mean 'no value', without what each of them means."""
        return tuple(code for code, _ in self.missing)

    @property
    def is_identifier(self) -> bool:
        """Whether it is an identifier that is dropped, or gets new values."""
        return self.role == "identifier" and self.release != "as is"

    @property
    def is_date(self) -> bool:
        """Whether it is declared a date or a datetime, be it by a bound that is one."""
        return self.type in ("date", "datetime") or isinstance(self.min, date) or isinstance(self.max, date)

    @property
    def is_datetime(self) -> bool:
        """Whether it is declared a datetime, be it by a bound that is one."""
        stated = self.type is None and (isinstance(self.min, datetime) or isinstance(self.max, datetime))
        return self.type == "datetime" or stated

    @property
    def date_format(self) -> str | None:
        """How dates are written; None: it is a datetime in one of the forms of ISO 8601."""
        return None if self.is_datetime and self.format is None else self.format or ISO

    @property
    def lower(self) -> float | None:
        """Smallest possible value; of a date in days since 1970-01-01, of a datetime in seconds."""
        return _number(self.min, in_seconds=self.is_datetime)

    @property
    def upper(self) -> float | None:
        """Largest possible value; of a date in days since 1970-01-01, of a datetime in seconds."""
        return _number(self.max, in_seconds=self.is_datetime)

    @model_validator(mode="after")
    def _has_a_format(self) -> VariableDeclaration:
        if self.format is None:
            return self
        kind = "datetime" if has_time(self.format) else "date"
        if self.type != kind:
            raise ValueError(f"format is one of {kind}s: add `type: {kind}`")
        mistake = format_mistake(self.format)
        if mistake is not None:
            raise ValueError(f"format: {mistake}")
        return self

    @model_validator(mode="after")
    def _is_a_date(self) -> VariableDeclaration:
        if not self.is_date:
            return self
        if self.type not in (None, "date", "datetime"):
            raise ValueError(f"min and max of a variable that is {self.type} are no dates")
        if self.type == "date" and any(isinstance(bound, datetime) for bound in (self.min, self.max)):
            raise ValueError("min and max of a date have no time of day: 2005-12-31")
        if self.is_datetime and type(self.max) is date:
            raise ValueError("max of a datetime needs a time of day: 2005-12-31T23:59:59")
        if any(isinstance(bound, float) for bound in (self.min, self.max)):
            raise ValueError("min and max of a date are dates: 2005-12-31")
        if self.decimals is not None or self.categories:
            raise ValueError("decimals and categories are not for dates")
        if self.hierarchy is not None and self.hierarchy.form != "dates":
            raise ValueError("the hierarchy of a date is one of periods: {dates: [month, year]}")
        return self

    @model_validator(mode="after")
    def _is_consistent(self) -> VariableDeclaration:
        if self.lower is not None and self.upper is not None and self.lower > self.upper:
            raise ValueError("min is above max")
        if len(set(self.categories)) != len(self.categories):
            raise ValueError("a category is listed twice")
        if len(set(self.missing_codes)) != len(self.missing_codes):
            raise ValueError("a missing code is listed twice")
        if self.suppressed_as is not None and self.suppressed_as in self.categories:
            raise ValueError("suppressed_as is one of the categories")
        if self.categories and self.type in ("continuous", "integer"):
            raise ValueError(f"categories are for ordinal and nominal variables, and the type says {self.type}")
        if self.categories and (self.decimals is not None or self.min is not None or self.max is not None):
            raise ValueError(
                "decimals, min and max are for numbers, and categories make this variable nominal or ordinal"
            )
        return self


def declared_together(
    under: Mapping[str, VariableDeclaration], over: Mapping[str, VariableDeclaration]
) -> dict[str, VariableDeclaration]:
    """Declarations of a pipeline over those of its codebook, or of the file itself."""
    together = dict(under)
    for name, each in over.items():
        together[name] = _over(together[name], each) if name in together else each
    return together


def _over(under: VariableDeclaration, over: VariableDeclaration) -> VariableDeclaration:
    stated = {fact: getattr(over, fact) for fact in over.model_fields_set}
    if over.is_date:
        bounds = {} if under.is_date else {"min": None, "max": None}
        stated = {"categories": (), "decimals": None, **bounds, **stated}
    elif over.type in ("continuous", "integer") or over.decimals is not None:
        bounds = {"min": None, "max": None} if under.is_date else {}
        stated = {"categories": (), "format": None, **bounds, **stated}
    elif over.type is not None or over.categories:
        stated = {"decimals": None, "min": None, "max": None, "format": None, **stated}
    return under.model_copy(update=stated)


def with_missing_codes(
    declared: Mapping[str, VariableDeclaration], codes: tuple[tuple[str, str], ...], names: Iterable[str]
) -> dict[str, VariableDeclaration]:
    """Declarations in which each of these variables that declares no missing codes of its own has those of the file."""
    together = dict(declared)
    for name in sorted(names) if codes else ():
        own = together.get(name, VariableDeclaration())
        if "missing" not in own.model_fields_set:
            together[name] = own.model_copy(update={"missing": codes})
    return together


def variable_of(name: str, kind: VariableType, role: Role, declared: VariableDeclaration, **facts: Any) -> Variable:
    """Variable as it is declared, with what was found of it; `role`: where none is declared."""
    stated = {fact: getattr(declared, fact) for fact in _STATED}
    identifies = declared.role == "identifier" and not declared.is_identifier
    return Variable(
        name=name, type=kind, role="other" if identifies else declared.role or role,
        as_is=declared.release == "as is", inferred_role=declared.role is None, identifies=identifies,
        **(stated | facts),
    )  # fmt: skip


_STATED = ("unchanged", "distortion", "unit", "missing_codes", "missing_meanings", "suppressed_as", "label", "labels")
"""Facts that a variable has just as they are declared."""
