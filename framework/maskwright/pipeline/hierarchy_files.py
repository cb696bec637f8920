"""Files of hierarchies that a pipeline names: found beside it, and read into what is declared of the variables."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from maskwright.data.hierarchies.table import read_hierarchy_file
from maskwright.foundation.errors import InputError
from maskwright.foundation.yaml_subtrees import texts
from maskwright.pipeline.file_paths import existing_file

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright.foundation.errors import Problem
    from maskwright.foundation.yaml_document import Node
    from maskwright.pipeline.file_model import Declarations

    Declared = TypeVar("Declared", bound=Declarations)

_CATEGORIES = ("table", "groups")


def categories_kept(variables: Node) -> Node:
    """Declared variables in whose hierarchies categories are as they were written: ``012`` is not the number 12."""
    for name, declared in variables.entries:
        hierarchy = declared.get("hierarchy")
        if hierarchy is not None:
            variables = variables.with_entry(name.raw, declared.with_entry("hierarchy", texts(hierarchy, _CATEGORIES)))
    return variables


def with_hierarchy_files(declared: Declared, variables: Node | None, folder: Path, problems: list[Problem]) -> Declared:
    """Declarations whose hierarchies of files have the rows of those.

    `variables`: of the pipeline: where the mistakes are. `folder`: that names of files are relative to. `problems`:
    files that are not there or are no hierarchies are added to it.
    """
    found = dict(declared.variables)
    for name, each in declared.variables.items():
        if variables is None or each.hierarchy is None or each.hierarchy.form != "file":
            continue
        node = variables.at((name, "hierarchy"))
        named = None if node is None else node.get("file") or node
        path = None if named is None else existing_file(named, folder, "hierarchy", problems)
        if path is None:
            continue
        try:
            rows = read_hierarchy_file(path)
        except InputError as error:
            problems.extend(error.problems)
            continue
        found[name] = each.model_copy(update={"hierarchy": each.hierarchy.model_copy(update={"table": rows})})
    return declared.model_copy(update={"variables": found})
