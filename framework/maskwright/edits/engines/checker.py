"""Real engines in processes of their own: lxml for XSLT 1, Saxon for later, on records as documents."""

from __future__ import annotations

import atexit
import importlib.util
import os
import re
import sys
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from maskwright.edits.engines.engine_tests import stylesheet_of
from maskwright.foundation.errors import EditError, Problem
from maskwright.foundation.nearest_names import unknown_name
from maskwright.foundation.processes.child_process import ChildProcess, ProcessEndedError
from maskwright.foundation.xml_syntax import NCNAME

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Mapping, Sequence
    from types import TracebackType

    from numpy.typing import NDArray

    from maskwright.data.record_chunk import RecordChunk
    from maskwright.edits.edit import Edit
    from maskwright.edits.engines.engine_tests import Engine, EnginePattern


NOT_XML = "[\\x{00}-\\x{08}\\x{0B}\\x{0C}\\x{0E}-\\x{1F}\\x{FFFE}\\x{FFFF}]"


@dataclass(frozen=True, eq=False)
class RecordForm:
    """How records are written around their cells.

    `path`: tags from the root to the record. `start_tags`, `gaps`: start tags of all but the record, and the white
    space before each. `tags`: where it differs from the variable's name. `is_whole`: the file holds nothing but these
    records; False: the file has other elements, which are not data.
    """

    path: tuple[str, ...]
    start_tags: tuple[str, ...]
    gaps: tuple[str, ...]
    before_record: str = ""
    before_cell: str = ""
    after_cells: str = ""
    tags: Mapping[str, str] | None = None
    is_whole: bool = True

    @classmethod
    def plain(cls, path: Sequence[str]) -> RecordForm:
        """Without white space and attributes."""
        return cls(tuple(path), tuple(f"<{tag}>" for tag in path[:-1]), ("",) * (len(path) - 1))

    @classmethod
    def of_layout(cls, details: Mapping[str, Any]) -> RecordForm | None:
        """Form of an XML file, as its source describes it; None for other files."""
        if "record_path" not in details:
            return None
        plain = cls.plain(details["record_path"])
        return cls(
            plain.path,
            tuple(details.get("start_tags", plain.start_tags)),
            tuple(details.get("gaps", plain.gaps)),
            details.get("before_record", ""),
            details.get("before_cell", ""),
            details.get("after_cells", ""),
            details.get("tags"),
            not details.get("notes"),
        )


def document_of(columns: RecordChunk, form: RecordForm, start: int = 0, stop: int | None = None) -> str:
    """XML text of the records start..stop of a chunk."""
    n = (columns.n if stop is None else min(stop, columns.n)) - start
    pieces: list[Any] = [f"{form.before_record}<{form.path[-1]}>"]
    for name in columns.names:
        tag = (form.tags or {}).get(name, name)
        if re.fullmatch(rf"(?:{NCNAME}:)?{NCNAME}", tag) is None:
            hint = "rules that an engine checks see the records as XML: rename the variable"
            raise EditError(f"{name!r} cannot be the name of an XML element; {hint}")
        texts = columns[name].text()
        flat = texts.combine_chunks() if isinstance(texts, pa.ChunkedArray) else texts
        cells = _escaped(name, pc.cast(flat.slice(start, n), pa.string()))
        cell = pc.binary_join_element_wise(f"{form.before_cell}<{tag}>", cells, f"</{tag}>", "")
        pieces.append(pc.fill_null(cell, ""))
    pieces.append(f"{form.after_cells}</{form.path[-1]}>")
    records = pc.binary_join_element_wise(*pieces, "") if columns.names else pa.repeat("".join(pieces), n)
    opening = "".join(gap + tag for gap, tag in zip(form.gaps, form.start_tags, strict=True))
    line = "\n" if "\n" in form.before_record else ""
    gaps = (line, *form.gaps[1:])
    closing = "".join(f"{gap}</{tag}>" for gap, tag in reversed(list(zip(gaps, form.path[:-1], strict=True))))
    return opening + "".join(records.to_pylist()) + closing


def _escaped(name: str, texts: Any) -> Any:
    if pc.any(pc.match_substring_regex(texts, NOT_XML)).as_py():
        raise EditError(f"variable {name!r} has cells with control characters, which XML cannot hold")
    for character, reference in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;"), ("\r", "&#13;")):
        texts = pc.replace_substring(texts, character, reference)
    return texts


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
        above = set(self._form_of(pattern, columns).path[:-1])
        return pattern.stays_in_record and not above.intersection(pattern.names)

    def answers(self, columns: RecordChunk, *, in_pieces: bool, before: int = 0) -> dict[str, Answer]:
        """What every edit that can be checked in pieces, or every other one, says of the records of a chunk."""
        self._check_names(columns)
        found: dict[str, Answer] = {}
        groups: dict[tuple[Engine, RecordForm], list[EnginePattern]] = {}
        wanted = [edit for edit in self.edits if self.stays_in_record(edit, columns.names) == in_pieces]
        for edit in wanted:
            assert edit.engine is not None
            pattern = edit.engine.pattern
            group = groups.setdefault((pattern.engine, self._form_of(pattern, columns.names)), [])
            if pattern not in group:
                group.append(pattern)
        for (engine, form), patterns in groups.items():
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
            self._forms[pattern] = next(
                (form for form in self._forms.values() if form.path == tuple(path)), RecordForm.plain(path)
            )
        return self._forms[pattern]

    def _check_names(self, columns: RecordChunk) -> None:
        problems = []
        for edit in self.edits:
            assert edit.engine is not None
            path = self._form_of(edit.engine.pattern, columns.names).path
            tags = [(self._form.tags or {}).get(name, name) if self._form else name for name in columns.names]
            known = {*columns.names, *tags, *path}
            problems += [
                Problem(f"{unknown_name('variable', name, columns.names)}", edit.place, edit=edit.name)
                for name in edit.engine.names
                if name not in known and not name.endswith(":*")
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
        key = (engine, form, in_pieces)
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
