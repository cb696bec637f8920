"""The ``release:`` section: the order of the published records, and new keys for those that identifiers name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.errors import Problem
from maskwright.foundation.yaml_models import read_model
from maskwright.pipeline.file_model import ReleaseSection

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.data.declaration import VariableDeclaration
    from maskwright.foundation.yaml_document import Node

DECLARE_KEY = "Declare which variable is to be one: `NAME: {role: identifier, release: new}`."


def resolve_release(
    section: Node, declared: Mapping[str, VariableDeclaration], cluster: str | None, problems: list[Problem]
) -> ReleaseSection | None:
    """Resolve the section, or the arguments of a call: mistakes are added to `problems`."""
    found = read_model(ReleaseSection, section, problems)
    if found is None or found.ids is None:
        return found
    place = (section.get("ids") or section).place
    if found.ids == "new" and cluster is None and not any(each.role == "identifier" for each in declared.values()):
        message = "release.ids is 'new', and no variable is declared to be an identifier or to name households"
        problems.append(Problem(message, place, DECLARE_KEY))
    kept = [name for name, each in declared.items() if each.release == "new"]
    if found.ids == "dropped" and kept:
        problems.append(Problem(f"release.ids is 'dropped', and {kept[0]!r} says `release: new`", place))
    return found


def declared_keys(asked: ReleaseSection, declared: Mapping[str, VariableDeclaration]) -> tuple[str, ...]:
    """Names of the identifiers that are published as keys with new values."""
    return tuple(
        name
        for name, each in declared.items()
        if each.role == "identifier" and (each.release == "new" or asked.ids == "new")
    )
