"""Local suppression with every count: k by an independent count, few cells, nothing bought by emptied records."""

from __future__ import annotations

import csv
import dataclasses
from functools import cache
from itertools import combinations, product
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.masking.protecting.assembling import GroupResult, without_removed
from maskwright.plugins.registry import find_method

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

KEYS = ["region", "sex", "age10", "edu", "occ", "marital"]
COUNTS = ["own", "alpha0", "subset", "wildcard"]


def block(values: np.ndarray, names: list[str] | None = None, **more: object) -> mw.Block:
    """Nominal keys."""
    names = names or [f"x{j + 1}" for j in range(values.shape[1])]
    variables = tuple(
        mw.Variable(name, "nominal", "quasi_identifier", categories=tuple(map(str, range(30)))) for name in names
    )
    q = len(names)
    return mw.Block(
        values, np.isnan(values), variables, center=np.zeros(q), scale=np.ones(q), **more,  # type: ignore[arg-type]
    )  # fmt: skip


def masked(data: mw.Block, **params: object) -> GroupResult:
    """What local suppression leaves of a block."""
    method = find_method("local_suppression")
    assert isinstance(method, mw.Method)
    removed = method.remove(data, method.params.model_validate(params), np.random.default_rng(1))
    return without_removed(data, removed)


def counted(values: np.ndarray, count: str) -> np.ndarray:
    """Whom each record counts, pattern by pattern of its keys: shares nothing with the product."""
    codes, pattern_of, times = np.unique(
        np.where(np.isnan(values), -1.0, values), axis=0, return_inverse=True, return_counts=True
    )
    there = codes >= 0
    found = np.zeros(len(codes), dtype=int)
    for i, shows in enumerate(there):
        agree = ((codes == codes[i]) | ~shows | ~there).all(axis=1)
        equal = agree & (there == shows).all(axis=1)
        if count == "own":
            counts = equal
        elif count == "alpha0":
            counts = equal | (agree & there.all(axis=1))
        else:
            all_shown = (there | ~shows).all(axis=1)
            most = 2 * (there & shows).sum(axis=1) > shows.sum()
            counts = agree & (all_shown | (most if count == "wildcard" else False))
        found[i] = times[counts].sum()
    return found[pattern_of.reshape(-1)]


def rows(path: Path, names: list[str]) -> np.ndarray:
    """Columns of a reference table."""
    with path.open() as file:
        return np.array([[float(row[name]) for name in names] for row in csv.DictReader(file)])


@pytest.fixture(scope="module")
def survey(reference: Path) -> np.ndarray:
    """2,622 persons with six keys."""
    return rows(reference / "categorical_survey.csv", KEYS)


@pytest.fixture(scope="module")
def of_survey(survey: np.ndarray) -> Callable[..., GroupResult]:
    """Function that masks the survey with a k and a way to count; the same again is not computed again."""

    @cache
    def done(k: int, count: str = "own") -> GroupResult:
        return masked(block(survey, KEYS), k=k, count=count)

    return done


@pytest.fixture(scope="module")
def toy(reference: Path) -> np.ndarray:
    """Ten records of three keys."""
    return rows(reference / "categorical_suppression_toy.csv", ["a", "b", "c"])


HOLES = st.integers(1, 5).flatmap(
    lambda q: st.integers(8, 40).flatmap(
        lambda n: arrays(np.float64, (n, q), elements=st.sampled_from([0.0, 0.0, 1, 1, 2, 3, np.nan]))
    )
)


@settings(max_examples=60)
@given(values=HOLES, k=st.integers(2, 5), count=st.sampled_from(COUNTS))
def test_every_record_counts_k_however_it_is_counted(values: np.ndarray, k: int, count: str) -> None:
    """Also in files with missing cells; what is left is as it was, and a second call has nothing to do."""
    done = masked(block(values), k=k, count=count)
    assert counted(done.values, count).min() >= k
    assert (done.missing >= np.isnan(values)).all()
    assert (done.values[~done.missing] == values[~done.missing]).all()
    again = masked(block(done.values), k=k, count=count)
    assert again.notes["cells_suppressed"] == 0


@pytest.mark.parametrize(
    ("count", "most"),
    [("own", (1740, 2616, 3510)), ("alpha0", (1740, 2616, 3510)), ("subset", (1640, 2560, 3440)),
     ("wildcard", (740, 1060, 1400))],
)  # fmt: skip
def test_few_cells_of_the_survey_are_emptied(
    of_survey: Callable[..., GroupResult], count: str, most: tuple[int, ...]
) -> None:
    """Below 1,825 / 2,686 / 3,609 cells of the greedy search by keys, and 1,430 / 2,020 / 2,638 of sdcMicro."""
    for k, bound in zip((2, 3, 5), most, strict=True):
        done = of_survey(k, count)
        assert counted(done.values, count).min() >= k
        assert done.missing.sum() <= bound


def test_the_toy_is_emptied_at_its_optimum(toy: np.ndarray) -> None:
    """6 and 18 cells, the least of all partitions; no record is emptied altogether, which would buy k for others."""
    assert [masked(block(toy), k=k).missing.sum() for k in (2, 3)] == [6, 18]
    assert masked(block(toy), k=2, count="subset").missing.sum() <= 6
    done = masked(block(toy), k=2, count="wildcard")
    assert not done.missing.all(axis=1).any()


def test_an_emptied_record_buys_nobody_anything() -> None:
    """One record without keys is a partner of everybody by the formula; it counts for nobody here."""
    values = np.array([[0.0, 0, 0], [1, 1, 1], [2, 2, 2], [3, 3, 3], [np.nan, np.nan, np.nan], [4, np.nan, np.nan]])
    for count in ("alpha0", "subset", "wildcard"):
        done = masked(block(values), k=2, count=count)
        assert done.missing[:4].any(axis=1).all()
        assert counted(done.values, count).min() >= 2


def test_a_k_that_emptied_cells_bought_is_a_doubt(of_survey: Callable[..., GroupResult]) -> None:
    """Fewer than half of k records show what some record shows: the others are counted for what they do not show."""
    done = of_survey(3, "wildcard")
    alone = int((2 * counted(done.values, "subset") < 3).sum())
    assert done.notes["records_safe_by_emptied_keys"] == alone > 0
    assert "by the emptied keys of other records alone" in done.doubts[0]
    for count, k in (("own", 3), ("subset", 3), ("alpha0", 3), ("wildcard", 2)):
        assert of_survey(k, count).doubts == ()


def test_the_doubt_stops_the_release_unless_it_is_waived() -> None:
    rng = np.random.default_rng(3)
    data = pd.DataFrame(
        {name: rng.choice(list("abcdef"), size=120, p=[0.4, 0.3, 0.1, 0.1, 0.05, 0.05]) for name in KEYS}
    )
    declared = {name: {"role": "quasi_identifier"} for name in KEYS}
    params = {"k": 5, "count": "wildcard"}
    with pytest.raises(mw.OpenDoubts, match="by the emptied keys of other records alone"):
        mw.protect(data, "local_suppression", declared=declared, params=params)
    waived = [{"doubt": "method-warned", "step": 1, "because": "asked for"}]
    mw.protect(data, "local_suppression", declared=declared, params=params, waive=waived)
    mw.protect(data, "local_suppression", declared=declared, params={**params, "count": "subset"})


def test_both_counts_are_said(of_survey: Callable[..., GroupResult]) -> None:
    """The own k beside the wildcard one, and a warning where they differ."""
    notes = of_survey(3, "wildcard").notes
    assert notes["smallest_count_wildcard"] >= 3
    assert notes["smallest_count_own"] == 1
    assert notes["records_below_k_own"] > 1000
    assert "count 'wildcard'" in notes["warnings"][0]
    notes = of_survey(3).notes
    assert (notes["smallest_count_own"], notes["records_below_k_own"]) == (3, 0)
    assert notes["smallest_count_wildcard"] >= 3
    assert "warnings" not in notes


def test_a_key_of_many_categories_costs_a_cell_a_record() -> None:
    """Occupations of 400 kinds single out; they alone are emptied where they do."""
    rng = np.random.default_rng(11)
    share = 1.0 / np.arange(1, 401)
    jobs = rng.choice(400, 3000, p=share / share.sum())
    values = np.column_stack([rng.integers(0, 2, 3000), rng.integers(0, 5, 3000), jobs]).astype(np.float64)
    rare = counted(values, "own") < 3
    done = masked(block(values), k=3)
    assert done.missing[:, 2].sum() >= 0.9 * done.missing.sum()
    assert done.missing.sum() <= 1.1 * rare.sum()
    assert masked(block(values), k=3, count="wildcard").missing.sum() < 0.5 * rare.sum()


def test_k_for_subsets_of_keys(survey: np.ndarray) -> None:
    """All sets of three keys and named sets are verified, and k of all keys together is not promised."""
    done = masked(block(survey, KEYS), k=3, subsets=3)
    for keys in combinations(range(6), 3):
        assert counted(done.values[:, keys], "own").min() >= 3
    sets = {"neighbour": ["region", "age10"], "employer": ["sex", "occ", "edu", "age10"]}
    few = masked(block(survey, KEYS), k=5, key_sets=sets)
    for names in sets.values():
        assert counted(few.values[:, [KEYS.index(name) for name in names]], "own").min() >= 5
    assert few.missing[:, KEYS.index("marital")].sum() == 0
    method = find_method("local_suppression")
    for given_params, promised in (
        ({"k": 5, "key_sets": sets}, None),
        ({"k": 5, "count": "subset"}, None),
        ({"k": 5}, 5),
    ):
        params = method.params.model_validate(given_params)
        assert method.with_params(params).promised_k(params) == promised


@pytest.mark.parametrize("count", ["own", "wildcard"])
def test_tables_of_pairs_give_no_emptied_cell_away(reference: Path, count: str) -> None:
    """Of 2,020 cells that sdcMicro empties, tables of pairs of keys give 51 away; the town gives the region."""
    frame = pd.read_csv(reference / "categorical_survey.csv", dtype=str)[["town", *KEYS]]
    declared = {name: {"type": "nominal", "role": "quasi_identifier" if name in KEYS else "other"} for name in frame}
    done = mask_request(masking_request(
        frame, "local_suppression", edits=["(region, town) in original", "(age10, occ) in original"],
        params={"k": 3, "keys": KEYS, "count": count}, variables=KEYS, declared=declared, seed=1,
        waive=[{"doubt": "method-warned", "step": 1, "because": "asked for"}] if count == "wildcard" else (),
        release={"order": "random"},  # members of a household follow each other, and live in one town
    ))  # fmt: skip
    published = done.masked.to_pandas()
    follows = 0
    for name in KEYS:
        gone = published[name].isna().to_numpy()
        left = np.ones((int(gone.sum()), frame[name].nunique()), dtype=bool)
        for other in [each for each in frame if each != name]:
            table = pd.crosstab(frame[other], frame[name]) > 0
            shown = published.loc[gone, other]
            left[shown.notna()] &= table.loc[shown.dropna().astype(str)].to_numpy()
        follows += int((left.sum(axis=1) == 1).sum())
    assert published[KEYS].isna().to_numpy().sum() > 1000
    assert follows == 0
    shown = np.where(published[KEYS].isna(), np.nan, frame[KEYS].astype(float))
    assert counted(shown, count).min() >= 3


@pytest.mark.parametrize(
    ("bounds", "kind"),
    [({"l": {"disease": 3}}, "l"), ({"t": {"disease": 0.4}}, "t"),
     ({"l": {"disease": {"entropy": 2.0}}}, "entropy")],
)  # fmt: skip
def test_l_and_t_hold_in_every_class(survey: np.ndarray, reference: Path, bounds: dict[str, object], kind: str) -> None:
    """Counted class by class; k stays."""
    disease = rows(reference / "categorical_survey.csv", ["disease"])[:, 0]
    variable = mw.Variable("disease", "nominal", categories=tuple("012345"))
    data = block(survey, KEYS, companions={"disease": disease}, companion_variables={"disease": variable})
    done = masked(data, k=3, **bounds)
    shown = np.where(done.missing, -1, done.values)
    shares = np.bincount(disease.astype(int)) / len(disease)
    _, classes = np.unique(shown, axis=0, return_inverse=True)
    for each in range(classes.max() + 1):
        p = np.bincount(disease[classes.ravel() == each].astype(int), minlength=6)
        assert p.sum() >= 3
        q = p / p.sum()
        if kind == "l":
            assert (p > 0).sum() >= 3
        elif kind == "t":
            assert np.abs(q - shares).sum() / 2 <= 0.4 + 1e-9
        else:
            assert np.exp(-(q[q > 0] * np.log(q[q > 0])).sum()) >= 2.0 - 1e-9


def test_bounds_that_cannot_be_reached_are_named_before_anything_is_masked() -> None:
    """Two values are not three; classes of wildcards do not exist."""
    variable = mw.Variable("disease", "nominal", categories=("a", "b"))
    data = block(
        np.zeros((6, 1)), companions={"disease": np.arange(6.0) % 2}, companion_variables={"disease": variable}
    )
    with pytest.raises(mw.InputError, match="l of disease: distinct diversity of 3 cannot be reached"):
        masked(data, k=2, l={"disease": 3})
    with pytest.raises(ValueError, match="l and t are of classes"):
        masked(data, k=2, l={"disease": 2}, count="subset")
    with pytest.raises(mw.InputError, match="subsets of 4 keys: there are 1"):
        masked(data, k=2, subsets=4)
    with pytest.raises(mw.InputError, match="no key is called x9"):
        masked(data, k=2, key_sets={"one": ["x9"]})


def test_what_a_household_has_in_common_goes_in_all_its_members(survey: np.ndarray, reference: Path) -> None:
    """The region of a household is emptied in all members or in none; households count."""
    households = rows(reference / "categorical_survey.csv", ["hid"])[:, 0].astype(np.int64)
    done = masked(block(survey, KEYS, households=households), k=3)
    gone = done.missing[:, 0]
    assert gone.any()
    assert all(len(set(gone[households == home])) == 1 for home in np.unique(households))
    shown = np.where(done.missing, -1, done.values)
    _, classes = np.unique(shown, axis=0, return_inverse=True)
    pairs = np.unique(np.column_stack([classes.ravel(), households]), axis=0)
    assert np.bincount(pairs[:, 0]).min() >= 3
    with pytest.raises(mw.InputError, match="count 'wildcard' is of records"):
        masked(block(survey, KEYS, households=households), k=3, count="wildcard")


def test_importance_moves_cells_from_one_key_to_others(
    survey: np.ndarray, of_survey: Callable[..., GroupResult]
) -> None:
    """A key worth five times as much keeps nearly all its cells."""
    even = of_survey(3).missing[:, 4].sum()
    dear = masked(block(survey, KEYS), k=3, importance={"occ": 5})
    assert dear.missing[:, 4].sum() < 0.6 * even
    assert counted(dear.values, "own").min() >= 3


def test_more_keys_than_can_be_tried_together() -> None:
    """Fourteen keys, most records unique: k all the same, by every count."""
    rng = np.random.default_rng(5)
    values = rng.integers(0, 3, (150, 14)).astype(np.float64)
    for count in COUNTS:
        done = masked(block(values), k=3, count=count)
        assert counted(done.values, count).min() >= 3


def test_the_order_of_records_gives_the_same_number_of_cells(
    survey: np.ndarray, of_survey: Callable[..., GroupResult]
) -> None:
    """And the same bytes come out twice."""
    first, second = of_survey(3), masked(block(survey, KEYS), k=3)
    assert first.values.tobytes() == second.values.tobytes()
    order = np.random.default_rng(2).permutation(len(survey))
    other = masked(block(survey[order], KEYS), k=3)
    assert abs(int(other.missing.sum()) - int(first.missing.sum())) <= 0.02 * first.missing.sum()
    assert dataclasses.replace(first).notes["cells_suppressed"] == first.missing.sum()


def test_sets_of_keys_are_named_in_a_pipeline_and_a_wrong_key_is_found(tmp_path: Path) -> None:
    pd.DataFrame({"region": ["N", "N", "N", "S"] * 5, "sex": ["f", "m"] * 10}).to_csv(tmp_path / "in.csv", index=False)
    text = (
        "maskwright: 1\ndata: {source: in.csv, variables: {region: {role: quasi_identifier}, sex: {role: "
        "quasi_identifier}}}\nprotect:\n  - {method: local_suppression, params: {k: 3, key_sets: {neighbour: [region, "
        "sex]}}}\nmeasure: [k_anonymity]\noutput: {data: out.csv}\nseed: 1\n"
    )
    path = tmp_path / "p.yaml"
    path.write_text(text, encoding="utf-8")
    assert mw.run(path).record["measures"]["k_anonymity"]["value"] >= 3
    path.write_text(text.replace("[region, sex]", "[region, sax]"), encoding="utf-8")
    with pytest.raises(mw.InputError, match=r"no variable called 'sax'; did you mean 'sex'"):
        mw.run(path)


def test_what_edits_empty_of_a_sensitive_variable_is_not_counted_as_diverse() -> None:
    """Emptied keys take cells of `level` with them, by an edit: the classes have two levels all the same."""
    rng = np.random.default_rng(6)
    n = 160
    level = rng.choice(["p", "q", "r"], n, p=[0.3, 0.4, 0.3])
    rules = ["if trade == 'none' then level == 'p'", "if level == 'p' then trade == 'none'"]
    frame = pd.DataFrame({
        "level": level, "trade": np.where(level == "p", "none", rng.choice(["farm", "shop", "law"], n)),
        "home": rng.choice(list("abcde"), n), "marital": rng.choice(["never", "married", "widowed"], n),
    })  # fmt: skip
    keys = ["trade", "home", "marital"]
    declared = {name: {"type": "nominal", "role": "quasi_identifier"} for name in keys}
    declared["level"] = {"type": "nominal", "role": "other"}
    done = mask_request(masking_request(
        frame, "local_suppression", edits=rules,
        params={"k": 2, "l": {"level": 2}, "importance": {"home": 5, "marital": 5}}, variables=keys, declared=declared,
        seed=1,
    ), is_released=False)  # fmt: skip
    masked = done.masked.to_pandas()
    assert masked["level"].isna().any()
    shown = masked[keys].astype(object).where(masked[keys].notna(), "-")
    # A level goes beside each emptied trade, or it would say which of these were none: such classes show no level.
    found = masked["level"].groupby([shown[key] for key in keys]).nunique()
    assert set(found) == {0, 2}
    assert masked["level"].isna().equals(masked["trade"].isna())


def test_what_a_later_step_empties_besides_its_keys_does_not_break_k_of_an_earlier_one() -> None:
    """The second step takes cells of `level` lest an edit gives `trade` away; `level` is a key of the first."""
    rng = np.random.default_rng(6)
    n = 150
    level = rng.choice(["p", "q", "r"], n, p=[0.3, 0.4, 0.3])
    frame = pd.DataFrame({
        "level": level, "trade": np.where(level == "p", "none", rng.choice(["farm", "shop", "law"], n)),
        "home": rng.choice(list("abcdefgh"), n), "sex": rng.choice(["1", "2"], n),
    })  # fmt: skip
    steps = [
        {"method": "local_suppression", "variables": ["sex", "level"], "params": {"k": 4}},
        {"method": "local_suppression", "variables": ["trade", "home"], "params": {"k": 4, "importance": {"home": 5}}},
    ]
    rules = ["if trade == 'none' then level == 'p'", "if level == 'p' then trade == 'none'"]
    declared = {name: {"type": "nominal", "role": "quasi_identifier"} for name in frame}
    masked = mask_request(
        masking_request(frame, steps=steps, edits=rules, declared=declared, seed=1), is_released=False
    ).masked.to_pandas()
    assert masked["level"].isna().any()
    for keys in (["sex", "level"], ["trade", "home"]):
        shown = masked[keys].astype(object).where(masked[keys].notna(), "-")
        assert shown.groupby(keys).size().min() >= 4


def cost_of_joining(one: tuple[int, ...], records: int, other: tuple[int, ...], size: int, k: int) -> tuple[int, int]:
    """Cells that go, and records that the other class gives: what is missing where it can spare that, or all."""
    own, others = (sum(a not in (b, -1) for a, b in zip(*pair, strict=True)) for pair in ((one, other), (other, one)))
    needed = max(k - records, 0)
    given = (needed if size - needed >= k else size) if others else 0
    return records * own + given * others, given


def merged_greedily(codes: np.ndarray, k: int) -> int:
    """Cells that go where the smallest class is joined with the one that costs least, until each has k records."""
    cells = 0
    sizes = {
        tuple(map(int, each)): int(n) for each, n in zip(*np.unique(codes, axis=0, return_counts=True), strict=True)
    }
    while min(sizes.values()) < k:
        one = min(sizes, key=lambda each, sizes=sizes: (sizes[each], each))  # type: ignore[misc]
        records = sizes.pop(one)
        costs = {other: cost_of_joining(one, records, other, size, k) for other, size in sizes.items()}
        other = min(costs, key=lambda each, costs=costs: (costs[each][0], each))  # type: ignore[misc]
        price, given_records = costs[other]
        cells += price
        shown = tuple(a if a == b else -1 for a, b in zip(one, other, strict=True))
        sizes[other] -= given_records
        sizes[shown] = sizes.get(shown, 0) + records + given_records
        sizes = {each: n for each, n in sizes.items() if n}
    return cells


def few_at_risk(seed: int) -> tuple[np.ndarray, int]:
    """Classes of exactly k, and up to five other records."""
    rng = np.random.default_rng([7, seed])
    k, levels = int(rng.choice([2, 3, 5])), rng.integers(2, 4, rng.integers(2, 6))
    full = np.array(list(product(*map(range, levels))))
    others = np.column_stack([rng.integers(0, each + 1, 5) for each in levels])[: rng.integers(1, 6)]
    return np.vstack([full.repeat(k, axis=0), others]), k


def test_few_records_at_risk_join_classes_that_have_none_to_spare() -> None:
    """No more than 1.15 times the cells of a plain greedy, in each file and far fewer in all; k by pandas."""
    ours, plain = [], []
    for seed in range(30):
        codes, k = few_at_risk(seed)
        found = masked(block(codes.astype(float)), k=k)
        assert pd.DataFrame(found.values).mask(found.missing).value_counts(dropna=False).min() >= k
        ours.append(int(found.missing.sum()))
        plain.append(merged_greedily(codes, k))
    assert all(one <= 1.15 * other for one, other in zip(ours, plain, strict=True))
    assert sum(ours) < sum(plain)


@pytest.mark.parametrize(
    ("rows", "k", "fewest"),
    [
        (["SA", "MA", "MA", "SA", "WA"], 2, 3),
        ([f"{a}{b}{c}" for a in "NSEWC" for b in "smdp" for c in "123" for _ in range(3)] + ["Nw2"], 3, 4),
        (["oMC"] * 2 + ["oFC"] * 2 + ["yMS"] * 2 + ["yMC"] * 3, 3, 9),
    ],
)
def test_one_unusual_record_costs_one_key_of_one_class(rows: list[str], k: int, fewest: int) -> None:
    codes = pd.DataFrame([list(row) for row in rows]).apply(lambda column: column.astype("category").cat.codes)
    assert masked(block(codes.to_numpy(dtype=float)), k=k).missing.sum() == fewest
