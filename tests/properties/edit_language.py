"""Random rules of the YAML language, dirty records, and an interpreter that shares no code with Maskwright's.

The interpreter works on the texts of one record, with fractions and three truth values.
"""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil, floor
from typing import TYPE_CHECKING

import pyarrow as pa

from maskwright.data.record_chunk import RecordChunk
from maskwright.edits import expression as x

if TYPE_CHECKING:
    import random

Record = dict[str, str | None]
NUMBERS = ("a", "b", "c")
NAMES = (*NUMBERS, "s")
CELLS = ("0", "1", "-1", "2", "3", "0.5", "-2.5", "7.5", "12", " 3 ", "007", "1.0", "-0", "", " ", None, "x", "M", "1x")
_NUMBER = re.compile(r"[ \t\r\n]*-?([0-9]+(\.[0-9]*)?|\.[0-9]+)[ \t\r\n]*\Z")


def records(rng: random.Random, n: int) -> list[Record]:
    """Records of which every other cell is dirty."""
    clean = CELLS[:9]
    return [{name: rng.choice(CELLS if rng.random() < 0.4 else clean) for name in NAMES} for _ in range(n)]


def columns(rows: list[Record]) -> RecordChunk:
    """Records as Maskwright sees them."""
    return RecordChunk.from_batch(
        pa.RecordBatch.from_pydict({name: pa.array([row[name] for row in rows], pa.string()) for name in NAMES})
    )


# --- random rules ----------------------------------------------------------------------------------------------------


def arithmetic(rng: random.Random, depth: int) -> x.Expression:  # noqa: PLR0911
    if depth == 0 or rng.random() < 0.25:
        if rng.random() < 0.3:
            return x.Number(Fraction(rng.choice(["0", "1", "2", "-3", "0.5", "1.25", "10"])))
        return x.VariableReference(rng.choice(NUMBERS))
    inner = [arithmetic(rng, depth - 1) for _ in range(3)]
    kind = rng.randrange(14)
    if kind < 6:
        return x.Arithmetic(rng.choice(("+", "-")), inner[0], inner[1])
    if kind < 9:
        return x.Arithmetic(rng.choice(("*", "/")), inner[0], inner[1])
    if kind == 9:
        return x.Arithmetic("^", inner[0], x.Number(Fraction(rng.choice([1, 2, 3, -1]))))
    if kind == 10:
        return inner[0] if isinstance(inner[0], x.Number) else x.Negative(inner[0])
    if kind == 11:
        return x.Function(rng.choice(("min", "max")), tuple(inner[: rng.choice((2, 3))]))
    if kind == 12:
        return x.Arithmetic("mod", inner[0], x.Number(Fraction(rng.choice([2, 3, -2]))))
    return x.Function(rng.choice(("abs", "floor", "ceiling", "round")), (inner[0],))


def condition(rng: random.Random, depth: int) -> x.Expression:  # noqa: C901, PLR0911
    if depth and rng.random() < 0.55:
        inner = tuple(condition(rng, depth - 1) for _ in range(3))
        kind = rng.randrange(5)
        if kind == 0:
            return x.Not(inner[0])
        if kind == 1:
            return x.And(inner[: rng.choice((2, 3))])
        if kind == 2:
            return x.Or(inner[: rng.choice((2, 3))])
        return x.IfThen(inner[0], inner[1], inner[2] if kind == 3 else None)
    operator = rng.choice(("==", "!=", "<", "<=", ">", ">="))
    kind = rng.randrange(12)
    size = rng.choice((0, 1, 1, 2))
    if kind < 5:
        return x.Comparison(operator, arithmetic(rng, size), arithmetic(rng, rng.choice((0, 1))))
    if kind == 5:
        bounds = sorted(Fraction(rng.choice(["-3", "0", "0.5", "2", "7.5"])) for _ in range(2))
        low, high = (None if rng.random() < 0.2 else x.Number(bound) for bound in bounds)
        return x.InInterval(arithmetic(rng, size), low, high, rng.random() < 0.5, rng.random() < 0.5)
    if kind == 6:
        members = {x.Number(Fraction(rng.choice([-1, 0, 1, 2, 3]))): None for _ in range(3)}
        return x.InSet(arithmetic(rng, size), tuple(members))
    if kind == 7:
        listed: dict[x.Number | x.Text, None] = {x.Text(rng.choice(("M", "x", "it's"))): None, x.Text(" 3 "): None}
        return x.InSet(x.VariableReference(rng.choice(NAMES)), tuple(listed))
    if kind == 8:
        equality = rng.choice(("==", "!="))
        return x.Comparison(equality, x.VariableReference(rng.choice(NAMES)), x.Text(rng.choice(("M", "x", "1.0"))))
    if kind == 9:
        return rng.choice((x.IsMissing, x.IsNumber))(x.VariableReference(rng.choice(NAMES)))
    if kind == 10:
        return x.IsInteger(arithmetic(rng, size))
    return x.Comparison(
        rng.choice(("==", "!=")), x.VariableReference(rng.choice(NAMES)), x.VariableReference(rng.choice(NAMES))
    )


# --- the interpreter -------------------------------------------------------------------------------------------------


def blank(cell: str | None) -> bool:
    return cell is None or not cell.strip(" \t\r\n")


def said(cell: str | None) -> Fraction | None:
    if cell is None or not _NUMBER.match(cell):
        return None
    return Fraction(cell.strip(" \t\r\n").removesuffix("."))


def number(node: x.Expression, row: Record) -> Fraction | None:  # noqa: C901, PLR0911
    if isinstance(node, x.Number):
        return node.value
    if isinstance(node, x.VariableReference):
        return said(row[node.name])
    values = [number(child, row) for child in x.children(node)]
    if any(value is None for value in values):
        return None
    known = [value for value in values if value is not None]
    if isinstance(node, x.Negative):
        return -known[0]
    if isinstance(node, x.Arithmetic):
        left, right = known
        if node.operator == "+":
            return left + right
        if node.operator == "-":
            return left - right
        if node.operator == "*":
            return left * right
        if node.operator == "^":
            return None if left == 0 and right < 0 else left ** int(right)
        if right == 0:
            return None
        if node.operator == "/":
            return left / right
        quotient = left / right
        return left - right * (floor(quotient) if quotient >= 0 else ceil(quotient))
    assert isinstance(node, x.Function)
    if node.name in ("min", "max"):
        return min(known) if node.name == "min" else max(known)
    (value,) = known
    return {
        "abs": abs(value), "floor": Fraction(floor(value)), "ceiling": Fraction(ceil(value)),
        "round": Fraction(floor(value + Fraction(1, 2))),
    }[node.name]  # fmt: skip


def ordered(operator: str, left: Fraction | None, right: Fraction | None) -> bool | None:
    if left is None or right is None:
        return None
    return {
        "==": left == right, "!=": left != right, "<": left < right, "<=": left <= right, ">": left > right,
        ">=": left >= right,
    }[operator]  # fmt: skip


def negated(value: bool | None) -> bool | None:
    return None if value is None else not value


def both(values: list[bool | None]) -> bool | None:
    return False if False in values else None if None in values else True


def truth(node: x.Expression, row: Record) -> bool | None:  # noqa: C901, PLR0911, PLR0912
    match node:
        case x.Not(operand):
            return negated(truth(operand, row))
        case x.And(operands):
            return both([truth(operand, row) for operand in operands])
        case x.Or(operands):
            return negated(both([negated(truth(operand, row)) for operand in operands]))
        case x.IfThen(given, then, other):
            first = negated(both([truth(given, row), negated(truth(then, row))]))
            if other is None:
                return first
            return both([first, negated(both([negated(truth(given, row)), negated(truth(other, row))]))])
        case x.Comparison(operator, x.VariableReference(name), x.Text(text)):
            cell = row[name]
            return None if blank(cell) else (cell == text) == (operator == "==")
        case x.Comparison("==" | "!=" as operator, x.VariableReference(one), x.VariableReference(other)):
            here, there = row[one], row[other]
            if blank(here) or blank(there):
                return None
            if said(here) is not None and said(there) is not None:
                return ordered(operator, said(here), said(there))
            return (here == there) == (operator == "==")
        case x.Comparison(operator, left, right):
            return ordered(operator, number(left, row), number(right, row))
        case x.InInterval(operand, low, high, low_closed, high_closed):
            value = number(operand, row)
            found: list[bool | None] = [None if value is None else True]
            if low is not None:
                found.append(ordered(">=" if low_closed else ">", value, number(low, row)))
            if high is not None:
                found.append(ordered("<=" if high_closed else "<", value, number(high, row)))
            return both(found)
        case x.InSet(x.VariableReference(name), members):
            cell = row[name]
            if blank(cell):
                return None
            texts = [member.value for member in members if isinstance(member, x.Text)]
            values = [member.value for member in members if isinstance(member, x.Number)]
            return cell in texts or said(cell) in values
        case x.InSet(operand, members):
            value = number(operand, row)
            return None if value is None else value in [member.value for member in members]
        case x.IsMissing(x.VariableReference(name)):
            return blank(row[name])
        case x.IsNumber(x.VariableReference(name)):
            return said(row[name]) is not None
        case x.IsInteger(operand):
            value = number(operand, row)
            return None if value is None else value.denominator == 1
    raise AssertionError(node)
