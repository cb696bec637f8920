"""What functions of plugins have to give back, for each kind."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from maskwright.edits.languages.conversion.converted import Converted
from maskwright.foundation.counts import plural
from maskwright.foundation.errors import MaskwrightError
from maskwright.plugins.attack import Inference
from maskwright.plugins.engine import Receipt
from maskwright.plugins.guarding.call import broke_contract, engine_iterator, guarded_call, guarded_iterator, time_limit
from maskwright.plugins.measurement import Measurement, MeasureTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from maskwright.plugins.attack import Published
    from maskwright.plugins.engine import Stage
    from maskwright.plugins.guarding.origin import Origin
    from maskwright.plugins.measure import Comparison, Measure


def checked_labels(origin: Origin, arguments: tuple[Any, ...], labels: Any) -> NDArray[Any]:
    """Labels of a partition that keep its contract, as an array of their own."""
    block, k = arguments[0], int(arguments[1])
    if not isinstance(labels, np.ndarray):
        raise broke_contract(origin, f"returned a {type(labels).__name__}; labels are an array of whole numbers")
    if labels.shape != (block.n,) or not np.issubdtype(labels.dtype, np.integer):
        found = f"{labels.dtype} of shape {labels.shape}"
        raise broke_contract(origin, f"returned {found}; labels are one whole number for each of {block.n} records")
    own = np.array(labels, dtype=np.int64)
    if not block.n:
        return own
    if int(own.min()) < 0 or int(own.max()) >= block.n:
        raise broke_contract(origin, "returned labels that do not count clusters from 0")
    sizes = np.bincount(own)
    if not sizes.all():
        raise broke_contract(origin, f"left {int((sizes == 0).sum())} of its {len(sizes)} clusters without a record")
    if int(sizes.min()) < min(k, block.n):
        raise broke_contract(
            origin, f"made a cluster of {plural(int(sizes.min()), 'record')}, where each has to have at least {k}"
        )
    return own


def checked_inferences(origin: Origin, arguments: tuple[Any, ...], found: Any) -> Iterator[Inference]:
    """Inferences of an attack that keep its contract, one after another."""
    published: Published = arguments[0]
    for each in guarded_iterator(origin, found):
        if not isinstance(each, Inference):
            raise broke_contract(origin, f"inferred a {type(each).__name__}; an attack yields Inference")
        if each.variable not in published.targets:
            raise broke_contract(origin, f"inferred {each.variable!r}, which is none of the targets")
        values: Any = each.values
        shape = (len(published.data),)
        if not isinstance(values, np.ndarray) or values.shape != shape or values.dtype != np.float64:
            raise broke_contract(origin, f"inferred {each.variable!r} by something else than float64 of shape {shape}")
        yield each


RELATIVE = 1e-9
"""Rounding in binary64, by which a number may lie outside of a range."""

_Range = tuple[float | None, float | None]


def checked_measurement(origin: Origin, measure: Measure, arguments: tuple[Any, ...], found: Any) -> Measurement:
    """A measurement that keeps the contract.

    `measure`: its range is the one that thresholds rely on.
    """
    if not isinstance(found, Measurement):
        raise broke_contract(origin, f"returned a {type(found).__name__}, not a Measurement")
    wrong = next(_wrong(measure, arguments[0], arguments[1], found), None)
    if wrong is not None:
        raise broke_contract(origin, wrong)
    return found


def _wrong(measure: Measure, comparison: Comparison, params: Any, found: Any) -> Iterator[str]:
    yield from _wrong_notes(found)
    yield from _wrong_number("a value", found.value, measure.range)
    if math.isnan(found.value) and not found.notes:
        yield "returned a value that is not defined, and no note says why"
    if not isinstance(found.parts, Mapping) or not isinstance(found.per_variable, Mapping):
        yield "returned parts or numbers of variables that are no mapping"
        return
    ranges = {} if measure.parts is None else {each.name: each.range for each in measure.parts(params)}
    for name, value in found.parts.items():
        yield from _wrong_number(f"a part {name!r}", value, ranges.get(name, (None, None)))
    known = {name for data in _datasets(comparison) for name in data.names}
    for name, value in found.per_variable.items():
        if name not in known:
            yield f"returned a number for {name!r}, which is no variable of the two files"
        yield from _wrong_number(f"a number for {name!r}", value, (None, None))
    yield from _wrong_interval(found.interval)
    yield from _wrong_contributions(comparison, found.per_record)


def _wrong_number(what: str, value: object, bounds: _Range) -> Iterator[str]:

    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        yield f"returned {what} that is a {type(value).__name__}, not a number"
        return
    number = float(value)
    if math.isinf(number):
        yield f"returned {what} that is infinite"
    low, high = bounds
    slack = RELATIVE * max(1.0, abs(low or 0.0), abs(high or 0.0))
    if (low is not None and number < low - slack) or (high is not None and number > high + slack):
        least = "below" if low is not None and number < low - slack else "above"
        yield f"returned {what} {least} the range that it declares, {_shown(bounds)}"


def _shown(bounds: _Range) -> str:
    low, high = ("unbounded" if bound is None else f"{bound:g}" for bound in bounds)
    return f"{low} to {high}"


def _wrong_interval(interval: object) -> Iterator[str]:
    if interval is None:
        return
    if not isinstance(interval, (tuple, list)) or len(interval) != 2:
        yield "returned an interval that is not two numbers"
        return
    for bound in interval:
        yield from _wrong_number("an interval", bound, (None, None))
    low, high = (float(bound) for bound in interval)
    if low > high:
        yield "returned an interval whose lower end is above its upper end"


def _wrong_contributions(comparison: Comparison, values: object) -> Iterator[str]:

    if values is None:
        return
    if not isinstance(values, np.ndarray) or values.shape != (len(comparison.masked),):
        shape = getattr(values, "shape", type(values).__name__)
        yield f"returned contributions of shape {shape}, of {len(comparison.masked)} masked records"
    elif not np.issubdtype(values.dtype, np.number) or np.isinf(values.astype(np.float64)).any():
        yield "returned contributions of records that are infinite or no numbers"


def _wrong_notes(found: Any) -> Iterator[str]:
    if not isinstance(found.notes, (tuple, list)) or not all(isinstance(note, str) for note in found.notes):
        yield "returned notes that are not a tuple of sentences"
    if not isinstance(found.sentence, str):
        yield "returned a sentence that is no text"
    if not isinstance(found.tables, (tuple, list)) or not all(isinstance(each, MeasureTable) for each in found.tables):
        yield "returned tables that are none of maskwright.MeasureTable"


def _datasets(comparison: Comparison) -> Iterator[Any]:
    yield comparison.original
    yield comparison.masked
    if comparison.levels is not None:
        for side in (comparison.levels.original, comparison.levels.masked):
            for level in side:
                yield level.data


_END = object()


def checked_workers(origin: Origin, found: Any) -> _GuardedWorkers:
    """Return what an engine starts: a context manager of workers."""
    if not (hasattr(found, "__enter__") and hasattr(found, "__exit__")):
        raise broke_contract(origin, f"returned a {type(found).__name__}; it has to return a context manager")
    return _GuardedWorkers(origin, found)


class _GuardedWorkers:
    """Workers, from their start to their end; an engine waits for them as long as it takes."""

    def __init__(self, origin: Origin, started: Any) -> None:
        self._origin = origin
        self._started = started
        self._workers: Any = None

    def __enter__(self) -> Self:
        self._workers = self._called(self._started.__enter__)
        if not callable(getattr(self._workers, "run", None)):
            self._called(self._started.__exit__, None, None, None)
            raise broke_contract(self._origin, f"started a {type(self._workers).__name__} without run(stage, keys)")
        return self

    def __exit__(self, *raised: object) -> None:
        if raised[0] is None:
            self._called(self._started.__exit__, *raised)
            return
        # What is raised already says more than whatever the end of the workers may raise.
        with suppress(MaskwrightError):
            self._called(self._started.__exit__, *raised)

    def run(self, stage: Stage, keys: Iterable[str]) -> Iterator[Receipt]:
        """Receipts, one for each key and in their order."""
        due: deque[str] = deque()

        def given() -> Iterator[str]:
            for key in engine_iterator(keys):
                due.append(key)
                yield key

        asked = given()
        items = self._called(iter, self._called(self._workers.run, stage, asked))
        try:
            while (item := self._called(next, items, _END)) is not _END:
                if not isinstance(item, Receipt) or not due or (item.stage, item.key) != (stage.name, due.popleft()):
                    raise broke_contract(self._origin, f"gave no receipts of stage {stage.name} in the order of keys")
                yield item
        finally:
            close = getattr(items, "close", None)
            if close is not None:
                self._called(close)
        if due or next(asked, None) is not None:
            raise broke_contract(self._origin, f"did not do all tasks of stage {stage.name}")

    def _called(self, function: Callable[..., Any], *arguments: Any) -> Any:
        with time_limit(None):
            return guarded_call(self._origin, function, *arguments)


def checked_rules(origin: Origin, found: Any) -> Converted:
    """Return what a rule writer gave: a text, and notes."""
    if not isinstance(found, Converted) or not _are_texts((found.text, *found.notes)):
        raise broke_contract(origin, "returned something else than maskwright.Converted with texts")
    return found


def _are_texts(items: Any) -> bool:
    return isinstance(items, (tuple, list)) and all(isinstance(each, str) for each in items)
