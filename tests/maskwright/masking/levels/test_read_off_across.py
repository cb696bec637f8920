"""Suppressed cells that the other level shows, where no rule is declared: an intruder counts households and members."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main
from maskwright.disclosure.attacks.across_levels import AcrossReader

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

LEVELS = {
    "household": {"key": "hhid", "variables": ["region", "kind", "foreign"]},
    "person": {"key": "pno", "in": "household", "pointers": {"spouse": "pno"}},
}
HOUSEHOLD, PERSON = ("region", "kind", "foreign"), ("town", "age", "nat", "lang", "sex")

Hidden = dict[tuple[str, str], "NDArray[np.bool_]"]


def survey(seed: int, households: int = 150, odd: int = 3) -> pd.DataFrame:
    """Towns tell regions, kinds ages, `foreign` any foreigner; spouses differ in sex, housemates speak alike."""
    rng = np.random.default_rng(seed)
    rows: list[dict[str, Any]] = []
    for hhid in range(households):
        size = int(rng.integers(1, 5))
        region = "abc"[int(rng.integers(3))]
        senior = rng.random() < 0.2
        nats = rng.choice(["home", "abroad"], size, p=[0.8, 0.2])
        lang = "xyz"[int(rng.integers(3))]
        pair = size > 1 and rng.random() < 0.7
        sexes = rng.choice(["f", "m"], size)
        if pair:
            sexes[1] = "f" if sexes[0] == "m" else "m"
        for pno in range(size):
            row = {
                "hhid": hhid, "pno": pno + 1, "spouse": (2 - pno if pair and pno < 2 else ""), "region": region,
                "kind": "senior" if senior else "plain", "foreign": str(int((nats == "abroad").any())),
                "town": region + str(int(rng.integers(3))), "age": "o" if senior else str(rng.choice(["o", "m", "y"])),
                "nat": nats[pno], "lang": "w" if hhid < odd and pno == 1 else lang, "sex": sexes[pno],
            }  # fmt: skip
            rows.append(row)
    return pd.DataFrame(rows)


def linked_data(frame: pd.DataFrame) -> mw.LinkedData:
    return mw.linked_data(frame, LEVELS)


def suppressed(linked: mw.LinkedData, seed: int, name: str, count: int = 6) -> Hidden:
    """Some cells of one variable."""
    level = "household" if name in HOUSEHOLD else "person"
    gone = np.zeros(len(linked[level]), dtype=np.bool_)
    gone[np.random.default_rng(seed).choice(len(gone), count, replace=False)] = True
    return {(level, name): gone}


def together(hidden: Hidden, more: Hidden) -> Hidden:
    return {**more, **{source: np.asarray(gone | more.get(source, np.False_)) for source, gone in hidden.items()}}


def certain(frame: pd.DataFrame, linked: mw.LinkedData, hidden: Hidden, name: str) -> int:
    """Suppressed cells of a variable that an intruder reads off rightly, by what the other level has in common."""
    groups = linked["person"].groups
    assert groups is not None
    shown = frame.astype(str).to_dict("list")
    for (level, variable), gone in hidden.items():
        rows = gone if level == "person" else gone[groups]
        shown[variable] = ["" if cell_gone else cell for cell, cell_gone in zip(shown[variable], rows, strict=True)]
    places = {(h, p): row for row, (h, p) in enumerate(zip(shown["hhid"], shown["pno"], strict=True))}
    shown["spouse.sex"] = [
        shown["sex"][places[h, s]] if s else "" for h, s in zip(shown["hhid"], shown["spouse"], strict=True)
    ]
    shown["size"] = [str(Counter(shown["hhid"])[h]) for h in shown["hhid"]]
    across = PERSON if name in HOUSEHOLD else HOUSEHOLD
    ways = [(each,) for each in across]
    if name in PERSON:
        ways += [("hhid",), ("foreign", "size")] + ([("spouse.sex",)] if name == "sex" else [])
    known: set[int] = set()
    for given in ways:
        keys = list(zip(*(shown[each] for each in given), strict=True))
        told: defaultdict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
        homes: defaultdict[tuple[str, ...], set[str]] = defaultdict(set)
        for key, value, home in zip(keys, shown[name], shown["hhid"], strict=True):
            if value and all(key):
                told[key][value] += 1
                homes[key].add(home)
        for row, key in enumerate(keys):
            if shown[name][row] or not all(key) or not told[key]:
                continue
            if given == ("hhid",):
                sure = name == "lang" and len(told[key]) == 1
            else:
                sure = len(told[key]) == 1 and len(homes[key]) >= 10
            if sure and str(frame[name][row]) in told[key]:
                known.add(row)
    return len(known)


@pytest.mark.covering(2)
@pytest.mark.parametrize("name", ["region", "age", "nat", "lang", "sex"])
@pytest.mark.parametrize("seed", range(4))
def test_nobody_reads_a_suppressed_cell_off_the_other_level(name: str, seed: int) -> None:
    frame = survey(seed)
    linked = linked_data(frame)
    hidden = suppressed(linked, seed, name)
    reader = AcrossReader(linked, {"household": HOUSEHOLD, "person": PERSON}, tuple(hidden), (), ())
    more, _ = reader.complement(hidden)
    gone = together(hidden, more)
    left = reader.left(gone)
    doubted = any(name in each.left for each in left.values())
    assert doubted or certain(frame, linked, gone, name) == 0


def test_the_intruder_reads_cells_off_where_nothing_goes_besides() -> None:
    """What the test above asks for is not there by itself."""
    left = {"region", "age", "nat", "lang", "sex"}
    for seed in range(4):
        frame = survey(seed)
        linked = linked_data(frame)
        left -= {name for name in left if certain(frame, linked, suppressed(linked, seed, name), name) > 0}
    assert not left


@pytest.mark.parametrize("seed", range(3))
def test_where_levels_say_nothing_of_each_other_nothing_goes(seed: int) -> None:
    """Housemates of a few large households are no witnesses each."""
    rng = np.random.default_rng(seed)
    homes = np.repeat(np.arange(120), rng.integers(1, 9, 120))
    frame = pd.DataFrame({"hhid": homes, "pno": np.arange(len(homes)), "spouse": ""})
    for name in HOUSEHOLD:
        frame[name] = rng.choice(list("abcdefgh"), 120)[homes]
    for name in PERSON:
        frame[name] = rng.choice(list("abcd"), len(homes))
    linked = linked_data(frame)
    reader = AcrossReader(linked, {"household": HOUSEHOLD, "person": PERSON}, [("person", "age")], (), ())
    hidden = suppressed(linked, seed, "age", 12)
    assert reader.complement(hidden) == ({}, {})
    assert not any(each.left for each in reader.left(hidden).values())


def test_what_cannot_be_emptied_is_a_doubt() -> None:
    frame = survey(1)
    linked = linked_data(frame)
    hidden = suppressed(linked, 1, "nat", 10)
    never = [("household", "foreign")]
    reader = AcrossReader(linked, {"household": HOUSEHOLD, "person": PERSON}, tuple(hidden), (), never)
    more, _ = reader.complement(hidden)
    assert ("household", "foreign") not in more
    gone = together(hidden, more)
    left = reader.left(gone)["person"]
    assert left.left["nat"].any()
    assert any(way.off.startswith("foreign of household") for way in left.by["nat"])
    assert not any(cells.all() for cells in left.by["nat"].values())


@pytest.mark.parametrize("seed", range(3))
def test_an_empty_kind_does_not_say_senior(seed: int) -> None:
    """What goes beside some suppressed ages goes beside all."""
    frame = survey(seed)
    linked = linked_data(frame)
    hidden = suppressed(linked, seed, "age", 40)
    reader = AcrossReader(linked, {"household": ("kind",), "person": ("age",)}, tuple(hidden), (), ())
    gone = together(hidden, reader.complement(hidden)[0])
    groups = linked["person"].groups
    assert groups is not None
    assert gone["household", "kind"][groups][hidden["person", "age"]].all()


@pytest.mark.parametrize(("seed", "variable"), [(0, "region"), (1, "region")])
def test_a_run_empties_the_towns_of_emptied_regions(folder: Path, seed: int, variable: str) -> None:
    frame = survey(seed)
    frame.loc[frame["hhid"] < 3, "region"] = "d"
    frame.loc[frame["hhid"] < 3, "town"] = "d1"
    frame[["hhid", variable]].drop_duplicates().to_csv(folder / "h.csv", index=False)
    frame[["hhid", "pno", "town"]].to_csv(folder / "p.csv", index=False)
    (folder / "p.yaml").write_text(PIPELINE, encoding="utf-8")
    assert main(["run", str(folder / "p.yaml")]) == 0
    homes = pd.read_csv(folder / "hm.csv", dtype=str, keep_default_na=False)
    persons = pd.read_csv(folder / "pm.csv", dtype=str, keep_default_na=False).merge(homes, on="hhid")
    emptied = persons[persons["region"] == ""]
    assert len(emptied) > 0
    assert (emptied["town"] == "").all()


PIPELINE = """maskwright: 1
data:
  levels:
    household: {source: h.csv, key: hhid}
    person: {source: p.csv, key: pno, in: household}
  variables: {region: {role: quasi_identifier}, town: {role: other}}
protect: [{method: local_suppression, variables: [region], params: {k: 10, keys: [region]}}]
output: {data: {household: hm.csv, person: pm.csv}}
seed: 1
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2))])
def test_every_cell_that_goes_is_counted_and_k_with_it(tmp_path: Path, seed: int) -> None:
    """What goes by the other level and by the record itself is counted once, and all of it."""
    frame = survey(seed, 200)
    rare = np.random.default_rng(100 + seed)
    frame.loc[rare.choice(len(frame), 5, replace=False), "nat"] = "far"
    frame.loc[rare.choice(len(frame), 4, replace=False), "age"] = "q"
    frame["label"], frame["agegroup"], frame["tongue"] = frame["nat"].str[:2], frame["age"].str.upper(), frame["lang"]
    frame["wage"] = np.random.default_rng(seed).integers(10, 90, len(frame)) * 10
    frame.to_csv(tmp_path / "in.csv", index=False)
    open_to_all = [*HOUSEHOLD, "town", "label", "agegroup", "tongue"]
    keys, roles = ["age", "nat", "lang"], {name: {"type": "nominal", "role": "other"} for name in open_to_all}
    roles |= {name: {"role": "quasi_identifier"} for name in (*keys, "sex")}
    settings = {
        "maskwright": 1,
        "data": {"source": "in.csv", "variables": roles, "levels": LEVELS},
        "protect": [
            {"method": "microaggregation", "variables": ["wage"], "params": {"k": 3}},
            {"method": "local_suppression", "variables": keys, "params": {"k": 9, "keys": keys}},
        ],
        "waive": [
            {"doubt": "suppressed-cells-follow", "variable": [*roles], "because": "a test of counts"},
            {"doubt": "not-masked", "variable": ["sex"], "because": "a test of counts"},
            {"doubt": "constant-within-groups", "variable": ["lang"], "because": "a test of counts"},
        ],
        "output": {"data": "out.csv"},
        "seed": 3,
    }
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    record = mw.run(tmp_path / "p.yaml").record
    released = pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)
    counted = Counter({each["variable"]: each["cells"] for each in record["suppressed"]})
    for name in (*roles, "wage"):
        rows = released.drop_duplicates("hhid") if name in HOUSEHOLD else released
        assert counted[name] == (rows[name] == "").sum(), name
    for group in record["k"]["groups"]:
        homes = released.groupby(group["variables"])["hhid"].transform("nunique")
        assert group["below"] == (homes < group["expected"]).sum(), group["variables"]


def test_the_number_of_members_says_nothing_of_a_rare_value() -> None:
    """Nearly all members of any household have another one: that is no more than how many they are."""
    rng = np.random.default_rng(1)
    homes = np.repeat(np.arange(400), rng.integers(1, 6, 400))
    frame = pd.DataFrame({"hhid": homes, "pno": np.arange(len(homes)), "spouse": ""})
    frame["size"] = np.bincount(homes)[homes].astype(str)
    frame["nat"] = rng.choice(["home", "near", "far"], len(homes), p=[0.95, 0.03, 0.02])
    levels = {**LEVELS, "household": {"key": "hhid", "variables": ["size"]}}
    linked = mw.linked_data(frame, levels)
    gone = (frame["nat"] == "far").to_numpy()
    hidden: Hidden = {("person", "nat"): gone}
    reader = AcrossReader(linked, {"household": ("size",), "person": ("nat",)}, tuple(hidden), (), ())
    assert not any(each.left for each in reader.left(hidden).values())


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4))])
def test_whom_the_number_of_members_tells_by_exclusion_is_counted(seed: int) -> None:
    """One head in every household, whatever its size: it is the one whose cell is empty where no other is shown."""
    rng = np.random.default_rng(seed)
    homes = np.repeat(np.arange(300), rng.integers(1, 6, 300))
    frame = pd.DataFrame({"hhid": homes, "pno": np.arange(len(homes)), "spouse": ""})
    frame["size"] = np.bincount(homes)[homes].astype(str)
    place = frame.groupby("hhid").cumcount()
    frame["position"] = np.where(place == 0, "head", rng.choice(["child", "other", "guest"], len(homes)))
    linked = mw.linked_data(frame, {**LEVELS, "household": {"key": "hhid", "variables": ["size"]}})
    gone = np.zeros(len(frame), dtype=np.bool_)
    gone[rng.choice(len(frame), 40, replace=False)] = True
    hidden: Hidden = {("person", "position"): gone}
    reader = AcrossReader(linked, {"household": ("size",), "person": ("position",)}, tuple(hidden), (), ())
    found = reader.left(hidden)["person"]
    # Whoever counts sees that one is the head, and who is shown to be another: read is who is left alone.
    shown = frame[~gone & (frame["position"] == "head")]["hhid"]
    alone = frame[gone].groupby("hhid")["pno"].transform("size").reindex(frame.index) == 1
    expected = gone & alone.to_numpy() & ~frame["hhid"].isin(shown).to_numpy()
    assert expected.any()
    assert not (found.left["position"] & ~expected & (frame["position"] != "head").to_numpy()).any()
    assert not (expected & ~found.left["position"]).any()
    assert not any(way.without for way in found.by["position"])
