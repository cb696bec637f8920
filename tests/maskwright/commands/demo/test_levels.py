"""The two-level example: what it promises of its files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import yaml
from lxml import etree

from maskwright.cli.main import main
from maskwright.commands.demo.files import CHUNK, write_demo
from maskwright.commands.demo.levels.files import LevelsDemoFiles, write_levels_demo
from maskwright.commands.demo.levels.model import ERRORS, HOUSEHOLD, PERSON, survey
from maskwright.foundation.errors import InputError

sys.path.insert(0, str(Path(__file__).parents[2] / "levels"))
from pandas_evaluator import evaluate, flat_of_linked, read_flat, violations
from schematron_counts import schematron_counts

if TYPE_CHECKING:
    from maskwright.commands.demo.levels.model import Households

NAMES = (
    "edits.yaml", "flat.yaml", "households.csv", "linked.yaml", "nested.yaml", "persons.csv", "survey.csv",
    "survey.sch", "survey.xml",
)  # fmt: skip

ON_ARRIVAL = {
    "members-counted": 9, "total-sum": 9, "income-sum": 9, "one-reference": 9, "disposable": 8,
    "benefit-for-children": 5, "spouse-of-spouse": 3,
}  # fmt: skip
"""Violations of seed 20 with 6,000 households."""


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> LevelsDemoFiles:
    return write_levels_demo(tmp_path_factory.mktemp("levels"))


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> LevelsDemoFiles:
    """As many households as have each error once or more, for a processor that takes its time."""
    return write_levels_demo(tmp_path_factory.mktemp("few"), 1_400)


@pytest.fixture(scope="module")
def flat(files: LevelsDemoFiles) -> pd.DataFrame:
    return read_flat(files.flat)


@pytest.fixture(scope="module")
def drawn() -> Households:
    return next(survey(6_000))


def nested_rows(path: Path) -> pd.DataFrame:
    rows = []
    for household in etree.parse(path).getroot():
        own = {cell.tag: cell.text for cell in household if cell.tag != "Person"}
        assert tuple(own) == HOUSEHOLD
        rows += [own | {cell.tag: cell.text for cell in person} for person in household.iterchildren("Person")]
    return pd.DataFrame(rows)


def test_the_survey_has_the_size_that_the_model_says(files: LevelsDemoFiles, drawn: Households) -> None:
    assert (files.household_count, files.person_count) == (6_000, 13_177)
    sizes = np.diff(drawn.starts)
    assert np.bincount(np.minimum(sizes, 9))[1:].tolist() == [1946, 2238, 966, 529, 225, 74, 16, 5, 1]
    assert drawn.starts[-1] == files.person_count


def test_the_three_forms_hold_the_same_cells(files: LevelsDemoFiles, flat: pd.DataFrame) -> None:
    assert tuple(flat) == (*HOUSEHOLD, *PERSON)
    assert not flat.isna().any().any()
    assert len(flat) == files.person_count
    assert len(read_flat(files.households)) == files.household_count
    pd.testing.assert_frame_equal(flat_of_linked(files.households, files.persons)[list(flat)], flat)
    pd.testing.assert_frame_equal(nested_rows(files.nested)[list(flat)], flat)


def test_the_planted_errors_break_what_they_should(flat: pd.DataFrame) -> None:
    assert {name: count for name, count in violations(flat).items() if count} == ON_ARRIVAL


def test_a_household_with_an_error_breaks_one_edit_and_every_other_household_none(flat: pd.DataFrame) -> None:
    broken = pd.Series(0, flat["hhid"].unique())
    for verdict in evaluate(flat).values():
        violated = verdict.violated if verdict.level == "household" else verdict.violated.groupby(flat["hhid"]).sum()
        broken = broken.add(violated.reindex(broken.index).astype(int))
    assert broken.max() == 1
    hundredths = broken.index.str.endswith("00")
    assert broken[~hundredths].sum() == 0
    assert broken[hundredths].sum() == sum(ON_ARRIVAL.values())
    spoiled = broken[hundredths].to_numpy(dtype=bool)
    turns = np.arange(60) % len(ERRORS)
    # Five of the seven kinds can be planted in any household, the others in one without children, in a couple.
    members = (
        flat.assign(minor=pd.to_numeric(flat["age"]) < 18, spouse=flat["spouse"] != "0")
        .groupby("hhid")[["minor", "spouse"]]
        .any()[hundredths]
    )
    assert spoiled[turns < 5].all()
    assert spoiled[turns == 5].tolist() == (~members["minor"]).to_numpy()[turns == 5].tolist()
    assert spoiled[turns == 6].tolist() == members["spouse"].to_numpy()[turns == 6].tolist()


def test_errors_break_one_edit_in_other_surveys_and_later_households_too(tmp_path: Path) -> None:
    write_levels_demo(tmp_path, CHUNK + 5_000)
    found = violations(read_flat(tmp_path / "survey.csv"))
    by_kind = [found.pop(name) for name in ON_ARRIVAL]
    assert by_kind[:5] == [22, 22, 22, 21, 21]
    assert not any(found.values())


def test_an_independent_schematron_processor_finds_the_same_violations(few: LevelsDemoFiles) -> None:
    flat = read_flat(few.flat)
    counts = schematron_counts(few.schematron, few.nested)
    verdicts, found = evaluate(flat), {name: count for name, count in violations(flat).items() if count}
    assert found.keys() == ON_ARRIVAL.keys()
    assert {name: failed for name, (failed, _) in counts.items() if failed} == found
    in_pandas = {name: verdict for name, verdict in verdicts.items() if name in counts and name != "owner-no-rent"}
    assert {name: counts[name][1] for name in in_pandas} == {
        name: int(verdict.fired.sum()) for name, verdict in in_pandas.items()
    }
    assert all(fired for _, fired in counts.values())


def test_both_edit_files_name_the_same_edits_with_the_same_messages(files: LevelsDemoFiles, flat: pd.DataFrame) -> None:
    rules = yaml.safe_load(files.edits.read_text(encoding="utf-8"))
    schema = etree.parse(files.schematron)
    space = {"s": "http://purl.oclc.org/dsdl/schematron"}
    patterns = {
        each.get("id"): each.findtext(".//s:assert", namespaces=space)
        for each in schema.iterfind(".//s:pattern", space)
    }
    assert {rule["name"]: rule["message"] for rule in rules if rule["name"] != "numbers-differ"} == patterns
    judged = {name for name in violations(flat) if not name.startswith(("constant: ", "pointer: "))}
    assert {rule["name"] for rule in rules} == judged


def test_the_phase_of_the_nested_pipeline_reads_published_variables_only(few: LevelsDemoFiles) -> None:
    pipeline = yaml.safe_load(few.pipelines[2].read_text(encoding="utf-8"))
    phase = pipeline["edits"][0]["schematron"]["phase"]
    dropped = [name for name, said in pipeline["data"]["variables"].items() if said["role"] == "identifier"]
    assert dropped == ["age", "status", "rent"]
    tree = etree.parse(few.nested)
    for element in tree.xpath("|".join(f"//{name}" for name in dropped)):
        element.getparent().remove(element)
    without = few.nested.with_name("published.xml")
    tree.write(without)
    counts, found = schematron_counts(few.schematron, without, phase), violations(read_flat(few.flat))
    assert len(counts) == 9
    assert {name: failed for name, (failed, _) in counts.items() if failed} == {
        name: found[name] for name in ON_ARRIVAL if name != "benefit-for-children"
    }


def test_every_variable_of_the_pipelines_is_one_of_the_survey(files: LevelsDemoFiles) -> None:
    for path in files.pipelines:
        pipeline = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert pipeline["maskwright"] == 1
        assert set(pipeline["data"]["variables"]) <= {*HOUSEHOLD, *PERSON}
        for step in pipeline["protect"]:
            assert set(step["variables"]) <= {*HOUSEHOLD, *PERSON}
    flat_levels = yaml.safe_load(files.pipelines[0].read_text(encoding="utf-8"))["data"]["levels"]
    assert tuple(flat_levels["household"]["variables"]) == HOUSEHOLD[1:]


def test_members_are_related_as_the_model_says(drawn: Households) -> None:
    person, first = drawn.person, drawn.starts[:-1]
    homes = np.repeat(np.arange(len(first)), np.diff(drawn.starts))
    with_mother = np.flatnonzero(person["mother"])
    mothers = first[homes[with_mother]] + person["mother"][with_mother] - 1
    assert (person["sex"][mothers] == 2).all()
    assert (person["rel"][with_mother] == 3).all()
    assert (person["age"][mothers] - person["age"][with_mother] >= 16).all()
    with_spouse = np.flatnonzero(person["spouse"])
    spouses = first[homes[with_spouse]] + person["spouse"][with_spouse] - 1
    assert (person["sex"][spouses] != person["sex"][with_spouse]).all()
    assert (person["age"][person["rel"] != 3] >= 18).all()


def test_every_status_has_its_incomes(drawn: Households) -> None:
    person = drawn.person
    child, work, no_work, retired = (person["status"] == status for status in range(4))
    assert (person["age"][child] < 16).all()
    assert not person["income"][child].any()
    assert (person["wages"] + person["selfe"])[work].all()
    assert person["pens"][retired].all()
    assert not person["pens"][work | no_work].any()
    assert 0 < (person["income"][no_work] == 0).mean() < 0.3
    assert (drawn.household["rent"][drawn.household["tenure"] != 0] > 0).all()


def test_one_household_of_every_5000_is_large() -> None:
    sizes = np.concatenate([np.diff(part.starts) for part in survey(50_000)])
    assert len(sizes) == 50_000
    assert ((sizes.reshape(10, 5_000) >= 16).sum(axis=1) == 1).all()
    assert sizes.max() <= 70


def test_a_longer_survey_starts_with_the_shorter_one() -> None:
    short, long = next(survey(300)), list(survey(CHUNK + 5))
    assert [len(part.starts) - 1 for part in long] == [CHUNK, 5]
    for name in HOUSEHOLD:
        np.testing.assert_array_equal(long[0].household[name][:300], short.household[name])
    for name in PERSON:
        np.testing.assert_array_equal(long[0].person[name][: short.starts[-1]], short.person[name])
    assert long[1].household["hhid"][0] == CHUNK + 1
    assert long[1].household["total"].tolist() != long[0].household["total"][:5].tolist()


def test_another_seed_gives_another_survey_of_the_same_model() -> None:
    counts = [next(survey(6_000, seed)).starts[-1] for seed in range(5)]
    assert len(set(counts)) == 5
    assert all(12_700 < count < 13_600 for count in counts)


def test_the_same_call_writes_the_same_bytes_over_its_own_files(tmp_path: Path) -> None:
    assert write_levels_demo(tmp_path, 50) == write_levels_demo(tmp_path, 50)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    write_levels_demo(tmp_path, 50)
    assert before == {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert tuple(sorted(before)) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_somebody_changed_is_not_overwritten(tmp_path: Path, name: str) -> None:
    write_levels_demo(tmp_path, 20)
    (tmp_path / name).write_text("mine", encoding="utf-8")
    with pytest.raises(InputError, match=name):
        write_levels_demo(tmp_path, 30)
    assert (tmp_path / name).read_text(encoding="utf-8") == "mine"
    assert len(read_flat(tmp_path / "households.csv")) == (20 if name != "households.csv" else 0)


def test_the_two_examples_do_not_overwrite_each_other(tmp_path: Path) -> None:
    write_demo(tmp_path, 20)
    with pytest.raises(InputError, match=r"survey\.xml is not as the example writes it"):
        write_levels_demo(tmp_path, 20)


def test_too_few_and_too_many_households_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least 10 households; asked for 9"):
        write_levels_demo(tmp_path, 9)
    with pytest.raises(InputError, match="at most 10,000,000 households"):
        write_levels_demo(tmp_path, 10_000_001)
    assert not list(tmp_path.iterdir())


def test_a_large_survey_is_masked_in_blocks_and_written_over_a_small_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("maskwright.commands.demo.levels.files.BLOCKS_ABOVE", 40)
    write_levels_demo(tmp_path, 20)
    assert "execution" not in yaml.safe_load((tmp_path / "flat.yaml").read_text(encoding="utf-8"))
    write_levels_demo(tmp_path, 60)
    for name, has_blocks in (("flat.yaml", True), ("linked.yaml", True), ("nested.yaml", False)):
        assert ("execution" in yaml.safe_load((tmp_path / name).read_text(encoding="utf-8"))) == has_blocks


def test_the_command_writes_the_files_and_says_which(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["demo", "--levels", "--records", "100"]) == 0
    folder = tmp_path / "maskwright-demo-levels"
    assert {path.name for path in folder.iterdir()} == {*NAMES, "masked.csv", "report.html", "keys.csv"}
    said = capsys.readouterr().out
    assert said.startswith("100 households, ")
    assert "Released: all 31 edits hold in 218 masked records" in said
    assert all(name in said for name in NAMES)
    assert main(["demo", "--levels", str(tmp_path / "few"), "--records", "0"]) == 2
    assert not (tmp_path / "few").exists()
