"""Which sets of variables single people out: counted plainly, told on the terminal, read from files and pipelines."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.experiments.advice import key_advice
from maskwright.experiments.advice.key_advice import advise_keys
from maskwright.foundation.errors import InputError
from maskwright.foundation.progress import Quiet

if TYPE_CHECKING:
    from pathlib import Path

KEYS = ["region", "sex", "age", "job"]


def survey(n: int = 150, seed: int = 5) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "person": [f"p{number}" for number in range(n)],
            "region": generator.choice(["north", "south", "west"], n, p=[0.6, 0.3, 0.1]),
            "sex": generator.choice(["m", "f"], n),
            "age": generator.integers(1, 12, n),
            "job": generator.choice(list("abcdefg"), n, p=[0.5, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02]),
            "income": np.round(generator.lognormal(7, 1, n), 2),
        }
    )


def read(tmp_path: Path, frame: pd.DataFrame) -> mw.Dataset:
    frame.to_csv(tmp_path / "survey.csv", index=False)
    return mw.read(tmp_path / "survey.csv", variables={"person": {"role": "identifier"}})


def test_sets_and_what_is_left_are_counted_as_by_hand(tmp_path: Path) -> None:
    frame = survey()
    advice = advise_keys(read(tmp_path, frame), keys=KEYS, reporter=Quiet())
    alone = {
        keys: ~frame.duplicated(list(keys), keep=False)
        for size in (1, 2, 3)
        for keys in itertools.combinations(KEYS, size)
    }
    minimal = {
        keys: unique & ~np.any([alone[part] for part in alone if set(part) < set(keys)] or [unique & False], axis=0)
        for keys, unique in alone.items()
    }
    assert {each.keys: (each.unique, each.singled_out) for each in advice.sets} == {
        keys: (int(alone[keys].sum()), int(found.sum())) for keys, found in minimal.items() if found.any()
    }
    assert advice.singled_out == int(np.any(list(alone.values()), axis=0).sum())
    assert advice.by_size == tuple(
        sum(int(found.sum()) for keys, found in minimal.items() if len(keys) == size) for size in (1, 2, 3)
    )
    order = [each.singled_out for each in advice.sets]
    assert order == sorted(order, reverse=True)
    left = list(KEYS)
    for step in advice.treat:
        left.remove(step.name)
        others = [unique for keys, unique in alone.items() if set(keys) <= set(left)]
        assert step.left == int(np.any(others, axis=0).sum())
    assert advice.treat[0].name == advice.keys[0].name


def test_keys_are_declared_ones_or_categories_and_small_numbers(tmp_path: Path) -> None:
    data = read(tmp_path, survey())
    advice = advise_keys(data, reporter=Quiet())
    assert {key.name for key in advice.keys} == set(KEYS)
    assert advice.left_out == {"person": "role identifier", "income": "continuous"}
    declared = mw.read(
        tmp_path / "survey.csv", variables={name: {"role": "quasi_identifier"} for name in ("sex", "job")}
    )
    advice = advise_keys(declared, reporter=Quiet())
    assert {key.name for key in advice.keys} == {"sex", "job"}
    assert advice.largest == 2


def test_a_file_without_a_number_is_advised_on(tmp_path: Path) -> None:
    advice = advise_keys(read(tmp_path, survey()[["region", "sex", "job"]].assign(person="x")), reporter=Quiet())
    assert len(advice.keys) == 3


def test_many_variables_are_searched_less_far_unless_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = read(tmp_path, survey())
    monkeypatch.setattr(key_advice, "MOST_SETS", 12)
    advice = advise_keys(data, reporter=Quiet())
    assert advice.largest == 2
    assert "--largest 3" in advice.notes[0]
    assert advise_keys(data, largest=4, reporter=Quiet()).largest == 4


def test_an_identifier_among_the_keys_is_told(tmp_path: Path) -> None:
    data = read(tmp_path, survey())
    (note,) = advise_keys(data, keys=["person", "sex"], reporter=Quiet()).notes
    assert note.startswith("a different value in every record: person;")


@pytest.mark.parametrize("given", [{"keys": ["regin"]}, {"exclude": ["regin"]}])
def test_unknown_names_are_refused_with_the_nearest(tmp_path: Path, given: dict[str, list[str]]) -> None:
    with pytest.raises(InputError, match="did you mean 'region'"):
        advise_keys(read(tmp_path, survey()), **given, reporter=Quiet())


def test_nothing_to_look_at(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no key variables"):
        advise_keys(read(tmp_path, survey()[["person", "income"]]), reporter=Quiet())


def test_the_command_tells_sets_and_no_value_of_a_record(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path, survey())
    data = str(tmp_path / "survey.csv")
    assert main(["advise", "keys", data, "--keys", "region,sex", "--keys", "age", "--largest", "3"]) == 0
    said = capsys.readouterr().out
    assert "region + sex + age" in said
    assert "To treat first: region" in said
    assert not any(value in said for value in ("north", "south", "west"))
    assert main(["advise", "keys", data, "--exclude", "person", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["records"] == 150
    assert {key["name"] for key in found["keys"]} == set(KEYS)
    assert main(["advise", "keys", data, "--largest", "0"]) == 2
    assert main(["advise", "keys", data, "--keys", "income", "--largest", "2"]) == 0


def test_a_pipeline_says_which_variables_are_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    read(tmp_path, survey())
    (tmp_path / "pipeline.yaml").write_text(
        "maskwright: 1\n"
        "data:\n"
        "  source: survey.csv\n"
        "  variables:\n"
        "    person: {role: identifier}\n"
        "    region: {role: quasi_identifier}\n"
        "    age: {role: quasi_identifier}\n"
        "protect:\n"
        "  - method: additive_noise\n"
        "    variables: [income]\n"
        "output: {data: masked.csv}\n"
    )
    assert main(["advise", "keys", str(tmp_path / "pipeline.yaml"), "--json"]) == 0
    assert {key["name"] for key in json.loads(capsys.readouterr().out)["keys"]} == {"region", "age"}
