"""A whole pipeline with plugins that are not installed: result, record, files, exit code and messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd
import pytest

from maskwright import InputError, Masked, Method, NoParams, Report
from maskwright.plugins.registry import find_method
from maskwright.testing import offered

if TYPE_CHECKING:
    from maskwright.testing import RunPipeline

pytest_plugins = ["maskwright.testing.fixtures"]

PEOPLE = pd.DataFrame(
    {
        "age": [20 + place * 17 % 40 for place in range(40)],
        "income": [float(1000 + 10 * (place * place % 41)) for place in range(40)],
    }
)
STEP = {"method": "mirrored", "params": {}}


def mirror(block, params, rng):
    return Masked(block.values.max(axis=0) + block.values.min(axis=0) - block.values, block.missing)


def refuse(block, params, rng):
    raise InputError("these records cannot be mirrored")


def fail(block, params, rng):
    raise KeyError("gone")


def method(function) -> Method:
    return Method(name="mirrored", protect=function, params=NoParams, summary="Mirrored.", reference="none")


def write_count(path, record):
    path.write_text(f"{record['records']} records", encoding="utf-8")


COUNT = Report(name="count", write=write_count, suffixes=(".txt",), summary="The number of records.")


def test_a_run_with_plugins_that_are_not_installed(run_pipeline: RunPipeline) -> None:
    ran = run_pipeline(
        {
            "data": {"source": "people.csv"},
            "protect": [STEP],
            "output": {"data": "masked.csv", "count": "count.txt", "record": "run.json"},
        },
        plugins=[method(mirror), COUNT],
        files={"people.csv": PEOPLE},
    )
    assert ran.exit_code == 0, ran.messages
    assert ran.files == ("count.txt", "masked.csv", "run.json")
    assert ran.text("count.txt") == "40 records"
    assert ran.result is not None
    assert ran.record is not None
    assert ran.record["plugins"]["method mirrored"]["distribution"] == "not-installed"
    assert pd.read_csv(ran.folder / "masked.csv")["age"].tolist() == (79 - PEOPLE["age"]).tolist()
    with pytest.raises(InputError, match="no method called 'mirrored'"):
        find_method("mirrored")


def test_every_exit_code(run_pipeline: RunPipeline) -> None:
    pipeline = {"data": {"source": "people.csv"}, "protect": [STEP], "measure": ["sse"]}
    files = {"people.csv": PEOPLE}
    missed = run_pipeline({**pipeline, "thresholds": {"sse": 0}}, plugins=[method(mirror)], files=files)
    assert (missed.exit_code, missed.files, missed.result) == (1, (), None)
    assert missed.record is not None
    assert missed.record["ok"] is False
    refused = run_pipeline(pipeline, plugins=[method(refuse)], files=files)
    assert (refused.exit_code, refused.files) == (2, ())
    assert "these records cannot be mirrored" in refused.messages
    assert isinstance(refused.error, InputError)
    failed = run_pipeline(pipeline, plugins=[method(fail)], files=files)
    assert (failed.exit_code, failed.files) == (3, ())
    assert "KeyError" in failed.messages
    unknown = run_pipeline(pipeline, files=files)
    assert unknown.exit_code == 2
    assert "no method called 'mirrored'" in unknown.messages


def test_text_and_overrides(run_pipeline: RunPipeline) -> None:
    text = "maskwright: 1\ndata: {source: p.csv}\nprotect: [{method: mirrored}]\noutput: {data: masked.csv}\n"
    ran = run_pipeline(
        text, plugins=[method(mirror)], files={"p.csv": "age\n1\n2\n3\n4\n"}, overrides={"output.data": "other.csv"}
    )
    assert (ran.exit_code, ran.files) == (0, ("other.csv",)), ran.messages
    assert ran.text("other.csv").split() == ["age", "4", "3", "2", "1"]


def test_a_method_is_offered_to_calls_too() -> None:
    with offered([method(mirror)]):
        assert find_method("mirrored").summary == "Mirrored."
