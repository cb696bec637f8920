"""Every built-in source, edit reader and report keeps the contract that third parties are asked to keep."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from maskwright.plugins.registry import plugins
from maskwright.testing import RightRules, WrongRules, report_checks, rule_language_checks, source_checks

if TYPE_CHECKING:
    from collections.abc import Callable

    from maskwright import Source

REGISTRY = plugins()
WRITING = ("csv", "excel", "parquet", "spss", "stata", "xml")
SQLITE = replace(REGISTRY.sources["sql"], suffixes=(".sqlite",))
FIXED_WIDTH = "".join(f"{number:5d}{amount:12.2f}{text:8}\n" for number, amount, text in (
    (1, 1_234_567_890.25, "Zürich"), (2, 9_876_543_210.5, "Genève"), (3, 5_555_555_555.75, "Basel"), (4, 0.0, "Bern"),
))  # fmt: skip
PLACES = {"number": (1, 5), "amount": (6, 12), "region": (18, 8)}
PARAMS = {"fixed_width": {"columns": {name: {"start": at, "width": width} for name, (at, width) in PLACES.items()}}}


def sources() -> list[Source]:
    return [*(REGISTRY.sources[name] for name in WRITING), SQLITE]


@pytest.mark.parametrize("check", source_checks(sources()))
def test_sources_that_write_keep_the_contract(check: Callable[[], object]) -> None:
    assert check() is None


def fixed_width() -> Path:
    """File with its records, for as long as the tests run."""
    path = Path(tempfile.mkdtemp(prefix="maskwright-")) / "sample.fwf"
    path.write_text(FIXED_WIDTH, encoding="utf-8")
    atexit.register(shutil.rmtree, path.parent, ignore_errors=True)
    return path


@pytest.mark.parametrize(
    "check",
    source_checks(
        [REGISTRY.sources["fixed_width"]],
        params=PARAMS,
        samples={"fixed_width": fixed_width()},
        records={"fixed_width": 4},
    ),
)
def test_a_source_that_writes_what_it_has_read_keeps_the_contract(check: Callable[[], object]) -> None:
    assert check() is None


# Of formats that are only read, and of tables of a server, what is no file of theirs is refused.
OTHERS = ("postgresql",)


@pytest.mark.parametrize("check", source_checks([REGISTRY.sources[name] for name in OTHERS]))
def test_other_sources_keep_the_contract(check: Callable[[], object]) -> None:
    assert check() is None


RIGHT = {
    "yaml": [
        RightRules(
            "edits:\n- age in [0, 120]\n- {rule: wages + pensions == income, name: totals}\n",
            2,
            obeyed=[{"age": 40, "wages": 10, "pensions": 5, "income": 15}],
            broken=[
                {"age": 140, "wages": 10, "pensions": 5, "income": 15},
                {"age": 40, "wages": 10, "pensions": 5, "income": 16},
            ],
        ),
    ],
    "schematron": [
        RightRules(
            '<schema xmlns="http://purl.oclc.org/dsdl/schematron">\n<pattern>\n<rule context="Record">\n'
            '<assert test="age &lt;= 120">too old</assert>\n</rule>\n</pattern>\n</schema>\n',
            1,
            obeyed=[{"age": 40}],
            broken=[{"age": 140}],
        ),
    ],
    "validate": [
        RightRules(
            "# ages\nage <= 120\n",
            1,
            obeyed=[{"age": 40}],
            broken=[{"age": 140}],
        ),
    ],
    "banff": [
        RightRules(
            "wages + pensions = income;\n",
            1,
            obeyed=[{"wages": 10, "pensions": 5, "income": 15}],
            broken=[{"wages": 10, "pensions": 5, "income": 16}],
        ),
    ],
}
WRONG = {
    "yaml": [WrongRules("edits:\n- age in [0, 120\n- age <= 12 12\n", [(2, None), (3, None)])],
    "schematron": [
        WrongRules(
            '<schema xmlns="http://purl.oclc.org/dsdl/schematron">\n<pattern>\n<rule context="Record">\n'
            '<assert test="age &lt;= ">too old</assert>\n</rule>\n</pattern>\n</schema>\n',
            [(4, None)],
        ),
    ],
    "validate": [WrongRules("# ages\nage <= 12 12\n", [(2, None)])],
    "banff": [WrongRules("wages + = income;\n", [(1, None)])],
}


LANGUAGES = list(REGISTRY.rule_languages.values())


@pytest.mark.parametrize("check", rule_language_checks(LANGUAGES, right=RIGHT, wrong=WRONG))
def test_rule_languages_keep_the_contract(check: Callable[[], object]) -> None:
    assert check() is None


@pytest.mark.parametrize("check", report_checks(list(REGISTRY.reports.values())))
def test_reports_keep_the_contract(check: Callable[[], object]) -> None:
    assert check() is None
