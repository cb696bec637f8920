"""Cells that are empty in CSV and absent in XML, beside missing codes: each form releases the same values."""

from __future__ import annotations

import csv
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import numpy as np
import pytest
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

PERSON = ("wage", "hours", "rate")


def _persons(seed: int) -> list[dict[str, str]]:
    rng = np.random.default_rng(seed)
    rows = []
    for home in range(1, 21):
        for number in range(1, 4):
            wage = str(rng.choice(["", "-9", str(rng.integers(100, 900))], p=[0.15, 0.15, 0.7]))
            hours, rate = (str(each) for each in rng.integers(1, 90, 2))
            rows.append(
                {"hhid": str(home), "region": "N", "pno": str(number), "wage": wage, "hours": hours, "rate": rate}
            )
    return rows


def _released(folder: Path, form: str) -> list[tuple[str, ...]]:
    person = {"key": "pno", "in": "household"}
    levels = {
        "flat": {"household": {"key": "hhid", "variables": ["region"]}, "person": person},
        "nested": {"household": {"key": "hhid", "record": "Home"}, "person": {**person, "record": "Person"}},
    }[form]
    name, out = {"flat": ("flat.csv", "masked.csv"), "nested": ("nested.xml", "masked.xml")}[form]
    settings = {
        "maskwright": 1,
        "data": {
            "source": name, "levels": levels,
            "variables": {
                "region": {"role": "other"}, "wage": {"role": "other", "missing": [-9]}, "rate": {"role": "other"},
            },
        },
        "protect": [{"method": "data_swapping", "variables": ["wage", "hours"], "params": {"rate": 0.9}}],
        "measure": [],
        "output": {"data": out},
        "seed": 5,
    }  # fmt: skip
    (folder / f"{form}.yaml").write_text(yaml.safe_dump(settings))
    assert main(["run", str(folder / f"{form}.yaml"), "--quiet"]) == 0
    if form == "flat":
        with (folder / out).open(newline="") as file:
            return [tuple(row[each] for each in PERSON) for row in csv.DictReader(file)]
    persons = ET.parse(folder / out).iter("Person")
    return [tuple(each.findtext(name, "") for name in PERSON) for each in persons]


@pytest.mark.parametrize("seed", range(4))
def test_flat_and_nested_files_release_the_same_values(seed: int, tmp_path: Path) -> None:
    rows = _persons(seed)
    with (tmp_path / "flat.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    survey = ET.Element("Survey")
    for home in dict.fromkeys(row["hhid"] for row in rows):
        element = ET.SubElement(survey, "Home")
        ET.SubElement(element, "hhid").text = home
        ET.SubElement(element, "region").text = "N"
        for row in rows:
            if row["hhid"] == home:
                person = ET.SubElement(element, "Person")
                for name in ("pno", *PERSON):
                    if row[name]:
                        ET.SubElement(person, name).text = row[name]
    ET.ElementTree(survey).write(tmp_path / "nested.xml")
    released = _released(tmp_path, "flat")
    assert released == _released(tmp_path, "nested")
    assert sorted(released) != sorted(tuple(row[name] for name in PERSON) for row in rows)
