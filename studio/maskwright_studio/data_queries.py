"""Queries of pages on the data, answered in counts, with rule verdicts and compared texts."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import pyarrow as pa

import maskwright as mw
from maskwright_studio.data_process import is_read_in_parts
from maskwright_studio.rule_verdicts import RuleVerdicts, never_there
from maskwright_studio.worker import planned, problem_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from maskwright import Column, Dataset, Description, EditSet, LinkedData, Suggestions
    from maskwright_studio.worker import JobReporter


Held = TypeVar("Held")

BINS = 40
SMALL_BINS = 12
"""Bars of the small picture in the row of a variable."""

MOST_BARS = 20
"""Categories, or different whole numbers, that have a bar each."""

SUGGESTED_IN = 200_000
"""Records in which rules are looked for; how often they hold is counted in all."""


class DataQueries:
    """Answers about the data of one pipeline.

    `pipeline`: its file; its data are read at the first question, its rules at each question about them. `folder`: that
    it is in, as messages begin with it.
    """

    def __init__(self, pipeline: str, reporter: JobReporter) -> None:
        self._pipeline = pipeline
        self._reporter = reporter
        self.folder = f"{Path(pipeline).parent}{os.sep}"
        self._unread: mw.MaskwrightError | None = None
        self._judged = RuleVerdicts()

    @cached_property
    def _read(self) -> Dataset:
        return mw.pipeline_data(self._pipeline, self._reporter)

    @cached_property
    def _linked(self) -> LinkedData | None:
        return mw.pipeline_linked_data(self._pipeline, self._reporter)

    @property
    def data(self) -> Dataset:
        """The data, of several levels the file of the lowest; what could not be read is not tried until it changes."""
        return self._once(lambda: self._read)

    @property
    def linked(self) -> LinkedData | None:
        """The data of several levels; None where they have one."""
        return self._once(lambda: self._linked)

    def _once(self, read: Callable[[], Held]) -> Held:
        if self._unread is not None:
            raise self._unread
        try:
            return read()
        except mw.MaskwrightError as error:
            self._unread = error
            raise

    @property
    def _levels(self) -> dict[str, Dataset]:
        """Data of each level, the top first; of data with one level under no name."""
        linked = self.linked
        return {"": self.data} if linked is None else {level.name: level.data for level in linked}

    @cached_property
    def _looks(self) -> dict[str, Description]:
        levels = self._levels
        self._reporter.stage("Profiling the variables")
        return {name: mw.describe(data) for name, data in levels.items()}

    @cached_property
    def _guesses(self) -> dict[str, Any]:
        """What each variable would be taken for if nothing were declared of it."""
        return {each.name: each for data in self._levels.values() for each in _undeclared(data).variables}

    @cached_property
    def _shapes(self) -> dict[str, list[int]]:
        """Counts of the small picture of each variable, an identifier's apart: all of its values differ."""
        self._reporter.stage("Drawing the variables")
        return {
            each.name: [] if each.variable.role == "identifier" else distribution_of(each, False, SMALL_BINS)["counts"]
            for data in self._levels.values() for each in data
        }  # fmt: skip

    def ahead(self) -> bool:
        """Work out a piece of what the pages will ask; whether there may be more to work out."""
        for name in ("_looks", "_guesses", "_shapes", "_rules_ahead"):
            if name not in self.__dict__:
                getattr(self, name)
                return True
        return False

    @cached_property
    def _rules_ahead(self) -> None:
        edits = mw.pipeline_edits(self._pipeline)
        # What an engine checks takes long, and no one has requested it yet.
        if all(each.engine is None for each in edits):
            self._outcomes(edits)

    def variables(self) -> dict[str, Any]:
        """Every variable, in counts: what it is, what it seems to be, what of it has no value."""
        looks, levels, guesses = self._looks, self._levels, self._guesses
        return {
            "records": len(list(levels.values())[-1]),
            "levels": [(name, len(data)) for name, data in levels.items() if name],
            "variables": [
                {
                    "name": each.name,
                    "level": level,
                    "records": len(column),
                    "type": column.variable.type,
                    "role": column.variable.role,
                    "is_declared": not column.variable.inferred_role,
                    "looks_like": each.looks_like,
                    "suggested": guesses[each.name].role,
                    "why": guesses[each.name].why,
                    "cells": each.cells,
                    "missing": each.missing,
                    "distinct": each.distinct,
                    "missing_codes": list(column.variable.missing_codes),
                    "likely_codes": len(set(each.missing_codes) - set(column.variable.missing_codes)),
                    "unparsed": _unparsed(column),
                    "unsure": [one.text for one in each.unsure],
                    "label": column.variable.label or "",
                    "shape": self._shapes[each.name],
                }
                for level, look in looks.items()
                for each in look.variables
                for column in (levels[level][each.name],)
            ],
        }

    def distribution(self, name: str, values: bool = False) -> dict[str, Any]:
        """How the cells of a variable are distributed: counts only, or also what stands below the bars."""
        column = next((each for data in self._levels.values() for each in data if each.name == name), None)
        if column is None:
            raise mw.InputError(f"there is no variable {name}")
        return distribution_of(column, values)

    def points(self, most: int) -> dict[str, Any]:
        """Values of the numeric columns in so many records, evenly taken; None for a missing cell.

        Only what asks for values of records by name comes here.
        """
        data = self.data
        some = data
        if len(data) > most:
            some = data.taken(np.arange(most, dtype=np.int64) * len(data) // most)
        columns = [each for each in some if each.variable.is_numeric and each.variable.role != "identifier"]
        return {
            "records": len(data),
            "names": [each.name for each in columns],
            "columns": [
                [None if gone else value for value, gone in zip(each.values.tolist(), each.missing, strict=True)]
                for each in columns
            ],
        }

    def rules(self) -> dict[str, Any]:
        """Every rule of the pipeline with its counts, and what they come to together."""
        edits = mw.pipeline_edits(self._pipeline)
        outcomes = self._outcomes(edits)
        linked, places = self.linked, {each.name: each.place for each in edits}
        return {
            "records": len(list(self._levels.values())[-1]),
            "levels": [] if linked is None else [(level.name, len(level)) for level in linked],
            "names": [name for data in self._levels.values() for name in data.names],
            "rules": [
                formatted_values
                | self._place(places.get(each.name))
                | {"above": None if linked is None else _above(linked, each)}
                for formatted_values, each in zip(counts_of(outcomes), outcomes, strict=True)
            ],
            "findings": [
                {"kind": each.kind, "rules": list(each.edits), "message": each.message, "hint": each.hint or "",
                 "blocks": each.blocks}
                for each in mw.analyse_edits(edits, self.data if linked is None else None).findings
            ],
        }  # fmt: skip

    def _place(self, place: mw.Place | None) -> dict[str, Any]:
        """File that a rule stands in, and its line and column where it is the pipeline."""
        if place is None or place.file is None:
            return {"file": "", "place": None}
        is_here = Path(place.file) == Path(self._pipeline)
        return {"file": Path(place.file).name, "place": [place.line, place.column] if is_here and place.line else None}

    def _outcomes(self, edits: EditSet) -> Sequence[Any]:
        data = self.linked or self.data
        self._reporter.stage("Checking the rules")
        return self._judged.outcomes(data, edits)

    def rule(self, text: str) -> dict[str, Any]:
        """Counts of one rule as it is being typed."""
        linked = self.linked
        # Of data of several levels, rules that linking rests on are judged too.
        (typed,) = mw.EditSet.parse([text])
        outcomes = self._judged.outcomes(linked or self.data, mw.EditSet((typed,)))
        outcome = next(each for each in outcomes if each.name == typed.name)
        records = len(self.data) if linked is None else len(linked[outcome.level])
        never = never_there(text, self._levels.values())
        return {"records": records, "never": never, **counts_of([outcome])[0]}

    def suggestions(self) -> dict[str, Any]:
        """Rules that hold in the data and do not follow from those of the pipeline."""
        if self.linked is not None:
            hint = f"maskwright suggest --pipeline {Path(self._pipeline).name}, and the files, looks for them."
            raise mw.InputError(mw.Problem("rules of several levels are not looked for on this page", hint=hint))
        data = self.data
        known = mw.pipeline_edits(self._pipeline)
        self._reporter.stage("Searching for rules")
        found = self._suggested(data, known)
        accepted = [each.as_one_rule for each in found.found]
        listed = [{**each, "text": text} for each, text in zip(found.to_json()["suggestions"], accepted, strict=True)]
        return {"records": found.records, "found": listed, "notes": list(found.notes)}

    def _suggested(self, data: Dataset, known: EditSet) -> Suggestions:
        # Rules that only some engine can evaluate imply nothing that could be left out.
        return mw.suggest(data, mw.EditSet(tuple(each for each in known if each.engine is None)))

    def plan(self, again: int) -> dict[str, Any]:
        """Plan of the pipeline, as ``maskwright plan --json`` prints it, or every reason why there is none.

        `again` tells one plan from the next of the same text.
        """
        del again
        try:
            return {"plan": planned(mw.plan_pipeline(self._pipeline, data=self._held(), reporter=self._reporter))}
        except mw.MaskwrightError as error:
            folder = str(Path(self._pipeline).parent)
            return {"plan": None, "problems": [problem_fields(each, folder) for each in error.problems]}

    def foreseen(self, points: Sequence[tuple[str, list[Any]]]) -> dict[str, Any]:
        """Points of an experiment of which the plan says that they fail, and why; each has a name and steps."""
        held = self._held()
        failing = []
        for done, (name, steps) in enumerate(points):
            progress = self._reporter.stage(f"Planning point {done + 1} of {len(points)}")
            try:
                mw.plan_pipeline(self._pipeline, {"protect": steps}, data=held)
            except mw.MaskwrightError as error:
                problem = problem_fields(error.problems[0], str(Path(self._pipeline).parent))
                failing.append({"name": name, "message": problem["message"], "hint": problem["hint"]})
            progress(1.0)
        return {"points": len(points), "failing": failing}

    def _held(self) -> Dataset | None:
        """The data, unless a plan does without them: those of levels, and those that are read in parts."""
        try:
            text = Path(self._pipeline).read_text("utf-8-sig")
            section = mw.read_settings(text).get("data")
            is_one_table = isinstance(section, dict) and "levels" not in section and not is_read_in_parts(text)
            held = self.data if is_one_table else None
        except (mw.MaskwrightError, OSError, UnicodeDecodeError):
            return None  # the plan says why, with everything else that is wrong
        return held


def _undeclared(data: Dataset) -> Description:
    kept = len(data) > SUGGESTED_IN
    some = data.taken(np.linspace(0, len(data) - 1, SUGGESTED_IN).astype(np.int64)) if kept else data
    plain = [
        column if column.variable.inferred_role
        else replace(column, variable=replace(column.variable, inferred_role=True)) for column in some
    ]  # fmt: skip
    return mw.describe(replace(some, columns=tuple(plain)))


def distribution_of(column: Column, values: bool, bins: int = BINS) -> dict[str, Any]:
    """Counts of a column by category, by number or by class; what they stand for only where it is requested."""
    present = column.values[~column.missing]
    if not len(present):
        return {"form": "none", "counts": [], "others": 0, "labels": []}
    if not column.variable.is_numeric:
        counts = np.bincount(present, minlength=len(column.variable.categories))
        order = np.argsort(-counts, kind="stable")[: min(bins, MOST_BARS)]
        order = order[counts[order] > 0]
        return {
            "form": "categories",
            "counts": counts[order].tolist(),
            "others": int(counts.sum() - counts[order].sum()),
            "labels": [column.variable.categories[each] for each in order] if values else [],
        }
    low, high = float(present.min()), float(present.max())
    whole = column.variable.decimals == 0 and high - low < bins
    edges = np.arange(low, high + 2) - 0.5 if whole else np.linspace(low, high, bins + 1)
    counts, _ = np.histogram(present, edges if whole else bins, None if whole else (low, high))
    shown = np.arange(low, high + 1) if whole else edges
    return {
        "form": "numbers" if whole else "bins",
        "counts": counts.tolist(),
        "others": 0,
        "labels": formatted_values(column, shown) if values else [],
    }


def counts_of(outcomes: Sequence[Any]) -> list[dict[str, Any]]:
    """What each rule came to, as ``maskwright validate --json`` counts."""
    return [
        {
            "name": each.name, "text": each.text, "kind": each.kind, "severity": each.severity,
            "variables": list(each.variables), "violations": each.violations, "unknown": each.unknown,
            "fired": each.fired, "because": each.unknown_because, "first": list(each.first_records),
            "level": each.level,
        }
        for each in outcomes
    ]  # fmt: skip


def _above(linked: LinkedData, outcome: Any) -> tuple[int, str] | None:
    """How many records of the level above have one that violates the rule; None at the top, and of too many to list."""
    level = linked[outcome.level]
    if level.groups is None or len(outcome.listed) < outcome.violations:
        return None
    return len(np.unique(level.groups[outcome.listed - 1])), level.declared.above or ""


def _unparsed(column: Column) -> int:
    """Cells of a text variable that are no numbers, where most of its cells are."""
    if column.variable.is_numeric or not column.variable.categories:
        return 0
    numbers = mw.read_numbers(pa.array(column.variable.categories)).is_number
    cells = np.bincount(column.values[~column.missing], minlength=len(numbers))
    others = int(cells[~numbers].sum())
    return others if 2 * others < int(cells.sum()) else 0


def formatted_values(column: Column, shown: NDArray[np.float64]) -> Sequence[str]:
    """Values of a numeric variable as the page writes them."""
    if column.variable.type == "date":
        return [str(np.datetime64(int(each), "D")) for each in shown]
    if column.variable.type == "datetime":
        return [str(np.datetime64(int(each), "s")) for each in shown]
    return [f"{each:.6g}" if abs(each) < 1e6 else f"{each:.0f}" for each in shown]
