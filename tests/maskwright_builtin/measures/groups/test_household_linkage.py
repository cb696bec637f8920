"""Linkage of households: against all assignments, whatever the order, and on the survey of the demo."""

from __future__ import annotations

import itertools
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

import maskwright as mw
from maskwright_builtin.measures.groups.household_linkage import HOUSEHOLD_LINKAGE
from maskwright_builtin.measures.groups.set_linkage_kernel import EXACT_MEMBERS, least_assignment

sys.path.insert(0, str(Path(__file__).parent))
from random_levels import comparison, linked, random_survey, shuffled


def cheapest(costs: np.ndarray) -> float:
    """Of all assignments."""
    members = range(len(costs))
    return min(
        sum(costs[i, j] for i, j in zip(members, order, strict=True)) for order in itertools.permutations(members)
    )


def brute_force(original, masked, known, same_row=(), same_members=(), variables=2) -> np.ndarray:
    """Credit of each household, by comparing it with every other one under every assignment."""
    (rows, persons), (rows_masked, persons_masked) = original, masked
    names = [f"x{j}" for j in range(variables)]
    sd = persons[names].std().replace(0, np.inf)
    total_sd = rows.total.std() or np.inf

    def households(top, table):
        """Total, composition, keys and values of the members of each household."""
        for h in top.hhid:
            own, row = table[table.hhid == h], top[top.hhid == h]
            kinds = list(map(tuple, own[list(same_members)].to_numpy().tolist()))
            composition = row[list(same_row)].to_numpy().tolist(), sorted(kinds), len(own)
            yield float(row.total.iloc[0]), composition, kinds, (own[names] / sd).to_numpy()

    def distance(one, other):
        if one[1] != other[1]:
            return np.inf
        far = 0.0 if known == "members" else ((one[0] - other[0]) / total_sd) ** 2
        if known != "row":
            costs = ((one[3][:, None] - other[3][None]) ** 2).sum(axis=2)
            alike = np.array([[a == b for b in other[2]] for a in one[2]])
            far += cheapest(np.where(alike, costs, np.inf))
        return far

    before, after = list(households(rows, persons)), list(households(rows_masked, persons_masked))
    credit = []
    for h in rows.hhid:
        distances = np.array([distance(before[h], other) for other in after])
        nearest = distances <= distances.min() * (1 + 1e-9)
        credit.append(nearest[h] / nearest.sum() if np.isfinite(distances[h]) else 0.0)
    return np.array(credit)


@given(
    seed=st.integers(0, 10**6), known=st.sampled_from(["members", "row", "both"]),
    same=st.sampled_from([((), ()), (("region",), ()), ((), ("sex",)), (("region",), ("sex",))]),
)  # fmt: skip
def test_it_is_what_all_assignments_give(seed, known, same):
    original, masked = random_survey(seed)
    both = comparison(linked(*original), linked(*masked))
    params = HOUSEHOLD_LINKAGE.params(known=known, same_row=list(same[0]), same_members=list(same[1]))
    found = HOUSEHOLD_LINKAGE.compute(both, params, np.random.default_rng(0))
    expected = brute_force(original, masked, known, *same)
    np.testing.assert_allclose(found.per_record, 100 * expected, atol=1e-9)
    assert found.value == pytest.approx(100 * expected.mean())
    assert found.interval[0] <= found.value <= found.interval[1]


@settings(max_examples=20)
@given(seed=st.integers(0, 10**6))
def test_the_order_of_members_and_of_households_makes_no_difference(seed):
    original, masked = random_survey(seed, households=15, largest=10, values=4)
    params = HOUSEHOLD_LINKAGE.params(known="both", same_members=["sex"])
    plain = HOUSEHOLD_LINKAGE.compute(comparison(linked(*original), linked(*masked)), params, np.random.default_rng(0))
    order = np.random.default_rng(seed).permutation(15)
    rows, persons = shuffled(masked, seed % 1000)
    moved = linked(rows.iloc[order], persons)
    found = HOUSEHOLD_LINKAGE.compute(
        comparison(linked(*shuffled(original, seed % 997)), moved, origin=order), params, np.random.default_rng(0)
    )
    np.testing.assert_array_equal(found.per_record, plain.per_record[order])


@pytest.mark.parametrize("size", range(1, EXACT_MEMBERS + 1))
def test_the_cheapest_assignment_is_that_of_an_independent_solver(size):
    rng = np.random.default_rng(size)
    for _ in range(20):
        costs = rng.random((size, size))
        rows, columns = linear_sum_assignment(costs)
        assert least_assignment(costs, np.empty(1 << size)) == pytest.approx(costs[rows, columns].sum())


@pytest.mark.parametrize("size", [7, 8, 9, 12])
def test_large_households_are_found_by_the_order_of_their_first_variable(size):
    original, _ = random_survey(3, households=6, largest=1)
    rows, persons = original
    persons = persons.loc[persons.index.repeat(size)].assign(pno=lambda t: np.tile(np.arange(size), 6))
    persons[["x0", "x1"]] = np.random.default_rng(4).random((6 * size, 2)).round(3) * 1000
    both = comparison(linked(rows, persons), linked(rows, persons.sample(frac=1.0, random_state=1).sort_values("hhid")))
    found = HOUSEHOLD_LINKAGE.compute(both, HOUSEHOLD_LINKAGE.params(), np.random.default_rng(0))
    assert found.value == 100.0


def test_households_that_are_alike_share_the_link(measured):
    (rows, persons), _ = random_survey(1, households=5, largest=1)
    persons = persons.assign(x0=[1.0, 1.0, 1.0, 4.0, 9.0], x1=0.0)
    alike = persons.assign(x0=[1.0, 1.0, 1.0, 6.5, 6.5])
    found = measured(HOUSEHOLD_LINKAGE, comparison(linked(rows, persons), linked(rows, alike)))
    np.testing.assert_allclose(found.per_record, [100 / 3] * 3 + [50] * 2)
    assert "constant in the original file and left out of the distances: x1" in found.notes


def test_sampled_households_are_paired_by_their_origin(measured):
    original, masked = random_survey(8, households=10)
    kept = [7, 2, 5]
    rows = masked[0].set_index("hhid").loc[kept].reset_index()
    persons = masked[1][masked[1].hhid.isin(kept)]
    found = measured(HOUSEHOLD_LINKAGE, comparison(linked(*original), linked(rows, persons), origin=kept))
    assert found.per_record.shape == (3,)


def test_what_it_cannot_do(measured):
    original, masked = random_survey(1)
    both = comparison(linked(*original), linked(*masked))
    with pytest.raises(mw.InputError, match="row: x0 is no variable of the level household"):
        measured(HOUSEHOLD_LINKAGE, both, known="row", row=["x0"])
    with pytest.raises(mw.InputError, match=r"members: sex is not numeric in both files.*same_members"):
        measured(HOUSEHOLD_LINKAGE, both, members=["sex"])
    with pytest.raises(mw.InputError, match="there is nothing to compare"):
        measured(HOUSEHOLD_LINKAGE, both, members=[])
    with pytest.raises(mw.InputError, match="no variable called 'xO'"):
        measured(HOUSEHOLD_LINKAGE, both, members=["xO"])
