"""Variables of a flat file that were probably forgotten among those of its groups, and are taken for the members'."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from maskwright.commands.levels.steps import maskable
from maskwright.data.levels.alike_within import alike_within
from maskwright.foundation.doubts import Doubt
from maskwright.foundation.errors import EditError, InputError, Problem
from maskwright.foundation.refusals import EditViolation
from maskwright.planning.step_variables import default_variables
from maskwright.release.gate import flow_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from maskwright.data.levels.linked_data import Level, LinkedData
    from maskwright.pipeline.resolved import Pipeline
    from maskwright.pipeline.waivers import Waiver
    from maskwright.planning.model import Step

KIND = "constant-within-groups"


def forgotten_variables(described: Pipeline, linked: LinkedData) -> tuple[tuple[Doubt, ...], tuple[str, ...]]:
    """Doubts about variables that steps name and that are probably those of the groups; a notice of the others.

    `described`: nothing is said where the levels have files of their own, or stand inside each other: their places say
    it.
    """
    if described.levels is None or described.levels.form != "flat":
        return (), ()
    top, low = linked.levels
    known = {each.name: each for each in maskable(low)}
    # A weight is often that of the group, and belongs to each member all the same.
    found = {name: each for name, each in alike_within(linked).items() if known[name].role != "weight"}
    named = {name for step in described.steps for name in _named(step)}
    named |= {
        name for step in described.steps if not _named(step)
        for name in default_variables(step, known)
    }  # fmt: skip
    doubts = []
    for name, (alike, several) in found.items():
        if name in named:
            groups = f"each {top.name}" if alike == several else f"{alike:,} of the {several:,} of {top.name}"
            message = (
                f"it is declared of {low.name}, differs from {top.name} to {top.name}, and is the same in all rows of "
                f"{groups} with two or more: it is probably a variable of {top.name}"
            )
            doubts.append(Doubt(KIND, name, message, alike, several, hint=_what_to_write(top, low, [name])))
    others = [name for name in found if name not in named]
    if not others:
        return tuple(doubts), ()
    notice = (
        f"declared of {low.name}, and the same in all rows of nearly every {top.name}: {', '.join(others)}. "
        f"{_what_to_write(top, low, others)}"
    )
    return tuple(doubts), (notice,)


@contextmanager
def told_first(doubts: Iterable[Doubt], waivers: Sequence[Waiver]) -> Iterator[None]:
    """Tell before a mistake, or a refusal, which variables were probably forgotten: often that is its real reason.

    `doubts`: on arrival; only those of `forgotten_variables` are told. `waivers`: of the pipeline; what they waive is
    not told.
    """
    try:
        yield
    except (InputError, EditViolation) as error:
        reasons = [
            Problem(str(each), each.place, each.remedy) for each in doubts
            if each.kind == KIND and not any(waiver.covers(each) for waiver in waivers)
        ]  # fmt: skip
        if not reasons or type(error) not in (InputError, EditError, EditViolation):
            raise  # an engine that is out of memory, say
        raise type(error)([*reasons, *error.problems]) from error


def _named(step: Step) -> set[str]:
    """Variables that a step names: to mask, or to look at while it masks others."""
    return {*(step.variables or ()), *step.keys, *step.dependents, *(name for group in step.groups for name in group)}


def _what_to_write(top: Level, low: Level, names: Sequence[str]) -> str:
    """How a pipeline says that variables are the upper level's."""
    those = ", ".join(map(flow_text, names))
    says, them = ("it says", "it") if len(names) == 1 else ("they say", "them")
    if top.declared.variables is None:
        return f"If {says} something of the whole {top.name}, take {them} out of the variables of {low.name}: {those}."
    written = ", ".join((*(["..."] if top.declared.variables else []), those))
    return (
        f"If {says} something of the whole {top.name}, write "
        f"`levels: {{{flow_text(top.name)}: {{variables: [{written}]}}}}`."
    )
