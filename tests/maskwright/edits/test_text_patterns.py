"""Patterns of texts: read with their mistakes placed, and matched as Python's `re` matches them, in linear time."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright.edits.text_patterns import WrongPattern, matches_whole, pattern_of, pattern_text
from maskwright.foundation.errors import EditError

CHARACTERS = st.sampled_from(["a", "b", "1", ".", "[ab]", "[^a]", "[a-c1]", r"\.", r"\d", r"\s", r"[\]\-^]", "é", "-"])
PATTERNS = st.recursive(
    CHARACTERS,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"({pair[0]}|{pair[1]})"),
        st.tuples(inner, st.sampled_from(["?", "*", "+", "{2}", "{1,}", "{0,2}"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        ),
    ),
    max_leaves=6,
)
TEXTS = st.text(alphabet="ab1c. -]^é\n", min_size=1, max_size=7)


def by_rule(pattern: str, texts: list[str]) -> list[bool]:
    """What the rule says of texts."""
    data = pd.DataFrame({"code": texts})
    wrong = set(mw.validate(data, [f"code matches '{pattern}'"]).violations["record"])
    return [number not in wrong for number in range(1, len(texts) + 1)]


@given(PATTERNS, st.lists(TEXTS, min_size=1, max_size=6))
def test_patterns_match_what_python_matches(pattern, texts):
    kept = [f"x{text}x" for text in texts]  # what stands at the ends of a cell is not to be trimmed
    expected = [re.fullmatch(f"x{pattern}x", text, re.DOTALL | re.ASCII) is not None for text in kept]
    assert by_rule(f"x{pattern}x", kept) == expected
    read = pattern_of(f"x{pattern}x")
    assert [matches_whole(read, text) for text in kept] == expected
    again = re.compile(f"(?:{pattern_text(read)})", re.DOTALL)
    assert [again.fullmatch(text) is not None for text in kept] == expected


def test_no_pattern_takes_long():
    text = "a" * 5_000 + "!"
    assert by_rule("(a*)*b", [text]) == [False]
    assert by_rule("(a|a|aa)+b", [text]) == [False]
    assert not matches_whole(pattern_of("((a*)*)*b"), text[-600:])


def test_missing_cells_are_unknown_and_opposites_hold_elsewhere():
    data = pd.DataFrame({"code": ["AB1", None, "ab1"]})
    outcome = mw.validate(data, ['code matches "[A-Z]{2}[0-9]+"', 'code not matches "[A-Z]{2}[0-9]+"'])
    assert [each.unknown for each in outcome.edits] == [1, 1]
    assert outcome.violations["record"].tolist() == [3, 1]


@pytest.mark.parametrize(
    ("pattern", "start", "said"),
    [
        ("a[b", 1, "'[' is not closed"),
        ("(ab", 0, "'(' is not closed"),
        ("ab)", 2, "')' without '('"),
        ("^a", 0, "about the whole text"),
        ("a$", 1, "about the whole text"),
        ("a{3,1}", 1, "goes up"),
        ("a{x}", 1, "{3}, {2,} or {2,5}"),
        ("a**", 2, "follows another repetition"),
        ("*a", 0, "nothing before it"),
        (r"a\w", 1, "is not read"),
        (r"(a)\1", 3, "is not read"),
        ("(?=a)", 0, "looks around"),
        ("[z-a]", 1, "goes backwards"),
        ("[[:alpha:]]", 1, "a class within a class"),
        ("[]", 0, "without characters"),
        ("(a{40}){40}", 0, "more than 1000"),
        ("(" * 21 + "a" + ")" * 21, 21, "nested more than 20"),
        ("a" * 501, 0, "at most 500"),
    ],
)
def test_mistakes_are_placed(pattern, start, said):
    with pytest.raises(WrongPattern) as wrong:
        pattern_of(pattern)
    assert (wrong.value.start, said in wrong.value.message) == (start, True)
    with pytest.raises(EditError) as raised:
        mw.EditSet.parse([f'code matches "{pattern}"'])
    assert str(raised.value).startswith(f"rule 1:{15 + start}:")


def test_only_a_variable_is_matched():
    with pytest.raises(EditError, match="expected a variable before 'matches'"):
        mw.EditSet.parse(['a + 1 matches "1"'])


def test_a_variable_may_be_called_like_a_word_of_the_language():
    edits = mw.EditSet.parse(["matches == 1", "by > 2", 'by matches "3"'])
    assert mw.validate(pd.DataFrame({"matches": [1], "by": [3]}), edits).ok
    assert mw.convert_edits(edits, "yaml").text == "- '`matches` == 1'\n- '`by` > 2'\n- '`by` matches ''3'''\n"


@given(PATTERNS)
@settings(max_examples=15, deadline=None)
def test_schematron_has_the_same_verdict(pattern):
    pytest.importorskip("saxonche")
    edits = mw.EditSet.parse([f"code matches '{pattern}'", "code not matches 'a[ab]*' or kind in {'x'}"])
    texts = ["a", "ab", "b1", ".", "1a", "c", "é", "-", "]a", "aa", "abab", "", "11"]
    data = pd.DataFrame({"code": texts, "kind": ["x", "y", "y"] * 4 + ["y"]})
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder) / "r.sch"
        rules.write_text(mw.convert_edits(edits, "schematron").text, encoding="utf-8")
        assert 'queryBinding="xslt2"' in rules.read_text(encoding="utf-8")
        assert mw.validate(data, mw.read_edits(rules)).counts == mw.validate(data, edits).counts


def test_patterns_are_not_written_beside_rules_that_calculate():
    edits = mw.EditSet.parse(["code matches '[a-z]'", "a + b == c"])
    with pytest.raises(EditError, match="edit edit-1 cannot be written: a pattern needs XPath 2"):
        mw.convert_edits(edits, "schematron")
