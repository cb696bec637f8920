"""Mistakes in the rules of data of several levels, looked for where something else is wrong already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.data.levels.linking import variables_of_levels
from maskwright.edits.levels.binding import bind
from maskwright.edits.levels.structure import LevelNames, Structure
from maskwright.foundation.errors import EditError, InputError
from maskwright.pipeline.edits_read import read_edits_of
from maskwright.pipeline.names import names_in, unknown_uses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.foundation.errors import Problem
    from maskwright.pipeline.resolved import LevelSources, RuleFile, RuleText, VariableUse


def further_level_problems(
    levels: LevelSources, rules: Sequence[RuleText | RuleFile], uses: Sequence[VariableUse]
) -> list[Problem]:
    """What else is wrong, when something is: as `maskwright.pipeline.names.further_problems` says of one level.

    Parameters
    ----------
    levels : LevelSources
    rules : sequence of RuleText or RuleFile
        Texts without mistakes.
    uses : sequence of VariableUse
    """
    edits, problems = read_edits_of(rules, levels.declared)
    names = _variables(levels)
    if names is None:
        return problems
    problems += unknown_uses((*uses, *levels.uses), [each for own in names.values() for each in own])
    structure = Structure(
        tuple(LevelNames(name, own, levels.declared[name].above, tuple(levels.declared[name].pointers))
              for name, own in names.items())
    )  # fmt: skip
    try:
        bind(edits, structure)
    except EditError as error:
        problems += error.problems
    return problems


def _variables(levels: LevelSources) -> Mapping[str, tuple[str, ...]] | None:
    """Names of the variables of each level; None where they are not to be had."""
    try:
        found = {name: names_in(source) for name, source in levels.sources.items()}
        known = {name: own for name, own in found.items() if own is not None}
        if len(known) < len(found):
            return None
        top, bottom = levels.declared
        if levels.form == "flat":
            return variables_of_levels(known[top], levels.declared, (top, bottom))
        key = levels.declared[top].key
        return {top: known[top], bottom: tuple(name for name in known[bottom] if name != key)}
    except (InputError, OSError):
        return None
