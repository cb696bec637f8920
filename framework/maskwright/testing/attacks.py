"""Checks of attacks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from maskwright.data.dataset import Column, Dataset
from maskwright.data.variable import Variable
from maskwright.edits.edit_set import EditSet
from maskwright.plugins.attack import Inference, Published
from maskwright.plugins.guarding.returned_values import checked_inferences
from maskwright.testing.checks import (
    Check,
    ChecksOf,
    Params,
    as_the_engine_takes_it,
    check_documented,
    check_picklable,
    params_of,
    require,
)
from maskwright.testing.conduct import check_calls, fingerprint, prints_nothing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from maskwright.foundation.arrays import Floats
    from maskwright.plugins.attack import Attack
    from maskwright.plugins.guarding.origin import Origin


def _checks(attack: Attack, given: Params) -> Iterator[tuple[str, Check]]:
    yield "parameters", partial(params_of, attack, given)
    yield "documented", partial(check_documented, attack)
    yield "picklable", partial(check_picklable, attack, attack.infer)
    for name, published in (
        ("usual_release", _release(60)),
        ("nothing_is_empty", _release(40, empty=0.0)),
        ("everything_is_empty", _release(20, empty=1.0)),
        ("one_record", _release(1)),
        ("no_record", _release(0)),
        ("constant_variable", _release(30, constant=True)),
    ):
        yield name, partial(_inferred, attack, given, published)
    yield "leaves_its_own_cell_out", partial(_left_out, attack, given)
    yield "one_name_for_one_family", partial(_names, attack, given)
    yield "input_unmodified", partial(_input_unmodified, attack, given)
    yield "same_release_same_result", partial(_same, attack, given)
    yield "concurrent_calls", partial(_concurrent, attack, given)
    yield "prints_nothing", partial(_silent, attack, given)


attack_checks = ChecksOf("attack", _checks)

REGIONS = ("north", "south", "west")
LEFT_OUT = (0, 7, 23, 41)
"""Published cells that are changed, one at a time: what is said of them must stay."""


def _release(n: int, *, empty: float = 0.2, constant: bool = False, seed: int = 1) -> Published:
    """A region, a code that determines it, an age and two parts with their total; some cells are empty."""
    rng = np.random.default_rng(seed)
    code = rng.integers(0, 6, n)
    region = np.zeros(n, dtype=np.int64) if constant else code // 2
    part, other = rng.integers(1, 40, (2, n)).astype(np.float64)
    none = np.zeros(n, dtype=np.bool_)
    gone = [rng.random(n) < empty for _ in range(2)]
    data = Dataset((
        Column(Variable("region", "nominal", categories=REGIONS), region.astype(np.int32), gone[0]),
        Column(Variable("code", "nominal", categories=tuple("abcdef")), code.astype(np.int32), none),
        Column(Variable("age"), rng.integers(0, 90, n).astype(np.float64), none),
        Column(Variable("wages"), part, gone[1]),
        Column(Variable("pensions"), other, none),
        Column(Variable("income"), part + other, none),
    ))  # fmt: skip
    return Published(data, ("region", "wages"), EditSet.parse(["wages + pensions == income"]))


def _said(attack: Attack, given: Params, published: Published) -> list[Inference]:
    params: Any = params_of(attack, given)

    def checked(origin: Origin, found: Any) -> list[Inference]:
        return list(checked_inferences(origin, (published, params), found))

    return as_the_engine_takes_it("attack", attack, checked, attack.infer(published, params))


def _inferred(attack: Attack, given: Params, published: Published) -> None:
    for each in _said(attack, given, published):
        variable = published.data[each.variable].variable
        if variable.is_numeric:
            require(not np.isinf(each.values).any(), "what is said of a number must be finite, or NaN for nothing")
            continue
        said = each.values[np.isfinite(each.values)]
        places = len(variable.categories)
        is_place = (said >= 0) & (said < places) & (said == np.round(said))
        require(bool(is_place.all()), f"what is said of {each.variable} must be positions of its {places} categories")


def _left_out(attack: Attack, given: Params) -> None:
    published = _release(60)
    before = {(each.variable, each.rule): each.values for each in _said(attack, given, published)}
    region = published.data["region"]
    for row in LEFT_OUT:
        if region.missing[row]:
            continue
        codes = region.values.copy()
        codes[row] = (codes[row] + 1) % len(REGIONS)
        changed = replace(published, data=published.data.with_columns({"region": replace(region, values=codes)}))
        for each in _said(attack, given, changed):
            own = before.get((each.variable, each.rule))
            if each.variable == "region" and own is not None:
                require(
                    _same_cell(own, each.values, row),
                    f"what {each.rule!r} says of a published cell depends on that cell: leave its record out",
                )


def _same_cell(one: Floats, other: Floats, row: int) -> bool:
    return bool(one[row] == other[row] or (np.isnan(one[row]) and np.isnan(other[row])))


def _names(attack: Attack, given: Params) -> None:
    found = [(each.variable, each.rule) for each in _said(attack, given, _release(60))]
    require(len(set(found)) == len(found), "two inferences of a variable have the same rule: one family, one name")


def _input_unmodified(attack: Attack, given: Params) -> None:
    published = _release(40)
    before = [column.values.copy() for column in published.data]
    _said(attack, given, published)
    same = all(np.array_equal(old, new.values) for old, new in zip(before, published.data, strict=True))
    require(same, "infer changed the release")


def _outcome(attack: Attack, given: Params, published: Published) -> list[tuple[str, str, str]]:
    return [(each.variable, each.rule, fingerprint(each.values)) for each in _said(attack, given, published)]


def _same(attack: Attack, given: Params) -> None:
    one, other = (_outcome(attack, given, _release(50)) for _ in range(2))
    require(one == other, "two calls with the same release said different things")


def _concurrent(attack: Attack, given: Params) -> None:
    check_calls(attack.infer, partial(_outcome, attack, given), [_release(40, seed=seed) for seed in (1, 2, 3, 4)])


def _silent(attack: Attack, given: Params) -> None:
    params: Any = params_of(attack, given)
    published = _release(30)
    # Not as the engine calls it: that keeps what is printed apart.
    prints_nothing(lambda: list(attack.infer(published, params)))
