"""Household linkage: how often the nearest masked household, as a set of members, is the true one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field

from maskwright import (
    ComparedLevels,
    Comparison,
    Dataset,
    InputError,
    Measure,
    MeasureClaims,
    Measurement,
    MeasurePart,
    MeasureTable,
    NamesVariables,
    group_classes,
)
from maskwright_builtin.measures.groups.group_keys import (
    by_size,
    groups_of,
    kinds_of,
    level_mistakes,
    require_level,
)
from maskwright_builtin.measures.pairing import listed, pair_records
from maskwright_builtin.measures.record_linkage.nearest_records import MISSING_RULE, Comparable, comparable_values
from maskwright_builtin.measures.uncertainty import interval_of_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from maskwright import Measurable, Progress
    from maskwright_builtin.measures.groups.set_linkage_kernel import Sets
    from maskwright_builtin.numerics.arrays import Floats, Integers


@dataclass(frozen=True, eq=False)
class GroupValues:
    """Groups of one file as sets of points.

    `own`: values of the groups, without NaN; shape (g, r). `members`: values of members, without NaN; members of a
    group stand together, groups in their order; shape (n, p). `starts`: where the members of each group begin; shape (g
    + 1,). `kinds`: members are assigned to members of their own kind only; numbered alike in both files; shape (n,).
    `composition`: groups of one composition have as many members of each kind; numbered alike in both files; shape
    (g,).
    """

    own: Floats
    members: Floats
    starts: Integers
    kinds: Integers
    composition: Integers

    @property
    def sizes(self) -> Integers:
        """Members of each group."""
        return np.diff(self.starts)

    def in_canonical_order(self) -> GroupValues:
        """Copy in which the members of each group stand by their kind, then by their values."""
        groups = np.repeat(np.arange(len(self.sizes)), self.sizes)
        order = np.lexsort((*self.members.T[::-1], self.kinds, groups))
        return GroupValues(self.own, self.members[order], self.starts, self.kinds[order], self.composition)


def chance_of_link(
    queries: GroupValues, targets: GroupValues, own_weights: Floats, weights: Floats, progress: Progress
) -> Floats:
    """Chance that each group is linked to its own counterpart among the groups of the same composition.

    `own_weights`, `weights`: factors of differences; shape (r,) and (p,). Returns 1 over the number of groups that are
    nearest, if the own one is among them; else 0; shape (g,).
    """
    from maskwright_builtin.measures.groups.set_linkage_kernel import link_sets  # Numba, heavy

    queries, targets = queries.in_canonical_order(), targets.in_canonical_order()
    found = np.zeros(len(queries.composition))
    sizes, counts = np.unique(queries.sizes, return_counts=True)
    done = np.cumsum(counts) / counts.sum()
    for size, share in zip(sizes.tolist(), done.tolist(), strict=True):
        chosen, there = np.flatnonzero(queries.sizes == size), np.flatnonzero(targets.sizes == size)
        chosen = chosen[np.isin(queries.composition[chosen], targets.composition[there])]
        if not len(chosen):
            continue
        names, of_target = np.unique(targets.composition[there], return_inverse=True)
        distinct, copies, row_of = _distinct(targets, there, of_target, size)
        of_query = np.searchsorted(names, queries.composition[chosen])
        order = np.argsort(of_query, kind="stable")
        chosen, of_query = chosen[order], of_query[order]
        counterpart = np.full(len(queries.composition), -1, dtype=np.int64)
        counterpart[there] = row_of
        same = queries.composition[chosen] == targets.composition[chosen]
        first = np.searchsorted(there, distinct)
        kinds = targets.kinds[_members_of(targets, distinct[np.unique(of_target[first], return_index=True)[1]], size)]
        factors = np.concatenate([own_weights, np.repeat(weights, size)])
        ties = np.zeros(len(chosen), dtype=np.int64)
        link_sets(
            _sets(queries, chosen, of_query, len(names), size),
            _sets(targets, distinct, of_target[first], len(names), size),
            copies, np.where(same, counterpart[chosen], -1), weights, own_weights, factors,
            kinds.reshape(len(names), size), ties,
        )  # fmt: skip
        found[chosen] = np.where(ties > 0, 1.0 / np.maximum(ties, 1), 0.0)
        progress(share)
    return found


def _members_of(values: GroupValues, groups: Integers, size: int) -> Integers:
    """Members of groups of this size; shape (groups, size)."""
    return values.starts[groups][:, None] + np.arange(size)


def _distinct(
    values: GroupValues, groups: Integers, composition: Integers, size: int
) -> tuple[Integers, Integers, Integers]:
    """Of groups that are alike the first, by composition; how many are, and which of the distinct each group is."""
    flat = values.members[_members_of(values, groups, size)].reshape(len(groups), -1)
    rows = np.column_stack([composition, values.own[groups], flat])
    order = np.lexsort(rows.T[::-1])
    ordered = rows[order]
    begins = np.ones(len(rows), dtype=np.bool_)
    begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    first = np.flatnonzero(begins)
    row_of = np.empty(len(rows), dtype=np.int64)
    row_of[order] = np.cumsum(begins) - 1
    return groups[order[first]], np.diff(np.append(first, len(rows))), row_of


def _sets(values: GroupValues, groups: Integers, composition: Integers, compositions: int, size: int) -> Sets:
    """Groups of one size as the kernel takes them; they stand by their composition."""
    from maskwright_builtin.measures.groups.set_linkage_kernel import Sets

    places = _members_of(values, groups, size)
    members, kinds = values.members[places], values.kinds[places]
    columns = [
        np.take_along_axis(each, np.lexsort((each, kinds), axis=1), axis=1) for each in np.moveaxis(members, 2, 0)
    ]
    together = np.column_stack([values.own[groups], *columns])
    starts = np.searchsorted(composition, np.arange(compositions + 1)).astype(np.int64)
    return Sets(values.own[groups], np.ascontiguousarray(members), np.ascontiguousarray(together), starts)


class HouseholdLinkageParams(BaseModel, extra="forbid", frozen=True):
    """What the intruder knows of a household and of its members."""

    known: Literal["members", "row", "both"] = Field(
        "members",
        description="'members': the values of all members, as a set; 'row': those of the household itself, totals "
        "among them; 'both'. How many members there are is known in any case.",
    )
    row: Annotated[list[str] | None, NamesVariables()] = Field(
        None, description="Numeric variables of the upper level that are compared. Default: those that are masked."
    )
    members: Annotated[list[str] | None, NamesVariables()] = Field(
        None, description="Numeric variables of the members that are compared. Default: those that are masked."
    )
    same_row: Annotated[list[str], NamesVariables()] = Field(
        [],
        description="Variables of the upper level, of any type, that are published as they are and that the intruder "
        "knows: only households with the same values are compared.",
    )
    same_members: Annotated[list[str], NamesVariables()] = Field(
        [],
        description="Variables of the members, likewise: only households with the same set of values are compared, "
        "and members only with members that have the same.",
    )


def household_linkage(comparison: Comparison, params: HouseholdLinkageParams, rng: np.random.Generator) -> Measurement:  # noqa: ARG001
    """Percent of households whose nearest masked household, by the set of their members, is their own.

    Each original household is compared with the masked households of the same composition: as many members, and the
    same values of `same_row` and `same_members`. Their squared distance is

        sum_j ((x_j - y_j) / sd_j) ** 2  +  min over assignments a of  sum_i sum_j ((x_ij - y_a(i)j) / sd_j) ** 2

    of their own values (`known: row`, `both`), and of the members' under the cheapest assignment of members to members
    (`known: members`, `both`); sd is the standard deviation of the original over all records of the level. It is exact
    for up to 8 members; in larger households members are matched in the order of their first variable. The value is
    ``100 * linked / households``.

    Ties share: of t households that are nearest, the own one earns 1 / t; squared distances that differ by less than
    one part in 1e9 are equal. A household whose own counterpart has another composition is not linked.

    Missing cells stand at the mean of the original file. A variable that is constant there is left out. Weights are not
    used: the risk is that of the households released.

    Interval, 95 percent: as in `distance_record_linkage`, households taken as drawn independently from a large
    population.

    Returns
    -------
    Measurement
        `parts`: ``alone``, percent of households that are the only masked one of their composition: these are found
        without any value. `per_record`: the percent earned by each masked household. `tables`: linked households by
        size.

    Raises
    ------
    InputError
        Data of one level; unknown variables, nothing to compare.
    UnpairedRecords
        Households that are not paired.
    """
    levels = comparison.require_levels("household_linkage")
    comparison.require_pairs("household_linkage compares each masked household with its own original")
    row, members = _compared(levels, params)
    known = [*row, *members]
    if not known:
        raise InputError("household_linkage: there is nothing to compare: name numeric variables in `row` or `members`")
    own, one = _values(comparison, levels, levels.top, row), _values(comparison, levels, levels.lowest, members)
    composition, kinds = _compositions(levels, params)
    origin = levels.origin_of(levels.top)
    original = _groups(levels, "original", own.original, one.original, composition[0], kinds[0])
    masked = _groups(levels, "masked", own.masked, one.masked, composition[1], kinds[1])
    queries = original if isinstance(origin, slice) else _taken(original, origin)
    chance = chance_of_link(queries, masked, own.weight, one.weight, comparison.progress)
    alike = np.bincount(composition[1], minlength=int(composition[0].max()) + 1)[composition[1]]
    moved = int((queries.composition != masked.composition).sum())
    notes = [f"the intruder knows {', '.join(known)}, and how many members there are"]
    if params.same_row or params.same_members:
        notes.append(f"compared are those alike in {', '.join((*params.same_row, *params.same_members))}")
    if moved:
        notes.append(
            f"{moved} of the level {levels.top} have another composition in the masked file: they are not found"
        )
    constant = [*own.constant, *one.constant]
    if constant:
        notes.append(f"constant in the original file and left out of the distances: {listed(constant)}")
    value = 100.0 * float(chance.mean())
    return Measurement(
        value,
        parts={"alone": 100.0 * float((alike == 1).mean())},
        per_record=100.0 * chance,
        interval=interval_of_mean(chance),
        notes=tuple(notes),
        sentence=f"An intruder who knows {listed(known)} of {_known_units(levels, params)}, and looks for the nearest "
        f"masked {levels.top} of as many members, finds the right one in {value:.3g} of 100 cases.",
        tables=(
            MeasureTable(
                "by_size", f"Linked {levels.top} records by number of members", ("members", "linked, %"),
                by_size(100.0 * chance, masked.sizes),
            ),
        ),
    )  # fmt: skip


def _known_units(levels: ComparedLevels, params: HouseholdLinkageParams) -> str:
    everyone = f"every {levels.lowest} of a {levels.top}"
    return {"members": everyone, "row": f"a {levels.top}", "both": f"a {levels.top} and {everyone}"}[params.known]


def _compared(levels: ComparedLevels, params: HouseholdLinkageParams) -> tuple[list[str], list[str]]:
    """Names of the variables of the rows and of the members that are compared; none of what is not known."""
    row: Sequence[str] = ()
    members: Sequence[str] = ()
    if params.known != "members":
        row = levels.variables.get(levels.top, ()) if params.row is None else params.row
    if params.known != "row":
        members = levels.variables.get(levels.lowest, ()) if params.members is None else params.members
    for level, names, parameter in ((levels.top, row, "row"), (levels.lowest, members, "members")):
        require_level(levels, level, names, "household_linkage", parameter)
        for name in names:
            sides = (levels.original[level].data, levels.masked[level].data)
            if not all(side[name].variable.is_numeric for side in sides):
                raise InputError(
                    f"household_linkage: {parameter}: {name} is not numeric in both files; categories that are "
                    f"published as they are may be named in same_{parameter}"
                )
    return list(row), list(members)


def _values(comparison: Comparison, levels: ComparedLevels, level: str, names: list[str]) -> Comparable:
    """Values of both files on one level, to be compared by the original's standard deviation."""
    sides = levels.original[level].data, levels.masked[level].data
    if not names:
        before, after = (np.empty((len(side), 0)) for side in sides)
        return Comparable(before, after, np.empty(0), [])
    original, masked = (Dataset(tuple(side[name] for name in names)) for side in sides)
    both = Comparison(original, masked, tuple(names), progress=comparison.progress)
    pairs = pair_records(both, MISSING_RULE, required=False)
    return comparable_values(both, pairs, range(len(names)))


def _compositions(
    levels: ComparedLevels, params: HouseholdLinkageParams
) -> tuple[tuple[Integers, Integers], tuple[Integers, Integers]]:
    """Composition of the groups, and kind of the members, of both files, numbered alike."""
    require_level(levels, levels.top, params.same_row, "household_linkage", "same_row")
    require_level(levels, levels.lowest, params.same_members, "household_linkage", "same_members")
    rows, members = ([levels.keys(name) for name in names] for names in (params.same_row, params.same_members))
    count = len(levels.original[levels.top])
    before = levels.original[levels.lowest].groups
    assert before is not None
    groups = np.concatenate([before, groups_of(levels) + count])
    together = [np.concatenate(pair) for pair in members]
    kinds = kinds_of(together, len(groups))
    found = group_classes(
        [np.concatenate(pair) for pair in rows], kinds, groups, count + len(levels.masked[levels.top])
    )
    return (found[:count], found[count:]), (kinds[: len(before)], kinds[len(before) :])


def _groups(
    levels: ComparedLevels,
    side: Literal["original", "masked"],
    own: Floats,
    members: Floats,
    composition: Integers,
    kinds: Integers,
) -> GroupValues:
    linked = levels.original if side == "original" else levels.masked
    return GroupValues(own, members, linked.starts(levels.lowest), kinds, composition)


def _taken(values: GroupValues, rows: Integers) -> GroupValues:
    """Groups in another order, some of them perhaps not at all."""
    sizes = values.sizes[rows]
    starts = np.append(0, np.cumsum(sizes))
    places = np.repeat(values.starts[rows] - starts[:-1], sizes) + np.arange(int(starts[-1]))
    return GroupValues(values.own[rows], values.members[places], starts, values.kinds[places], values.composition[rows])


def _uses(params: HouseholdLinkageParams, given: Measurable) -> tuple[str, ...]:
    """Names of the variables that the intruder knows."""
    compared = [[name for name in given.compared if name in given.levels[level]] for level in given.levels]
    row = compared[0] if params.row is None else params.row
    members = compared[1] if params.members is None else params.members
    chosen = {"row": row, "members": members, "both": [*row, *members]}[params.known]
    return (*chosen, *params.same_row, *params.same_members)


def _mistakes(params: HouseholdLinkageParams, given: Measurable) -> Iterator[tuple[str, str]]:
    named = {"row": params.row or (), "members": params.members or ()}
    yield from level_mistakes({**named, "same_row": params.same_row, "same_members": params.same_members}, given)
    for parameter, names in named.items():
        for name in names:
            if name in given.variables and not given.variables[name].is_numeric:
                yield parameter, f"{name} is not numeric; where it is published as it is, name it in same_{parameter}"


def _parts(params: HouseholdLinkageParams) -> Iterator[MeasurePart]:  # noqa: ARG001 - the contract's
    yield MeasurePart("alone", "percent", range=(0.0, 100.0))


HOUSEHOLD_LINKAGE = Measure(
    name="household_linkage",
    compute=household_linkage,
    kind="risk",
    unit="percent",
    direction="lower",
    range=(0.0, 100.0),
    params=HouseholdLinkageParams,
    claims=MeasureClaims(
        uses=_uses,
        check=_mistakes,
        of_levels=True,
        counts_households=True,
        invariant_to={"affine", "records", "columns"},
    ),
    parts=_parts,
    reference="Domingo-Ferrer and Torra (2001), A quantitative comparison of disclosure control methods for microdata, "
    "in Confidentiality, Disclosure and Data Access, Elsevier, chapter 6, of records; assignments by dynamic "
    "programming: Held and Karp (1962), Journal of the Society for Industrial and Applied Mathematics 10(1), 196-210",
    summary="Percent of households whose nearest masked household, by the set of their members, is their own.",
)
