"""Parameters of anything that ``maskwright explain`` tells of, from their model."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from pydantic_core import PydanticUndefined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pydantic import BaseModel

WIDTH = 100


def parameters(model: type[BaseModel], names: Sequence[str] | None = None) -> list[str]:
    """Lines on the parameters of a model: name, default, what it is."""
    lines: list[str] = []
    for name, field in model.model_fields.items():
        if names is not None and name not in names:
            continue
        default = "required" if field.is_required() else f"default {_shown(field.get_default())}"
        lines.append(f"  {field.alias or name} ({default})")
        lines += textwrap.wrap(field.description or "", WIDTH - 6, initial_indent="      ", subsequent_indent="      ")
    return lines


def _shown(value: object) -> str:
    return "none" if value is None or value is PydanticUndefined else str(value)
