"""Random steps of every method that masks categories, fit for a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from categorical_files import NUMBERS, ORDERED, World

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTS = ("own", "own", "own", "alpha0", "subset", "wildcard")
LOSSES = ("entropy", "lm", "discernibility", "height")


class Chooser:
    """Steps for one world."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        self.world, self.rng = world, rng
        self.names = [str(name) for name in world.data if name not in ("no", "weight", "household", *NUMBERS)]
        self.nominal = [name for name in self.names if name != "age"]
        self.ordered = [name for name in self.names if name in ORDERED]
        self.full = [name for name in self.names if not world.data[name].isin(world.missing[name]).any()]

    def some(self, names: list[str], least: int, most: int) -> list[str]:
        """Some of these, in random order."""
        size = int(self.rng.integers(min(least, len(names)), min(most, len(names)) + 1))
        chosen = [str(each) for each in self.rng.permutation(names)[:size]]
        # What gives another away is masked with it, in most worlds.
        for together in (("region", "town", "rname"), ("home", "work")):
            if size > 1 and self.rng.random() < 0.9 and not set(together).isdisjoint(chosen):
                chosen += [name for name in together if name in names and name not in chosen]
        return chosen

    def _may_weaken(self, names: list[str]) -> dict[str, list[str]]:
        draw = self.rng.random()
        if draw < 0.7:
            return {"weaken": names, "drop": names}
        return {"drop": names} if draw < 0.85 else {}

    def _bounds(self, keys: list[str]) -> dict[str, Any]:
        """L or t of a variable that is no key."""
        rest = [name for name in self.nominal if name not in keys and name not in ("rname",)]
        if not rest or self.rng.random() < 0.6:
            return {}
        name = str(self.rng.choice(rest))
        kinds: list[dict[str, Any]] = [
            {"l": {name: 2}}, {"l": {name: {"entropy": 1.3}}}, {"l": {name: {"recursive": 2, "c": 6}}},
            {"t": {name: 0.5}}, {"t": {name: {"most": 0.45, "distance": "equal"}}},
        ]  # fmt: skip
        return kinds[int(self.rng.integers(len(kinds)))]

    def generalisation(self) -> dict[str, Any]:
        keys = self.some([name for name in self.names if name != "rname"], 2, 4)
        params = {
            "k": int(self.rng.integers(2, 5)), "loss": str(self.rng.choice(LOSSES)),
            "suppression_limit": float(self.rng.choice([0, 0.05, 0.2, 0.5])), "release_edits": self._may_weaken(keys),
        } | self._bounds(keys)  # fmt: skip
        if "weight" in self.world.data and self.rng.random() < 0.3:
            params["k_map"] = 20
        return {"method": "generalisation", "variables": keys, "params": params}

    def mondrian(self) -> dict[str, Any] | None:
        keys = self.some([name for name in self.full if name == "age" or name in ORDERED], 1, 3)
        params = {"k": int(self.rng.integers(2, 6)), "release_edits": self._may_weaken(keys)}
        return {"method": "mondrian", "variables": keys, "params": params} if keys else None

    def recoding(self) -> dict[str, Any]:
        names = self.some([name for name in self.names if name != "rname"], 1, 3)
        recode: dict[str, Any] = {}
        for name in names:
            if name == "age":
                ways: list[Any] = [[16, 30, 65], [15, 40], [20, 60], {"level": 1}, {"level": 2}]
                recode[name] = ways[int(self.rng.integers(len(ways)))]
            else:
                recode[name] = {"level": 1}
        params = {"recode": recode, "release_edits": self._may_weaken(names)}
        return {"method": "recoding", "variables": names, "params": params}

    def local_suppression(self) -> dict[str, Any]:
        keys = self.some([name for name in self.names if name != "age" or self.rng.random() < 0.3], 1, 5)
        params: dict[str, Any] = {"k": int(self.rng.integers(2, 5)), "count": str(self.rng.choice(COUNTS))}
        if params["count"] == "own":
            draw = self.rng.random()
            if draw < 0.2 and len(keys) > 2:
                params["subsets"] = 2
            elif draw < 0.35 and len(keys) > 2:
                params["key_sets"] = {"one": keys[:2], "other": keys[1:]}
            else:
                params |= self._bounds(keys)
        if self.rng.random() < 0.3:
            params["importance"] = {keys[0]: 3.0}
        return {"method": "local_suppression", "variables": keys, "params": params}

    def record_suppression(self) -> dict[str, Any]:
        keys = self.some(self.names, 1, 3)
        return {"method": "record_suppression", "variables": keys, "params": {"k": int(self.rng.integers(2, 4))}}

    def _within(self, masked: list[str]) -> list[str]:
        rest = [name for name in self.names if name not in masked]
        return self.some(rest, 1, 1) if rest and self.rng.random() < 0.3 else []

    def pram(self) -> dict[str, Any]:
        masked = self.some(self.nominal, 1, 4)
        within = self._within(masked)
        ways: list[dict[str, Any]] = [
            {"retain": 0.5, "within": within}, {"joint": True, "retain": 0.3, "within": within},
            {"joint": True, "nearness": 0.4, "retain": 0.0, "join_below": 3}, {"construction": "direct", "theta": 0.9},
            {"nearness": 0.5, "retain": 0.2}, {"retain": 0.4, "invariant": False},
        ]  # fmt: skip
        return {"method": "pram", "variables": masked, "params": ways[int(self.rng.integers(len(ways)))]}

    def ordinal_noise(self) -> dict[str, Any] | None:
        names = self.some(self.ordered, 1, 2)
        params = {"places": int(self.rng.integers(1, 3)), "retain": 0.1, "within": self._within(names)}
        return {"method": "ordinal_noise", "variables": names, "params": params} if names else None

    def rank_swapping(self) -> dict[str, Any] | None:
        names = self.some([*self.ordered, *(["age"] if "age" in self.names else [])], 1, 3)
        params = {"p": float(self.rng.choice([5, 20, 50]))}
        return {"method": "rank_swapping", "variables": names, "params": params} if names else None

    def data_swapping(self) -> dict[str, Any]:
        return {"method": "data_swapping", "variables": self.some(self.names, 1, 4), "params": {"rate": 0.5}}

    def targeted_swapping(self) -> dict[str, Any] | None:
        if "town" not in self.names:
            return None
        others = [name for name in self.names if name not in ("region", "town", "rname")]
        params: dict[str, Any] = {
            "geography": ["region", "town"], "risk_variables": self.some(others, 1, 2),
            "profiles": [self.some(others, 1, 2), []], "k": int(self.rng.integers(0, 4)),
            "swap_rate": float(self.rng.random() / 3),
        }  # fmt: skip
        masked = ["region", "town"]
        if "rname" in self.names:
            params["carry_along"] = ["rname"]
            masked.append("rname")
        return {"method": "targeted_swapping", "variables": masked, "params": params}

    def cart_synthesis(self) -> dict[str, Any]:
        masked = self.some(self.names, 2, len(self.names))
        rest = [name for name in self.names if name not in masked]
        params: dict[str, Any] = {"min_leaf": 3, "given": self.some(rest, 0, 2)}
        if set(NUMBERS) <= set(self.world.data) and self.rng.random() < 0.6:
            masked += NUMBERS
        return {"method": "cart_synthesis", "variables": masked, "params": params}

    def sampling(self) -> dict[str, Any]:
        params = {"fraction": float(self.rng.choice([0.3, 0.6, 0.9]))}
        if self.world.cluster and self.rng.random() < 0.5:
            params["whole_households"] = False
        return {"method": "sampling", "params": params}


METHODS: dict[str, Callable[[Chooser], dict[str, Any] | None]] = {
    "generalisation": Chooser.generalisation, "mondrian": Chooser.mondrian, "recoding": Chooser.recoding,
    "local_suppression": Chooser.local_suppression, "record_suppression": Chooser.record_suppression,
    "pram": Chooser.pram, "ordinal_noise": Chooser.ordinal_noise, "rank_swapping": Chooser.rank_swapping,
    "data_swapping": Chooser.data_swapping, "targeted_swapping": Chooser.targeted_swapping,
    "cart_synthesis": Chooser.cart_synthesis, "sampling": Chooser.sampling,
}  # fmt: skip
LATER = {
    "recoding": ("local_suppression", "pram", "generalisation", "record_suppression", "sampling", "cart_synthesis"),
    "pram": ("local_suppression", "generalisation", "recoding", "sampling"),
    "ordinal_noise": ("local_suppression", "recoding"),
    "rank_swapping": ("generalisation", "local_suppression"),
    "data_swapping": ("generalisation", "local_suppression"),
    "targeted_swapping": ("local_suppression", "recoding", "pram"),
    "cart_synthesis": ("local_suppression", "generalisation", "recoding", "sampling"),
    "sampling": ("local_suppression", "generalisation", "mondrian", "record_suppression"),
    "generalisation": ("local_suppression", "recoding"),
    "mondrian": ("local_suppression", "recoding"),
    "local_suppression": ("local_suppression", "recoding"),
    "record_suppression": ("local_suppression", "generalisation"),
}


def choose_steps(world: World) -> None:
    """Give a world one step, or two."""
    rng = np.random.default_rng([20261122, 16, world.seed])
    chooser = Chooser(world, rng)
    methods = list(METHODS)
    first = methods[world.seed % len(methods)]
    step = METHODS[first](chooser)
    if step is None:
        first = "local_suppression" if rng.random() < 0.5 else "generalisation"
        step = METHODS[first](chooser)
    assert step is not None
    world.steps = [step]
    if rng.random() < 0.4:
        later = METHODS[str(rng.choice(LATER[first]))](chooser)
        if later is not None:
            world.steps.append(later)
    for step in world.steps:
        keys = [*step.get("variables", ()), *step["params"].get("keys", ())]
        for name in keys:
            if name not in NUMBERS:
                world.declared[name]["role"] = "quasi_identifier"
