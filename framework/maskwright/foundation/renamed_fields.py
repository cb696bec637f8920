"""Fields that had another name: the old one is refused, and the new one told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.foundation.errors import Place, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pydantic import BaseModel


@dataclass(frozen=True)
class Formerly:
    """Marker of a field that had another name: who still uses that one, in a file or in a call, is told the new one.

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
    """Problem for a name that no field of a model has: its new name, or the nearest one.

    `kind`: what fields of the model are called: ``parameter``, ``key``. `also`: further names that would have been
    right. `hint`: what to do where the field was not renamed.
    """
    new = None if model is None else former_names(model).get(name)
    if new is not None:
        return Problem(f"no {kind} called {name!r}", place, f"It is now called {new!r}.")
    return Problem(unknown_name(kind, name, {*(model.model_fields if model is not None else ()), *also}), place, hint)
