"""Reading experiment files: cells, spans, and every mistake with its place."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
from referencing import Registry, Resource

import maskwright as mw
from maskwright.cli.main import main
from maskwright.experiments.experiment import read_experiment
from maskwright.experiments.experiment_file import Span, experiment_schema
from maskwright.foundation.yaml_document import load_yaml

SCHEMAS = Path(__file__).parents[3] / "schemas"


@pytest.mark.parametrize(
    ("start", "stop", "step", "values"),
    [
        (3, 6, 1, [3, 4, 5, 6]),
        (0.1, 0.3, 0.1, [0.1, 0.2, 0.3]),
        (10, 95, 30, [10, 40, 70]),
        (1, 2, 0.5, [1, 1.5, 2]),
        (5, 4, 1, []),
    ],
)
def test_a_span_is_decimal_and_includes_its_end(start: float, stop: float, step: float, values: list[float]) -> None:
    span = Span.model_validate({"from": start, "to": stop, "step": step})
    assert list(span.values()) == values


def test_cells_are_all_combinations(study) -> None:
    path = study.experiment(("{k: {from: 1, to: 4}}", "{k: [3, 4], partition: [mdav, {refine: {effort: fast}}]}"))
    cells = read_experiment(path).cells()
    assert [cell.name for cell in cells[::2][:2]] == ["together k=3 partition=mdav", "together k=4 partition=mdav"]
    assert all(cell.name.startswith("together k=") and '{"refine":{' in cell.name for cell in cells[1:4:2])
    assert [cell.repeats for cell in cells] == [1, 1, 1, 1, 2, 2]


def test_a_path_varies_any_step(study) -> None:
    steps = (
        "protect:\n      - {method: microaggregation, params: {k: 3}}\n"
        "      - {method: individual_ranking, variables: [age]}"
    )
    path = study.experiment(
        ("method: microaggregation\n    params: {partition: mdav}", steps),
        ("{k: {from: 1, to: 4}}", "{1.params.k: [1, 2], 0.groups: [[[wage, rent, income], [age]]]}"),
    )
    first, second = read_experiment(path).cells()[:2]
    assert [step.method.name for step in first.active.steps] == ["microaggregation"]
    assert [step.method.name for step in second.active.steps] == ["microaggregation", "individual_ranking"]
    assert second.active.steps[0].groups == (("wage", "rent", "income"), ("age",))


MISTAKES = [
    (("method: microaggregation", "method: microagregation"), "did you mean 'microaggregation'?"),
    (("measure: [pil,", "measure: [pill,"), "did you mean 'pil'?"),
    (("loss: pil", "loss: pli"), "no measure in this experiment called 'pli'; did you mean 'pil'?"),
    (("vary: {k: [5, 10]}", "vary: {kk: [5, 10]}"), "no parameter of fuzzy_microaggregation called 'kk'"),
    (("from: 1, to: 4", "from: 0, to: 4"), "expected a number >= 2, not 0"),
    (("from: 1, to: 4", "frm: 1, to: 4"), "from"),
    (("from: 1, to: 4", "from: 1, to: 4, step: 0"), "expected a number > 0, not 0"),
    (("repeats: 2", "repeats: 0"), "expected a number >= 1, not 0"),
    (("source: survey.csv", "source: survy.csv"), "survy.csv"),
    (("wage + rent == income", "wage + rent =="), "edits"),
    (("seed: 7", "sed: 7"), "did you mean 'seed'?"),
    (("family: fuzzy", "family: together"), "two cells are called"),
    (("    method: fuzzy_microaggregation\n", ""), "needs `method`"),
    (("    repeats: 2", "    edits: [non]"), "no edit set called 'non'"),
    (("seed: 7", "score: mg"), "no measure in this experiment called 'mg'"),
    (("seed: 7", "tune: {thresholds: {risk: 5}}"), "no measure in this experiment called 'risk'"),
    (("from: 1, to: 4", "from: 1, to: 1000000"), "values"),
]


@pytest.mark.parametrize(("change", "said"), MISTAKES, ids=[change[1].strip() for change, _ in MISTAKES])
def test_mistakes_are_told_with_their_place(study, change: tuple[str, str], said: str, capsys) -> None:
    changes = [change]
    if change[1] == "family: together":
        changes.append(("vary: {k: [5, 10]}", "vary: {k: [3]}"))
    assert main(["compare", str(study.experiment(*changes)), "--workers", "1"]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert "experiment.yaml:" in error
    assert not (study.folder / "results").exists()


def test_a_grid_of_zero_cells_is_refused(study) -> None:
    path = study.experiment(("{k: {from: 1, to: 4}}", "{k: []}"), ("{k: [5, 10]}", "{k: {from: 5, to: 4}}"))
    with pytest.raises(mw.PipelineError, match="the grid has no cells"):
        read_experiment(path).cells()


def test_several_mistakes_are_told_at_once_and_each_once(study) -> None:
    path = study.experiment(("partition: mdav", "partition: mdva"), ("vary: {k: [5, 10]}", "vary: {m1: [0, 10]}"))
    with pytest.raises(mw.PipelineError) as caught:
        read_experiment(path).cells()
    assert len(caught.value.problems) == 2


def test_a_misspelt_measure_hides_no_other_mistake_and_makes_none(study) -> None:
    path = study.experiment(("measure: [pil,", "measure: [pill,"), ("method: fuzzy_micro", "method: fuzy_micro"))
    with pytest.raises(mw.PipelineError) as caught:
        read_experiment(path)
    assert ["fuzy_micro" in str(each) for each in caught.value.problems] == [True, False]
    assert "did you mean 'pil'" in str(caught.value.problems[1])


def test_the_part_of_a_measure_that_does_not_exist_is_told_with_the_nearest(study, capsys) -> None:
    path = study.experiment(("loss: pil", "loss: pil.meens"))
    assert main(["compare", str(path), "--workers", "1"]) == 2
    assert "did you mean 'pil.means'?" in capsys.readouterr().err


def test_no_file_no_mapping_no_yaml(tmp_path: Path, capsys) -> None:
    assert main(["compare", str(tmp_path / "none.yaml")]) == 2
    assert "there is no such experiment file" in capsys.readouterr().err
    (tmp_path / "list.yaml").write_text("- 1\n")
    assert main(["compare", str(tmp_path / "list.yaml")]) == 2
    assert "expected keys" in capsys.readouterr().err
    (tmp_path / "data.csv").write_text("secret\n")
    assert main(["compare", str(tmp_path / "data.csv")]) == 2
    assert "secret" not in capsys.readouterr().err
    assert main(["compare", str(tmp_path / "list.yaml"), "--workers", "0"]) == 2


def test_the_committed_schema_is_fresh(capsys) -> None:
    assert main(["schema", "experiment"]) == 0
    committed = (SCHEMAS / "experiment.schema.json").read_text()
    assert committed == capsys.readouterr().out, (
        "out of date: maskwright schema experiment > schemas/experiment.schema.json"
    )


def validator() -> jsonschema.Draft202012Validator:
    pipeline = json.loads((SCHEMAS / "pipeline.schema.json").read_text())
    registry = Registry().with_resource("pipeline.schema.json", Resource.from_contents(pipeline))
    return jsonschema.Draft202012Validator(experiment_schema(), registry=registry)


def test_the_schema_takes_a_right_file_and_refuses_wrong_ones(study) -> None:
    checks = validator()
    checks.check_schema(experiment_schema())
    checks.validate(load_yaml(study.text, "e").to_python())
    for old, new in (
        ("method: micro", "method: mikro"),
        ("seed: 7", "sed: 7"),
        ("[pil,", "[pill,"),
        ("to: 4", "too: 4"),
    ):
        wrong = load_yaml(study.text.replace(old, new), "e").to_python()
        assert not checks.is_valid(wrong), new
