"""Random order and new keys, through the API and the command line: who is who is told in the map and nowhere else."""

from __future__ import annotations

import json
import stat
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

RULE = "wages + pensions == income"
KEY = "{role: identifier, release: new}"
PIPELINE = """
maskwright: 1
data: {{source: in.csv, {data}}}
edits: [{rule}]
protect: [{{method: additive_noise, params: {{p: 0.2}}}}]
measure: [sse, {{distance_record_linkage: {{known: 2}}}}]
{more}
output: {{data: out.csv, record: run.json, public_record: about.json, report: report.html, {output}}}
seed: 7
"""


def _people(n: int = 120, size: int = 3) -> pd.DataFrame:
    """Persons in households, in an order that tells who they are."""
    drawn = np.random.default_rng(3)
    data = pd.DataFrame({"person": np.arange(1001, 1001 + n), "home": 501 + np.arange(n) // size})
    data["name"] = [f"Name {number}" for number in range(n)]
    data["wages"], data["pensions"] = drawn.integers(100, 900, n), drawn.integers(100, 900, n)
    data["income"] = data["wages"] + data["pensions"]
    return data


def _run(folder: Path, data: str, more: str = "", output: str = "key_map: keys.csv", people=None) -> pd.DataFrame:
    (_people() if people is None else people).to_csv(folder / "in.csv", index=False)
    text = PIPELINE.format(data=data, rule=RULE, more=more, output=output)
    (folder / "pipeline.yaml").write_text(text, encoding="utf-8")
    assert main(["run", str(folder / "pipeline.yaml"), "--quiet"]) == 0
    return pd.read_csv(folder / "out.csv", dtype={"person": str, "home": str})


PERSONS = f"variables: {{person: {KEY}, name: {{role: identifier}}}}"
HOMES = f"cluster: home, {PERSONS}"


def test_a_key_that_is_kept_gets_new_values_and_the_records_a_new_order(tmp_path: Path) -> None:
    """The declaration of the key is enough; the household's goes with it; other identifiers are dropped."""
    out, before = _run(tmp_path, HOMES), _people()
    assert list(out.columns) == ["person", "home", "wages", "pensions", "income"]
    assert (out["wages"] + out["pensions"] == out["income"]).all()
    assert out["person"].is_unique
    assert not {*out["person"]} & {*map(str, before["person"])}
    assert not {*out["home"]} & {*map(str, before["home"])}
    # Households stay together, and neither they nor their members are where they were.
    assert (out["home"] != out["home"].shift()).sum() == out["home"].nunique() == 40
    assert out.groupby("home").size().eq(3).all()


def test_the_map_pairs_each_record_with_its_own_original(tmp_path: Path) -> None:
    """By position and by key; noise of a fifth leaves the pairs close, and no other pairing is."""
    out, before = _run(tmp_path, HOMES), _people()
    pairs = pd.read_csv(tmp_path / "keys.csv", dtype=str)
    assert list(pairs.columns) == ["record", "original_record", "person", "new person", "home", "new home"]
    rows = pairs["original_record"].astype(int).to_numpy() - 1
    assert sorted(rows) == list(range(len(before)))
    assert (rows != np.arange(len(rows))).mean() > 0.9
    originals = before.iloc[rows].reset_index(drop=True)
    for name in ("person", "home"):
        assert (pairs[name] == originals[name].astype(str)).all()
        assert (pairs[f"new {name}"] == out[name]).all()
    right = (originals["wages"] - out["wages"]).abs().mean()
    assert right < 0.3 * (before["wages"] - out["wages"]).abs().mean()
    assert stat.S_IMODE((tmp_path / "keys.csv").stat().st_mode) == 0o600


def test_measures_and_the_last_look_compare_each_record_with_its_own_original(tmp_path: Path) -> None:
    """Loss, linkage and unchanged cells are those of the same run in the old order."""
    found = {}
    for order in ("random", "kept"):
        folder = tmp_path / order
        folder.mkdir()
        _run(folder, PERSONS.replace("name:", "home: {role: other}, name:"), f"release: {{order: {order}}}", "")
        record = json.loads((folder / "run.json").read_text(encoding="utf-8"))
        found[order] = (
            {label: pytest.approx(each["value"]) for label, each in record["measures"].items()},
            {each["name"]: each["unchanged"] for each in record["variables"]},
        )
    assert found["random"] == found["kept"]
    assert found["kept"][1]["home"] == 100


def test_the_public_record_says_so_and_holds_no_old_key(tmp_path: Path) -> None:
    """Neither does anything else but the map; without being asked for, no map is written."""
    _run(tmp_path, HOMES, output="")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "about.json", "in.csv", "out.csv", "pipeline.yaml", "report.html", "run.json"
    ]  # fmt: skip
    public = json.loads((tmp_path / "about.json").read_text(encoding="utf-8"))
    assert public["release"] == {"order": "random", "new_keys": ["person", "home"]}
    old = {*map(str, _people()["person"])}
    for name in ("about.json", "run.json", "report.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert not any(f'"{key}"' in text or f">{key}<" in text for key in old)


def test_a_household_that_nothing_published_names_is_torn_apart(tmp_path: Path) -> None:
    """Neighbours in the file would be members of a household again, whose key was dropped."""
    data = f"cluster: home, variables: {{home: {{role: identifier}}, person: {KEY}, name: {{role: identifier}}}}"
    out = _run(tmp_path, data)
    assert "home" not in out
    homes = pd.read_csv(tmp_path / "keys.csv")["original_record"].sub(1) // 3
    assert (homes == homes.shift()).mean() < 0.1


def test_ids_new_keeps_every_identifier_as_a_key(tmp_path: Path) -> None:
    """Texts become letters and digits; equal ones stay equal, and a notice says so."""
    people = _people()
    people.loc[1::2, "name"] = people["name"][::2].to_numpy()
    data = "variables: {person: {role: identifier}, home: {role: other}, name: {role: identifier}}"
    out = _run(tmp_path, data, "release: {order: random, ids: new}", people=people)
    pairs = pd.read_csv(tmp_path / "keys.csv", dtype=str)
    assert pairs.groupby("name")["new name"].nunique().eq(1).all()
    assert pairs["new name"].nunique() == people["name"].nunique()
    assert out["name"].str.fullmatch("[A-Z][A-Z0-9]{7}").all()
    notices = [each["message"] for each in json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["notices"]]
    assert any("name has 60 repeats" in each for each in notices)


def test_order_alone(tmp_path: Path) -> None:
    """Nothing else changes: identifiers are dropped, the household's key is published as it is."""
    data = "cluster: home, variables: {person: {role: identifier}, name: {role: identifier}}"
    out = _run(tmp_path, data, "release: {order: random}")
    assert list(out.columns) == ["home", "wages", "pensions", "income"]
    assert sorted(out["home"]) == sorted(map(str, _people()["home"]))
    assert list(out["home"]) != list(map(str, _people()["home"]))


def test_without_a_section_or_a_key_all_is_as_before(tmp_path: Path) -> None:
    """Order and household keys stay; one line tells of all identifiers."""
    data = "cluster: home, variables: {person: {role: identifier}, name: {role: identifier}}"
    out = _run(tmp_path, data, output="")
    assert list(out["home"]) == list(map(str, _people()["home"]))
    notices = [each["message"] for each in json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["notices"]]
    assert [each for each in notices if "identifier" in each] == [
        "person, name are identifiers: they are not published"
    ]


@pytest.mark.parametrize(
    ("data", "more", "said"),
    [
        ("variables: {name: {release: new}}", "", "'release: new' is for an identifier or the cluster"),
        ("", "release: {ids: new}", "no variable is declared to be an identifier or to name households"),
        (PERSONS, "release: {ids: dropped}", "'person' says `release: new`"),
        (PERSONS, "release: {order: sorted}", "'random' or 'kept'"),
        (PERSONS, "release: {ordre: random}", "did you mean 'order'"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, capsys, data: str, more: str, said: str) -> None:
    """Before anything is written."""
    _people().to_csv(tmp_path / "in.csv", index=False)
    text = PIPELINE.format(data=data or "format: csv", rule=RULE, more=more, output="key_map: keys.csv")
    (tmp_path / "pipeline.yaml").write_text(text, encoding="utf-8")
    assert main(["run", str(tmp_path / "pipeline.yaml")]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "pipeline.yaml:" in told
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("rule", ["home > 0", "person > 0"])
def test_no_edit_can_be_about_a_key(tmp_path: Path, capsys, rule: str) -> None:
    """Of new random values it would not hold, or not for the reason that it was written for."""
    _people().to_csv(tmp_path / "in.csv", index=False)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE.format(data=HOMES, rule=rule, more="", output=""))
    assert main(["run", str(tmp_path / "pipeline.yaml")]) == 2
    assert "is published with new random values" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["xml", "parquet", "csv"])
def test_every_format(tmp_path: Path, ending: str) -> None:
    """Order and keys in each format; leading zeros stay what they are, 64-bit keys too."""
    people = _people().drop(columns="name")
    people["person"] = people["person"] + 10**17 if ending == "parquet" else people["person"].map("{:09d}".format)
    if ending == "csv":
        people.to_csv(tmp_path / "in.csv", index=False)
    elif ending == "parquet":
        people.to_parquet(tmp_path / "in.parquet", index=False)
    else:
        people.to_xml(tmp_path / "in.xml", index=False, root_name="People", row_name="Person")
    text = PIPELINE.format(data=f"cluster: home, variables: {{person: {KEY}}}", rule=RULE, more="", output="")
    text = text.replace("in.csv", f"in.{ending}").replace("out.csv", f"out.{ending}")
    (tmp_path / "pipeline.yaml").write_text(text, encoding="utf-8")
    assert main(["run", str(tmp_path / "pipeline.yaml"), "--quiet"]) == 0
    if ending == "parquet":
        out = pd.read_parquet(tmp_path / "out.parquet")
        assert out["person"].dtype == out["home"].dtype == np.int64
    else:
        read = pd.read_csv if ending == "csv" else pd.read_xml
        out = read(tmp_path / f"out.{ending}", dtype={"person": str})
        assert out["person"].str.fullmatch("[0-9]{9}").all()
    assert out["person"].is_unique
    assert out["home"].nunique() == 40
    assert (out["wages"] + out["pensions"] == out["income"]).all()


def test_the_same_seed_gives_the_same_bytes_and_another_one_others(tmp_path: Path) -> None:
    """And the same seed on other data another order: it cannot be drawn again from the seed alone."""
    written = []
    changed = _people()
    changed.loc[0, "wages"] += 1
    changed.loc[0, "income"] += 1
    for number, (seed, people) in enumerate([(7, None), (7, None), (8, None), (7, changed)]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (_people() if people is None else people).to_csv(folder / "in.csv", index=False)
        text = PIPELINE.format(data=HOMES, rule=RULE, more="", output="key_map: keys.csv")
        (folder / "pipeline.yaml").write_text(text.replace("seed: 7", f"seed: {seed}"), encoding="utf-8")
        mw.run(folder / "pipeline.yaml")
        written.append([(folder / name).read_bytes() for name in ("out.csv", "keys.csv")])
    assert written[0] == written[1]
    orders = [[line.split(b",")[1] for line in keys.splitlines()] for _, keys in written]
    assert orders[0] != orders[2]
    assert orders[0] != orders[3]


def test_keys_and_order_take_nothing_from_the_methods(tmp_path: Path) -> None:
    """The masked values of every record are those of the run in the old order."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    new = _run(tmp_path / "a", HOMES)
    old = _run(tmp_path / "b", "variables: {person: {role: identifier}, home: {role: other}, name: {role: identifier}}",
               output="")  # fmt: skip
    rows = pd.read_csv(tmp_path / "a" / "keys.csv")["original_record"].to_numpy() - 1
    names = ["wages", "pensions", "income"]
    assert np.array_equal(new[names], old[names].iloc[rows])


def test_a_sample_and_dropped_records(tmp_path: Path) -> None:
    """Records that are left out are in no map; the others are found by it."""
    people = _people()
    people.loc[5, "income"] += 1
    people.to_csv(tmp_path / "in.csv", index=False)
    text = PIPELINE.format(data=HOMES, rule=RULE, more="on_input_violation: drop", output="key_map: keys.csv")
    sampling = "method: sampling, params: {fraction: 0.5}}, {method: additive_noise"
    text = text.replace("method: additive_noise", sampling).replace("measure: [sse, {distance", "measure: [{distance")
    (tmp_path / "pipeline.yaml").write_text(text, encoding="utf-8")
    assert main(["run", str(tmp_path / "pipeline.yaml"), "--quiet"]) == 0
    out, pairs = pd.read_csv(tmp_path / "out.csv"), pd.read_csv(tmp_path / "keys.csv")
    assert len(out) == len(pairs) < 120
    assert 6 not in pairs["original_record"].tolist()
    assert (people["person"].iloc[pairs["original_record"] - 1].to_numpy() == pairs["person"]).all()
    assert (pairs["new person"] == out["person"]).all()


def test_from_python_a_frame_with_its_map(tmp_path: Path) -> None:
    """The default index would count the records in their old order: it counts the new ones."""
    people = _people()
    masked = mw.protect(
        people, "additive_noise", edits=[RULE], seed=1, params={"p": 0.2}, cluster="home",
        declared={"person": {"role": "identifier"}, "name": {"role": "identifier"}},
        release={"order": "random", "ids": "new"}, key_map=tmp_path / "keys.csv",
    )  # fmt: skip
    assert list(masked.columns) == list(people.columns)
    assert masked.index.equals(pd.RangeIndex(len(people)))
    assert masked["person"].dtype == people["person"].dtype
    pairs = pd.read_csv(tmp_path / "keys.csv")
    assert (pairs["new person"] == masked["person"]).all()
    assert stat.S_IMODE((tmp_path / "keys.csv").stat().st_mode) == 0o600


def test_from_python_a_dataset_and_its_measures(tmp_path: Path) -> None:
    """Records are paired by their origin, whatever their order."""
    _people().to_csv(tmp_path / "in.csv", index=False)
    stated = {"person": {"role": "identifier", "release": "new"}, "name": {"role": "identifier"}}
    data = mw.read(tmp_path / "in.csv", variables=stated, cluster="home")
    kept, mixed = (
        mw.protect(data, "additive_noise", seed=1, params={"p": 0.2}, release={"order": order})
        for order in ("kept", "random")
    )
    assert mixed.names == ("person", "home", "wages", "pensions", "income")
    assert not np.array_equal(kept["wages"].values, mixed["wages"].values)
    one, other = (mw.measure(data, each, ["sse"])["sse"].value for each in (kept, mixed))
    assert one == pytest.approx(other)


def test_from_python_a_mistake_names_the_argument() -> None:
    """As in a file, without line and column."""
    with pytest.raises(mw.InputError, match=r"argument release.*'random' or 'kept'"):
        mw.protect(_people(), "additive_noise", release={"order": "shuffled"})
    with pytest.raises(mw.InputError, match="no variable is declared to be an identifier"):
        mw.protect(_people(), "additive_noise", release={"ids": "new"})


TEXTS = st.text("abAB019-_ =ÄE", min_size=1, max_size=6).filter(lambda text: text.strip())
OLD = st.one_of(
    st.lists(st.integers(0, 10**6).map(str), min_size=2, max_size=40),
    st.lists(st.integers(0, 999).map("{:05d}".format), min_size=2, max_size=40),
    st.lists(TEXTS, min_size=2, max_size=40),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(old=OLD, homes=st.integers(1, 8), seed=st.integers(0, 2**62), data=st.data())
def test_new_keys_are_as_many_as_old_ones_and_order_is_a_permutation(tmp_path: Path, old, homes, seed, data) -> None:
    """Any keys, any households: one to one, none of the old ones, each record once, sums still sums."""
    n = len(old)
    home = data.draw(st.lists(st.integers(0, homes), min_size=n, max_size=n))
    frame = pd.DataFrame(
        {"key": old, "home": home, "wages": 500 + 130 * np.arange(n), "pensions": 70 * np.arange(n) ** 2}
    )
    frame["income"] = frame["wages"] + frame["pensions"]
    masked, again = (
        mw.protect(
            frame, "additive_noise", edits=[RULE], seed=seed, params={"p": 0.3}, cluster="home",
            declared={"key": {"role": "identifier", "release": "new"}}, key_map=tmp_path / "keys.csv",
        )
        for _ in range(2)
    )  # fmt: skip
    pd.testing.assert_frame_equal(masked, again)
    pairs = pd.read_csv(tmp_path / "keys.csv", dtype=str, keep_default_na=False)
    rows = pairs["original_record"].astype(int).to_numpy() - 1
    assert sorted(rows) == list(range(n))
    for name in ("key", "home"):
        before, after = frame[name].astype(str).iloc[rows].to_numpy(), masked[name].astype(str).to_numpy()
        assert list(pairs[name]) == list(before)
        assert list(pairs[f"new {name}"]) == list(after)
        assert len(set(zip(before, after, strict=True))) == len(set(before)) == len(set(after))
        assert not set(before) & set(after)
    assert (masked["home"] != masked["home"].shift()).sum() == masked["home"].nunique()
    assert (masked["wages"] + masked["pensions"] == masked["income"]).all()
