"""What the page Map is told of an experiment: every cell with its figures, and the pipeline that choosing it writes."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import maskwright as mw

if TYPE_CHECKING:
    from maskwright import Compared


def compared_cells(compared: Compared, folder: Path) -> dict[str, Any]:
    """Cells of an experiment as plain data.

    `folder`: that names of pipelines are relative to. Returns ``risk``, ``loss``, ``score``: columns; ``columns``: all
    of them; ``units``: of measures, by column; ``best``, ``front``: cells; ``cells``: each with ``figures`` by column,
    ``why_not`` it can be chosen, and else its ``pipeline`` and the ``file`` of that.
    """
    labels = [each.label for each in compared.experiment.measures]
    measured = [
        column for column in map(str, compared.points.columns)
        if not column.endswith(" sd") and any(column == label or column.startswith(f"{label}.") for label in labels)
    ]  # fmt: skip
    cells = []
    for cell in compared.cells:
        figures = {column: compared.value(cell.name, column) for column in measured}
        why_not, file, text = "", "", ""
        try:
            path, text = compared.pipeline_text(cell.name)
            file = Path(os.path.relpath(path, folder)).as_posix()
        except mw.InputError as error:
            why_not = error.problems[0].message
        cells.append(
            {
                "name": cell.name, "family": cell.family, "edits": cell.edits,
                "settings": {name: str(value) for name, value in cell.values.items()},
                "figures": {column: value if math.isfinite(value) else None for column, value in figures.items()},
                "why_not": why_not, "pipeline": text, "file": file,
            }
        )  # fmt: skip
    units = {
        column: each.measure.unit for column in measured for each in compared.experiment.measures
        if column == each.label
    }  # fmt: skip
    return {
        "units": units, "risk": compared.risk, "loss": compared.loss, "score": compared.score, "columns": measured,
        "best": compared.best, "front": list(compared.front), "cells": cells,
        "computed": compared.computed, "cached": compared.cached, "folder": compared.folder.name,
    }  # fmt: skip
