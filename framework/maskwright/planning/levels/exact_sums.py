"""Sums over members that tests of Schematron find even, which add in binary64 in whatever order the members stand.

``sum(Person/income) + capital = total`` holds in decimals; XPath adds 2-decimal numbers in binary64 and finds one sum
in four off in its last bit. Multiples of 1/4 have two decimals as well, and their sums are exact. So the masked
variables of such a test are published in these steps. A value is rounded the same way wherever it stands: k stays.
Rules are evaluated in decimals, and tests that were written from rules allow for binary64: they need no steps.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from maskwright.edits.edit import LinearPart, ProductPart
from maskwright.edits.levels.structure import MembersColumn, sources_of
from maskwright.foundation.findings import Notice

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from maskwright.data.levels.linked_data import LinkedData
    from maskwright.data.variable import Variable
    from maskwright.edits.levels.binding import BoundEdits
    from maskwright.planning.model import Step
    from maskwright.planning.step_order import StepVariables

    Sources = frozenset[tuple[str, str]]

TOLERANCE = "abs(sum - total) <= 0.001"
"""Test that holds in binary64 too where the sum of decimals does."""

SMALLEST_SPREAD = 20
"""Steps that the standard deviation of a variable has at least, where it is published in them."""


@dataclass(frozen=True)
class ExactSums:
    """What is published in steps whose sums are exact in binary64.

    `tests`: names of the edits for which it is. `left`: names of those that are equalities of decimals over members,
    and that steps change, for which that cannot be.
    """

    variables: Mapping[str, frozenset[str]]
    tests: tuple[str, ...] = ()
    left: tuple[str, ...] = ()

    def put_on(self, linked: LinkedData) -> LinkedData:
        """Copy whose variables say so."""
        changed = {}
        for level in linked:
            columns = [level.data[name] for name in self.variables.get(level.name, ())]
            stepped = {each.name: replace(each, variable=replace(each.variable, binary_steps=True)) for each in columns}
            changed[level.name] = level.data.with_columns(stepped)
        return linked.with_data(changed)

    def notices(self) -> Iterator[Notice]:
        """What a person should know of it."""
        names = sorted(name for own in self.variables.values() for name in own)
        if names:
            message = (
                f"published in steps that binary64 adds exactly (of two decimals: 0.25), since tests of Schematron "
                f"({', '.join(self.tests)}) add them over members: {', '.join(names)}; with a tolerance in the test, "
                f"{TOLERANCE}, all their decimals are published"
            )
            yield Notice("published-in-binary-steps", "", message, len(names))
        for name in self.left:
            message = (
                f"edit {name!r} adds decimals over members and is kept in decimals: whoever adds them in binary64 "
                f"finds some sums off in the last place; {TOLERANCE} holds either way"
            )
            yield Notice("sums-in-decimals", name, message)


def exact_sums(
    bound: BoundEdits,
    linked: LinkedData,
    masked: Mapping[str, Collection[str]],
    averaged: Collection[str],
    spread: Mapping[str, float],
    *,
    of_rules: bool = False,
) -> ExactSums:
    """Find the variables that tests in XPath add over members, with those that equalities join to them.

    `of_rules`: those that rules add, too.
    """
    variables = {(level.name, each.name): each for level in linked for each in level.data.variables}
    equalities = list(_equalities(bound))
    found: dict[str, set[str]] = {level.name: set() for level in linked}
    tests, left = [], []
    for equality in equalities:
        moving = {(level, name) for level, name in equality.sources if name in masked.get(level, ())}
        if not (equality.across and (of_rules or equality.in_binary)) or not moving:
            continue
        together, parts = _joined_to(equality, equalities, variables)
        if all(variables[each].decimals == 0 for each in together):
            continue
        if all(each.is_whole for each in parts) and all(
            _can_be_stepped(variables[level, name], averaged=name in averaged, spread=spread.get(name, 0.0))
            for level, name in together
        ):
            tests.append(equality.edit)
            for level, name in together:
                if variables[level, name].decimals:
                    found[level].add(name)
        elif None not in (variables[each].decimals for each in together):
            left.append(equality.edit)
    stepped = {name: frozenset(own) for name, own in found.items()}
    return ExactSums(stepped, tuple(dict.fromkeys(tests)), tuple(dict.fromkeys(left)))


@dataclass(frozen=True)
class _Equality:
    """What an edit says is equal, the variables that it reads, and those of them that are added and compared.

    `in_binary`: whether a processor of Schematron adds them.
    """

    edit: str
    part: LinearPart | None
    sources: Sources
    added: Sources
    across: bool
    in_binary: bool

    @property
    def is_whole(self) -> bool:
        """Whether it only adds and subtracts: whole factors, of which binary64 sums are exact."""
        if self.part is None:
            return False
        factors = (*(value for _, value in self.part.coefficients), self.part.constant)
        return all(value.denominator == 1 for value in factors)


def _equalities(bound: BoundEdits) -> Iterator[_Equality]:
    for level, edits in bound.edits.items():
        columns = bound.columns[level]
        added = {each.name for each in columns if isinstance(each, MembersColumn) and each.function == "sum"}
        for edit in edits:
            for part in edit.parts:
                if not isinstance(part, LinearPart | ProductPart) or part.relation != "==":
                    continue
                if isinstance(part, LinearPart) and part.tolerance:
                    continue
                sources = frozenset(each for name in part.variables for each in sources_of(bound.columns, level, name))
                # Which members a sum means is no number in it.
                numbers = frozenset(
                    each for name in part.variables
                    for each in sources_of(bound.columns, level, name, conditions=False)
                )  # fmt: skip
                linear = part if isinstance(part, LinearPart) else None
                in_binary = edit.assertion is not None and edit.assertion.rule is None
                yield _Equality(edit.name, linear, sources, numbers, bool(added & set(part.variables)), in_binary)


def _joined_to(
    equality: _Equality, equalities: Collection[_Equality], variables: Mapping[tuple[str, str], Variable]
) -> tuple[set[tuple[str, str]], list[_Equality]]:
    """Variables that have to be in steps together, and the equalities between them."""
    together, parts = {each for each in equality.added if each in variables}, [equality]
    grown = True
    while grown:
        grown = False
        for other in equalities:
            stepped = {each for each in other.added & together if variables[each].decimals != 0}
            if other not in parts and stepped:
                parts.append(other)
                together |= {each for each in other.added if each in variables}
                grown = True
    return together, parts


def averaged_variables(steps: Sequence[Step], chosen: Sequence[StepVariables]) -> set[str]:
    """Variables that come out of the steps as averages; steps that only remove leave what is left in its steps."""
    averaged: set[str] = set()
    for step, own in zip(steps, chosen, strict=True):
        if not step.only_removes:
            is_kept = "linear" in step.method.claims.preserves
            averaged = averaged | set(own.names) if is_kept else averaged - set(own.names)
    return averaged


def _can_be_stepped(variable: Variable, *, averaged: bool, spread: float) -> bool:
    if variable.decimals == 0:
        return True
    return averaged and variable.decimals is not None and spread * 2**variable.decimals >= SMALLEST_SPREAD
