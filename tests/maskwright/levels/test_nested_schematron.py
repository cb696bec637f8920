"""Schematron on nested XML as rules of the language of levels: what each test means, verdicts, refusals."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.demo.levels.files import write_levels_demo
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.languages.schematron.options import NestedLevels
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.edits.languages.xpath.nested_tests import parse_nested
from maskwright.edits.levels.binding import bind
from maskwright.edits.levels.structure import Structure
from maskwright.planning.levels.bound_edits import outcomes

sys.path.insert(0, str(Path(__file__).parent))
from schematron_counts import schematron_counts

LEVELS = {
    "household": mw.LevelDeclaration.model_validate({"record": "Household", "key": "hhid"}),
    "person": mw.LevelDeclaration.model_validate(
        {"record": "Person", "key": "pno", "in": "household", "pointers": {"spouse": "pno", "mother": "pno"}}
    ),
}


@pytest.mark.parametrize(
    ("level", "test", "rule"),
    [
        ("household", "count(Person) = number(size)", "count(person) == size"),
        ("household", "sum(Person/x) + number(y) = z", "sum(person.x) + y == z"),
        ("household", "sum(Person[number(age) < 16]/x) = 0", "sum(person.x where age < 16) == 0"),
        ("household", "count(Person[rel = 1]) = 1", "count(person where rel == 1) == 1"),
        ("household", "Person[age >= 18]", "any(person where age >= 18)"),
        ("household", "boolean(Person[age >= 18])", "any(person where age >= 18)"),
        ("household", "not(Person[age > 110])", "all(person where age <= 110)"),
        ("household", "not(Person[age > 11 and x = 1])", "no(person where age > 11 and x == 1)"),
        ("household", "Person", "count(person) > 0"),
        ("household", "Person/x = v", "any(person where x == household.v)"),
        ("household", "3 < Person[a = 1]/x", "any(person where a == 1 and 3 < x)"),
        ("household", "Person[../size > age]", "any(person where household.size > age)"),
        ("household", "Person[current()/size > age]", "any(person where household.size > age)"),
        ("household", "number(Person[rel = 1]/age) > 16", "first(person.age where rel == 1) > 16"),
        ("household", "not(tenure = 'owner') or number(rent) = 0", "not tenure == 'owner' or rent == 0"),
        ("person", "number(x) <= number(../total)", "x <= household.total"),
        ("person", "x <= current()/../total", "x <= household.total"),
        ("person", "../Person[pno = current()/mother]/age - age >= 14", "mother.age - age >= 14"),
        ("person", "../Person[current()/spouse = pno]/spouse = pno", "spouse.spouse == pno"),
        ("person", "count(../Person[age > 3]) = ../size", "count(person where age > 3) == household.size"),
        ("person", "preceding-sibling::Person[1]/x <= x", "previous.x <= x"),
        ("person", "following-sibling::Person[1]/x >= x", "following.x >= x"),
    ],
)
def test_what_a_test_means(level: str, test: str, rule: str) -> None:
    assert rule_text(parse_nested(test, level, NestedLevels.of(LEVELS))) == rule


@pytest.mark.parametrize(
    ("level", "test", "rule"),
    [
        ("household", "sum(Person/xs:decimal(x)) = xs:decimal(total)", "sum(person.x) == total"),
        ("household", "sum(for $p in Person return xs:decimal($p/x)) eq number(total)", "sum(person.x) == total"),
        ("household", "some $p in Person satisfies xs:integer($p/age) ge 18", "any(person where age >= 18)"),
        ("household", "every $p in Person satisfies number($p/age) le 99", "all(person where age <= 99)"),
        ("household", "every $a in Person/age satisfies number($a) le 99",
         "all(person where if age is not missing then age <= 99)"),
        ("household", "every $p in Person satisfies number($p/x) le xs:decimal(total)",
         "all(person where x <= household.total)"),
        ("household", "some $p in Person[rel = 1] satisfies number($p/age) ge 16",
         "any(person where rel == 1 and age >= 16)"),
        ("household", "max(Person/xs:integer(age)) le 99", "max(person.age) <= 99"),
        ("household", "exists(Person[number(age) ge 16]) and count(Person) ge 1",
         "any(person where age >= 16) and count(person) >= 1"),
        ("household", "empty(Person[number(age) gt 110])", "all(person where age <= 110)"),
        ("person", "if (xs:integer(age) lt 16) then xs:decimal(x) eq 0 else true()", "if age < 16 then x == 0"),
        ("person", "xs:decimal(x) le xs:decimal(../total)", "x <= household.total"),
        ("person", "rel = (1, 2)", "rel == 1 or rel == 2"),
    ],
)  # fmt: skip
def test_what_a_test_in_xpath_2_means(level: str, test: str, rule: str) -> None:
    spaces = {"xs": "http://www.w3.org/2001/XMLSchema"}
    assert rule_text(parse_nested(test, level, NestedLevels.of(LEVELS), namespaces=spaces)) == rule
    with pytest.raises(mw.EditError):
        parse_nested(test, level, NestedLevels.of(LEVELS))


@pytest.mark.parametrize(
    ("level", "test", "said"),
    [
        ("household", "../Household", "around a record of the upper level"),
        ("household", "//Person", "descendant path"),
        ("household", "preceding-sibling::Household[1]/x = x", "preceding-sibling"),
        ("household", "sum(x) = 1", "something else than members"),
        ("household", "count(Person/x) = 1", "something else than members"),
        ("household", "Person[2]/x = 1", "chosen by its number"),
        ("household", "Person/x = Person/y", "members with members"),
        ("person", "../Person[age > current()/age]", "compared with the record itself"),
        ("person", "../Person/x = y", "members with the record itself"),
        ("person", "preceding-sibling::Person[2]/x = x", "a neighbour other than the next"),
        ("person", "../../x", "what is around a record"),
    ],
)
def test_what_is_refused(level: str, test: str, said: str) -> None:
    with pytest.raises(mw.EditError, match=said):
        parse_nested(test, level, NestedLevels.of(LEVELS))


def written(folder: Path, rules: str) -> Path:
    path = folder / "rules.sch"
    path.write_text(f'<schema xmlns="http://purl.oclc.org/dsdl/schematron">{rules}</schema>', encoding="utf-8")
    return path


def test_contexts_lets_and_the_order_of_rules(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        '<pattern id="p"><rule context="//Person[number(age) &lt; 16]"><let name="limit" value="../total div 2"/>'
        '<assert test="x &lt;= $limit">Children.</assert></rule>'
        '<rule context="/Survey/Household/Person"><report test="x > ../total">Others.</report></rule>'
        '<rule context="Person"><assert test="x = 1">Never.</assert></rule>'
        '<rule context="Household"><assert test="size">Its size.</assert></rule></pattern>',
    )
    found = {edit.name: edit for edit in read_schematron(path, levels=LEVELS)}
    assert [edit.level for edit in found.values()] == ["person", "person", "person", "household"]
    assert rule_text(found["p"].expression) == "if age < 16 then x <= household.total / 2"
    assert rule_text(found["p.2"].expression) == "if not age < 16 then not x > household.total"
    assert found["p.3"].shadowed
    assert not found["p.4"].shadowed
    assert rule_text(found["p.4"].expression) == "size is not missing"


@pytest.mark.parametrize("record", ["{}", "s:{}"])
@pytest.mark.parametrize("prefix", ["s", "q"])
def test_the_prefix_of_a_level_is_that_of_the_document_and_not_of_the_rules(
    tmp_path: Path, record: str, prefix: str
) -> None:
    levels = {name: level.model_copy(update={"record": record.format(level.record)}) for name, level in LEVELS.items()}
    path = written(
        tmp_path,
        f'<ns prefix="{prefix}" uri="urn:survey"/><pattern><rule context="{prefix}:Household"><assert id="sum" '
        f'test="sum({prefix}:Person/{prefix}:x) = {prefix}:z">Sum.</assert></rule></pattern>',
    )
    (edit,) = read_schematron(path, levels=levels)
    assert (edit.level, rule_text(edit.expression)) == ("household", "sum(person.x) == z")


def test_other_contexts_are_told(tmp_path: Path) -> None:
    rules = '<pattern><rule context="Firm"><assert test="x">No.</assert></rule></pattern>'
    with pytest.raises(mw.EditError, match="names neither <Household> nor <Person>"):
        read_schematron(written(tmp_path, rules), levels=LEVELS)


def test_the_demo_has_the_counts_of_isoschematron(tmp_path: Path) -> None:
    write_levels_demo(tmp_path, 600)
    edits = read_schematron(tmp_path / "survey.sch", levels=LEVELS)
    tables = {"household": pd.read_csv(tmp_path / "households.csv"), "person": pd.read_csv(tmp_path / "persons.csv")}
    linked = mw.linked_data(tables, LEVELS)
    found = outcomes(linked, bind(edits, Structure.of(linked)))
    counts = {each.name: (each.violations, each.fired) for level in found.values() for each in level.edits}
    assert counts == schematron_counts(tmp_path / "survey.sch", tmp_path / "survey.xml")


RULES = (
    ("Household", "count(Person) = number(size)"),
    ("Household", "sum(Person[number(age) &lt; 50]/income) &lt;= number(total)"),
    ("Household[number(size) > 1]", "Person[number(income) > 5]"),
    ("Household", "not(Person[number(age) > 60])"),
    ("Household", "Person/income = total"),
    ("Household", "not(Person/income > number(total) - 2)"),
    ("Person", "number(income) &lt;= number(../total)"),
    ("Person", "count(../Person[income &lt; 3]) &lt; 2"),
    ("Person[number(mother) > 0]", "number(../Person[pno = current()/mother]/age) - number(age) >= 14"),
)


@pytest.mark.covering(3)
@pytest.mark.parametrize("seed", range(20))
def test_random_households_have_the_verdicts_of_isoschematron(tmp_path: Path, seed: int) -> None:
    chosen = random.Random(seed)
    households, persons = [], []
    for number in range(1, chosen.randint(2, 8)):
        size = chosen.randint(1, 4)
        total = chosen.choice([0, 5, 10])
        households.append({"hhid": number, "size": chosen.choice([size, 2]), "total": total})
        persons += [
            {
                "hhid": number,
                "pno": each,
                "age": chosen.randint(0, 80),
                "income": chosen.randint(0, 9),
                "spouse": 0,
                "mother": chosen.choice([0, chosen.randint(1, size)]),
            }
            for each in range(1, size + 1)
        ]
    text = []
    for household in households:
        members = [person for person in persons if person["hhid"] == household["hhid"]]
        own = "".join(f"<{name}>{value}</{name}>" for name, value in household.items())
        inside = "".join(
            "<Person>"
            + "".join(f"<{name}>{value}</{name}>" for name, value in each.items() if name != "hhid")
            + "</Person>"
            for each in members
        )
        text.append(f"<Household>{own}{inside}</Household>")
    data = tmp_path / "survey.xml"
    data.write_text(f"<Survey>{''.join(text)}</Survey>", encoding="utf-8")
    schema = written(
        tmp_path,
        "".join(
            f'<pattern id="r{number}"><rule context="{context}"><assert test="{test}">No.</assert></rule></pattern>'
            for number, (context, test) in enumerate(RULES)
        ),
    )
    linked = mw.linked_data({"household": pd.DataFrame(households), "person": pd.DataFrame(persons)}, LEVELS)
    found = outcomes(linked, bind(read_schematron(schema, levels=LEVELS), Structure.of(linked)))
    counts = {each.name: (each.violations, each.fired) for level in found.values() for each in level.edits}
    assert counts == schematron_counts(schema, data)
