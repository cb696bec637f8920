"""Original and masked data of several levels, as a measure of groups and their members gets them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.levels.linked_data import LinkedData


@dataclass(frozen=True, eq=False)
class ComparedLevels:
    """Both files of a comparison, each with its levels. Read-only.

    Attributes
    ----------
    original, masked : LinkedData
        Of the same levels; `masked` is what was read back.
    origin : mapping of level name to ndarray of shape (m,), int64
        Original record of each masked record of a level; of levels that are not in it, records are paired in order.
    variables : mapping of level name to tuple of str
        Numeric variables that are compared: those that are masked, or, on a level where nothing is, all numeric
        quasi-identifiers and confidential ones.
    weights : mapping of level name to ndarray of shape (n,), float64
        Sampling weights of the original records, of levels that have some.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> persons = pd.DataFrame({"hhid": [1, 1, 2], "pno": [1, 2, 1], "region": ["N", "N", "S"], "age": [40, 12, 71]})
    >>> levels = {"household": {"key": "hhid", "variables": ["region"]}, "person": {"key": "pno", "in": "household"}}
    >>> linked = mw.linked_data(persons, levels)
    >>> ComparedLevels = mw.ComparedLevels
    >>> ComparedLevels(linked, linked).keys("region")[1]
    array([0, 1])
    """

    original: LinkedData
    masked: LinkedData
    origin: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)
    variables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weights: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)

    @property
    def top(self) -> str:
        """Name of the upper level."""
        return self.original.names[0]

    @property
    def lowest(self) -> str:
        """Name of the lower level."""
        return self.original.names[-1]

    def origin_of(self, level: str) -> NDArray[np.int64] | slice:
        """What takes the originals of a level's masked records out of an array of all originals."""
        return self.origin.get(level, slice(None))

    def masked_weights(self, level: str) -> NDArray[np.float64] | None:
        """Weights of the originals of the masked records of a level; shape (m,). None where there are none."""
        weights = self.weights.get(level)
        return None if weights is None else weights[self.origin_of(level)]

    def level_of(self, name: str) -> str:
        """Name of the level that has a variable.

        Raises
        ------
        InputError
            No level has it; with the nearest name.
        """
        names = self.variable_names()
        for level, own in names.items():
            if name in own:
                return level
        raise InputError(unknown_name("variable", name, [each for own in names.values() for each in own]))

    def variable_names(self) -> dict[str, tuple[str, ...]]:
        """Names of the variables of both files, by level; keys and pointers are none."""
        return {
            level.name: tuple(
                name
                for name in level.data.names
                if name not in level.key_columns and name in self.masked[level.name].data
            )
            for level in self.original
        }

    def with_role(self, level: str, role: str) -> tuple[str, ...]:
        """Names of the variables of a level that have a role in the original."""
        data = self.original[level].data
        return tuple(name for name in self.variable_names()[level] if data[name].variable.role == role)

    def keys(self, name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Any variable, of any type, as codes that are equal where the values are equal.

        Returns
        -------
        ndarray of shape (n,), ndarray of shape (m,)
            Codes 0, 1, ... of the original and of the masked records of its level; -1 where missing.

        Raises
        ------
        InputError
            No level has it.
        """
        level = self.level_of(name)
        from maskwright.data.shared_codes import shared_codes  # heavy: plugins are listed without it

        columns: list[Column] = [side[level].data[name] for side in (self.original, self.masked)]
        original, masked = shared_codes(columns)
        return original, masked

    def published_keys(self, name: str) -> NDArray[np.int64]:
        """Any variable as codes of the masked records of its level, which are equal where the same is published.

        Returns
        -------
        ndarray of shape (m,)
            0, 1, ...; -1 where missing. Where missing cells have several codes, these are values too, and -1 is what
            suppressed cells have.

        Raises
        ------
        InputError
            No level has it.
        """
        level = self.level_of(name)
        from maskwright.data.shared_codes import published_codes  # heavy: plugins are listed without it

        return published_codes(self.masked[level].data[name])

    def of_original(self) -> ComparedLevels:
        """The original beside itself, as if it were released as it is."""
        return replace(self, masked=self.original, origin={})


def plain_records(linked: LinkedData, level: str) -> Dataset:
    """Records of a level without keys and pointers."""
    found = linked[level]
    return found.data.without([name for name in found.key_columns if name in found.data])
