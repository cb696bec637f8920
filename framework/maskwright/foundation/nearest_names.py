"""Sentences about a name that does not exist, with those that look most like it."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

VERY_NEAR = 0.8
"""Likeness above which an unknown name is a slip rather than a part of another."""

MOST_SIMILAR = 4
SHORTEST_WORD = 3


def nearest_name(name: str, valid: Iterable[str]) -> str | None:
    """Return the valid name that looks most like `name`, or None when none is close."""
    names = sorted(valid)
    lowered = {candidate.lower(): candidate for candidate in names}
    if name.lower() in lowered:
        return lowered[name.lower()]
    found = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    if found:
        return found[0]
    # Rules and measures say household.income; a variable is called income wherever else it is named.
    after_level = name.rpartition(".")[2]
    return after_level if after_level in names else None


def unknown_name(kind: str, name: str, valid: Iterable[str]) -> str:
    """Sentence for an unknown name, with the nearest valid one: ``no method called 'noize'; did you mean 'noise'?``."""
    names = sorted(valid)
    alike = _with_same_parts(name, names)
    begun = any(each.lower().startswith(f"{name.lower()}_") for each in alike)
    if alike and (begun or not difflib.get_close_matches(name, names, n=1, cutoff=VERY_NEAR)):
        listed = " or ".join(filter(None, [", ".join(map(repr, alike[:-1])), repr(alike[-1])]))
        return f"no {kind} called {name!r}; did you mean {listed}?"
    nearest = nearest_name(name, names)
    if nearest is not None:
        return f"no {kind} called {name!r}; did you mean {nearest!r}?"
    if not names:
        return f"no {kind} called {name!r} (there are none)"
    shown = ", ".join(names[:12]) + (f", ... ({len(names)} in all)" if len(names) > 12 else "")
    return f"no {kind} called {name!r}; there are: {shown}"


def _with_same_parts(name: str, names: Iterable[str]) -> list[str]:
    """Names that have all the words of another and more: 'additive_noise' for 'noise'; none where there are many."""
    words = set(re.split(r"[^a-z0-9]+", name.lower()))
    found = [each for each in names if words <= set(re.split(r"[^a-z0-9]+", each.lower()))]
    return found if len(found) <= MOST_SIMILAR and all(len(word) >= SHORTEST_WORD for word in words) else []
