"""Rules of a pipeline, those in the file and those of rule files, as one set of edits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet, WrongRulesError
from maskwright.foundation.errors import InputError, Problem
from maskwright.pipeline.resolved import RuleFile, RuleText

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maskwright.data.levels.declaration import LevelDeclaration
    from maskwright.edits.edit import Edit

NUMBERED = re.compile(r"edit-\d+")
"""Name of a rule that has none of its own."""


def read_edits_of(
    rules: Sequence[RuleText | RuleFile], levels: Mapping[str, LevelDeclaration] | None = None
) -> tuple[EditSet, list[Problem]]:
    """Edits, in order, and every mistake; what has a mistake is left out.

    A rule of a file without a name of its own, ``edit-1``, is called ``edit-1.2`` where another is called so.

    `levels`: of the data, where they have several.
    """
    problems: list[Problem] = []
    read: dict[int, EditSet] = {}
    texts: dict[str, Edit] = {}
    for position, each in enumerate(rules):
        if isinstance(each, RuleText):
            problems.extend(_names_taken(texts, (each.edit,)))
            if texts.setdefault(each.edit.name, each.edit) is each.edit:
                read[position] = EditSet((each.edit,))
    named = EditSet(tuple(texts.values()))
    for position, each in enumerate(rules):
        if not isinstance(each, RuleFile):
            continue
        try:
            found = each.reader.read_with(each.path, each.params, levels)
        except InputError as error:
            problems.extend(error.problems)
            found = error.edits if isinstance(error, WrongRulesError) else EditSet()
        own = [edit for edit in found if NUMBERED.fullmatch(edit.name) is None]
        problems.extend(_names_taken({edit.name: edit for edit in named}, own))
        joined = named.joined(found)
        read[position] = EditSet(joined.edits[len(named) :], found.notes)
        named = joined
    edits = EditSet()
    for position in sorted(read):
        edits += read[position]
    return edits, problems


def _names_taken(taken: Mapping[str, Edit], edits: Iterable[Edit]) -> Iterator[Problem]:
    """A problem for each name that another rule has."""
    for edit in edits:
        if edit.name in taken:
            other = taken[edit.name].place
            first = "" if other is None else f" ({other})"
            yield Problem(f"the name {edit.name!r} is taken by another rule{first}", edit.place, "Rename one.")
