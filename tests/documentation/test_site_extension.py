"""What the build adds to Sphinx: words for types, text of docstrings as markdown, formulas, the command lines."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("sphinx", reason="THE SITE IS NOT BUILT: pip install '.[docs]', then run this test again")


@pytest.fixture(autouse=True)
def _extension_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "docs"))


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"type": "integer", "minimum": 2}, "whole number, at least 2"),
        ({"type": "array", "items": {"type": "string"}}, "list of texts"),
        ({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "number"}]}}, "list of (text or number)"),
        ({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, {"type": "null"}]}, "number, above 0"),
        ({"enum": ["mean", "none"]}, "`mean` or `none`"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "mapping of name to number"),
        ({"$ref": "#/$defs/Size"}, "whole number"),
        ({"$ref": "pipeline.schema.json#/properties/data"}, "anything"),
        ({"const": 1}, "`1`"),
    ],
)
def test_types_in_words(schema: dict[str, object], words: str) -> None:
    from _extension.value_types import in_words

    assert in_words(schema, {"Size": {"type": "integer"}}) == words


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("``erf(x)`` of `x` is a_b * c", r"`erf(x)` of `x` is a\_b \* c"),
        ("One line\nand another.\n\nNext.", "One line and another.\n\nNext."),
        ("    m = a_1 * w", "```text\nm = a_1 * w\n```"),
        ("Take:\n- one\n- two", "Take:\n- one\n- two"),
        ("{-1: refused} | [x]", r"\{-1: refused\} \| \[x\]"),
    ],
)
def test_text_of_docstrings_is_markdown_that_says_the_same(text: str, markdown: str) -> None:
    from _extension.markdown_text import as_markdown

    assert as_markdown(text) == markdown


def test_an_index_stands_beside_a_letter_with_an_accent() -> None:
    from _extension.math_in_html import as_mathml

    shown = "".join(as_mathml(r"\bar{x}_c", as_block=False).split())
    assert '<msub><mover><mi>x</mi><mostretchy="false">ˉ</mo></mover><mi>c</mi></msub>' in shown
    assert "log" in as_mathml(r"\log x < \exp \alpha", as_block=False)
    assert "…" in as_mathml(r"x_1, \dots, x_m", as_block=False)
    assert "munderover" in as_mathml(r"\sum_i^n x", as_block=True)


def test_every_option_of_a_command_is_on_the_page() -> None:
    from _extension.command_page import command_page

    page = command_page()["commands.md"]
    section = page[page.index("## `run`") : page.index("## `plan`")]
    for option in ("--resume", "--set", "--json", "--quiet", "PIPELINE"):
        assert f"`{option}`" in section
    assert "## `advise keys`" in page


def test_every_share_that_decides_is_on_a_page_with_its_meaning() -> None:
    from _extension.threshold_page import ROOMS, shares_of, threshold_page

    shares = [each for packages in ROOMS.values() for package in packages for each in shares_of(package)]
    assert [f"{each.module}.{each.name}" for each in shares if not each.meaning] == []
    (text,) = threshold_page().values()
    assert text.count("\n| 0.") == len(shares)
    assert "| 0.9 | Share of the cells with a value from which on a column is taken for what they are" in text
