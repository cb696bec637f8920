"""What the other level tells of a changed variable: the seat's value, dates, means, numbers of members."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

FIRMS = 400


def survey(folder: Path) -> None:
    """Firms with plants; what a firm has of its seat, of the mean, and of the owners of its plants."""
    random = np.random.default_rng(11)
    size = random.integers(1, 8, FIRMS)
    low = pd.DataFrame({"firm": np.repeat(range(FIRMS), size)})
    low["plant"] = low.groupby("firm").cumcount() + 1
    seat = random.integers(0, size)
    low["seat"] = (low["plant"] - 1 == np.repeat(seat, size)).astype(int)
    low["branch"] = random.choice([f"b{number}" for number in range(9)], len(low))
    low["owner"] = random.choice(["D", "F", "P", "S"], len(low), p=[0.6, 0.2, 0.1, 0.1])
    low["staff"] = random.integers(1, 300, len(low))
    low["day"] = random.integers(0, 15_000, len(low))
    low["chance"] = random.choice(["x", "y", "z"], len(low))
    of_seat = low[low["seat"] == 1].set_index("firm")
    # The firm is as old as its seat, and half of the other plants are older.
    top = pd.DataFrame({"firm": range(FIRMS)})
    top["founded"] = pd.to_datetime(of_seat["day"], unit="D").dt.strftime("%Y-%m-%d")
    top["first"] = pd.to_datetime(low.groupby("firm")["day"].min(), unit="D").dt.strftime("%Y-%m-%d")
    top["main"], top["worth"] = of_seat["branch"], of_seat["staff"]
    top["dozens"], top["until"] = 12 * of_seat["staff"], 2023 - of_seat["staff"]
    top["mean"] = low.groupby("firm")["staff"].mean().round(1)
    top["outside"] = low["owner"].isin(["F", "P"]).groupby(low["firm"]).sum()
    top["public"] = np.where((low["owner"] == "P").groupby(low["firm"]).any(), "yes", "no")
    top["kind"] = random.choice(["k1", "k2", "k3"], FIRMS)
    low["opened"] = pd.to_datetime(low.pop("day"), unit="D").dt.strftime("%Y-%m-%d")
    top.to_csv(folder / "firms.csv", index=False)
    low.to_csv(folder / "plants.csv", index=False)


UPPER = ("founded", "first", "main", "worth", "dozens", "until", "mean", "outside", "public", "kind")
LOWER = ("seat", "branch", "owner", "staff", "opened", "chance")


def run(folder: Path, step: dict[str, Any], published: set[str], edits: tuple[str, ...] = (), **more: Any) -> int:
    dates = ("founded", "first", "opened")
    variables = {
        name: ({"type": "date"} if name in dates else {}) | {"role": "other" if name in published else "identifier"}
        for name in (*UPPER, *LOWER)
    }
    variables |= {name: variables[name] | {"role": "quasi_identifier"} for name in step["variables"]}
    stated = {
        "maskwright": 1, "edits": list(edits), "protect": [step], "measure": [], "seed": 5, **more,
        "data": {
            "levels": {
                "firm": {"source": "firms.csv", "key": "firm"},
                "plant": {"source": "plants.csv", "key": "plant", "in": "firm"},
            },
            "variables": variables,
        },
        "output": {"data": {"firm": "fm.csv", "plant": "pm.csv"}},
    }  # fmt: skip
    (folder / "pipeline.yaml").write_text(yaml.safe_dump(stated), encoding="utf-8")
    return main(["run", str(folder / "pipeline.yaml")])


def recoded(name: str) -> dict[str, Any]:
    return {"method": "recoding", "variables": [name], "params": {"recode": {name: "year"}}}


def pram(name: str) -> dict[str, Any]:
    return {"method": "pram", "variables": [name], "params": {"retain": 0.6}}


def noise(name: str) -> dict[str, Any]:
    return {"method": "additive_noise", "variables": [name], "params": {"p": 0.3}}


@pytest.mark.parametrize(
    ("step", "other", "said"),
    [
        (recoded("founded"), "opened", "they are the same of the one plant that seat marks"),
        (recoded("opened"), "founded", "they are the same of the one plant that seat marks"),
        (recoded("first"), "opened", "is min(plant.opened)"),
        (pram("branch"), "main", "they are the same of the one plant that seat marks"),
        (pram("main"), "branch", "they are the same of the one plant that seat marks"),
        (noise("worth"), "staff", "they are the same of the one plant that seat marks"),
        (noise("dozens"), "staff", "it gives the other by its place in their order, of the one plant that seat marks"),
        (noise("staff"), "until", "it gives the other by its place in their order, of the one plant that seat marks"),
        (noise("staff"), "mean", "tells mean(plant.staff)"),
        (noise("mean"), "staff", "is mean(plant.staff)"),
        (pram("owner"), "outside", "it is the number of plant with one or two values of owner"),
        (pram("owner"), "public", "whether any"),
        (pram("public"), "owner", "whether any"),
    ],
)
def test_what_the_other_level_tells_is_doubted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], step: dict[str, Any], other: str, said: str
) -> None:
    survey(tmp_path)
    (name,) = step["variables"]
    assert run(tmp_path, step, {other, "seat"}) == 1
    found = " ".join(capsys.readouterr().err.split())
    assert f"follows-from-published: {name}: {other} of" in found
    assert said in found
    # What the message offers: not to publish the other one.
    assert run(tmp_path, step, {"seat"}) == 0


def test_what_the_other_level_tells_can_be_waived(tmp_path: Path) -> None:
    survey(tmp_path)
    waiver = {"doubt": "follows-from-published", "variable": "branch", "because": "known outside"}
    assert run(tmp_path, pram("branch"), {"main", "seat"}, waive=[waiver]) == 0


def test_an_inequality_keeps_nothing_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    survey(tmp_path)
    assert run(tmp_path, noise("first"), {"opened"}, ("opened - first >= 0",)) == 1
    assert "is min(plant.opened)" in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("step", "others"),
    [
        (pram("kind"), {*LOWER, "main", "public", "outside"}),
        (pram("chance"), {*UPPER, "owner", "seat", "branch"}),
        (noise("staff"), {"founded", "first", "main", "outside", "public", "kind", "opened", "owner", "seat"}),
    ],
)
def test_what_is_so_by_chance_is_no_doubt(tmp_path: Path, step: dict[str, Any], others: set[str]) -> None:
    survey(tmp_path)
    assert run(tmp_path, step, others) == 0
