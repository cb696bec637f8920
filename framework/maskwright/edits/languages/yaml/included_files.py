"""Files that rule files include: inside one folder, without cycles, each once."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from maskwright.foundation.yaml_document import Node

MOST_FILES = 200


@dataclass
class Inclusion:
    """Which files were read, and which may be.

    `base`: folder that no included file may leave, symbolic links resolved.
    """

    base: Path
    problems: list[Problem] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    seen: set[Path] = field(default_factory=set)

    def opened(self, file: Path) -> None:
        """Remember that a file is being read."""
        self.seen.add(file.resolve())

    def target(self, node: Node, chain: tuple[Path, ...]) -> Path | None:
        """File that an ``include`` names, to be read now; None with a problem or a note.

        `node`: the name, relative to the last file of `chain`. `chain`: the files that include each other down to this
        one.
        """
        if not isinstance(node.value, str) or not node.value.strip():
            self.problems.append(Problem("include: expected the name of a file", node.place))
            return None
        written = Path(node.value)
        target = chain[-1].parent / written
        resolved = target.resolve()
        if written.is_absolute() or not resolved.is_relative_to(self.base):
            message = f"include: {node.value} is not inside the folder of the first file"
            self.problems.append(Problem(message, node.place, "Copy the file there: nothing outside is read."))
            return None
        cycle = [file for file in chain if file.resolve() == resolved]
        if cycle:
            names = [file.name for file in chain[chain.index(cycle[0]) :]]
            message = f"include: these files include each other: {' -> '.join([*names, target.name])}"
            self.problems.append(Problem(message, node.place, "Remove one of these includes."))
            return None
        if resolved in self.seen:
            self.notes.append(f"{node.place}: {node.value} was included before; its rules count once")
            return None
        if len(self.seen) >= MOST_FILES:
            raise EditError(Problem(f"more than {MOST_FILES} files are included", node.place))
        return target

    def failed(self, error: EditError, node: Node) -> None:
        """Take over the problems of an included file; that it is not there is the mistake of the line that names it."""
        self.problems.extend(
            Problem(problem.message, node.place, problem.hint)
            if problem.place is not None and problem.place.line is None
            else problem
            for problem in error.problems
        )
