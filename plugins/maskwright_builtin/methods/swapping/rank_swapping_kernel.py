"""The walk of rank swapping along the ranks, compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from maskwright_builtin.numerics.compilation import compiled

if TYPE_CHECKING:
    from maskwright_builtin.numerics.arrays import Floats, Integers

TRIES = 200
"""Ranks of the window that are tried before it is searched. Seven in ten are free, except near the end."""


@compiled
def swap_ranks(partners: Integers, reach: int, rank: int, uniforms: Floats) -> int:
    """Pair each free rank with a free one at most `reach` above it, every one as likely, until the numbers run out.

    `partners`: partner of each rank, -1 where there is none yet; written. A rank without a free one above is its own
    partner; shape (m,). `uniforms`: in [0, 1), u > TRIES; shape (u,).
    """
    m = partners.shape[0]
    used = 0
    while rank < m:
        if partners[rank] >= 0:
            rank += 1
            continue
        if used + TRIES + 1 > uniforms.shape[0]:
            return rank
        width = min(reach, m - 1 - rank)
        chosen = -1
        tries = 0
        while chosen < 0 and tries < TRIES and width > 0:
            # The product may round up to the width.
            tried = rank + 1 + min(int(uniforms[used] * width), width - 1)
            used += 1
            tries += 1
            if partners[tried] < 0:
                chosen = tried
        if chosen < 0 and width > 0:
            # Few are free: count them, and draw among them.
            free = 0
            for other in range(rank + 1, rank + 1 + width):
                if partners[other] < 0:
                    free += 1
            wanted = min(int(uniforms[used] * free), free - 1)
            used += 1
            for other in range(rank + 1, rank + 1 + width):
                if partners[other] < 0:
                    if wanted == 0:
                        chosen = other
                    wanted -= 1
        if chosen < 0:
            chosen = rank
        partners[rank] = chosen
        partners[chosen] = rank
        rank += 1
    return rank
