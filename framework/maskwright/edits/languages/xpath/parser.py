"""Tests of Schematron rules: the understood subset of XPath 1.0, parsed into the expression tree.

Source: XML Path Language 1.0, W3C Recommendation 16 November 1999, sections 3 (expressions) and 3.7 (lexical
structure). The subset speaks of one flat record: its child elements by name, numbers, strings, arithmetic, comparisons
and logic. Anything else is refused by name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, cast

from maskwright.edits import expression as x
from maskwright.edits.element_names import ElementNaming
from maskwright.edits.languages.schematron.options import SchematronOptions
from maskwright.edits.languages.xpath.tokens import DOMAIN_HINT, Refusals, Token, tokens_of
from maskwright.foundation.errors import EditError, Place, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Mapping

LARGEST_TREE = 10_000
LONGEST_NUMBER = 300  # digits: beyond, a literal may leave the range of binary64

_PRECEDENCE = {
    "or": 1, "and": 2, "=": 3, "!=": 3, "<": 4, "<=": 4, ">": 4, ">=": 4, "+": 5, "-": 5, "*": 6, "div": 6, "mod": 6,
}  # fmt: skip
_CONVERSIONS = frozenset({"number", "string", "normalize-space", "boolean", "floor", "ceiling", "round"})


@dataclass(frozen=True, slots=True)
class OriginalNodes:
    """``document('...')``, by convention the original file, or a column of it: not a condition by itself.

    `document`: its name. `column`: the last step of the path; None: the document.
    """

    document: str
    column: str | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """A sequence of XPath 2 that is not of one item: ``('M', 'F')``, ``()``; no value by itself."""

    members: tuple[x.Expression, ...]


Parsed = x.Expression | OriginalNodes | Items


class Grown(NamedTuple):
    """A subtree with its depth and number of nodes, so that neither can explode through ``let``."""

    tree: Parsed
    depth: int
    size: int

    @property
    def value(self) -> x.Expression:
        """The tree, where it is known to be of the record."""
        assert not isinstance(self.tree, OriginalNodes | Items)
        return self.tree


def parse_xpath(
    text: str,
    place: Place | None = None,
    variables: Mapping[str, Parsed] | None = None,
    limits: SchematronOptions | None = None,
    naming: ElementNaming | None = None,
) -> x.Expression:
    """Parse the test of an assert.

    `variables`: what ``$name`` stands for. Whether a value occurs in the original file is written as in the source
    paper, ``exists(index-of(document('...')//Record/V1, V1))``, or ``V1 = document('...')//V1``: both are `InOriginal`.
    """
    return condition_of_record(parse_value(text, place, variables, limits, naming), place)


def condition_of_record(tree: Parsed, place: Place | None) -> x.Expression:
    """What was parsed, where it is a condition on a record."""
    if isinstance(tree, OriginalNodes):
        raise EditError(Problem("a document is no condition on a record", place, DOMAIN_HINT))
    if isinstance(tree, Items):
        raise EditError(Problem("a sequence is no condition on a record", place))
    return tree


def parse_value(
    text: str,
    place: Place | None = None,
    variables: Mapping[str, Parsed] | None = None,
    limits: SchematronOptions | None = None,
    naming: ElementNaming | None = None,
) -> Parsed:
    """Parse the value of a ``let``: as `parse_xpath`, or the original file as a whole."""
    return XPathParser(text, place, variables or {}, limits or SchematronOptions(), naming).parse()


def grown_of(tree: Parsed) -> Grown:
    """What was parsed before, with its size."""
    parts = () if isinstance(tree, OriginalNodes) else tree.members if isinstance(tree, Items) else (tree,)
    sizes = [x.size_and_depth(part) for part in parts]
    return Grown(tree, max((depth for _, depth in sizes), default=1), sum(size for size, _ in sizes) or 1)


class XPathParser:
    """Reads one expression about one flat record; `maskwright.edits.languages.xpath.nested` reads more."""

    def __init__(
        self,
        text: str,
        place: Place | None,
        variables: Mapping[str, Parsed],
        limits: SchematronOptions,
        naming: ElementNaming | None = None,
        *,
        later: bool = False,
    ) -> None:
        self._naming = ElementNaming() if naming is None else naming
        self._refuse = Refusals(text, place, limits.max_nesting)
        self._variables = variables
        self._limits = limits
        self._substituted: dict[str, Grown] = {}
        self._operators: Mapping[str, int] = _PRECEDENCE
        self._level = 0
        self._next = 0
        if len(text) > limits.max_expression:
            self._refuse.fail(
                f"this expression has {len(text):,} characters; at most {limits.max_expression:,} are read"
            )
        self._tokens = tokens_of(text, self._refuse.fail, later=later)

    def parse(self) -> Parsed:
        """Read the whole text."""
        if self._tokens[0].kind == "end":
            self._refuse.fail("this expression is empty")
        try:
            tree = self._expression(1).tree
        except RecursionError:
            # XPath 2 needs more frames for a level than XPath 1.
            self._refuse.too_deep()
        if self._next != len(self._tokens) - 1:
            self._refuse.operator(self._token)
        return tree

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def _advance(self) -> Token:
        token = self._token
        self._next += 1
        return token

    def _is_sign(self, text: str) -> bool:
        return self._token.kind == "sign" and self._token.text == text

    def _expect(self, text: str) -> None:
        if not self._is_sign(text):
            self._refuse.operator(self._token, f"expected {text!r}")
        self._advance()

    # Precedence climbing: one Python frame for each operator level that is in fact used, so 200 levels of nesting
    # stay far from the interpreter's recursion limit.
    def _expression(self, lowest: int) -> Grown:
        self._level += 1
        if self._level > self._limits.max_nesting:
            self._refuse.too_deep()
        left = self._unary()
        while True:
            # XPath 1.0 section 3.7: after an operand, `and`, `or`, `div`, `mod` and `*` are operators, never names.
            operator = self._token.text if self._token.kind in ("name", "sign") else ""
            precedence = self._operators.get(operator, 0)
            if precedence < lowest:
                break
            self._advance()
            left = self._combine(operator, left, self._expression(precedence + 1))
        self._level -= 1
        return left

    def _unary(self) -> Grown:
        minus = 0
        while self._is_sign("-"):
            self._advance()
            minus += 1
        operand = self._primary()
        for _ in range(minus):
            self._check_of_record(operand)
            operand = self._grow(x.Negative(operand.value), operand)
        return operand

    def _primary(self) -> Grown:
        token = self._token
        match token.kind:
            case "number":
                self._advance()
                mantissa, _, exponent = token.text.lower().partition("e")
                # A short text must not become a number of a billion digits.
                if len(mantissa) > LONGEST_NUMBER or (exponent and abs(int(exponent[:9])) > LONGEST_NUMBER):
                    self._refuse.fail(
                        f"the number at character {token.start + 1} has more than {LONGEST_NUMBER} digits"
                    )
                grown = Grown(x.Number(Fraction(mantissa.removesuffix(".")) * Fraction(10) ** int(exponent or 0)), 1, 1)
            case "string":
                self._advance()
                grown = Grown(x.Text(token.text[1:-1]), 1, 1)
            case "reference":
                self._advance()
                grown = self._substitute(token.text[1:].strip())
            case "name":
                grown = self._call() if self._tokens[self._next + 1].text == "(" else self._child()
            case "sign" if token.text == "@":
                grown = self._attribute(None)
            case "sign" if token.text == "(":
                grown = self._parenthesised()
            case "sign" if token.text == "." and self._tokens[self._next + 1].text == "/":
                grown = self._step_from_here()
            case _:
                self._refuse.operand(self._token)
        if isinstance(grown.tree, OriginalNodes):
            grown = self._steps(grown.tree)
        return self._ended(grown)

    def _ended(self, grown: Grown) -> Grown:
        """Operand after which nothing follows that belongs to it."""
        self._refuse.path(self._token)
        return grown

    def _parenthesised(self) -> Grown:
        self._advance()
        grown = self._expression(1)
        self._expect(")")
        return grown

    def _step_from_here(self) -> Grown:
        """``./wages`` or ``./@id``."""
        token = self._token
        self._next += 2
        if self._is_sign("@"):
            return self._attribute(None)
        if self._token.kind != "name" or self._tokens[self._next + 1].text == "(":
            self._refuse.unsupported("a path that goes anywhere but to a child element", token)
        return self._child()

    def _child(self) -> Grown:
        token = self._advance()
        if self._is_sign("::"):
            if token.text != "child":
                self._refuse.unsupported(f"the axis {token.text}::", token)
            self._advance()
            token = self._advance()
            if token.kind != "name" or self._is_sign("("):
                self._refuse.unsupported("a step that names no child element", token)
        if self._is_sign("/") and self._tokens[self._next + 1].text == "@":
            self._advance()
            return self._attribute(token)
        return self._variable(token, self._naming.variable(token.text))

    def _attribute(self, element: Token | None) -> Grown:
        """``@id`` of the record, or ``wages/@unit`` of one of its elements."""
        token = self._attribute_token()
        return self._variable(token, self._naming.variable("" if element is None else element.text, token.text))

    def _step(self) -> str:
        """Name of an element or attribute of a record, after a step to it."""
        if self._is_sign("@"):
            return f"@{self._attribute_token().text}"
        token = self._advance()
        if token.kind != "name" or ":" in token.text or self._is_sign("("):
            self._refuse.unsupported("a step that names no element of a record", token)
        if self._is_sign("/") and self._tokens[self._next + 1].text == "@":
            self._advance()
            return f"{token.text}/@{self._attribute_token().text}"
        self._refuse.path(self._token)
        return token.text

    def _attribute_token(self) -> Token:
        self._advance()
        token = self._advance()
        if token.kind != "name" or self._is_sign("(") or self._naming.is_nil(token.text):
            self._refuse.unsupported("a step that names no attribute of a value", token)
        return token

    def _variable(self, token: Token, name: str | None) -> Grown:
        if name is None:
            self._refuse.unsupported(f"the namespace prefix in {token.text}", token)
        return Grown(x.VariableReference(name), 1, 1)

    def _call(self) -> Grown:
        token = self._advance()
        self._advance()
        name = token.text
        if name in ("true", "false"):
            self._expect(")")
            return Grown(x.Truth(name == "true"), 1, 1)
        if name in ("document", "doc"):
            return self._document()
        if name == "exists" and self._token.text == "index-of":
            self._advance()
            return self._index_of()
        if name not in _CONVERSIONS and name != "not":
            self._refuse.function(token)
        if self._is_sign(")"):
            self._refuse.unsupported(f"{name}() without an argument", token)
        argument = self._expression(1)
        self._expect(")")
        self._check_of_record(argument)
        return self._grow(x.Not(argument.value) if name == "not" else x.Function(name, (argument.value,)), argument)

    def _document(self) -> Grown:
        """``document('name')``: the name of the file is a convention, the person says which file it is."""
        if self._token.kind != "string":
            self._refuse.unsupported("a document whose name is not written out", self._token, DOMAIN_HINT)
        document = self._advance().text[1:-1]
        self._expect(")")
        return Grown(OriginalNodes(document), 1, 1)

    def _index_of(self) -> Grown:
        token = self._token
        self._expect("(")
        nodes = self._expression(1)
        self._expect(",")
        value = self._expression(1)
        self._expect(")")
        self._expect(")")
        return self._occurs(nodes, value, token)

    def _occurs(self, nodes: Grown, value: Grown, token: Token) -> Grown:
        if isinstance(nodes.tree, OriginalNodes) and nodes.tree.column is not None:
            if value.tree == x.VariableReference(nodes.tree.column):
                return Grown(x.InOriginal((nodes.tree.column,), nodes.tree.document), 1, 1)
            self._refuse.unsupported("a comparison with another column of the original file", token, DOMAIN_HINT)
        return self._refuse.unsupported("this use of another document", token, DOMAIN_HINT)

    def _steps(self, original: OriginalNodes) -> Grown:
        """Path from the original file down to a column."""
        element = ""
        while self._token.kind == "sign" and self._token.text in ("/", "//"):
            self._advance()
            attribute = self._attribute_token() if self._is_sign("@") else None
            token = attribute or self._advance()
            if token.kind != "name" or self._token.text in ("(", "::"):
                self._refuse.unsupported("a path in the original file that is not of names", token, DOMAIN_HINT)
            name = self._naming.variable(element, token.text) if attribute else self._naming.variable(token.text)
            if name is None:
                self._refuse.unsupported(f"the namespace prefix in {token.text}", token)
            original, element = replace(original, column=name), token.text
        return Grown(original, 1, 1)

    def _check_of_record(self, *operands: Grown) -> None:
        if any(isinstance(operand.tree, OriginalNodes) for operand in operands):
            self._refuse.unsupported("this use of another document", self._token, DOMAIN_HINT)
        if any(isinstance(operand.tree, Items) for operand in operands):
            self._refuse.unsupported("a sequence where one value is needed", self._token)

    def _substitute(self, name: str) -> Grown:
        if name not in self._variables:
            self._refuse.fail(unknown_name("let variable", name, self._variables))
        if name not in self._substituted:
            self._substituted[name] = grown_of(self._variables[name])
        return self._substituted[name]

    def _combine(self, operator: str, left: Grown, right: Grown) -> Grown:
        if operator == "=":
            for nodes, value in ((left, right), (right, left)):
                if isinstance(nodes.tree, OriginalNodes):
                    return self._occurs(nodes, value, self._token)
        self._check_of_record(left, right)
        match operator:
            case "and" | "or":
                kind = x.And if operator == "and" else x.Or
                if isinstance(left.tree, kind):
                    # One flat node: a long conjunction is wide, not deep.
                    depth, size = max(left.depth, right.depth + 1), left.size + right.size
                    return self._checked(Grown(kind((*left.tree.operands, right.value)), depth, size))
                return self._grow(kind((left.value, right.value)), left, right)
            case "+" | "-" | "*" | "div" | "mod":
                sign: x.ArithmeticOperator = "/" if operator == "div" else operator
                return self._grow(x.Arithmetic(sign, left.value, right.value), left, right)
            case _:
                relation = cast("x.ComparisonOperator", "==" if operator == "=" else operator)
                return self._grow(x.Comparison(relation, left.value, right.value), left, right)

    def _grow(self, tree: x.Expression, *parts: Grown) -> Grown:
        depth = 1 + max(part.depth for part in parts)
        return self._checked(Grown(tree, depth, 1 + sum(part.size for part in parts)))

    def _checked(self, grown: Grown) -> Grown:
        if grown.depth > self._limits.max_nesting:
            self._refuse.too_deep()
        if grown.size > LARGEST_TREE:
            self._refuse.fail(
                f"with its let variables written out, this expression has more than {LARGEST_TREE:,} terms"
            )
        return grown
