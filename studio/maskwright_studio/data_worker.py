"""The process that holds the data, and queries on the masked data and the record of the run."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import re
import threading
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import maskwright as mw
from maskwright_studio.data_queries import BINS, MOST_BARS, distribution_of, formatted_values
from maskwright_studio.disclosure_risk import measured_risk, records_at_risk, shown_risk
from maskwright_studio.record_queries import RecordQueries
from maskwright_studio.worker import JobReporter, line_writer, read_requests, with_place

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright import Column, Dataset, Progress
    from maskwright_studio.disclosure_risk import FoundRisk


MOST_CORRELATED = 20
"""Variables in the table of correlations."""

CHUNK = 100_000
"""Records of which products are summed at once."""

WORST = 20
"""Records that are listed."""


class ReleaseQueries(RecordQueries):
    """Answers about the data of a pipeline, and about what its run has written."""

    _recorded: tuple[Sequence[int], dict[str, Any]] = ((), {})
    _measured: tuple[Sequence[int], FoundRisk] | None = None

    def both(self, masked: str, stamp: Sequence[int]) -> dict[str, Any]:
        """Variables of both files, and how their moments differ: no mean of the original, and no value."""
        before, after = self.data, self._released(masked, stamp)
        self._reporter.stage("Comparing the variables")
        return {
            "records": len(before),
            "masked": len(after),
            "variables": [_compared(before[name], after[name]) for name in _published(before, after)],
            "gone": [name for name in before.names if name not in after.names],
        }

    def overlaid(self, name: str, masked: str, stamp: Sequence[int], values: bool = False) -> dict[str, Any]:
        """Distribution of a variable in both files, in the same classes; what they stand for only where requested."""
        before, after = self.data, self._released(masked, stamp)
        if name not in _published(before, after):
            raise mw.InputError(f"{name} is not in both files")
        one, other = before[name], after[name]
        if one.variable.is_numeric != other.variable.is_numeric:
            return _recoded(one, other, values)
        return _of_numbers(one, other, values) if one.variable.is_numeric else _of_categories(one, other, values)

    def correlations(self, masked: str, stamp: Sequence[int]) -> dict[str, Any]:
        """Correlations of the original and of the masked data, of records where both cells have a value."""
        before, after = self.data, self._released(masked, stamp)
        names = [name for name in _common(before, after) if before[name].variable.is_numeric]
        shown = names[:MOST_CORRELATED]
        self._reporter.stage("Correlating")
        return {
            "names": shown, "left_out": names[MOST_CORRELATED:],
            "original": _plain(_correlations([before[name] for name in shown])),
            "masked": _plain(_correlations([after[name] for name in shown])),
        }  # fmt: skip

    def _record(self, record: str, stamp: Sequence[int]) -> dict[str, Any]:
        if self._recorded[0] != stamp:
            try:
                found = json.loads(Path(record).read_text("utf-8"))
            except (OSError, ValueError):
                raise mw.InputError(f"{Path(record).name} is no record of a run") from None
            self._recorded = (stamp, found)
        return self._recorded[1]

    def risks(self, record: str, stamp: Sequence[int], label: str) -> dict[str, Any]:
        """Distribution of the risk of single records, as the record of the run has it, and the worst of them."""
        run = self._record(record, stamp)
        risks = {name: each for name, each in run["measures"].items() if each["kind"] == "risk"}
        labels = [name for name in run.get("per_record") or {} if name in risks]
        found: dict[str, Any] = {"labels": labels, "measures": list(risks), "records": run["records"]}
        if not labels:
            return found
        chosen = label if label in labels else labels[0]
        single = np.array([np.nan if each is None else each for each in run["per_record"][chosen]], np.float64)
        known = single[np.isfinite(single)]
        top = float(known.max()) if len(known) else 0.0
        low = min(0.0, float(known.min())) if len(known) else 0.0
        counts, edges = np.histogram(known, BINS, (low, top if top > low else low + 1.0))
        worst = np.argsort(-np.nan_to_num(single, nan=-np.inf), kind="stable")[:WORST]
        measure = risks[chosen]
        return found | {
            "label": chosen, "value": measure["value"], "unit": measure["unit"], "summary": measure["summary"],
            "per_variable": measure["per_variable"], "undefined": len(single) - len(known),
            "tied": int((known == top).sum()),
            "counts": counts.tolist(), "edges": edges.tolist(), "mean": float(known.mean()) if len(known) else None,
            "worst": [
                {"record": int(at) + 1, "risk": float(single[at])} for at in worst if np.isfinite(single[at])
            ],
        }  # fmt: skip

    def risk(self, masked: str | None, stamp: Sequence[int]) -> dict[str, Any]:
        """Risk of the original by its quasi-identifiers and, where there is one, of the masked file."""
        return shown_risk(self._risk(masked, stamp))

    def at_risk(self, masked: str | None, stamp: Sequence[int], of: str, level: str) -> dict[str, Any]:
        """Records of one of the files with the most risk, and their keys, which a click has requested."""
        risk, is_masked = self._risk(masked, stamp), of == "masked"
        if is_masked and masked is None:
            raise mw.InputError("there is no masked file yet")
        data = self._released(masked, stamp) if is_masked and masked else self._levels.get(level)
        if data is None:
            raise mw.InputError(f"there is no level {level}")
        return records_at_risk(risk, data, level, WORST, masked=is_masked, formatted=_texts)

    def _risk(self, masked: str | None, stamp: Sequence[int]) -> FoundRisk:
        if self._measured is None or self._measured[0] != stamp:
            linked = self.linked
            # Of levels, the masked ones stand in files of their own: the record of the run has their figures.
            after = self._released(masked, stamp) if masked and linked is None else None
            self._measured = stamp, measured_risk(linked or self.data, after, self._reporter)
        return self._measured[1]

    def values_of(self, masked: str, stamp: Sequence[int], records: Sequence[int]) -> dict[str, Any]:
        """Masked values of some records, which a click has requested."""
        data = self._released(masked, stamp)
        rows = np.array([each - 1 for each in records if 0 < each <= len(data)], np.int64)
        return {"names": list(data.names), "rows": np.array([_texts(each, rows) for each in data]).T.tolist()}


def _published(before: Dataset, after: Dataset) -> list[str]:
    """Variables of both files; of what identifies, only what was made anew."""
    return [name for name in before.names if name in after.names and before[name].variable.role != "identifier"]


def _common(before: Dataset, after: Dataset) -> list[str]:
    """Those of them that are of the same kind in both, so that they can be laid over each other."""
    names = _published(before, after)
    return [name for name in names if before[name].variable.is_numeric == after[name].variable.is_numeric]


def _compared(one: Column, other: Column) -> dict[str, Any]:
    found = {"name": one.variable.name, "is_numeric": one.variable.is_numeric, "role": one.variable.role,
             "mean": None, "deviation": None, "missing": int(other.missing.sum()) - int(one.missing.sum()),
             "recoded": one.variable.is_numeric != other.variable.is_numeric}  # fmt: skip
    if one.variable.is_numeric and not found["recoded"]:
        first, second = one.values[~one.missing], other.values[~other.missing]
        spread = float(first.std()) if len(first) else 0.0
        if spread > 0 and len(second):
            found["mean"] = (float(second.mean()) - float(first.mean())) / spread
            found["deviation"] = 100 * (float(second.std()) / spread - 1)
    return found


def _recoded(one: Column, other: Column, values: bool) -> dict[str, Any]:
    """Counts of a variable that is of another kind in the masked file: bands have no place among numbers."""
    return {
        "form": "recoded", "after": distribution_of(other, values),
        "cells": [[int((~each.missing).sum()), int(each.missing.sum())] for each in (one, other)],
    }  # fmt: skip


def _of_numbers(one: Column, other: Column, values: bool) -> dict[str, Any]:
    first, second = one.values[~one.missing], other.values[~other.missing]
    both = np.concatenate([first, second])
    if not len(both):
        return {"form": "none", "labels": [], "original": [], "masked": []}
    low, high = float(both.min()), float(both.max())
    edges = np.linspace(low, high if high > low else low + 1.0, BINS + 1)
    return {
        "form": "bins", "labels": list(formatted_values(one, edges)) if values else [],
        "original": np.histogram(first, edges)[0].tolist(), "masked": np.histogram(second, edges)[0].tolist(),
    }  # fmt: skip


def _of_categories(one: Column, other: Column, values: bool) -> dict[str, Any]:
    first, second = _counts(one), _counts(other)
    names = sorted(first.keys() | second.keys(), key=lambda name: (-first.get(name, 0), -second.get(name, 0)))
    shown = names[:MOST_BARS]
    return {
        "form": "categories", "labels": shown if values else [],
        "original": [first.get(name, 0) for name in shown], "masked": [second.get(name, 0) for name in shown],
        "others": [sum(each.get(name, 0) for name in names[MOST_BARS:]) for each in (first, second)],
    }  # fmt: skip


def _counts(column: Column) -> dict[str, int]:
    counts = np.bincount(column.values[~column.missing], minlength=len(column.variable.categories))
    return {
        name: int(number) for name, number in zip(column.variable.categories, counts, strict=True) if number
    }  # fmt: skip


def _correlations(columns: Sequence[Column]) -> NDArray[np.float64]:
    """Pearson correlations over the records in which both cells have a value, by sums of products."""
    p = len(columns)
    count, first, square, product = (np.zeros((p, p)) for _ in range(4))
    length = len(columns[0].values) if p else 0
    middle = [float(np.nanmean(each.values)) if not each.missing.all() else 0.0 for each in columns]
    for start in range(0, length, CHUNK):
        part = slice(start, start + CHUNK)
        known = np.stack([~each.missing[part] for each in columns]).astype(np.float64)
        shifted = np.stack(
            [
                np.where(each.missing[part], 0.0, each.values[part] - at)
                for each, at in zip(columns, middle, strict=True)
            ]
        )
        # The threads of a library for matrices spin where other work holds the processors: seconds for so few rows.
        count += np.einsum("ik,jk->ij", known, known)
        first += np.einsum("ik,jk->ij", shifted, known)
        square += np.einsum("ik,jk->ij", shifted**2, known)
        product += np.einsum("ik,jk->ij", shifted, shifted)
    with np.errstate(invalid="ignore", divide="ignore"):
        covariance = product - first * first.T / count
        variance = square - first**2 / count
        return np.asarray(np.clip(covariance / np.sqrt(variance * variance.T), -1, 1))


def _plain(matrix: NDArray[np.float64]) -> list[list[float | None]]:
    return [[float(each) if np.isfinite(each) else None for each in row] for row in matrix]


def _texts(column: Column, rows: NDArray[np.int64]) -> list[str]:
    missing = column.missing[rows]
    if column.variable.is_numeric:
        shown = list(formatted_values(column, np.where(missing, 0.0, column.values[rows])))
    else:
        shown = [column.variable.categories[each] for each in column.values[rows]]
    return ["" if none else text for none, text in zip(missing, shown, strict=True)]


TYPED = ("argument ", "rule ")
"""How the place of a rule is called that was typed on the page."""

UNNAMED = re.compile(r"edit-\d+")
"""Name of a rule that has none of its own."""


def _shown(problem: mw.Problem) -> str:
    """A problem as the command line shows it; of a typed rule without its place, which is nowhere on the page."""
    place = problem.place
    if place is None or not (place.file or "").startswith(TYPED):
        return with_place(problem)
    is_unnamed = problem.edit is not None and UNNAMED.fullmatch(problem.edit) is not None
    return with_place(replace(problem, edit=None if is_unnamed else problem.edit)).removeprefix(f"{place}: ")


def main() -> None:
    """Answer until standard input ends."""
    write = line_writer()
    requests: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    cancelled: set[int] = set()

    def take(request: dict[str, Any]) -> None:
        if "cancel" in request:
            cancelled.add(request["cancel"])
        else:
            requests.put(request)

    threading.Thread(target=read_requests, args=(take,), daemon=True).start()
    reporter = CancellableReporter(write, cancelled)
    answers = ReleaseQueries(requests.get()["pipeline"], reporter)
    is_needed = False
    while True:
        # Between questions: what the next page will ask.
        while is_needed and requests.empty():
            is_needed = _works_ahead(answers)
        request = requests.get()
        reporter.request = request["id"]
        outcome = _outcome(answers, reporter, request)
        reporter.request = 0
        is_needed = True
        write({"memory": _memory()})
        write({"id": request["id"], **outcome})


class Cancelled(BaseException):
    """The request at work is not needed any more: no plugin takes it for a mistake of its own."""


class CancellableReporter(JobReporter):
    """Reporter that ends the request at work, at its next progress, where it is cancelled.

    `request`: its number; 0 for work between requests.
    """

    def __init__(self, say: Callable[[Mapping[str, object]], None], cancelled: set[int]) -> None:
        super().__init__(say)
        self._cancelled = cancelled
        self.request = 0

    def stage(self, title: str) -> Progress:
        """Say that a stage begins, and then its shares."""
        self.ensure_needed()
        shares = super().stage(title)

        def progress(share: float) -> None:
            self.ensure_needed()
            shares(share)

        return progress

    def ensure_needed(self) -> None:
        """Raise where the request at work is cancelled."""
        if self.request in self._cancelled:
            raise Cancelled


def _works_ahead(answers: ReleaseQueries) -> bool:
    try:
        return answers.ahead()
    except Exception:  # noqa: BLE001 - the page that needs it gets it as an answer
        return False


def _outcome(answers: ReleaseQueries, reporter: CancellableReporter, request: dict[str, Any]) -> dict[str, object]:
    details = {name: value for name, value in request.items() if name not in {"id", "query"}}
    try:
        reporter.ensure_needed()
        return {"answer": getattr(answers, request["query"])(**details)}
    except Cancelled:
        return {"problems": ["this was cancelled", ""]}
    except mw.MaskwrightError as error:
        first, *others = error.problems
        more = f" (and {len(others)} more)" if others else ""
        sentence, *excerpt = _shown(first).replace(answers.folder, "").split("\n")
        return {"problems": ["\n".join([sentence.rstrip(".") + more, *excerpt]), first.hint or ""]}
    except MemoryError:
        hint = "Close other programs, or look at a part of the file."
        return {"problems": ["there is not enough memory for these data", hint]}
    except Exception as error:  # noqa: BLE001 - the data stay, and the page says that it is a mistake of ours
        hint = "The command line shows more: maskwright describe, validate or edits, with --traceback."
        return {"problems": [f"this is a mistake of Maskwright, not of yours ({type(error).__name__})", hint]}


def _memory() -> int:
    """Bytes that this process holds; 0 where the system does not say."""
    with contextlib.suppress(OSError, ValueError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return 0


if __name__ == "__main__":
    main()
