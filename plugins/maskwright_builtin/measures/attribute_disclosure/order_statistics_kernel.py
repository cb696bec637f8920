"""Compiled: quantiles of beta distributions cut off to an interval, however large their parameters.

The i-th smallest of n uniform numbers has the beta distribution ``B(i, n - i + 1)``, with density proportional to
``exp(f(u))``, ``f(u) = A ln u + B ln(1 - u)``, ``A = i - 1``, ``B = n - i``. `f` is concave, so the part of the
interval that holds the mass is found by bisection; there the density is integrated by Gauss's rule and quantiles are
solved for by Newton's method. Values of the incomplete beta function, which cancel when n is large, are not needed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats

NEGLIGIBLE = 40.0
"""Where the logarithm of the density is this far below its maximum there is no mass."""
FLAT = 1.0
"""One panel is enough while the logarithm of the density varies less than this."""
PANELS = 20
SMALLEST_REMAINDER = 1e-10
STEPS = 50

NODES, WEIGHTS = np.polynomial.legendre.leggauss(8)
FEW_NODES, FEW_WEIGHTS = np.polynomial.legendre.leggauss(5)
"""Exact enough, to 1e-11, while the density varies by a factor of e at most."""


@compiled
def _log_density(u: float, top: float, a: float, b: float) -> float:
    """``f(u) - f(top)``."""
    result = 0.0
    if a > 0.0:
        result += a * np.log1p((u - top) / top)
    if b > 0.0:
        result += b * np.log1p((top - u) / (1.0 - top))
    return result


@compiled
def _edge(end: float, top: float, a: float, b: float) -> float:
    """`end`, or the point between it and the maximum where the density becomes negligible."""
    if _log_density(end, top, a, b) >= -NEGLIGIBLE:
        return end
    outside, inside = end, top
    for _ in range(60):
        middle = 0.5 * (outside + inside)
        if _log_density(middle, top, a, b) < -NEGLIGIBLE:
            outside = middle
        else:
            inside = middle
    return outside


@compiled
def _mass(begin: float, end: float, top: float, a: float, b: float) -> float:
    """Integral of the density relative to its maximum."""
    half, middle, total = 0.5 * (end - begin), 0.5 * (begin + end), 0.0
    for k in range(8):
        total += WEIGHTS[k] * np.exp(_log_density(middle + half * NODES[k], top, a, b))
    return float(total * half)


@compiled
def _solved(begin: float, end: float, wanted: float, top: float, a: float, b: float) -> float:
    """Point up to which the panel holds the mass `wanted`: Newton's method kept inside a shrinking bracket."""
    low, high, x = begin, end, 0.5 * (begin + end)
    for _ in range(STEPS):
        excess = _mass(begin, x, top, a, b) - wanted
        if excess > 0.0:
            high = x
        else:
            low = x
        step = excess / np.exp(_log_density(x, top, a, b))
        following = float(x - step)
        if not low <= following <= high:
            following = 0.5 * (low + high)
        if abs(following - x) <= 1e-13 * (end - begin):
            return following
        x = following
    return x


@compiled
def _flat_mass(t: float, c1: float, c2: float, c3: float, c4: float) -> float:
    """Integral from -1 to t of ``exp(c1 t + c2 t**2 + c3 t**3 + c4 t**4)``."""
    half, middle, total = 0.5 * (t + 1.0), 0.5 * (t - 1.0), 0.0
    for k in range(5):
        s = middle + half * FEW_NODES[k]
        total += FEW_WEIGHTS[k] * np.exp(s * (c1 + s * (c2 + s * (c3 + s * c4))))
    return float(total * half)


@compiled
def _flat_solved(share: float, total: float, c1: float, c2: float, c3: float, c4: float) -> float:
    """Point in [-1, 1] up to which lies the `share` of the mass, from that of ``exp(c1 t)``."""
    t = -1.0 + (np.log1p(share * np.expm1(2.0 * c1)) / c1 if abs(c1) > 1e-8 else 2.0 * share)
    for _ in range(STEPS):
        step = (_flat_mass(t, c1, c2, c3, c4) - share * total) / np.exp(t * (c1 + t * (c2 + t * (c3 + t * c4))))
        t -= step
        # Newton's method squares the error: after a step this small it is below 1e-10 of the interval.
        if abs(step) <= 1e-5:
            break
    return t


@compiled
def truncated_quantiles(
    low: Floats,
    high: Floats,
    a: Floats,
    b: Floats,
    lower_share: Floats,
    upper_share: Floats,
    lower: Floats,
    upper: Floats,
) -> None:
    """Two quantiles of each beta distribution ``B(a + 1, b + 1)`` cut off to ``[low, high]``.

    `low`, `high`: ``0 <= low < high <= 1``; shape (r,). `a`, `b`: not negative; shape (r,). `lower_share`,
    `upper_share`: between 0 and 1; shape (r,). `lower`, `upper`: output; shape (r,).
    """
    cumulative = np.empty(PANELS + 1)
    for r in range(len(low)):
        p, q, begin, end = a[r], b[r], low[r], high[r]
        middle, half = 0.5 * (begin + end), 0.5 * (end - begin)
        left, right = half / middle, half / (1.0 - middle)
        c1, c2 = p * left - q * right, -(p * left**2 + q * right**2) / 2.0
        flat = abs(c1) - c2 < FLAT
        if flat and p * left**5 + q * right**5 < SMALLEST_REMAINDER:
            # Taylor's series of the logarithm of the density about the middle, in units of half the width.
            c3, c4 = (p * left**3 - q * right**3) / 3.0, -(p * left**4 + q * right**4) / 4.0
            total = _flat_mass(1.0, c1, c2, c3, c4)
            lower[r] = middle + half * _flat_solved(lower_share[r], total, c1, c2, c3, c4)
            upper[r] = middle + half * _flat_solved(upper_share[r], total, c1, c2, c3, c4)
            continue
        mode = p / (p + q) if p + q > 0.0 else middle
        top = min(max(mode, begin), end)
        begin, end = _edge(begin, top, p, q), _edge(end, top, p, q)
        panels = 1 if flat else PANELS
        width = (end - begin) / panels
        cumulative[0] = 0.0
        for k in range(panels):
            cumulative[k + 1] = cumulative[k] + _mass(begin + k * width, begin + (k + 1) * width, top, p, q)
        for side in range(2):
            share = lower_share[r] if side == 0 else upper_share[r]
            wanted, k = share * cumulative[panels], 0
            while k < panels - 1 and cumulative[k + 1] < wanted:
                k += 1
            start = begin + k * width
            found = _solved(start, start + width, wanted - cumulative[k], top, p, q)
            if side == 0:
                lower[r] = found
            else:
                upper[r] = found
