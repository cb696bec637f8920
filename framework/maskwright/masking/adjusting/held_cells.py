"""Cells that keep a value of their own, row by row, while others move: equalities with a companion."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.record_chunk import number_cells
from maskwright.edits.algebra.parts import expression_of
from maskwright.edits.edit import Edit, LinearPart
from maskwright.edits.edit_set import EditSet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from maskwright.masking.adjusting.targets import Targets


def held_edits(names: Sequence[str], held: NDArray[np.float64]) -> EditSet:
    """Equality for each variable that some row holds.

    `held`: NaN where a cell may be anything; shape (r, q).
    """
    return EditSet(tuple(_edit(name) for name, column in zip(names, held.T, strict=True) if _any_known(column)))


def with_held(targets: Targets, held: NDArray[np.float64]) -> Targets:
    """Targets with the values that cells are held at beside them.

    `held`: shape (r, q).
    """
    columns = {
        _companion(variable.name): number_cells(column, np.isnan(column), variable.decimals)
        for variable, column in zip(targets.variables, held.T, strict=True)
        if _any_known(column)
    }
    return replace(targets, companions={**targets.companions, **columns})


def _any_known(column: NDArray[np.float64]) -> bool:
    return bool((~np.isnan(column)).any())


def _companion(name: str) -> str:
    return f"held {name}"


def _edit(name: str) -> Edit:
    part = LinearPart(((name, Fraction(1)), (_companion(name), Fraction(-1))), "==", Fraction(0))
    return Edit(_companion(name), expression_of(part), (part,), part.variables, _companion(name))
