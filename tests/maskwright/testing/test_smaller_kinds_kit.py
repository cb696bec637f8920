"""The kit on rule writers, plan checks, sections, actions and commands: those that come with Maskwright pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from maskwright.plugins.registry import plugins
from maskwright.testing import action_checks, plan_check_checks, report_section_checks, rule_writer_checks

if TYPE_CHECKING:
    from collections.abc import Callable

FOUND = plugins()


@pytest.mark.parametrize(
    "check",
    [
        *rule_writer_checks(list(FOUND.rule_writers.values())),
        *plan_check_checks(list(FOUND.plan_checks.values())),
        *report_section_checks(list(FOUND.report_sections.values())),
        *action_checks(list(FOUND.actions.values())),
    ],
)
def test_what_comes_with_maskwright_keeps_the_contract(check: Callable[[], object]) -> None:
    assert check() is None
