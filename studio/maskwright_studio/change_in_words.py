"""What a change of the pipeline was, in a few words: undo and redo say which one they take back."""

from __future__ import annotations

import functools
from difflib import SequenceMatcher
from typing import TYPE_CHECKING, Any

import maskwright as mw
from maskwright_studio.pipeline_text.meaning import same
from maskwright_studio.proposals import MARK, method_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

LISTS = {"protect": "step", "edits": "rule", "measure": "measure", "waive": "waiver"}
"""Sections that are lists, and what an entry of each is called."""

MOST_LETTERS = 60


@functools.lru_cache(maxsize=32)
def change_in_words(old: str, new: str) -> str:
    """What became of a text: ``step 2 replaced``, ``rule 3 removed``, ``age changed``.

    `old`, `new`: texts of a pipeline, before and after.
    """
    try:
        before, after = (mw.read_settings(text.removeprefix(MARK)) for text in (old, new))
    except mw.InputError:
        return "text changed"
    if not (isinstance(before, dict) and isinstance(after, dict)):
        return "text changed"
    found = [said for key in dict.fromkeys([*before, *after]) for said in _of_section(key, before, after)]
    if not found:
        return "comments or layout changed"
    said = f"{found[0]} and {len(found) - 1} more" if len(found) > 2 else ", ".join(found)
    return said if len(said) <= MOST_LETTERS else f"{said[: MOST_LETTERS - 1]}…"


def _of_section(key: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    old, new = before.get(key), after.get(key)
    if same(old, new):
        return
    if key in LISTS and all(isinstance(each, (list, type(None))) for each in (old, new)):
        yield from _of_list(LISTS[key], old or [], new or [])
    elif key == "data" and isinstance(old, dict) and isinstance(new, dict):
        one, other = (_variables(each) for each in (old, new))
        names = dict.fromkeys([*one, *other])
        yield from (f"{name} changed" for name in names if not same(one.get(name), other.get(name)))
        if any(not same(old.get(name), new.get(name)) for name in {*old, *new} - {"variables"}):
            yield "data changed"
    else:
        yield f"{key} {'added' if key not in before else 'removed' if key not in after else 'changed'}"


def _variables(data: Mapping[str, Any]) -> dict[str, Any]:
    found = data.get("variables")
    return found if isinstance(found, dict) else {}


def _of_list(noun: str, old: list[Any], new: list[Any]) -> Iterator[str]:
    """Entries by their number, as the page counts them: of what is gone, the number that it had."""
    one, other = ([repr(each) for each in entries] for entries in (old, new))
    if sorted(one) == sorted(other):
        at = next(at for at, (left, right) in enumerate(zip(one, other, strict=True)) if left != right)
        yield f"{noun} {at + 1} moved"
        return
    for kind, start, end, first, last in SequenceMatcher(a=one, b=other, autojunk=False).get_opcodes():
        both = min(end - start, last - first) if kind == "replace" else 0
        for at in range(both):
            is_other = noun == "step" and method_of(old[start + at]) != method_of(new[first + at])
            yield f"{noun} {start + at + 1} {'replaced' if is_other else 'changed'}"
        if kind != "equal":
            yield from (f"{noun} {at + 1} removed" for at in range(start + both, end))
            yield from (f"{noun} {at + 1} added" for at in range(first + both, last))
