"""Partitions counted and listed, indicators against their definitions on vectors, advice by what was measured."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import maskwright as mw
from maskwright.cli.main import main
from maskwright.edits.edit_set import EditSet
from maskwright.experiments.advice.partition_advice import advise_variables
from maskwright.experiments.advice.standardisation import STANDARDISATIONS, standardised
from maskwright.experiments.advice.variable_partitions import (
    between_blocks,
    block_sizes,
    coded,
    count_partitions,
    partitions,
    random_partition,
    within_block,
)

if TYPE_CHECKING:
    from pathlib import Path

# Thesis, section 7.2 to 7.4: partitions of 13 variables.
PUBLISHED = {
    (1, 12): 13, (2, 11): 78, (3, 10): 286, (4, 9): 715, (5, 8): 1287, (6, 7): 1716, (4, 4, 5): 45045,
    (3, 3, 3, 4): 200200, (2, 2, 2, 2, 2, 3): 270270, (13,): 1,
}  # fmt: skip


@pytest.mark.parametrize(("sizes", "count"), PUBLISHED.items())
def test_counts_of_the_thesis(sizes: tuple[int, ...], count: int) -> None:
    assert count_partitions(sizes) == count


@pytest.mark.parametrize(("p", "s"), [(p, s) for p in range(2, 14) for s in range(1, p + 1)])
def test_counting_agrees_with_formulas_7_2_and_7_3(p: int, s: int) -> None:
    h, r = divmod(p, s)
    if r == 0:
        published = math.prod(math.comb(p - i * s - 1, s - 1) for i in range(h - 1))
    else:
        published = math.comb(p, s + r) * math.prod(math.comb(p - i * s - r - 1, s - 1) for i in range(1, h))
    assert count_partitions(block_sizes(p, s)) == published


@pytest.mark.parametrize("sizes", [(1,), (1, 1, 1), (2, 2), (1, 4), (2, 3), (2, 2, 3), (3, 3, 3), (1, 2, 2, 3)])
def test_every_partition_is_listed_once(sizes: tuple[int, ...]) -> None:
    found = list(partitions(sizes))
    assert len(found) == len(set(found)) == count_partitions(sizes)
    for blocks in found:
        assert tuple(sorted(map(len, blocks))) == sizes
        assert sorted(each for block in blocks for each in block) == list(range(sum(sizes)))


def test_variables_that_belong_together_stay_together() -> None:
    atoms = [(0, 3), (1,), (2,), (4,), (5,)]
    found = set(partitions((3, 3), atoms))
    expected = {blocks for blocks in partitions((3, 3)) if any({0, 3} <= set(block) for block in blocks)}
    assert found == expected
    drawn = {random_partition((3, 3), np.random.default_rng(seed), atoms) for seed in range(200)} - {None}
    assert drawn == expected


def test_drawn_partitions_reach_all() -> None:
    rng = np.random.default_rng(0)
    assert {random_partition((2, 3), rng) for _ in range(300)} == set(partitions((2, 3)))


def raw(seed: int) -> np.ndarray:
    return 3.0 + np.random.default_rng(seed).normal(size=(20, 6)) @ np.random.default_rng(seed + 1).normal(size=(6, 6))


def dataset(values: np.ndarray) -> mw.Dataset:
    names = "abcdef"[: values.shape[1]]
    return mw.Dataset(
        tuple(mw.Column(mw.Variable(n), v.copy(), np.isnan(v)) for n, v in zip(names, values.T, strict=True))
    )


def vectors(values: np.ndarray, how: str) -> np.ndarray:
    """The five ways of section 8.2."""
    return {
        "S_T": lambda: (values - values.mean(axis=0)) / values.std(axis=0),
        "S_X": lambda: values / np.abs(values).max(axis=0),
        "S_N": lambda: values / np.abs(values).min(axis=0),
        "S_M": lambda: values / values.mean(axis=0),
        "S_D": lambda: values / values.std(axis=0),
    }[how]()


@given(st.integers(0, 10_000), st.sampled_from([(2, 4), (1, 5), (3, 3), (2, 2, 2)]), st.sampled_from(STANDARDISATIONS))
def test_statistics_are_those_of_the_vectors(seed: int, sizes: tuple[int, ...], how: str) -> None:
    """Definitions of the thesis on n-vectors, divided by n."""
    standard = vectors(raw(seed), how)
    n = len(standard)
    of = standardised(dataset(raw(seed)), "abcdef", how)
    blocks = random_partition(sizes, np.random.default_rng(seed))
    assert blocks is not None
    means = [standard[:, block].mean(axis=1) for block in map(list, blocks)]

    def same(found: np.ndarray, expected: list[float]) -> None:
        np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9 * (1 + np.abs(standard).max() ** 2) * n)

    for block, mean in zip(map(list, blocks), means, strict=True):
        found = {statistic: within_block(of, block, statistic) for statistic in range(1, 13)}
        columns = standard[:, block].T
        pairs = [(columns[i], columns[j]) for i in range(len(block)) for j in range(i + 1, len(block))]
        same(found[1] * n, [a @ a for a in columns])
        same(found[2] * n, [abs(a @ a - b @ b) for a, b in pairs])
        same(found[3] * n, [((a - b) ** 2).sum() for a, b in pairs])
        same(found[4] * n, [abs(a @ a - mean @ mean) for a in columns])
        same(found[5] * n, [((a - mean) ** 2).sum() for a in columns])
        same(found[6] * n, [a @ b for a, b in pairs])
        np.testing.assert_allclose(found[7], [a @ b / np.sqrt((a @ a) * (b @ b)) for a, b in pairs], atol=1e-6)
        same(found[8], [np.cov(a, b, ddof=0)[0, 1] for a, b in pairs])
        np.testing.assert_allclose(found[9], [np.corrcoef(a, b)[0, 1] for a, b in pairs], atol=1e-6)
        same(found[10] * n, [*(a @ b for a, b in pairs), *(a @ a for a in columns)])
        same(found[11], [*(np.cov(a, b, ddof=0)[0, 1] for a, b in pairs), *(a.var() for a in columns)])
        same(found[12], [a.var() for a in columns])
    psi, omega = np.mean(means, axis=0), standard.mean(axis=1)
    found = between_blocks(of, blocks)
    pairs = [(means[i], means[j]) for i in range(len(means)) for j in range(i + 1, len(means))]
    for statistic, expected in {
        13: [m @ m for m in means],
        14: [abs(a @ a - b @ b) for a, b in pairs],
        15: [((a - b) ** 2).sum() for a, b in pairs],
        16: [abs(m @ m - psi @ psi) for m in means],
        17: [((m - psi) ** 2).sum() for m in means],
        18: [a @ b for a, b in pairs],
        22: [*(a @ b for a, b in pairs), *(m @ m for m in means)],
        25: [abs(m @ m - omega @ omega) for m in means],
        26: [((m - omega) ** 2).sum() for m in means],
        27: [abs(psi @ psi - omega @ omega)],
        28: [((psi - omega) ** 2).sum()],
        29: [psi @ psi],
    }.items():
        same(found[statistic] * n, expected)
    same(found[20], [np.cov(a, b, ddof=0)[0, 1] for a, b in pairs])
    same(found[23], [*(np.cov(a, b, ddof=0)[0, 1] for a, b in pairs), *(m.var() for m in means)])
    same(found[24], [m.var() for m in means])
    np.testing.assert_allclose(found[19], [a @ b / np.sqrt((a @ a) * (b @ b)) for a, b in pairs], atol=1e-6)
    np.testing.assert_allclose(found[21], [np.corrcoef(a, b)[0, 1] for a, b in pairs], atol=1e-6)


def test_standardisations_that_divide_by_zero_are_refused() -> None:
    columns = {"zero": [0.0, 0.0, 0.0], "some": [0.0, 1.0, 2.0], "even": [-1.0, 0.5, 0.5], "same": [4.0, 4.0, 4.0]}
    data = mw.Dataset(tuple(mw.Column(mw.Variable(n), np.array(v), np.zeros(3, bool)) for n, v in columns.items()))
    refused = {"S_X": "zero", "S_N": "zero, some", "S_M": "zero, even", "S_D": "zero, same"}
    for how, names in refused.items():
        with pytest.raises(mw.InputError, match=f"standardisation {how} divides by .* which is 0 for {names}\n"):
            standardised(data, list(columns), how)
    assert standardised(data, list(columns), "S_T").products[0].tolist() == [1.0, 0.0, 0.0, 0.0]


def test_the_indicator_is_of_the_standardisation_named(survey: pd.DataFrame, tmp_path: Path, capsys) -> None:
    survey.abs().add(1).to_csv(tmp_path / "s.csv", index=False)
    found = {}
    for how in STANDARDISATIONS:
        arguments = ["advise", "variables", str(tmp_path / "s.csv"), "--shape", "2+3", "--candidates", "1", "--json"]
        assert main([*arguments, "--standardise", how]) == 0
        found[how] = json.loads(capsys.readouterr().out)
        assert found[how]["indicator"] == ("5-11" if how == "S_T" else f"5-11 ({how})")
        of = vectors(survey.abs().add(1).to_numpy(), how)
        block = [list("abcde").index(name) for name in found[how]["partitions"][0]["blocks"][-1]]
        spread = ((of[:, block] - of[:, block].mean(axis=1, keepdims=True)) ** 2).mean(axis=0)
        assert found[how]["partitions"][0]["indicator"] == pytest.approx(spread.min() + spread.max())
    survey.assign(a=0).to_csv(tmp_path / "s.csv", index=False)
    assert main([*arguments[:3], "--standardise", "S_N"]) == 2
    assert "which is 0 for a" in capsys.readouterr().err


def test_codes() -> None:
    correlation = standardised(dataset(raw(1)), "abcdef")
    blocks = ((0, 4), (1, 2, 3, 5))
    spread = within_block(correlation, blocks[1], 5)
    assert coded(correlation, blocks, 5, 8) == spread.min()
    assert coded(correlation, blocks, 5, 11) == spread.min() + spread.max()
    both = [within_block(correlation, block, 5).max() for block in blocks]
    assert coded(correlation, blocks, 5, 18) == pytest.approx(np.mean(both))
    assert coded(correlation, blocks, 5, 20) == pytest.approx(np.std(both))
    assert np.isnan(coded(correlation, ((0,), (1, 2, 3, 4, 5)), 6, 1))
    for statistic, number in ((0, 1), (5, 36), (13, 8), (29, 2), (30, 1)):
        with pytest.raises(ValueError, match="no indicator"):
            coded(correlation, blocks, statistic, number)


@pytest.fixture
def survey() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    base = rng.normal(size=(90, 2))
    frame = pd.DataFrame({"a": base[:, 0], "b": base[:, 0] + 0.1 * rng.normal(size=90), "c": base[:, 1]})
    return frame.assign(d=base[:, 1] + 0.1 * rng.normal(size=90), e=rng.normal(size=90)).mul(1000).round()


def test_the_ranking_is_by_what_was_measured(survey: pd.DataFrame, tmp_path: Path) -> None:
    survey.to_csv(tmp_path / "s.csv", index=False)
    data = mw.read(tmp_path / "s.csv")
    advice = advise_variables(data, EditSet(), k=4, measures=["sse", "mg"], candidates=3)
    values = [each.measures["sse"] for each in advice.ranked]
    assert values == sorted(values)
    assert advice.counts == {"1+4": 5, "2+3": 10}
    assert {each.shape for each in advice.ranked if each.why == "reference"} >= {"5"}
    first = advice.ranked[0]
    masked = mw.protect(data, "microaggregation", seed=0, params={"k": 4, "partition": "mdav"}, groups=first.blocks)
    assert mw.measure(data, masked, ["sse"])["sse"].value == pytest.approx(first.measures["sse"])


def test_the_advice_does_not_depend_on_the_order_of_the_columns(survey: pd.DataFrame, tmp_path: Path) -> None:
    found = []
    for order in (list("abcde"), list("ebdca")):
        survey[order].to_csv(tmp_path / "s.csv", index=False)
        advice = advise_variables(
            mw.read(tmp_path / "s.csv"), EditSet(), k=4, measures=["sse"], shapes=[(2, 3)], candidates=10
        )
        found.append(
            {
                frozenset(map(frozenset, a.blocks)): round(a.measures["sse"], 9)
                for a in advice.ranked
                if a.shape == "2+3"
            }
        )
    assert found[0] == found[1]


def test_edits_keep_their_variables_together(survey: pd.DataFrame, tmp_path: Path, capsys) -> None:
    survey.assign(total=survey["a"] + survey["c"]).to_csv(tmp_path / "s.csv", index=False)
    (tmp_path / "rules.yaml").write_text("- a + c == total\n")
    arguments = ["advise", "variables", str(tmp_path / "s.csv"), "--edits", str(tmp_path / "rules.yaml"), "--k", "4"]
    assert main([*arguments, "--json", "--candidates", "2"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"] == {"1+5": 3, "2+4": 3, "3+3": 1}
    for each in found["partitions"]:
        assert any({"a", "c", "total"} <= set(block) for block in each["blocks"])
    assert any("edits keep together: a, c, total" in note for note in found["notes"])
    assert main([*arguments, "--candidates", "1", "--shape", "3+3"]) == 0
    assert "In a pipeline: groups: [[" in capsys.readouterr().out


def test_many_partitions_are_drawn_and_said_to_be(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.integers(0, 999, (40, 13)), columns=list("abcdefghijklm")).to_csv(tmp_path / "s.csv", index=False)
    data = mw.read(tmp_path / "s.csv")
    shape = (3, 3, 3, 4)
    advice = advise_variables(data, EditSet(), k=5, measures=["sse"], shapes=[shape], candidates=1)
    assert advice.sampled == ("3+3+3+4",)
    assert advice.counts["3+3+3+4"] == 200200
    assert advice == advise_variables(data, EditSet(), k=5, measures=["sse"], shapes=[shape], candidates=1)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--shape", "2+2"], "hold 5 variables"),
        (["--shape", "2x3"], "expected sizes joined by '+'"),
        (["--k", "0"], "--k must be positive"),
        (["--k", "91", "--shape", "2+3"], "91"),
        (["--measure", "mgg"], "did you mean 'mg'?"),
    ],
)
def test_bad_input(survey: pd.DataFrame, tmp_path: Path, arguments: list[str], said: str, capsys) -> None:
    survey.to_csv(tmp_path / "s.csv", index=False)
    assert main(["advise", "variables", str(tmp_path / "s.csv"), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_one_variable_cannot_be_partitioned(survey: pd.DataFrame, tmp_path: Path, capsys) -> None:
    survey[["a"]].to_csv(tmp_path / "s.csv", index=False)
    assert main(["advise", "variables", str(tmp_path / "s.csv")]) == 2
    assert "nothing to partition" in capsys.readouterr().err


def test_categories_are_no_blocks_and_it_says_where_to_go(tmp_path: Path, capsys) -> None:
    pd.DataFrame({"sex": ["F", "M"] * 20, "town": ["A", "B", "C", "D"] * 10}).to_csv(tmp_path / "s.csv", index=False)
    assert main(["advise", "variables", str(tmp_path / "s.csv")]) == 2
    said = " ".join(capsys.readouterr().err.split())
    assert "(sex: role other, town: role other)" in said
    assert "`maskwright advise keys` says which of them single people out" in said


def _pipeline(folder: Path, step: str = "{method: microaggregation}") -> str:
    (folder / "p.yaml").write_text(
        "maskwright: 1\n"
        "data: {source: s.csv, variables: {number: {role: identifier}, w: {role: weight}, e: {role: other}}}\n"
        f"edits: [a + c == total]\nprotect: [{step}]\noutput: {{data: m.csv}}\n"
    )
    return str(folder / "p.yaml")


def test_roles_and_edits_of_a_pipeline_are_respected(survey: pd.DataFrame, tmp_path: Path, capsys) -> None:
    """Weights, identifiers and others are not advised on, and those left out are named."""
    frame = survey.assign(total=survey["a"] + survey["c"], w=2, number=range(90))
    frame.to_csv(tmp_path / "s.csv", index=False)
    arguments = ["advise", "variables", _pipeline(tmp_path), "--measure", "sse", "--candidates", "1"]
    assert main([*arguments, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {name for block in found["partitions"][0]["blocks"] for name in block} == {"a", "b", "c", "d", "total"}
    assert found["left_out"] == {"e": "role other", "w": "role weight"}
    assert "left out: e (role other), w (role weight)" in found["notes"]
    assert any("edits keep together: a, c, total" in note for note in found["notes"])
    _pipeline(tmp_path, "{method: microaggregation, variables: [a, b, c, total]}")
    assert main([*arguments, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["left_out"]["d"] == "no step of the pipeline lists it"
    assert main([*arguments, "--edits", str(tmp_path / "p.yaml")]) == 2
    assert "a pipeline file says them itself" in capsys.readouterr().err


def test_variables_are_excluded_by_option(survey: pd.DataFrame, tmp_path: Path, capsys) -> None:
    survey.assign(number=range(90)).to_csv(tmp_path / "s.csv", index=False)
    arguments = ["advise", "variables", str(tmp_path / "s.csv"), "--measure", "sse", "--candidates", "1"]
    assert main([*arguments, "--exclude", "d", "--exclude", "e", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["left_out"] == {"d": "excluded", "e": "excluded"}
    assert any("number is a different whole number in every record" in note for note in found["notes"])
    assert main([*arguments, "--exclude", "numbr"]) == 2
    assert "did you mean 'number'?" in capsys.readouterr().err


def test_declared_bounds_of_a_pipeline_are_stated_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    pd.DataFrame({name: rng.integers(0, 90, 30) for name in "abc"}).to_csv(tmp_path / "d.csv", index=False)
    (tmp_path / "p.yaml").write_text(
        "maskwright: 1\ndata: {source: d.csv, variables: {a: {min: 0}, b: {max: 90}}}\n"
        "protect: [{method: microaggregation, params: {k: 3}}]\noutput: {data: m.csv}\n",
        encoding="utf-8",
    )
    assert main(["advise", "variables", str(tmp_path / "p.yaml"), "--candidates", "1", "--k", "3"]) == 0
    assert "In a pipeline: groups: [" in capsys.readouterr().out
