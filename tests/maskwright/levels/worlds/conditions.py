"""Rules said three times at once: in the product's language, in XPath, and as plain Python over exact decimals.

Python reads a household as a mapping of its cells with its ``members``, and a person as one with its ``household``.
Where cells are missing the answer is that of every completion, else None. XPath reads numbers in hundredths, which
binary64 adds exactly, and is asked only where no cell that a rule reads is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

Record = Mapping[str, Any]
Ends = tuple[Any, Any] | None
"""Least and greatest value of all completions; None where nothing is known."""

INFINITE = Decimal("Infinity")
HUNDREDTHS = 100


@dataclass(frozen=True)
class Value:
    """A number or a category."""

    text: str
    xpath: str | None
    names: frozenset[str]
    ends: Callable[[Record], Ends]


@dataclass(frozen=True)
class Condition:
    """What is true, false or unknown (None) of a record."""

    text: str
    xpath: str | None
    names: frozenset[str]
    holds: Callable[[Record], bool | None]


def _point(value: Any) -> Ends:
    return None if value is None else (value, value)


def own(name: str) -> Value:
    """A number of the record itself."""
    return Value(name, f"number({name})", frozenset([name]), lambda record: _point(record[name]))


def category(name: str) -> Value:
    """A category of the record itself."""
    return Value(name, name, frozenset([name]), lambda record: _point(record[name]))


def of_household(name: str, *, is_number: bool = True) -> Value:
    """What a person's household says, in rules of persons."""
    xpath = f"number(../{name})" if is_number else f"../{name}"
    return Value(name, xpath, frozenset([name]), lambda person: _point(person["household"][name]))


def through(pointer: str, name: str) -> Value:
    """What the person says to whom another one points."""

    def ends(person: Record) -> Ends:
        number = person[pointer]
        others = [each for each in person["household"]["members"] if number and each["pno"] == number]
        return _point(others[0][name]) if others else None

    xpath = f"number(../Person[pno = current()/{pointer}]/{name})"
    return Value(f"{pointer}.{name}", xpath, frozenset([pointer, name]), ends)


def constant(value: Decimal) -> Value:
    """A number."""
    return Value(f"{value:f}", f"{value * HUNDREDTHS:f}", frozenset(), lambda record: (value, value))


def text(value: str) -> Value:
    """A category by its text."""
    return Value(f'"{value}"', f"'{value}'", frozenset(), lambda record: (value, value))


def linear(terms: list[tuple[int, Value]]) -> Value:
    """Sum with whole factors, the first of which is positive."""
    said, xpaths = "", []
    for factor, value in terms:
        sign = "-" if factor < 0 else "+"
        shown = value.text if abs(factor) == 1 else f"{abs(factor)} * {value.text}"
        said = f"{said} {sign} {shown}" if said else shown
        xpaths.append(f"({factor}) * {value.xpath}")

    def ends(record: Record) -> Ends:
        total = Decimal(0)
        for factor, value in terms:
            found = value.ends(record)
            if found is None or found[0] != found[1]:
                return None
            total += factor * found[0]
        return total, total

    names = frozenset[str]().union(*(value.names for _, value in terms))
    xpath = None if any(value.xpath is None for _, value in terms) else " + ".join(xpaths)
    return Value(said, xpath, names, ends)


def product(left: Value, right: Value) -> Value:
    """Two numbers multiplied."""

    def ends(record: Record) -> Ends:
        one, other = left.ends(record), right.ends(record)
        return None if one is None or other is None else _point(one[0] * other[0])

    return Value(f"{left.text} * {right.text}", None, left.names | right.names, ends)


def _meant(household: Record, where: Condition | None) -> tuple[list[Record], list[Record]]:
    """Members that a condition is true of, and those of which that is not known."""
    if where is None:
        return list(household["members"]), []
    judged = [(each, where.holds(each)) for each in household["members"]]
    return [each for each, true in judged if true], [each for each, true in judged if true is None]


def _said(inner: str, where: Condition | None) -> str:
    return inner if where is None else f"{inner} where {where.text}"


def _persons(where: Condition | None) -> str | None:
    if where is None:
        return "Person"
    return None if where.xpath is None else f"Person[{where.xpath}]"


def _names(where: Condition | None) -> frozenset[str]:
    return frozenset() if where is None else where.names


def count(where: Condition | None = None) -> Value:
    """Number of members."""

    def ends(household: Record) -> Ends:
        true, perhaps = _meant(household, where)
        return Decimal(len(true)), Decimal(len(true) + len(perhaps))

    persons = _persons(where)
    xpath = None if persons is None else f"{HUNDREDTHS} * count({persons})"
    return Value(f"count({_said('person', where)})", xpath, _names(where), ends)


def added(name: str, where: Condition | None = None) -> Value:
    """Sum over members."""

    def ends(household: Record) -> Ends:
        true, perhaps = _meant(household, where)
        if perhaps or any(each[name] is None for each in true):
            return None
        return _point(sum((each[name] for each in true), Decimal(0)))

    persons = _persons(where)
    xpath = None if persons is None else f"sum({persons}/{name})"
    return Value(f"sum({_said(f'person.{name}', where)})", xpath, _names(where) | {name}, ends)


def extreme(function: str, name: str) -> Value:
    """Least or greatest value of the members."""

    def ends(household: Record) -> Ends:
        known = [each[name] for each in household["members"] if each[name] is not None]
        if not known:
            return None
        found = max(known) if function == "max" else min(known)
        if len(known) == len(household["members"]):
            return found, found
        return (found, INFINITE) if function == "max" else (-INFINITE, found)

    # XPath 1.0 has neither: the first member that no other one exceeds.
    sign = "<" if function == "max" else ">"
    xpath = f"number(Person[not(number({name}) {sign} ../Person/{name})][1]/{name})"
    return Value(f"{function}(person.{name})", xpath, frozenset([name]), ends)


def quantified(function: str, where: Condition) -> Condition:
    """``any``, ``all``, ``no`` or ``one`` of the members."""

    def holds(household: Record) -> bool | None:
        true, perhaps = _meant(household, where)
        false = len(household["members"]) - len(true) - len(perhaps)
        least, most = len(true), len(true) + len(perhaps)
        match function:
            case "any":
                return True if least else None if most else False
            case "no":
                return False if least else None if most else True
            case "all":
                return False if false else None if perhaps else True
            case _:
                return False if least > 1 or most == 0 else None if perhaps else True

    if where.xpath is None:
        xpath = None
    else:
        xpath = {
            "any": f"count(Person[{where.xpath}]) > 0", "no": f"not(Person[{where.xpath}])",
            "all": f"not(Person[not({where.xpath})])", "one": f"count(Person[{where.xpath}]) = 1",
        }[function]  # fmt: skip
    return Condition(f"{function}(person where {where.text})", xpath, where.names, holds)


def compared(left: Value, sign: str, right: Value) -> Condition:
    """A comparison, decided where all completions agree."""

    def holds(record: Record) -> bool | None:
        one, other = left.ends(record), right.ends(record)
        if one is None or other is None:
            return None
        if sign == "==":
            certain = one[0] == one[1] == other[0] == other[1]
            return True if certain else False if _apart(one, other) else None
        if sign in (">", ">="):
            one, other = other, one
        strict = sign in ("<", ">")
        always = one[1] < other[0] or (one[1] == other[0] and not strict)
        never = one[0] > other[1] or (one[0] == other[1] and strict)
        return True if always else False if never else None

    xpath = (
        None if left.xpath is None or right.xpath is None else f"{left.xpath} {sign.replace('==', '=')} {right.xpath}"
    )
    return Condition(f"{left.text} {sign} {right.text}", xpath, left.names | right.names, holds)


def _apart(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    if isinstance(one[0], str):
        return bool(one[0] != other[0])
    return bool(one[1] < other[0] or other[1] < one[0])


def both(left: Condition, right: Condition) -> Condition:
    """Kleene's and."""

    def holds(record: Record) -> bool | None:
        found = (left.holds(record), right.holds(record))
        return False if False in found else None if None in found else True

    xpath = None if left.xpath is None or right.xpath is None else f"({left.xpath}) and ({right.xpath})"
    return Condition(f"{left.text} and {right.text}", xpath, left.names | right.names, holds)


def if_then(condition: Condition, rule: Condition) -> Condition:
    """A rule for the records of which a condition is true."""

    def holds(record: Record) -> bool | None:
        asked, kept = condition.holds(record), rule.holds(record)
        if asked is False or kept is True:
            return True
        return None if asked is None or kept is None else False

    xpath = None if condition.xpath is None or rule.xpath is None else f"not({condition.xpath}) or ({rule.xpath})"
    said = f"if {condition.text} then {rule.text}"
    return Condition(said, xpath, condition.names | rule.names, holds)


def within(value: Value, low: Decimal, high: Decimal) -> Condition:
    """An interval."""
    inside = both(compared(value, ">=", constant(low)), compared(value, "<=", constant(high)))
    return Condition(f"{value.text} in [{low:f}, {high:f}]", inside.xpath, value.names, inside.holds)


def different(name: str) -> Condition:
    """No two members have the same."""

    def holds(household: Record) -> bool | None:
        known = [each[name] for each in household["members"] if each[name] is not None]
        if len(set(known)) < len(known):
            return False
        return True if len(known) == len(household["members"]) else None

    xpath = f"not(Person[{name} = following-sibling::Person/{name}])"
    return Condition(f"unique(person.{name})", xpath, frozenset([name]), holds)


def in_original(names: tuple[str, ...], seen: set[tuple[Any, ...]]) -> Condition:
    """A combination that the original holds."""

    def holds(record: Record) -> bool | None:
        found = tuple(record[name] for name in names)
        return None if None in found else found in seen

    return Condition(f"({', '.join(names)}) in original", None, frozenset(names), holds)
