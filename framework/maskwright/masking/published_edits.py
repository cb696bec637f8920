"""Edits in terms of what is published, once the categories of recoded variables are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.category_equalities import with_category_equalities
from maskwright.edits.edit_set import EditSet
from maskwright.planning.recoded_edits import settled

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from numpy.typing import NDArray

    from maskwright.data.band import Band
    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.translation.translate import Translation
    from maskwright.masking.context import MaskingContext
    from maskwright.planning.model import AdjustmentUnit


@dataclass(frozen=True, eq=False)
class PublishedTerms:
    """Recoded variables as they are published, and what became of their edits.

    `reference`: the original, recoded alike: what domain edits refer to. `dropped`: besides those that the plan has
    dropped.
    """

    variables: Mapping[str, Variable]
    reference: Dataset
    translations: tuple[Translation, ...] = ()
    dropped: tuple[Edit, ...] = ()


def in_published_terms(context: MaskingContext, shown: Dataset) -> MaskingContext:
    """Context whose edits are those of the variables as they are now.

    `shown`: masked so far: its recoded variables say what their categories stand for.
    """
    plan, coarse = context.plan, context.plan.coarse
    published = {
        name: shown[name].variable for name in coarse.steps
        if name in shown and shown[name].variable.categories != coarse.original[name].categories
    }  # fmt: skip
    before = {} if context.terms is None else context.terms.variables
    if published == before:
        return context
    alike = {name: recoded_alike(context.original[name], each) for name, each in published.items()}
    reference = context.original.with_columns({name: each for name, each in alike.items() if each is not None})
    stated = [edit for edit in plan.edits if coarse.read_by(edit)]
    found = settled(
        EditSet(tuple(stated)), coarse, published, lambda names: _is_whole(names, context.original, reference)
    )
    became = {edit.name: edit for edit in with_category_equalities(found.edits, shown.variables)}
    gone = {edit.name for edit in found.dropped}
    edits = tuple(
        became.get(edit.name, edit) for edit in (*plan.edits, *(each for each in context.edits if each.name not in
        {one.name for one in plan.edits})) if edit.name not in gone
    )  # fmt: skip

    def without(unit: AdjustmentUnit) -> AdjustmentUnit:
        return replace(unit, edits=tuple(name for name in unit.edits if name not in gone))

    units, categories = (tuple(map(without, each)) for each in (plan.units, plan.category_units))
    return replace(
        context, edits=EditSet(edits, context.edits.notes),
        plan=replace(plan, units=units, category_units=categories),
        terms=PublishedTerms(published, reference, found.translations, found.dropped),
    )  # fmt: skip


def recoded_alike(column: Column, published: Variable) -> Column | None:
    """Original column in the categories of the published variable, missing where a value has not exactly one of them.

    None where it is not known what the categories stand for.
    """
    codes = np.full(len(column), -1, dtype=np.int32)
    present = ~column.missing
    if len(published.bands) != len(published.categories):
        return None
    if column.variable.is_numeric:
        found = _codes_of_numbers(column.values[present].astype(np.float64), published.bands)
    else:
        categories = column.variable.categories
        of_category = np.array(
            [_only([code for code, band in enumerate(published.bands) if band.holds(each)]) for each in categories],
            dtype=np.int32,
        )
        found = of_category[column.values[present].astype(np.int64)] if len(categories) else codes[present]
    codes[present] = found
    return column.changed(codes, codes < 0, published)


def _only(codes: list[int]) -> int:
    return codes[0] if len(codes) == 1 else -1


def _codes_of_numbers(values: NDArray[np.float64], bands: tuple[Band, ...]) -> NDArray[np.int32]:
    """Band of each number; -1 where it is in none, or in several."""
    distinct, places = np.unique(values, return_inverse=True)
    found = np.full(len(distinct), -1, dtype=np.int32)
    times = np.zeros(len(distinct), dtype=np.int64)
    for code, band in enumerate(bands):
        if band.members is not None:
            inside = np.isin(distinct, [float(each) for each in band.members])
        else:
            inside = (distinct >= band.lower) & (distinct < band.upper)
            inside |= band.upper_inclusive & (distinct == band.upper)
        found[inside] = code
        times += inside
    found[times != 1] = -1
    return found[places.ravel()]


def _is_whole(names: tuple[str, ...], original: Dataset, reference: Dataset) -> bool:
    """Whether each recoded combination that occurs stands for combinations that occur, and no others."""
    before = _distinct(original, names)
    after = _distinct(reference, names, also=original)
    possible = after[[f"{name} after" for name in names]].drop_duplicates()
    counts = np.ones(len(possible), dtype=np.int64)
    for name in names:
        if reference[name].variable != original[name].variable:
            # How many values of the original are in each category.
            pairs = after[[f"{name} after", name]].drop_duplicates()
            sizes = np.bincount(pairs[f"{name} after"].to_numpy(dtype=np.int64))
            counts *= sizes[possible[f"{name} after"].to_numpy(dtype=np.int64)]
    return int(counts.sum()) == len(before)


def _distinct(data: Dataset, names: tuple[str, ...], also: Dataset | None = None) -> pd.DataFrame:
    """Combinations that occur, without missing cells."""
    import pandas as pd  # heavy: workers of a large run do without

    complete = ~np.logical_or.reduce([data[name].missing for name in names])
    columns = {name: (also or data)[name].values[complete] for name in names}
    if also is not None:
        columns |= {f"{name} after": data[name].values[complete] for name in names}
    return pd.DataFrame(columns).drop_duplicates()
