"""Variables that leave as they are: each is declared so, or it is a doubt; also those that a step names in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.data.undeclared_dates import date_remedy
from maskwright.foundation.doubts import DOUBT_KINDS, Doubt
from maskwright.planning.model import key_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.planning.model import Group, Step

PROTECTED = ("quasi_identifier", "confidential")
"""Roles that say that a variable has to be masked."""


def unmasked_doubts(untouched: Iterable[Variable], labels: Mapping[str, str]) -> Iterator[Doubt]:
    """Doubts about variables that no step masks and nothing declares to be published as they are.

    `untouched`: that no step masks, identifiers left out. `labels`: those that say the same as a variable of which a
    step suppresses cells.
    """
    for variable in untouched:
        if variable.as_is or variable.renewed:
            continue
        if variable.role in PROTECTED:
            why = "a number is confidential unless it is declared otherwise" if variable.inferred_role else "declared"
            hint = _label_hint(variable.name, labels)
            message = f"its role is {variable.role} ({why}), and no step masks it"
            yield Doubt("not-masked", variable.name, message, hint=hint)
        elif variable.inferred_role:
            remedy = date_remedy(variable.name, variable.categories)
            hint = None if remedy is None else f"{remedy} {DOUBT_KINDS['published-undeclared'].remedy}"
            yield Doubt(
                "published-undeclared", variable.name, "no step masks it, and it has no declared role", hint=hint
            )


def _label_hint(name: str, labels: Mapping[str, str]) -> str | None:
    if name not in labels:
        return None
    return (
        f"It says the same as {labels[name]}, and is emptied wherever that is: declare `{name}: {{role: other}}`, and "
        "name it in no step."
    )


def unused_key_doubts(
    groups: Sequence[Group], steps: Sequence[Step], known: Mapping[str, Variable], labels: Mapping[str, str]
) -> Iterator[Doubt]:
    """Doubts about variables that a step names and does nothing for: it looks at its keys, and they are none.

    `known`: all variables of the file. `labels`: those that say the same as a variable of which a step suppresses
    cells.
    """
    for group in groups:
        step = steps[group.step - 1]
        keys = key_names(step, [known[name] for name in group.variables])
        for name in (step.variables or ()) if keys else ():
            if name not in keys and not known[name].as_is:
                message = (
                    f"step {group.step} ({step.method.name}) looks at its keys ({', '.join(keys)}), and it is none"
                )
                hint = _label_hint(name, labels) or "Name it in `keys`, or leave it out of the step."
                yield Doubt("step-changed-nothing", name, message, place=step.place, hint=hint)
