"""Random regions, households and persons, rules across them, and pipelines on all three: judged by pandas alone.

Nothing of Maskwright reads or judges what it wrote. Numbers are compared in hundredths, as whole numbers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import yaml
from lxml import etree

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

LEVELS = ("region", "household", "person")
KEYS = {"region": "region", "household": "hhid", "person": "pno"}
ELEMENTS = {"region": "Region", "household": "Household", "person": "Person"}
OWN = {
    "region": ("north", "homes", "area", "pensions", "gdp"),
    "household": ("tenure", "size", "capital", "total", "tax"),
    "person": ("sex", "edu", "age", "mate", "wage", "pens", "income"),
}
TEXTS = frozenset(("region", "hhid", "pno", "north", "tenure", "sex", "edu", "mate"))
FILES = {"region": "regions.csv", "household": "households.csv", "person": "persons.csv"}
OUTPUTS = {
    "flat": "out.csv", "nested": "out.xml",
    "linked": {name: f"out_{name}.csv" for name in LEVELS},
}  # fmt: skip
Frames = dict[str, "pd.DataFrame"]


def _up(frames: Frames, level: str, above: str, name: str) -> pd.Series:
    """Variable of a level above, for each record of a level."""
    keys = [KEYS[each] for each in LEVELS[: LEVELS.index(above) + 1]]
    return frames[level][keys].merge(frames[above][[*keys, name]], on=keys, how="left")[name]


def _down(frames: Frames, level: str, members: str, name: str | None, how: str = "sum") -> pd.Series:
    """Sum, maximum or number of members; a missing cell makes it missing."""
    keys = [KEYS[each] for each in LEVELS[: LEVELS.index(level) + 1]]
    rows = frames[members]
    groups = [rows[key] for key in keys]
    values = pd.Series(1, index=rows.index) if name is None else rows[name]
    grouped = values.groupby(groups)
    found = grouped.agg(how).where(grouped.count() == grouped.size())
    index = pd.MultiIndex.from_frame(frames[level][keys]) if len(keys) > 1 else pd.Index(frames[level][keys[0]])
    return found.reindex(index).reset_index(drop=True).fillna(0 if name is None else np.nan)


def _broken(holds: pd.Series, *read: pd.Series) -> pd.Series:
    known = ~pd.concat(read, axis=1).isna().any(axis=1)
    return known & ~holds


def _equal(one: pd.Series, other: pd.Series) -> pd.Series:
    return _broken(one == other, one, other)


def _at_most(one: pd.Series, other: pd.Series) -> pd.Series:
    return _broken(one <= other, one, other)


RULES: dict[str, tuple[str, Callable[[Frames], pd.Series]]] = {
    "sum(household.total) == gdp": (
        "region", lambda f: _equal(_down(f, "region", "household", "total"), f["region"]["gdp"])),
    "sum(person.income) + capital == total": (
        "household", lambda f: _equal(_down(f, "household", "person", "income") + f["household"]["capital"],
                                      f["household"]["total"])),
    "sum(person.pens) == pensions": (
        "region", lambda f: _equal(_down(f, "region", "person", "pens"), f["region"]["pensions"])),
    "wage + pens == income": (
        "person", lambda f: _equal(f["person"]["wage"] + f["person"]["pens"], f["person"]["income"])),
    "count(household) == homes": (
        "region", lambda f: _equal(_down(f, "region", "household", None), f["region"]["homes"] // 100)),
    "count(person) == size": (
        "household", lambda f: _equal(_down(f, "household", "person", None), f["household"]["size"] // 100)),
    "tax <= 0.5 * total": ("household", lambda f: _at_most(2 * f["household"]["tax"], f["household"]["total"])),
    "income <= total": ("person", lambda f: _at_most(f["person"]["income"], _up(f, "person", "household", "total"))),
    "total <= gdp": ("household", lambda f: _at_most(f["household"]["total"], _up(f, "household", "region", "gdp"))),
    "max(person.wage) <= total": (
        "household", lambda f: _at_most(_down(f, "household", "person", "wage", "max"), f["household"]["total"])),
    "sum(person.wage) <= gdp": (
        "region", lambda f: _at_most(_down(f, "region", "person", "wage"), f["region"]["gdp"])),
    "wage <= region.gdp": ("person", lambda f: _at_most(f["person"]["wage"], _up(f, "person", "region", "gdp"))),
    "wage >= 0 and pens >= 0": (
        "person", lambda f: _broken((f["person"]["wage"] >= 0) & (f["person"]["pens"] >= 0), f["person"]["wage"],
                                    f["person"]["pens"])),
    "capital >= 0 and tax >= 0": (
        "household", lambda f: _broken((f["household"]["capital"] >= 0) & (f["household"]["tax"] >= 0),
                                       f["household"]["capital"], f["household"]["tax"])),
    "any(person where age >= 18)": (
        "household", lambda f: _broken(_down(f, "household", "person", "age", "max") >= 1800,
                                       _down(f, "household", "person", "age", "max"))),
    "all(household where count(person) >= 1)": (
        "region", lambda f: pd.Series(len(f["household"]) - f["person"].groupby(["region", "hhid"]).ngroups > 0,
                                      index=f["region"].index)),
}  # fmt: skip
"""Rules with their level, and the records of it that pandas finds violated."""

EQUALITIES = {
    "sum(household.total) == gdp": ("region", "household", ("total", "gdp")),
    "sum(person.income) + capital == total": ("household", "person", ("income", "capital", "total")),
    "sum(person.pens) == pensions": ("region", "person", ("pens", "pensions")),
    "wage + pens == income": ("person", "", ("wage", "pens", "income")),
}
"""Their level, the level of the members that they add, and the variables: that of the members first."""


@dataclass
class World:
    """A random world; every rule holds but where `dirty`."""

    seed: int

    def __post_init__(self) -> None:
        rng = self.rng = np.random.default_rng([self.seed, 3])
        self.form = ("linked", "nested", "flat")[self.seed % 3]
        self.decimals = int(rng.choice([0, 2]))
        self.keys_are_alone = bool(rng.random() < 0.5)
        self.missing = float(rng.choice([0.0, 0.0, 0.05]))
        self.dirty = bool(rng.random() < 0.2)
        rows: dict[str, list[dict[str, Any]]] = {name: [] for name in LEVELS}
        for region in range(int(rng.integers(5, 31))):
            homes = int(rng.integers(1, 8))
            own = {"region": f"R{region:02}", "north": str(rng.choice(["Y", "N"])), "homes": homes,
                   "area": int(rng.integers(100, 900)), "pensions": 0, "gdp": 0}  # fmt: skip
            for home in range(homes):
                persons = int(rng.integers(1, 5))
                number = len(rows["household"]) if self.keys_are_alone else home
                row = {"region": own["region"], "hhid": f"H{number:04}", "tenure": str(rng.choice(["own", "rent"])),
                       "size": persons, "capital": self._amount(), "total": 0, "tax": 0}  # fmt: skip
                row["total"] = row["capital"]
                for person in range(persons):
                    wage, pens = self._amount(), self._amount()
                    mate = {0: 2, 1: 1}.get(person, 0) if persons > 1 and home % 2 else 0
                    rows["person"].append({
                        "region": own["region"], "hhid": row["hhid"], "pno": str(person + 1),
                        "sex": str(rng.choice(["m", "f"])), "edu": str(rng.choice(["low", "mid", "high"])),
                        "age": int(rng.integers(18 if person == 0 else 0, 90)), "mate": str(mate),
                        "wage": wage, "pens": pens, "income": wage + pens,
                    })  # fmt: skip
                    row["total"] += wage + pens
                    own["pensions"] += pens
                row["tax"] = int(row["total"] * rng.random() * 0.4)
                own["gdp"] += row["total"]
                rows["household"].append(row)
            rows["region"].append(own)
        if self.dirty:
            rows["household"][0]["total"] += 7
        self.cells = {
            name: pd.DataFrame([{each: self._text(each, value) for each, value in row.items()} for row in own])
            for name, own in rows.items()
        }
        chosen = rng.random(len(RULES)) < 0.6
        self.rules = [rule for rule, is_in in zip(RULES, chosen, strict=True) if is_in]

    def _amount(self) -> int:
        return int(self.rng.gamma(2, 40000)) * int(self.rng.random() < 0.75)

    def _text(self, name: str, value: Any) -> str:
        if name in ("edu", "sex", "wage", "tenure") and self.rng.random() < self.missing:
            return ""
        if name in TEXTS or name in ("homes", "size", "age"):
            return str(value)
        return f"{value / 100:.2f}" if self.decimals else str(value)

    def write(self, folder: Path) -> None:
        """Write the file or files of its form."""
        if self.form == "linked":
            for name, cells in self.cells.items():
                alone = name == "person" and self.keys_are_alone
                cells.drop(columns=["region"] if alone else []).to_csv(folder / FILES[name], index=False)
        elif self.form == "flat":
            self._flat().to_csv(folder / "flat.csv", index=False)
        else:
            (folder / "nested.xml").write_text(f"<Survey>{self._nested()}</Survey>", encoding="utf-8")

    def _flat(self) -> pd.DataFrame:
        regions, homes, persons = self.cells.values()
        return regions.merge(homes, on="region").merge(persons, on=["region", "hhid"])

    def _nested(self) -> str:
        members: dict[tuple[str, ...], list[dict[str, str]]] = {}
        for depth, name in enumerate(LEVELS[1:], start=1):
            for row in self.cells[name].to_dict("records"):
                members.setdefault(tuple(row[KEYS[each]] for each in LEVELS[:depth]), []).append(row)

        def element(depth: int, row: dict[str, str]) -> str:
            name = LEVELS[depth]
            cells = "".join(f"<{each}>{row[each]}</{each}>" for each in (KEYS[name], *OWN[name]))
            here = members.get(tuple(row[KEYS[each]] for each in LEVELS[: depth + 1]), []) if depth < 2 else []
            inner = "".join(element(depth + 1, each) for each in here)
            return f"<{ELEMENTS[name]}>{cells}{inner}</{ELEMENTS[name]}>"

        return "".join(element(0, row) for row in self.cells["region"].to_dict("records"))

    def pipeline(self, waived: list[dict[str, Any]]) -> dict[str, Any]:
        """Steps on one level, two or all three."""
        rng = np.random.default_rng([self.seed, 4])
        levels: dict[str, dict[str, Any]] = {
            name: {"key": KEYS[name]} | ({"in": LEVELS[depth - 1]} if depth else {})
            for depth, name in enumerate(LEVELS)
        }
        levels["person"]["pointers"] = {"mate": "pno"}
        if self.seed % 4 == 1:
            levels["household"]["counted_in"] = "household"
        for name, each in levels.items():
            if self.form == "linked":
                each["source"] = FILES[name]
            elif self.form == "nested":
                each["record"] = ELEMENTS[name]
            elif name != "person":
                each["variables"] = list(OWN[name])
        source = {} if self.form == "linked" else {"source": {"flat": "flat.csv", "nested": "nested.xml"}[self.form]}
        keys = [*KEYS.values(), "mate"]
        roles = {name: {"role": "other"} for own in OWN.values() for name in own if name not in keys}
        roles |= {name: {"role": "other", "type": "nominal"} for name in (*keys, "sex", "edu", "north", "tenure")}
        if not self.decimals:
            roles |= {name: {"role": "other", "type": "integer"} for name in ("wage", "pens", "income")}
        return {
            "maskwright": 1, "data": {**source, "levels": levels, "variables": roles}, "edits": self.rules,
            "on_input_violation": "drop" if self.dirty else "mask", "protect": self.steps(rng),
            "output": {"data": OUTPUTS[self.form], "key_map": "keys.csv", "record": "run.json"},
            "waive": waived, "seed": self.seed,
        }  # fmt: skip

    def steps(self, rng: np.random.Generator) -> list[dict[str, Any]]:
        """Steps: a sample first, what suppresses last."""
        amounts = {"region": ["area", "pensions", "gdp"], "household": ["capital", "total", "tax"],
                   "person": ["wage", "pens", "income"]}  # fmt: skip
        steps = []
        for level in rng.permutation(LEVELS)[: int(rng.integers(1, 4))].tolist():
            method = str(rng.choice(["microaggregation", "microaggregation", "additive_noise", "rounding",
                                     "rank_swapping"]))  # fmt: skip
            params: dict[str, Any] = {}
            if method == "microaggregation":
                params = {"k": int(rng.integers(2, 4))}
                params |= {"k_guarantee": "report"} if rng.random() < 0.5 else {}
            if method == "rounding":
                params = {"base": 10}
            names = [each for each in amounts[level] if rng.random() < 0.85] or amounts[level]
            total = {"region": "gdp", "household": "total"}.get(level, "")
            if total in names and any(rule.endswith(f"== {total}") for rule in self.rules) and rng.random() < 0.3:
                params |= {"totals": {total: "adjust"}} | ({"k_guarantee": "report"} if "k" in params else {})
            steps.append({"method": method, "variables": names, "params": params})
        if rng.random() < 0.3:
            steps.append({"method": "pram", "variables": [str(rng.choice(["edu", "tenure"]))], "params": {}})
        if rng.random() < 0.4:
            names = [["sex", "edu"], ["north"], ["tenure"], ["wage"], ["total"]][int(rng.integers(5))]
            steps.append({"method": "local_suppression", "variables": names, "params": {"k": 2}})
        elif rng.random() < 0.2:
            steps.insert(0, {"method": "sampling", "variables": ["area"], "params": {"fraction": 0.7}})
        return steps


@dataclass
class Release:
    """A world and what was written of it."""

    world: World
    folder: Path
    settings: dict[str, Any]

    def __post_init__(self) -> None:
        self.record = json.loads((self.folder / "run.json").read_text())
        self.after = _texts(self.folder, self.world.form, OUTPUTS[self.world.form])
        self.keys = pd.read_csv(self.folder / "keys.csv", dtype=str, keep_default_na=False)
        self.pairs = {level: self._pairs(level) for level in LEVELS}

    def wrong(self) -> Iterator[str]:
        """What is wrong with it."""
        numbers = {name: numbers_of(frame) for name, frame in self.after.items()}
        for rule in self.world.rules:
            broken = int(RULES[rule][1](numbers).sum())
            if broken:
                yield f"{rule}: {broken} {RULES[rule][0]} records violate it"
        yield from self._structure()
        yield from self._cells()
        yield from self._classes()
        yield from self._leaks()

    def _leaks(self) -> Iterator[str]:
        """Suppressed amounts that the equalities of all three levels together give back, whatever level they are of."""
        cells = {
            (level, row, name)
            for level, (was, now) in self.pairs.items() for name in OWN[level] if name not in TEXTS
            for row in np.flatnonzero((now[name] == "") & (was[name] != "")).tolist()
        }  # fmt: skip
        if not cells:
            return
        place = {cell: number for number, cell in enumerate(sorted(cells))}
        rows: list[list[tuple[str, int, str, float]]] = []
        originals = {level: was.reset_index(drop=True) for level, (was, _) in self.pairs.items()}
        for rule, (level, members, terms) in EQUALITIES.items():
            if rule not in self.world.rules:
                continue
            keys = [KEYS[each] for each in LEVELS[: LEVELS.index(level) + 1]]
            of: dict[Any, Any] = dict(originals[members].groupby(keys).indices) if members else {}
            for row, key in enumerate(originals[level][keys].itertuples(index=False, name=None)):
                inside = of.get(key if len(key) > 1 else key[0], ()) if members else ()
                read = [(members, int(each), terms[0]) for each in inside]
                read += [(level, row, name) for name in terms[bool(members) :]]
                if all(originals[where].at[at, name] != "" for where, at, name in read):
                    rows.append([(*cell, -1.0 if cell[2] == terms[-1] else 1.0) for cell in read if cell in place])
        rows = [row for row in rows if row]
        if not rows:
            return
        system = np.zeros((len(rows), len(place)))
        for number, terms_of_row in enumerate(rows):
            for level, at, name, sign in terms_of_row:
                system[number, place[level, at, name]] = sign
        determined = np.diag(np.linalg.pinv(system) @ system) > 1 - 1e-9
        if determined.any():
            yield f"{int(determined.sum())} suppressed cells follow from what is published"

    def _structure(self) -> Iterator[str]:
        for depth, level in enumerate(LEVELS):
            keys = [KEYS[each] for each in LEVELS[: depth + 1]]
            new = self.after[level][keys]
            said = self.keys[[f"new {key}" for key in keys]].drop_duplicates()
            if new.duplicated().any() or set(map(tuple, new.to_numpy())) != set(map(tuple, said.to_numpy())):
                yield f"{level}: records are not those of the map of keys, or occur twice"
            if depth:
                above = set(map(tuple, self.after[LEVELS[depth - 1]][keys[:-1]].to_numpy()))
                if not set(map(tuple, new[keys[:-1]].to_numpy())) <= above:
                    yield f"{level}: records belong to no {LEVELS[depth - 1]}"
        if set(self.after["region"]["region"]) & set(self.world.cells["region"]["region"]):
            yield "old keys are published"
        before = self.world.cells["person"].groupby(["region", "hhid"]).size()
        after = self.keys.groupby(["region", "hhid"]).size()
        if not after.eq(before.reindex(after.index)).all():
            yield "a household lacks members"
        homes = self.world.cells["household"].groupby("region").size()
        left = self.keys.drop_duplicates(["region", "hhid"]).groupby("region").size()
        if not left.eq(homes.reindex(left.index)).all():
            yield "a region lacks households"

    def _pairs(self, level: str) -> tuple[pd.DataFrame, pd.DataFrame]:
        """Records of the original, and of the release, beside each other."""
        keys = [KEYS[each] for each in LEVELS[: LEVELS.index(level) + 1]]
        both = self.keys[[*keys, *(f"new {key}" for key in keys)]].drop_duplicates()
        was = both.merge(self.world.cells[level], on=keys, how="left")
        new = self.after[level].rename(columns={key: f"new {key}" for key in keys})
        return was, both.merge(new, on=[f"new {key}" for key in keys], how="left")

    def _cells(self) -> Iterator[str]:
        masked = {name for step in self.settings["protect"] for name in step["variables"]}
        suppressed = {each["variable"]: each["cells"] for each in self.record["suppressed"]}
        for level, (was, now) in self.pairs.items():
            for name in OWN[level]:
                if name == "mate":
                    mates = self.keys.set_index(["region", "hhid", "new pno"])["pno"]
                    named = [
                        mates.get((row["region"], row["hhid"], row["mate"]), "0") if row["mate"] != "0" else "0"
                        for row in now.to_dict("records")
                    ]
                    if named != was["mate"].tolist():
                        yield "mate does not follow"
                    continue
                differ = (numbers_of(was[[name]]) != numbers_of(now[[name]])) & ~(was[[name]] == now[[name]])
                emptied = (now[name] == "") & (was[name] != "")
                changed = int((differ[name] & ~emptied).sum())
                if changed and name not in masked:
                    yield f"{changed} cells of {name} changed, which no step masks"
                if int(emptied.sum()) > suppressed.get(name, 0) and name not in masked:
                    yield f"{int(emptied.sum())} cells of {name} are empty, and {suppressed.get(name, 0)} are said"

    def _classes(self) -> Iterator[str]:
        """What the record says of k, counted again in what was written."""
        counted_in = {"person": "household", "household": "region", "region": "region"}
        counted_in |= {
            name: each["counted_in"] for name, each in self.settings["data"]["levels"].items() if "counted_in" in each
        }
        for group in self.record["k"]["groups"]:
            names = list(group["variables"])
            level = next(each for each in LEVELS if names[0] in OWN[each])
            frame = self.after[level]
            if not set(names) <= set(frame):
                continue
            unit = [KEYS[each] for each in LEVELS[: LEVELS.index(counted_in[level]) + 1]]
            units = frame[unit].agg("/".join, axis=1)
            sizes = units.groupby([frame[name] for name in names]).transform("nunique")
            below = int((sizes < group["expected"]).sum())
            if below != group["below"]:
                yield f"{below} records are below k on {', '.join(names)}, and {group['below']} are said to be"


def numbers_of(frame: pd.DataFrame) -> pd.DataFrame:
    """Amounts in whole hundredths, NaN where missing; texts as they are."""
    return frame.assign(**{
        name: pd.to_numeric(frame[name]).mul(100).round() for name in frame if name not in TEXTS and "new " not in name
    })  # fmt: skip


def _texts(folder: Path, form: str, files: Any) -> dict[str, pd.DataFrame]:
    """Cells of the levels of a release, each with the keys of the levels above."""
    if form == "nested":
        return _of_nested(folder / files)
    if form == "flat":
        flat = pd.read_csv(folder / files, dtype=str, keep_default_na=False)
        return {
            name: flat[[*(KEYS[each] for each in LEVELS[: depth + 1]), *OWN[name]]].drop_duplicates(ignore_index=True)
            for depth, name in enumerate(LEVELS)
        }
    frames = {name: pd.read_csv(folder / file, dtype=str, keep_default_na=False) for name, file in files.items()}
    if "region" not in frames["person"]:
        frames["person"] = frames["person"].merge(frames["household"][["region", "hhid"]], on="hhid")
    return frames


def _of_nested(path: Path) -> dict[str, pd.DataFrame]:
    rows: dict[str, list[dict[str, str]]] = {name: [] for name in LEVELS}

    def take(element: Any, depth: int, keys: dict[str, str]) -> None:
        name = LEVELS[depth]
        row = keys | {each: element.findtext(each) or "" for each in (KEYS[name], *OWN[name])}
        rows[name].append(row)
        for inner in element.findall(ELEMENTS[LEVELS[depth + 1]]) if depth < 2 else ():
            take(inner, depth + 1, keys | {KEYS[name]: row[KEYS[name]]})

    for element in etree.parse(path).getroot().iter("Region"):
        take(element, 0, {})
    return {name: pd.DataFrame(own) for name, own in rows.items()}


def dump(settings: dict[str, Any]) -> str:
    """Pipeline file."""
    return yaml.safe_dump(settings, sort_keys=False, allow_unicode=True)
