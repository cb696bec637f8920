"""Suppressed cells that the weights of a stratified sample show, by the share that was drawn of each stratum."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

SIZES = {"a": 41, "b": 53, "c": 67, "d": 37}
"""Of these, 0.6 are 25, 32, 40 and 22: each has another factor."""


def survey(folder: Path) -> None:
    """Firms by region and two kinds, of which the second is rare, with plants; both have weights of two decimals."""
    rng = np.random.default_rng(4)
    firms = pd.DataFrame({"region": [name for name, count in SIZES.items() for _ in range(count)]})
    firms = firms.sample(frac=1, random_state=1, ignore_index=True)
    firms.insert(0, "firm", np.arange(len(firms)))
    firms["kind"] = np.where(rng.random(len(firms)) < 0.12, "rare", "usual")
    firms["w"] = np.round(rng.uniform(2, 9, len(firms)), 2)
    plants = pd.DataFrame({"firm": np.repeat(firms["firm"], 2), "number": np.tile([1, 2], len(firms))})
    plants["sales"] = rng.integers(100, 900, len(plants))
    plants["v"] = np.repeat(firms["w"].to_numpy(), 2)
    firms.assign(sales=rng.integers(100, 900, len(firms))).drop(columns="firm").to_csv(folder / "flat.csv", index=False)
    firms.to_csv(folder / "both.csv", index=False)
    firms.drop(columns="w").to_csv(folder / "members.csv", index=False)
    plants.to_csv(folder / "plants.csv", index=False)


def pipeline(folder: Path, form: str, sampling: str) -> Path:
    """Draws, masks an amount, and suppresses combinations of region and kind."""
    data, output = "  source: flat.csv", "out.csv"
    if form != "flat":
        data = (
            f"  levels:\n    firm: {{source: {form}.csv, key: firm}}\n"
            "    plant: {source: plants.csv, key: number, in: firm}"
        )
        output = "{firm: f.csv, plant: p.csv}"
    weights = {"flat": ("w",), "both": ("w", "v"), "members": ("v",)}[form]
    declared = "".join(f"    {name}: {{role: weight}}\n" for name in weights)
    order = "release: {order: random}\n" if form == "flat" else ""
    path = folder / "p.yaml"
    path.write_text(
        f"maskwright: 1\ndata:\n{data}\n  variables:\n{declared}"
        "    region: {role: quasi_identifier}\n    kind: {role: other}\n"
        f"protect:\n  - {{method: sampling, params: {{{sampling}}}}}\n"
        "  - {method: microaggregation, variables: [sales], params: {k: 3}}\n"
        "  - {method: local_suppression, variables: [region], params: {k: 5, keys: [region, kind]}}\n"
        f"{order}output: {{data: {output}}}\nseed: 5\n",
        encoding="utf-8",
    )
    return path


def doubted(path: Path) -> str:
    """What a run is refused for; nothing where it is released."""
    try:
        assert mw.run(path).ok
    except mw.OpenDoubts as refused:
        return str(refused)
    return ""


@pytest.mark.parametrize("form", ["flat", "both", "members"])
def test_the_share_of_a_stratum_is_inferred_from_weights(tmp_path: Path, form: str) -> None:
    survey(tmp_path)
    said = doubted(pipeline(tmp_path, form, "fraction: 0.6, strata: [region]"))
    weights = "v" if form == "members" else "w"
    assert "W302 suppressed-cells-follow: region: " in said
    assert f"can be inferred from {weights}, whose values were divided by another share where region is another" in said
    for told in said.splitlines():
        if "can be inferred from" in told:
            some, of = (int(told.split()[place]) for place in (3, 5))
            assert some == of > 0, "every factor is that of one region"


@pytest.mark.parametrize("form", ["flat", "both", "members"])
@pytest.mark.parametrize("sampling", ["fraction: 0.6", "fraction: 0.6, strata: [region], adjust_weights: false"])
def test_one_share_for_all_or_weights_as_they_are_show_nothing(tmp_path: Path, form: str, sampling: str) -> None:
    survey(tmp_path)
    said = doubted(pipeline(tmp_path, form, sampling))
    assert "divided by another share" not in said


def test_suppressed_cells_of_a_recoded_variable_are_told_in_published_terms(tmp_path: Path) -> None:
    """Both regions that are published as one have one share, of 45 and of 52: it does not tell which of them it was."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"region": list("ab") * 45 + list("cd") * 52})
    frame["kind"] = np.where(rng.random(len(frame)) < 0.06, "rare", "usual")
    frame["w"] = np.round(rng.uniform(2, 9, len(frame)), 2)
    frame.sample(frac=1, random_state=1).to_csv(tmp_path / "flat.csv", index=False)
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata:\n  source: flat.csv\n  variables:\n    w: {role: weight}\n"
        "    region: {role: quasi_identifier}\n    kind: {role: other}\nprotect:\n"
        "  - {method: sampling, params: {fraction: 0.6, strata: [region]}}\n"
        "  - {method: recoding, variables: [region], params: {recode: {region: {N: [a, b], S: [c, d]}}}}\n"
        "  - {method: local_suppression, variables: [region],\n"
        "     params: {k: 6, keys: [region, kind], importance: {kind: 9}}}\n"
        "output: {data: out.csv}\nseed: 5\n",
        encoding="utf-8",
    )
    said = doubted(tmp_path / "p.yaml")
    assert "W302 suppressed-cells-follow: region: " in said
    assert "can be inferred from w, whose values were divided by another share where region is another" in said
    assert "W307" not in said


def test_weights_of_few_records_each_tell_suppressed_cells_together() -> None:
    """Eight records of a weight say nothing alone; that each of a dozen weights is of one region does."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({
        "region": np.repeat(rng.choice(list("ab"), 12), 8), "w": np.repeat(2 + np.arange(12) / 4, 8),
        "kind": "usual", "sales": rng.integers(100, 900, 96),
    })  # fmt: skip
    ours, theirs = (np.flatnonzero((frame["region"] == region).to_numpy())[::9] for region in "ab")
    frame.loc[[*ours[:2], *theirs[:4]], "kind"] = "rare"
    shared = pd.DataFrame({"region": list("ab") * 8, "w": 50.0, "kind": "usual", "sales": rng.integers(100, 900, 16)})
    frame = pd.concat([frame, shared], ignore_index=True)
    declared = {"w": {"role": "weight"}, "region": {"role": "quasi_identifier"}, "kind": {"role": "other"}}
    steps = [
        {"method": "microaggregation", "variables": ["sales"], "params": {"k": 3}},
        {"method": "local_suppression", "variables": ["region"], "params": {"k": 3, "keys": ["region", "kind"]}},
    ]
    with pytest.raises(mw.OpenDoubts) as refused:
        mw.protect(frame, steps=steps, declared=declared, seed=3)
    found = re.search(
        r"region: (\d+) of (\d+) suppressed cells can be inferred from w: the records", str(refused.value)
    )
    assert found
    assert found[1] == found[2]


@pytest.mark.parametrize("place", ["area", "region"])
def test_weights_of_the_other_level_tell_suppressed_cells_together(tmp_path: Path, place: str) -> None:
    """Firms with one plant each; weights are the other level's."""
    rng = np.random.default_rng(3)
    regions = pd.Series([*np.repeat(rng.choice(list("ab"), 14), 8), *(list("ab") * 10)])
    kinds = pd.Series("usual", index=regions.index)
    for region, count in (("a", 2), ("b", 4)):
        kinds.iloc[np.flatnonzero((regions[:112] == region).to_numpy())[::9][:count]] = "rare"
    keyed = {"firm": np.arange(132)}
    told = pd.DataFrame({**keyed, place: regions, "kind": kinds, "sales": rng.integers(100, 900, 132)})
    weighed = pd.DataFrame({**keyed, "w": [*np.repeat(2 + np.arange(14) / 4, 8), *[50.0] * 20]})
    firms, plants = (weighed, told) if place == "area" else (told, weighed)
    firms.to_csv(tmp_path / "firms.csv", index=False)
    plants.assign(number=1).to_csv(tmp_path / "plants.csv", index=False)
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata:\n  levels:\n    firm: {source: firms.csv, key: firm}\n"
        "    plant: {source: plants.csv, key: number, in: firm}\n"
        f"  variables:\n    w: {{role: weight}}\n    {place}: {{role: quasi_identifier}}\n    kind: {{role: other}}\n"
        "protect:\n  - {method: microaggregation, variables: [sales], params: {k: 3}}\n"
        f"  - {{method: local_suppression, variables: [{place}], params: {{k: 3, keys: [{place}, kind]}}}}\n"
        "output: {data: {firm: f.csv, plant: p.csv}}\nseed: 1\n",
        encoding="utf-8",
    )
    with pytest.raises(mw.OpenDoubts) as refused:
        mw.run(tmp_path / "p.yaml")
    assert re.search(rf"W302 suppressed-cells-follow: {place}: (\d+) of \1 suppressed cells.* w", str(refused.value))
