"""`maskwright init` and `describe` with two linked files, and with one that has records inside records."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import yaml
from lxml import etree

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    homes = [f"Q{number},{number * 13 % 50 + 1}\n" for number in range(40)]
    persons = [
        f"Q{number},{line},{3 - line},{number * 7 % 40 + line}\n" for number in range(40) for line in range(1, 3)
    ]
    (tmp_path / "homes.csv").write_text("home,rent\n" + "".join(homes), encoding="utf-8")
    (tmp_path / "people.csv").write_text("home,line,spouse,wage\n" + "".join(persons), encoding="utf-8")
    return [str(tmp_path / "people.csv"), str(tmp_path / "homes.csv")]


def test_a_pipeline_that_runs(tmp_path: Path, files: list[str]) -> None:
    path = tmp_path / "pipeline.yaml"
    assert main(["init", *files, "--to", str(path)]) == 0
    said = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert said["data"]["levels"] == {
        "homes": {"source": "homes.csv", "key": "home"},
        "people": {"source": "people.csv", "key": "line", "in": "homes", "pointers": {"spouse": "line"}},
    }
    assert said["output"]["data"] == {"homes": "homes-masked.csv", "people": "people-masked.csv"}
    assert said["data"]["roles"] == {"confidential": ["rent", "wage"]}
    record = mw.run(path).record
    assert record["levels"]["homes"]["records"] == 40
    assert main(["init", *files, "--to", str(path)]) == 2


def test_files_that_nothing_links(tmp_path: Path, files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "homes.csv").write_text("house,rent\n1,2\n", encoding="utf-8")
    assert main(["init", *files, "--to", str(tmp_path / "p.yaml")]) == 2
    assert "no variable links people.csv and homes.csv" in capsys.readouterr().err
    assert not (tmp_path / "p.yaml").exists()


def test_a_description_of_each(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", *files]) == 0
    said = capsys.readouterr().out
    assert "homes.csv" in said
    assert "people.csv" in said
    assert main(["describe", *files, "--json"]) == 0
    assert [each["records"] for each in json.loads(capsys.readouterr().out)["files"]] == [80, 40]


def test_amounts_with_many_zeros_are_said_to_have_structural_ones_as_for_one_file(tmp_path: Path) -> None:
    homes = [f"Q{number},{0 if number % 2 else number * 13 % 50 + 1}\n" for number in range(40)]
    persons = [f"Q{number},{line},{number * 7 % 40 + line}\n" for number in range(40) for line in range(1, 3)]
    (tmp_path / "homes.csv").write_text("home,rent\n" + "".join(homes), encoding="utf-8")
    (tmp_path / "people.csv").write_text("home,line,wage\n" + "".join(persons), encoding="utf-8")
    path = tmp_path / "pipeline.yaml"
    assert main(["init", str(tmp_path / "people.csv"), str(tmp_path / "homes.csv"), "--to", str(path)]) == 0
    linked = yaml.safe_load(path.read_text(encoding="utf-8"))["protect"][0]["params"]
    assert main(["init", str(tmp_path / "homes.csv"), "--to", str(path), "--force"]) == 0
    alone = yaml.safe_load(path.read_text(encoding="utf-8"))["protect"][0]["params"]
    assert linked["structural_zeros"] == alone["structural_zeros"] == ["rent"]


@pytest.fixture(params=["linked", "nested"])
def survey(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """Homes and people with rules within and across them: two files, or one in a namespace."""
    rng = np.random.default_rng(3)
    homes, people, nested = ["home,size,tenure,capital,total"], ["home,line,wage,pension,income"], []
    for number in range(200):
        size, capital = rng.integers(1, 6), rng.integers(0, 3000)
        wages, pensions = rng.integers(0, 5000, size), rng.integers(1, 2000, size)
        own = [number, size, "or"[number % 2], capital, capital + (wages + pensions).sum()]
        members = [
            [number, line, wage, pension, wage + pension]
            for line, (wage, pension) in enumerate(zip(wages, pensions, strict=True), start=1)
        ]
        homes.append(",".join(map(str, own)))
        people += [",".join(map(str, each)) for each in members]
        inside = [f"<people>{_cells(people[0], each, 1)}</people>" for each in members]
        nested.append(f"<homes>{_cells(homes[0], own, 0)}{''.join(inside)}</homes>")
    if request.param == "nested":
        (tmp_path / "survey.xml").write_text(f'<s xmlns="urn:s">{"".join(nested)}</s>', encoding="utf-8")
        return [tmp_path / "survey.xml"]
    for name, lines in {"homes": homes, "people": people}.items():
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [tmp_path / "homes.csv", tmp_path / "people.csv"]


def _cells(header: str, values: list[object], first: int) -> str:
    names = header.split(",")[first:]
    return "".join(f"<{name}>{value}</{name}>" for name, value in zip(names, values[first:], strict=True))


def test_rules_within_and_across_levels_are_edits_of_it(
    tmp_path: Path, survey: list[Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """What follows for sums from a rule of each member is not said again; a number of members is no category."""
    start = tmp_path / "pipeline.yaml"
    assert main(["init", *map(str, survey), "--to", str(start)]) == 0
    said = yaml.safe_load(start.read_text(encoding="utf-8"))
    assert set(said["edits"]) == {
        "capital + sum(people.income) == total", "wage + pension == income", "size == count(people)",
    }  # fmt: skip
    assert said["data"]["roles"] == {"confidential": ["capital", "total", "wage", "pension", "income"], "other": "size"}
    start.write_text(start.read_text(encoding="utf-8").replace("  roles:", "  undeclared: other\n  roles:"), "utf-8")
    assert main(["run", str(start)]) == 0
    assert "1 variable of no declared role may be published unmasked: tenure" in capsys.readouterr().err
    homes, people = _masked(tmp_path)
    per_home = people.groupby("home")["income"].agg(["sum", "size"])
    assert (homes["capital"] + per_home["sum"] == homes["total"]).all()
    assert (homes["size"] == per_home["size"]).all()


def _masked(folder: Path) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Homes, by their key and in its order, and people."""
    if (folder / "homes-masked.csv").is_file():
        homes, people = (pd.read_csv(folder / f"{name}-masked.csv") for name in ("homes", "people"))
    else:
        root = etree.parse(folder / "survey-masked.xml").getroot()
        rows = [{etree.QName(cell).localname: cell.text for cell in each} for each in root]
        homes = pd.DataFrame(rows)[["home", "size", "capital", "total"]].astype(int)
        inside = [
            {"home": row["home"], "income": cell.findtext("{*}income")}
            for row, each in zip(rows, root, strict=True) for cell in each.iterfind("{*}people")
        ]  # fmt: skip
        people = pd.DataFrame(inside).astype(int)
    return homes.set_index("home").sort_index(), people


def test_keys_in_attributes_are_kept_there_and_no_amount_is_a_key(tmp_path: Path) -> None:
    drawn = np.random.default_rng(4)
    homes = []
    for home in range(60):
        inside = "".join(
            f'<person pid="p{home}-{place}"><age>{drawn.integers(90)}</age><wage>{wage}</wage><tax>{wage // 5}</tax>'
            f"<net>{wage - wage // 5}</net></person>"
            for place, wage in enumerate(drawn.integers(500, 5000, drawn.integers(1, 5)))
        )
        homes.append(f'<home id="h{home}"><region>{"north" if home % 2 else "south"}</region>{inside}</home>')
    (tmp_path / "survey.xml").write_text(f"<s>{''.join(homes)}</s>", encoding="utf-8")
    assert main(["init", str(tmp_path / "survey.xml"), "--to", str(tmp_path / "pipeline.yaml")]) == 0
    described = yaml.safe_load((tmp_path / "pipeline.yaml").read_text(encoding="utf-8"))
    assert [each["key"] for each in described["data"]["levels"].values()] == ["@id", "@pid"]
    assert described["edits"] == ["tax + net == wage"]
    described["data"]["undeclared"] = "other"
    folder = {key: str(tmp_path / name) for key, name in described["output"].items()}
    described |= {"output": folder, "data": {**described["data"], "source": str(tmp_path / "survey.xml")}, "seed": 1}
    mw.run(described)
    root = etree.parse(tmp_path / described["output"]["data"]).getroot()
    persons = root.findall("home/person")
    assert len(persons) == len(etree.fromstring(f"<s>{''.join(homes)}</s>").findall("home/person"))
    assert all(int(each.findtext("tax")) + int(each.findtext("net")) == int(each.findtext("wage")) for each in persons)
    assert len({home.get("id") for home in root}) == 60
    for each in root:
        members = each.findall("person")
        assert [each.get("pid") for each in members] == [str(number + 1) for number in range(len(members))]


@pytest.mark.parametrize(
    ("home", "person", "said"),
    [
        ("<total>{total}</total>", "<pno>{place}</pno>", "no variable of <home> identifies its records"),
        ("<hid>h{total}</hid>", "<age>{age}</age>", "no variable of <person> identifies the members within a group"),
    ],
)
def test_what_differs_by_chance_is_no_key(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], home: str, person: str, said: str
) -> None:
    """Totals of which no two are the same, and ages that differ within each household."""
    drawn = np.random.default_rng(8)
    totals, homes = drawn.permutation(np.arange(5000, 90000, 977))[:60], []
    for total in totals:
        ages = enumerate(drawn.permutation(90)[: drawn.integers(2, 5)], 1)
        inside = "".join(f"<person>{person.format(place=place, age=age)}</person>" for place, age in ages)
        homes.append(f"<home>{home.format(total=total)}{inside}</home>")
    (tmp_path / "survey.xml").write_text(f"<s>{''.join(homes)}</s>", encoding="utf-8")
    assert main(["init", str(tmp_path / "survey.xml"), "--to", str(tmp_path / "pipeline.yaml")]) == 2
    assert said in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "pipeline.yaml").exists()


def test_a_total_may_stand_on_either_side_and_what_follows_for_sums_is_not_suggested(tmp_path: Path) -> None:
    drawn, homes, persons = np.random.default_rng(5), ["home,total"], ["home,line,tax,net,gross"]
    for home in range(80):
        gross = drawn.integers(500, 9000, drawn.integers(1, 5))
        homes.append(f"H{home},{gross.sum()}")
        persons += [f"H{home},{line},{each // 7},{each - each // 7},{each}" for line, each in enumerate(gross, 1)]
    for name, lines in (("homes", homes), ("people", persons)):
        (tmp_path / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    path = tmp_path / "pipeline.yaml"
    assert main(["init", str(tmp_path / "homes.csv"), str(tmp_path / "people.csv"), "--to", str(path)]) == 0
    described = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert described["edits"] == ["tax + net == gross", "total == sum(people.gross)"]
    for rule in ("total == sum(people.gross)", "sum(people.gross) == total"):
        kept = mw.plan_pipeline(path, {"edits.1": rule})["edits"]
        assert [each["kept_by"] for each in kept if each["text"] == rule] == ["derivation"]


def test_levels_inside_each_other_are_described_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    homes = "".join(f"<home><id>{number}</id><p><line>1</line></p><p><line>2</line></p></home>" for number in range(9))
    (tmp_path / "survey.xml").write_text(f"<s>{homes}</s>", encoding="utf-8")
    assert main(["describe", str(tmp_path / "survey.xml"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["files"]
    assert [(each["source"], each["records"]) for each in found] == [("survey.xml, <home>", 9), ("survey.xml, <p>", 18)]
    assert [[one["name"] for one in each["variables"]] for each in found] == [["id"], ["line"]]


def test_an_answer_is_one_for_both_levels(tmp_path: Path, survey: list[Path]) -> None:
    start = tmp_path / "pipeline.yaml"
    assert main(["init", *map(str, survey), "--to", str(start), "--answer", "undeclared=other"]) == 0
    assert set(yaml.safe_load(start.read_text(encoding="utf-8"))["data"]["roles"]["other"]) == {"size", "tenure"}
    assert main(["run", str(start), "--quiet"]) == 0


def test_edits_stay_where_the_plan_fails_without_them_too(tmp_path: Path) -> None:
    """What is to be right is said, and the edits are kept when it is; no edit goes without a word."""
    rows = [f"{number % 6},{number * 37 % 500},{number * 11 % 300}" for number in range(200)]
    texts = [f"{row},{sum(map(int, row.split(',')[1:]))}" for row in rows]
    texts[7] = texts[7].replace(",", ",x", 1)
    (tmp_path / "people.csv").write_text("group,wage,pension,income\n" + "\n".join(texts) + "\n", encoding="utf-8")
    assert main(["init", str(tmp_path / "people.csv"), "--to", str(tmp_path / "p.yaml")]) == 2
    text = (tmp_path / "p.yaml").read_text(encoding="utf-8")
    assert "this plan fails" in text
    assert not any(line.startswith("  # - wage + pension == income") for line in text.splitlines())
