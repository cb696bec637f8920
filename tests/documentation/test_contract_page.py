"""The page on the contract of plugins is what the types and docstrings of the records say."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import pytest

from maskwright.cli.main import main
from maskwright.cli.show.explained_contract import HANDED, OFFERED, attribute_descriptions, contract_table
from maskwright.plugins.legal_values import LEGAL_VALUES, MEANINGS

PAGE = Path(__file__).parents[2] / "docs" / "plugin-authors" / "contract.md"
NESTED = {"Claims", "MeasureClaims", "Format"}
AGAIN = (
    "make it again: python -c 'from maskwright.cli.show.explained_contract import contract_table; "
    'print(contract_table(), end="")\' > docs/plugin-authors/contract.md'
)


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
    assert "CONTRACT = 2" in shown
    assert "  removes (" in shown
    assert "Legal: detail, cells, records." in shown


def test_it_is_short_enough_to_be_read() -> None:
    assert len(PAGE.read_text(encoding="utf-8").splitlines()) <= 300
    assert max(len(fields(record)) for record in OFFERED if record.__name__ not in NESTED) <= 12
