"""What every part of the run record shares: how it becomes plain data, and which of its fields may be published.

A field is confidential unless its type says ``Public[...]`` or carries a `Publication`: a field that nobody marked
never leaves. The public record is made from these marks alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue
    from pydantic_core import CoreSchema

T = TypeVar("T")


@dataclass(frozen=True)
class Publication:
    """Marks a field that may be published with the data, and says how it stands in the public record.

    `name`: its key, where that is another than in the run record. `shown`: what is published instead of the value.
    `opened`: whether the public fields of this part stand in its place. `first`: whether it stands before the fields of
    the same part that are not marked so.
    """

    name: str | None = None
    shown: Callable[[Any], object] | None = None
    opened: bool = False
    first: bool = False

    def __get_pydantic_json_schema__(self, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Say so in the JSON Schema too."""
        return {**handler(core), "public": True}


Public = Annotated[T, Publication()]
"""Type of a field that may be published as it is."""


class RecordPart(BaseModel):
    """A part of the run record. A field with a default is one that some records do not have."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @property
    def may_be_published(self) -> bool:
        """Whether anything of this part may be published; its fields say what."""
        return True

    def to_json(self) -> dict[str, Any]:
        """Plain data, as in `run.json`; without the fields that were not given."""
        return {name: _plain(value) for name, value in self.model_dump(exclude_unset=True).items()}

    def public_json(self) -> dict[str, Any]:
        """Plain data with what may be published, by the marks of the fields."""
        found: dict[str, Any] = {}
        for name, mark in sorted(publications(type(self)), key=lambda field: not field[1].first):
            value = getattr(self, name)
            if mark.opened:
                found |= value.public_json()
            else:
                found[mark.name or name] = _published(value if mark.shown is None else mark.shown(value))
        return found


def publications(part: type[RecordPart]) -> Iterator[tuple[str, Publication]]:
    """Fields of a part that may be published, in order, with their marks."""
    for name, field in part.model_fields.items():
        yield from ((name, mark) for mark in field.metadata if isinstance(mark, Publication))


def _published(value: object) -> object:
    if isinstance(value, RecordPart):
        return value.public_json()
    if isinstance(value, Mapping):
        return {key: _published(each) for key, each in value.items() if _may_be_published(each)}
    if isinstance(value, list | tuple):
        return [_published(each) for each in value if _may_be_published(each)]
    return value


def _may_be_published(value: object) -> bool:
    return not isinstance(value, RecordPart) or value.may_be_published


def _plain(value: object) -> object:
    """Lists for tuples, as JSON has them."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    return [_plain(each) for each in value] if isinstance(value, list | tuple) else value
