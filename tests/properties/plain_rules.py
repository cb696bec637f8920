"""Edit rules read and judged in plain Python: a second reading of the language that shares nothing with Maskwright.

It knows what rules on categories and simple sums need. A verdict is True, False or None (unknown, by Kleene's tables).
"""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction

Row = Mapping[str, str]
"""A record as the file writes it."""
Verdict = bool | None
Combinations = Callable[[tuple[str, ...]], Collection[tuple[str, ...]]]
Test = Callable[[Row], Verdict]
Value = Callable[[Row], "str | Fraction | None"]

TOKENS = re.compile(r"""\s*(?:([\d.]+)|('[^']*'|"[^"]*")|(`[^`]+`|[^\W\d]\w*)|(==|!=|<=|>=|[-+*/<>=(){}\[\],]))""")
COMPARE = {
    "==": operator.eq, "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
CALCULATE = {"+": operator.add, "-": operator.sub, "*": operator.mul}
WORDS = {"if", "then", "else", "and", "or", "not", "in", "is", "missing", "original"}


def conjunction(one: Verdict, other: Verdict) -> Verdict:
    """False if one is, unknown if one is."""
    if one is False or other is False:
        return False
    return None if one is None or other is None else True


def disjunction(one: Verdict, other: Verdict) -> Verdict:
    """True if one is, unknown if one is."""
    if one is True or other is True:
        return True
    return None if one is None or other is None else False


def negation(one: Verdict) -> Verdict:
    """The opposite, unknown of what is unknown."""
    return None if one is None else not one


@dataclass(frozen=True)
class PlainRule:
    """A rule, the variables that it reads, its verdict on a record, and whether it demands anything of it."""

    text: str
    names: tuple[str, ...]
    verdict: Test
    fires: Test


def plain_rule(text: str, missing: Mapping[str, Collection[str]], combinations: Combinations) -> PlainRule:
    """Read a rule.

    Parameters
    ----------
    text : str
    missing : mapping of variable to texts
        Cells that hold no value.
    combinations : callable
        Those of variables that occur in the original, as they are published.
    """
    reader = _Reader(text, missing, combinations)
    verdict = reader.rule()
    assert reader.at == len(reader.tokens), (text, reader.tokens[reader.at :])
    names = tuple(dict.fromkeys(reader.names))
    return PlainRule(text, names, verdict, reader.condition or (lambda _: True))


class _Reader:
    def __init__(self, text: str, missing: Mapping[str, Collection[str]], combinations: Combinations) -> None:
        self.text, self.missing, self.combinations = text, missing, combinations
        self.tokens: list[str] = []
        self.names: list[str] = []
        self.condition: Test | None = None
        end = 0
        while text[end:].strip():
            found = TOKENS.match(text, end)
            assert found, text[end:]
            self.tokens.append(found.group().strip())
            end = found.end()
        self.at = 0

    def _next(self, *wanted: str) -> str | None:
        """Take a token if it is one of those, or any if none are named."""
        if self.at < len(self.tokens) and (not wanted or self.tokens[self.at] in wanted):
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def _need(self, wanted: str) -> None:
        assert self._next(wanted), (self.text, wanted, self.tokens[self.at :])

    def rule(self) -> Test:
        if not self._next("if"):
            return self._either()
        condition = self._either()
        self._need("then")
        then = self.rule()
        other = self.rule() if self._next("else") else None
        self.condition = condition if other is None else None
        if other is None:
            return lambda row: disjunction(negation(condition(row)), then(row))
        return lambda row: conjunction(
            disjunction(negation(condition(row)), then(row)), disjunction(condition(row), other(row))
        )

    def _either(self) -> Test:
        found = self._both()
        while self._next("or"):
            one, two = found, self._both()
            found = lambda row, one=one, two=two: disjunction(one(row), two(row))  # type: ignore[misc]  # noqa: E731
        return found

    def _both(self) -> Test:
        found = self._negated()
        while self._next("and"):
            one, two = found, self._negated()
            found = lambda row, one=one, two=two: conjunction(one(row), two(row))  # type: ignore[misc]  # noqa: E731
        return found

    def _negated(self) -> Test:
        if self._next("not"):
            inner = self._negated()
            return lambda row: negation(inner(row))
        if self.tokens[self.at] == "(":
            return self._in_brackets()
        return self._condition()

    def _in_brackets(self) -> Test:
        """Combination, or condition or sum in brackets."""
        close = self.tokens.index(")", self.at)
        if self.tokens[close + 1 : close + 3] == ["in", "original"]:
            names = tuple(each for each in self.tokens[self.at + 1 : close] if each != ",")
            self.at = close + 3
            return self._occurring(names)
        start, known = self.at, len(self.names)
        try:
            self._need("(")
            found = self.rule()
            self._need(")")
        except (AssertionError, IndexError):
            self.at = start
            del self.names[known:]
            return self._condition()
        return found

    def _occurring(self, names: tuple[str, ...]) -> Test:
        names = tuple(each.strip("`") for each in names)
        assert all(name in self.missing for name in names), self.text
        self.names += names
        there = self.combinations(names)

        def test(row: Row) -> Verdict:
            if any(row[name] in self.missing[name] for name in names):
                return None
            return tuple(row[name] for name in names) in there

        return test

    def _condition(self) -> Test:
        """Chain of comparisons, set, interval, or question whether a cell is empty."""
        start = self.at
        left = self._sum()
        if self._next("is"):
            return self._presence(self.tokens[start].strip("`"))
        opposite = bool(self._next("not"))
        if self._next("in"):
            if self._next("original"):
                return self._occurring((self.tokens[start],))
            found = self._members(left) if self._next("{") else self._interval(left)
            return (lambda row: negation(found(row))) if opposite else found
        tests = []
        while sign := self._next(*COMPARE):
            right = self._sum()
            tests.append(lambda row, a=left, b=right, sign=sign: _compared(a(row), b(row), sign))
            left = right
        assert tests, self.text

        def chain(row: Row) -> Verdict:
            found: Verdict = True
            for test in tests:
                found = conjunction(found, test(row))
            return found

        return chain

    def _presence(self, name: str) -> Test:
        opposite = bool(self._next("not"))
        said = self._next()
        assert said
        texts = self.missing[name] if said == "missing" else (said[1:-1],)
        return lambda row: (row[name] in texts) != opposite

    def _members(self, left: Value) -> Test:
        members = [self._sum()]
        while self._next(","):
            members.append(self._sum())
        self._need("}")

        def test(row: Row) -> Verdict:
            found: Verdict = False
            for each in members:
                found = disjunction(found, _compared(left(row), each(row), "=="))
            return found

        return test

    def _interval(self, left: Value) -> Test:
        opening = self._next("[", "(")
        low = self._sum()
        self._need(",")
        high = self._sum()
        closing = self._next("]", ")")
        above, below = ">=" if opening == "[" else ">", "<=" if closing == "]" else "<"
        return lambda row: conjunction(_compared(left(row), low(row), above), _compared(left(row), high(row), below))

    def _sum(self) -> Value:
        found = self._product()
        while sign := self._next("+", "-"):
            one, two = found, self._product()
            found = lambda row, a=one, b=two, sign=sign: _calculated(a(row), b(row), sign)  # type: ignore[misc]  # noqa: E731
        return found

    def _product(self) -> Value:
        found = self._atom()
        while self._next("*"):
            one, two = found, self._atom()
            found = lambda row, a=one, b=two: _calculated(a(row), b(row), "*")  # type: ignore[misc]  # noqa: E731
        return found

    def _atom(self) -> Value:
        if self._next("("):
            inner = self._sum()
            self._need(")")
            return inner
        if self._next("-"):
            operand = self._atom()
            return lambda row: _calculated(Fraction(0), operand(row), "-")
        token = self._next()
        assert token, self.text
        if token[0] in "'\"":
            return lambda _: token[1:-1]
        if token[0].isdigit():
            number = Fraction(token)
            return lambda _: number
        assert token not in WORDS, (self.text, token)
        name = token.strip("`")
        assert name in self.missing, (self.text, name)
        self.names.append(name)
        return lambda row: None if row[name] in self.missing[name] else row[name]


def _number(value: str | Fraction | None) -> Fraction | None:
    return _number_of_text(value) if isinstance(value, str) else value


@functools.cache
def _number_of_text(text: str) -> Fraction | None:
    try:
        return Fraction(text)
    except ValueError:
        return None


def _compared(left: str | Fraction | None, right: str | Fraction | None, sign: str) -> Verdict:
    if left is None or right is None:
        return None
    if isinstance(left, str) and isinstance(right, str):
        one, two = _number(left), _number(right)
        if one is None or two is None:
            return bool(COMPARE[sign](left, right))
        return bool(COMPARE[sign](one, two))
    one, two = _number(left), _number(right)
    return None if one is None or two is None else bool(COMPARE[sign](one, two))


def _calculated(left: str | Fraction | None, right: str | Fraction | None, sign: str) -> Fraction | None:
    one, two = _number(left), _number(right)
    return None if one is None or two is None else CALCULATE[sign](one, two)
