"""Adjusting exactly the fields that error localisation names; everything else of a record stays as it is."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.dataset import Column, Dataset
from maskwright.data.record_chunk import RecordChunk, column_cells
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check import evaluate
from maskwright.edits.localisation.localize import Localisation, localize
from maskwright.foundation.counts import plural
from maskwright.foundation.errors import EditError
from maskwright.foundation.findings import Notice
from maskwright.foundation.progress import Progress, part, silent
from maskwright.foundation.randomness import generator
from maskwright.masking.adjusting.adjust import adjust
from maskwright.masking.adjusting.targets import Targets

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.edits.evaluation.domain import Domain
    from maskwright.edits.localisation.search import Located
    from maskwright.foundation.arrays import Booleans, Floats, Integers


@dataclass(frozen=True, eq=False)
class FieldAdjustment:
    """A dataset in which located fields were given values with which all edits hold.

    `adjusted`: cells changed, by variable, in file order. `filled`: missing cells filled because a rule of XPath is
    violated by a missing operand. `mended`: records that violate no edit any more. `left`: records with located fields
    for which no such values were found; they stay as they were.
    """

    data: Dataset
    adjusted: Mapping[str, int]
    filled: Mapping[str, int]
    mended: int
    left: int


# Records listed in the record of a run.
MOST_LISTED = 10_000


def with_errors_located(
    data: Dataset,
    edits: EditSet,
    weights: Mapping[str, float],
    domain: Domain,
    progress: Progress = silent,
    workers: int | None = None,
) -> tuple[Dataset, dict[str, Any], tuple[Notice, ...]]:
    """Locate the fields in error, adjust them, and say what was done."""
    found = localize(data, edits, weights, domain, part(progress, 0.0, 0.8), workers)
    done = adjust_fields(data, edits, found, domain)
    return done.data, adjustment_record(found, done), adjustment_notices(found, done)


def adjustment_record(found: Localisation, done: FieldAdjustment) -> dict[str, Any]:
    """What was located and adjusted, for the run record: no values. Confidential."""
    record = found.to_json() | {
        "adjusted": dict(done.adjusted), "filled": dict(done.filled), "mended": done.mended, "left": done.left,
    }  # fmt: skip
    omitted = max(0, len(record["fields"]) - MOST_LISTED)
    return record | {"fields": record["fields"][:MOST_LISTED], "fields_omitted": omitted}


def adjustment_notices(found: Localisation, done: FieldAdjustment) -> tuple[Notice, ...]:
    """What was located and adjusted; nothing where no record violates an edit."""
    if not len(found.numbers):
        return ()
    record = "record" if found.level is None else f"{found.level} record"
    violating = "that violated" if found.level is None else "that, with their members, violated"
    cells = ", ".join(f"{name}: {count}" for name, count in done.adjusted.items())
    message = (
        f"mended: {done.mended} of {plural(len(found.numbers), record)} {violating} an edit in the original data, by "
        f"adjusting {plural(sum(done.adjusted.values()), 'field')}" + (f" ({cells})" if cells else "")
    )
    notices = [Notice("fields-adjusted", "", message, done.mended, len(found.numbers), level=found.level)]
    if done.filled:
        filled = ", ".join(f"{name}: {count}" for name, count in done.filled.items())
        message = f"missing cells were filled where an edit is violated because they are missing ({filled})"
        notices.append(Notice("missing-cells-filled", "", message, sum(done.filled.values()), level=found.level))
    if found.unproven:
        message = f"{plural(found.unproven, record)} may need fewer fields: that these are the fewest was not proven"
        notices.append(Notice("fewest-fields-not-proven", "", message, found.unproven, level=found.level))
    notices += [
        Notice("errors-not-localised", "", f"{plural(count, record)} not localised: {why}", count, level=found.level)
        for why, (count, _) in found.obstacles.items()
    ]
    if done.left:
        left = plural(done.left, record)
        message = f"{left} could not be adjusted in the fields found: masked as in the original data"
        notices.append(Notice("fields-not-adjusted", "", message, done.left, level=found.level))
    return tuple(notices)


def adjust_fields(
    data: Dataset,
    edits: EditSet,
    found: Localisation,
    domain: Domain | None = None,
    spread: Mapping[str, float] | None = None,
) -> FieldAdjustment:
    """Give located fields the nearest values with which all edits hold, on the published grid.

    Numbers move as little as possible in standard deviations of the file; a category becomes one that the edits allow,
    frequent ones first. Where the nearest point does not survive rounding, the exact solution of the localisation is
    taken. Missing cells stay missing, except where an XPath rule is violated because one of its operands is missing.
    """
    rules = EditSet(tuple(edit for edit in edits if edit.severity == "error"))
    groups: dict[tuple[str, ...], list[int]] = {}
    for place, each in enumerate(found.found):
        if each.fields is not None:
            groups.setdefault(each.fields, []).append(place)
    work = _Work(_with_categories(data, found), rules, domain, spread)
    for fields, members in groups.items():
        work.adjust(fields, found.numbers[members] - 1, [found.found[place] for place in members])
    return work.result()


def _with_categories(data: Dataset, found: Localisation) -> Dataset:
    """Dataset whose nominal variables know every category that a field is to get."""
    words: dict[str, dict[str, None]] = {}
    for each in found.found:
        for name, value in each.values.items():
            if isinstance(value, str):
                words.setdefault(name, {})[value] = None
    changed: dict[str, Column] = {}
    for name, more in words.items():
        variable = data[name].variable
        known = tuple(dict.fromkeys((*variable.categories, *more)))
        changed[name] = replace(data[name], variable=replace(variable, categories=known))
    return data.with_columns(changed)


class _Work:
    """A dataset whose records are adjusted group by group."""

    def __init__(
        self, data: Dataset, rules: EditSet, domain: Domain | None, spread: Mapping[str, float] | None
    ) -> None:
        self._data, self._rules, self._domain = data, rules, domain
        self._spread = spread
        self._values: dict[str, NDArray[Any]] = {}
        self._missing: dict[str, Booleans] = {}
        self._adjusted: Counter[str] = Counter()
        self._filled: Counter[str] = Counter()
        self._mended = self._left = 0

    def adjust(self, fields: tuple[str, ...], index: Integers, located: Sequence[Located]) -> None:
        """Adjust records (0-based `index`) that have the same fields."""
        present = Dataset(tuple(Column(each.variable, each.values[index], each.missing[index]) for each in self._data))
        exact = _written(present, located, fields)
        operands = {name for edit in self._rules if edit.binding == "xpath1" for name in edit.variables}
        blank = [each.name for each in present if each.name in operands and each.missing.any()]
        settled = np.zeros(len(index), dtype=np.bool_)
        for candidate in (self._nearest(present, exact, fields), exact, _written(exact, located, blank)):
            if settled.all():
                break
            chosen = self._good(candidate) & ~settled
            settled |= chosen
            self._store(present, candidate, index, chosen)
        self._mended += int(settled.sum())
        self._left += int(np.sum(~settled))

    def result(self) -> FieldAdjustment:
        changed = {name: self._data[name].changed(values, self._missing[name]) for name, values in self._values.items()}
        names = self._data.names
        return FieldAdjustment(
            self._data.with_columns(changed),
            {name: self._adjusted[name] for name in names if self._adjusted[name]},
            {name: self._filled[name] for name in names if self._filled[name]},
            self._mended,
            self._left,
        )

    def _good(self, part: Dataset) -> Booleans:
        columns = RecordChunk.from_dataset(part)
        result = np.ones(columns.n, dtype=np.bool_)
        for edit in self._rules:
            if not edit.shadowed:
                result &= evaluate(edit, columns, self._domain).holds
        return result

    def _nearest(self, present: Dataset, exact: Dataset, fields: tuple[str, ...]) -> Dataset:
        """Records with numeric fields at the nearest point that adjustment finds from the present values."""
        moving = [name for name in fields if present[name].variable.is_numeric]
        rules = self._rules.on(moving)
        if not moving or len(rules) == 0:
            return exact
        spread = self._spread_of(moving)
        scale = np.where((spread > 0) & np.isfinite(spread), spread, 1.0)
        companions = {name: column_cells(exact[name]) for name in rules.variables if name not in moving}
        targets = Targets(tuple(present[name].variable for name in moving), companions, None, self._domain)
        try:
            done = adjust(present.matrix(moving), targets, rules, scale, generator(0, "localize", *moving))
        except EditError:
            # Rules that adjustment cannot work towards: the exact solution is used instead.
            return exact
        return exact.with_columns(
            {
                name: exact[name].changed(done.values[:, place].copy(), np.isnan(done.values[:, place]))
                for place, name in enumerate(moving)
            }
        )

    def _spread_of(self, moving: Sequence[str]) -> Floats:
        if self._spread is not None:
            return np.array([self._spread[name] for name in moving])
        everyone = self._data.matrix(moving)
        spread = np.nanstd(everyone, axis=0, ddof=1) if len(everyone) > 1 else np.ones(len(moving))
        return np.asarray(spread, dtype=np.float64)

    def _store(self, present: Dataset, candidate: Dataset, index: Integers, chosen: Booleans) -> None:
        for before, after in zip(present, candidate, strict=True):
            name = before.name
            differs = chosen & ((before.values != after.values) | before.missing) & ~after.missing
            if not differs.any():
                continue
            if name not in self._values:
                self._values[name] = self._data[name].values.copy()
                self._missing[name] = self._data[name].missing.copy()
            self._values[name][index[differs]] = after.values[differs]
            self._missing[name][index[differs]] = False
            self._filled[name] += int(np.sum(differs & before.missing))
            self._adjusted[name] += int(np.sum(differs & ~before.missing))


def _written(part: Dataset, located: Sequence[Located], names: Sequence[str]) -> Dataset:
    """Records with the exact solution in the named fields, or in those of them that are missing."""
    changed: dict[str, Column] = {}
    for name in names:
        column = part[name]
        solution = [each.values.get(name) for each in located]
        places = [
            place
            for place, (value, each) in enumerate(zip(solution, located, strict=True))
            if value is not None and (name in (each.fields or ()) or column.missing[place])
        ]
        values, missing = column.values.copy(), column.missing.copy()
        codes = {word: code for code, word in enumerate(column.variable.categories)}
        for place in places:
            value = solution[place]
            values[place] = codes[value] if isinstance(value, str) else float(value or 0)
        missing[places] = False
        changed[name] = column.changed(values, missing)
    return part.with_columns(changed)
