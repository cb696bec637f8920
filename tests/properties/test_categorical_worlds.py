"""Random categorical files and edits: whatever changes categories, every edit holds, judged in plain Python.

30 worlds in the tests, 2,000 with ``pytest -m slow``.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.data.frame_libraries import taken_in

if TYPE_CHECKING:
    from collections.abc import Callable

    import maskwright as mw

RECORDS = 150
ORDER = ["p", "q", "r", "s"]
DECLARED = {
    "region": {"role": "other"}, "town": {"role": "other"}, "sex": {"role": "other"}, "births": {"role": "other"},
    "trade": {"role": "other"}, "rent": {"role": "other"},
    "level": {"role": "other", "type": "ordinal", "categories": ORDER},
}  # fmt: skip
NAMES = ("region", "town", "sex", "births", "trade", "level")

Row = dict[str, Any]
Rule = tuple[str, "Callable[[Row], bool]"]


class World:
    """A file that obeys some of the rules that categories have, a few cells missing."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng([20261122, seed])
        towns = int(rng.integers(3, 9))
        home = np.sort(rng.integers(0, 3, towns))
        town = rng.choice(towns, RECORDS, p=rng.dirichlet(np.ones(towns)))
        sex = rng.choice(["m", "f"], RECORDS)
        level = rng.integers(0, 4, RECORDS)
        self.data = pd.DataFrame(
            {
                "region": [f"r{each}" for each in home[town]], "town": [f"t{each}" for each in town], "sex": sex,
                "births": np.where(sex == "m", "no", rng.choice(["no", "yes"], RECORDS)),
                "trade": np.where(level == 0, "none", rng.choice(["none", "farm", "shop", "law"], RECORDS)),
                "level": np.array(ORDER)[level], "rent": np.where(home[town] == 0, 10, rng.integers(5, 90, RECORDS)),
                "household": np.repeat(np.arange(RECORDS // 2), 2),
            }
        )  # fmt: skip
        for name in ("region", "town"):
            self.data[name] = self.data[name].to_numpy()[self.data["household"] * 2]
        self.data["rent"] = np.where(self.data["region"] == "r0", 10, self.data["rent"])
        if rng.random() < 0.3:
            for name in ("births", "trade", "level"):
                self.data.loc[rng.random(RECORDS) < 0.1, name] = None
        pairs = set(zip(self.data["region"], self.data["town"], strict=True))
        triples = set(zip(self.data["sex"], self.data["births"], self.data["level"], strict=True))
        rules: list[Rule] = [
            ("(region, town) in original", lambda row: (row["region"], row["town"]) in pairs),
            ("if sex == 'm' then births == 'no'", lambda row: row["sex"] != "m" or row["births"] == "no"),
            ("if level == 'p' then trade == 'none'", lambda row: row["level"] != "p" or row["trade"] == "none"),
            (
                "(sex, births, level) in original",
                lambda row: (row["sex"], row["births"], row["level"]) in triples,
            ),
            ("if region == 'r0' then rent == 10", lambda row: row["region"] != "r0" or row["rent"] == 10),
            ("region in {'r0', 'r1', 'r2'}", lambda row: row["region"] in ("r0", "r1", "r2")),
        ]
        self.rules = [rule for rule in rules if rng.random() < 0.6]

    def step(self) -> tuple[str, dict[str, Any], list[str]]:
        """A method, its parameters, and the variables that it masks."""
        rng = self.rng
        masked = [name for name in NAMES if rng.random() < 0.6] or ["region", "town"]
        rest = [name for name in NAMES if name not in masked]
        within = [str(rng.choice(rest))] if rest and rng.random() < 0.3 else []
        ordered = ["level"]
        place = {"geography": ["region", "town"], "k": int(rng.integers(0, 5)), "swap_rate": float(rng.random() / 3)}
        choices: list[tuple[str, dict[str, Any], list[str]]] = [
            ("pram", {"retain": 0.5, "within": within}, masked),
            ("pram", {"joint": True, "retain": 0.3, "within": within}, masked),
            ("pram", {"joint": True, "nearness": 0.4, "retain": 0.0, "join_below": 3}, masked),
            ("pram", {"construction": "direct", "theta": 0.9}, masked),
            ("ordinal_noise", {"places": int(rng.integers(1, 3)), "retain": 0.1}, ordered),
            ("data_swapping", {"rate": 0.5}, masked),
            ("targeted_swapping", place | {"risk_variables": ["level"], "profiles": [["sex"], []]}, ["region", "town"]),
        ]
        return choices[int(rng.integers(len(choices)))]


def broken(rules: list[Rule], data: pd.DataFrame) -> list[str]:
    """Rules that a record breaks; what rests on a missing cell breaks none."""
    rows = data.astype(object).where(data.notna(), None).to_dict("records")
    found = []
    for text, obeyed in rules:
        read = [name for name in (*NAMES, "rent") if name in text.replace("original", "")]
        if any(all(row[name] is not None for name in read) and not obeyed(row) for row in rows):
            found.append(text)
    return found


def frame_of(data: mw.Dataset) -> pd.DataFrame:
    """Cells of a dataset as they were in the file, None where there is none."""
    columns = {}
    for column in data:
        known = (*column.variable.categories, None)
        cells = column.values.tolist()
        columns[column.name] = cells if column.variable.is_numeric else [known[code] for code in cells]
    return pd.DataFrame(columns)


def judge(seed: int) -> str:
    """Mask a world and judge it; the method."""
    world = World(seed)
    method, params, variables = world.step()
    cluster = "household" if method == "targeted_swapping" and world.rng.random() < 0.5 else None
    data = world.data if cluster else world.data.drop(columns="household")
    asked = masking_request(
        taken_in(data).data, method, edits=[text for text, _ in world.rules], params=params, variables=variables,
        seed=seed, declared=DECLARED, cluster=cluster,
    )  # fmt: skip
    # What is in doubt is looked at too.
    masked = frame_of(mask_request(asked, is_released=False).masked)
    assert broken(world.rules, masked) == [], (seed, method, params)
    if method == "targeted_swapping":
        places = [Counter(zip(each["region"], each["town"], strict=True)) for each in (data, masked)]
        assert places[0] == places[1], seed
    untouched = [name for name in (*NAMES, "rent") if name not in variables]
    for name in untouched:
        assert masked[name].astype(object).where(masked[name].notna(), None).tolist() == (
            data[name].astype(object).where(data[name].notna(), None).tolist()
        )
    return method


@pytest.mark.parametrize("first", [0, pytest.param(30, marks=pytest.mark.slow)])
def test_edits_between_categories_hold(first: int) -> None:
    found = Counter(judge(seed) for seed in range(first, first + 30))
    assert len(found) == 4


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_edits_between_categories_hold_in_many_worlds() -> None:
    for seed in range(2000):
        judge(seed)
