"""Strata: records that must not be averaged with one another, what cuts them apart, and how they are called.

Records on different sides of a governing edit's condition, with different signs in a product, or (when asked) with
different cells missing, different structural zeros or different values of the variables of `within` are clustered
apart. A stratum with fewer than k records is merged into the nearest one: with the same cells missing where k records
have them so, else of the same `within` where that has k; the representatives of its clusters are then adjusted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.missing import HAD_VALUE, NO_CELL
from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.algebra.conditions import negate
from maskwright.edits.edit import DomainPart, Edit, GoverningPart
from maskwright.edits.evaluation.binary64 import evaluate_xpath
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.expression import Expression, Not, variable_names
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.foundation.errors import InputError
from maskwright.planning.small_strata import GroupRecords, Moved, ZeroPatterns, households_in, join_strata, row_codes

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from maskwright.data.dataset import Column, Dataset
    from maskwright.edits.edit_set import EditSet
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.planning.small_strata import Candidates


LONGEST_CONDITION = 60
"""Characters of a condition that is written out; of a longer one the edit is named."""

MISSING_CELLS = "missing cells"
"""Title of the criterion that keeps records apart with other cells missing."""

UNKNOWN = 2
"""Code of a condition whose answer rests on a missing cell."""


@dataclass(frozen=True, eq=False)
class Criterion:
    """Something that cuts records apart.

    `title`: what it looks at: a condition, ``missing cells``, ``sign of x``. `edits`: names of the edits whose
    condition it is. `apart`: the variables of `within`: all other criteria cut inside. `promised`: whether records are
    to keep the side that they are on, but for as few as k asks.
    """

    title: str
    edits: tuple[str, ...] = ()
    part: GoverningPart | DomainPart | None = None
    binding: str = "exact"
    variables: tuple[str, ...] = ()
    apart: bool = False
    promised: bool = False


@dataclass(frozen=True, eq=False)
class Cut:
    """A criterion applied to records.

    `codes`: shape (n,). `meanings`: what each code means; empty where it goes without saying.
    """

    criterion: Criterion
    codes: Integers
    meanings: tuple[str, ...]
    gaps: tuple[str, ...] = field(default=())


def criteria(
    group: Sequence[str],
    geometric: Sequence[str],
    edits: EditSet,
    masked: frozenset[str],
    moving: frozenset[str],
    *,
    by_missing: bool = False,
    structural_zeros: Sequence[str] = (),
    zeros_apart: Sequence[str] = (),
    within: Sequence[str] = (),
) -> tuple[Criterion, ...]:
    """What cuts the records of a variable group; known before any data are read.

    `moving`: variables that are not published as the values, or the category of the values, that conditions see here.
    """
    found: dict[object, Criterion] = {}
    for edit in edits:
        for key, each in _of_edit(edit, group, masked, moving):
            known = found.get(key)
            names = (edit.name,) if known is None else (*known.edits, edit.name)
            found[key] = Criterion(each.title, tuple(dict.fromkeys(names)), each.part, each.binding, each.variables)
    others = [Criterion(f"sign of {name}", variables=(name,)) for name in geometric]
    if by_missing:
        others += [Criterion(MISSING_CELLS, variables=tuple(group))]
    others += [
        Criterion(f"zeros of {name}", variables=(name,), promised=name in structural_zeros)
        for name in (*structural_zeros, *zeros_apart) if name in group
    ]  # fmt: skip
    first = [Criterion(f"value of {', '.join(within)}", variables=tuple(within), apart=True)] if within else []
    return (*first, *found.values(), *others)


def _of_edit(
    edit: Edit, group: Sequence[str], masked: frozenset[str], moving: frozenset[str]
) -> Iterator[tuple[object, Criterion]]:
    """Conditions that govern, and unmasked values that masked ones have to occur with; with what makes them equal."""
    for part in edit.parts:
        if isinstance(part, DomainPart) and set(part.variables) & set(group):
            outside = tuple(name for name in part.variables if name not in masked)
            if outside:
                yield outside, Criterion(f"value of {', '.join(outside)}", (), part, edit.binding, outside)
        if isinstance(part, GoverningPart):
            used = variable_names(part.condition)
            if not set(used) & moving - set(group):
                title = _condition(part.condition) or f"condition of {edit.name}"
                yield (part.condition, edit.binding), Criterion(title, (), part, edit.binding, used)


def _condition(condition: Expression) -> str | None:
    try:
        text = rule_text(condition)
    except Inexpressible:
        return None
    return text if len(text) <= LONGEST_CONDITION else None


def cut(data: Dataset, found: Sequence[Criterion], edits: EditSet) -> list[Cut]:
    """Apply criteria to records; `edits` are those that they come from."""
    columns: RecordChunk | None = None
    domain: Domain | None = None
    cuts: list[Cut] = []
    for each in found:
        if isinstance(each.part, GoverningPart):
            if columns is None:
                columns, domain = RecordChunk.from_dataset(data), Domain.from_dataset(data, domain_tuples(edits))
            cuts.append(_by_condition(each, each.part.condition, columns, domain))
        elif each.apart or isinstance(each.part, DomainPart):
            codes, count = _values_of(data, each.variables)
            names = ", ".join(each.variables)
            cuts.append(Cut(each, codes, tuple(f"value {number + 1} of {names}" for number in range(count))))
        elif each.title == MISSING_CELLS:
            cuts.extend(_by_missing(each, name, data[name]) for name in each.variables)
        else:
            (name,) = each.variables
            cuts.append(_by_sign(each, name, data) if each.title.startswith("sign") else _by_zero(each, name, data))
    return cuts


def _by_condition(each: Criterion, condition: Expression, columns: RecordChunk, domain: Domain | None) -> Cut:
    evaluate = evaluate_xpath if each.binding == "xpath1" else evaluate_exact
    verdict = evaluate(condition, columns, domain)
    unknown = verdict.unknown & (each.binding == "exact")
    codes = np.where(unknown, UNKNOWN, verdict.holds.astype(np.int64))
    # In XPath a comparison with a missing cell is false, and so is the opposite one.
    opposite = _condition(negate(condition) if each.binding == "exact" else Not(condition))
    if each.title.startswith("condition of"):
        meanings = (f"not {each.title}", each.title, f"{each.title} unknown")
    else:
        meanings = (opposite or f"not ({each.title})", each.title, f"{each.title} unknown")
    return Cut(each, codes, meanings)


def _by_missing(each: Criterion, name: str, column: Column) -> Cut:
    texts = () if column.blank is None else column.blank.texts
    meanings = [f"{name} missing"] * (len(texts) + 3)
    if len(texts) > 1:
        meanings[2 : len(texts) + 2] = [f"{name} missing ({text or 'empty'})" for text in sorted(texts)]
    return Cut(each, missing_codes(column), ("", *meanings[1:]), (name,))


def missing_codes(column: Column) -> Integers:
    """How each cell is missing, as whoever reads the file sees it: 0 for a value, else one code for each text.

    Parts of a file whose columns have the texts of the whole one get the same codes. They follow the texts, no cell
    first and a suppressed one last: an empty cell of CSV and an absent element of XML stand in the same place.
    """
    if column.blank is None:
        return column.missing.astype(np.int64)
    texts = column.blank.texts
    order = np.empty(len(texts) + 2, dtype=np.int64)
    order[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(2, len(texts) + 2)
    order[HAD_VALUE], order[NO_CELL] = len(texts) + 2, 1
    return np.where(column.missing, order[column.blank.codes], 0)


def _by_sign(each: Criterion, name: str, data: Dataset) -> Cut:
    values = np.nan_to_num(np.asarray(data[name].values, dtype=np.float64))
    return Cut(each, np.sign(values).astype(np.int64) + 1, tuple(f"{name} {what}" for what in ("< 0", "= 0", "> 0")))


def _by_zero(each: Criterion, name: str, data: Dataset) -> Cut:
    return Cut(each, is_zero(data[name]).astype(np.int64), (f"{name} not 0", f"{name} = 0"))


def is_zero(column: Column) -> Booleans:
    """Cells of a numeric column that are 0; missing ones are not."""
    return np.asarray((column.values == 0) & ~column.missing, dtype=np.bool_)


def _values_of(data: Dataset, names: Sequence[str]) -> tuple[Integers, int]:
    """Code of each combination of unmasked values: a masked value has to occur with the one it is published with."""
    codes = np.zeros(len(data), dtype=np.int64)
    for name in names:
        column = data[name]
        _, code = np.unique(np.where(column.missing, np.nan, column.values.astype(np.float64)), return_inverse=True)
        _, codes = np.unique(codes * (int(code.max(initial=0)) + 1) + code, return_inverse=True)
    return codes, int(codes.max(initial=-1)) + 1


def label(cuts: Sequence[Cut], codes: Sequence[int]) -> str:
    """Name of the stratum with these codes: conditions, then cells that are missing.

    A condition that is unknown because of a cell that is said to be missing is left out. Codes that a sample does not
    have, which the cuts may be of, have no names.
    """
    if any(code >= len(each.meanings) for each, code in zip(cuts, codes, strict=True)):
        return "combination of conditions"
    missing = {name for each, code in zip(cuts, codes, strict=True) if each.gaps and code for name in each.gaps}
    meanings = [
        each.meanings[code]
        for each, code in zip(cuts, codes, strict=True)
        if each.meanings[code]
        and not (
            isinstance(each.criterion.part, GoverningPart)
            and code == UNKNOWN
            and missing & set(each.criterion.variables)
        )
    ]
    if meanings:
        return ", ".join(meanings)
    return "nothing missing" if any(each.gaps for each in cuts) else "all records"


_MOST_COUNTED = 8
"""Codes for each record up to which they are counted; beyond, they are sorted."""


@dataclass(frozen=True)
class Stratum:
    """One stratum as it was before merging; `has_gaps`: whether cells are missing in it."""

    label: str
    records: int
    merged: bool
    has_gaps: bool = False


@dataclass(frozen=True, eq=False)
class Strata:
    """Strata of a variable group.

    `codes`: stratum of each record after merging, 0..s-1; shape (n,). `mixed`: edits whose condition differs inside a
    merged stratum. `least`: fewest records that a stratum was to have. `small`: strata of `within` with fewer, as they
    were before merging, and their records; `within`: how many there were; `left`: how many after joining them. `given`:
    records of larger strata that fill up rare patterns of zeros.
    """

    codes: Integers
    strata: tuple[Stratum, ...]
    mixed: frozenset[str]
    least: int = 1
    small: tuple[int, int] = (0, 0)
    within: int = 0
    left: int = 0
    given: int = 0

    @property
    def count(self) -> int:
        """Number of strata after merging."""
        return int(self.codes.max()) + 1 if len(self.codes) else 0


def stratify(
    data: Dataset, group: Sequence[str], found: Sequence[Criterion], edits: EditSet, k: int, *, keep: bool = False
) -> Strata:
    """Cut the records into strata for one variable group; `keep`: those of `within` stay, however small."""
    n = len(data)
    if n < k:
        raise InputError(f"k = {k} is larger than the number of records, {n}: no group of {k} records exists")
    cuts = cut(data, found, edits)
    if not cuts or not cuts[0].criterion.apart:
        return _merge(_cross(cuts, n), data, group, k, cuts)
    codes = cuts[0].codes
    sizes = np.bincount(codes)
    counts = sizes if data.households is None else households_in(codes, data.households, len(sizes))
    small = counts < k
    outer = cuts[0] if keep else _joined(cuts[0], data, group, k)
    strata = _merge(_cross([outer, *cuts[1:]], n), data, group, 1 if keep else k, [outer, *cuts[1:]])
    left = int(outer.codes.max()) + 1
    return replace(strata, least=k, small=(int(small.sum()), int(sizes[small].sum())), within=len(sizes), left=left)


def _joined(outer: Cut, data: Dataset, group: Sequence[str], k: int) -> Cut:
    """Strata of `within`, those with fewer than k joined with the nearest."""
    strata, _ = _merge_values(_cross([outer], len(data)), data, group, k, [outer])
    return Cut(outer.criterion, strata.codes[outer.codes], joined_values(outer.criterion, strata.codes))


def joined_values(criterion: Criterion, target: Integers) -> tuple[str, ...]:
    """What strata of `within` are; `target`: of each value the stratum that it is in; shape (v,)."""
    names = ", ".join(criterion.variables)
    _, first, held = np.unique(target, return_index=True, return_counts=True)
    return tuple(
        f"value {place + 1} of {names}" if number == 1 else f"{number} values of {names}"
        for place, number in zip(first.tolist(), held.tolist(), strict=True)
    )


def _cross(cuts: Sequence[Cut], n: int) -> tuple[Integers, Integers]:
    """Combine criteria: codes of shape (n,) and the combination of each code, shape (s, criteria)."""
    if not cuts:
        return np.zeros(n, dtype=np.int64), np.zeros((1, 0), dtype=np.int64)
    codes = np.zeros(n, dtype=np.int64)
    for each in cuts:
        codes = _renumbered(codes * (int(each.codes.max(initial=0)) + 1) + each.codes)
    first = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
    first[codes[::-1]] = np.arange(n - 1, -1, -1)  # of equal places the last one written stays: the first record
    return codes, np.stack([each.codes[first] for each in cuts], axis=1)


def _renumbered(codes: Integers) -> Integers:
    """Codes 0, 1, ... in the order of the codes that occur; shape (n,)."""
    span = int(codes.max(initial=-1)) + 1
    if span > _MOST_COUNTED * max(len(codes), 1):
        return np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
    # Counting takes a tenth of what sorting does.
    there = np.bincount(codes, minlength=span) > 0
    return (np.cumsum(there) - 1)[codes]


def _merge(
    crossed: tuple[Integers, Integers], data: Dataset, group: Sequence[str], k: int, cuts: Sequence[Cut]
) -> Strata:
    """Strata of the records, those with fewer than k joined; where zeros are rare, no more records than need be."""
    strata, moved = _merge_values(crossed, data, group, k, cuts)
    codes = strata.codes[crossed[0]]
    codes[moved.numbers] = moved.strata
    return replace(strata, codes=codes)


def _merge_values(
    crossed: tuple[Integers, Integers], data: Dataset, group: Sequence[str], k: int, cuts: Sequence[Cut]
) -> tuple[Strata, Moved]:
    codes, combinations = crossed
    sizes = np.bincount(codes, minlength=len(combinations))
    records = GroupRecords(data, group, codes, len(sizes))
    if data.households is None:
        return merged_strata(combinations, cuts, sizes, sizes, records.centres, k, candidates=records.candidates)
    own = records.households(np.arange(len(combinations)))
    return merged_strata(combinations, cuts, own, sizes, records.centres, k, records.households)


def merged_strata(
    combinations: Integers,
    cuts: Sequence[Cut],
    counts: Integers,
    sizes: Integers,
    centres: Callable[[], Floats],
    k: int,
    counted: Callable[[Integers], Integers] | None = None,
    candidates: Callable[[ZeroPatterns], Candidates] | None = None,
) -> tuple[Strata, Moved]:
    """Join strata as `join_strata` does, if any has fewer than k; the codes are those of the combinations.

    `candidates`: finds the records that patterns of zeros may move; None: among members of one household records are
    not counted, and no pattern is cut again. Also returns the records that are not where their combination is.
    """
    codes, moved = np.arange(len(combinations)), Moved.none()
    if (counts < k).any() and len(combinations) > 1:
        means = centres()
        codes = row_codes(join_strata(combinations, cuts, counts, sizes, means, k, counted)[:, None])
        zeros = [at for at, each in enumerate(cuts) if each.criterion.promised]
        if zeros and candidates is not None:
            patterns = ZeroPatterns.found(codes, row_codes(combinations[:, zeros]), sizes, means, k)
            if patterns.cut.any():
                codes, moved = patterns.separated(candidates(patterns))
    inside, among = moved.memberships(codes, sizes)
    joined = np.isin(np.arange(len(sizes)), inside[np.bincount(among)[among] > 1])
    mixed = {
        name
        for position, each in enumerate(cuts)
        if row_codes(np.column_stack([among, combinations[inside, position]])).max() > codes.max()
        for name in each.criterion.edits
    }
    gaps = combinations[:, [at for at, each in enumerate(cuts) if each.gaps]].astype(np.bool_)
    rows = zip(combinations.tolist(), sizes, counts, joined, gaps.tolist(), strict=True)
    strata = tuple(
        Stratum(label(cuts, row), int(size), bool(is_joined) and int(count) < k, any(missing))
        for row, size, count, is_joined, missing in rows
    )
    return Strata(codes, strata, frozenset(mixed), k, given=moved.given), moved
