"""Risk before and after, in every report; thresholds for parts of measures; files that parameters name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

ROLES = {name: {"type": "nominal", "role": "quasi_identifier"} for name in ("region", "sex", "job")}


def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {name: rng.choice(list("abcd"[:size]), 90) for name, size in zip(ROLES, (4, 2, 4), strict=True)}
    )


def pipeline(folder: Path, measures: str, thresholds: str = "{}") -> Path:
    people().to_csv(folder / "d.csv", index=False)
    declared = "".join(f"    {name}: {{type: nominal, role: quasi_identifier}}\n" for name in ROLES)
    (folder / "p.yaml").write_text(
        f"maskwright: 1\ndata:\n  source: d.csv\n  variables:\n{declared}"
        "protect: [{method: record_suppression, params: {k: 5}}]\n"
        f"measure: {measures}\nthresholds: {thresholds}\nseed: 1\n"
        "output: {data: m.csv, report: r.html, record: run.json, public_record: about.json}\n",
        encoding="utf-8",
    )
    return folder / "p.yaml"


def test_a_measure_of_one_file_is_computed_on_the_original_too() -> None:
    data = people()
    masked = data.assign(job="a")
    (found,) = mw.measure(data, masked, ["k_anonymity"], declared=ROLES).values()
    (before,) = mw.measure(data, data, ["k_anonymity"], declared=ROLES).values()
    assert found.before is not None
    assert (found.before.value, dict(found.before.parts)) == (before.value, dict(before.parts))
    assert found.value > found.before.value
    assert "region, sex and job" in found.sentence


def test_linkage_has_no_before() -> None:
    data = pd.DataFrame({"age": [20.0, 30, 40], "wage": [1.0, 5, 9]})
    (found,) = mw.measure(data, data, ["distance_record_linkage"]).values()
    assert found.before is None


def test_a_key_that_is_left_out_counts_before(tmp_path: Path) -> None:
    """Dropping a quasi-identifier is protection too: before, the intruder has it."""
    people().to_csv(tmp_path / "d.csv", index=False)
    data = mw.read(tmp_path / "d.csv", variables=ROLES)
    (found,) = mw.measure(data, data.without(["job"]), ["k_anonymity"]).values()
    (before,) = mw.measure(data, data, ["k_anonymity"]).values()
    assert found.before is not None
    assert found.before.value == before.value < found.value


def test_reports_show_before_and_after_and_the_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = pipeline(tmp_path, "[individual_risk, {k_anonymity: {k: 5}}]")
    assert main(["run", str(path)]) == 0
    shown = capsys.readouterr().out
    (head,) = [line for line in shown.splitlines() if line.startswith("measure ")]
    assert "before" in head
    assert "individual_risk: If an intruder who knows region, sex and job tried" in " ".join(shown.split())
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    found = record["measures"]["k_anonymity"]
    assert found["value"] >= 5 > found["before"]["value"]
    assert found["before"]["parts"]["below_k"] > found["parts"]["below_k"] == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "before masking" in page
    assert found["sentence"] in page
    assert "(before" in page
    public = (tmp_path / "about.json").read_text(encoding="utf-8")
    assert "before" not in public
    assert found["sentence"] not in public


def test_measure_of_files_prints_both(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = people()
    data.to_csv(tmp_path / "d.csv", index=False)
    data.assign(job="a").to_csv(tmp_path / "m.csv", index=False)
    asked = ["--measure", "uniqueness", "--set", "uniqueness.keys=[region,sex,job]"]
    assert main(["measure", str(tmp_path / "d.csv"), str(tmp_path / "m.csv"), *asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["measures"]["uniqueness"]
    assert found["before"]["value"] > found["value"] == 0.0


def test_a_part_above_its_threshold_stops_the_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = pipeline(tmp_path, "[individual_risk: {bound: [0.05, 0.9]}]", "{individual_risk.share_above_0_05: 1}")
    assert main(["run", str(path)]) == 1
    told = capsys.readouterr()
    assert "individual_risk.share_above_0_05 is 100; the threshold is at most 1" in told.err
    assert "1 threshold missed (individual_risk.share_above_0_05)" in told.out
    assert not (tmp_path / "m.csv").exists()
    path.write_text(path.read_text(encoding="utf-8").replace("share_above_0_05: 1", "share_above_0_9: 1"))
    assert main(["run", str(path)]) == 0
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert record["measures"]["individual_risk"]["part_thresholds"] == {
        "share_above_0_9": {"threshold": 1.0, "direction": "lower", "met": True}
    }
    assert "threshold of share_above_0_9" in (tmp_path / "r.html").read_text(encoding="utf-8")


def test_a_part_goes_its_own_way(tmp_path: Path) -> None:
    """Of k_anonymity more is better, of its part below_k less."""
    sets = "[k_anonymity: {k: 5, key_sets: {near: [region, sex], all: [region, sex, job]}}]"
    assert main(["run", str(pipeline(tmp_path, sets, "{k_anonymity.below_k: 0, k_anonymity.keys_near: 5}"))]) == 0
    assert main(["run", str(pipeline(tmp_path, sets, "{k_anonymity.keys_near: 50}"))]) == 1


@pytest.mark.parametrize(
    ("measures", "thresholds", "said"),
    [
        (
            "[individual_risk]",
            "{individual_risk.share_above_0_5: 1}",
            "did you mean 'individual_risk.share_above_0_05'?",
        ),
        ("[individual_risk]", "{individual_risk.share_above_0_05: 101}", "outside the measure's range, 0 to 100"),
        ("[k_anonymity]", "{k_anonymty.below_k: 0}", "did you mean 'k_anonymity'?"),
        ("[distance_record_linkage]", "{distance_record_linkage.x: 0}", "are for its value"),
        ("[k_anonymity: {key_sets: {near: [regoin]}}]", "{}", "did you mean 'region'?"),
        ("[k_anonymity: {keys: [sex], key_sets: {near: [region]}}]", "{}", "give `keys` or `key_sets`, not both"),
        ("[k_map: {population: nobody.csv}]", "{}", "there is no population file 'nobody.csv'"),
        ("[individual_risk: {bound: 1.5}]", "{}", "bound"),
    ],
)
def test_mistakes_are_told_with_what_is_meant(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], measures: str, thresholds: str, said: str
) -> None:
    assert main(["plan", str(pipeline(tmp_path, measures, thresholds))]) == 2
    assert said in " ".join(capsys.readouterr().err.split())


def test_a_population_file_is_found_beside_the_pipeline_and_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    people().to_csv(tmp_path / "register.csv", index=False)
    path = pipeline(tmp_path, "[k_map: {population: register.csv}]")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert main(["run", str(path)]) == 0
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    found = record["measures"]["k_map"]
    sizes = people().groupby(list(ROLES)).size()
    assert (found["value"], found["before"]["value"]) == (sizes[sizes >= 5].min(), sizes.min())
    assert found["params"]["population"] == "register.csv"
    (used,) = [each for each in record["inputs"] if each["role"] == "measure"]
    assert used["file"] == "register.csv"
    assert str(tmp_path) not in json.dumps(record["measures"])


def test_a_population_without_the_people_of_the_file_is_an_error_of_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = people()
    data[data["region"] != "a"].to_csv(tmp_path / "register.csv", index=False)
    assert main(["run", str(pipeline(tmp_path, "[k_map: {population: register.csv}]"))]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "records have keys that no record of the population file has" in told
