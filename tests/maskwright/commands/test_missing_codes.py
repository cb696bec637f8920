"""Missing codes: each cell keeps its own, edits may name them, and no masked value becomes one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from lxml import etree, isoschematron

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Sequence

WAGES = [f"{1000 + 37 * number}.{number % 10}0" for number in (11 * place % 40 for place in range(40))]
CODED = ["NA", "-1", "-1.00", " -2 ", "", *WAGES]


def saved(folder: Path, wages: Sequence[str], missing: str, more: str = "", edits: str = "[]", steps: str = "") -> str:
    """A file of persons with a wage, a region and an age, and a pipeline that masks the wage."""
    rows = [f"{'north' if number % 3 else 'south'},{20 + number % 7},{wage}" for number, wage in enumerate(wages)]
    (folder / "in.csv").write_text("region,age,wage\n" + "\n".join(rows) + "\n", encoding="utf-8")
    step = steps or "{method: microaggregation, variables: [wage], params: {k: 3, k_guarantee: report}}"
    path = folder / "pipeline.yaml"
    path.write_text(
        f"""maskwright: 1
data:
  source: in.csv
  {more}
  variables:
    wage: {{role: confidential, missing: {missing}}}
    region: {{role: quasi_identifier, release: as is}}
    age: {{role: quasi_identifier, release: as is}}
edits: {edits}
protect: [{step}]
output: {{data: out.csv, record: run.json}}
seed: 1
""",
        encoding="utf-8",
    )
    return str(path)


def cells(folder: Path, place: int) -> list[str]:
    """Cells of a column of the released file, as they are written."""
    lines = (folder / "out.csv").read_text(encoding="utf-8").splitlines()[1:]
    return [line.split(",")[place] for line in lines]


def test_each_missing_cell_keeps_its_own_code(tmp_path: Path) -> None:
    """Codes match by number, with white space and with zeros after the point; an empty cell stays empty."""
    assert mw.run(saved(tmp_path, CODED, "{NA: no answer, -1: does not apply, -2: refused}")).ok
    released = cells(tmp_path, 2)
    assert released[:5] == CODED[:5]
    assert released[5:] != CODED[5:]
    assert all(cell[-3] == "." for cell in released[5:])


def test_codes_of_the_file_hold_for_every_variable_without_its_own(tmp_path: Path) -> None:
    path = Path(saved(tmp_path, CODED, "[]", 'missing: ["NA", -1, -2]'))
    path.write_text(path.read_text().replace(", missing: []", ""), encoding="utf-8")
    assert mw.run(path).ok
    assert cells(tmp_path, 2)[:5] == CODED[:5]
    path.write_text(path.read_text().replace("region: {", "region: {missing: [north], "))
    record = mw.run(path).record
    assert "region 30 ('north' 30)" in " ".join(each["message"] for each in record["notices"])


def test_edits_name_codes_and_what_they_mean(tmp_path: Path) -> None:
    """By meaning and by code, in the original and in what is released; a code is never compared as a number."""
    meanings = "{NA: no answer, -1: does not apply, -2: refused}"
    edits = (
        '[\'if wage is "does not apply" then age < 23\', \'wage is "-2" or wage is not "refused"\', '
        "'wage is missing or wage > 0']"
    )
    done = mw.run(saved(tmp_path, CODED, meanings, edits=edits))
    assert [(row["violations"], row["unknown"]) for row in done.record["edits"]] == [(0, 0)] * 3
    data = mw.read(tmp_path / "in.csv", variables={"wage": {"missing": {"-1": "does not apply"}, "type": "nominal"}})
    outcome = mw.validate(data, ['wage is not "does not apply"'])
    assert outcome.edits[0].violations == 2


@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_code_that_is_not_declared_is_refused_by_name(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = saved(
        tmp_path, CODED, "{NA: no answer, -1: does not apply, -2: refused}", edits="['wage is not \"refusd\"']"
    )
    assert main([command, path]) == 2
    error = capsys.readouterr().err
    assert "refusd" in error
    assert "did you mean 'refused'?" in error


def test_suppressed_cells_have_a_code_of_their_own(tmp_path: Path) -> None:
    """It is read as missing wherever the declaration holds, and edits can ask for it."""
    step = "{method: local_suppression, params: {k: 3, keys: [region, age]}}"
    path = Path(saved(tmp_path, WAGES, "[NA]", steps=step, edits="['age is \"suppressed\" or age > 0']"))
    text = path.read_text().replace("role: confidential,", "role: confidential, release: as is,")
    path.write_text(
        text.replace("{role: quasi_identifier, release: as is}", "{role: quasi_identifier, suppressed_as: s}")
        .replace("age: {role: quasi_identifier, ", "age: {role: quasi_identifier, type: integer, ")
    )  # fmt: skip
    done = mw.run(path)
    suppressed = {each["variable"]: each["cells"] for each in done.record["suppressed"]}
    assert sum(suppressed.values()) > 0
    for place, name in ((0, "region"), (1, "age")):
        assert cells(tmp_path, place).count("s") == suppressed.get(name, 0)
        assert "" not in cells(tmp_path, place)
    assert (
        main(
            [
                "validate",
                str(tmp_path / "out.csv"),
                "--edits",
                str(tmp_path / "out.edits.yaml"),
                "--pipeline",
                str(path),
            ]
        )
        == 0
    )


def test_a_masked_value_that_is_a_code_stops_the_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rounding to a code's number makes a value that nobody could tell from no value; bounds are the remedy."""
    wages = ["7", *(str(number) for number in [5, 6, 8, 9, 11, 12, 13, 14] * 5)]
    step = "{method: rounding, variables: [wage], params: {base: 7}}"
    path = saved(tmp_path, wages, "[14, 7]", steps=step)
    assert main(["run", path]) == 1
    assert "W306 value-is-a-missing-code: wage: " in capsys.readouterr().err
    assert not (tmp_path / "out.csv").exists()


def test_absent_and_empty_elements_and_codes_stay_what_they_were(tmp_path: Path) -> None:
    wages = "".join(
        "<R><age>31</age></R>" if number == 3 else f"<R><age>31</age><wage>{'' if number == 4 else wage}</wage></R>"
        for number, wage in enumerate(CODED)
    )
    (tmp_path / "in.xml").write_text(f"<D>{wages}</D>", encoding="utf-8")
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\n"
        "data: {source: in.xml, record: R, variables: {wage: {missing: [NA, -1, -2]}, age: {role: other}}}\n"
        "protect: [{method: microaggregation, variables: [wage], "
        "params: {k: 3, k_guarantee: report}}]\noutput: {data: out.xml}\nseed: 2\n"
    )
    assert mw.run(tmp_path / "p.yaml").ok
    released = [record.find("wage") for record in etree.parse(tmp_path / "out.xml").getroot()]
    assert released[3] is None
    assert [each.text for each in (released[0], released[1], released[2], released[4])] == ["NA", "-1", "-1.00", None]


def test_the_record_of_a_run_counts_codes_and_shows_no_value(tmp_path: Path) -> None:
    done = mw.run(saved(tmp_path, CODED, "{NA: no answer, -1: does not apply, -2: refused, -3: unknown}"))
    notices = " ".join(each["message"] for each in done.record["notices"])
    assert "wage 5 ('NA' 1, '-1' 2, '-2' 1)" in notices
    assert "declared missing codes that no cell holds: '-3' (wage)" in notices
    assert json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))["records"] == len(CODED)


def test_codes_with_a_decimal_comma(tmp_path: Path) -> None:
    """They are counted, kept, and asked for by what they mean."""
    path = Path(saved(tmp_path, [], "{NA: no answer, -9: refused}", 'delimiter: ";"\n  decimal: ","'))
    wages = ["NA", "-9,00", "-9", *(wage.replace(".", ",") for wage in WAGES)]
    rows = [f"{'north' if number % 3 else 'south'};{20 + number % 7};{wage}" for number, wage in enumerate(wages)]
    (tmp_path / "in.csv").write_text("region;age;wage\n" + "\n".join(rows) + "\n", encoding="utf-8")
    done = mw.run(path, {"edits": ['if wage is "refused" then age <= 22', "wage is missing or wage > 0"]})
    assert "wage 3 ('NA' 1, '-9' 2)" in " ".join(each["message"] for each in done.record["notices"])
    released = [line.split(";")[2] for line in (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[1:]]
    assert released[:3] == wages[:3]
    assert all(cell[-3] == "," for cell in released[3:])


def test_an_exponent_does_not_cost_the_others_their_zeros(tmp_path: Path) -> None:
    wages = [f"{7 * (11 * number % 40)}.0" for number in range(1, 40)] + ["1e1"]
    assert mw.run(saved(tmp_path, wages, "[]")).ok
    assert all("." in cell for cell in cells(tmp_path, 2))


CODED_PEOPLE = """maskwright: 1
data:
  source: people.csv
  variables:
    wages: {role: confidential, missing: {NA: not known, -9: refused}}
    rents: {role: confidential, missing: {-9: refused, -8: does not apply}}
    income: {role: confidential, missing: [-9], min: 0}
    region: {type: nominal, role: quasi_identifier, missing: {x: not known}, suppressed_as: s}
    born: {type: date, role: other, missing: [1900-01-01]}
    worker: {type: nominal, role: other}
edits:
  - income == wages + rents
  - max(wages, rents) >= 0
  - wages * 2 >= wages
  - if wages is missing then income is missing
  - if income is not missing then income >= 0
  - if region in {a, b, c} then income <= 100000
  - if region != "a" then worker in {yes, no}
  - year(born) >= 1920
  - wages is integer or worker == "no"
  - income != wages or wages == 0
protect:
  - {method: microaggregation, variables: [wages, rents, income], params: {k: 3, k_guarantee: report}}
  - {method: local_suppression, variables: [region], params: {k: 6}}
output: {data: masked.xml, edits: masked.sch}
seed: 1
"""


def test_rules_beside_a_masked_xml_file_hold_in_it_for_every_processor(tmp_path: Path) -> None:
    """Codes stand in the file as values: its rules say which texts are none."""
    lines = ["wages,rents,income,region,born,worker"]
    for number in (7 * place % 60 for place in range(60)):
        coded = number % 6 == 0
        wages = ("NA", "-9", "-9.00")[number % 3] if coded else str(100 + 7 * number)
        rents = ("-9", "-8")[number % 2] if number % 4 == 0 else str(number)
        income = "-9" if coded or number % 4 == 0 else str(100 + 8 * number)
        born = "1900-01-01" if number % 7 == 0 else f"19{30 + 23 * number % 60}-05-17"
        lines.append(f"{wages},{rents},{income},{'abcdx'[min(number // 9, 4)]},{born},{('yes', 'no')[number % 2]}")
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "pipeline.yaml").write_text(CODED_PEOPLE)
    assert main(["run", str(tmp_path / "pipeline.yaml"), "--quiet"]) == 0
    rules = etree.parse(tmp_path / "masked.sch")
    assert len(rules.findall("{*}pattern")) == 11
    published = etree.parse(tmp_path / "masked.xml")
    assert "-9" in {cell.text for cell in published.iter("income")}
    kept = isoschematron.Schematron(rules, error_finder=isoschematron.Schematron.ASSERTS_AND_REPORTS)
    assert kept.validate(published)
    assert main(["validate", str(tmp_path / "masked.xml"), "--edits", str(tmp_path / "masked.sch")]) == 0
    next(cell for cell in published.iter("income") if cell.text != "-9").text = "-7"
    assert not kept.validate(published)


def test_published_rules_are_right_for_one_who_has_only_the_file_and_them(tmp_path: Path) -> None:
    """Nothing declares to them that -9 is no wage and NA no age: the rules are for the records without these codes."""
    numbers = [7 * place % 120 for place in range(120)]
    ages = ["NA" if number % 20 == 0 else str(20 + number % 60) for number in numbers]
    wages = ["-9" if number % 15 == 0 else str(1000 + 37 * number) for number in numbers]
    rents = [str(100 + number * 7) for number in numbers]
    sums = [str((0 if wage == "-9" else int(wage)) + int(rent)) for wage, rent in zip(wages, rents, strict=True)]
    rows = zip(ages, wages, rents, sums, strict=True)
    (tmp_path / "in.csv").write_text("age,wage,rent,income\n" + "".join(f"{','.join(row)}\n" for row in rows))
    (tmp_path / "p.yaml").write_text(
        """maskwright: 1
data:
  source: in.csv
  variables: {age: {missing: [NA], release: as is}, wage: {missing: ['-9']}}
edits:
  - {rule: wage + rent == income, name: parts}
  - {rule: 'age in [0, 120]', name: ages}
  - {rule: wage >= 0, name: positive, when: rent >= 0}
  - rent >= 0
protect:
  - {method: microaggregation, variables: [wage, rent, income], params: {k: 3}}
  - {method: recoding, variables: [age], params: {recode: {age: [40, 60]}}}
output: {data: out.csv, edits: out.edits.yaml}
seed: 1
""",
        encoding="utf-8",
    )
    assert mw.run(tmp_path / "p.yaml").ok
    written = yaml.safe_load((tmp_path / "out.edits.yaml").read_text(encoding="utf-8"))
    assert [each.get("when") if isinstance(each, dict) else None for each in written] == [
        "wage != -9", "age != 'NA'", "rent >= 0 and wage != -9", None,
    ]  # fmt: skip
    rules = ["--edits", str(tmp_path / "out.edits.yaml")]
    assert main(["validate", str(tmp_path / "out.csv"), *rules]) == 0
    outcome = mw.validate(mw.read(tmp_path / "out.csv"), mw.read_edits(tmp_path / "out.edits.yaml"))
    assert [each.fired for each in outcome.edits] == [112, 114, 112, 120]
    broken = (tmp_path / "out.csv").read_text(encoding="utf-8").replace(",-9,", ",-8,")
    (tmp_path / "broken.csv").write_text(broken, encoding="utf-8")
    assert main(["validate", str(tmp_path / "broken.csv"), *rules]) == 1


def test_published_rules_of_levels_are_for_groups_whose_members_hold_no_codes(tmp_path: Path) -> None:
    plants = [(firm, plant, -9 if firm % 10 == 0 and plant == 1 else 100 + 13 * firm + plant)
              for firm in range(60) for plant in range(1, 4)]  # fmt: skip
    turnover = {firm: sum(max(sales, 0) for one, _, sales in plants if one == firm) for firm in range(60)}
    (tmp_path / "plants.csv").write_text(
        "firm,plant,sales\n" + "".join(f"{firm},{plant},{sales}\n" for firm, plant, sales in plants)
    )
    (tmp_path / "firms.csv").write_text(
        "firm,turnover\n" + "".join(f"{firm},{total}\n" for firm, total in turnover.items())
    )
    (tmp_path / "p.yaml").write_text(
        """maskwright: 1
data:
  levels: {firm: {source: firms.csv, key: firm}, plant: {source: plants.csv, key: plant, in: firm}}
  variables: {sales: {missing: ['-9']}}
edits: [sum(plant.sales) == turnover, sales >= 0]
protect: [{method: microaggregation, variables: [sales, turnover], params: {k: 3}}]
output: {data: {firm: out-firms.csv, plant: out-plants.csv}, edits: out.edits.yaml}
seed: 1
""",
        encoding="utf-8",
    )
    assert mw.run(tmp_path / "p.yaml").ok
    written = yaml.safe_load((tmp_path / "out.edits.yaml").read_text(encoding="utf-8"))
    assert [each["when"] for each in written] == ["no(plant where sales == -9)", "sales != -9"]
    (tmp_path / "theirs.yaml").write_text(
        "maskwright: 1\ndata: {levels: {firm: {source: out-firms.csv, key: firm}, "
        "plant: {source: out-plants.csv, key: plant, in: firm}}}\n",
        encoding="utf-8",
    )
    files = [str(tmp_path / "out-firms.csv"), str(tmp_path / "out-plants.csv")]
    told = ["--edits", str(tmp_path / "out.edits.yaml"), "--pipeline", str(tmp_path / "theirs.yaml")]
    assert main(["validate", *files, *told]) == 0
    (tmp_path / "plain.yaml").write_text("[sales >= 0]", encoding="utf-8")
    assert main(["validate", *files, "--edits", str(tmp_path / "plain.yaml"), *told[2:]]) == 1
