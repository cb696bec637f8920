"""The YAML reader: what scalars mean, where things stand, what is refused."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright.foundation.errors import EditError, InputError, PipelineError
from maskwright.foundation.yaml_document import load_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("no", "no"),
        ("on", "on"),
        ("yes", "yes"),
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("012", 12),
        ("-3", -3),
        ("+4", 4),
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e-3", 0.001),
        ("1E3", 1000.0),
        ("1_000", "1_000"),
        ("0x1F", "0x1F"),
        ("2024-01-01", "2024-01-01"),
        ("12:30", "12:30"),
        (".inf", ".inf"),
        ("'5'", "5"),
        ('"no"', "no"),
        ("V9 + V10 == V14", "V9 + V10 == V14"),
        ("V3 in [0, 7500]", "V3 in [0, 7500]"),
        ("sex in {1, 2}", "sex in {1, 2}"),
        ("-a + b >= 0", "-a + b >= 0"),
    ],
)
def test_scalars_mean_what_people_mean(text: str, value: object) -> None:
    found = load_yaml(f"- {text}\n", "p.yaml").to_python()
    assert found == [value]
    assert type(found[0]) is type(value)


def test_places_of_keys_and_values() -> None:
    root = load_yaml("a: 1\nb:\n  - {c: x}\n", "p.yaml")
    inner = root.at(["b", 0, "c"])
    assert (inner.place.file, inner.place.line, inner.place.column, inner.place.text) == ("p.yaml", 3, 9, "  - {c: x}")
    assert root.at(["b", 0]).key("c").place.column == 6
    assert root.at(["b", 1]) is None
    assert root.at(["a", "x", "y"]) is None


WRONG = [
    ("a: 1\n\tb: 2", 2, 1, "a tab stands"),
    ("a:\t1", 1, 3, "a tab stands"),
    ("a: 1\nb: 2\na: 3", 3, 1, "'a' is already in line 1, column 1"),
    ("a: b: c", 1, 5, "a ':' stands where no key can be"),
    ("a: [1, 2", 1, 4, "the list opened with ["),
    ("a: [1, 2\nb: 3\nc: 4", 2, 2, "opened in line 1, column 4"),
    ("- {rule: V3 in [0, 1]}", 1, 16, "expected ',' or '}'"),
    ("a: 'x", 1, 4, "never closed"),
    ('a: "\\q"', 1, 6, "backslash"),
    ('a: "\\ud800"', 1, 4, "surrogate"),
    ("- 'x' in y", 1, 7, "does not continue"),
    ("- {a, b} in original", 1, 10, "does not continue"),
    ("a: 1\nfoo", 2, 1, "not a 'key: value'"),
    ("a: @x", 1, 4, "nothing can start"),
    ("a: %x", 1, 4, "nothing can start"),
    ("a: *z", 1, 4, "no anchor '&z'"),
    ("a: &z [*z]", 1, 8, "inside what it stands for"),
    ("a: !x 1", 1, 4, "tags"),
    ("a: !!python/object/apply:os.system [x]", 1, 4, "tags"),
    ("--- 1\n--- 2", 2, 1, "second document"),
    ("? [1]\n: 2", 1, 3, "a key must be a single text"),
    ("a: \x01", 1, 4, "U+0001"),
    ("a: 1e999", 1, 4, "too large for binary64"),
    ("a: " + "9" * 301, 1, 4, "more than 300 digits"),
    ("a: &b {c: 1}\nd:\n  <<: *b", 3, 3, "merge keys"),
    ("[" * 1000, 1, 42, "more than 40 levels"),
]


@pytest.mark.parametrize(("text", "line", "column", "message"), WRONG, ids=[str(text)[:20] for text, *_ in WRONG])
def test_mistakes_have_their_place(text: str, line: int, column: int, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        load_yaml(text, "p.yaml")
    (problem,) = caught.value.problems
    assert message in problem.message
    assert (problem.place.file, problem.place.line, problem.place.column) == ("p.yaml", line, column)


@pytest.mark.parametrize("rule", ["'x' in y", "{a, b} in original", "[a, b] in original", "name: x == 'a: b'"])
def test_a_rule_that_yaml_breaks_is_told_to_be_quoted(rule: str) -> None:
    with pytest.raises(PipelineError, match="quotes"):
        load_yaml(f"- {rule}\n", "p.yaml")
    quoted = "'" + rule.replace("'", "''") + "'"
    assert load_yaml(f"- {quoted}\n", "p.yaml").to_python() == [rule]


def test_aliases_share_and_are_counted() -> None:
    assert load_yaml("a: &x {k: 1}\nb: [*x, *x]\n", "p.yaml").to_python() == {"a": {"k": 1}, "b": [{"k": 1}, {"k": 1}]}
    laughs = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    laughs += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 10)]
    with pytest.raises(PipelineError, match="aliases expand this file to more than"):
        load_yaml("\n".join(laughs), "p.yaml")


def test_size_is_limited_and_the_family_can_be_chosen() -> None:
    with pytest.raises(EditError, match="more than 4,000,000 characters"):
        load_yaml("a" * 4_000_001, "rules.yaml", EditError)
    with pytest.raises(EditError, match=r"^rules\.yaml:1:5: a value is missing here"):
        load_yaml("a: [", "rules.yaml", EditError)


def test_a_byte_order_mark_and_windows_line_ends_are_read() -> None:
    root = load_yaml("\ufeffa: 1\r\nb: 2\r\n", "p.yaml")
    assert root.to_python() == {"a": 1, "b": 2}
    assert root.get("b").place.line == 2
    assert root.get("b").place.text == "b: 2"


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text("abc :#'é-", max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abxyz", min_size=1), inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_what_json_writes_is_read_back(value: object) -> None:
    assert load_yaml(json.dumps(value), "p.yaml").to_python() == value


@settings(max_examples=200)
@given(st.text("ab01: -[]{},#&*!|>'\"%@`\n\t?\\\x00\x85\u2028", max_size=40))
def test_any_text_is_read_or_refused_with_a_place(text: str) -> None:
    try:
        root = load_yaml(text, "p.yaml")
    except InputError as error:
        unplaced = [
            problem for problem in error.problems if not (problem.place.file == "p.yaml" and problem.place.line)
        ]
        if unplaced:
            raise
    else:
        assert yaml.compose(text, yaml.SafeLoader) is not None or root.value is None
