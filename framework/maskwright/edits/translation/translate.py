"""One edit over original values as an edit over published categories: the same verdict, or the possible form.

Where every category lies on one side of each condition, the verdict is the same. Elsewhere the possible form says that
some values within the categories satisfy the edit: it is true of every record of which the edit is (interval
arithmetic for sums and orders).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from maskwright.edits import expression as x
from maskwright.edits.algebra.classify import classify
from maskwright.edits.algebra.conditions import conjunction, disjunction, interval_comparisons, negate
from maskwright.edits.algebra.conjunctions import distances
from maskwright.edits.edit import CheckedPart
from maskwright.edits.evaluation.whole_files import is_file_test
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.xpath_as_exact import exact_rule
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.translation.several_variables import (
    Possible,
    Untranslatable,
    by_labels,
    possible_by_values,
    possible_comparison,
)
from maskwright.edits.translation.single_variable import Straddling, implication, is_one_of, one_of, sides
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from maskwright.edits.edit import Edit, Part
    from maskwright.edits.translation.values import Recoded

Form = Literal["translated", "weakened"]
"""Whether an edit on published categories has the same verdict as the original one, or is its possible form."""

_NOT_OF_VALUES = (x.IsMissing, x.MissingAs, x.IsNumber, x.Matches, x.InOriginal)
"""Conditions that are not about the value alone."""

Whole = Callable[[tuple[str, ...]], bool | None]
"""Whether recoded combinations of these variables stand for combinations of the original alone; None: not known."""


class NotKnownYet(Exception):  # noqa: N818 - not an error
    """What an edit becomes depends on data that are not read, or not masked, yet."""


@dataclass(frozen=True)
class Translation:
    """What becomes of an edit.

    `edit`: on published categories; None: no rule on them is possible. `reason`: why it cannot be translated; empty
    where it can. `straddling`: categories that lie on both sides of one of its conditions.
    """

    edit: Edit | None
    form: Form | None
    original: Edit
    reason: str = ""
    straddling: tuple[Straddling, ...] = ()


def translate(edit: Edit, variables: Mapping[str, Recoded], whole: Whole) -> Translation:
    """Edit over original values as one over published categories."""
    own = {name: variables[name] for name in edit.variables if name in variables}
    blind = [name for name, each in own.items() if not each.values]
    if blind:
        return Translation(None, None, edit, f"what the categories of {blind[0]} stand for is not known")
    if edit.engine is not None:
        why = "it is about all records together" if is_file_test(edit) else "only an engine understands it"
        return Translation(None, None, edit, why)
    work = _Work(own, whole)
    try:
        stated = edit.expression if edit.binding == "exact" else exact_rule(edit.expression)
        expression, exact = work.truth(stated, weaker=True)
        short = by_labels(stated, own)
        if expression == x.Truth(True):
            if not exact:
                reason = "nothing is left of it on these categories"
                return Translation(None, None, edit, reason, tuple(dict.fromkeys(work.straddling)))
            expression = conjunction(
                [is_one_of(name, _possible(each)) for name, each in own.items() if _possible(each)]
            )
        expression = short or expression
        text = rule_text(expression)
        # Algebra takes categories for texts: it has no part in their numbers.
        parts: tuple[Part, ...] = (CheckedPart(short),) if short else classify(expression, edit.place)
    except (Untranslatable, Inexpressible) as refused:
        return Translation(None, None, edit, str(refused), tuple(dict.fromkeys(work.straddling)))
    except EditError:
        return Translation(None, None, edit, "no record could satisfy it", tuple(dict.fromkeys(work.straddling)))
    when = expression.condition if edit.when is not None and isinstance(expression, x.IfThen) else None
    found = replace(
        edit, expression=expression, parts=parts, variables=x.variable_names(expression), text=text, binding="exact",
        assertion=None, when=when,
    )  # fmt: skip
    reason = "" if exact or work.straddling else "some values within the categories may satisfy it, and some may not"
    return Translation(
        found, "translated" if exact else "weakened", edit, reason, tuple(dict.fromkeys(work.straddling))
    )


def same_condition(condition: x.Expression, variables: Mapping[str, Recoded]) -> x.Expression | None:
    """Condition that is true, false and unknown of published categories where this one is of their values; or None."""
    try:
        found, exact = _Work(variables, lambda _: None).truth(condition, weaker=False)
    except (Untranslatable, NotKnownYet):
        return None
    # What is true of all categories, or of none, is not unknown where a cell is missing.
    decided = isinstance(found, x.Truth) or any(isinstance(node, x.IsMissing) for node in x.nodes(found))
    return found if exact and not decided else None


def _possible(variable: Recoded) -> tuple[str, ...]:
    return sides(x.Truth(True), variable).possible or variable.categories


@dataclass
class _Work:
    variables: Mapping[str, Recoded]
    whole: Whole
    straddling: list[Straddling] = field(default_factory=list)

    def truth(self, node: x.Expression, *, weaker: bool) -> tuple[x.Expression, bool]:  # noqa: C901, PLR0911, PLR0912
        """Condition on what is published, and whether it is true of the same records.

        It is true of every record of which `node` is, or, not `weaker`, of none of which `node` is not.
        """
        names = x.variable_names(node)
        if not set(names) & set(self.variables):
            return node, True
        if len(names) == 1 and not any(isinstance(each, _NOT_OF_VALUES) for each in x.nodes(node)):
            return self._of_one(node, names[0], weaker=weaker)
        match node:
            case x.And(operands):
                found = [self.truth(operand, weaker=weaker) for operand in operands]
                return conjunction([each for each, _ in found]), all(exact for _, exact in found)
            case x.Or(operands):
                found = [self.truth(operand, weaker=weaker) for operand in operands]
                return disjunction([each for each, _ in found]), all(exact for _, exact in found)
            case x.Not(operand):
                pushed = negate(operand)
                if not isinstance(pushed, x.Not):
                    return self.truth(pushed, weaker=weaker)
                inner, exact = self.truth(operand, weaker=not weaker)
                return negate(inner), exact
            case x.IfThen(condition, consequent, None):
                given, exact = self.truth(condition, weaker=not weaker)
                then, also = self.truth(consequent, weaker=weaker)
                return implication(given, then), exact and also
            case x.IfThen(condition, consequent, otherwise):
                return self._two_branches(condition, consequent, otherwise, weaker=weaker)
            case x.Function("boolean", (argument,)):
                return self.truth(argument, weaker=weaker)
            case x.IsMissing() | x.MissingAs():
                return node, True
            case x.IsNumber(x.VariableReference(name) as variable) if self.variables[name].original.is_numeric:
                return x.Not(x.IsMissing(variable)), True
            case x.InOriginal(names):
                return self._in_original(node, names, weaker=weaker)
            case _:
                return self._condition(node, weaker=weaker)

    def _two_branches(
        self, condition: x.Expression, consequent: x.Expression, otherwise: x.Expression | None, *, weaker: bool
    ) -> tuple[x.Expression, bool]:
        assert otherwise is not None
        given, exact = self.truth(condition, weaker=not weaker)
        then, also = self.truth(consequent, weaker=weaker)
        other, too = self.truth(otherwise, weaker=weaker)
        if exact and isinstance(given, x.Truth):
            return (then, also) if given.value else (other, too)
        if exact:
            return x.IfThen(given, then, other), also and too
        refused, _ = self.truth(condition, weaker=weaker)
        return conjunction([implication(given, then), implication(negate(refused), other)]), False

    def _in_original(self, node: x.InOriginal, names: tuple[str, ...], *, weaker: bool) -> tuple[x.Expression, bool]:
        """Combinations that occur in the original, which is recoded alike."""
        if any(self.variables[name].overlaps for name in names if name in self.variables):
            raise Untranslatable("the categories overlap, so that no combination of the original has one place")
        exact = self.whole(names)
        if exact is None:
            raise NotKnownYet
        if not (exact or weaker):
            raise Untranslatable("recoded combinations stand for some that do not occur")
        return node, exact

    def _of_one(self, node: x.Expression, name: str, *, weaker: bool) -> tuple[x.Expression, bool]:
        found = sides(node, self.variables[name])
        self.straddling += found.straddling
        chosen = found.may if weaker else found.must
        return one_of(name, chosen, found.possible, weaker=weaker), not found.straddling

    def _condition(self, node: x.Expression, *, weaker: bool) -> tuple[x.Expression, bool]:
        own = {name: self.variables[name] for name in x.variable_names(node) if name in self.variables}
        if any(isinstance(each, _NOT_OF_VALUES) for each in x.nodes(node)):
            raise Untranslatable("it asks how a cell is written")
        simpler = _simpler(node)
        if simpler is not None:
            return self.truth(simpler, weaker=weaker)
        if weaker:
            possible = _possible_form(node, own)
            return possible.condition, possible.exact
        opposite = negate(node)
        if isinstance(opposite, x.Not) and isinstance(node, x.Comparison):
            raise Untranslatable("it has no opposite")
        possible = _possible_form(opposite, own)
        return negate(possible.condition), possible.exact


def _simpler(node: x.Expression) -> x.Expression | None:
    """Comparisons that a condition on several variables stands for; None where it is one."""
    match node:
        case x.InInterval():
            bounds = interval_comparisons(node)
            return conjunction(bounds) if bounds else None
        case x.InSet(operand, members) if not isinstance(operand, x.VariableReference):
            return x.Or(tuple(x.Comparison("==", operand, each) for each in members)) if len(members) > 1 else None
        # Not `max` and `min`: the largest of several numbers is not known while one of them is not.
        case x.Comparison(_, x.Function("abs"), _) | x.Comparison(_, _, x.Function("abs")):
            found = distances(node)
            if found is not None:
                return x.And(tuple(found)) if len(found) > 1 else found[0]
            opposite = negate(node)
            refused = distances(opposite) if isinstance(opposite, x.Comparison) else None
            if refused is not None:
                return x.Or(tuple(negate(each) for each in refused)) if len(refused) > 1 else negate(refused[0])
    return None


def _possible_form(node: x.Expression, variables: Mapping[str, Recoded]) -> Possible:
    if (
        isinstance(node, x.Comparison)
        and all(each.original.is_numeric for each in variables.values())
        and not any(isinstance(side, x.Text) for side in (node.left, node.right))
    ):
        try:
            return possible_comparison(node, variables)
        except Untranslatable as first:
            try:
                return possible_by_values(node, variables)
            except Untranslatable:
                raise first from None
    return possible_by_values(node, variables)
