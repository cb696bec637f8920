"""Which variables each step masks, in which form, and the order of steps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from maskwright.foundation.errors import InputError, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.planning.model import key_names
from maskwright.plugins.parameter_markers import DependentVariables, IndependentVariables

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from maskwright.data.variable import Variable
    from maskwright.planning.model import Step

    VariablesOf = Callable[[Sequence[Step]], tuple[Sequence["StepVariables"], int]]


MOST_STEPS = 6
"""Of more steps not every order is tried."""


@dataclass(frozen=True)
class StepVariables:
    """Variables of one step.

    `names`: masked by the step, in file order. `known`: all variables of the file as the step finds them: a step before
    may have made categories of numbers. `keys`: those of them by which it counts equal records.
    """

    names: tuple[str, ...]
    known: Mapping[str, Variable]
    keys: tuple[str, ...] = ()


def wrong_order(steps: Sequence[Step], chosen: Sequence[StepVariables], variables_of: VariablesOf) -> list[Problem]:
    """Steps after which a promise of an earlier one no longer holds, with an order that works if there is one."""
    broken = list(_broken(steps, chosen))
    if not broken:
        return []
    hint = _way_out(steps, variables_of)
    return [replace(problem, hint=hint) for problem in broken]


def in_running_order(steps: Sequence[Step], variables: Sequence[Variable]) -> list[Step]:
    """Steps in the order in which they run: who is rare in the published keys leaves before clusters are formed.

    A step that leaves out whole records by keys that are published as they are, or recoded, takes the same ones
    wherever it stands; behind steps that promise clusters it would leave fewer than k of many. Of keys that are masked
    otherwise, it waits for the values that are published.
    """
    chosen, _ = _chosen(steps, variables)
    order = list(range(len(steps)))
    for position, (step, own) in enumerate(zip(steps, chosen, strict=True)):
        if not _leaves_out_by_keys(step):
            continue
        earlier = order[: order.index(position)]
        changing = [
            each for each in earlier
            if steps[each].method.changes_cells and not set(own.keys).isdisjoint(chosen[each].names)
        ]  # fmt: skip
        counting = [each for each in earlier if steps[each].moves_records or not steps[each].method.changes_cells]
        first = max((order.index(each) + 1 for each in (*changing, *counting)), default=0)
        place = next((at for at, each in enumerate(earlier) if at >= first and steps[each].k is not None), len(earlier))
        if any("detail" not in steps[each].method.claims.removes for each in changing):
            place = max([len(earlier), *(at for at, each in enumerate(order) if not steps[each].only_removes)])
        order.remove(position)
        order.insert(place, position)
    return [steps[position] for position in order]


def _leaves_out_by_keys(step: Step) -> bool:
    return step.method.has_keys and step.method.claims.removes == {"records"}


def _broken(steps: Sequence[Step], chosen: Sequence[StepVariables]) -> Iterator[Problem]:
    for position, (step, own) in enumerate(zip(steps, chosen, strict=True), 1):
        for other, theirs in zip(steps[position:], chosen[position:], strict=True):
            if not other.only_removes and _needs_published(step, own, theirs):
                yield Problem(
                    f"{step} works on the values that are published, and {other} changes values after it",
                    other.place,
                )
                break
            if _guarantee(step) is not None and _takes(other, step, set(own.names) & set(theirs.names)):
                yield Problem(
                    f"{step} promises k = {_guarantee(step)}, and {other} takes away from its groups",
                    other.place,
                )
                break


def _needs_published(step: Step, own: StepVariables, later: StepVariables) -> bool:
    """Whether a step has to see what later ones make of values: of its keys alone, where it only leaves out records."""
    if _leaves_out_by_keys(step):
        return not set(own.keys).isdisjoint(later.names)
    return "cells" in step.method.claims.removes or step.method.has_keys


def _guarantee(step: Step) -> int | None:
    return None if step.planning.k_guarantee == "report" else step.promised


def _takes(step: Step, before: Step, common: set[str]) -> bool:
    """Whether a step takes away from the groups of another that masks some of the same variables.

    Of clusters a step that suppresses takes the rest as well, where fewer than k would be left; and steps that suppress
    cells or records run again until each has what it promises.
    """
    if step.method.has_keys and (before.k is not None or before.only_removes):
        return False
    removes = step.method.claims.removes
    return "records" in removes or ("cells" in removes and bool(common))


def order_without_mistakes(steps: Sequence[Step], variables_of: VariablesOf) -> str | None:
    """An order in which every step can mask its variables and does something to them."""

    def works(moved: Sequence[Step]) -> bool:
        chosen, mistakes = variables_of(moved)
        return not mistakes and _keeps_promises(moved, chosen) and not _limits_bands(moved, chosen)

    return other_order(steps, works)


def _keeps_promises(steps: Sequence[Step], chosen: Sequence[StepVariables]) -> bool:
    return next(_broken(steps, chosen), None) is None and not _undone(steps, chosen)


def _limits_bands(steps: Sequence[Step], chosen: Sequence[StepVariables]) -> bool:
    """Whether a step sets limits to what an earlier one has made bands of: limits in numbers do nothing there."""
    return any(
        "detail" in step.method.claims.removes
        and later.method.claims.limits is not None
        and set(own.names) & set(theirs.names)
        for (step, own), (later, theirs) in combinations(zip(steps, chosen, strict=True), 2)
    )


def leaves_equal(later: Step, changed: set[str], promised: set[str], k: int) -> bool:
    """Whether a step leaves at least k records equal in the `promised` variables when it masks `changed` together."""
    if "equals" in later.method.claims.preserves:
        return changed <= promised
    return later.k is not None and later.k >= k and promised <= changed


def _undone(steps: Sequence[Step], chosen: Sequence[StepVariables]) -> bool:
    """Whether a step changes what an earlier one made equal, so that this order would be no way out."""
    names = [set(each.names) for each in chosen]
    return any(
        step.k is not None and _guarantee(step) is not None and not later.only_removes and not own.isdisjoint(theirs)
        and not leaves_equal(later, own.intersection(theirs), own, step.k)
        for (step, own), (later, theirs) in combinations(zip(steps, names, strict=True), 2)
    )  # fmt: skip


def _way_out(steps: Sequence[Step], variables_of: VariablesOf) -> str:
    """An order that works, if need be with promises that are only reported; or that there is none."""
    if len(steps) > MOST_STEPS:
        return "put steps that suppress last, and steps that take records away first"
    found = order_without_mistakes(steps, variables_of)
    if found is not None:
        return found
    _, mistakes = variables_of(steps)

    def works(moved: Sequence[Step]) -> bool:
        chosen, more = variables_of(moved)
        return more <= mistakes and _keeps_promises(moved, chosen)

    found = other_order(steps, works)
    if found is not None:
        return found
    promising = [position for position, step in enumerate(steps) if _guarantee(step) is not None]
    for size in range(1, len(promising) + 1):
        for chosen in combinations(promising, size):
            reporting = [_reporting(step) if position in chosen else step for position, step in enumerate(steps)]
            found = other_order(reporting, works)
            if found is not None:
                whose = " and ".join(f"step {steps[position].number}" for position in chosen)
                return (
                    f"no order keeps all promises; with 'k_guarantee: report' in the params of {whose}, whose smallest "
                    f"class is then reported and not promised, {found}"
                )
    return "no order of these steps keeps what each of them promises: leave one of them out"


def _reporting(step: Step) -> Step:
    return replace(step, planning=step.planning.model_copy(update={"k_guarantee": "report"}))


def other_order(steps: Sequence[Step], works: Callable[[Sequence[Step]], bool]) -> str | None:
    """Sentence on the order that works in which as few steps as can be are past each other, with the lines to write."""
    if len(steps) > MOST_STEPS:
        return None
    orders = permutations(range(len(steps)))
    for order in sorted(orders, key=lambda order: sum(first > second for first, second in combinations(order, 2))):
        moved = [steps[position] for position in order]
        if works(moved):
            listed = ", ".join(map(str, moved))
            return "\n".join([f"this order works: {listed}; write", *(f"      - {_written(each)}" for each in moved)])
    return None


def _written(step: Step) -> str:
    """A step as one line of a pipeline."""
    import yaml  # of refused steps

    params = {
        **step.params.model_dump(mode="json", by_alias=True, exclude_unset=True),
        **step.planning.model_dump(mode="json", exclude_unset=True),
    }
    entry = {
        "method": step.method.name, "variables": None if step.variables is None else list(step.variables),
        "groups": [list(group) for group in step.groups], "unit": step.unit, "params": params,
    }  # fmt: skip
    given = {key: value for key, value in entry.items() if value}
    text: str = yaml.safe_dump(given, default_flow_style=True, sort_keys=False, allow_unicode=True, width=10**6)
    return text.strip()


def variables_of_steps(steps: Sequence[Step], variables: Sequence[Variable]) -> list[StepVariables]:
    """Choose the variables of each step."""
    found, problems = _chosen(steps, variables)

    def in_other_order(moved: Sequence[Step]) -> tuple[list[StepVariables], int]:
        chosen, mistakes = _chosen(moved, variables)
        return chosen, len(mistakes)

    way = order_without_mistakes(steps, in_other_order) if problems else None
    problems = [replace(each, hint=each.hint or way) for each in problems]
    problems += wrong_order(steps, found, in_other_order)
    if problems:
        raise InputError(problems)
    return found


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
