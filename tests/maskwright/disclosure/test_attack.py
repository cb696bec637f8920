"""Attacks on releases that any program made: claims as pandas counts them, decisions, refusals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from pathlib import Path

TOWNS = {"Aa": "north", "Bee": "north", "Cor": "south", "Dorn": "west", "Elm": "west"}


def survey(n: int = 600, seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    town = rng.choice(list(TOWNS), n)
    wages, pension = rng.integers(0, 300, (2, n)) * 10
    return pd.DataFrame({
        "id": np.arange(n), "town": town, "region": [TOWNS[each] for each in town],
        "sex": rng.choice(["f", "m"], n), "wages": wages, "pension": pension, "income": wages + pension,
    })  # fmt: skip


def emptied(frame: pd.DataFrame, name: str, every: int) -> pd.DataFrame:
    released = frame.copy()
    released[name] = released[name].mask(released.index % every == 0)
    return released


def largest_share(values: pd.Series) -> float:
    return float(values.value_counts(normalize=True).max())


def test_a_town_that_determines_its_region_is_certain_and_a_sex_is_not() -> None:
    original = survey()
    released = emptied(emptied(original, "region", 10), "sex", 7)
    found = {each.variable: each for each in mw.attack(released, original, ["dependency"], key="id")}
    region, sex = found["region"], found["sex"]
    assert (region.hidden, region.claims, region.right, region.certain) == (60, 60, 60, 60)
    assert (region.decision, region.precision) == ("certain", 1.0)
    assert region.rule == "records that agree in town"
    assert sex.decision == "figure"
    assert sex.certain == 0


def test_claims_of_one_variable_are_those_that_pandas_counts() -> None:
    original = survey()[["town", "region", "sex"]]
    original.loc[::9, "region"] = "west"
    released = emptied(original, "region", 6)
    shown = released.dropna().groupby(["town", "sex"])["region"]
    value, share = (
        shown.agg(lambda each: each.mode()[0]),
        shown.agg(lambda each: each.value_counts(normalize=True).max()),
    )
    pairs = pd.MultiIndex.from_frame(original[["town", "sex"]])
    hidden = released["region"].isna().to_numpy()
    named = hidden & (share.reindex(pairs).to_numpy() >= 0.95)
    (found,) = mw.attack(released, original, ["dependency"])
    one = released.dropna().groupby("town")["region"]
    alone = one.agg(largest_share).reindex(original["town"]).to_numpy() >= 0.95
    right = value.reindex(pairs).to_numpy() == original["region"].to_numpy()
    assert found.claims == int((named | (hidden & alone)).sum())
    assert found.right == int((right & (named | (hidden & alone))).sum())


def test_an_equation_is_exact_and_a_part_of_two_empty_ones_is_not_named() -> None:
    original = survey()
    released = emptied(original, "wages", 20)
    released["pension"] = released["pension"].mask(released.index % 40 == 0)
    rules = ["wages + pension == income"]
    found = {each.variable: each for each in mw.attack(released, original, ["equation"], edits=rules, key="id")}
    assert set(found) == {"wages"}
    assert (found["wages"].decision, found["wages"].claims, found["wages"].right) == ("exact", 15, 15)
    assert mw.attack(released, original, ["equation"], key="id") == []


@pytest.mark.parametrize("attack", ["position", "learned"])
def test_coordinates_give_a_region_away(attack: str) -> None:
    rng = np.random.default_rng(2)
    original = pd.DataFrame({"x": rng.random(2000), "y": rng.random(2000)})
    original["region"] = np.where(original["x"] < 0.5, "w", "e")
    original["region"] += np.where(original["y"] < 0.5, "s", "n")
    (found,) = mw.attack(emptied(original, "region", 9), original, [attack])
    assert found.decision == "certain"
    assert found.right > 0.9 * found.claims > 0.7 * found.hidden


@pytest.mark.parametrize("attack", ["position", "learned", "dependency"])
def test_what_is_independent_is_a_figure(attack: str) -> None:
    rng = np.random.default_rng(3)
    original = pd.DataFrame({name: rng.integers(0, 5, 1500).astype(str) for name in "abcd"})
    original["x"] = rng.random(1500)
    found = mw.attack(emptied(original, "a", 8), original, [attack])
    assert {each.decision for each in found} <= {"figure"}


def test_a_sorted_file_gives_the_variable_away_by_which_it_is_sorted() -> None:
    original = survey()[["region", "sex"]].sort_values("region", ignore_index=True)
    (found,) = mw.attack(emptied(original, "region", 15), original, ["position"])
    assert (found.decision, found.rule) == ("certain", "records that are next to each other in the file")


def test_members_of_households_that_stand_together_give_away_what_they_have_in_common() -> None:
    rng = np.random.default_rng(5)
    homes = np.repeat(np.arange(300), rng.integers(1, 5, 300))
    original = pd.DataFrame({"region": rng.choice(list("nswe"), 300)[homes], "sex": rng.choice(["f", "m"], len(homes))})
    (found,) = mw.attack(emptied(original, "region", 4), original, ["position"])
    assert (found.decision, found.rule) == ("certain", "the records before and after")
    alone = original.sample(frac=1, random_state=1, ignore_index=True)
    assert {each.decision for each in mw.attack(emptied(alone, "region", 4), alone, ["position"])} <= {"figure"}


def test_changed_cells_are_hidden_too() -> None:
    original = survey()[["town", "region"]]
    released = original.copy()
    swapped = np.arange(len(original)) % 25 == 0
    released.loc[swapped, "region"] = released.loc[swapped, "region"].map(
        {"north": "south", "south": "west", "west": "north"}
    )
    (found,) = mw.attack(released, original, ["dependency"])
    assert (found.hidden, found.right, found.decision) == (24, 24, "certain")


def test_leaks_of_one_value_are_certain_beside_wrong_claims() -> None:
    """Children are never married; of the old, of whom nearly all are widowed, those who are not are hidden."""
    rng = np.random.default_rng(4)
    n = 12_000
    age = rng.integers(5, 80, n)
    marital = np.where(age < 16, "never", rng.choice(["never", "married", "divorced"], n))
    marital = np.where(age >= 70, np.where(rng.random(n) < 0.965, "widowed", "married"), marital)
    original = pd.DataFrame({"age": age, "marital": marital})
    released = original.copy()
    hidden = ((age < 16) & (np.arange(n) % 10 == 0)) | ((age >= 70) & (marital == "married"))
    released["marital"] = released["marital"].mask(hidden)
    (found,) = mw.attack(released, original, ["dependency"])
    children = int((hidden & (age < 16)).sum())
    assert found.claims == int(hidden.sum())
    assert found.right == found.certain == children
    assert found.decision == "certain"


@pytest.mark.parametrize(("arguments", "code", "said"), [
    (["--attack", "dependancy"], 2, "did you mean 'dependency'"),
    (["--certainty", "1"], 2, "certainty is a share above 0.5 and below 1"),
    (["--key", "nothing"], 2, "nothing"),
])  # fmt: skip
def test_what_cannot_be_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, said: str
) -> None:
    original = survey()
    original.to_csv(tmp_path / "o.csv", index=False)
    emptied(original, "sex", 9).to_csv(tmp_path / "m.csv", index=False)
    assert main(["attack", str(tmp_path / "m.csv"), "--original", str(tmp_path / "o.csv"), *arguments]) == code
    assert said in "".join(capsys.readouterr())


def test_files_of_different_length_need_a_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    original = survey()
    original.to_csv(tmp_path / "o.csv", index=False)
    emptied(original, "region", 10).iloc[::-1][:500].to_csv(tmp_path / "m.csv", index=False)
    files = ["attack", str(tmp_path / "m.csv"), "--original", str(tmp_path / "o.csv"), "--attack", "dependency"]
    assert main(files) == 2
    assert "--key NAME" in "".join(capsys.readouterr())
    assert main([*files, "--key", "id", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["attacks"]
    assert (found["variable"], found["hidden"], found["right"], found["decision"]) == ("region", 50, 50, "certain")


def test_an_attack_that_breaks_its_contract_is_named(tmp_path: Path) -> None:
    def infer(published: mw.Published, params: mw.NoParams) -> list[mw.Inference]:
        return [mw.Inference("sex", "nothing", np.zeros(3))]

    original = survey()[["town", "sex"]]
    with pytest.raises(mw.PluginFailed, match="float64 of shape"):
        mw.attack(emptied(original, "sex", 9), original, [mw.Attack(name="short", infer=infer)])
