"""Warnings before publishing: labels of suppressed codes, unmasked variables, suspicious and undecided edits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import CERTAINTY, ValueCodes
from maskwright.data.notations import date_remedy
from maskwright.data.record_groups import published_classes
from maskwright.edits.edit import GoverningPart, LinearPart, Part, PolynomialPart, ProductPart, RangePart
from maskwright.foundation.counts import plural
from maskwright.foundation.doubts import DOUBT_KINDS, Doubt
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.findings import Notice
from maskwright.planning.model import Group, Step, key_names, with_steps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit_set import EditSet
    from maskwright.edits.evaluation.check import Outcome
    from maskwright.foundation.arrays import Integers
    from maskwright.planning.plan import Plan


def labels_of_suppressed(
    names: Iterable[str],
    groups: Sequence[Group],
    steps: Sequence[Step],
    known: Mapping[str, Variable],
    data: Dataset | None,
) -> dict[str, str]:
    """Variables that have one value for each value of a key of a step that suppresses cells, and vice versa."""
    if data is None:
        return {}
    keys = dict.fromkeys(
        key for group in groups if "cells" in steps[group.step - 1].method.claims.removes
        for key in key_names(steps[group.step - 1], [known[name] for name in group.variables]) if key in data
    )  # fmt: skip
    codes = ValueCodes(data)
    found = {}
    for name in names:
        if name in keys or name not in data:
            continue
        for key in keys:
            if _are_equivalent(codes.of(name), codes.of(key)):
                found[name] = key
                break
    return found


def _are_equivalent(one: Integers, other: Integers) -> bool:
    """Whether each value of either stands with one value of the other; values that hardly repeat show nothing."""
    ours, theirs = int(one.max(initial=-1)) + 2, int(other.max(initial=-1)) + 2
    if ours != theirs or 2 * ours > len(one):
        return False
    pairs = np.unique((one + 1) * theirs + other + 1)
    return len(np.unique(pairs // theirs)) == len(np.unique(pairs % theirs)) == len(pairs)


TEXT_SHARE = 0.5
"""Share of the categories that are no numbers from which on a variable is text."""

MANY_CATEGORIES, DISTINCT_SHARE = 20, 0.05
"""Different texts, and share of the records with one of their own, above which a variable may identify records."""


def refuse_arithmetic_on_text(edits: EditSet, data: Dataset) -> None:
    """Stop when an edit computes with a variable that holds text."""
    problems = [
        Problem(
            f"edit {edit.name!r} computes with {name}, which was read as text",
            edit.place,
            date_remedy(name, data[name].variable.categories)
            or "are there thousands separators or decimal commas in the file? Declare its type, or mend the file",
        )
        for edit in edits
        for name in sorted(set(_computed_with(edit.parts, compared=edit.binding == "exact")))
        if name in data and _is_text(data, name)
    ]
    if problems:
        raise EditError(problems)


def _computed_with(parts: Iterable[Part], *, compared: bool) -> Iterator[str]:
    """Variables that have to be numbers; XPath has a verdict, false, when it compares text with a number."""
    for part in parts:
        match part:
            case LinearPart() | ProductPart() | PolynomialPart():
                yield from part.variables
            case RangePart() if compared and part.texts is None:
                yield part.variable
            case GoverningPart():
                inner = (*part.consequent, *part.otherwise, *(part.condition_parts or ()))
                yield from _computed_with(inner, compared=compared)
            case _:
                pass


def _is_text(data: Dataset, name: str) -> bool:
    variable = data[name].variable
    if variable.is_numeric:
        return False
    import pandas as pd  # heavy: workers of a large run do without

    numbers = pd.to_numeric(pd.Series(variable.categories, dtype="object"), errors="coerce")
    return bool(numbers.isna().mean() > TEXT_SHARE)


def publication_notices(
    data: Dataset, plan: Plan, broken: Mapping[str, int], computed: Collection[str] = ()
) -> Iterator[Notice]:
    """Edits that nothing will mend; variables that may identify records."""
    yield from _unmasked_violation_notices(plan, broken)
    shown = [name for name in plan.untouched if name not in computed and not data[name].variable.renewed]
    for name in shown:
        column = data[name]
        distinct = 0 if column.variable.identifies else len(column.variable.categories)
        if not column.variable.is_numeric and distinct > max(MANY_CATEGORIES, DISTINCT_SHARE * len(data)):
            message = (
                f"{name} is published as it is and has {distinct} different texts: if it identifies, declare "
                f"`{name}: {{role: identifier}}`"
            )
            yield Notice("may-identify", name, message, distinct)
    # A label of a suppressed code is emptied where the code is, and says nothing beside it.
    labels = labels_of_suppressed(shown, plan.groups, plan.steps, plan.variables, data)
    shown = [name for name in shown if name not in labels]
    alone = int((published_classes(data, shown).records == 1).sum()) if shown else 0
    if alone:
        message = (
            f"{plural(alone, 'record is', 'records are')} unique on the variables that are published unmasked "
            f"({', '.join(shown)}): whoever knows these variables of a person finds the record"
        )
        yield Notice("unique-on-unmasked", "", message, alone, len(data))


FEWEST_HOUSEHOLDS = 10
"""Households of several records, below which nothing is said of them."""


def household_doubts(data: Dataset, plan: Plan, *, is_shuffled: bool) -> Iterator[Doubt]:
    """The doubt about a household key that is left out, where what is published tells whose members are together.

    It does if nearly all records that are alike in a variable are one whole household, and nearly all households are
    found so; in a file in its old order also records that are alike and follow each other.
    """
    homes, key = data.households, data.cluster
    if homes is None or key is None or key not in plan.dropped:
        return
    sizes = np.bincount(homes)
    households = int(np.sum(sizes > 1))
    if households < FEWEST_HOUSEHOLDS:
        return
    codes = ValueCodes(data)
    for name in plan.untouched:
        values = codes.of(name)
        runs = np.cumsum(np.diff(values, prepend=-2) != 0) - 1
        found = {"": _whole_households(values, homes, sizes)}
        if not is_shuffled:
            found[", of consecutive records"] = _whole_households(np.where(values < 0, -1, runs), homes, sizes)
        for where, (whole, several) in found.items():
            if whole < CERTAINTY * max(several, households):
                continue
            message = (
                f"{key} is left out, and members of one {key} can be found by {name}, published as it is: equal "
                f"values{where} are one {key} ({whole} of {households} with several members)"
            )
            order = "Publish the records in random order (`release: {order: random}`); or leave" if where else "Leave"
            hint = (
                f"{order} {name} out (`{name}: {{role: identifier}}`), or round or calibrate it in the file until "
                f"several {key} values share it; if they may be known, waive it, or publish {key} with new values."
            )
            yield Doubt("follows-from-published", key, message, whole, households, hint=hint)
            return


def _whole_households(values: Integers, homes: Integers, sizes: Integers) -> tuple[int, int]:
    """How many values of several records all records of one household have and no other, and how many there are."""
    there = values >= 0
    if not there.any():
        return 0, 0
    count = int(values.max()) + 1
    records = np.bincount(values[there], minlength=count)
    least, most = np.full(count, len(sizes)), np.full(count, -1)
    np.minimum.at(least, values[there], homes[there])
    np.maximum.at(most, values[there], homes[there])
    several = records > 1
    whole = several & (least == most)
    whole[whole] = sizes[most[whole]] == records[whole]
    return int(whole.sum()), int(several.sum())


def _unmasked_violation_notices(plan: Plan, broken: Mapping[str, int]) -> Iterator[Notice]:
    """Edits that the original violates on variables that no step touches: the run is bound to end without a release."""
    if any(step.method.claims.removes for step in plan.steps):
        return
    masked = set(plan.masked)
    for edit in plan.edits:
        count = broken.get(edit.name, 0)
        if count and edit.severity == "error" and not masked & set(edit.named):
            ways = (
                "leave out these records (on_input_violation: drop), mend the file"
                if edit.looks_beyond
                else "mask them too, correct or leave out these records (on_input_violation: localize or drop)"
            )
            message = (
                f"{plural(count, 'original record violates', 'original records violate')} edit {edit.name!r}, and no "
                f"step masks its variables ({', '.join(edit.named)}), so that nothing can be released: {ways}, or give "
                "the edit `severity: warning`"
            )
            yield Notice("violated-and-unmasked", edit.name, message, count, place=edit.place)


DROPPED_OTHERWISE = "Leave out `release: as is`: it is dropped then. Or waive it, if all may know whose record it is."

PROTECTED = ("quasi_identifier", "confidential")
"""Roles that say that a variable has to be masked."""


def unmasked_doubts(untouched: Iterable[Variable], labels: Mapping[str, str]) -> Iterator[Doubt]:
    """Doubts about variables that no step masks and nothing declares to be published as they are."""
    for variable in untouched:
        if variable.identifies:
            message = "it is an identifier, and is published as it is: whoever knows it finds the record"
            yield Doubt("not-masked", variable.name, message, hint=DROPPED_OTHERWISE)
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
    """Doubts about variables that a step names and does nothing for: it looks at its keys, and they are none."""
    for group, step in with_steps(groups, steps):
        keys = key_names(step, [known[name] for name in group.variables])
        for name in (step.variables or ()) if keys else ():
            if name not in keys and not known[name].as_is:
                message = f"{step} uses its keys ({', '.join(keys)}), and it is none"
                hint = _label_hint(name, labels) or "Name it in `keys`, or leave it out of the step."
                yield Doubt("step-changed-nothing", name, message, place=step.place, hint=hint, step=step.number)


def undecided_doubts(outcome: Outcome, arrival: Outcome | None = None) -> Iterator[Doubt]:
    """Doubts about edits that are unknown in every record."""
    known = set() if arrival is None else {each.name for each in arrival.undecided}
    which = "original" if arrival is None else "masked"
    for each in outcome.undecided:
        if each.name not in known:
            why = "; ".join(each.unknown_because)
            message = f"its verdict is unknown in all {each.fired} {which} records to which it applies ({why})"
            yield Doubt("edit-unknown", each.name, message, each.unknown, each.fired)
