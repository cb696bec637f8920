"""Firms and their plants: what somebody met who began with such files."""

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

ROWS = [
    "h,p,r,x", "1,1,-9,10", "1,2,,20", "2,1,5,30", "3,1,6,11", "3,2,6,12",
    *(f"{firm},1,{firm},{10 + firm}" for firm in range(4, 12)),
]  # fmt: skip


def pipeline(folder: Path, stated: dict[str, Any], name: str = "p.yaml") -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump({"maskwright": 1, "measure": [], "seed": 1, **stated}), encoding="utf-8")
    return path


@pytest.mark.parametrize(("doing", "code"), [("fail", 1), ("mask", 0)])
def test_two_missing_codes_in_one_firm_are_a_difference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], doing: str, code: int
) -> None:
    (tmp_path / "c.csv").write_text("\n".join(ROWS) + "\n", encoding="utf-8")
    (tmp_path / "edits.yaml").write_text("- x >= 0\n", encoding="utf-8")
    levels = {"firm": {"key": "h", "variables": ["r"]}, "plant": {"key": "p", "in": "firm"}}
    path = pipeline(tmp_path, {
        "data": {"source": "c.csv", "levels": levels, "variables": {"r": {"role": "other", "missing": [-9]}}},
        "edits": ["x >= 0"],
        "on_input_violation": doing,
        "protect": [{"method": "microaggregation", "variables": ["x"], "params": {"k": 3}}],
        "output": {"data": "masked.csv"},
    })  # fmt: skip
    told = ["validate", str(tmp_path / "c.csv"), "--edits", str(tmp_path / "edits.yaml"), "--pipeline", str(path)]
    assert main([*told, "--json"]) == 1
    edits = {each["name"]: each["violations"] for each in json.loads(capsys.readouterr().out)["edits"]}
    assert edits["constant: r within h"] == 1
    assert main(["run", str(path)]) == code
    if code:
        assert "constant: r within h: 1" in capsys.readouterr().err
        return
    masked = pd.read_csv(tmp_path / "masked.csv", dtype=str, keep_default_na=False)
    assert sorted(masked["r"]) == sorted(["-9", "-9", "5", "6", "6", *map(str, range(4, 12))])
    assert (masked.groupby("h")["r"].nunique() == 1).all()


def firms(folder: Path, count: int = 60) -> tuple[Path, Path]:
    """Two files in latin-1 with a delimiter and decimals of their own, a turnover that is the sum of sales."""
    random = np.random.default_rng(3)
    upper, lower = ["firm_no;legal;turnover;rent;staff_total"], ["firm_no;line;parent;sales;staff"]
    for firm in range(1, count + 1):
        sales, staff = random.integers(100, 900, 1 + firm % 4), random.integers(1, 40, 1 + firm % 4)
        legal = ("Körperschaft", "KG", "eG")[firm % 3]
        upper.append(f"{firm};{legal};{sales.sum()},0;{random.integers(5, 90)},5;{staff.sum()}")
        lower += [
            f"{firm};{line};{line - 1 or ''};{sale},0;{people}"
            for line, (sale, people) in enumerate(zip(sales, staff, strict=True), 1)
        ]
    for name, rows in (("firms", upper), ("plants", lower)):
        (folder / f"{name}.csv").write_text("\n".join(rows) + "\n", encoding="latin-1")
    return folder / "firms.csv", folder / "plants.csv"


LINKED = {
    "source": None,
    "encoding": "latin-1", "delimiter": ";", "decimal": ",",
    "levels": {
        "firm": {"source": "firms.csv", "key": "firm_no"},
        "plant": {"source": "plants.csv", "key": "line", "in": "firm", "pointers": {"parent": "line"}},
    },
    "variables": {"legal": {"role": "other"}},
}  # fmt: skip
STEPS = [
    {"method": "microaggregation", "variables": ["turnover", "rent", "staff_total"], "params": {"k": 3}},
    {"method": "microaggregation", "variables": ["sales", "staff"], "params": {"k": 3}},
]


def linked(folder: Path, **changes: Any) -> Path:
    firms(folder)
    stated = {
        "data": {name: each for name, each in LINKED.items() if each is not None},
        "edits": ["sum(plant.sales) == turnover", "sum(plant.staff) == staff_total"],
        "protect": STEPS,
        "output": {"data": {"firm": "f.csv", "plant": "p.csv"}, "record": "run.json", "key_map": "keys.csv"},
    }
    return pipeline(folder, stated | changes)


def test_suggestions_where_two_terms_are_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = linked(tmp_path)
    rules = tmp_path / "edits.yaml"
    rules.write_text("- sum(plant.sales) == turnover\n", encoding="utf-8")
    assert main(["edits", str(rules), "--suggest", "--pipeline", str(path)]) == 0
    assert "sum(plant.staff)" in capsys.readouterr().out


def test_groups_are_called_as_the_level_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    steps = [{"method": "microaggregation", "variables": ["sales", "staff"], "params": {"k": 90}}]
    assert main(["plan", str(linked(tmp_path, edits=["sales >= 0"], protect=steps))]) == 2
    said = capsys.readouterr().err
    assert "fewer firm records than that have a value" in said or "larger than the number of firm records, 60" in said
    assert "household" not in said


def test_a_pipeline_to_start_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    upper, lower = firms(tmp_path)
    lower.write_text(lower.read_text(encoding="latin-1").replace("\n7;2;1;", "\n7;2;9;"), encoding="latin-1")
    path = tmp_path / "start.yaml"
    # The pipeline is written, and ends as its plan would: with what the data violate.
    assert main(["init", str(upper), str(lower), "--to", str(path)]) == 1
    text = path.read_text(encoding="utf-8")
    said = yaml.safe_load(text)["data"]
    assert list(said["levels"]) == ["firms", "plants"]
    assert (said["encoding"], said["decimal"]) == ("cp1252", ",")
    assert "firms.csv (60 records) and plants.csv (150 records)" in text
    assert "pointer: parent within firm_no: 1" in text
    assert "# on_input_violation: drop" in text
    assert "to be made before it runs" in text
    assert main(["plan", str(path)]) == 1
    assert "violate edits" in capsys.readouterr().err
    path.write_text(text.replace("# on_input_violation", "on_input_violation"), encoding="utf-8")
    main(["plan", str(path)])
    assert "violate edits" not in capsys.readouterr().err


def test_advice_on_a_flat_file_finds_its_encoding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [f"{firm};{line};Köln {firm}" for firm in range(20) for line in (1, 2)]
    (tmp_path / "flat.csv").write_text("\n".join(["firm;line;town", *rows]) + "\n", encoding="latin-1")
    assert main(["advise", "levels", str(tmp_path / "flat.csv"), "--key", "firm"]) == 0
    assert "The same in every group: town" in capsys.readouterr().out


def nested(folder: Path, parent: int) -> tuple[Path, Path]:
    """XML of two firms, of which one has a plant whose parent is as said, and Schematron that says nothing of it."""
    plant = "<Plant><line>{0}</line><parent>{1}</parent><sales>5</sales></Plant>"
    xml = "".join(
        f"<Firm><firm_no>{firm}</firm_no>{plant.format(1, '')}{plant.format(2, where)}</Firm>"
        for firm, where in ((1, 1), (2, parent))
    )
    (folder / "s.xml").write_text(f"<S>{xml}</S>", encoding="utf-8")
    (folder / "r.sch").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Plant">'
        '<assert id="a" test="sales >= 0">No sales below 0.</assert></rule></pattern></schema>', encoding="utf-8",
    )  # fmt: skip
    return folder / "s.xml", folder / "r.sch"


@pytest.mark.parametrize(("parent", "violations"), [(1, 0), (9, 1)])
def test_pointers_count_beside_schematron(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], parent: int, violations: int
) -> None:
    data, rules = nested(tmp_path, parent)
    levels = {
        "firm": {"record": "Firm", "key": "firm_no"},
        "plant": {"record": "Plant", "key": "line", "in": "firm", "pointers": {"parent": "line"}},
    }
    path = pipeline(tmp_path, {
        "data": {"source": "s.xml", "levels": levels}, "edits": [{"schematron": "r.sch"}], "output": {"data": "o.xml"},
        "protect": [{"method": "microaggregation", "variables": ["sales"], "params": {"k": 2}}],
    })  # fmt: skip
    told = ["validate", str(data), "--edits", str(rules), "--pipeline", str(path), "--json"]
    assert main(told) == violations
    edits = {each["name"]: each["violations"] for each in json.loads(capsys.readouterr().out)["edits"]}
    assert edits == {"a": 0, "pointer: parent within firm_no": violations}


def test_what_a_run_measures_and_the_numbers_of_its_keys(tmp_path: Path) -> None:
    path = linked(tmp_path, measure=["sse"])
    assert main(["run", str(path)]) == 0
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert all(each["leaves_out"] == [] for each in record["measures"].values())
    assert record["measures"]["firm.sse"]["value"] == pytest.approx(_loss_of_firms(tmp_path), rel=1e-9)
    upper, lower = (pd.read_csv(each, sep=";", encoding="latin-1", dtype=str) for each in firms(tmp_path))
    flat = lower.merge(upper, on="firm_no")
    flat.to_csv(tmp_path / "flat.csv", sep=";", encoding="latin-1", index=False)
    stated = yaml.safe_load(path.read_text(encoding="utf-8"))
    stated["data"] |= {"source": "flat.csv"}
    stated["data"]["levels"] = {
        "firm": {"key": "firm_no", "variables": ["legal", "turnover", "rent", "staff_total"]},
        "plant": {"key": "line", "in": "firm", "pointers": {"parent": "line"}},
    }
    stated["output"] = {"data": "o.csv", "key_map": "flat_keys.csv"}
    assert main(["run", str(pipeline(tmp_path, stated, "flat.yaml"))]) == 0
    keys, of_flat = (pd.read_csv(tmp_path / name) for name in ("keys.csv", "flat_keys.csv"))
    assert (keys["original_firm"] == keys["firm_no"]).all()
    pd.testing.assert_frame_equal(keys, of_flat)


def _loss_of_firms(folder: Path) -> float:
    """Share of the squares lost, percent, with the totals that are derived from plants among the variables."""
    names = ["turnover", "rent", "staff_total"]
    read = {"sep": ";", "encoding": "latin-1", "decimal": ","}
    original = pd.read_csv(folder / "firms.csv", **read)
    masked = pd.read_csv(folder / "f.csv", **read).set_index("firm_no")
    keys = pd.read_csv(folder / "keys.csv").drop_duplicates("original_firm").set_index("original_firm")
    old = original.set_index("firm_no")[names]
    new = masked.loc[keys.loc[old.index, "new firm_no"], names].to_numpy()
    return float(100 * (((old - new) / old.std()) ** 2).sum().sum() / (len(names) * (len(old) - 1)))


def test_mistakes_in_pointers_and_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = linked(tmp_path)
    stated = yaml.safe_load(path.read_text(encoding="utf-8"))
    stated["data"]["levels"]["plant"]["pointers"] = {"staf": "lin"}
    assert main(["plan", str(pipeline(tmp_path, stated))]) == 2
    said = capsys.readouterr().err
    assert "pointer staf names 'lin', no key of its level; did you mean 'line'?" in said
    assert "no variable called 'staf'; did you mean 'staff'?" in said
    upper = tmp_path / "firms.csv"
    first, *rows = upper.read_text(encoding="latin-1").splitlines()
    upper.write_text("\n".join([first, *(f"F{each}" for each in rows)]) + "\n", encoding="latin-1")
    stated["data"]["levels"]["plant"]["pointers"] = {"parent": "line"}
    assert main(["plan", str(pipeline(tmp_path, stated))]) == 2
    assert "'firm_no' holds texts in firms.csv and numbers in plants.csv" in " ".join(capsys.readouterr().err.split())
