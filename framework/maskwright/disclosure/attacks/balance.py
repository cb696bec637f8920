"""Inference by equations: what published edits leave as the only value of an empty cell."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit import LinearPart
from maskwright.plugins.attack import Attack, Inference, Published

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.foundation.arrays import Floats
    from maskwright.foundation.no_params import NoParams


def infer_by_equations(published: Published, params: NoParams) -> Iterator[Inference]:  # noqa: ARG001 - of every attack
    """Cells that equations of the edits leave no choice: all others of the equation are published, or follow.

    Equations with a condition or a tolerance, and bounds, are not used: that is what a run examines when it suppresses
    cells itself.
    """
    numeric = {name for name in published.data.names if published.data[name].variable.is_numeric}
    equations = [
        part
        for edit in published.edits
        if edit.severity == "error" and len(edit.parts) == 1
        for part in edit.parts
        if isinstance(part, LinearPart) and part.relation == "==" and not part.tolerance
        if {name for name, _ in part.coefficients} <= numeric
    ]
    values = {name: published.values(name) for part in equations for name, _ in part.coefficients}
    empty = {name: np.isnan(each) for name, each in values.items()}
    growing = True
    while growing:
        growing = False
        for part in equations:
            for name, _ in part.coefficients:
                open_ = np.isnan(values[name])
                solved = _solved(part, name, values)
                found = open_ & np.isfinite(solved)
                if found.any():
                    values[name] = np.where(found, solved, values[name])
                    growing = True
    for name in published.targets:
        of_name = [part for part in equations if name in dict(part.coefficients)]
        if of_name:
            said = _solved(of_name[0], name, values)
            for part in of_name[1:]:
                said = np.where(np.isnan(said), _solved(part, name, values), said)
            said = np.where(empty[name] & np.isfinite(values[name]), values[name], said)
            yield Inference(name, "the equations of the edits", said, exact=True)


def _solved(part: LinearPart, name: str, values: dict[str, Floats]) -> Floats:
    """What an equation says of one of its variables; NaN where another is not known."""
    coefficients = dict(part.coefficients)
    known = [float(each) * values[other] for other, each in coefficients.items() if other != name]
    found: Floats = (float(part.constant) - np.sum(known, axis=0)) / float(coefficients[name])
    # A sum of decimals in binary64 is off by less than what is published.
    return np.round(found, 9)


EQUATION = Attack(
    name="equation",
    infer=infer_by_equations,
    reference="Fischetti, Salazar (2001), Cell suppression with linear constraints, Management Science 47(7).",
    summary="What equations of the edits leave as the only value: a part that its total gives away.",
)
