"""Fields of a form, made from the JSON Schema of the pipeline: what plugins add is in it too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import maskwright as mw
from maskwright_studio.pipeline_text.written_values import in_one_line
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable

    Path = tuple[str | int, ...]

Kind = Literal["choice", "integer", "number", "text", "names", "yaml"]

LEFT_OUT = object()
"""Of a field that is empty: the setting is not in the file, and its default holds."""


@dataclass(frozen=True)
class FormField:
    """One setting as a form shows it.

    `kind`: how it is typed: one of some choices, a number, a text, names with commas, or any value as YAML. `written`:
    what the field shows at first; '' where the setting is left out. `default`: what holds where it is left out; ''
    where nothing is said. `choices`: to choose from; of a field of any value, names that it may be. `bounds`: sentence
    about the least and the largest number; '' for none.
    """

    path: Path
    kind: Kind
    written: str
    help: str
    default: str = ""
    choices: tuple[str, ...] = ()
    bounds: str = ""
    required: bool = False

    @property
    def name(self) -> str:
        """In the form: unlike that of any other setting."""
        return "/".join(map(str, self.path))

    @property
    def label(self) -> str:
        """Its key."""
        return str(self.path[-1])

    def value(self, typed: str) -> object:
        """Plain value of what was typed; `LEFT_OUT` for nothing."""
        typed = typed.strip()
        if not typed:
            return LEFT_OUT
        if self.kind == "text":
            return typed
        if self.kind == "names":
            typed = f"[{typed}]" if not typed.startswith("[") else typed
        try:
            found: object = mw.read_settings(typed)
        except mw.InputError as error:
            raise Refusal(f"{self.label}: {error.problems[0].sentence}", error.problems[0].hint or "") from None
        if self.kind in ("integer", "number") and (isinstance(found, bool) or not isinstance(found, (int, float))):
            raise Refusal(f"{self.label}: expected a number")
        return found


def fields(schema: Mapping[str, Any], model: Mapping[str, Any], path: Path, settings: object) -> list[FormField]:
    """Fields of the settings that a model describes."""
    now = settings if isinstance(settings, Mapping) else {}
    required = model.get("required", ())
    found = []
    for name, described in model.get("properties", {}).items():
        found.append(_field((*path, name), _plain(schema, described), now, required=name in required))
    return found


def method_models(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Models of the parameters of each method."""
    step = schema["properties"]["protect"]["items"]
    return {
        each["if"]["properties"]["method"]["const"]: _plain(schema, each["then"]["properties"]["params"])
        for each in step["allOf"]
    }


def measure_models(schema: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Models of the parameters of each measure; what they say of it stands in ``summary``."""
    choices = schema["properties"]["measure"]["items"]["anyOf"]
    return {
        name: {**model, "summary": each.get("description", "")}
        for each in choices
        for name, model in each.get("properties", {}).items()
    }


def _plain(schema: Mapping[str, Any], described: Mapping[str, Any]) -> Mapping[str, Any]:
    """Follow references, and take the one choice of those that are not nothing."""
    while True:
        if "$ref" in described:
            named = schema["$defs"][described["$ref"].removeprefix("#/$defs/")]
            described = {**named, **{key: each for key, each in described.items() if key != "$ref"}}
        elif "anyOf" in described:
            choices = [each for each in described["anyOf"] if each != {"type": "null"}]
            if len(choices) != 1:
                return described
            rest = {key: each for key, each in described.items() if key != "anyOf"}
            described = {**choices[0], **rest}
        else:
            return described


def _field(path: Path, described: Mapping[str, Any], now: Mapping[str, Any], *, required: bool) -> FormField:
    kind, choices = _kind(described)
    name = str(path[-1])
    value = now.get(name)
    default = described.get("default")
    return FormField(
        path, kind, _written(value, kind) if name in now else "", described.get("description", ""),
        default="" if default is None else _written(default, kind), choices=choices,
        bounds=_bounds(described), required=required,
    )  # fmt: skip


def _kind(described: Mapping[str, Any]) -> tuple[Kind, tuple[str, ...]]:
    if "enum" in described:
        return "choice", tuple(in_one_line(each) for each in described["enum"])
    if described.get("type") == "boolean":
        return "choice", ("true", "false")
    if described.get("type") == "array" and described.get("items", {}).get("type") == "string":
        return "names", ()
    named = (choice for each in described.get("anyOf", ()) for choice in each.get("enum", ()))
    if "anyOf" in described:
        return "yaml", tuple(map(in_one_line, named))
    single: dict[str, Kind] = {"integer": "integer", "number": "number", "string": "text"}
    return single.get(described.get("type", ""), "yaml"), ()


def _bounds(described: Mapping[str, Any]) -> str:
    limits = (
        ("minimum", "at least"),
        ("exclusiveMinimum", "more than"),
        ("maximum", "at most"),
        ("exclusiveMaximum", "less than"),
    )
    found = [f"{words} {described[key]}" for key, words in limits if abs(described.get(key, 2**63)) < 2**63]
    text = " and ".join(found)
    return f"{text[:1].upper()}{text[1:]}." if text else ""


def _written(value: object, kind: Kind) -> str:
    if kind == "text" and isinstance(value, str):
        return value
    text = in_one_line(value)
    return text[1:-1] if kind == "names" and isinstance(value, (list, tuple)) else text


def changed_fields(shown: Iterable[FormField], form: Mapping[str, object]) -> list[tuple[FormField, object]]:
    """Fields that say something else than the file, with their new values."""
    found = []
    for each in shown:
        typed = form.get(each.name)
        if isinstance(typed, str) and typed.strip() != each.written.strip():
            found.append((each, each.value(typed)))
    return found
