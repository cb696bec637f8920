"""Parameters of a model as a list: name, type, default, what it does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from _extension.markdown_text import as_markdown, code, defined
from _extension.value_types import default_in_words, in_words

if TYPE_CHECKING:
    from pydantic import BaseModel


def parameters(model: type[BaseModel]) -> str:
    """All parameters of a model, in its order; '' where it has none.

    Parameters
    ----------
    model : type of pydantic.BaseModel
    """
    schema = model.model_json_schema(by_alias=True)
    definitions = schema.get("$defs", {})
    required = set(schema.get("required", ()))
    entries = [
        defined(
            f"{code(name)} — {in_words(each, definitions)}; {default_in_words(each, required=name in required)}",
            as_markdown(each.get("description", "")) or "\\",
        )
        for name, each in schema.get("properties", {}).items()
    ]
    return "\n".join(entries)
