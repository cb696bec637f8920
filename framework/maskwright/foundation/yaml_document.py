"""YAML for people: a strict, safe reader that remembers where everything stands.

What differs from plain YAML 1.1, and why:

* ``no``, ``on``, ``yes``, dates, ``0x1F`` and ``1_000`` are text; only ``true``, ``false`` and ``null`` are special;
* ``012`` is the number 12, ``1e-3`` is a number (YAML 1.1 reads octal and text);
* a key twice is an error, not a silent loss of the first;
* tags, merge keys, several documents are refused; aliases are allowed and counted, so that a small file cannot
  expand to a huge one;
* keys are text, whatever they look like.
"""

from __future__ import annotations

import numbers
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import yaml

from maskwright.foundation.errors import InputError, PipelineError, Place, Problem
from maskwright.foundation.yaml_syntax import MAX_DIGITS, QUOTE_IT, Scalar, explained, plain_value

MAX_CHARACTERS = 4_000_000
MAX_NODES = 500_000
MAX_DEPTH = 40
MAX_SHOWN = 400


@dataclass(frozen=True, eq=False)
class Node:
    """A mapping, a list or a single value of a YAML file, with its place.

    `raw`: text of a scalar as written, without quotes. `entries`: keys (text scalars) and values, in file order.
    `size`: nodes below and including this one, aliases as often as they are used.
    """

    kind: Literal["mapping", "sequence", "scalar"]
    place: Place
    value: Scalar = None
    raw: str = ""
    entries: tuple[tuple[Node, Node], ...] = ()
    elements: tuple[Node, ...] = ()
    size: int = 1

    def __contains__(self, key: object) -> bool:
        return any(name.raw == key for name, _ in self.entries)

    def __iter__(self) -> Iterator[Node]:
        return iter(self.elements)

    @property
    def is_mapping(self) -> bool:
        """Whether it has keys."""
        return self.kind == "mapping"

    @property
    def is_sequence(self) -> bool:
        """Whether it is a list."""
        return self.kind == "sequence"

    @property
    def is_scalar(self) -> bool:
        """Whether it is a single value (text, number, true, false or null)."""
        return self.kind == "scalar"

    @property
    def keys(self) -> tuple[str, ...]:
        """Keys of a mapping, in file order."""
        return tuple(name.raw for name, _ in self.entries)

    @property
    def description(self) -> str:
        """What it is, for a sentence: ``a list``, ``a mapping``, ``true``, ``nothing``, ``the text 'abc'``, ``1``."""
        if self.kind != "scalar":
            return {"mapping": "a mapping of keys", "sequence": "a list"}[self.kind]
        if self.value is None:
            return "nothing"
        if isinstance(self.value, str):
            return f"the text {_shortened(self.value)!r}"
        return _shortened(self.raw)

    def get(self, key: str | int) -> Node | None:
        """Value of a key, or element of a list by its 0-based position; None when there is none."""
        if isinstance(key, int):
            return self.elements[key] if 0 <= key < len(self.elements) else None
        return next((value for name, value in self.entries if name.raw == key), None)

    def key(self, key: str) -> Node | None:
        """Return the node of the key itself, for its place."""
        return next((name for name, _ in self.entries if name.raw == key), None)

    def at(self, path: Sequence[str | int]) -> Node | None:
        """Node at the end of a path of keys and positions; None when there is none."""
        found: Node | None = self
        for step in path:
            if found is None:
                return None
            found = found.get(step)
        return found

    def to_python(self) -> Any:
        """Plain dict (keys are text), list, str, int, float, bool or None."""
        if self.kind == "mapping":
            return {name.raw: value.to_python() for name, value in self.entries}
        if self.kind == "sequence":
            return [element.to_python() for element in self.elements]
        return self.value

    def with_entry(self, key: str, value: Node) -> Node:
        """Copy of a mapping with one key replaced, or added at the end."""
        if key in self:
            entries = tuple((name, value if name.raw == key else old) for name, old in self.entries)
        else:
            entries = (*self.entries, (Node("scalar", value.place, key, key), value))
        return replace(self, kind="mapping", entries=entries, value=None, raw="")

    def with_element(self, position: int, value: Node) -> Node:
        """Copy of a list with one element replaced, or added when `position` is its length."""
        elements = (*self.elements[:position], value, *self.elements[position + 1 :])
        return replace(self, elements=elements)


def load_yaml(
    text: str, name: str, error: type[InputError] = PipelineError, problems: list[Problem] | None = None
) -> Node:
    """Read one YAML document."""
    if len(text) > MAX_CHARACTERS:
        raise error(Problem(f"the file has more than {MAX_CHARACTERS:,} characters", Place(name)))
    composer = _Composer(text.removeprefix("\ufeff"), name, error)
    root = composer.document()
    if problems is not None:
        problems.extend(composer.found)
    elif composer.found:
        raise error(composer.found)
    return root


def scalar(text: str, place: Place | None = None) -> Node:
    """Scalar node of a plain text, by the rules of the file: ``5`` is a number, ``no`` is text."""
    where = place or Place()
    stripped = text.strip()
    return Node("scalar", where, plain_value(stripped, where, PipelineError), stripped)


def from_python(value: object, place: Place) -> Node:
    """Node tree of plain Python values, all at one place; numbers of numpy are numbers, and paths text."""
    if isinstance(value, Mapping):
        entries = tuple(
            (Node("scalar", place, str(key), str(key)), from_python(item, place)) for key, item in value.items()
        )
        return Node("mapping", place, entries=entries)
    if isinstance(value, (list, tuple, set, frozenset)):
        return Node("sequence", place, elements=tuple(from_python(item, place) for item in value))
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    elif not isinstance(value, (bool, int, float)) and isinstance(value, numbers.Real):
        value = int(value) if isinstance(value, numbers.Integral) else float(value)
    if isinstance(value, int) and abs(value) >= 10**MAX_DIGITS:
        raise PipelineError(Problem(f"a number with more than {MAX_DIGITS} digits", place))
    if value is None or isinstance(value, (str, bool, int, float)):
        raw = value if isinstance(value, str) else "null" if value is None else str(value)
        return Node("scalar", place, value, raw.lower() if isinstance(value, bool) else raw)
    raise PipelineError(Problem(f"a value of type {type(value).__name__} cannot be a setting", place))


_BEGINNING = re.compile(r"""\s*(?:-(?:\s|$)|[\w'" -]+:(?:\s|$)|---|%YAML|[\[{&!])""")


def begins_yaml(text: str) -> bool:
    """Whether a text begins as a list or a mapping does: what does not may be data, of which nothing is shown."""
    lines = (line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#"))
    return _BEGINNING.match(next(lines, "")) is not None


class _Composer:
    """Node tree from PyYAML's events; nothing of YAML 1.1's resolution or construction is used."""

    def __init__(self, text: str, name: str, error: type[InputError]) -> None:
        self.text, self.name, self.error = text, name, error
        self.lines = text.splitlines() if begins_yaml(text) else []
        self.anchors: dict[str, Node | None] = {}
        self.nodes = 0
        self.found: list[Problem] = []

    def document(self) -> Node:
        loader: Any = yaml.SafeLoader
        try:
            self.events = iter(yaml.parse(self.text, Loader=loader))
            root: Node | None = None
            for event in self.events:
                if isinstance(event, yaml.DocumentStartEvent):
                    if root is not None:
                        raise self.failure(
                            "a second document starts here; the file may hold only one", event.start_mark
                        )
                    root = self.node(next(self.events), 0)
        except yaml.reader.ReaderError as problem:
            raise self.error([*self.found, *self.unreadable(problem).problems]) from None
        except yaml.MarkedYAMLError as problem:
            raise self.error([*self.found, *self.syntax_error(problem).problems]) from None
        return root if root is not None else Node("scalar", self.place_at(1, 1))

    def node(self, event: Any, depth: int) -> Node:
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise self.failure(f"the file holds more than {MAX_NODES:,} values", event.start_mark)
        if depth > MAX_DEPTH:
            raise self.failure(f"more than {MAX_DEPTH} levels inside one another", event.start_mark)
        if isinstance(event, yaml.AliasEvent):
            return self.alias(event)
        if getattr(event, "tag", None) is not None:
            self.found.append(Problem("tags ('!...') are not understood here", self.place(event.start_mark), QUOTE_IT))
        anchor = event.anchor
        if anchor is not None:
            self.anchors[anchor] = None
        if isinstance(event, yaml.ScalarEvent):
            result = self.scalar(event)
        elif isinstance(event, yaml.SequenceStartEvent):
            result = self.sequence(event, depth)
        else:
            result = self.mapping(event, depth)
        if anchor is not None:
            self.anchors[anchor] = result
        return result

    def scalar(self, event: Any) -> Node:
        place = self.place(event.start_mark)
        if any("\ud800" <= character <= "\udfff" for character in event.value):
            raise self.error(Problem("half of a surrogate pair is no character", place, "Write the character itself."))
        value: Scalar = event.value
        if event.style is None:
            try:
                value = plain_value(event.value, place, self.error)
            except InputError as error:
                self.found.extend(error.problems)
        return Node("scalar", place, value, event.value)

    def sequence(self, event: Any, depth: int) -> Node:
        elements = []
        for inner in self.events:
            if isinstance(inner, yaml.SequenceEndEvent):
                break
            elements.append(self.node(inner, depth + 1))
        size = 1 + sum(element.size for element in elements)
        return Node("sequence", self.place(event.start_mark), elements=tuple(elements), size=size)

    def mapping(self, event: Any, depth: int) -> Node:
        entries: dict[str, tuple[Node, Node]] = {}
        for inner in self.events:
            if isinstance(inner, yaml.MappingEndEvent):
                break
            key = self.node(inner, depth + 1)
            usable = self.check_key(key, entries)
            value = self.node(next(self.events), depth + 1)
            if usable:
                entries[key.raw] = (replace(key, value=key.raw), value)
        size = 1 + sum(1 + value.size for _, value in entries.values())
        return Node("mapping", self.place(event.start_mark), entries=tuple(entries.values()), size=size)

    def check_key(self, key: Node, before: Mapping[str, tuple[Node, Node]]) -> bool:
        """Whether the key can be used; if not, why not is noted."""
        if key.kind != "scalar" or (key.value is None and key.raw == ""):
            what = "nothing" if key.kind == "scalar" else key.description
            message, hint = f"a key must be a single text, and this one is {what}", QUOTE_IT
        elif key.raw == "<<":
            message, hint = "merge keys ('<<') are not understood; write the keys out", ""
        elif key.raw in before:
            first = before[key.raw][0].place
            message = f"the key {_shortened(key.raw)!r} is already in line {first.line}, column {first.column}"
            hint = "Remove one of the two."
        else:
            return True
        self.found.append(Problem(message, key.place, hint or None))
        return False

    def alias(self, event: Any) -> Node:
        if event.anchor not in self.anchors:
            raise self.failure(f"no anchor '&{event.anchor}' before this alias", event.start_mark, QUOTE_IT)
        target = self.anchors[event.anchor]
        if target is None:
            raise self.failure(f"the alias '*{event.anchor}' is inside what it stands for", event.start_mark)
        self.nodes += target.size
        if self.nodes > MAX_NODES:
            raise self.failure(f"aliases expand this file to more than {MAX_NODES:,} values", event.start_mark)
        return target

    def place(self, mark: Any) -> Place:
        return self.place_at(mark.line + 1, mark.column + 1)

    def place_at(self, line: int, column: int) -> Place:
        shown = self.lines[line - 1] if 0 < line <= len(self.lines) else None
        if shown is not None:
            # A tab would move the caret away from what it points at; a very long line helps no one.
            shown = shown.replace("\t", " ") if len(shown) <= MAX_SHOWN else None
        return Place(self.name, line, column, shown)

    def failure(self, message: str, mark: Any, hint: str | None = None) -> InputError:
        return self.error(Problem(message, self.place(mark), hint))

    def unreadable(self, problem: yaml.reader.ReaderError) -> InputError:
        before = self.text[: problem.position]
        line = len((before + "x").splitlines())
        column = len((before + "x").splitlines()[-1])
        message = f"the character U+{ord(self.text[problem.position]):04X} cannot stand in a YAML file"
        place = Place(self.name, line, column)
        return self.error(Problem(message, place, "Save the file as UTF-8 text, without control characters."))

    def syntax_error(self, problem: yaml.MarkedYAMLError) -> InputError:
        mark = problem.problem_mark
        if problem.context_mark is not None and (mark is None or mark.index >= len(self.text.rstrip())):
            mark = problem.context_mark
        character = self.text[mark.index] if mark is not None and mark.index < len(self.text) else ""
        message, hint = explained(problem.problem or "", problem.context or "", character)
        opened = problem.context_mark
        if "flow" in (problem.context or "") and opened is not None and mark is not None and opened.line != mark.line:
            message += f" (it was opened in line {opened.line + 1}, column {opened.column + 1})"
        return (
            self.failure(message, mark, hint)
            if mark is not None
            else self.error(Problem(message, Place(self.name), hint))
        )


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
