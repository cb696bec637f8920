"""Decisions that a pipeline leaves open: doubts with the answers that settle them, and guesses to look at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import maskwright as mw
from maskwright_studio.pipeline_text.layout import settings_of
from maskwright_studio.proposals import method_of, value_at
from maskwright_studio.waivers import grouped, number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from maskwright_studio.proposals import Operation

ROLE_ANSWERS = (
    ("An intruder may know it", "quasi_identifier"),
    ("It must not be learned", "confidential"),
    ("Publish it as it is", "other"),
)
"""What may be answered of a variable of which nothing says what it is."""


MOST_APART = 5
"""Variables with the same doubt that are decided one by one; more are decided together."""


@dataclass(frozen=True)
class DecisionAnswer:
    """One answer: a change of the pipeline, which is shown first, or a page that leads to it.

    `do`: operations as the page sends them; '' for a link. `href`: '' for a change.
    """

    label: str
    do: str = ""
    href: str = ""


@dataclass(frozen=True)
class Decision:
    """A doubt about one thing, or one kind of doubt about several variables.

    `number`: by which a waiver names it. `doubts`: with the same remedy. `subjects`: variables, where it is about some.
    """

    number: str
    doubts: tuple[dict[str, Any], ...]
    subjects: tuple[str, ...]
    answers: tuple[DecisionAnswer, ...]


def decisions(doubts: Iterable[dict[str, Any]], text: str) -> list[Decision]:
    """Open doubts with their answers; those that several variables have alike are decided together."""
    try:
        settings = settings_of(text)
    except mw.InputError:
        settings = {}
    alike: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for group in grouped(doubts):
        first = group[0]
        is_of_variable = first["about"] == "variable" and len(group) == 1
        key = (first["id"], first["message"] if is_of_variable else "", "" if is_of_variable else number_of(first))
        alike.setdefault(key, []).extend(group)
    apart = (
        [each] if each[0]["about"] != "variable" or len(each) > MOST_APART else grouped(each) for each in alike.values()
    )
    return [_decision(each, settings) for several in apart for each in several]


def _decision(doubts: Sequence[dict[str, Any]], settings: Any) -> Decision:
    first = doubts[0]
    subjects = tuple(dict.fromkeys(str(each["subject"]) for each in doubts)) if first["about"] == "variable" else ()
    return Decision(
        " ".join((first["id"], *subjects)) if subjects else number_of(first), tuple(doubts), subjects,
        tuple(_answers(first, subjects, settings)),
    )  # fmt: skip


def _answers(doubt: dict[str, Any], subjects: Sequence[str], settings: Any) -> list[DecisionAnswer]:
    """The two to four answers to a kind of doubt."""
    if doubt["doubt"] == "published-undeclared":
        return [
            *(DecisionAnswer(label, json.dumps(_declaring(subjects, "role", role))) for label, role in ROLE_ANSWERS),
            _leaving_out(subjects, settings),
        ]
    if doubt["doubt"] == "not-masked":
        return [
            *_named_in_steps(subjects, settings),
            DecisionAnswer("Publish it as it is", json.dumps(_declaring(subjects, "release", "as is"))),
            _leaving_out(subjects, settings),
        ]
    if doubt["about"] == "variable":
        return [
            _leaving_out(subjects, settings),
            DecisionAnswer("To the variable", href=f"/variables?name={subjects[0]}"),
        ]
    if doubt["about"] == "step":
        return [DecisionAnswer(f"To step {doubt['subject']}", href=f"/pipeline?part=step/{doubt['subject']}")]
    return [DecisionAnswer("To the rules", href="/rules")] if doubt["about"] == "edit" else []


def _declaring(subjects: Sequence[str], key: str, value: str) -> list[Operation]:
    return [["set", ["data", "variables", name, key], value] for name in subjects]


def _leaving_out(subjects: Sequence[str], settings: Any) -> DecisionAnswer:
    """Answer that drops variables: steps that name them name the others, and one that masks nothing else goes."""
    removals: list[Operation] = []
    for at, named in reversed(list(_named(settings))):
        left = [name for name in named if name not in subjects]
        if not left:
            removals.append(["remove", ["protect", at]])
        else:
            places = [place for place, name in enumerate(named) if name in subjects]
            removals += [["remove", ["protect", at, "variables", place]] for place in reversed(places)]
    return DecisionAnswer("Leave it out", json.dumps([*removals, *_declaring(subjects, "role", "identifier")]))


def _named(settings: Any) -> Iterator[tuple[int, list[Any]]]:
    """Steps that name their variables, each with its position."""
    for at, step in enumerate(value_at(settings, ("protect",)) or ()):
        named = step.get("variables") if isinstance(step, dict) else None
        if isinstance(named, list) and named:
            yield at, named


def _named_in_steps(subjects: Sequence[str], settings: Any) -> list[DecisionAnswer]:
    """Answers that name variables in a step that names others."""
    found = []
    for at, _ in _named(settings):
        operations: list[Operation] = [["append", ["protect", at, "variables"], name] for name in subjects]
        method = method_of(value_at(settings, ("protect", at)))
        found.append(DecisionAnswer(f"Mask it in step {at + 1} ({method})", json.dumps(operations)))
    return found


def guesses(variables: Iterable[dict[str, Any]], decided: Iterable[str]) -> list[dict[str, Any]]:
    """Variables of which something was guessed, and what answers it: those that no open doubt is about."""
    open_doubts = set(decided)
    found = []
    for each in variables:
        facts = [text for text in each["unsure"] if each["is_declared"]]
        if each["suggested"] and each["suggested"] != each["role"]:
            facts.append(f"it looks like {each['suggested']} ({each['why']}), and is {each['role']}")
        if each["likely_codes"]:
            facts.append(f"{mw.plural(each['likely_codes'], 'code')} may mean 'no value', and none is declared")
        if each["unparsed"]:
            facts.append(f"{mw.plural(each['unparsed'], 'cell')} are no numbers, where most are")
        if facts and each["name"] not in open_doubts:
            role = each["suggested"] if each["suggested"] != each["role"] else ""
            do = json.dumps(_declaring([each["name"]], "role", role)) if role else ""
            found.append({"name": each["name"], "facts": facts, "role": role, "do": do})
    return found
