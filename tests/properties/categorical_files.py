"""Random files of people with hierarchies, codes, weights and households, and rules that they obey."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from plain_rules import PlainRule, plain_rule

if TYPE_CHECKING:
    from pathlib import Path

DRAWN = 500
"""Records of which those are kept that obey the rules."""
REGIONS = ["r0", "r1", "r2"]
ORDERED = {"level": ["p", "q", "r", "s"], "study": ["1", "2", "3", "4", "5", "6"]}
AGES = [str(age) for age in range(111)]
GROUPS: dict[str, list[dict[str, list[str]]]] = {
    "region": [{"land": ["r0", "r1"]}],
    "sex": [{"any": ["1", "2"]}],
    "births": [{"some": ["1", "2"]}],
    "trade": [{"work": ["farm", "shop", "law"]}],
    "level": [{"low": ["p", "q"], "high": ["r", "s"]}],
    "marital": [{"ever": ["married", "widowed"]}],
    "home": [{"a": ["z0", "z1"], "b": ["z2", "z3"]}],
    "study": [{"A": ["1", "2"], "B": ["3", "4"], "C": ["5", "6"]}, {"AB": ["A", "B"]}],
}
GROUPS["work"] = GROUPS["home"]
CODES = ["2411", "2412", "2421", "3111", "3211"]
NUMBERS = ("wage", "other", "income")
TOPICS = {
    "place": ("region", "town"), "births": ("sex", "births"), "work": ("trade", "level"), "age": ("age", "marital"),
    "code": ("isco",), "zones": ("home", "work"), "study": ("study",), "money": NUMBERS,
}  # fmt: skip
RULES = [
    "(region, town) in original", "(sex, births, level) in original", "(trade, level) in original",
    "(study, marital) in original", "region in {'r0', 'r1', 'r2'}", "if sex == '1' then births == '0'",
    "if level == 'p' then trade == 'none'", "if trade == 'law' then level in {'r', 's'}",
    "if age < 16 then marital == 'never'", "age in [0, 95]", "if marital == 'widowed' then age >= 30",
    "if age < 20 then births == '0'", "home == work", "if level == 's' then home == work",
    "if trade == 'law' then isco in {'2411', '2412'}", "if isco == '3111' then trade != 'none'",
    "wage + other == income", "wage >= 0", "other >= 0", "if age < 16 then wage == 0",
    "if trade == 'none' then wage == 0", "if level == 's' then trade is not missing",
    "not (sex == '1' and marital == 'widowed')", "if region == 'r0' and sex == '2' then level != 's'",
    "if study == '6' then age >= 16", "if marital == 'married' or level == 'q' then study != '1'",
]  # fmt: skip
LABELLED = {"r0": "North", "r1": "South", "r2": "West"}


@dataclass
class World:
    """A file that obeys its rules, and steps that mask it.

    Attributes
    ----------
    data : DataFrame of str
    declared : mapping of variable to declaration
    rules : list of str
        Named e1, e2, ... in this order.
    missing : mapping of variable to texts
        Cells that hold no value.
    levels : mapping of variable to mappings
        Of categories on any level to the values that they stand for.
    cluster : str or None
        Variable of the household.
    """

    seed: int
    data: pd.DataFrame
    declared: dict[str, dict[str, Any]]
    rules: list[str]
    missing: dict[str, frozenset[str]]
    levels: dict[str, dict[str, frozenset[str]]]
    cluster: str | None
    steps: list[dict[str, Any]] = field(default_factory=list)

    def write(self, folder: Path) -> Path:
        """Write the file and its pipeline; the path of the latter."""
        self.data.to_csv(folder / "people.csv", index=False)
        variables = self.declared
        data: dict[str, Any] = {"source": "people.csv", "variables": variables}
        if self.cluster:
            data["cluster"] = self.cluster
        pipeline = {
            "maskwright": 1, "data": data,
            "edits": [{"rule": rule, "name": f"e{number}"} for number, rule in enumerate(self.rules, 1)],
            "protect": self.steps, "seed": self.seed % 97 + 1,
            "output": {"data": "masked.csv", "record": "run.json", "edits": "masked.edits.yaml"},
        }  # fmt: skip
        if self.cluster:
            pipeline["release"] = {"order": "kept"}
        # Any JSON is YAML, and it is read a good deal faster than a person's YAML is written.
        (folder / "pipeline.yaml").write_text(json.dumps(pipeline, indent=1))
        return folder / "pipeline.yaml"

    def values(self, name: str) -> list[str]:
        """Values that a variable may have."""
        if name == "age":
            return AGES
        return sorted({each for each in self.data[name] if each not in self.missing[name]})


def _town_groups(home: np.ndarray) -> list[dict[str, list[str]]]:
    return [{f"R{r}": [f"t{t}" for t in range(len(home)) if home[t] == r] for r in range(3) if r in home}]


def _levels(values: list[str], groups: list[dict[str, list[str]]]) -> dict[str, frozenset[str]]:
    """Categories of every level of a hierarchy of groups, and what they hold."""
    found = {each: frozenset([each]) for each in values}
    for level in groups:
        for name, members in level.items():
            found[name] = frozenset().union(*(found.get(each, frozenset()) for each in members))
    found["*"] = frozenset(values)
    return found


def _drawn(rng: np.random.Generator, topics: list[str], home: np.ndarray) -> pd.DataFrame:
    """Columns of people; dependent enough that rules leave most of them."""
    n = DRAWN
    household = np.sort(rng.integers(0, n // 2, n))
    place = rng.choice(len(home), n // 2, p=rng.dirichlet(np.ones(len(home))))[household]
    sex = rng.choice(["1", "2"], n)
    level = rng.choice(4, n, p=rng.dirichlet(np.ones(4) * 2))
    age = rng.integers(0, 96, n)
    zone = rng.integers(0, 4, n)
    wage = np.where((age < 16) | (level == 0), 0, rng.integers(0, 40, n) * 10)
    other = rng.integers(0, 30, n) * 10
    columns = {
        "household": household, "region": [f"r{home[each]}" for each in place], "town": [f"t{each}" for each in place],
        "sex": sex, "births": np.where((sex == "1") | (age < 20), "0", rng.choice(["0", "1", "2"], n)),
        "trade": np.where(level == 0, "none", rng.choice(["none", "farm", "shop", "law"], n, p=[0.2, 0.3, 0.3, 0.2])),
        "level": np.array(ORDERED["level"])[level], "age": age,
        "marital": np.where(age < 16, "never", rng.choice(["never", "married", "widowed"], n, p=[0.3, 0.5, 0.2])),
        "isco": rng.choice(CODES, n), "home": [f"z{each}" for each in zone],
        "work": [f"z{each}" for each in np.where(rng.random(n) < 0.8, zone, rng.integers(0, 4, n))],
        "study": rng.choice(ORDERED["study"], n), "wage": wage, "other": other, "income": wage + other,
    }  # fmt: skip
    frame = pd.DataFrame(columns).astype(str)
    frame["rname"] = frame["region"].map(LABELLED)
    return frame[["household", *(name for topic in topics for name in TOPICS[topic]), "rname"]]


def random_world(seed: int) -> World:
    """A file of 60 to 160 records with three to six topics, and rules about them."""
    rng = np.random.default_rng([20261122, 15, seed])
    topics = [topic for topic in TOPICS if rng.random() < (0.3 if topic in ("code", "study", "money") else 0.6)]
    topics += [topic for topic in ("births", "work", "age") if topic not in topics][: max(3 - len(topics), 0)]
    home = np.sort(np.append(rng.integers(0, 3, int(rng.integers(2, 7))), 0))
    frame = _drawn(rng, topics, home)
    if "place" not in topics or rng.random() < 0.7:
        frame = frame.drop(columns="rname")
    names = [str(name) for name in frame if name != "household"]
    frame = _with_holes(rng, frame)
    missing = {str(name): frozenset(["", "9"] if name == "births" else [""]) for name in frame}
    chosen = [rule for rule in RULES if rng.random() < 0.5]
    chosen += _random_rules(rng, frame, [name for name in names if name not in ("age", *NUMBERS)])
    data, rules = _obeying(frame, chosen, missing, int(rng.integers(60, 161)))
    data.insert(0, "no", [str(each) for each in range(1, len(data) + 1)])
    missing["no"] = frozenset([""])
    if rng.random() < 0.3:
        data["weight"] = rng.integers(2, 30, len(data)).astype(str)
        missing["weight"] = frozenset([""])
    cluster = "household" if rng.random() < 0.25 else None
    if cluster is None:
        data = data.drop(columns="household")
        del missing["household"]
    groups = GROUPS | {"town": _town_groups(home)}
    levels = {name: _levels(sorted(set(data[name]) - missing[name]), groups[name]) for name in names if name in groups}
    if "isco" in names:
        prefixes = {code[:size] for code in CODES for size in (1, 2, 3, 4)}
        levels["isco"] = {each: frozenset(code for code in CODES if code.startswith(each)) for each in prefixes}
        levels["isco"]["*"] = frozenset(CODES)
    return World(seed, data, _declared(rng, data, groups, cluster), rules, missing, levels, cluster)


def _obeying(
    frame: pd.DataFrame, chosen: list[str], missing: dict[str, frozenset[str]], n: int
) -> tuple[pd.DataFrame, list[str]]:
    """The first n records that obey the rules, without those rules that few obey or that ask nothing of anybody."""
    rules: list[PlainRule] = []
    names = [str(name) for name in frame]
    columns = (frame[name].astype(object).tolist() for name in names)
    rows = [dict(zip(names, cells, strict=True)) for cells in zip(*columns, strict=True)]
    for text in chosen:
        try:
            rule = plain_rule(text, missing, lambda _: Everything())
        except AssertionError:
            continue
        left = [row for row in rows if rule.verdict(row) is not False]
        if len(left) >= max(n, 0.6 * len(rows)) and _fires(rule, left[:n]):
            rows = left
            rules.append(rule)
    # Filtering for later rules may have taken what earlier ones are about.
    kept = [rule.text for rule in rules if _fires(rule, rows[:n])]
    return pd.DataFrame(rows[:n], columns=names, dtype=object), kept


class Everything(tuple[Any, ...]):
    """What holds every combination: a rule on those that occur is obeyed by every original record."""

    def __contains__(self, _: object) -> bool:
        return True


def _fires(rule: PlainRule, rows: list[dict[str, str]]) -> bool:
    return any(rule.fires(row) is True and rule.verdict(row) is True for row in rows)


def _with_holes(rng: np.random.Generator, frame: pd.DataFrame) -> pd.DataFrame:
    if rng.random() < 0.35:
        for name in ("births", "trade", "level", "isco"):
            if name in frame and rng.random() < 0.6:
                codes = ["9", ""] if name == "births" else [""]
                frame[name] = np.where(rng.random(len(frame)) < 0.08, rng.choice(codes, len(frame)), frame[name])
    return frame


def _random_rules(rng: np.random.Generator, frame: pd.DataFrame, names: list[str]) -> list[str]:
    """Implications between values of two variables."""
    found = []
    for _ in range(int(rng.integers(0, 3))):
        one, other = (str(name) for name in rng.choice(names, 2, replace=False))
        when = str(rng.choice(sorted(set(frame[one]) - {"", "9"})))
        there = sorted(set(frame[other]) - {"", "9"})
        then = [each for each in there if rng.random() < 0.75] or there[:1]
        found.append(f"if {one} == '{when}' then {other} in {{{', '.join(map(repr, then))}}}")
    return found


def _declared(
    rng: np.random.Generator, data: pd.DataFrame, groups: dict[str, Any], cluster: str | None
) -> dict[str, dict[str, Any]]:
    declared = {str(name): _declaration(rng, str(name), data, groups) for name in data if name != cluster}
    if cluster:
        declared[cluster] = {"role": "identifier", "release": "new"}
    return declared


def _declaration(rng: np.random.Generator, name: str, data: pd.DataFrame, groups: dict[str, Any]) -> dict[str, Any]:
    this: dict[str, Any] = {"role": "weight" if name == "weight" else "other", "type": "nominal"}
    if name in groups:
        there = set(data[name])
        listed = [{g: m for g, m in level.items() if name != "town" or there & set(m)} for level in groups[name]]
        this["hierarchy"] = {"groups": listed}
    if name in ORDERED:
        this |= {"type": "ordinal", "categories": ORDERED[name]}
    if name in ("age", "no", "weight", *NUMBERS):
        this["type"] = "integer"
    if name in ("no", *NUMBERS):
        this["release"] = "as is"
    match name:
        case "isco":
            this["hierarchy"] = {"prefix": [3, 2, 1]}
        case "age":
            bands = [{"bands": [[0, 16, 30, 65, 96], [0, 16, 96]]}, {"widths": [5, 10, 20]}, {"widths": [8, 16]}]
            this["hierarchy"] = bands[int(rng.integers(3))]
        case "sex" if rng.random() < 0.5:
            this["labels"] = {"1": "male", "2": "female"}
        case "births":
            this["missing"] = {"9": "refused"}
    return this
