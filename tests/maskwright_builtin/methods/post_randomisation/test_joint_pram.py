"""PRAM within strata and on combinations, ordinal noise, and what is published of their matrices."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from pydantic import ValidationError

import maskwright as mw
from maskwright import InputError, Variable
from maskwright.plugins.registry import find_method
from maskwright.testing import method_checks
from maskwright_builtin.methods.post_randomisation import PRAM

LEVELS = ("none", "school", "college", "degree")
DECLARED = {
    "region": {"role": "other"}, "town": {"role": "other"}, "sex": {"role": "other"}, "births": {"role": "other"},
    "level": {"role": "other", "type": "ordinal", "categories": list(LEVELS)},
}  # fmt: skip
RULES = ["(region, town) in original", "if sex == 'm' then births == 'no'"]
ALL = ["region", "town", "sex", "births"]


def frame(n=1500):
    rng = np.random.default_rng(3)
    town = rng.choice(7, n, p=[0.3, 0.25, 0.2, 0.1, 0.08, 0.068, 0.002])
    sex = rng.choice(["m", "f"], n)
    births = np.where(sex == "m", "no", rng.choice(["no", "yes"], n))
    level = np.where(town < 3, rng.choice(LEVELS[:3], n), rng.choice(LEVELS[1:], n))
    return pd.DataFrame(
        {"region": np.array(["n", "n", "s", "s", "s", "e", "e"])[town], "town": [f"t{each}" for each in town],
         "sex": sex, "births": births, "level": level}
    )  # fmt: skip


def protected(method="pram", rules=RULES, data=None, **kwargs):
    given = frame() if data is None else data
    return mw.protect(given, method, edits=rules, seed=5, declared=DECLARED, **kwargs)


PARAMS = pytest.mark.parametrize(
    "params", [{}, {"nearness": 0.5}, {"construction": "direct", "theta": 0.9, "join_below": 30}, {"retain": 0.0}]
)


@PARAMS
def test_combinations_keep_every_edit_by_construction(params):
    params = {"joint": True, **params}
    plan = mw.plan(frame(), "pram", edits=RULES, declared=DECLARED, variables=ALL, params=params)
    assert {each.kept_by for each in plan.keepers} == {"construction"}
    masked = protected(variables=ALL, params=params)
    assert mw.validate(masked, RULES, original=frame()).ok
    before, after = (set(map(tuple, each[ALL].to_numpy().tolist())) for each in (frame(), masked))
    assert after <= before
    assert not masked[ALL].equals(frame()[ALL])


def test_one_variable_at_a_time_is_adjusted_and_said(caplog):
    plan = mw.plan(frame(), "pram", edits=RULES, declared=DECLARED, variables=ALL)
    assert {each.kept_by for each in plan.keepers} == {"adjustment"}
    with caplog.at_level("INFO", logger="maskwright"):
        masked = protected(variables=ALL)
    assert mw.validate(masked, RULES, original=frame()).ok
    said = "probabilities, distances and counts that step 1 (pram) had for"
    assert sum(said in message for message in caplog.messages) == 2


def test_edits_beyond_the_combination_are_adjusted_for():
    plan = mw.plan(
        frame(), "pram", edits=[*RULES, "if town == 't0' then level != 'degree'"], declared=DECLARED,
        variables=["region", "town"], params={"joint": True},
    )  # fmt: skip
    assert {each.edit: each.kept_by for each in plan.keepers}["edit-1"] == "adjustment"


def test_unmasked_variables_of_an_edit_that_are_stayed_inside_of_keep_it():
    rules = ["if sex == 'm' then births == 'no'"]
    kept = {}
    for within in ([], ["sex"]):
        params = {"joint": True, "within": within}
        plan = mw.plan(frame(), "pram", edits=["births == 'no' or sex == 'f'"], declared=DECLARED,
                       variables=["births", "level"], params=params)  # fmt: skip
        kept[len(within)] = {each.kept_by for each in plan.keepers}
    assert kept == {0: {"adjustment"}, 1: {"construction"}}
    masked = protected(rules=rules, variables=["births", "level"], params={"joint": True, "within": ["sex"]},
                       waive=[{"doubt": "method-warned", "step": 1, "because": "men have one category"}])  # fmt: skip
    assert mw.validate(masked, rules).ok


def test_strata_have_frequencies_of_their_own(make_block, protect):
    level = Variable("level", "ordinal", categories=LEVELS)
    codes = np.repeat([0.0, 1.0, 2.0, 3.0], [4000, 1000, 500, 4500])
    region = np.repeat([0.0, 1.0], 5000)
    block = make_block(codes, variables=(level,), companions={"region": region})
    masked = protect("pram", block, within=["region"], retain=0.2).values[:, 0]
    for number, known in ((0.0, {0.0, 1.0}), (1.0, {2.0, 3.0})):
        here = region == number
        assert set(masked[here]) == known
        before, after = (np.bincount(each[here].astype(int), minlength=4) for each in (codes, masked))
        assert np.abs(before - after).max() <= 4 * np.sqrt(5000 * 0.25)
    assert (masked != codes).sum() > 1000
    with pytest.raises(InputError, match="within: town are not in the data"):
        protect("pram", block, within=["town"])


def test_records_with_cells_missing_move_among_their_like(make_block, protect):
    rng = np.random.default_rng(4)
    values = rng.integers(0, 4, (600, 2)).astype(float)
    values[:, 1] = values[:, 0]
    values[rng.random((600, 2)) < 0.2] = np.nan
    variables = tuple(Variable(name, "nominal", categories=LEVELS) for name in "ab")
    masked = protect("pram", make_block(values, variables=variables), joint=True, retain=0.0).values
    assert (np.isnan(masked) == np.isnan(values)).all()
    both = ~np.isnan(values).any(axis=1)
    assert (masked[both, 0] == masked[both, 1]).all()
    assert (masked[both] != values[both]).any()


@pytest.mark.parametrize(
    "check", method_checks([PRAM.with_params(PRAM.params(joint=True))], params={"pram": {"joint": True}})
)
def test_joint_pram_keeps_the_contract(check):
    assert check() is None


def test_ordinal_noise_moves_by_few_places(make_block, protect):
    names = tuple("abcdefg")
    codes = np.random.default_rng(1).choice(7, 20_000, p=[0.3, 0.2, 0.2, 0.1, 0.1, 0.08, 0.02]).astype(float)
    block = make_block(codes, variables=(Variable("age", "ordinal", categories=names),))
    for places in (1, 2):
        masked = protect("ordinal_noise", block, places=places, retain=0.2).values[:, 0]
        assert np.abs(masked - codes).max() == places
        before, after = (np.bincount(each.astype(int), minlength=7) for each in (codes, masked))
        assert np.abs(before - after).max() <= 4 * np.sqrt(20_000 * 0.25)
    free = protect("ordinal_noise", block, places=1, retain=0.0, invariant=False).values[:, 0]
    assert (free != codes).all()
    with pytest.raises(InputError, match="it is nominal"):
        protected("ordinal_noise", rules=[], variables=["town"])


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"theta": 0.5}, "go together"),
        ({"construction": "direct"}, "go together"),
        ({"construction": "direct", "theta": 0.5, "retain": 0.5}, "takes 'theta' only"),
        ({"construction": "direct", "theta": 0.5, "invariant": False}, "is invariant"),
        ({"matrix": {"a": {"a": 1.0}}, "joint": True}, "single variables"),
        ({"nearness": 0}, "greater than 0"),
        ({"construction": "kooiman"}, "'two_stage' or 'direct'"),
    ],
)
def test_wrong_parameters_are_refused(params, said):
    with pytest.raises(ValidationError, match=said):
        find_method("pram").params(**params)


def pipeline(folder, steps, edits=()):
    frame().to_csv(folder / "people.csv", index=False)
    written = {
        "maskwright": 1, "data": {"source": "people.csv", "variables": DECLARED}, "edits": list(edits),
        "protect": steps, "output": {"data": "masked.csv", "public_record": "public.json"}, "seed": 3,
    }  # fmt: skip
    (folder / "pipeline.yaml").write_text(json.dumps(written), encoding="utf-8")
    return mw.run(folder / "pipeline.yaml")


def test_matrices_are_published_where_that_is_asked(tmp_path):
    pipeline(tmp_path, [
        {"method": "pram", "variables": ["sex", "births"], "params": {"joint": True, "publish_matrix": True}},
        {"method": "ordinal_noise", "variables": ["level"]},
    ], RULES)  # fmt: skip
    public = json.loads((tmp_path / "public.json").read_text(encoding="utf-8"))
    (of_step,) = public["methods"]
    assert set(of_step) == {"step", "variables", "published"}
    (matrix,) = of_step["published"]["matrices"]
    assert matrix["categories"] == [["f", "no"], ["f", "yes"], ["m", "no"]] or len(matrix["categories"]) == 3
    counts = Counter(map(tuple, frame()[["sex", "births"]].to_numpy().tolist()))
    before = np.array([counts[tuple(cell)] for cell in matrix["categories"]])
    np.testing.assert_allclose(before @ np.array(matrix["probabilities"]), before, rtol=1e-9)
    assert matrix["records"] == 1500
    assert [each["params"].get("retain") for each in public["steps"]] == [0.8, None]


def test_a_matrix_that_is_not_published_stands_nowhere_in_public(tmp_path):
    given = {category: {other: 0.91 if other == category else 0.09 for other in "fm"} for category in "fm"}
    params = {"matrix": given, "invariant": False}
    pipeline(tmp_path, [{"method": "pram", "variables": ["sex"], "params": params}])
    public = (tmp_path / "public.json").read_text(encoding="utf-8")
    assert "0.91" not in public
    assert not {"matrix", "retain", "theta", "nearness"} & json.loads(public)["steps"][0]["params"].keys()


def test_a_matrix_that_tells_of_few_records_is_withheld(tmp_path):
    result = pipeline(tmp_path, [{"method": "pram", "variables": ["town"], "params": {"publish_matrix": True}}])
    public = json.loads((tmp_path / "public.json").read_text(encoding="utf-8"))
    assert public["methods"] == []
    assert result.record["methods"][0]["matrices_withheld"] == 1


def test_a_matrix_that_is_not_the_effective_one_is_not_published(tmp_path):
    step = {"method": "pram", "variables": ["sex", "births"], "params": {"publish_matrix": True}}
    with pytest.raises(mw.OpenDoubts, match="changed to keep edits"):
        pipeline(tmp_path, [step], RULES)
    again = {"method": "pram", "variables": ["births"], "params": {"retain": 0.5}}
    step["params"]["joint"] = True
    with pytest.raises(mw.OpenDoubts, match="changed by step 2 too"):
        pipeline(tmp_path, [step, again])
    assert not (tmp_path / "public.json").exists()


def test_k_of_keys_that_were_drawn_is_told():
    steps = [
        {"method": "pram", "variables": ["region"]},
        {"method": "local_suppression", "variables": ["region", "sex"], "params": {"k": 3, "keys": ["region", "sex"]}},
    ]
    plan = mw.plan(frame(), steps=steps, declared=DECLARED)
    assert any("no protection against who knows the true values" in str(each) for each in plan.warnings)


def test_a_step_that_undoes_what_swapping_keeps_is_told():
    swapping = {"geography": ["region", "town"], "risk_variables": ["sex"]}
    steps = [{"method": "targeted_swapping", "params": swapping}, {"method": "pram", "variables": ["town"]}]
    plan = mw.plan(frame(), steps=steps, declared=DECLARED)
    assert any(
        "the combinations and counts that step 1 keeps are those before it" in str(each) for each in plan.warnings
    )
