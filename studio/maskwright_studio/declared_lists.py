"""One role or type for many variables: by a line of ``roles`` or ``types`` instead of one for each of them."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maskwright_studio.proposals import value_at

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright_studio.proposals import Operation

LISTS = {"role": "roles", "type": "types"}
"""Keys of the data section that say something of many variables, by what they say."""

FEWEST = 5
"""Variables that a pattern stands for at least; fewer are named."""


def is_listed(settings: Any, fact: str, name: str) -> bool:
    """Whether a list names a variable, and nothing that counts before it does."""
    return not _is_stated(settings, fact, name) and any(name in names for names in _lists(settings, fact).values())


def listed(
    settings: Any, fact: str, wanted: Mapping[str, str], every: Sequence[str]
) -> tuple[list[Operation], list[str]]:
    """Operations that give each of some variables a role or type, and what is to be said of them.

    `wanted`: role or type by name. `every`: variables of the data: a pattern stands for all that it matches. One that
    says so itself, below ``variables``, is changed there, since that counts before the lists.
    """
    before, key = _lists(settings, fact), LISTS[fact]
    stated = {name: value for name, value in wanted.items() if _is_stated(settings, fact, name)}
    operations: list[Operation] = [
        ["set", ["data", "variables", name, fact], value] for name, value in stated.items()
        if value_at(settings, ("data", "variables", name, fact)) != value
    ]  # fmt: skip
    rest = {name: value for name, value in wanted.items() if name not in stated}
    after = {value: [name for name in names if rest.get(name, value) == value] for value, names in before.items()}
    notes = []
    for value in dict.fromkeys(rest.values()):
        mine = after.setdefault(value, [])
        others = [name for each, names in after.items() if each != value for name in names]
        new = [
            name for name in rest if rest[name] == value
            and name not in mine and (not _matches(mine, name) or _matches(others, name))
        ]  # fmt: skip
        pattern = "" if any(_matches(others, name) for name in new) else _pattern(new, every)
        mine += [pattern] if pattern else new
        if pattern:
            later = "and for those of a later file that begin so"
            notes.append(f"{pattern} stands for these {len(new)} variables, {later}.")
    changed = [value for value, names in after.items() if names != before.get(value, [])]
    changed.sort(key=lambda value: len(after[value]) > len(before.get(value, [])))  # names go before they come
    return [*operations, *(["names", ["data", key, value], after[value]] for value in changed)], notes


def _lists(settings: Any, fact: str) -> dict[str, list[str]]:
    found = value_at(settings, ("data", LISTS[fact]))
    several = found.items() if isinstance(found, Mapping) else ()
    return {
        str(value): [str(name) for name in (names if isinstance(names, list) else [names])] for value, names in several
    }


def _is_stated(settings: Any, fact: str, name: str) -> bool:
    own = value_at(settings, ("data", "variables", name))
    return isinstance(own, Mapping) and fact in own


def _matches(listed: Sequence[str], name: str) -> bool:
    """Whether one of some patterns stands for a variable."""
    signs = {"*": ".*", "?": "."}
    patterns = [each for each in listed if "*" in each or "?" in each]
    return any(
        re.fullmatch("".join(signs.get(sign) or re.escape(sign) for sign in each), name, re.DOTALL) for each in patterns
    )


def _pattern(names: Sequence[str], every: Sequence[str]) -> str:
    """Beginning that these variables of the data have in common and no other one has, as a pattern; '' for none."""
    first, last = min(names, default=""), max(names, default="")
    begin = "".join(
        one for one, _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
    )
    if len(names) < FEWEST or not begin or "*" in begin or "?" in begin:
        return ""
    return f"{begin}*" if {name for name in every if name.startswith(begin)} == set(names) else ""
