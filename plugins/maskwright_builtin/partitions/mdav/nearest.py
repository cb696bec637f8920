"""The nearest records found so far: a binary heap with the farthest of them first, equal distances by record number."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright_builtin.numerics.compilation import inlined

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers


@inlined
def comes_before(distance: float, row: int, other_distance: float, other_row: int) -> bool:
    """Order of the nearest records: by distance, then by record number."""
    return distance < other_distance or (distance == other_distance and row < other_row)


@inlined
def keep_nearest(heap: Floats, rows: Integers, size: int, distance: float, row: int) -> int:
    """Offer a record to the heap of the nearest ones, of which there are `size`; return their new number.

    `heap`, `rows`: squared distances, the largest first, and their records; changed; shape (k - 1,).
    """
    capacity = heap.shape[0]
    if size < capacity:
        child = size
        while child > 0 and comes_before(heap[(child - 1) // 2], rows[(child - 1) // 2], distance, row):
            parent = (child - 1) // 2
            heap[child], rows[child] = heap[parent], rows[parent]
            child = parent
        heap[child], rows[child] = distance, row
        return size + 1
    if not comes_before(distance, row, heap[0], rows[0]):
        return size
    parent = 0
    child = 1
    while child < capacity:
        if child + 1 < capacity and comes_before(heap[child], rows[child], heap[child + 1], rows[child + 1]):
            child += 1
        if not comes_before(distance, row, heap[child], rows[child]):
            break
        heap[parent], rows[parent] = heap[child], rows[child]
        parent = child
        child = 2 * parent + 1
    heap[parent], rows[parent] = distance, row
    return size
