"""Findings about suppressed cells: derivable ones, undecided ones, and complementary cells of other variables."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import ValueCodes
from maskwright.data.record_order import RANDOM_ORDER, orders_of_numbers
from maskwright.disclosure.attacks.dependency import describe_paths, remedy_of_paths, remedy_of_variable
from maskwright.disclosure.attacks.record_order import Neighbours, in_runs, numbers_in_order, remedy_of_number
from maskwright.disclosure.published_cells import MOST_EFFORT
from maskwright.edits.evaluation.whole_files import is_file_test
from maskwright.edits.expression import MissingAs, nodes
from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from maskwright.data.dataset import Dataset
    from maskwright.disclosure.attacks.dependency import InferableCells
    from maskwright.disclosure.cells import CellMasks
    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Booleans
    from maskwright.masking.suppressing.complementary_suppression import Complement
    from maskwright.planning.plan import Plan


ABOUT_SEVERAL = (
    "Suppress no variable that the rule reads, or leave the rule out of the pipeline, or give it `severity: warning`."
)


def following_doubts(
    hidden: CellMasks,
    by_edits: Complement[str],
    inferable: InferableCells,
    edits: EditSet,
    shown: Dataset,
    keys: Collection[str],
) -> Iterator[Doubt]:
    """Doubts about the suppressed cells of each variable."""
    binding = [edit for edit in edits if edit.engine is not None and edit.severity == "error"]
    unanalysed = [edit.name for edit in binding if not is_file_test(edit)]
    # All that such a rule reads is known: where nothing of it is suppressed, it gives nothing away.
    together = [edit.name for edit in binding if is_file_test(edit) and not hidden.keys().isdisjoint(edit.named)]
    for name, gone in hidden.items():
        total = int(gone.sum())
        if not total or len(shown[name].variable.categories) == 1:
            continue
        if known := by_edits.known.get(name, 0):
            message = (
                f"{known} of {total} suppressed cells have one possible value only, by the edits alone or by cells "
                "that are empty as suppressed ones are"
            )
            hint = (
                "Suppress another key, look whether the edits say more than may be known, or give the variables with "
                "empty cells that these edits read `suppressed_as`."
            )
            yield Doubt("suppressed-cells-follow", name, message, known, total, hint=hint)
        if name in inferable.left:
            ways = inferable.by[name]
            hint = remedy_of_paths(name, ways, is_key=name in keys)
            count = int(inferable.left[name].sum())
            yield Doubt("suppressed-cells-follow", name, describe_paths(ways, total), count, total, hint=hint)
        disclosed = by_edits.disclosed.get(name, np.False_) | inferable.disclosed.get(name, np.False_)
        if count := int(np.sum(disclosed)):
            message = (
                f"{count} of {total} suppressed cells follow from the pattern of empty cells: no other value, and no "
                "other record, would have led to it"
            )
            own = remedy_of_variable(name, is_key=name in keys)
            hint = f"{own}; or ask for a larger k: with more cells none stands alone."
            yield Doubt("suppressed-cells-follow", name, message, count, total, hint=hint)
        if undecided := by_edits.undecided.get(name, 0):
            message = f"of {undecided} of {total} suppressed cells it is not decided whether edits give them away"
            if name in by_edits.given_up:
                message += f": the search ends after {MOST_EFFORT:,} conditions for one record"
            yield Doubt("suppressed-cells-undecided", name, message, undecided, total)
        if together:
            message = (
                f"whether {', '.join(together)} gives its {total} suppressed cells away is not known: what a rule "
                "about several records says of a single cell is not computed"
            )
            yield Doubt("suppressed-cells-undecided", name, message, total, total, hint=ABOUT_SEVERAL)
        if unanalysed:
            yield Doubt(
                "suppressed-cells-undecided",
                name,
                f"whether {', '.join(unanalysed)} gives its {total} suppressed cells away is not known: only an engine "
                "understands the test",
                total,
                total,
                hint="State the test in the subset that is understood, or give it `severity: warning`.",
            )


def lost_code_doubts(lost: CellMasks, edits: EditSet) -> Iterator[Doubt]:
    """Doubts about missing codes that are suppressed, where edits say in which records a code stands.

    `lost`: cells that lost their missing code; shape (n,).
    """
    for name, gone in lost.items():
        reading = [
            edit.name
            for edit in edits
            if any(isinstance(node, MissingAs) and node.operand.name == name for node in nodes(edit.expression))
        ]
        if reading:
            total = int(gone.sum())
            message = f"whether {', '.join(reading)} gives {total} suppressed missing codes away is not known"
            hint = f"Make one of the codes of {name} before, or leave the edit out if it holds by definition alone."
            yield Doubt("suppressed-cells-undecided", name, message, total, total, hint=hint)


def order_doubts(
    shown: Dataset,
    masked: Dataset,
    untouched: Collection[str] = (),
    inferred: Collection[str] = (),
    *,
    is_shuffled: bool = False,
    remedy: str = RANDOM_ORDER,
) -> Iterator[Doubt]:
    """Doubts about suppressed cells that stand between records with their own value, in an order that is published.

    Examined are the order of the original, unless the records are shuffled, of which the records before and after may
    have another variable in common, and those in which the numbers put them that are published as they are, where a
    record shows them: of variables whose cells are not `inferred` anyway, as from the records with the nearest numbers.
    `remedy`: how the records are published in random order.
    """
    hidden = {each.name: each.missing & ~shown[each.name].missing for each in masked if each.name in shown}
    hidden = {name: cells for name, cells in hidden.items() if cells.any()}
    kept = [name for name in untouched if name in masked and not masked[name].variable.renewed] if hidden else []
    numbers = numbers_in_order(masked, kept)
    orders = chain([] if is_shuffled else [("", None)], orders_of_numbers(numbers, shown.households))
    tests, codes = max(len(hidden) * (len(numbers) + 1), 1), ValueCodes(shown)
    published = [name for name in masked.names if name in shown] if hidden and not is_shuffled else []
    common = in_runs(shown, published, codes)
    reported: set[str] = set()
    for number, rows in orders if hidden else ():
        for name, cells in hidden.items():
            if name in reported or name == number or (number and name in inferred):
                continue
            disclosed, further = np.zeros(len(cells), dtype=np.bool_), []
            neighbours = Neighbours(shown, name, () if number else common, rows, tests, codes)
            for other, found in neighbours.certain_records(hidden):
                if other and np.any(found & ~disclosed):
                    further.append(other)
                disclosed |= found
            if not disclosed.any():
                continue
            reported.add(name)
            count, total = int(disclosed.sum()), int(cells.sum())
            lead = f"{count} of {total} suppressed cells stand between records with the same value"
            if further:
                lead += f", some of them also with the same {' or '.join(dict.fromkeys(further))}"
            if number:
                message = f"{lead} in the order of {number}, published as it is"
            else:
                message = f"{lead}: the file is sorted, or what belongs together, as a household, is"
            hint = remedy_of_number(number) if number else remedy
            yield Doubt("suppressed-cells-follow", name, message, count, total, hint=hint, given_by=number or None)


def complementary_cells(plan: Plan, hidden: CellMasks) -> dict[str, tuple[str, ...]]:
    """Variables that no step suppresses, with those beside whose suppressed cells theirs went."""
    primary = {name: hidden[name] for name in primary_suppressions(plan) if name in hidden}
    return {name: complementary_to(gone, primary, {}) for name, gone in hidden.items() if name not in primary}


def primary_suppressions(plan: Plan) -> tuple[str, ...]:
    """Variables of which steps suppress cells for reasons of their own."""
    named = {
        name for group in plan.groups if "cells" in plan.steps[group.step - 1].method.claims.removes
        for name in group.variables
    }  # fmt: skip
    return tuple(name for name in plan.variables if name in named)


def complementary_to(gone: Booleans, suppressed: CellMasks, others: CellMasks) -> tuple[str, ...]:
    """Variables beside whose suppressed cells others went: the fewest that account for them, those with most first.

    `gone`: cells of a variable that no step suppresses; shape (n,). `suppressed`: cells of the same records that steps
    suppress; shape (n,). `others`: cells of other records, said of these: of a household any of its members; shape
    (n,).
    """
    found: list[str] = []
    cells, left = {**others, **suppressed}, gone.copy()
    while left.any():
        counts = {name: (int(np.count_nonzero(own & left)), name in suppressed) for name, own in cells.items()}
        name = max(counts, key=lambda each: counts[each], default=None)
        if name is None or not counts[name][0]:
            break
        found.append(name)
        left &= ~cells[name]
    return tuple(found)
