"""Comments written by ``maskwright init`` that a change makes false: removed or corrected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

import maskwright as mw
from maskwright_studio.pipeline_text.layout import Layout, find, same, settings_of
from maskwright_studio.refusal import Refusal

DECISIONS = re.compile(r"# (?:1 decision is|\d+ decisions are) to be made before it runs; ")
DECISION = re.compile(r"#   (?:line (?P<number>\d+), (?P<name>.+?): |the file: )")
DESCRIBED = re.compile(r"(?P<facts>\s*# [\w ]+; [\d,]+ cells with a value, [\d,]+ different[^.]*\.) ")
UNSURE = re.compile(r"\s*# unsure: ")
GOES_ON = re.compile(r"\s*#   ")
OF_K = re.compile(r"(?P<before># (?:means of at least|cells are emptied until) )(?P<k>\d+)(?P<after> [^\r\n]*)")

VARIABLES = ("data", "variables")


def without_false_guesses(old: str, new: str) -> str:
    """Text after a change, without the guesses of ``init`` that it made false.

    What is changed of a variable was decided: doubts about it go, and at the top they are no more counted; line numbers
    there are those of the new text. A smallest class that is said beside a method is that of its step.
    """
    try:
        before, after = settings_of(old), settings_of(new)
        found = _numbered(_without_decided(_with_k(new, before, after), before, after))
        is_safe = same(settings_of(found), after)
    except (mw.InputError, Refusal):
        return new
    return found if is_safe else new


def _with_k(text: str, before: Any, after: Any) -> str:
    """Put right what comments of steps say of k."""
    old, new = (find(settings, ("protect",))[1] for settings in (before, after))
    if not isinstance(old, list) or not isinstance(new, list) or len(old) != len(new):
        return text
    layout = Layout(text)
    node = layout.at(("protect",))
    if node.flow_style:
        return text
    for at, each in reversed(list(enumerate(layout.entries(node)))):
        (had, was), (_, now) = (find(steps[at], ("params", "k")) for steps in (old, new))
        if not had or same(was, now):
            continue
        end = layout.line_end(each.end)

        def right(found: re.Match[str], was: object = was, now: object = now) -> str:
            if found["k"] != str(was):
                return found[0]
            return "" if now is None else f"{found['before']}{now}{found['after']}"

        text = text[: each.start] + OF_K.sub(right, text[each.start : end]) + text[end:]
    return text


def _without_decided(text: str, before: Any, after: Any) -> str:
    """Leave out what is said to be unsure of variables that were changed, or are masked now."""
    old, new = (_variables(settings) for settings in (before, after))
    changed = {name for name in {*old, *new} if not same(old.get(name), new.get(name))}
    decided = changed | (_masked(after) - _masked(before))
    if not decided:
        return text
    lines = text.splitlines(keepends=True)
    gone: set[int] = set()
    places = _places(text)
    for name in decided & set(places):
        has_other_facts = any(
            not same(_declared_value(old, name, key), _declared_value(new, name, key)) for key in ("type", "missing")
        )
        _find_outdated_comments(lines, places[name], gone, is_changed=name in changed, has_other_facts=has_other_facts)
    _leave_out_decisions(lines, decided, gone)
    return "".join(line for at, line in enumerate(lines) if at not in gone)


def _find_outdated_comments(
    lines: list[str], place: int, gone: set[int], *, is_changed: bool, has_other_facts: bool
) -> None:
    """Find what goes of the comments right above a variable."""
    start = place
    while start and lines[start - 1].lstrip().startswith("#"):
        start -= 1
    goes = False
    for at in range(start, place):
        described = DESCRIBED.match(lines[at])
        if UNSURE.match(lines[at]):
            goes = True
        elif described and is_changed:
            goes = True  # why the role was guessed, also where it goes over several lines
            if not has_other_facts:
                lines[at] = described["facts"] + _line_end(lines[at])
                continue
        elif not GOES_ON.match(lines[at]):
            goes = False
        if goes:
            gone.add(at)


def _leave_out_decisions(lines: list[str], decided: set[str], gone: set[int]) -> None:
    """Leave decided variables out of the list at the top, and count the rest."""
    head = next((at for at, line in enumerate(lines) if DECISIONS.match(line)), None)
    if head is None:
        return
    left, goes = 0, False
    for at in range(head + 1, len(lines)):
        if not lines[at].startswith("#   "):
            break
        if found := DECISION.match(lines[at]):
            goes = found["name"] in decided
            left += not goes
        if goes:
            gone.add(at)
    many = "1 decision is" if left == 1 else f"{left} decisions are"
    lines[head] = DECISIONS.sub(f"# {many} to be made before it runs; ", lines[head])
    if not left:
        gone.add(head)


def _numbered(text: str) -> str:
    """Give the list at the top the numbers of the lines that its variables stand in now."""
    lines = text.splitlines(keepends=True)
    head = next((at for at, line in enumerate(lines) if DECISIONS.match(line)), None)
    if head is None:
        return text
    places = _places(text)
    for at in range(head + 1, len(lines)):
        if not lines[at].startswith("#   "):
            break
        found = DECISION.match(lines[at])
        if found and found["name"] in places:
            start, end = found.span("number")
            lines[at] = f"{lines[at][:start]}{places[found['name']] + 1}{lines[at][end:]}"
    return "".join(lines)


def _places(text: str) -> dict[str, int]:
    """Line of each variable, from 0; none where they are between braces."""
    node = Layout(text).at(VARIABLES)
    if not isinstance(node, yaml.MappingNode) or node.flow_style:
        return {}
    return {str(key.value): key.start_mark.line for key, _ in node.value}


def _variables(settings: Any) -> dict[str, Any]:
    found = find(settings, VARIABLES)[1]
    return dict(found) if isinstance(found, Mapping) else {}


def _declared_value(variables: dict[str, Any], name: str, key: str) -> Any:
    settings_of = variables.get(name)
    return settings_of.get(key) if isinstance(settings_of, Mapping) else None


def _masked(settings: Any) -> set[str]:
    """Variables that steps name."""
    steps = find(settings, ("protect",))[1]
    named = [each.get("variables") for each in steps or () if isinstance(each, Mapping)]
    return {str(name) for names in named if isinstance(names, list) for name in names}


def _line_end(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]
