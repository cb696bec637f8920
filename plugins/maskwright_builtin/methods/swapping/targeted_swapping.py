"""Targeted swapping: risky records or households exchange their area with similar ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from pydantic import BaseModel, Field

from maskwright import Block, Claims, CompanionVariables, DependentVariables, InputError, Masked, Method, plural
from maskwright_builtin.numerics.ordering import numbered, numbered_together

if TYPE_CHECKING:
    from collections.abc import Sequence

    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers


@dataclass(frozen=True, eq=False)
class Households:
    """Records by household.

    `of_record`: household of each record, 0..H-1; shape (n,). `order`: records, household after household; shape (n,).
    `starts`: where each household begins in `order`; shape (H,). `sizes`: records of each; shape (H,).
    """

    of_record: Integers
    order: Integers
    starts: Integers
    sizes: Integers

    @classmethod
    def of(cls, households: Integers | None, n: int) -> Households:
        """Declared households; without them each record is one."""
        of_record = np.arange(n) if households is None else numbered(households)
        sizes = np.bincount(of_record)
        return cls(of_record, np.argsort(of_record, kind="stable"), np.cumsum(sizes) - sizes, sizes)

    def common(self, column: Floats, name: str) -> Floats:
        """Value of each household; shape (H,)."""
        found = column[self.order[self.starts]]
        differing = ~((column == found[self.of_record]) | (np.isnan(column) & np.isnan(found[self.of_record])))
        if differing.any():
            count = len(np.unique(self.of_record[differing]))
            raise InputError(
                f"{name} differs among the members of {plural(count, 'household')}, and households are swapped as "
                "a whole: leave it out of the step, or correct the file"
            )
        return found

    def composition(self, codes: Integers) -> Integers:
        """Class of households of one size whose members have the same codes, each as often; shape (H,)."""
        # Members of a household by code, household after household.
        order = np.lexsort((codes, self.of_record)) if len(self.sizes) < len(codes) else self.order
        members = codes[order]
        classes = np.zeros(len(self.sizes), dtype=np.int64)
        used = 0
        for size in np.unique(self.sizes):
            here = np.flatnonzero(self.sizes == size)
            found = numbered_together([members[self.starts[here] + place] for place in range(int(size))])
            classes[here] = found + used
            used += int(found.max()) + 1
        return classes

    def least(self, values: Integers) -> Integers:
        """Smallest value of the members of each household; shape (H,)."""
        return np.minimum.reduceat(values[self.order], self.starts)


class TargetedSwappingParams(BaseModel, extra="forbid", frozen=True):
    """Parameters of targeted swapping."""

    geography: Annotated[tuple[str, ...], DependentVariables()] = Field(
        min_length=1,
        description="Variables of the place, from coarse to fine: [region, town]. All of them are exchanged.",
    )
    risk_variables: Annotated[tuple[str, ...], CompanionVariables()] = Field(
        min_length=1,
        description="Variables of any type by which a person could be recognised inside an area.",
    )
    profiles: Annotated[tuple[tuple[str, ...], ...], CompanionVariables()] = Field(
        default=((),),
        min_length=1,
        description="Lists of variables, tried in order: who is swapped has equal values of all variables of a list. "
        "Households have as many members, and as many of each combination of values. Left out: only their size.",
    )
    k: int = Field(
        default=3,
        ge=0,
        strict=True,
        description="Who has fewer than k equals on the risk variables in an area must be swapped out of it, at the "
        "coarsest level at which that is so; 0: none must.",
    )
    swap_rate: float = Field(
        default=0.05,
        ge=0,
        le=1,
        description="Share of the households (records, where none are declared) to be swapped in all, area by area; "
        "those that must be may be more. Usual: 0.02 to 0.1.",
    )
    carry_along: Annotated[tuple[str, ...], DependentVariables()] = Field(
        default=(),
        description="Variables that are exchanged with the place, because they belong to it: [postcode, urban].",
    )


def protect(block: Block, params: TargetedSwappingParams, rng: np.random.Generator) -> Masked:
    """Exchange the places of households that are easily found with those of similar ones in other areas.

    Parameters
    ----------
    block : Block
        Of the geography and what is carried along. Where households are declared they are swapped as a whole, else
        records are.

    Returns
    -------
    Masked
        The risk of a record in an area is 1 / number of records there with its values of the risk variables; that of a
        household is the largest of its members. From the coarsest level on, households with risk above 1 / k that have
        not been swapped yet exchange all geography and `carry_along` with one outside their area of that level, equal
        on the first profile that offers one, drawn in proportion to its risk; no one is swapped twice. Who finds none
        is tried again at finer levels, and in the end it is a doubt. Then areas fill up to their share of `swap_rate`,
        drawn by risk. Variables that edits tie to what is exchanged, and that no step masks, are in every profile.

        Kept exactly: the combinations of geography and `carry_along`, each as often; counts of households and records
        by area and by what all profiles share; all other variables.

    Raises
    ------
    InputError
        When members of a household have different places, or a variable is not in the data.

    Notes
    -----
    O(H L log H) for H households and L levels.

    References
    ----------
    Shlomo, N., Tudor, C. and Groom, P. (2010): Data swapping for protecting census tables. Privacy in Statistical
    Databases 2010, LNCS 6344, 41-51; as in the harmonised protection of European census data.
    """
    strangers = [name for name in (*params.geography, *params.carry_along) if name not in block.names]
    if strangers:
        raise InputError(f"the step does not mask {', '.join(strangers)}: list it among its variables")
    tied = sorted({name for edit in block.edits for name in edit.variables} - set(block.names))
    needed = dict.fromkeys([*params.risk_variables, *(name for each in params.profiles for name in each), *tied])
    strangers = [name for name in needed if name not in block.companions]
    if strangers:
        raise InputError(f"{', '.join(strangers)} are not in the data of this step")
    homes = Households.of(block.households, block.n)
    places = np.stack([homes.common(block.values[:, j], name) for j, name in enumerate(block.names)], axis=1)
    levels = [
        numbered_together([places[:, block.names.index(name)] for name in params.geography[: level + 1]])
        for level in range(len(params.geography))
    ]
    empty = [gone.astype(np.int64) for gone in block.missing.T if gone.any()]
    profiles = np.stack(
        [
            homes.composition(numbered_together([np.zeros(block.n), *empty, *(block.companions[name] for name in own)]))
            for own in (dict.fromkeys([*names, *tied]) for names in params.profiles)
        ]
    )
    found = numbered_together([block.companions[name] for name in params.risk_variables])
    counts = [homes.least(_equals(numbered_together([found, level[homes.of_record]]))) for level in levels]
    swaps = _swapped(levels, counts, profiles, params, rng, block)
    source = np.where(swaps.partners < 0, np.arange(len(places)), swaps.partners)
    values = places[source][homes.of_record]
    return Masked(values, np.isnan(values), notes=_notes(swaps, len(places), tied), doubts=tuple(_doubts(swaps)))


def _equals(classes: Integers) -> Integers:
    """Records of the class of each record."""
    return np.asarray(np.bincount(classes)[classes], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class _Swaps:
    """What was swapped.

    `partners`: -1 where a household stays; shape (H,). `at_risk`, `left`: households that had to be swapped, and those
    of them that were not. `asked`: households to be swapped by the rate.
    """

    partners: Integers
    at_risk: int
    left: int
    asked: int

    @property
    def reached(self) -> int:
        """Households that were swapped."""
        return int(np.sum(self.partners >= 0))


def _swapped(
    levels: Sequence[Integers],
    counts: Sequence[Integers],
    profiles: Integers,
    params: TargetedSwappingParams,
    rng: np.random.Generator,
    block: Block,
) -> _Swaps:
    """Level after level, whoever must be swapped; then the areas fill up."""
    several = len(levels[0])
    partners = np.full(several, -1, dtype=np.int64)
    risky = np.zeros(several, dtype=np.bool_)
    for place, (areas, least) in enumerate(zip(levels, counts, strict=True)):
        keys = 1.0 / least / rng.standard_exponential(several)
        risky |= least < params.k
        waiting = np.flatnonzero(risky & (partners < 0))
        last = place == len(levels) - 1
        if len(waiting) or (last and params.swap_rate > 0.0):
            pairs = _Pairs.of(keys, areas, profiles)
            pairs.swap(waiting, np.zeros(several, dtype=np.int64), np.array([several]), partners)
            if last:
                wanted = _shares(areas, partners >= 0, params.swap_rate, rng)
                pairs.swap(np.flatnonzero(partners < 0), areas, wanted, partners)
        block.progress((place + 1) / len(levels))
    left = int(np.sum(risky & (partners < 0)))
    return _Swaps(partners, int(risky.sum()), left, 2 * round(several * params.swap_rate / 2.0))


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Households by what they are like and where they are, at one level; arrays as `swap_households` takes them."""

    keys: Floats
    buckets: Integers
    order: Integers
    starts: Integers
    profile_starts: Integers
    profile_stops: Integers

    @classmethod
    def of(cls, keys: Floats, areas: Integers, profiles: Integers) -> _Pairs:
        """Buckets of each profile, ordered once by the keys."""
        buckets = np.stack([numbered_together([profile, areas]) for profile in profiles])
        most = int(buckets.max()) + 1
        falling = np.argsort(-keys, kind="stable")
        order = np.stack([falling[np.argsort(each[falling], kind="stable")] for each in buckets])
        sizes = np.stack([np.bincount(each, minlength=most) for each in buckets])
        starts = np.concatenate([np.zeros((len(buckets), 1), dtype=np.int64), np.cumsum(sizes, axis=1)], axis=1)
        # Empty buckets at the end have no profile.
        alike = np.full((len(buckets), most), -1, dtype=np.int64)
        for row, own, profile in zip(alike, buckets, profiles, strict=True):
            row[own] = profile
        changes = [np.flatnonzero(np.diff(row)) + 1 for row in alike]
        number_in = [np.searchsorted(change, np.arange(most), side="right") for change in changes]
        bounds = [np.concatenate([[0], change, [most]]) for change in changes]
        return cls(
            keys, buckets, order, starts,
            np.stack([bound[each] for bound, each in zip(bounds, number_in, strict=True)]),
            np.stack([bound[each + 1] for bound, each in zip(bounds, number_in, strict=True)]),
        )  # fmt: skip

    def swap(self, waiting: Integers, groups: Integers, wanted: Integers, partners: Integers) -> None:
        """Find partners for households, the largest key first; `groups` of all, `wanted` swaps of each group."""
        # Heavy: plugins are listed without it.
        from maskwright_builtin.methods.swapping.targeted_swapping_kernel import swap_households

        first = waiting[np.argsort(-self.keys[waiting], kind="stable")]
        swap_households(
            first, groups[first], wanted, self.keys, self.buckets, self.order, self.starts, self.profile_starts,
            self.profile_stops, partners,
        )  # fmt: skip


def _shares(areas: Integers, swapped: Booleans, rate: float, rng: np.random.Generator) -> Integers:
    """Swaps that each area is still to begin, in proportion to what its households lack, rounded to the total."""
    lacking = np.maximum(np.bincount(areas) * rate - np.bincount(areas[swapped], minlength=int(areas.max()) + 1), 0.0)
    total = round((len(areas) * rate - int(swapped.sum())) / 2.0)
    if total <= 0:
        return np.zeros(len(lacking), dtype=np.int64)
    wanted = lacking * total / lacking.sum()
    whole = np.floor(wanted).astype(np.int64)
    # A systematic sample: every area gets its rest in expectation, and all together the total.
    order = rng.permutation(len(whole))
    rest = np.cumsum((wanted - whole)[order])
    whole[order] += np.diff(np.floor(rest + rng.random()), prepend=0.0).astype(np.int64)
    return np.asarray(whole, dtype=np.int64)


def _notes(swaps: _Swaps, households: int, tied: Sequence[str]) -> dict[str, object]:
    notes: dict[str, object] = {
        "households": households,
        "households_at_risk": swaps.at_risk,
        "households_at_risk_left": swaps.left,
        "households_asked": swaps.asked,
        "households_swapped": swaps.reached,
    }
    warnings = []
    if tied:
        warnings.append(f"edits tie the place to {', '.join(tied)}: only who is equal in these is swapped")
    if swaps.reached > max(swaps.asked, 1):
        warnings.append("more had to be swapped than 'swap_rate' asks for")
    return notes | ({"warnings": warnings} if warnings else {})


def _doubts(swaps: _Swaps) -> list[str]:
    found = []
    if swaps.left:
        found.append(
            "some who are easily found in their area are not swapped: no one like them on any profile was free "
            "elsewhere; give a coarser profile, or recode the risk variables"
        )
    if swaps.reached < swaps.asked - 1:
        found.append("fewer are swapped than the rate asks for: too few are alike in different areas")
    return found


TARGETED_SWAPPING = Method(
    name="targeted_swapping",
    protect=protect,
    params=TargetedSwappingParams,
    scope="all",
    claims=Claims(
        cut="none",
        within_strata=False,
        changes_few=True,
        variable_types={"continuous", "integer", "date", "datetime", "ordinal", "nominal"},
        handles_missing=True,
        preserves=frozenset(
            {"linear", "product", "inequality", "range", "domain", "mean", "covariance", "combinations", "households"}
        ),
        companions_of_edits=True,
    ),
    reference="Shlomo, Tudor and Groom (2010), Data swapping for protecting census tables, Privacy in Statistical "
    "Databases, LNCS 6344, 41-51",
    summary="Households, or records, that are easily found exchange their place with similar ones in other areas.",
    example="method: targeted_swapping\n"
    "params: {geography: [region, town], risk_variables: [sex, age], profiles: [[sex, age], [sex]], k: 3}\n",
)
