"""Settings are changed in the text, and nothing else is."""

import itertools

import pytest

from maskwright_studio.pipeline_text import append, insert, move, remove, set_value, set_values, uncomment
from maskwright_studio.pipeline_text.layout import comments_of, settings_of
from maskwright_studio.refusal import Refusal

PIPELINE = """\
# a pipeline
maskwright: 1          # the format

data:
  source: "people.csv"
  variables:
    age: {role: quasi_identifier}   # known
    sex: { type: nominal, missing: [9, 'NA'] }
    net:
      type: continuous
      decimals: 2    # cents
edits:
- gross == net + tax   # of each
-   name: no-debts
    rule: >-
      net >= 0 and
      tax >= 0

protect:
  # the first
  - method: microaggregation
    params: {k: 5, partition: mdav}     # at least
  # the second
  - method: noise
    params:
        share: 0.1
measure: [sse, pil,   # loss
          score]
output:
seed: 7"""

K = ("protect", 0, "params", "k")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize(
    ("path", "value", "old", "new"),
    [
        (K, 7, "{k: 5, p", "{k: 7, p"),
        (("seed",), 8, "seed: 7", "seed: 8"),
        (("data", "source"), "a b.csv", '"people.csv"', '"a b.csv"'),
        (("data", "variables", "sex", "type"), "ordinal", "type: nominal,", "type: ordinal,"),
        (("data", "variables", "sex", "missing", 0), "no", "[9, 'NA']", "['no', 'NA']"),
        (("data", "variables", "sex", "missing", 1), "it's", "'NA'", "'it''s'"),
        (("data", "variables", "net", "decimals"), None, "decimals: 2  ", "decimals: null  "),
        (("data", "variables", "net", "label"), "a: b", "2    # cents\n", "2    # cents\n      label: 'a: b'\n"),
        (("data", "variables", "age", "type"), "integer", "identifier}", "identifier, type: integer}"),
        (("edits", 0), "x >= 012", "gross == net + tax ", "x >= 012 "),
        (("edits", 1, "name"), "1", "name: no-debts", "name: '1'"),
        (("output", "data"), "m.csv", "output:\n", "output: {data: m.csv}\n"),
        (("output",), {"data": "m.csv", "report": "r.html"}, "output:\n", "output: {data: m.csv, report: r.html}\n"),
        (("release", "order"), "random", "seed: 7", "seed: 7\nrelease: {order: random}"),
        (("measure",), ["sse", "pil", "score", "rho"], "score]", "score, rho]"),
        (("measure",), ["sse", "score"], "pil,   # loss", None),
        (("protect", 1, "params"), {"share": 0.2, "kind": "x"}, "share: 0.1\n", "share: 0.2\n        kind: x\n"),
    ],
)
def test_a_setting_changes_its_place_only(path, value, old, new, newline, mark):
    text = mark + PIPELINE.replace("\n", newline)
    if new is None:
        with pytest.raises(Refusal, match="comments"):
            set_value(text, path, value)
    else:
        expected = mark + PIPELINE.replace(old, new, 1).replace("\n", newline)
        assert set_value(text, path, value) == expected


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        (K, "{k: 5, partition", "{partition"),
        ((*K[:3], "partition"), "5, partition: mdav", "5"),
        (("seed",), "\nseed: 7", ""),
        (("data", "variables", "age"), "    age: {role: quasi_identifier}   # known\n", ""),
        (("data", "variables", "sex", "missing", 0), "9, ", ""),
        (("edits", 0), "- gross == net + tax   # of each\n", ""),
        (("edits", 1, "name"), "name: no-debts\n    ", ""),
        (("protect", 1, "params", "share"), "params:\n        share: 0.1", "params: {}"),
        (("output",), "output:\n", ""),
    ],
)
def test_what_is_removed_takes_its_lines(path, old, new):
    assert remove(PIPELINE, path) == PIPELINE.replace(old, new, 1)


@pytest.mark.parametrize(
    ("path", "at", "value", "old", "new"),
    [
        (("edits",), 1, "a >= 0", "-   name", "- a >= 0\n-   name"),
        (("edits",), 2, {"name": "x", "rule": "a >= 0"}, "tax >= 0\n", "tax >= 0\n- name: x\n  rule: a >= 0\n"),
        (("protect",), 0, {"method": "noise"}, "  # the first", "  - method: noise\n  # the first"),
        (("protect",), 2, {"method": "m", "params": {"k": 2}}, "measure:",
         "  - method: m\n    params: {k: 2}\nmeasure:"),
        (("measure",), 1, {"rho": {"known": 2}}, "pil,", "{rho: {known: 2}}, pil,"),
        (("measure",), 2, "rho", "score]", "rho, score]"),
        (("measure",), 3, "rho", "score]", "score, rho]"),
        (("waive",), 0, {"doubt": "d", "because": "so, yes"}, "seed: 7",
         "seed: 7\nwaive:\n  - doubt: d\n    because: 'so, yes'"),
    ],
)  # fmt: skip
def test_an_element_is_inserted(path, at, value, old, new):
    assert insert(PIPELINE, path, at, value) == PIPELINE.replace(old, new, 1)


def test_steps_are_moved_with_their_comments():
    first, second = PIPELINE.index("  # the first"), PIPELINE.index("  # the second")
    end = PIPELINE.index("measure:")
    moved = PIPELINE[:first] + PIPELINE[second:end] + PIPELINE[first:second] + PIPELINE[end:]
    assert move(PIPELINE, ("protect",), 0, 1) == moved
    assert move(PIPELINE, ("protect",), 1, 0) == moved
    assert move(PIPELINE, ("measure",), 0, 2).splitlines()[-4:-2] == [
        "measure: [pil, score,   # loss",
        "          sse]",
    ]


def test_what_is_so_already_stays_as_it_is_written():
    assert set_value(PIPELINE, ("seed",), 7) == PIPELINE
    assert set_value("a: 0x1F\nb: 012\n", ("b",), 12) == "a: 0x1F\nb: 012\n"


@pytest.mark.parametrize(
    ("text", "path", "said"),
    [
        ("a: &x 1\nb: *x\n", ("a",), "anchor"),
        ("a: &x {k: 1}\nb: *x\n", ("b",), "anchor"),
        ("a: {k: &x 1}\nb: *x\n", ("a",), "no longer"),
        ("a: &x {k: 1}\nb: *x\n", ("b", "k"), "more than this"),
        ("a: |\n  one\n  two\n", ("a",), "several lines"),
        ("a: one\n  two\n", ("a",), "several lines"),
        ('a: "one\n  two"\n', ("a",), "several lines"),
        ("a:\n  # why\n  b: 1\n", ("a",), "comments"),
        ("a: {b}\n", ("a", "b"), "more than this"),
        ("a: 1\r", ("a",), "unusual"),
        ("a: 1\na: 2\n", ("a",), "line 2, column 1"),
        ("a: [1\n", ("a",), "no YAML"),
        ("a: 1\n", ("a", "b"), "no such place"),
        ("a: [1]\n", ("a", 4), "no such place"),
        ("<<: {a: 1}\n", ("a",), "merge"),
        ("a: !!str 1\n", ("a",), "tags"),
    ],
)
def test_what_cannot_be_changed_safely_is_refused(text, path, said):
    with pytest.raises(Refusal, match=said):
        set_value(text, path, "new")


def test_a_text_that_reads_as_something_else_is_quoted():
    for value in (
        "no",
        "1",
        "1e3",
        "0x1F",
        "2020-01-01",
        "null",
        "~",
        "",
        " a",
        "a: b",
        "a #b",
        "[",
        "é",
        "a\nb",
        "=",
        "<<",
        "12:30",
    ):
        for text in ("a: x\n", "a: [x]\n", "a: 'x'\n", 'a: "x"\n'):
            path = ("a", 0) if "[" in text else ("a",)
            assert set_value(text, path, value)  # it is read again, and would be refused
    assert append("", ("measure",), "sse") == "measure: [sse]\n"


@pytest.mark.parametrize(
    ("text", "path", "left"),
    [
        ("a:   # of a\n  - b: 1   # of b\n    c: 2   # of c\nd: 1\n", ("a", 0), "a: []   # of a\nd: 1\n"),
        ("a:\n  # above\n  b: 1   # of b\n", ("a", "b"), "a: {}\n  # above\n"),
        ("a: [1,   # one\n  2]\n", ("a", 0), "a: [2]\n"),
        ("a:\n  - b: 1   # of b\n    # of c\n    c: 2\n", ("a", 0, "b"), "a:\n  - c: 2\n"),
    ],
)
def test_what_has_comments_is_removed_with_them_where_that_is_said(text, path, left):
    assert remove(text, path, comments=True) == left


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("text", "path", "left"),
    [
        ("a:   # of a\n  # above\n  - b: 1   # beside\n    # in it\n    c: 2 # end\n  # of the next\n  - d: 1\n",
         ("a", 0), "a:   # of a\n  - b: 1\n    c: 2\n  # of the next\n  - d: 1\n"),
        ("a:\n  # of the list\n\n  # above\n  - 1\n", ("a", 0), "a:\n  # of the list\n\n  - 1\n"),
        ("a:\n  - 1\n  # above\n  - 2   # last", ("a", 1), "a:\n  - 1\n  - 2"),
        ("a: [1,   # shared\n  2]\n", ("a", 0), "a: [1,   # shared\n  2]\n"),
        ("a:\n  - '# no comment'   # one\n", ("a", 0), "a:\n  - '# no comment'\n"),
    ],
)  # fmt: skip
def test_comments_of_an_element_are_taken_and_no_others(text, path, left, newline):
    assert uncomment(text.replace("\n", newline), path) == left.replace("\n", newline)


DECLARED = """\
data:
  variables:   # what is what
    # of the person
    age: {role: other}   # in years
    sex: {}
    town:
    pay:
      type: integer
      missing: [-9]   # refused
"""
SETTINGS = (
    (("data", "variables", "age", "role"), "identifier"),
    (("data", "variables", "sex", "role"), "quasi_identifier"),
    (("data", "variables", "sex", "label"), "Sex: of the person"),
    (("data", "variables", "town", "role"), "other"),
    (("data", "variables", "pay", "role"), "confidential"),
    (("data", "variables", "pay", "missing"), [-9, -8]),
    (("data", "variables", "tax", "type"), "integer"),
    (("data", "variables", "tax", "role"), "confidential"),
    (("data", "variables", "a b", "role"), "other"),
)


@pytest.mark.parametrize("several", list(itertools.combinations(SETTINGS, 3)))
def test_several_settings_at_once_are_those_one_by_one(several):
    text = DECLARED
    for path, value in several:
        text = set_value(text, path, value)
    found = set_values(DECLARED, several)
    assert settings_of(found) == settings_of(text)
    assert comments_of(found) == comments_of(text) == comments_of(DECLARED)
    as_on_windows = DECLARED.replace("\n", "\r\n")
    assert set_values(as_on_windows, several) == found.replace("\n", "\r\n")


def test_several_settings_change_nothing_where_one_is_not_safe():
    with pytest.raises(Refusal, match="cannot be changed safely"):
        set_values("a: &x {k: 1}\nb: *x\nc: {k: 2}\n", [(("c", "k"), 3), (("a", "k"), 3)])
