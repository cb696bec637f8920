"""Which variables each step masks, and in which form."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from maskwright.foundation.errors import Problem, refuse_problems
from maskwright.foundation.nearest_names import unknown_name
from maskwright.planning.model import key_names
from maskwright.planning.step_order import StepVariables, in_running_order, order_without_mistakes, wrong_order
from maskwright.plugins.parameter_markers import DependentVariables, IndependentVariables

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.planning.model import Step


def variables_of_steps(steps: Sequence[Step], variables: Sequence[Variable]) -> list[StepVariables]:
    """Choose the variables of each step."""
    found, problems = _chosen(steps, variables)

    def in_other_order(moved: Sequence[Step]) -> tuple[list[StepVariables], int]:
        chosen, mistakes = _chosen(moved, variables)
        return chosen, len(mistakes)

    way = order_without_mistakes(steps, in_other_order) if problems else None
    problems = [replace(each, hint=each.hint or way) for each in problems]
    problems += wrong_order(steps, found, in_other_order)
    refuse_problems(problems)
    return found


def running_order(steps: Sequence[Step], variables: Sequence[Variable]) -> list[Step]:
    """Steps in the order in which they run."""
    return in_running_order(steps, _chosen(steps, variables)[0])


def _chosen(steps: Sequence[Step], variables: Sequence[Variable]) -> tuple[list[StepVariables], list[Problem]]:
    """Variables of each step, and the mistakes in them."""
    known = {variable.name: variable for variable in variables}
    problems: list[Problem] = []
    found: list[StepVariables] = []
    for step in steps:
        own: list[Problem] = []
        names = _step_variables(step, known, own)
        problems.extend(replace(problem, place=step.place) for problem in own)
        found.append(StepVariables(names, known, key_names(step, [known[name] for name in names])))
        if "detail" in step.method.claims.removes:
            known = known | {name: _coarser(known[name]) for name in names}
    return found, problems


def _coarser(variable: Variable) -> Variable:
    """Numbers become bands, which have an order; categories stay what they are."""
    return replace(variable, type="ordinal", decimals=None) if variable.is_numeric else variable


def default_variables(step: Step, known: Mapping[str, Variable]) -> set[str]:
    """Numeric quasi-identifiers and confidential variables; where records or keys count, all quasi-identifiers too.

    Only keys where a method publishes coarser keys.
    """
    if step.method.has_keys and "detail" in step.method.claims.removes:
        # Whatever else it were given would lose its detail too.
        quasi = {name for name, each in known.items() if each.role == "quasi_identifier" and not each.as_is}
        return set() if step.keys else quasi
    usual = {
        name
        for name, variable in known.items()
        if variable.is_numeric
        and variable.role in ("quasi_identifier", "confidential")
        and not variable.as_is
        and name not in step.companions
    }
    if step.method.has_keys or "records" in step.method.claims.removes:
        usual |= {
            name for name, variable in known.items()
            if variable.role == "quasi_identifier" and not variable.as_is and name not in step.companions
        }  # fmt: skip
    if not usual and step.only_removes:
        usual = {name for name, variable in known.items() if variable.role == "other" and not variable.renewed}
    if not usual and not step.method.changes_cells:
        # It needs records, and does nothing to what it is handed.
        no = ("identifier", "weight")
        usual = {name for name, each in known.items() if each.role not in no and not each.renewed}
    return usual


def _step_variables(step: Step, known: Mapping[str, Variable], problems: list[Problem]) -> tuple[str, ...]:
    listed = [name for group in step.groups for name in group]
    wanted = list(dict.fromkeys([*(step.variables or ()), *step.dependents, *step.keys, *listed]))
    strangers = [name for name in (*wanted, *step.planning.adjustment_weights) if name not in known]
    problems.extend(Problem(f"{unknown_name('variable', name, known)}", step=step.number) for name in strangers)
    if len(set(listed)) < len(listed):
        problems.append(Problem("a variable is listed in two groups", step=step.number))
    problems.extend(_independent_problems(step, known, wanted))
    if step.variables is None and not step.dependents:
        default = default_variables(step, known)
        wanted = [name for name in known if name in default or name in wanted]
        if not wanted:
            problems.append(
                Problem(
                    f"{step} has nothing to mask: no numeric variable has the role confidential or quasi_identifier",
                    hint="name the variables of the step with 'variables: [...]'",
                )
            )
    for name in wanted:
        variable = known.get(name)
        if variable is None:
            continue
        if variable.role == "identifier":
            becomes = "gets new random values" if variable.renewed else "is dropped"
            message = f"{name!r} is an identifier: it {becomes}, so it cannot be masked"
            problems.append(Problem(message, step=step.number))
        elif variable.renewed:
            problems.append(Problem(f"{name!r} gets new random values, so it cannot be masked", step=step.number))
        elif variable.role == "weight":
            problems.append(
                Problem(
                    f"{name!r} is a weight: it is published as it is, so it cannot be masked",
                    hint="leave it out of the step (a sample divides it by the share drawn all the same); or declare "
                    f"what else it is, `{name}: {{role: confidential}}`, and nothing is weighted by it",
                    step=step.number,
                )
            )
        elif variable.type not in step.method.claims.variable_types:
            able = ", ".join(sorted(step.method.claims.variable_types))
            problems.append(
                Problem(
                    f"method {step.method.name!r} cannot mask {name!r}: it is {variable.type}, the method takes {able}",
                    step=step.number,
                )
            )
    problems.extend(_wrong_zeros(step, known, wanted))
    problems.extend(_wrong_strata(step, known, wanted))
    return tuple(name for name in known if name in wanted)


def _wrong_zeros(step: Step, known: Mapping[str, Variable], wanted: Sequence[str]) -> Iterator[Problem]:
    """Mistakes in the list of variables with structural zeros."""
    names = step.planning.structural_zeros
    if names and "detail" in step.method.claims.removes:
        what = "publishes categories instead of numbers: no zero is averaged with other values"
        yield Problem(f"structural_zeros: {step.method.name!r} {what}", step=step.number)
    for name in names:
        if name in known and name not in wanted:
            what = f"it is {known[name].type}, its role {known[name].role}"
            reason = f"no variable that the step masks called {name!r}: {what}"
            yield Problem(f"structural_zeros: {reason}", step=step.number)
        elif name not in wanted:
            reason = unknown_name("variable that the step masks", name, wanted)
            yield Problem(f"structural_zeros: {reason}", step=step.number)
        elif name in known and not known[name].is_numeric:
            yield Problem(f"structural_zeros: {name!r} is {known[name].type}, not a number", step=step.number)


def _wrong_strata(step: Step, known: Mapping[str, Variable], wanted: Sequence[str]) -> Iterator[Problem]:
    """Mistakes in the variables by whose values the records are masked apart."""
    kept = step.planning.small_strata == "keep"
    for name in step.within:
        if name not in known:
            yield Problem(f"within: {unknown_name('variable', name, known)}", step=step.number)
        elif name in wanted:
            yield Problem(f"{name!r} is both masked and in 'within'", step=step.number)
        elif known[name].role == "identifier":
            yield Problem(f"within: {name!r} is an identifier: each record has its own", step=step.number)
    if step.within and step.method.claims.removes:
        message = f"{step.method.name!r} decides for the whole file what it takes away"
        yield Problem(f"within: {message}", hint="`maskwright explain` lists its own parameters", step=step.number)
    if kept and not step.within:
        yield Problem("small_strata: the step has no 'within'", step=step.number)
    elif kept and (step.moves_records or step.group_records(1) is not None):
        why = "makes groups of records" if step.group_records(1) is not None else "moves or draws records"
        yield Problem(
            f"small_strata: {step.method.name!r} {why}, for which a small stratum has too few: "
            "'merge' joins it with the nearest one",
            step=step.number,
        )


def _independent_problems(step: Step, known: Mapping[str, Variable], wanted: Sequence[str]) -> Iterator[Problem]:
    """Mistakes in the variables that a method reads beside those it masks."""
    if step.dependents and step.variables is not None and set(step.dependents) != set(step.variables):
        dependent = step.method.parameter(DependentVariables)
        yield Problem(
            f"'variables' and '{dependent}' name different variables",
            hint=f"leave 'variables' out: '{dependent}' says what is masked",
            step=step.number,
        )
    independent = step.method.parameter(IndependentVariables)
    for name in step.companions:
        variable = known.get(name)
        if variable is None:
            yield Problem(f"{unknown_name('variable', name, known)}", step=step.number)
        elif name in wanted:
            where = f"in '{independent}'" if name in step.independents else "read by it as it is"
            yield Problem(f"{name!r} is both masked and {where}", step=step.number)
        elif name not in step.independents:
            if variable.role == "identifier":
                message = f"{name!r} is an identifier: method {step.method.name!r} cannot read it"
                yield Problem(f"{message}", step=step.number)
        elif not variable.is_numeric or variable.role == "identifier":
            what = "an identifier" if variable.role == "identifier" else variable.type
            yield Problem(
                f"method {step.method.name!r} reads numbers in '{independent}'; {name!r} is {what}", step=step.number
            )
