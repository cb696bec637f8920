"""Runs over parts, checked by other means: pandas on what was released, and runs of the same data in memory."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from parted_world import GROUPS, pipeline, read_parts, survey, write_parts, write_pipeline

import maskwright as mw
from maskwright.cli.main import main
from maskwright.cli.show.explain import explain
from maskwright.commands.parted import finishing_stages, planning
from maskwright.foundation.processes.signals import Interrupted
from maskwright.foundation.progress import Quiet, silent
from maskwright.plugins.registry import plugins
from maskwright.release.work_folders import scratch_folder

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright.foundation.progress import Progress

PARTS, SIZE = 4, 500
RECORDS = PARTS * SIZE
NAMES = tuple(name for group in GROUPS for name in group)


@dataclass(frozen=True)
class Finished:
    """A run over parts of as many records as its blocks."""

    folder: Path
    original: pd.DataFrame
    masked: pd.DataFrame
    record: dict[str, Any]


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("parted")
    original = survey(RECORDS, seed=14)
    write_parts(original, folder / "in", PARTS)
    result = mw.run(pipeline(folder / "in", folder / "out", execution={"engine": "local", "block_size": SIZE}))
    return Finished(folder, original, read_parts(folder / "out", PARTS), dict(result.record))


def test_every_edit_holds_in_every_record(finished: Finished) -> None:
    masked = finished.masked
    assert (masked.wages + masked.tax == masked.gross).all()
    assert (masked.rent + masked.other == masked.cost).all()
    assert masked.age.between(0, 120).all()
    assert (masked.benefit[masked.sex == "M"] == 0).all()
    assert all(edit["violations"] == 0 for edit in finished.record["edits"])


def test_clusters_have_k_records(finished: Finished) -> None:
    for group in GROUPS[:2]:
        assert finished.masked.groupby(list(group)).size().min() >= 3


def test_the_k_report_counts_as_pandas_does(finished: Finished) -> None:
    for found in finished.record["k"]["groups"]:
        sizes = finished.masked.groupby(list(found["variables"]), dropna=False).size()
        assert found["smallest"] == sizes.min()
        assert found["below"] == sizes[sizes < 3].sum()


def test_unmasked_columns_missing_cells_and_order_are_those_of_the_original(finished: Finished) -> None:
    for name in ("sex", "region", "number"):
        assert finished.masked[name].tolist() == finished.original[name].tolist()
    assert finished.masked.hours.isna().tolist() == finished.original.hours.isna().tolist()
    for number in range(PARTS):
        assert len(pd.read_parquet(finished.folder / "out" / f"part-{number}.parquet")) == SIZE


def test_violations_on_arrival_are_counted_over_all_parts(finished: Finished) -> None:
    broken = int(((finished.original.sex == "M") & (finished.original.benefit > 0)).sum())
    assert broken > 0
    (benefit,) = [edit for edit in finished.record["edits"] if edit["name"] == "benefit"]
    assert benefit["violations_on_arrival"] == broken


def test_nothing_is_left_on_the_way(finished: Finished) -> None:
    assert sorted(each.name for each in finished.folder.iterdir()) == ["in", "out", "out.json"]


def test_measures_are_those_of_the_file_in_memory(finished: Finished) -> None:
    names = list(NAMES)
    found = mw.measure(
        finished.original[names], finished.masked[names], ["sse", "il1s", "structural_zeros", "higher_moments"]
    )
    for label, expected in found.items():
        measured = finished.record["measures"][label]
        assert measured["value"] == pytest.approx(expected.value, rel=1e-9)
        for name, value in expected.per_variable.items():
            assert measured["per_variable"][name] == pytest.approx(value, rel=1e-9)


def test_each_method_and_measure_has_a_row() -> None:
    page = explain("scale")
    for name in (*plugins().methods, *plugins().measures):
        assert f"\n{name} " in page


def test_drift_is_that_of_the_sums(finished: Finished) -> None:
    drift = finished.record["moment_drift"]
    assert 0 <= drift["mean"]["sd"] < 0.1


def test_values_do_not_depend_on_the_number_of_files(tmp_path: Path) -> None:
    original, found = survey(2_400), []
    for parts in (2, 5):
        write_parts(original, tmp_path / f"in{parts}", parts)
        execution = {"engine": "local", "block_size": 1_000}
        mw.run(pipeline(tmp_path / f"in{parts}", tmp_path / f"out{parts}", execution=execution))
        found.append(read_parts(tmp_path / f"out{parts}", parts))
    pd.testing.assert_frame_equal(*found)


def test_bytes_do_not_depend_on_the_engine(finished: Finished, tmp_path: Path) -> None:
    execution = {"engine": "processes", "workers": 2, "block_size": SIZE}
    mw.run(pipeline(finished.folder / "in", tmp_path / "out", execution=execution))
    assert _hashes(tmp_path / "out") == _hashes(finished.folder / "out")


def _hashes(folder: Path) -> dict[str, str]:
    return {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sorted(folder.glob("*.parquet"))}


def test_the_record_says_how_it_was_cut(finished: Finished) -> None:
    assert f"blocks of about {SIZE} records" in finished.record["mode"]
    cut = finished.record["cut"]
    assert (cut["engine"], cut["parts"], cut["sampled"]) == ("local", PARTS, RECORDS)
    assert [len(each["tree"]) for each in cut["groups"]] == [64] * 3
    assert all(0.8 * SIZE <= each["largest"] <= SIZE for each in cut["groups"])
    assert set(cut["measures"].values()) == {"exact"}


def _small(tmp_path: Path, **changes: Any) -> dict[str, object]:
    write_parts(survey(3_000), tmp_path / "in", 3)
    return pipeline(tmp_path / "in", tmp_path / "out", **changes)


def test_edits_across_groups_are_kept_record_by_record(tmp_path: Path) -> None:
    steps = [
        {
            "method": "microaggregation",
            "params": {"k": 3, "k_guarantee": "report"},
            "groups": [["wages", "rent"], ["tax", "other"], ["gross", "cost"], ["age", "hours", "benefit"]],
        }
    ]
    mw.run(_small(tmp_path, protect=steps, execution={"engine": "local", "block_size": 500}))
    masked = read_parts(tmp_path / "out", 3)
    assert (masked.wages + masked.tax == masked.gross).all()
    assert (masked.rent + masked.other == masked.cost).all()


def test_domain_edits_look_at_all_parts(tmp_path: Path) -> None:
    settings = _small(tmp_path, edits=["age in original", "wages + tax == gross"])
    mw.run(settings)
    original, masked = read_parts(tmp_path / "in", 3), read_parts(tmp_path / "out", 3)
    assert set(masked.age) <= set(original.age)


def test_several_steps_follow_each_other(tmp_path: Path) -> None:
    others = [name for name in NAMES if name not in ("age", "hours")]
    steps = [
        {
            "method": "microaggregation",
            "params": {"k": 3, "k_guarantee": "report"},
            "groups": [["age", "hours"], *([name] for name in others)],
        },
        {"method": "microaggregation", "params": {"k": 5, "k_guarantee": "report"}, "variables": ["age", "benefit"]},
    ]
    mw.run(_small(tmp_path, protect=steps, edits=["age in [0, 120]"]))
    masked = read_parts(tmp_path / "out", 3)
    assert masked.groupby(["age", "benefit"]).size().min() >= 5


@pytest.mark.waived("spike-lost")
def test_record_local_steps_are_those_of_the_file_in_memory(tmp_path: Path) -> None:
    steps = [
        {"method": "multiplicative_noise", "variables": [*GROUPS[0], *GROUPS[1], "benefit"]},
        {"method": "rounding", "params": {"base": 10, "kind": "random"}, "variables": ["age", "hours"]},
        {"method": "additive_noise", "params": {"sd": 25}, "variables": ["wages", "benefit"]},
        {"method": "top_and_bottom_coding", "params": {"top": 70, "bottom": 20}, "variables": ["hours"]},
    ]
    settings = _small(tmp_path, protect=steps, edits=["age in [0, 120]"])
    mw.run(settings)
    mw.run({**settings, "output": {"data": f"{tmp_path / 'memory'}/"}, "execution": {}})
    assert _hashes(tmp_path / "out") == _hashes(tmp_path / "memory")


def test_the_form_of_numbers_does_not_tell_in_which_parts_none_was_changed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    for number, cells in enumerate((["10.50", "20.5", "30.000"], ["11.30", "22.7", "33.100"])):
        rows = "".join(f"{cell},{at}\n" for at, cell in enumerate(cells * 20))
        (tmp_path / "in" / f"part-{number}.csv").write_text(f"net,number\n{rows}")
    settings = {
        "maskwright": 1,
        "data": {
            "source": str(tmp_path / "in"), "variables": {"number": {"role": "other", "release": "as is"}},
        },
        "protect": [{"method": "rounding", "variables": ["net"], "params": {"base": 0.5}}],
        "seed": 1,
    }  # fmt: skip
    for name, execution in (("out", {"engine": "local", "block_size": 50}), ("memory", {})):
        mw.run({**settings, "output": {"data": f"{tmp_path / name}/"}, "execution": execution})
    found = [(tmp_path / name / f"part-{number}.csv").read_text() for number in (0, 1) for name in ("out", "memory")]
    assert found[0] == found[1]
    assert found[2] == found[3]
    assert found[0].splitlines()[1:4] == ["10.5,0", "20.5,1", "30,2"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"edits": ["(region, age) in original"]}, "ties masked variables to unmasked ones"),
        ({"output": {"data": "out.parquet"}}, "out.parquet is one file, and the data have 3 parts"),
        ({"output": {"data": "out/", "format": "csv"}}, "the format is another than that of the parts"),
    ],
)
def test_what_takes_all_records_runs_in_one_process_by_name(
    changes: dict[str, Any], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = _small(tmp_path, **changes)
    plan = mw.plan_pipeline(settings)
    (notice,) = (each["message"] for each in plan["notices"] if each["kind"] == "over-parts")
    assert notice.startswith("all records are in one process")
    assert said in notice
    assert plan["costs"]["fits"]
    assert "workers" not in plan["costs"]
    assert any(said in each for each in plan["costs"]["in_one_process"])


@pytest.mark.parametrize("with_data", [True, False])
def test_a_plan_says_that_one_process_is_too_small_and_what_it_is_taken_for(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], *, with_data: bool
) -> None:
    settings = _small(tmp_path, release={"order": "random"}, execution={"engine": "local", "memory_limit": "2GB"})
    path = write_pipeline(tmp_path / "pipeline.yaml", settings)
    options = [] if with_data else ["--no-data"]
    costs = mw.plan_pipeline(path, with_data=with_data, assume_records=50_000_000)["costs"]
    assert not costs["fits"]
    assert costs["in_one_process"] == ["release: order: random (any record may go to any part)"]
    assert main(["plan", str(path), "--assume-records", "50_000_000", *options]) == 0
    assert "take a larger memory_limit, a sample of the records" in " ".join(capsys.readouterr().out.split())


def test_a_plan_says_what_runs_in_which_form(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_pipeline(tmp_path / "pipeline.yaml", _small(tmp_path))
    assert main(["plan", str(path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "method microaggregation: block, blocked" in said
    assert "measure sse: global, exact" in said


def test_what_an_earlier_run_left_of_the_same_output_goes_when_all_records_are_in_one_process(tmp_path: Path) -> None:
    settings = _small(tmp_path, release={"order": "random"})
    with (
        pytest.raises(Interrupted),
        scratch_folder(tmp_path, tmp_path / "out", "earlier", resume=True, reporter=Quiet()),
    ):
        raise Interrupted(15)
    (left,) = tmp_path.glob(".scratch-*")
    (left / "records").write_text("confidential")
    mw.run(settings, resume=True)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in", "out", "out.json"]


def test_one_file_of_several_parts_is_that_of_a_run_in_memory(tmp_path: Path) -> None:
    settings = _small(tmp_path, output={"data": str(tmp_path / "out.parquet")})
    mw.run(settings)
    in_memory = {"execution": {"block_size": 5_000}, "output": {"data": str(tmp_path / "memory.parquet")}}
    mw.run(settings | in_memory)
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "memory.parquet").read_bytes()


def test_a_missed_threshold_releases_nothing(tmp_path: Path) -> None:
    with pytest.raises(mw.ThresholdMissed):
        mw.run(_small(tmp_path, thresholds={"sse": 0.0}))
    assert sorted(each.name for each in tmp_path.iterdir()) == ["in"]


def test_a_part_without_records_keeps_its_place(tmp_path: Path) -> None:
    settings = _small(tmp_path)
    pd.read_parquet(tmp_path / "in" / "part-0.parquet").head(0).to_parquet(
        tmp_path / "in" / "part-1.parquet", index=False
    )
    mw.run(settings)
    masked = read_parts(tmp_path / "out", 3)
    assert len(masked) == 2_000
    assert np.array_equal(masked.number, read_parts(tmp_path / "in", 3).number)


def test_missing_codes_that_one_part_has(tmp_path: Path) -> None:
    frame = survey(900)[["wages", "tax", "gross", "region"]].astype({"wages": str, "tax": str})
    frame.loc[[*range(10), *range(40, 60)], "tax"] = ["NA", "-9"] * 15
    frame.region = frame.region.replace("south", "León")
    (tmp_path / "in").mkdir()
    written = {"sep": ";", "encoding": "latin-1", "index": False}
    for number, rows in enumerate(np.array_split(np.arange(900), 3)):
        frame.iloc[rows].to_csv(tmp_path / "in" / f"part-{number}.csv", **written)
    settings = pipeline(
        tmp_path / "in", tmp_path / "out", edits=["wages + tax == gross"], measure=["sse"],
        execution={"engine": "local", "block_size": 200},
        protect=[{"method": "microaggregation", "params": {"k": 3}, "variables": ["wages", "tax", "gross"]}],
    )  # fmt: skip
    settings["data"] = {
        "source": str(tmp_path / "in" / "*.csv"), "encoding": "latin-1", "delimiter": ";",
        "variables": {"tax": {"missing": ["NA", -9]}, "region": {"role": "other"}},
    }  # fmt: skip
    mw.run(settings)
    parts = [tmp_path / "out" / f"part-{number}.csv" for number in range(3)]
    masked = pd.concat(
        [pd.read_csv(each, sep=";", encoding="latin-1", keep_default_na=False, dtype=str) for each in parts]
    )
    masked = masked.reset_index(drop=True)
    said = frame.tax.isin(["NA", "-9"])
    assert (masked.tax[said] == frame.tax[said]).all()
    assert not masked.tax[~said].isin(["NA", "-9", ""]).any()
    assert (masked.region == frame.region).all()
    numbers = masked[~said][["wages", "tax", "gross"]].astype(int)
    assert (numbers.wages + numbers.tax == numbers.gross).all()


def test_an_average_of_fewer_than_k_in_a_block_is_not_released(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"wages": rng.lognormal(8, 1, 1_500).round(2), "rare": np.nan})
    frame.loc[rng.choice(1_500, 12, replace=False), "rare"] = rng.lognormal(7, 1, 12).round(2)
    write_parts(frame, tmp_path / "in", 3)
    params = {"k": 5, "missing": "available_cases"}
    settings = pipeline(
        tmp_path / "in", tmp_path / "out", edits=[], measure=["sse"],
        execution={"engine": "local", "block_size": 250},
        protect=[{"method": "microaggregation", "params": params, "variables": ["wages", "rare"]}],
    )  # fmt: skip
    settings["data"] = {"source": str(tmp_path / "in")}
    with pytest.raises(mw.OpenDoubts, match="in some blocks fewer than k = 5 records have a value of rare"):
        mw.run(settings)
    assert not (tmp_path / "out").exists()


def _fail(*_: object) -> dict[str, object]:
    raise RuntimeError("no count")


def test_a_run_that_was_cut_off_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = _small(tmp_path)
    mw.run({**settings, "output": {"data": f"{tmp_path / 'undisturbed'}/"}})
    with monkeypatch.context() as patched:
        patched.setattr(finishing_stages, "count_classes", _fail)
        with pytest.raises(mw.TaskFailed):
            mw.run(settings)
    assert not (tmp_path / "out").exists()
    (scratch,) = tmp_path.glob(".scratch-maskwright-*")
    masked = {file: file.stat().st_mtime_ns for file in scratch.glob("mask-*/*/masked.records")}
    assert masked
    told = Told()
    mw.run(settings, reporter=told, resume=True)
    assert any("resuming" in notice for notice in told.notices)
    assert _hashes(tmp_path / "out") == _hashes(tmp_path / "undisturbed")
    assert not scratch.exists()


class Told:
    """Reporter that keeps the notices."""

    def __init__(self) -> None:
        self.notices: list[str] = []

    def stage(self, _: str) -> Progress:
        """Nobody is told."""
        return silent

    def notice(self, text: str) -> None:
        """Keep it."""
        self.notices.append(text)


WITHIN = {
    "method": "microaggregation", "params": {"k": 5}, "variables": ["wages", "tax", "gross"],
    "within": ["region", "area"],
}  # fmt: skip


@pytest.mark.parametrize("sampled", [False, True])
def test_clusters_within_strata_are_those_of_a_run_in_memory(
    tmp_path: Path, sampled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Strata that fit in a block are masked as in memory; which of them are small, all parts say."""
    if sampled:
        monkeypatch.setattr(planning, "SAMPLE", 300)
    frame = survey(2_000)[["wages", "tax", "gross", "region"]]
    rng = np.random.default_rng(5)
    frame["area"] = np.where(rng.random(2_000) < 0.005, rng.choice(["p", "q"], 2_000), rng.choice(["a", "b"], 2_000))
    write_parts(frame, tmp_path / "in", 4)
    done = {}
    for name, execution in (("memory", {}), ("parts", {"engine": "local", "block_size": 1_000})):
        settings = pipeline(
            tmp_path / "in", tmp_path / name, protect=[WITHIN], edits=["wages + tax == gross"], measure=[]
        )
        settings["data"] = {
            "source": str(tmp_path / "in"),
            "variables": {name: {"role": "other"} for name in ("region", "area")},
        }
        done[name] = mw.run(settings | {"execution": execution})
    masked = read_parts(tmp_path / "parts", 4)
    pd.testing.assert_frame_equal(masked, read_parts(tmp_path / "memory", 4), check_exact=True)
    assert masked.groupby(["wages", "tax", "gross"]).size().min() >= 5
    counts = frame.groupby(["region", "area"]).size()
    said = [
        [(each["count"], each["total"]) for each in run.record["notices"] if each["kind"] == "small-strata"]
        for run in done.values()
    ]
    assert said == [[((counts < 5).sum(), len(counts))]] * 2
    large = counts[counts >= 5].index
    original, sums = frame.groupby(["region", "area"])["wages"].sum(), masked.groupby(["region", "area"])["wages"].sum()
    joined = (original - sums).abs()[large] / counts[large]
    assert (joined < 1).sum() >= len(large) - (counts < 5).sum()


def test_strata_of_numbers_without_decimals_are_made_in_one_process(tmp_path: Path) -> None:
    frame = survey(500)[["wages", "tax", "gross", "region"]]
    frame["area"] = np.random.default_rng(1).choice([1 / 3, 1 / 7], 500)
    write_parts(frame, tmp_path / "in", 2)
    settings = pipeline(tmp_path / "in", tmp_path / "out", protect=[WITHIN], edits=[], measure=[])
    settings["data"] = {
        "source": str(tmp_path / "in"),
        "variables": {name: {"role": "other"} for name in ("region", "area")},
    }
    said = [each["message"] for each in mw.run(settings).record["notices"] if each["kind"] == "over-parts"]
    assert said[0].endswith("in memory: within: area has numbers of any precision")
    masked = read_parts(tmp_path / "out", 2)
    assert masked.groupby("area").wages.mean().to_numpy() == pytest.approx(frame.groupby("area").wages.mean(), abs=1)
