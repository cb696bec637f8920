"""What a value may be, in words, from its JSON Schema."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

HERE = "#/$defs/"

_NAMES = {"integer": "whole number", "number": "number", "string": "text", "boolean": "true or false", "null": "null"}
_BOUNDS = {
    "minimum": "at least", "exclusiveMinimum": "above", "maximum": "at most", "exclusiveMaximum": "below",
}  # fmt: skip


def in_words(schema: Schema, definitions: Schema) -> str:
    """Type of a value: ``whole number, at least 2``.

    Parameters
    ----------
    schema : dict
        JSON Schema of the value.
    definitions : dict
        What its ``$ref`` may name.
    """
    schema = resolved(schema, definitions)
    if "const" in schema:
        return _value(schema["const"])
    if "enum" in schema:
        return " or ".join(map(_value, schema["enum"]))
    either: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
    variants = [each for each in either if each.get("type") != "null"]
    if variants:
        return " or ".join(dict.fromkeys(in_words(each, definitions) for each in variants))
    named: str | list[str] = schema.get("type") or "anything"
    if named in ("array", "object"):
        return _of_several(schema, definitions)
    if isinstance(named, list):
        return " or ".join(_NAMES.get(each, each) for each in named if each != "null")
    return ", ".join(
        [_NAMES.get(named, named), *(f"{said} {schema[key]}" for key, said in _BOUNDS.items() if key in schema)]
    )


def _of_several(schema: Schema, definitions: Schema) -> str:
    inside = schema.get("items" if schema["type"] == "array" else "additionalProperties")
    if schema.get("properties") or not isinstance(inside, dict) or not inside:
        return "list" if schema["type"] == "array" else "mapping"
    words = in_words(inside, definitions)
    return f"list of {_several(words)}" if schema["type"] == "array" else f"mapping of name to {words}"


def resolved(schema: Schema, definitions: Schema) -> Schema:
    """The schema that a ``$ref`` leads to, with what is said beside it."""
    while "$ref" in schema:
        name = str(schema["$ref"])
        # What another schema defines is not looked up: it has a page of its own.
        defined = definitions[name.removeprefix(HERE)] if name.startswith(HERE) else {}
        schema = {**defined, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def default_in_words(schema: Schema, *, required: bool) -> str:
    """``required``, ``default 3``, or that nothing stands in its place."""
    if required:
        return "required"
    default = schema.get("default")
    return "may be left out" if default in (None, [], {}, "") else f"default `{_plain(default)}`"


def _value(value: object) -> str:
    return f"`{_plain(value)}`"


def _plain(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_plain(each) for each in value)}]"
    return str(value)


def _several(words: str) -> str:
    head, comma, rest = words.partition(",")
    for one, many in (("whole number", "whole numbers"), ("number", "numbers"), ("text", "texts")):
        if head == one:
            return many + comma + rest
    return f"({words})" if " or " in words else words
