"""What a run has to say is a record; words are made of it where a person reads them, and nothing is read in words."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import maskwright as mw
from maskwright.foundation.doubts import DOUBT_KINDS
from maskwright.foundation.findings import NOTICE_KINDS, Notice, distinct_notices
from maskwright.foundation.progress import Quiet, notify

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(mw.__file__).parent
EDGE = ("cli/", "foundation/errors.py", "testing/")
"""Where words are made for persons; the kit for authors of plugins reads what they say."""
WORDS = {"message", "sentence"}
READERS = {
    "startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "replace", "split", "find",
    "index", "count", "lower", "strip",
}  # fmt: skip
MODULES = sorted(path for path in ROOT.rglob("*.py") if not str(path.relative_to(ROOT)).startswith(EDGE))


def of_finding(node: ast.AST) -> bool:
    """Whether it is the words of a problem or a finding: ``each.message``; an edit has a message of its own."""
    if not isinstance(node, ast.Attribute) or node.attr not in WORDS:
        return False
    return not (isinstance(node.value, ast.Name) and node.value.id in ("edit", "rule", "found", "mistake"))


def reading_words(tree: ast.AST) -> Iterator[int]:
    """Lines that search, cut, compare or rewrite the words of a problem or a finding."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            function = node.func
            searched = isinstance(function, ast.Attribute) and function.attr in READERS and of_finding(function.value)
            by_pattern = (
                isinstance(function, ast.Attribute)
                and function.attr in ("sub", "search", "match", "fullmatch", "findall", "finditer")
                and any(of_finding(each) for each in node.args)
            )
            if searched or by_pattern:
                yield node.lineno
        if isinstance(node, ast.Compare) and any(of_finding(each) for each in (node.left, *node.comparators)):
            yield node.lineno


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_reads_in_words_what_was_found(path: Path) -> None:
    assert not list(reading_words(ast.parse(path.read_text(encoding="utf-8"))))


def test_reading_in_words_is_seen() -> None:
    wrong = (
        "problem.message.startswith('step ')", "x in each.sentence", "re.sub('a', 'b', doubt.message)",
        "a.message == b.message",
    )  # fmt: skip
    assert all(list(reading_words(ast.parse(each))) for each in wrong)
    assert not list(reading_words(ast.parse("f'{name}: {each.message}'; edit.message == ''")))


def made_kinds() -> Iterator[tuple[str, str]]:
    """Kinds of the notices that the modules make, with the module."""
    for path in ROOT.rglob("*.py"):
        if path.name == "findings.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            made = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
            if made and node.func.id in ("Notice", "notices_of") and isinstance(node.args[0], ast.Constant):  # type: ignore[attr-defined]
                yield str(node.args[0].value), str(path)  # type: ignore[attr-defined]


def test_each_kind_of_notice_is_listed_and_each_that_is_listed_is_made() -> None:
    assert {kind for kind, _ in made_kinds()} == set(NOTICE_KINDS)


def test_kinds_have_names_of_one_form_which_no_doubt_has() -> None:
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in NOTICE_KINDS)
    assert NOTICE_KINDS.keys().isdisjoint(DOUBT_KINDS)


def test_an_unknown_kind_is_no_notice() -> None:
    with pytest.raises(KeyError):
        Notice("no-such-kind", "", "words")


def test_fields_are_those_that_are_known() -> None:
    place = mw.Place("folder/pipeline.yaml", 3, 5, "a line")
    notice = Notice("small-strata", "2", "few", 3, 9, place)
    assert notice.to_json() == {
        "kind": "small-strata", "message": "few", "is_caution": False, "step": 2, "count": 3, "total": 9,
        "place": {"file": "pipeline.yaml", "line": 3, "column": 5},
    }  # fmt: skip
    assert notice.on("household").fields()["level"] == "household"
    assert notice.on("household").on("person").level == "household"
    doubt = mw.Doubt("not-masked", "income", "no step masks it")
    assert (doubt.fields(), doubt.severity, notice.severity) == ({"variable": "income"}, "doubt", "notice")


def test_a_measure_is_doubted_with_its_level() -> None:
    doubt = mw.Doubt("loss-leaves-out-masked-variables", "pil", "it leaves out a", level="person")
    assert str(doubt) == "W403 loss-leaves-out-masked-variables: pil: on the level person it leaves out a"


def test_a_reporter_gets_sentences_and_cautions() -> None:
    heard: list[str] = []

    class Heard(Quiet):
        def notice(self, text: str) -> None:
            heard.append(text)

    notify(Heard(), [Notice("no-edits", "", "none"), Notice("below-zero", "", "negative"), "said"])
    assert heard == ["none", "negative", "said"]
    assert [isinstance(each, mw.Caution) for each in heard] == [False, True, False]


def test_what_two_levels_say_alike_is_said_once() -> None:
    one, other = (Notice("no-edits", "", "none", level=level) for level in ("household", "person"))
    assert distinct_notices([one, other, Notice("rules", "", "more")]) == (one, Notice("rules", "", "more"))


def test_the_sentence_of_a_mistake_begins_with_what_it_is_about() -> None:
    assert mw.Problem("x", step=2, method="noise").sentence == "step 2 (noise): x"
    assert str(mw.Problem("x", mw.Place("p.yaml", 1), step=2)) == "p.yaml:1: step 2: x"
    assert mw.Problem("x", measure="pil").sentence == "pil: x"
