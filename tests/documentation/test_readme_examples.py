"""Every example of the README runs as it stands, on small files: commands, pipelines, experiments, Python.

The tour of the demo is walked in `test_readme.py`. Only numbers that say how much is computed are made smaller.
"""

from __future__ import annotations

import re
import runpy
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import maskwright as mw
from maskwright.cli.main import main
from maskwright.commands.demo.levels import write_levels_demo

if TYPE_CHECKING:
    from collections.abc import Sequence

TESTS = Path(__file__).parents[1]
README = (TESTS.parent / "README.md").read_text(encoding="utf-8")
BLOCKS = [
    (language, re.sub(rf"^{indent}", "", body, flags=re.MULTILINE))
    for indent, language, body in re.findall(r"^( *)```(\w+)\n(.*?)^ *```$", README, re.MULTILINE | re.DOTALL)
]
RECORDS = 150
SMALLER = {"to: 20": "to: 5", "repeats: 10": "repeats: 2", "trials: 50": "trials: 4"}
"""Sizes of the experiment: k from 1 to 5 is enough for what the text says of k = 5."""

ALONE = ("--workers", "1")


def shown(language: str, *holding: str) -> str:
    """The one block of a language that holds these texts."""
    (found,) = [text for kind, text in BLOCKS if kind == language and all(part in text for part in holding)]
    return found


def commands(*names: str) -> list[list[str]]:
    """Words of the command lines shown, in blocks or in the text, of these commands; the tour is walked elsewhere."""
    lines = [line for kind, text in BLOCKS if kind == "console" for line in text.splitlines()]
    lines += re.findall(r"`(maskwright [^`]*)`", re.sub(r"\n\s*", " ", README))
    found = [shlex.split(line) for line in dict.fromkeys(lines) if "maskwright-demo" not in line]
    return [words[1:] for words in found if words[0] == "maskwright" and len(words) > 2 and words[1] in names]


def run(lines: Sequence[Sequence[str]], allowed: tuple[int, ...] = (0,)) -> None:
    assert lines
    for words in lines:
        assert main(list(words)) in allowed, " ".join(words)


@pytest.fixture
def census(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the census file, its rules, and the pipeline that is shown."""
    lines = (TESTS / "reference" / "census16.xml").read_text(encoding="utf-8").splitlines()
    few = [*lines[: RECORDS + 2], lines[-1]]
    (tmp_path / "census.xml").write_text("\n".join(few), encoding="utf-8")
    (tmp_path / "census.sch").write_bytes((TESTS / "reference" / "census16.sch").read_bytes())
    (tmp_path / "pipeline.yaml").write_text(shown("yaml", "protect:", "census.xml"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def survey(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a survey of wages, rent and income, and the experiment that is shown."""
    rng = np.random.default_rng(1)
    wages, rent = rng.integers(100, 5000, 60), rng.integers(0, 2000, 60)
    pd.DataFrame({"wages": wages, "rent": rent, "income": wages + rent}).to_csv(tmp_path / "survey.csv", index=False)
    experiment = shown("yaml", "grid:")
    for size, smaller in SMALLER.items():
        assert size in experiment
        experiment = experiment.replace(size, smaller)
    (tmp_path / "experiment.yaml").write_text(experiment, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.timeout(400)
def test_the_pipeline_and_the_commands_on_the_census(census: Path) -> None:
    run([words for words in commands("edits", "validate") if "census.xml" in words])
    run([words for words in commands("plan", "run") if words[1] == "pipeline.yaml"])
    written = {path.name for path in census.iterdir()}
    assert {"masked.xml", "masked.svrl.xml", "report.html", "run.json"} <= written


@pytest.mark.timeout(400)
def test_the_python_that_is_shown(census: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (census / "shown.py").write_text(shown("python"), encoding="utf-8")
    found = runpy.run_path(str(census / "shown.py"))
    assert capsys.readouterr().out.startswith("True {")
    assert found["result"].ok


def test_the_file_of_edits_and_the_commands_on_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    data = pd.DataFrame({f"V{number}": rng.integers(1, 50, 40) for number in range(3, 15)})
    data = data.assign(
        V8=data.loc[:, "V3":"V7"].sum(axis=1), V14=data["V9"] + data["V10"], age=rng.integers(18, 90, 40)
    )
    data.assign(sex=rng.choice(["M", "F"], 40)).to_csv("survey.csv", index=False)
    Path("rules.yaml").write_text(shown("yaml", "aliases:"), encoding="utf-8")
    run([words for words in commands("edits", "localize") if "survey.csv" in words], (0, 1))
    assert mw.read_edits("rules.yaml")["edit-1"].text == "0 <= costs <= gross, where costs is V9 + V10, gross is V14"


@pytest.mark.timeout(400)
def test_the_pipeline_and_the_command_on_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_levels_demo(tmp_path, 200)
    Path("households.yaml").write_text(shown("yaml", "levels:"), encoding="utf-8")
    run([words for words in commands("validate") if "households.yaml" in words], (1,))
    run([["run", "households.yaml"]])
    assert {"masked.csv", "report.html", "keys.csv"} <= {path.name for path in tmp_path.iterdir()}


@pytest.mark.timeout(400)
@pytest.mark.usefixtures("survey")
def test_the_experiment_is_compared_and_chosen_from() -> None:
    run([[*words, *ALONE] for words in commands("compare") if words[1] == "experiment.yaml"])
    (choice,) = re.findall(r'`(--choose "[^`]*")`', README)
    run([["compare", "experiment.yaml", *shlex.split(choice), *ALONE]])


@pytest.mark.timeout(400)
@pytest.mark.usefixtures("survey")
def test_the_experiment_is_tuned() -> None:
    pytest.importorskip("optuna")
    run([[*words, *ALONE] for words in commands("tune") if words[1] == "experiment.yaml"])


@pytest.mark.timeout(400)
@pytest.mark.usefixtures("survey")
def test_advice_on_the_survey() -> None:
    run([words for words in commands("advise") if "survey.csv" in words])


def test_every_block_of_code_is_run_by_some_test() -> None:
    """A new block needs a test that runs it."""
    assert [kind for kind, _ in BLOCKS].count("yaml") == 4
    assert [kind for kind, _ in BLOCKS].count("python") == 1
    assert {kind for kind, _ in BLOCKS} == {"yaml", "python", "console"}
    lines = [line for kind, text in BLOCKS if kind == "console" for line in text.splitlines()]
    run_here = [" ".join(words) for words in commands("edits", "validate", "localize")]
    others = [
        line for line in lines if " ".join(shlex.split(line)[1:]) not in run_here and "maskwright-demo" not in line
    ]
    assert others == ["pip install . && maskwright demo", "pip install '.[test]' && pytest"]
