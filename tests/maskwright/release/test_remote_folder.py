"""Masked data sent to an object store, in memory and over parts: all of them, or nothing."""

from __future__ import annotations

import json
import tempfile
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.data.parts.part_files import sent as whole
from maskwright.release import files as release_files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

fsspec = pytest.importorskip("fsspec")
LOCAL = {"engine": "local", "block_size": 50}


@pytest.fixture
def store() -> Iterator[Any]:
    found = fsspec.filesystem("memory")
    yield found
    if found.exists("/bucket"):
        found.rm("/bucket", recursive=True)


@pytest.fixture(autouse=True)
def _temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    rng = np.random.default_rng(1)
    for number in range(3):
        frame = pd.DataFrame({"net": rng.integers(100, 9000, 40), "tax": rng.integers(0, 3000, 40)})
        (tmp_path / "in" / f"region={number}").mkdir(parents=True)
        frame.to_csv(tmp_path / "in" / f"region={number}" / "part-1.csv", index=False)


def settings(folder: Path, target: str, **changes: Any) -> dict[str, Any]:
    variables = {"region": {"role": "other", "release": "as is"}}
    return {
        "maskwright": 1,
        "data": {"source": str(folder / "in"), "variables": variables},
        "protect": [{"method": "rounding", "params": {"base": 10, "kind": "random"}, "variables": ["net", "tax"]}],
        "output": {"data": target, "record": str(folder / "run.json")},
        "seed": 3,
        **changes,
    }


def over_parts(folder: Path) -> dict[str, Any]:
    return {"execution": LOCAL | {"scratch": str(folder / "scratch")}}


def sent(store: Any) -> dict[str, bytes]:
    found = store.find("/bucket/masked") if store.exists("/bucket/masked") else []
    return {path.removeprefix("/bucket/masked/"): store.cat(path) for path in found}


def files(folder: Path) -> dict[str, bytes]:
    return {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*") if each.is_file()}


def left(folder: Path) -> list[str]:
    """What a run left here."""
    found = [each.name for each in folder.iterdir() if each.name not in ("in", "temporary")]
    return sorted([*found, *(f"temporary/{each.name}" for each in (folder / "temporary").iterdir())])


@pytest.mark.parametrize("is_over_parts", [False, True])
def test_what_is_sent_is_what_would_be_written_here(tmp_path: Path, store: Any, is_over_parts: bool) -> None:
    changes = over_parts(tmp_path) if is_over_parts else {}
    record = mw.run(settings(tmp_path, "memory://bucket/masked/", **changes)).record
    assert record["outputs"]["data"]["file"] == "memory://bucket/masked"
    assert left(tmp_path) == ["run.json", *(["scratch"] if is_over_parts else [])]
    mw.run(settings(tmp_path, str(tmp_path / "here/")))
    assert sent(store) == files(tmp_path / "here")
    assert len(mw.read("memory://bucket/masked")) == 120


@pytest.mark.parametrize("record", [{}, {"record": "run.json"}])
def test_the_command_line_says_where_the_masked_data_are(
    tmp_path: Path, store: Any, capsys: pytest.CaptureFixture[str], record: dict[str, str]
) -> None:
    changes = {"output": {"data": "memory://bucket/masked/", **record}}
    (tmp_path / "p.yaml").write_text(json.dumps(settings(tmp_path, "", **changes)), encoding="utf-8")
    assert main(["run", str(tmp_path / "p.yaml")]) == 0
    assert "  memory://bucket/masked  " in capsys.readouterr().out
    assert len(sent(store)) == 4


@pytest.mark.parametrize("is_over_parts", [False, True])
def test_a_folder_that_holds_files_is_refused_before_anything_is_masked(
    tmp_path: Path, store: Any, is_over_parts: bool
) -> None:
    store.pipe("/bucket/masked/notes.txt", b"mine")
    with pytest.raises(mw.InputError, match=r"memory://bucket/masked: output data: there are 1 files already"):
        mw.run(settings(tmp_path, "memory://bucket/masked/", **(over_parts(tmp_path) if is_over_parts else {})))
    assert sent(store) == {"notes.txt": b"mine"}
    assert left(tmp_path) == []


@pytest.mark.parametrize("is_over_parts", [False, True])
def test_what_was_sent_is_taken_back_when_a_file_does_not_arrive(
    tmp_path: Path, store: Any, monkeypatch: pytest.MonkeyPatch, is_over_parts: bool
) -> None:
    changes = over_parts(tmp_path) if is_over_parts else {}

    def damaged(file: Path, address: str) -> str:
        assert "_manifest.json" not in sent(store)
        found = whole(file, address)
        return "another" if "region=2" in address else found

    monkeypatch.setattr(release_files, "sent", damaged)
    with pytest.raises(mw.InputError, match=r"region=2/part-1.csv: the file is not the same after sending"):
        mw.run(settings(tmp_path, "memory://bucket/masked/", **changes))
    assert sent(store) == {}
    assert left(tmp_path) == (["scratch"] if is_over_parts else [])


def test_what_was_sent_is_taken_back_when_the_other_files_cannot_be_put_in_place(
    tmp_path: Path, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(_: object) -> None:
        assert "_manifest.json" in sent(store)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(release_files, "complete", refused)
    with pytest.raises(mw.InputError, match="the outputs cannot be put in place"):
        mw.run(settings(tmp_path, "memory://bucket/masked/"))
    assert sent(store) == {}
    assert left(tmp_path) == []


@pytest.mark.parametrize("is_over_parts", [False, True])
def test_a_release_that_is_refused_sends_nothing(tmp_path: Path, store: Any, is_over_parts: bool) -> None:
    changes = over_parts(tmp_path) if is_over_parts else {}
    with pytest.raises(mw.ThresholdMissed):
        mw.run(settings(tmp_path, "memory://bucket/masked/", measure=["sse"], thresholds={"sse": 0.0}, **changes))
    assert sent(store) == {}
    assert left(tmp_path) == (["scratch"] if is_over_parts else [])


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("memory://bucket/masked.csv", "masked data in an object store are a folder of parts"),
        ("s3://key:topsecret@bucket/masked/", "holds no user, password or option"),
        ("memory://bucket/mask*/", "is a pattern; expected one name"),
        ("https://example.org/masked/", "expected a file name, not an address"),
    ],
)
def test_addresses_that_nothing_is_sent_to(tmp_path: Path, target: str, said: str) -> None:
    with pytest.raises(mw.PipelineError, match=said) as caught:
        mw.run(settings(tmp_path, target))
    assert "topsecret" not in str(caught.value)
    assert left(tmp_path) == []


@pytest.mark.parametrize("target", ["memory://bucket/", "memory://bucket/in/masked/", "memory://bucket/in/"])
def test_masked_data_stay_out_of_the_folder_of_the_data(tmp_path: Path, store: Any, target: str) -> None:
    for name, content in files(tmp_path / "in").items():
        store.pipe(f"/bucket/in/{name}", content)
    with pytest.raises(mw.PipelineError, match="the folder and that of the data lie in each other"):
        mw.run(settings(tmp_path, target, data={"source": "memory://bucket/in"}))


def test_a_run_over_parts_needs_a_folder_here_for_what_it_sends(tmp_path: Path) -> None:
    with pytest.raises(mw.InputError, match=r"(?s)sends it when all is well.*scratch: DIR"):
        mw.run(settings(tmp_path, "memory://bucket/masked/", execution=LOCAL))
    assert left(tmp_path) == []


def test_a_bucket_that_is_not_there_is_refused_before_anything_is_masked(
    tmp_path: Path, store: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Paths of a store begin with its bucket, unlike those of the file system that stands for one here."""
    with monkeypatch.context() as bucketed:
        bucketed.setattr(type(store), "_strip_protocol", classmethod(lambda _, each: each.removeprefix("memory://")))
        bucketed.setattr(store, "exists", lambda path: path != "office")
        with pytest.raises(mw.InputError, match="there is no bucket 'office'"):
            mw.run(settings(tmp_path, "memory://office/masked/"))
    assert not (tmp_path / "run.json").exists()
