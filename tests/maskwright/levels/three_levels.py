"""Random regions, households and persons with missing cells, in all three forms, and what pandas says of rules on them.

Nothing of Maskwright is used. Verdicts are 1 (holds), 0 (violated) and NaN (not known); amounts are whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

LEVELS = {"region": ("Region", "region"), "household": ("Household", "hhid"), "person": ("Person", "pno")}
HEADS = {
    "flat": "source: flat.csv, levels: {"
    "region: {key: region, variables: [north, homes, people, adults, total, top]}, "
    "household: {key: hhid, in: region, variables: [tenure, income]}, "
    "person: {key: pno, in: household, pointers: {mother: pno}}}",
    "linked": "levels: {region: {source: region.csv, key: region}, "
    "household: {source: household.csv, key: hhid, in: region}, "
    "person: {source: person.csv, key: pno, in: household, pointers: {mother: pno}}}",
    "nested": "source: nested.xml, levels: {region: {record: Region, key: region}, "
    "household: {record: Household, key: hhid, in: region}, "
    "person: {record: Person, key: pno, in: household, pointers: {mother: pno}}}",
}
VARIABLES = "variables: {tenure: {type: nominal}, north: {type: nominal}}"


class World:
    """Regions, households and persons; `groups_are_full`: none is empty, so that a flat file holds all of them.

    The first record of each level is there and has all its cells, so that every file has every variable.
    """

    def __init__(self, chosen: random.Random, *, missing: float = 0.12, groups_are_full: bool = False) -> None:
        self._chosen = chosen
        rows: dict[str, list[dict[str, object]]] = {name: [] for name in LEVELS}
        least = int(groups_are_full)
        for region in range(1, chosen.randint(2, 5)):
            homes = chosen.randint(max(least, region == 1), 3)
            persons = [chosen.randint(max(least, region == 1), 4) for _ in range(homes)]
            wages = [[chosen.choice([0, 1, 2, 5]) for _ in range(count)] for count in persons]
            sums = [sum(each) for each in wages]
            rows["region"].append({
                "region": f"R{region}", "north": chosen.choice("YN"), "homes": chosen.choice([homes, 2]),
                "people": chosen.choice([sum(persons), 4]), "adults": chosen.choice([1, 2, 3]),
                "total": chosen.choice([sum(sums), sum(sums), 7]), "top": chosen.choice([1, 2, 5]),
            })  # fmt: skip
            for home in range(1, homes + 1):
                rows["household"].append({
                    "region": f"R{region}", "hhid": home, "tenure": chosen.choice(["own", "rent"]),
                    "income": chosen.choice([sums[home - 1], sums[home - 1], 3]),
                })  # fmt: skip
                rows["person"] += [
                    {"region": f"R{region}", "hhid": home, "pno": number, "age": chosen.choice([5, 17, 18, 40, 64]),
                     "wage": wage, "mother": chosen.choice([0, 0, chosen.randint(1, 4)])}
                    for number, wage in enumerate(wages[home - 1], start=1)
                ]  # fmt: skip
        self.cells = {
            name: [self._emptied(row, missing * (place > 0)) for place, row in enumerate(each)]
            for name, each in rows.items()
        }
        self.frames = {name: self._frame(name) for name in LEVELS}

    def _emptied(self, row: dict[str, object], share: float) -> dict[str, str]:
        keys = ("region", "hhid", "pno")
        return {
            name: "" if name not in keys and self._chosen.random() < share else str(value)
            for name, value in row.items()
        }

    def _frame(self, name: str) -> pd.DataFrame:
        columns = {
            "region": ["region", "north", "homes", "people", "adults", "total", "top"],
            "household": ["region", "hhid", "tenure", "income"],
            "person": ["region", "hhid", "pno", "age", "wage", "mother"],
        }
        frame = pd.DataFrame(self.cells[name], columns=columns[name]).replace("", np.nan)
        texts = ("region", "tenure", "north")
        return frame.assign(**{each: pd.to_numeric(frame[each]) for each in frame if each not in texts})

    def write(self, folder: Path) -> None:
        """Write the three forms, and a pipeline that declares each."""
        shuffled = {name: self._chosen.sample(rows, len(rows)) for name, rows in self.cells.items()}
        for name, rows in shuffled.items():
            _write_csv(folder / f"{name}.csv", list(self.frames[name]), rows)
        above = {row["region"]: row for row in self.cells["region"]}
        homes = {(row["region"], row["hhid"]): row for row in self.cells["household"]}
        joined = [above[row["region"]] | homes[row["region"], row["hhid"]] | row for row in shuffled["person"]]
        _write_csv(
            folder / "flat.csv", list(dict.fromkeys(name for frame in self.frames.values() for name in frame)), joined
        )
        (folder / "nested.xml").write_text(f"<Survey>\n{self._nested()}</Survey>\n", encoding="utf-8")
        for form, head in HEADS.items():
            (folder / f"{form}.yaml").write_text(f"maskwright: 1\ndata: {{{head}, {VARIABLES}}}\n", encoding="utf-8")

    def _nested(self) -> str:
        return "".join(self._element(0, row) for row in self.cells["region"])

    def _element(self, depth: int, row: dict[str, str]) -> str:
        names = list(LEVELS)
        element = LEVELS[names[depth]][0]
        around = [LEVELS[name][1] for name in names[:depth]]
        keys = [LEVELS[name][1] for name in names[: depth + 1]]
        members = [
            self._element(depth + 1, each)
            for name in names[depth + 1 : depth + 2] for each in self.cells[name]
            if all(each[key] == row[key] for key in keys)
        ]  # fmt: skip
        cells = [
            f"<{name}>{value}</{name}>" for name, value in row.items()
            if name not in around and (value or self._chosen.random() < 0.5)
        ]  # fmt: skip
        at = self._chosen.randint(0, len(cells)) if self._chosen.random() < 0.3 else len(cells)
        return f"<{element}>{''.join([*cells[:at], *members, *cells[at:]])}</{element}>\n"


def _write_csv(path: Path, names: list[str], rows: list[dict[str, str]]) -> None:
    lines = [",".join(names), *(",".join(row[name] for name in names) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


Frames = dict[str, pd.DataFrame]
REGION, HOME = ["region"], ["region", "hhid"]


def _of(frames: Frames, keys: list[str], members: pd.DataFrame, values: pd.Series, how: str) -> pd.Series:
    """Sum, maximum or minimum of members, by group; NaN where one is missing, and of none a maximum or minimum."""
    groups = frames["region" if keys == REGION else "household"]
    index = pd.MultiIndex.from_frame(groups[keys])
    grouped = values.groupby([members[key] for key in keys])
    found = grouped.agg(how).where(grouped.count() == grouped.size())
    if len(keys) > 1:
        found.index = pd.MultiIndex.from_tuples(found.index, names=keys)
    else:
        found.index = pd.MultiIndex.from_arrays([found.index], names=keys)
    found = found.reindex(index)
    if how == "sum":
        none = ~index.isin(pd.MultiIndex.from_frame(members[keys]))
        found = found.mask(none, 0)
    return found.reset_index(drop=True)


def _bounds(frames: Frames, keys: list[str], members: pd.DataFrame, meant: pd.Series) -> tuple[pd.Series, pd.Series]:
    """Fewest and most members that a condition, 1, 0 or NaN, may hold of."""
    return (
        _of(frames, keys, members, (meant == 1).astype(float), "sum"),
        _of(frames, keys, members, meant.isna().astype(float) + (meant == 1), "sum"),
    )


def _truth(holds: pd.Series, unknown: pd.Series) -> pd.Series:
    return holds.astype(float).mask(unknown)


def _equal(one: pd.Series, other: pd.Series) -> pd.Series:
    return _truth(one == other, one.isna() | other.isna())


def _at_most(one: pd.Series, other: pd.Series) -> pd.Series:
    return _truth(one <= other, one.isna() | other.isna())


def _up(frames: Frames, level: str, above: str, name: str) -> pd.Series:
    keys = REGION if above == "region" else HOME
    return frames[level][keys].merge(frames[above][[*keys, name]], on=keys, how="left")[name]


def _large_homes(frames: Frames) -> pd.Series:
    homes = frames["household"]
    size = _of(frames, HOME, frames["person"], pd.Series(1.0, index=frames["person"].index), "sum")
    large = _of(frames, REGION, homes, (size > 2).astype(float), "sum")
    return _at_most(large, frames["region"]["homes"])


def _adults_of_region(frames: Frames) -> pd.Series:
    persons, wanted = frames["person"], frames["region"]["adults"]
    least, most = _bounds(frames, REGION, persons, _truth(persons["age"] >= 18, persons["age"].isna()))
    return _truth(least >= wanted, wanted.isna() | ((least < wanted) & (most >= wanted)))


def _adults_of_home(frames: Frames) -> pd.Series:
    persons = frames["person"]
    least, most = _bounds(frames, HOME, persons, _truth(persons["age"] >= 18, persons["age"].isna()))
    return _truth(least >= 1, (least < 1) & (most >= 1))


def _top(frames: Frames) -> pd.Series:
    persons, top = frames["person"], frames["region"]["top"]
    known = persons[persons["wage"].notna()]
    highest = _of(frames, REGION, known, known["wage"], "max")
    complete = _of(frames, REGION, persons, persons["wage"], "max").notna()
    return _truth(highest <= top, top.isna() | ((highest.isna() | (highest <= top)) & ~complete))


def _owners(frames: Frames) -> pd.Series:
    persons = frames["person"]
    tenure = _up(frames, "person", "household", "tenure")
    terms = persons["wage"].where(tenure == "own", 0.0).mask(tenure.isna())
    return _at_most(_of(frames, REGION, persons, terms, "sum"), frames["region"]["total"])


def _homes_add_up(frames: Frames) -> pd.Series:
    homes = frames["household"]
    wages = _of(frames, HOME, frames["person"], frames["person"]["wage"], "sum")
    fine = _equal(wages, homes["income"])
    least, most = _bounds(frames, REGION, homes, 1 - fine)
    return _truth(most == 0, (least == 0) & (most > 0))


def _mothers(frames: Frames) -> pd.Series:
    """A rule through a pointer is about records that point to one."""
    persons = frames["person"]
    pairs = persons.merge(
        persons[[*HOME, "pno", "age"]].rename(columns={"pno": "mother", "age": "age_of_mother"}),
        on=[*HOME, "mother"], how="left", indicator=True,
    )  # fmt: skip
    apart = pairs["age_of_mother"] - pairs["age"]
    return _truth(apart >= 14, apart.isna()).mask(pairs["_merge"] == "left_only", 1.0)


def _sum(keys: list[str], members: str, name: str) -> Callable[[Frames], pd.Series]:
    return lambda frames: _of(frames, keys, frames[members], frames[members][name], "sum")


def _count(keys: list[str], members: str) -> Callable[[Frames], pd.Series]:
    return lambda frames: _of(
        frames, keys, frames[members], pd.Series(1.0, index=frames[members].index), "sum"
    )  # fmt: skip


def _is(level: str, found: Callable[[Frames], pd.Series], name: str) -> tuple[str, Callable[[Frames], pd.Series]]:
    return level, lambda frames: _equal(found(frames), frames[level][name])


def _below(level: str, name: str, above: str, bound: str) -> tuple[str, Callable[[Frames], pd.Series]]:
    return level, lambda frames: _at_most(frames[level][name], _up(frames, level, above, bound))


RULES: dict[str, tuple[str, Callable[[Frames], pd.Series]]] = {
    "sum(person.wage) == region.total": _is("region", _sum(REGION, "person", "wage"), "total"),
    "sum(household.income) == total": _is("region", _sum(REGION, "household", "income"), "total"),
    "sum(person.wage) == income": _is("household", _sum(HOME, "person", "wage"), "income"),
    "count(household) == homes": _is("region", _count(REGION, "household"), "homes"),
    "people == count(person)": _is("region", _count(REGION, "person"), "people"),
    "count(person where age >= 18) >= adults": ("region", _adults_of_region),
    "count(person where age >= 18) >= 1": ("household", _adults_of_home),
    "max(person.wage) <= top": ("region", _top),
    "sum(person.wage where household.tenure == 'own') <= total": ("region", _owners),
    "all(household where sum(person.wage) == income)": ("region", _homes_add_up),
    "count(household where count(person) > 2) <= homes": ("region", _large_homes),
    "income <= total": _below("household", "income", "region", "total"),
    "wage <= income": _below("person", "wage", "household", "income"),
    "wage <= region.total": _below("person", "wage", "region", "total"),
    "mother.age - age >= 14": ("person", _mothers),
}
"""Rules with their level, and what pandas says of each record of it."""
