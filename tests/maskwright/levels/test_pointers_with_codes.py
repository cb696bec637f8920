"""Missing codes in pointers, and in what members are told apart by: both evaluations take them for nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


def written(folder: Path, form: str, code: str) -> Path:
    """Thirty firms of three plants; the second plant belongs to the first one, the others to none."""
    rows = []
    for firm in range(30):
        for plant in range(3):
            parent = "1" if plant == 1 else code
            place = code if plant == 2 and firm % 4 == 0 else "abcde"[(plant + firm) % 5]
            rows.append(
                (f"F{firm}", str(plant + 1), parent, place, str(100 + 13 * (7 * firm + plant) % 89), str(firm % 5))
            )
    plants = pd.DataFrame(rows, columns=["firm", "number", "parent", "place", "sales", "kind"])
    firms = plants.drop_duplicates("firm")[["firm", "kind"]]
    if form == "flat":
        plants.to_csv(folder / "flat.csv", index=False)
        levels = (
            "  source: flat.csv\n  levels:\n    firm: {key: firm, variables: [kind]}\n    plant: {key: number, in: firm"
        )
        output = "masked.csv"
    elif form == "linked":
        plants.drop(columns="kind").to_csv(folder / "plants.csv", index=False)
        firms.to_csv(folder / "firms.csv", index=False)
        levels = (
            "  levels:\n    firm: {source: firms.csv, key: firm}\n    plant: {source: plants.csv, key: number, in: firm"
        )
        output = "{firm: f.csv, plant: p.csv}"
    else:
        text = ""
        for firm, own in plants.groupby("firm", sort=False):
            inside = "".join(
                "<Plant>" + "".join(f"<{name}>{row[name]}</{name}>" for name in ("number", "parent", "place", "sales"))
                + "</Plant>"
                for _, row in own.iterrows()
            )  # fmt: skip
            text += f"<Firm><firm>{firm}</firm><kind>{own['kind'].iloc[0]}</kind>{inside}</Firm>"
        (folder / "firms.xml").write_text(f"<Survey>{text}</Survey>", encoding="utf-8")
        levels = (
            "  source: firms.xml\n  levels:\n    firm: {record: Firm, key: firm}\n"
            "    plant: {record: Plant, key: number, in: firm"
        )
        output = "masked.xml"
    path = folder / "p.yaml"
    path.write_text(
        f"maskwright: 1\ndata:\n{levels}, pointers: {{parent: number}}}}\n"
        f"  variables:\n    parent: {{missing: ['{code}']}}\n"
        f"    place: {{type: nominal, role: other, missing: ['{code}']}}\n"
        "    kind: {type: nominal, role: other}\n"
        "edits: [sales >= 0, unique(plant.place)]\n"
        f"protect: [{{method: microaggregation, variables: [sales], params: {{k: 3}}}}]\n"
        f"output: {{data: {output}}}\nseed: 1\n",
        encoding="utf-8",
    )
    return path


@pytest.mark.parametrize("code", ["NA", "-9"])
@pytest.mark.parametrize("form", ["flat", "linked", "nested"])
def test_a_missing_code_in_a_pointer_names_nobody(tmp_path: Path, form: str, code: str) -> None:
    record = mw.run(written(tmp_path, form, code)).record
    edits = {each["name"]: each for each in record["edits"]}
    assert edits["pointer: parent within firm"]["violations"] == 0
    assert edits["pointer: parent within firm"]["violations_on_arrival"] == 0
    assert edits["edit-2"]["violations"] == 0


def test_a_release_is_validated_by_its_pipeline_though_it_lacks_the_identifiers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, "flat", "NA")
    text = path.read_text(encoding="utf-8").replace("variables: [kind]", "variables: [kind, name]")
    path.write_text(text.replace("    parent:", "    name: {role: identifier}\n    parent:"), encoding="utf-8")
    frame = pd.read_csv(tmp_path / "flat.csv", dtype=str, keep_default_na=False)
    frame["name"] = "the " + frame["firm"]
    frame.to_csv(tmp_path / "flat.csv", index=False)
    assert main(["run", str(path), "--quiet"]) == 0
    assert "name" not in pd.read_csv(tmp_path / "masked.csv").columns
    (tmp_path / "rules.yaml").write_text("- sales >= 0\n", encoding="utf-8")
    options = ["--edits", str(tmp_path / "rules.yaml"), "--pipeline", str(path)]
    assert main(["validate", str(tmp_path / "masked.csv"), *options]) == 0
    capsys.readouterr()
    path.write_text(text.replace("[kind, name]", "[kind, nmae]"), encoding="utf-8")
    assert main(["validate", str(tmp_path / "masked.csv"), *options]) == 2
    assert "no variable called 'nmae'" in capsys.readouterr().err
