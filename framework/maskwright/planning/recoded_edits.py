"""Edits on recoded variables: translated onto the published categories, weakened or dropped where steps say so."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from textwrap import shorten
from typing import TYPE_CHECKING

from maskwright.edits.edit_set import EditSet
from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.foundation.errors import Problem, refuse_problems
from maskwright.foundation.findings import Notice
from maskwright.foundation.nearest_names import unknown_name
from maskwright.planning.step_variables import variables_of_steps

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.translation.single_variable import Straddling
    from maskwright.edits.translation.translate import Translation, Whole
    from maskwright.edits.translation.values import Interval
    from maskwright.planning.model import Step

MOST_LETTERS = 200
"""Of the text of an edit in a notice; the record has it whole."""
MOST_SHOWN = 3
"""Categories of a variable that a message names."""


@dataclass(frozen=True, eq=False)
class RecodedVariables:
    """Variables that steps publish as coarser categories, and what may become of their edits.

    `steps`: last step, 1-based, that publishes the variable as categories. `original`: as they are in the file.
    `weaken`, `drop`: what `release_edits` of the steps lists. `ranges`: that edits on a variable alone leave it, of
    those that every original record keeps. `least`: smallest original values, where these are read. `foreseen`: those
    whose categories are known before any data are read: the others are made of values of records, and no message may
    show them. `tried`: whose categories the data show before anything is masked, so that an edit which cannot be said
    of them is refused with the plan.
    """

    steps: Mapping[str, int] = field(default_factory=dict)
    original: Mapping[str, Variable] = field(default_factory=dict)
    weaken: frozenset[str] = frozenset()
    drop: frozenset[str] = frozenset()
    ranges: Mapping[str, Interval] = field(default_factory=dict)
    least: Mapping[str, float] = field(default_factory=dict)
    foreseen: frozenset[str] = frozenset()
    tried: frozenset[str] = frozenset()

    def read_by(self, edit: Edit) -> tuple[str, ...]:
        """Recoded variables that an edit reads."""
        return tuple(name for name in edit.variables if name in self.steps)

    def otherwise(self, edit: Edit) -> str:
        """What becomes of an edit if it cannot be said of categories that are not known yet; empty: that is known."""
        names = self.read_by(edit)
        if not self.drop.isdisjoint(names) and not self.foreseen.issuperset(names):
            return "it is dropped, as release_edits allows"
        is_known = (self.foreseen | self.tried).issuperset(names)
        return "" if is_known else "the run stops and says which borders or `release_edits` it needs"


@dataclass(frozen=True, eq=False)
class Settled:
    """What became of edits.

    `edits`: on published categories where they could be translated; those on variables of which the categories are not
    known yet are left as they are. `translations`: of those that were translated or weakened.
    """

    edits: EditSet
    translations: tuple[Translation, ...] = ()
    dropped: tuple[Edit, ...] = ()


def recoded_variables(
    edits: EditSet,
    steps: Sequence[Step],
    variables: Sequence[Variable],
    broken: Mapping[str, int],
    data: Dataset | None = None,
) -> RecodedVariables:
    """Variables that steps publish as coarser categories."""
    problems: list[Problem] = []
    listed: dict[str, set[str]] = {"weaken": set(), "drop": set()}
    coarse: dict[str, int] = {}
    for step, found in zip(steps, variables_of_steps(steps, variables), strict=True):
        own = found.names if "detail" in step.method.claims.removes else ()
        coarse |= dict.fromkeys(own, step.number)
        requested = {"weaken": step.planning.release_edits.weaken, "drop": step.planning.release_edits.drop}
        for key, names in requested.items():
            listed[key].update(name for name in names if name in own)
            problems += [
                Problem(f"release_edits.{key}: {reason}", step=step.number)
                for name in names
                if name not in own
                and (reason := unknown_name("variable that the step publishes as categories", name, own))
            ]
    refuse_problems(problems)
    kept = [edit for edit in edits if not broken.get(edit.name)]
    ranges: Mapping[str, Interval] = {}
    if coarse:
        from maskwright.edits.translation.values import ranges_of  # of recoded variables

        ranges = {name: each for name, each in ranges_of(kept).items() if name in coarse}
    return RecodedVariables(
        coarse, {each.name: each for each in variables if each.name in coarse},
        frozenset(listed["weaken"]), frozenset(listed["drop"]), ranges, {} if data is None else _least(data, coarse),
    )  # fmt: skip


def _least(data: Dataset, names: Iterable[str]) -> dict[str, float]:
    """Smallest values of numeric variables, those without any value left out."""
    columns = [data[name] for name in names if name in data and data[name].variable.is_numeric]
    return {each.name: float(each.values[~each.missing].min()) for each in columns if not each.missing.all()}


def published_before_data(
    steps: Sequence[Step], variables: Sequence[Variable], coarse: RecodedVariables
) -> dict[str, Variable]:
    """Recoded variables as they are published, where that is known before the steps are run."""
    known: dict[str, Variable | None] = {each.name: each for each in variables}
    for step, found in zip(steps, variables_of_steps(steps, variables), strict=True):
        if "detail" not in step.method.claims.removes:
            continue
        publishes = step.method.claims.publishes
        with step.placed(step.number):
            for name in found.names:
                before = known[name]
                known[name] = None if before is None or publishes is None else publishes(step.params, before)
    return {name: each for name in coarse.steps if (each := known[name]) is not None}


def recoded_alone(steps: Sequence[Step], variables: Sequence[Variable], coarse: RecodedVariables) -> dict[str, Step]:
    """Steps that make categories of the original values of one variable, all of them and without chance, by variable.

    What a method returns for these values is what it publishes.
    """
    found: dict[str, Step] = {}
    seen: set[str] = set()
    for step, own in zip(steps, variables_of_steps(steps, variables), strict=True):
        claims, names = step.method.claims, set(own.names)
        is_alone = step.method.scope == "variable" and step.is_deterministic and not step.within
        if "detail" in claims.removes and is_alone:
            found |= dict.fromkeys(coarse.steps.keys() & (names - seen), step)
        elif not step.only_removes:
            found = {name: each for name, each in found.items() if name not in names}
        seen |= {each.name for each in variables} if step.only_removes else names
    return {name: step for name, step in found.items() if coarse.steps[name] == step.number}


def settled(
    edits: EditSet,
    coarse: RecodedVariables,
    published: Mapping[str, Variable],
    whole: Whole,
    unknown: Collection[str] = (),
) -> Settled:
    """Edits as they hold of published categories.

    An edit that can be translated is: its verdict stays the same. Else it is weakened where `release_edits` allows that
    of each recoded variable that it reads, else dropped where it allows that of one of them.
    """
    if not published:
        return Settled(edits)
    from maskwright.edits.translation.translate import NotKnownYet, translate  # of recoded variables
    from maskwright.edits.translation.values import recoded  # of recoded variables

    variables = {
        name: recoded(coarse.original[name], each, coarse.ranges.get(name)) for name, each in published.items()
    }
    kept: list[Edit] = []
    done: list[Translation] = []
    dropped: list[Edit] = []
    problems: list[Problem] = []
    for edit in edits:
        names = tuple(name for name in edit.variables if name in published)
        if edit.shadowed or not names or not set(unknown).isdisjoint(edit.variables):
            kept.append(edit)
            continue
        try:
            found = translate(edit, variables, whole)
        except NotKnownYet:
            kept.append(edit)
            continue
        if found.edit is not None and (found.form == "translated" or coarse.weaken.issuperset(names)):
            kept.append(found.edit)
            done.append(found)
        elif coarse.drop.intersection(names):
            dropped.append(edit)
        else:
            problems.append(_problem(found, names, coarse))
    refuse_problems(problems)
    return Settled(EditSet(tuple(kept), edits.notes), tuple(done), tuple(dropped))


def _problem(found: Translation, names: Sequence[str], coarse: RecodedVariables) -> Problem:
    """Edit that cannot be kept as it is, why, and what to do."""
    edit = found.original
    steps = ", ".join(f"step {coarse.steps[name]} publishes {name} as coarser categories" for name in names)
    why = [each for each in (found.reason, *_straddling(found.straddling, coarse)) if each]
    message = f"{steps}, and edit {edit.name!r} cannot be said of them with the same meaning"
    message += f": {'; '.join(why)}" if why else ""
    borders: dict[str, dict[str, None]] = {}
    ends: dict[str, None] = {}
    for each in found.straddling:
        least = each.borders[0] if each.is_open and each.borders else ""
        is_end = least != "" and coarse.least.get(each.variable, -math.inf) >= float(least)
        if is_end:  # a border there would make a band without records
            ends[f"`{name_text(each.variable)} >= {least}`"] = None
        borders.setdefault(each.variable, {}).update(dict.fromkeys(each.borders[is_end:]))
    ways = [
        f"put a border of {name} at {' and '.join(at)}" if name in coarse.foreseen
        else f"publish {name} in bands that you set, with a border at {' and '.join(at)}"
        for name, at in borders.items() if at
    ]  # fmt: skip
    if ends:
        stated = f"add the edit {' and '.join(ends)}, which the records obey (bands that are open end there)"
        ways = [f"{stated}, and {ways[0]}", *ways[1:]] if ways else [stated]
    listed = ", ".join(names)
    if found.edit is not None:
        ways.append(
            f"let it be weakened to what is true of every true record, 'release_edits: {{weaken: [{listed}]}}' in the "
            "step's params"
        )
    ways.append(f"let it go, 'release_edits: {{drop: [{listed}]}}'")
    return Problem(message, edit.place, "; or ".join(ways))


def _straddling(found: Sequence[Straddling], coarse: RecodedVariables) -> Iterator[str]:
    for name in dict.fromkeys(each.variable for each in found):
        shown = list(dict.fromkeys(repr(each.category) for each in found if each.variable == name))
        if name not in coarse.foreseen:
            several = f"{len(shown)} categories" if len(shown) > 1 else "a category"
            yield f"{several} of {name} {'have' if len(shown) > 1 else 'has'} values on both sides of it"
            continue
        more = f" and {len(shown) - MOST_SHOWN} more" if len(shown) > MOST_SHOWN else ""
        yield f"{', '.join(shown[:MOST_SHOWN])}{more} of {name} has values on both sides of it"


def recoded_edit_notices(translations: Sequence[Translation], dropped: Sequence[Edit]) -> tuple[Notice, ...]:
    """Notices about edits that say less than before, or nothing."""
    weakened = [
        Notice(
            "edit-weakened",
            each.original.name,
            f"edit {each.original.name!r} is weakened to what the published categories show, as `release_edits` in the "
            f"step's params allows: {shorten(each.edit.text, MOST_LETTERS)}",
            place=each.original.place,
        )
        for each in translations
        if each.form == "weakened" and each.edit is not None
    ]
    gone = [
        Notice(
            "edit-dropped",
            edit.name,
            f"edit {edit.name!r} is dropped, as `release_edits` in the step's params allows: it cannot be stated of "
            f"the categories in which {', '.join(edit.variables)} are published",
            place=edit.place,
        )
        for edit in dropped
    ]
    return (*weakened, *gone)
