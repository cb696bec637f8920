"""Contradictions and grids, against hand-made cases and brute force."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright.data.variable import Variable
from maskwright.edits.analysis import analyse, contradictions, redundancies
from maskwright.edits.edit import EditSet
from maskwright.edits.exact_feasibility import Row, conflict
from maskwright.edits.grids import reachable_on_grid


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (["a <= b", "b <= c", "d <= 4", "c < a"], ("edit-1", "edit-2", "edit-4")),
        (["a <= b", "b <= c", "c <= a"], None),
        (["x in [0, 5]", "y <= 3", "x > 5"], ("edit-1", "edit-3")),
        (["x in [0, 5]", "x >= 5"], None),
        (["x in {1, 3}", "x in {2}"], ("edit-1", "edit-2")),
        (["s == 'M'", "s in {F, M}", "s == 'F'"], ("edit-1", "edit-3")),
        (["a + b == c", "a >= 1", "b >= 1", "c in [0, 1.5]"], ("edit-1", "edit-2", "edit-3", "edit-4")),
        (["a == b", "a == b + 1e-12"], ("edit-1", "edit-2")),
        (["abs(a - b) <= 1", "a >= b + 2"], ("edit-1", "edit-2")),
        (["abs(a - b) <= 1", "a >= b + 1"], None),
        (["if a > 1 then b > 2", "a > 1", "b < 1"], None),
        (["x is integer and x > 1", "x < y", "y <= 2"], ("edit-1", "edit-2", "edit-3")),
        ([], None),
    ],
)
def test_contradictions(rules, expected):
    assert contradictions(EditSet.parse(rules)) == expected


def test_declared_bounds_take_part():
    edits = EditSet.parse(["a + b == c", "a >= 1", "b >= 1"])
    assert contradictions(edits, [Variable("c", upper=1.5)]) == ("edit-1", "edit-2", "edit-3", "bounds of c")
    assert contradictions(edits, [Variable("c", upper=2.0)]) is None
    assert contradictions(EditSet.parse(["a > 0.1"]), [Variable("a", upper=0.1)]) == ("edit-1", "bounds of a")


def test_many_rules():
    chain = [f"V{i} <= V{i + 1}" for i in range(90)]
    others = [f"W{i} + V{i} <= {i}" for i in range(90)]
    assert contradictions(EditSet.parse(others + chain)) is None
    assert contradictions(EditSet.parse([*others, *chain, "V90 < V3"])) == tuple(f"edit-{i + 91}" for i in range(3, 91))
    found = contradictions(EditSet.parse([*others, *chain, "V90 == V3 - 1", "W5 >= 2"]))
    assert found == tuple(f"edit-{i + 91}" for i in range(3, 91))


coefficients = st.integers(-2, 2)
rows = st.lists(
    st.tuples(coefficients, coefficients, st.sampled_from(["==", "<=", "<"]), st.integers(-3, 3)),
    min_size=1,
    max_size=6,
)


@given(rows)
@settings(max_examples=150, deadline=None)
def test_exact_conflicts_agree_with_elimination(drawn):
    system = [
        Row(str(i), {name: Fraction(v) for name, v in (("x", x), ("y", y)) if v}, relation, Fraction(constant))
        for i, (x, y, relation, constant) in enumerate(drawn)
    ]
    found = conflict(system)
    assert (found is None) == eliminates_to_truth(system)
    if found is not None:
        assert not eliminates_to_truth(found)
        for row in found:
            assert eliminates_to_truth([other for other in found if other is not row])


def eliminates_to_truth(system) -> bool:
    """Fourier-Motzkin elimination of x and y."""
    bounds = []
    for row in system:
        x, y = row.coefficients.get("x", Fraction(0)), row.coefficients.get("y", Fraction(0))
        bounds.append((x, y, row.constant, row.relation == "<"))
        if row.relation == "==":
            bounds.append((-x, -y, -row.constant, False))
    for position in (0, 1):
        above = [b for b in bounds if b[position] > 0]
        below = [b for b in bounds if b[position] < 0]
        rest = [b for b in bounds if b[position] == 0]
        for p, q in itertools.product(above, below):
            up, down = p[position], -q[position]
            rest.append((p[0] * down + q[0] * up, p[1] * down + q[1] * up, p[2] * down + q[2] * up, p[3] or q[3]))
        bounds = rest
    return all(constant > 0 if strict else constant >= 0 for _, _, constant, strict in bounds)


def grid(rules, **decimals):
    return reachable_on_grid(EditSet.parse(rules), decimals)


@pytest.mark.parametrize(
    ("rules", "decimals", "expected"),
    [
        (["2 * a == b + 0.5", "a <= b"], {"a": 0, "b": 0}, ("edit-1",)),
        (["2 * a == b + 0.5"], {"a": 0, "b": 1}, None),
        (["2 * a == b + 0.5"], {"a": 0}, None),
        (["x == 2.5"], {"x": 0}, ("edit-1",)),
        (
            ["a + b == c", "a == b", "d == 2 * a", "c == 3"],
            {"a": 0, "b": 0, "c": 0, "d": 0},
            ("edit-1", "edit-2", "edit-4"),
        ),
        (["a + b == c", "c == 2 * d", "a == 3 * e", "b == 1"], dict.fromkeys("abcde", 0), None),
        (["2 * a + 4 * b == 7"], {"a": 0, "b": 0}, ("edit-1",)),
        (["abs(2 * a + 4 * b - 7) <= 0.5"], {"a": 0, "b": 0}, ("edit-1",)),
        (["abs(2 * a + 4 * b - 7) <= 1"], {"a": 0, "b": 0}, None),
        (["a + b == 1", "a + b == 2"], {"a": 0, "b": 0}, None),
        (["if a > 1 then 2 * a == 1"], {"a": 0}, None),
    ],
)
def test_grids(rules, decimals, expected):
    found = grid(rules, **decimals)
    assert (found.edits if found else None) == expected


def test_remedies():
    found = grid(["2 * a == b + 0.5"], a=0, b=0)
    assert found is not None
    assert "1 decimal," in found.remedy
    found = grid(["3 * a == 1"], a=0)
    assert found is not None
    assert "No number of decimals" in found.remedy


@given(st.lists(st.tuples(*[st.integers(-4, 4)] * 3, st.integers(-6, 6)), min_size=1, max_size=2))
@settings(max_examples=80, deadline=None)
def test_whole_number_solutions_agree_with_search(equations):
    rules = [f"{x} * a + {y} * b + {z} * c == {n}" for x, y, z, n in equations if (x, y, z) != (0, 0, 0)]
    found = reachable_on_grid(EditSet.parse(rules), dict.fromkeys("abc", 0))
    hit = any(
        all(x * a + y * b + z * c == n for x, y, z, n in equations if (x, y, z) != (0, 0, 0))
        for a, b, c in itertools.product(range(-9, 10), repeat=3)
    )
    if hit:
        assert found is None


def test_findings_say_what_to_do():
    (found,) = analyse(EditSet.parse(["a < b", "b < a"]))
    assert found.edits == ("edit-1", "edit-2")
    assert "no record can satisfy edit-1 and edit-2 together" in found.message
    (found,) = analyse(EditSet.parse(["2 * a == 1"]), [Variable("a", decimals=0)])
    assert "published decimals" in found.message
    assert "Publish a with 1 decimal" in str(found.hint)
    assert analyse(EditSet.parse(["a < b"]), [Variable("a", decimals=0)]) == ()


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (["a <= b", "b <= c", "a <= c"], [("edit-3", "edit-1", "edit-2")]),
        (["a <= c", "a <= b", "b <= c"], [("edit-1", "edit-2", "edit-3")]),
        (["a <= b", "2 * a <= 2 * b"], [("edit-2", "edit-1")]),
        (["a + b == c", "c - b == a", "a >= 0"], [("edit-2", "edit-1")]),
        (["a + b == c", "a + b <= c", "x in [0, 5]", "x <= 6"], [("edit-2", "edit-1"), ("edit-4", "edit-3")]),
        (["x < 5", "x <= 5"], [("edit-2", "edit-1")]),
        (["a <= b", "b <= c", "x is integer", "if a > 1 then a <= c"], []),
        (["x < 1", "x > 2", "x > 0"], []),
    ],
)
def test_redundancies(rules, expected):
    assert [one.edits for one in redundancies(EditSet.parse(rules))] == expected
