"""Values as unambiguous YAML: in one line, or as lines of a block."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import yaml

from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Sequence

SHORT = 80
"""Characters of a list or mapping that is written in one line."""

_PLAIN = re.compile(r"[^\W\d](?:[\w .+*/()<>=^~|$;!%'\"-]*[\w.+*/()<>=^~|$;!%'\"-])?")
_WORDS = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def scalar(value: object, quote: str = "") -> str:
    """A single value in one line."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        if not math.isfinite(value):
            raise Refusal("a setting is a finite number")
        return repr(value)
    if not isinstance(value, str):
        raise TypeError(type(value).__name__)
    if any("\ud800" <= each <= "\udfff" for each in value):
        raise Refusal("half of a surrogate pair is no character")
    if not quote and _PLAIN.fullmatch(value) and value.isprintable() and value.lower() not in _WORDS:
        return value
    if quote != '"' and value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return yaml.safe_dump(value, default_style='"', width=math.inf, allow_unicode=True).removesuffix("\n")


def in_one_line(value: object, quote: str = "") -> str:
    """Any value in one line: lists in brackets, mappings in braces."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(key)}: {in_one_line(each)}" for key, each in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(in_one_line(each) for each in value) + "]"
    return scalar(value, quote)


def element(value: object) -> list[str]:
    """Lines of an element of a block list, its dash first."""
    lines = in_lines(value)
    return [f"- {lines[0]}", *(f"  {line}" for line in lines[1:])]


def pair(key: str, value: object) -> list[str]:
    """Lines of a key of a block mapping, with its value."""
    text = in_one_line(value)
    if _is_long(value, text):
        return [f"{scalar(key)}:", *(f"  {line}" for line in in_lines(value))]
    return [f"{scalar(key)}: {text}"]


def in_lines(value: object) -> list[str]:
    """Lines of any value: in one line where it is short."""
    if isinstance(value, Mapping) and value:
        return [line for key, each in value.items() for line in pair(str(key), each)]
    text = in_one_line(value)
    if isinstance(value, (list, tuple)) and _is_long(value, text):
        return [line for each in value for line in element(each)]
    return [text]


def _is_long(value: object, text: str) -> bool:
    if isinstance(value, (list, tuple)) and any(isinstance(each, Mapping) for each in _collections(value)):
        return True
    return bool(value) and isinstance(value, (Mapping, list, tuple)) and len(text) > SHORT


def _collections(value: Sequence[object]) -> list[object]:
    return [each for each in value if isinstance(each, (Mapping, list, tuple))]
