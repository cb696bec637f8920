"""Which partial records can still be completed so that edits hold, for many records at once.

What is known of a variable is an interval, or the set of its categories that are left; clauses with one alternative
left narrow it (bounds propagation). It is not complete: a record that counts as completable may not be, never the
other way round, up to rounding. Whether edits hold in whole records is evaluated.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from maskwright.data.dataset import Column
from maskwright.data.missing import HAD_VALUE, MissingCells
from maskwright.data.number_text import read_numbers
from maskwright.data.record_chunk import RecordChunk, column_cells
from maskwright.edits.edit import DomainPart, GoverningPart
from maskwright.edits.evaluation.check import evaluate
from maskwright.edits.evaluation.domain import Domain, KnownCombinations, domain_tuples
from maskwright.edits.expression import MissingAs, nodes
from maskwright.edits.reasoning.clauses import clauses_of
from maskwright.edits.reasoning.narrowing import Condition, Equality, Knowledge, condition_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from maskwright.data.variable import Variable
    from maskwright.edits.edit import Edit, Part
    from maskwright.edits.edit_set import EditSet

ROUNDS = 4
"""Passes over the clauses: what is found later is left to the evaluation of whole records."""

MOST_CODES = 64
"""Combinations of missing codes that are tried in an edit that tests them; with more it may hold."""

CELLS_AT_ONCE = 4_000_000
"""Records times (variables and categories) that are computed together; bounds memory."""


class Completion:
    """Whether edits can still hold when only some variables of a record have a value.

    Parameters
    ----------
    edits : EditSet
        Those that read other variables are left out.
    variables : sequence of Variable
    originals : mapping of name to ndarray of shape (n,), float64
        The variables in the original records: numbers, or category codes; NaN where missing. Gives the combinations of
        ``in original``, and the range (or the categories) of a variable that has no value yet.

    Examples
    --------
    >>> import numpy as np
    >>> from maskwright import Completion, EditSet, Variable
    >>> originals = {"part": np.array([1.0, 3.0]), "total": np.array([4.0, 5.0])}
    >>> completion = Completion(EditSet.parse(["part <= total"]), [Variable("part"), Variable("total")], originals)
    >>> completion.can_complete({"part": np.array([2.0, 7.0, np.nan])}, "part")
    array([ True, False,  True])
    """

    def __init__(
        self,
        edits: EditSet,
        variables: Sequence[Variable],
        originals: Mapping[str, NDArray[np.float64]],
    ) -> None:
        self._variables = {variable.name: variable for variable in variables}
        self._edits = tuple(
            edit for edit in edits if edit.engine is None and set(edit.variables) <= set(self._variables)
        )
        numbers = {each.name: _numbers(each) for each in variables if not each.is_numeric}
        self._codes = numbers
        self._clauses: list[tuple[frozenset[str], tuple[tuple[Condition, ...], ...]]] = []
        self._known: list[KnownCombinations] = []
        self._evaluated: list[Edit] = []
        self._equalities: list[_Equality] = []
        self._domain = _domain(self._edits, self._variables, originals)
        self._ranges = {name: _range(originals[name]) for name in self._variables}
        self._take_apart(originals)

    def _take_apart(self, originals: Mapping[str, NDArray[np.float64]]) -> None:
        for edit in self._edits:
            is_open = False
            for part, clause in zip(edit.parts, clauses_of(edit), strict=True):
                if isinstance(part, DomainPart):
                    self._known.append(KnownCombinations(part.variables, originals))
                    continue
                self._equalities += [
                    each for each in _equalities(edit, part) if all(map(self._is_number, each.equality.names))
                ]
                alternatives = []
                for atoms in clause.alternatives:
                    found = [condition_of(atom, self._variables, self._codes) for atom in atoms]
                    is_open |= None in found
                    alternatives.append(tuple(each for each in found if each is not None))
                # An alternative of which nothing is known always stays possible.
                if all(alternatives):
                    names = frozenset(name for each in alternatives for one in each for name in one.names)
                    self._clauses.append((names, tuple(alternatives)))
            if is_open:
                self._evaluated.append(edit)

    def _is_number(self, name: str) -> bool:
        # Rules count datetimes in days, columns hold seconds.
        return self._variables[name].is_numeric and self._variables[name].type != "datetime"

    @property
    def restricted(self) -> frozenset[str]:
        """Names of the variables that an edit reads."""
        return frozenset(name for edit in self._edits for name in edit.variables)

    def can_complete(self, fixed: Mapping[str, NDArray[np.float64]], newest: str) -> NDArray[np.bool_]:
        """Whether each record may be completed; shape (m,).

        Parameters
        ----------
        fixed : mapping of name to ndarray of shape (m,), float64
            The variables that have a value, or no value for good (NaN).
        newest : str
            The one of them that has one last: without it the records could be completed.
        """
        found = np.ones(len(fixed[newest]), dtype=np.bool_)
        whole = [edit for edit in self._evaluated if newest in edit.variables and set(edit.variables) <= set(fixed)]
        clauses = self._reached(newest, fixed)
        combinations = [each for each in self._known if newest in each.names]
        if not (whole or clauses or combinations):
            return found
        for part in self._slices(len(found)):
            here = {name: values[part] for name, values in fixed.items()}
            for each in combinations:
                found[part] &= each.may_hold(here)
            if clauses:
                found[part] &= self._propagated(here, part.stop - part.start, clauses)[0]
            if whole:
                found[part] &= ~self._broken(whole, here)
        return found

    def bounds(
        self, fixed: Mapping[str, NDArray[np.float64]], name: str, m: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Least and largest number that a variable without a value may have; each of shape (m,).

        Parameters
        ----------
        fixed : mapping of name to ndarray of shape (m,), float64
            The variables that have a value, or no value for good (NaN); none of them: what holds of every record.
        name : str
        m : int
            Number of records.
        """
        low, high = np.empty(m), np.empty(m)
        for part in self._slices(m):
            here = {each: values[part] for each, values in fixed.items()}
            _, known = self._propagated(here, part.stop - part.start, self._reached(name, fixed))
            low[part], high[part] = known.interval(name)
        return low, high

    def defined(self, fixed: Mapping[str, NDArray[np.float64]], name: str, m: int) -> NDArray[np.float64]:
        """Number that an equality gives a variable: both sides equal, not rounded.

        An equality under a condition gives it to the records that the condition is known to hold for.

        Parameters
        ----------
        fixed : mapping of name to ndarray of shape (m,), float64
            The variables that have a value, or no value for good (NaN).
        name : str
        m : int
            Number of records.

        Returns
        -------
        ndarray of shape (m,)
            NaN where no equality gives a number: other variables of it or of its condition have no value, the condition
            does not hold, or any number will do.

        Examples
        --------
        >>> import numpy as np
        >>> from maskwright import Completion, EditSet, Variable
        >>> completion = Completion(EditSet.parse(["abs(price * quantity - value) <= 1"]),
        ...                         [Variable("price"), Variable("quantity"), Variable("value")],
        ...                         {name: np.array([1.0, 2.0]) for name in ("price", "quantity", "value")})
        >>> completion.defined({"price": np.array([2.5]), "quantity": np.array([4.0])}, "value", 1)
        array([10.])
        """
        found = np.full(m, np.nan)
        for each in self._equalities:
            if each.equality.defines(name, fixed) and each.is_decided(name, fixed):
                wanted = np.isnan(found) & self._stated(each, fixed, m)
                found = np.where(wanted, each.equality.solved(name, fixed), found)
        return found

    def _stated(self, each: _Equality, fixed: Mapping[str, NDArray[np.float64]], m: int) -> NDArray[np.bool_]:
        """Records that an equality is stated for."""
        if each.condition is None:
            return np.ones(m, dtype=np.bool_)
        columns = {name: _column(self._variables[name], fixed[name]) for name in each.condition.variables}
        cells = {name: column_cells(column) for name, column in columns.items()}
        verdict = evaluate(each.condition, RecordChunk(m, cells), self._domain)
        return verdict.holds & ~verdict.unknown if each.when_it_holds else ~verdict.holds

    def broken(self, values: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
        """Whether each whole record violates an edit, as it is evaluated; shape (m,)."""
        m = len(next(iter(values.values())))
        found = np.zeros(m, dtype=np.bool_)
        for part in self._slices(m):
            found[part] = self._broken(self._edits, {name: each[part] for name, each in values.items()})
        return found

    def _broken(self, edits: Sequence[Edit], values: Mapping[str, NDArray[np.float64]]) -> NDArray[np.bool_]:
        m = len(next(iter(values.values())))
        read = dict.fromkeys(name for edit in edits for name in edit.variables)
        columns = {name: _column(self._variables[name], values[name]) for name in read}
        found = np.zeros(m, dtype=np.bool_)
        for edit in edits:
            found |= ~self._may_hold(edit, columns, m)
        return found

    def _may_hold(self, edit: Edit, columns: Mapping[str, Column], m: int) -> NDArray[np.bool_]:
        """Whether an edit holds with some missing code in the cells without a value: which one is not drawn yet."""
        coded = dict.fromkeys(
            node.operand.name for node in nodes(edit.expression)
            if isinstance(node, MissingAs) and columns[node.operand.name].missing.any()
        )  # fmt: skip
        codes = [("", *self._variables[name].missing_codes) for name in coded]
        if math.prod(map(len, codes)) > MOST_CODES:
            return np.ones(m, dtype=np.bool_)
        found = np.zeros(m, dtype=np.bool_)
        for texts in itertools.product(*codes):
            own = {name: _with_code(columns[name], text) for name, text in zip(coded, texts, strict=True)}
            chunk = RecordChunk(m, {name: column_cells(column) for name, column in {**columns, **own}.items()})
            found |= evaluate(edit, chunk, self._domain).holds
        return found

    def _slices(self, m: int) -> list[slice]:
        width = len(self._variables) + sum(len(codes) for codes in self._codes.values())
        step = max(CELLS_AT_ONCE // max(width, 1), 1)
        return [slice(start, min(start + step, m)) for start in range(0, m, step)]

    def _reached(
        self, newest: str, fixed: Collection[str]
    ) -> tuple[tuple[frozenset[str], tuple[tuple[Condition, ...], ...]], ...]:
        """Clauses that read a variable, and those that they reach over variables without a value."""
        reached, free, grows = set[int](), {newest}, True
        while grows:
            more = {place for place, (names, _) in enumerate(self._clauses) if names & free} - reached
            reached |= more
            free |= {name for place in more for name in self._clauses[place][0] if name not in fixed}
            grows = bool(more)
        return tuple(self._clauses[place] for place in sorted(reached))

    def _propagated(
        self,
        fixed: Mapping[str, NDArray[np.float64]],
        m: int,
        clauses: Sequence[tuple[frozenset[str], tuple[tuple[Condition, ...], ...]]],
    ) -> tuple[NDArray[np.bool_], Knowledge]:
        known = Knowledge(fixed, m, self._variables, self._codes, self._ranges)
        for _ in range(ROUNDS):
            known.changed = False
            for _, alternatives in clauses:
                alive = [
                    np.logical_and.reduce([condition.may_hold(known) for condition in each]) for each in alternatives
                ]
                count = np.sum(alive, axis=0)
                known.possible &= count > 0
                for each, own in zip(alternatives, alive, strict=True):
                    only = own & (count == 1) & known.possible
                    if only.any():
                        for condition in each:
                            condition.narrow(known, only)
            if not known.changed:
                break
        return known.possible, known


@dataclass(frozen=True)
class _Equality:
    """An equality, and the condition that it is stated for: where that holds, or where it does not."""

    equality: Equality
    condition: Edit | None = None
    when_it_holds: bool = True

    def is_decided(self, name: str, fixed: Collection[str]) -> bool:
        """Whether values tell if it is stated, that of the variable `name` aside."""
        return self.condition is None or set(self.condition.variables) <= set(fixed) - {name}


def _equalities(edit: Edit, part: Part) -> Iterator[_Equality]:
    if not isinstance(part, GoverningPart):
        equality = Equality.of(part)
        if equality is not None:
            yield _Equality(equality)
        return
    names = part.condition_variables
    condition = replace(edit, expression=part.condition, parts=(), variables=names, when=None)
    for parts, when_it_holds in ((part.consequent, True), (part.otherwise, False)):
        for each in parts:
            equality = Equality.of(each)
            if equality is not None:
                yield _Equality(equality, condition, when_it_holds)


def _numbers(variable: Variable) -> NDArray[np.float64]:
    """The number that each category says; NaN where it says none."""
    return np.asarray(read_numbers(variable.category_texts).values, dtype=np.float64)


def _range(values: NDArray[np.float64]) -> tuple[float, float]:
    present = values[~np.isnan(values)]
    return (float(present.min()), float(present.max())) if present.size else (-math.inf, math.inf)


def _column(variable: Variable, values: NDArray[np.float64]) -> Column:
    missing = np.isnan(values)
    if variable.is_numeric:
        return Column(variable, values.copy(), missing)
    return Column(variable, np.where(missing, -1, values).astype(np.int32), missing)


def _with_code(column: Column, text: str) -> Column:
    codes = np.where(column.missing, 0, HAD_VALUE).astype(np.int16)
    return replace(column, blank=MissingCells((text,), codes))


def _domain(
    edits: Sequence[Edit], variables: Mapping[str, Variable], originals: Mapping[str, NDArray[np.float64]]
) -> Domain | None:
    tuples = domain_tuples(edits)
    if not tuples:
        return None
    names = dict.fromkeys(name for each in tuples for name in each)
    cells = {name: column_cells(_column(variables[name], originals[name])) for name in names}
    return Domain.from_chunks(tuples, [RecordChunk(len(originals[next(iter(names))]), cells)])
