"""Running cells: data are read once for each edit set, and every cell is masked and measured in memory."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from maskwright.commands.running.arrive import CheckedInput, arrive
from maskwright.commands.running.ready import plan_of
from maskwright.commands.running.refused_steps import refuse_steps
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.foundation.errors import MaskwrightError, Place
from maskwright.foundation.progress import Quiet
from maskwright.masking.context import Execution
from maskwright.masking.equivalence_classes import class_sizes
from maskwright.masking.mask import mask
from maskwright.release.measures.compared_variables import released_categories, released_variables
from maskwright.release.measures.measuring import compute_measures

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.experiments.experiment import Cell
    from maskwright.pipeline.resolved import MeasureRequest
    from maskwright.planning.plan import Plan
    from maskwright.plugins.measurement import Measurement


@dataclass(eq=False)
class CellRunner:
    """Where cells are run, one after the other."""

    _arrived: dict[str, CheckedInput] = field(default_factory=dict)

    def arrived(self, cell: Cell) -> CheckedInput:
        """Data and edits of a cell, read when a cell first needs them."""
        if cell.edits not in self._arrived:
            self._arrived[cell.edits] = arrive(cell.pipeline, Quiet())
        return self._arrived[cell.edits]

    def run(self, cell: Cell, seed: int, measures: Sequence[MeasureRequest]) -> dict[str, Any]:
        """Run a cell once.

        Returns plain data without any value of a record: ``status`` ("ok" or "failed"), ``problem`` (one line, of a
        cell that failed), ``violations`` (of edits of severity error), ``adjusted`` (records, summed over edits),
        ``smallest_class`` (of equal whole records), ``measures`` (label to value, parts, and variables left out),
        ``seconds``.
        """
        start = time.perf_counter()
        try:
            found = self._observed(cell, seed, measures)
        except MaskwrightError as error:
            found = {"status": "failed", "problem": one_line(error)}
        except MemoryError:
            found = {"status": "failed", "problem": "there is not enough memory for this cell"}
        except Exception as error:  # noqa: BLE001 - a bug of one plugin must not take the other cells down
            # The message of a bug may hold values of records: only its kind is told.
            found = {"status": "failed", "problem": f"a bug in Maskwright or in a plugin ({type(error).__name__})"}
        return found | {"seconds": time.perf_counter() - start}

    def _observed(self, cell: Cell, seed: int, measures: Sequence[MeasureRequest]) -> dict[str, Any]:
        refuse_steps(cell.pipeline)
        arrived = self.arrived(cell)
        active = cell.active
        plan = plan_of(active if active.steps else cell.pipeline, arrived)
        original, edits, released = arrived.original, plan.edits, plan.edits
        if active.steps:
            result = mask(original, edits, plan, seed, Execution(), Quiet())
            released, domain = result.edits, result.domain(original)
            masked, adjusted, smallest = result.masked, sum(result.adjusted.values()), result.k["records"]["smallest"]
        else:
            masked, adjusted = original.without(plan.dropped), 0
            domain = Domain.from_dataset(original, domain_tuples(edits))
            smallest, _ = class_sizes(masked, masked.names, 2)
        outcome = check_dataset(masked, released, domain)
        names = (
            *released_variables(original, masked, plan.masked, plan.recoded),
            *released_categories(original, masked, plan.masked),
        )
        return {
            "status": "ok",
            "problem": None,
            "violations": sum(each.violations for each in outcome.edits if each.severity == "error"),
            "adjusted": adjusted,
            "smallest_class": smallest,
            "measures": _measured(
                measures,
                original,
                masked,
                plan.edits_on_values,
                plan,
                seed,
                names,
                plan.masked if active.steps else (),
            ),
        }


def one_line(error: MaskwrightError) -> str:
    """First problem of an error, with its place, how many more there are, and what to do.

    Of the file only the name is told: a table must not depend on the folder.
    """
    first, more = error.problems[0], len(error.problems) - 1
    place = Place() if first.place is None else first.place
    where = str(replace(place, file=None if place.file is None else Path(place.file).name))
    remedy = "" if not first.hint else f". What to do: {' '.join(first.hint.split())}"
    return f"{where + ': ' if where else ''}{first.message}" + (f" (and {more} more)" if more else "") + remedy


def _measured(
    measures: Sequence[MeasureRequest],
    original: Dataset,
    masked: Dataset,
    edits: EditSet,
    plan: Plan,
    seed: int,
    names: tuple[str, ...],
    changed: tuple[str, ...],
) -> dict[str, Any]:
    found = compute_measures(
        measures, original, masked, edits, plan.to_json(), seed, Quiet(), names, changed=changed, before=False,
        drawn=plan.draws_records,
    )  # fmt: skip
    return {label: _plain(each) for label, each in found.items()}


def _plain(found: Measurement) -> dict[str, Any]:
    """Value, parts, and what was not looked at; null for what is not defined. Notes are left to ``run``."""
    parts = {name: float(value) if math.isfinite(value) else None for name, value in found.parts.items()}
    value = float(found.value) if math.isfinite(found.value) else None
    return {"value": value, "parts": parts, "leaves_out": list(found.leaves_out)}
