"""Data in parts, masked in one run: the same values as of one file, and parts that are those of the original."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.dataset
import pytest

import maskwright as mw

sys.path.insert(0, str(Path(__file__).parent))
from worlds_of_parts import ENDINGS, HIVE, in_parts, read, settings

SIZES = {"part-1": 30, "part-2": 0, "part-10": 25}
FOLDERS = {f"region={region}/part-{k}": n for region in (2, 11, 12) for k, n in enumerate((14, 9))}


def files(folder: Path) -> list[str]:
    return sorted(each.relative_to(folder).as_posix() for each in folder.rglob("*") if each.is_file())


@pytest.mark.parametrize("ending", ENDINGS)
def test_parts_are_masked_as_one_file_and_written_as_they_came(tmp_path: Path, ending: str) -> None:
    source, target = tmp_path / "in", tmp_path / "masked"
    whole = in_parts(source, ending, SIZES)
    whole.drop(columns="part").to_csv(tmp_path / "whole.csv", index=False)
    assert mw.run(settings(source, target)).record["records"] == 55
    mw.run(settings(tmp_path / "whole.csv", tmp_path / "one.csv"))
    expected = pd.read_csv(tmp_path / "one.csv")
    assert files(target) == sorted(["_manifest.json", *(f"{name}.{ending}" for name in SIZES)])
    found = [read(target / f"{name}.{ending}") for name, n in SIZES.items() if n]
    assert [len(each) for each in found] == [30, 25]
    pd.testing.assert_frame_equal(pd.concat(found, ignore_index=True), expected, check_dtype=False)
    assert (expected["gross"] == expected["net"] + expected["tax"]).all()
    manifest = json.loads((target / "_manifest.json").read_text())
    assert [(each["name"], each["records"]) for each in manifest["parts"]] == [
        (f"{name}.{ending}", n) for name, n in SIZES.items()
    ]
    for each in manifest["parts"]:
        assert each["sha256"] == hashlib.sha256((target / each["name"]).read_bytes()).hexdigest()
    assert [each["name"] for each in manifest["columns"]] == ["age", "net", "tax", "gross", "sex"]
    assert "seed" not in json.dumps(manifest)
    if ending == "parquet":
        assert len(pd.read_parquet(target)) == len(pyarrow.dataset.dataset(target).to_table()) == 55
    again = {name: (target / name).read_bytes() for name in files(target)}
    mw.run(settings(source / "*", target))
    assert {name: (target / name).read_bytes() for name in files(target)} == again


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_folders_of_keys_stay_and_hold_their_records(tmp_path: Path, ending: str) -> None:
    whole = in_parts(tmp_path / "in", ending, FOLDERS, {name: name.split("/")[0][7:] for name in FOLDERS})
    mw.run(settings(tmp_path / "in", tmp_path / "out", HIVE))
    assert files(tmp_path / "out") == sorted(["_manifest.json", *(f"{name}.{ending}" for name in FOLDERS)])
    for name in FOLDERS:
        masked = read(tmp_path / "out" / f"{name}.{ending}")
        assert list(masked.columns) == ["age", "net", "tax", "gross", "sex"]
        assert masked["age"].tolist() == whole.loc[whole["part"] == name, "age"].tolist()
    data = mw.read(tmp_path / "out")
    assert data["region"].variable.name == "region"
    assert len(data) == len(whole)


def test_random_order_stays_in_the_folder_and_forgets_the_part(tmp_path: Path) -> None:
    whole = in_parts(tmp_path / "in", "csv", FOLDERS, {name: name.split("/")[0][7:] for name in FOLDERS})
    output = {"data": str(tmp_path / "out"), "key_map": str(tmp_path / "map.csv")}
    mw.run(settings(tmp_path / "in", output, HIVE, release={"order": "random"}))
    pairs = pd.read_csv(tmp_path / "map.csv")
    assert (pairs["file"].str.split("/").str[0] == pairs["original_file"].str.split("/").str[0]).all()
    assert (pairs["file"] != pairs["original_file"]).any()
    assert pairs.groupby("file").size().to_dict() == {f"{name}.csv": n for name, n in FOLDERS.items()}
    for name, own in pairs.groupby("file"):
        masked = pd.read_csv(tmp_path / "out" / str(name))
        origin = [
            whole[whole["part"] == file[:-4]].iloc[row - 1]["age"]
            for file, row in zip(own["original_file"], own["original_row"], strict=True)
        ]
        assert masked["age"].tolist() == origin
        assert own["row"].tolist() == list(range(1, len(own) + 1))


def test_parts_of_so_many_records_and_parts_of_categories(tmp_path: Path) -> None:
    in_parts(tmp_path / "in", "csv", SIZES)
    mw.run(settings(tmp_path / "in", tmp_path / "one.csv"))
    one = pd.read_csv(tmp_path / "one.csv")
    mw.run(settings(tmp_path / "in", {"data": str(tmp_path / "twenty"), "parts": 20}))
    found = [pd.read_csv(tmp_path / "twenty" / f"part-{k}.csv") for k in (1, 2, 3)]
    assert [len(each) for each in found] == [20, 20, 15]
    pd.testing.assert_frame_equal(pd.concat(found, ignore_index=True), one)
    mw.run(settings(tmp_path / "in", {"data": str(tmp_path / "sexes"), "parts": ["sex"], "format": "parquet"}))
    assert files(tmp_path / "sexes") == ["_manifest.json", "sex=f/part-1.parquet", "sex=m/part-1.parquet"]
    masked = pd.read_parquet(tmp_path / "sexes" / "sex=m" / "part-1.parquet")
    assert masked["gross"].tolist() == one.loc[one["sex"] == "m", "gross"].tolist()
    assert "sex" not in masked
    mw.run(settings(tmp_path / "in" / "part-1.csv", {"data": str(tmp_path / "single/"), "parts": 7}))
    assert len(files(tmp_path / "single")) == 6


def test_dropped_records_leave_the_others_where_they_were(tmp_path: Path) -> None:
    whole = in_parts(tmp_path / "in", "csv", SIZES)
    table = pd.read_csv(tmp_path / "in" / "part-10.csv")
    table.loc[[0, 4], "gross"] += 1
    table.to_csv(tmp_path / "in" / "part-10.csv", index=False)
    mw.run(settings(tmp_path / "in", tmp_path / "out", on_input_violation="drop"))
    ages = whole.loc[whole["part"] == "part-10", "age"].tolist()
    kept = [age for row, age in enumerate(ages) if row not in (0, 4)]
    assert pd.read_csv(tmp_path / "out" / "part-10.csv")["age"].tolist() == kept
    assert len(pd.read_csv(tmp_path / "out" / "part-1.csv")) == 30


def test_every_command_takes_a_folder_or_a_pattern(tmp_path: Path, capsys: Any) -> None:
    from maskwright.cli.main import main

    in_parts(tmp_path / "in", "csv", SIZES)
    (tmp_path / "rules.yaml").write_text("edits: ['gross == net + tax']", encoding="utf-8")
    source, rules = str(tmp_path / "in"), str(tmp_path / "rules.yaml")
    assert main(["validate", source, "--edits", rules]) == 0
    assert main(["validate", f"{source}/part-*.csv", "--edits", rules]) == 0
    assert main(["describe", source]) == 0
    assert main(["init", source, "--to", str(tmp_path / "new.yaml")]) == 0
    assert "source: in" in (tmp_path / "new.yaml").read_text()
    mw.run(settings(source, tmp_path / "out"))
    assert main(["measure", source, str(tmp_path / "out"), "--measure", "sse"]) == 0
    (tmp_path / "p.yaml").write_text(json.dumps(settings(source, tmp_path / "out2")), encoding="utf-8")
    assert main(["plan", str(tmp_path / "p.yaml")]) == 0
    assert len(mw.read(f"{source}/part-1*.csv")) == 55
    assert len(mw.read(f"file://{source}")) == 55
    capsys.readouterr()


def test_xml_parts_may_lack_variables(tmp_path: Path) -> None:
    for name, cells in (("1", "<a>1</a><b>2</b>"), ("2", "<a>3</a>"), ("3", "<a>4</a><c>5</c>")):
        records = f"<Record>{cells}</Record>" * 2
        (tmp_path / f"part-{name}.xml").write_text(f"<Data>{records}</Data>", encoding="utf-8")
    data = mw.read(tmp_path)
    assert data.names == ("a", "b", "c")
    assert data["b"].missing.tolist() == [False, False, True, True, True, True]
    assert data["c"].missing.tolist() == [True, True, True, True, False, False]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_parts_are_read_one_by_one_as_the_dataset_has_them(tmp_path: Path, ending: str) -> None:
    from maskwright.plugins.parts_reading import part_batches, scan_parts
    from maskwright.plugins.registry import find_source

    whole = in_parts(tmp_path / ending, ending, FOLDERS, {name: name.split("/")[0][7:] for name in FOLDERS})
    source = find_source(ending)
    parts = scan_parts(source, source.params(), str(tmp_path / ending))
    assert [(each.name, each.records) for each in parts] == [(f"{name}.{ending}", n) for name, n in FOLDERS.items()]
    assert parts.hive == ("region",)
    assert len({each.fingerprint for each in parts}) == 1
    chunks = list(parts.chunks(lambda part: (b.cells for b in part_batches(source, source.params(), parts, part)), 5))
    assert all(each.batch.schema.equals(parts.schema) for each in chunks)
    ages = [int(age) for each in chunks for age in each.batch.column("age").to_pylist()]
    assert ages == whole["age"].tolist()
    assert [str(chunks[0].batch.column("region")[0])] == ["2"]


def test_folders_with_brackets_in_their_names_are_folders(tmp_path: Path) -> None:
    in_parts(tmp_path / "census [2020]", "csv", SIZES)
    mw.run(settings(tmp_path / "census [2020]", tmp_path / "out [1]/"))
    assert len(mw.read(tmp_path / "out [1]")) == 55
