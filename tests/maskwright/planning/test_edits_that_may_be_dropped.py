"""What a plan says of edits on categories that are made of the data, where steps let them be dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest
import yaml

import maskwright as mw
from maskwright.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from maskwright.testing import RunPipeline

pytest_plugins = ["maskwright.testing.fixtures"]


def test_the_plan_says_that_the_edit_may_be_dropped_and_the_run_that_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = np.random.default_rng(3)
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, 200), unit="D")
    left = days + pd.to_timedelta(rng.integers(0, 40, 200), unit="D")
    dates = {"came": days.strftime("%Y-%m-%d"), "left": left.strftime("%Y-%m-%d")}
    pd.DataFrame({**dates, "cost": rng.integers(10, 99, 200)}).to_csv(tmp_path / "in.csv", index=False)
    roles = {name: {"type": "date", "role": "quasi_identifier"} for name in dates}
    settings = {
        "maskwright": 1,
        "data": {"source": "in.csv", "variables": roles},
        "edits": ["left >= came"],
        "protect": [
            {"method": "microaggregation", "variables": ["cost"], "params": {"k": 3}},
            {
                "method": "recoding",
                "params": {"recode": dict.fromkeys(dates, "quarter"), "release_edits": {"drop": ["came"]}},
            },
        ],
        "output": {"data": "out.csv"},
        "seed": 1,
    }
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    assert main(["plan", str(tmp_path / "p.yaml")]) == 0
    said = " ".join(" ".join(capsys.readouterr()).split())
    dropped = {each["name"] for each in mw.run(tmp_path / "p.yaml").record["dropped_edits"]}
    assert dropped == {"edit-1"}
    assert "known when they are made, it is dropped, as release_edits allows" in said


PERSONS = """maskwright: 1
data: {source: in.csv, variables: {age: {role: quasi_identifier}, birth_year: {role: quasi_identifier}}}
edits: [EDIT]
protect:
  - {method: rounding, variables: [wage], params: {base: 10}}
  - {method: recoding, variables: [age, birth_year], params: {bands: 5}}
output: {data: out.csv}
seed: 1
"""


def persons(folder: Path) -> Path:
    """A file of persons whose age and year of birth give each other."""
    age = [18 + each * 7 % 60 for each in range(300)]
    wage = [100 + each * 37 % 211 * 7 for each in range(300)]
    frame = pd.DataFrame({"age": age, "birth_year": [2024 - each for each in age], "wage": wage})
    frame.assign(tax=frame["wage"] // 3, net=frame["wage"] - frame["wage"] // 3).to_csv(folder / "in.csv", index=False)
    return folder / "in.csv"


def test_a_plan_refuses_what_the_run_would_refuse_of_categories_made_of_the_data(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = persons(tmp_path)
    pd.read_csv(data)[["age", "birth_year", "wage"]].to_csv(data, index=False)
    path = tmp_path / "p.yaml"
    path.write_text(PERSONS.replace("EDIT", "age + birth_year == 2024"), encoding="utf-8")
    said = []
    for command in ("plan", "run"):
        assert main([command, str(path)]) == 2
        said.append(" ".join(capsys.readouterr().err.split()))
    assert all("edit 'edit-1' cannot be said of them with the same meaning" in each for each in said)
    path.write_text(PERSONS.replace("EDIT", "age >= 0"), encoding="utf-8")
    assert [main([command, str(path)]) for command in ("plan", "run")] == [0, 0]


UNTRANSLATABLE = "edit 'edit-1' cannot be said of them with the same meaning"
OVER_PARTS = {"engine": "local", "block_size": 100}


@pytest.mark.parametrize("form", ["parts", "levels"])
def test_a_plan_of_parts_or_of_levels_refuses_it_too(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frame = pd.read_csv(persons(tmp_path))[["age", "birth_year", "wage"]]
    path, settings = tmp_path / "p.yaml", yaml.safe_load(PERSONS)
    if form == "parts":
        (tmp_path / "in").mkdir()
        for part in range(3):
            frame[part * 100 : part * 100 + 100].to_csv(tmp_path / "in" / f"part-{part}.csv", index=False)
        settings |= {"execution": OVER_PARTS, "output": {"data": "out/"}}
        settings["data"]["source"] = "in/"
    else:
        homes = frame.index // 2
        frame.assign(home=homes, line=frame.index, rooms=homes % 5).to_csv(tmp_path / "in.csv", index=False)
        levels = {"home": {"key": "home", "variables": ["rooms"]}, "person": {"key": "line", "in": "home"}}
        settings["data"] |= {"levels": levels, "undeclared": "other"}
    said = {}
    for edit in ("age + birth_year == 2024", "age >= 0"):
        path.write_text(yaml.safe_dump(settings | {"edits": [edit]}), encoding="utf-8")
        said[edit] = main(["plan", str(path)]), " ".join(capsys.readouterr().err.split())
    assert said["age + birth_year == 2024"][0] == 2
    assert UNTRANSLATABLE in said["age + birth_year == 2024"][1]
    assert said["age >= 0"][0] == 0


def raises(block: mw.Block, *_: object) -> mw.Masked:
    raise KeyError(block.names[0])


def returns_too_little(block: mw.Block, *_: object) -> mw.Masked:
    return mw.Masked(values=block.values[:1], missing=block.missing[:1])


@pytest.mark.parametrize(
    ("protect", "said"),
    [(raises, "failed in step 2: KeyError at test_edits"), (returns_too_little, "in step 2 returned values of shape")],
)
def test_a_plugin_that_fails_where_the_plan_needs_its_categories_is_named_with_its_step(
    protect: Callable[..., mw.Masked], said: str, run_pipeline: RunPipeline, tmp_path: Path
) -> None:
    claims = mw.Claims(
        cut="none", within_strata=False, removes={"detail"}, deterministic=True, preserves={"equals"}
    )  # fmt: skip
    spoiler = mw.Method(name="spoiler", protect=protect, params=mw.NoParams, scope="variable", claims=claims)
    persons(tmp_path)
    settings = yaml.safe_load(PERSONS.replace("EDIT", "age + birth_year == 2024"))
    settings["protect"][1] = {"method": "spoiler", "variables": ["age", "birth_year"]}
    files = {"in.csv": (tmp_path / "in.csv").read_text(encoding="utf-8")}
    ran = run_pipeline(settings, plugins=[spoiler], files=files)
    assert ran.exit_code == 3
    assert f"method 'spoiler' of package not-installed 0 {said}" in str(ran.error)


def test_a_plan_without_data_says_that_the_run_may_stop(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    persons(tmp_path)
    path = tmp_path / "p.yaml"
    path.write_text(PERSONS.replace("EDIT", "age + birth_year == 2024"), encoding="utf-8")
    assert main(["plan", str(path), "--no-data"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "where it cannot be, which is known when they are made, the run stops" in said


def test_init_writes_no_edit_that_bands_cannot_keep_and_keeps_the_others(tmp_path: Path) -> None:
    data, path = persons(tmp_path), tmp_path / "p.yaml"
    assert main(["init", str(data), "--to", str(path)]) == 0
    written = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert written["edits"]
    assert not any("birth_year" in edit for edit in written["edits"])
    assert "# - age + birth_year == 2024" in path.read_text(encoding="utf-8")
    assert main(["plan", str(path)]) == 0
