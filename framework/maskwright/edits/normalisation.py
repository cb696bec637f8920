"""Rules normalised: ranges of variables written out, conjunctions taken apart."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from maskwright.edits import expression as x
from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.conditions import all_of
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.nearest_names import unknown_name

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from maskwright.edits.edit import Edit


def written_out(edits: EditSet, names: Sequence[str], hidden: Collection[str] = ()) -> EditSet:
    """Edits in which every range of variables is the list of its variables."""
    if not any(edit.ranged for edit in edits):
        return edits
    positions = {name: position for position, name in enumerate(names)}
    problems: list[Problem] = []
    found: list[Edit] = []
    for edit in edits:
        if not edit.ranged:
            found.append(edit)
            continue
        wrong = list(_problems(edit, positions, hidden))
        problems.extend(wrong)
        if not wrong:
            found.append(_written_out(edit, names, positions))
    if problems:
        raise EditError(problems)
    return EditSet(tuple(found), edits.notes)


def refuse_ranges(edits: Iterable[Edit]) -> None:
    """Stop where ranges cannot be written out because no data were read."""
    problems = [
        Problem(
            "a range of variables follows the order of the data's variables, and no data are read",
            edit.place,
            "Give the data, or list the variables.",
            edit=edit.name,
        )
        for edit in edits
        if edit.ranged
    ]
    if problems:
        raise EditError(problems)


def _balanced_sum(terms: Sequence[x.Expression]) -> x.Expression:
    """Sum from the left while short, balanced when long, so that its depth stays small."""
    if len(terms) > x.LONGEST_LEFT_SUM:
        middle = len(terms) // 2
        return x.Arithmetic("+", _balanced_sum(terms[:middle]), _balanced_sum(terms[middle:]))
    result = terms[0]
    for term in terms[1:]:
        result = x.Arithmetic("+", result, term)
    return result


def _problems(edit: Edit, positions: Mapping[str, int], hidden: Collection[str]) -> Iterable[Problem]:
    for part in (each for each in x.nodes(edit.expression) if isinstance(each, x.VariableRange)):
        unknown = [name for name in (part.first, part.last) if name not in positions]
        for name in unknown:
            yield Problem(f"{unknown_name('variable', name, positions)}", edit.place, edit=edit.name)
        if unknown:
            continue
        if positions[part.first] > positions[part.last]:
            yield Problem(
                f"in {part.first}..{part.last} the first variable comes after the last in the data",
                edit.place,
                f"Ranges follow the order of the file: write {part.last}..{part.first}.",
                edit=edit.name,
            )
        elif hidden:
            yield Problem(
                f"{part.first}..{part.last} may include {', '.join(sorted(hidden))}, which "
                "is declared an identifier and was not read",
                edit.place,
                "List the variables: sum(a, b, c).",
                edit=edit.name,
            )


def _written_out(edit: Edit, names: Sequence[str], positions: Mapping[str, int]) -> Edit:
    def change(node: x.Expression) -> x.Expression:
        if not isinstance(node, x.Function | x.KindCondition):
            return node
        written = node.arguments if isinstance(node, x.Function) else node.columns
        if not any(isinstance(one, x.VariableRange) for one in written):
            return node
        arguments: list[x.Expression] = []
        for argument in written:
            if isinstance(argument, x.VariableRange):
                first, last = positions[argument.first], positions[argument.last]
                arguments.extend(x.VariableReference(name) for name in names[first : last + 1])
            else:
                arguments.append(argument)
        if isinstance(node, x.KindCondition):
            return replace(node, columns=tuple(arguments))
        if node.name == "sum":
            return _balanced_sum(arguments)
        return arguments[0] if len(arguments) == 1 else x.Function(node.name, tuple(arguments))

    expression = x.rewritten(edit.expression, change)
    return replace(
        edit,
        expression=expression,
        parts=classify(expression, edit.place),
        variables=x.variable_names(expression),
        when=None if edit.when is None else x.rewritten(edit.when, change),
        ranged=False,
    )


def conjuncts(edit: Edit) -> tuple[Edit, ...]:
    """Edits of the same name that together say what this one says; the edit itself where it is no conjunction.

    Operands on the same variables stay together: the bounds of one sum may be an equality with a tolerance. Conditional
    ones do not: all ways to meet a dozen of them, one for each published category, would be too many.
    """
    if edit.whole or not isinstance(edit.expression, x.And | x.Not):
        return (edit,)
    return tuple(each for each, _ in _apart(edit, edit.expression))


def conjuncts_as_written(edit: Edit, plain: x.Expression) -> tuple[tuple[Edit, x.Expression], ...]:
    """The conjuncts of an edit across levels, each with its comparisons as they are written."""
    return ((edit, plain),) if edit.whole else _apart(edit, plain)


@lru_cache(maxsize=4096)
def _apart(edit: Edit, plain: x.Expression) -> tuple[tuple[Edit, x.Expression], ...]:
    together: dict[tuple[frozenset[str], x.Expression | None], list[tuple[x.Expression, x.Expression]]] = {}
    for stated, written in _operands(edit.expression, plain):
        alone = written if isinstance(written, x.IfThen) else None
        together.setdefault((frozenset(x.variable_names(written)), alone), []).append((stated, written))
    if len(together) < 2:
        return ((edit, plain),)
    found = []
    for each in together.values():
        rule = all_of([written for _, written in each])
        expression = all_of([stated for stated, _ in each])
        parts, names = classify(rule, edit.place), x.variable_names(rule)
        found.append((replace(edit, expression=expression, parts=parts, variables=names), rule))
    # An edit of which algebra uses less than it could, as of dates in XPath, stays one.
    parts = tuple(part for each, _ in found for part in each.parts)
    alike = len(parts) == len(edit.parts) and all(part in edit.parts for part in parts)
    return tuple(found) if alike else ((edit, plain),)


def _operands(stated: x.Expression, plain: x.Expression) -> Iterator[tuple[x.Expression, x.Expression]]:
    """Operands of a conjunction, and the same as they are written, which has the same form down to comparisons."""
    match stated, plain:
        case x.And(operands), x.And(written) if len(operands) == len(written):
            for one, other in zip(operands, written, strict=True):
                yield from _operands(one, other)
        case x.Not(x.Or(operands)), x.Not(x.Or(written)) if len(operands) == len(written):
            for one, other in zip(operands, written, strict=True):
                yield from _operands(x.Not(one), x.Not(other))
        case _:
            yield stated, plain


def joined(found: Sequence[Edit]) -> Edit:
    """One edit that says what these conjuncts of an edit say."""
    if len(found) == 1:
        return found[0]
    return replace(
        found[0],
        expression=x.And(tuple(each.expression for each in found)),
        parts=tuple(part for each in found for part in each.parts),
        variables=tuple(dict.fromkeys(name for each in found for name in each.variables)),
    )


def narrowed(edits: Iterable[Edit], wanted: Callable[[Edit], bool]) -> EditSet:
    """The edits as far as their conjuncts are wanted; those of which none is are left out."""
    found = []
    for edit in edits:
        every = conjuncts(edit)
        kept = [each for each in every if wanted(each)]
        if kept:
            found.append(edit if len(kept) == len(every) else joined(kept))
    return EditSet(tuple(found))


def as_far_as(edits: Iterable[Edit], wanted: Callable[[Edit], bool]) -> EditSet:
    """The edits without the conjuncts that are not wanted, where others of the same edit are."""
    found = []
    for edit in edits:
        every = conjuncts(edit)
        kept = every if len(every) == 1 else [each for each in every if wanted(each)] or every
        found.append(edit if len(kept) == len(every) else joined(kept))
    return EditSet(tuple(found))


def reading(edits: Iterable[Edit], names: Iterable[str]) -> EditSet:
    """The edits as far as they read some of these variables."""
    own = set(names)
    return narrowed(edits, lambda each: not own.isdisjoint(each.variables))


def inside(edits: Iterable[Edit], group: Iterable[str], masked: Iterable[str]) -> EditSet:
    """The edits as far as a variable group holds all the masked variables that they read."""
    return narrowed(edits, is_inside(group, masked))


def is_inside(group: Iterable[str], masked: Iterable[str]) -> Callable[[Edit], bool]:
    """Whether an edit reads variables of a group, and no masked one that is not of it."""
    own = set(group)
    others = set(masked) - own
    return lambda edit: not own.isdisjoint(edit.variables) and others.isdisjoint(edit.variables)


def taken_apart(edits: EditSet) -> tuple[EditSet, dict[str, str]]:
    """Each conjunct as an edit with a name of its own, and the edit's name by these names."""
    found: list[Edit] = []
    stated: dict[str, str] = {}
    for edit in edits:
        every = conjuncts(edit)
        for number, each in enumerate(every):
            # No name that anybody wrote holds a NUL.
            name = edit.name if len(every) == 1 else f"{edit.name}\0{number}"
            found.append(each if name == edit.name else replace(each, name=name))
            stated[name] = edit.name
    return (edits if len(found) == len(edits) else EditSet(tuple(found), edits.notes)), stated
