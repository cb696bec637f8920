"""What `maskwright explain levels` says; the walk through data of two levels is run by `test_pages`."""

from __future__ import annotations

from maskwright.cli.show.explain import explain
from maskwright.data.levels.linked_data import LevelDeclaration


def test_the_page_names_every_key() -> None:
    page = explain("levels")
    for name, field in LevelDeclaration.model_fields.items():
        assert f"  {field.alias or name} (" in page
