"""Functions of R that look inside of texts or at all records, as conditions and terms of our language."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.text_patterns import Alternatives, Repeated, Sequence, WrongPattern, pattern_of

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_CHARACTERS = 1_000
_LITERAL = frozenset("\\^$.|?*+()[]{}")
_BY_GROUP = {"sum_by": "sum", "mean_by": "mean", "min_by": "min", "max_by": "max"}
BY_GROUP = frozenset((*_BY_GROUP, "do_by"))


def unescaped(text: str) -> str:
    """What a text of R between quotes says."""
    found: list[str] = []
    at = 0
    while at < len(text):
        if text[at] == "\\":
            meant = {"\\": "\\", '"': '"', "'": "'", "t": "\t", "n": "\n"}.get(text[at + 1 : at + 2])
            if meant is None:
                raise Inexpressible(f"its text holds {text[at : at + 2]}")
            found.append(meant)
            at += 2
        else:
            found.append(text[at])
            at += 1
    return "".join(found)


def found_in(pattern: str, variable: x.VariableReference, *, fixed: bool) -> x.Expression:
    """``grepl(pattern, x)``: the pattern is somewhere in the text, and in no missing one."""
    if fixed:
        inner = ".*" + "".join(f"\\{sign}" if sign in _LITERAL else sign for sign in pattern) + ".*"
    else:
        starts, ends = pattern.startswith("^"), _is_anchored_at_end(pattern)
        inner = pattern[starts : len(pattern) - ends]
        read = _read(inner)
        if isinstance(read, Alternatives):
            if starts or ends:
                raise Inexpressible("^ or $ of its pattern belong to one of several alternatives")
            inner = f"({inner})"
        inner = f"{'' if starts else '.*'}{inner}{'' if ends else '.*'}"
    _read(inner)
    return x.And((x.Not(x.IsMissing(variable)), x.Matches(variable, inner)))


def _is_anchored_at_end(pattern: str) -> bool:
    slashes = len(pattern) - 1 - len(pattern[:-1].rstrip("\\"))
    return pattern.endswith("$") and slashes % 2 == 0


def _read(pattern: str) -> Repeated | Alternatives | Sequence | object:
    if "\n" in pattern or "\t" in pattern:
        raise Inexpressible("its pattern holds a line break or a tab")
    try:
        return pattern_of(pattern)
    except WrongPattern as wrong:
        raise Inexpressible(f"its pattern is not read here: {wrong.message}") from None


def of_length(variable: x.VariableReference, operator: str, length: int) -> x.Expression:
    """``nchar(x) == 4`` and the like."""
    if not 0 <= length < MOST_CHARACTERS:
        raise Inexpressible(f"texts of up to {MOST_CHARACTERS - 1} characters are counted")
    if operator in ("<", ">="):
        return of_length(variable, "<=", length - 1) if operator == "<" else of_length(variable, ">", length - 1)
    written = {"==": f"{length}", "!=": f"{length}", "<=": f"0,{length}", ">": f"{length + 1},"}[operator]
    held = x.Matches(variable, f".{{{written}}}")
    return x.Not(held) if operator == "!=" else held


def by_group(name: str, given: Mapping[str, object], *, skips_missing: bool) -> x.Expression:
    """``sum_by(x, by = g)``, ``do_by(x, by = g, fun = sum)``."""
    function = _BY_GROUP.get(name) or str(given.get("fun"))
    if function not in _BY_GROUP.values():
        raise Inexpressible(f"of groups, {', '.join(_BY_GROUP.values())} are understood")
    operand, keys = given["x"], given["by"]
    assert isinstance(keys, tuple)
    if not isinstance(operand, x.VariableReference):
        raise Inexpressible(f"{name}() of something computed")
    condition = x.Not(x.IsMissing(operand)) if skips_missing else None
    return x.Aggregate(function, operand, keys, condition)
