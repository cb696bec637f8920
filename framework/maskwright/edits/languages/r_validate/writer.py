"""A set of edits as a rule file of the R package validate.

Source: M. van der Loo, E. de Jonge, "The Data Validation Cookbook" (package validate), chapter on rule files; R's
``?Syntax`` for the binding of operators.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import yaml

from maskwright.edits import expression as x
from maskwright.edits.languages.conversion.converted import Converted, Inexpressible, each_written, tree_of
from maskwright.edits.languages.conversion.xpath_as_exact import exact_rule, rounded_in_xpath
from maskwright.edits.languages.conversion.yaml_text import decimal_text

if TYPE_CHECKING:
    from maskwright.edits.edit import Edit
    from maskwright.edits.edit_set import EditSet

LINE = 10_000
_NAME = re.compile(r"(?:[A-Za-z]|\.(?![0-9]))[A-Za-z0-9._]*")
_RESERVED = frozenset(
    "if else repeat while function for next break TRUE FALSE NULL Inf NaN NA NA_integer_ NA_real_ T F in".split()  # noqa: SIM905
)
# R's ?Syntax, from loose to tight.
_RULE, _OR, _AND, _NOT, _COMPARED, _SUM, _PRODUCT, _SPECIAL, _SIGNED, _POWER, _ATOM = range(11)
_LEVELS = {"+": _SUM, "-": _SUM, "*": _PRODUCT, "/": _PRODUCT}
_FUNCTIONS = {"abs": "abs", "floor": "floor", "ceiling": "ceiling", "min": "pmin", "max": "pmax"}


def validate_file(edits: EditSet) -> Converted:
    """Write edits as a YAML rule file of the R package validate.

    The file sets ``lin.eq.eps`` and ``lin.ineq.eps`` to 0: edits are exact, and what is allowed to miss stands in the
    rule itself.
    """
    rules, notes = each_written(edits, "R", _entry)
    content = {"options": {"lin.eq.eps": 0, "lin.ineq.eps": 0}, "rules": rules}
    if contexts := {edit.context for edit in edits if edit.context is not None}:
        notes.append(f"the context is not written ({', '.join(sorted(contexts))}): rules in R are about every record")
    if rounded := rounded_in_xpath(edits):
        notes.append(f"rounded otherwise in R than in XPath, but for whole numbers: {', '.join(rounded)}")
    head = "".join(f"# {note}\n" for note in notes)
    return Converted(head + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=LINE), tuple(notes))


def _entry(edit: Edit, position: int) -> dict[str, Any]:  # noqa: ARG001 - every rule has its name
    text = r_text(exact_rule(tree_of(edit)) if edit.binding == "xpath1" else tree_of(edit))
    rule: dict[str, Any] = {"expr": text, "name": edit.name}
    if edit.label:
        rule["label"] = edit.label
    if edit.message:
        rule["description"] = edit.message
    if edit.severity != "error":
        rule["meta"] = {"severity": edit.severity}
    return rule


def r_text(expression: x.Expression) -> str:
    """Text of a rule in R; the reader of validate's rules gives a rule with the same verdicts."""
    return _text(expression, _RULE)


def _text(node: x.Expression, level: int) -> str:
    text, own = _with_level(node)
    return text if own >= level else f"({text})"


def _with_level(node: x.Expression) -> tuple[str, int]:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of node
    match node:
        case x.Date():
            raise Inexpressible("it compares dates")
        case x.Number(value):
            text = decimal_text(value)
            if text is None:
                return f"{value.numerator} / {value.denominator}", _PRODUCT
            return text, _SIGNED if value < 0 else _ATOM
        case x.Text(value):
            return _quoted(value), _ATOM
        case x.Truth(value):
            return ("0 == 0" if value else "0 == 1"), _COMPARED
        case x.VariableReference(name):
            return _name(name), _ATOM
        case x.Arithmetic("^", left, right):
            return f"{_text(left, _ATOM)}^{_text(right, _ATOM)}", _POWER
        case x.Arithmetic("mod"):
            raise Inexpressible("R's remainder has the sign of the divisor, ours that of the dividend")
        case x.Arithmetic(operator, left, right):
            own = _LEVELS[operator]
            return f"{_text(left, own)} {operator} {_text(right, own + 1)}", own
        case x.Negative(operand):
            return f"-{_text(operand, _POWER)}", _SIGNED
        case x.Function(name, arguments) if name in _FUNCTIONS:
            return f"{_FUNCTIONS[name]}({', '.join(_text(each, _RULE) for each in arguments)})", _ATOM
        case x.Comparison(operator, left, right):
            return f"{_text(left, _SUM)} {operator} {_text(right, _SUM)}", _COMPARED
        case x.And(operands):
            return " & ".join(_text(each, _AND + 1) for each in operands), _AND
        case x.Or(operands):
            return " | ".join(_text(each, _OR + 1) for each in operands), _OR
        case x.Not(operand):
            return f"!({_text(operand, _RULE)})", _NOT
        case x.IfThen(condition, consequent, otherwise):
            text = f"if ({_text(condition, _RULE)}) {_text(consequent, _OR)}"
            return (text if otherwise is None else f"{text} else {_text(otherwise, _OR)}"), _RULE
        case x.InInterval(operand, low, high, low_closed, high_closed):
            return _interval(operand, low, high, low_closed=low_closed, high_closed=high_closed)
        case x.InSet(operand, members):
            return f"{_text(operand, _SPECIAL)} %in% c({', '.join(_text(each, _RULE) for each in members)})", _SPECIAL
        case x.IsMissing(x.VariableReference(name)):
            return f"is.na({_name(name)})", _ATOM
        case x.IsNumber(x.VariableReference(name)):
            return f"!is.na({_name(name)})", _NOT
        case x.IsInteger(operand):
            return f"{_text(operand, _SIGNED)} %% 1 == 0", _COMPARED
        case x.Unique() | x.Aggregate():
            raise Inexpressible("validate takes missing values as equal where it compares records")
        case x.Function(name) | x.KindCondition(name):
            raise Inexpressible(f"it uses {name}()")
        case _:
            raise Inexpressible("rules of validate have no such condition")


def _interval(
    operand: x.Expression, low: x.Expression | None, high: x.Expression | None, *, low_closed: bool, high_closed: bool
) -> tuple[str, int]:
    bounds = []
    if low is not None:
        bounds.append(f"{_text(operand, _SUM)} {'>=' if low_closed else '>'} {_text(low, _SUM)}")
    if high is not None:
        bounds.append(f"{_text(operand, _SUM)} {'<=' if high_closed else '<'} {_text(high, _SUM)}")
    if not bounds:
        raise Inexpressible("an interval without bounds says nothing in R")
    return " & ".join(bounds), _AND if len(bounds) > 1 else _COMPARED


def _name(name: str) -> str:
    if _NAME.fullmatch(name) and name not in _RESERVED:
        return name
    if not name or re.search(r"[`\\\r\n]", name):
        raise Inexpressible("the name of a variable holds a back quote, a backslash or a line break")
    return f"`{name}`"


def _quoted(text: str) -> str:
    if re.search(r"[\\\r\n]", text):
        raise Inexpressible("a text holds a backslash or a line break")
    for quote in ('"', "'"):
        if quote not in text:
            return f"{quote}{text}{quote}"
    raise Inexpressible("a text holds both kinds of quotes")
