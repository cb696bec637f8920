"""Steps that take records away change no cell: what they leave is published as it was, and is doubted so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

SAMPLING = {"method": "sampling", "params": {"fraction": 0.5}}
INCOME = {"method": "microaggregation", "variables": ["income"], "params": {"k": 3}}
AS_IS = {"region": {"role": "quasi_identifier", "release": "as is"}, "rent": {"release": "as is"}}


def pipeline(folder: Path, form: str, protect: list[dict[str, Any]], **variables: dict[str, Any]) -> Path:
    """Households with a region, a rent and a weight; persons with an income and a weight."""
    random = np.random.default_rng(4)
    size = random.integers(1, 5, 60)
    upper = pd.DataFrame({"hid": range(60), "region": random.choice(["n", "s"], 60)})
    upper["rent"], upper["hweight"] = random.integers(1, 900, 60), random.integers(2, 9, 60)
    lower = pd.DataFrame({"hid": np.repeat(range(60), size)})
    lower["pno"] = lower.groupby("hid").cumcount() + 1
    lower["income"], lower["weight"] = random.integers(1, 9_000, (2, len(lower)))
    levels: dict[str, Any] = {"household": {"key": "hid"}, "person": {"key": "pno", "in": "household"}}
    data: dict[str, Any] = {"levels": levels}
    output: dict[str, Any] = {"data": {"household": "h.csv", "person": "p.csv"}}
    if form == "linked":
        upper.to_csv(folder / "households.csv", index=False)
        lower.to_csv(folder / "persons.csv", index=False)
        levels["household"]["source"], levels["person"]["source"] = "households.csv", "persons.csv"
    else:
        flat = lower.merge(upper)
        flat.to_csv(folder / "flat.csv", index=False)
        data, output = {"source": "flat.csv"}, {"data": "f.csv"}
        if form == "flat":
            data["levels"] = levels
            levels["household"]["variables"] = ["region", "rent", "hweight"]
        else:
            flat.drop(columns=["hid", "pno", "hweight"]).to_csv(folder / "flat.csv", index=False)
    declared = {"region": {"role": "quasi_identifier"}, "rent": {"role": "confidential"}, "weight": {"role": "weight"}}
    if form != "plain":
        declared["hweight"] = {"role": "weight"}
    data["variables"] = {**declared, **variables}
    output |= {"record": "run.json", "public_record": "about.json", "codebook": "book.csv"}
    stated = {"maskwright": 1, "data": data, "edits": ["income >= 0"], "protect": protect, "measure": [],
              "output": output, "seed": 2}  # fmt: skip
    path = folder / "pipeline.yaml"
    path.write_text(yaml.safe_dump(stated), encoding="utf-8")
    return path


RENUMBERED = {"hid", "pno"}
"""Keys have new values in every release of levels."""

FORMS = pytest.mark.parametrize("form", ["linked", "flat", "plain"])


@FORMS
@pytest.mark.parametrize("named", [False, True])
def test_what_is_only_sampled_is_not_masked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, named: bool
) -> None:
    step = SAMPLING | ({"variables": ["region", "rent"]} if named else {})
    assert main(["run", str(pipeline(tmp_path, form, [step, INCOME]))]) == 1
    said = capsys.readouterr().err
    assert "not-masked: region" in said
    assert "not-masked: rent" in said


@FORMS
def test_record_and_codebook_say_what_was_changed(tmp_path: Path, form: str) -> None:
    assert main(["run", str(pipeline(tmp_path, form, [SAMPLING, INCOME], **AS_IS))]) == 0
    public = json.loads((tmp_path / "about.json").read_text(encoding="utf-8"))
    masked = {each["name"] for each in public["variables"] if each["masked"]} - RENUMBERED
    weights = {"weight"} if form == "plain" else {"weight", "hweight"}
    assert masked == {"income", *weights}
    assert [step["changes_cells"] for step in public["steps"]] == [False, True]
    untouched = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["plan"]["untouched"]
    assert {"region", "rent"} <= set(untouched)
    assert weights.isdisjoint(untouched)
    book = pd.read_csv(tmp_path / "book.csv", dtype=str).drop_duplicates("variable").set_index("variable")["remark"]
    assert book["region"] == book["rent"] == "Published as it was."
    assert book["weight"] == "Divided by the share of the records that was drawn."


@FORMS
def test_keys_by_which_records_are_left_out_are_protected_and_not_masked(tmp_path: Path, form: str) -> None:
    step = {"method": "record_suppression", "params": {"k": 2, "keys": ["region"]}}
    noise = {"method": "additive_noise", "variables": ["income"], "params": {"p": 0.3}}
    assert main(["run", str(pipeline(tmp_path, form, [noise, step], rent={"release": "as is"}))]) == 0
    public = json.loads((tmp_path / "about.json").read_text(encoding="utf-8"))
    assert {each["name"] for each in public["variables"] if each["masked"]} - RENUMBERED == {"income"}
