"""Rules as YAML lists them: one-line texts, or mappings with a name, a message, a tolerance and so on."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, cast

from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.tolerance import with_tolerance
from maskwright.edits.edit import CheckedPart, Edit, EditSet, Part, Severity
from maskwright.edits.expression import Expression, IfThen, variable_names
from maskwright.edits.languages.yaml.aliases import without_aliases
from maskwright.edits.languages.yaml.file_model import RULE_KEYS, SEVERITIES
from maskwright.edits.languages.yaml.grammar import parse_expression
from maskwright.edits.languages.yaml.variable_ranges import has_ranges
from maskwright.foundation.errors import EditError, Place, Problem, unknown_name

PlaceOf = Callable[[int], Place]

_TEXT_KEYS = ("rule", "name", "label", "message", "severity", "when")


@dataclass(frozen=True)
class RuleItem:
    """One rule as a file states it.

    Attributes
    ----------
    item : object
        Text, or a mapping with the keys of `maskwright.edits.languages.yaml.file_model.RuleEntry`.
    place : Place
        Of the rule's text.
    places : mapping of key to Place
        Of the other values, where known.
    aliases : mapping of name to Expression
        In force where the rule stands.
    """

    item: object
    place: Place
    places: Mapping[str, Place] = field(default_factory=dict)
    aliases: Mapping[str, Expression] = field(default_factory=dict)


class WrongRulesError(EditError):
    """Rules are wrong; `edits` are those that were understood, in which more mistakes can be looked for."""

    def __init__(self, problems: Sequence[Problem], edits: EditSet) -> None:
        super().__init__(problems)
        self.edits = edits


def parse_rules(rules: Sequence[object], place_of: PlaceOf | None = None) -> EditSet:
    """Read rules of the YAML language.

    Parameters
    ----------
    rules : sequence
        Texts, or mappings with the key ``rule`` and, optionally, ``name``, ``label``, ``message``, ``severity``
        (``error``, the default, or ``warning``), ``tolerance`` and ``when``. A rule without a name is called
        ``edit-N``, N its 1-based position.
    place_of : callable, optional
        Place of the rule at a 0-based position, for error messages.

    Returns
    -------
    EditSet

    Raises
    ------
    EditError
        With every mistake in every rule: place, what was expected, the nearest valid name.
    """
    if isinstance(rules, (str, Mapping)):
        raise EditError(Problem("expected a list of rules, found a single one", None, "Put it in a list: [rule]."))
    # Without a file, the rule's number stands for the line.
    return read_items(
        RuleItem(item, place_of(position) if place_of is not None else Place(f"rule {position + 1}"))
        for position, item in enumerate(rules)
    )


def read_items(items: Iterable[RuleItem], notes: tuple[str, ...] = ()) -> EditSet:
    """Edits of rules, in order.

    Raises
    ------
    WrongRulesError
        With every mistake in every rule, and the rules that were understood.
    """
    problems: list[Problem] = []
    edits: list[Edit] = []
    places: dict[str, Place] = {}
    for position, item in enumerate(items):
        try:
            edit = _edit(item, position)
        except EditError as error:
            problems.extend(error.problems)
            continue
        if edit.name in places:
            first = places[edit.name]
            message = f"the name {edit.name!r} is taken by another rule ({first})"
            problems.append(Problem(message, item.place, "Rename one."))
            continue
        places[edit.name] = item.place
        edits.append(edit)
    understood = EditSet(tuple(edits), notes)
    if problems:
        raise WrongRulesError(problems, understood)
    return understood


def parse_rule(rule: object, place: Place, position: int) -> Edit:
    """One rule, as `parse_rules` takes it; without a name of its own it is called after its position, 0-based.

    Raises
    ------
    EditError
        With every mistake in it.
    """
    return _edit(RuleItem(rule, place), position)


def _edit(item: RuleItem, position: int) -> Edit:
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
        text=_shown(text, tolerance, cast("str | None", fields.get("when"))),
        message=cast("str", fields.get("message", "")),
        label=cast("str", fields.get("label", "")),
        severity=cast("Severity", fields.get("severity", "error")),
        when=when,
        ranged=ranged,
        place=item.place,
    )


def _condition(text: str, place: Place, aliases: Mapping[str, Expression]) -> Expression:
    return without_aliases(parse_expression(text, place), aliases, place)


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
                "A rule with ': ', brackets or braces inside a mapping must be in quotes.",
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
            problems.append(Problem(f"{key}: expected text", place, "Put it in quotes."))
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
