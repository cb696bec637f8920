"""Edits stay when a variable is recoded: translated, weakened or dropped, and kept by what comes after."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import yaml
from lxml import etree, isoschematron

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.plan import plan_pipeline

if TYPE_CHECKING:
    from pathlib import Path

N = 300
MINOR = {"rule": "if age < 16 then marital == 'never'", "name": "minor"}
RANGE = {"rule": "age in [0, 120]", "name": "range"}
SUM = {"rule": "wage + other == income", "name": "sum"}
WORK = {"rule": "if age < 16 then wage == 0", "name": "work"}
TOWNS = {"rule": "(region, town) in original", "name": "towns"}
ORDER = {"rule": "birth <= entry", "name": "order"}


def people(seed: int = 1) -> pd.DataFrame:
    """Records that keep all edits of this module."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 90, N)
    town = rng.choice(list("abcdef"), N)
    frame = pd.DataFrame(
        {
            "age": age,
            "marital": np.where(age < 16, "never", rng.choice(["never", "married", "widowed"], N)),
            "wage": np.where(age < 16, 0, rng.integers(0, 50, N) * 10),
            "other": rng.integers(0, 30, N) * 10,
            "town": town,
            "region": np.where(np.isin(town, list("abc")), "N", "S"),
            "rent": rng.integers(0, 900, N),
            "home": np.arange(N) // 3,
        }
    )
    frame["income"] = frame["wage"] + frame["other"]
    birth = pd.Timestamp("2020-01-01") - pd.to_timedelta(age * 365 + rng.integers(0, 365, N), unit="D")
    frame["birth"] = birth.strftime("%Y-%m-%d")
    frame["entry"] = (birth + pd.to_timedelta(rng.integers(0, 5000, N), unit="D")).strftime("%Y-%m-%d")
    return frame


def recoding(recode: dict[str, Any], **release_edits: list[str]) -> dict[str, Any]:
    """Step that recodes."""
    return {"method": "recoding", "params": {"recode": recode, "release_edits": release_edits}}


def pipeline(folder: Path, steps: list[Any], edits: list[Any], **more: Any) -> Path:
    """Pipeline file beside its data."""
    people().to_csv(folder / "people.csv", index=False)
    dates = {name: {"type": "date", "format": "%Y-%m-%d"} for name in ("birth", "entry")}
    declared = {name: {"release": "as is"} | dates.get(name, {}) for name in people()}
    for name, hierarchy in more.pop("hierarchies", {}).items():
        declared[name] |= {"hierarchy": hierarchy}
    text = yaml.safe_dump(
        {
            "maskwright": 1,
            "data": {"source": "people.csv", "variables": declared} | more.pop("data", {}),
            "edits": edits,
            "protect": steps,
            "output": {"data": "masked.csv", "record": "run.json", "svrl": "masked.svrl"} | more.pop("output", {}),
            "seed": 3,
        }
        | more
    )
    (folder / "pipeline.yaml").write_text(text)
    return folder / "pipeline.yaml"


def ran(folder: Path, steps: list[Any], edits: list[Any], **more: Any) -> tuple[dict[str, Any], pd.DataFrame]:
    """Record of a run and the file that it wrote."""
    record = dict(mw.run(pipeline(folder, steps, edits, **more)).record)
    return record, pd.read_csv(folder / "masked.csv", dtype={"birth": str, "entry": str})


def test_an_edit_is_kept_with_the_same_meaning_where_the_bands_are_cut_at_its_constant(tmp_path: Path) -> None:
    """The plan shows it without data, the record has both texts, and the published rules are about the bands."""
    steps = [recoding({"age": [16, 65]})]
    shown = plan_pipeline(pipeline(tmp_path, steps, [MINOR, RANGE]), with_data=False)["edits"]
    assert [(each["name"], each["form"], each["becomes"]) for each in shown] == [
        ("minor", "translated", "if age == 'below 16' then marital == 'never'"),
        ("range", "translated", "age in {'below 16', '16 to below 65', '65 and above'}"),
    ]
    record, masked = ran(tmp_path, steps, [MINOR, RANGE], output={"edits": "masked.edits.yaml"})
    minor = record["edits"][0]
    assert (minor["form"], minor["stated"], minor["kept_by"]) == ("translated", MINOR["rule"], "construction")
    assert minor["violations"] == 0
    assert record["dropped_edits"] == []
    assert "age == 'below 16'" in (tmp_path / "masked.edits.yaml").read_text()
    assert "failed-assert" not in (tmp_path / "masked.svrl").read_text()
    assert set(masked.loc[masked["age"] == "below 16", "marital"]) == {"never"}
    rules = ["--edits", str(tmp_path / "masked.edits.yaml")]
    assert main(["validate", str(tmp_path / "masked.csv"), *rules]) == 0
    masked.assign(marital="married").to_csv(tmp_path / "broken.csv", index=False)
    assert main(["validate", str(tmp_path / "broken.csv"), *rules]) == 1


def test_a_border_beside_the_constant_stops_and_says_where_it_should_be(tmp_path: Path) -> None:
    """With the name of the edit, the band, and the ways out."""
    for with_data in (False, True):
        with pytest.raises(mw.InputError, match=r"border of age at 16") as refused:
            plan_pipeline(pipeline(tmp_path, [recoding({"age": [15, 65]})], [MINOR]), with_data=with_data)
        for said in ("'minor'", "'15 to below 65' of age", "weaken: [age]", "drop: [age]"):
            assert said in str(refused.value)
    # Nothing would be left of it: weakening is not offered, and does not help.
    with pytest.raises(mw.InputError, match="nothing is left") as refused:
        mw.run(pipeline(tmp_path, [recoding({"age": [40]}, weaken=["age"])], [MINOR]))
    assert "weaken: [" not in str(refused.value)
    assert not (tmp_path / "masked.csv").exists()


def test_an_open_band_ends_at_an_edit_and_needs_no_border_where_no_values_are(tmp_path: Path) -> None:
    """The edit is named, as a border there would make an empty band; done so, it runs."""
    newborn = {"rule": "if age == 0 then wage == 0", "name": "newborn"}
    for borders, said in (([1, 16], "(bands that are open end there); or let"), ([16], "end there), and put a border")):
        path = pipeline(tmp_path, [recoding({"age": borders})], [newborn])
        with pytest.raises(mw.InputError, match="add the edit `age >= 0`, which the records obey") as refused:
            plan_pipeline(path)
        assert said in str(refused.value)
        assert "border of age at 0" not in str(refused.value)
    frame = people()
    frame.loc[0, "age"] = -1
    frame.to_csv(tmp_path / "people.csv", index=False)
    with pytest.raises(mw.InputError, match="border of age at 0 and 1"):
        plan_pipeline(path)
    path = pipeline(tmp_path, [recoding({"age": [1, 16]})], [newborn, {"rule": "age >= 0", "name": "positive"}])
    assert [each["form"] for each in plan_pipeline(path)["edits"] if each["name"] == "newborn"] == ["translated"]


def test_bands_made_of_records_are_not_shown_by_what_stops(tmp_path: Path) -> None:
    """Ends of a Mondrian band are values of records; the border comes from the rule."""
    steps = [{"method": "mondrian", "variables": ["age"], "params": {"k": 100}}]
    with pytest.raises(mw.InputError, match=r"publish age in bands that you set, with a border at 17") as refused:
        mw.run(pipeline(tmp_path, steps, [{"rule": "if age <= 16 then rent >= 0", "name": "rented"}]))
    said = str(refused.value)
    assert re.search(r"(a category|\d+ categories) of age ha(s|ve) values on both sides of it", said)
    assert not re.search(r"\d to \d", said)
    assert "drop: [age]" in said


def test_what_steps_allow_to_be_weakened_or_dropped_is_and_is_listed(tmp_path: Path) -> None:
    """Weakened with its new text, dropped by name; what can be translated is translated all the same."""
    edits = [MINOR, SUM, {"rule": "age >= 0", "name": "positive"}, {"rule": "age * rent >= 0", "name": "product"}]
    steps = [recoding({"age": [15, 65]}, weaken=["age"], drop=["age"])]
    record, _ = ran(tmp_path, steps, edits)
    assert [(each["name"], each["form"]) for each in record["edits"]] == [
        ("minor", "weakened"), ("sum", None), ("positive", "translated"),
    ]  # fmt: skip
    assert record["edits"][0]["text"] == "if age == 'below 15' then marital == 'never'"
    assert [each["name"] for each in record["dropped_edits"]] == ["product"]
    assert any("'minor' is weakened" in notice["message"] for notice in record["notices"])
    assert any("'product' is dropped" in notice["message"] for notice in record["notices"])


def test_domain_edits_are_about_the_original_recoded_alike(tmp_path: Path) -> None:
    """Groups inside regions are a translation; groups across them a weaker edit."""
    inside = recoding({"town": {"x": ["a", "b"], "z": ["d", "e", "f"]}})
    record, _ = ran(tmp_path, [inside], [TOWNS])
    assert [(each["form"], each["violations"]) for each in record["edits"]] == [("translated", 0)]
    # c and d of one town: regions with c or d occur, so that nothing is ruled out but the rest.
    across = {"town": {"x": ["c", "d"], "y": ["a", "b"], "z": ["e", "f"]}}
    with pytest.raises(mw.InputError, match=r"weaken: \[town\]"):
        mw.run(pipeline(tmp_path, [recoding(across)], [TOWNS]))
    record, _ = ran(tmp_path, [recoding(across, weaken=["town"])], [TOWNS])
    assert [(each["form"], each["violations"]) for each in record["edits"]] == [("weakened", 0)]


def test_levels_that_a_search_finds_are_known_when_it_has_run(tmp_path: Path) -> None:
    """Generalisation empties cells too: the published edits are about records that have them."""
    hierarchies = {"age": {"bands": [[0, 16, 30, 65, 120], [0, 16, 120]]},
                   "town": {"groups": [{"N*": ["a", "b", "c"], "S*": ["d", "e", "f"]}]}}  # fmt: skip
    step = {"method": "generalisation", "variables": ["age", "town", "marital"],
            "params": {"k": 20, "suppression_limit": 0.2}}  # fmt: skip
    hierarchies["marital"] = {"groups": [{"never": ["never"], "ever": ["married", "widowed"]}]}
    record, masked = ran(tmp_path, [step], [MINOR, TOWNS], hierarchies=hierarchies)
    assert record["edits"][0]["form"] == "translated"
    assert "'0 to below 16'" in record["edits"][0]["text"]
    minors = masked[masked["age"] == "0 to below 16"]
    assert set(minors["marital"].dropna()) == {"never"}


def test_years_of_two_dates_keep_their_order(tmp_path: Path) -> None:
    """The possible form of an order, said of the years themselves."""
    steps = [recoding({"birth": "year", "entry": "year"}, weaken=["birth", "entry"])]
    record, masked = ran(tmp_path, steps, [ORDER])
    assert [(each["form"], each["text"]) for each in record["edits"]] == [("weakened", "birth <= entry")]
    assert (masked["birth"] <= masked["entry"]).all()


@pytest.mark.parametrize("cluster", [{}, {"cluster": "home"}])
def test_numbers_are_adjusted_onto_edits_with_recoded_variables(tmp_path: Path, cluster: dict[str, str]) -> None:
    """Noise on the parts of a total that is published in bands, with a rule on recoded ages."""
    steps = [
        recoding({"age": [16, 65], "income": [100, 300]}, weaken=["income"]),
        {"method": "additive_noise", "variables": ["wage", "other"], "params": {"p": 0.5}},
    ]
    edits = [SUM, WORK, "wage >= 0", "other >= 0", "income >= 0"]
    record, masked = ran(tmp_path, steps, edits, data=cluster)
    assert {each["name"]: each["kept_by"] for each in record["edits"]}["sum"] == "adjustment"
    total = masked["wage"] + masked["other"]
    low, middle, high = (masked["income"] == name for name in ("below 100", "100 to below 300", "300 and above"))
    assert (low | middle | high).all()
    assert (total[low] < 100).all()
    assert total[middle].between(100, 300, inclusive="left").all()
    assert (total[high] >= 300).all()
    assert (masked.loc[masked["age"] == "below 16", "wage"] == 0).all()


def test_recoding_then_noise_then_microaggregation(tmp_path: Path) -> None:
    """The clusters are cut by the condition on the age, and k holds."""
    steps = [
        recoding({"age": [16, 65]}),
        {"method": "additive_noise", "variables": ["rent"], "params": {"p": 0.5}},
        {"method": "microaggregation", "variables": ["wage", "other", "income"], "params": {"k": 3}},
    ]
    record, masked = ran(tmp_path, steps, [WORK, SUM, "wage >= 0", "other >= 0", MINOR])
    assert all(each["violations"] == 0 for each in record["edits"])
    assert (masked.loc[masked["age"] == "below 16", "wage"] == 0).all()
    assert masked.groupby(["wage", "other", "income"]).size().min() >= 3


@pytest.mark.waived("adjustment-distorts")
def test_no_cell_follows_from_a_translated_edit(tmp_path: Path) -> None:
    """Who is below 16 was never married: that cell is not emptied alone."""
    steps = [
        recoding({"age": [16, 65]}),
        {"method": "local_suppression", "params": {"k": 25, "keys": ["marital", "town", "region"],
                                                    "importance": {"marital": 1, "town": 9, "region": 9}}},
    ]  # fmt: skip
    record, masked = ran(tmp_path, steps, [MINOR], output={"edits": "masked.edits.yaml"})
    emptied = masked[masked["marital"].isna()]
    assert len(emptied) > 10
    assert not (emptied["age"] == "below 16").any()
    assert emptied["age"].isna().any()
    assert record["edits"][0]["not_applicable"] == len(masked[masked["marital"].isna() | masked["age"].isna()])
    assert main(["validate", str(tmp_path / "masked.csv"), "--edits", str(tmp_path / "masked.edits.yaml")]) == 0


def test_a_test_in_schematron_is_translated_and_published_as_schematron(tmp_path: Path) -> None:
    """Which another processor finds to hold, and finds broken in a file that breaks it."""
    rows = people().loc[:, ["age", "marital", "wage"]].to_dict("records")
    cells = ("".join(f"<{name}>{value}</{name}>" for name, value in row.items()) for row in rows)
    (tmp_path / "data.xml").write_text(f"<File>{''.join(f'<Record>{each}</Record>' for each in cells)}</File>")
    (tmp_path / "rules.sch").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern id="work"><rule context="Record">'
        '<assert test="not(age &lt; 16) or wage = 0">No work.</assert></rule></pattern></schema>'
    )
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: data.xml, record: Record, variables: {age: {release: as is}, "
        "marital: {release: as is}, wage: {release: as is}}}\nedits: [{schematron: rules.sch}]\n"
        "protect: [{method: recoding, params: {recode: {age: [16, 65]}}}]\n"
        "output: {data: masked.xml, record: run.json, edits: masked.sch, svrl: masked.svrl}\nseed: 1\n"
    )
    record = mw.run(tmp_path / "p.yaml").record
    assert [(each["form"], each["violations"], each["fired"]) for each in record["edits"]] == [("translated", 0, N)]
    checker = isoschematron.Schematron(etree.parse(tmp_path / "masked.sch"))
    tree = etree.parse(tmp_path / "masked.xml")
    assert checker.validate(tree)
    for wage in tree.iter("wage"):
        wage.text = "5"
    assert not checker.validate(tree)
    assert json.loads((tmp_path / "run.json").read_text())["edits"][0]["message"] == "No work."


def test_an_edit_that_a_later_step_lets_go_may_have_moved_records_before(tmp_path: Path) -> None:
    """Swapping keeps it by adjusting, recoding drops it: the ledger has what is published."""
    steps = [
        {"method": "rank_swapping", "variables": ["age"], "params": {"p": 20}},
        recoding({"marital": {"any": ["never", "married", "widowed"]}}, drop=["marital"]),
    ]
    ran(tmp_path, steps, [MINOR, RANGE])
    step = {"method": "generalisation", "variables": ["marital", "town"],
            "params": {"k": 5, "levels": {"marital": 1}, "release_edits": {"drop": ["marital"]}}}  # fmt: skip
    hierarchies = {"marital": {"groups": [{"any": ["never", "married", "widowed"]}]}}
    record, _ = ran(tmp_path, [steps[0], step], [MINOR, RANGE], hierarchies=hierarchies)
    assert [each["name"] for each in record["dropped_edits"]] == ["minor"]
    assert [each["name"] for each in record["edits"]] == ["range"]
    # Bands are no numbers that could leave a range.
    bands = {"age": {"bands": [[0, 16, 30, 65, 96], [0, 16, 96]]}}
    step = {"method": "generalisation", "variables": ["age"], "params": {"k": 3, "levels": {"age": 1}}}
    record, _ = ran(tmp_path, [step], [MINOR, RANGE], hierarchies=bands)
    assert not any("beyond the smallest" in notice["message"] for notice in record["notices"])


def test_what_is_coarser_already_is_generalised_further_and_emptied(tmp_path: Path) -> None:
    """The categories of an emptied cell are found by the original values, which both bands are made of."""
    towns = {"groups": [{"ab": ["a", "b"], "cd": ["c", "d"], "ef": ["e", "f"]}, {"abcd": ["ab", "cd"]}]}
    hierarchies = {"town": towns, "rent": {"widths": [150]}}
    step = {"method": "generalisation", "variables": ["town", "rent"],
            "params": {"k": 22, "levels": {"town": 2, "rent": 1}, "suppression_limit": 0.9}}  # fmt: skip
    steps = [recoding({"town": {"level": 1}}), step]
    _, masked = ran(tmp_path, steps, ["rent >= 0"], hierarchies=hierarchies)
    assert set(masked["town"].dropna()) <= {"abcd", "ef"}
    assert masked["town"].isna().any()
    assert masked["town"].notna().any()


@pytest.mark.parametrize(
    ("data", "edits", "said"),
    [
        ("m.csv", "m.edits.sch", "edit-1 cannot be written in XPath 1.0: 'monthly income' cannot be the name"),
        ("m.xml", "m.edits.yaml", "'monthly income' cannot be the name of an XML element"),
    ],
)
def test_names_that_no_element_has_are_refused_by_the_plan(tmp_path: Path, data: str, edits: str, said: str) -> None:
    rows = "".join(f"{number},{3 * number},{4 * number}\n" for number in range(12))
    (tmp_path / "d.csv").write_text("monthly income,other,total\n" + rows, encoding="utf-8")
    pipeline = {
        "maskwright": 1,
        "data": {"source": str(tmp_path / "d.csv")},
        "edits": ["`monthly income` + other == total"],
        "protect": [{"method": "microaggregation", "params": {"k": 3}}],
        "output": {"data": str(tmp_path / data), "edits": str(tmp_path / edits)},
    }
    with pytest.raises(mw.InputError, match=said):
        plan_pipeline(pipeline)
