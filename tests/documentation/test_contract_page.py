"""The page on the contract of plugins is what the types and docstrings of the records say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from maskwright import NoParams, PlanCheck, PlanFinding
from maskwright.cli.main import main
from maskwright.cli.show.explained_contract import HANDED, OFFERED, attribute_descriptions, contract_table
from maskwright.cli.show.explained_pages import plan_keys
from maskwright.plugins.legal_values import LEGAL_VALUES, MEANINGS

if TYPE_CHECKING:
    from maskwright.testing import RunPipeline

pytest_plugins = ["maskwright.testing.fixtures"]

PAGE = Path(__file__).parents[2] / "docs" / "plugin-authors" / "contract.md"
AGAIN = (
    "make it again: python -c 'from maskwright.cli.show.explained_contract import contract_table; "
    'print(contract_table(), end="")\' > docs/plugin-authors/contract.md'
)


def keys(shown: object, before: str = "") -> set[str]:
    """Keys of a plan as the page has them, but for those of mappings by name."""
    found: set[str] = set()
    for name, value in shown.items() if isinstance(shown, Mapping) else ():
        found.add(before + name)
        if isinstance(value, tuple) and value and isinstance(value[0], Mapping):
            found |= set().union(*(keys(each, f"{before}{name}[].") for each in value))
        if name == "pipeline":
            found |= keys(value, "pipeline.")
    return found - {"pipeline"}


def test_the_page_has_every_key_of_a_plan_and_no_other(run_pipeline: RunPipeline) -> None:
    seen: list[Mapping[str, Any]] = []

    def check(plan: Mapping[str, Any], params: NoParams) -> list[PlanFinding]:
        seen.append(plan)
        return []

    people = "age,wages,pensions,income\n" + "".join(f"{20 + n},{9 * n},{n},{10 * n}\n" for n in range(40))
    ran = run_pipeline(
        {
            "data": {"source": "people.csv"},
            "edits": ["wages + pensions == income", "age in [0, 120]"],
            "protect": [{"method": "microaggregation", "params": {"k": 3}}],
            "measure": ["pil", {"sse": {"as": "moved"}}],
            "thresholds": {"pil": 100},
            "checks": ["looks"],
        },
        plugins=[PlanCheck(name="looks", check=check, summary="Looks.")],
        files={"people.csv": people},
    )
    assert ran.exit_code == 0, ran.messages
    said = {key for key, _, _ in plan_keys()}
    assert keys(seen[0]) == said
    assert seen[0]["pipeline"]["measure"] == ("pil", "moved")
    assert seen[0]["pipeline"]["thresholds"] == {"pil": 100.0}
    assert "| `pipeline.thresholds` | mapping of str to float |" in PAGE.read_text(encoding="utf-8")


def test_the_page_is_what_the_records_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == contract_table(), AGAIN


@pytest.mark.parametrize("record", [*OFFERED, *HANDED], ids=lambda record: record.__name__)
def test_every_field_is_said(record: type) -> None:
    """Each with a text, or beside one that has it; nothing is said of a field that there is not."""
    said = attribute_descriptions(record)
    assert {field.name for field in fields(record)} == set(said)


def test_every_legal_value_has_a_meaning() -> None:
    assert {kind: tuple(values) for kind, values in MEANINGS.items()} == LEGAL_VALUES


def test_the_command_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "contract"]) == 0
    shown = capsys.readouterr().out
    assert "CONTRACT = 1" in shown
    assert "  takes_away (" in shown
    assert "Legal: records, cells." in shown
