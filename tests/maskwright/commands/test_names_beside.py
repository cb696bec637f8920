"""Names of files that are made from the name of another: of published edits, and in a pipeline to start from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest
import yaml

from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

LEVELS = "{levels: {firm: {source: firms.csv, key: firm}, plant: {source: plants.csv, key: plant, in: firm}}}"


def files(folder: Path) -> None:
    firms = pd.DataFrame({"firm": range(1, 61), "area": [f"a{n % 3}" for n in range(60)], "size": 2})
    plants = pd.DataFrame({"firm": [1 + n // 2 for n in range(120)], "plant": [1 + n % 2 for n in range(120)]})
    plants = plants.assign(founded=[f"{1990 + n % 7}-0{1 + n % 9}-11" for n in range(120)])
    firms.to_csv(folder / "firms.csv", index=False)
    plants.to_csv(folder / "plants.csv", index=False)


def run(folder: Path, data: str, output: str) -> list[str]:
    """Names of the rules that a run with recoded dates writes."""
    text = (
        f"maskwright: 1\ndata: {data}\nedits: [founded >= 1980-01-01]\n"
        "protect: [{method: recoding, params: {recode: {founded: year}, release_edits: {drop: [founded]}}}]\n"
        f"output: {{data: {output}}}\nseed: 1\n"
    )
    (folder / "pipeline.yaml").write_text(text, encoding="utf-8")
    before = set(folder.iterdir())
    assert main(["run", str(folder / "pipeline.yaml")]) == 0
    return sorted(each.name for each in set(folder.iterdir()) - before if ".edits." in each.name)


@pytest.mark.parametrize(
    ("output", "rules"),
    [
        ("s.out.csv", "s.out.edits.yaml"),
        ("masked.csv", "masked.edits.yaml"),
        ("s.out.csv.gz", "s.out.edits.yaml"),
        ("s.out.xml", "s.out.edits.sch"),
        ("s.out.XML.GZ", "s.out.edits.sch"),
        ("s.2020/", "s.2020.edits.yaml"),
    ],
)
def test_edits_have_the_name_of_the_data_without_its_ending(tmp_path: Path, output: str, rules: str) -> None:
    files(tmp_path)
    variables = "founded: {role: quasi_identifier}, firm: {role: other}, plant: {role: other}"
    assert run(tmp_path, f"{{source: plants.csv, variables: {{{variables}}}}}", output) == [rules]


def test_runs_of_several_forms_in_one_folder_leave_each_other_s_edits_alone(tmp_path: Path) -> None:
    files(tmp_path)
    variables = ", variables: {founded: {role: quasi_identifier}, area: {role: other}, size: {role: other}}}"
    data = LEVELS[:-1] + variables
    assert run(tmp_path, data, "{firm: s.linked.firms.csv, plant: s.linked.plants.csv}") == [
        "s.linked.plants.edits.yaml"
    ]
    variables = "founded: {role: quasi_identifier}, firm: {role: other}, plant: {role: other}"
    flat = f"{{source: plants.csv, variables: {{{variables}}}}}"
    assert run(tmp_path, flat, "s.flat.csv") == ["s.flat.edits.yaml"]


def test_a_pipeline_to_start_from_names_compressed_files_as_they_are_read(tmp_path: Path) -> None:
    files(tmp_path)
    pd.read_csv(tmp_path / "plants.csv").to_csv(tmp_path / "plants.v2.csv.gz", index=False)
    started = tmp_path / "pipeline.yaml"
    assert main(["init", str(tmp_path / "plants.v2.csv.gz"), "--to", str(started)]) == 0
    output = yaml.safe_load(started.read_text(encoding="utf-8"))["output"]
    assert output == {
        "data": "plants.v2-masked.csv.gz",
        "report": "plants.v2-report.html",
        "record": "plants.v2-run.json",
        "public_record": "plants.v2-about.json",
    }
    assert main(["plan", str(started)]) != 2
