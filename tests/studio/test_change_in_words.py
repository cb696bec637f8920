"""Undo and redo say which change they take back."""

import pytest

from maskwright_studio.pipeline_file import change_in_words

PIPELINE = """\
maskwright: 1
data:
  source: people.csv
  variables: {age: {role: quasi_identifier}, town: {role: other}}
edits: [age >= 0, age <= 120]
protect:
  - method: noise
  - method: microaggregation
    params: {k: 3}
measure: [sse]
seed: 1
"""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("method: microaggregation\n    params: {k: 3}", "method: rank_swapping", "step 2 replaced"),
        ("k: 3", "k: 5", "step 2 changed"),
        ("  - method: noise\n", "", "step 1 removed"),
        ("measure:", "  - method: mondrian\nmeasure:", "step 3 added"),
        ("[age >= 0, age <= 120]", "[age <= 120, age >= 0]", "rule 1 moved"),
        ("[age >= 0, age <= 120]", "[age <= 120]", "rule 1 removed"),
        ("age <= 120", "age <= 110", "rule 2 changed"),
        ("[sse]", "[sse, pil]", "measure 2 added"),
        ("quasi_identifier", "other", "age changed"),
        ("people.csv", "others.csv", "data changed"),
        ("people.csv", "people.csv\n  roles: {other: [q1]}", "roles changed"),
        ("seed: 1\n", "", "seed removed"),
        ("seed: 1\n", "seed: 1   # why\n", "comments or layout changed"),
        ("seed: 1\n", "seed: [\n", "text changed"),
    ],
)
def test_it_names_the_place_that_changed(old, new, said):
    assert old in PIPELINE
    assert change_in_words(PIPELINE, PIPELINE.replace(old, new)) == said


def test_many_changes_are_counted():
    new = PIPELINE.replace("k: 3", "k: 4").replace("[sse]", "[pil]").replace("seed: 1", "seed: 2")
    assert change_in_words(PIPELINE, new) == "step 2 changed and 2 more"
