"""Comments written by ``maskwright init`` that a change makes false: removed or corrected."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import maskwright as mw
from maskwright_studio.pipeline_text.layout import Layout, find, same, settings_of
from maskwright_studio.refusal import Refusal

DECISIONS = re.compile(r"# (?:1 decision is|\d+ decisions are) to be made before it runs")
HEADS = re.compile(DECISIONS.pattern + "|# Guessed; right what is wrong:")
ENTRY = re.compile(r"#   (?P<names>[^:]+?)(?: \((?P<count>\d+) variables\))?: ")
OF_K = re.compile(r"(?P<before># (?:means of at least|cells are emptied until) )(?P<k>\d+)(?P<after> [^\r\n]*)")

VARIABLES = ("data", "variables")


def without_false_guesses(old: str, new: str) -> str:
    """Text after a change, without the guesses of ``init`` that it made false.

    What is changed of a variable was decided: it is named no more in what is to be decided, and that is counted anew. A
    smallest class in the comment on a method is that of its step.
    """
    try:
        before, after = settings_of(old), settings_of(new)
        found = _without_decided(_with_k(new, before, after), before, after)
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
    """Leave variables that were changed, or are masked now, out of what is to be decided and of what was guessed."""
    old, new = (_variables(settings) for settings in (before, after))
    changed = {name for name in {*old, *new} if not same(old.get(name), new.get(name))}
    decided = changed | (_masked(after) - _masked(before))
    lines = text.splitlines(keepends=True)
    removed: set[int] = set()
    for head in [at for at, line in enumerate(lines) if decided and HEADS.match(line)]:
        _leave_out(lines, head, decided, removed)
    return "".join(line for at, line in enumerate(lines) if at not in removed)


def _leave_out(lines: list[str], head: int, decided: set[str], removed: set[int]) -> None:
    """Leave decided variables out of one list, and count what is left of it."""
    left, is_removed = 0, False
    for at in range(head + 1, len(lines)):
        if not lines[at].startswith("#   "):
            break
        if not lines[at].startswith("#     ") and (found := ENTRY.match(lines[at])):
            names = found["names"].split(", ")
            others = [name for name in names if name not in decided]
            is_removed = not others
            left += not is_removed
            if others and len(others) < len(names):
                several = f" ({int(found['count']) - len(names) + len(others)} variables)" if found["count"] else ""
                rest = lines[at][found.end() :]
                lines[at] = f"#   {', '.join(others)}{several.replace(' (1 variables)', '')}: {rest}"
        elif not lines[at].startswith("#     "):
            is_removed, left = False, left + 1
        if is_removed:
            removed.add(at)
    many = "1 decision is" if left == 1 else f"{left} decisions are"
    lines[head] = DECISIONS.sub(f"# {many} to be made before it runs", lines[head])
    if not left:
        removed.add(head)


def _variables(settings: Any) -> dict[str, Any]:
    """What is declared of each variable: of its own, and by the lists that name it."""
    own = find(settings, VARIABLES)[1]
    found: dict[str, Any] = {name: [each] for name, each in own.items()} if isinstance(own, Mapping) else {}
    for key in ("roles", "types"):
        lists = find(settings, ("data", key))[1]
        for value, names in lists.items() if isinstance(lists, Mapping) else ():
            for name in names if isinstance(names, list) else ():
                found.setdefault(name, []).append([key, value])
    return found


def _masked(settings: Any) -> set[str]:
    """Variables that steps name."""
    steps = find(settings, ("protect",))[1]
    named = [each.get("variables") for each in steps or () if isinstance(each, Mapping)]
    return {str(name) for names in named if isinstance(names, list) for name in names}
