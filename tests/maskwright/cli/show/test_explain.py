"""Pages of ``maskwright explain`` on data, and what is said of a name that does not exist."""

from __future__ import annotations

from typing import get_args

import pytest

from maskwright.cli.main import main
from maskwright.data.variable import Role, VariableType
from maskwright.plugins.registry import plugins


def explained(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    assert main(["explain", name]) == 0
    return capsys.readouterr().out


def test_every_role_and_type_is_on_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    for name, listed in (("roles", Role), ("types", VariableType)):
        page = explained(name, capsys)
        for each in get_args(listed):
            assert f"\n  {each}" in page


def test_missing_cells(capsys: pytest.CaptureFixture[str]) -> None:
    page = explained("missing", capsys)
    assert "missing: {-1: does not apply, -2: refused}" in page
    assert "suppressed_as" in page


def test_every_installed_format_is_listed_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    page = explained("formats", capsys)
    for name, source in plugins().sources.items():
        assert f"\n{name}: {', '.join(source.suffixes)}" in page
        for option in source.params.model_fields:
            assert f"\n  {option} (" in page


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("noise", ["additive_noise", "correlated_noise", "multiplicative_noise"]),
        ("top_coding", ["top_and_bottom_coding"]),
        ("role", ["roles"]),
        ("mdaw", ["mdav"]),
    ],
)
def test_an_unknown_name_gets_the_names_that_may_be_meant(
    name: str, meant: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["explain", name]) == 2
    said = capsys.readouterr().err
    assert "did you mean" in said
    assert all(repr(each) in said for each in meant)
