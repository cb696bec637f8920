"""Removing that changes means or spreads much is a doubt, and somewhat a caution; a random sample is neither."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.commands.protect import mask_request
from maskwright.commands.requests import masking_request
from maskwright.testing.pipeline_runs import offered

if TYPE_CHECKING:
    from pathlib import Path

    from maskwright.masking.masking_result import MaskingResult


def _people(seed: int, n: int = 600) -> pd.DataFrame:
    """Amounts with few large ones, and many zeros; households share an income."""
    rng = np.random.default_rng(seed)
    home = np.sort(rng.integers(0, n // 3, n))
    return pd.DataFrame({
        "home": home,
        "age": np.round(rng.normal(50, 15, n)),
        "assets": np.round(rng.lognormal(5, 1.5, n)),
        "benefit": np.where(rng.random(n) < 0.9, 0, np.round(rng.lognormal(4, 1, n))),
        "income": np.round(rng.lognormal(7, 0.5, n // 3))[home],
        "region": rng.choice(["a", "b", "c"], n, p=[0.7, 0.25, 0.05]),
        "weight": np.round(rng.lognormal(2, 0.6, n), 2),
    })  # fmt: skip


def _masked(frame: pd.DataFrame, method: str | None = None, **asked: Any) -> MaskingResult:
    declared = {name: {"role": "other"} for name in frame} | asked.pop("declared", {})
    return mask_request(masking_request(frame, method, seed=1, declared=declared, **asked), is_released=False)


def _doubts(done: MaskingResult) -> dict[str, str]:
    return {doubt.subject: doubt.message for doubt in done.doubts if doubt.kind == "adjustment-distorts"}


def _cautions(done: MaskingResult) -> dict[str, str]:
    return {each.subject: str(each) for each in done.notices if each.kind == "removal-distorts" and each.is_caution}


def _keys(frame: pd.DataFrame, **stated: object) -> dict[str, dict[str, object]]:
    return {name: {"role": "quasi_identifier", **(stated if name == "age" else {})} for name in frame}


def _suppressed(frame: pd.DataFrame, k: int, method: str = "local_suppression", **stated: object) -> MaskingResult:
    return _masked(frame, method, params={"k": k, "keys": list(frame)}, declared=_keys(frame, **stated))


def _farther(done: MaskingResult, frame: pd.DataFrame) -> float:
    """The farther of mean and standard deviation of age, by numpy."""
    left, before = done.masked["age"].values[~done.masked["age"].missing], frame["age"].to_numpy(dtype=float)
    return float(max(abs(left.mean() - before.mean()), abs(left.std() - before.std())) / before.std(ddof=1))


@pytest.mark.waived("adjustment-distorts")
@pytest.mark.parametrize("fraction", [0.03, 0.3, 0.9, 0.97])
def test_a_random_sample_is_no_doubt(fraction: float) -> None:
    """Of records, of households, and of strata whose shares the weights make up for."""
    for seed in range(5):
        frame = _people(seed)
        params = {"fraction": fraction}
        weighted = {"declared": {"weight": {"role": "weight"}}}
        for done in (
            _masked(frame.drop(columns=["weight", "home"]), "sampling", params=params),
            _masked(frame.drop(columns="weight"), "sampling", params=params, cluster="home"),
            _masked(frame.drop(columns="home"), "sampling", params=params | {"strata": ["region"]}, **weighted),
        ):
            assert (_doubts(done), _cautions(done)) == ({}, {})


@pytest.mark.parametrize(("oldest", "is_doubt"), [(60, True), (70, False)])
def test_a_choice_of_records_is(oldest: int, is_doubt: bool) -> None:
    """Without the old the others are younger, the more so the more are left out; their assets are as they were."""

    def without_the_oldest(block: mw.Block, params: object, rng: np.random.Generator) -> mw.Removed:
        age = block.values[:, list(block.names).index("age")]
        return mw.Removed(kept_rows=np.flatnonzero(age < oldest))

    chosen = mw.Method(
        name="without_the_oldest", remove=without_the_oldest, summary="Keeps the young.", scope="all",
        claims=mw.Claims(removes={"records"}), example="method: without_the_oldest\n",
    )  # fmt: skip
    frame = _people(3)[["age", "assets"]]
    with offered([chosen]):
        done = _masked(frame, "without_the_oldest")
    assert (_farther(done, frame) > 0.2) is is_doubt
    said, silent = (_doubts(done), _cautions(done)) if is_doubt else (_cautions(done), _doubts(done))
    assert (list(said), silent) == (["age"], {})
    assert "those that are left out differ from the others" in said["age"]


@pytest.mark.parametrize(("n", "k"), [(600, 5), (600, 3), (2000, 3)])
def test_suppressing_the_extremes_is_as_far_as_it_moves_them(n: int, k: int) -> None:
    """Ages that few have are far from the mean: what is left spreads less, by as much as numpy says."""
    frame = _people(1, n)[["age", "region"]]
    done = _suppressed(frame, k)
    left = int(np.sum(~done.masked["age"].missing))
    moved = _farther(done, frame)
    assert moved > 0.05
    said = _doubts(done) if moved > 0.2 or left < n / 2 else _cautions(done)
    assert list(said) == ["age"]
    assert len(_doubts(done)) + len(_cautions(done)) == 1
    assert f"removing {n - left} of its {n} values" in said["age"]
    assert max(abs(float(each)) for each in re.findall(r"by ([+-]\d\.\d\d)", said["age"])) == pytest.approx(
        moved, abs=0.011
    )


def test_a_step_that_changes_values_may_move_them_less() -> None:
    """What is suppressed of ages that are rounded, too, is a doubt where it is a caution of ages alone."""
    frame = _people(1, 2000)[["age", "region"]]
    rounded = {"method": "rounding", "variables": ["age"], "params": {"base": 1}}
    suppressed = {"method": "local_suppression", "params": {"k": 3, "keys": ["age", "region"]}}
    done = _masked(frame, steps=[rounded, suppressed], declared=_keys(frame))
    assert (list(_doubts(done)), list(_cautions(done))) == (["age"], [])


def test_what_most_records_lose_is_a_doubt() -> None:
    """Also where what is left moved no farther than a sample of as many would."""
    frame = _people(5, 200)[["age", "region"]].assign(age=np.random.default_rng(5).integers(20, 90, 200))
    done = _suppressed(frame, 3)
    gone = int(np.sum(done.masked["age"].missing))
    assert gone > 100
    assert 1 / np.sqrt(200) < _farther(done, frame) < 0.2
    assert f"removing {gone} of its 200 values" in _doubts(done)["age"]
    assert "by chance" not in _doubts(done)["age"]


def test_the_remedy_is_one_of_the_method() -> None:
    frame = _people(2, 300)[["age", "region"]]
    for method, remedy in (("local_suppression", "fewer cells"), ("record_suppression", "fewer records")):
        done = _suppressed(frame, 5, method)
        (doubt,) = [each for each in done.doubts if each.kind == "adjustment-distorts"]
        assert doubt.hint is not None
        assert doubt.hint.startswith(f"Recode the keys, so that {remedy} have to go; or declare")


def test_a_declared_distortion_has_the_last_word() -> None:
    frame = _people(1, 2000)[["age", "region"]]
    moved = _farther(_suppressed(frame, 3), frame)
    assert 0.05 < moved < 0.2
    strict, lenient = (_suppressed(frame, 3, distortion=bound) for bound in (moved * 0.9, moved * 1.1))
    assert (list(_doubts(strict)), list(_cautions(strict))) == (["age"], [])
    assert (_doubts(lenient), _cautions(lenient)) == ({}, {})


def test_a_distortion_that_is_declared_is_released() -> None:
    frame = _people(1)[["age", "region"]]
    declared = _keys(frame)
    asked: dict[str, Any] = {"params": {"k": 5, "keys": ["age", "region"]}, "seed": 1}
    with pytest.raises(mw.OpenDoubts, match="W309 adjustment-distorts: age: removing"):
        mw.protect(frame, "local_suppression", declared=declared, **asked)
    declared["age"]["distortion"] = 0.9
    assert len(mw.protect(frame, "local_suppression", declared=declared, **asked)) == len(frame)


def test_a_cluster_within_a_stratum_does_not_show_a_suppressed_one_and_hardly_anything_goes_for_that() -> None:
    """Clusters of several steps lie within regions: of a hidden region the amounts go, not the regions of the rest."""
    rng = np.random.default_rng(0)
    columns = {"region": rng.choice([*"abcd"], 400, p=[0.3, 0.3, 0.2, 0.2])}
    columns["size"] = rng.choice([*"123"], 400, p=[0.6, 0.38, 0.02])
    amounts = [f"x{number}" for number in range(3)]
    frame = pd.DataFrame(columns | {name: np.round(rng.lognormal(5, 1, 400)) for name in amounts})
    steps: list[dict[str, Any]] = [
        {"method": "microaggregation", "variables": [name], "within": "region", "params": {"k": 3}} for name in amounts
    ]
    hidden = {"k": 5, "importance": {"size": 100}}
    steps.append({"method": "local_suppression", "variables": ["region", "size"], "params": hidden})
    keys = {name: {"role": "quasi_identifier"} for name in ("region", "size")}
    declared = keys | {name: {"decimals": 0} for name in amounts}
    done = mask_request(masking_request(frame, steps=steps, seed=1, declared=declared), is_released=False)
    gone = {name: done.masked[name].missing for name in (*amounts, "region")}
    assert gone["region"].sum() > 0
    assert max(cells.sum() for cells in gone.values()) < 40
    region = frame["region"].mask(gone["region"])
    for name in amounts:
        values = pd.Series(done.masked[name].values).mask(gone[name])
        shown = region.groupby(values).agg(["nunique", "count"])
        reads = (shown["nunique"] == 1) & (shown["count"] >= 1)
        assert not values[gone["region"]].map(reads).eq(True).any()


@pytest.mark.parametrize("kind", ["category", "number"])
def test_a_variable_that_no_step_masks_is_in_doubt_where_most_of_it_goes_to_protect_the_keys(kind: str) -> None:
    """Towns and rents determine the region: where most regions are hidden, most of these are."""
    rng = np.random.default_rng(0)
    town = rng.integers(0, 12, 600)
    frame = pd.DataFrame({
        "region": np.array([*"abcd"])[town % 4],
        "size": rng.choice([*"1234567"], 600), "job": rng.choice([*"uvw"], 600),
        "place": [f"t{each}" for each in town] if kind == "category" else town * 100 + 100,
    })  # fmt: skip
    keys = ("region", "size", "job")
    declared: dict[str, Any] = {name: {"role": "quasi_identifier"} for name in keys} | {"place": {"role": "other"}}
    hidden: dict[str, Any] = {"k": 25, "keys": list(keys), "importance": {"size": 100, "job": 100}}
    request = masking_request(
        frame, "local_suppression", params=hidden, variables=list(keys), declared=declared, seed=1
    )
    done = mask_request(request, is_released=False)
    gone = int(done.masked["place"].missing.sum())
    assert gone > 300
    assert _doubts(done)["place"].startswith(f"{gone} of its 600 values are suppressed, and it is no key")
    assert "region" not in _doubts(done)


def test_a_key_of_which_all_cells_go_because_they_would_disclose_others_is_in_doubt(tmp_path: Path) -> None:
    """Places determine region and job, of which each record loses one; for their own k no place has to go."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, 12, 600)
    frame = pd.DataFrame({
        "region": np.array([*"abcd"])[place % 4], "job": np.array([*"xyz"])[place // 4],
        "size": rng.choice([*"1234567"], 600), "place": [f"t{each}" for each in place],
        "sex": rng.choice(["m", "f"], 600),
    })  # fmt: skip
    frame.to_csv(tmp_path / "people.csv", index=False)
    pipeline: dict[str, Any] = {
        "maskwright": 1,
        "data": {
            "source": "people.csv",
            "variables": {name: {"role": "quasi_identifier", "type": "nominal"} for name in frame},
        },
        "protect": [
            {
                "method": "local_suppression", "variables": ["region", "job", "size"],
                "params": {"k": 20, "keys": ["region", "job", "size"], "importance": {"size": 100}},
            },
            {
                "method": "local_suppression", "variables": ["place", "sex"],
                "params": {"k": 3, "keys": ["place", "sex"]},
            },
        ],
        "output": {"data": "masked.csv", "record": "run.json"},
        "seed": 1,
    }  # fmt: skip
    (tmp_path / "p.yaml").write_text(json.dumps(pipeline))
    with pytest.raises(mw.OpenDoubts) as refused:
        mw.run(tmp_path / "p.yaml")
    (problem,) = [each for each in refused.value.problems if "place" in each.message]
    assert "all of its 600 values are suppressed, 600 of them because they would disclose others" in problem.message
    assert "`disclosure: {importance: {place: 10}}`" in str(problem.hint)
    assert not (tmp_path / "masked.csv").exists()
