"""Sections of YAML files read with pydantic models; every mistake becomes a sentence with its place."""

from __future__ import annotations

import inspect
import json
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import AfterValidator, BaseModel, ValidationError

from maskwright.foundation.counts import plural
from maskwright.foundation.errors import Place, Problem
from maskwright.foundation.nearest_names import nearest_name, unknown_name
from maskwright.foundation.processes.resources import bytes_of
from maskwright.foundation.yaml_document import Node

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable


def only(node: Node, keys: Collection[str]) -> Node:
    """Copy of a mapping with these keys only; anything else as it is."""
    return replace(node, entries=tuple(entry for entry in node.entries if entry[0].raw in keys))


def without(node: Node, keys: Collection[str]) -> Node:
    """Copy of a mapping without these keys; an empty mapping for anything else."""
    entries = tuple(entry for entry in node.entries if entry[0].raw not in keys)
    return Node("mapping", node.place, entries=entries)


def elements_of(section: Node, expected: str, problems: list[Problem], hint: str | None = None) -> tuple[Node, ...]:
    """Elements of a list; none where nothing is there, or something else than a list, which is a problem."""
    if not section.is_sequence and not (section.is_scalar and section.value is None):
        problems.append(Problem(f"{expected}, not {section.description}", section.place, hint))
    return section.elements


def texts(node: Node, under: Collection[str] | None = None) -> Node:
    """Copy in which every scalar is the text that was written: ``012`` is a category, not the number 12."""
    if node.is_scalar:
        return replace(node, value=node.raw) if under is None and node.value is not None else node
    elements = tuple(texts(element, under) for element in node.elements)
    entries = tuple(
        (key, texts(value, None if under is not None and key.raw in under else under)) for key, value in node.entries
    )
    return replace(node, elements=elements, entries=entries)


@dataclass(frozen=True)
class Formerly:
    """Marker of a field that had another name: its users, in files or calls, are given the new one.

    Attributes
    ----------
    name : str
        The old name, which no field of the model may have.

    Examples
    --------
    >>> from typing import Annotated
    >>> from pydantic import BaseModel
    >>> from maskwright import Formerly
    >>> class Params(BaseModel, extra="forbid"):
    ...     whole_households: Annotated[bool, Formerly("whole_clusters")] = True
    """

    name: str


def former_names(model: type[BaseModel]) -> dict[str, str]:
    """Fields of a model by the names they once had."""
    return {
        mark.name: name
        for name, field in model.model_fields.items()
        for mark in field.metadata
        if isinstance(mark, Formerly)
    }


def unknown_field(
    kind: str,
    name: str,
    model: type[BaseModel] | None,
    place: Place | None = None,
    *,
    also: Iterable[str] = (),
    hint: str | None = None,
) -> Problem:
    """Problem for a name that no field of a model has: its new name, or the nearest one."""
    new = None if model is None else former_names(model).get(name)
    if new is not None:
        return Problem(f"no {kind} called {name!r}", place, f"It is now called {new!r}.")
    return Problem(unknown_name(kind, name, {*(model.model_fields if model is not None else ()), *also}), place, hint)


Model = TypeVar("Model", bound=BaseModel)
Path = tuple[str | int, ...]

_EXPECTED: Mapping[str, str] = {
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "finite_number": "a finite number",
    "decimal_type": "a number",
    "bool_type": "true or false",
    "string_type": "text",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a mapping of keys",
    "model_type": "a mapping of keys",
    "model_attributes_type": "a mapping of keys",
    "dataclass_type": "a mapping of keys",
    "none_required": "nothing",
    "string_too_short": "text of at least {characters}",
    "string_too_long": "text of at most {characters}",
    "string_pattern_mismatch": "text of the pattern {pattern}",
    "too_short": "at least {items}",
    "too_long": "at most {items}",
    "greater_than": "a number > {gt}",
    "greater_than_equal": "a number >= {ge}",
    "less_than": "a number < {lt}",
    "less_than_equal": "a number <= {le}",
    "multiple_of": "a multiple of {multiple_of}",
    "literal_error": "{expected}",
    "enum": "{expected}",
    "keys_missing": "a mapping with {keys}",
}


def read_model(model: type[Model], node: Node, problems: list[Problem], kind: str = "key") -> Model | None:
    """Instance of `model` from a mapping of the file."""
    if not node.is_mapping and node.value is not None:
        problems.append(Problem(f"expected a mapping of {kind}s, not {node.description}", node.place))
        return None
    if node.is_scalar:
        node = Node("mapping", node.place)
    try:
        # JSON mode: text is not taken for a number, while a list may stand for a tuple or set.
        return model.model_validate_json(json.dumps(_plain(node)), strict=True)
    except ValidationError as error:
        problems.extend(_problems(error, model, node, kind))
        return None


def _plain(node: Node) -> Any:
    """Python values; a whole number written as ``1e5`` or ``5.0`` is a whole number."""
    if node.is_mapping:
        return {name.raw: _plain(value) for name, value in node.entries}
    if node.is_sequence:
        return [_plain(element) for element in node.elements]
    if isinstance(node.value, float) and node.value.is_integer() and abs(node.value) < 2**53:
        return int(node.value)
    return node.value


def _problems(error: ValidationError, model: type[BaseModel], node: Node, kind: str) -> list[Problem]:
    found: list[Problem] = []
    expected: dict[Path, list[dict[str, Any]]] = defaultdict(list)
    every = error.errors(include_url=False, include_input=False)
    strange = _strange_branches(node, [detail["loc"] for detail in every if detail["type"] == "extra_forbidden"])
    meant = [detail for detail in every if _branch(node, detail["loc"]) not in strange]
    of_branches: dict[tuple[Path, str | int], list[str]] = defaultdict(list)
    for detail in meant or every:
        location = detail["loc"]
        path, rest = _locate(node, location)
        branch = _branch(node, location)
        if detail["type"] == "missing" and branch is not None and _is_empty(node.at(branch[0])):
            of_branches[branch].append(repr(location[-1]))
        elif detail["type"] == "missing":
            found.append(_missing(model, node, path, str(location[-1]), kind))
        elif detail["type"] == "extra_forbidden" and path and not rest:
            found.append(_unknown(model, node, path, location, kind))
        else:
            expected[path].append(dict(detail))
    for (path, _), keys in of_branches.items():
        expected[path].append({"type": "keys_missing", "ctx": {"keys": " and ".join(keys)}})
    for path, details in expected.items():
        # Of the branches of a union, the one that got furthest is the one that was meant.
        if not any(len(other) > len(path) and other[: len(path)] == path for other in expected):
            found.append(_mismatch(node, path, details))
    return found


def _locate(node: Node, location: Sequence[str | int]) -> tuple[Path, Path]:
    """Split a pydantic location into the path that the file has and the rest (names of union branches)."""
    path: list[str | int] = []
    rest: list[str | int] = []
    current = node
    for step in location:
        inner = current.get(step)
        if inner is None:
            rest.append(step)
        else:
            path.append(step)
            current = inner
    return tuple(path), tuple(rest)


def _branch(node: Node, location: Sequence[str | int]) -> tuple[Path, str | int] | None:
    """Where a union stands on the way of a pydantic location, and the branch that was tried; None: nowhere."""
    current = node
    for position, step in enumerate(location[:-1]):
        inner = current.get(step)
        if inner is None:
            return tuple(location[:position]), step
        current = inner
    return None


def _strange_branches(node: Node, unknown: Sequence[Sequence[str | int]]) -> set[tuple[Path, str | int] | None]:
    """Branches of unions that have none of the keys that are given: another one was meant."""
    counts = Counter(each for each in (_branch(node, location) for location in unknown) if each is not None)
    strange: set[tuple[Path, str | int] | None] = set()
    for (path, name), count in counts.items():
        owner = node.at(path)
        if owner is not None and owner.is_mapping and count == len(owner.entries):
            strange.add((path, name))
    return strange


def _missing(model: type[BaseModel], node: Node, path: Path, name: str, kind: str) -> Problem:
    owner = node.at(path) or node
    holder = model_at(model, path)
    field = holder.model_fields.get(name) if holder is not None else None
    return Problem(f"the {kind} {name!r} is missing", owner.place, field.description if field is not None else None)


def _unknown(model: type[BaseModel], node: Node, path: Path, location: Sequence[str | int], kind: str) -> Problem:
    owner = node.at(path[:-1]) or node
    name = str(path[-1])
    holder = model_at(model, location[:-1])
    key = owner.key(name)
    place = key.place if key is not None else owner.place
    other = None if holder is None or name not in holder.model_fields else holder.model_fields[name].alias
    if other is not None:
        return Problem(f"{other!r} and {name!r} are the same {kind}: both are given", place, "Leave one of them out.")
    return unknown_field(kind, name, holder, place)


def _mismatch(node: Node, path: Path, details: Sequence[Mapping[str, Any]]) -> Problem:
    at, owner = node.at(path) or node, node.at(path[:-1])
    label = _label(path)
    if path and owner is not None and all(detail["loc"][-1] == "[key]" for detail in details):
        at, label = owner.key(str(path[-1])) or at, _label(path[:-1])
    prefix = f"{label}: " if label else ""
    custom = [detail for detail in details if detail["type"] not in _EXPECTED]
    if custom:
        message = str(custom[0]["msg"]).removeprefix("Value error, ").removeprefix("Assertion failed, ")
        return Problem(prefix + message, at.place)
    wanted = list(dict.fromkeys(_expectation(detail) for detail in details))
    return Problem(f"{prefix}expected {' or '.join(wanted)}, not {_found(at)}", at.place, _suggestion(at, details))


def _expectation(detail: Mapping[str, Any]) -> str:
    bounds = detail.get("ctx", {})
    shown = {name: f"{bound:g}" if isinstance(bound, float) else bound for name, bound in bounds.items()}
    length = bounds.get("min_length", bounds.get("max_length"))
    return _EXPECTED[detail["type"]].format(
        **shown, characters=plural(length, "character"), items=plural(length, "item")
    )


def _is_empty(node: Node | None) -> bool:
    """Whether it is a mapping without keys, which does not say which branch of a union was meant."""
    return node is not None and node.is_mapping and not node.entries


def _found(node: Node) -> str:
    if _is_empty(node):
        return "an empty mapping"
    if node.is_sequence:
        return f"a list of {len(node.elements)}"
    return node.description


def _suggestion(node: Node, details: Sequence[Mapping[str, Any]]) -> str | None:
    if not node.is_scalar:
        return None
    choices = [
        choice
        for detail in details
        if detail["type"] in ("literal_error", "enum")
        for choice in re.findall(r"'([^']*)'", detail.get("ctx", {}).get("expected", ""))
    ]
    nearest = nearest_name(node.raw, choices) if choices else None
    if nearest is not None:
        return f"Did you mean {nearest!r}?"
    if not isinstance(node.value, str) and any(detail["type"] == "string_type" for detail in details):
        return node.place.written(f"If it is text, put it in quotes: '{node.raw}'.")
    if isinstance(node.value, str) and any(detail["type"] in ("int_type", "float_type") for detail in details):
        return node.place.written("Numbers are written without quotes.")
    return None


def _label(path: Path) -> str:
    """``variables.V1.role``; positions in lists count from 1."""
    parts = [str(step) if isinstance(step, str) else f"item {step + 1}" for step in path]
    return ".".join(parts)


def model_at(annotation: Any, location: Sequence[str | int]) -> type[BaseModel] | None:
    """Model that a pydantic location leads to, for the names that are valid there."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return model_at(get_args(annotation)[0], location)
    if origin in (Union, UnionType):
        branches = [branch for branch in get_args(annotation) if branch is not type(None)]
        found = (model_at(branch, rest) for branch in branches for rest in (location, location[1:]))
        return next((model for model in found if model is not None), None)
    if inspect.isclass(annotation) and issubclass(annotation, BaseModel):
        if not location:
            return annotation
        field = annotation.model_fields.get(str(location[0]))
        return model_at(field.annotation, location[1:]) if field is not None else None
    if origin is not None and location and get_args(annotation):
        inner = get_args(annotation)[-1 if inspect.isclass(origin) and issubclass(origin, Mapping) else 0]
        return model_at(inner, location[1:])
    return None


def _known(size: str) -> str:
    bytes_of(size)
    return size


MemorySize = Annotated[str, AfterValidator(_known)]
"""A field of parameters that is a size of memory: ``4GB``, ``500MB``, ``1.5GiB``.

Examples
--------
>>> from pydantic import BaseModel, Field
>>> from maskwright import MemorySize
>>> class Params(BaseModel):
...     memory_limit: MemorySize = Field(default="2GB", description="Of each worker.")
"""
