"""Parameters of plugins from plain values, with mistakes said for people."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pydantic import ValidationError

from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.renamed_fields import unknown_field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import BaseModel


def checked_params(
    model: type[BaseModel], values: Mapping[str, object], what: str, also: Mapping[str, object] | None = None
) -> BaseModel:
    """Parameters of a plugin from plain values.

    Parameters
    ----------
    model : type of pydantic.BaseModel
    values : mapping of str to object
        As a call states them.
    what : str
        What they are, for messages: ``parameters of noise``.
    also : mapping of str to object, optional
        Further names that would have been right, such as those of the planner.

    Raises
    ------
    InputError
        With every mistake: an unknown name with the nearest one, or the new one where it was renamed.
    """
    try:
        return model.model_validate(dict(values))
    except ValidationError as error:
        problems: list[Problem] = []
        for each in error.errors(include_input=False, include_url=False):
            name = ".".join(str(part) for part in each["loc"])
            if each["type"] == "extra_forbidden":
                problem = unknown_field("parameter", name, model, also=also or ())
                problems.append(replace(problem, message=f"{what}: {problem.message}"))
            else:
                problems.append(Problem(f"{what}: {name}: {each['msg'][:1].lower()}{each['msg'][1:]}"))
        raise InputError(problems) from None
