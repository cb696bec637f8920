"""Data of several levels that a program has, and the verdict of every edit on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from maskwright.commands.reading import dataset_of, load
from maskwright.commands.requests import Arguments, declarations_of
from maskwright.data.dataset import Dataset
from maskwright.data.frame_libraries import taken_in
from maskwright.data.levels.declaration import LevelDeclaration
from maskwright.data.levels.linking import levels_of_flat, linked_levels
from maskwright.foundation.errors import InputError, Place, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_document import Node
from maskwright.foundation.yaml_models import read_model
from maskwright.pipeline.levels_section import structure_problems
from maskwright.pipeline.names import names_in
from maskwright.pipeline.resolved import DataInMemory

if TYPE_CHECKING:
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
    known = _declarations(levels)
    if not isinstance(data, Mapping):
        return levels_of_flat(dataset_of(data, declared), known)
    if set(data) != set(known):
        hint = f"{{{', '.join(f'{name!r}: ...' for name in known)}}}"
        raise InputError(Problem("there must be a table for each level, and no other", Place("argument data"), hint))
    tables = _tables(data, tuple(known), declared)
    return linked_levels(tables, known, {name: f"the data of {name}" for name in tables})


def _tables(
    data: Mapping[str, Data], levels: tuple[str, ...], declared: DeclaredVariables | None
) -> dict[str, Dataset]:
    """A dataset of each level: each takes the declarations of the variables that it has."""
    variables = declarations_of(declared).variables
    held = {name: taken_in(data[name], "data").data for name in levels}
    names = {name: names_in(DataInMemory(each, {})) or () for name, each in held.items()}
    every = list(dict.fromkeys(each for own in names.values() for each in own))
    unknown = [
        Problem(unknown_name("variable", name, every), Place("argument declared"))
        for name, each in variables.items() if name not in every and each.role != "identifier"
    ]  # fmt: skip
    if unknown:
        raise InputError(unknown)
    return {
        name: each if isinstance(each, Dataset)
        else load(DataInMemory(each, {one: said for one, said in variables.items() if one in names[name]}),
                  identifiers=True)
        for name, each in held.items()
    }  # fmt: skip


def _declarations(levels: Mapping[str, LevelDeclaration | Mapping[str, object]]) -> dict[str, LevelDeclaration]:
    """Levels of a call, with every mistake at once."""
    stated, known = Arguments(), {}
    for name, each in levels.items():
        if isinstance(each, LevelDeclaration):
            known[name] = each
            continue
        found = read_model(LevelDeclaration, stated.node(f"levels, {name}", each), stated.problems, "key")
        if found is not None:
            known[name] = found
    if not stated.problems:
        stated.problems.extend(structure_problems(known, Node("mapping", Place("argument levels"))))
    stated.refuse_mistakes()
    return known
