"""maskwright validate on nested XML: the counts of an independent processor, places in the report, every error."""

from __future__ import annotations

import json
import random
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from lxml import etree

from maskwright.cli.main import main
from maskwright.commands.demo.levels.files import write_levels_demo
from maskwright.edits.engines.nested_stylesheet import Names, context_stays, stays_in_group

sys.path.insert(0, str(Path(__file__).parent))
from schematron_counts import schematron_counts

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST = re.compile(r"  <Household>.*?</Household>\n", re.DOTALL)
SVRL = "{http://purl.oclc.org/dsdl/svrl}"
NAMES = Names(frozenset({"Survey"}), ("Household", "Person"))


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("levels")
    write_levels_demo(folder, 600)
    return folder


def validated(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, dict[str, Any]]:
    code = main(["validate", *map(str, arguments), "--json"])
    printed = capsys.readouterr()
    return code, json.loads(printed.out) if printed.out else {"error": printed.err}


def test_the_demo_has_the_counts_of_isoschematron(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = schematron_counts(demo / "survey.sch", demo / "survey.xml")
    code, found = validated(capsys, demo / "survey.xml", "--edits", demo / "survey.sch")
    assert code == 1
    assert {each["name"]: (each["violations"], each["fired"]) for each in found["edits"]} == expected
    assert sum(failed for failed, _ in expected.values()) > 0
    levels = {each["name"]: each["level"] for each in found["edits"]}
    assert levels["total-sum"] == "Household"
    assert levels["income-sum"] == "Person"


def test_the_same_in_yaml_and_under_the_names_of_the_pipeline(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pipeline = ("--pipeline", demo / "nested.yaml")
    _, by_engine = validated(capsys, demo / "survey.xml", "--edits", demo / "survey.sch", *pipeline)
    _, by_model = validated(capsys, demo / "survey.xml", "--edits", demo / "edits.yaml", *pipeline)
    of_model = {each["name"]: each for each in by_model["edits"]}
    for each in by_engine["edits"]:
        same = of_model[each["name"]]
        for key in ("violations", "first_records", "level"):
            assert each[key] == same[key], each["name"]
    assert by_engine["levels"] == by_model["levels"]


def test_flat_and_nested_files_have_the_same_verdicts(demo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for data, pipeline in (("survey.csv", "flat.yaml"), ("survey.xml", "nested.yaml")):
        _, outcome = validated(capsys, demo / data, "--edits", demo / "edits.yaml", "--pipeline", demo / pipeline)
        constant = "constant: "
        found[data] = [each for each in outcome["edits"] if not each["name"].startswith(constant)]
    assert found["survey.csv"] == found["survey.xml"]


SCHEMA = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern>{}</pattern></schema>"""
RULES = (
    ("Household", "count(Person) = number(size)"),
    ("Household", "sum(Person/income) = number(total)"),
    ("Household[number(size) > 1]", "Person[number(income) > 5]"),
    ("Household", "not(Person[number(age) > 60])"),
    ("Household/Person", "number(income) &lt;= number(../total)"),
    ("//Person[number(mother) > 0]", "../Person[pno = current()/mother]/age - number(age) >= 14"),
    ("/Survey/Household/Person", "not(preceding-sibling::Person[1]/age &lt; age)"),
    ("Person", "position() &lt; 3"),
    ("Person", "not(pno = preceding-sibling::Person/pno)"),
    ("income", ". &lt; 8"),
    ("Household", "not(size = preceding-sibling::Household[1]/size)"),
    ("Household", "number(total) &lt;= sum(/Survey/Household/total) div 2"),
    ("Survey", "count(Household) &lt; 4"),
)


def random_survey(seed: int) -> str:
    chosen = random.Random(seed)

    def cell(name: str, top: int) -> str:
        text = chosen.choice(["", "x", str(chosen.randint(0, top)), str(chosen.randint(0, top))])
        return "" if chosen.random() < 0.1 else f"<{name}>{text}</{name}>"

    households = []
    for number in range(chosen.randint(1, 7)):
        size = chosen.randint(0 if number else 2, 4)
        persons = [
            f"<Person><pno>{each + 1}</pno>{cell('age', 90)}{cell('income', 9)}{cell('mother', 3)}</Person>"
            for each in range(size)
        ]
        total = chosen.choice([0, 5, 10, 20])
        households.append(
            f"<Household><size>{chosen.choice([size, 1])}</size><total>{total}</total>{''.join(persons)}</Household>"
        )
    return f"<Survey>\n{chr(10).join(households)}\n</Survey>"


@pytest.mark.covering(4)
@pytest.mark.parametrize("seed", range(25))
def test_random_files_have_the_verdicts_of_isoschematron(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], seed: int
) -> None:
    data, schema = tmp_path / "survey.xml", tmp_path / "rules.sch"
    data.write_text(random_survey(seed), encoding="utf-8")
    patterns = "".join(
        f'<pattern id="r{number}"><rule context="{context}"><assert test="{test}">Rule {number}: '
        f'<value-of select="count(.//Person)"/>.</assert></rule></pattern>'
        for number, (context, test) in enumerate(RULES)
    )
    schema.write_text(f'<schema xmlns="http://purl.oclc.org/dsdl/schematron">{patterns}</schema>', encoding="utf-8")
    expected = schematron_counts(schema, data)
    report = tmp_path / "report.svrl"
    _, found = validated(capsys, data, "--edits", schema, "--svrl", report, "--fired", "all")
    assert {each["name"]: (each["violations"], each["fired"]) for each in found["edits"]} == expected
    root, document = etree.parse(report).getroot(), etree.parse(data)
    for failed in root.iter(f"{SVRL}failed-assert"):
        (node,) = list(document.xpath(failed.get("location")))
        assert node.tag in ("Survey", "Household", "Person")
        number = failed.get("id").removeprefix("r")
        context = RULES[int(number)][0]
        if context != "income":
            count = len(node.findall(".//Person"))
            assert failed.findtext(f"{SVRL}text") == f"Rule {number}: {count}."
    assert len(root.findall(f"{SVRL}fired-rule")) == sum(fired for _, fired in expected.values())


@pytest.mark.parametrize(
    ("place", "text", "stays"),
    [
        (0, "sum(Person[age > ../size]/x)", True),
        (0, "../Household", False),
        (0, "preceding-sibling::Household", False),
        (0, "Person[not(pno = preceding-sibling::Person/pno)]", True),
        (0, "position() = 1", False),
        (0, "Person[position() = 1]/x", True),
        (0, ".[../x]", False),
        (0, "/Survey/Household", False),
        (0, "//Person", False),
        (0, "Person//x", True),
        (1, "../total", True),
        (1, "../../Household", False),
        (1, "../Person[pno = current()/mother]/age", True),
        (1, "../Person[../total > 1]", True),
        (1, "..[../x]", False),
        (1, "current()/../total", True),
        (1, "../Person/../..", False),
        (1, "ancestor::Survey", False),
        (1, "ancestor::Household/total", True),
        (1, "parent::*", False),
        (1, "following::Person", False),
        ("elsewhere", "x", False),
    ],
)
def test_what_looks_beyond_a_household(place: Any, text: str, stays: bool) -> None:
    assert stays_in_group(text, place, NAMES) == stays


@pytest.mark.parametrize(
    ("context", "stays"),
    [
        ("Household", True),
        ("Survey/Household[x > 1]/Person[2]", True),
        ("Household[2]", False),
        ("Household[position() = last()]", False),
        ("Household | Person", True),
        ("*", False),
        ("Survey", False),
        ("Person/income", True),
    ],
)
def test_contexts_that_need_the_whole_file(context: str, stays: bool) -> None:
    assert context_stays(context, NAMES) == stays


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("</Household>", "</Household><Person><pno>1</pno></Person>", "not straight inside a <Household>"),
        ("</Survey>", "", "ends before its elements are closed"),
        ("<Survey>", "<!DOCTYPE Survey><Survey>", "document type"),
    ],
)
def test_files_that_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], before: str, after: str, said: str
) -> None:
    data, schema = tmp_path / "survey.xml", tmp_path / "rules.sch"
    data.write_text(random_survey(3).replace(before, after, 1), encoding="utf-8")
    rule = '<rule context="Household"><assert test="size > 0">Size.</assert></rule>'
    schema.write_text(SCHEMA.format(rule), encoding="utf-8")
    report = tmp_path / "report.svrl"
    code, found = validated(capsys, data, "--edits", schema, "--svrl", report)
    assert code == 2
    assert said in found["error"]
    assert not report.exists()


def test_a_test_that_cannot_be_decided_leaves_the_other_verdicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("saxonche")
    data, schema, report = tmp_path / "survey.xml", tmp_path / "rules.sch", tmp_path / "report.svrl"
    households = [
        f"<Household><total>{total}</total>{''.join(f'<Person><x>{cell}</x></Person>' for cell in cells)}</Household>"
        for total, cells in ((5, ("2", "3")), (7, ("4", "secret")))
    ]
    data.write_text(f"<Survey>{''.join(households)}</Survey>", encoding="utf-8")
    own = '<rule context="Person"><assert id="own" test="xs:decimal(x) ge 3">Own.</assert></rule>'
    total = "sum(Person/xs:decimal(x)) = xs:decimal(total)"
    of_members = f'<rule context="Household"><assert id="sum" test="{total}">Sum.</assert></rule>'
    body = f"<pattern>{own}</pattern><pattern>{of_members}</pattern>"
    schema.write_text(
        f'<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt2">{body}</schema>', encoding="utf-8"
    )
    code, found = validated(capsys, data, "--edits", schema, "--svrl", report)
    assert code == 1
    counts = {each["name"]: (each["violations"], each["fired"], each["first_records"]) for each in found["edits"]}
    assert counts == {"own": (2, 4, [1, 4]), "sum": (1, 2, [2])}
    why = "its test cannot be evaluated on record {} (FORG0001: a value cannot be cast)"
    assert {each["name"]: each["undecidable"] for each in found["edits"]} == {
        "own": [why.format(4)], "sum": [why.format(2)],
    }  # fmt: skip
    root = etree.parse(report)
    assert [each.get("location") for each in root.iter(f"{SVRL}failed-assert")] == ["/Survey/Household[1]/Person[1]"]
    assert [each.text for each in root.iter(etree.ProcessingInstruction)] == [
        'undecidable id="own" code="FORG0001" location="/Survey/Household[2]/Person[2]"',
        'undecidable id="sum" code="FORG0001" location="/Survey/Household[2]"',
    ]
    assert "secret" not in report.read_text(encoding="utf-8") + json.dumps(found)


def test_rules_about_other_elements_never_fire(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, schema = tmp_path / "survey.xml", tmp_path / "rules.sch"
    data.write_text(random_survey(3), encoding="utf-8")
    schema.write_text(SCHEMA.format('<rule context="Firm"><assert test="x">No.</assert></rule>'), encoding="utf-8")
    code, found = validated(capsys, data, "--edits", schema)
    assert code == 2
    assert "no edit ever fired" in found["error"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("</Survey>", FIRST.search(text)[0] + "</Survey>"),
         "the key 'hhid' of the level household occurs again in record 61"),
        (lambda text: text.replace("<pno>2</pno>", "<pno>1</pno>", 1),
         "the key 'pno' of the level person occurs again within its group"),
        (lambda text: text.replace("<hhid>H0000003</hhid>", "", 1), "record 3 of <Household>: there is no <hhid>"),
    ],
)  # fmt: skip
def test_a_household_in_two_places_and_keys_that_are_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], change: Callable[[str], str], said: str
) -> None:
    made = write_levels_demo(tmp_path, 60)
    made.nested.write_text(change(made.nested.read_text(encoding="utf-8")), encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    code, found = validated(capsys, made.nested, "--edits", made.edits, "--pipeline", made.pipelines[2])
    assert code == 2
    assert said in found["error"]
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("rules", "more"),
    [("survey.sch", []), ("survey.sch", ["--pipeline", "nested.yaml"]), ("edits.yaml", ["--pipeline", "nested.yaml"])],
)
def test_an_original_of_nested_data_is_refused_by_name(
    demo: Path, capsys: pytest.CaptureFixture[str], more: list[str], rules: str
) -> None:
    survey = str(demo / "survey.xml")
    options = [str(demo / each) if each.endswith(".yaml") else each for each in more]
    assert main(["validate", survey, "--original", survey, "--edits", str(demo / rules), *options]) == 2
    told = capsys.readouterr().err
    assert "--original is read as one table, and the records stand inside each other" in told
    assert "is nested inside cell" not in told
