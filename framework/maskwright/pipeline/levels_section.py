"""``data: levels:``: which records are members of which, and where each level is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from maskwright.data.declaration import VariableDeclaration
from maskwright.data.levels.linked_data import LevelDeclaration, LevelPlaces
from maskwright.edits.rule_language.rules import parse_expression
from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.yaml_document import Node, scalar
from maskwright.foundation.yaml_models import read_model, texts, without
from maskwright.pipeline.resolved import DataSource, LevelSources

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


EXAMPLE = "levels: {household: {key: hhid, variables: [region]}, person: {key: pno, in: household}}"
POINTERS = "The variable that points, and then the key that it names: pointers: {spouse: pno, mother: pno}."


def resolve_levels(
    section: Node, problems: list[Problem], resolve: Callable[[Node], DataSource | None]
) -> LevelSources | None:
    """Resolve the levels of the data section: mistakes are added to `problems`."""
    before = len(problems)
    declared = _declared(section, problems)
    if declared is None:
        return None
    form = _form(declared)
    levels = dict(zip(declared, (level for _, level in section.at(("levels",)).entries), strict=True))  # type: ignore[union-attr]
    problems.extend(_form_problems(form, declared, section, levels))
    if len(problems) > before:
        return None
    plain = without(section, ("levels", "cluster"))
    sources: dict[str, DataSource] = {}
    for name, level in levels.items():
        found = next(iter(sources.values())) if form == "flat" and sources else resolve(_section_of(plain, level))
        if found is None:
            return None
        sources[name] = found
    if form == "nested":
        sources = _inside_each_other(sources, declared, levels, problems)
    problems += _identifier_problems(section, declared, sources)
    if len(problems) > before:
        return None
    sources = {name: replace(each, variables=_with_keys(each.variables, declared)) for name, each in sources.items()}
    return LevelSources(declared, sources, form, {name: _places(level) for name, level in levels.items()})


def _declared(section: Node, problems: list[Problem]) -> dict[str, LevelDeclaration] | None:
    """Levels as they are declared; None where anything in them is wrong."""
    node, before = section.get("levels"), len(problems)
    if node is None or not node.is_mapping or not node.entries:
        place = section.place if node is None else node.place
        problems.append(Problem("levels: expected the upper level, and the one in it", place, EXAMPLE))
        return None
    declared = {}
    for key, level in node.entries:
        own: list[Problem] = []
        found = read_model(LevelDeclaration, texts(level, ("variables", "order")), own)
        pointers = level.get("pointers")
        if pointers is not None and not pointers.is_mapping:
            own = [replace(each, hint=POINTERS) if each.place == pointers.place else each for each in own]
        problems.extend(own)
        if found is not None:
            declared[key.raw] = found
    if len(problems) == before:
        problems.extend(structure_problems(declared, node))
        problems.extend(_condition_problems(declared, node))
    cluster = section.get("cluster")
    if cluster is not None and cluster.value is not None:
        message = "`cluster` says what `levels` says: the key of the upper level names households"
        problems.append(Problem(message, cluster.place, "Remove `cluster`."))
    return declared if len(problems) == before else None


def _form(declared: Mapping[str, LevelDeclaration]) -> Literal["flat", "linked", "nested"]:
    if any(each.source is not None for each in declared.values()):
        return "linked"
    return "nested" if any(each.record is not None for each in declared.values()) else "flat"


def _section_of(plain: Node, level: Node) -> Node:
    """Data section of one level: its own file, or its own element in the file of all."""
    for key in ("source", "record"):
        stated = level.get(key)
        if stated is not None:
            plain = without(plain, (key,)).with_entry(key, scalar(stated.raw, stated.place))
    return plain


def _inside_each_other(
    sources: Mapping[str, DataSource],
    declared: Mapping[str, LevelDeclaration],
    levels: Mapping[str, Node],
    problems: list[Problem],
) -> dict[str, DataSource]:
    """Sources of one file in which records are elements inside the records of the level above."""
    found = {}
    around: dict[str, str] = {}
    for depth, (name, level) in enumerate(declared.items(), start=1):
        source = sources[name]
        members = tuple(each.record for each in list(declared.values())[depth:])
        update: dict[str, object] = {"members": members} if members else {}
        update |= {"group": dict(around)} if around else {}
        if not source.source.params.model_fields.keys() >= update.keys():
            message = f"level {name}: {source.path.name} cannot hold records inside each other; XML files can"
            problems.append(Problem(message, levels[name].place, "Give each level its own `source`."))
        found[name] = replace(source, params=source.params.model_copy(update=update))
        around[level.record or ""] = level.key
    return found


def structure_problems(declared: Mapping[str, LevelDeclaration], node: Node) -> list[Problem]:
    """What is wrong with levels that are not two or more, each in the one before it."""
    names = list(declared)
    above = [each.above for each in declared.values()]
    if above == [None, *names[:-1]] and len(names) > 1:
        return [
            Problem(f"level {name}: `counted_in`: {unknown_name('level from it up', each.counted_in, known)}",
                    (node.at((name, "counted_in")) or node).place)
            for place, (name, each) in enumerate(declared.items(), 1)
            for known in (names[:place],) if each.counted_in is not None and each.counted_in not in known
        ]  # fmt: skip
    stray = [Problem(f"level {name}: `in`: {unknown_name('level', each.above, names)}",
                     (node.at((name, "in")) or node).place, EXAMPLE)
             for name, each in declared.items() if each.above is not None and each.above not in names]  # fmt: skip
    if stray:
        return stray
    shown = ", ".join(name + (f" (in {each})" if each else "") for name, each in zip(names, above, strict=True))
    statement = "levels are two or more, the top one first, and each of the others `in` the one before it; "
    statement += f"{'one is' if len(names) == 1 else 'these are'} declared: {shown}"
    below = {each: name for name, each in zip(names, above, strict=True)}
    ordered = [below[None]] if None in below else []
    while ordered and ordered[-1] in below and len(ordered) < len(names):
        ordered.append(below[ordered[-1]])
    if len(names) > 1 and sorted(ordered) == sorted(names):
        return [Problem(statement, node.place, f"Write them in this order: {', '.join(ordered)}.")]
    return [Problem(statement, node.place, EXAMPLE)]


def _places(level: Node) -> LevelPlaces:
    """Where the declaration of a level names variables."""
    nodes = [] if (key := level.get("key")) is None else [key]
    pointers = level.get("pointers")
    pairs = () if pointers is None else pointers.entries
    nodes += [pointer for pointer, _ in pairs]
    for several in (level.get("variables"), level.get("order")):
        nodes += () if several is None else several.elements
    found: dict[str, Place] = {}
    for node in nodes:
        found.setdefault(node.raw, node.place)
    return LevelPlaces(found, {pointer.raw: target.place for pointer, target in pairs})


def _condition_problems(declared: Mapping[str, LevelDeclaration], node: Node) -> list[Problem]:
    """Conditions of groups that are none."""
    problems = []
    for name, level in declared.items():
        stated = node.at((name, "incomplete"))
        if level.incomplete is None or stated is None:
            continue
        try:
            parse_expression(level.incomplete)
        except EditError as error:
            problems += [Problem(f"level {name}: incomplete: {each.sentence}", stated.place, each.hint)
                         for each in error.problems]  # fmt: skip
    return problems


def _form_problems(
    form: str, declared: Mapping[str, LevelDeclaration], section: Node, levels: Mapping[str, Node]
) -> list[Problem]:
    problems = []
    own = section.get("source")
    for name, level in declared.items():
        node = levels[name]
        if form == "linked" and level.source is None:
            problems.append(Problem(f"level {name}: no `source`, and another level has one", node.place))
        if form == "nested" and level.record is None:
            problems.append(Problem(f"level {name}: no `record`, and another level has one", node.place))
        if form != "flat" and level.variables is not None:
            message = f"level {name}: `variables` is for one flat file; here each level has its own"
            problems.append(Problem(message, node.place))
    files = [level.source for level in declared.values()]
    if form == "linked" and None not in files and len(set(files)) < len(files):
        same = [name for name, level in declared.items() if files.count(level.source) > 1]
        node = levels[same[-1]]
        hint = "Name the file of each level; of one flat file, `source` stands above `levels`."
        place = (node.get("source") or node).place
        problems.append(Problem(f"the levels {' and '.join(same)} have the same `source`", place, hint))
    if form == "linked" and own is not None and own.value is not None:
        problems.append(Problem("each level has its own `source`: remove this one", own.place))
    return problems


def _identifier_problems(
    section: Node, declared: Mapping[str, LevelDeclaration], sources: Mapping[str, DataSource]
) -> list[Problem]:
    """Pointers, and keys that are kept, which are declared as what is not published, and would be published."""
    problems = []
    for name, level in declared.items():
        statement = dict.fromkeys(level.pointers, "a pointer, which is published with the keys that it names")
        statement |= {level.key: "its key, and `keep_key: true` publishes it as it is"} if level.keep_key else {}
        for variable, what in statement.items():
            stated = sources[name].variables.get(variable)
            if stated is not None and stated.is_identifier:
                node = section.at(("variables", variable)) or section
                hint = f"Take {variable} out of `pointers`: then it is dropped. Or give it no role."
                if variable == level.key:
                    hint = "Leave out `keep_key: true`: keys are published with new values."
                message = f"{variable} is an identifier, which is not published; level {name} says that it is {what}"
                problems.append(Problem(message, node.place, hint))
    return problems


def _with_keys(
    variables: Mapping[str, VariableDeclaration], declared: Mapping[str, LevelDeclaration]
) -> dict[str, VariableDeclaration]:
    """Declarations in which keys and pointers are no amounts, and keys by which members name their groups are texts."""
    of_groups = {level.key for level in list(declared.values())[:-1]}
    found = dict(variables)
    for level in declared.values():
        for name in (level.key, *level.pointers):
            stated = found.get(name, VariableDeclaration())
            update: dict[str, object] = {"role": "other"}
            if name in of_groups:
                update["type"] = "nominal"
            found[name] = stated.model_copy(update=update)
    return found
