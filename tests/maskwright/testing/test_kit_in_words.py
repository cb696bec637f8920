"""The kit says in words what a plugin did that no assertion is about."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from maskwright import EditSet, Method, Place, RuleLanguage
from maskwright.testing import RightRules, method_checks, rule_language_checks

if TYPE_CHECKING:
    from pathlib import Path


def said_by(parameters: list[Any], check: str) -> str:
    """What a check that fails says."""
    (function,) = [each.values[0] for each in parameters if str(each.id).endswith(f"-{check}")]
    with pytest.raises(AssertionError) as failed:
        function()
    return str(failed.value)


def leaves(block, params, rng):
    sys.exit(0)


def test_a_method_that_ends_the_program_is_told_so_by_every_check() -> None:
    method = Method(name="leaves", protect=leaves, scope="variable", summary="Leaves.", reference="none")
    said = []
    for each in method_checks([method]):
        try:
            each.values[0]()
        except AssertionError as error:
            said.append(str(error))
    assert any(text.startswith("method 'leaves' ended the program (SystemExit): it returns") for text in said)


def read(path: Path) -> EditSet:
    rules = [{"rule": "age in [0, 120]", "name": "span"}, {"rule": "age <= 99", "name": "old", "severity": "warning"}]
    return EditSet.parse(rules, lambda position: Place(str(path), position + 1, 1))


READER = RuleLanguage(name="mine", suffixes=(".mine",), read=read, summary="Two rules.")


def checks_of(**records: Any) -> list[Any]:
    return rule_language_checks([READER], right={"mine": [RightRules("any", 2, **records)]})


def test_a_record_that_breaks_a_warning_only_is_an_obeyed_one_and_the_kit_says_so() -> None:
    said = said_by(checks_of(broken=[{"age": 130}, {"age": 110}]), "right_1")
    assert said == (
        "record 2 that breaks the edits breaks none of severity error, as they are read; of warnings it breaks old, "
        "which do not count"
    )
    (right,) = [each.values[0] for each in checks_of(obeyed=[{"age": 110}]) if str(each.id).endswith("-right_1")]
    right()


def test_of_a_record_that_should_obey_the_broken_edits_are_named() -> None:
    said = said_by(checks_of(obeyed=[{"age": 130}]), "right_1")
    assert said == "record 1 that obeys the edits does not, as they are read: it breaks span, old"
    said = said_by(checks_of(obeyed=[{"age": None}]), "right_1")
    assert said == "record 1 that obeys the edits does not, as they are read: edits cannot be judged on it"
