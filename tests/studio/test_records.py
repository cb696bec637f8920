"""Records of both files side by side: paired by what the run knows, and never by chance; values behind a click."""

import csv
import html
import random
import re
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from maskwright.commands.demo.levels.files import write_levels_demo

PIPELINE = """\
maskwright: 1
data:
  source: persons.csv
  variables:
    id: {role: identifier}
    sex: {role: quasi_identifier, type: nominal, labels: {1: male, 2: female}, release: as is}
    age: {role: quasi_identifier}
    town: {role: other}
    pay: {missing: {-9: refused}}
edits:
  - {name: taxed, rule: tax <= pay}
on_input_violation: mask
protect:
  - {method: microaggregation, variables: [age, pay, tax], params: {k: 4}}
output: {data: masked.csv, record: run.json}
seed: 3
"""
TOWNS = ("Vic", "Olot", "Reus")
RECORDS = 120


@pytest.fixture(scope="module")
def persons(tmp_path_factory):
    """Folder with a file of persons, of which some violate the edit and some pay nothing that is known."""
    folder = tmp_path_factory.mktemp("persons")
    drawn = np.random.default_rng(5)
    rows = []
    for number in range(RECORDS):
        pay = int(drawn.integers(100, 900))
        tax = pay + 1 if number % 30 == 7 else pay // 5
        rows.append(f"P{number},{drawn.integers(1, 3)},{drawn.integers(20, 60)},{drawn.choice(TOWNS)},"
                    f"{-9 if number % 20 == 3 else pay},{tax}")  # fmt: skip
    (folder / "persons.csv").write_text("\n".join(["id,sex,age,town,pay,tax", *rows]) + "\n", "utf-8")
    (folder / "pipeline.yaml").write_text(PIPELINE, "utf-8")
    return folder


@pytest.fixture(scope="module")
def running(studio, persons):
    return studio(persons / "pipeline.yaml")


@pytest.fixture(scope="module")
def declare(running, persons):
    def declare(text):
        (persons / "pipeline.yaml").write_text(text, "utf-8")
        running.act("/open/read_again")

    return declare


@pytest.fixture(scope="module")
def run(declare, persons, command):
    """Function that runs a pipeline in the folder from the command line: the studio knows of it by its files only."""
    ran = []

    def run(text):
        declare(text)
        if ran == [text] and all((persons / name).exists() for name in ("masked.csv", "run.json")):
            return
        ran[:] = [text]
        code, said = command(persons, "run", "pipeline.yaml", "--quiet")
        assert code == 0, said

    return run


def part(running, query="", *, values=True):
    words = "&".join(filter(None, (query, "values=shown" if values else "")))
    return html.unescape(running.settled(f"/part/records/rows?{words}"))


def table(shown):
    """Rows of the table below its two rows of heads: the text of each cell, and whether it is marked as changed."""
    rows = re.findall(r"<tr.*?</tr>", shown[shown.index("<tbody>") :], re.DOTALL)
    return [
        [(" ".join(re.sub(r"<[^>]*>", "", cell).split()).removeprefix("changed to ≠ "), 'class="changed"' in cell)
         for cell in re.findall(r"<t[dh].*?</t[dh]>", row, re.DOTALL)] for row in rows
    ]  # fmt: skip


def heads(shown):
    """Variables that have a column."""
    return re.findall(r'class="of"[^>]*>(\w+)(?: <span|<)', shown.partition("<thead>")[2].partition("</tr>")[0])


def lines(path):
    """Records of a file; of nested XML those of each household, with its own cells, or with its person's too."""
    if path.suffix == ".xml":
        homes = ET.parse(path).getroot()
        return [
            {cell.tag: cell.text for each in (home, person) for cell in each if not len(cell)}
            for home in homes for person in home.iter("Person")
        ]  # fmt: skip
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def as_shown(name, text):
    """A cell of the file as the page shows it."""
    if name == "sex":
        return f"{text} {({'1': 'male', '2': 'female'})[text]}"
    return "-9 missing: refused" if name == "pay" and text == "-9" else text


def count(shown, words):
    return int(re.search(r"<strong>([\d,]+)</strong> " + re.escape(words), shown)[1].replace(",", ""))


NAMES = ("sex", "age", "town", "pay", "tax")


def test_no_value_of_a_record_is_shown_without_the_click(running, declare, persons):
    declare(PIPELINE)
    (persons / "masked.csv").unlink(missing_ok=True)
    shown = part(running, "show=risk", values=False)
    assert "Show the values of these records" in shown
    assert "<table" not in shown
    assert not any(word in shown for word in (*TOWNS, "male", "refused", "P1"))
    assert count(shown, "records") == RECORDS
    assert count(shown, "violate an edit") == 4
    assert "no masked file yet" in shown
    page = running.view("/records?show=violating&edit=taxed")
    assert "data-part" in page
    assert not any(town in page for town in TOWNS)


def test_rows_are_paired_by_the_order_that_the_run_kept(running, run, persons):
    run(PIPELINE)
    before, after = lines(persons / "persons.csv"), lines(persons / "masked.csv")
    shown = part(running, "start=50")
    assert "Records 51 to 100 of 120" in shown
    assert "by their order" in shown
    rows = table(shown)
    assert len(rows) == 50
    changed = 0
    for number, row in enumerate(rows, 50):
        assert row[0] == (str(number + 1), False)
        for at, name in enumerate(NAMES):
            one, other = row[4 + 2 * at : 6 + 2 * at]
            assert one == (as_shown(name, before[number][name]), False)
            assert other == (as_shown(name, after[number][name]), before[number][name] != after[number][name])
            changed += other[1]
    assert changed > 50
    differ = sum(any(one[name] != other[name] for name in NAMES) for one, other in zip(before, after, strict=True))
    assert count(shown, "changed by masking") == differ
    ages = sum(one["age"] != other["age"] for one, other in zip(before, after, strict=True))
    assert f"of {ages} that were changed by masking in age" in part(running, "show=changed&variable=age")


def test_violations_and_records_at_risk_are_listed(running, persons, run):
    run(PIPELINE)
    before = lines(persons / "persons.csv")
    violating = [at + 1 for at, row in enumerate(before) if row["pay"] != "-9" and int(row["tax"]) > int(row["pay"])]
    rows = table(part(running, "show=violating&edit=taxed"))
    assert [int(row[0][0]) for row in rows] == violating
    assert {row[1][0] for row in rows} == {"taxed"}
    keys = [(row["sex"], row["age"]) for row in before]
    sizes = [keys.count(each) for each in keys]
    rows = table(part(running, "show=risk&k=4"))
    assert len(rows) == min(50, sum(size < 4 for size in sizes))
    shown = [int(row[2][0].split(" → ")[0]) for row in rows]
    assert shown == [sizes[int(row[0][0]) - 1] for row in rows]
    assert shown == sorted(shown)
    everywhere = part(running, "k=4", values=False)
    assert count(everywhere, "at risk in the original (class below 4)") == sum(size < 4 for size in sizes)


def test_a_record_is_found_by_its_number(running, run):
    run(PIPELINE)
    shown = part(running, "record=117")
    assert "Records 101 to 120 of 120" in shown
    assert re.search(r'<tr class="chosen"><th[^>]*data-focus>117</th>', shown)
    assert "there is no record 121" in part(running, "record=121").lower()
    assert "Next" not in shown
    assert "Previous 50" in shown


def test_columns_are_chosen_by_names_and_patterns(running, run):
    run(PIPELINE)
    shown = part(running, "columns=ta*,+id,+nothing")
    assert heads(shown) == ["tax", "id"]
    assert "No variable is called nothing" in shown
    assert [cell[0] for cell in table(shown)[0][4:]] == [*[cell[0] for cell in table(shown)[0][4:6]], "P0"]
    assert "id" not in heads(part(running))


def test_records_in_random_order_are_paired_by_the_map_of_the_run_or_not_at_all(running, run, persons):
    text = PIPELINE + "release: {order: random}\n"
    run(text)
    shown = part(running)
    assert "cannot be put side by side: its records are in random order" in shown
    assert "masked</th>" not in shown
    assert len(table(part(running, "of=masked"))) == 50
    run(text.replace("record: run.json", "record: run.json, key_map: keys.csv"))
    before, after = lines(persons / "persons.csv"), lines(persons / "masked.csv")
    place = {int(each["original_record"]): int(each["record"]) for each in lines(persons / "keys.csv")}
    assert sorted(place) == list(range(1, RECORDS + 1))
    shown = part(running)
    assert "by the map of keys" in shown
    for row in table(shown):
        record, masked = int(row[0][0]), int(row[1][0])
        assert masked == place[record]
        for at, name in enumerate(NAMES):
            one, other = row[5 + 2 * at : 7 + 2 * at]
            assert one[0] == as_shown(name, before[record - 1][name])
            assert other[0] == as_shown(name, after[masked - 1][name])
    shown = part(running, "of=masked&record=17")
    original = next(record for record, masked in place.items() if masked == 17)
    assert re.search(rf'data-focus>{original}</th>\s*<td class="number">17</td>', shown)
    keys = lines(persons / "keys.csv")
    random.Random(1).shuffle(keys)  # a map of something else
    (persons / "keys.csv").write_text(
        "\n".join(["record,original_record", *(f"{at},{each['original_record']}" for at, each in enumerate(keys, 1))]),
        "utf-8",
    )
    assert "in random order" in part(running)
    (persons / "keys.csv").unlink()


def test_records_that_were_left_out_are_named(running, run, persons):
    run(PIPELINE.replace("violation: mask", "violation: drop"))
    assert "nothing says which" in part(running)
    text = PIPELINE.replace("violation: mask", "violation: drop")
    run(text.replace("record: run.json", "record: run.json, key_map: keys.csv"))
    shown = part(running, "show=left-out")
    assert count(shown, "not in the masked file") == 4
    rows = table(shown)
    assert [int(row[0][0]) for row in rows] == [8, 38, 68, 98]
    assert all(row[1] == ("none", False) and row[6] == ("left out", False) for row in rows)
    (persons / "keys.csv").unlink()


def test_files_that_are_not_those_of_the_run_are_not_paired(running, run, persons):
    run(PIPELINE)
    masked = (persons / "masked.csv").read_text("utf-8")
    head, *rows = masked.splitlines()
    (persons / "masked.csv").write_text("\n".join([head, *sorted(rows)]) + "\n", "utf-8")
    shown = part(running)
    assert "masked.csv is not as the last run that is known of wrote it" in shown
    assert "masked</th>" not in shown
    (persons / "masked.csv").write_bytes(b"sex,sex\n1,2\n")
    shown = part(running)
    assert "the masked file cannot be read" in shown
    assert len(table(shown)) == 50
    (persons / "masked.csv").write_text(masked, "utf-8")
    assert "by their order" in part(running)
    data = (persons / "persons.csv").read_text("utf-8")
    head, *rows = data.splitlines()
    (persons / "persons.csv").write_text("\n".join([head, *reversed(rows)]) + "\n", "utf-8")
    assert "the data were changed since the run" in part(running)
    (persons / "persons.csv").write_text(data, "utf-8")
    (persons / "run.json").unlink()
    assert "there is no record of a run" in part(running)


def test_what_is_known_of_a_run_of_this_session_needs_no_record(running, declare, persons):
    declare(PIPELINE.replace(", record: run.json", ""))
    (persons / "run.json").unlink(missing_ok=True)
    (persons / "masked.csv").unlink(missing_ok=True)
    running.act("/run/start")
    shown = running.settled("/part/run/progress")
    assert 'href="/records?show=violating&amp;edit=taxed"' in shown, shown
    assert "by their order" in part(running)


def test_rules_and_risk_lead_to_records(running, declare):
    declare(PIPELINE)
    shown = html.unescape(running.settled("/part/rules/every"))
    assert 'href="/records?show=violating&edit=taxed"' in shown
    assert 'href="/records?record=8"' in shown
    assert 'href="/records?show=risk"' in html.unescape(running.settled("/part/risk/figures"))


@pytest.fixture(scope="module", params=["flat", "linked", "nested"])
def survey(request, tmp_path_factory, command, studio):
    """A studio on the survey of households, after a run that writes the map of keys."""
    folder = tmp_path_factory.mktemp("survey")
    write_levels_demo(folder, 60)
    pipeline = folder / f"{request.param}.yaml"
    text = re.sub(r"thresholds: .*\n", "", pipeline.read_text("utf-8")).replace("params: {k: 5", "params: {k: 3")
    if request.param == "linked":
        text = text.replace("record: run.json", "record: run.json\n  key_map: keys.csv")
    elif request.param == "flat":
        text = text.replace("report: report.html", "record: run.json")
    else:
        text = text.replace("svrl: masked.svrl.xml", "record: run.json\n  key_map: keys.csv")
    pipeline.write_text(text, "utf-8")
    code, said = command(folder, "run", pipeline.name, "--quiet")
    assert code == 0, said
    return studio(pipeline), request.param


def test_households_and_persons_are_paired_by_the_map_of_the_run(survey):
    running, form = survey
    folder = running.folder.parent
    files = {
        "flat": {"household": ("survey.csv", "masked.csv"), "person": ("survey.csv", "masked.csv")},
        "linked": {
            "household": ("households.csv", "households_masked.csv"),
            "person": ("persons.csv", "persons_masked.csv"),
        },
        "nested": {"household": ("survey.xml", "masked.xml"), "person": ("survey.xml", "masked.xml")},
    }[form]
    keys = lines(folder / "keys.csv")
    old_key, new_key = "hhid", "new hhid"
    for level, own, name in (("household", "hhid", "capital"), ("person", "pno", "wages")):
        before, after = (lines(folder / each) for each in files[level])
        identity = ("hhid",) if level == "household" else ("hhid", "pno")
        old = {tuple(row[key] for key in identity): row[name] for row in before}
        new = {tuple(row[key] for key in identity): row[name] for row in after}
        pair = {tuple(row[key] for key in identity): tuple(row[f"new {key}"] for key in identity) for row in keys}
        shown = part(running, f"level={level}&columns=hhid,{own},{name}")
        assert "by the map of keys" in shown, shown
        numbers = dict(enumerate(old))
        checked = 0
        for row in table(shown):
            identity_of = numbers[int(row[0][0]) - 1]
            cells = [cell[0] for cell in row]
            if identity_of not in pair:
                assert "none" in cells
                continue
            assert cells[-2] == old[identity_of]
            assert cells[-1] == new[pair[identity_of]]
            checked += 1
        assert checked > 20
    assert old_key in keys[0]
    assert new_key in keys[0]


def test_no_violation_is_passed_over_where_there_are_more_than_verdicts_list(studio, tmp_path, command):
    drawn = np.random.default_rng(2).permutation(21_000)
    rows = "\n".join(f"{number % 7},{number % 90},{number % 2}" for number in drawn.tolist())
    (tmp_path / "many.csv").write_text(f"town,age,odd\n{rows}\n", "utf-8")
    (tmp_path / "many.yaml").write_text(
        "maskwright: 1\n"
        "data: {source: many.csv, roles: {other: [town, odd], quasi_identifier: age}}\n"
        "edits: [{name: even, rule: odd == 0, severity: warning}]\n"
        "protect: [{method: rank_swapping, variables: [age]}]\n"
        "output: {data: masked.csv, record: run.json, key_map: keys.csv}\n"
        "release: {order: random}\nseed: 1\n",
        "utf-8",
    )
    code, said = command(tmp_path, "run", "many.yaml", "--quiet")
    assert code == 0, said
    running = studio(tmp_path / "many.yaml")
    shown = part(running, "show=violating&edit=even&start=10450&columns=odd")
    assert "Records 10,451 to 10,500 of 10,500 that violate an edit: even" in shown
    for row in table(shown):
        assert row[2][0] == "evenmasked: even"
        assert row[-2:] == [("1", False), ("1", False)]
    assert "Not all records" not in shown
