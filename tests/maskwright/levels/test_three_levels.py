"""Three levels: every verdict is that of pandas and of lxml, in all three forms, and what is written is read again."""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from lxml import etree

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.levels.input_files import linked_sources
from maskwright.commands.options import ReadingOptions, pipeline_levels
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.edits.levels.as_schematron import nested_schematron_file
from maskwright.foundation.progress import silent
from maskwright.planning.levels.bound_edits import check_linked, edits_of_levels
from maskwright.release.data_file import write_dataset, write_nested
from maskwright.release.levels.arrangement import arranged_levels, linked_tables, nested_tables
from maskwright_builtin.sources.xml.options import XmlParams
from maskwright_builtin.sources.xml.source import XML, XmlReading, form_of

sys.path.insert(0, str(Path(__file__).parent))
from schematron_counts import schematron_counts
from three_levels import LEVELS, RULES, World

if TYPE_CHECKING:
    from maskwright.pipeline.resolved import LevelSources

WORLDS = [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 500))]
FORMS = ("flat", "linked", "nested")
HAND_WRITTEN = (
    ("Region", "sum(Household/Person/wage) = number(total)"),
    ("Region", "count(Household[tenure = 'own']/Person) &lt;= number(people)"),
    ("Region", "count(Household/Person[age &gt;= 18]) &gt;= number(adults)"),
    ("Region", "Household/Person/age &gt;= 18"),
    ("Region", "not(Household/Person[number(wage) &gt; number(../../top)])"),
    ("Region", "not(Household[count(Person) &gt; 3])"),
    ("Region", "not(Household[sum(Person/wage) != number(income)])"),
    ("Region[north = 'Y']", "count(Household) &gt;= 1"),
    ("Household", "sum(Person/wage) = number(income)"),
    ("Household", "number(income) &lt;= number(../total)"),
    ("Household", "number(income) &lt;= sum(../Household/income)"),
    ("Household", "not(preceding-sibling::Household[1]/income &lt; income)"),
    ("Person", "number(wage) &lt;= number(../../total)"),
    ("Person", "number(wage) &lt;= number(../income)"),
    ("Person", "count(../../Household) &lt;= number(../../homes)"),
    ("Person", "count(../Person[age &gt;= 18]) &gt;= 1"),
)


def sources(folder: Path, form: str) -> LevelSources:
    levels = pipeline_levels(ReadingOptions(pipeline=folder / f"{form}.yaml"), ())
    assert levels is not None
    return levels


def linked(folder: Path, form: str) -> mw.LinkedData:
    return linked_sources(sources(folder, form), silent)


def counted(data: mw.LinkedData, edits: mw.EditSet) -> dict[str, tuple[str, int, int]]:
    found = check_linked(data, edits_of_levels(edits, data)).edits
    return {
        each.name: (each.level, each.violations, each.unknown) for each in found if each.name in [e.name for e in edits]
    }


def rules() -> mw.EditSet:
    return mw.EditSet.parse([{"rule": rule, "name": f"r{number}"} for number, rule in enumerate(RULES)])


@pytest.mark.parametrize("seed", WORLDS)
def test_verdicts_are_those_of_pandas(tmp_path: Path, seed: int) -> None:
    world = World(random.Random(seed), groups_are_full=seed % 2 == 0)
    world.write(tmp_path)
    expected = {}
    for number, (level, judge) in enumerate(RULES.values()):
        verdicts = judge(world.frames)
        assert len(verdicts) == len(world.frames[level])
        expected[f"r{number}"] = level, int((verdicts == 0).sum()), int(verdicts.isna().sum())
    for form in FORMS if seed % 2 == 0 else FORMS[1:]:
        data = linked(tmp_path, form)
        assert [len(level) for level in data] == [len(frame) for frame in world.frames.values()]
        assert counted(data, rules()) == expected, form


@pytest.mark.parametrize("seed", WORLDS)
def test_schematron_of_rules_says_the_same(tmp_path: Path, seed: int) -> None:
    world = World(random.Random(1000 + seed))
    world.write(tmp_path)
    data = linked(tmp_path, "nested")
    written = nested_schematron_file(rules(), data)
    schema = tmp_path / "rules.sch"
    schema.write_text(written.text, encoding="utf-8")
    ours = counted(data, rules())
    by_lxml = schematron_counts(schema, tmp_path / "nested.xml")
    assert {name: failed for name, (failed, _) in by_lxml.items()} == {name: each[1] for name, each in ours.items()}
    again = read_schematron(schema, levels={level.name: level.declared for level in data})
    assert counted(data, again) == ours


@pytest.mark.parametrize("seed", WORLDS)
def test_tests_of_schematron_are_understood_as_lxml_understands_them(tmp_path: Path, seed: int) -> None:
    world = World(random.Random(2000 + seed), missing=0.0)
    world.write(tmp_path)
    patterns = "".join(
        f'<pattern id="h{number}"><rule context="{context}"><assert test="{test}">no</assert></rule></pattern>'
        for number, (context, test) in enumerate(HAND_WRITTEN)
    )
    schema = tmp_path / "rules.sch"
    schema.write_text(f'<schema xmlns="http://purl.oclc.org/dsdl/schematron">{patterns}</schema>', encoding="utf-8")
    data = linked(tmp_path, "nested")
    edits = read_schematron(schema, levels={level.name: level.declared for level in data})
    by_lxml = {name: failed for name, (failed, _) in schematron_counts(schema, tmp_path / "nested.xml").items()}
    assert {name: each[1] for name, each in counted(data, edits).items()} == by_lxml


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in (3, 4))])
def test_an_engine_finds_the_same_records(tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int) -> None:
    world = World(random.Random(3000 + seed))
    world.write(tmp_path)
    data = linked(tmp_path, "nested")
    schema, report = tmp_path / "rules.sch", tmp_path / "report.svrl"
    schema.write_text(nested_schematron_file(rules(), data).text, encoding="utf-8")
    options = ["--pipeline", str(tmp_path / "nested.yaml"), "--svrl", str(report)]
    main(["validate", str(tmp_path / "nested.xml"), "--edits", str(schema), *options])
    capsys.readouterr()
    document = etree.parse(tmp_path / "nested.xml")
    own = check_linked(data, edits_of_levels(rules(), data)).edits
    expected = {each.name: each.listed.tolist() for each in own if each.name.startswith("r")}
    found: dict[str, list[int]] = {name: [] for name in expected}
    for failed in etree.parse(report).getroot().iter("{*}failed-assert"):
        (node,) = list(document.xpath(failed.get("location")))
        found.setdefault(failed.get("id"), []).append(list(document.iter(node.tag)).index(node) + 1)
    assert {name: found[name] for name in expected} == expected


@pytest.mark.covering(2)
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("form", ["linked", "nested"])
def test_what_is_written_is_read_again(tmp_path: Path, seed: int, form: str) -> None:
    """New keys and another order: every count stays, and no old key of a region is there."""
    world = World(random.Random(4000 + seed))
    world.write(tmp_path)
    data, levels = linked(tmp_path, form), sources(tmp_path, form)
    arranged = arranged_levels(data, data, seed).linked
    source = next(iter(levels.sources.values())).source
    files = {name: mw.read(each.path, **_options(each.params)) for name, each in levels.sources.items()}
    target = tmp_path / "again"
    target.mkdir()
    if form == "nested":
        tables = nested_tables(arranged, files)
        groups = {level.name: level.groups for level in arranged if level.groups is not None}
        write_nested(tables, groups, target / "nested.xml", source)
    else:
        for name, table in linked_tables(arranged, files).items():
            write_dataset(table, target / f"{name}.csv", source)
    (target / f"{form}.yaml").write_text((tmp_path / f"{form}.yaml").read_text(encoding="utf-8"), encoding="utf-8")
    again = linked(target, form)
    assert [len(level) for level in again] == [len(level) for level in data]
    assert counted(again, rules()) == counted(data, rules())
    old, new = (set(each.levels[0].data["region"].variable.categories) for each in (data, again))
    assert old.isdisjoint(new)


def _options(params: object) -> dict[str, object]:
    return params.model_dump(exclude_unset=True) if hasattr(params, "model_dump") else {}


def test_plain_records_are_read_fast_and_as_the_streaming_parser_reads_them(tmp_path: Path) -> None:

    world = World(random.Random(9), missing=0.0, groups_are_full=True)
    world.write(tmp_path)
    path = tmp_path / "nested.xml"
    records = [element for element, _ in LEVELS.values()]
    keys = [key for _, key in LEVELS.values()]
    for depth in range(3):
        stated = {"record": records[depth], "members": records[depth + 1 :]}
        stated["group"] = dict(zip(records[:depth], keys[:depth], strict=True)) or None
        params = XmlParams.model_validate(stated)
        reading = XML.open(path, params, lambda _: None)
        assert isinstance(reading, XmlReading)
        assert reading.is_plain
        fast = [row for batch in reading.batches() for row in batch.to_pylist()]
        form = form_of(path, params)
        columns = form.examine(lambda _: None).columns
        slow = [row for batch in form.stream(columns, lambda _: None) for row in batch.to_pylist()]
        assert fast == slow
        assert len(fast) == len(world.frames[list(LEVELS)[depth]])


MISTAKES = [
    ("household", "hhid", "1", "R9", "household.csv: record 1 belongs to no region of region.csv"),
    ("person", "hhid", "9", None, "person.csv: record 1 belongs to no household of household.csv"),
    ("person", "region", "", None, "the key 'region' of the level person is missing in record 1"),
    ("household", "hhid", "", None, "the key 'hhid' of the level household is missing in record 1"),
]


@pytest.mark.parametrize(("level", "name", "value", "region", "said"), MISTAKES)
def test_mistakes_name_the_level(
    tmp_path: Path, level: str, name: str, value: str, region: str | None, said: str
) -> None:
    World(random.Random(1), missing=0.0, groups_are_full=True).write(tmp_path)
    path = tmp_path / f"{level}.csv"
    head, first, *rest = path.read_text(encoding="utf-8").splitlines()
    cells = dict(zip(head.split(","), first.split(","), strict=True)) | {name: value}
    cells |= {} if region is None else {"region": region}
    path.write_text("\n".join([head, ",".join(cells.values()), *rest]) + "\n", encoding="utf-8")
    with pytest.raises(mw.InputError, match=re.escape(said)):
        linked(tmp_path, "linked")


def test_a_key_that_is_one_only_within_its_group_does_not_name_a_record_alone(tmp_path: Path) -> None:
    World(random.Random(1), missing=0.0, groups_are_full=True).write(tmp_path)
    path = tmp_path / "person.csv"
    rows = [line.split(",") for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(",".join(row[1:]) + "\n" for row in rows), encoding="utf-8")
    with pytest.raises(mw.InputError, match="the key 'hhid' of the level household occurs again"):
        linked(tmp_path, "linked")


ROUND = "{method: rounding, variables: [wage, income], params: {base: 5}}"
REFUSED = [
    (f"protect: [{ROUND}]\non_input_violation: localize\n", "locates errors in two levels, and 3 are declared"),
    (
        "protect: [{method: microaggregation, variables: [wage], unit: household, params: {k: 2}}]\n",
        "step 1 (`unit`) masks the records of two levels, and 3 are declared: region, household, person",
    ),
    (
        f"protect: [{ROUND}]\nedits: [all(household where sum(person.wage) == income) or total == 0]\n",
        "reads what steps mask of 3 levels (region, household, person)",
    ),
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("section", "message"), REFUSED)
def test_what_takes_two_levels_is_refused_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], form: str, section: str, message: str
) -> None:
    World(random.Random(1), missing=0.0, groups_are_full=True).write(tmp_path)
    path = tmp_path / f"{form}.yaml"
    files = {"flat": "a.csv", "linked": "{region: a.csv, household: b.csv, person: c.csv}", "nested": "a.xml"}[form]
    path.write_text(path.read_text(encoding="utf-8") + f"{section}output: {{data: {files}}}\n")
    assert main(["plan", str(path)]) == 2
    assert message in " ".join(capsys.readouterr().err.split())


PLANTS = """
maskwright: 1
data:
  levels:
    firm: {source: firms.csv, key: firm}
    plant: {source: plants.csv, key: plant, in: firm, counted_in: plant}
    worker: {source: workers.csv, key: worker, in: plant, counted_in: firm}
  variables: {sales: {role: other}, wages: {role: other}, turnover: {role: other}, wage: {role: other},
              trade: {role: other, type: nominal}}
edits:
  - {name: turnover, rule: sum(plant.sales) == turnover}
  - {name: wages, rule: sum(worker.wage) == plant.wages}
protect:
  - {method: microaggregation, variables: [wage], params: {k: 3}}
  - {method: microaggregation, variables: [sales, wages], params: {k: 3}}
  - {method: microaggregation, variables: [turnover], params: {k: 3}}
output: {data: {firm: a.csv, plant: b.csv, worker: c.csv}, record: run.json}
seed: 1
"""


def _write_plants(folder: Path) -> None:
    draws = np.random.default_rng(5)
    plants = pd.DataFrame({"firm": np.repeat(np.arange(12), 3), "plant": np.arange(36) + 100})
    plants["sales"] = draws.integers(10, 900, 36)
    workers = pd.DataFrame({"plant": np.repeat(plants["plant"], 4), "worker": np.tile(np.arange(4), 36)})
    workers["wage"] = draws.integers(10, 99, len(workers))
    plants["wages"] = workers.groupby("plant")["wage"].sum().to_numpy()
    firms = plants.groupby("firm", as_index=False)["sales"].sum().rename(columns={"sales": "turnover"})
    for name, frame in (("firms", firms.assign(trade="a")), ("plants", plants), ("workers", workers)):
        frame.to_csv(folder / f"{name}.csv", index=False)


def test_suppressed_cells_that_edits_tie_across_three_levels_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write_plants(tmp_path)
    head, _, rest = PLANTS.partition("protect:")
    steps = (
        "  - sum(plant.wages) <= 99 * turnover\n"
        "protect: [{method: local_suppression, variables: [wages], params: {k: 2}}]\n"
    )
    path = tmp_path / "p.yaml"
    path.write_text(f"{head}{steps}{rest[rest.index('output:') :]}")
    assert main(["run", str(path), "--quiet"]) == 2
    message = "cells of wages are suppressed, and edit-3, wages tie them across three levels"
    assert message in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "a.csv").exists()


def test_levels_that_k_counts_are_the_own_or_above(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _write_plants(tmp_path)
    (tmp_path / "p.yaml").write_text(PLANTS.replace("counted_in: plant", "counted_in: worker"))
    assert main(["plan", str(tmp_path / "p.yaml")]) == 2
    assert "level plant: `counted_in`: no level from it up called 'worker'" in capsys.readouterr().err


def test_sums_at_each_level_are_derived_from_the_lowest_up(tmp_path: Path) -> None:
    _write_plants(tmp_path)
    (tmp_path / "p.yaml").write_text(PLANTS)
    assert main(["run", str(tmp_path / "p.yaml"), "--quiet"]) == 0
    firms, plants, workers = (pd.read_csv(tmp_path / f"{name}.csv") for name in "abc")
    assert plants.groupby("firm")["sales"].sum().to_dict() == firms.set_index("firm")["turnover"].to_dict()
    assert workers.groupby("plant")["wage"].sum().to_dict() == plants.set_index("plant")["wages"].to_dict()
    # A key that names a plant alone does so in the release: the file of workers holds no other.
    assert not plants["plant"].duplicated().any()
    owner = workers["plant"].map(plants.set_index("plant")["firm"])
    assert owner.groupby(workers["wage"]).nunique().min() >= 3
    assert plants["sales"].value_counts().min() >= 3
    record = json.loads((tmp_path / "run.json").read_text())
    kept = {each["name"]: each["kept_by"] for each in record["edits"]}
    assert kept == {"turnover": "derivation", "wages": "derivation"}
    counted = [each["about"] for each in record["k_of_groups"]]
    assert "worker on wage, counted in firm" in counted
    assert "plant on sales" in counted
    assert counted[-1] == "whole firm, by the masked values of row and members"


def test_levels_of_nested_xml_are_described(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    World(random.Random(1), groups_are_full=True).write(tmp_path)
    assert main(["describe", str(tmp_path / "nested.xml"), "--pipeline", str(tmp_path / "nested.yaml")]) == 0
    shown = capsys.readouterr().out
    assert [line.split(":")[0] for line in shown.splitlines() if line.startswith("nested.xml")] == [
        f"nested.xml, level {name}" for name in LEVELS
    ]


def test_elements_with_a_prefix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Levels are called by their local names; an engine names the elements as the file does."""
    World(random.Random(1), missing=0.0, groups_are_full=True).write(tmp_path)
    path, schema, report = (tmp_path / name for name in ("nested.xml", "rules.sch", "report.svrl"))
    text = re.sub(r"<(/?)(\w)", r"<\1s:\2", path.read_text(encoding="utf-8"))
    path.write_text(text.replace("<s:Survey>", '<s:Survey xmlns:s="urn:s">', 1), encoding="utf-8")
    schema.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><ns prefix="s" uri="urn:s"/><pattern>'
        '<rule context="s:Person"><assert id="never" test="s:pno &lt; 0 and ../../s:total">no</assert></rule></pattern>'
        "</schema>",
        encoding="utf-8",
    )
    data = linked(tmp_path, "nested")
    assert main(["validate", str(path), "--edits", str(schema), "--pipeline", str(tmp_path / "nested.yaml"),
                 "--svrl", str(report)]) == 1  # fmt: skip
    capsys.readouterr()
    places = [failed.get("location") for failed in etree.parse(report).getroot().iter("{*}failed-assert")]
    document = etree.parse(path)
    spaces = {"s": "urn:s"}
    found = [node for place in places for node in document.xpath(place, namespaces=spaces)]
    assert found == list(document.iter("{urn:s}Person"))
    assert len(found) == len(data["person"])
