"""The kit finds the bad sources, edit readers and reports that the engine refuses, at their author's desk."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from maskwright.plugins.contract import contract_error
from maskwright.testing import report_checks, rule_language_checks, source_checks

sys.path.insert(0, str(Path(__file__).parent))
from bad_formats import SHADOWED, SOURCES, BadPlugin, source

if TYPE_CHECKING:
    from maskwright import Source

CHECKS = {"source": source_checks, "rule_language": rule_language_checks, "report": report_checks}
ROUND_TRIPS = ("_come_back", "order_is_kept")


def found(plugin: Source) -> list[str]:
    """Round trips that fail; some of the bad sources only alter cells of a file that looks as they expect."""
    failed = []
    for parameter in source_checks([plugin]):
        if parameter.id.endswith(ROUND_TRIPS):
            try:
                parameter.values[0]()
            except Exception:  # noqa: BLE001 - whatever it is, the author sees it
                failed.append(str(parameter.id))
    return failed


def test_the_source_that_they_are_made_of_passes() -> None:
    assert found(source()) == []


@pytest.mark.parametrize("bad", SOURCES, ids=lambda bad: bad.name)
def test_a_source_that_writes_otherwise_is_found(bad: BadPlugin) -> None:
    assert found(bad.plugin) != []


@pytest.mark.parametrize("bad", SHADOWED, ids=lambda bad: bad.name)
def test_a_hidden_name_is_told_in_the_words_of_the_engine(bad: BadPlugin) -> None:
    (check,) = CHECKS[bad.kind]([bad.plugin])
    with pytest.raises(AssertionError) as told:
        check.values[0]()
    assert str(told.value) == contract_error(bad.kind, bad.plugin)
    assert bad.message in str(told.value)
