"""Which variables a measure looks at, and what is said of those that it leaves out."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.plugins.registry import plugins
from maskwright.release.measures.variable_selection import left_out, names_used

if TYPE_CHECKING:
    from pathlib import Path

RECORDS = 60
TEXTS = ("region", "sex", "job", "status")
VARIABLES = {
    **{name: mw.Variable(name, "nominal", "quasi_identifier") for name in TEXTS},
    "age": mw.Variable("age", "integer", "quasi_identifier"),
    "income": mw.Variable("income", "integer", "confidential"),
}
GIVEN = mw.Measurable(VARIABLES, ("age", "income"))


def write(folder: Path, protect: str, measures: str, more: str = "", roles: str = "") -> Path:
    rng = np.random.default_rng(3)
    columns: dict[str, object] = {name: rng.choice(list("abc"), RECORDS) for name in TEXTS}
    columns |= {"age": rng.integers(18, 90, RECORDS), "income": rng.integers(1000, 90000, RECORDS)}
    pd.DataFrame(columns).to_csv(folder / "d.csv", index=False)
    declared = "".join(f"    {name}: {{role: quasi_identifier, release: as is}}\n" for name in (*TEXTS, "age"))
    (folder / "p.yaml").write_text(
        f"maskwright: 1\ndata:\n  source: d.csv\n  variables:\n{roles or declared}"
        f"protect: [{protect}]\nmeasure: {measures}\n{more}seed: 1\n"
        "output: {data: m.csv, report: r.html, record: run.json, public_record: about.json}\n",
        encoding="utf-8",
    )
    return folder / "p.yaml"


MICRO = "{method: microaggregation, params: {k: 5}}"
PRAM = "{method: pram, variables: [region, sex, job]}"
PRAM_ROLES = (
    "    region: {role: quasi_identifier}\n    sex: {role: other}\n    job: {role: other}\n    status: {role: other}\n"
    "    age: {role: quasi_identifier, release: as is}\n    income: {role: other}\n"
)


def used(name: str, **params: object) -> set[str]:
    measure = plugins().measures[name]
    return set(names_used(measure, measure.params.model_validate(params), GIVEN))


def test_what_each_kind_of_measure_looks_at() -> None:
    assert used("pil") == {"age", "income"}
    assert used("distance_record_linkage", known=["income"]) == {"income"}
    assert used("distance_record_linkage", known=1) == {"age"}
    assert used("distance_record_linkage", scenarios=[["age"], ["income"]]) == {"age", "income"}
    assert used("probabilistic_record_linkage") == {"age", "income"}
    assert used("k_anonymity") == {*TEXTS, "age"}
    assert used("l_diversity", keys=["sex"]) == {"sex", "income"}
    assert used("hellinger", categorical=["region"]) == {"region", "age", "income"}
    assert used("regression_overlap", models=["income ~ age"]) == {"age", "income"}
    assert used("score") == {*TEXTS, "age", "income"}
    assert used("score", linkage="numeric") == {"age", "income"}


def test_a_score_leaves_out_what_any_part_of_it_does() -> None:
    measure = plugins().measures["weighted_score"]
    params = measure.params.model_validate(
        {"components": [{"measure": "uniqueness", "weight": 1}, {"measure": "interval_disclosure", "weight": 1}]}
    )
    found = left_out(measure, params, GIVEN, ("region", "income"))
    assert found.quasi_identifiers == TEXTS
    assert found.masked == ()
    score = plugins().measures["score"]
    assert left_out(score, score.params(), GIVEN, ("region",)).blind == ("pil",)


def test_a_risk_without_the_texts_says_so_beside_its_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, MICRO, "[pil, distance_record_linkage, score, uniqueness]")
    assert main(["run", str(path), "--quiet"]) == 0
    main(["run", str(path)])
    shown = capsys.readouterr().out
    (head,) = [line for line in shown.splitlines() if line.startswith("measure ")]
    assert "leaves out" in head
    assert "region, sex, job" in shown
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    without = {label: found["leaves_out"] for label, found in record["measures"].items()}
    assert without == {"pil": [], "distance_record_linkage": list(TEXTS), "score": [], "uniqueness": []}
    assert record["not_measured"] == []
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert page.count("without region, sex, job, status") == 2  # tile and heading of one measure
    assert "none is the risk of the whole file" in page


def test_a_threshold_on_such_a_risk_is_a_doubt_before_anything_is_masked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, MICRO, "[distance_record_linkage: {as: linkage}]", "thresholds: {linkage: 100}\n")
    assert main(["plan", str(path), "--json"]) == 1
    (doubt,) = json.loads(capsys.readouterr().out)["doubts"]
    assert (doubt["id"], doubt["subject"], doubt["because"]) == ("W401", "linkage", None)
    assert main(["run", str(path)]) == 1
    told = capsys.readouterr().err
    assert "W401 risk-leaves-out-quasi-identifiers: linkage" in told
    assert f"{path.name}:" in told
    assert not (tmp_path / "m.csv").exists()
    path.write_text(
        path.read_text(encoding="utf-8") + "waive: [{doubt: W401, measure: linkage, because: texts are public}]\n",
        encoding="utf-8",
    )
    assert main(["run", str(path)]) == 0
    assert "waived: risk-leaves-out-quasi-identifiers of linkage" in " ".join(capsys.readouterr().out.split())


def test_a_loss_that_sees_no_masked_variable_has_no_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, PRAM, "[pil, hellinger: {categorical: [region]}, score]", roles=PRAM_ROLES)
    assert main(["run", str(path)]) == 0
    assert "not measured: sex, job" in " ".join(capsys.readouterr().out.split())
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    pil, hellinger, score = record["measures"].values()
    assert pil["value"] is None
    assert pil["notes"] == ["not defined: pil uses none of the masked variables"]
    assert score["value"] is None
    assert hellinger["value"] > 0
    assert hellinger["leaves_out"] == ["sex", "job"]
    assert record["not_measured"] == ["sex", "job"]
    assert json.loads((tmp_path / "about.json").read_text(encoding="utf-8"))["not_measured"] == ["sex", "job"]


def test_a_threshold_on_a_loss_that_leaves_out_masked_variables_is_a_doubt(tmp_path: Path) -> None:
    path = write(
        tmp_path, PRAM, "[hellinger: {categorical: [region]}]", "thresholds: {hellinger: 100}\n", roles=PRAM_ROLES
    )
    with pytest.raises(mw.OpenDoubts, match="W403 loss-leaves-out-masked-variables: hellinger") as refused:
        mw.run(path)
    assert "sex, job" in str(refused.value)


def test_two_files_whose_numbers_are_the_same_but_not_their_texts_have_no_loss_of_numbers() -> None:
    declared = {"sex": {"role": "quasi_identifier"}}
    before = pd.DataFrame({"sex": list("mfmf"), "age": [20, 30, 40, 50]})
    after = before.assign(sex=list("ffmm"))
    found = mw.measure(before, after, ["sse", "distance_record_linkage"], declared=declared)
    assert math.isnan(found["sse"].value)
    assert found["sse"].leaves_out == ("sex",)
    assert found["distance_record_linkage"].leaves_out == ("sex",)
    assert mw.measure(before, before, ["sse"], declared=declared)["sse"].value == 0


def test_a_run_that_measures_nothing_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(write(tmp_path, MICRO, "[]"))]) == 0
    assert "not measured: anything" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    ("measure", "said", "at"),
    [
        ("distance_record_linkage: {known: [agee]}", "known: no variable called 'agee'; did you mean 'age'?", "agee"),
        ("l_diversity: {sensitive: [sex]}", "sex is a key variable and sensitive at the same time", "[sex]"),
        ("distance_record_linkage: {known: [sex]}", "'sex' is not among the numeric variables compared", "[sex]"),
        ("distance_record_linkage: {known: 9}", "known is 9, but only 2 variables are compared", "9"),
        ("hellinger: {categorical: [age]}", "'age' is numeric and compared already", "[age]"),
        ("regression_overlap: {models: [income ~ sex]}", "sex not among the numeric variables compared", "[income"),
        ("probabilistic_record_linkage: {cuts: {sex: [1]}}", "cuts are declared for sex, not known variables", "{sex"),
        ("weighted_score: {components: [{measure: t_closeness, weight: 1, params: {sensitive: [sex]}}]}",
         "weighted_score: t_closeness: sex is a key", "weighted_score"),
    ],
)  # fmt: skip
def test_the_plan_knows_what_is_wrong_with_parameters_of_measures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], measure: str, said: str, at: str
) -> None:
    path = write(tmp_path, MICRO, f"[{measure}]")
    assert main(["plan", str(path)]) == 2
    told = capsys.readouterr().err
    lines = path.read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if line.startswith("measure:"))
    assert said in told
    assert f"p.yaml:{number}:{lines[number - 1].index(at) + 1}: " in told


def test_a_measure_of_an_identifier_is_refused_by_the_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path, MICRO, "[uniqueness: {keys: [sex, job]}]")
    text = path.read_text(encoding="utf-8").replace(
        "job: {role: quasi_identifier, release: as is}", "job: {role: identifier}"
    )
    path.write_text(text, encoding="utf-8")
    assert main(["plan", str(path)]) == 2
    assert "uniqueness: keys: 'job' is not published: no measure can look at it" in capsys.readouterr().err
