"""Suggestions: rules as text, the records in which they hold, the sample they are sought in, a rule file."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import yaml

from maskwright.data.dataset import Column
from maskwright.data.number_text import plain_text
from maskwright.data.variable import Variable
from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.foundation.randomness import generator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset


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
    understood; '' for nothing. `tolerance`: by how much both sides of an equality may differ.
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
    tolerance: Fraction = Fraction(0)

    @property
    def statement(self) -> str | dict[str, str | float]:
        """The rule as a file of rules has it."""
        return {"rule": self.rule, "tolerance": _plain(float(self.tolerance))} if self.tolerance else self.rule

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
    `tolerance`: by how much both sides of an equality may differ, since numbers are rounded; 0 where it holds exactly.
    """

    kind: SuggestionKind
    rule: str
    records: int
    of: int
    usefulness: float = 0.0
    ground: str = ""
    needs: str = ""
    tolerance: float = 0.0

    @property
    def statement(self) -> str | dict[str, str | float]:
        """The rule as ``edits:`` of a pipeline, a file of rules, and the functions that take rules have it."""
        return {"rule": self.rule, "tolerance": _plain(self.tolerance)} if self.tolerance else self.rule

    @property
    def as_one_rule(self) -> str:
        """The rule with its tolerance in one text."""
        if not self.tolerance:
            return self.rule
        left, right = self.rule.split(" == ")
        other = f"({right})" if " + " in right else right
        return f"abs({left} - {other}) <= {number(fraction(self.tolerance))}"

    @property
    def violations(self) -> int:
        """Records that violate it."""
        return self.of - self.records

    @property
    def share(self) -> float:
        """Share of the records of which it speaks in which it holds."""
        return self.records / self.of


def _plain(value: float) -> float:
    """Whole numbers without decimals."""
    return int(value) if value.is_integer() else value


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
                {"kind": each.kind, "rule": each.rule, "tolerance": each.tolerance or None, "records": each.records,
                 "of": each.of, "violations": each.violations, "share": each.share,
                 "usefulness": round(each.usefulness, 4), "ground": each.ground or None, "needs": each.needs or None}
                for each in self.found
            ],
            "notes": list(self.notes),
        }  # fmt: skip


WARNING = (
    "These rules were found in the data, and many will be coincidences. They say something of the data: publishing "
    "them, ranges and constants above all, discloses it. Keep those that are rules; publish only what is known anyway."
)


def fraction(value: float) -> Fraction:
    """The decimal number that a float is written as."""
    return Fraction(str(float(value)))


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


TITLES = {
    "equality": "sum",
    "product": "product",
    "proportion": "computed and rounded",
    "dependency": "code",
    "conditional": "conditional",
    "ordering": "ordering",
    "constant": "constant",
    "range": "range",
    "set": "list",
}


def as_yaml(found: Suggestions, source: str) -> str:
    """Suggestions as a rule file, ready to paste, the most useful first; what needs a declaration is a comment."""
    lines = [f"# Rules found in {source}, {found.records} records: suggestions, to accept or reject one by one."]
    lines += [f"# {line}" for line in textwrap.wrap(WARNING, 110)]
    lines += [f"# {line}" for note in found.notes for line in textwrap.wrap(f"{note}.", 110)]
    if any(each.kind == "range" for each in found.found) and not found.shows_values:
        lines.append("# bounds of ranges are rounded outwards.")
    lines.append("# The most useful first: what chance would break most often, and the file does not.")
    lines.append("edits:" if any(not each.needs for each in found.found) else "edits: []")
    for each in found.found:
        entry = f"- {flow_text(each.statement)}"
        lines.append(f"  {'# ' if each.needs else ''}{entry}  # {_comment(each)}")
    return "\n".join(lines) + "\n"


def flow_text(statement: str | dict[str, str | float]) -> str:
    """A rule, or one with its tolerance, as an entry of a list in YAML, on one line."""
    whole: str = yaml.safe_dump([statement], default_flow_style=None, sort_keys=False, width=10**6, allow_unicode=True)
    plain: str = yaml.safe_dump([statement], width=10**6, allow_unicode=True)
    return (plain if isinstance(statement, str) else whole).strip().removeprefix("- ")


def _comment(each: Suggestion) -> str:
    text = f"{each.records} of {each.of} records"
    if each.violations:
        text += f", {each.violations} violate it"
    more = [text, TITLES[each.kind], each.ground, each.needs and f"needs {each.needs}"]
    return "; ".join(part for part in more if part)


SEARCHED = 20_000
"""Records that are searched; what is found there is verified on every record."""

LARGEST_UNITS = 2.0**53


@dataclass(frozen=True, eq=False)
class Sample:
    """Records to search in, and how often a rule has to hold there.

    `share`: of the records of the file in which a rule has to hold. `equal_share`: in which an equality of numbers has
    to, of which some records are mistakes. `dates`: variables that the file has as texts and
    that are days here.
    """

    data: Dataset
    share: float
    of: int
    dates: frozenset[str] = frozenset()
    equal_share: float = 1.0

    @classmethod
    def drawn(
        cls, data: Dataset, share: float, dates: frozenset[str] = frozenset(), equal_share: float | None = None
    ) -> Sample:
        """All records of a file, or `SEARCHED` drawn ones."""
        equal = share if equal_share is None else equal_share
        if len(data) <= SEARCHED:
            return cls(data, share, len(data), dates, equal)
        rows = generator(0, "suggest").choice(len(data), size=SEARCHED, replace=False)
        return cls(data.taken(np.sort(rows)), share, len(data), dates, equal)

    def __len__(self) -> int:
        return len(self.data)

    def enough(self, held: int, of: int) -> bool:
        """Whether so many of so many searched records allow that the share is reached in the file."""
        return self._reaches(self.share, held, of)

    def equal_enough(self, held: int, of: int) -> bool:
        """The same, of an equality of numbers."""
        return self._reaches(self.equal_share, held, of)

    def _reaches(self, share: float, held: int, of: int) -> bool:
        if of == 0:
            return False
        slack = 0.0 if self.of == len(self) else 3 * np.sqrt(share * (1 - share) / of)
        return bool(held >= (share - slack) * of)

    @cached_property
    def numbers(self) -> tuple[str, ...]:
        """Numeric variables that are not the same in all searched records."""
        found = []
        for name in numeric_names(self.data):
            present = self.data[name].values[~self.data[name].missing]
            if len(present) and np.ptp(present) > 0:
                found.append(name)
        return tuple(found)

    @cached_property
    def exact(self) -> tuple[str, ...]:
        """Those with declared decimals whose numbers binary64 holds exactly."""
        found = []
        for name in self.numbers:
            column = self.data[name]
            places = column.variable.decimals
            if places is not None and np.nanmax(np.abs(column.values)) * 10.0**places < LARGEST_UNITS:
                found.append(name)
        return tuple(found)

    def is_date(self, column: Column) -> bool:
        """Whether a column holds days."""
        return column.name in self.dates or is_date(column)

    def shuffled(self) -> NDArray[np.int64]:
        """Places of records in an order that has nothing to do with the file: what chance would pair."""
        return generator(0, "chance").permutation(len(self))

    def cells(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Numbers of the searched records, NaN where missing; shape (m, p)."""
        return self.data.matrix(names)


ISO = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])")
NEARLY_ALL = 0.99
"""Share of the different texts of a variable that are dates, where it is one."""


def with_days(data: Dataset) -> tuple[Dataset, frozenset[str]]:
    """The file with texts like 2026-11-22 as days since 1970-01-01, and the names of these variables."""
    changed = {}
    for column in data:
        if column.variable.is_numeric or len(column.variable.categories) < 2:
            continue
        days = _days(column.variable.categories)
        if days is not None:
            values = np.append(days, np.nan)[column.values]
            missing = np.isnan(values)
            variable = Variable(column.name, "integer", role=column.variable.role, decimals=0)
            changed[column.name] = Column(variable, values, missing)
    return data.with_columns(changed), frozenset(changed)


def _days(texts: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.float64]] | None:
    """Days of texts, NaN where one is no date; None where many are none."""
    some = [text if ISO.fullmatch(text) else "NaT" for text in texts]
    if some.count("NaT") > (1 - NEARLY_ALL) * len(some):
        return None
    try:
        days = np.array(some, dtype="datetime64[D]")
    except ValueError:  # the 31st of February
        return None
    return np.where(np.isnat(days), np.nan, days.astype(np.float64))
