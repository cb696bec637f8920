"""Files of households with missing codes and totals that a fresh user brought: what was released wrong on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

K = 9


def survey(folder: Path, count: int = 400) -> None:
    """Households with a tenure that is sometimes a missing code, and with the sum of their members' incomes."""
    random = np.random.default_rng(8)
    upper, lower = ["hid,region,tenure,own,total"], ["hid,pno,income"]
    for number in range(1, count + 1):
        region = random.choice(["north", "south", "west"], p=[0.6, 0.36, 0.04])
        tenure = random.choice(["owner", "tenant", "-9"], p=[0.48, 0.48, 0.04])
        incomes, own = random.integers(100, 3000, 1 + number % 3), int(random.integers(0, 400))
        upper.append(f"{number:04},{region},{tenure},{own},{incomes.sum() + own}")
        lower += [f"{number:04},{place},{income}" for place, income in enumerate(incomes, 1)]
    (folder / "households.csv").write_text("\n".join(upper) + "\n", encoding="utf-8")
    (folder / "persons.csv").write_text("\n".join(lower) + "\n", encoding="utf-8")
    flat = pd.read_csv(folder / "persons.csv", dtype=str).merge(pd.read_csv(folder / "households.csv", dtype=str))
    flat.to_csv(folder / "flat.csv", index=False)


def pipeline(folder: Path, form: str, protect: list[dict[str, Any]], **variables: dict[str, Any]) -> Path:
    household: dict[str, Any] = {"key": "hid"}
    person: dict[str, Any] = {"key": "pno", "in": "household"}
    data: dict[str, Any] = {"levels": {"household": household, "person": person}}
    output: dict[str, Any] = {"data": {"household": "h.csv", "person": "p.csv"}}
    if form == "linked":
        household["source"], person["source"] = "households.csv", "persons.csv"
    else:
        household["variables"] = ["region", "tenure", "own", "total"]
        data["source"], output = "flat.csv", {"data": "f.csv"}
    data["variables"] = {
        "hid": {"type": "nominal"}, "region": {"role": "quasi_identifier", "type": "nominal"},
        "tenure": {"role": "quasi_identifier", "type": "nominal", "missing": ["-9"]},
        "own": {"release": "as is"}, "income": {"release": "as is"}, "total": {"release": "as is"}, **variables,
    }  # fmt: skip
    stated = {
        "maskwright": 1, "data": data, "edits": ["sum(person.income) + own == total"], "protect": protect,
        "measure": [], "output": output, "seed": 5,
    }  # fmt: skip
    path = folder / f"{form}.yaml"
    path.write_text(yaml.safe_dump(stated), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["linked", "flat"])
def test_k_counts_missing_codes_as_they_stand_in_the_file(tmp_path: Path, form: str) -> None:
    survey(tmp_path)
    step = {"method": "local_suppression", "variables": ["region", "tenure"], "params": {"k": K}}
    assert main(["run", str(pipeline(tmp_path, form, [step]))]) == 0
    released = pd.read_csv(tmp_path / ("h.csv" if form == "linked" else "f.csv"), dtype=str, keep_default_na=False)
    households = released.drop_duplicates("hid")
    original = pd.read_csv(tmp_path / "households.csv", dtype=str)
    assert original.groupby(["region", "tenure"]).size().min() < K
    assert households.groupby(["region", "tenure"]).size().min() >= K


def test_a_confidential_total_of_what_nobody_masks_is_not_released_as_it_was(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    survey(tmp_path)
    steps = [
        {"method": "microaggregation", "variables": ["total", "extra"], "params": {"k": 5}},
        {"method": "local_suppression", "variables": ["region", "tenure"], "params": {"k": K}},
    ]
    households = pd.read_csv(tmp_path / "households.csv", dtype=str)
    households["extra"] = [str(number % 97) for number in range(len(households))]
    households.to_csv(tmp_path / "households.csv", index=False)
    path = pipeline(tmp_path, "linked", steps, total={"role": "confidential"}, extra={"role": "confidential"})
    assert main(["run", str(path)]) == 1
    said = capsys.readouterr().err
    assert "values-unchanged: total" in said
    assert "It is derived from others: mask these" in said
    assert not (tmp_path / "h.csv").exists()
