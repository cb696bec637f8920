"""One rule as YAML lists it: a one-line text, or a mapping with a name, a message, a tolerance and so on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.tolerance import with_tolerance
from maskwright.edits.edit import CheckedPart, Edit, Part, Severity
from maskwright.edits.expression import Expression, IfThen, has_ranges, variable_names
from maskwright.edits.rule_language.aliases import without_aliases
from maskwright.edits.rule_language.grammar import parse_expression
from maskwright.edits.rule_language.rule_entry import RULE_KEYS, SEVERITIES
from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.nearest_names import unknown_name

_TEXT_KEYS = ("rule", "name", "label", "message", "severity", "when")


@dataclass(frozen=True)
class RuleItem:
    """One rule as a file states it.

    `item`: text, or a mapping with the keys of `maskwright.edits.rule_language.rule_entry.RuleEntry`. `places`: of the
    other values, where known. `aliases`: in force where the rule stands. `alias_texts`: what each stands for, to be
    shown beside the rule.
    """

    item: object
    place: Place
    places: Mapping[str, Place] = field(default_factory=dict)
    aliases: Mapping[str, Expression] = field(default_factory=dict)
    alias_texts: Mapping[str, str] = field(default_factory=dict)


def edit_of(item: RuleItem, position: int) -> Edit:
    """Edit that one rule states; without a name it is called ``edit-N``, N its 1-based position."""
    fields = _fields(item.item, item.place)
    text = cast("str", fields["rule"])
    expression = _condition(text, item.place, item.aliases)
    tolerance = cast("Fraction | None", fields.get("tolerance"))
    if tolerance:
        tolerant = with_tolerance(expression, tolerance)
        if tolerant is expression:
            raise EditError(
                Problem(
                    "this rule compares no numbers that a tolerance could apply to",
                    item.places.get("tolerance", item.place),
                    "Remove 'tolerance'.",
                )
            )
        expression = tolerant
    when: Expression | None = None
    if "when" in fields:
        when = _condition(cast("str", fields["when"]), item.places.get("when", item.place), item.aliases)
        expression = IfThen(when, expression)
    ranged = has_ranges(expression)
    parts: tuple[Part, ...] = (CheckedPart(expression),) if ranged else classify(expression, item.place)
    return Edit(
        name=cast("str", fields.get("name")) or f"edit-{position + 1}",
        expression=expression,
        parts=parts,
        variables=variable_names(expression),
        text=_shown(text, tolerance, cast("str | None", fields.get("when"))) + _aliases_of(item, fields),
        message=cast("str", fields.get("message", "")),
        label=cast("str", fields.get("label", "")),
        severity=cast("Severity", fields.get("severity", "error")),
        when=when,
        ranged=ranged,
        place=item.place,
    )


def _condition(text: str, place: Place, aliases: Mapping[str, Expression]) -> Expression:
    return without_aliases(parse_expression(text, place), aliases, place)


def _aliases_of(item: RuleItem, fields: Mapping[str, str | Fraction]) -> str:
    """What the aliases that a rule uses stand for: who reads the rule in a record has no file of rules beside it."""
    if not item.alias_texts:
        return ""
    stated = [parse_expression(cast("str", fields[key]), item.place) for key in ("rule", "when") if key in fields]
    used = dict.fromkeys(name for each in stated for name in variable_names(each) if name in item.alias_texts)
    return f", where {', '.join(f'{name} is {item.alias_texts[name]}' for name in used)}" if used else ""


def _shown(rule: str, tolerance: Fraction | None, when: str | None) -> str:
    shown = " ".join(rule.split())
    if tolerance:
        shown += f" (within {_decimal(tolerance)})"
    return shown if when is None else f"when {' '.join(when.split())}: {shown}"


def _decimal(value: Fraction) -> str:
    return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"


def _fields(item: object, place: Place) -> dict[str, str | Fraction]:
    if isinstance(item, str):
        return {"rule": item}
    if not isinstance(item, Mapping):
        kind = "nothing" if item is None else f"a {type(item).__name__}"
        raise EditError(
            Problem(
                f"expected a rule as text, or a mapping with the key 'rule'; found {kind}", place,
                place.written("A rule with ': ', brackets or braces inside a mapping must be in quotes."),
            )
        )  # fmt: skip
    problems = [
        Problem(unknown_name("key", str(key), RULE_KEYS), place, _hint(item)) for key in item if key not in RULE_KEYS
    ]
    fields = _texts(item, place, problems)
    if item.get("rule") is None:
        problems.append(Problem("the key 'rule' is missing", place, "Write {rule: 'V9 + V10 == V14', name: totals}."))
    if fields.get("severity", "error") not in SEVERITIES:
        problems.append(Problem(unknown_name("severity", str(fields["severity"]), SEVERITIES), place))
    if item.get("tolerance") is not None:
        tolerance = _tolerance(item["tolerance"])
        if tolerance is None:
            problems.append(Problem("tolerance: expected a number that is not negative, for instance 0.5", place))
        else:
            fields["tolerance"] = tolerance
    if problems:
        raise EditError(problems)
    return fields


def _texts(item: Mapping[object, object], place: Place, problems: list[Problem]) -> dict[str, str | Fraction]:
    fields: dict[str, str | Fraction] = {}
    for key in _TEXT_KEYS:
        value: Any = item.get(key)
        if value is None:
            continue
        if isinstance(value, (int, float)) and not isinstance(value, bool) and key in ("name", "label", "message"):
            value = str(value)
        if not isinstance(value, str):
            problems.append(Problem(f"{key}: expected text", place, place.written("Put it in quotes.")))
        else:
            fields[key] = value.strip() if key == "name" else value
    return fields


def _tolerance(value: object) -> Fraction | None:
    """Return the decimal that was written, exactly: 0.1 is 1/10."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if not math.isfinite(value) or value < 0:
        return None
    return Fraction(repr(value))


def _hint(item: Mapping[object, object]) -> str | None:
    if len(item) == 1:
        return "If this is meant as one rule, put it in quotes: 'like this'."
    return None
