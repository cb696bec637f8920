"""What a method asks of all records: asked in memory too, and guarded as every function of a plugin."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from maskwright import Block, Claims, Gathering, Masked, Method, PluginFailed, Variable
from maskwright.plugins.guarding.wrapping import guarded
from maskwright.testing.methods import method_checks

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def largest_of_some(block: Block, params: object) -> dict[str, float]:
    """The largest value of some records."""
    return {"largest": float(np.nanmax(block.values, initial=-np.inf))}


def largest_of_all(facts: Sequence[Mapping[str, float]], params: object) -> dict[str, float]:
    """The largest value of all of them."""
    return {"largest": max(each["largest"] for each in facts)}


GATHERING = Gathering(partial=largest_of_some, merged=largest_of_all)


def below_the_largest(block: Block, params: object, rng: np.random.Generator) -> Masked:
    """How far each value is below the largest."""
    return Masked(GATHERING.of(block, params)["largest"] - block.values, block.missing)


def below_those_seen(block: Block, params: object, rng: np.random.Generator) -> Masked:
    """The same of the block's own values: a mistake."""
    return Masked(largest_of_some(block, params)["largest"] - block.values, block.missing)


METHOD = Method(
    name="below",
    protect=below_the_largest,
    scope="variable",
    claims=Claims(cut="none", within_strata=False, handles_missing=True, deterministic=True, gathering=GATHERING),
    summary="How far below the largest.",
    example="method: below\n",
)

BLOCK = Block(np.array([[1.0], [7.0], [4.0]]), np.zeros((3, 1), dtype=np.bool_), (Variable("wages"),))


def test_the_kit_finds_methods_that_look_at_other_records() -> None:
    dict(method_checks.checks(METHOD, {}))["gathering"]()
    broken = replace(METHOD, protect=below_those_seen)
    with pytest.raises(AssertionError, match="come out otherwise than in the whole file"):
        dict(method_checks.checks(broken, {}))["gathering"]()


def test_a_block_that_was_told_something_masks_as_all_records() -> None:
    told = replace(BLOCK, values=BLOCK.values[:1], missing=BLOCK.missing[:1], gathered={"largest": 7.0})
    assert METHOD.protect(told, None, np.random.default_rng(1)).values.tolist() == [[6.0]]
    assert METHOD.protect(BLOCK, None, np.random.default_rng(1)).values.tolist() == [[6.0], [0.0], [3.0]]


def test_a_mistake_of_the_author_is_told_without_values() -> None:
    def fails(block: Block, params: object) -> dict[str, float]:
        raise KeyError(float(block.values[1, 0]))

    broken = METHOD.claiming(gathering=replace(GATHERING, partial=fails))
    gathering = guarded(broken, "method", "below", "1.0").claims.gathering
    assert gathering is not None
    with pytest.raises(PluginFailed, match="below") as caught:
        gathering.partial(BLOCK, None)
    assert "7" not in str(caught.value)


def test_facts_are_a_mapping() -> None:
    broken = METHOD.claiming(gathering=replace(GATHERING, merged=cast("Any", lambda facts, params: list(facts))))
    gathering = guarded(broken, "method", "below", "1.0").claims.gathering
    assert gathering is not None
    with pytest.raises(PluginFailed, match="a list, not a mapping"):
        gathering.merged([{"largest": 1.0}], None)
