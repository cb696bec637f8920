"""Equivalence classes of a block on its key variables, and their criteria: size, l-diversity, t-closeness."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import BaseModel, Field, model_validator

from maskwright import Classes, CompanionVariables, InputError, KeyVariables, NamesVariables, PromisesK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from maskwright import Block
    from maskwright_builtin.methods.generalisation.hierarchy_levels import Rows
    from maskwright_builtin.methods.generalisation.population import LargestRisk, LeastPeople
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Integers, Integers32


DISTINCT, ENTROPY, RECURSIVE, EQUAL, ORDERED = 0, 1, 2, 3, 4


SLACK = 1e-12
"""By how much a share may be beyond its bound through rounding."""


@dataclass(frozen=True, eq=False)
class Sensitive:
    """A bound on the values of a sensitive variable in each class.

    `bound`: least diversity, or largest distance. `rows`, `values`: leaf row and value of each pair that occurs; shape
    (m,). `counts`: shape (m,). `shares`: of the values in the file; shape (v,).
    """

    name: str
    kind: int
    bound: float
    c: float
    rows: Integers32
    values: Integers32
    counts: Integers
    shares: Floats

    @property
    def is_monotone(self) -> bool:
        """Whether a class that fulfils it does so when any other is joined to it, also one that does not."""
        return self.kind == DISTINCT

    def by_class(self, of_leaf: Integers32, classes: int) -> Floats:
        """Diversity or distance of each class; NaN for one without values."""
        from maskwright_builtin.methods.generalisation.rows_kernel import criterion_by_class  # Numba is heavy

        return criterion_by_class(of_leaf[self.rows], self.values, self.counts, classes, self.shares, self.kind, self.c)

    def failing(self, of_leaf: Integers32, classes: int) -> Booleans:
        """Which classes do not fulfil it; one without values does."""
        found = self.by_class(of_leaf, classes)
        if self.kind in (EQUAL, ORDERED):
            return np.asarray(found > self.bound + SLACK, dtype=np.bool_)
        return np.asarray(found < self.bound - SLACK * (self.kind == ENTROPY), dtype=np.bool_)

    def refuse_impossible(self) -> None:
        """Stop where not even all records together are as diverse as is requested."""
        if self.kind in (EQUAL, ORDERED) or not len(self.rows):
            return
        whole = float(self.by_class(np.zeros(int(self.rows.max()) + 1, dtype=np.int32), 1)[0])
        if whole < self.bound - SLACK * (self.kind == ENTROPY):
            said = {DISTINCT: "distinct", ENTROPY: "entropy", RECURSIVE: "recursive"}[self.kind]
            raise InputError(
                f"l of {self.name}: {said} diversity of {self.bound:g} cannot be reached: all records together have "
                f"{whole:.4g}"
            )


def sensitive(name: str, kind: int, bound: float, c: float, values: Floats, of_record: Integers32) -> Sensitive:
    """Bound on a sensitive variable; records without a value are left out.

    `values`: NaN where missing; shape (n,). `of_record`: leaf row of each record; shape (n,).
    """
    present = ~np.isnan(values)
    distinct, codes = np.unique(values[present], return_inverse=True)
    width = max(len(distinct), 1)
    pairs, counts = np.unique(of_record[present].astype(np.int64) * width + codes, return_counts=True)
    shares = np.bincount(codes, minlength=width) / max(len(codes), 1)
    return Sensitive(
        name, kind, bound, c, (pairs // width).astype(np.int32), (pairs % width).astype(np.int32),
        counts.astype(np.int64), shares,
    )  # fmt: skip


class Criteria:
    """Bounds on every class.

    `k`: records, or households where they are given. `households`: shape (n,). `of_record`: leaf row of each record;
    shape (n,).
    """

    def __init__(
        self,
        k: int,
        k_map: LeastPeople | None,
        bounds: Sequence[Sensitive],
        households: Integers | None,
        of_record: Integers32,
        risk: LargestRisk | None = None,
    ) -> None:
        self.k, self.k_map, self.risk, self._bounds = k, k_map, risk, tuple(bounds)
        self._homes: tuple[Integers32, Integers] | None = None
        if households is not None:
            # In the order of households.
            household, row = Classes.of([households, of_record]).merge().keys
            self._homes = row.astype(np.int32), household

    @property
    def of_leaves(self) -> bool:
        """Whether they ask for the class of each leaf row, and not only for counts."""
        return bool(self._bounds) or self._homes is not None

    @property
    def of_people(self) -> bool:
        """Whether people are counted whom no record may be like."""
        return self.k_map is not None and self.k_map.is_counted

    @property
    def most_above(self) -> int:
        """Records that may be published with a risk above its bound."""
        return 0 if self.risk is None else self.risk.most_above

    def too_small(self, rows: Rows) -> Booleans:
        """Classes that are too small, in the file or in the population, or at a risk that no one may have."""
        small = self._sizes(rows) < self.k
        if self.k_map is not None:
            small |= self.k_map.failing(rows)
        if self.risk is not None and not self.risk.most_above:
            small |= self.risk.above(rows)
        return np.asarray(small & (rows.counts > 0), dtype=np.bool_)

    def at_risk(self, rows: Rows) -> Booleans:
        """Classes at a risk that only some may have."""
        if self.risk is None or not self.risk.most_above:
            return np.zeros(len(rows.counts), dtype=np.bool_)
        return self.risk.above(rows)

    def riskiest(self, rows: Rows, emptied: Booleans) -> Booleans:
        """Classes to empty beside those that are, so that no more records are left at risk than may be."""
        if self.risk is None or not self.risk.most_above:
            return np.zeros(len(rows.counts), dtype=np.bool_)
        return self.risk.riskiest(rows, emptied)

    def failing(self, rows: Rows) -> dict[str, Booleans]:
        """Classes that fail each criterion, by what a person calls it."""
        found = {f"k = {self.k}": self._sizes(rows) < self.k}
        if self.k_map is not None:
            found[f"k_map = {self.k_map.least:g}"] = self.k_map.failing(rows)
        if self.risk is not None:
            found[f"individual_risk = {self.risk.bound:g}"] = self.risk.above(rows)
        for each in self._bounds:
            what = "t" if each.kind in (EQUAL, ORDERED) else "l"
            found[f"{what} of {each.name}"] = each.failing(rows.of_leaf, len(rows.counts))
        return found

    def uniform(self, rows: Rows, *, monotone: bool) -> Booleans:
        """Classes that are not diverse enough, or too far from the file; by monotone bounds, or by the others."""
        failing = np.zeros(len(rows.counts), dtype=np.bool_)
        for each in self._bounds:
            if each.is_monotone == monotone:
                failing |= each.failing(rows.of_leaf, len(rows.counts))
        return failing

    def fulfilled_together(self, rows: Rows, emptied: Booleans) -> bool:
        """Whether the records of the emptied classes fulfil all bounds as one class; True where there are none."""
        if not emptied.any():
            return True
        of_class = np.where(emptied, 0, 1).astype(np.int32)
        together = replace(
            rows,
            counts=np.array([rows.counts[emptied].sum(), 0]),
            of_leaf=of_class[rows.of_leaf] if self.of_leaves else rows.of_leaf,
        )
        if self._sizes(together)[0] < self.k:
            return False
        if any(each is not None and each.fails_together(rows, emptied) for each in (self.k_map, self.risk)):
            return False
        return not any(self.uniform(together, monotone=kind)[0] for kind in (True, False))

    def reached(self, rows: Rows, emptied: Booleans) -> dict[str, int | float]:
        """What the published classes have of people and of risk, where that is bounded, for the notes of a run.

        `emptied`: the emptied records are left out; shape (c,).
        """
        kept, notes = ~emptied & (rows.counts > 0), dict[str, int | float]()
        if self.k_map is not None and kept.any():
            notes["smallest_class_in_population"] = float(self.k_map.of_classes(rows)[kept].min())
        if self.risk is not None and kept.any():
            risk = self.risk.of_classes(rows)
            notes["largest_individual_risk"] = float(risk[kept].max())
            notes["records_above_individual_risk"] = int(rows.counts[kept & (risk > self.risk.bound)].sum())
        return notes

    def _sizes(self, rows: Rows) -> Integers:
        return rows.counts if self._homes is None else self._homes_of(rows)

    def _homes_of(self, rows: Rows) -> Integers:
        assert self._homes is not None
        leaf, home = self._homes
        from maskwright_builtin.methods.generalisation.rows_kernel import owners_of_classes  # Numba is heavy

        return owners_of_classes(rows.of_leaf[leaf], home, len(rows.counts))


class Diversity(BaseModel, extra="forbid", frozen=True):
    """Least diversity of a sensitive variable in every class, counted in one of three ways."""

    distinct: Annotated[int, Field(ge=2)] | None = Field(default=None, description="Different values.")
    entropy: Annotated[float, Field(gt=1)] | None = Field(
        default=None, description="exp of their entropy: as many values, were they equally frequent."
    )
    recursive: Annotated[int, Field(ge=2)] | None = Field(
        default=None,
        description="Recursive (c, l): the most frequent value is less frequent than c times all from the l-th on.",
    )
    c: Annotated[float, Field(gt=0)] = Field(default=2.0, description="Of recursive diversity.")

    @model_validator(mode="after")
    def _is_one(self) -> Diversity:
        if sum(each is not None for each in (self.distinct, self.entropy, self.recursive)) != 1:
            raise ValueError("give one of distinct, entropy and recursive")
        return self


class Closeness(BaseModel, extra="forbid", frozen=True):
    """Largest distance between the values of a sensitive variable in a class and in the file."""

    most: Annotated[float, Field(ge=0, le=1)] = Field(description="The largest distance.")
    distance: Literal["equal", "ordered"] | None = Field(
        default=None,
        description="'equal': half the sum of the differences of shares. 'ordered': of the cumulative shares, over the "
        "number of values less one. Left out: ordered for numbers, dates and ordinal categories.",
    )


def bounds_of(
    block: Block,
    diversity: Mapping[str, int | Diversity],
    closeness: Mapping[str, float | Closeness],
    of_record: Integers32,
) -> Iterator[Sensitive]:
    """Bounds on sensitive variables.

    `of_record`: leaf row of each record; shape (n,).
    """
    for name, least in diversity.items():
        asked = Diversity(distinct=least) if isinstance(least, int) else least
        if asked.distinct is not None:
            kind, bound = DISTINCT, float(asked.distinct)
        elif asked.entropy is not None:
            kind, bound = ENTROPY, asked.entropy
        else:
            kind, bound = RECURSIVE, float(asked.recursive or 0)
        yield sensitive(name, kind, bound, asked.c, block.companions[name], of_record)
    for name, most in closeness.items():
        wanted = Closeness(most=most) if isinstance(most, float | int) else most
        nominal = block.companion_variables[name].type == "nominal"
        distance = wanted.distance or ("equal" if nominal else "ordered")
        kind = EQUAL if distance == "equal" else ORDERED
        yield sensitive(name, kind, wanted.most, 0.0, block.companions[name], of_record)


SmallestClass = Annotated[
    int,
    PromisesK(),
    Field(
        ge=2,
        strict=True,
        description="Smallest number of published records (households, where they are declared) that are equal on the "
        "keys, an empty cell being a value of its own. Usual: 3 to 10.",
    ),
]

KeyNames = Annotated[
    tuple[str, ...],
    KeyVariables(),
    Field(
        description="Key variables, by which a person could be recognised. Left out: the step's variables with role "
        "quasi_identifier or, if it has none, all its variables.",
    ),
]

LeastDiversity = Annotated[
    dict[str, Annotated[int, Field(ge=2)] | Diversity],
    CompanionVariables(),
    Field(
        description="Least diversity of sensitive variables in every class: {occupation: 2} of different values, "
        "{disease: {entropy: 2.5}}, {disease: {recursive: 3, c: 2}}. Records without a value do not count.",
    ),
]

LargestDistance = Annotated[
    dict[str, Annotated[float, Field(ge=0, le=1)] | Closeness],
    CompanionVariables(),
    Field(
        description="Largest distance between the values of sensitive variables in a class and in the file, from 0 to "
        "1: {income: 0.3}, {income: {most: 0.3, distance: equal}}. Low bounds need a few large classes.",
    ),
]

Importance = Annotated[dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]], NamesVariables()]
"""What a key is worth beside the others, by name; 1 by default."""


GONE = -1
"""Code of a cell that is published as suppressed cells are."""


def key_positions(block: Block, keys: Sequence[str]) -> list[int]:
    """Positions of the keys: those named, else the quasi-identifiers, else all variables."""
    strangers = [name for name in keys if name not in block.names]
    if strangers:
        raise InputError(f"the step does not mask the key {', '.join(strangers)}: list it among its variables")
    if keys:
        return [block.names.index(name) for name in dict.fromkeys(keys)]
    quasi = [j for j, variable in enumerate(block.variables) if variable.role == "quasi_identifier"]
    return quasi or list(range(block.p))


def key_codes(block: Block, positions: Sequence[int]) -> Integers:
    """Codes 0, 1, ... of the cells of each key; shape (n, len(positions)).

    `GONE` where there is no value, unless the cell has a missing code that suppressed cells do not have: then a code
    after those of the values.
    """
    codes = np.empty((block.n, len(positions)), dtype=np.int64)
    for place, j in enumerate(positions):
        missing = block.missing[:, j]
        codes[:, place] = np.unique(np.where(missing, 0.0, block.values[:, j]), return_inverse=True)[1]
        kinds = block.kinds_of(j)[missing]
        codes[missing, place] = np.where(kinds > 0, codes[:, place].max(initial=-1) + kinds, GONE)
    return codes


def emptied_cells(block: Block, positions: Sequence[int], gone: Booleans) -> tuple[Booleans, Booleans]:
    """Missing cells of a block, and those among them that lose their missing code, when keys are emptied.

    `gone`: keys that are to be published as suppressed cells are; shape (n, len(positions). Returns shape (n, p).
    """
    missing = block.missing.copy()
    missing[:, positions] |= gone
    suppressed = np.zeros_like(missing)
    if block.missing_kinds is not None:
        suppressed[:, positions] = gone & (block.missing_kinds[:, positions] > 0)
    return missing, suppressed


def class_size(codes: Integers, households: Integers | None) -> Integers:
    """Size of the class of each record: records, or households, with the same codes; shape (n,).

    A cell without a value is a value of its own: whoever reads the file sees that it is empty.
    """
    classes = Classes.of(list(codes.T), units=households)
    return classes.size[classes.codes]


def members_emptied(codes: Integers, households: Integers | None) -> Floats:
    """Cells that go with one of each key on average: those of all members where it is the same in every household."""
    if households is None or not len(codes):
        return np.ones(codes.shape[1])
    _, first, homes = np.unique(households, return_index=True, return_inverse=True)
    is_shared = (codes[first[homes]] == codes).all(axis=0)
    return np.where(is_shared, len(codes) / len(first), 1.0)


def kept_in_households(reached: Integers, codes: Integers, households: Integers) -> Integers:
    """Empty a key that is the same in every household in all members, where it is emptied in one: the others show it.

    `reached`, `codes`: after keys were emptied, and before; shape (n, q). `households`: shape (n,).
    """
    closed = reached.copy()
    _, first, homes = np.unique(households, return_index=True, return_inverse=True)
    for key in range(codes.shape[1]):
        if np.array_equal(codes[first[homes], key], codes[:, key]):
            gone = np.zeros(len(first), dtype=np.bool_)
            gone[homes[reached[:, key] == GONE]] = True
            closed[gone[homes], key] = GONE
    return closed
