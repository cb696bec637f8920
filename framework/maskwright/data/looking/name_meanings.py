"""What the name of a variable probably means, in the languages that offices write names in.

A name is cut into words (``HogarId``: hogar, id), which are looked for in the list beside this module. The first
meaning of the list that a name has is its own, so that the income of a household is no key.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

import yaml

Meaning = Literal[
    "household size", "birth", "weight", "identifier", "money", "age", "sex", "region", "occupation", "education",
    "nationality", "marital status", "industry", "household", "a person's name",
]  # fmt: skip

KEYS: tuple[Meaning, ...] = (
    "household size", "birth", "age", "sex", "region", "occupation", "education", "nationality", "marital status",
    "industry",
)  # fmt: skip
"""What others may know of a person or a firm: quasi-identifiers."""

NO_IDENTIFIER = ("paid", "valid", "covid", "grid", "bid", "void", "raid", "mid", "lid", "acid", "fluid", "rapid")
"""Endings of words that end with the letters of an identifier and are none."""

SIZES = frozenset({"size", "tamano", "taille", "grosse", "groesse", "dimensione"})


@dataclass(frozen=True)
class _Words:
    """Words of one meaning: as whole words, and as parts of words."""

    whole: frozenset[str]
    parts: tuple[str, ...]

    def are_in(self, words: tuple[str, ...]) -> bool:
        """Whether a name of these words has the meaning."""
        joined = "".join(words)
        return not self.whole.isdisjoint((*words, joined)) or any(part in joined for part in self.parts)


@functools.cache
def _listed() -> dict[Meaning, _Words]:
    text = files("maskwright.data.looking").joinpath("name_meanings.yaml").read_text(encoding="utf-8")
    return {
        meaning: _Words(frozenset(each["words"].split()), tuple(each["parts"].split()))
        for meaning, each in yaml.safe_load(text).items()
    }


def meaning_of(name: str) -> Meaning | None:
    """Return what a variable's name means; None where it says nothing."""
    words = _cut(name)
    found: list[Meaning] = [meaning for meaning, listed in _listed().items() if listed.are_in(words)]
    if "identifier" not in found and words and words[-1].endswith("id") and not words[-1].endswith(NO_IDENTIFIER):
        found.insert(0, "identifier")
    if "household" in found and not SIZES.isdisjoint(words):
        return "household size"
    if {"household", "identifier"} <= set(found):
        return "household"
    if {"birth", "region"} <= set(found):  # the country of birth
        return "nationality"
    if found[:1] == ["identifier"]:
        # The code of a region is a region.
        keys: list[Meaning] = [each for each in found if each in KEYS]
        return keys[0] if keys else "identifier"
    return found[0] if found else None


def _cut(name: str) -> tuple[str, ...]:
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss"))
    bare = "".join(character for character in plain if not unicodedata.combining(character))
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", bare)
    return tuple(re.findall(r"[a-z]+[0-9]*[a-z]?|[0-9]+", spaced.lower()))
