"""Curved edits as polynomial constraints: products and other comparisons of polynomials, with their tangents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

from maskwright.edits.algebra.polynomial import polynomial_of
from maskwright.edits.expression import Comparison, Expression

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from maskwright.edits.algebra.polynomial import Monomial
    from maskwright.edits.edit import ProductPart

    Fetch = Callable[[str], NDArray[np.float64]]


@dataclass(frozen=True)
class PolynomialConstraint:
    """``sum(coefficient * prod(variable ** exponent)) relation 0``."""

    terms: tuple[tuple[float, Monomial], ...]
    relation: Literal["==", "<=", "<"]

    def evaluate(self, fetch: Fetch) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Value of the sum and the size of its largest term, each of shape (r,); `fetch` gives a variable's numbers."""
        total: NDArray[np.float64] = np.zeros(())
        size: NDArray[np.float64] = np.zeros(())
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for coefficient, monomial in self.terms:
                term = np.asarray(coefficient)
                for name, exponent in monomial:
                    term = term * _power(fetch(name), exponent)
                total = total + term
                size = np.maximum(size, np.abs(term))
        return total, size

    def broken(self, value: NDArray[np.float64], allowed: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Rows in which `value` is on the wrong side by more than `allowed`; a strict relation allows nothing."""
        if self.relation == "==":
            return np.abs(value) > allowed
        return value > allowed if self.relation == "<=" else value >= 0

    def gradient(self, fetch: Fetch, position: Mapping[str, int], result: NDArray[np.float64]) -> None:
        """Write the gradient of the sum.

        `fetch`: gives a variable's numbers, shape (r,). `position`: columns of the variables that may move; the others
        count as constants. `result`: written; shape (r, q).
        """
        result[:] = 0.0
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            for coefficient, monomial in self.terms:
                for name, exponent in monomial:
                    if name not in position:
                        continue
                    slope = np.full(len(result), coefficient * exponent)
                    for other, power in monomial:
                        slope = slope * _power(fetch(other), power - 1 if other == name else power)
                    result[:, position[name]] += slope


def _power(base: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    return base if exponent == 1 else base ** float(exponent)


def product_constraint(part: ProductPart) -> PolynomialConstraint:
    """A product edit as ``left - right relation 0``."""
    left = (float(part.coefficient), tuple(part.left))
    right = (-float(part.constant), tuple(part.right))
    return _oriented((left, right), part.relation)


@lru_cache(maxsize=1024)
def comparison_constraint(expression: Expression) -> PolynomialConstraint | None:
    """A comparison of two polynomials; None for any other condition."""
    if not isinstance(expression, Comparison) or expression.operator == "!=":
        return None
    left, right = polynomial_of(expression.left), polynomial_of(expression.right)
    if left is None or right is None:
        return None
    difference = left - right
    if difference.is_constant or not difference.keeps_its_divisors:
        return None
    terms = tuple((float(coefficient), monomial) for monomial, coefficient in difference.terms.items())
    return _oriented(terms, expression.operator)


def _oriented(terms: tuple[tuple[float, Monomial], ...], relation: str) -> PolynomialConstraint:
    if relation in (">", ">="):
        terms = tuple((-coefficient, monomial) for coefficient, monomial in terms)
        return PolynomialConstraint(terms, "<" if relation == ">" else "<=")
    return PolynomialConstraint(terms, relation)  # type: ignore[arg-type]
