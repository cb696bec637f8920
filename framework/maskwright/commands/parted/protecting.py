"""One block of a variable group: masked, and brought onto its edits with its clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.commands.parted.shuffling import MaskedGroup, arrays_of, dataset_of, gathered, spill, with_masked
from maskwright.commands.parted.task_settings import PartAtWork, Stored, empty, of_each_part
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Quiet
from maskwright.foundation.randomness import generator
from maskwright.masking.adjustment_totals import moved_facts, unit_facts
from maskwright.masking.context import Execution, MaskingContext, WholeFile, in_published_terms
from maskwright.masking.mask import group_work
from maskwright.masking.masked_value_checks import unchanged_counts
from maskwright.masking.protecting.assembling import with_group
from maskwright.masking.protecting.local import facts_of_records, protect_group
from maskwright.masking.unit_adjustment import adjust_unit, with_adjusted_values
from maskwright.planning.small_strata import standardised
from maskwright.planning.strata import Strata

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from maskwright.commands.parted.strata import Conditions, GroupCut, StratumOf
    from maskwright.commands.parted.task_settings import WholeVariable
    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.masking.context import PublishedTerms, Standardisation
    from maskwright.masking.protecting.assembling import GroupResult
    from maskwright.planning.model import Step
    from maskwright.planning.plan import Plan
    from maskwright.planning.small_strata import ZeroPatterns
    from maskwright.plugins.block import Gathered

OVERSIZE = 1.25
"""Leaves are quantiles of a sample: one that is larger than a block by more than this is cut again."""


@dataclass(frozen=True, eq=False)
class Masking:
    """What masking needs besides the records.

    `plan`: its groups have no strata of their own. `edits`: those of the plan and its limits. `terms`: in which the
    edits on recoded variables are said; None: no variable is recoded yet.
    """

    plan: Plan
    edits: EditSet
    standardisation: Standardisation
    whole: WholeFile
    seed: int
    block_size: int
    terms: PublishedTerms | None = None

    def in_terms_of(self, shown: Mapping[str, WholeVariable], original: Mapping[str, WholeVariable]) -> Masking:
        """The same with edits on recoded variables as they hold of what is published of these."""
        context = replace(self.context(empty(original)), edits=self.edits, terms=self.terms)
        found = in_published_terms(context, empty(shown))
        return replace(self, plan=found.plan, edits=found.edits, terms=found.terms)

    def context(self, data: Dataset, *name: str | int) -> MaskingContext:
        """Context of some of the records, with random numbers of their own."""
        own = int(generator(self.seed, "parted", *name).integers(2**63))
        execution = Execution(1, int(self.block_size * OVERSIZE))
        return MaskingContext(data.as_published(), self.edits, self.plan, own, execution, Quiet(), whole=self.whole)


@dataclass(frozen=True, eq=False)
class PatternSearch:
    """What finding the records takes that patterns of zeros may move; `numbers`: of combinations of conditions."""

    conditions: Conditions
    numbers: StratumOf
    patterns: ZeroPatterns
    center: tuple[float, ...]
    scale: tuple[float, ...]


CANDIDATES = "candidates"
"""File with the records of a part that patterns of zeros may move."""


@of_each_part
def find_candidates(part: PartAtWork, folder: Path) -> Mapping[str, object]:
    """Find the records of one part that patterns of zeros may move; a task."""
    task, original = part.content, part.original
    points = standardised(original.matrix(task.conditions.variables), np.array(task.center), np.array(task.scale))
    numbers = task.numbers.of(task.conditions, original, part.first)
    Stored.of(task.patterns.candidates(numbers, points, part.first), folder / CANDIDATES)
    return {}


@dataclass(frozen=True, eq=False)
class BlockMasking:
    """What the tasks of one step and group take that is cut into blocks.

    `units`: adjustment units whose clusters are those of the group, by position in the plan. `shuffled`: folders of the
    shuffle, one for each part; "" for one without records. `blocks`: first leaf, and that behind the last. `known`:
    variables as the steps before publish them.
    """

    masking: Masking
    cut: GroupCut
    columns: tuple[str, ...]
    units: tuple[int, ...]
    shuffled: tuple[str, ...]
    blocks: tuple[tuple[int, int], ...]
    known: Mapping[str, WholeVariable]


def protect_block(about: Stored, folder: Path, key: str) -> Mapping[str, object]:
    """Mask one block; a task."""
    task = about.read()
    first, last = task.blocks[int(key)]
    cut: GroupCut = task.cut
    arrays, part_of = _gathered(task.shuffled, cut.group, first, last)
    if last - first > 1:
        # Leaf by leaf is not the order of the file.
        order = np.lexsort((arrays["row"], part_of))
        arrays, part_of = {name: values[order] for name, values in arrays.items()}, part_of[order]
    data = dataset_of(arrays, task.columns, task.known)
    stratum = int(cut.stratum_of_leaf[first])
    masking: Masking = task.masking
    context = masking.context(data, masking.plan.groups[cut.group].step, cut.group, stratum, int(key))
    strata = Strata(np.zeros(len(data), dtype=np.int64), (), frozenset())
    columns, facts, result = _masked_group(data, cut.group, strata, task.units, masking, context)
    _refuse_changes(result, data, masking.plan, cut.group)
    spill(folder / "masked", {"row": arrays["row"], **columns}, part_of, len(task.shuffled))
    return facts


def _gathered(
    folders: Sequence[str], group: int, first: int, last: int
) -> tuple[dict[str, NDArray[np.generic]], NDArray[np.int64]]:
    """What all parts spilled of a group for some readers, in the order of the parts, and the part of each record."""
    from pathlib import Path as FilePath

    filled = [position for position, folder in enumerate(folders) if folder]
    arrays, counts = gathered([FilePath(folders[position]) / f"g{group}" for position in filled], first, last)
    return arrays, np.repeat(np.array(filled, dtype=np.int64), counts)


@dataclass(frozen=True, eq=False)
class MaskingInOnePlace:
    """What a group takes whose method needs all records at once: the columns that it reads, in the memory of one task.

    `before`: groups that are masked already. `units`, `known`: as `BlockMasking` has them. `categories`: variables of
    the group that are no numbers, as the original has them; how they spread is known once all records are together.
    """

    masking: Masking
    group: int
    conditions: Conditions
    stratum_of: StratumOf
    columns: tuple[str, ...]
    units: tuple[int, ...]
    before: tuple[MaskedGroup, ...]
    known: Mapping[str, WholeVariable]
    categories: Mapping[str, WholeVariable]


ORIGINAL = "original "
"""What the columns of categories begin with that are as the original has them."""


@of_each_part
def collect(part: PartAtWork, folder: Path) -> Mapping[str, object]:
    """Spill what masking a group in one place reads of one part; a task."""
    task, original = part.content, part.original
    current, _ = with_masked(original, task.before, part.position)
    columns: dict[str, NDArray[np.generic]] = {
        "row": np.arange(len(original), dtype=np.int32),
        "stratum": task.stratum_of.of(task.conditions, original, part.first),
        **arrays_of(current, task.columns, task.known),
        **{ORIGINAL + name: own for name, own in arrays_of(original, [*task.categories], task.categories).items()},
    }
    spill(folder / f"g{task.group}", columns, np.zeros(len(original), dtype=np.int64), 1)
    return {}


def protect_in_one_place(about: Stored, folders: tuple[str, ...], folder: Path, key: str) -> Mapping[str, object]:
    """Mask the group that the key numbers, of all records, as a run in memory does; a task."""
    task = about.read()
    arrays, part_of = _gathered(folders, int(key), 0, 1)
    data = dataset_of(arrays, task.columns, task.known)
    originals = {name.removeprefix(ORIGINAL): own for name, own in arrays.items() if name.startswith(ORIGINAL)}
    original = dataset_of(originals, [*task.categories], task.categories)
    # Those that were recoded are spread as they are now.
    recoded = [name for name, each in task.categories.items() if task.known[name].variable != each.variable]
    masking: Masking = task.masking
    spread = masking.standardisation.updated(original, original.names).updated(data, recoded)
    masking = replace(masking, standardisation=spread)
    execution = Execution(1, masking.block_size)
    context = replace(masking.context(data), seed=masking.seed, execution=execution)
    strata = Strata(np.asarray(arrays["stratum"], dtype=np.int64), (), frozenset())
    columns, facts, result = _masked_group(data, task.group, strata, task.units, masking, context)
    if result.kept_rows is not None or result.missing_codes is not None:
        raise InputError(_NEEDS_MEMORY)
    Stored.of((result.variables, result.limits), folder / VARIABLES)
    spill(folder / "masked", {"row": arrays["row"], **columns}, part_of, len(folders))
    return facts


@dataclass(frozen=True, eq=False)
class PartMasking:
    """What the tasks of one step and group take whose method changes each record by itself.

    `gathered`: what all records said, where the method asks.
    """

    masking: Masking
    group: int
    conditions: Conditions
    stratum_of: StratumOf
    before: tuple[MaskedGroup, ...]
    gathered: Mapping[int, Gathered] | None = None

    def context(self, data: Dataset, first: int) -> MaskingContext:
        """Context of the records of a part, which draw what they do in memory."""
        # Random numbers are those of the records, whatever part they stand in: they bear the names of a run in memory.
        whole = replace(self.masking.whole, first=first)
        context = self.masking.context(data)
        return replace(context, seed=self.masking.seed, execution=Execution(), whole=whole, gathered=self.gathered)

    def strata(self, original: Dataset, first: int) -> Strata:
        """Strata of the records of a part, of which `first` is the number of the first one."""
        return Strata(self.stratum_of.of(self.conditions, original, first), (), frozenset())


VARIABLES = "variables"
"""File with the variables of a group as its method publishes them, and the limits that it found in the data."""

GATHERED = "gathered"
"""File with what the records of a part say to a method that asks."""


@of_each_part
def gather_part(part: PartAtWork, folder: Path) -> Mapping[str, object]:
    """Gather of one part what the method of a step needs of all records; a task."""
    task = part.content
    current, _ = with_masked(part.original, task.before, part.position)
    masking: Masking = task.masking
    planned = replace(masking.plan.groups[task.group], strata=task.strata(part.original, part.first))
    step = masking.plan.steps[planned.step - 1]
    with step.placed(step.number, step.method.name):
        work = group_work(planned, step, masking.edits, masking.plan.masked)
        facts = facts_of_records(current, work, masking.standardisation, task.context(current, part.first))
    Stored.of(facts, folder / GATHERED)
    return {}


@of_each_part
def protect_part(part: PartAtWork, folder: Path) -> Mapping[str, object]:
    """Mask the records of one part, each by itself; a task."""
    task = part.content
    current, _ = with_masked(part.original, task.before, part.position)
    context = task.context(current, part.first)
    columns, facts, result = _masked_group(
        current, task.group, task.strata(part.original, part.first), (), task.masking, context
    )
    _refuse_changes(result, current, task.masking.plan, task.group)
    Stored.of((result.variables, ()), folder / VARIABLES)
    rows = np.arange(len(current), dtype=np.int32)
    spill(folder / f"m{task.group}", {"row": rows, **columns}, np.zeros(len(rows), dtype=np.int64), 1)
    return facts


def _scarce(data: Dataset, names: Sequence[str], step: Step) -> list[str]:
    """Variables of which fewer records of a block have a value than the step promises to average."""
    if step.k is None or step.planning.k_guarantee == "report":
        return []
    return [name for name in names if 0 < int((~data[name].missing).sum()) < step.k]


def _masked_group(
    data: Dataset, group: int, strata: Strata, units: Sequence[int], masking: Masking, context: MaskingContext
) -> tuple[dict[str, NDArray[np.generic]], dict[str, Any], GroupResult]:
    """Masked values by name, facts on them, and what the method returned."""
    plan = masking.plan
    planned = replace(plan.groups[group], strata=strata)
    step = plan.steps[planned.step - 1]
    with step.placed(step.number, step.method.name):
        work = group_work(planned, step, masking.edits, plan.masked)
        result = protect_group(data, work, masking.standardisation, context)
    protected = with_group(data, result)
    results: list[GroupResult] = [result] * len(plan.groups)
    adjusted, done = protected, []
    for number in units:
        found = adjust_unit(plan.units[number], results, adjusted, masking.standardisation, context)
        adjusted = with_adjusted_values(adjusted, found)
        done.append(found)
    columns: dict[str, NDArray[np.generic]] = {f"p:{name}": _numbers(protected, name) for name in planned.variables}
    own = {name for number in units for name in plan.units[number].variables}
    columns |= {f"a:{name}": _numbers(adjusted, name) for name in planned.variables if name in own}
    facts = {
        "records": len(data),
        "notes": _plain(result.notes),
        "doubts": list(result.doubts),
        "without_spread": {name: sorted(strata) for name, strata in result.without_spread.items()},
        "scarce": _scarce(data, planned.variables, step),
        "units": [unit_facts(number, found) for number, found in zip(units, done, strict=True)],
        "moved": moved_facts(done),
        "unchanged": unchanged_counts(step, planned.variables, data, protected, result.labels),
    }
    return columns, facts, result


def _numbers(data: Dataset, name: str) -> NDArray[np.float64]:
    return np.where(data[name].missing, np.nan, data[name].values.astype(np.float64))


_NEEDS_MEMORY = (
    "the method changes what variables are, or which records there are, and that needs the whole file in memory: leave "
    "out `execution: engine`"
)


def _refuse_changes(result: GroupResult, data: Dataset, plan: Plan, group: int) -> None:
    """What some of the records cannot do: records drawn or dropped, other variables, limits found in the data."""
    step, names = plan.steps[plan.groups[group].step - 1], plan.groups[group].variables
    coarser = "detail" in step.method.claims.removes
    same = coarser or all(data[name].variable == each for name, each in zip(names, result.variables, strict=True))
    # Limits that parameters promise are among the edits already.
    promised = () if step.method.claims.limits is None else step.method.claims.limits(step.params, result.variables)
    found = not coarser and not {limit.variable for limit in result.limits} <= {limit.variable for limit in promised}
    if not same or result.kept_rows is not None or result.missing_codes is not None or found:
        with step.placed(step.number, step.method.name):
            raise InputError(_NEEDS_MEMORY)


def _plain(notes: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in notes.items()}
