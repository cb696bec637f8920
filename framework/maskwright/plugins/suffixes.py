"""Which plugin a file belongs to by its ending: a built-in one first, and no guess where two packages claim it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

KindWithEndings = Literal["source", "edit_reader", "rule_writer"]
"""Kinds of plugins that claim endings of file names."""


class WithEndings(Protocol):
    """A source or an edit reader, as far as file names matter."""

    @property
    def name(self) -> str:
        """What the pipeline calls it."""
        ...

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Endings that it claims."""
        ...


@dataclass(frozen=True)
class Claim:
    """A plugin that claims an ending."""

    plugin: str
    suffix: str
    package: str
    is_built_in: bool


def claims_of(file: str, offered: Iterable[WithEndings], packages: Mapping[str, str], built_in: str) -> list[Claim]:
    """Who claims a file, the one that gets it first: built-in plugins, then the longest ending.

    `built_in`: the package of built-in plugins.
    """
    name = file.lower()
    found = [
        Claim(each.name, suffix, packages[each.name], packages[each.name] == built_in)
        for each in offered
        for suffix in sorted(each.suffixes, key=len, reverse=True)
        if name.endswith(suffix)
    ]
    first: dict[str, Claim] = {}
    for claim in found:
        first.setdefault(claim.plugin, claim)
    return sorted(first.values(), key=lambda each: (not each.is_built_in, -len(each.suffix), each.plugin))


def rivals(claims: Sequence[Claim]) -> list[Claim]:
    """Claims of the same rank as the first: none of them can be preferred without a guess."""
    if not claims or claims[0].is_built_in:
        return []
    same = [each for each in claims if len(each.suffix) == len(claims[0].suffix)]
    return same if len(same) > 1 else []


def conflicts_of(
    plugin: WithEndings, offered: Sequence[WithEndings], packages: Mapping[str, str], built_in: str, kind: str
) -> Iterator[str]:
    """Sentences about endings that a plugin claims and others have."""
    if packages[plugin.name] == built_in:
        return
    for suffix in plugin.suffixes:
        claims = claims_of(f"x{suffix}", offered, packages, built_in)
        if claims[0].is_built_in:
            yield f"{suffix} belongs to the built-in {claims[0].plugin}; used only by {said_by_name(kind, plugin.name)}"
        elif rivals(claims):
            others = " and ".join(f"{each.plugin} of {each.package}" for each in claims if each.plugin != plugin.name)
            yield f"{suffix} is claimed by {others} too; say {said_by_name(kind, plugin.name)}"


def said_by_name(kind: str, name: str) -> str:
    """How a pipeline chooses a plugin by its name, whatever the file is called."""
    if kind == "rule_writer":
        return f"`maskwright edits --to {name}`"
    return f"`format: {name}`" if kind == "source" else f"`- {name}: FILE`"
