"""Recoded or perturbed categories whose originals the weights tell, counted again with pandas."""

from __future__ import annotations

import math
import os
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path

RECODE = {"recode": {"region": {"N": ["a", "b"], "S": ["c", "d"]}}}
COARSE = {"a": "N", "b": "N", "c": "S", "d": "S"}
DECLARED = {"w": {"role": "weight"}, "region": {"role": "quasi_identifier"}}
WAIVED = [{"doubt": "weights-tell-categories", "variable": "region", "because": "it is wanted here"}]
TWO_WEIGHTS = {"a": 10.0, "b": 12.0, "c": 10.0, "d": 12.0}
"""Of regions: within N and within S they tell which, in the whole file they do not."""


def people(seed: int = 1, n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame({"region": rng.choice(list("abcd"), n), "w": np.round(rng.uniform(2, 9, n), 2)})


def masked(frame: pd.DataFrame, method: str, params: dict[str, Any], **more: Any) -> pd.DataFrame:
    chosen: Any = {"declared": DECLARED, "variables": ["region"], "seed": 3, **more}
    return mw.protect(frame, method, params=params, **chosen)


def doubts(frame: pd.DataFrame, method: str, params: dict[str, Any]) -> str:
    """What a release is refused for; nothing where there is none."""
    try:
        masked(frame, method, params)
    except mw.OpenDoubts as refused:
        return str(refused)
    return ""


def counts(said: str) -> tuple[int, int]:
    """Cells that are told, and of how many."""
    found = re.search(r"W307 weights-tell-categories: region: the original category of (\d+) of (\d+) cells", said)
    return (int(found[1]), int(found[2])) if found else (0, 0)


def test_a_weight_tells_which_of_the_regions_that_are_published_as_one() -> None:
    frame = people().assign(w=lambda each: each["region"].map(TWO_WEIGHTS))
    said = doubts(frame, "recoding", RECODE)
    assert counts(said) == (400, 400)
    assert "follows from w: records with the same weight had the same category" in said
    assert "leave the weights out (`w: {role: identifier}`)" in said
    assert not re.search(r"\b(10|12)(\.0)?\b", said.split("follows from w")[1]), "no value is told"
    assert set(masked(frame, "recoding", RECODE, waive=WAIVED)["region"]) == {"N", "S"}


def test_what_is_said_to_help_does() -> None:
    frame = people().assign(w=lambda each: each["region"].map(TWO_WEIGHTS))
    further = {"recode": {"region": {"all": list("abcd")}}}
    assert counts(doubts(frame, "recoding", RECODE)) != (0, 0)
    assert "W307" not in doubts(frame, "recoding", further), "of two regions of one weight it is not known which"
    crossed = {"recode": {"region": {"one": ["a", "c"], "other": ["b", "d"]}}}
    assert "W307" not in doubts(frame, "recoding", crossed), "strata of one weight are one category"
    assert "W307" not in doubts(frame.assign(w=frame["w"].round(-1)), "recoding", RECODE)
    declared = {**DECLARED, "w": {"role": "identifier"}}
    assert "w" not in masked(frame, "recoding", RECODE, declared=declared)


@pytest.mark.parametrize(("method", "params"), [("recoding", RECODE), ("pram", {"retain": 0.8})])
def test_calibrated_weights_and_weights_that_all_regions_share_tell_nothing(
    method: str, params: dict[str, Any]
) -> None:
    frame = people()
    rng = np.random.default_rng(2)
    factors = frame["region"].map(TWO_WEIGHTS)
    for weights in (frame["w"], rng.choice([10.0, 12.0], len(frame)), factors * rng.uniform(0.8, 1.2, len(frame))):
        assert doubts(frame.assign(w=weights), method, params) == ""


def test_one_weight_that_only_one_region_has_tells_those_records() -> None:
    frame = people()
    frame["w"] = frame["w"].where(frame["region"] != "a", 10.0)
    said = doubts(frame, "pram", {"retain": 0.8})
    assert counts(said) == (int((frame["region"] == "a").sum()), 400)


def test_what_planning_says_of_a_weight_is_not_said_again() -> None:
    frame = people().assign(w=lambda each: each["region"].map({"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}))
    assert "W206 follows-from-published: region: it can be inferred from w" in doubts(frame, "recoding", RECODE)
    waived = [{"doubt": "follows-from-published", "variable": "region", "because": "the regions are no secret"}]
    assert len(masked(frame, "recoding", RECODE, waive=waived)) == 400


def determines(given: pd.Series, found: pd.Series, tests: int) -> bool:
    repeats = len(found) - given.nunique()
    alike = float((found.value_counts(normalize=True) ** 2).sum())
    if alike >= 1 or repeats * -math.log(alike) < math.log(1000 * tests):
        return False
    most = found.groupby(given).agg(lambda each: each.value_counts().iloc[0])
    return len(found) - int(most.sum()) <= 0.05 * repeats * (1 - alike)


def unanimous(given: pd.Series, found: pd.Series, tests: int) -> set[float]:
    """Values whose records agree, where so many do beyond chance."""
    product, agreeing = 0.0, set()
    for value, rows in found.groupby(given):
        if len(rows) == 1:
            continue
        chance = sum((found == each).mean() ** len(rows) for each in found.unique())
        product += math.log(0.5 + (0.5 / chance if rows.nunique() == 1 else 0.0))
        if rows.nunique() == 1 and chance <= 0.05:
            agreeing.add(value)
    return agreeing if product >= math.log(1000 * tests) else set()


def told(given: pd.Series, found: pd.Series, tests: int) -> pd.Series:
    """Records whose `found` the others with the same `given` tell, record by record."""
    whole = determines(given, found, tests)
    together = unanimous(given, found, tests)
    answers = []
    for value, own in zip(given, found, strict=True):
        alike = found[given == value]
        same, size, share = int((alike == own).sum()), len(alike), float((found == own).mean())
        sure = same >= 0.95 * size
        if whole or value in together:
            answers.append(sure and size > 1)
            continue
        likely = (size - 1) * -math.log(share) < math.log(1000 * tests * len(given)) if share < 1 else True
        answers.append(sure and size >= 10 and not likely and size - same <= 0.05 * (size - 1) * (1 - share))
    return pd.Series(answers, index=given.index, dtype=bool)


def brute_force(original: pd.Series, published: pd.Series, weights: pd.Series) -> tuple[int, int]:
    """Cells that the weights tell, and those that their published category alone does not."""
    tests = 2 * (1 + published.nunique())
    alone = pd.Series(
        [(original[published == one] == own).mean() >= 0.95 for own, one in zip(original, published, strict=True)]
    )
    found = told(weights, original, tests)
    for _, rows in original.groupby(published):
        if rows.nunique() > 1:
            found[rows.index] |= told(weights[rows.index], rows, tests)
    return int((found & ~alone).sum()), int((~alone).sum())


@pytest.mark.covering(5)
@pytest.mark.parametrize("seed", range(12))
def test_as_many_cells_as_pandas_counts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(60, 240))
    frame = people(seed, n)
    # Some strata have a weight of their own, some share one, some records have any.
    weights = dict(zip("abcd", rng.choice([10.0, 12.0, 15.0], 4), strict=True))
    mixed = rng.random(n) < rng.choice([0.0, 0.02, 0.3])
    frame["w"] = frame["region"].map(weights).where(~mixed, rng.choice([10.0, 12.0, 15.0, 20.0], n))
    waived = [*WAIVED, {"doubt": "follows-from-published", "variable": "region", "because": "it is a test"}]
    for method, params in (("recoding", RECODE), ("pram", {"retain": 0.7})):
        try:
            released = masked(frame, method, params)
            said = ""
        except mw.OpenDoubts as refused:
            said = str(refused)
            released = masked(frame, method, params, waive=waived)
        if "W206" in said:
            continue
        count, total = brute_force(frame["region"], released["region"].astype(str), frame["w"])
        assert counts(said) == ((count, total) if count else (0, 0))


def strata_of_few(seed: int, count: int, mixed: int) -> pd.DataFrame:
    """Strata of 5 to 11 records of a or of b, each with its weight, which share the last; c has a weight of its own."""
    rng = np.random.default_rng(seed)
    found: list[tuple[str, float]] = []
    for stratum in range(count):
        found += [(str(rng.choice(["a", "b"])), 2.0 + stratum / 4)] * int(rng.integers(5, 12))
    found += [(str(rng.choice(["a", "b"])), 40.0) for _ in range(mixed)] + [("c", 41.0)] * 15
    frame = pd.DataFrame(found, columns=["region", "w"])
    return frame.sample(frac=1, random_state=seed, ignore_index=True)


@pytest.mark.covering(2)
@pytest.mark.parametrize("seed", range(4))
def test_weights_of_few_records_each_tell_together(seed: int) -> None:
    frame = strata_of_few(seed, count=12, mixed=40)
    recode = {"recode": {"region": {"N": ["a", "b"], "c": ["c"]}}}
    said = doubts(frame, "recoding", recode)
    published = frame["region"].replace({"a": "N", "b": "N"})
    count, total = brute_force(frame["region"], published, frame["w"])
    assert counts(said) == (count, total)
    of_few = int(((frame["w"] < 40) & (frame.groupby("w")["w"].transform("size") >= 8)).sum())
    assert of_few <= count < total


@pytest.mark.parametrize("kind", ["few weights", "shared by two or three", "of sizes"])
def test_weights_without_relation_to_the_region_are_not_said_to_tell_it(kind: str) -> None:
    for seed in range(60 if os.environ.get("SLOW") else 20):
        rng = np.random.default_rng(1000 + seed)
        n = int(rng.integers(40, 300))
        most = {"few weights": 8, "shared by two or three": n // 2, "of sizes": n // 6}[kind]
        weights = np.round(2 + rng.integers(0, most, n) / 7, 3)
        regions = rng.permutation([*"abcd", *rng.choice(list("abcd"), n - 4, p=[0.6, 0.3, 0.05, 0.05])])
        frame = pd.DataFrame({"region": regions, "w": weights})
        assert "W307" not in doubts(frame, "recoding", RECODE)


SIZES = {"a": 41, "b": 53, "c": 67, "d": 37}
"""Of these, 0.6 are 25, 32, 40 and 22: each has another factor."""


def firms(folder: Path, form: str) -> None:
    """Firms by region, with plants, some of which have another area; weights of firms, of plants, or of both."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"region": [name for name, count in SIZES.items() for _ in range(count)]})
    frame = frame.sample(frac=1, random_state=1, ignore_index=True)
    frame.insert(0, "firm", np.arange(len(frame)))
    frame["w"] = frame["region"].map(TWO_WEIGHTS) if form != "drawn" else np.round(rng.uniform(2, 9, len(frame)), 2)
    plants = frame.loc[frame.index.repeat(2), ["firm", "region", "w"]].rename(columns={"region": "area", "w": "v"})
    plants.insert(1, "number", np.tile([1, 2], len(frame)))
    plants["sales"] = rng.integers(100, 900, len(plants))
    frame.drop(columns=["w"] if form == "members" else []).to_csv(folder / "firms.csv", index=False)
    plants.drop(columns=["v"] if form == "groups" else []).to_csv(folder / "plants.csv", index=False)


def levels(folder: Path, form: str, steps: str, masked_names: str) -> str:
    weights = {"members": ("v",), "groups": ("w",), "drawn": ("w", "v"), "both": ("w", "v")}[form]
    declared = "".join(f"    {name}: {{role: weight}}\n" for name in weights)
    waived = "".join(
        f"  - {{doubt: follows-from-published, variable: {name}, because: area and region are the same}}\n"
        for name in ("region", "area")
    )
    others = "".join(
        f"    {name}: {{role: other}}\n" for name in ("region", "area", "sales") if name not in masked_names
    )
    path = folder / "p.yaml"
    path.write_text(
        "maskwright: 1\ndata:\n  levels:\n    firm: {source: firms.csv, key: firm}\n"
        "    plant: {source: plants.csv, key: number, in: firm}\n"
        f"  variables:\n{declared}{others}protect:\n{steps}waive:\n{waived}"
        "output: {data: {firm: f.csv, plant: p.csv}}\nseed: 5\n",
        encoding="utf-8",
    )
    try:
        assert mw.run(path).ok
    except mw.OpenDoubts as refused:
        return str(refused)
    return ""


def recoding(name: str) -> str:
    return f"  - {{method: recoding, variables: [{name}], params: {{recode: {{{name}: {{N: [a, b], S: [c, d]}}}}}}}}\n"


@pytest.mark.parametrize("form", ["members", "groups", "both"])
@pytest.mark.parametrize("name", ["region", "area"])
def test_weights_of_either_level_tell_categories_of_both(tmp_path: Path, form: str, name: str) -> None:
    firms(tmp_path, form)
    said = levels(tmp_path, form, recoding(name), name)
    for weights in {"members": ("v",), "groups": ("w",), "both": ("w", "v")}[form]:
        total = sum(SIZES.values()) * (2 if name == "area" else 1)
        assert f"W307 weights-tell-categories: {name}: the original category of {total} of {total} cells" in said
        assert f"follows from {weights}: " in said


def test_a_weight_that_one_firm_has_tells_nothing_of_its_plants(tmp_path: Path) -> None:
    firms(tmp_path, "drawn")
    assert "W307" not in levels(tmp_path, "groups", recoding("area"), "area")


@pytest.mark.parametrize("name", ["region", "area"])
def test_the_share_of_a_stratum_tells_the_region_that_is_recoded(tmp_path: Path, name: str) -> None:
    firms(tmp_path, "drawn")
    drawing = "  - {{method: sampling, params: {{fraction: 0.6, strata: [region]{}}}}}\n"
    said = levels(tmp_path, "drawn", drawing.format("") + recoding(name), name)
    assert re.search(rf"W307 weights-tell-categories: {name}: the original category of (\d+) of \1 cells", said)
    for weights in "wv":
        assert f"follows from {weights}, whose values were divided by another share where {name} was another" in said
    kept = levels(tmp_path, "drawn", drawing.format(", adjust_weights: false") + recoding(name), name)
    assert "W307" not in kept
