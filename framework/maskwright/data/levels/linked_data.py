"""Hierarchical data: levels as declared, as datasets in memory with their links, and as nested documents."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.errors import Place


ABSENT, DANGLING = -1, -2
"""A pointer that names no record, and one that names a record that the group does not have."""


@dataclass(frozen=True, eq=False)
class Level:
    """The records of one level.

    Attributes
    ----------
    name : str
    declared : LevelDeclaration
    data : Dataset
        Its n variables and keys, records of one group after each other, groups in the order of the level above.
    groups : ndarray of shape (n,), int64, or None
        Position of each record's group in the level above, ascending; None at the top.
    pointers : mapping of name to ndarray of shape (n,), int64
        Position in this level of the record that each record points to; `ABSENT` or `DANGLING` where there is none.
    rows : ndarray of shape (n,), int64
        Where each record stands in its file, counted from 0; of a household in a flat file, its first row.
    varying : mapping of name to ndarray of shape (n,), bool
        Of the upper level of a flat file: the records in whose rows a variable is not the same.
    key_columns : tuple of str
        Variables that are keys or pointers: they tell records apart and are never masked.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> persons = pd.DataFrame({"hhid": [7, 7, 9], "pno": [1, 2, 1], "region": ["N", "N", "S"]})
    >>> levels = {"household": {"key": "hhid", "variables": ["region"]}, "person": {"key": "pno", "in": "household"}}
    >>> level = mw.linked_data(persons, levels)["person"]
    >>> level.data, level.groups.tolist(), level.key_columns
    (Dataset(3 records, 1 variables: pno), [0, 0, 1], ('pno',))
    """

    name: str
    declared: LevelDeclaration
    data: Dataset
    groups: NDArray[np.int64] | None
    rows: NDArray[np.int64]
    pointers: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    varying: Mapping[str, NDArray[np.bool_]] = field(default_factory=dict)

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Variables that are keys or pointers."""
        return (self.declared.key, *self.declared.pointers)

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class LinkedData:
    """Data of one level or more, the top level first, each below the one before it.

    Attributes
    ----------
    levels : tuple of Level
    notes : tuple of str
        What linking did that a person should know.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> persons = pd.DataFrame({"hhid": [1, 1, 2], "pno": [1, 2, 1], "region": ["N", "N", "S"], "age": [40, 12, 71]})
    >>> levels = {"household": {"key": "hhid", "variables": ["region"]}, "person": {"key": "pno", "in": "household"}}
    >>> linked = mw.linked_data(persons, levels)
    >>> linked
    LinkedData(2 household, 3 person)
    >>> linked["person"].groups.tolist()
    [0, 0, 1]
    """

    levels: tuple[Level, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Level:
        for level in self.levels:
            if level.name == name:
                return level
        raise InputError(unknown_name("level", name, self.names))

    def __iter__(self) -> Iterator[Level]:
        return iter(self.levels)

    def __repr__(self) -> str:
        """Return the levels and their sizes; values are confidential and stay out of logs and notebooks."""
        return f"LinkedData({', '.join(f'{len(level)} {level.name}' for level in self.levels)})"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the levels, the top first."""
        return tuple(level.name for level in self.levels)

    def below(self, name: str) -> Level | None:
        """Level whose records belong to those of another; None at the bottom."""
        return next((level for level in self.levels if level.declared.above == name), None)

    def groups_in(self, name: str, above: str) -> NDArray[np.int64]:
        """Position in a level above, or in its own, of the record that each record of a level belongs to; ascending."""
        level = self[name]
        there = np.arange(len(level), dtype=np.int64)
        while level.name != above:
            assert level.groups is not None
            there, level = level.groups[there], self[level.declared.above or ""]
        return there

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Each level with each one below it, the upper ones first, and the nearest below first."""
        return tuple(combinations(self.names, 2))

    def pair(self, above: str, below: str) -> LinkedData:
        """Two levels, as data of these two alone."""
        if self.names == (above, below):
            return self
        upper, lower = self[above], self[below]
        head = replace(upper, groups=None, declared=upper.declared.model_copy(update={"above": None}))
        members = lower.declared.model_copy(update={"above": above})
        return LinkedData((head, replace(lower, groups=self.groups_in(below, above), declared=members)))

    def unit_of(self, name: str) -> str:
        """Level whose records k counts in the classes of a level: its own, or one above."""
        declared = self[name].declared
        return declared.counted_in or declared.above or name

    def units(self, name: str) -> NDArray[np.int64] | None:
        """Which of the records that k counts each record of a level belongs to; None: k counts its own."""
        unit = self.unit_of(name)
        return None if unit == name else self.groups_in(name, unit)

    def above(self, cells: NDArray[np.bool_], level: str, above: str) -> NDArray[np.bool_]:
        """Records of a level above, or of its own, that have any of these records of a level; shape (groups,)."""
        return cells if level == above else np.bincount(self.groups_in(level, above), cells, len(self[above])) > 0

    def variables_above(self, level: str) -> dict[str, str]:
        """Variables of the levels above one, keys left out, with their levels."""
        uppers = [upper for upper, lower in self.pairs if lower == level]
        return {
            name: upper for upper in uppers for name in self[upper].data.names if name not in self[upper].key_columns
        }  # fmt: skip

    def with_columns_above(self, data: Dataset, level: str, names: Iterable[str]) -> Dataset:
        """Records of a level, each with these variables of its groups."""
        above = self.variables_above(level)
        added = [
            self[above[name]].data[name].taken(self.groups_in(level, above[name]))
            for name in dict.fromkeys(names) if name not in data and name in above
        ]  # fmt: skip
        return replace(data, columns=(*data.columns, *added)) if added else data

    def starts(self, name: str) -> NDArray[np.int64]:
        """Position of the first record of each group, and the number of records at the end; shape (groups + 1,)."""
        level = self[name]
        assert level.groups is not None
        above = self[level.declared.above or ""]
        return np.searchsorted(level.groups, np.arange(len(above) + 1)).astype(np.int64)

    def with_data(self, changed: Mapping[str, Dataset]) -> LinkedData:
        """Copy whose levels have these datasets, record for record beside the old ones."""
        return replace(
            self, levels=tuple(replace(level, data=changed.get(level.name, level.data)) for level in self.levels)
        )

    def taken(self, rows: NDArray[np.int64]) -> LinkedData:
        """Copy with these records of the top level, in this order, and all that belong to them."""
        kept, levels = rows, []
        for level in self.levels:
            groups = None
            if level.groups is not None:
                starts = self.starts(level.name)
                counts = starts[kept + 1] - starts[kept]
                groups = np.repeat(np.arange(len(kept)), counts)
                kept = np.repeat(starts[kept] - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
            levels.append(taken_level(level, kept, groups))
        return replace(self, levels=tuple(levels))


def refuse_deeper(names: Sequence[str], done: str) -> None:
    """Refuse more than two levels, for what is only `done` of a group and its members."""
    if len(names) > 2:
        hint = "Steps that mask each level by itself take any number of levels. Leave out the level that no step masks."
        raise InputError(Problem(f"{done} two levels, and {len(names)} are declared: {', '.join(names)}", hint=hint))


def taken_level(level: Level, rows: NDArray[np.int64], groups: NDArray[np.int64] | None) -> Level:
    """Level with these records of whole groups, and their ascending groups; pointers go to records among them."""
    new = np.full(len(level), ABSENT, dtype=np.int64)
    new[rows] = np.arange(len(rows))
    pointers = {
        name: np.where(targets[rows] >= 0, new[np.maximum(targets[rows], 0)], targets[rows])
        for name, targets in level.pointers.items()
    }
    varying = {name: varies[rows] for name, varies in level.varying.items()}
    return replace(
        level,
        data=replace(level.data.taken(rows), origin=None),
        groups=groups,
        rows=level.rows[rows],
        pointers=pointers,
        varying=varying,
    )


Name = Annotated[str, Field(min_length=1)]

LARGEST_GROUP = 100
"""Members up to which the numbers of a group are adjusted together, where nothing else is declared."""


class LevelDeclaration(BaseModel):
    """One level of data: records with a key, and the level above that they belong to.

    Examples
    --------
    >>> from maskwright import LevelDeclaration
    >>> LevelDeclaration.model_validate({"key": "pno", "in": "household", "pointers": {"spouse": "pno"}}).above
    'household'
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    key: Name = Field(
        description="Variable that tells the records of this level apart; of a lower level within their group."
    )
    above: Name | None = Field(
        default=None, alias="in", description="Level whose records are the groups of these records; the top has none."
    )
    variables: tuple[Name, ...] | None = Field(
        default=None,
        description="Variables of this level in one flat file: each is the same in all rows of a group; [] where it "
        "has its key alone. Left out: those that no other level names.",
    )
    source: Name | None = Field(default=None, description="File of this level, where each level has its own.")
    record: Name | None = Field(
        default=None, description="Element of a record of this level, where one XML file holds them inside each other."
    )
    pointers: dict[Name, Name] = Field(
        default_factory=dict,
        description="Variables that name another record of the same group by its key: {spouse: pno, mother: pno}. "
        "A missing cell or 0 names none; no record names itself.",
    )
    order: tuple[Name, ...] | None = Field(
        default=None, min_length=1, description="Variables that say which of the records of a group comes first."
    )
    counted_in: Name | None = Field(
        default=None,
        description="Level whose records k counts in classes of these records: their own, or one above. Left out: the "
        "level above.",
    )
    members: Literal["optional", "required"] = Field(
        default="optional", description="Whether a record of this level must have records of the level below."
    )
    incomplete: Name | None = Field(
        default=None,
        description="Condition of groups that are known to lack members: what all members say together is unknown.",
    )
    largest_group: int = Field(
        default=LARGEST_GROUP,
        ge=2,
        description="Members up to which the numbers of a group are adjusted together; in larger ones totals are "
        "derived.",
    )
    keep_key: bool = Field(default=False, description="Whether the old keys are published, instead of new random ones.")
    keep_order: bool = Field(default=False, description="Whether records keep their order, instead of a random one.")

    @property
    def stated_names(self) -> tuple[str, ...]:
        """Variables of the level that the declaration names."""
        return (self.key, *self.pointers, *(self.variables or ()), *(self.order or ()))


@dataclass(frozen=True)
class LevelPlaces:
    """Where a pipeline declares the variables of a level, and the keys that pointers go to."""

    names: Mapping[str, Place] = field(default_factory=dict)
    targets: Mapping[str, Place] = field(default_factory=dict)


NO_PLACES = LevelPlaces()


@dataclass(frozen=True)
class NestedElements:
    """Names of the elements of a file with records inside records, as it writes them.

    Attributes
    ----------
    path : tuple of str
        Elements around the records of the top level, outermost first.
    records : tuple of str
        Element of the records of each level, the top first.

    Examples
    --------
    >>> import maskwright as mw
    >>> mw.NestedElements(("Survey",), ("Household", "Person")).records[-1]
    'Person'
    """

    path: tuple[str, ...]
    records: tuple[str, ...]


@dataclass(frozen=True)
class NestedDocument:
    """Whole records of the top level, as a document.

    Attributes
    ----------
    text : str
        XML, without a declaration.
    sizes : tuple of tuple of int
        Of each level but the lowest, the top first: members of each of its records, in the order of the document.

    Examples
    --------
    >>> import maskwright as mw
    >>> mw.NestedDocument("<S><H><P/><P/></H></S>", ((2,),)).sizes
    ((2,),)
    """

    text: str
    sizes: tuple[tuple[int, ...], ...]
