"""Random rules on dirty records: evaluated as an independent interpreter does, printed and read again, converted."""

from __future__ import annotations

import random
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from lxml import etree, isoschematron

from maskwright.edits.algebra.classify import classify
from maskwright.edits.edit import Edit
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check import evaluate
from maskwright.edits.evaluation.exact import evaluate_exact
from maskwright.edits.languages.conversion.convert import convert_edits
from maskwright.edits.languages.conversion.converted import Inexpressible
from maskwright.edits.languages.conversion.yaml_text import rule_text
from maskwright.edits.languages.r_validate.reader import read_validate
from maskwright.edits.languages.schematron.reader import read_schematron
from maskwright.edits.languages.yaml.files import read_edits_yaml
from maskwright.edits.rule_language.rules import parse_expression
from maskwright.foundation.errors import EditError

sys.path.insert(0, str(Path(__file__).parent))
import edit_language as language

SVRL = "{http://purl.oclc.org/dsdl/svrl}"


def edit(expression, position: int) -> Edit:
    return Edit(f"r{position}", expression, (), (), "", place=None)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_evaluation_agrees_with_an_independent_interpreter(seed):
    rng = random.Random(seed)
    rows = language.records(rng, 40)
    data = language.columns(rows)
    for _ in range(120):
        rule = language.condition(rng, 3)
        verdict = evaluate_exact(rule, data)
        expected = [language.truth(rule, row) for row in rows]
        assert verdict.unknown.tolist() == [value is None for value in expected], rule_text(rule)
        assert verdict.holds.tolist() == [value is not False for value in expected], rule_text(rule)


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_what_is_printed_is_read_back(seed):
    rng = random.Random(100 + seed)
    for _ in range(100):
        rule = language.condition(rng, 3)
        text = rule_text(rule)
        # Sign and number of a literal are one; everything else comes back as it was.
        assert parse_expression(text) == parse_expression(rule_text(parse_expression(text))), text
        rows = language.records(rng, 12)
        expected = [language.truth(rule, row) is not False for row in rows]
        assert evaluate_exact(parse_expression(text), language.columns(rows)).holds.tolist() == expected, text


def possible(rng: random.Random, n: int):
    """Random rules, but for those that no record could obey: they are refused on reading."""
    found = []
    while len(found) < n:
        rule = language.condition(rng, 2)
        try:
            classify(rule)
        except EditError:
            continue
        found.append(rule)
    return found


def expressible(rules, target):
    """Edits that the target can say; the others must be refused by name, with a reason."""
    kept = []
    for one in rules:
        refused = None
        try:
            convert_edits(EditSet((one,)), target, decimals=1)
        except EditError as error:
            refused = str(error)
        if refused is None:
            kept.append(one)
        else:
            assert f"edit {one.name} cannot be written in" in refused
    return kept


def xml_of(rows) -> etree._Element:
    root = etree.Element("Data")
    for row in rows:
        record = etree.SubElement(root, "Record")
        for name, cell in row.items():
            if cell is not None:
                etree.SubElement(record, name).text = cell
    return root


def failed(schema: str, rows) -> dict[str, set[int]]:
    """Records that each assert fails on, as lxml's engine says; by pattern id."""
    engine = isoschematron.Schematron(etree.XML(schema.encode()), store_report=True)
    engine.validate(xml_of(rows))
    found: dict[str, set[int]] = {}
    pattern = ""
    for element in engine.validation_report.getroot():
        if element.tag == f"{SVRL}active-pattern":
            pattern = element.get("id") or element.get("name")
            found[pattern] = set()
        elif element.tag == f"{SVRL}failed-assert":
            location = element.get("location")
            number = location.rpartition("Record")[2].strip("[]") or "1"
            found[pattern].add(int(number) - 1)
    return found


def read_back(path, kept, text):
    """Edits of a Schematron file, without those that only a missing cell could obey."""
    problems = ()
    try:
        return read_schematron(path), kept
    except EditError as error:
        problems = error.problems
    assert all("can never hold" in problem.message for problem in problems)
    lines = text.splitlines()
    names = {re.search('id="(.*?)"', lines[problem.place.line - 3])[1] for problem in problems}
    assert len(names) < 10
    rest = [one for one in kept if one.name not in names]
    path.write_text(convert_edits(EditSet(tuple(rest)), "schematron", decimals=1).text, encoding="utf-8")
    return read_schematron(path), rest


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_schematron_has_the_same_verdict_in_another_engine(seed, tmp_path):
    rng = random.Random(200 + seed)
    rows = language.records(rng, 60)
    rules = [edit(rule, position) for position, rule in enumerate(possible(rng, 100))]
    kept = expressible(rules, "schematron")
    assert len(kept) > 70
    written = convert_edits(EditSet(tuple(kept)), "schematron", decimals=1)
    found = failed(written.text, rows)
    data = language.columns(rows)
    for one in kept:
        expected = set(np.flatnonzero(~evaluate(one, data).holds).tolist())
        assert found[one.name] == expected, rule_text(one.expression)
    # And our own reading of that file.
    path = tmp_path / "rules.sch"
    path.write_text(written.text, encoding="utf-8")
    read, kept = read_back(path, kept, written.text)
    for one in kept:
        assert set(np.flatnonzero(~evaluate(read[one.name], data).holds).tolist()) == found[one.name]
    # And back again: rules in YAML with the verdict of that file.
    again = expressible(read, "yaml")
    assert len(again) > 50
    target = tmp_path / "rules.yaml"
    target.write_text(convert_edits(EditSet(tuple(again)), "yaml").text, encoding="utf-8")
    for one in read_edits_yaml(target):
        verdict = evaluate(one, data)
        assert not verdict.unknown.any(), one.text
        assert set(np.flatnonzero(~verdict.holds).tolist()) == found[one.name], one.text


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow)])
def test_rules_in_r_have_the_same_verdict_when_they_are_read_again(seed, tmp_path):
    rng = random.Random(400 + seed)
    data = language.columns(language.records(rng, 60))
    # A column of R has one type: what asks for the type of a cell asks whether there is one.
    asked = (rule for rule in possible(rng, 150) if not re.search(r"is (not )?(number|integer)", rule_text(rule)))
    rules = expressible([edit(rule, position) for position, rule in enumerate(asked)], "validate")
    assert len(rules) > 40
    path = tmp_path / "rules.yaml"
    path.write_text(convert_edits(EditSet(tuple(rules)), "validate").text, encoding="utf-8")
    again = read_validate(path)
    for one in rules:
        before, after = evaluate(one, data), evaluate(again[one.name], data)
        assert (before.holds == after.holds).all(), rule_text(one.expression)
        assert (before.unknown == after.unknown).all(), rule_text(one.expression)


def test_names_texts_and_levels_survive():
    with pytest.raises(Inexpressible):
        rule_text(parse_expression("`a b` == 1") and language.x.VariableReference("a`b"))
