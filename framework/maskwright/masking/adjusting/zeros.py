"""Structural zeros in adjusting: cells that are 0 stay 0, and no other becomes 0."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.record_chunk import Cells, number_cells
from maskwright.edits.algebra.conditions import expression_of
from maskwright.edits.edit import Edit, LinearPart, RangePart
from maskwright.edits.edit_set import EditSet
from maskwright.masking.adjusting.constraint_system import RELATIVE

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright.data.variable import Variable
    from maskwright.foundation.arrays import Booleans, Floats


@dataclass(frozen=True, eq=False)
class ZeroTargets:
    """What structural zeros ask of rows that are records.

    `variables`: those of the adjustment unit. `zeros`, `others`: cells that have to be 0, and that may not be; shape
    (r, q). `side`: 1 where such a cell may not be negative, -1 where it may not be positive; shape (r, q). `stated`:
    variables of which an edit or a declaration says so; shape (q,).
    """

    variables: tuple[Variable, ...]
    zeros: Booleans
    others: Booleans
    side: Floats
    stated: Booleans
    scale: Floats

    @classmethod
    def of(
        cls, variables: Sequence[Variable], zeros: Booleans, others: Booleans, values: Floats, edits: EditSet,
        scale: Floats,
    ) -> ZeroTargets:  # fmt: skip
        """Each cell on the side of 0 on which its masked value lies, or on that which edits leave."""
        side = np.where(values < 0, -1.0, 1.0)
        signs = dict(_signs(edits))
        stated = np.zeros(len(variables), dtype=np.bool_)
        for place, variable in enumerate(variables):
            low, high = variable.lower, variable.upper
            declared = 1.0 if low is not None and low >= 0 else -1.0 if high is not None and high <= 0 else None
            one = signs.get(variable.name, declared)
            if one is not None:
                side[:, place], stated[place] = one, True
        return cls(tuple(variables), zeros, others, side, stated, scale)

    def reflected(self, values: Floats) -> Floats:
        """Masked values, those beyond 0 mirrored: moved to the nearest value, all would be the smallest one."""
        return np.where(self.others & (values * self.side < 0), -values, values)

    @property
    def held(self) -> Floats:
        """What cells have to be; NaN where they may be anything; shape (r, q)."""
        return np.where(self.zeros, 0.0, np.nan)

    def edits(self) -> EditSet:
        """Edits that keep other cells off 0; each reads a column of `companions`."""
        return EditSet(tuple(_edit(each.name, sign) for _, each, sign in self._bounded()))

    def companions(self) -> dict[str, Cells]:
        """How near to 0 the cells may come, by side; missing where any value will do."""
        found = {}
        for place, each, sign in self._bounded():
            free = ~(self.others[:, place] & (self.side[:, place] == sign))
            step = 10.0**-each.decimals if each.decimals is not None else RELATIVE * float(self.scale[place])
            bound = np.where(free, np.nan, sign * step)
            found[_bound(each.name, sign)] = number_cells(bound, free, each.decimals)
        return found

    def without(self, rows: Booleans) -> ZeroTargets:
        """The same without some rows, which may be anything; `rows`: shape (r,)."""
        return replace(self, zeros=self.zeros & ~rows[:, None], others=self.others & ~rows[:, None])

    def without_sides(self, rows: Booleans) -> ZeroTargets:
        """The same where other cells of some rows are on any side of 0, or at it, if not stated; `rows`: shape (r,)."""
        return replace(self, others=self.others & (~rows[:, None] | self.stated))

    def with_sides_of(self, values: Floats, rows: Booleans) -> ZeroTargets:
        """The same where cells of some rows are on the side of these values, if not stated; `rows`: shape (r,)."""
        chosen = np.where(values < 0, -1.0, 1.0)
        return replace(self, side=np.where(rows[:, None] & ~self.stated, chosen, self.side))

    def _bounded(self) -> Iterator[tuple[int, Variable, int]]:
        for place, each in enumerate(self.variables):
            for sign in (1, -1):
                if (self.others[:, place] & (self.side[:, place] == sign)).any():
                    yield place, each, sign


def _signs(edits: EditSet) -> Iterator[tuple[str, float]]:
    """Variables that edits keep on one side of 0."""
    for edit in edits:
        for part in edit.parts:
            if isinstance(part, RangePart) and part.texts is None:
                if part.low is not None and part.low >= 0:
                    yield part.variable, 1.0
                elif part.high is not None and part.high <= 0:
                    yield part.variable, -1.0


def _bound(name: str, sign: int) -> str:
    return f"structural zeros of {name}" if sign > 0 else f"structural zeros of {name}, negative"


def _edit(name: str, sign: int) -> Edit:
    bound = _bound(name, sign)
    part = LinearPart(((name, Fraction(1)), (bound, Fraction(-1))), ">=" if sign > 0 else "<=", Fraction(0))
    return Edit(bound, expression_of(part), (part,), part.variables, bound)
