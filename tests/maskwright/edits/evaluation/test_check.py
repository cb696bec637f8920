"""Checking files chunk by chunk: counts, record numbers, contexts, the JSON contract."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maskwright.data.record_chunk import RecordChunk
from maskwright.edits.edit_set import EditSet
from maskwright.edits.evaluation.check import Checker, evaluate, fires
from maskwright.edits.evaluation.domain import Domain, domain_tuples
from maskwright.edits.rule_language.rules import parse_expression
from maskwright.foundation.errors import EditError


def columns(**texts: list[str | None]) -> RecordChunk:
    return RecordChunk.from_batch(
        pa.RecordBatch.from_pydict({name: pa.array(own, pa.string()) for name, own in texts.items()})
    )


EDITS = EditSet.parse(["a + b == c", {"rule": "a >= 0", "name": "positive", "severity": "warning"}])


def test_chunks_add_up_to_the_whole():
    whole = Checker(EDITS)
    data = columns(a=["1", "-1", "", "2"], b=["1", "1", "1", "2"], c=["2", "1", "1", "5"])
    whole.add(data)
    outcome = whole.outcome()
    assert outcome.to_json() == {
        "records": 4,
        "ok": False,
        "violations": 3,
        "edits": [
            {
                "name": "edit-1", "kind": "linear", "checked_by": "model",
                "violations": 2, "unknown": 1, "fired": 4, "first_records": [2, 4],
            },
            {
                "name": "positive", "kind": "range", "checked_by": "model",
                "violations": 1, "unknown": 1, "fired": 4, "first_records": [2],
            },
        ],
    }  # fmt: skip
    pieces = Checker(EDITS)
    pieces.add(columns(a=["1", "-1", ""], b=["1", "1", "1"], c=["2", "1", "1"]))
    pieces.add(columns(a=[], b=[], c=[]))
    pieces.add(columns(a=["2"], b=["2"], c=["5"]))
    assert pieces.outcome().to_json() == outcome.to_json()
    assert dict(outcome.counts) == {"edit-1": 2, "positive": 1}
    frame = outcome.violations
    assert frame.to_dict("list") == {
        "edit": ["edit-1", "edit-1", "positive"], "severity": ["error", "error", "warning"], "record": [2, 4, 2],
    }  # fmt: skip


def test_warnings_do_not_fail_a_file():
    checker = Checker(EDITS)
    checker.add(columns(a=["-1"], b=["1"], c=["0"]))
    assert checker.outcome().ok
    assert checker.outcome().counts["positive"] == 1


def test_listed_violations_are_capped_and_counted():
    checker = Checker(EDITS)
    for _ in range(3):
        checker.add(RecordChunk.from_arrays({name: np.full(6000, -1.0) for name in "abc"}))
    frame = checker.outcome().violations
    assert len(frame) == 20_000
    assert frame.attrs["violations"] == {"edit-1": 18_000, "positive": 18_000}
    assert frame["record"].max() == 10_000


def test_no_edits_and_no_records():
    assert Checker(EditSet()).outcome().ok
    assert not Checker(EditSet()).outcome().nothing_fired
    nothing = Checker(EDITS).outcome()
    assert nothing.nothing_fired
    assert nothing.violations.empty


@pytest.mark.parametrize(
    ("context", "path", "expected"),
    [
        (None, ("Data", "Record"), True),
        ("Record", ("Data", "Record"), True),
        ("Record", None, True),
        ("record", ("Data", "Record"), False),
        ("/Data/Record", ("Data", "Record"), True),
        ("/Record", ("Data", "Record"), False),
        ("//Record", ("Data", "Record"), True),
        ("Data/Record", ("Data", "Record"), True),
        ("Other/Record", ("Data", "Record"), False),
        ("Root/Data/Record", ("Data", "Record"), False),
    ],
)
def test_contexts(context, path, expected):
    edit = replace(EDITS["edit-1"], context=context)
    assert fires(edit, path) is expected
    assert not fires(replace(edit, shadowed=True), path)


def test_edits_that_do_not_fire_are_not_evaluated():
    edits = [replace(EDITS["edit-1"], context="Person", binding="xpath1"), replace(EDITS["positive"], shadowed=True)]
    checker = Checker(edits, ("Data", "Record"))
    checker.add(columns(x=["1"]))
    assert checker.outcome().nothing_fired
    assert [edit.fired for edit in checker.outcome().edits] == [0, 0]


def test_unknown_variables_of_all_edits_are_named():
    checker = Checker(EditSet.parse(["wagse + b == c", "tax >= 0"]))
    with pytest.raises(EditError) as raised:
        checker.add(columns(wages=["1"], b=["1"], c=["1"]))
    assert len(raised.value.problems) == 2
    assert "edit edit-1: no variable called 'wagse'; did you mean 'wages'?" in str(raised.value)


def test_what_the_variables_are_is_said_once():
    checker = Checker(EditSet.parse(["first + second == 0", "third >= 0"]))
    with pytest.raises(EditError) as raised:
        checker.add(columns(wages=["1"], b=["1"]))
    assert [problem.sentence for problem in raised.value.problems] == [
        "edit edit-1: no variable called 'first'; there are: b, wages",
        "edit edit-1: no variable called 'second'",
        "edit edit-2: no variable called 'third'",
    ]


def test_bindings_differ():
    data = columns(a=["0.1", ""], b=["0.2", "1"], c=["0.3", "1"])
    exact = EDITS["edit-1"]
    xpath = replace(exact, binding="xpath1")
    assert evaluate(exact, data).holds.tolist() == [True, True]
    assert evaluate(xpath, data).holds.tolist() == [False, False]


def test_errors_name_the_edit():
    with pytest.raises(EditError, match=r"edit towns: .*original file"):
        evaluate(EditSet.parse([{"rule": "a in original", "name": "towns"}])["towns"], columns(a=["1"]))


def test_domain_by_value_and_by_text():
    edits = EditSet.parse(["(a, b) in original", "a in original", "if a > 1 then (a, b) in original"])
    assert domain_tuples(edits) == (("a", "b"), ("a",))
    original = [columns(a=["1", "2.50", "x"], b=["M", "F", "7"]), columns(a=["1.0", "", "-0"], b=["M", "F", "0"])]
    domain = Domain.from_chunks(domain_tuples(edits), original)
    found = domain.combinations(("a", "b"))
    assert len(found) == 4
    assert sorted(found.counts.tolist()) == [1, 1, 1, 2]
    data = columns(a=["1.00", "2.5", "x", "x", "1", "", "0"], b=["M", "F", "07", "M", "F", "F", "0"])
    verdict = evaluate(edits["edit-1"], data, domain)
    assert verdict.holds.tolist() == [True, True, True, False, False, True, True]
    assert verdict.unknown.tolist() == [False] * 5 + [True, False]


values = st.sampled_from([None, "", "1", "1.0", "2", "x", "y", " 1"])


@given(
    st.lists(st.tuples(values, values), max_size=30),
    st.lists(st.tuples(values, values), min_size=1, max_size=12),
    st.integers(1, 7),
)
@settings(max_examples=60)
def test_domain_agrees_with_a_set(original, records, size):
    def key(cell):
        return float(cell) if cell.strip() in {"1", "1.0", "2"} else cell

    def table(rows):
        return columns(a=[row[0] for row in rows], b=[row[1] for row in rows])

    chunks = [table(original[i : i + size]) for i in range(0, len(original), size)] or [table([])]
    domain = Domain.from_chunks([("a", "b")], chunks)
    known = {(key(x), key(y)) for x, y in original if x and y}
    found = domain.contains(("a", "b"), table(records))
    assert found.tolist() == [bool(x and y) and (key(x), key(y)) in known for x, y in records]
    assert domain.combinations(("a", "b")).counts.sum() == sum(1 for x, y in original if x and y)


def test_census_rules(reference):
    table = np.genfromtxt(reference / "census.csv", delimiter=",", names=True)
    data = RecordChunk.from_arrays(
        {name: table[name] for name in table.dtype.names}, dict.fromkeys(table.dtype.names, 0)
    )
    rules = {
        "PTOTVAL == POTHVAL + PEARNVAL": 1080, "TAXINC <= AGI": 1080, "WSALVAL <= PEARNVAL": 1077,
        "INTVAL <= POTHVAL": 1073, "POTHVAL <= AGI": 1065, "WSALVAL == PEARNVAL": 1019, "ERNVAL == WSALVAL": 913,
    }  # fmt: skip
    checker = Checker(EditSet.parse(list(rules)))
    checker.add(data)
    assert [1080 - count for count in checker.outcome().counts.values()] == list(rules.values())


def test_an_expression_is_needed_to_be_a_condition():
    edit = replace(EDITS["edit-1"], expression=parse_expression("a == 1").left)
    with pytest.raises(EditError, match="no condition"):
        evaluate(edit, columns(a=["1"], b=["1"], c=["1"]))
