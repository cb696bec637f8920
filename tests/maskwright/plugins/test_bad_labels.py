"""A file whose labels or missing codes are not those that were meant is not released, and its source is named."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import pandas as pd
import pytest

from maskwright.data.codebooks import files
from maskwright.plugins.registered import Offer
from maskwright.plugins.registry import plugins

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from maskwright.testing import RunPipeline

pyreadstat = pytest.importorskip("pyreadstat")
pytest_plugins = ["maskwright.testing.fixtures"]

PEOPLE = pd.DataFrame(
    {
        "age": [20.0 + row * 17 % 40 for row in range(40)],
        "sex": [1.0 + row % 2 for row in range(40)],
        "income": [100.0 * (row * row % 41) if row % 7 else -9.0 for row in range(40)],
    }
)
FACTS: dict[str, Any] = {
    "column_labels": {"age": "Age in years", "sex": "Sex", "income": "Income"},
    "variable_value_labels": {"sex": {1.0: "man", 2.0: "woman"}, "income": {-9.0: "refused"}},
    "missing_ranges": {"income": [-9.0]},
    "variable_measure": {"age": "scale", "sex": "nominal", "income": "scale"},
}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("people") / "in.sav"
    pyreadstat.write_sav(PEOPLE, str(path), **FACTS)
    return path.read_bytes()


def another(changed: dict[str, Any]) -> Callable[..., None]:
    """Writer of SPSS files that says something else of the variables."""
    write = plugins().sources["spss"].write

    def written(path: Path, batches: Any, variables: Any, layout: Any) -> None:
        write(path, batches, variables, layout)
        frame, _ = pyreadstat.read_sav(str(path), user_missing=True)
        pyreadstat.write_sav(frame, str(path), **{**FACTS, **changed})

    return written


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"column_labels": {**FACTS["column_labels"], "age": "Income"}}, "label of column age"),
        ({"column_labels": None}, "label of column age, label of column sex, label of column income"),
        ({"variable_value_labels": {**FACTS["variable_value_labels"], "sex": {1.0: "woman", 2.0: "man"}}},
         "labels of codes of column sex"),
        ({"variable_value_labels": {**FACTS["variable_value_labels"], "sex": {1.0: "man"}}},
         "labels of codes of column sex"),
        ({"variable_value_labels": {"sex": FACTS["variable_value_labels"]["sex"]}}, "labels of codes of column income"),
        ({"missing_ranges": None}, "missing codes of column income"),
    ],
)  # fmt: skip
def test_a_file_that_says_otherwise_is_not_released(
    changed: dict[str, Any], said: str, people: bytes, run_pipeline: RunPipeline
) -> None:
    pipeline = {
        "data": {"source": "in.sav", "variables": {"sex": {"role": "other"}}},
        "protect": [{"method": "microaggregation", "variables": ["age", "income"], "params": {"k": 3}}],
        "output": {"data": "out.sav"},
    }
    assert run_pipeline(pipeline, files={"in.sav": people}).exit_code == 0
    registry = plugins()
    bad = replace(registry.sources["spss"], write=another(changed))
    with (
        mock.patch.dict(registry.sources.offers, {"spss": Offer("source", bad, "maskwright", "0.1")}),
        mock.patch("maskwright.testing.pipeline_runs.registry.plugins.cache_clear"),
    ):
        ran = run_pipeline(pipeline, files={"in.sav": people})
    assert ran.exit_code == 3, ran.messages
    messages = " ".join(ran.messages.split())
    assert "source 'spss' of package maskwright" in messages
    assert f"does not give back what it was given to write: the file says otherwise: {said}" in messages
    assert not any(text in messages for text in ("woman", "Age in years", "refused"))
    assert ran.files == ()


@pytest.mark.parametrize(("lost", "said"), [("column_labels", "label of"), ("variable_value_labels", "labels of")])
def test_labels_in_another_format_are_those_of_the_variables(lost: str, said: str, run_pipeline: RunPipeline) -> None:
    variables = {
        "age": {"label": "Age in years"},
        "sex": {"role": "other", "type": "nominal", "label": "Sex", "labels": {"1": "man", "2": "woman"}},
        "income": {"label": "Income", "missing": {"-9": "refused"}},
    }
    pipeline = {
        "data": {"source": "in.csv", "variables": variables},
        "protect": [{"method": "microaggregation", "variables": ["age", "income"], "params": {"k": 3}}],
        "output": {"data": "out.sav"},
    }
    text = PEOPLE.astype(int).to_csv(index=False)
    assert run_pipeline(pipeline, files={"in.csv": text}).exit_code == 0
    registry = plugins()
    bad = replace(registry.sources["spss"], write=another({lost: None}))
    with (
        mock.patch.dict(registry.sources.offers, {"spss": Offer("source", bad, "maskwright", "0.1")}),
        mock.patch("maskwright.testing.pipeline_runs.registry.plugins.cache_clear"),
    ):
        ran = run_pipeline(pipeline, files={"in.csv": text})
    assert ran.exit_code == 3, ran.messages
    assert said in " ".join(ran.messages.split())
    assert ran.files == ()


@pytest.mark.parametrize("file", ["about.csv", "about.xml"])
def test_a_codebook_that_says_otherwise_is_not_released(
    file: str, people: bytes, run_pipeline: RunPipeline, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipeline = {
        "data": {"source": "in.sav", "variables": {"sex": {"role": "other"}}},
        "protect": [{"method": "microaggregation", "variables": ["age", "income"], "params": {"k": 3}}],
        "output": {"data": "out.sav", "codebook": file},
    }
    assert run_pipeline(pipeline, files={"in.sav": people}).exit_code == 0
    codes_of = files.codes_of
    monkeypatch.setattr(files, "codes_of", lambda declared: list(codes_of(declared))[:-1])
    ran = run_pipeline(pipeline, files={"in.sav": people})
    assert ran.exit_code == 3, ran.messages
    assert f"the codebook {file} does not say what it was meant to say: codes of column sex" in ran.messages
    assert ran.files == ()
