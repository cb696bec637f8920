"""Variable groups and operators."""

from __future__ import annotations

import maskwright as mw
from maskwright.planning.model import PlanningParams
from maskwright.planning.variable_groups import choose_operators, group_variables

CENSUS = [
    "V9 + V10 == V14",
    "V8 + V9 == V10",
    "V5 * V15 == V16",
    "V3 in [0, 7500]",
    "if V8 < 1115 then V13 <= V12",
]
NAMES = tuple(f"V{number}" for number in range(1, 17))


def _variables(names: tuple[str, ...]) -> dict[str, mw.Variable]:
    return {name: mw.Variable(name, decimals=0) for name in names}


def test_edits_that_share_a_variable_share_a_group() -> None:
    """The source paper's groups, with V9 + V10 = V14 and V8 + V9 = V10 joined through V9 and V10."""
    groups = group_variables(NAMES, mw.EditSet.parse(CENSUS), PlanningParams())
    assert ("V8", "V9", "V10", "V12", "V13", "V14") in groups
    assert ("V5", "V15", "V16") in groups
    assert sorted(name for group in groups for name in group) == sorted(NAMES)


def test_the_rest_is_cut_in_file_order_and_the_last_group_takes_the_remainder() -> None:
    """Seven unbound variables in groups of three: 3 and 4."""
    groups = group_variables(NAMES, mw.EditSet.parse(CENSUS), PlanningParams())
    assert groups[-2:] == [("V1", "V2", "V3"), ("V4", "V6", "V7", "V11")]


def test_group_size_all_is_one_group() -> None:
    """`all` puts every variable of the step into one group."""
    assert group_variables(NAMES, mw.EditSet.parse(CENSUS), PlanningParams(group_size="all")) == [NAMES]


def test_inequalities_bind_only_when_asked() -> None:
    """`grouping: equalities` leaves inequalities to adjustment."""
    edits = mw.EditSet.parse(["a <= b", "c + d == e"])
    names = tuple("abcde")
    assert ("a", "b") in group_variables(names, edits, PlanningParams(group_size=1))
    assert group_variables(names, edits, PlanningParams(group_size=1, grouping="equalities")) == [
        ("c", "d", "e"), ("a",), ("b",)
    ]  # fmt: skip


def test_scope_of_the_method_decides() -> None:
    """One variable at a time, or all at once."""
    edits = mw.EditSet.parse(["a + b == c"])
    assert group_variables(("a", "b", "c"), edits, PlanningParams(), scope="variable") == [("a",), ("b",), ("c",)]
    assert group_variables(("a", "b", "c"), edits, PlanningParams(), scope="all") == [("a", "b", "c")]


def test_listed_groups_come_first_and_leave_the_rest_to_the_planner() -> None:
    """Groups that the user listed are taken as they are."""
    groups = group_variables(("a", "b", "c", "d"), mw.EditSet(), PlanningParams(), listed=[("d", "a")])
    assert groups == [("d", "a"), ("b", "c")]


def test_operators_follow_the_kind_of_edit() -> None:
    """Means for linear edits, geometric means for products, lower medians for domains."""
    names = ("a", "b", "c", "x", "y", "z", "d")
    edits = mw.EditSet.parse(["a + b == c", "x * y == z", "d in original"])
    found = choose_operators(names, _variables(names), edits)
    assert dict(zip(names, found.names, strict=True)) == {
        "a": "mean", "b": "mean", "c": "mean",
        "x": "geometric_mean", "y": "geometric_mean", "z": "geometric_mean",
        "d": "lower_median",
    }  # fmt: skip
    assert found.computed == ()


def test_a_product_whose_factor_is_a_total_is_computed() -> None:
    """No operator keeps a sum and a product on one variable: the product's total is derived."""
    names = ("a", "b", "base", "rate", "tax")
    edits = mw.EditSet.parse(["a + b == base", "rate * base == tax"])
    found = choose_operators(names, _variables(names), edits)
    assert set(found.names) == {"mean"}
    assert found.computed == ("tax",)


def test_one_rule_with_ranges_of_several_variables_binds_them() -> None:
    """It is kept or broken as one, so its variables are masked together; a range of one variable binds nothing."""
    edits = mw.EditSet.parse(["a >= 0 and d >= 0", "b in [0, 9]"])
    groups = group_variables(tuple("abcd"), edits, PlanningParams(group_size=1))
    assert groups == [("a", "d"), ("b",), ("c",)]
