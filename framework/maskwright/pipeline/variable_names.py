"""Names of variables in a pipeline file, flat or of levels, and mistakes that rule files and columns show."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from maskwright.data.dataset import Dataset
from maskwright.data.levels.linked_data import NO_PLACES, LevelDeclaration
from maskwright.edits.evaluation.edit_names import unknown_variables
from maskwright.foundation.errors import EditError, InputError, Place, Problem
from maskwright.foundation.nearest_names import nearest_name, unknown_name
from maskwright.foundation.yaml_document import Node
from maskwright.pipeline.declared_lists import names_listed
from maskwright.pipeline.edits_section import read_edits_of
from maskwright.pipeline.resolved import DataInMemory, DataSource, LevelSources, RuleFile, RuleText, VariableUse
from maskwright.plugins.parameter_markers import named_in_values, naming_fields
from maskwright.plugins.source import column_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic import BaseModel

    from maskwright.plugins.registered import Registry


SETTING = "setting "
"""What the place of a setting begins with that a program gave."""


def variable_uses(root: Node, registry: Registry) -> tuple[VariableUse, ...]:
    """Names of variables that the data section, steps, measures and waivers give, with their places."""
    data = root.get("data") or Node("scalar", root.place)
    declared = data.get("variables")
    found = [] if declared is None else [VariableUse(key.raw, key.place) for key, _ in declared.entries]
    found += [VariableUse(node.raw, node.place) for node in names_listed(data)]
    found += [VariableUse(node.raw, node.place) for node in _texts(data.get("cluster"))]
    for number, step in enumerate(root.get("protect") or (), 1):
        nodes = [
            *_texts(step.get("variables")),
            *_texts(step.get("within")),
            *(node for group in step.get("groups") or () for node in _texts(group)),
        ]
        params = step.get("params")
        if params is not None:
            nodes += _in_params(params, step.get("method"), registry)
        found += [VariableUse(node.raw, node.place, f"step {number}: ") for node in nodes]
    importance = root.at(("disclosure", "importance"))
    found += [] if importance is None else [VariableUse(key.raw, key.place) for key, _ in importance.entries]
    for waiver in root.get("waive") or ():
        found += [VariableUse(node.raw, node.place, "waive: ") for node in _texts(waiver.get("variable"))]
    return (*found, *_in_measures(root.get("measure"), registry))


def _in_measures(section: Node | None, registry: Registry) -> Iterator[VariableUse]:
    for entry in () if section is None else section.elements:
        if not entry.is_mapping or len(entry.entries) != 1:
            continue
        name, params = entry.entries[0]
        measure = registry.measures.get(name.raw)
        if measure is None or not params.is_mapping:
            continue
        for key in naming_fields(measure.params):
            for node in _named(params, measure.params, key):
                yield VariableUse(node.raw, node.place, f"{name.raw}: {key}: ", published=True)


def _named(params: Node, model: type[BaseModel], key: str) -> Iterator[Node]:
    """Names that a parameter gives: its keys or elements or, where it says so, those of its values."""
    node = params.get(key)
    lists = (value for _, value in node.entries) if node and named_in_values(model, key) else (node,)
    for each in lists:
        yield from _names(each)


def _names(node: Node | None) -> Iterator[Node]:
    """Scalars of a list, of lists of lists, or the keys of a mapping; a scalar alone is a number or a word."""
    if node is None:
        return
    yield from (key for key, _ in node.entries if key.is_scalar)
    for each in node.elements:
        yield from (each,) if each.is_scalar else _names(each)


def _in_params(params: Node, method: Node | None, registry: Registry) -> Iterator[Node]:
    known = None if method is None else registry.methods.get(method.raw)
    if known is None:
        return
    for key in naming_fields(known.params):
        node = params.get(key)
        if node is not None:
            yield from _named(params, known.params, key) if node.is_mapping else _texts(node)
    yield from _texts(params.get("structural_zeros"))
    weights = params.get("adjustment_weights")
    yield from () if weights is None else (name for name, _ in weights.entries)
    for key in ("weaken", "drop"):
        yield from _texts(params.at(("release_edits", key)))


def _texts(node: Node | None) -> tuple[Node, ...]:
    """Scalars of a list, or the one scalar."""
    if node is None or (node.is_scalar and node.value is None):
        return ()
    return tuple(each for each in node.elements if each.is_scalar) if node.is_sequence else (node,) * node.is_scalar


def unknown_uses(uses: Iterable[VariableUse], names: Sequence[str]) -> list[Problem]:
    """A problem for each use of a name that no variable has."""
    return [
        Problem(use.where + unknown_name("variable", use.name, names), use.place)
        for use in uses
        if use.name not in names
    ]


def unpublished_uses(uses: Iterable[VariableUse], dropped: Sequence[str]) -> list[Problem]:
    """A problem for each use of a variable that is dropped, where one is needed that is published."""
    return [
        Problem(f"{use.where}{use.name!r} is not published: no measure can look at it", use.place)
        for use in uses
        if use.published and use.name in dropped
    ]


def names_in(data: DataSource | DataInMemory | None) -> tuple[str, ...] | None:
    """Names of the variables of data, as far as it takes little to find out; None otherwise."""
    if data is None:
        return None
    if isinstance(data, DataSource):
        return column_names(data.source, data.path, data.params)
    held = data.data
    if isinstance(held, Dataset):
        return held.names
    names = held.column_names if isinstance(held, pa.Table) else held.columns
    return tuple(name for name in names if isinstance(name, str))


def further_problems(
    names: Sequence[str] | None, rules: Sequence[RuleText | RuleFile], uses: Sequence[VariableUse]
) -> list[Problem]:
    """What else is wrong, when something is: mistakes in rule files, and names that the data do not have."""
    edits, problems = read_edits_of(rules)
    if names is not None:
        problems.extend(unknown_uses(uses, names))
        # In XPath a name that no record has is no mistake everywhere.
        problems.extend(unknown_variables([edit for edit in edits if edit.binding == "exact"], names))
    return problems


def in_order(problems: Sequence[Problem], file: str) -> list[Problem]:
    """Problems by place, those of `file` first; one that is there twice is kept where its place is known best."""
    best: dict[Problem, int] = {}
    for problem in problems:
        best[problem.anywhere] = max(_precision(problem.place), best.get(problem.anywhere, 0))
    kept = [each for each in dict.fromkeys(problems) if _precision(each.place) == best[each.anywhere]]
    return sorted(kept, key=lambda problem: _position(problem.place or Place(), file))


def _precision(place: Place | None) -> int:
    """How well a place is known: 0 not at all, 1 by file or argument, 2 by line, setting or `--set`."""
    if place is None:
        return 0
    return 2 if place.line is not None or (place.file or "").startswith((SETTING, "--set ")) else 1


def _position(place: Place, file: str) -> tuple[bool, str, bool, int, int]:
    other = place.file is not None and place.file != file
    return (other, (place.file or "") if other else "", place.line is None, place.line or 0, place.column or 0)


def further_level_problems(
    levels: LevelSources, rules: Sequence[RuleText | RuleFile], uses: Sequence[VariableUse]
) -> list[Problem]:
    """What else is wrong, when something is: as `further_problems` has it of one level."""
    edits, problems = read_edits_of(rules, levels.declared)
    files = names_of_files(levels)
    if files is None:
        return problems
    problems += wrong_level_names(levels, files)
    problems += unknown_uses((*uses, *levels.uses), list(dict.fromkeys(each for own in files.values() for each in own)))
    whole = with_nearest_names(levels, files)
    if wrong_level_names(whole, files):
        # Which names rules may use is not known: each that they use rightly would be reported as wrong.
        return problems
    meant = whole.declared
    from maskwright.edits.levels.binding import bind  # of several levels
    from maskwright.edits.levels.structure import LevelNames, Structure  # of several levels

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
    """What is wrong with the names of variables that the levels declare, each at its place."""
    from maskwright.data.levels.consistency import (  # of several levels
        unknown_names,
        without_key_of_group,
        wrong_pointers,
    )
    from maskwright.data.levels.linking import unknown_of_files  # of several levels

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
        for upper, lower in pairwise(levels.declared):
            key = levels.declared[upper].key
            if key in names[upper]:
                place = places[upper].names.get(key)
                problems += without_key_of_group(upper, key, names[lower], files[lower], place)
    for name, level in levels.declared.items():
        problems += wrong_pointers(name, level, names[name], places[name])
    return problems


def with_nearest_names(levels: LevelSources, names: Mapping[str, Sequence[str]]) -> LevelSources:
    """Copy whose levels name the nearest variables in the place of those that do not exist.

    A misspelt name is reported where it stands, and once; what else is wrong is searched for as if it were right.
    """
    return replace(levels, declared={name: _nearest_names(each, names[name]) for name, each in levels.declared.items()})


def _nearest_names(declared: LevelDeclaration, names: Sequence[str]) -> LevelDeclaration:
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
    from maskwright.data.levels.linking import variables_of_levels  # of several levels

    if levels.form == "flat":
        return variables_of_levels(next(iter(names.values())), declared)
    above: set[str] = set()
    found = {}
    for level, each in declared.items():
        found[level] = tuple(name for name in names[level] if name not in above)
        above.add(each.key)
    return found
