"""What is wrong with parts is told by file and row, with exit code 2, and nothing is written."""

from __future__ import annotations

import builtins
import importlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from lxml import etree

import maskwright as mw
from maskwright.cli.main import main
from maskwright.release import release_decision

sys.path.insert(0, str(Path(__file__).parent))
from worlds_of_parts import HIVE, STATED, in_parts, people, read, settings, write

if TYPE_CHECKING:
    from collections.abc import Callable

run_module = importlib.import_module("maskwright.commands.run")
SIZES = {"part-1": 6, "part-2": 7, "part-10": 8}


def refused(
    folder: Path, source: object, capsys: pytest.CaptureFixture[str], output: object = "out/", **more: Any
) -> str:
    """What the command line says of a run that is refused, having written nothing."""
    before = sorted(folder.rglob("*"))
    (folder / "p.yaml").write_text(json.dumps(settings(source, output, **more)), encoding="utf-8")
    capsys.readouterr()
    code = main(["run", str(folder / "p.yaml")])
    told = capsys.readouterr().err
    assert code == 2, told
    assert sorted(folder.rglob("*")) == sorted({*before, folder / "p.yaml"})
    return " ".join(told.split())


def changed(path: Path, change: Callable[[pd.DataFrame], pd.DataFrame]) -> None:
    write(change(read(path)), path)


def test_no_part_at_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    assert "no file matches the pattern" in refused(tmp_path, "in/*.csv", capsys)
    assert "the folder holds no data files" in refused(tmp_path, "in", capsys)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_columns_that_differ_name_the_first_such_part(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], ending: str
) -> None:
    in_parts(tmp_path / "in", ending, SIZES)
    changed(tmp_path / "in" / f"part-10.{ending}", lambda table: table.drop(columns="age"))
    said = refused(tmp_path, "in", capsys)
    assert f"part-10.{ending}: the file has other columns than part-1.{ending}: age" in said


def test_types_that_differ_are_both_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    in_parts(tmp_path / "in", "parquet", SIZES)
    changed(tmp_path / "in" / "part-2.parquet", lambda table: table.astype({"tax": "float64"}))
    said = refused(tmp_path, "in", capsys)
    assert "part-2.parquet: column 'tax' is double in this file, and int64 in part-1.parquet" in said


def test_a_cell_that_breaks_its_declared_type_is_told_by_file_and_row(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    in_parts(tmp_path / "in", "csv", SIZES)
    text = (tmp_path / "in" / "part-10.csv").read_text().splitlines()
    text[3] = ",".join([*text[3].split(",")[:2], "secret", *text[3].split(",")[3:]])
    (tmp_path / "in" / "part-10.csv").write_text("\n".join(text) + "\n")
    said = refused(tmp_path, "in", capsys, variables={**STATED, "net": {"type": "integer"}})
    assert "(record 16 is row 3 of part-10.csv)" in said
    assert "secret" not in said


def test_a_row_that_is_cut_short_is_told_by_its_own_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    in_parts(tmp_path / "in", "csv", SIZES)
    with (tmp_path / "in" / "part-2.csv").open("a") as file:
        file.write("1,2\n")
    said = refused(tmp_path, "in", capsys)
    assert "part-2.csv" in said
    assert "2 cells" in said


def test_files_of_two_formats(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    in_parts(tmp_path / "in", "csv", SIZES)
    write(people(3), tmp_path / "in" / "part-3.parquet")
    assert "part-3.parquet: a parquet file among csv files, as part-1.csv is one" in refused(tmp_path, "in", capsys)


def test_a_column_that_contradicts_its_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(people(4).assign(region=[12, 12, 4711, 12]), tmp_path / "in" / "region=12" / "part-1.csv")
    said = refused(tmp_path, "in", capsys, variables=HIVE)
    assert "row 3 has another value in column 'region' than its folder, region=..., says" in said
    assert "4711" not in said


def test_a_column_that_agrees_with_its_folder_stays(tmp_path: Path) -> None:
    write(people(9).assign(region=12), tmp_path / "in" / "region=12" / "part-1.csv")
    mw.run(settings(tmp_path / "in", tmp_path / "out", HIVE))
    assert pd.read_csv(tmp_path / "out" / "region=12" / "part-1.csv")["region"].tolist() == [12] * 9


def test_names_that_differ_in_case_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    in_parts(tmp_path / "in", "csv", {"part-1": 3, "Part-1": 3})
    if len(list((tmp_path / "in").iterdir())) == 2:
        assert "differ only in upper and lower case" in refused(tmp_path, "in", capsys)


@pytest.mark.parametrize("what", ["changed", "gone", "added"])
def test_a_part_that_is_another_when_all_is_done(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    in_parts(tmp_path / "in", "csv", SIZES)
    in_parts(tmp_path / "later", "csv", {"part-2": 7, "part-11": 2})
    judged = release_decision.decide_release

    def meanwhile(*arguments: Any) -> Any:
        if what == "changed":
            (tmp_path / "in" / "part-2.csv").write_bytes((tmp_path / "later" / "part-2.csv").read_bytes())
        elif what == "gone":
            (tmp_path / "in" / "part-2.csv").unlink(missing_ok=True)
        else:
            (tmp_path / "in" / "part-11.csv").write_bytes((tmp_path / "later" / "part-11.csv").read_bytes())
        return judged(*arguments)

    monkeypatch.setattr(run_module, "decide_release", meanwhile)
    with pytest.raises(mw.DataError, match="while the run was at work"):
        mw.run(settings(tmp_path / "in", tmp_path / "out"))
    assert not (tmp_path / "out").exists()
    assert not [each for each in tmp_path.iterdir() if each.name.startswith(".maskwright")]


def test_outputs_that_would_be_among_the_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    in_parts(tmp_path / "in", "csv", SIZES)
    assert "would be written into the folder of the data" in refused(tmp_path, "in", capsys, "in/masked/")
    assert "would be written into the folder of the data" in refused(tmp_path, "**/*.csv", capsys, "masked/")
    assert "would be written into the folder of the data" in refused(tmp_path, "in/*.csv", capsys, "in/x.csv")
    assert "files that are read lie in this folder" in refused(tmp_path, "in", capsys, "./")
    assert "is a pattern; expected one name" in refused(tmp_path, "in", capsys, "out/*.csv")
    assert "would overwrite the data" in refused(tmp_path, "in", capsys, "in/")


def test_a_folder_of_others_is_not_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    in_parts(tmp_path / "in", "csv", SIZES)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("mine")
    assert "Maskwright did not write thesis.txt in 'out/'" in refused(tmp_path, "in", capsys)
    (tmp_path / "out" / "thesis.txt").unlink()
    mw.run(settings(tmp_path / "in", tmp_path / "out"))
    (tmp_path / "in" / "part-10.csv").rename(tmp_path / "in" / "part-9.csv")
    mw.run(settings(tmp_path / "in", tmp_path / "out"))
    names = {each.name for each in (tmp_path / "out").iterdir()}
    assert names == {"_manifest.json", "part-1.csv", "part-2.csv", "part-9.csv"}
    (tmp_path / "out" / "notes.md").write_text("mine")
    assert "Maskwright did not write notes.md" in refused(tmp_path, "in", capsys)


def test_folders_that_would_tell_what_is_masked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for region in ("11", "12"):
        write(people(9, int(region) * 100), tmp_path / "in" / f"region={region}" / "part-1.csv")
    hidden = {**STATED, "region": {"role": "identifier"}}
    said = refused(tmp_path, "in", capsys, variables=hidden)
    assert "the names of its folders would reveal 'region', which is not published" in said
    mw.run(settings(tmp_path / "in", {"data": str(tmp_path / "none"), "parts": 5}, hidden))
    assert "region" not in mw.read(tmp_path / "none")


def test_reports_name_the_file_and_the_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    in_parts(tmp_path / "in", "xml", SIZES)
    in_parts(tmp_path / "csv", "csv", SIZES)
    for folder, ending in (("in", "xml"), ("csv", "csv")):
        changed(tmp_path / folder / f"part-10.{ending}", lambda table: table.assign(gross=[0, *table["gross"][1:]]))
    (tmp_path / "rules.yaml").write_text("edits: ['gross == net + tax']", encoding="utf-8")
    for folder, location in (
        ("in", "doc('part-10.xml')/Microdata/Record[1]"),
        ("csv", "doc('part-10.csv')/records/record[1]"),
    ):
        svrl = tmp_path / f"{folder}.svrl"
        arguments = [str(tmp_path / folder), "--edits", str(tmp_path / "rules.yaml")]
        assert main(["validate", *arguments, "--svrl", str(svrl)]) == 1
        assert "part-10." in capsys.readouterr().out
        failed = etree.parse(svrl).findall("{*}failed-assert")
        assert [each.get("location") for each in failed] == [location]
        assert main(["validate", *arguments, "--json"]) == 1
        found = json.loads(capsys.readouterr().out)["edits"][0]
        assert found["first_places"] == [f"part-10.{'xml' if folder == 'in' else 'csv'}:1"]
    outcome = mw.validate(mw.read(tmp_path / "csv"), ["gross == net + tax"])
    assert outcome.violations[["record", "file", "row"]].to_numpy().tolist() == [[14, "part-10.csv", 1]]


def test_object_stores_are_read_and_told_about(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import fsspec

    store = fsspec.filesystem("memory")
    in_parts(tmp_path / "in", "csv.gz", {"region=1/part-1": 30, "region=2/part-1": 20})
    for file in (tmp_path / "in").rglob("*.gz"):
        store.pipe(f"/bucket/census/{file.relative_to(tmp_path / 'in').as_posix()}", file.read_bytes())
    mw.run(settings("memory://bucket/census/**/*.csv.gz", tmp_path / "out", HIVE))
    mw.run(settings(tmp_path / "in", tmp_path / "same", HIVE))
    for name in ("region=1/part-1.csv.gz", "region=2/part-1.csv.gz"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "same" / name).read_bytes()
    assert len(mw.read("memory://bucket/census")) == 50
    assert "no file matches" in refused(tmp_path, "memory://bucket/other/*.csv", capsys)
    store.pipe("/bucket/wrong/part-1.csv", b"a,b\n1\n")
    assert "memory://bucket/wrong/part-1.csv" in refused(tmp_path, "memory://bucket/wrong", capsys)
    store.rm("/bucket", recursive=True)


def test_addresses_that_are_not_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "nothing is read from web addresses" in refused(tmp_path, "https://example.org/a.csv", capsys)
    said = refused(tmp_path, "s3://key:topsecret@bucket/a.csv", capsys)
    assert "holds no user, password or option" in said
    assert "topsecret" not in said
    assert "topsecret" not in refused(tmp_path, "s3://bucket/a.csv?signature=topsecret", capsys)
    imported = builtins.__import__

    def without(name: str, *arguments: Any, **named: Any) -> Any:
        if name == "fsspec":
            raise ImportError(name)
        return imported(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "pip install 'maskwright[remote]'" in refused(tmp_path, "s3://bucket/*.csv", capsys)
