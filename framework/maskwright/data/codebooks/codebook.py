"""Codebooks: declarations of variables from what a codebook says of them, checked, with their lines."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from maskwright.data.declaration import VariableDeclaration
from maskwright.foundation.errors import PipelineError, Place, Problem
from maskwright.foundation.nearest_names import nearest_name
from maskwright.foundation.yaml_document import Node, scalar
from maskwright.foundation.yaml_models import read_model

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from pathlib import Path


MOST_NAMED = 5


@dataclass(frozen=True)
class Codebook:
    """A codebook: variables in its order, where each is described, and its encoding if that was guessed."""

    path: Path
    variables: Mapping[str, VariableDeclaration]
    places: Mapping[str, Place] = field(default_factory=dict)
    guessed: str | None = None

    def notices(self, names: Collection[str]) -> Iterator[str]:
        """Say which variables of the codebook a file has not; a codebook is often of a larger file."""
        absent = [name for name in self.variables if name not in names]
        if not absent:
            return
        undescribed = [name for name in names if name not in self.variables]
        shown = [_with_nearest(name, undescribed) for name in absent[:MOST_NAMED]]
        more = f", and {len(absent) - MOST_NAMED} more" if len(absent) > MOST_NAMED else ""
        yield (
            f"{self.path.name} describes {len(self.variables)} variables, {len(absent)} of which the file has not: "
            f"{', '.join(shown)}{more}"
        )

    def guess(self) -> Iterator[str]:
        """Say what encoding was guessed."""
        if self.guessed is not None:
            yield (
                f"{self.path.name} is not UTF-8 and is read as {self.guessed}: look at letters with accents, and save "
                "it as UTF-8 if they are wrong"
            )


@dataclass(frozen=True)
class PublishedCodebook:
    """A codebook that is to be written; `notes` and `remarks`: what was done with the data and with a variable."""

    title: str
    variables: Mapping[str, VariableDeclaration]
    file: str | None = None
    records: int | None = None
    notes: tuple[str, ...] = ()
    remarks: Mapping[str, str] = field(default_factory=dict)


def _with_nearest(name: str, undescribed: Collection[str]) -> str:
    """A name that the file has not, and the one that was perhaps meant, which differs in case only."""
    nearest = nearest_name(name, undescribed)
    return f"{name} (the file has {nearest})" if nearest is not None and nearest.lower() == name.lower() else name


CodeKind = Literal["valid", "missing", "suppressed"]
NUMERIC = ("continuous", "integer")
NUMBERS = ("decimals", "min", "max")
TEXTS = ("type", "format", "role", "unit", "label")


@dataclass(frozen=True)
class Code:
    """A code of a variable as the file writes it; its meaning is "" where nothing is known."""

    text: str
    meaning: str
    kind: CodeKind
    place: Place


@dataclass(eq=False)
class Described:
    """A variable as a codebook describes it; `facts`: texts of `TEXTS` and `NUMBERS`."""

    name: str
    place: Place
    facts: dict[str, tuple[str, Place]] = field(default_factory=dict)
    codes: list[Code] = field(default_factory=list)

    def of(self, kind: CodeKind) -> list[Code]:
        """Codes of one kind."""
        return [code for code in self.codes if code.kind == kind]


def declaration(described: Described, problems: list[Problem]) -> VariableDeclaration | None:
    """Declaration of a variable; None where something is wrong with it."""
    before = len(problems)
    described.codes = _with_meanings(described.codes)
    problems.extend(_listed_twice(described))
    whole = Node("mapping", described.place)
    for name, (text, place) in described.facts.items():
        whole = whole.with_entry(name, _number(text, place, problems) if name in NUMBERS else _text(text, place))
    kind = described.facts.get("type", ("", described.place))[0]
    valid, missing, suppressed = described.of("valid"), described.of("missing"), described.of("suppressed")
    if valid and kind not in (*NUMERIC, "date", "datetime") and not any(name in described.facts for name in NUMBERS):
        listed = tuple(_text(code.text, code.place) for code in valid)
        whole = whole.with_entry("categories", Node("sequence", valid[0].place, elements=listed))
    labelled = [code for code in valid if code.meaning]
    for name, codes in (("labels", labelled), ("missing", missing)):
        if codes:
            whole = whole.with_entry(name, _mapping(codes))
    for code in suppressed[:1]:
        whole = whole.with_entry("suppressed_as", _text(code.text, code.place))
    found = read_model(VariableDeclaration, whole, problems)
    problems[before:] = [_named(problem, described) for problem in problems[before:]]
    return found if len(problems) == before else None


def _with_meanings(codes: list[Code]) -> list[Code]:
    """Codes in which those that mean 'no value' are not listed among the categories too, where some list all codes."""
    missing = {code.text for code in codes if code.kind == "missing"}
    meanings = {code.text: code.meaning for code in codes if code.kind == "valid" and code.text in missing}
    return [
        replace(code, meaning=code.meaning or meanings.get(code.text, "")) if code.kind == "missing" else code
        for code in codes
        if code.kind != "valid" or code.text not in missing
    ]


def _listed_twice(described: Described) -> Iterable[Problem]:
    seen: dict[tuple[str, bool], Code] = {}
    for code in described.codes:
        first = seen.setdefault((code.text, code.kind == "suppressed"), code)
        if first is not code:
            yield Problem(f"the code {code.text!r} is listed twice, first in line {first.place.line}", code.place)


def _named(problem: Problem, described: Described) -> Problem:
    place = problem.place if problem.place is not None and problem.place.line is not None else described.place
    return Problem(f"variable {described.name!r}: {problem.sentence}", place, problem.hint, variable=described.name)


def _mapping(codes: Iterable[Code]) -> Node:
    entries = tuple((_text(code.text, code.place), _text(code.meaning, code.place)) for code in codes)
    return Node("mapping", entries[0][0].place, entries=entries)


def _text(text: str, place: Place) -> Node:
    return Node("scalar", place, text, text)


def _number(text: str, place: Place, problems: list[Problem]) -> Node:
    """A number as a pipeline would give it; with a decimal comma as with a decimal point."""
    try:
        return scalar(text.replace(",", ".") if text.count(",") == 1 and "." not in text else text, place)
    except PipelineError as error:
        problems.extend(error.problems)
        return Node("scalar", place)
