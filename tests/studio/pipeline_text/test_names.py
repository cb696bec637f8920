"""Lists of names: each change leaves what it is not about as it is written."""

import pytest

from maskwright_studio.pipeline_text import set_names


@pytest.mark.parametrize(
    ("before", "names", "after"),
    [
        ("data:\n  source: a\n\nseed: 1\n", ["b"], "data:\n  source: a\n  roles:\n    other: [b]\n\nseed: 1\n"),
        ("data:\n  roles:\n    other: [a, b]\n", ["b", "c"], "data:\n  roles:\n    other: [b, c]\n"),
        ("data:\n  roles:\n    other: [a,\n      b, c]\n", ["a", "c"], "data:\n  roles:\n    other: [a,\n      c]\n"),
        ("data:\n  roles: {other: [a], weight: w}\n", [], "data:\n  roles: {weight: w}\n"),
        ("data:\n  source: s\n  roles:\n    other: [a]\n", [], "data:\n  source: s\n"),
        ("data:\n  roles:\n    other: a   # one\n", ["a", "b"], "data:\n  roles:\n    other: [a, b]   # one\n"),
        ("data:\n  roles:\n    other:\n      - a\n      - b   # kept\n      - c\n", ["b", "d"],
         "data:\n  roles:\n    other:\n      - b   # kept\n      - d\n"),
        ("data: {source: a}\n", ["q*", "*x"], "data: {source: a, roles: {other: [q*, '*x']}}\n"),
    ],
)  # fmt: skip
def test_lists_of_names_are_changed_in_their_line(before, names, after):
    assert set_names(before, ("data", "roles", "other"), names) == after


def test_many_names_are_one_line():
    names = [f"variable_{at}" for at in range(500)]
    text = set_names("data:\n  source: a.csv\n", ("data", "roles", "other"), names)
    assert len(text.splitlines()) == 4
    assert set_names(text, ("data", "roles", "other"), names[::2]).count("variable_") == 250
