"""What is known of one column: its type, role, unit, published grid, missing codes, hierarchy and bands."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from maskwright.data.dates import DAY
from maskwright.foundation.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

SUPPRESSED = "suppressed"
"""What `suppressed_as` means, as rules ask for it."""

VariableType = Literal["continuous", "integer", "date", "datetime", "ordinal", "nominal"]
Role = Literal["identifier", "quasi_identifier", "confidential", "weight", "other"]


@dataclass(frozen=True)
class Variable:
    """One variable of a file of microdata.

    Attributes
    ----------
    name : str
        The column's name, as in the file.
    type : {"continuous", "integer", "date", "datetime", "ordinal", "nominal"}
        Continuous and integer variables are numeric, and so are dates, in days since 1970-01-01, and datetimes, in
        seconds since its midnight; ordinal and nominal ones are codes with `categories`.
    role : {"identifier", "quasi_identifier", "confidential", "weight", "other"}
        What the variable is to an intruder and to the methods. Numbers are confidential unless declared, dates
        and categories are "other".
    unit : str or None
        Unit of measurement, for reports only.
    decimals : int or None
        The published grid: values are multiples of ``10 ** -decimals``. 0 for integers. None: no grid, values are
        published as binary64 and never rounded (float DataFrames, doubles that are no decimals).
    lower, upper : float or None
        Declared bounds, both inclusive; they become range edits.
    date_format : str or None
        How the texts of a date or a datetime are written, ``%d.%m.%Y``; None: it is none, or the file stores it as
        such.
    categories : tuple of str
        Categories of a nominal or ordinal variable in code order (the declared order for ordinal variables).
    missing_codes : tuple of str
        Cell texts that mean "no value", besides an absent or empty cell.
    missing_meanings : tuple of str
        What each of the missing codes means, in their order; "" where nothing is said. Empty: of none.
    suppressed_as : str or None
        Text that stands in a published cell whose value was taken away; None: no cell, or an empty one.
    label : str or None
        What the variable is, in words.
    labels : tuple of (str, str)
        Codes, and what each of them means in words.
    as_is : bool
        Whether it is declared to be published as it is, whatever its role.
    inferred_role : bool
        Whether the role was not declared.
    identifies : bool
        Whether it is an identifier that is declared to be published as it is; its role is then "other".
    renewed : bool
        Whether it is published as a key, with new random values in place of its own.
    unchanged : float or None
        Percent of its cells that may be published as they are although it is masked; None: not declared.
    distortion : float or None
        Standard deviations by which adjusting may move its mean or standard deviation; None: not declared.
    hierarchy : Hierarchy or None
        Coarser and coarser categories of its values, where they are declared.
    bands : tuple of Band
        Of a variable that was recoded: which original values each of its categories stands for, in their order. Empty:
        it was not, or that is not known.
    binary_steps : bool
        Whether masked values are put on multiples of ``2 ** -decimals``, which lie on the grid and which binary64 adds
        exactly.

    Examples
    --------
    >>> from maskwright import Variable
    >>> Variable("income", role="quasi_identifier", unit="EUR", decimals=2, lower=0).is_numeric
    True
    """

    name: str
    type: VariableType = "continuous"
    role: Role = "confidential"
    unit: str | None = None
    decimals: int | None = None
    lower: float | None = None
    upper: float | None = None
    date_format: str | None = None
    categories: tuple[str, ...] = ()
    missing_codes: tuple[str, ...] = ()
    missing_meanings: tuple[str, ...] = ()
    suppressed_as: str | None = None
    label: str | None = None
    labels: tuple[tuple[str, str], ...] = ()
    as_is: bool = False
    inferred_role: bool = False
    identifies: bool = False
    unchanged: float | None = None
    distortion: float | None = None
    renewed: bool = False
    hierarchy: Hierarchy | None = field(default=None, repr=False)
    bands: tuple[Band, ...] = field(default=(), repr=False)
    binary_steps: bool = field(default=False, repr=False)

    @property
    def units_in_a_step(self) -> int:
        """How many units of the grid masked values lie apart at least."""
        return 5**self.decimals if self.binary_steps and self.decimals else 1

    @property
    def empty_texts(self) -> tuple[str, ...]:
        """Cell texts that mean "no value" in a published file."""
        return self.missing_codes if self.suppressed_as is None else (*self.missing_codes, self.suppressed_as)

    @property
    def empty_meanings(self) -> tuple[tuple[str, str], ...]:
        """Texts that mean "no value" in a published file, each with what it means ("" where nothing is said)."""
        meanings = self.missing_meanings or ("",) * len(self.missing_codes)
        suppressed = () if self.suppressed_as is None else ((self.suppressed_as, SUPPRESSED),)
        return (*zip(self.missing_codes, meanings, strict=True), *suppressed)

    @cached_property
    def category_texts(self) -> Any:
        """The categories as a pyarrow.StringArray, made once: of many different texts that takes long."""
        from maskwright.foundation.arrays import arrow_texts  # PyArrow is heavy: plugins are listed without it

        return arrow_texts(self.categories)

    @property
    def is_numeric(self) -> bool:
        """Whether values are numbers, days and seconds included, rather than category codes."""
        return self.type in ("continuous", "integer", "date", "datetime")

    @property
    def is_date(self) -> bool:
        """Whether values are days, or of a datetime seconds, since 1970-01-01."""
        return self.type in ("date", "datetime")

    @property
    def day(self) -> int:
        """What a day is among the values: 86400 seconds of a datetime, else 1."""
        return DAY if self.type == "datetime" else 1

    @property
    def date_text(self) -> str:
        """Format of the texts of a date or a datetime: the file's own, or that of ISO 8601."""
        from maskwright.data.date_texts import ISO, ISO_MOMENT  # with pyarrow: plugins are listed without it

        if self.date_format is not None:
            return self.date_format
        if self.type == "date":
            return ISO
        return f"{ISO_MOMENT}.%{self.decimals}f" if self.decimals else ISO_MOMENT


@dataclass(frozen=True)
class Band:
    """Original values that one published category stands for: an interval of numbers (or days), or listed values.

    Attributes
    ----------
    lower, upper : float
        From `lower`, inclusive, to under `upper`; infinite where the band is open. Days since 1970-01-01 for dates.
    upper_inclusive : bool
        Whether `upper` belongs to it.
    members : tuple of str, tuple of float, or None
        The original categories, or the single numbers; None: it is the interval.

    Examples
    --------
    >>> from maskwright import Band
    >>> Band(lower=18, upper=65).holds(64.5), Band(members=("A", "B")).holds("C")
    (True, False)
    """

    lower: float = -math.inf
    upper: float = math.inf
    upper_inclusive: bool = False
    members: tuple[str | float, ...] | None = None

    def holds(self, value: str | float) -> bool:
        """Whether an original value is in the band."""
        if self.members is not None:
            return value in self.members
        if isinstance(value, str):
            return False
        return self.lower <= value < self.upper or (self.upper_inclusive and value == self.upper)

    @staticmethod
    def joined(bands: Sequence[Band]) -> Band | None:
        """One band of several, such as those of categories that are joined; None where it would have a gap.

        Parameters
        ----------
        bands : sequence of Band
            At least one.
        """
        if all(band.members is not None for band in bands):
            return Band(members=tuple(member for band in bands for member in band.members or ()))
        if any(band.members is not None for band in bands):
            return None
        ordered = sorted(bands, key=lambda band: band.lower)
        if any(low.upper != high.lower for low, high in pairwise(ordered)):
            return None
        return Band(ordered[0].lower, ordered[-1].upper, upper_inclusive=ordered[-1].upper_inclusive)


class Hierarchy(ABC):
    """Levels of coarser and coarser categories of one variable.

    A level's categories, its *nodes*, are numbered 0, 1, ... in their order. Values are given as a column holds them:
    codes into `Variable.categories`, numbers, or days.

    Examples
    --------
    >>> import pandas as pd
    >>> from maskwright import Hierarchy, protect
    >>> levels = {"age": {"hierarchy": {"widths": [10, 20]}}}
    >>> params = {"recode": {"age": {"level": 2}}}
    >>> protect(pd.DataFrame({"age": [31, 47]}), "recoding", declared=levels, params=params).age.tolist()
    ['20 to below 40', '40 to below 60']
    """

    @property
    @abstractmethod
    def height(self) -> int:
        """Number of the highest level."""

    @abstractmethod
    def labels(self, level: int) -> tuple[str, ...]:
        """What the nodes of a level are called when they are published; level 1 or higher.

        Raises
        ------
        InputError
            A level that the hierarchy has not.
        """

    @abstractmethod
    def bands(self, level: int) -> tuple[Band, ...]:
        """What each node of a level stands for; level 1 or higher."""

    @abstractmethod
    def codes(self, variable: Variable, values: NDArray[np.float64], level: int) -> NDArray[np.int64]:
        """Node of each value on a level, 1 or higher.

        Parameters
        ----------
        variable : Variable
            Whose values they are: codes refer to its categories.
        values : ndarray of shape (n,)
            Without missing cells.
        level : int

        Raises
        ------
        InputError
            Values that the hierarchy does not hold, and how many. They are not shown.
        """

    @abstractmethod
    def leaves(self, level: int) -> NDArray[np.float64]:
        """How many values of level 0 are below each node of a level, 1 or higher; of continuous numbers the width."""

    @abstractmethod
    def spans(self, level: int) -> NDArray[np.float64]:
        """Share of the domain that each node of a level, 1 or higher, leaves open: 0 for one value, 1 for all.

        (leaves - 1) / (leaves of the domain - 1), or the width over the range of continuous numbers (Iyengar 2002).
        """

    @property
    def raised(self) -> int:
        """Level of the declared hierarchy that level 0 is: 0, unless the variable is published on a higher one."""
        return 0

    @abstractmethod
    def above(self, level: int) -> Hierarchy:
        """Hierarchy of the variable once it is published on a level, 1 or higher; of height 0 if it is the highest."""

    def common_level(
        self, variable: Variable, first: NDArray[np.float64], second: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """Level of the lowest common ancestor of each pair of values: 0 where they are equal.

        Where two values share no node at all, which a hierarchy without one common top allows, the level is
        ``height + 1``.

        Parameters
        ----------
        variable : Variable
        first, second : ndarray of shape (n,)
            Without missing cells.
        """
        found = np.where(first == second, 0, self.height + 1)
        for level in range(self.height, 0, -1):
            same = self.codes(variable, first, level) == self.codes(variable, second, level)
            found = np.where(same & (found > level), level, found)
        return np.asarray(found, dtype=np.int64)

    def distance(
        self, variable: Variable, first: NDArray[np.float64], second: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Level of the lowest common ancestor over the height, at most 1: 0 for equal values; shape (n,)."""
        return np.minimum(self.common_level(variable, first, second) / max(self.height, 1), 1.0)

    def checked(self, level: int) -> int:
        """Position of a level among those above the values.

        Raises
        ------
        InputError
            There is none.
        """
        if not 1 <= level <= self.height:
            raise InputError(f"there is no level {level}: the hierarchy has levels 0 (the values) to {self.height}")
        return level - 1
