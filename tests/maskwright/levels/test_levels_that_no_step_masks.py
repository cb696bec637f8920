"""A level that no step masks is published too: what is doubted of a flat file is doubted of its variables."""

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

FORMS = ("flat", "linked", "nested")

OF_LEVEL = {"household": ["region", "rent"], "person": ["town", "wages", "remark"]}

MASKED = {"household": "rent", "person": "wages"}


def survey(folder: Path, count: int = 60) -> None:
    """Households and persons, as two files, as one, and as an XML file; a remark is unique for each person."""
    random = np.random.default_rng(8)
    size = random.integers(1, 4, count)
    households = pd.DataFrame({"hid": np.arange(count), "region": random.choice(["north", "south"], count)})
    households["rent"] = random.integers(100, 900, count)
    persons = pd.DataFrame({"hid": np.repeat(np.arange(count), size)})
    persons["pno"] = persons.groupby("hid").cumcount() + 1
    persons["town"] = random.choice(["A", "B"], len(persons))
    persons["wages"] = random.integers(1000, 9000, len(persons))
    persons["remark"] = [f"said {number}" for number in range(len(persons))]
    households.to_csv(folder / "h.csv", index=False)
    persons.to_csv(folder / "p.csv", index=False)
    persons.merge(households).to_csv(folder / "flat.csv", index=False)
    lines = ["<survey>"]
    for household in households.itertuples(index=False):
        lines.append(f"<H>{_elements(household._asdict())}")
        own = persons[persons["hid"] == household.hid].drop(columns="hid").itertuples(index=False)
        lines += [f"<P>{_elements(person._asdict())}</P>" for person in own]
        lines.append("</H>")
    (folder / "s.xml").write_text("\n".join((*lines, "</survey>")), encoding="utf-8")


def _elements(cells: dict[str, Any]) -> str:
    return "".join(f"<{name}>{cell}</{name}>" for name, cell in cells.items())


def pipeline(folder: Path, form: str, masked: list[str], **variables: dict[str, Any]) -> Path:
    """A pipeline that masks one amount of each of these levels, and declares nothing but keys and these variables."""
    household: dict[str, Any] = {"key": "hid"}
    person: dict[str, Any] = {"key": "pno", "in": "household"}
    data: dict[str, Any] = {"levels": {"household": household, "person": person}}
    output: dict[str, Any] = {"public_record": "about.json"}
    if form == "linked":
        household["source"], person["source"] = "h.csv", "p.csv"
        output["data"] = {"household": "hm.csv", "person": "pm.csv"}
    elif form == "flat":
        household["variables"], data["source"], output["data"] = OF_LEVEL["household"], "flat.csv", "fm.csv"
    else:
        household["record"], person["record"], data["source"], output["data"] = "H", "P", "s.xml", "sm.xml"
    data["variables"] = {"hid": {"type": "nominal"}, **variables}
    steps = [{"method": "microaggregation", "variables": [MASKED[name]], "params": {"k": 5}} for name in masked]
    stated = {"maskwright": 1, "data": data, "protect": steps, "measure": [], "output": output, "seed": 5}
    path = folder / f"{form}.yaml"
    path.write_text(yaml.safe_dump(stated), encoding="utf-8")
    return path


def doubted(path: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """What `maskwright plan` doubts, by variable."""
    main(["plan", str(path), "--json"])
    return {each["subject"]: each["doubt"] for each in json.loads(capsys.readouterr().out)["doubts"]}


def unmasked(names: list[str]) -> dict[str, str]:
    return {name: "not-masked" if name in ("rent", "wages") else "published-undeclared" for name in names}


@pytest.mark.covering(3)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("masked", [["household"], ["person"], ["household", "person"]])
def test_undeclared_variables_of_every_level_are_doubted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, masked: list[str]
) -> None:
    survey(tmp_path)
    path = pipeline(tmp_path, form, masked)
    shown = [name for own in OF_LEVEL.values() for name in own if name not in [MASKED[level] for level in masked]]
    assert doubted(path, capsys) == unmasked(shown)
    assert main(["run", str(path)]) == 1
    assert "remark is published as it is and has" in capsys.readouterr().err
    assert not {"hm.csv", "pm.csv", "fm.csv", "sm.xml"} & {each.name for each in tmp_path.iterdir()}


@pytest.mark.parametrize("form", FORMS)
def test_declared_roles_on_a_level_without_steps_are_heeded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str
) -> None:
    survey(tmp_path)
    path = pipeline(
        tmp_path, form, ["household"], region={"role": "other"}, wages={"role": "confidential"},
        town={"role": "quasi_identifier"}, remark={"role": "identifier"},
    )  # fmt: skip
    assert doubted(path, capsys) == {"wages": "not-masked", "town": "not-masked"}
    assert main(["run", str(path)]) == 1
    assert "remark is an identifier: it is not published" in capsys.readouterr().err


@pytest.mark.covering(2)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("masked", ["household", "person"])
def test_what_is_published_unmasked_is_named_of_every_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, masked: str
) -> None:
    survey(tmp_path)
    shown = [name for own in OF_LEVEL.values() for name in own if name not in (MASKED[masked], "remark")]
    path = pipeline(
        tmp_path, form, [masked], **{name: {"release": "as is"} for name in shown}, remark={"role": "identifier"}
    )
    main(["plan", str(path), "--json"])
    planned = json.loads(capsys.readouterr().out)
    assert (planned["untouched"], planned["dropped"]) == (shown, ["remark"])
    assert main(["run", str(path)]) == 0
    said = capsys.readouterr().out.partition("published unmasked: ")[2]
    assert [name for name in (*shown, "remark", MASKED[masked]) if f"{name} (" in said] == shown
    about = json.loads((tmp_path / "about.json").read_text(encoding="utf-8"))
    assert {each["name"] for each in about["variables"] if not each["masked"]} == set(shown)
    done = {each["name"]: each["done"] for each in about["variables"]}
    assert (done["hid"], done["pno"]) == ("new random values", "renumbered in the new order")
