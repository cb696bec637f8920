"""The remaining records of MDAV, cut into compact leaves in binary32, which its queries prune and prefilter."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from maskwright_builtin.numerics.compilation import compiled
from maskwright_builtin.numerics.spatial import select, widest_column

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Booleans, Floats, Floats32, Integers


LEAF = 128
"""Records of a leaf: measured optimum for 10 columns; a multiple of the vector length."""

RECORDS_PER_SHELL = 16_000
"""Shells bring the farthest records together, but cut the leaves less compact: measured optimum for 10 columns."""

Single = Any
"""A number in binary32."""


class Leaves(NamedTuple):
    """Remaining records, cut into m leaves.

    `values`: scaled coordinates. The first one of a removed record is NaN, which no comparison admits; shape (m, p,
    LEAF). `squares`: squared radii; NaN likewise; shape (m, LEAF). `rows`: record in each slot, ascending in a leaf; -1
    where there is none (any more); shape (m, LEAF). `slots`: place of each remaining record: leaf times LEAF plus slot;
    shape (n,). `counts`: remaining records in each leaf; shape (m,). `low`, `high`: box of each leaf; shape (p, m).
    `inner`, `outer`: smallest and largest radius in each leaf; shape (m,). `uniform`: whether all records of a leaf are
    equal; shape (m,). `center`: what coordinates and radii are relative to; shape (p,). `scale`: power of two that
    brings the largest radius into (1/2, 1].
    """

    values: Floats32
    squares: Floats32
    rows: Integers
    slots: Integers
    counts: Integers
    low: Floats32
    high: Floats32
    inner: Floats32
    outer: Floats32
    uniform: Booleans
    center: Floats
    scale: float


def cut_leaves(standardised: Floats, members: Integers, center: Floats) -> Leaves:
    """Cut records into leaves.

    `standardised`: p >= 1; every square and every sum of p squares is finite; shape (n, p). `members`: the records to
    cut, ascending; r >= 1; shape (r,). `center`: about their centroid; shape (p,).
    """
    n, p = standardised.shape
    m = -(-len(members) // LEAF)
    centred = standardised[members] - center
    # Two steps, so that no square overflows or vanishes. Distances below 2**-600 are 0 when squared: no larger factor.
    first = math.ldexp(1.0, -max(math.frexp(np.abs(centred).max())[1], -600))
    centred *= first
    radii = np.sqrt(np.einsum("ij,ij->i", centred, centred))
    second = math.ldexp(1.0, -max(math.frexp(radii.max())[1], -100))
    scaled = (centred * second).astype(np.float32)
    single_radii = (radii * second).astype(np.float32)
    shells = 1 << max(0, round(math.log2(len(members) / RECORDS_PER_SHELL)))
    leaves = Leaves(
        values=np.full((m, p, LEAF), np.nan, dtype=np.float32),
        squares=np.full((m, LEAF), np.nan, dtype=np.float32),
        rows=np.full((m, LEAF), -1, dtype=np.int64),
        slots=np.empty(n, dtype=np.int64),
        counts=np.empty(m, dtype=np.int64),
        low=np.empty((p, m), dtype=np.float32),
        high=np.empty((p, m), dtype=np.float32),
        inner=np.empty(m, dtype=np.float32),
        outer=np.empty(m, dtype=np.float32),
        uniform=np.ones(m, dtype=np.bool_),
        center=center,
        scale=first * second,
    )
    _fill_leaves(standardised, scaled, single_radii, members, _leaf_order(scaled, single_radii, shells), leaves)
    return leaves


@compiled
def _leaf_order(scaled: Floats32, radii: Floats32, shells: int) -> Integers:
    """Return an order of the records in which every run of `LEAF` is compact.

    First `shells` (a power of two) shells of equal counts by radius, because the farthest records lie in the outer
    ones; in a shell a k-d cut. Every cut falls on a multiple of `LEAF`. Ties go by position: the order is determined.
    """
    order = np.arange(scaled.shape[0])
    keys = radii.copy()
    even = np.ones(scaled.shape[1], dtype=np.float32)
    # Each entry of the stack is a run of records and the number of shells it is still to be cut into.
    stack = np.empty((128, 3), dtype=np.int64)
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, scaled.shape[0], shells
    depth = 1
    while depth > 0:
        depth -= 1
        start, stop, rings = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        leaves = (stop - start + LEAF - 1) // LEAF
        if leaves < 2:
            order[start:stop].sort()
            continue
        if rings > 1:
            for i in range(start, stop):
                keys[i] = radii[order[i]]
        else:
            column = widest_column(scaled, order, start, stop, even)
            for i in range(start, stop):
                keys[i] = scaled[order[i], column]
        middle = start + (leaves // 2) * LEAF
        select(keys, order, start, stop, middle)
        stack[depth, 0], stack[depth, 1], stack[depth, 2] = start, middle, rings // 2
        stack[depth + 1, 0], stack[depth + 1, 1], stack[depth + 1, 2] = middle, stop, rings // 2
        depth += 2
    return order


@compiled
def _fill_leaves(
    standardised: Floats, scaled: Floats32, radii: Floats32, members: Integers, order: Integers, leaves: Leaves
) -> None:
    """Write the records `members` into `leaves` in the given order of their positions."""
    count, p = scaled.shape
    for leaf in range(leaves.counts.shape[0]):
        start = leaf * LEAF
        stop = min(start + LEAF, count)
        first = order[start]
        leaves.counts[leaf] = stop - start
        leaves.inner[leaf] = radii[first]
        leaves.outer[leaf] = radii[first]
        for j in range(p):
            leaves.low[j, leaf] = scaled[first, j]
            leaves.high[j, leaf] = scaled[first, j]
        for slot in range(stop - start):
            position = order[start + slot]
            row = members[position]
            leaves.rows[leaf, slot] = row
            leaves.slots[row] = start + slot
            leaves.squares[leaf, slot] = radii[position] * radii[position]
            leaves.inner[leaf] = min(leaves.inner[leaf], radii[position])
            leaves.outer[leaf] = max(leaves.outer[leaf], radii[position])
            for j in range(p):
                value = scaled[position, j]
                leaves.values[leaf, j, slot] = value
                leaves.low[j, leaf] = min(leaves.low[j, leaf], value)
                leaves.high[j, leaf] = max(leaves.high[j, leaf], value)
                if standardised[row, j] != standardised[members[first], j]:
                    leaves.uniform[leaf] = False
