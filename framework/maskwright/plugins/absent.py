"""Packages whose plugins cannot be had, and whether one of them would have offered a name that was asked for."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from maskwright.foundation.errors import Problem

MOST_FILES = 200
LARGEST_FILE = 1 << 20
OFFERED = "would have offered it"


@dataclass(frozen=True)
class AbsentPackage:
    """A package that is broken, or that is not to be loaded.

    `module`: that the entry point names; perhaps never imported.
    """

    distribution: str
    version: str
    entry_point: str
    module: str
    why: str

    @property
    def called(self) -> str:
        """What it is called in messages."""
        return f"package {self.distribution} {self.version}"

    def speaks_of(self, name: str) -> bool:
        """Whether its entry point has this name, or the name stands in quotes in its source, which is not run."""
        if self.entry_point == name:
            return True
        quoted = re.compile(rf"[\"']{re.escape(name)}[\"']")
        return any(quoted.search(text) for text in self._sources())

    def _sources(self) -> Iterator[str]:
        for path in self._files():
            try:
                if path.stat().st_size <= LARGEST_FILE:
                    yield path.read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue

    def _files(self) -> list[Path]:
        try:
            # Of a name without a point nothing is imported.
            spec = importlib.util.find_spec(self.module.partition(".")[0])
        except (ImportError, ValueError, AttributeError):
            return []
        if spec is None:
            return []
        folders = [Path(each) for each in spec.submodule_search_locations or ()]
        files = [path for folder in folders for path in sorted(folder.rglob("*.py"))]
        own = [Path(spec.origin)] if spec.origin and spec.origin.endswith(".py") else []
        return [*own, *files][:MOST_FILES]


def about_absent(absent: Iterable[AbsentPackage], name: str) -> str:
    """What may be said of packages whose plugins cannot be had, behind a sentence about an unknown name."""
    packages = tuple(absent)
    offering = [each for each in packages if each.speaks_of(name)]
    if offering:
        return "; " + ", and ".join(dict.fromkeys(f"{each.called} {OFFERED}: {each.why}" for each in offering))
    if packages:
        listed = ", ".join(dict.fromkeys(each.called for each in packages))
        return f" (plugins that could not be had, and `maskwright plugins` says why: {listed})"
    return ""


def reasons_once(problems: Iterable[Problem], absent: Iterable[AbsentPackage]) -> list[Problem]:
    """The same problems; why a package cannot be had is said with the first name that it would have offered."""
    sentences = {f"{each.called} {OFFERED}: {each.why}" for each in absent}
    told: set[str] = set()
    found = []
    for problem in problems:
        message = problem.message
        for said in sentences:
            if said in message and said in told:
                message = message.replace(said, said.partition(f"{OFFERED}:")[0] + f"{OFFERED} too")
            elif said in message:
                told.add(said)
        found.append(replace(problem, message=message))
    return found
