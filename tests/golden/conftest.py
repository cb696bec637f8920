"""Fixtures for tests against published figures and reference files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import maskwright as mw

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def census(reference: Path) -> mw.Dataset:
    """The Census file: 1080 records, 13 variables in whole numbers."""
    return mw.read(reference / "census.csv")


@pytest.fixture(scope="session")
def census_rules(census: mw.Dataset) -> list[str]:
    """One equality, twelve inequalities and x >= 0: definitions and reference values, section 6.1."""
    return [
        "PTOTVAL = POTHVAL + PEARNVAL", "TAXINC <= AGI", "FEDTAX <= TAXINC", "FICA <= PEARNVAL", "PEARNVAL <= PTOTVAL",
        "POTHVAL <= PTOTVAL", "INTVAL <= PTOTVAL", "INTVAL <= AGI", "EMCONTRB <= AGI", "EMCONTRB <= PTOTVAL",
        "FEDTAX <= AGI", "FICA <= AGI", "STATETAX <= AGI", *(f"{name} >= 0" for name in census.names),
    ]  # fmt: skip
