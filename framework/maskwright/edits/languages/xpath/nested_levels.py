"""Two levels of records, and how a document of records inside records calls them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from maskwright.data.levels.declaration import LevelDeclaration


@dataclass(frozen=True)
class NestedLevels:
    """Two levels, and how a document calls their records.

    `key`: variable that tells members of a group apart. `pointers`: variables that name another member by it.
    """

    group: str
    member: str
    group_element: str
    member_element: str
    key: str
    pointers: tuple[str, ...]

    @classmethod
    def of(cls, declared: Mapping[str, LevelDeclaration]) -> NestedLevels:
        """Levels as they are declared; an element that is not named is called as its level, with a capital."""
        (group, upper), (member, lower) = declared.items()
        return cls(
            group, member, upper.record or group.capitalize(), lower.record or member.capitalize(), lower.key,
            tuple(lower.pointers),
        )  # fmt: skip

    def named(self, element: str) -> str | None:
        """Level whose records are called so."""
        return {self.group_element: self.group, self.member_element: self.member}.get(element)
