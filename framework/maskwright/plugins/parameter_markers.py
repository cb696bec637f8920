"""Markers: what the planner and the engine have to know of a parameter stands on its field, in the parameter model.

```python
class MyParams(BaseModel, extra="forbid", frozen=True):
    k: Annotated[int, PromisesK()] = Field(default=3, ge=2, description="Smallest cluster.")
```

Values of marked fields are read here and nowhere else; `Method` asks for them by what they mean.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, UnionType
from typing import Annotated, Union, get_args, get_origin

from pydantic import BaseModel

from maskwright.foundation.yaml_models import former_names


@dataclass(frozen=True)
class ParameterMarker:
    """What the markers of parameters have in common: each but those of `SEVERAL` stands on at most one field."""


class PromisesK(ParameterMarker):
    """The smallest size of a cluster that the method promises; where the parameter is None, nothing is promised.

    With `KeyVariables` it is the smallest class of published records that are equal on the keys.

    Examples
    --------
    >>> from typing import Annotated
    >>> from pydantic import BaseModel, Field
    >>> from maskwright import PromisesK
    >>> class Params(BaseModel, extra="forbid", frozen=True):
    ...     k: Annotated[int, PromisesK()] = Field(default=3, ge=2, description="Smallest cluster.")
    """


class KeyVariables(ParameterMarker):
    """Names of key variables. They are masked too, whatever their type, and the method has no representatives.

    Where the parameter is empty, they are the step's quasi-identifiers or, if it has none, all its variables.

    Examples
    --------
    >>> from typing import Annotated
    >>> from pydantic import BaseModel
    >>> from maskwright import KeyVariables
    >>> class Params(BaseModel, extra="forbid", frozen=True):
    ...     keys: Annotated[tuple[str, ...], KeyVariables()] = ()
    """


class DependentVariables(ParameterMarker):
    """Names of the variables to mask, or a mapping by name; where it is empty, the step's variables are masked.

    Several fields may bear it.

    Examples
    --------
    >>> from typing import Annotated
    >>> from pydantic import BaseModel
    >>> from maskwright import DependentVariables
    >>> class Params(BaseModel, extra="forbid", frozen=True):
    ...     dependent: Annotated[tuple[str, ...], DependentVariables()] = ()
    """


class IndependentVariables(ParameterMarker):
    """Names of numeric variables that the method reads and leaves as they are: it finds them in `Block.companions`.

    Examples
    --------
    >>> from typing import Annotated
    >>> from pydantic import BaseModel
    >>> from maskwright import IndependentVariables
    >>> class Params(BaseModel, extra="forbid", frozen=True):
    ...     independent: Annotated[tuple[str, ...], IndependentVariables()] = ()
    """


class CompanionVariables(ParameterMarker):
    """Names of variables of any type that the method reads and leaves as they are.

    They are in a list, in lists of lists, or the keys of a mapping. The method finds them in `Block.companions`,
    categories as codes, and what they are in `Block.companion_variables`. Several fields may bear it.

    Examples
    --------
    >>> from typing import Annotated
    >>> from pydantic import BaseModel
    >>> from maskwright import CompanionVariables
    >>> class Params(BaseModel, extra="forbid", frozen=True):
    ...     within: Annotated[tuple[str, ...], CompanionVariables()] = ()
    """


class UsesWeights(ParameterMarker):
    """Whether representatives are made with the sampling weights of the block.

    Examples
    --------
    >>> from typing import Annotated
    >>> from pydantic import BaseModel
    >>> from maskwright import UsesWeights
    >>> class Params(BaseModel, extra="forbid", frozen=True):
    ...     weighted: Annotated[bool, UsesWeights()] = False
    """


class NamesPartition(ParameterMarker):
    """The name of a partition plugin, or ``{name: {its parameters}}``.

    The pipeline checks the name and the parameters; `maskwright.find_partition` gives the plugin.

    Examples
    --------
    >>> from typing import Annotated, Any
    >>> from pydantic import BaseModel
    >>> from maskwright import NamesPartition
    >>> class Params(BaseModel, extra="forbid", frozen=True):
    ...     partition: Annotated[str | dict[str, dict[str, Any]], NamesPartition()] = "mdav"
    """


@dataclass(frozen=True)
class NamesVariables(ParameterMarker):
    """Names of variables of the data: in a list, in lists of lists, or as the keys of a mapping.

    The pipeline checks them against the file, with their place and the nearest name. Several fields may bear it, of
    measures and of methods; in a measure, a variable named so has to be in the masked file.

    Attributes
    ----------
    in_values : bool
        Whether they are in the lists that are the values of a mapping, and not its keys.

    Examples
    --------
    >>> from typing import Annotated
    >>> from pydantic import BaseModel
    >>> from maskwright import NamesVariables
    >>> class Params(BaseModel, extra="forbid", frozen=True):
    ...     keys: Annotated[list[str] | None, NamesVariables()] = None
    """

    in_values: bool = False


class NamesFile(ParameterMarker):
    """A file to read, relative to the pipeline file. The method or measure gets its absolute path.

    Examples
    --------
    >>> from pathlib import Path
    >>> from typing import Annotated
    >>> from pydantic import BaseModel
    >>> from maskwright import NamesFile
    >>> class Params(BaseModel, extra="forbid", frozen=True):
    ...     population: Annotated[Path | None, NamesFile()] = None
    """


@dataclass(frozen=True)
class PublishedIf(ParameterMarker):
    """A parameter that goes into the public record, the codebook and ``about.json`` only where a switch says so.

    Several fields may bear it.

    Attributes
    ----------
    switch : str
        Name of a parameter of the same model, true or false.

    Examples
    --------
    >>> from typing import Annotated
    >>> from pydantic import BaseModel
    >>> from maskwright import PublishedIf
    >>> class Params(BaseModel, extra="forbid", frozen=True):
    ...     chance: Annotated[float, PublishedIf("publish_chance")] = 0.8
    ...     publish_chance: bool = False
    """

    switch: str


def unpublished_fields(params: BaseModel) -> tuple[str, ...]:
    """Names of the parameters whose values are kept from the public."""
    marks = [(name, mark) for name, mark in _marks(type(params)) if isinstance(mark, PublishedIf)]
    return tuple(name for name, mark in marks if not getattr(params, mark.switch))


def naming_fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Names of the fields whose values name variables."""
    return _fields_with(model, *NAMING)


def named_in_values(model: type[BaseModel], field: str) -> bool:
    """Whether a field's mapping has the names of variables in its values, not as its keys."""
    return any(name == field and isinstance(mark, NamesVariables) and mark.in_values for name, mark in _marks(model))


def variables_named(params: BaseModel) -> Iterator[str]:
    """Names of variables that the values of parameters give; a word alone is none."""
    for field in naming_fields(type(params)):
        value = getattr(params, field)
        if isinstance(value, Mapping) and named_in_values(type(params), field):
            value = list(value.values())
        if not isinstance(value, str):
            yield from _flat(value)


def without_variables(params: BaseModel, names: Collection[str]) -> BaseModel:
    """Copy whose lists and mappings of variables have none of these."""
    changed: dict[str, object] = {}
    for field in naming_fields(type(params)):
        value = getattr(params, field)
        if isinstance(value, Mapping) and named_in_values(type(params), field):
            left = {each: _left(listed, names) for each, listed in value.items()}
            changed[field] = {each: listed for each, listed in left.items() if listed}
        elif not isinstance(value, str):
            changed[field] = _left(value, names)
    return params.model_copy(update=changed)


def _left(value: object, names: Collection[str]) -> object:
    if isinstance(value, Mapping):
        return {name: each for name, each in value.items() if name not in names}
    if isinstance(value, (tuple, list)):
        return type(value)(each for each in value if not isinstance(each, str) or each not in names)
    return value


def files_named(params: BaseModel) -> dict[str, Path]:
    """The files that parameters name, by field."""
    named = {name: getattr(params, name) for name in file_fields(type(params))}
    return {name: path for name, path in named.items() if path is not None}


def file_fields(model: type[BaseModel]) -> tuple[str, ...]:
    """Names of the fields whose values name files."""
    return _fields_with(model, NamesFile)


def marked_field(model: type[BaseModel], marker: type[ParameterMarker]) -> str | None:
    """Name of the field that bears a marker; None where none does."""
    return _marked_fields(model).get(marker)


def marked_value(params: BaseModel, marker: type[ParameterMarker]) -> object:
    """Value of the field that bears a marker; None where none does."""
    name = marked_field(type(params), marker)
    return None if name is None else getattr(params, name)


def marked_names(params: BaseModel, marker: type[ParameterMarker]) -> tuple[str, ...]:
    """Names in all fields that bear a marker, each once: of lists, of lists of lists, and the keys of mappings."""
    fields = _fields_with(type(params), marker)
    return tuple(dict.fromkeys(name for field in fields for name in _flat(getattr(params, field))))


def _fields_with(model: type[BaseModel], *markers: type[ParameterMarker]) -> tuple[str, ...]:
    """Names of the fields that bear one of some markers."""
    return tuple(dict.fromkeys(name for name, mark in _marks(model) if isinstance(mark, markers)))


def _flat(names: object) -> Iterator[str]:
    if isinstance(names, str):
        yield names
    elif isinstance(names, (tuple, list, Mapping)):
        for each in names:
            yield from _flat(each)


@functools.cache
def _marked_fields(model: type[BaseModel]) -> Mapping[type[ParameterMarker], str]:
    return MappingProxyType({type(mark): name for name, mark in _marks(model)})


def _marks(model: type[BaseModel]) -> Iterator[tuple[str, ParameterMarker]]:
    for name, field in model.model_fields.items():
        yield from ((name, mark) for mark in field.metadata if isinstance(mark, ParameterMarker))


def marking_error(model: type[BaseModel], *, of_method: bool) -> str | None:
    """Say in one sentence what is wrong with the markers of a parameter model, or return None.

    `of_method`: whether it is a method's: others have nothing to mark but `Formerly`, `NamesVariables` and `NamesFile`.
    """
    for old, new in former_names(model).items():
        if old in model.model_fields:
            return f"parameter {new!r} cannot be Formerly({old!r}), which is a parameter too"
    seen: dict[type[ParameterMarker], str] = {}
    for name, mark in _marks(model):
        kind = type(mark)
        if not of_method and kind not in (NamesVariables, NamesFile):
            return f"parameter {name!r} is marked {kind.__name__}, which means something in methods only"
        if kind in seen and kind not in SEVERAL:
            return f"{kind.__name__} marks both {seen[kind]!r} and {name!r}; there can be one"
        seen[kind] = name
        switches = {field for field, info in model.model_fields.items() if info.annotation is bool}
        if isinstance(mark, PublishedIf) and mark.switch not in switches:
            return f"parameter {name!r} is PublishedIf({mark.switch!r}), which is no parameter that is true or false"
        fits, wanted = _TYPES[kind]
        fitting = [fits(each) for each in _alternatives(model.model_fields[name].annotation)]
        # Beside names there may be a number of variables, or a word for some of them.
        if not (any(fitting) if kind in (NamesVariables, CompanionVariables) else all(fitting)):
            return f"parameter {name!r} is marked {kind.__name__}, so its type must be {wanted}"
    return _unseen_marker(model)


def _unseen_marker(model: type[BaseModel]) -> str | None:
    """A marker that is not that of a field: a class instead of an instance, or inside a type."""
    for name, field in model.model_fields.items():
        bare = [each for each in field.metadata if isinstance(each, type) and issubclass(each, ParameterMarker)]
        if bare:
            return f"parameter {name!r}: write {bare[0].__name__}(), not {bare[0].__name__}"
        inner = next(_inner_markers(field.annotation), None)
        if inner is not None:
            return f"parameter {name!r}: put {type(inner).__name__}() around its whole type, not inside"
    return None


def _inner_markers(annotation: object) -> Iterator[ParameterMarker]:
    for argument in get_args(annotation):
        if isinstance(argument, ParameterMarker):
            yield argument
        yield from _inner_markers(argument)


def _alternatives(annotation: object) -> tuple[object, ...]:
    """Types of a union without None; metadata are left out."""
    if get_origin(annotation) is Annotated:
        return _alternatives(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return tuple(each for branch in get_args(annotation) for each in _alternatives(branch))
    return () if annotation is type(None) else (annotation,)


def _is_names(kind: object) -> bool:
    return get_origin(kind) in (tuple, list, Sequence) and get_args(kind)[0] is str


def _is_names_of_variables(kind: object) -> bool:
    listed = get_args(kind)[:1] if get_origin(kind) in (tuple, list, Sequence) else ()
    return _is_mapping(kind) or any(each is str or _is_names(each) for one in listed for each in _alternatives(one))


def _is_mapping(kind: object) -> bool:
    return get_origin(kind) in (dict, Mapping) and get_args(kind)[0] is str


_NAMES = "tuple[str, ...] or list[str]"
_TYPES: Mapping[type[ParameterMarker], tuple[Callable[[object], bool], str]] = {
    PromisesK: (lambda kind: kind is int, "int or int | None"),
    KeyVariables: (_is_names, _NAMES),
    DependentVariables: (lambda kind: _is_names(kind) or _is_mapping(kind), f"{_NAMES}, or a dict by name"),
    IndependentVariables: (_is_names, _NAMES),
    CompanionVariables: (
        lambda kind: _is_names_of_variables(kind) or _is_mapping(kind),
        f"{_NAMES}, a list of such lists, or a dict by name",
    ),
    UsesWeights: (lambda kind: kind is bool, "bool"),
    NamesPartition: (
        lambda kind: kind is str or _is_mapping(kind) or (isinstance(kind, type) and issubclass(kind, BaseModel)),
        "str, or str | dict[str, dict[str, Any]]",
    ),
    NamesFile: (lambda kind: kind is Path, "Path or Path | None"),
    NamesVariables: (_is_names_of_variables, f"{_NAMES}, a list of such lists, or a dict by name"),
    PublishedIf: (lambda _: True, "any"),
}
"""What the types in the union of a marked field may be, None aside, and how that is said."""

NAMING = (KeyVariables, DependentVariables, IndependentVariables, CompanionVariables, NamesVariables)
"""Markers of fields whose values name variables."""

SEVERAL = (DependentVariables, CompanionVariables, NamesVariables, NamesFile, PublishedIf)
"""Markers that several fields of one model may bear."""
