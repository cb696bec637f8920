"""No suppressed cell is told by the rest of its household: an intruder lists every way in which it can be filled.

The intruder knows the published file and what holds in all households: what their variables say of members, and members
of each other. A cell that is the same in all fillings is told, unless the release is doubted for its variable.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    Row = dict[str, Any]
    Rule = Callable[[Row, list[Row]], bool]

VALUES = {
    "region": "abcd", "kind": ["senior", "plain"], "foreign": ["none", "one", "several"],
    "head_nat": ["home", "x", "y"], "kids": "0123", "origin": ["home", "x", "y", "mixed"], "alert": ["one x", "p", "q"],
    "women": "01234",
    "boss": ["yes", "no"], "rel": ["head", "spouse", "child", "lodger"], "age": "oamy", "sex": "fm",
    "nat": ["home", "x", "y"],
    "town": [region + number for region in "abcd" for number in "123"],
}  # fmt: skip
HOUSEHOLD = ("region", "kind", "foreign", "head_nat", "kids", "origin", "alert", "women")
PERSON = ("boss", "rel", "age", "nat", "sex", "town")


def _count(members: list[Row], name: str, value: str) -> int:
    return sum(each[name] == value for each in members)


def _women(members: list[Row]) -> int:
    return sum(each["sex"] == "f" and each["age"] == "m" for each in members)


def _origin(members: list[Row]) -> str:
    found = {each["nat"] for each in members}
    return str(members[0]["nat"]) if len(found) == 1 else "mixed"


def _foreign(members: list[Row]) -> str:
    return ["none", "one", "several"][min(len(members) - _count(members, "nat", "home"), 2)]


def _spouses(members: list[Row]) -> list[tuple[Row, Row]]:
    return [(one, other) for one in members for other in members if one["spouse"] == other["pno"]]


KNOWN: dict[tuple[str, ...], Rule] = {
    ("region", "town"): lambda home, members: all(each["town"][0] == home["region"] for each in members),
    ("kind", "age"): lambda home, members: home["kind"] != "senior" or _count(members, "age", "o") == len(members),
    ("foreign", "nat"): lambda home, members: home["foreign"] == _foreign(members),
    ("origin", "nat"): lambda home, members: home["origin"] == _origin(members),
    ("alert", "nat"): lambda home, members: home["alert"] != "one x" or _count(members, "nat", "x") == 1,
    ("women", "sex", "age"): lambda home, members: home["women"] == str(_women(members)),
    ("kids", "rel"): lambda home, members: home["kids"] == str(_count(members, "rel", "child")),
    ("head_nat", "nat", "rel"): lambda home, members: all(
        each["nat"] == home["head_nat"] for each in members if each["rel"] == "head"
    ),
    ("rel",): lambda _, members: (
        _count(members, "rel", "head") == 1
        and _count(members, "rel", "spouse") <= 1
        and all(each["spouse"] or each["rel"] != "spouse" for each in members)
    ),
    ("boss",): lambda _, members: _count(members, "boss", "yes") == 1,
    ("boss", "rel"): lambda _, members: all((each["boss"] == "yes") == (each["rel"] == "head") for each in members),
    ("sex",): lambda _, members: all(one["sex"] != other["sex"] for one, other in _spouses(members)),
    ("rel", "age"): lambda _, members: all((each["age"] == "y") == (each["rel"] == "child") for each in members),
}  # fmt: skip


def survey(seed: int, households: int = 250) -> tuple[list[Row], list[Row]]:
    """Households and persons, of whom all of `KNOWN` holds."""
    rng = np.random.default_rng(seed)
    homes: list[Row] = []
    persons: list[Row] = []
    for number in range(1, households + 1):
        size = int(rng.choice([1, 2, 3, 4], p=[0.25, 0.35, 0.25, 0.15]))
        senior = bool(rng.random() < 0.25)
        rels = ["head", "spouse"] if size > 1 and rng.random() < 0.7 else ["head"]
        while len(rels) < size:
            rels.append("lodger" if senior or rng.random() < 0.2 else "child")
        numbers = [str(each) for each in rng.permutation(size) + 1]
        region = str(rng.choice(list("abcd"), p=[0.4, 0.35, 0.22, 0.03]))
        members: list[Row] = [
            {
                "hhid": str(number), "pno": pno, "spouse": "", "boss": "yes" if rel == "head" else "no", "rel": rel,
                "age": "o" if senior else "y" if rel == "child" else str(rng.choice(list("oam"), p=[0.04, 0.5, 0.46])),
                "nat": str(rng.choice(["home", "x", "y"], p=[0.8, 0.15, 0.05])), "sex": str(rng.choice(["f", "m"])),
                "town": region + str(rng.integers(1, 4)),
            }
            for pno, rel in zip(numbers, rels, strict=True)
        ]  # fmt: skip
        if "spouse" in rels:
            members[0]["spouse"], members[1]["spouse"] = numbers[1], numbers[0]
            members[1]["sex"] = "m" if members[0]["sex"] == "f" else "f"
        one = _count(members, "nat", "x") == 1 and rng.random() < 0.6
        homes.append({
            "hhid": str(number), "region": region, "kind": "senior" if senior else "plain",
            "foreign": _foreign(members), "head_nat": members[0]["nat"], "kids": str(rels.count("child")),
            "origin": _origin(members), "women": str(_women(members)),
            "alert": "one x" if one else str(rng.choice(["p", "q"])),
        })  # fmt: skip
        persons += sorted(members, key=lambda each: int(each["pno"]))
    return homes, persons


def told(home: Row, members: list[Row], names: Sequence[str]) -> set[str]:
    """Variables of the empty cells of a household that have one value in all fillings, if these are few."""
    records = [(home, name) for name in names if name in HOUSEHOLD]
    records += [(each, name) for each in members for name in names if name in PERSON]
    cells = [(record, name) for record, name in records if record[name] == ""]
    rules = [rule for read, rule in KNOWN.items() if set(read) <= set(names)]
    if not cells or np.prod([float(len(VALUES[name])) for _, name in cells]) > MOST_FILLINGS:
        return set()
    seen: list[set[str]] = [set() for _ in cells]
    for values in itertools.product(*(VALUES[name] for _, name in cells)):
        for (record, name), value in zip(cells, values, strict=True):
            record[name] = value
        if all(rule(home, members) for rule in rules):
            for found, value in zip(seen, values, strict=True):
                found.add(value)
            if all(len(found) > 1 for found in seen):
                break
    assert all(seen)
    return {name for (_, name), found in zip(cells, seen, strict=True) if len(found) == 1}


MOST_FILLINGS = 5_000
"""Fillings of a household up to which it is asked; of the larger ones hardly any cell is alone."""


def released(
    folder: Path, seed: int, names: Sequence[str], keys: Sequence[str], k: int, capsys: pytest.CaptureFixture[str]
) -> tuple[Counter[str], set[str], Counter[str]]:
    """Households in which cells of variables are told, variables that are doubted, and cells that steps suppressed."""
    homes, persons = survey(seed)
    _write(folder / "h.csv", homes, ["hhid", *(name for name in names if name in HOUSEHOLD)])
    _write(folder / "p.csv", persons, ["hhid", "pno", "spouse", *(name for name in names if name in PERSON)])
    steps = [[name for name in keys if name in own] for own in (HOUSEHOLD, PERSON)]
    settings: Row = {
        "maskwright": 1,
        "data": {
            "levels": {
                "household": {"source": "h.csv", "key": "hhid"},
                "person": {"source": "p.csv", "key": "pno", "in": "household", "pointers": {"spouse": "pno"}},
            },
            "variables": {
                name: {"role": "quasi_identifier" if name in keys else "other", "type": "nominal"} for name in names
            },
        },
        "protect": [
            {"method": "local_suppression", "variables": own, "params": {"k": k, "keys": own}} for own in steps if own
        ],
        "measure": [],
        "output": {"data": {"household": "hm.csv", "person": "pm.csv"}, "record": "run.json"},
        "seed": 1,
    }  # fmt: skip
    doubted: set[str] = set()
    for _ in range(3):
        (folder / "p.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
        code = main(["run", str(folder / "p.yaml"), "--quiet"])
        errors = capsys.readouterr().err
        if code == 0:
            break
        waived = [line.strip() for line in errors.splitlines() if line.strip().startswith("- {doubt:")]
        assert waived, errors
        found = [{**each, "because": "the test counts it"} for each in yaml.safe_load("\n".join(waived))]
        doubted |= {name for each in found for name in np.atleast_1d(each.get("variable", [])).tolist()}
        settings["waive"] = [*settings.get("waive", ()), *found]
    assert code == 0
    members = defaultdict(list)
    for row in _read(folder / "pm.csv"):
        members[row["hhid"]].append(row)
    counted = Counter(name for home in _read(folder / "hm.csv") for name in told(home, members[home["hhid"]], names))
    record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    taken = Counter({each["variable"]: each["cells"] - each["complementary"] for each in record["suppressed"]})
    return counted, doubted, taken


def _write(path: Path, rows: list[Row], names: Sequence[str]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)


def _read(path: Path) -> list[Row]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


# Variables that are published, keys, and k.
WORLDS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...], int]] = {
    "any foreigner": (("foreign", "nat"), ("nat",), 40),
    "nationality of the head": (("head_nat", "rel", "nat"), ("nat",), 40),
    "household with the nationality of its head": (("head_nat", "rel", "nat"), ("head_nat",), 40),
    "all of one origin": (("origin", "nat", "rel"), ("nat",), 40),
    "two that say it together": (("origin", "foreign", "nat", "rel"), ("nat",), 40),
    "one kind that counts": (("alert", "nat", "rel"), ("nat",), 40),
    "seniors, foreigners, heads": (("kind", "foreign", "head_nat", "rel", "age", "nat"), ("age", "nat"), 40),
    "the head among the others": (("region", "boss", "nat", "sex"), ("boss", "nat", "sex"), 25),
    "head under two names": (("head_nat", "region", "boss", "rel", "nat"), ("rel", "nat", "region"), 25),
    "towns": (("region", "foreign", "town", "nat", "sex"), ("sex", "region", "nat"), 60),
    "children": (("kids", "rel", "age", "sex"), ("rel", "sex"), 60),
    "women of an age": (("women", "age", "sex"), ("age", "sex"), 120),
}


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("seed", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_no_suppressed_cell_has_one_value_left(
    world: str, seed: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names, keys, k = WORLDS[world]
    counted, doubted, taken = released(tmp_path, seed, names, keys, k, capsys)
    assert sum(taken.values()) > 0
    # What merely went beside others may be told by itself: the fillings say whether that tells what a step took.
    assert {name: cells for name, cells in counted.items() if taken[name] > 0 and name not in doubted} == {}


def test_the_intruder_finds_cells_where_nothing_goes_besides() -> None:
    """What the test above asks for is not there by itself: emptied cells are told for each rule that is known."""
    homes, persons = survey(1)
    members = defaultdict(list)
    for row in persons:
        members[row["hhid"]].append(row)
    for names, emptied in (
        (("head_nat", "rel", "nat"), "head_nat"), (("alert", "nat"), "nat"), (("origin", "nat"), "origin"),
        (("rel",), "rel"), (("boss",), "boss"), (("women", "sex", "age"), "age"),
        (("kids", "rel", "age"), "kids"), (("region", "town"), "region"),
    ):  # fmt: skip
        found = 0
        for home in homes:
            own = [dict(each) for each in members[home["hhid"]]]
            holder = dict(home)
            (holder if emptied in HOUSEHOLD else own[0])[emptied] = ""
            found += emptied in told(holder, own, names)
        assert found > 0, names
