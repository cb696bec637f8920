"""A suggestion: a rule as text, and in how many records it holds."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from maskwright.data.number_text import plain_text
from maskwright.edits.languages.conversion.yaml_text import name_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.dataset import Column, Dataset

SuggestionKind = Literal[
    "equality", "product", "proportion", "dependency", "conditional", "ordering", "constant", "range", "set"
]


@dataclass(frozen=True)
class Candidate:
    """A rule that may hold.

    `rule`: in the YAML edit language. `chance`: share of the records that would violate it if its variables had nothing
    to do with each other; 0 for ranges and lists, that say nothing of how variables belong together. `wrong`: share of
    the searched records that violate it. `vector`: what a sum or a product says: coefficients of variables (and of "",
    the constant), or their exponents. A rule whose vector is a combination of those of other rules of its family
    follows from them. `implications`: of a conditional: if the first then the second. `negations`: what is true where
    these are not. `pair`: the two variables of a dependency, the code and what it determines, or of a conditional.
    `ground`: what was found, where the rule itself does not say it. `needs`: what has to be declared for the rule to be
    understood; '' for nothing.
    """

    kind: SuggestionKind
    rule: str
    chance: float = 0.0
    wrong: float = 0.0
    vector: Mapping[str, Fraction] = field(default_factory=dict)
    implications: tuple[tuple[str, str], ...] = ()
    negations: tuple[tuple[str, str], ...] = ()
    pair: tuple[str, str] | None = None
    ground: str = ""
    needs: str = ""

    @property
    def promise(self) -> float:
        """Usefulness in the searched records; of sums that hold alike, the one with fewer terms."""
        if self.vector:
            return round(self.chance, 1) - self.wrong - 5e-4 * len(self.vector)
        return round(self.chance - self.wrong, 9)


@dataclass(frozen=True)
class Suggestion:
    """A rule that holds in a file.

    `rule`: in the YAML edit language. `records`: records in which it holds. `of`: records of which it speaks: those
    that it is for, and in which no cell it reads is missing. `usefulness`: share of all records that would violate it
    if its variables had nothing to do with each other, less the share that does. 0 for ranges, constants and lists of
    values. `ground`: what was found, where the rule itself does not say it: which code determines which label. `needs`:
    what has to be declared first for the rule to be understood, for instance that a text is a date; '' for nothing.
    """

    kind: SuggestionKind
    rule: str
    records: int
    of: int
    usefulness: float = 0.0
    ground: str = ""
    needs: str = ""

    @property
    def violations(self) -> int:
        """Records that violate it."""
        return self.of - self.records

    @property
    def share(self) -> float:
        """Share of the records of which it speaks in which it holds."""
        return self.records / self.of


@dataclass(frozen=True)
class Suggestions:
    """Everything found in a file.

    Attributes
    ----------
    records : int
    found : tuple of Suggestion
        The most useful first.
    notes : tuple of str
        What was not searched, and why.
    shows_values : bool
        Whether bounds of ranges are values of records.

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> data = pd.DataFrame(np.random.default_rng(1).integers(0, 100, (20, 2)), columns=["wages", "pensions"])
    >>> first = mw.suggest(data.assign(income=data["wages"] + data["pensions"])).found[0]
    >>> first.kind, first.rule, first.records
    ('equality', 'wages + pensions == income', 20)
    """

    records: int
    found: tuple[Suggestion, ...] = ()
    notes: tuple[str, ...] = field(default=())
    shows_values: bool = False

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "records": self.records,
            "warning": WARNING,
            "suggestions": [
                {"kind": each.kind, "rule": each.rule, "records": each.records, "of": each.of,
                 "violations": each.violations, "share": each.share, "usefulness": round(each.usefulness, 4),
                 "ground": each.ground or None, "needs": each.needs or None}
                for each in self.found
            ],
            "notes": list(self.notes),
        }  # fmt: skip


WARNING = (
    "These rules were found in the data, and many will be coincidences. They say something of the data: publishing "
    "them, ranges and constants above all, discloses it. Keep those that are rules; publish only what is known anyway."
)


def number(value: Fraction) -> str:
    """A number as rules write it."""
    if value.denominator == 1:
        return str(value.numerator)
    text = plain_text(float(value))
    return text if Fraction(text) == value else f"{value.numerator} / {value.denominator}"


def linear_rule(coefficients: Mapping[str, Fraction], constant: Fraction) -> str:
    """``sum(coefficient * name) == constant`` with every term on the side where it is positive."""
    sides: tuple[list[str], list[str]] = ([], [])
    for name, value in coefficients.items():
        factor = "" if abs(value) == 1 else f"{number(abs(value))} * "
        sides[0 if value > 0 else 1].append(factor + name_text(name))
    if constant:
        sides[1 if constant > 0 else 0].append(number(abs(constant)))
    # The side with more terms comes first: a sum, then its total.
    left, right = sorted(sides, key=len, reverse=True)
    return f"{' + '.join(left) or '0'} == {' + '.join(right) or '0'}"


def nameable(name: str) -> bool:
    """Whether the rule language can name the variable."""
    return bool(name) and not any(character in name for character in "`\r\n")


def is_date(column: Column) -> bool:
    """Whether the numbers of a column are days, declared as dates."""
    return str(column.variable.type) == "date"


def numeric_names(data: Dataset) -> list[str]:
    """Variables that rules about numbers are searched for: numeric, published, and with a name that rules can write."""
    return [
        column.name
        for column in data
        if column.variable.is_numeric and column.variable.role != "identifier" and nameable(column.name)
    ]


def small_whole(values: Sequence[Fraction], largest: int) -> list[Fraction] | None:
    """The same direction in whole numbers without a common factor; None when one is larger than `largest`."""
    import math

    shared = math.lcm(*(value.denominator for value in values))
    whole = [int(value * shared) for value in values]
    divisor = math.gcd(*whole) or 1
    whole = [value // divisor for value in whole]
    return None if max(map(abs, whole)) > largest else [Fraction(value) for value in whole]


def name_parts(name: str) -> set[str]:
    """Words of a name, in small letters: of ``children_under_6`` and of ``childrenUnder6``; numbers are none."""
    words = re.sub(r"(?<=[a-zß-ÿ])(?=[A-Z])", " ", name)
    return {word for word in re.split(r"[\W\d_]+", words.lower()) if len(word) > 2}
