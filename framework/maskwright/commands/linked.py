"""Data of several levels that a program has, and the verdict of every edit on them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.commands.reading import dataset_of
from maskwright.data.levels.declaration import LevelDeclaration
from maskwright.data.levels.linking import levels_of_flat, linked_levels
from maskwright.foundation.errors import InputError, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.commands.requests import DeclaredVariables
    from maskwright.data.frame_libraries import Data
    from maskwright.data.levels.linked_data import LinkedData


def linked_data(
    data: Data | Mapping[str, Data],
    levels: Mapping[str, LevelDeclaration | Mapping[str, object]],
    *,
    declared: DeclaredVariables | None = None,
) -> LinkedData:
    """Link records of several levels: households and their persons.

    Parameters
    ----------
    data : Dataset or data frame, or mapping of level name to these
        One flat table with a row for each record of the lowest level, or a table of each level.
    levels : mapping of level name to LevelDeclaration or mapping
        The top first, as a pipeline's ``data: levels:`` section says them.
    declared : mapping of name to declaration, optional
        Of variables of data frames.

    Returns
    -------
    LinkedData

    Raises
    ------
    InputError
        Records without a group, keys that are missing or occur twice, variables that no level has.

    Examples
    --------
    >>> import pandas as pd
    >>> import maskwright as mw
    >>> households = pd.DataFrame({"hhid": [1, 2], "total": [900, 500]})
    >>> persons = pd.DataFrame({"hhid": [1, 1, 2], "pno": [1, 2, 1], "income": [600, 300, 500]})
    >>> levels = {"household": {"key": "hhid"}, "person": {"key": "pno", "in": "household"}}
    >>> mw.linked_data({"household": households, "person": persons}, levels)
    LinkedData(2 household, 3 person)
    """
    known = {
        name: each if isinstance(each, LevelDeclaration) else LevelDeclaration.model_validate(each)
        for name, each in levels.items()
    }
    refuse_levels(known)
    if not isinstance(data, dict):
        return levels_of_flat(dataset_of(data, declared), known)  # type: ignore[arg-type]
    tables = {name: dataset_of(each, declared) for name, each in data.items()}
    return linked_levels(tables, known, {name: f"the data of {name}" for name in tables})


def refuse_levels(levels: Mapping[str, LevelDeclaration]) -> None:
    """Refuse levels that are not two, one in the other, the top first.

    Raises
    ------
    InputError
    """
    names = list(levels)
    above = [levels[name].above for name in names]
    if len(names) != 2 or above[0] is not None or above[1] != names[0]:
        hint = "levels: {household: {key: hhid}, person: {key: pno, in: household}}"
        raise InputError(Problem("levels are two: the upper one first, and the lower one `in` it", hint=hint))
