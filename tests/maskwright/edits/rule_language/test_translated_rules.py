"""Rules that stand for what a file says in other words: mistakes are placed where the file says it."""

from __future__ import annotations

import pytest

from maskwright import EditError, EditSet, Place

LINE = "  R7: age BETWEEN 0 AND 120 )"


@pytest.mark.parametrize("rule", ["age in [0, 120", {"rule": "age in [0, 120", "name": "ages"}])
def test_a_mistake_has_the_place_of_the_line_and_says_how_it_was_read(rule: object) -> None:
    with pytest.raises(EditError) as error:
        EditSet.parse([rule], lambda _: Place("rules.txt", 12, 7, LINE))
    (problem,) = error.value.problems
    assert problem.place == Place("rules.txt", 12, 7, LINE)
    assert problem.hint == "The line is read as: age in [0, 120 (character 15)"


def test_a_rule_that_stands_in_the_line_has_its_own_column() -> None:
    with pytest.raises(EditError) as error:
        EditSet.parse(["age in [0, 120"], lambda _: Place("rules.txt", 12, 1, "R7: age in [0, 120"))
    (problem,) = error.value.problems
    assert problem.place == Place("rules.txt", 12, 19, "R7: age in [0, 120")
    assert problem.hint is None
