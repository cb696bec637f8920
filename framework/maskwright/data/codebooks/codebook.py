"""A codebook: declarations of variables, where each of them stands, and what is said in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from maskwright.foundation.nearest_names import nearest_name

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping
    from pathlib import Path

    from maskwright.data.declaration import VariableDeclaration
    from maskwright.foundation.errors import Place

MOST_NAMED = 5


@dataclass(frozen=True)
class Codebook:
    """What a codebook says.

    `variables`: in the order of the codebook. `places`: file and line where each variable is described. `guessed`: its
    encoding, where nobody had named it and it is not UTF-8.
    """

    path: Path
    variables: Mapping[str, VariableDeclaration]
    places: Mapping[str, Place] = field(default_factory=dict)
    guessed: str | None = None

    def notices(self, names: Collection[str]) -> Iterator[str]:
        """Say which variables of the codebook a file has not; a codebook is often of a larger file."""
        absent = [name for name in self.variables if name not in names]
        if not absent:
            return
        undescribed = [name for name in names if name not in self.variables]
        shown = [_with_nearest(name, undescribed) for name in absent[:MOST_NAMED]]
        more = f", and {len(absent) - MOST_NAMED} more" if len(absent) > MOST_NAMED else ""
        yield (
            f"{self.path.name} describes {len(self.variables)} variables, {len(absent)} of which the file has not: "
            f"{', '.join(shown)}{more}"
        )

    def guess(self) -> Iterator[str]:
        """Say what encoding was guessed."""
        if self.guessed is not None:
            yield (
                f"{self.path.name} is not UTF-8 and is read as {self.guessed}: look at letters with accents, and save "
                "it as UTF-8 if they are wrong"
            )


@dataclass(frozen=True)
class PublishedCodebook:
    """A codebook that is to be written.

    `variables`: in the order of the file. `file`: name of the data file. `notes`: what was done with the data, in
    words. `remarks`: what was done with a variable, in words.
    """

    title: str
    variables: Mapping[str, VariableDeclaration]
    file: str | None = None
    records: int | None = None
    notes: tuple[str, ...] = ()
    remarks: Mapping[str, str] = field(default_factory=dict)


def _with_nearest(name: str, undescribed: Collection[str]) -> str:
    """A name that the file has not, and the one that was perhaps meant, which differs in case only."""
    nearest = nearest_name(name, undescribed)
    return f"{name} (the file has {nearest})" if nearest is not None and nearest.lower() == name.lower() else name
