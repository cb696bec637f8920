"""Which files a run over parts writes: keys in the names of folders, files of so many records, files of a value."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.parted import output_files

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

VARIABLES: dict[str, Any] = {
    "sex": {"role": "other", "release": "as is"},
    "region": {"role": "other", "release": "as is", "type": "nominal"},
    "age": {"role": "other", "release": "as is"},
}
SIZES = (40, 0, 25)
LOCAL = {"engine": "local", "block_size": 50}
ROUNDED = [{"method": "rounding", "variables": ["net", "tax"], "params": {"base": 10, "kind": "random"}}]


def people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    net, tax = rng.integers(100, 9000, n), rng.integers(0, 3000, n)
    sex = pd.array(rng.choice(["f", "m"], n), dtype="str")
    return pd.DataFrame({"age": rng.integers(18, 90, n), "net": net, "tax": tax, "sex": sex})


def write(table: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False, sep=";", float_format="%.2f")


def read(path: Path) -> pd.DataFrame:
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path, sep=";", dtype={"region": "str"})


def hive(folder: Path, ending: str, regions: Sequence[str] = ("2", "12", "north")) -> None:
    """Two files and an empty one in the folder of each region."""
    for at, region in enumerate(regions):
        for number, n in enumerate(SIZES):
            write(people(n, 10 * at + number), folder / f"region={region}" / f"part-{number}.{ending}")


def settings(folder: Path, output: object, **more: Any) -> dict[str, Any]:
    return {
        "maskwright": 1,
        "data": {"source": str(folder / "in"), "variables": VARIABLES},
        "protect": ROUNDED,
        "measure": ["sse"],
        "output": output if isinstance(output, dict) else {"data": str(folder / str(output))},
        "execution": LOCAL,
        "seed": 5,
        **more,
    }


def files(folder: Path) -> dict[str, bytes]:
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def manifest(folder: Path) -> list[tuple[str, int]]:
    """Names and records of the parts that a manifest lists, each of which is there as it says."""
    said = json.loads((folder / "_manifest.json").read_text())["parts"]
    found = files(folder)
    assert {each["name"] for each in said} | {"_manifest.json"} == set(found)
    for each in said:
        assert each["sha256"] == hashlib.sha256(found[each["name"]]).hexdigest()
    return [(each["name"], each["records"]) for each in said]


@pytest.mark.parametrize("ending", ["csv", "parquet", "csv.gz"])
def test_keys_in_names_of_folders_are_columns_and_files_those_of_a_run_in_memory(tmp_path: Path, ending: str) -> None:
    hive(tmp_path / "in", ending)
    rule = {"edits": ["if region == 'north' then net >= 0"]}
    over_parts = mw.run(settings(tmp_path, "out", **rule))
    in_memory = mw.run(settings(tmp_path, "memory", execution={}, **rule))
    assert files(tmp_path / "out") == files(tmp_path / "memory")
    names = [f"region={region}/part-{at}.{ending}" for region in ("2", "12", "north") for at in range(3)]
    assert [name for name, _ in manifest(tmp_path / "out")] == names
    assert over_parts.record["inputs"] == in_memory.record["inputs"]
    measured = [each.record["measures"]["sse"]["value"] for each in (over_parts, in_memory)]
    assert measured[0] == pytest.approx(measured[1], rel=1e-9)


def test_a_key_that_the_files_have_too_stays_in_them(tmp_path: Path) -> None:
    write(people(30, 1).assign(region=12), tmp_path / "in" / "region=12" / "part-1.parquet")
    write(people(30, 2).assign(region=13), tmp_path / "in" / "region=13" / "part-1.parquet")
    mw.run(settings(tmp_path, "out"))
    mw.run(settings(tmp_path, "memory", execution={}))
    assert read(tmp_path / "out" / "region=13" / "part-1.parquet")["region"].tolist() == [13] * 30
    assert files(tmp_path / "out") == files(tmp_path / "memory")


def test_clusters_are_of_records_of_all_folders_and_bytes_of_no_number_of_workers(tmp_path: Path) -> None:
    hive(tmp_path / "in", "parquet")
    step = [{"method": "microaggregation", "variables": ["net", "tax"], "params": {"k": 3}}]
    for name, execution in (("out", LOCAL | {"workers": 1}), ("two", LOCAL | {"workers": 2})):
        mw.run(settings(tmp_path, name, protect=step, execution=execution))
    assert files(tmp_path / "out") == files(tmp_path / "two")
    masked = pd.concat([read(tmp_path / "out" / name) for name, n in manifest(tmp_path / "out") if n])
    assert len(masked) == 3 * 65
    assert masked.groupby(["net", "tax"]).size().min() >= 3


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_files_of_so_many_records_are_those_of_a_run_in_memory(tmp_path: Path, ending: str) -> None:
    hive(tmp_path / "in", ending)
    for name, execution in (("out", LOCAL), ("memory", {})):
        mw.run(settings(tmp_path, {"data": str(tmp_path / name), "parts": 30}, execution=execution))
    # 40 and 25 records of each region: no border of a file is one of them.
    assert manifest(tmp_path / "out") == [(f"part-{at}.{ending}", 30 if at < 7 else 15) for at in range(1, 8)]
    assert files(tmp_path / "out") == files(tmp_path / "memory")


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_folders_of_published_values_are_those_of_a_run_in_memory(tmp_path: Path, ending: str) -> None:
    hive(tmp_path / "in", ending)
    found = []
    for name, execution in (("out", LOCAL), ("memory", {})):
        output = {"data": str(tmp_path / name), "parts": ["sex"]}
        changes = {"measure": ["sse", "pil", "hellinger"], "edits": ["if sex == 'f' then net >= 0"]}
        found.append(mw.run(settings(tmp_path, output, execution=execution, **changes)).record)
    # Records stand elsewhere than in their parts, and are still paired with what they were.
    for label in ("sse", "pil", "hellinger"):
        values = [each["measures"][label]["value"] for each in found]
        assert values[0] == pytest.approx(values[1], rel=1e-9)
    fired = [each["edits"][0]["fired"] for each in found]
    assert fired[0] == fired[1] > 0
    assert [name for name, _ in manifest(tmp_path / "out")] == [f"sex={sex}/part-1.{ending}" for sex in "fm"]
    assert files(tmp_path / "out") == files(tmp_path / "memory")


@pytest.mark.waived("follows-from-published")  # parts in the order of a masked key
def test_a_masked_key_decides_on_the_folder_that_a_record_goes_to(tmp_path: Path) -> None:
    hive(tmp_path / "in", "parquet", ("12", "18", "23"))
    variables = {**VARIABLES, "region": {"type": "integer"}, "net": {"release": "as is"}, "tax": {"release": "as is"}}
    step = [{"method": "rounding", "variables": ["region"], "params": {"base": 10}}]
    changes = {"data": {"source": str(tmp_path / "in"), "variables": variables}, "protect": step}
    with pytest.raises(mw.InputError, match="the names of its folders would reveal 'region', which is masked"):
        mw.run(settings(tmp_path, "out", **changes))
    assert [each.name for each in tmp_path.iterdir()] == ["in"]
    for name, execution in (("out", LOCAL), ("memory", {})):
        output = {"data": str(tmp_path / name), "parts": ["region"]}
        mw.run(settings(tmp_path, output, execution=execution, **changes))
    # One file for what was in the folders of 18 and 23: no border tells which was which.
    assert manifest(tmp_path / "out") == [("region=10/part-1.parquet", 65), ("region=20/part-1.parquet", 130)]
    assert files(tmp_path / "out") == files(tmp_path / "memory")


def test_many_records_of_a_value_are_cut_into_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_files, "RECORDS_OF_PART", 33)
    hive(tmp_path / "in", "csv")
    mw.run(settings(tmp_path, {"data": str(tmp_path / "out"), "parts": ["sex"]}))
    mw.run(settings(tmp_path, {"data": str(tmp_path / "memory"), "parts": ["sex"]}, execution={}))
    for sex in "fm":
        expected = read(tmp_path / "memory" / f"sex={sex}" / "part-1.csv")
        own = [(name, n) for name, n in manifest(tmp_path / "out") if name.startswith(f"sex={sex}")]
        sizes = [min(33, len(expected) - start) for start in range(0, len(expected), 33)]
        assert own == [(f"sex={sex}/part-{at}.csv", n) for at, n in enumerate(sizes, 1)]
        masked = pd.concat([read(tmp_path / "out" / name) for name, _ in own], ignore_index=True)
        pd.testing.assert_frame_equal(masked, expected)


def test_folders_of_a_variable_that_is_not_published_are_refused(tmp_path: Path) -> None:
    hive(tmp_path / "in", "csv")
    for execution in (LOCAL, {}):
        with pytest.raises(mw.InputError, match="no variable called 'regoin'; did you mean 'region'"):
            mw.run(settings(tmp_path, {"data": str(tmp_path / "out"), "parts": ["regoin"]}, execution=execution))
        assert [each.name for each in tmp_path.iterdir()] == ["in"]


@pytest.mark.parametrize("name", ["masked.csv", "masked.csv.gz"])
def test_a_single_file_gets_the_form_that_its_name_says(tmp_path: Path, name: str) -> None:
    write(people(60, 1), tmp_path / "in.csv")
    data = {"source": str(tmp_path / "in.csv"), "variables": {each: VARIABLES[each] for each in ("sex", "age")}}
    mw.run(settings(tmp_path, {"data": str(tmp_path / name)}, data=data))
    mw.run(settings(tmp_path, {"data": str(tmp_path / f"memory-{name}")}, data=data, execution={}))
    assert (tmp_path / name).read_bytes() == (tmp_path / f"memory-{name}").read_bytes()


def test_parts_in_an_object_store_are_read_by_workers(tmp_path: Path) -> None:
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    hive(tmp_path / "in", "parquet")
    for name, content in files(tmp_path / "in").items():
        store.pipe(f"/bucket/census/{name}", content)
    data = {"source": "memory://bucket/census/**/*.parquet", "variables": VARIABLES}
    try:
        mw.run(settings(tmp_path, "out", data=data))
    finally:
        store.rm("/bucket", recursive=True)
    mw.run(settings(tmp_path, "same"))
    assert files(tmp_path / "out") == files(tmp_path / "same")


def test_files_of_several_parts_are_joined_when_a_run_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hive(tmp_path / "in", "csv")
    output = {"data": str(tmp_path / "out"), "parts": 30}
    mw.run(settings(tmp_path, {"data": str(tmp_path / "two"), "parts": 30}, execution=LOCAL | {"workers": 2}))
    with monkeypatch.context() as patched:
        patched.setattr(output_files, "join", _fail)
        with pytest.raises(mw.TaskFailed, match="stage join, task 0"):
            mw.run(settings(tmp_path, output))
    assert not (tmp_path / "out").exists()
    mw.run(settings(tmp_path, output), resume=True)
    assert files(tmp_path / "out") == files(tmp_path / "two")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "out", "two"]


def _fail(*_: object) -> dict[str, object]:
    raise RuntimeError("no file")


def test_files_that_no_worker_can_hold_are_refused_before_anything_is_masked(tmp_path: Path) -> None:
    hive(tmp_path / "in", "csv")
    output = {"data": str(tmp_path / "out"), "parts": 20_000_000}
    execution = LOCAL | {"memory_limit": "2GB"}
    plan = mw.plan_pipeline(settings(tmp_path, output, execution=execution), assume_records=100_000_000)
    assert not plan["costs"]["fits"]
    output["parts"] = 50_000
    plan = mw.plan_pipeline(settings(tmp_path, output, execution=execution), assume_records=100_000_000)
    assert plan["costs"]["fits"]


def test_xml_parts_may_lack_variables_over_parts_too(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, names in enumerate((["net", "tax", "sex"], ["net"], ["net", "tax"])):
        rows = people(40, number)[names].to_xml(None, index=False, root_name="Data", row_name="Record")
        (tmp_path / "in" / f"part-{number}.xml").write_text(str(rows), encoding="utf-8")
    data = {"source": str(tmp_path / "in"), "variables": {"sex": VARIABLES["sex"]}}
    for name, execution in (("out", LOCAL), ("memory", {})):
        mw.run(settings(tmp_path, name, data=data, execution=execution))
    assert files(tmp_path / "out") == files(tmp_path / "memory")
