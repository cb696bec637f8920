"""The page about the language of rules says what is so."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from maskwright.cli.show.explain import explain
from maskwright.edits.languages.yaml.documents import FILE_KEYS, edits_schema
from maskwright.edits.languages.yaml.files import read_edits_yaml
from maskwright.edits.rule_language.rule_entry import RULE_KEYS
from maskwright.edits.rule_language.rules import parse_expression
from maskwright.edits.rule_language.typed_tree import FUNCTIONS, KEYWORDS

PAGE = explain("edits")
RULES = [line[4:].split("   ")[0].rstrip() for line in PAGE.splitlines() if re.match(r"  - (?!rule:)", line)]


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_of_the_page_is_read(rule):
    assert parse_expression(rule) == parse_expression(f"({rule})")


def test_the_page_names_everything():
    assert len(RULES) >= 18
    for word in (*FUNCTIONS, *KEYWORDS, *RULE_KEYS, *FILE_KEYS):
        assert re.search(rf"\b{word}\b", PAGE), word


def test_the_examples_of_files_are_read(tmp_path):
    lines = PAGE.splitlines()
    for first, name in (("  - rule: V9", "one.yaml"), ("  aliases:", "rules.yaml")):
        start = next(number for number, line in enumerate(lines) if line.startswith(first))
        end = next(number for number in range(start, len(lines)) if not lines[number])
        text = "\n".join(line[2:].split("   " + " " * 3)[0] for line in lines[start:end])
        (tmp_path / name).write_text(text + "\n", encoding="utf-8")
    (tmp_path / "common.yaml").write_text("- a == 1\n", encoding="utf-8")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "wages.yaml").write_text("- gross >= 0\n", encoding="utf-8")
    assert [edit.name for edit in read_edits_yaml(tmp_path / "one.yaml")] == ["totals"]
    assert [edit.variables for edit in read_edits_yaml(tmp_path / "rules.yaml")] == [
        ("a",), ("V9", "V10", "V14"), ("V14",)
    ]  # fmt: skip


def test_the_committed_schema_is_fresh():
    committed = Path(__file__).parents[2] / "schemas" / "edits.schema.json"
    command = "maskwright schema edits > schemas/edits.schema.json"
    assert json.loads(committed.read_text()) == edits_schema(), f"the schema has changed; run: {command}"
