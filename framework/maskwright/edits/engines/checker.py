"""Real engines in processes of their own: lxml for XSLT 1, Saxon for later, on records as documents."""

from __future__ import annotations

import atexit
import importlib.util
import os
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maskwright.edits.element_names import NAMESPACE, ElementNaming, in_words, local
from maskwright.edits.engines.engine_tests import stylesheet_of
from maskwright.edits.engines.record_form import RecordForm, document_of
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.processes.child_process import ChildProcess, ProcessEndedError

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from maskwright.data.record_chunk import RecordChunk
    from maskwright.edits.edit import Edit
    from maskwright.edits.engines.engine_tests import Engine, EnginePattern


RECORDS_AT_ONCE = 1000
MOST_WHOLE_RECORDS = 200_000
SECONDS_TO_START = 60.0
SECONDS_TO_ANSWER = 30.0
SECONDS_A_RECORD = 0.005
SAXON_HINT = "install the extra: pip install 'maskwright[xpath3]'"


class EngineProcess(AbstractContextManager["EngineProcess"]):
    """One engine at work.

    `memory`: most bytes it may have, where the system can limit them.
    """

    def __init__(self, engine: Engine, memory: int | None = None) -> None:
        if engine == "saxon" and importlib.util.find_spec("saxonche") is None:
            raise EditError(Problem("these rules need the engine Saxon, which is not installed", hint=SAXON_HINT))
        environment = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
        environment |= {name: os.environ[name] for name in ("SYSTEMROOT",) if name in os.environ}
        self._engine = engine
        limits = () if memory is None else (str(memory),)
        self._process = ChildProcess("maskwright.edits.engines.worker", engine, *limits, environment=environment)

    def answer(self, request: Mapping[str, object], seconds: float) -> dict[str, Any]:
        """Answer to a request; see `maskwright.edits.engines.worker`.

        `seconds`: after which the process is ended.
        """
        try:
            found: dict[str, Any] = self._process.ask(request, seconds)
        except TimeoutError:
            raise EditError(f"the rules took more than {seconds:.0f} seconds in the engine {self._engine}") from None
        except ProcessEndedError:
            raise EditError(f"the engine {self._engine} broke down on these rules") from None
        return found

    def reasons(self, stylesheets: Sequence[str]) -> list[str | None]:
        """Why each stylesheet cannot be compiled; None where it can."""
        found: list[str | None] = self.answer({"compile": list(stylesheets)}, SECONDS_TO_START)["errors"]
        return found

    def end(self) -> None:
        """End the process."""
        self._process.end()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()


_COMPILERS: dict[Engine, EngineProcess] = {}


def reasons_of(engine: Engine, stylesheets: Sequence[str]) -> list[str | None]:
    """Why an engine refuses each stylesheet, None where it takes it; its process is kept for the next time."""
    if engine not in _COMPILERS:
        _COMPILERS[engine] = EngineProcess(engine)
        atexit.register(stop_compiler, engine)
    try:
        return _COMPILERS[engine].reasons(stylesheets)
    except EditError:
        stop_compiler(engine)
        raise


def stop_compiler(engine: Engine) -> None:
    """End the process that `reasons_of` keeps."""
    process = _COMPILERS.pop(engine, None)
    if process is not None:
        process.end()


@dataclass(frozen=True, eq=False)
class Answer:
    """Verdict of one test on n records.

    `fired`, `holds`: a node of the record was tested; no node of it failed; shape (n,). `above`: failures on nodes
    above the records, which belong to no record. `undecidable`: code of the error, by number (1-based) of the records
    on which the test cannot be evaluated; 0: above the records. They count as failures.
    """

    fired: NDArray[np.bool_]
    holds: NDArray[np.bool_]
    above: int = 0
    fired_above: int = 0
    undecidable: Mapping[int, str] = field(default_factory=dict)


class EngineProcesses:
    """Engines at work, by what they were started for; they end with the context."""

    def __init__(self) -> None:
        self._running: dict[Hashable, EngineProcess] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._running.values():
            process.end()
        self._running.clear()


class EngineChecker(EngineProcesses):
    """Asks engines about edits with an `EngineTest`, chunk after chunk.

    `form`: none, for tables: the records become elements of the name that the rules' contexts use.
    """

    def __init__(self, edits: Iterable[Edit], form: RecordForm | None) -> None:
        super().__init__()
        self.edits = [edit for edit in edits if edit.engine is not None]
        self._form = form
        self._forms: dict[EnginePattern, RecordForm] = {}

    def stays_in_record(self, edit: Edit, columns: Sequence[str]) -> bool:
        """Whether a file can be checked in pieces for this edit."""
        assert edit.engine is not None
        pattern = edit.engine.pattern
        above = {local(tag) for tag in self._form_of(pattern, columns).path[:-1]}
        return pattern.stays_in_record and not above.intersection(map(local, pattern.names))

    def answers(self, columns: RecordChunk, *, in_pieces: bool, before: int = 0) -> dict[str, Answer]:
        """What every edit that can be checked in pieces, or every other one, says of the records of a chunk."""
        self._check_names(columns)
        found: dict[str, Answer] = {}
        groups: dict[tuple[Engine, int], tuple[RecordForm, list[EnginePattern]]] = {}
        wanted = [edit for edit in self.edits if self.stays_in_record(edit, columns.names) == in_pieces]
        for edit in wanted:
            assert edit.engine is not None
            pattern = edit.engine.pattern
            form = self._form_of(pattern, columns.names)
            _, group = groups.setdefault((pattern.engine, id(form)), (form, []))
            if pattern not in group:
                group.append(pattern)
        for (engine, _), (form, patterns) in groups.items():
            if not in_pieces and not form.is_whole:
                names = ", ".join(edit.name for edit in wanted)
                raise EditError(f"edits {names}: they look beyond a record, and the file holds more than its records")
            events = self._events(engine, form, patterns, columns, before, in_pieces=in_pieces)
            for edit in wanted:
                assert edit.engine is not None
                if edit.engine.pattern in patterns:
                    found[edit.name] = _answer(edit, events[patterns.index(edit.engine.pattern)], columns.n)
        return found

    def _form_of(self, pattern: EnginePattern, columns: Sequence[str]) -> RecordForm:
        if self._form is not None:
            return self._form
        if pattern not in self._forms:
            first = pattern.rules[0].context.strip()
            names = [name for name in pattern.names if name not in columns]
            is_path = first.startswith("/") and not first.startswith("//") and len(names) > 1
            path = names[:2] if is_path else ("records", names[0] if names else "record")
            tests = [edit.engine for edit in self.edits if edit.engine is not None and edit.engine.pattern == pattern]
            form = RecordForm.of_table(path, tests, columns)
            self._forms[pattern] = next((other for other in self._forms.values() if other == form), form)
        return self._forms[pattern]

    def _check_names(self, columns: RecordChunk) -> None:
        problems = []
        for edit in self.edits:
            assert edit.engine is not None
            known = self._form_of(edit.engine.pattern, columns.names).known(columns.names)
            naming = ElementNaming(dict(edit.engine.pattern.namespaces))
            problems += [
                Problem(_unknown(naming.expanded_step(name) or name, known, columns.names), edit.place, edit=edit.name)
                for name in edit.engine.names
                if not name.endswith("*") and naming.expanded_step(name) not in known
            ]
        if problems:
            raise EditError(problems)

    def _events(
        self,
        engine: Engine,
        form: RecordForm,
        patterns: Sequence[EnginePattern],
        columns: RecordChunk,
        before: int,
        *,
        in_pieces: bool,
    ) -> list[list[list[str]]]:
        """Lines that each pattern's stylesheet printed, in words, with record numbers in the chunk."""
        if not in_pieces and columns.n > MOST_WHOLE_RECORDS:
            raise EditError(
                f"these rules look beyond a record, which is done for at most {MOST_WHOLE_RECORDS:,} records; "
                f"the file has {columns.n:,}"
            )
        key = (engine, id(form), in_pieces)
        if key not in self._running:
            self._running[key] = EngineProcess(engine)
            reasons = self._running[key].reasons([stylesheet_of(pattern, len(form.path)) for pattern in patterns])
            if any(reasons):
                raise EditError(f"the engine {engine} refuses the rules: {next(filter(None, reasons))}")
        events: list[list[list[str]]] = [[] for _ in patterns]
        step = RECORDS_AT_ONCE if in_pieces else max(columns.n, 1)
        for start in range(0, max(columns.n, 0 if in_pieces else 1), step):
            document = document_of(columns, form, start, start + step)
            seconds = SECONDS_TO_ANSWER + SECONDS_A_RECORD * min(step, columns.n)
            answer = self._running[key].answer({"apply": document}, seconds)
            if "error" in answer:
                raise EditError(
                    f"the engine {engine} stopped at or after record {before + start + 1}: {answer['error']}"
                )
            for lines, text in zip(events, answer["texts"], strict=True):
                for line in text.splitlines():
                    words = line.split(" ")
                    position = 2 if words[0] == "f" else 3
                    if words[position] != "0":
                        words[position] = str(int(words[position]) + start)
                    lines.append(words)
        return events


def _unknown(expanded: str, known: Iterable[str], columns: Sequence[str]) -> str:
    """Sentence on an element that there is not; its namespace counts where there is one of its name in another."""
    name = NAMESPACE.sub("", expanded)
    others = [each for each in known if NAMESPACE.sub("", each) == name]
    if others:
        return f"the records have no {in_words(expanded)}, but {in_words(others[0])}"
    return unknown_name("variable", name, columns)


def _answer(edit: Edit, events: Sequence[Sequence[str]], n: int) -> Answer:
    assert edit.engine is not None
    rule, test = str(edit.engine.rule), str(edit.engine.test)
    fired = np.zeros(n + 1, dtype=np.int64)
    failed = np.zeros(n + 1, dtype=np.int64)
    undecidable: dict[int, str] = {}
    for kind, where, *rest in events:
        if where != rule:
            continue
        if kind == "f":
            fired[int(rest[0])] += 1
        elif rest[0] == test:
            if kind == "e":
                # The error's code says what happened without any value.
                undecidable.setdefault(int(rest[1]), rest[2])
            failed[int(rest[1])] += 1
    return Answer(fired[1:] > 0, failed[1:] == 0, int(failed[0]), int(fired[0]), undecidable)
