"""Missing codes that are published apart count apart: anybody can recount k from the texts of the cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.running.preparation import prepare
from maskwright.foundation.progress import Quiet
from maskwright.masking.promised_classes import class_doubts, smallest_classes
from maskwright.pipeline.reading import read_pipeline

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ["region", "job"]
VARIABLES = """\
    region: {role: quasi_identifier, type: nominal, hierarchy: {groups: [{all: [A, B, C]}]}}
    job: {role: quasi_identifier, type: nominal, missing: {-1: does not apply, -9: refused}}
"""


def people() -> pd.DataFrame:
    """Blanks and two codes, of which -9 is rare in every region."""
    rng = np.random.default_rng(4)
    job = rng.choice(["1", "2", "-1", ""], 400, p=[0.4, 0.4, 0.15, 0.05])
    job[::45] = "-9"
    return pd.DataFrame({"region": rng.choice(["A", "B", "C"], 400), "job": job, "x": rng.integers(0, 9, 400)})


def recounted(path: Path, keys: list[str] = KEYS) -> pd.Series:
    published = pd.read_csv(path, dtype=str, keep_default_na=False)
    return published.groupby(keys).size()


def released(folder: Path, step: str, more: str = "", frame: pd.DataFrame | None = None) -> mw.RunResult:
    (people() if frame is None else frame).to_csv(folder / "in.csv", index=False)
    path = folder / "p.yaml"
    path.write_text(
        f"maskwright: 1\ndata:\n  source: in.csv\n  variables:\n{VARIABLES}    x: {{role: other}}\n"
        f"protect:\n  - {step}\n{more}measure: [k_anonymity]\noutput: {{data: out.csv}}\nseed: 1\n",
        encoding="utf-8",
    )
    return mw.run(path)


@pytest.mark.parametrize(
    "step",
    [
        "{method: local_suppression, params: {k: 5}}",
        "{method: local_suppression, params: {k: 5, key_sets: {both: [region, job]}}}",
        "{method: local_suppression, params: {k: 5, keys: [job]}}",
        "{method: record_suppression, params: {k: 5}}",
        "{method: generalisation, params: {k: 6, suppression_limit: 0.2, levels: {region: 0}}}",
        "{method: generalisation, params: {k: 30, suppression_limit: 0.5, loss: lm}}",
    ],
)
def test_k_holds_by_the_texts_of_the_cells(tmp_path: Path, step: str) -> None:
    keys = ["job"] if "[job]" in step else KEYS
    result = released(tmp_path, step)
    classes = recounted(tmp_path / "out.csv", keys)
    assert classes.min() >= (30 if "30" in step else 5)
    assert result.record["measures"]["k_anonymity"]["value"] == recounted(tmp_path / "out.csv").min()
    assert result.record["k"]["quasi_identifiers"]["smallest"] == recounted(tmp_path / "out.csv").min()


def test_a_rare_code_becomes_what_suppressed_cells_are(tmp_path: Path) -> None:
    """Of job nothing else goes: the column loses codes alone, and is not written as the file held it."""
    result = released(tmp_path, "{method: local_suppression, params: {k: 12, keys: [job]}}")
    before, after = people()["job"], pd.read_csv(tmp_path / "out.csv", dtype=str, keep_default_na=False)["job"]
    assert (before == "-9").sum() == 9
    assert (after[before == "-9"] == "").all()
    assert (after[before != "-9"] == before[before != "-9"]).all()
    messages = [each["message"] for each in result.record["notices"]]
    assert any("9 missing codes of job published as suppressed cells" in each for each in messages)


def test_measures_count_codes_apart(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "in.csv", index=False)
    data = mw.read(
        tmp_path / "in.csv",
        variables={
            "region": {"role": "quasi_identifier", "type": "nominal"},
            "job": {"role": "quasi_identifier", "type": "nominal", "missing": ["-1", "-9"]},
        },
    )
    found = mw.measure(data, data, ["k_anonymity", "uniqueness", "individual_risk", "suda"])
    counts = people().groupby(KEYS)["x"].transform("size")
    assert found["k_anonymity"].value == counts.min()
    np.testing.assert_array_equal(found["k_anonymity"].per_record, 100.0 / counts)
    np.testing.assert_allclose(found["individual_risk"].per_record, 1.0 / counts)


def test_a_matching_count_may_pool_codes(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "in.csv", index=False)
    declared = {"type": "nominal", "missing": ["-1", "-9"]}
    data = mw.read(tmp_path / "in.csv", variables={"job": declared, "region": {"type": "nominal"}})
    keys = {"keys": KEYS}
    own = mw.measure(data, data, [{"individual_risk": keys}])["individual_risk"].per_record
    wild = mw.measure(data, data, [{"individual_risk": {**keys, "count": "wildcard"}}])["individual_risk"].per_record
    assert (wild[people()["job"] == "-9"] < own[people()["job"] == "-9"]).all()


def test_a_class_of_keys_below_its_promise_is_a_doubt_also_with_missing_cells(tmp_path: Path) -> None:
    people().to_csv(tmp_path / "in.csv", index=False)
    path = tmp_path / "p.yaml"
    path.write_text(
        f"maskwright: 1\ndata:\n  source: in.csv\n  variables:\n{VARIABLES}"
        "protect:\n  - {method: local_suppression, variables: [region, job], params: {k: 5}}\n"
        "output: {data: out.csv}\n",
        encoding="utf-8",
    )
    ready = prepare(read_pipeline(path), Quiet())
    k = smallest_classes(ready.original, ready.plan)
    gaps = {column.name for column in ready.original if column.missing.any()}
    (doubt,) = class_doubts(ready.plan, gaps, k["groups"])
    assert doubt.kind == "promise-not-kept"
    assert f"the smallest class has {people().groupby(KEYS).size().min()}" in doubt.message


def test_an_edit_on_a_code_that_is_suppressed_holds_no_more_and_is_a_doubt(tmp_path: Path) -> None:
    """Whoever refused is 8 by the rule, which is not published of the records where the code is gone."""
    step = "{method: local_suppression, params: {k: 12, keys: [job]}}\nedits: ['if x == 8 then job is not \"-1\"']"
    frame = people()
    frame.loc[(frame["x"] == 8) & (frame["job"] == "-1"), "x"] = 7
    waiver = 'waive: [{doubt: suppressed-cells-undecided, variable: job, because: "no rule says who refuses"}]\n'
    with pytest.raises(mw.OpenDoubts, match=r"W303 .*: job: whether .* gives 9 suppressed missing codes away"):
        released(tmp_path, step, frame=frame)
    assert released(tmp_path, step, waiver, frame=frame).ok
