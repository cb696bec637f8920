"""Random pipelines on levels: every built-in method, on one level, on both, or on whole households."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import maskwright as mw
from maskwright.plugins.registry import plugins
from maskwright.testing.checks import example_params

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np
    from worlds.world import World

    from maskwright.plugins.method import Method

AMOUNTS = {
    "household": ("capital", "benefit", "total", "tax", "disp", "rent"),
    "person": ("wage", "pension", "income", "hours", "rate", "pay"),
}
KEYS = {"household": ("region", "tenure", "rooms"), "person": ("sex", "status", "edu", "age")}
CATEGORIES = {"household": ("region", "tenure"), "person": ("sex", "status", "edu")}
OUTPUT = {
    "flat": "out.csv",
    "linked": {"household": "out_households.csv", "person": "out_persons.csv"},
    "nested": "out.xml",
}  # fmt: skip
MOST_STEPS = 3
COUNT_RECORDS = ("individual_ranking", "fuzzy_microaggregation")
"""Methods that count k in records, and so are for households."""


def pipeline(world: World, form: str, waived: Iterable[dict[str, Any]] = ()) -> dict[str, Any]:
    """Pipeline of a world; the same but for the form."""
    rng = world.pipeline_rng()
    section = world.data_section(form)
    steps = _steps(world.seed, rng)
    for step in steps:
        for name in step.get("variables", ()):
            section["variables"][name]["role"] = "quasi_identifier"
    return {
        "maskwright": 1, "data": section, "edits": world.edits(),
        "on_input_violation": str(rng.choice(["mask", "drop", "drop", "fail"])) if world.dirty else "mask",
        "protect": steps,
        "output": {"data": OUTPUT[form], "key_map": "keys.csv", "record": "run.json"},
        "waive": [*(_waived_at_once(steps) if world.seed % 6 else ()), *waived],
        "execution": {"workers": 1}, "seed": world.seed,
    }  # fmt: skip


def _waived_at_once(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Waivers of the doubts that small worlds nearly always have."""
    names = list(dict.fromkeys(name for step in steps for name in step["variables"]))
    numbers = list(range(1, len(steps) + 1))
    of_variables = ("follows-from-published", "values-unchanged", "step-changed-nothing")
    said = {"because": "a made-up world"}
    return [
        *({"doubt": each, "variable": names} | said for each in of_variables),
        *({"doubt": each, "step": numbers} | said for each in ("method-warned", "promise-not-kept")),
    ]


def methods() -> list[str]:
    """Names of the built-in methods."""
    return sorted(name for name in plugins().methods if plugins().info("method", name).distribution == "maskwright")


def _steps(seed: int, rng: np.random.Generator) -> list[dict[str, Any]]:
    every = methods()
    chosen = [every[seed % len(every)]]
    chosen += [str(each) for each in rng.choice(every, int(rng.choice([0, 0, 1, 1, MOST_STEPS - 1])), replace=False)]
    whole = bool(rng.random() < 0.12)
    if whole:
        return [_step("microaggregation" if each in ("recoding", "sampling") else each, rng, "both", unit="household")
                for each in chosen]  # fmt: skip
    steps = [_step(each, rng, str(rng.choice(["household", "person", "both"])), None) for each in chosen]
    # What takes away works on what is published: it comes last, mostly.
    return sorted(steps, key=_turn) if rng.random() < 0.9 else steps


def _turn(step: dict[str, Any]) -> int:
    removes = plugins().methods[step["method"]].claims.removes
    return 0 if not removes else 1 if removes == {"detail"} else 2


def _step(name: str, rng: np.random.Generator, level: str, unit: str | None) -> dict[str, Any]:
    method = plugins().methods[name]
    levels = ("household", "person") if level == "both" else (level,)
    params = dict(example_params(method) or {})
    if name == "targeted_swapping":
        params = {"geography": ["region"], "risk_variables": ["rooms"], "profiles": [[]]}
        return {"method": name, "variables": ["region"], "params": params}
    if name in COUNT_RECORDS and rng.random() < 0.8:
        levels = ("household",)
    variables = [each for one in levels for each in _variables(method, one, rng)]
    if not variables:
        variables = [each for one in CATEGORIES for each in _variables(method, one, rng)]
    params |= _promises(method, rng)
    if "detail" in method.claims.removes:
        params["release_edits"] = {"drop": variables}
    if rng.random() < 0.3:
        params["group_size"] = "all"
    if "total" in variables and not method.claims.removes and rng.random() < 0.25:
        params |= {"totals": {"total": "adjust"}, "k_guarantee": "report"}
    step: dict[str, Any] = {"method": name, "variables": variables, "params": params}
    if unit is not None:
        step["unit"] = unit
        if rng.random() < 0.7:
            params["rare"] = "drop"
    return step


def _promises(method: Method, rng: np.random.Generator) -> dict[str, Any]:
    promising = method.parameter(mw.PromisesK)
    if promising is None:
        return {}
    found = {promising: int(rng.integers(2, 4))}
    return found | ({"k_guarantee": "report"} if method.scope == "variable" or rng.random() < 0.5 else {})


def _variables(method: Method, level: str, rng: np.random.Generator) -> list[str]:
    """Some variables of a level that a method can mask."""
    types = method.claims.variable_types
    numeric = {"continuous", "integer"} <= types
    nominal = "nominal" in types
    if method.claims.removes or (nominal and not numeric):
        pool = [each for each in KEYS[level] if numeric or each in CATEGORIES[level]]
    else:
        pool = list(AMOUNTS[level]) if numeric else []
        if nominal and rng.random() < 0.3:
            pool = list(CATEGORIES[level])
        if "date" in types and level == "person" and rng.random() < 0.15:
            pool = ["entry", "exit"]
    if not nominal:
        pool = [each for each in pool if each not in ("region", "tenure", "sex", "status")]
    if not numeric and not nominal:
        pool = ["edu"] if level == "person" else []
    if level == "household" and method.claims.removes == {"records"}:
        pool = list(KEYS[level])
    wanted = min(len(pool), int(rng.integers(2, 6)))
    chosen = set(rng.choice(pool, wanted, replace=False)) if pool else set()
    return [each for each in pool if each in chosen]
