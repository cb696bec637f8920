"""What pages ask of the data, answered in counts; values of records only where a question asks for them."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

import maskwright as mw

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright import Column, Dataset, Description, EditSet, Outcome, Suggestions
    from maskwright_studio.worker import Told

BINS = 40
MOST_BARS = 20
"""Categories, or different whole numbers, that have a bar each."""

SUGGESTED_IN = 200_000
"""Records in which rules are looked for; how often they hold is counted in all."""


class DataAnswers:
    """Answers about the data of one pipeline.

    Parameters
    ----------
    pipeline : str
        Its file; its data are read at the first question, its rules at each question about them.
    reporter : Told

    Attributes
    ----------
    folder : str
        That it is in, as messages begin with it.
    """

    def __init__(self, pipeline: str, reporter: Told) -> None:
        self._pipeline = pipeline
        self._reporter = reporter
        self.folder = f"{Path(pipeline).parent}{os.sep}"
        self._unread: mw.MaskwrightError | None = None

    @cached_property
    def _read(self) -> Dataset:
        return mw.pipeline_data(self._pipeline, self._reporter)

    @property
    def data(self) -> Dataset:
        """The data; a file that could not be read is not tried again until it changes."""
        if self._unread is not None:
            raise self._unread
        try:
            return self._read
        except mw.MaskwrightError as error:
            self._unread = error
            raise

    @cached_property
    def _looks(self) -> Description:
        data = self.data
        self._reporter.stage("Looking at the variables")
        return mw.describe(data)

    @cached_property
    def _guesses(self) -> dict[str, Any]:
        """What each variable would be taken for if nothing were declared of it."""
        data = self.data
        kept = len(data) > SUGGESTED_IN
        some = data.taken(np.linspace(0, len(data) - 1, SUGGESTED_IN).astype(np.int64)) if kept else data
        plain = [
            column if column.variable.inferred_role
            else replace(column, variable=replace(column.variable, inferred_role=True)) for column in some
        ]  # fmt: skip
        return {each.name: each for each in mw.describe(replace(some, columns=tuple(plain))).variables}

    def variables(self) -> dict[str, Any]:
        """Every variable, in counts: what it is, what it seems to be, what of it has no value."""
        looks, data = self._looks, self.data
        guesses = self._guesses
        return {
            "records": looks.records,
            "variables": [
                {
                    "name": each.name,
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
                    "unsure": list(each.unsure),
                    "label": column.variable.label or "",
                }
                for each in looks.variables
                for column in (data[each.name],)
            ],
        }

    def distribution(self, name: str, values: bool = False) -> dict[str, Any]:
        """How the cells of a variable are distributed: counts only, or also what stands below the bars."""
        if name not in self.data.names:
            raise mw.InputError(f"there is no variable {name}")
        column = self.data[name]
        present = column.values[~column.missing]
        if not len(present):
            return {"form": "none", "counts": [], "others": 0, "labels": []}
        if not column.variable.is_numeric:
            counts = np.bincount(present, minlength=len(column.variable.categories))
            order = np.argsort(-counts, kind="stable")[:MOST_BARS]
            order = order[counts[order] > 0]
            return {
                "form": "categories",
                "counts": counts[order].tolist(),
                "others": int(counts.sum() - counts[order].sum()),
                "labels": [column.variable.categories[each] for each in order] if values else [],
            }
        low, high = float(present.min()), float(present.max())
        whole = column.variable.decimals == 0 and high - low < BINS
        edges = np.arange(low, high + 2) - 0.5 if whole else np.linspace(low, high, BINS + 1)
        counts, _ = np.histogram(present, edges if whole else BINS, None if whole else (low, high))
        shown = np.arange(low, high + 1) if whole else edges
        return {
            "form": "numbers" if whole else "bins",
            "counts": counts.tolist(),
            "others": 0,
            "labels": said(column, shown) if values else [],
        }

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
        data = self.data
        self._reporter.stage("Checking the rules")
        outcome = mw.validate(data, edits, original=data)
        return {
            "records": len(data),
            "rules": counts_of(outcome),
            "findings": [
                {"kind": each.kind, "rules": list(each.edits), "message": each.message, "hint": each.hint or "",
                 "blocks": each.blocks}
                for each in mw.analyse_edits(edits, data).findings
            ],
        }  # fmt: skip

    def rule(self, text: str) -> dict[str, Any]:
        """Counts of one rule as it is being typed."""
        data = self.data
        outcome = mw.validate(data, [text], original=data)
        return {"records": outcome.records, **counts_of(outcome)[0]}

    def suggestions(self) -> dict[str, Any]:
        """Rules that hold in the data and do not follow from those of the pipeline."""
        data = self.data
        known = mw.pipeline_edits(self._pipeline)
        self._reporter.stage("Looking for rules")
        found = self._suggested(data, known)
        return {"records": found.records, "found": found.to_json()["suggestions"], "notes": list(found.notes)}

    def _suggested(self, data: Dataset, known: EditSet) -> Suggestions:
        # Rules that only some engine can evaluate imply nothing that could be left out.
        return mw.suggest(data, mw.EditSet(tuple(each for each in known if each.engine is None)))


def counts_of(outcome: Outcome) -> list[dict[str, Any]]:
    """What each rule came to, as ``maskwright validate --json`` counts."""
    return [
        {
            "name": each.name, "text": each.text, "kind": each.kind, "severity": each.severity,
            "variables": list(each.variables), "violations": each.violations, "unknown": each.unknown,
            "fired": each.fired, "because": each.unknown_because, "first": list(each.first_records),
        }
        for each in outcome.edits
    ]  # fmt: skip


def _unparsed(column: Column) -> int:
    """Cells of a text variable that are no numbers, where most of its cells are."""
    if column.variable.is_numeric or not column.variable.categories:
        return 0
    numbers = mw.read_numbers(pa.array(column.variable.categories)).is_number
    cells = np.bincount(column.values[~column.missing], minlength=len(numbers))
    others = int(cells[~numbers].sum())
    return others if 2 * others < int(cells.sum()) else 0


def said(column: Column, shown: NDArray[np.float64]) -> Sequence[str]:
    """Values of a numeric variable as the page writes them."""
    if column.variable.type == "date":
        return [str(np.datetime64(int(each), "D")) for each in shown]
    if column.variable.type == "datetime":
        return [str(np.datetime64(int(each), "s")) for each in shown]
    return [f"{each:.6g}" if abs(each) < 1e6 else f"{each:.0f}" for each in shown]
