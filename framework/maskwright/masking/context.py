"""What is fixed during one masking: the original, the plan, the seed, edits as published, and units of distance."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.type_resolution import with_category_equalities
from maskwright.foundation.progress import Quiet
from maskwright.foundation.randomness import generator
from maskwright.masking.protecting.method_contract import checked_masked
from maskwright.planning.recoded_edits import recoded_alone, settled
from maskwright.plugins.block import Block, Gathered
from maskwright.plugins.guarding.frozen import read_only
from maskwright.plugins.guarding.origin import in_step
from maskwright.plugins.method import Masked, Method, Removed

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from maskwright.data.dataset import Column, Dataset
    from maskwright.data.variable import Band, Variable
    from maskwright.edits.edit import Edit
    from maskwright.edits.translation.translate import Translation
    from maskwright.foundation.arrays import Floats
    from maskwright.foundation.processes.function_pool import FunctionWorkers
    from maskwright.foundation.progress import Reporter
    from maskwright.pipeline.file_model import ExecutionSection
    from maskwright.planning.model import AdjustmentUnit
    from maskwright.planning.plan import Plan


Observer = Callable[[int, str, Block, Masked | Removed | None], None]
"""Called with the step, its method and a block: before masking with None, and after with what the method returned."""


@dataclass(frozen=True)
class Execution:
    """How to run.

    `workers`: blocks masked at the same time, in threads or processes. `block_size`: largest block of records; None:
    exact, the whole stratum at once. `processes`: whether methods run in processes instead of threads.
    """

    workers: int = 1
    block_size: int | None = None
    processes: bool = False

    @classmethod
    def of(cls, section: ExecutionSection) -> Execution:
        """How a pipeline says that it is run."""
        return cls(section.at_once, section.block_size, section.processes)


@dataclass(frozen=True, eq=False)
class WholeFile:
    """What is known of a whole file of which only some records are here.

    `present`: cells with a value, of each numeric variable. `measured`: masked numeric variables that have a value.
    `domain`: combinations that occur in it, for domain edits. `first`: number of the first of the records here, where
    they follow each other in the file.
    """

    records: int
    present: Mapping[str, int]
    measured: int
    domain: Domain
    first: int = 0


@dataclass(frozen=True, eq=False)
class MaskingContext:
    """What every step of one masking reads and none changes.

    `edits`: that the masked data have to satisfy. `seed`: every random draw comes from a generator of this seed and a
    name of its own. `observe`: called for each block before and after a method masks it. `terms`: in which the edits on
    recoded variables are said; None: no variable is recoded yet. `workers`: processes that methods run in; None: they
    run in threads. `whole`: of which `original` holds some records; None: it holds all. `gathered`: what all records of
    the file gave to a method that gathers; None: those here are all.
    """

    original: Dataset
    edits: EditSet
    plan: Plan
    seed: int
    execution: Execution
    reporter: Reporter
    observe: Observer | None = None
    terms: PublishedTerms | None = None
    workers: FunctionWorkers | None = None
    whole: WholeFile | None = None
    gathered: Mapping[int, Gathered] | None = None

    @property
    def reference(self) -> Dataset:
        """The original, with the categories that are published in the place of the values of recoded variables."""
        return self.original if self.terms is None else self.terms.reference

    @cached_property
    def domain(self) -> Domain:
        """Combinations of values in the original, for domain edits."""
        if self.whole is not None:
            return self.whole.domain
        return Domain.from_dataset(self.reference, domain_tuples(self.edits))


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
    """Context whose edits are those of the variables as they are now."""
    plan, coarse = context.plan, context.plan.coarse
    published = {
        name: shown[name].variable for name in coarse.steps
        if name in shown and shown[name].variable.categories != coarse.original[name].categories
    }  # fmt: skip
    before = {} if context.terms is None else context.terms.variables
    if published == before:
        return context
    alike = {name: original_in_categories(context.original[name], each) for name, each in published.items()}
    reference = context.original.with_columns({name: each for name, each in alike.items() if each is not None})
    stated = [edit for edit in plan.edits if coarse.read_by(edit)]
    found = settled(
        EditSet(tuple(stated)), coarse, published, lambda names: _is_whole(names, context.original, reference)
    )
    became = {edit.name: edit for edit in with_category_equalities(found.edits, shown.variables)}
    dropped = {edit.name for edit in found.dropped}
    edits = tuple(
        became.get(edit.name, edit) for edit in (*plan.edits, *(each for each in context.edits if each.name not in
        {one.name for one in plan.edits})) if edit.name not in dropped
    )  # fmt: skip

    def without(unit: AdjustmentUnit) -> AdjustmentUnit:
        return replace(unit, edits=tuple(name for name in unit.edits if name not in dropped))

    units, categories = (tuple(map(without, each)) for each in (plan.units, plan.category_units))
    return replace(
        context, edits=EditSet(edits, context.edits.notes),
        plan=replace(plan, units=units, category_units=categories),
        terms=PublishedTerms(published, reference, found.translations, found.dropped),
    )  # fmt: skip


def refuse_untranslatable(plan: Plan, variables: Sequence[Variable], original: Dataset) -> None:
    """Stop where an edit cannot be expressed in the categories that steps are going to make of the original."""
    coarse = plan.coarse
    if coarse.tried.issubset(coarse.foreseen):
        return
    read = [edit for edit in plan.edits if (names := coarse.read_by(edit)) and coarse.tried.issuperset(names)]
    if not read:
        return
    made = {}
    for name, step in recoded_alone(plan.steps, variables, coarse).items():
        column = original[name]
        values = np.where(column.missing, np.nan, column.values.astype(np.float64))
        block = Block(read_only(values[:, None]), read_only(column.missing[:, None]), (column.variable,))
        assert isinstance(step.method, Method)
        assert step.method.protect is not None
        with step.placed(step.number, step.method.name), in_step(step.number):
            returned = step.method.protect(block, step.params, generator(0))
            masked = checked_masked(step.method, step.params, block, returned)
        if masked.variables is not None:
            made[name] = column.changed(masked.values[:, 0], masked.missing[:, 0], masked.variables[0])
    context = MaskingContext(original, plan.edits, replace(plan, edits=EditSet(tuple(read))), 0, Execution(), Quiet())
    in_published_terms(context, original.with_columns(made))


def original_in_categories(column: Column, published: Variable) -> Column | None:
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
        holding = [[code for code, band in enumerate(published.bands) if band.holds(each)] for each in categories]
        of_category = np.array([found[0] if len(found) == 1 else -1 for found in holding], dtype=np.int32)
        found = of_category[column.values[present].astype(np.int64)] if len(categories) else codes[present]
    codes[present] = found
    return column.changed(codes, codes < 0, published)


def _codes_of_numbers(values: Floats, bands: tuple[Band, ...]) -> NDArray[np.int32]:
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


@dataclass(frozen=True)
class Standardisation:
    """Centre and scale of each variable over the whole original file.

    `center`: mean of the cells that are not missing. `scale`: their standard deviation (ddof = 1); constant variables
    have scale 1.
    """

    center: Mapping[str, float]
    scale: Mapping[str, float]

    @classmethod
    def of(cls, data: Dataset, names: Sequence[str]) -> Standardisation:
        """Measure the named variables of the original file; missing cells left out."""
        center: dict[str, float] = {}
        scale: dict[str, float] = {}
        for name in names:
            column = data[name]
            present = np.asarray(column.values, dtype=np.float64)[~column.missing]
            center[name] = float(np.mean(present)) if len(present) else 0.0
            deviation = float(np.std(present - center[name], ddof=1)) if len(present) > 1 else 0.0
            # A spread that is rounding noise is no spread: dividing by it would make noise count as distance.
            noise = 1e-12 * (abs(center[name]) + float(np.max(np.abs(present), initial=0.0)))
            scale[name] = deviation if deviation > noise else 1.0
        return cls(center, scale)

    def updated(self, data: Dataset, names: Sequence[str]) -> Standardisation:
        """The same with the named variables measured again: they have become categories."""
        again = Standardisation.of(data, names)
        return Standardisation({**self.center, **again.center}, {**self.scale, **again.scale})
