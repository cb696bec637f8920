"""What a look at a file says of one variable: counts and guesses; values of records only where asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.data.looking.name_meanings import Meaning
    from maskwright.data.variable import Role, VariableType

LooksLike = Literal["number", "code", "category", "identifier", "date", "free text", "constant", "empty"]


@dataclass(frozen=True)
class VariableLook:
    """One variable as it looks.

    `type`: as it would be declared: ``continuous``, ``integer``, ``nominal``, . `looks_like`: ``code``: few whole
    numbers that are probably categories. `role`: declared, or the likely one; None: nothing says what the variable is.
    `release`: as it would be declared: ``new`` for a key that gets new random values. `why`: what the role was seen by.
    `cells`, `missing`, `distinct`: cells with a value, cells without one, and different values. `missing_codes`: texts
    and numbers that mean or probably mean 'no value', and in how many cells; counted in `missing`. `date_format`: of
    texts that are dates and have to be declared as such. `unsure`: what a person should decide. Never holds a value of
    a record. `lowest`, `highest`: of numbers; only where values are shown. `categories`: the most frequent ones, with
    their counts; only where values are shown.
    """

    name: str
    type: VariableType
    looks_like: LooksLike
    role: Role | None
    why: str
    meaning: Meaning | None
    cells: int
    missing: int
    distinct: int
    missing_codes: Mapping[str, int] = field(default_factory=dict)
    decimals: int | None = None
    date_format: str | None = None
    unsure: tuple[str, ...] = ()
    lowest: float | None = None
    highest: float | None = None
    release: Literal["new"] | None = None
    categories: Mapping[str, int] | None = None

    @property
    def is_numeric(self) -> bool:
        """Whether it is to be declared a number."""
        return self.type in ("continuous", "integer")

    def to_json(self) -> dict[str, Any]:
        """Plain data; without values of records unless they were asked for."""
        values: dict[str, Any] = {}
        if self.lowest is not None:
            values = {"lowest": self.lowest, "highest": self.highest}
        if self.categories is not None:
            values = {"categories": dict(self.categories)}
        return {
            "name": self.name,
            "type": self.type,
            "looks_like": self.looks_like,
            "role": self.role,
            "why": self.why,
            "meaning": self.meaning,
            "cells": self.cells,
            "missing": self.missing,
            "missing_codes": dict(self.missing_codes),
            "distinct": self.distinct,
            "decimals": self.decimals,
            "date_format": self.date_format,
            "unsure": list(self.unsure),
            **values,
        }
