"""Checks of kinds of constraints."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from maskwright.edits.constraint_kinds import params_of as params_of_numbers
from maskwright.foundation.errors import PluginFailed
from maskwright.plugins.guarding.frozen import frozen
from maskwright.plugins.guarding.origin import Origin
from maskwright.plugins.guarding.returned_values import checked_points, checked_verdicts
from maskwright.plugins.rules import ConstraintKind, MovableRows
from maskwright.testing.checks import (
    NO_EXCUSES,
    Check,
    Excuses,
    check_described,
    check_picklable,
    checks_of_all,
    collected,
    require,
)
from maskwright.testing.conduct import check_calls, prints_nothing
from maskwright.testing.sample_data import numbers, with_holes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from _pytest.mark.structures import ParameterSet
    from numpy.typing import NDArray

ROWS = 200


@dataclass(frozen=True)
class Verdicts:
    """Rows of which it is known whether a constraint holds.

    Attributes
    ----------
    numbers : sequence of float
        What the rule gives first.
    obeyed, broken, unknown : sequence of sequences of float or None
        Rows, None where a cell is missing.

    Examples
    --------
    >>> from maskwright.testing import Verdicts
    >>> Verdicts(numbers=[1], obeyed=[(0, 5)], broken=[(3, 5)], unknown=[(None, 5)]).broken
    [(3, 5)]
    """

    obeyed: Sequence[Sequence[float | None]]
    broken: Sequence[Sequence[float | None]]
    unknown: Sequence[Sequence[float | None]] = ()
    numbers: Sequence[float] = ()


def constraint_checks(
    kinds: Sequence[ConstraintKind], *, verdicts: Mapping[str, Sequence[Verdicts]], excuses: Excuses = NO_EXCUSES
) -> list[ParameterSet]:
    """Collect checks that kinds of constraints keep their contract, for ``@pytest.mark.parametrize("check", ...)``.

    Parameters
    ----------
    kinds : sequence of ConstraintKind
    verdicts : mapping of name to examples
        The kit does not know what a kind means: at least one of each.
    excuses : mapping of check name, or "kind-check", to reason
        Checks that are known to fail; strict: an excuse that is no longer needed fails.

    Returns
    -------
    list of pytest.param
        Each holds a function without arguments.
    """
    return collected(
        checks_of_all("constraint", kinds, lambda one: _Trial(one, verdicts.get(one.name, ())).checks()), excuses
    )


class _Trial:
    """A kind of constraint and what it is tried with."""

    def __init__(self, kind: ConstraintKind, examples: Sequence[Verdicts]) -> None:
        self._kind, self._examples = kind, examples
        self._origin = Origin("constraint", kind.name)

    def checks(self) -> Iterator[tuple[str, Check]]:
        kind = self._kind
        yield "documented", partial(check_described, kind.name, kind.summary, kind.params)
        yield "picklable", partial(check_picklable, kind, kind.evaluate)
        yield "examples", self._has_examples
        for number, each in enumerate(self._examples, 1):
            yield f"verdicts_{number}", partial(self._as_stated_verdicts, each)
            yield f"missing_cells_{number}", partial(self._missing_cells, each)
            yield f"input_unmodified_{number}", partial(self._input_unmodified, each)
            yield f"concurrent_calls_{number}", partial(self._concurrent, each)
            yield f"prints_nothing_{number}", partial(self._silent, each)
            if kind.project is not None:
                yield f"points_{number}", partial(self._points, each, self._rows(each))
                yield f"points_on_a_grid_{number}", partial(self._points, each, self._rows(each, step=0.5))
                yield f"points_in_bounds_{number}", partial(self._points, each, self._bounded(each))
                yield f"one_movable_column_{number}", partial(self._points, each, self._held(each))
                yield f"none_movable_{number}", partial(self._points, each, self._held(each, but=0))
                yield f"satisfied_points_stay_{number}", partial(self._stay, each)

    def _has_examples(self) -> None:
        require(
            bool(self._examples), f"{self._kind.name}: give the kit verdicts={{{self._kind.name!r}: [Verdicts(...)]}}"
        )
        require(all(each.obeyed and each.broken for each in self._examples), "an example lacks obeyed or broken rows")

    def _evaluated(self, example: Verdicts, values: NDArray[np.float64]) -> NDArray[np.int8]:
        """Verdicts, held to what the engine demands of them."""
        seen, params = frozen(values.copy()), _params(self._kind, example)
        try:
            return checked_verdicts(self._origin, (seen, params), self._kind.evaluate(seen, params))
        except PluginFailed as error:
            raise AssertionError(str(error)) from None

    def _as_stated_verdicts(self, example: Verdicts) -> None:
        for wanted, rows, said in (
            (1, example.obeyed, "obeyed"),
            (0, example.broken, "broken"),
            (-1, example.unknown, "unknown"),
        ):
            if rows:
                wrong = np.flatnonzero(self._evaluated(example, _array(rows)) != wanted)
                require(not len(wrong), f"row {wrong[0] + 1 if len(wrong) else 0} of {said} has another verdict")

    def _missing_cells(self, example: Verdicts) -> None:
        """What holds, or does not, whatever the missing cells are, must not change when they get values."""
        values = self._made_up(example)
        verdicts = self._evaluated(example, with_holes(values))
        told = verdicts != -1
        same = np.array_equal(verdicts[told], self._evaluated(example, values)[told])
        require(same, "a verdict is given of rows with missing cells, and another one once they have values: say -1")

    def _made_up(self, example: Verdicts) -> NDArray[np.float64]:
        """Rows near those of the example, some of their cells 0."""
        known = [row for row in (*example.obeyed, *example.broken) if None not in row]
        require(bool(known), "an example needs a row without missing cells")
        base = _array(known)
        values = base[np.arange(ROWS) % len(base)] * (1.0 + (numbers(ROWS, base.shape[1]) - 1.0) * 1e-3)
        return np.where(numbers(ROWS, base.shape[1], seed=7) % 1.0 < 0.2, 0.0, values)

    def _rows(self, example: Verdicts, step: float = 0.0) -> MovableRows:
        values = self._made_up(example)
        values = values[self._evaluated(example, values) == 0]
        if step:
            values = np.rint(values / step) * step
            values = values[self._evaluated(example, values) == 0]
        q = values.shape[1]
        return MovableRows(
            values, np.ones(q, dtype=np.bool_), np.full(q, -np.inf), np.full(q, np.inf), np.full(q, step),
            np.linspace(1.0, 2.0, q),
        )  # fmt: skip

    def _bounded(self, example: Verdicts) -> MovableRows:
        rows = self._rows(example)
        if not len(rows.values):
            return rows
        return replace(rows, low=rows.values.min(axis=0), high=rows.values.max(axis=0))

    def _held(self, example: Verdicts, but: int = 1) -> MovableRows:
        rows = self._rows(example)
        return replace(rows, movable=np.arange(len(rows.movable)) < but)

    def _projected(self, example: Verdicts, rows: MovableRows) -> NDArray[np.float64]:
        """Points, held to what the engine demands of them."""
        seen, params = frozen(rows), _params(self._kind, example)
        assert self._kind.project is not None
        try:
            return checked_points(self._origin, (seen, params), self._kind.project(seen, params))
        except PluginFailed as error:
            raise AssertionError(str(error)) from None

    def _points(self, example: Verdicts, rows: MovableRows) -> None:
        if not len(rows.values):
            return
        found = self._projected(example, rows)
        given = ~np.isnan(found).any(axis=1)
        points = found[given]
        on_grid = rows.step > 0
        points[:, on_grid] = np.rint(points[:, on_grid] / rows.step[on_grid]) * rows.step[on_grid]
        if len(points):
            refused = self._evaluated(example, points) == 0
            require(not refused.any(), "project returned points that evaluate refuses, once they are on the grid")

    def _stay(self, example: Verdicts) -> None:
        rows = self._rows(example)
        if not len(rows.values):
            return
        found = self._projected(example, rows)
        points = found[~np.isnan(found).any(axis=1)]
        require(len(points) > 0, "project gave no point at all, where every column may move as far as it likes")
        again = self._projected(example, replace(rows, values=points))
        away = np.abs(again - points) / rows.scale
        require(
            not (away > 1e-6).any(), "project moves points that satisfy the constraint: the nearest is where they are"
        )

    def _input_unmodified(self, example: Verdicts) -> None:
        values = self._made_up(example)
        before, params = values.copy(), _params(self._kind, example)
        self._kind.evaluate(values, params)
        require(np.array_equal(before, values), "evaluate changed the values that it was given")
        rows = self._rows(example)
        if self._kind.project is not None and len(rows.values):
            before = rows.values.copy()
            self._kind.project(rows, params)
            require(np.array_equal(before, rows.values), "project changed the rows that it was given")

    def _concurrent(self, example: Verdicts) -> None:
        params, values = _params(self._kind, example), self._made_up(example)
        pieces = [values[start : start + 40] for start in (0, 40, 80, 120)]
        check_calls(self._kind.evaluate, lambda each: self._kind.evaluate(each, params), pieces)

    def _silent(self, example: Verdicts) -> None:
        params, values = _params(self._kind, example), self._made_up(example)
        prints_nothing(lambda: self._kind.evaluate(values, params))
        rows = self._rows(example)
        project = self._kind.project
        if project is not None and len(rows.values):
            prints_nothing(lambda: project(rows, params))


def _params(kind: ConstraintKind, example: Verdicts) -> object:
    return params_of_numbers(kind, tuple(Fraction(str(each)) for each in example.numbers))


def _array(rows: Sequence[Sequence[float | None]]) -> NDArray[np.float64]:
    return np.array([[np.nan if cell is None else cell for cell in row] for row in rows], dtype=np.float64)
