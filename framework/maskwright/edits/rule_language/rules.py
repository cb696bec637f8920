"""One rule as YAML lists it, text or mapping, parsed with the grammar in ``grammar.lark``."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from importlib.resources import files
from typing import TYPE_CHECKING, Any, cast

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.conditions import with_tolerance
from maskwright.edits.edit import CheckedPart, Edit, Part, Severity
from maskwright.edits.expression import Expression, IfThen, has_ranges, variable_names
from maskwright.edits.rule_language.across_records import as_file_test
from maskwright.edits.rule_language.operands import Mistake, without_aliases
from maskwright.edits.rule_language.rule_entry import RULE_KEYS, SEVERITIES
from maskwright.edits.rule_language.typed_tree import KEYWORDS, TreeBuilder, checked_condition, checked_value
from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maskwright.edits.rule_language.operands import Typed


LONGEST_RULE = 10_000

# What a reader of the message knows each terminal as; the order is the order in the message.
_WORDS: dict[str, str] = {
    "NUMBER": "a number",
    "NAME": "a variable",
    "STRING": "a text in quotes",
    "IF": "'if'",
    "COMPARISON": "a comparison (== != < <= > >=)",
    "PLUS": "an operator (+ - * / ^)",
    "IN": "'in'",
    "IS": "'is'",
    "AND": "'and'",
    "OR": "'or'",
    "THEN": "'then'",
    "ELSE": "'else'",
    "MATCHES": "'matches'",
    "BY": "'by'",
    "MISSING": "'missing'",
    "INTEGER": "'integer'",
    "A_NUMBER": "'number'",
    "RANGE": "a range of variables (V3..V7)",
    "ORIGINAL": "'original'",
    "COMMA": "','",
    "LEFT_SQUARE": "an interval [a, b]",
    "LBRACE": "a set {a, b}",
    "RIGHT_SQUARE": "']'",
    "RIGHT_ROUND": "')'",
    "RBRACE": "'}'",
    "$END": "the end of the rule",
}

_DOUBLED: dict[str, str] = {
    "**": "A power is written with '^'.", "=<": "Write '<='.", "=>": "Write '>='.", "<>": "Write '!='.",
}  # fmt: skip

_FOREIGN: dict[str, str] = {
    "&": "write 'and'", "|": "write 'or'", "!": "write 'not', or '!=' for 'is not equal'", "%": "divide by 100 instead",
    "≤": "write '<='", "≥": "write '>='", "≠": "write '!='", "−": "write an ordinary minus '-'", "×": "write '*'",
    "·": "write '*'", "÷": "write '/'", "#": "names with unusual characters go in back quotes: `a#b`",
    "$": "names with unusual characters go in back quotes: `a$b`",
    '"': "texts begin and end with the same quote, on one line",
    "'": "texts begin and end with the same quote, on one line",
    "`": "names in back quotes begin and end with `, on one line",
}  # fmt: skip


_FOREIGN_DATE = re.compile(r"(?<![\w.])\d{1,2}\.\d{1,2}\.\d{4}(?![\w.])")
_DECIMAL_COMMA = re.compile(r"(?<![\w.,])(?:\d+|\d{1,3}(?:\.\d{3})+),\d+(?![\w.,])")
"""With points between thousands, or without."""


@functools.cache
def _parser() -> Lark:
    grammar = files("maskwright.edits.rule_language").joinpath("grammar.lark").read_text(encoding="utf-8")
    # The tree is built while parsing, bottom up, so that no input can exhaust the stack.
    return Lark(grammar, start=["rule", "sum"], parser="lalr", transformer=TreeBuilder(), maybe_placeholders=True)


def parse_expression(text: str, place: Place | None = None) -> Expression:
    """Read one rule."""
    return _placed(lambda: checked_condition(_parsed(text, "rule", place)), text, place)


def parse_value(text: str, place: Place | None = None) -> Expression:
    """Read what an alias stands for: a variable, or a calculation with variables."""
    return _placed(lambda: checked_value(_parsed(text, "sum", place)), text, place)


def _parsed(text: str, start: str, place: Place | None) -> Typed:
    if len(text) > LONGEST_RULE:
        raise EditError(
            Problem(
                f"the rule has {len(text)} characters; at most {LONGEST_RULE} are read",
                Place(place.file, place.line, place.column) if place else None,
                "Split it into several rules: each line of the list is one rule.",
            )
        )
    if not text.strip():
        raise EditError(Problem("the rule is empty", place, "Write a condition, for instance 'V9 + V10 == V14'."))
    return cast("Typed", _parser().parse(text, start=start))


def _placed(read: Callable[[], Expression], text: str, place: Place | None) -> Expression:
    """Result of reading, with its mistakes placed in the text."""
    try:
        return read()
    except Mistake as mistake:
        raise EditError(_problem(mistake.message, mistake.hint, text, mistake.start, place)) from None
    except UnexpectedInput as error:
        raise EditError(_syntax_problem(text, error, place)) from None


def _problem(message: str, hint: str | None, text: str, offset: int, place: Place | None) -> Problem:
    """Mistake at a character of the rule: in its file where the file's line shows the rule as it is."""
    if place is None or place.text is None or place.column is None:
        return Problem(message, _position(text, offset, place), hint)
    found = place.text.find(text, place.column - 1)
    if found >= 0:
        return Problem(message, Place(place.file, place.line, found + 1 + offset, place.text), hint)
    # The line says the rule in other words: a column of ours would point anywhere in it.
    read = f"The line is read as: {' '.join(text.split())} (character {offset + 1})"
    return Problem(message, place, read if hint is None else f"{hint} {read}")


def _position(text: str, offset: int, place: Place | None) -> Place:
    """Place of a character in the text of the rule itself."""
    before = text[:offset]
    line, column = before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1
    lines = text.splitlines()
    shown = lines[line - 1] if line <= len(lines) else None
    return Place(None, line, column, shown) if place is None else Place(place.file, place.line, column, shown)


def _syntax_problem(text: str, error: UnexpectedInput, place: Place | None) -> Problem:
    if isinstance(error, UnexpectedToken):
        token: Token = error.token
        ended = token.type == "$END"
        offset = len(text.rstrip()) if ended else int(token.start_pos or 0)
        found = "the rule ends" if ended else f"found {str(token)!r}"
        expected: Sequence[str] = sorted(error.accepts or error.expected)
        hint = _DOUBLED.get(text[max(offset - 1, 0) : offset + 1]) or _keyword_hint(str(token))
        hint = hint or _notation_hint(text, offset)
    elif isinstance(error, UnexpectedCharacters):
        offset = int(error.pos_in_stream or 0)
        found = f"found {text[offset]!r}"
        expected = sorted(error.allowed or ())
        hint = _FOREIGN.get(text[offset])
    else:
        raise error
    return _problem(f"{found}; expected {_in_words(expected)}", hint, text, offset, place)


def _notation_hint(text: str, offset: int) -> str | None:
    """How a number or a date that the place is in is written here; None where it is in neither."""
    if any(found.start() <= offset < found.end() for found in _FOREIGN_DATE.finditer(text)):
        return "Write dates as year-month-day, without quotes: 2015-12-31."
    number = next((each for each in _DECIMAL_COMMA.finditer(text) if each.start() <= offset < each.end()), None)
    return number and f"Decimals are written with a point: write {number[0].replace('.', '').replace(',', '.')}."


def _keyword_hint(word: str) -> str | None:
    if word.lower() in KEYWORDS and word != word.lower():
        return f"Keywords are in small letters: '{word.lower()}'."
    return None


def _in_words(terminals: Sequence[str]) -> str:
    words = [word for terminal, word in _WORDS.items() if terminal in terminals]
    if "NUMBER" in terminals and "NAME" in terminals and "STRING" in terminals and "RBRACE" not in terminals:
        if "IF" in terminals or "LEFT_ROUND" in terminals or "LPAR" in terminals:
            words = ["a number, a variable or a function", *words[3:]]
        if "INTEGER" not in terminals and "COMPARISON" not in terminals:
            words = [word for word in words if word != "an operator (+ - * / ^)"]
    if not words:
        return "the end of the rule"
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " or " + words[-1]


_TEXT_KEYS = ("rule", "name", "label", "message", "severity", "when")


@dataclass(frozen=True)
class RuleItem:
    """One rule as a file states it.

    `item`: text, or a mapping with the keys of `maskwright.edits.rule_language.rule_entry.RuleEntry`. `places`: of the
    other values, where known. `aliases`: in force where the rule stands. `alias_texts`: what each stands for, to be
    shown with the rule.
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
    edit = Edit(
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
    return as_file_test(edit)


def _condition(text: str, place: Place, aliases: Mapping[str, Expression]) -> Expression:
    return without_aliases(parse_expression(text, place), aliases, place)


def _aliases_of(item: RuleItem, fields: Mapping[str, str | Fraction]) -> str:
    """What the aliases that a rule uses stand for: who reads the rule in a record does not have the file of rules."""
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
