"""Expression trees in XPath's types as text of XPath 1.0."""

from __future__ import annotations

import re

from maskwright.edits.expression import (
    And,
    Arithmetic,
    Comparison,
    Expression,
    Function,
    InOriginal,
    Negative,
    Not,
    Number,
    Or,
    Text,
    Truth,
    VariableReference,
)
from maskwright.edits.languages.conversion.inexpressible import Inexpressible
from maskwright.edits.languages.conversion.paths import PathReference
from maskwright.edits.languages.conversion.yaml_text import decimal_text
from maskwright.foundation.xml_names import NCNAME

LONGEST_TEST = 10_000
ORIGINAL_FILE = "original.xml"

_OR, _AND, _EQUAL, _LESS, _SUM, _PRODUCT, _SIGNED, _ATOM = range(8)
_COMPARISONS = {"==": ("=", _EQUAL), "!=": ("!=", _EQUAL)}
_ARITHMETIC = {
    "+": ("+", _SUM),
    "-": ("-", _SUM),
    "*": ("*", _PRODUCT),
    "/": ("div", _PRODUCT),
    "mod": ("mod", _PRODUCT),
}


def xpath_text(expression: Expression) -> str:
    """Text of a test in XPath 1.0; `parse_xpath` reads the same meaning from it."""
    text = _text(expression, _OR)
    if len(text) > LONGEST_TEST:
        raise Inexpressible(f"its test has {len(text):,} characters in XPath; at most {LONGEST_TEST:,} are read")
    return text


def element_name(name: str) -> str:
    """Name of a variable as XPath writes it."""
    if not re.fullmatch(NCNAME, name):
        raise Inexpressible(f"{name!r} cannot be the name of an XML element")
    return name


def _text(node: Expression, level: int) -> str:
    text, own = _with_level(node)
    return text if own >= level else f"({text})"


def _with_level(node: Expression) -> tuple[str, int]:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of node
    match node:
        case Number(value):
            text = decimal_text(value)
            if text is None:
                return f"{value.numerator} div {value.denominator}", _PRODUCT
            return text, _SIGNED if value < 0 else _ATOM
        case Text(value):
            quote = "'" if "'" not in value else '"'
            if quote in value:
                raise Inexpressible("a text holds both kinds of quotes, which XPath 1.0 cannot write")
            return f"{quote}{value}{quote}", _ATOM
        case Truth(value):
            return ("true()" if value else "false()"), _ATOM
        case PathReference(path):
            return path, _ATOM
        case VariableReference(name):
            return element_name(name), _ATOM
        case Negative(operand):
            return f"-{_text(operand, _SIGNED)}", _SIGNED
        case Not(operand):
            return f"not({_text(operand, _OR)})", _ATOM
        case And(operands):
            return " and ".join(_text(operand, _EQUAL) for operand in operands), _AND
        case Or(operands):
            return " or ".join(_text(operand, _AND) for operand in operands), _OR
        case Comparison(operator, left, right):
            sign, own = _COMPARISONS.get(operator, (operator, _LESS))
            return f"{_text(left, own)} {sign} {_text(right, own + 1)}", own
        case Arithmetic(operator, left, right) if operator in _ARITHMETIC:
            sign, own = _ARITHMETIC[operator]
            return f"{_text(left, own)} {sign} {_text(right, own + 1)}", own
        case Function("number", (PathReference(path, is_number=True),)):
            return path, _ATOM
        case Function(name, arguments):
            return f"{name}({', '.join(_text(argument, _OR) for argument in arguments)})", _ATOM
        case InOriginal((name,)):
            own_name = element_name(name)
            return f"{own_name} = document('{ORIGINAL_FILE}')//{own_name}", _EQUAL
        case InOriginal():
            raise Inexpressible("XPath 1.0 cannot look up a combination of variables in the original file")
        case _:
            raise Inexpressible("the test is outside XPath 1.0")
