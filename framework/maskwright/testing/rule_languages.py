"""Checks of rule languages: what is read means what it should, mistakes have a place; what is written is whole."""

from __future__ import annotations

import re
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from maskwright.commands.validate import validate
from maskwright.edits.edit_set import EditSet
from maskwright.foundation.errors import EditError, InputError
from maskwright.testing.checks import (
    NO_EXCUSES,
    Check,
    Excuses,
    check_described,
    checks_of_all,
    collected,
    require,
)
from maskwright.testing.conduct import check_calls, prints_nothing, without_network
from maskwright.testing.written_rules import checks_of_writing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from _pytest.mark.structures import ParameterSet
    from pydantic import BaseModel

    from maskwright.edits.evaluation.check import Outcome
    from maskwright.plugins.rules import RuleLanguage


@dataclass(frozen=True)
class RightRules:
    """A rule file, and what its edits mean.

    Attributes
    ----------
    text : str
    edits : int
        How many edits it has.
    obeyed, broken : sequence of mappings of name to value
        Records that obey all edits, and records that break at least one. As in a release, only edits of severity
        ``error`` count: a record that breaks nothing but warnings is an obeyed one.

    Examples
    --------
    >>> from maskwright.testing import RightRules
    >>> RightRules("age in [0, 120]", 1, obeyed=[{"age": 40}], broken=[{"age": 140}]).edits
    1
    """

    text: str
    edits: int
    obeyed: Sequence[Mapping[str, Any]] = ()
    broken: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class WrongRules:
    """A rule file with mistakes, and where they are.

    Attributes
    ----------
    text : str
    places : sequence of (line, column)
        Both from 1; a column of None is not compared.

    Examples
    --------
    >>> from maskwright.testing import WrongRules
    >>> WrongRules("age in [0, 120", [(1, 15)]).places
    [(1, 15)]
    """

    text: str
    places: Sequence[tuple[int, int | None]]


_NO_RIGHT: Mapping[str, Sequence[RightRules]] = {}
_NO_WRONG: Mapping[str, Sequence[WrongRules]] = {}
_DEFAULTS: Mapping[str, BaseModel] = {}


def rule_language_checks(
    languages: Sequence[RuleLanguage],
    *,
    right: Mapping[str, Sequence[RightRules]] = _NO_RIGHT,
    wrong: Mapping[str, Sequence[WrongRules]] = _NO_WRONG,
    params: Mapping[str, BaseModel] = _DEFAULTS,
    excuses: Excuses = NO_EXCUSES,
) -> list[ParameterSet]:
    """Collect checks that rule languages keep their contract, for ``@pytest.mark.parametrize("check", ...)``.

    Parameters
    ----------
    languages : sequence of RuleLanguage
    right, wrong : mapping of language name to examples
        The kit does not know the language: at least one file of each kind, of a language that is read.
    params : mapping of language name to parameters
        Options to read with; left out: none.
    excuses : mapping of check name, or "language-check", to reason
        Checks that are known to fail; strict: an excuse that is no longer needed fails.

    Returns
    -------
    list of pytest.param
        Each holds a function without arguments.
    """

    def checks(language: RuleLanguage) -> Iterator[tuple[str, Check]]:
        name = language.name
        yield "documented", partial(check_described, name, language.summary, language.params)
        if language.read is not None:
            yield from _Trial(language, right.get(name, ()), wrong.get(name, ()), params.get(name)).checks()
        if language.write is not None:
            for check, function in checks_of_writing(language):
                yield f"write_{check}", function

    return collected(checks_of_all("rule_language", languages, checks), excuses)


class _Trial:
    """A rule language and what its reading is tried with."""

    def __init__(
        self,
        reader: RuleLanguage,
        right: Sequence[RightRules],
        wrong: Sequence[WrongRules],
        params: BaseModel | None,
    ) -> None:
        self._reader, self._right, self._wrong, self._params = reader, right, wrong, params

    def checks(self) -> Iterator[tuple[str, Check]]:
        yield "examples", self._has_examples
        for number, one in enumerate(self._right, 1):
            yield f"right_{number}", partial(self._rules_found, one)
        for number, each in enumerate(self._wrong, 1):
            yield f"wrong_{number}", partial(self._mistakes_placed, each)
        yield "no_such_file", self._no_such_file
        yield "directory", self._directory
        for name, content in self._hostile():
            yield name, partial(self._read_or_refused, content)
        if self._right:
            yield "concurrent_calls", self._concurrent
            yield "prints_nothing", self._silent
            if self._right[0].text.lstrip().startswith("<"):
                yield "external_entities", self._no_entities
                yield "entities_of_entities", self._no_explosion

    def _read(self, path: Path) -> EditSet:
        with without_network():
            return self._reader.read_with(path, self._params)

    @contextmanager
    def _file(self, content: str | bytes) -> Iterator[Path]:
        suffix = self._reader.suffixes[0] if self._reader.suffixes else ".txt"
        with tempfile.TemporaryDirectory(prefix="maskwright-") as folder:
            path = Path(folder) / f"rules{suffix}"
            path.write_bytes(content.encode() if isinstance(content, str) else content)
            yield path

    def _has_examples(self) -> None:
        name = self._reader.name
        require(bool(self._right), f"give the kit rules that are right: right={{{name!r}: [RightRules(...)]}}")
        require(bool(self._wrong), f"give the kit rules that are wrong: wrong={{{name!r}: [WrongRules(...)]}}")

    def _rules_found(self, example: RightRules) -> None:
        with self._file(example.text) as path:
            before = path.read_bytes()
            edits = self._read(path)
            require(path.read_bytes() == before, "reading changed the file")
            again = self._read(path)
        require(isinstance(edits, EditSet), "read must return a maskwright.EditSet")
        require(len(edits) == example.edits, f"{example.edits} edits were expected, {len(edits)} are found")
        require(edits.edits == again.edits, "the same file, read twice, gives different edits")
        for edit in edits:
            place = edit.place
            placed = place is not None and place.line is not None and path.name in (place.file or "")
            require(placed, f"edit {edit.name!r} has no place: pass place_of, or set Edit.place (file and line)")
        for what, records, expected in (("obeys", example.obeyed, True), ("breaks", example.broken, False)):
            for number, record in enumerate(records, 1):
                outcome = validate(pd.DataFrame([record]), edits)
                require(outcome.ok is expected, _otherwise(number, what, edits, outcome))

    def _mistakes_placed(self, example: WrongRules) -> None:
        with self._file(example.text) as path:
            try:
                self._read(path)
            except EditError as error:
                places = [problem.place for problem in error.problems]
                named = all(place is not None and path.name in (place.file or "") for place in places)
                require(named, "every mistake must have its place: Problem(message, Place(str(path), line, column))")
                # A sentence on the whole file may stand beside the mistakes.
                found = [(place.line, place.column) for place in places if place is not None and place.line is not None]
            else:
                raise AssertionError("rules with mistakes are read as if they were right")
        require(
            len(found) == len(example.places)
            and all(
                line == wanted and (at is None or column == at)
                for (line, column), (wanted, at) in zip(found, example.places, strict=True)
            ),
            f"mistakes were expected at {list(example.places)}, and are reported at {found}",
        )

    def _no_such_file(self) -> None:
        with self._file("") as path:
            path.unlink()
            self._must_refuse(path)

    def _directory(self) -> None:
        with self._file("") as path:
            path.unlink()
            path.mkdir()
            self._must_refuse(path)

    def _must_refuse(self, path: Path) -> None:
        try:
            self._read(path)
        except InputError as error:
            require(path.name in str(error), "a refusal must name the file")
            return
        except Exception as error:
            raise _no_refusal(error) from error
        raise AssertionError("what is no file is read as one with rules")

    def _hostile(self) -> Iterator[tuple[str, bytes]]:
        """Files that are hardly rules; some are texts of the language, cut short."""
        yield "empty_file", b""
        yield "random_bytes", np.random.default_rng(14).bytes(5000)
        yield "nul_characters", b"\0" * 1000
        yield "deeply_nested", b"(" * 20_000
        yield "one_long_line", b"x" * 1_000_000
        for number, one in enumerate(self._right, 1):
            content = one.text.encode()
            yield f"wrong_encoding_{number}", content + "größe".encode("latin-1")
            yield f"utf_16_{number}", one.text.encode("utf-16")
            for share in (0.3, 0.6, 0.9):
                yield f"truncated_{number}_at_{round(100 * share)}_percent", content[: int(len(content) * share)]

    def _read_or_refused(self, content: bytes) -> None:
        with self._file(content) as path:
            try:
                found = self._read(path)
            except InputError as error:
                require(path.name in str(error), "a refusal must name the file")
                return
            except Exception as error:
                raise _no_refusal(error) from error
        require(isinstance(found, EditSet), "read must return a maskwright.EditSet")

    def _concurrent(self) -> None:
        texts = [one.text for one in self._right]
        texts += ["\n" * count + texts[0] for count in (1, 2, 3)] if not texts[0].lstrip().startswith("<") else texts
        # Places are part of an edit: all files have one name, each in a folder of its own.
        with tempfile.TemporaryDirectory(prefix="maskwright-") as folder:
            paths = []
            for number, text in enumerate(texts):
                path = Path(folder) / str(number) / f"rules{(*self._reader.suffixes, '.txt')[0]}"
                path.parent.mkdir()
                path.write_text(text, encoding="utf-8")
                paths.append(path)
            read = self._reader.read
            assert read is not None
            check_calls(read, lambda path: self._reader.read_with(path, self._params).edits, paths)

    def _silent(self) -> None:
        with self._file(self._right[0].text) as path:
            prints_nothing(lambda: self._read(path))

    def _no_entities(self) -> None:
        """No file is read and no address asked because a rule file says so."""
        with tempfile.TemporaryDirectory(prefix="maskwright-") as folder:
            secret = Path(folder) / "secret.txt"
            secret.write_text("31415926535", encoding="utf-8")
            for address in (secret.as_uri(), "http://maskwright.invalid/secret.txt"):
                declared = f'<!DOCTYPE rules [<!ENTITY secret SYSTEM "{address}">]>'
                with self._file(_with_entity(self._right[0].text, declared)) as path:
                    try:
                        said = repr(self._read(path))
                    except InputError as error:
                        said = str(error)
                require("31415926535" not in said, "an entity of a rule file made the reader read another file")

    def _no_explosion(self) -> None:
        """A short file that stands for a long text is refused, or its entities are left alone."""
        levels = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10}">' for n in range(1, 9))
        declared = f'<!DOCTYPE rules [<!ENTITY e0 "{"x" * 100}">{levels}<!ENTITY secret "&e8;">]>'
        with self._file(_with_entity(self._right[0].text, declared)) as path:
            try:
                found = self._read(path)
            except InputError:
                return
        require(len(repr(found)) < 10_000_000, "entities of entities are written out")


def _with_entity(text: str, declared: str) -> str:
    """XML with a document type in front of the first element, and its entity inside that."""
    start = re.search(r"<[A-Za-z_]", text)
    if start is None:
        return declared + text
    end = text.index(">", start.start()) + 1
    return text[: start.start()] + declared + text[start.start() : end] + "&secret;" + text[end:]


def _otherwise(number: int, what: str, edits: EditSet, outcome: Outcome) -> str:
    """Sentence on a record that does not obey, or does not break, what it should."""
    counts = outcome.counts
    broken = [edit.name for edit in edits if counts.get(edit.name)]
    if what == "obeys":
        how = f"it breaks {', '.join(broken)}" if broken else "edits cannot be judged on it"
        return f"record {number} that obeys the edits does not, as they are read: {how}"
    said = f"record {number} that breaks the edits breaks none of severity error, as they are read"
    return f"{said}; of warnings it breaks {', '.join(broken)}, which do not count" if broken else said


def _no_refusal(error: Exception) -> AssertionError:
    return AssertionError(f"{type(error).__name__}: a file that is not right is refused with maskwright.EditError")
