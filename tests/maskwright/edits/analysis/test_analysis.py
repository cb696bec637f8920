"""Contradictions and grids, against hand-made cases and brute force."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright.data.frames import dataset_from_frame
from maskwright.data.variable import Variable
from maskwright.edits.analysis.analyse import analyse, redundant
from maskwright.edits.analysis.contradictions import contradiction
from maskwright.edits.analysis.statements import components, statements
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check_data import check_dataset
from maskwright.edits.reasoning.diophantine import reachable_on_grid
from maskwright.edits.reasoning.simplex import Row, conflict


def contradictions(edits, variables=()):
    """Names of the first smallest set of rules that no record can satisfy together."""
    found = (contradiction(component)[0] for component in components(statements(edits, variables)))
    return next((names for names in found if names is not None), None)


def redundancies(edits):
    """What follows from other rules, where no rules contradict each other."""
    apart = [component for component in components(statements(edits, ())) if contradiction(component)[0] is None]
    return [finding for component in apart for finding in redundant(component)[0]]


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
        (["if a > 1 then b > 2", "a > 1", "b < 1", "c > 1"], ("edit-1", "edit-2", "edit-3")),
        (["if a > 1 then b > 2", "a >= 1", "b < 1"], None),
        (["if s == 'M' then n == 0", "s in {M}", "n >= 1", "n <= 9"], ("edit-1", "edit-2", "edit-3")),
        (["x in {1, 4}", "y in {2, 3}", "x == y", "z > x"], ("edit-1", "edit-2", "edit-3")),
        (["if a > 1 then b > 2 else c > 0", "a <= 0", "c < 0"], ("edit-1", "edit-2", "edit-3")),
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
@settings(max_examples=150)
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
@settings(max_examples=80)
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
    (found,) = analyse(EditSet.parse(["a < b", "b < a"])).findings
    assert found.edits == ("edit-1", "edit-2")
    assert "no record can satisfy edit-1 and edit-2 together" in found.message
    (found,) = analyse(EditSet.parse(["2 * a == 1"]), [Variable("a", decimals=0)]).findings
    assert "published decimals" in found.message
    assert "Publish a with 1 decimal" in str(found.hint)
    assert analyse(EditSet.parse(["a < b"]), [Variable("a", decimals=0)]).findings == ()


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (["a <= b", "b <= c", "a <= c"], [("edit-3", "edit-1", "edit-2")]),
        (["a <= c", "a <= b", "b <= c"], [("edit-1", "edit-2", "edit-3")]),
        (["a <= b", "2 * a <= 2 * b"], [("edit-2", "edit-1")]),
        (["a + b == c", "c - b == a", "a >= 0"], [("edit-2", "edit-1")]),
        (["a + b == c", "a + b <= c", "x in [0, 5]", "x <= 6"], [("edit-2", "edit-1"), ("edit-4", "edit-3")]),
        (["x < 5", "x <= 5"], [("edit-2", "edit-1")]),
        (["a <= b", "b <= c", "x is integer", "if a > 1 then a <= c"], [("edit-4", "edit-1", "edit-2")]),
        (["x in {1, 2}", "x in {1, 2, 3}", "s == 'a'", "s in {a, b}"], [("edit-2", "edit-1"), ("edit-4", "edit-3")]),
        (["if a > 1 then b > 2", "if a > 3 then b > 1"], [("edit-2", "edit-1")]),
        (["a * b == c", "a * b <= c"], []),
        (["x is number and x >= 0", "x >= 0"], [("edit-2", "edit-1")]),
        (["x < 1", "x > 2", "x > 0"], []),
    ],
)
def test_redundancies(rules, expected):
    assert [one.edits for one in redundancies(EditSet.parse(rules))] == expected


def messages(rules, **decimals):
    variables = [Variable(name, decimals=places) for name, places in decimals.items()]
    return [(one.kind, one.edits, one.message) for one in analyse(EditSet.parse(rules), variables).findings]


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        (["a <= b", "b <= c", "c <= a", "d <= a"], [
            ("implied_equality", ("edit-1", "edit-2", "edit-3"),
             "edit-1 can only hold with equality because of edit-2 and edit-3"),
            ("implied_equality", ("edit-2", "edit-1", "edit-3"),
             "edit-2 can only hold with equality because of edit-1 and edit-3"),
            ("implied_equality", ("edit-3", "edit-1", "edit-2"),
             "edit-3 can only hold with equality because of edit-1 and edit-2"),
        ]),
        (["a + b == c", "a == 2", "c == 7", "d <= b"],
         [("fixed", ("edit-1", "edit-2", "edit-3"), "b can only be 5 under edit-1, edit-2 and edit-3")]),
        (["x >= 3", "x <= y", "y <= 3"], [
            ("fixed", ("edit-1", "edit-2", "edit-3"), "x can only be 3 under edit-1, edit-2 and edit-3"),
            ("fixed", ("edit-1", "edit-2", "edit-3"), "y can only be 3 under edit-1, edit-2 and edit-3"),
            ("implied_equality", ("edit-2", "edit-1", "edit-3"),
             "edit-2 can only hold with equality because of edit-1 and edit-3"),
        ]),
        (["if a > 10 then b <= c", "a <= 5"], [
            ("redundant", ("edit-1", "edit-2"), "edit-1 follows from edit-2"),
            ("dead_branch", ("edit-1",), "the condition of edit-1 can never be met: its 'then' is never required"),
        ]),
        (["if a > 10 then b <= c else b > 2", "a <= 5"],
         [("dead_branch", ("edit-1",), "the condition of edit-1 can never be met: its 'then' is never required")]),
        (["if a > 10 then b <= c", "a > 11"],
         [("dead_branch", ("edit-1",), "the condition of edit-1 is always met: its 'then' holds for every record")]),
        (["if a > 10 then b > 4", "b <= 3"],
         [("dead_branch", ("edit-1",),
           "the 'then' of edit-1 can never hold, so its condition can never be met")]),
        (["if s == 'M' then b > 4 else b < -1", "b >= 0", "s in {M, F}"],
         [("dead_branch", ("edit-1",), "the condition of edit-1 is always met: its 'then' holds for every record"),
          ("redundant", ("edit-3", "edit-1", "edit-2"), "edit-3 follows from edit-1 and edit-2")]),
        (["a + b == c", "a >= 0", "if a > 3 then c > b", "x in {1, 2}"],
         [("redundant", ("edit-3", "edit-1"), "edit-3 follows from edit-1")]),
        (["a <= b", "if a > 3 then c > b", "x in {1, 2}"], []),
    ],
)  # fmt: skip
def test_findings(rules, expected):
    assert messages(rules) == expected


def test_inequalities_and_the_grid():
    ((kind, edits, message),) = messages(["x > 1", "x < 2", "y <= x"], x=0, y=0)
    assert (kind, edits) == ("unreachable_on_grid", ("edit-1", "edit-2"))
    assert "published decimals" in message
    assert messages(["x > 1", "x < 2", "y <= x"], x=1, y=0) == []


def test_every_contradiction_of_each_component_is_found():
    found = analyse(EditSet.parse(["a < b", "b < a", "c <= d", "x > 1", "x < 1"])).blocking
    assert [one.edits for one in found] == [("edit-1", "edit-2"), ("edit-4", "edit-5")]


def test_what_is_not_looked_at_is_counted():
    found = analyse(EditSet.parse(["floor(a / b) == c", "a <= b", *(f"V{i} <= V{i + 1}" for i in range(200))]))
    assert found.skipped == {
        "in part or whole only evaluated, not reasoned about": 1,
        "too many rules share variables: compared with parallel rules only": 200,
        "too many rules share variables: no search for implied equalities": 200,
    }


def test_many_components():
    rules = [rule for i in range(200) for rule in (
        f"a{i} + b{i} == c{i}", f"a{i} >= 0", f"b{i} >= 0", f"if c{i} > 5 then d{i} <= a{i}", f"c{i} + b{i} >= -1",
    )]  # fmt: skip
    found = analyse(EditSet.parse([*rules, "a7 + b8 <= 3", "c199 < -2"]))
    assert [one.edits for one in found.blocking] == [("edit-996", "edit-997", "edit-998", "edit-1002")]
    assert sum(one.kind == "redundant" for one in found.findings) == 199


@given(st.lists(st.sampled_from([
    "a <= b", "b <= c", "c <= a", "a + b == c", "a >= 1", "b <= 1", "c in {0, 2}", "if a > 0 then b > 1",
    "if c == 2 then a == b else b == 0", "a + c >= 3", "2 * a == b + c", "if s == 'M' then a >= 2", "s in {M}",
]), min_size=1, max_size=6, unique=True))  # fmt: skip
def test_agrees_with_trying_every_value(rules):
    """Within 0..2 on whole numbers, every finding is true of every record, and no contradiction is missed."""
    stated = [*rules, *(f"{name} in [0, 2] and {name} is integer" for name in "abc")]
    edits = EditSet.parse(stated)
    rows = list(itertools.product(range(3), range(3), range(3), ["M", "F"]))
    frame = pd.DataFrame(rows, columns=["a", "b", "c", "s"])
    broken = {}
    for each in check_dataset(dataset_from_frame(frame, {}), edits).edits:
        broken[each.name] = np.isin(np.arange(1, len(frame) + 1), each.listed)
    holds = {name: ~each for name, each in broken.items()}
    found = analyse(edits)
    assert bool(found.blocking) == (not np.logical_and.reduce(list(holds.values())).any())
    for one in found.findings:
        others = np.logical_and.reduce([holds[name] for name in one.edits[1:]] or [np.ones(len(frame), bool)])
        if one.kind == "redundant":
            assert holds[one.edits[0]][others].all()
        if one.blocks:
            for name in one.edits:
                rest = EditSet(tuple(edits[other] for other in one.edits if other != name))
                assert analyse(rest).blocking == ()


def test_many_branches_on_shared_variables_are_given_up_and_counted():
    rules = [
        f"if V{i % 20} > {i} and V{(i + 3) % 20} < 9 then V{(i + 7) % 20} <= V{(i + 11) % 20} else V{(i + 13) % 20} > 0"
        for i in range(40)
    ]
    found = analyse(EditSet.parse(rules))
    assert found.blocking == ()
    assert sum(found.skipped.values()) >= 40
