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
import bad_rule_languages
from table_of_bad_plugins import KIT, caught_by_kit, rows, table

from maskwright import Claims, Method, Partition, Report, RuleLanguage

FINE = {
    "method": Method(name="spoiler", protect=bad_plugins.fine, claims=Claims(handles_missing=True)),
    "partition": Partition(name="spoiler", cluster=bad_plugins.cluster_fine),
    "measure": bad_plugins._measure(),
    "report": Report(name="spoiler", write=bad_plugins.write_fine, suffixes=(".txt",)),
    "rule_language": RuleLanguage(name="spoiler", write=bad_rule_languages.good_rules, written_suffixes=(".spoiler",)),
}


@pytest.mark.parametrize("kind", FINE)
def test_what_the_bad_ones_are_made_of_passes(kind: str) -> None:
    assert caught_by_kit(kind, FINE[kind]) == "-"


@pytest.mark.parametrize(
    ("write", "check"),
    [
        (bad_rule_languages.numbers_them, "write_written_alike"),
        (bad_rule_languages.leaves_out, "write_nothing_is_left_out"),
    ],
)
def test_the_kit_finds_bad_writers_of_rules(write: Any, check: str) -> None:
    assert caught_by_kit("rule_language", RuleLanguage(name="spoiler", write=write)) == check


def test_the_kit_knows_every_kind() -> None:
    from maskwright.plugins.contract import KINDS

    assert set(KIT) == set(KINDS)
    assert bad_formats.SOURCES


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_none_releases_a_wrong_file_and_each_is_named() -> None:
    found = list(rows())
    print(table(found))
    assert len(found) > 120
    assert not [row for row in found if row.is_wrong or row.is_silent or row.is_unnamed or row.engine == "no"]
    assert re.search(r"released wrong 0, exit 0 without release 0, messages .* 0$", table(found))
