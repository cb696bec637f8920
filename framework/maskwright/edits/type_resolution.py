"""Rules rewritten by the types of their variables: comparisons of dates, equality of categories."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import log10
from typing import TYPE_CHECKING, Literal

from maskwright.data.dates import DAY, FUNCTIONS_OF_DATES
from maskwright.data.notations import date_remedy
from maskwright.edits import expression as x
from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.conditions import all_of
from maskwright.edits.algebra.conjunctions import rounded_to
from maskwright.edits.edit import CheckedPart
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import EditError, Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit


Kind = Literal["date", "number", "text"] | None
"""None: unknown, whatever it is compared with."""


def with_dates(edits: EditSet, variables: Sequence[Variable]) -> EditSet:
    """Edits as variables that are dates need them.

    Tests in XPath see texts where rules in YAML see days: what algebra found in them is not about days, so that they
    are only checked. In rules in YAML, datetimes are divided by the seconds of a day.
    """
    kinds: dict[str, Kind] = {
        each.name: "date" if each.is_date else "number" if each.is_numeric else "text" for each in variables
    }
    texts = {each.name: each.categories for each in variables if not each.is_numeric}
    problems = [
        problem
        for edit in edits
        if edit.binding == "exact" and edit.engine is None and not edit.in_days
        for problem in _mistakes(edit, kinds, texts, frozenset(each.name for each in variables if each.type == "date"))
    ]
    if problems:
        raise EditError(problems)
    dates = {name for name, kind in kinds.items() if kind == "date"}
    if not dates:
        return edits
    datetimes = frozenset(each.name for each in variables if each.type == "datetime")
    adapted = (_only_checked(edit) if _sees_text(edit, dates) else _in_days(edit, datetimes) for edit in edits)
    return EditSet(tuple(adapted), edits.notes)


def _in_days(edit: Edit, datetimes: frozenset[str]) -> Edit:
    """Edit in which datetimes are days with a part of a day."""
    clocked = edit.binding == "exact" and edit.engine is None and not edit.in_days
    if not clocked or datetimes.isdisjoint(edit.variables):
        return edit

    def changed(node: x.Expression) -> x.Expression:
        match node:
            case x.VariableReference(name) if name in datetimes:
                return x.Arithmetic("/", node, x.Number(Fraction(DAY)))
            case x.Function("hour", (moment,)):
                part = x.Arithmetic("-", moment, x.Function("floor", (moment,)))
                return x.Function("floor", (x.Arithmetic("*", part, x.Number(Fraction(24))),))
            case _:
                return node

    expression = x.rewritten(edit.expression, changed)
    when = None if edit.when is None else x.rewritten(edit.when, changed)
    return replace(edit, expression=expression, when=when, parts=classify(expression, edit.place), in_days=True)


def _sees_text(edit: Edit, dates: set[str]) -> bool:
    return edit.binding != "exact" and bool(edit.parts) and not dates.isdisjoint(edit.variables)


def _only_checked(edit: Edit) -> Edit:
    return replace(edit, parts=(CheckedPart(edit.expression),))


def _mistakes(
    edit: Edit, kinds: Mapping[str, Kind], texts: Mapping[str, Sequence[str]], days: frozenset[str]
) -> Iterator[Problem]:
    """One problem for each edit: the first mistake in it. `days` are the dates that have no time of day."""
    try:
        for node in x.nodes(edit.expression):
            if isinstance(node, x.Function) and node.name == "hour":
                _refuse_days(node, days)
        stack: list[x.Expression] = [edit.expression]
        while stack:
            node = stack.pop()
            match node:
                case x.Comparison(_, left, right):
                    _same(kinds, left, right)
                case x.InInterval(operand, low, high):
                    _same(kinds, *(each for each in (operand, low, high) if each is not None))
                case x.InSet(operand, members):
                    _same(kinds, operand, *members)
                case _:
                    stack.extend(x.children(node))
    except _Mixed as mistake:
        remedy = None if mistake.text is None else date_remedy(mistake.text, texts.get(mistake.text, ()))
        yield Problem(f"edit {edit.name!r} {mistake.message}", edit.place, remedy or mistake.hint)


def _refuse_days(hour: x.Function, days: frozenset[str]) -> None:
    for node in x.nodes(hour):
        if isinstance(node, x.VariableReference) and node.name in days:
            raise _Mixed(f"asks for hour() of {node.name}, which has no time of day", "Datetimes have hours.")


class _Mixed(Exception):  # noqa: N818 - never leaves this module
    def __init__(self, message: str, hint: str, text: str | None = None) -> None:
        """Give the message, what to do, and the variable that was read as text and may be a date."""
        super().__init__(message)
        self.message, self.hint, self.text = message, hint, text


def _same(kinds: Mapping[str, Kind], *terms: x.Expression) -> None:
    """Stop where terms that are compared are no dates and one is."""
    found = [(term, _kind(term, kinds)) for term in terms]
    if not any(kind == "date" for _, kind in found):
        return
    named = next(
        (term.name for term, kind in found if kind == "date" and isinstance(term, x.VariableReference)), "a date"
    )
    for term, kind in found:
        if kind == "text" and isinstance(term, x.VariableReference):
            hint = f'Declare how its dates are written: `{term.name}: {{type: date, format: "%d.%m.%Y"}}`.'
            raise _Mixed(f"compares {term.name}, which was read as text, with a date", hint, term.name)
        if kind == "text":
            raise _Mixed(f"compares {named} with a text", "Write dates without quotes: 2005-12-31.")
        if kind == "number" and isinstance(term, x.VariableReference):
            hint = (
                f'If it is one: `{term.name}: {{type: date, format: "%Y%m%d"}}`. Else write year(...), or a difference.'
            )
            raise _Mixed(f"compares {term.name}, which is no date, with a date", hint)
        if kind == "number":
            hint = f"Write a date, 2005-12-31, or year({named}); a difference of dates is a number of days."
            raise _Mixed(f"compares {named} with a number", hint)


def _kind(term: x.Expression, kinds: Mapping[str, Kind]) -> Kind:  # noqa: C901, PLR0911, PLR0912 - a case for each kind
    match term:
        case x.Date():
            return "date"
        case x.Number():
            return "number"
        case x.Text():
            return "text"
        case x.VariableReference(name):
            return kinds.get(name)
        case x.Function(name, arguments) if name in FUNCTIONS_OF_DATES:
            for argument in arguments:
                _date_argument(name, argument, kinds)
            return "number"
        case x.Function("min" | "max", arguments):
            _same(kinds, *arguments)
            return _kind(arguments[0], kinds)
        case x.Arithmetic("+" | "-" as sign, left, right):
            pair = _kind(left, kinds), _kind(right, kinds)
            if pair == ("date", "date"):
                if sign == "+":
                    raise _Mixed("adds dates", "Dates have differences: leave - entry is a number of days.")
                return "number"
            if pair[0] == "date" or (pair[1] == "date" and sign == "+"):
                return "date"
            if pair[1] == "date" and pair[0] == "number":
                raise _Mixed("subtracts a date from a number", "Dates have differences: leave - entry is in days.")
            return None if None in pair or "text" in pair or "date" in pair else "number"
        case x.Arithmetic() | x.Negative() | x.Function():
            inner = [_kind(each, kinds) for each in x.children(term)]
            if "date" in inner:
                raise _Mixed("calculates with a date as with a number", "Use its year(...), or a difference in days.")
            return None if None in inner or "text" in inner else "number"
        case _:
            return None


def _date_argument(function: str, argument: x.Expression, kinds: Mapping[str, Kind]) -> None:
    kind = _kind(argument, kinds)
    if kind in ("number", "text"):
        named = argument.name if isinstance(argument, x.VariableReference) else "a number"
        declared = f'`{named}: {{type: date, format: "%d.%m.%Y"}}`'
        hint = f"Declare how its dates are written: {declared}." if named != "a number" else "Write a date: 2005-12-31."
        raise _Mixed(f"asks for {function}() of {named}, which is no date", hint, named if kind == "text" else None)


MOST_CATEGORIES = 50
"""Of a variable; an equality of more is only checked."""


def with_category_equalities(edits: EditSet, variables: Sequence[Variable]) -> EditSet:
    """Edits in which two categorical variables are compared by ``==`` or ``!=``, with parts on each category."""
    texts = {each.name: each.categories for each in variables if not each.is_numeric}
    if len(texts) < 2:
        return edits
    return EditSet(tuple(_of_categories(edit, texts) for edit in edits), edits.notes)


def _of_categories(edit: Edit, texts: Mapping[str, Sequence[str]]) -> Edit:
    if edit.engine is not None or edit.binding != "exact" or edit.shadowed:
        return edit
    found = [node for node in x.nodes(edit.expression) if _is_equality(node, texts)]
    if not found:
        return edit
    if any(not 0 < len(texts[name]) <= MOST_CATEGORIES for node in found for name in _sides(node)):
        return _only_checked(edit)

    def changed(node: x.Expression) -> x.Expression:
        return _choices(node, texts) if isinstance(node, x.Comparison) and _is_equality(node, texts) else node

    try:
        return replace(edit, parts=classify(x.rewritten(edit.expression, changed), edit.place))
    except EditError:
        # That none of these categories can obey it is for the check of the data to say.
        return _only_checked(edit)


def _is_equality(node: x.Expression, texts: Mapping[str, Sequence[str]]) -> bool:
    return (
        isinstance(node, x.Comparison)
        and node.operator in ("==", "!=")
        and isinstance(node.left, x.VariableReference)
        and isinstance(node.right, x.VariableReference)
        and node.left.name in texts
        and node.right.name in texts
    )


def _sides(node: x.Expression) -> tuple[str, ...]:
    assert isinstance(node, x.Comparison)
    return tuple(side.name for side in (node.left, node.right) if isinstance(side, x.VariableReference))


def _choices(node: x.Comparison, texts: Mapping[str, Sequence[str]]) -> x.Expression:
    """The equality, or its opposite: what the right may be for each category of the left."""
    left, right = (x.VariableReference(name) for name in _sides(node))
    wanted = node.operator == "=="
    possible: list[x.Text] = []
    chosen: list[x.Expression] = []
    for category in texts[left.name]:
        with_it = tuple(x.Text(other) for other in texts[right.name] if _is_same(category, other) == wanted)
        if with_it:
            possible.append(x.Text(category))
            chosen.append(x.IfThen(x.Comparison("==", left, x.Text(category)), x.InSet(right, with_it), None))
    if not possible:
        return x.Truth(False)
    return x.And((*chosen, x.InSet(left, tuple(possible)))) if len(possible) < len(texts[left.name]) else all_of(chosen)


def _is_same(one: str, other: str) -> bool:
    """As numbers where both are numbers, else as texts, like the evaluation of the rule."""
    try:
        return float(one) == float(other)
    except ValueError:
        return one == other


def with_grids(data: Dataset, edits: EditSet) -> Dataset:
    """Data, each variable without a grid with the decimals to which an edit says that it is rounded."""
    columns = {}
    for edit in edits:
        found = rounded_to(edit.expression) if edit.severity == "error" and edit.when is None else None
        if found is not None and found[0] in data:
            column, places = data[found[0]], round(-log10(found[1]))
            if column.variable.is_numeric and column.variable.decimals is None and found[1] == Fraction(1, 10**places):
                columns[column.name] = replace(column, variable=replace(column.variable, decimals=places))
    return data.with_columns(columns) if columns else data
