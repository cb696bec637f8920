"""The kit names what is wrong with an attack, and passes one that is right."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from maskwright import Attack, Inference, NoParams, Published
from maskwright.testing import attack_checks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def says_what_is_there(published: Published, params: NoParams) -> Iterator[Inference]:
    """Reads the cell that it speaks of."""
    yield Inference("region", "what is there", published.values("region"))


def says_no_category(published: Published, params: NoParams) -> Iterator[Inference]:
    """Speaks of a category that is none."""
    yield Inference("region", "the hundredth", np.full(len(published.data), 100.0))


def says_it_twice(published: Published, params: NoParams) -> Iterator[Inference]:
    """Two families of one name."""
    for value in (0.0, 1.0):
        yield Inference("region", "the same", np.full(len(published.data), value))


def of_no_target(published: Published, params: NoParams) -> Iterator[Inference]:
    """Infers what was not wanted."""
    yield Inference("income", "a guess", np.zeros(len(published.data)))


def prints(published: Published, params: NoParams) -> Iterator[Inference]:
    """Talks."""
    print("looking")
    yield Inference("region", "the first", np.zeros(len(published.data)))


def of_drawn(published: Published, params: NoParams) -> Iterator[Inference]:
    """Another answer each time."""
    yield Inference("wages", "drawn", np.random.default_rng().random(len(published.data)))


@pytest.mark.parametrize(("infer", "check", "said"), [
    (says_what_is_there, "leaves_its_own_cell_out", "leave its record out"),
    (says_no_category, "usual_release", "positions of its 3 categories"),
    (says_it_twice, "one_name_for_one_family", "one family, one name"),
    (of_no_target, "usual_release", "none of the targets"),
    (prints, "prints_nothing", "standard output"),
    (of_drawn, "same_release_same_result", "different things"),
])  # fmt: skip
def test_what_is_wrong_is_named(infer: Callable[..., Iterator[Inference]], check: str, said: str) -> None:
    attack = Attack(name="wrong", infer=infer, summary="Wrong.", reference="none")
    (function,) = [each.values[0] for each in attack_checks([attack]) if each.id == f"wrong-{check}"]
    with pytest.raises(AssertionError, match=said):
        function()  # type: ignore[operator]
