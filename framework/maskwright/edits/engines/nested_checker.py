"""Engines on files with nested records, in documents of whole records of the top level; their answers counted."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskwright.edits.engines.checker import EngineProcess, EngineProcesses
from maskwright.edits.engines.engine_tests import screen
from maskwright.edits.engines.nested_stylesheet import (
    BETWEEN,
    context_stays,
    fired_mark,
    is_about_records,
    names_of,
    nested_stylesheet,
    places_of,
    stays_in_group,
)
from maskwright.foundation.errors import EditError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from maskwright.data.levels.linked_data import NestedDocument, NestedElements
    from maskwright.edits.edit import Edit
    from maskwright.edits.engines.engine_tests import Engine, EnginePattern
    from maskwright.edits.languages.schematron.options import SchematronOptions


SECONDS_TO_ANSWER = 60.0
SECONDS_A_MEGABYTE = 60.0
MEGABYTE = 1 << 20
MOST_WHOLE = 100 * MEGABYTE
"""Characters of a file that an engine gets as a whole."""


@dataclass(frozen=True)
class Node:
    """A node that a rule fired on, or that a test failed on.

    `places`: of the record of each level that it is in, from 1, the top first: among all of the file, and below among
    the members of its group; empty above all records. `messages`: filled in, where they were wanted. `undecidable`:
    the engine's code of the error, where the test cannot be evaluated.
    """

    places: tuple[int, ...]
    messages: tuple[str, ...] = ()
    undecidable: str = ""


@dataclass
class Found:
    """Verdict of one edit on a document.

    `fired_on`: where that is wanted. `level`: the lowest on, or inside, whose records it fired, counted from 0.
    """

    fired: int = 0
    failed: list[Node] = field(default_factory=list)
    fired_on: list[Node] = field(default_factory=list)
    level: int = 0


class NestedChecker(EngineProcesses):
    """Asks engines about edits with an `EngineTest`, document after document.

    `edits`: all of them have one. `placed`: whether it reports on which nodes rules fire. `messages`: what is to be
    filled in where it fails.
    """

    def __init__(
        self,
        edits: Iterable[Edit],
        elements: NestedElements,
        limits: SchematronOptions,
        *,
        placed: bool = False,
        messages: dict[str, tuple[str, ...]] | None = None,
    ) -> None:
        super().__init__()
        self._edits = tuple(edits)
        self._elements, self._names = elements, names_of(elements)
        self._limits = limits
        self._placed, self._messages = placed, messages or {}
        self._patterns: dict[Engine, list[EnginePattern]] = {}
        for edit in self._edits:
            assert edit.engine is not None
            patterns = self._patterns.setdefault(edit.engine.pattern.engine, [])
            if edit.engine.pattern not in patterns:
                patterns.append(edit.engine.pattern)
        self._groups = 0

    @property
    def needs_whole(self) -> list[str]:
        """Names of the edits that look beyond a group."""
        return [edit.name for edit in self._edits if not self._stays(edit)]

    def level_of(self, edit: Edit) -> int:
        """Level whose records an edit is about, as far as its context shows, counted from 0."""
        places = set() if edit.context is None else places_of(edit.context, self._names)
        (place,) = places if len(places) == 1 else (0,)
        return place if isinstance(place, int) else 0

    def _stays(self, edit: Edit) -> bool:
        assert edit.engine is not None
        pattern = edit.engine.pattern
        for rule in pattern.rules:
            if not context_stays(rule.context, self._names):
                return False
            texts = [*rule.tests, *(value for _, value in rule.lets)]
            places = places_of(rule.context, self._names)
            if not all(stays_in_group(text, place, self._names) for text in texts for place in places):
                return False
        # Variables of schema and pattern are computed at the document.
        spaces = dict(pattern.namespaces)
        return all(screen(value, pattern.version, spaces, self._limits).is_constant for _, value in pattern.lets)

    def check(self, document: NestedDocument) -> list[Found]:
        """What every edit says of the next groups of the file."""
        megabytes = len(document.text) / MEGABYTE
        found = [Found() for _ in self._edits]
        for engine, patterns in self._patterns.items():
            process = self._process(engine, patterns)
            answer = process.answer({"apply": document.text}, SECONDS_TO_ANSWER + SECONDS_A_MEGABYTE * megabytes)
            if "error" in answer:
                where = f"at or after record {self._groups + 1} of <{self._elements.records[0]}>"
                raise EditError(f"the engine {engine} stopped {where}: {answer['error']}")
            for pattern, text in zip(patterns, answer["texts"], strict=True):
                self._take(pattern, text, found)
        self._groups += len(document.sizes[0])
        return found

    def _process(self, engine: Engine, patterns: Sequence[EnginePattern]) -> EngineProcess:
        if engine not in self._running:
            process = self._running[engine] = EngineProcess(engine)
            reasons = process.reasons([self._stylesheet(pattern, filled=True) for pattern in patterns])
            if any(reasons) and self._messages:
                # An expression in a message is for people: it must not keep a rule from being checked.
                self._messages = {}
                reasons = process.reasons([self._stylesheet(pattern, filled=False) for pattern in patterns])
            if any(reasons):
                raise EditError(f"the engine {engine} refuses the rules: {next(filter(None, reasons))}")
        return self._running[engine]

    def _stylesheet(self, pattern: EnginePattern, *, filled: bool) -> str:
        messages: dict[tuple[int, int], Sequence[str]] = {}
        for edit in self._edits:
            if filled and edit.engine is not None and edit.engine.pattern == pattern and edit.name in self._messages:
                messages[edit.engine.rule, edit.engine.test] = self._messages[edit.name]
        fired: Literal["placed", "counted"] = "placed" if self._is_placed(pattern) else "counted"
        return nested_stylesheet(pattern, self._elements, fired, messages, self._limits)

    def _is_placed(self, pattern: EnginePattern) -> bool:
        """Whether nodes are counted by their records: a rule may fire on several elements of one."""
        return self._placed or not is_about_records(pattern, self._names)

    def _take(self, pattern: EnginePattern, text: str, found: list[Found]) -> None:
        fired: dict[int, list[Node]] = defaultdict(list)
        failed: dict[tuple[int, int], list[Node]] = defaultdict(list)
        marks: list[str] = []
        for line in text.split("\n"):
            if line.startswith("v "):
                words, *messages = line[2:].split(BETWEEN)
                rule, test, *places = map(int, words.split(" "))
                failed[rule, test].append(self._node(places, tuple(messages)))
            elif line.startswith("f "):
                rule, *places = map(int, line[2:].split(" "))
                fired[rule].append(self._node(places))
            elif line.startswith("e "):
                of_rule, of_test, *at_last, code = line[2:].split(" ")
                node = self._node([int(place) for place in at_last], undecidable=code)
                failed[int(of_rule), int(of_test)].append(node)
            else:
                marks.append(line)
        all_marks = "".join(marks)
        for edit, of_edit in zip(self._edits, found, strict=True):
            test_of = edit.engine
            assert test_of is not None
            if test_of.pattern != pattern:
                continue
            nodes = list({node.places: node for node in fired[test_of.rule]}.values())
            of_edit.fired = len(nodes) or all_marks.count(fired_mark(test_of.rule))
            of_edit.fired_on = nodes if self._placed else []
            of_edit.level = max((len(node.places) - 1 for node in nodes if node.places), default=0)
            of_edit.failed = failed[test_of.rule, test_of.test]

    def _node(self, places: Sequence[int], messages: tuple[str, ...] = (), undecidable: str = "") -> Node:
        group, *members = (place for place in places if place) if any(places) else (0,)
        return Node((group + self._groups, *members) if group else (), messages, undecidable)


def place_of(elements: NestedElements, node: Node) -> str:
    """Location of a node's record: ``/Survey/Household[3]/Person[2]``."""
    own = (f"/{element}[{place}]" for element, place in zip(elements.records, node.places, strict=False))
    return "".join((*(f"/{tag}" for tag in elements.path), *own))


def messages_of(edit: Edit) -> tuple[str, ...]:
    """Texts that a report shows where an edit fails: its own, and of what it refers to."""
    stated = edit.assertion
    referred = () if stated is None else (*stated.diagnostics, *stated.properties)
    return (edit.message or edit.name, *(text for _, text in referred))


class RecordNumbers:
    """Numbers of the records of a document on their level, counted through the file from 1.

    `before`: records of each level in the documents before. `sizes`: as `NestedDocument.sizes`.
    """

    def __init__(self, before: Sequence[int], sizes: Sequence[Sequence[int]]) -> None:
        self._before = before
        self._starts = [np.cumsum([0, *each]) for each in sizes]

    @property
    def counts(self) -> list[int]:
        """Records of each level in the document."""
        return [len(self._starts[0]) - 1, *(int(starts[-1]) for starts in self._starts)]

    def of(self, nodes: Iterable[Node], level: int) -> NDArray[np.int64]:
        """Numbers of the records of a level, counted from 0, that nodes belong to; each once, ascending."""
        found = set()
        for node in nodes:
            place = node.places[0] - self._before[0] - 1
            below = (*node.places[1 : level + 1], *[0] * (level + 1 - len(node.places)))
            for starts, inside in zip(self._starts, below, strict=False):
                place = int(starts[max(place, 0)]) + inside - 1
            found.add(place + self._before[level] + 1)
        return np.array(sorted(found), dtype=np.int64)
