"""What the engine demands of a measurement: a number in the range that the measure declares, and plain parts."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from maskwright.plugins.guarding.call import broke_contract
from maskwright.plugins.measure_table import MeasureTable
from maskwright.plugins.measurement import Measurement

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.plugins.guarding.origin import Origin
    from maskwright.plugins.measure import Comparison, Measure

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
    import numpy as np

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
    import numpy as np

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
