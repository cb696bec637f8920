"""Variables that leave as they are: each is declared so, or it is a doubt."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from maskwright.data.variable import Variable

PROTECTED = ("quasi_identifier", "confidential")
"""Roles that say that a variable has to be masked."""


def unmasked_doubts(untouched: Iterable[Variable]) -> Iterator[Doubt]:
    """Doubts about variables that no step masks and nothing declares to be published as they are.

    Parameters
    ----------
    untouched : iterable of Variable
        That no step masks, identifiers left out.
    """
    for variable in untouched:
        if variable.as_is:
            continue
        if variable.role in PROTECTED:
            why = "a number is confidential unless it is declared otherwise" if variable.inferred_role else "declared"
            yield Doubt("not-masked", variable.name, f"its role is {variable.role} ({why}), and no step masks it")
        elif variable.inferred_role:
            yield Doubt("published-undeclared", variable.name, "no step masks it, and it has no declared role")
