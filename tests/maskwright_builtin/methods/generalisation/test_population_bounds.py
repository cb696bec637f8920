"""Enforced k-map and individual risk: recounted in plain Python, and every optimum by brute force."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import maskwright as mw
from maskwright_builtin.methods.generalisation.generalisation import GENERALISATION, GeneralisationParams

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("x0", "x1", "x2")
LEAVES = 6
GROUPS = {"groups": [{"low": ["0", "1", "2"], "high": ["3", "4", "5"]}, {"*": ["low", "high"]}]}
LEVELS = ((0, 1, 2, 3, 4, 5), (0, 0, 0, 1, 1, 1), (0,) * 6)


def hierarchy() -> mw.CategoryHierarchy:
    levels = (mw.CategoryLevel(("low", "high"), LEVELS[1]), mw.CategoryLevel(("*",), LEVELS[2]))
    return mw.CategoryHierarchy(tuple("012345"), levels)


def drawn(seed: int, holes: float = 0.0) -> tuple[mw.Block, pd.DataFrame]:
    """A sample with weights, and the population that it is from."""
    rng = np.random.default_rng(seed)
    people = np.stack([rng.choice(LEAVES, size=600, p=rng.dirichlet(np.ones(LEAVES))) for _ in NAMES], axis=1)
    taken = rng.choice(600, size=60, replace=False)
    values = people[taken].astype(float)
    values[rng.random(values.shape) < holes] = np.nan
    variables = tuple(
        mw.Variable(name, "nominal", "quasi_identifier", categories=tuple("012345"), hierarchy=hierarchy())
        for name in NAMES
    )
    weights = rng.choice([1.0, 5.0, 12.0, 30.0], size=60)
    block = mw.Block(values, np.isnan(values), variables, weights=weights)
    return block, pd.DataFrame(people.astype(str), columns=list(NAMES))


def risk(f: int, fraction: float) -> float:
    """Sum over h of 1 / h times the probability that F is h, negative binomial."""
    if fraction >= 1:
        return 1.0 / f
    h = np.arange(f, math.ceil(f + 40 * f / fraction))
    rises = (1 - fraction) * h[:-1] / (h[:-1] + 1 - f)
    probabilities = fraction**f * np.cumprod(np.concatenate(([1.0], rises)))
    return float((probabilities / h).sum())


def on_level(value: float, level: int) -> int:
    return -1 if math.isnan(value) else LEVELS[level][int(value)]


def grouped(block: mw.Block, node: tuple[int, ...]) -> dict[tuple[int, ...], list[int]]:
    found = defaultdict(list)
    for i, row in enumerate(block.values):
        found[tuple(on_level(value, level) for value, level in zip(row, node, strict=True))].append(i)
    return found


def like(people: pd.DataFrame, node: tuple[int, ...], shown: tuple[int, ...]) -> int:
    """People who have what a class shows."""
    match = np.ones(len(people), dtype=bool)
    for name, level, code in zip(NAMES, node, shown, strict=True):
        if code >= 0:
            match &= np.array(LEVELS[level])[people[name].to_numpy(dtype=np.int64)] == code
    return int(match.sum())


def risk_of(block: mw.Block, members: list[int]) -> float:
    assert block.weights is not None
    return risk(len(members), min(len(members) / block.weights[members].sum(), 1.0))


def outliers(
    block: mw.Block, people: pd.DataFrame, node: tuple[int, ...], params: GeneralisationParams
) -> tuple[set[tuple[int, ...]], bool]:
    """Classes that are emptied, by the definition, and whether the node may be published."""
    found = grouped(block, node)
    asked = params.individual_risk
    bound = asked if asked is None or isinstance(asked, float) else asked.bound
    most = 0 if asked is None or isinstance(asked, float) else math.floor(asked.share_above * block.n + 1e-9)
    gone = {key for key, members in found.items() if len(members) < params.k}
    if params.k_map is not None:
        gone |= {key for key in found if like(people, node, key) < params.k_map}
    together_fails = False
    if bound is not None:
        risks = {key: risk_of(block, members) for key, members in found.items()}
        left = [key for key in found if key not in gone and risks[key] > bound]
        while sum(len(found[key]) for key in left) > most:
            highest = max(risks[key] for key in left)
            gone |= {key for key in left if risks[key] >= highest * (1 - 1e-12)}
            left = [key for key in left if key not in gone]
    if sum(len(found[key]) for key in gone) > params.suppression_limit * block.n:
        return gone, False
    blank = (-1,) * len(NAMES)
    if gone and blank in found:
        gone.add(blank)
    emptied = [i for key in gone for i in found[key]]
    if emptied:
        together_fails = len(emptied) < params.k
        if bound is not None:
            together_fails |= risk_of(block, emptied) > bound
    return gone, not together_fails


def brute_force(block: mw.Block, people: pd.DataFrame, params: GeneralisationParams) -> tuple[int, ...] | None:
    """The node of least discernibility, or of least height."""
    best: tuple[float, tuple[int, ...]] | None = None
    for node in itertools.product(range(3), repeat=len(NAMES)):
        gone, fulfils = outliers(block, people, node, params)
        if not fulfils:
            continue
        found = grouped(block, node)
        if params.loss == "height":
            loss = sum(level / 2 for level in node) / len(NAMES)
        else:
            loss = float(sum(block.n * len(m) if key in gone else len(m) ** 2 for key, m in found.items()))
        if best is None or loss < best[0] - 1e-9:
            best = loss, node
    return None if best is None else best[1]


def asked(population: str) -> Iterator[dict[str, Any]]:
    yield {"individual_risk": 0.08}
    yield {"individual_risk": 0.02, "suppression_limit": 0.2}
    yield {"individual_risk": {"bound": 0.05, "share_above": 0.1}}
    yield {"individual_risk": {"bound": 0.03, "share_above": 0.3}, "suppression_limit": 0.0}
    yield {"k_map": 20, "population": population}
    yield {"k_map": 60, "population": population, "individual_risk": 0.1, "suppression_limit": 0.15}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.integers(0, 10**6), st.integers(0, 5), st.sampled_from(["discernibility", "height"]), st.sampled_from([0.0, 0.1])
)
def test_the_search_finds_what_brute_force_finds(
    tmp_path: Path, seed: int, number: int, loss: str, holes: float
) -> None:
    block, people = drawn(seed, holes)
    path = tmp_path / "people.csv"
    people.to_csv(path, index=False)
    wanted = list(asked(str(path)))[number]
    params = GeneralisationParams.model_validate({"k": 2, "loss": loss, "suppression_limit": 0.05, **wanted})
    expected = brute_force(block, people, params)
    if expected is None:
        with pytest.raises(mw.InputError, match="no levels of the keys fulfil"):
            GENERALISATION.protect(block, params, np.random.default_rng(1))
        return
    masked = GENERALISATION.protect(block, params, np.random.default_rng(1))
    assert tuple(int(each.split()[1]) for each in str(masked.notes["levels"]).split(", ")) == expected
    gone, _ = outliers(block, people, expected, params)
    emptied = {i for key in gone for i in grouped(block, expected)[key]}
    assert set(np.flatnonzero(masked.missing.all(axis=1))) >= emptied
    assert masked.notes["records_suppressed"] <= len(emptied)
    if params.individual_risk is not None:
        kept = {key: members for key, members in grouped(block, expected).items() if key not in gone}
        risks = [risk_of(block, members) for members in kept.values()]
        assert masked.notes["largest_individual_risk"] == pytest.approx(max(risks, default=0.0), rel=1e-9)


def test_the_risk_of_a_class_never_rises_when_another_is_joined_to_it() -> None:
    rng = np.random.default_rng(3)
    for _ in range(500):
        one, other = rng.integers(1, 9, size=2)
        first, second = one * rng.choice([1.0, 1.2, 8.0, 500.0]), other * rng.choice([1.0, 1.2, 8.0, 500.0])
        joined = risk(int(one + other), float((one + other) / (first + second)))
        assert joined <= risk(int(one), float(one / first)) * (1 + 1e-9)


def files(folder: Path) -> pd.DataFrame:
    rng = np.random.default_rng(11)
    people = pd.DataFrame({
        "town": rng.choice([f"t{i}" for i in range(12)], size=5000, p=np.arange(1, 13) / 78),
        "age": rng.integers(0, 90, size=5000),
        "job": rng.choice(list("abcd"), size=5000),
    })  # fmt: skip
    people.to_csv(folder / "register.csv", index=False)
    sample = people.sample(500, random_state=1)
    sample.to_csv(folder / "data.csv", index=False)
    return sample


PIPELINE = """
maskwright: 1
data:
  source: data.csv
  variables:
    town: {role: quasi_identifier, hierarchy: {groups: [{A: [t0, t1, t2, t3, t4, t5], B: [t6, t7, t8, t9, t10, t11]}]}}
    age: {role: quasi_identifier, hierarchy: {widths: [10, 30]}}
    job: {role: other, release: as is}
protect:
  - method: generalisation
    variables: [town, age]
    params: {k: 3, k_map: 40, population: register.csv, individual_risk: 0.2}
measure: [{individual_risk: {bound: 0.2}}]
output: {data: masked.csv, record: run.json}
"""


def test_a_pipeline_counts_in_a_register_beside_it(tmp_path: Path) -> None:
    files(tmp_path)
    (tmp_path / "pipeline.yaml").write_text(PIPELINE, encoding="utf-8")
    mw.run(tmp_path / "pipeline.yaml")
    record = json.loads((tmp_path / "run.json").read_text(encoding="utf-8"))
    assert [each["file"] for each in record["inputs"] if each["role"] == "method"] == ["register.csv"]
    assert str(tmp_path) not in json.dumps(record["plan"])
    (notes,) = record["methods"]
    assert notes["smallest_class_in_population"] >= 40
    assert notes["largest_individual_risk"] == pytest.approx(record["measures"]["individual_risk"]["parts"]["largest"])


def test_a_register_that_is_none_of_these_records(tmp_path: Path) -> None:
    sample = files(tmp_path)
    declared = {
        "town": {"role": "quasi_identifier", "hierarchy": {"groups": [{"A": [f"t{i}" for i in range(12)]}]}},
        "age": {"role": "identifier"},
        "job": {"role": "other", "release": "as is"},
    }

    def protect(register: pd.DataFrame, **params: Any) -> pd.DataFrame:
        register.to_csv(tmp_path / "other.csv", index=False)
        wanted = {"k": 3, "k_map": 5, "population": str(tmp_path / "other.csv"), **params}
        return mw.protect(sample, "generalisation", declared=declared, params=wanted)

    register = pd.read_csv(tmp_path / "register.csv")
    with pytest.raises(mw.InputError, match=r"records? ha(s|ve) keys that no record of the population file has"):
        protect(register[register.town != "t11"])
    with pytest.raises(mw.InputError, match="9999 people are more than the population has, 5,000"):
        protect(register, k_map=9999)
    with pytest.raises(mw.InputError, match="values of town are not in its hierarchy: complete the hierarchy of town"):
        protect(pd.concat([register, register.assign(town="t99")]))
    with pytest.raises(mw.MaskwrightError, match="town"):
        protect(register.rename(columns={"town": "twon"}))
