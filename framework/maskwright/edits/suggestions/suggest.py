"""Rules that hold in a file, verified record by record, without those that follow from others."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dependencies import ValueCodes
from maskwright.edits.algebra.polynomial import Elimination
from maskwright.edits.edit import LinearPart
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check import Outcome
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.languages.conversion.yaml_text import name_text
from maskwright.edits.reasoning.answers import Refutation, Space
from maskwright.edits.reasoning.clauses import clauses_of, negation_of
from maskwright.edits.reasoning.satisfiability import Satisfiability
from maskwright.edits.suggestions.code_pairs import code_pairs, exceptions
from maskwright.edits.suggestions.computed import computed
from maskwright.edits.suggestions.conditionals import conditionals, limits
from maskwright.edits.suggestions.model import (
    Candidate,
    Sample,
    Suggestion,
    SuggestionKind,
    Suggestions,
    fraction,
    number,
    numeric_names,
    with_days,
)
from maskwright.edits.suggestions.products import products
from maskwright.edits.suggestions.ranges_and_orderings import orderings, ranges
from maskwright.edits.suggestions.sums import sums
from maskwright.foundation.counts import plural
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Progress, silent

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from maskwright.data.dataset import Dataset
    from maskwright.edits.edit import Edit


def is_part(one: Mapping[str, Fraction], other: Mapping[str, Fraction]) -> bool:
    """Whether one of two sums is the other without some of its terms."""
    few, many = sorted((one, other), key=len)
    if not set(few) <= set(many):
        return False
    return len({few[name] / many[name] for name in few}) == 1


BATCH = 32
"""Candidates that one reading of the records verifies."""

MOST_CONNECTED = 60
EQUALITIES: tuple[SuggestionKind, ...] = ("equality", "product", "proportion")
ALGEBRAIC = (*EQUALITIES, "ordering")
"""Kinds of which proofs are made; conditionals are followed as chains."""


class Acceptance:
    """Takes candidates, sums first, and keeps those that hold and say something new.

    A candidate says nothing new where its vector is a combination of those of accepted rules, where its conditional is
    a chain of accepted ones, or where it can be proven from accepted rules, from the rules given, and from the ranges
    of variables.

    `dated`, `data`: all records, with texts that are dates as days, and as they are.
    """

    def __init__(self, dated: Dataset, data: Dataset, sample: Sample, stated: EditSet) -> None:
        self._dated = dated
        self._data = data
        self._share, self._equal_share = sample.share, sample.equal_share
        self._stated = stated
        self._accepted: list[tuple[Candidate, Edit]] = []
        self._sums = Elimination[str]()
        for part in (part for edit in stated for part in edit.parts):
            if isinstance(part, LinearPart) and part.relation == "==" and not part.constant:
                self._sums.add(dict(part.coefficients))
        self._products = Elimination[str]()
        self._chains: dict[str, set[str]] = {}
        self._codes = ValueCodes(data)
        self._ranges = _ranges(dated)
        self.known = 0

    def take(self, candidates: Sequence[Candidate]) -> tuple[Suggestion, ...]:
        """Suggestions among candidates that are tried in this order."""
        found = []
        left = list(candidates)
        while left:
            batch, left = left[:BATCH], left[BATCH:]
            edits = EditSet.parse([each.statement for each in batch])
            new = [(each, edit) for each, edit in zip(batch, edits, strict=True) if not self._is_implied(each, edit)]
            for candidate, edit, held, of in self._verified(new):
                if len(new) == 1 or not self._is_implied(candidate, edit):
                    self._accept(candidate, edit)
                    found.append(self._suggestion(candidate, held, of))
        return tuple(found)

    def _verified(self, batch: Sequence[tuple[Candidate, Edit]]) -> list[tuple[Candidate, Edit, int, int]]:
        """Those that hold in enough records, with the records in which they do and of which they speak."""
        judged = [edit for each, edit in batch if each.kind != "dependency" and not each.needs]
        days = [edit for each, edit in batch if each.needs]
        counts = {}
        for data, chosen in ((self._data, judged), (self._dated, days)):
            outcome = check_dataset(data, EditSet(tuple(chosen))) if chosen else Outcome(0)
            for each in outcome.edits:
                of = each.fired - each.unknown
                counts[each.name] = (of - each.violations, of)
        found = []
        for candidate, edit in batch:
            # A rule on combinations of this very file holds in it.
            held, of = counts[edit.name] if edit.name in counts else (self._together(candidate),) * 2
            share = self._equal_share if candidate.kind in EQUALITIES else self._share
            if of and held >= share * of:
                found.append((candidate, edit, held, of))
        return found

    def _together(self, candidate: Candidate) -> int:
        assert candidate.pair is not None
        one, other = (self._codes.of(name) for name in candidate.pair)
        return int(np.count_nonzero((one >= 0) & (other >= 0)))

    def _suggestion(self, candidate: Candidate, held: int, of: int) -> Suggestion:
        wrong, ground = of - held, candidate.ground
        if candidate.kind == "dependency":
            assert candidate.pair is not None
            wrong = exceptions(self._codes, *candidate.pair)
            ground += f", but for {plural(wrong, 'record')}" if wrong else ""
        useful = max(candidate.chance - wrong / len(self._data), 0.0) if candidate.chance else 0.0
        tolerance = float(candidate.tolerance)
        return Suggestion(candidate.kind, candidate.rule, held, of, useful, ground, candidate.needs, tolerance)

    def _accept(self, candidate: Candidate, edit: Edit) -> None:
        self._accepted.append((candidate, replace(edit, name=f"accepted-{len(self._accepted) + 1}")))
        if candidate.kind == "equality":
            self._sums.add(candidate.vector)
            if len(candidate.vector) == 2 and "" not in candidate.vector:
                one, other = candidate.vector
                self._products.add({one: Fraction(1), other: Fraction(-1)})
                self._same_zeros(one, other)
        elif candidate.vector:
            self._products.add(candidate.vector)
            if len(candidate.vector) == 2:
                self._same_zeros(*candidate.vector)
        for (start, end), (not_start, not_end) in zip(candidate.implications, candidate.negations, strict=True):
            self._chains.setdefault(start, set()).add(end)
            self._chains.setdefault(not_end, set()).add(not_start)

    def _same_zeros(self, one: str, other: str) -> None:
        """Of two variables in a fixed ratio, one is 0 where the other is."""
        for is_so in ("== 0", "> 0", "!= 0"):
            texts = [f"{name_text(name)} {is_so}" for name in (one, other)]
            for start, end in permutations(texts):
                self._chains.setdefault(start, set()).add(end)

    def _is_implied(self, candidate: Candidate, edit: Edit) -> bool:
        """Whether a candidate follows from rules given, which is counted, or from accepted ones."""
        if len(self._stated) and follows(edit, self._stated):
            self.known += 1
            return True
        if candidate.kind == "equality":
            parts = (each.vector for each, _ in self._accepted if each.kind == "equality")
            return not self._sums.reduced(candidate.vector)[0] or any(is_part(candidate.vector, each) for each in parts)
        if candidate.vector:
            return not self._products.reduced(candidate.vector)[0]
        if candidate.implications and self._is_chain(candidate):
            return True
        if candidate.kind == "ordering" and self._are_parts(*edit.variables):
            return True
        return candidate.kind in ("ordering", "conditional") and follows(edit, self._facts(edit))

    def _are_parts(self, one: str, other: str) -> bool:
        """Whether one variable is computed from the other, or both are parts of one sum: not in order but by chance."""
        if not self._products.reduced({one: Fraction(1), other: Fraction(-1)})[0]:
            return True
        sums = [
            each.vector for each, _ in self._accepted if each.kind == "equality" and {one, other} <= set(each.vector)
        ]
        return any(vector[one] * vector[other] > 0 for vector in sums)

    def _is_chain(self, candidate: Candidate) -> bool:
        """Whether a conditional is a chain of accepted ones, or between a code and what it determines."""
        return self._is_coded(candidate.pair) or all(self._leads(*each) for each in candidate.implications)

    def _is_coded(self, pair: tuple[str, str] | None) -> bool:
        """Whether one of two variables determines the other, directly or through others."""
        return pair is not None and (pair[1] in self._determined(pair[0]) or pair[0] in self._determined(pair[1]))

    def _determined(self, name: str) -> set[str]:
        found, left = {name}, [name]
        pairs = [each.pair for each, _ in self._accepted if each.kind == "dependency" and each.pair is not None]
        while left:
            given = left.pop()
            for label in {end for start, end in pairs if start == given} - found:
                found.add(label)
                left.append(label)
        return found

    def _leads(self, start: str, end: str) -> bool:
        seen, left = {start}, [start]
        while left:
            text = left.pop()
            # Whatever a comparison says of a variable, it says of one that is there.
            there = re.sub(r"^(`[^`]*`|\S+) (==|!=|<=|>=|<|>) .*", r"\1 is not missing", text)
            for each in {there, *self._chains.get(text, ()), *self._others(text)} - seen:
                seen.add(each)
                left.append(each)
        return end in seen

    def _others(self, text: str) -> set[str]:
        """Of a condition that a variable has a code, the known ones that it has not another one."""
        name, is_equal, _ = text.partition(" == ")
        different = text.replace(" == ", " != ", 1)
        return (
            {each for each in self._chains if each.startswith(f"{name} != ") and each != different}
            if is_equal
            else set()
        )

    def _facts(self, edit: Edit) -> EditSet:
        """Rules given and accepted that an edit is connected with, and the ranges of their variables."""
        accepted = EditSet(tuple(each for candidate, each in self._accepted if candidate.kind in ALGEBRAIC))
        near = connected(self._stated.joined(accepted), edit)
        names = sorted({name for each in near for name in each.variables} | set(edit.variables))
        return EditSet((*near, *(self._ranges[name] for name in names if name in self._ranges)))


def _ranges(data: Dataset) -> Mapping[str, Edit]:
    """Of each numeric variable the edit that it lies between its smallest and its largest value."""
    columns = [data[name] for name in numeric_names(data) if not data[name].missing.all()]
    rules = []
    for column in columns:
        low, high = (number(fraction(value)) for value in (np.nanmin(column.values), np.nanmax(column.values)))
        rule = f"{name_text(column.name)} in [{low}, {high}]"
        rules.append({"rule": rule, "name": f"range of {column.name}"})
    return {column.name: edit for column, edit in zip(columns, EditSet.parse(rules), strict=True)}


def follows(edit: Edit, known: EditSet) -> bool:
    """Whether an edit can be proven from others."""
    if set(edit.parts) <= {part for each in known for part in each.parts}:
        return True
    broken = negation_of(edit.name, edit.parts)
    if broken is None:
        return False
    near = [each for each in connected(known, edit) if not each.shadowed]
    answer = Satisfiability([*(clause for each in near for clause in clauses_of(each)), broken], Space(), {}).answer()
    return isinstance(answer, Refutation) and not answer.is_open


def connected(known: EditSet, edit: Edit) -> EditSet:
    """Rules that share a variable with an edit, directly or through others; directly only where these are too many."""
    names, near = set(edit.variables), EditSet()
    while True:
        more = known.on(sorted(names))
        if len(more) == len(near):
            return more
        if len(more) > MOST_CONNECTED:
            return known.on(edit.variables)
        names.update(more.variables)
        near = more


LIMIT = 30
MOST_VARIABLES = 60
"""Variables among which sums and products are searched."""

EQUAL_SHARE = 0.95
"""Share of the records in which sums, products and computed variables have to hold where no share is given."""

MOST_TRIED = 300
"""Candidates of one kind that are verified, the most promising first."""


def suggest(
    data: Dataset,
    stated: EditSet | None = None,
    share: float | None = None,
    progress: Progress = silent,
    *,
    limit: int = LIMIT,
    show_values: bool = False,
) -> Suggestions:
    """Search a file for rules.

    Sums with small whole coefficients, products, proportions up to rounding, codes that determine labels and groups,
    conditionals, orderings of what is comparable, ranges; on demand constants and listed values. Long files are
    searched in 20,000 of their records; every rule is then checked on every record in exact arithmetic. What follows
    from other suggestions is left out. The rules come from the data: publishing them discloses something.
    """
    equal_share = EQUAL_SHARE if share is None else share
    share = 1.0 if share is None else share
    if not 0 < share <= 1:
        raise InputError(f"the share of records must be above 0 and at most 1, not {share:g}")
    if limit < 0:
        raise InputError(f"the limit of suggestions must be at least 1, or 0 for all, not {limit}")
    if len(data) == 0:
        raise InputError("there are no records to find rules in")
    notes = [
        "bounds of ranges are values of records: confidential; so are codes and lists"
        if show_values
        else "constants and lists of values are not shown: they are values of records (--show-values, "
        "show_values=True); conditionals speak of 0 and of missing cells, not of codes"
    ]
    sample = Sample.drawn(data, share, equal_share=equal_share)
    numbers = sample.numbers
    if len(numbers) > MOST_VARIABLES:
        notes.append(f"sums and products were searched among the first {MOST_VARIABLES} of {len(numbers)} variables")
        numbers = numbers[:MOST_VARIABLES]
    dated, dates = with_days(data)
    ordered = Sample.drawn(dated, share, dates)
    # What others may follow from comes first.
    kinds: list[Iterable[Candidate]] = [
        sums(sample, numbers), [*products(sample, numbers), *computed(sample, numbers)], code_pairs(sample),
        orderings(ordered), [*conditionals(sample, show_values=show_values), *(limits(sample) if show_values else ())],
        ranges(data, share, exact=show_values),
    ]  # fmt: skip
    acceptance = Acceptance(dated, data, sample, EditSet() if stated is None else stated)
    found: list[Suggestion] = []
    for done, candidates in enumerate(kinds, start=1):
        tried = sorted(candidates, key=lambda each: -each.promise)
        if len(tried) > MOST_TRIED and tried[0].chance:
            notes.append(f"of {len(tried)} rules of kind {tried[0].kind} the {MOST_TRIED} most promising were tried")
            tried = tried[:MOST_TRIED]
        found += acceptance.take(tried)
        progress(done / len(kinds))
    if acceptance.known:
        notes.append(
            f"left out: {plural(acceptance.known, 'rule that follows', 'rules that follow')} from the rules given"
        )
    found.sort(key=lambda each: -each.usefulness)
    if limit and len(found) > limit:
        notes.append(f"left out: {plural(len(found) - limit, 'less useful rule')} (--limit 0 and limit=0 give all)")
        found = found[:limit]
    return Suggestions(len(data), tuple(found), tuple(notes), show_values)
