"""A masked variable is inferred from the order of the file, or of a number that is published as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.init import start_pipeline
from maskwright.commands.plan import plan_pipeline
from maskwright.masking.suppressing.inference_findings import order_doubts

if TYPE_CHECKING:
    from pathlib import Path

N = 400
OTHER, KEY, CONFIDENTIAL = {"role": "other"}, {"role": "quasi_identifier"}, {"role": "confidential"}
ROLES = {"income": CONFIDENTIAL, "age": OTHER, "region": OTHER, "number": OTHER}
OF_FILE = "it can be inferred from the order of the records: the file is sorted by it"


def people() -> pd.DataFrame:
    """Persons in no order; their number counts through the regions, one after the other."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"income": np.round(rng.lognormal(8, 0.7, N), 2), "age": rng.integers(18, 90, N)})
    frame["region"] = rng.choice(list("abcd"), N)
    frame = frame.sort_values("region")
    frame["number"] = 1000 + 7 * np.arange(N)
    return frame.sample(frac=1, random_state=1, ignore_index=True)


def found(folder: Path, frame: pd.DataFrame, steps: list[dict[str, Any]], **settings: Any) -> dict[str, dict[str, Any]]:
    """Doubts of the plan about what can be inferred, by variable."""
    roles = {name: role for name, role in {**ROLES, **settings.pop("roles", {})}.items() if name in frame}
    frame.to_csv(folder / "in.csv", index=False)
    pipeline = {
        "maskwright": 1, "data": {"source": "in.csv", "variables": roles}, "edits": [], "protect": steps, "seed": 1,
        "output": {"data": "out.csv"}, **settings,
    }  # fmt: skip
    (folder / "p.yaml").write_text(yaml.safe_dump(pipeline), encoding="utf-8")
    doubts = plan_pipeline(folder / "p.yaml")["doubts"]
    return {each["subject"]: each for each in doubts if each["doubt"] == "follows-from-published"}


INCOME = [{"method": "microaggregation", "variables": ["income"], "params": {"k": 3}}]
NUMBERS = {
    "microaggregation": ("income", INCOME),
    "noise": ("income", [{"method": "additive_noise", "variables": ["income"], "params": {"p": 5}}]),
    "top codes": ("income", [{"method": "top_and_bottom_coding", "variables": ["income"], "params": {"top": 9000}}]),
    "bands": ("age", [{"method": "recoding", "variables": ["age"], "params": {"bands": 5}}]),
    "empty cells": ("age", [{"method": "local_suppression", "variables": ["age", "region"], "params": {"k": 3}}]),
}


@pytest.mark.parametrize("way", NUMBERS)
def test_a_file_sorted_by_a_masked_number_tells_it(tmp_path: Path, way: str) -> None:
    """Each place is a rank; no doubt in any other order, nor where the records are published in a random one."""
    name, steps = NUMBERS[way]
    roles = {"income": CONFIDENTIAL if name == "income" else OTHER, name: KEY if name == "age" else CONFIDENTIAL}
    roles |= {"region": KEY} if way == "empty cells" else {}
    frame = people().drop(columns="number")
    assert name not in found(tmp_path, frame, steps, roles=roles)
    for ascending in (True, False):
        ordered = frame.sort_values(name, ascending=ascending)
        doubt = found(tmp_path, ordered, steps, roles=roles)[name]
        assert doubt["message"] == OF_FILE
        assert "release: {order: random}" in doubt["remedy"]
        assert name not in found(tmp_path, ordered, steps, roles=roles, release={"order": "random"})


@pytest.mark.parametrize("kind", ["many zeros", "heaped", "missing"])
def test_ties_and_missing_cells_are_no_order_of_their_own(tmp_path: Path, kind: str) -> None:
    """Equal numbers follow each other in any file; sorted by it, the order is seen all the same."""
    frame, rng = people().drop(columns="number"), np.random.default_rng(2)
    if kind == "heaped":
        frame["income"] = frame["income"].round(-3)
    else:
        frame.loc[rng.random(N) < 0.8, "income"] = 0.0 if kind == "many zeros" else np.nan
    assert "income" not in found(tmp_path, frame, INCOME)
    assert found(tmp_path, frame.sort_values("income"), INCOME)["income"]["message"] == OF_FILE


def test_a_number_sorted_within_regions_is_told(tmp_path: Path) -> None:
    frame = people().drop(columns="number")
    assert found(tmp_path, frame.sort_values(["region", "income"]), INCOME)["income"]["message"] == OF_FILE
    assert not found(tmp_path, frame.sort_values(["region", "age"]), INCOME)


REGION = [{"method": "pram", "variables": ["region"], "params": {"retain": 0.8}}]
OPEN = {"region": KEY, "income": OTHER}


def test_a_category_lies_in_blocks_in_the_order_of_a_published_number(tmp_path: Path) -> None:
    doubt = found(tmp_path, people(), REGION, roles=OPEN)["region"]
    assert "it can be inferred from the order of number, published as it is" in doubt["message"]
    assert "number: {role: identifier}" in doubt["remedy"]
    # The order of the file is another one.
    assert found(tmp_path, people(), REGION, roles=OPEN, release={"order": "random"})["region"] == doubt


@pytest.mark.parametrize("way", ["masked", "left out", "recoded", "by chance"])
def test_a_number_that_is_not_published_as_it_is_tells_nothing_by_its_order(tmp_path: Path, way: str) -> None:
    """What the remedy names leads to a plan without the doubt."""
    frame, steps, roles = people(), REGION, dict(OPEN)
    if way == "masked":
        steps = [*REGION, {"method": "microaggregation", "variables": ["number"], "params": {"k": 3}}]
        roles["number"] = CONFIDENTIAL
    elif way == "recoded":
        steps = [*REGION, {"method": "recoding", "variables": ["number"], "params": {"bands": 5}}]
        roles["number"] = KEY
    elif way == "left out":
        roles["number"] = {"role": "identifier"}
    else:
        frame["number"] = np.random.default_rng(5).permutation(frame["number"])
    assert "region" not in found(tmp_path, frame, steps, roles=roles)


@pytest.mark.parametrize("is_told", [True, False])
def test_suppressed_cells_are_told_by_the_order_of_a_published_number(tmp_path: Path, is_told: bool) -> None:
    """Whoever sorts by the number sees the cell between others of its region."""
    frame, hidden = people(), np.random.default_rng(6).random(N) < 0.1
    number = frame["number"] if is_told else np.random.default_rng(5).permutation(frame["number"])
    frame.assign(number=number)[["region", "number"]].to_csv(tmp_path / "in.csv", index=False)
    shown = mw.read(tmp_path / "in.csv")
    masked = shown.with_columns({"region": shown["region"].suppressed(hidden)})
    doubts = list(order_doubts(shown, masked, ["number"], is_shuffled=True))
    assert [(each.kind, each.subject, each.given_by) for each in doubts] == (
        [("suppressed-cells-follow", "region", "number")] if is_told else []
    )
    assert all(0.9 * hidden.sum() <= each.count <= hidden.sum() for each in doubts)
    assert not list(order_doubts(shown, masked, ["number"], ["region"], is_shuffled=True))
    assert not list(order_doubts(shown, masked, (), is_shuffled=True))


@pytest.mark.parametrize("keeps_order", [True, False])
def test_dwellings_of_a_street_that_stand_together_tell_suppressed_cells(tmp_path: Path, keeps_order: bool) -> None:
    """Levels are in random order unless they say otherwise."""
    rng = np.random.default_rng(4)
    street = np.repeat(np.arange(200), rng.integers(1, 6, 200))
    homes = pd.DataFrame({"hid": np.arange(len(street)), "region": rng.choice(list("nswe"), 200)[street]})
    homes["kind"], homes["size"] = rng.choice(list("abcdef"), len(homes)), rng.choice(list("vwxyz"), len(homes))
    homes.to_csv(tmp_path / "homes.csv", index=False)
    pd.DataFrame({"hid": homes["hid"], "pno": 1, "sex": "f"}).to_csv(tmp_path / "persons.csv", index=False)
    home, person = {"key": "hid", "source": "homes.csv"}, {"key": "pno", "in": "home", "source": "persons.csv"}
    kept = {"keep_order": True} if keeps_order else {}
    keys = ["region", "kind", "size"]
    pipeline = {
        "maskwright": 1, "edits": [], "seed": 1, "output": {"data": {"home": "h.csv", "person": "p.csv"}},
        "data": {
            "levels": {"home": home | kept, "person": person | kept},
            "variables": {name: KEY | {"type": "nominal"} for name in keys} | {"sex": OTHER},
        },
        "protect": [{
            "method": "local_suppression", "variables": keys, "params": {"k": 6, "importance": {"kind": 5, "size": 5}},
        }],
    }  # fmt: skip
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(pipeline), encoding="utf-8")
    assert main(["run", str(tmp_path / "p.yaml"), "--quiet"]) == int(keeps_order)
    assert (tmp_path / "h.csv").exists() is not keeps_order


def test_a_started_pipeline_lists_a_sorted_number_as_one_decision(tmp_path: Path) -> None:
    frame = people()[["income", "region"]].sort_values("income")
    frame.to_csv(tmp_path / "in.csv", index=False)
    started = start_pipeline(tmp_path / "in.csv", tmp_path / "p.yaml")
    assert [each for each in started.to_json()["doubts"] if "order" in each] == [
        f"income: W206 follows-from-published: {OF_FILE}"
    ]
    assert "`release: {order: random}`" in started.text
    with (tmp_path / "p.yaml").open("a", encoding="utf-8") as file:
        file.write("release: {order: random}\n")
    assert not plan_pipeline(tmp_path / "p.yaml")["doubts"]


def _homes(weights: str) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    size = rng.integers(1, 6, 300)
    home = np.repeat(np.arange(300), size)
    own = (
        np.round(rng.lognormal(5, 0.3, 300), 3)
        if weights == "own"
        else np.array([11.5, 12.25, 13.75, 14.5, 17])[size - 1]
    )
    frame = pd.DataFrame({"home": home, "w": own[home], "size": size[home]})
    frame["rooms"] = np.clip(size + rng.integers(-1, 4, 300), 1, 8)[home]
    return frame.assign(age=rng.integers(0, 90, len(home)))


@pytest.mark.parametrize(("weights", "name", "given"), [
    ("own", "rooms", None), ("by size", "rooms", None), ("own", "size", "the number of records with the same w"),
    ("by size", "size", "w"),
])  # fmt: skip
def test_what_members_have_in_common_is_not_told_by_the_weight_that_they_share(
    tmp_path: Path, weights: str, name: str, given: str | None
) -> None:
    """Each household bears witness once: that its members agree says nothing of other households."""
    roles = {
        "home": {"role": "identifier", "release": "new"}, "w": {"role": "weight"}, "age": OTHER,
        "size": {"type": "nominal", **OTHER}, "rooms": {"type": "nominal", **OTHER},
    }  # fmt: skip
    frame = _homes(weights)
    frame.to_csv(tmp_path / "in.csv", index=False)
    roles[name] = {"type": "nominal", **KEY}
    data = {"source": "in.csv", "cluster": "home", "variables": roles}
    steps = [{"method": "pram", "variables": [name], "params": {"retain": 0.8}}]
    doubts = found(tmp_path, frame, steps, data=data)
    message = None if name not in doubts else doubts[name]["message"]
    assert message == (None if given is None else f"it can be inferred from {given}, published as it is")


def test_a_key_of_firms_is_called_by_its_name(tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    firm = np.repeat(np.arange(100), rng.integers(2, 8, 100))
    frame = pd.DataFrame({"firm": firm, "w": np.round(rng.lognormal(3, 0.4, 100), 4)[firm]})
    frame["wage"] = np.round(rng.lognormal(8, 0.5, len(firm)))
    data = {"source": "in.csv", "cluster": "firm", "variables": {
        "firm": {"role": "identifier"}, "w": {"role": "weight"}, "wage": CONFIDENTIAL,
    }}  # fmt: skip
    steps = [{"method": "microaggregation", "variables": ["wage"], "params": {"k": 3}}]
    doubt = found(tmp_path, frame, steps, data=data)["firm"]
    assert "members of one firm can be found by w" in doubt["message"]
    assert "household" not in doubt["message"] + doubt["remedy"]


def test_the_order_of_a_level_has_its_own_remedy_and_a_number_of_it_the_same(tmp_path: Path) -> None:
    """Persons stand by their income; their number counts through the regions."""
    frame = people().sort_values("income")
    frame["home"], frame["line"] = np.arange(N) // 2, np.arange(N)
    levels = {
        "home": {"key": "home", "variables": ["rooms"]},
        "person": {"key": "line", "in": "home", "keep_order": True},
    }
    steps = [*INCOME, *REGION]
    stated = {"source": "in.csv", "levels": levels, "variables": ROLES}
    doubts = found(tmp_path, frame.assign(rooms=frame["home"] % 7), steps, data=stated)
    assert doubts["income"]["remedy"] == "Publish the records in random order: leave `keep_order` out."
    remedy = "Mask number in a step, recode it, or leave it out (`number: {role: identifier}`)."
    assert (doubts["region"]["remedy"], doubts["region"]["given_by"]) == (remedy, "number")
