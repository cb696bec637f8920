"""Changes of the pipeline before they are made: operations on its text, and what they would do to it."""

from __future__ import annotations

import difflib
import hashlib
import itertools
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

import yaml

from maskwright_studio import pipeline_text
from maskwright_studio.pipeline_text.init_comments import without_false_guesses
from maskwright_studio.pipeline_text.layout import MARK, Layout, comments_of, find
from maskwright_studio.refusal import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Operation = list[Any]
"""``["set", path, value]``, ``["remove", path]``, ``["uncomment", path]``, ``["insert", path, at, value]``,
``["append", path, value]``, ``["move", path, at, to]``, ``["names", path, names]``, ``["text", typed]``."""


def changed(text: str, operations: Sequence[Operation]) -> str:
    """Text after some operations."""
    new = _after(text, operations)
    if new == text:
        raise Refusal("that is what the pipeline says already")
    if any(operation[0] == "text" for operation in operations):
        return new  # what was typed stays as it was typed
    mark = MARK if new.startswith(MARK) else ""
    return mark + without_false_guesses(text.removeprefix(MARK), new.removeprefix(MARK))


def _after(text: str, operations: Sequence[Operation]) -> str:
    new = text
    for is_setting, several in itertools.groupby(operations, key=_is_of_a_key):
        if is_setting:
            new = pipeline_text.set_values(new, [(path, value) for _, path, value in several])
        else:
            new = _after_each(new, several)
    return new


def _is_of_a_key(operation: Operation) -> bool:
    """Whether an operation sets a key of what is declared of a variable: many are set at once."""
    match operation:
        case ["set", ["data", "variables", str(), str()], _]:
            return True
    return False


def _after_each(text: str, operations: Iterable[Operation]) -> str:
    new = text
    for operation in operations:
        match operation:
            case ["set", list(path), value]:
                new = pipeline_text.set_value(new, path, value)
            case ["remove", list(path)]:
                bare = pipeline_text.uncomment(new, path) if path and isinstance(path[-1], int) else new
                new = pipeline_text.remove(bare, path, comments=True)
            case ["uncomment", list(path)]:
                new = pipeline_text.uncomment(new, path)
            case ["insert", list(path), int(at), value]:
                new = pipeline_text.insert(new, path, at, value)
            case ["append", list(path), value]:
                new = pipeline_text.append(new, path, value)
            case ["move", list(path), int(at), int(to)]:
                new = pipeline_text.move(new, path, at, to)
            case ["names", list(path), list(names)]:
                new = pipeline_text.set_names(new, path, list(map(str, names)))
            case ["text", str(typed)]:
                new = typed_over(new, typed)
            case _:
                raise Refusal("this change is not understood")
    return new


def steps_in_place_of(steps: Sequence[Any], new: Sequence[Any]) -> list[Operation]:
    """Operations that put steps in the place of those of a pipeline; comments of a step go with its method."""
    if not steps or not new:
        return [["set", ["protect"], list(new)]]
    pairs = list(enumerate(zip(steps, new, strict=False)))
    return [
        *(["remove", ["protect", at]] for at in range(len(steps) - 1, len(new) - 1, -1)),
        *(["uncomment", ["protect", at]] for at, (old, other) in pairs if method_of(old) != method_of(other)),
        *(["set", ["protect", at], other] for at, (_, other) in pairs),
        *(["append", ["protect"], other] for other in new[len(steps) :]),
    ]


def method_of(step: object) -> str:
    """Method of a step of a pipeline; '' where it has none."""
    return str(step.get("method", "")) if isinstance(step, dict) else ""


def entry_at(text: str, path: Sequence[str | int], line: int, column: int) -> int | None:
    """Position of the entry of a list that holds a place of the text; None where none does."""
    layout = Layout(text.removeprefix(MARK))
    node = layout.at(path)
    place = sum(len(each) + 1 for each in layout.text.split("\n")[: line - 1]) + column - 1
    entries = layout.entries(node) if isinstance(node, yaml.SequenceNode) else []
    return next((at for at, each in enumerate(entries) if each.start <= place < each.end), None)


def comments_lost(old: str, new: str) -> list[str]:
    """Comments of a text that are not in another one, in their order."""
    left = Counter(comments_of(new))
    lost = []
    for each in comments_of(old):
        left[each] -= 1
        if left[each] < 0:
            lost.append(each)
    return lost


def typed_over(text: str, typed: str) -> str:
    """A text as it was typed in the page, with the line ends and the byte order mark of the file."""
    old = text.removeprefix(MARK).splitlines(keepends=True)
    bare = [line.rstrip("\r\n") for line in old]
    lines = typed.replace("\r\n", "\n").split("\n")
    last = lines.pop()
    newline = "\r\n" if sum(line.endswith("\r\n") for line in old) * 2 > len(old) else "\n"
    written = [line + newline for line in lines] + ([last] if last else [])
    for start, first, size in difflib.SequenceMatcher(a=bare, b=lines, autojunk=False).get_matching_blocks():
        for at in range(size):
            if old[start + at].endswith("\n"):
                written[first + at] = old[start + at]
    return (MARK if text.startswith(MARK) else "") + "".join(written)


def fingerprint(text: str) -> str:
    """Short name of a text: a change is made in the very text that it was shown for."""
    return hashlib.sha256(text.encode()).hexdigest()


def operations_of(sent: object) -> list[Operation]:
    """Operations that a form holds."""
    try:
        found = json.loads(str(sent))
    except ValueError:
        raise Refusal("this change is not understood") from None
    return found if isinstance(found, list) else []


def value_at(settings: object, path: Sequence[str | int]) -> Any:
    """What a place of the pipeline says; None where there is none."""
    return find(settings, path)[1]
