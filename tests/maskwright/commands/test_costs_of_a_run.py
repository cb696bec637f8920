"""Plans say what a run takes; what cannot fit is refused before it begins."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.plan import plan_pipeline
from maskwright.commands.running import cost_estimates
from maskwright.foundation.processes.resources import bytes_of, memory
from maskwright.pipeline.reading import read_pipeline
from maskwright.planning.costs import reading_costs

if TYPE_CHECKING:
    from pathlib import Path

N = 150_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("costs")
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.integers(100, 999, size=(N, 3)), columns=["a", "b", "c"])
    frame.to_csv(found / "data.csv", index=False)
    frame.to_parquet(found / "data.parquet")
    rows = "".join(f"<r><a>{a}</a><b>{b}</b></r>" for a, b in frame[["a", "b"]].head(90_000).itertuples(index=False))
    (found / "data.xml").write_text(f"<t>{rows}</t>")
    return found


def _pipeline(folder: Path, source: str = "data.csv", **execution: object) -> Path:
    record = ", record: r" if source.endswith("xml") else ""
    path = folder / "pipeline.yaml"
    path.write_text(
        f"maskwright: 1\ndata: {{source: {source}{record}, variables: {{a: {{decimals: 0}}}}}}\n"
        "protect: [{method: rounding, params: {base: 5}}]\n"
        f"output: {{data: masked.csv}}\nseed: 1\nexecution: {json.dumps(execution)}\n"
    )
    return path


def test_a_plan_says_memory_and_time_by_stage(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """For the file, and for as many records as are asked about, also without the file."""
    pipeline = _pipeline(folder)
    main(["plan", str(pipeline), "--json"])
    costs = json.loads(capsys.readouterr().out)["costs"]
    assert costs["records"] == N
    assert costs["fits"]
    assert costs["peak_megabytes"] == max(each["megabytes"] for each in costs["stages"])
    assert costs["seconds"] == pytest.approx(sum(each["seconds"] for each in costs["stages"]), abs=0.1)
    main(["plan", str(pipeline), "--assume-records", "500_000_000"])
    shown = capsys.readouterr().out
    assert "expected of 500,000,000 records, in memory" in shown
    assert "More than there is" in shown
    more = plan_pipeline(pipeline, with_data=False, assume_records=2 * N)["costs"]
    assert more["records"] == 2 * N
    assert more["peak_megabytes"] < 600
    assert "costs" not in plan_pipeline(pipeline, with_data=False)


@pytest.mark.parametrize("asked", ["0", "-3", "many", "1.5"])
def test_records_are_a_whole_number(folder: Path, asked: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["plan", str(_pipeline(folder)), f"--assume-records={asked}"])
    assert ended.value.code == 2
    assert "expected a whole number above 0" in capsys.readouterr().err


def test_what_cannot_be_read_is_refused_before_it_is(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A limit below what reading takes: the file is only begun."""
    monkeypatch.setattr(
        "maskwright.commands.running.preparation.load_input", lambda *_, **__: pytest.fail("the file was read")
    )
    with pytest.raises(mw.InputError, match=r"expected to need 0\.3\d+ GB for [\d,]+ records .*memory_limit is 50MB"):
        mw.run(_pipeline(folder, memory_limit="50MB"))
    assert not (folder / "masked.csv").exists()


def test_what_cannot_be_masked_is_refused_after_planning(folder: Path) -> None:
    """Between what reading takes and what the whole run does."""
    read = reading_costs(N, 3).peak.bytes
    limit = f"{read / 1e6 + 3:.1f}MB"
    with pytest.raises(mw.InputError, match="stage: measure") as refused:
        mw.run(_pipeline(folder, memory_limit=limit))
    assert "engine: processes" in str(refused.value)
    assert main(["run", str(_pipeline(folder, memory_limit=limit)), "--quiet"]) == 2


@pytest.mark.parametrize(("source", "records"), [("data.csv", N), ("data.parquet", N), ("data.xml", 90_000)])
def test_the_beginning_of_a_file_tells_how_many_records_it_has(folder: Path, source: str, records: int) -> None:
    data = read_pipeline(_pipeline(folder, source)).data
    found, columns = cost_estimates.shape_of(data)
    assert abs(found / records - 1) < 0.2
    assert columns == (2 if source.endswith("xml") else 3)


@pytest.mark.parametrize(
    ("said", "size"), [("4GB", 4_000_000_000), ("1.5 MiB", 1_572_864), ("300MB", 300_000_000), ("2TB", 2 * 10**12)]
)
def test_amounts_of_memory(said: str, size: int) -> None:
    assert bytes_of(said) == size


@pytest.mark.parametrize(
    ("said", "why"), [("4", "a number and a unit"), ("4 gb", "did you mean GB"), ("0GB", "more than nothing")]
)
def test_wrong_amounts_are_explained(folder: Path, said: str, why: str) -> None:
    with pytest.raises(mw.InputError, match=why):
        mw.run(_pipeline(folder, memory_limit=said))


def test_the_machine_has_memory() -> None:
    found = memory()
    assert found is None or found > 10**8
