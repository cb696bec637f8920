"""Mistakes in the names of data of several levels: those that the levels declare, and those in rules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.data.levels.declaration import NO_PLACES
from maskwright.data.levels.linking import unknown_of_files, variables_of_levels
from maskwright.data.levels.mistakes import unknown_names, without_key_of_group, wrong_pointers
from maskwright.edits.levels.binding import bind
from maskwright.edits.levels.structure import LevelNames, Structure
from maskwright.foundation.errors import EditError, InputError
from maskwright.foundation.nearest_names import nearest_name
from maskwright.pipeline.edits_read import read_edits_of
from maskwright.pipeline.names import names_in, unknown_uses

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from maskwright.data.levels.declaration import LevelDeclaration
    from maskwright.foundation.errors import Problem
    from maskwright.pipeline.resolved import LevelSources, RuleFile, RuleText, VariableUse


def further_level_problems(
    levels: LevelSources, rules: Sequence[RuleText | RuleFile], uses: Sequence[VariableUse]
) -> list[Problem]:
    """What else is wrong, when something is: as `maskwright.pipeline.names.further_problems` says of one level."""
    edits, problems = read_edits_of(rules, levels.declared)
    files = names_of_files(levels)
    if files is None:
        return problems
    problems += wrong_level_names(levels, files)
    problems += unknown_uses((*uses, *levels.uses), list(dict.fromkeys(each for own in files.values() for each in own)))
    whole = as_meant(levels, files)
    if wrong_level_names(whole, files):
        # Which names rules may use is not known: each that they use rightly would be told as wrong.
        return problems
    meant = whole.declared
    try:
        own = _variables(levels, files, meant)
        bind(edits, Structure(tuple(
            LevelNames(name, names, meant[name].above, tuple(meant[name].pointers)) for name, names in own.items()
        )))  # fmt: skip
    except EditError as error:
        problems += error.problems
    except InputError:
        return problems
    return problems


def wrong_level_names(levels: LevelSources, names: Mapping[str, Sequence[str]]) -> list[Problem]:
    """What is wrong with the names of variables that the levels declare, each at its place.

    `names`: of the variables of its file.
    """
    places = {name: levels.places.get(name, NO_PLACES) for name in levels.declared}
    files = {name: source.name for name, source in levels.sources.items()}
    if levels.form == "flat":
        problems = [
            problem
            for name, level in levels.declared.items()
            for problem in unknown_names(name, level, names[name], places_of=places[name])
        ]
    else:
        problems = unknown_of_files(levels.declared, names, files, places)
        top, bottom = levels.declared
        key = levels.declared[top].key
        if key in names[top]:
            problems += without_key_of_group(top, key, names[bottom], files[bottom], places[top].names.get(key))
    for name, level in levels.declared.items():
        problems += wrong_pointers(name, level, names[name], places[name])
    return problems


def as_meant(levels: LevelSources, names: Mapping[str, Sequence[str]]) -> LevelSources:
    """Copy whose levels name the nearest variables in the place of those that do not exist.

    A misspelt name is told where it stands, and once; what else is wrong is looked for as if it were right.
    """
    return replace(levels, declared={name: _meant(each, names[name]) for name, each in levels.declared.items()})


def _meant(declared: LevelDeclaration, names: Sequence[str]) -> LevelDeclaration:
    def nearest(name: str) -> str:
        return name if name in names else nearest_name(name, names) or name

    def all_nearest(given: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if given is None else tuple(dict.fromkeys(nearest(each) for each in given))

    key = nearest(declared.key)
    return declared.model_copy(
        update={
            "key": key,
            "variables": all_nearest(declared.variables),
            "order": all_nearest(declared.order),
            "pointers": {nearest(name): key for name in declared.pointers},
        }
    )


def names_of_files(levels: LevelSources) -> dict[str, tuple[str, ...]] | None:
    """Names of the variables in the file of each level; None where they are not to be had for little."""
    try:
        found = {name: names_in(source) for name, source in levels.sources.items()}
    except (InputError, OSError):
        return None
    known = {name: own for name, own in found.items() if own is not None}
    return known if len(known) == len(found) else None


def _variables(
    levels: LevelSources, names: Mapping[str, tuple[str, ...]], declared: Mapping[str, LevelDeclaration]
) -> Mapping[str, tuple[str, ...]]:
    """Names of the variables of each level."""
    top, bottom = declared
    if levels.form == "flat":
        return variables_of_levels(names[top], declared, (top, bottom))
    key = declared[top].key
    return {top: names[top], bottom: tuple(name for name in names[bottom] if name != key)}
