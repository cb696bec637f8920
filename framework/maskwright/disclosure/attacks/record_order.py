"""Variables that can be inferred from an order: of the records, or of a number published as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import BY_CHANCE, ValueCodes
from maskwright.data.record_order import (
    RANDOM_ORDER,
    blocks_in_order_of_numbers,
    in_order,
    is_in_blocks,
    is_in_order,
)
from maskwright.foundation.doubts import Doubt
from maskwright.planning.model import with_steps
from maskwright.planning.warnings.attribute_inference import published_numbers

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.disclosure.cells import CellMasks
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.planning.model import Step
    from maskwright.planning.plan import Plan


def masked_in_rows(plan: Plan) -> dict[str, Step]:
    """Variables whose published values stand in the rows of the original ones, with their steps: rows may show them.

    Of categories that become coarser the order shows no more than they do, and of those that are suppressed it is
    examined which cells are. The order of numbers shows where each is among all.
    """
    found: dict[str, Step] = {}
    for group, step in with_steps(plan.groups, plan.steps):
        claims = step.method.claims
        if claims.draws_records or not step.method.changes_cells:
            continue
        is_only_of_numbers = step.only_removes or "detail" in claims.removes
        for name in group.variables:
            variable = plan.variables[name]
            if not variable.as_is and name not in plan.drawn and (variable.is_numeric or not is_only_of_numbers):
                found.setdefault(name, step)
    return found


MOST_IN_COMMON = 3
"""Other variables that the records before and after may have to have in common with one: those with fewest values."""


def shown_by_neighbours(cells: Integers, common: Integers, *, are_next: bool) -> Integers:
    """What the nearest published cells before and after each show, where they agree; -1: nothing; shape (n,).

    `cells`: codes in the order, -1 where missing or not published; shape (n,). `common`: codes that the three records
    have to have in common, -1 where missing; shape (n,). `are_next`: whether they have to follow each other.
    """
    places, last = np.arange(len(cells)), len(cells) - 1
    before, after = places - 1, places + 1
    if not are_next:
        before, after = _last_shown(cells), last - _last_shown(cells[::-1])[::-1]
    agree = (before >= 0) & (after <= last) & (common >= 0)
    before, after = np.maximum(before, 0), np.minimum(after, last)
    agree &= (cells[before] == cells[after]) & (common[before] == common) & (common[after] == common)
    return np.where(agree, cells[before], -1)


def _last_shown(cells: Integers) -> Integers:
    """Place of the nearest published cell before each, -1 where there is none; shape (n,)."""
    places = np.maximum.accumulate(np.where(cells >= 0, np.arange(len(cells)), -1))
    return np.concatenate([[-1], places[:-1]]).astype(np.int64)


class Neighbours:
    """What records next to each other show of a variable: all of them, and those with another variable in common.

    Nothing where the order has nothing to do with the variable, or only by chance.

    `common`: variables that may be in common. `rows`: the records in an order of their own; shape (m,). `tests`: what
    is examined at once. `are_alike`: whether the rules about all values together hold where no cell is hidden.
    """

    def __init__(
        self,
        data: Dataset,
        name: str,
        common: Sequence[str] = (),
        rows: Integers | None = None,
        tests: int = 1,
        codes: ValueCodes | None = None,
    ) -> None:
        codes = codes or ValueCodes(data)
        own, first, self._run = in_order(codes.of(name), data.households, rows)
        self._name, self._rows = name, np.arange(len(data)) if rows is None else rows
        self._first, self._own = self._rows[first], own[first]
        self._families = 2 * (1 + len(common)) * (1 + codes.distinct(name)) * tests
        self._related: dict[str, tuple[Integers, Integers]] = {}
        self.are_alike = False
        if not is_in_runs(self._own, tests=tests):
            return
        from maskwright.disclosure.decision import ALL, claims_of, relations  # a plan needs it for such orders only

        for other in ("", *(each for each in common if each != name)):
            held = codes.of(other)[self._first] if other else np.zeros(len(self._own), dtype=np.int64)
            named = shown_by_neighbours(self._own, held, are_next=False)
            related = relations(claims_of(named, self._own, self._own), self._families)
            if len(related):
                self._related[other] = held, related
                self.are_alike |= bool(ALL in related)

    def certain_records(self, hidden: CellMasks) -> Iterator[tuple[str, Booleans]]:
        """Hidden cells that the neighbours imply, rightly, by what these have in common, "" for nothing; shape (n,)."""
        from maskwright.disclosure.decision import certain_cells

        seen = np.where(hidden[self._name][self._first], -1, self._own)
        for other, (held, related) in self._related.items():
            shown = np.where(hidden[other][self._first], -1, held) if other in hidden else held
            for are_next in (True, False):
                named = shown_by_neighbours(seen, shown, are_next=are_next)
                certain = certain_cells(named, self._own, seen, related, self._families) & (named == self._own)
                cells = np.zeros(len(hidden[self._name]), dtype=np.bool_)
                cells[self._rows] = certain[self._run]
                yield other, cells & hidden[self._name]


def is_in_runs(codes: Integers, tests: int = 1) -> bool:
    """Whether equal codes follow each other, and not by chance: in pairs of which no record is in two.

    `codes`: -1 where missing: these are left out; shape (n,). `tests`: what is examined at once.
    """
    found = codes[codes >= 0]
    counts, n = np.bincount(found), len(found)
    if n < 3:
        return False
    from scipy.special import bdtrc  # heavy

    alike, equal = float(counts @ (counts - 1)) / (n * (n - 1)), found[1:] == found[:-1]
    by_chance = [bdtrc(np.count_nonzero(each) - 1, len(each), alike) for each in (equal[::2], equal[1::2])]
    return bool(alike < 1 and 2 * min(by_chance) * BY_CHANCE * tests < 1)


def in_runs(data: Dataset, names: Collection[str], codes: ValueCodes) -> tuple[str, ...]:
    """Variables of which equal values follow each other in the file, those with the fewest."""
    tried = [name for name in names if name in data and 1 < codes.distinct(name) < len(data)]
    found = [name for name in tried if is_in_runs(codes.of(name), tests=len(tried))]
    return tuple(sorted(found, key=codes.distinct)[:MOST_IN_COMMON])


def rules_of_neighbours(codes: ValueCodes, name: str, common: Sequence[str]) -> Iterator[tuple[str, Integers]]:
    """What records before and after each show in a file, as it is published, by rule; codes, shape (n,)."""
    own = codes.of(name)
    for other in ("", *(each for each in common if each != name)) if is_in_runs(own) else ():
        held = codes.of(other) if other else np.zeros_like(own)
        for are_next, which in ((True, "the records"), (False, "the nearest records with a value")):
            also = f", and the same {other}" if other else ""
            yield f"{which} before and after{also}", shown_by_neighbours(own, held, are_next=are_next)


def file_order_doubts(
    plan: Plan, data: Dataset, names: Collection[str] | None = None, remedy: str = RANDOM_ORDER
) -> Iterator[Doubt]:
    """Doubts about masked variables that the file is sorted by: its order shows what they were.

    `names`: that are examined; None: all. `remedy`: how the records are published in random order.
    """
    masked = masked_in_rows(plan)
    examined = [name for name in masked if name in data and (names is None or name in names)]
    codes, tests = ValueCodes(data), len(masked)
    categories = [name for name in examined if not plan.variables[name].is_numeric]
    common = in_runs(data, plan.untouched, codes) if categories else ()
    for name in examined:
        if name not in categories:
            is_shown, how = is_in_order(data, name, tests), "the file is sorted by it"
        elif is_shown := is_in_blocks(data, name, None, tests, codes):
            how = "the file is sorted by it"
        else:
            is_shown = Neighbours(data, name, common, None, tests, codes).are_alike
            how = "the records before and after have the same value, as members of a household that stand together"
        if is_shown:
            step, message = masked[name], f"it can be inferred from the order of the records: {how}"
            yield Doubt("follows-from-published", name, message, place=step.place, hint=remedy, step=step.number)


def number_order_doubts(plan: Plan, data: Dataset, published: Collection[str]) -> Iterator[Doubt]:
    """Doubts about masked categories that lie in blocks where anybody sorts the records by a published number.

    What numbers have to do with numbers, and what single values say, is examined elsewhere, and not said again.
    """
    reported = {each.subject for each in plan.doubts if each.kind == "follows-from-published"}
    masked = {
        name: step for name, step in masked_in_rows(plan).items()
        if name in data and name not in reported and not plan.variables[name].is_numeric
    }  # fmt: skip
    plain = numbers_in_order(data, [name for name in published if name in data]) if masked else {}
    for name, number in blocks_in_order_of_numbers(data, tuple(masked), plain):
        step = masked[name]
        message = (
            f"it can be inferred from the order of {number}, published as it is: sorted by it, equal values follow"
        )
        yield Doubt(
            "follows-from-published", name, message, place=step.place, hint=remedy_of_number(number),
            step=step.number, given_by=number,
        )  # fmt: skip


def numbers_in_order(data: Dataset, names: Collection[str]) -> dict[str, Floats]:
    """Published numbers and dates, by which records can be sorted; what codes with digits show are dependencies."""
    ordered = [name for name in names if data[name].variable.is_numeric or data[name].variable.is_date]
    return {name: values for name, values in published_numbers(data, ordered) if name in data}


def remedy_of_number(number: str) -> str:
    """What to do about a published number whose order shows what is masked."""
    return f"Mask {number} in a step, recode it, or leave it out (`{number}: {{role: identifier}}`)."
