"""The catalogue of doubts, and what `maskwright explain` says of it."""

from __future__ import annotations

import re

import pytest

from maskwright.cli.main import main
from maskwright.foundation.doubts import DOUBT_KINDS, Doubt

IDS = [kind.id for kind in DOUBT_KINDS.values()]


def test_ids_and_names_are_unique_and_in_order() -> None:
    assert sorted(set(IDS)) == IDS
    assert all(re.fullmatch(r"W[1-5]\d\d", each) for each in IDS)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) and name == kind.name for name, kind in DOUBT_KINDS.items())


@pytest.mark.parametrize("kind", DOUBT_KINDS.values(), ids=lambda kind: kind.id)
def test_each_says_what_is_in_doubt_and_what_to_do(kind, capsys: pytest.CaptureFixture[str]) -> None:
    for text in (kind.meaning, kind.remedy):
        assert text[0].isupper()
        assert text.endswith((".", "`", ")."))
    stages = {"1": "reading", "2": "planning", "3": "masking", "4": "measuring", "5": "writing"}
    assert kind.stage == stages[kind.id[1]]
    for asked in (kind.id, kind.name):
        assert main(["explain", asked]) == 0
        shown = " ".join(capsys.readouterr().out.split())
        assert kind.id in shown
        assert kind.remedy in shown


def test_explain_doubts_lists_every_id_once_with_its_remedy(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "doubts"]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 100
    assert re.findall(r"^ *(W\d{3})\b", shown, re.MULTILINE) == IDS
    words = " ".join(shown.split())
    assert all(kind.name in words and kind.remedy in words for kind in DOUBT_KINDS.values())


def test_a_doubt_is_of_a_kind_that_exists() -> None:
    with pytest.raises(KeyError):
        Doubt("no-such-kind", "x", "seen")
    assert str(Doubt("not-masked", "x", "seen")) == "W201 not-masked: x: seen"
    assert str(Doubt("method-warned", "2", "seen")) == "W305 method-warned: step 2: seen"
    assert str(Doubt("header-may-be-a-record", "", "seen")) == "W103 header-may-be-a-record: seen"
