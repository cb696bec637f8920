"""The YAML language of edits: text to expression tree (the grammar itself is in ``grammar.lark``)."""

from __future__ import annotations

import functools
import re
from importlib.resources import files
from typing import TYPE_CHECKING, cast

from lark import Lark, Token
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from maskwright.edits.rule_language.operands import Mistake
from maskwright.edits.rule_language.typed_tree import KEYWORDS, TreeBuilder, checked_condition, checked_value
from maskwright.foundation.errors import EditError, Place, Problem, line_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from maskwright.edits.expression import Expression
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
    """Read one rule.

    `text`: the rule, for instance ``if V8 < 1115 then V13 <= V12``; at most 10,000 characters, nested at most 200 deep.
    `place`: where the text begins in its file. Returns a condition. Chains of comparisons are conjunctions, ``sum(a,
    b)`` is an addition; long sums are balanced trees, so that their depth stays small.
    """
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
    own = line_of("", text, line, column)
    if place is None:
        return Place(None, own.line, own.column, own.text)
    return Place(place.file, place.line, own.column, own.text)


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
