"""No suppressed cell follows from edits and dependencies in the data: an intruder lists what is possible."""

from __future__ import annotations

import itertools
import os
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from maskwright.masking.masking_result import MaskingResult

Record = dict[str, object]

LABELS = {"one for each code": "ABCDE", "one for two codes": "AABBC"}
POSSIBLE: dict[str, list[object]] = {
    "code": list("12345"), "label": list("ABCDE"), "region": list("NSW"), "a": [0, 1, 2], "b": [0, 1, 2],
    "c": [0, 1, 2, 3, 4],
}  # fmt: skip
BOX = ["a in {0, 1, 2}", "b in {0, 1, 2}", "c in [0, 4]"]
RULES: dict[str, Callable[[Record], bool]] = {
    "a + b == c": lambda r: r["a"] + r["b"] == r["c"],  # type: ignore[operator]
    "if region == 'N' then a == 0": lambda r: r["region"] != "N" or r["a"] == 0,
    "if code == '5' then region in {'S', 'W'}": lambda r: r["code"] != "5" or r["region"] in ("S", "W"),
}
KEYS = ["code", "label", "region", "a"]


def persons(labels: str, rules: list[str], seed: int, n: int = 70) -> pd.DataFrame:
    """Records that obey the rules, in households that live in one region."""
    rng = np.random.default_rng(seed)
    home = np.sort(rng.integers(0, n // 3, n))
    code = rng.choice(5, n, p=[0.4, 0.3, 0.15, 0.1, 0.05])
    region = np.array(POSSIBLE["region"])[rng.choice(3, n, p=[0.6, 0.3, 0.1])[home]]
    frame = pd.DataFrame({"home": home.astype(str), "code": code.astype(str), "label": np.array(list(labels))[code]})
    frame["code"] = (code + 1).astype(str)
    frame["region"] = region
    frame["a"] = np.where(frame["region"] == "N", 0, rng.choice(3, n, p=[0.6, 0.3, 0.1]))
    frame["b"] = rng.integers(0, 3, n)
    frame["c"] = frame["a"] + frame["b"]
    return frame[[all(RULES[rule](each) for rule in rules) for each in frame.to_dict("records")]].reset_index(drop=True)


def masked_by(frame: pd.DataFrame, edits: list[str], keys: list[str], k: int, cluster: str | None) -> MaskingResult:
    """The file with suppressed keys."""
    kinds = {"a": "integer", "b": "integer", "c": "integer"}
    declared = {
        name: {"type": kinds.get(name, "nominal"), "role": "quasi_identifier" if name in keys else "other"}
        for name in frame.columns
    }
    return mask_request(masking_request(
        frame, "local_suppression", edits=edits, params={"k": k, "keys": keys}, variables=keys, declared=declared,
        cluster=cluster, seed=1,
    ))  # fmt: skip


def known_cells(
    published: list[Record], allowed: Callable[[Record], bool], determined: list[tuple[str, str]]
) -> list[tuple[int, str]]:
    """Empty cells that an intruder fills in: from other records first, then as the only value that obeys the rules."""
    seen = {
        (known, name, record[known], record[name])
        for known, name in determined
        for record in published
        if record[known] is not None and record[name] is not None
    }
    found = []
    for row, record in enumerate(published):
        empty = [name for name in POSSIBLE if record[name] is None]
        for known, name in determined:
            shown = {value for one, two, key, value in seen if (one, two) == (known, name) and key == record[known]}
            if name in empty and record[known] is not None and len(shown) == 1:
                found.append((row, name))
        tried = (
            record | dict(zip(empty, values, strict=True))
            for values in itertools.product(*(POSSIBLE[name] for name in empty))
        )
        left = [each for each in tried if allowed(each)]
        assert left, "the published cells contradict the edits"
        found += [(row, name) for name in empty if len({each[name] for each in left}) == 1]
    return found


@settings(max_examples=40 if os.environ.get("SLOW") else 15)
@given(
    labels=st.sampled_from(sorted(LABELS)),
    declared=st.booleans(),
    rules=st.lists(st.sampled_from(sorted(RULES)), max_size=3, unique=True),
    keys=st.lists(st.sampled_from(KEYS), min_size=1, max_size=3, unique=True),
    k=st.integers(2, 4),
    homes=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_no_suppressed_cell_can_be_filled_in(
    labels: str, declared: bool, rules: list[str], keys: list[str], k: int, homes: bool, seed: int
) -> None:
    """By domain edits, rules, sums, labels and housemates, declared or not; or nothing is released."""
    frame = persons(LABELS[labels], rules, seed)
    edits = [*rules, *BOX, *(["(code, label) in original"] if declared else [])]
    pairs = set(zip(frame["code"], frame["label"], strict=True))
    try:
        done = masked_by(frame, edits, keys, k, "home" if homes else None)
    except mw.OpenDoubts:
        return

    def allowed(record: Record) -> bool:
        inside = not declared or (record["code"], record["label"]) in pairs
        return inside and all(RULES[rule](record) for rule in rules)

    determined = [("code", "label"), ("home", "region")]
    if labels == "one for each code":
        determined.append(("label", "code"))
    published = done.masked.to_pandas().astype(object)
    records = published.where(published.notna(), None).to_dict("records")
    kept = published.notna().to_numpy()
    assert (published.to_numpy()[kept] == frame.to_numpy()[kept]).all()
    assert known_cells(records, allowed, determined) == []
    classes = published.fillna("").astype(str).groupby(keys)
    assert (classes["home"].nunique() if homes else classes.size()).min() >= k


def firms(n: int = 2_500) -> pd.DataFrame:
    """Codes of branches with their names, one for each code: most common ones, many rare ones."""
    rng = np.random.default_rng(1)
    nace = rng.zipf(1.3, n) % 300 + 100
    frame = pd.DataFrame({"nace": nace.astype(str), "branch": [f"Branch {each}" for each in nace]})
    frame["region"], frame["size"] = rng.integers(1, 9, n).astype(str), rng.integers(1, 6, n).astype(str)
    frame["turnover"] = rng.integers(0, 100_000, n)
    return frame


@pytest.mark.parametrize("edits", [["(nace, branch) in original"], []])
def test_a_code_cannot_be_inferred_from_its_label(edits: list[str]) -> None:
    """Where the combinations are declared, and where nobody said that the label has to do with the code."""
    frame = firms()
    keys = ["nace", "region", "size"]
    declared = {name: {"role": "quasi_identifier"} for name in keys}
    declared |= {"branch": {"role": "other"}, "turnover": {"role": "other"}}
    done = mask_request(masking_request(
        frame, "local_suppression", edits=edits, params={"k": 3, "keys": keys}, variables=keys, declared=declared,
    ))  # fmt: skip
    assert done.removal is not None
    masked = done.masked.to_pandas()
    seen = masked.dropna(subset=["nace", "branch"]).groupby("branch", observed=True)["nace"].nunique()
    inferable = masked["nace"].isna() & masked["branch"].isin(seen.index)
    assert masked["nace"].isna().sum() > 250
    assert not inferable.any()
    cells = {each["variable"]: each for each in done.removal.suppressed}
    assert cells["branch"]["cells"] == cells["branch"]["complementary"] == int(masked["branch"].isna().sum())
    assert (cells["branch"]["for_dependencies"] > 0) or edits
    assert masked["turnover"].notna().all()
    assert not done.doubts


def people(homes: int = 1_500) -> pd.DataFrame:
    """Persons in households: region and size are the same for all of a household."""
    rng = np.random.default_rng(2)
    size = rng.choice([1, 2, 3, 4, 5, 6], homes, p=[0.3, 0.32, 0.16, 0.14, 0.06, 0.02])
    home = np.repeat(np.arange(homes), size)
    frame = pd.DataFrame({"home": home, "region": (rng.zipf(1.5, homes) % 40).astype(str)[home], "size": size[home]})
    frame["sex"], frame["age"] = rng.choice(["m", "f"], len(home)), rng.integers(0, 18, len(home)) * 5
    return frame


def suppressed_people(keys: list[str], cluster: str | None) -> MaskingResult:
    """The persons with suppressed keys."""
    declared = {name: {"role": "quasi_identifier" if name in keys else "other"} for name in people(2).columns}
    return mask_request(masking_request(
        people(), "local_suppression", params={"k": 3, "keys": keys, "importance": {keys[1]: 9.0}}, variables=keys,
        declared=declared, cluster=cluster, release={"order": "random"},
    ))  # fmt: skip


@pytest.mark.parametrize("cluster", ["home", None])
def test_no_housemate_shows_a_suppressed_region(cluster: str | None) -> None:
    """All of a household lose it or, where the household is any variable, the record loses its number."""
    masked = suppressed_people(["region", "sex", "age"], cluster).masked.to_pandas()
    shown = masked["region"].notna().groupby(masked["home"]).transform("sum")
    assert masked["region"].isna().any()
    assert not (masked["region"].isna() & (shown > 0)).any()
    assert masked["home"].notna().all() == (cluster is not None)


def test_a_household_size_that_counting_gives_back_stops_the_release() -> None:
    """Rows can be counted: no complementary cell helps."""
    with pytest.raises(mw.OpenDoubts, match=r"W302 suppressed-cells-follow: size: \d+ of \d+ .* number of records"):
        suppressed_people(["size", "region"], "home")


def test_a_weight_that_tells_the_region_stops_the_release() -> None:
    """Weights are never suppressed."""
    rng = np.random.default_rng(5)
    region = rng.choice(8, 400, p=[0.3, 0.3, 0.2, 0.1, 0.05, 0.03, 0.01, 0.01])
    weights = np.array([3.5, 1.5, 9.25, 4.0, 7.75, 2.5, 6.0, 8.5])
    frame = pd.DataFrame({"region": region.astype(str), "age": rng.integers(0, 5, 400), "weight": weights[region]})
    declared = {name: {"role": "quasi_identifier"} for name in ("region", "age")} | {"weight": {"role": "weight"}}
    params = {"k": 12, "keys": ["region", "age"], "importance": {"age": 9}}
    with pytest.raises(mw.OpenDoubts, match=r"W302 suppressed-cells-follow: region: .* those that agree in weight"):
        mw.protect(frame, "local_suppression", params=params, variables=["region", "age"], declared=declared)


CODES = {
    "last": ("{number}{region}", True), "last digit": ("{number}{place}", True),
    "middle": ("{start}{region}{end}", True), "first": ("{region}{number}", True),
    "another's": ("{number}{other}", False),
}  # fmt: skip


@pytest.mark.parametrize("code", CODES)
def test_codes_of_which_a_part_says_what_is_suppressed_are_suppressed_with_it(code: str) -> None:
    """At whatever place of the code; a letter that says something else is none."""
    rng, rows = np.random.default_rng(4), 600
    region, other = (rng.choice(list("NWSE"), rows, p=[0.4, 0.3, 0.2, 0.1]) for _ in range(2))
    form, says = CODES[code]
    frame = pd.DataFrame(
        {"region": region, "job": rng.choice(list("abcdefghi"), rows), "age": rng.integers(0, 9, rows)}
    )
    numbers = (rng.permutation(rows) + 10_000).astype(str)
    frame["case"] = [
        form.format(number=own, region=one, other=another, place="NWSE".index(one), start=own[:3], end=own[3:])
        for own, one, another in zip(numbers, region, other, strict=True)
    ]
    keys = ["region", "job", "age"]
    declared = {name: {"role": "quasi_identifier", "type": "nominal"} for name in keys}
    request = masking_request(
        frame, "local_suppression", params={"k": 3, "keys": keys, "importance": {"age": 9, "job": 5}}, variables=keys,
        declared=declared | {"case": {"role": "other"}}, release={"order": "random"}, seed=1,
    )  # fmt: skip
    masked = mask_request(request).masked.to_pandas()
    hidden = masked["region"].isna()
    assert hidden.sum() > 20
    assert masked["case"].isna().equals(hidden if says else hidden & False)


def test_a_code_that_has_to_be_suppressed_in_most_records_stops_the_release() -> None:
    """It is better recoded, or left out."""
    rng, rows = np.random.default_rng(4), 600
    keys = {f"key{place}": rng.integers(0, 12, rows).astype(str) for place in range(3)}
    region = rng.choice(list("NWSE"), rows, p=[0.4, 0.3, 0.2, 0.1])
    frame = pd.DataFrame({"region": region, **keys})
    frame["case"] = [f"{number}{one}" for number, one in zip(rng.permutation(rows), region, strict=True)]
    declared = {name: {"role": "quasi_identifier", "type": "nominal"} for name in ("region", *keys)}
    params = {"k": 3, "keys": ["region", *keys], "importance": dict.fromkeys(keys, 9)}
    with pytest.raises(mw.OpenDoubts, match=r"W309 adjustment-distorts: case: .* disclose hidden keys"):
        mw.protect(frame, "local_suppression", params=params, variables=["region", *keys], seed=1,
                   declared=declared | {"case": {"role": "other"}}, release={"order": "random"})  # fmt: skip


def test_what_is_published_alike_for_all_is_no_suppressed_cell_that_follows() -> None:
    """Of a key on its highest level, `*`, nothing is to be found out where a record loses all its keys."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"age": rng.integers(0, 90, 600), "sex": rng.choice(["m", "f"], 600)})
    frame["job"] = [
        f"{tens}{ones}" for tens, ones in zip(rng.integers(1, 9, 600), rng.integers(0, 90, 600), strict=True)
    ]
    frame.loc[:11, "sex"], frame.loc[:11, "age"] = ["x"] * 8 + ["y"] * 4, 40
    frame.loc[frame["age"] < 15, "job"] = None
    declared = {
        "age": {"role": "quasi_identifier", "type": "integer", "hierarchy": {"bands": [[0, 15, 65, 120]]}},
        "job": {"role": "quasi_identifier", "type": "nominal", "hierarchy": {"prefix": [1]}},
        "sex": {"role": "quasi_identifier"},
    }
    masked = mw.protect(
        frame, "generalisation", params={"k": 9, "levels": {"job": 2, "age": 1}}, variables=["age", "job", "sex"],
        declared=declared, edits=["if age < 15 then job is missing"], seed=1,
    )  # fmt: skip
    assert masked["sex"].isna().sum() == 12
    assert set(masked["job"].dropna()) == {"*"}


def test_missing_codes_that_part_classes_of_k_are_suppressed_and_told(tmp_path: Path) -> None:
    """Codes stay in the file, where anybody tells them apart: each counts, and a rare one is suppressed."""

    def said(jobs: list[str]) -> list[str]:
        pd.DataFrame({"job": jobs, "sex": ["f"] * len(jobs)}).to_csv(tmp_path / "persons.csv", index=False)
        missing = {"-1": "does not apply", "-9": "refused"}
        job = {"type": "nominal", "role": "quasi_identifier", "missing": missing}
        record = mw.run({
            "maskwright": 1, "seed": 1, "measure": [], "release": {"order": "random"},
            "data": {"source": str(tmp_path / "persons.csv"), "variables": {"job": job, "sex": {"role": "other"}}},
            "protect": [{"method": "local_suppression", "variables": ["job"], "params": {"k": 3}}],
            "output": {"data": str(tmp_path / "masked.csv")},
        }).record  # fmt: skip
        published = pd.read_csv(tmp_path / "masked.csv", dtype=str, keep_default_na=False)["job"].value_counts()
        assert published.min() >= 3
        assert record["k"]["groups"][0]["smallest"] == published.min()
        messages = [each["message"] for each in record["notices"]]
        return [message for message in messages if "of job published as suppressed cells" in message]

    (told,) = said(["1"] * 20 + ["-1"] * 10 + ["-9"] * 2)
    assert "of job published as suppressed cells" in told
    assert not said(["1"] * 20 + ["-1"] * 10 + ["-9"] * 3)


def test_a_code_does_not_stay_where_its_label_is_suppressed_throughout() -> None:
    """No published cell explains the code, and yet whoever knows the codes reads the label."""
    sizes = {"1": 80, "2": 70, "3": 60, "4": 5, "5": 4}
    labels = {"1": "A", "2": "B", "3": "B", "4": "E", "5": "E"}
    frame = pd.DataFrame({"code": [code for code, size in sizes.items() for _ in range(size)]})
    frame["label"] = frame["code"].map(labels)
    masked = masked_by(frame, [], ["label"], 10, None).masked
    gone = np.asarray(masked["label"].missing)
    assert gone[(frame["label"] == "E").to_numpy()].all()
    assert not (gone & ~np.asarray(masked["code"].missing)).any()


@pytest.mark.waived("follows-from-published")
@pytest.mark.parametrize("role", ["weight", "other"])
def test_a_size_is_not_counted_by_what_a_household_has_in_common(tmp_path: Path, role: str) -> None:
    """The household's identifier is left out; 200 households have 193 weights."""
    rng = np.random.default_rng(1)
    sizes = rng.choice([1, 2, 3, 4, 5, 6, 7], 200, p=[0.3, 0.33, 0.15, 0.13, 0.05, 0.03, 0.01])
    home = np.repeat(np.arange(200), sizes)
    frame = pd.DataFrame({
        "home": home, "size": sizes[home], "region": rng.choice([*"abc"], 200)[home],
        "sex": rng.choice([*"fm"], len(home)), "w": (300 + rng.integers(0, 3000, 200) / 5).round(1)[home],
    })  # fmt: skip
    frame.sample(frac=1, random_state=2).to_csv(tmp_path / "d.csv", index=False)
    keys = {name: {"role": "quasi_identifier", "type": "nominal"} for name in ("size", "region", "sex")}
    pipeline = {
        "maskwright": 1, "seed": 1, "release": {"order": "random"}, "output": {"data": str(tmp_path / "m.csv")},
        "data": {
            "source": str(tmp_path / "d.csv"), "cluster": "home",
            "variables": {"home": {"role": "identifier"}, "w": {"role": role}, **keys},
        },
        "protect": [{"method": "local_suppression", "variables": [*keys], "params": {"k": 5}}],
    }  # fmt: skip
    if role == "weight":
        with pytest.raises(mw.OpenDoubts, match=r"size: .*the number of records with the same w"):
            mw.run(pipeline)
        return
    mw.run(pipeline)
    masked = pd.read_csv(tmp_path / "m.csv")
    counted = masked.groupby("w")["sex"].transform("size")
    assert masked["size"].isna().sum() > 50
    assert counted[masked["size"].isna()].isna().all()
