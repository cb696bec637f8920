"""Inference by weights: cells and categories that sampling weights of strata disclose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from maskwright.data.dependencies import BY_CHANCE, FEW_VALUES, ValueCodes, determines, groups_of_each
from maskwright.disclosure.attacks.similar_records import CERTAIN
from maskwright.disclosure.attacks.single_values import determining_values, majority_values
from maskwright.foundation.doubts import Doubt

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from maskwright.data.dataset import Dataset
    from maskwright.foundation.arrays import Booleans, Floats, Integers
    from maskwright.planning.plan import Plan


def consistent_values(given: Integers, found: Integers, tests: int, groups: Integers | None = None) -> Booleans:
    """Values of `given` whose records all have one `found`, where that is beyond chance for the values as a whole.

    The records of a value are of one category by chance with probability ``q = sum_c p_c^w``, w being their number and
    p_c the share of category c. Were categories given to the records at random, the mean of the product over all values
    of ``1 / (2 q) + 1 / 2`` where they are of one category, and of ``1 / 2`` where they are not, would be 1, so that it
    exceeds `BY_CHANCE` times `tests` with no more than the inverse of that as probability (Markov). If it does, values
    tell whose records are of one category, and would by chance be so with ``q <= 1 - CERTAIN`` at most.

    `given`, `found`: codes 0, 1, ..., -1 where missing: such records tell nothing; shape (n,). `groups`: of the
    records: those of one group bear witness once; shape (n,). Returns for each code of `given`; shape (m,).
    """
    counted = int(given.max(initial=-1)) + 1
    both = (given >= 0) & (found >= 0)
    values, categories = given[both], found[both]
    if not len(values):
        return np.zeros(counted, dtype=np.bool_)
    witnesses = _witnesses(values, None if groups is None else groups[both], counted)
    least, most = np.full(counted, np.iinfo(np.int64).max), np.full(counted, -1)
    np.minimum.at(least, values, categories)
    np.maximum.at(most, values, categories)
    alike = least == most
    shares = np.bincount(categories) / len(categories)
    shares = shares[shares > 0]
    sizes, places = np.unique(witnesses, return_inverse=True)
    chance = np.array([float((shares**size).sum()) for size in sizes])[places]
    # A value of one record, or of one group, has a chance of 1: it says nothing, for or against.
    candidates = witnesses > 1
    gains = np.where(alike, 0.5 / np.maximum(chance, 1e-300), 0.0) + 0.5
    if float(np.log(gains[candidates]).sum()) < math.log(BY_CHANCE * tests):
        return np.zeros(counted, dtype=np.bool_)
    return np.asarray(candidates & alike & (chance <= 1.0 - CERTAIN))


def _witnesses(codes: Integers, groups: Integers | None, counted: int) -> Integers:
    """How many records, or groups of them, have each of the codes; shape (counted,)."""
    return np.bincount(codes, minlength=counted) if groups is None else groups_of_each(codes, groups, counted)


DECIMALS = 5
"""Of factors that count as different."""

REMEDY = (
    "Draw by strata whose cells are not suppressed, or leave the weights out (`role: identifier`), or as they are "
    "(`adjust_weights: false`)."
)

OF_VALUES = (
    "Suppress other variables, recode until records of one category have the weights of others, leave the weights out "
    "(`role: identifier`), or publish weights that strata share: calibrated, or rounded in the file itself."
)


def factors_of_weights(before: Dataset, after: Dataset) -> dict[str, Floats]:
    """What the weights of each record were multiplied by, of weights that were multiplied by several factors."""
    found = {}
    for column in after:
        if column.variable.role != "weight" or column.name not in before or not column.variable.is_numeric:
            continue
        own = before[column.name]
        there = ~column.missing & ~own.missing & (own.values > 0)
        factor = np.full(len(after), np.nan)
        factor[there] = np.round(column.values[there] / own.values[there], DECIMALS)
        if len(np.unique(factor[there])) > 1:
            found[column.name] = factor
    return found


def weight_doubts(weights: str, factor: Floats, before: Dataset, after: Dataset) -> Iterator[Doubt]:
    """Doubts about suppressed cells that the factor of a record's weight shows; `factor`: NaN without one; (n,)."""
    given = weight_codes(factor)
    tests = 2 * max(len(before.columns), 1)
    for name, gone, values, shown in _suppressed_variables(given, before, after):
        disclosing = np.ones(len(given), dtype=np.bool_)
        if not determines(given, shown, tests):
            some = determining_values(given, shown, tests * len(given))
            disclosing = np.isin(given, given[some & (given >= 0)]) | consistent_values(given, shown, tests)[given]
        why = f"{weights}, whose values were divided by another share where {name} is another"
        yield from _readable_cells(name, gone & disclosing & _shows_majority(given, shown, values), gone, why, REMEDY)


def same_weight_doubts(
    weights: str, values: Floats, before: Dataset, after: Dataset, groups: Integers | None = None
) -> Iterator[Doubt]:
    """Doubts about suppressed cells that weights disclose together, too few records of each weight to do so alone.

    What one weight discloses by itself is found where cells are suppressed.

    `values`: as they are published, NaN where there is none; shape (n,). `groups`: of the records: those of one group
    bear witness once; shape (n,).
    """
    given = weight_codes(values)
    for name, gone, found, shown in _suppressed_variables(given, before, after):
        disclosing = consistent_values(given, shown, max(len(before.columns), 1), groups)[given]
        why = f"{weights}: the records with the same weight, but for these, all show the same"
        yield from _readable_cells(name, gone & disclosing & _shows_majority(given, shown, found), gone, why, OF_VALUES)


def _shows_majority(given: Integers, shown: Integers, values: Integers) -> Booleans:
    """Records whose value nearly all that are published with the same `given` show."""
    return np.asarray((values >= 0) & (majority_values(given, shown, shown >= 0) == values))


def _readable_cells(name: str, read: Booleans, gone: Booleans, off: str, remedy: str) -> Iterator[Doubt]:
    """The doubt that suppressed cells can be inferred from something, if any can."""
    if count := int(read.sum()):
        total = int(gone.sum())
        message = f"{count} of {total} suppressed cells can be inferred from {off}"
        yield Doubt("suppressed-cells-follow", name, message, count, total, hint=remedy)


def _suppressed_variables(
    given: Integers, before: Dataset, after: Dataset
) -> Iterator[tuple[str, Booleans, Integers, Integers]]:
    """Variables with suppressed cells in records that have a weight: these cells, what all have, and what is shown."""
    codes, published = ValueCodes(before), ValueCodes(after)
    for column in after:
        name = column.name
        if name not in before or column.variable.role == "weight":
            continue
        gone = column.missing & ~before[name].missing
        if not (gone & (given >= 0)).any():
            continue
        values = _in_published_terms(codes.of(name), published.of(name))
        yield name, gone, values, np.where(~gone & (values >= 0), values, -1)


def weight_codes(values: Floats) -> Integers:
    """Codes 0, 1, ... of weights, or of what they were multiplied by; -1 for NaN; shape (n,)."""
    codes = np.full(len(values), -1, dtype=np.int64)
    known = np.isfinite(values)
    codes[known] = np.unique(values[known], return_inverse=True)[1]
    return codes


def _in_published_terms(values: Integers, published: Integers) -> Integers:
    """Codes of the categories that records have, or would have, where a recoding publishes each value as one."""
    both = (values >= 0) & (published >= 0)
    pairs = np.unique(np.stack((values[both], published[both])), axis=1)
    distinct = int(values.max(initial=-1)) + 1
    if len(np.unique(pairs[0])) < pairs.shape[1]:
        return values
    # A value that no record shows is one of its own.
    terms = np.arange(distinct, dtype=np.int64) + int(published.max(initial=-1)) + 1
    terms[pairs[0]] = pairs[1]
    return np.where(values >= 0, terms[np.maximum(values, 0)], -1) if distinct else values


class PublishedWeights(NamedTuple):
    """Weights as they are published.

    `values`: NaN where there is none; shape (n,). `factor`: what each was multiplied by, where that was not the same
    for all; shape (n,).
    """

    name: str
    values: Floats
    factor: Floats | None = None

    def taken(self, rows: Integers) -> PublishedWeights:
        """Weights of these records."""
        return self._replace(values=self.values[rows], factor=None if self.factor is None else self.factor[rows])


def published_weights(before: Dataset, after: Dataset) -> list[PublishedWeights]:
    """Weights of a file, each with what it was multiplied by."""
    factors = factors_of_weights(before, after)
    return [
        PublishedWeights(
            column.name, np.where(column.missing, np.nan, column.values).astype(np.float64), factors.get(column.name)
        )
        for column in after
        if column.variable.role == "weight" and column.variable.is_numeric
    ]


def masked_categories(plan: Plan) -> tuple[str, ...]:
    """Variables that steps recode or perturb, and not only empty; none where records are drawn anew."""
    if plan.draws_records:
        return ()
    named = {
        name
        for group in plan.groups
        for step in (plan.steps[group.step - 1],)
        if step.method.changes_cells and ("detail" in step.method.claims.removes or not step.only_removes)
        for name in group.variables
    }
    return tuple(name for name, each in plan.variables.items() if name in named and not each.as_is)


def strata_doubts(
    weights: PublishedWeights, names: Collection[str], before: Dataset, after: Dataset, groups: Integers | None = None
) -> Iterator[Doubt]:
    """Doubts about masked categories whose originals the weights disclose.

    A cell is examined where its published category alone does not disclose the original one: of fewer than `CERTAIN` of
    the records that are published with that category it is the original. The weights disclose it if they determine the
    original categories (`determines`), of all records or of those with its published category, or if its weight is one
    of the single values that disclose it (`determining_values`), and if nearly all records with the same weight had the
    original category that this one had. A weight that one record alone has, or one group, discloses nothing: so
    calibrated weights do not. The same is examined for what the weights were multiplied by.

    `groups`: of the records: those of one group have the same weight, and bear witness once; shape (n,).
    """
    originals, published = ValueCodes(before), ValueCodes(after)
    candidates = [
        name
        for name in names
        if name in before and name in after and before[name].variable.role not in ("weight", "identifier")
        and all(1 <= codes.distinct(name) <= FEW_VALUES for codes in (originals, published))
    ]  # fmt: skip
    for name in candidates:
        values, shown = originals.of(name), published.of(name)
        there = (values >= 0) & (shown >= 0)
        open_ = there & (majority_values(shown, values, there) != values)
        if not open_.any():
            continue
        tests = 2 * len(candidates) * (1 + published.distinct(name))
        by_value, by_factor = (
            np.zeros(len(values), dtype=np.bool_)
            if given is None
            else open_ & _disclosed_records(weight_codes(given), values, np.where(there, shown, -1), tests, groups)
            for given in (weights.values, weights.factor)
        )
        if count := int((by_value | by_factor).sum()):
            total = int(open_.sum())
            message = _disclosure_message(weights.name, name, by_value, by_factor, total)
            remedy = _remedy(weights.name, name, by_value, by_factor)
            yield Doubt("weights-tell-categories", name, message, count, total, hint=remedy)


def original_category_doubts(plan: Plan, before: Dataset, after: Dataset) -> Iterator[Doubt]:
    """Doubts about the masked categories of a file whose originals its own weights disclose."""
    names = masked_categories(plan)
    reported = {(each.subject, each.given_by) for each in plan.doubts if each.kind == "follows-from-published"}
    for weights in published_weights(before, after) if names else ():
        # Planning has reported weights that disclose all of a variable.
        left = [name for name in names if (name, weights.name) not in reported]
        yield from strata_doubts(weights, left, before, after, after.households)


def _disclosed_records(
    given: Integers, values: Integers, shown: Integers, tests: int, groups: Integers | None
) -> Booleans:
    """Records whose original category their weight discloses, alone or with the published category; shape (n,)."""
    found = _disclosed_by_weight(np.where(shown >= 0, given, -1), values, tests, groups)
    order = np.argsort(shown, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(shown[order])) + 1):
        differ = len(rows) and shown[rows[0]] >= 0 and (values[rows] != values[rows[0]]).any()
        if differ and _is_shared(given[rows]):
            own = np.unique(given[rows], return_inverse=True)[1] - int((given[rows] < 0).any())
            of_rows = np.unique(values[rows], return_inverse=True)[1] - int((values[rows] < 0).any())
            of_groups = None if groups is None else np.unique(groups[rows], return_inverse=True)[1]
            found[rows] |= _disclosed_by_weight(own, of_rows, tests, of_groups)
    return found


def _is_shared(given: Integers) -> bool:
    """Whether several records have one weight: one that a single record has discloses nothing."""
    known = np.sort(given[given >= 0])
    return bool((known[1:] == known[:-1]).any())


def _disclosed_by_weight(given: Integers, values: Integers, tests: int, groups: Integers | None) -> Booleans:
    there = (given >= 0) & (values >= 0)
    if not there.any():
        return there
    if determines(given, values, tests, groups):
        counted = int(given.max()) + 1
        witnesses = _witnesses(given[there], None if groups is None else groups[there], counted)
        disclosing = there & (witnesses[given] > 1)
    else:
        together = consistent_values(given, values, tests, groups)
        disclosing = determining_values(given, values, tests * len(given), groups) | (there & together[given])
    return np.asarray(disclosing & (majority_values(given, values, there) == values))


def _disclosure_message(weights: str, name: str, by_value: Booleans, by_factor: Booleans, total: int) -> str:
    count = int((by_value | by_factor).sum())
    lead = f"the original category of {count} of {total} cells that do not show it follows from {weights}"
    if not (by_factor & ~by_value).any():
        return f"{lead}: records with the same weight had the same category"
    return f"{lead}, whose values were divided by another share where {name} was another"


def _remedy(weights: str, name: str, by_value: Booleans, by_factor: Booleans) -> str:
    ways = [f"Recode {name} until records of one category have the weights of others, too"]
    ways.append(f"or leave the weights out (`{weights}: {{role: identifier}}`)")
    if by_factor.any():
        ways.append("or draw by other strata, or leave them as they are (`adjust_weights: false`)")
    if by_value.any():
        ways.append(
            f"or publish other weights: calibrated, or rounded so that strata share them, in the file itself; a step "
            f"rounds {weights} only if it is declared otherwise (`role: confidential`), and nothing is weighted by it"
        )
    return f"{'; '.join(ways)}."
