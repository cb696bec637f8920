"""Edits against the data at hand: which apply, contradict or are broken; and limits of steps as edits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from functools import lru_cache
from math import lcm
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.date_texts import iso_text
from maskwright.data.dates import FIRST_DAY, LAST_DAY
from maskwright.data.dependencies import ValueCodes
from maskwright.data.number_text import plain_text
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.analysis.analyse import analyse
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check import Checker, Outcome, fires, record_form
from maskwright.edits.evaluation.check_data import chunks_of, record_path
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.expression import Aggregate, IsMissing, MissingAs, Truth, VariableReference, children, nodes
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import name_text, quoted_text
from maskwright.edits.type_resolution import with_dates
from maskwright.foundation.errors import EditError, InputError, Problem
from maskwright.foundation.findings import Notice

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.declaration import VariableDeclaration
    from maskwright.data.variable import Variable
    from maskwright.edits.analysis.statements import Analysis, Finding
    from maskwright.edits.edit import Edit
    from maskwright.edits.expression import Expression
    from maskwright.foundation.arrays import Booleans, Integers
    from maskwright.planning.model import Step
    from maskwright.planning.step_order import StepVariables
    from maskwright.plugins.method import Limit


# Findings about rules reported in a run.
MOST_FINDINGS = 5

NO_EDITS = Notice("no-edits", "", "no edits are declared: whether the masked data are consistent is not checked")


def applicable(stated: EditSet, arrival: Outcome, data: Dataset) -> tuple[EditSet, tuple[Notice, ...]]:
    """Edits of the run, and notices about those that fire on no record of the original.

    All stated edits are kept: a condition that no original record obeys may come true of a masked one. Those about
    another element than the records, or behind a rule that takes all records, cannot fire on any record; they are kept
    for the ledger and say nothing.
    """
    if len(stated) == 0:
        return stated, (NO_EDITS,)
    fired = {each.name: each.fired for each in arrival.edits}
    if not any(fired.values()):
        contexts = sorted({edit.context for edit in stated if edit.context is not None})
        here = "/".join(record_path(data.layout) or ())
        elsewhere = f"they are about {', '.join(map(repr, contexts))}; a record of this file is {here!r}"
        raise InputError(
            Problem(
                f"none of the {len(stated)} edits ever fired on {len(data)} records",
                hint=elsewhere if contexts else "their 'when' or 'if' is true of no record",
            )
        )
    path = record_path(data.layout)
    silent = tuple(edit for edit in stated if fired[edit.name] == 0)
    notices = tuple(
        Notice("edit-never-fired", edit.name, f"edit {edit.name!r} never fired: {_why_not_applied(edit, path)}",
               place=edit.place)
        for edit in silent
    )  # fmt: skip
    return EditSet(tuple(edit if fires(edit, path) else _without_effect(edit) for edit in stated)), notices


def _why_not_applied(edit: Edit, path: tuple[str, ...] | None) -> str:
    if edit.shadowed:
        return "an earlier rule of its pattern takes the same records"
    if not fires(edit, path):
        return "it is about no record of this file"
    return "its context, 'when' or 'if' is true of no original record; masked records are checked against it"


def _without_effect(edit: Edit) -> Edit:
    return replace(edit, expression=Truth(True), parts=(), variables=(), when=None, shadowed=True)


def identifiers_of(declared: Mapping[str, VariableDeclaration]) -> tuple[str, ...]:
    """Names of the variables that are declared to be identifiers."""
    return tuple(name for name, each in declared.items() if each.is_identifier)


def refuse_identifiers(edits: EditSet, identifiers: Collection[str], keys: Collection[str] = ()) -> None:
    """Stop when an edit reads an identifier that is not published, or what the values of a key are: they are new."""
    problems = []
    for edit in edits:
        valued = _names_of_values(edit.expression)
        for name in edit.named:
            if name in keys and name in valued:
                what = "is published with new random values"
                hint = (
                    "Ask only which of them are equal or missing, as `unique()` and `by` do; or declare the variable "
                    "`release: as is`, or remove the edit."
                )
            elif name in identifiers and name not in keys:
                what = "is an identifier and will not be published"
                hint = "give the variable another role, or remove the edit"
            else:
                continue
            problems.append(Problem(f"edit {edit.name!r} reads {name!r}, which {what}", edit.place, hint))
    if problems:
        raise EditError(problems)


def _names_of_values(expression: Expression) -> frozenset[str]:
    """Variables of which a rule says more than which values are equal, and which are missing."""
    found, stack = set(), [expression]
    while stack:
        node = stack.pop()
        if isinstance(node, VariableReference):
            found.add(node.name)
        elif not isinstance(node, (IsMissing, MissingAs)):
            stack.extend(children(node))
    return frozenset(found)


def refuse_contradictions(
    edits: EditSet, variables: Sequence[Variable], *, thorough: bool = True
) -> tuple[Notice, ...]:
    """Stop before anything runs when no record could satisfy all edits, or none on the published grid."""
    binding = tuple(edit for edit in edits if edit.severity == "error")
    # Declared bounds are rules already.
    stated = {edit.name for edit in edits}
    known = tuple(
        replace(one, lower=None, upper=None) if f"bounds of {one.name}" in stated else one for one in variables
    )
    analysis = _analysis(binding, known, thorough)
    if analysis.blocking:
        raise EditError([problem for finding in analysis.blocking for problem in _problems_of(finding, edits)])
    notices = [Notice("rules-conflict", "", each.message, place=each.place) for each in analysis.findings]
    more = len(notices) - MOST_FINDINGS
    if more > 0:
        message = f"and {more} more findings about the rules: maskwright edits lists them"
        notices = [*notices[:MOST_FINDINGS], Notice("rules-conflict", "", message, more)]
    return tuple(notices)


def _problems_of(finding: Finding, edits: EditSet) -> Iterator[Problem]:
    """What blocks, where the first edit stands; and where the others do that take part in it."""
    yield Problem(finding.message, finding.place, finding.hint)
    for edit in edits:
        if edit.name in finding.edits and edit.place is not None and edit.place != finding.place:
            yield Problem(f"{edit.name} is one of them", edit.place)


@lru_cache(maxsize=256)
def _analysis(edits: tuple[Edit, ...], variables: tuple[Variable, ...], thorough: bool) -> Analysis:
    """What `analyse` finds; methods that are compared, and groups of each composition, ask for the same rules again."""
    return analyse(edits, variables, thorough=thorough)


def declared_bounds(variables: Sequence[Variable], stated: EditSet) -> EditSet:
    """Range edits from the bounds that are declared of variables, but for those that are among the edits already."""
    there = {(edit.name, edit.text) for edit in stated}
    rules = []
    for variable in variables:
        if variable.lower is None and variable.upper is None:
            continue
        low = "" if variable.lower is None else f"{literal(variable, variable.lower)} <= "
        high = "" if variable.upper is None else f" <= {literal(variable, variable.upper)}"
        rules.append({"rule": f"{low}`{variable.name}`{high}", "name": f"bounds of {variable.name}"})
    return EditSet(tuple(edit for edit in EditSet.parse(rules) if (edit.name, edit.text) not in there))


def literal(variable: Variable, value: float) -> str:
    """A value of a numeric variable as rules write it: a number, a date or a moment."""
    if variable.is_date and FIRST_DAY <= value / variable.day <= LAST_DAY:
        return iso_text(Fraction(plain_text(value)) / variable.day)
    return plain_text(value)


MOST_PASSES = 10
"""Times that records are left out and the others checked again, where edits are about several records."""


def without_violations(data: Dataset, edits: EditSet) -> tuple[Dataset, Integers]:
    """Records that violate no edit of severity error, and where in `data` they stand.

    Where an edit is about groups of records, these are left out as a whole. Without them other records may violate an
    edit that is about several, so that what is left is checked again.
    """
    binding = EditSet(tuple(edit for edit in edits if edit.severity == "error"))
    domain = Domain.from_dataset(data, domain_tuples(edits))
    rows, kept = np.arange(len(data)), data
    for _ in range(MOST_PASSES):
        chosen = _obeying(kept, binding, domain)
        rows, kept = rows[chosen], _only(kept, chosen)
        if chosen.all() or not len(kept) or not any(edit.looks_beyond for edit in binding):
            return kept, rows
    names = ", ".join(edit.name for edit in binding if edit.looks_beyond)
    raise InputError(
        Problem(
            f"each time records are left out, others violate an edit ({names})",
            hint="Mend the file, or give the edit `severity: warning`.",
        )
    )


def _only(data: Dataset, chosen: Booleans) -> Dataset:
    rows = np.flatnonzero(chosen)
    smaller = tuple(column.taken(rows) for column in data)
    households = None if data.households is None else np.unique(data.households[chosen], return_inverse=True)[1]
    return replace(data, columns=smaller, households=households)


def _obeying(data: Dataset, edits: EditSet, domain: Domain) -> Booleans:
    """Records that violate no edit, and whose groups do not."""
    chunks, found = [*chunks_of(data)], []
    with Checker(edits, record_path(data.layout), domain, record_form(data.layout.details, edits)) as checker:
        if chunks and checker.needs_whole(chunks[0].names):
            checker.prepare(RecordChunk.joined(chunks))
        for columns in chunks:
            verdicts = zip(edits, checker.add(columns), strict=True)
            found.append([each.holds | (each.unknown & (edit.binding == "exact")) for edit, each in verdicts])
    obeying, codes = np.ones(len(data), dtype=np.bool_), ValueCodes(data)
    for number, edit in enumerate(edits):
        wrong = ~np.concatenate([each[number] for each in found])
        obeying &= ~wrong
        for names in {node.by for node in nodes(edit.expression) if isinstance(node, Aggregate)}:
            keys = np.stack([codes.of(name) for name in names])
            group = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
            obeying &= (np.bincount(group[wrong], minlength=len(data))[group] == 0) | (keys < 0).any(axis=0)
    return obeying


MOST_UNITS = 10**12
"""Larger steps of a grid are no rounding any more."""


@dataclass(frozen=True)
class StepLimit:
    """A limit, and the step that promises it."""

    step: Step
    limit: Limit


def declared_limits(
    steps: Sequence[Step], chosen: Sequence[StepVariables], recoded: frozenset[str]
) -> tuple[StepLimit, ...]:
    """Limits that the parameters of the steps set to what is published as values."""
    found: list[StepLimit] = []
    for step, own in zip(steps, chosen, strict=True):
        if step.method.claims.limits is None:
            continue
        variables = tuple(own.known[name] for name in own.names if name not in recoded)
        with step.placed(step.number):
            found.extend(StepLimit(step, each) for each in step.method.claims.limits(step.params, variables))
    return tuple(found)


def guaranteed_units(limits: Iterable[StepLimit], variables: Iterable[Variable]) -> dict[str, int]:
    """Of how many units of their grid the published values of variables are promised to be multiples."""
    grids = {each.name: each.decimals for each in variables if each.is_numeric and each.decimals is not None}
    found: dict[str, int] = {}
    for each in limits:
        base, places = each.limit.multiple_of, grids.get(each.limit.variable)
        if base is None or places is None or base <= 0:
            continue
        # The smallest number that is a multiple of the base and of a unit, counted in units.
        units = (Fraction(repr(float(base))) * 10**places).numerator
        units = lcm(units, found.get(each.limit.variable, 1))
        if 1 < units <= MOST_UNITS:
            found[each.limit.variable] = units
    return found


def limit_edits(limits: Iterable[StepLimit], variables: Mapping[str, Variable], *, found: bool = False) -> EditSet:
    """Bounds among limits as edits, ``step-2: wage <= limit``."""
    edits: dict[str, Edit] = {}
    for each in limits:
        variable = variables[each.limit.variable]
        for name, rule in _rules(each.limit, variable, found=found):
            (edit,) = EditSet.parse([{"rule": rule, "name": f"step-{each.step.number}: {name}"}])
            # Two groups of a step may say the same.
            edit = replace(edit, limit_of=each.step.number, from_data=found)
            edits[edit.name] = replace(edit, text=f"{name} found in the data", place=None) if found else edit
    return with_dates(EditSet(tuple(edits.values())), [*variables.values()])


def _rules(limit: Limit, variable: Variable, *, found: bool) -> Iterator[tuple[str, str]]:
    """Name and text of each bound."""
    try:
        yield from _expressible_rules(limit, variable, found=found)
    except Inexpressible as error:
        raise InputError(f"the limits of {variable.name!r} cannot be kept: {error}") from error


def _expressible_rules(limit: Limit, variable: Variable, *, found: bool) -> Iterator[tuple[str, str]]:
    name = name_text(variable.name)
    if not variable.is_numeric:
        last = len(variable.categories) - 1
        low = 0 if limit.low is None else int(max(limit.low, 0))
        high = last if limit.high is None else int(min(limit.high, last))
        if variable.categories and (low > 0 or high < last):
            allowed = ", ".join(quoted_text(category) for category in variable.categories[low : high + 1])
            yield f"{variable.name} within limits", f"{name} in {{{allowed}}}"
        return
    for bound, what, relation, rounding in (
        (limit.high, limit.high_is, "<=", ROUND_FLOOR), (limit.low, limit.low_is, ">=", ROUND_CEILING),
    ):  # fmt: skip
        if bound is not None:
            value = _on_grid(bound, variable, ROUND_HALF_EVEN if found else rounding)
            yield f"{variable.name} {relation} {what}", f"{name} {relation} {literal(variable, value)}"


def _on_grid(value: float, variable: Variable, rounding: str) -> float:
    """A number that can be published: within a declared limit; nearest to one that is found, where it is rounded to."""
    if variable.decimals is None:
        return value
    units = Decimal(repr(value)).scaleb(variable.decimals)
    return float(units.to_integral_value(rounding).scaleb(-variable.decimals))
