"""Every built-in plugin keeps the contract that third parties are asked to keep."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pytest

from maskwright.plugins.guarding.origin import BUILT_IN
from maskwright.plugins.registry import plugins
from maskwright.testing import (
    attack_checks,
    measure_checks,
    method_checks,
    partition_checks,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from _pytest.mark.structures import ParameterSet

    from maskwright.plugins.registered import Registry


def built_in(registry: Registry, kind: str, offered: Mapping) -> list:
    return [plugin for name, plugin in offered.items() if registry.info(kind, name).distribution == BUILT_IN]


REGISTRY = plugins()
PARAMS = {
    "weighted_score": {"components": [{"measure": "pil", "weight": 0.6}, {"measure": "sse", "weight": 0.4}]},
    "targeted_swapping": {"geography": ["x1", "x2"], "risk_variables": ["y"], "k": 2},
    "generalisation": {"k": 5, "suppression_limit": 1},
    "dominance": {"tables": [["x1"], ["x1", "x2"]], "amounts": ["x3", "x4"]},
    "k_anonymity": {"keys": ["x1", "x2"]},
    "uniqueness": {"keys": ["x1", "x2"]},
    "individual_risk": {"keys": ["x1", "x2"]},
    "k_map": {"keys": ["x1", "x2"]},
    "household_risk": {"row": ["x1"], "members": ["x3"]},
    "household_uniqueness": {"row": ["x1"], "members": ["x3"]},
    "mixed_record_linkage": {"keys": ["x1", "x2"]},
    "mixed_probabilistic_record_linkage": {"keys": ["x1", "x2"]},
    "suda": {"keys": ["x1", "x2"]},
    "population_uniques": {"keys": ["x1", "x2"], "sampling_fraction": 0.1},
    "l_diversity": {"keys": ["x1"], "sensitive": ["x3", "x4"]},
    "t_closeness": {"keys": ["x1"], "sensitive": ["x3", "x4"]},
    **{
        name: {"variables": ["x1", "x2", "x3", "x4"]}
        for name in (
            "contingency_tables",
            "contingency_table_loss",
            "cramers_v",
            "distance_based_loss",
            "entropy_based_loss",
        )
    },
}
"""Parameters of plugins that do not run without; without hierarchies, generalisation can only empty what is rare."""
CHECKS = [
    *method_checks(built_in(REGISTRY, "method", REGISTRY.methods), params=PARAMS),
    *partition_checks(built_in(REGISTRY, "partition", REGISTRY.partitions)),
    *attack_checks(built_in(REGISTRY, "attack", REGISTRY.attacks)),
    *measure_checks(built_in(REGISTRY, "measure", REGISTRY.measures), params=PARAMS),
]


ONE_IN, MANY = 3, 9
"""Of a check that so many plugins have, one in three is done by default, of others each; the rest are slow tests."""


def thinned(checks: list[ParameterSet]) -> list[ParameterSet]:
    """Each check with a third of the plugins, each plugin with a third of the checks, the others marked as slow."""
    names = [str(each.id).partition("-")[2] for each in checks]
    offsets = {name: place for place, name in enumerate(dict.fromkeys(names))}
    counts = Counter(names)
    done: Counter[str] = Counter()
    found = []
    for name, each in zip(names, checks, strict=True):
        is_kept = counts[name] < MANY or (done[name] + offsets[name]) % ONE_IN == 0
        done[name] += 1
        found.append(each if is_kept else pytest.param(*each.values, marks=[*each.marks, pytest.mark.slow], id=each.id))
    return found


def test_no_built_in_plugin_is_broken() -> None:
    assert [info for info in REGISTRY.infos if info.distribution == BUILT_IN and info.status == "broken"] == []


@pytest.mark.parametrize("check", thinned(CHECKS))
def test_built_in_plugins_keep_the_contract(check: Callable[[], object]) -> None:
    assert check() is None
