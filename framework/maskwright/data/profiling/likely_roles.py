"""Likely roles of variables, by their names and their cells, and the likely household key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import ValueCodes, determines
from maskwright.data.profiling.column_profile import KEYS, Meaning, Unsure

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.dataset import Dataset
    from maskwright.data.profiling.column_profile import Facts
    from maskwright.data.variable import Role


MOST_KEY_VALUES = 100
"""Different values from which on a quasi-identifier is joined first, or means of equal amounts change nothing."""
COUNTED: tuple[Meaning, ...] = ("age", "household size", "birth", "money", "weight")
OFTEN = 15
"""Cells of each value, on average, from which means of similar records are mostly means of equal ones."""

MOST_MEMBERS = 12
"""Mean of records of one household, at most."""

BODY = (30.0, 150.0)
"""Means of weights in kilograms."""


@dataclass(frozen=True)
class Guess:
    """A likely role; `counts`: whether few whole numbers are numbers all the same: ages, sizes, amounts."""

    role: Role | None
    why: str
    unsure: tuple[Unsure, ...] = ()
    counts: bool = False


def likely_role(facts: Facts, meaning: Meaning | None) -> Guess:
    """Return what a variable probably is."""
    if facts.looks_like in ("empty", "constant"):
        return Guess("other", "no cell has a value" if facts.looks_like == "empty" else "all cells are the same")
    if meaning == "weight" and _may_weigh(facts):
        return _weight(facts)
    if meaning in ("identifier", "a person's name", "household"):
        return _identifier(facts, meaning)
    return (None if meaning in KEYS or meaning == "money" else _order(facts)) or _by_name(facts, meaning)


def _by_name(facts: Facts, meaning: Meaning | None) -> Guess:
    if meaning in KEYS:
        return _key(facts, meaning)
    if meaning == "money" and facts.column.variable.is_numeric and facts.looks_like != "date":
        return _amount(facts, "its name is of money")
    return _by_cells(facts)


def _may_weigh(facts: Facts) -> bool:
    return facts.column.variable.is_numeric and bool(facts.values.min() >= 0) and facts.looks_like != "identifier"


def _weight(facts: Facts) -> Guess:
    mean = float(np.mean(facts.values))
    unsure, named = [], "a weight by its name"
    if facts.values.min() == 0:
        unsure.append(Unsure(f"{named}, and some cells are 0"))
    if facts.missing:
        unsure.append(
            Unsure(f"{named}, and {facts.missing} cells have no value", f"{named}, and some cells have no value")
        )
    if BODY[0] <= mean <= BODY[1] and facts.values.max() < 3 * BODY[1]:
        unsure.append(Unsure("a sampling weight by its name; if it is the weight of a body, it is confidential"))
    sums = "they sum to more than the records" if mean > 1.5 else "their mean is about 1"
    return Guess("weight", f"its name; none is negative, and {sums}", tuple(unsure), counts=True)


def _identifier(facts: Facts, meaning: Meaning) -> Guess:
    if facts.distinct == facts.cells:
        return Guess("identifier", "its name, and every cell differs", counts=True)
    if meaning == "identifier" and facts.looks_like != "code":
        lead, asked = "an identifier by its name, and its", "values repeat: the key of something else?"
        unsure = Unsure(f"{lead} {facts.distinct} {asked}", f"{lead} {asked}")
        return Guess("identifier", "its name", (unsure,), counts=True)
    whole = not facts.column.variable.is_numeric or facts.column.variable.decimals == 0
    if meaning == "household" and whole and facts.cells <= MOST_MEMBERS * facts.distinct:
        unsure = Unsure(
            "the key of households by its name, though no variable is the same within them; if it is: `cluster` in the "
            "data section names it"
        )
        return Guess("identifier", "its name, and its values repeat", (unsure,), counts=True)
    if meaning == "a person's name" and 2 * facts.distinct > facts.cells and not facts.column.variable.is_numeric:
        return Guess("identifier", "its name, and most cells differ")
    return _by_cells(facts)


FEWEST_IN_ORDER = 20
"""Cells from which on it means something that they are numbered or ranked."""


def _order(facts: Facts) -> Guess | None:
    """Numbers that only say where a record stands: first, second, third, in the file or by an amount."""
    variable = facts.column.variable
    if not variable.is_numeric or variable.is_date or facts.cells < FEWEST_IN_ORDER or 2 * facts.distinct < facts.cells:
        return None
    steps = np.diff(facts.values)
    if variable.decimals == 0 and steps[0] != 0 and bool(np.all(steps == steps[0])):
        unsure = Unsure("a sequence number? it is dropped unless you declare another role")
        return Guess("identifier", "it counts the records in their order", (unsure,), counts=True)
    ranked, counts = np.unique(facts.values, return_counts=True)
    last = np.cumsum(counts)
    first = last - counts + 1
    if any(np.array_equal(ranked, each) for each in (first, (first + last) / 2, last)):
        unsure = Unsure("a rank? it singles every record out, and is dropped unless you declare another role")
        return Guess("identifier", "its cells are the ranks of the records by something", (unsure,), counts=True)
    return None


def _key(facts: Facts, meaning: Meaning) -> Guess:
    numeric = facts.column.variable.is_numeric
    if facts.looks_like in ("date", "identifier", "free text") and not (numeric and facts.looks_like == "identifier"):
        what = "days" if facts.looks_like == "date" else "nearly all different texts"
        text = f"others know it ({meaning}), and it holds {what}: it is dropped unless you publish it more coarsely"
        return Guess("identifier", f"its name says {meaning}, and it singles persons out", (Unsure(text),))
    unsure = []
    if not numeric and facts.distinct > MOST_KEY_VALUES:
        joined = "categories single out many records: join them first (method recoding)"
        unsure.append(Unsure(f"{facts.distinct} {joined}", f"many {joined}"))
    if meaning in ("occupation", "region", "industry") and numeric and facts.looks_like != "code":
        unsure.append(Unsure(f"numbers that are probably codes ({meaning}): `type: nominal` keeps them as they are"))
    return Guess("quasi_identifier", f"its name says {meaning}", tuple(unsure), counts=meaning in COUNTED)


def _amount(facts: Facts, why: str) -> Guess:
    unsure = []
    if facts.cells >= OFTEN * facts.distinct and facts.distinct <= MOST_KEY_VALUES:
        said = (
            "different values: means of equal ones change nothing (perhaps rank_swapping, or `role: other` if it may "
            "be published as it is)"
        )
        unsure.append(Unsure(f"only {facts.distinct} {said}", f"few {said}"))
    return Guess("confidential", why, tuple(unsure), counts=True)


def _by_cells(facts: Facts) -> Guess:
    match facts.looks_like:
        case "identifier":
            return Guess(
                "identifier", "every cell differs, or nearly every one",
                (Unsure("an identifier? it is dropped unless you declare another role"),), counts=True,
            )  # fmt: skip
        case "free text":
            return Guess(
                "identifier", "most cells are different texts",
                (Unsure("free text? it is dropped unless you declare another role"),),
            )  # fmt: skip
        case "date":
            return Guess(None, "days", (_role_of("a date of which nothing says what it is"),))
        case "code":
            sentence = "few whole numbers, codes or counts (a count: `type: integer`), and nothing says what they are"
            return Guess(None, "few whole numbers", (_role_of(sentence),))
        case "category":
            return Guess(None, "categories", (_role_of("categories of which nothing says what they are"),))
        case _:
            return _amount(facts, "an undeclared number")


DECIDE = (
    "`role: quasi_identifier` if others know it (add it to the step), `role: other` if it may be published as it is, "
    "`role: identifier` drops it"
)


def _role_of(what: str) -> Unsure:
    return Unsure(f"{what}: {DECIDE}", asks_role=True)


LARGEST_HOUSEHOLD = 60
"""Records of one household, at most."""
MEMBERS = (1.05, 12.0)
"""Means of records of one household."""

MOST_TRIED = 5
"""Variables that are tried as the key of households: those named so first."""
SCATTERED = 1.05
"""Runs of equal values, for each value, up to which they stand together."""

FoundKey = tuple[str | None, str, tuple[Unsure, ...]]


def household_key(data: Dataset, facts: Sequence[Facts], meanings: Mapping[str, Meaning | None]) -> FoundKey:
    """Name of the variable that probably names the household, what it was seen by, and what is unsure.

    One or a few records share each of its values, and another variable is the same within them, not by chance. Where
    its name is no hint, two have to be, and the records of each follow each other: amounts do not.
    """
    codes = ValueCodes(data)
    named = [each for each in _candidates(facts, codes) if meanings[each.column.name] == "household"]
    others = [
        each for each in _candidates(facts, codes)
        if meanings[each.column.name] in (None, "identifier") and _are_together(codes.of(each.column.name))
    ]  # fmt: skip
    found: list[tuple[bool, int, str]] = []
    for each in [*named, *others][:MOST_TRIED]:
        name, is_named = each.column.name, each in named
        alike = _constant_within(name, facts, codes)
        if alike >= (1 if is_named else 2):
            found.append((is_named, alike, name))
    if not found:
        return None, "", ()
    is_named, alike, name = max(found)
    why = f"its values repeat, and {alike} variables are the same within them"
    unsure = () if is_named else (Unsure("perhaps the key of households or groups, though its name does not say so"),)
    if len(found) > 1:
        rest = ", ".join(repr(other) for *_, other in found if other != name)
        unsure = (*unsure, Unsure(f"{rest} would do for the key of households as well"))
    return name, f"its name, and {why}" if is_named else why, unsure


def _candidates(facts: Sequence[Facts], codes: ValueCodes) -> Iterator[Facts]:
    for each in facts:
        variable = each.column.variable
        whole = not variable.is_numeric or variable.decimals == 0
        if not whole or each.missing or not each.distinct or each.looks_like in ("date", "constant", "code"):
            continue
        if not MEMBERS[0] <= each.cells / each.distinct <= MEMBERS[1]:
            continue
        if int(np.bincount(codes.of(variable.name)).max()) <= LARGEST_HOUSEHOLD:
            yield each


def _are_together(codes: NDArray[np.int64]) -> bool:
    """Whether equal values follow each other in the file."""
    return int(np.count_nonzero(np.diff(codes))) + 1 <= SCATTERED * (int(codes.max(initial=0)) + 1)


def _constant_within(name: str, facts: Sequence[Facts], codes: ValueCodes) -> int:
    given = codes.of(name)
    others = [each for each in facts if each.column.name != name and 1 < each.distinct < 0.95 * max(each.cells, 1)]
    return sum(determines(given, codes.of(each.column.name), 2 * len(others)) for each in others)
