"""What an experiment found, in a few lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from maskwright.experiments.results import request_of, sign_of
from maskwright.release.wording import names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright.experiments.results import Compared

MOST_SHOWN = 10
MOST_NAMED = 4


def summary_text(compared: Compared, *, every: bool = False) -> str:
    """Text that names the best cell by score, the front, and the cells that failed; or every cell too."""
    return "\n".join(_lines(compared, every=every)) + "\n"


def _lines(compared: Compared, *, every: bool) -> Iterator[str]:
    points = compared.points
    yield f"{len(points)} cells, {len(compared.runs)} runs."
    if compared.failed:
        yield f"{len(compared.failed)} cell(s) failed:"
        yield from _some([f"{name}: {problem}" for name, problem in compared.failed.items()])
    if compared.violating:
        yield f"{len(compared.violating)} cell(s) do not keep every edit and are neither best nor on the front:"
        yield from _some([f"{name}: {number} violation(s)" for name, number in compared.violating.items()])
    if compared.score is not None and compared.best is not None:
        yield f"Best by {compared.score}: {compared.best}, {_shown(compared, compared.best, compared.score)}."
        yield from _families(compared, compared.score)
    if compared.front:
        yield f"Not beaten in both {compared.risk} (risk) and {compared.loss} (loss): {len(compared.front)} cell(s)"
        most = len(compared.front) if every else MOST_SHOWN
        yield from (_cell(compared, name) for name in compared.front[:most])
        if len(compared.front) > most:
            yield f"  and {len(compared.front) - MOST_SHOWN} more, on the map"
    known = {*compared.front, *compared.failed}
    others = [cell.name for cell in compared.cells if cell.name not in known]
    if every and others:
        yield "The other cells:"
        yield from (_cell(compared, name) for name in others)
    for column in dict.fromkeys((compared.score, compared.risk, compared.loss)):
        yield from () if column is None else _left_out(compared, column)
    if compared.not_drawn is not None:
        yield f"The map was drawn as SVG only: {compared.not_drawn}."
    if compared.at_random:
        yield (
            f"{compared.risk} is counted in the masked file alone. Of {_cells(compared, compared.at_random)}, which "
            "draw values at random, it does not say who is found: measure linkage too."
        )
    yield (
        "These figures are of masked files that were made for comparison; a release is masked anew, with random "
        "numbers of its own."
    )


def _cell(compared: Compared, name: str) -> str:
    axes = dict.fromkeys((compared.score, compared.risk, compared.loss))
    said = [f"{axis} {_shown(compared, name, axis)}" for axis in axes if axis]
    return f"  {name}: {', '.join(said)}"


def _left_out(compared: Compared, column: str) -> Iterator[str]:
    """What a figure does not look at; losses of other variables cannot be compared."""
    request = request_of(compared.experiment, column)
    for left, cells in compared.left_out(column).items():
        hint = f"; name what it looks at: {{{request.label}: {{variables: [...]}}}}"
        takes = "variables" in request.measure.params.model_fields
        yield (
            f"{column} does not look at {names(left, MOST_SHOWN)} in {_cells(compared, cells)}"
            f"{hint if takes and len(cells) < len(compared.usable) else ''}."
        )


def _cells(compared: Compared, cells: Sequence[str]) -> str:
    """Some cells by name, or that it is all of those that mask."""
    return "every cell" if set(compared.usable) <= set(cells) else names(cells, MOST_NAMED)


def _some(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"  {line}" for line in lines[:MOST_SHOWN])
    if len(lines) > MOST_SHOWN:
        yield f"  and {len(lines) - MOST_SHOWN} more, in the table"


def _families(compared: Compared, score: str) -> Iterator[str]:
    """Best cell of each family, when there are several."""
    sign = sign_of(compared.experiment, score)
    masking = {cell.name for cell in compared.cells if cell.active.steps}
    points = compared.points
    points = points[points.index.isin(masking) & (points["violations"] == 0).fillna(False) & points[score].notna()]
    if points["family"].nunique() < 2:
        return
    best = (points[score] * sign).groupby(points["family"]).idxmin()
    ranked = sorted(best, key=lambda name: (sign * compared.value(name, score), name))
    yield "Best of each family:"
    for name in ranked:
        yield f"  {name}: {_shown(compared, name, score)}"


def _shown(compared: Compared, name: str, column: str) -> str:
    runs = int(compared.value(name, "runs") - compared.value(name, "failed"))
    deviation = compared.value(name, f"{column} sd")
    spread = "" if math.isnan(deviation) else f" (mean of {runs} runs, sd {deviation:.2f})"
    return f"{compared.value(name, column):.2f}{spread}"
