"""What a pipeline lists besides methods and measures: checks of the plan, sections of the report, what comes after."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

WAGES = [7 * place % 40 for place in range(40)]


@pytest.fixture
def write(tmp_path: Path) -> Any:
    """Writer of a pipeline beside its data."""
    pd.DataFrame({"wages": WAGES, "pensions": [40 + each for each in WAGES]}).to_csv(tmp_path / "data.csv", index=False)

    def pipeline(**more: object) -> Path:
        content = {
            "maskwright": 1,
            "data": {"source": "data.csv"},
            "protect": [{"method": "microaggregation", "params": {"k": 4}}],
            "measure": ["pil"],
            "output": {"data": "masked.csv", "report": "report.html", "record": "run.json", "key_map": "keys.csv"},
            "seed": 1,
            **more,
        }
        path = tmp_path / "pipeline.yaml"
        path.write_text(yaml.safe_dump(content), encoding="utf-8")
        return path

    return pipeline


HOUSE_RULES = {
    "k": ({"least_k": 5}, "step 1 promises k = 4, and at least 5 is asked"),
    "measure": ({"measures": ["sse"]}, "the measure sse is required in every release"),
    "threshold": ({"measures": ["pil"]}, "a threshold of pil is required in every release"),
    "output": ({"outputs": ["public_record"]}, "the output public_record is required in every release"),
}


@pytest.mark.parametrize("asked", HOUSE_RULES)
def test_a_plan_against_the_rules_of_the_house_is_refused_before_anything_is_masked(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: str
) -> None:
    params, said = HOUSE_RULES[asked]
    path = write(checks=[{"house_rules": params}])
    assert main(["run", str(path)]) == 1
    assert f"house_rules: {said}" in capsys.readouterr().err
    assert not (tmp_path / "masked.csv").exists()
    assert main(["plan", str(path), "--json"]) == 1
    found = json.loads(capsys.readouterr().out)["checks"]
    assert [(each["check"], each["refuses"], each["message"]) for each in found] == [("house_rules", True, said)]
    assert main(["run", str(write(checks=[{"house_rules": {**params, "only_warn": True}}]))]) == 0
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_plan_that_keeps_the_rules_of_the_house_is_run(write: Any) -> None:
    rules = {"least_k": 4, "measures": ["pil"], "outputs": ["report"], "no_waivers": True}
    assert mw.run(write(checks=[{"house_rules": rules}], thresholds={"pil": 100})).record["ok"]


def test_noise_promises_no_k(write: Any) -> None:
    noise = [{"method": "additive_noise", "params": {"p": 0.1}}]
    with pytest.raises(mw.PlanRefused, match="no step promises a k"):
        mw.run(write(checks=[{"house_rules": {"least_k": 3}}], protect=noise))


def test_the_section_on_methods_is_in_the_record_and_the_report(write: Any, tmp_path: Path) -> None:
    record = mw.run(write(sections=["methodology"])).record
    (section,) = record["sections"]
    assert section["rows"][0][:3] == ["1", "microaggregation", "wages, pensions"]
    assert "Domingo-Ferrer" in section["rows"][0][3]
    assert set(section["figures"][0]["values"]) == {"wages", "pensions"}
    shown = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert ">Methods</h2>" in shown
    assert "pil by variable" in shown


def test_check_sums_of_what_may_be_passed_on(write: Any, tmp_path: Path) -> None:
    mw.run(write(after=["checksums"]))
    lines = (tmp_path / "SHA256SUMS").read_text(encoding="utf-8").splitlines()
    found = dict(reversed(line.split("  ")) for line in lines)
    assert sorted(found) == ["masked.csv", "report.html"]
    for name, expected in found.items():
        assert hashlib.sha256((tmp_path / name).read_bytes()).hexdigest() == expected


def test_an_action_that_cannot_be_done_takes_nothing_back(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(after=[{"checksums": {"file": "masked.csv"}}])
    assert main(["run", str(path)]) == 2
    assert "name another for the check sums" in capsys.readouterr().err
    assert len(pd.read_csv(tmp_path / "masked.csv")) == 40
    assert not list(tmp_path.glob(".masked.csv.*"))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"checks": ["house_rule"]}, "did you mean 'house_rules'"),
        ({"checks": "house_rules"}, "expected a list of plan checks"),
        ({"checks": [{"house_rules": {"least": 3}}]}, "least_k"),
        ({"checks": [{"house_rules": {"least_k": 1}}]}, "least_k"),
        ({"sections": ["methods"]}, "no report section called 'methods'"),
        ({"sections": [["methodology"]]}, "expected the name of a report section"),
        ({"after": ["checksum"]}, "did you mean 'checksums'"),
        ({"after": [{"checksums": {"file": "../sums"}}]}, "file"),
    ],
)
def test_mistakes_are_told_before_the_run(
    write: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str], more: dict[str, Any], said: str
) -> None:
    assert main(["run", str(write(**more))]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "masked.csv").exists()


@pytest.mark.waived("promise-not-kept")
def test_levels_are_checked_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from maskwright.commands.demo.levels.files import write_levels_demo

    files = write_levels_demo(tmp_path, households=60)
    settings = yaml.safe_load((files.flat.parent / "flat.yaml").read_text(encoding="utf-8"))
    settings |= {"checks": [{"house_rules": {"least_k": 7}}], "after": ["checksums"], "sections": ["methodology"]}
    settings.pop("thresholds", None)
    path = files.flat.parent / "house.yaml"
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert main(["run", str(path)]) == 1
    assert "step 2 promises k = 5" in capsys.readouterr().err
    settings["checks"] = [{"house_rules": {"least_k": 5}}]
    path.write_text(yaml.safe_dump(settings), encoding="utf-8")
    record = mw.run(path).record
    assert len(record["sections"][0]["rows"]) == 2
    assert (tmp_path / "SHA256SUMS").exists()
