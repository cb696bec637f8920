"""Expressions of a Schematron file: query bindings, ``let`` variables, and ``value-of`` in messages."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn

from maskwright.edits import expression as x
from maskwright.edits.engines.engine_tests import XSL
from maskwright.edits.languages.xpath.parser import Items, OriginalNodes, parse_value, parse_xpath
from maskwright.edits.languages.xpath.xpath2 import XPath2Test, parse_xpath2, value_of_xpath2
from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from maskwright.edits.element_names import ElementNaming
    from maskwright.edits.languages.schematron.document import Element
    from maskwright.edits.languages.schematron.state import Reading
    from maskwright.edits.languages.xpath.parser import Parsed


XPATH_1_BINDINGS = frozenset({"xslt", "xslt1", "xslt1.0", "xpath", "xpath1", "xpath1.0"})
LATER_BINDINGS = frozenset(
    {"xslt2", "xslt2.0", "xslt3", "xslt3.0", "xpath2", "xpath2.0", "xpath3", "xpath3.0", "xpath31", "xpath3.1"}
)

_LaterType = Literal["double", "decimal", "boolean"]


class _DifferentAnswerError(Exception):
    """The subtree on which the versions part; the message is the reason."""


def reason_to_refuse(expression: x.Expression) -> str | None:
    """Say why XPath 1.0 and XPath 2.0 or later may answer a test differently; None when they agree.

    They agree on calculations with doubles, that is where every variable is wrapped in ``number()``. They part on
    untyped text (``V1 < V2`` compares strings in 2.0), on literals calculated with each other (decimals in 2.0), and
    on conversions between booleans, strings and numbers, some of which are errors in 2.0.
    """
    try:
        _later_type(expression)
    except _DifferentAnswerError as difference:
        return str(difference)
    return None


def _later_type(node: x.Expression) -> _LaterType:  # noqa: C901, PLR0911, PLR0912 - one case for each kind of node
    match node:
        case x.Number():
            return "decimal"
        case x.Truth() | x.InOriginal():
            return "boolean"
        case x.Function() | x.VariableReference():
            return _later_call(node)
        case x.Negative(operand):
            kind = _later_number(operand)
            if kind == "decimal" and not (isinstance(operand, x.Number) and operand.value != 0):
                _differ("a negative zero is written with literals only")
            return kind
        case x.Arithmetic(_, left, right):
            if _later_number(left) == _later_number(right) == "decimal":
                _differ("literals are calculated with each other (in decimal arithmetic there): write the result")
            return "double"
        case x.Comparison("==" | "!=", left, right) if _is_text(left) and _is_text(right):
            return "boolean"
        case x.Comparison(_, left, right):
            types = {_later_type(left), _later_type(right)}
            if types == {"decimal"}:
                _differ("literals are compared with each other")
            if "boolean" in types and len(types) > 1:
                _differ("a number is compared with a truth value")
            return "boolean"
        case x.Not() | x.And() | x.Or() | x.IfThen():
            for operand in x.children(node):
                _later_condition(operand)
            return "boolean"
        case _:
            return _differ("a text is used")


def _is_text(node: x.Expression) -> bool:
    """Whether both versions compare this as a text with a text."""
    if isinstance(node, x.Function) and node.name in ("string", "normalize-space"):
        return isinstance(node.arguments[0], x.VariableReference | x.Text)
    return isinstance(node, x.VariableReference | x.Text)


def _later_condition(node: x.Expression) -> None:
    """What stands as a condition: both versions ask whether an element is there."""
    if not isinstance(node, x.VariableReference):
        _later_type(node)


def _later_call(node: x.Function | x.VariableReference) -> _LaterType:
    match node:
        case x.VariableReference(name):
            return _differ(f"the variable {name} is used without number(): write number({name})")
        case x.Function("number", (x.VariableReference(),)):
            return "double"
        case x.Function("number", (argument,)):
            _later_type(argument)
            return "double"
        case x.Function("boolean", (argument,)):
            _later_condition(argument)
            return "boolean"
        case x.Function("floor" | "ceiling" | "round" | "abs" as name, (argument,)):
            if _later_number(argument) == "decimal":
                _differ(f"{name}() of a literal")
            return "double"
        case x.Function(name):
            return _differ(f"{name}() is used")


def _later_number(node: x.Expression) -> _LaterType:
    kind = _later_type(node)
    if kind == "boolean":
        _differ("a truth value is calculated with")
    return kind


def _differ(reason: str) -> NoReturn:
    raise _DifferentAnswerError(reason)


# Variables made of variables double with every step.
LONGEST_WRITTEN_OUT = 1000


@dataclass(frozen=True)
class Let:
    """A variable.

    `text`: the same with the variables in it written out. `tree`: None: outside the subset, for `problem`. `in_rule`:
    computed on the rule's node; otherwise at the document. `differs`: why XPath 1 may see another value.
    """

    value: str
    text: str
    tree: Parsed | None
    problem: Problem | None
    in_rule: bool
    differs: str | None = None


Scope = dict[str, Let]


def lets_of(reading: Reading, element: Element, outer: Mapping[str, Let], *, in_rule: bool) -> Scope:
    """Variables visible inside an element: its own ones hide those of the elements around it."""
    scope = dict(outer)
    own: set[str] = set()
    for let in element:
        if let.name != "let" or let.namespace != element.namespace:
            continue
        name, value = let.attributes.get("name", "").strip(), let.attributes.get("value")
        if re.fullmatch(NCNAME, name) is None or value is None or any(True for _ in let):
            reading.refuse(let, "<let> needs a name and a value; a value written as elements is not read")
            continue
        if name in own:
            reading.refuse(let, f"the variable {name!r} is defined twice in one <{element.name}>")
            continue
        own.add(name)
        tree, problem, differs = _parsed(reading, let, value, scope)
        if not in_rule and tree is not None and _reads_record(tree):
            hint = "move the <let> into the rule"
            message = f"the variable {name!r} outside a rule is computed at the top of the document, not on a record"
            tree, problem = None, Problem(message, reading.place(let, value), hint)
        scope[name] = Let(value, with_lets(value, scope), tree, problem, in_rule, differs)
    return scope


def _reads_record(tree: Parsed) -> bool:
    if isinstance(tree, OriginalNodes):
        return False
    return any(x.variable_names(each) for each in (tree.members if isinstance(tree, Items) else (tree,)))


def _parsed(
    reading: Reading, let: Element, value: str, scope: Mapping[str, Let]
) -> tuple[Parsed | None, Problem | None, str | None]:
    place, known = reading.place(let), trees(scope)
    try:
        if reading.later_binding is None:
            return parse_value(value, place, known, reading.options, reading.naming), None, None
        tree, differs = value_of_xpath2(value, place, known, reading.options, reading.naming)
    except EditError as error:
        return None, error.problems[0], None
    return tree, None, differs or differing_let(value, scope)


def understood_test(
    reading: Reading, element: Element, text: str, scope: Scope
) -> tuple[XPath2Test | None, Problem | None]:
    """A test as it is understood, and why an engine has to give its verdict; each None where it is not so."""
    place, shown = reading.place(element), " ".join(text.split())
    if reading.for_engine:
        return None, Problem("this test is left to an engine", reading.place(element, shown))
    known, problem = trees(scope), None
    try:
        if reading.later_binding is None:
            understood = XPath2Test(parse_xpath(text, place, known, reading.options, reading.naming), "xpath1", None)
        else:
            understood = parse_xpath2(text, place, known, reading.options, reading.naming)
    except EditError as error:
        return None, _difference_from_xpath1(reading, element, text, known) or error.problems[0]
    if reading.later_binding is not None:
        reason = understood.differs or differing_let(text, scope) or reason_to_refuse(understood.tree)
        problem = None if reason is None else _difference(reading, element, shown, reason)
    for name in x.variable_names(understood.tree):
        if "-" in name:
            reading.note(
                element, f"{name!r} is read as one name; a difference needs spaces: {name.replace('-', ' - ')}"
            )
    return understood, problem


def _difference(reading: Reading, element: Element, shown: str, reason: str) -> Problem:
    message = f"XPath 1.0 and the {reading.later_binding} binding may answer differently: {reason}"
    return Problem(message, reading.place(element, shown))


def _difference_from_xpath1(
    reading: Reading, element: Element, text: str, known: Mapping[str, Parsed]
) -> Problem | None:
    """What to write instead of a test that XPath 1 alone understands."""
    try:
        reason = reason_to_refuse(parse_xpath(text, None, known, reading.options, reading.naming))
    except EditError:
        return None
    is_other = reading.later_binding is not None and reason is not None
    return _difference(reading, element, " ".join(text.split()), reason or "") if is_other else None


def differing_let(text: str, scope: Mapping[str, Let]) -> str | None:
    """Why XPath 1 may see another value of a variable that an expression uses."""
    names = re.findall(rf"\$\s*({NCNAME})", text)
    return next((scope[name].differs for name in names if name in scope and scope[name].differs), None)


def trees(scope: Mapping[str, Let]) -> dict[str, Parsed]:
    """What the variables of the subset stand for."""
    return {name: let.tree for name, let in scope.items() if let.tree is not None}


def with_lets(text: str, scope: Mapping[str, Let]) -> str:
    """XPath text with its variables written out, for ``value-of``."""

    def written_out(match: re.Match[str]) -> str:
        name = match["name"]
        if name is None or name not in scope or len(scope[name].text) > LONGEST_WRITTEN_OUT:
            return match.group()
        return f"({scope[name].text})"

    return re.sub(rf"\"[^\"]*\"|'[^']*'|\$\s*(?P<name>{NCNAME})", written_out, text)


_INLINE = frozenset({"emph", "dir", "span"})


def message_of(
    element: Element, context: str, place: Place, with_lets: Callable[[str], str], naming: ElementNaming | None = None
) -> tuple[str, list[Problem], list[str]]:
    """Message of an assert or report."""
    parts: list[str] = []
    problems: list[Problem] = []
    notes: list[str] = []

    def walk(node: Element) -> None:
        for part in node.content:
            if isinstance(part, str):
                parts.append(part)
            elif part.namespace == XSL and part.name in ("copy-of", "value-of"):
                parts.append(_placeholder(with_lets(part.attributes.get("select", "")), naming)[0])
            elif part.namespace != element.namespace:
                message = f"<{part.name}> of another namespace is refused: only Schematron elements are read"
                problems.append(Problem(message, Place(place.file, part.line)))
            elif part.name == "value-of":
                text = with_lets(part.attributes.get("select", ""))
                shown, understood = _placeholder(text, naming)
                parts.append(shown)
                if not understood:
                    notes.append(f"{place.file}:{part.line}: value-of is shown as written, not filled in: {text}")
            elif part.name == "name":
                parts.append(context.rpartition("/")[2])
            elif part.name in _INLINE:
                walk(part)
            else:
                problems.append(Problem(f"<{part.name}> does not belong into a message", Place(place.file, part.line)))

    walk(element)
    return " ".join("".join(parts).split()), problems, notes


def _placeholder(text: str, naming: ElementNaming | None) -> tuple[str, bool]:
    try:
        tree = parse_xpath(text, naming=naming)
    except EditError:
        return f"{{{text}}}", False
    variable = _single_variable(tree)
    return (f"{{{variable}}}" if variable else f"{{{text}}}"), True


def _single_variable(tree: x.Expression) -> str | None:
    match tree:
        case x.VariableReference(name) | x.Function("number" | "string", (x.VariableReference(name),)):
            return name
        case _:
            return None
