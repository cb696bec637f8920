"""Ways to satisfy a set of constraints: an alternative of each of them, and a member of each finite set."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from maskwright.masking.adjusting.constraints import Alternative

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from maskwright.masking.adjusting.constraint_system import ConstraintSystem

MOST_COMBINATIONS = 64


@dataclass(frozen=True)
class Combination:
    """One alternative for each constraint, and for each finite set which of its nearest members."""

    alternative: Alternative
    members: tuple[int, ...]


def switched(picks: tuple[int, ...], choices: Sequence[range]) -> Iterator[tuple[int, ...]]:
    """Alternatives as they are picked, then with another one for a single constraint."""
    yield picks
    for number, choice in enumerate(choices):
        for other in choice:
            if other != picks[number]:
                yield (*picks[:number], other, *picks[number + 1 :])


def with_members(
    rows: NDArray[np.int64], system: ConstraintSystem, picks: Sequence[int], nearest: int
) -> Iterator[tuple[NDArray[np.int64], Combination]]:
    """The rows with one alternative of each constraint, and every choice of the nearest members of finite sets."""
    alternative = Alternative()
    for constraint, pick in zip(system.constraints, picks, strict=True):
        alternative = alternative & constraint.alternatives[pick]
    sizes = [range(min(nearest, len(system.sets[each]))) for each in alternative.memberships]
    for members in itertools.islice(itertools.product(*sizes), MOST_COMBINATIONS):
        yield rows, Combination(alternative, members)
