"""The table of all bad plugins, printed with ``-s``: none releases a wrong file, and each is named."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))

import bad_formats
import bad_plugins
import bad_smaller_kinds
from table_of_bad_plugins import KIT, caught_by_kit, rows, table

from maskwright import Action, Claims, Command, Method, Partition, PlanCheck, Report, ReportSection, RuleWriter

FINE = {
    "method": Method(name="spoiler", protect=bad_plugins.fine, claims=Claims(handles_missing=True)),
    "partition": Partition(name="spoiler", cluster=bad_plugins.cluster_fine),
    "measure": bad_plugins._measure(),
    "report": Report(name="spoiler", write=bad_plugins.write_fine, suffixes=(".txt",)),
    "rule_writer": RuleWriter(name="spoiler", write=bad_smaller_kinds.good_rules, suffixes=(".spoiler",)),
    "plan_check": PlanCheck(name="spoiler", check=bad_smaller_kinds.says_nothing),
    "report_section": ReportSection(name="spoiler", title="Spoiler", compose=bad_smaller_kinds.good_section),
    "action": Action(name="spoiler", act=lambda outputs, record, params: "done"),
    "command": Command(name="spoiler", work=bad_smaller_kinds.done),
}


@pytest.mark.parametrize("kind", FINE)
def test_what_the_bad_ones_are_made_of_passes(kind: str) -> None:
    assert caught_by_kit(kind, FINE[kind]) == "-"


@pytest.mark.parametrize(
    ("kind", "plugin", "check"),
    [
        ("rule_writer", RuleWriter(name="spoiler", write=bad_smaller_kinds.numbers_them), "written_alike"),
        ("rule_writer", RuleWriter(name="spoiler", write=bad_smaller_kinds.leaves_out), "nothing_is_left_out"),
        ("action", Action(name="spoiler", act=bad_smaller_kinds.changes_the_file), "release_unchanged"),
        ("action", Action(name="spoiler", act=bad_smaller_kinds.says_a_value), "no_values_in_what_it_says"),
        ("action", Action(name="spoiler", act=bad_smaller_kinds.prints_the_names), "prints_nothing"),
        ("report_section", bad_smaller_kinds.SECTIONS[0].offered, "minimal_record"),
        ("plan_check", PlanCheck(name="spoiler", check=bad_smaller_kinds.counts_its_calls), "found_alike"),
        ("command", Command(name="spoiler", work=bad_smaller_kinds.prints_it), "prints_nothing"),
        ("command", Command(name="run", work=bad_smaller_kinds.done), "contract"),
    ],
)
def test_the_kit_finds_bad_ones_of_the_smaller_kinds(kind: str, plugin: Any, check: str) -> None:
    assert caught_by_kit(kind, plugin) == check


def test_the_kit_knows_every_kind() -> None:
    from maskwright.plugins.contract import KINDS

    assert set(KIT) == set(KINDS)
    assert bad_formats.SOURCES


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_none_releases_a_wrong_file_and_each_is_named() -> None:
    found = list(rows())
    print(table(found))
    assert len(found) > 150
    assert not [row for row in found if row.is_wrong or row.is_silent or row.is_unnamed or row.engine == "no"]
    assert re.search(r"released wrong 0, exit 0 without release 0, messages .* 0$", table(found))
