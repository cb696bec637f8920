"""What a pipeline over parts may ask for: one file, and where its temporary files are; mistakes come with a remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from parted_world import pipeline, survey, write_parts, write_pipeline

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.parted import foreseen

if TYPE_CHECKING:
    from pathlib import Path

LOCAL = {"engine": "local", "block_size": 500}
PROCESSES = {"engine": "processes", "block_size": 500, "workers": 2}


@pytest.fixture
def asked(tmp_path: Path) -> Any:
    """Settings of a pipeline over two parts, with other sections."""
    write_parts(survey(600), tmp_path / "in", 2)

    def settings(**changes: Any) -> dict[str, object]:
        return pipeline(tmp_path / "in", tmp_path / "out", execution=LOCAL, measure=[]) | changes

    return settings


def listed(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


@pytest.mark.parametrize("name", ["part-0.csv", "_persons.csv"])
def test_a_single_file_is_one_part(asked: Any, tmp_path: Path, name: str) -> None:
    survey(600).to_csv(tmp_path / name, index=False)
    data = {
        "source": str(tmp_path / name),
        "variables": {each: {"role": "other"} for each in ("number", "sex", "region")},
    }
    mw.run(asked(data=data, output={"data": str(tmp_path / "masked.csv")}))
    masked = pd.read_csv(tmp_path / "masked.csv")
    assert len(masked) == 600
    assert (masked.wages + masked.tax == masked.gross).all()
    assert listed(tmp_path) == sorted([name, "in", "masked.csv"])


@pytest.mark.parametrize("scratch", [None, "none/deep"])
def test_a_plan_leaves_nothing_behind(asked: Any, tmp_path: Path, scratch: str | None) -> None:
    named = {} if scratch is None else {"scratch": str(tmp_path / scratch)}
    assert mw.plan_pipeline(asked(execution=LOCAL | named))["records"] == 600
    assert listed(tmp_path) == ["in"]


def test_a_scratch_folder_that_cannot_be_made_is_named(asked: Any, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for command in (mw.plan_pipeline, mw.run):
        with pytest.raises(mw.InputError, match=r"scratch folder .* cannot be made: "):
            command(asked(execution=LOCAL | {"scratch": str(tmp_path / "file")}))


@pytest.mark.parametrize(
    ("scratch", "said"),
    [
        ("in", "lies in the folder of the data"),
        ("in/deep/er", "lies in the folder of the data"),
        ("out", "lies in the folder of the masked data"),
        ("out/deep", "lies in the folder of the masked data"),
    ],
)
def test_temporary_files_stay_out_of_the_data(asked: Any, tmp_path: Path, scratch: str, said: str) -> None:
    with pytest.raises(mw.PipelineError, match=said):
        mw.run(asked(execution=LOCAL | {"scratch": str(tmp_path / scratch)}))
    assert listed(tmp_path) == ["in"]


def test_violations_that_stop_a_run_come_with_remedies(asked: Any, tmp_path: Path) -> None:
    broken = survey(300)
    broken.loc[17, "gross"] += 1
    broken.to_parquet(tmp_path / "in" / "part-1.parquet", index=False)
    with pytest.raises(mw.EditViolation, match=r"(?s)gross: 1.*'mask' masks and mends them.*severity: warning"):
        mw.run(asked(on_input_violation="fail"))
    assert listed(tmp_path) == ["in"]


@pytest.mark.parametrize("limit", ["100MB", "300MB"])
@pytest.mark.parametrize("execution", [LOCAL, PROCESSES])
def test_workers_without_enough_memory_are_refused_before_they_begin(
    asked: Any, tmp_path: Path, execution: dict[str, object], limit: str
) -> None:
    for command in (mw.plan_pipeline, mw.run):
        with pytest.raises(mw.InputError, match=rf"each worker is expected to need 0.35 GB .* memory_limit is {limit}"):
            command(asked(execution=execution | {"memory_limit": limit}))
    assert listed(tmp_path) == ["in"]


def test_a_block_that_does_not_fit_is_refused_by_its_stage(asked: Any, tmp_path: Path) -> None:
    execution = LOCAL | {"block_size": 5_000_000, "memory_limit": "400MB"}
    plan = mw.plan_pipeline(asked(execution=execution), assume_records=10_000_000)["costs"]
    assert (plan["fits"], plan["workers"], plan["memory_megabytes"]) == (False, 1, 400)
    assert mw.plan_pipeline(asked(execution=execution))["costs"]["fits"]
    assert listed(tmp_path) == ["in"]


@pytest.mark.parametrize("options", [[], ["--no-data"]])
def test_a_plan_says_what_records_over_parts_will_take(
    asked: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    settings = asked(execution=LOCAL | {"workers": 8})
    if options:
        settings["data"] = {"source": str(tmp_path / "none" / "*.parquet")}
    path = write_pipeline(tmp_path / "p.yaml", settings)
    assert main(["plan", str(path), "--assume-records", "500_000_000", *options]) == 0
    said = capsys.readouterr().out
    assert "expected of 500,000,000 records, over parts, 8 workers" in said
    assert "of scratch" in said
    assert "in memory" not in said.replace("as good as `block_size` in memory", "")


def test_too_little_room_for_scratch_is_refused(asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        free = 100_000

    monkeypatch.setattr(foreseen.shutil, "disk_usage", lambda _: Full)
    with pytest.raises(mw.InputError, match=r"expected to write .* on the way, and .* has room for 0\.000"):
        mw.run(asked())
    assert listed(tmp_path) == ["in"]
