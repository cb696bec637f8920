"""Settings put over those of the file."""

from __future__ import annotations

import pytest

from maskwright.foundation.errors import PipelineError
from maskwright.pipeline.reading import resolve_file


def test_texts_and_values_change_the_same_settings(folder) -> None:
    file = folder.pipeline()
    by_text = resolve_file(file, ["protect.0.params.k=7", "seed=null", "thresholds.pil=12.5", "output.data=o.csv"])
    by_value = resolve_file(
        file, {"protect.0.params.k": 7, "seed": None, "thresholds.pil": 12.5, "output.data": "o.csv"}
    )
    for read in (by_text, by_value):
        assert (read.steps[0].params.model_dump()["k"], read.seed, read.thresholds["pil"]) == (7, None, 12.5)
        assert read.output.source.name == "csv"
        assert read.settings["protect"][0]["params"]["k"] == 7
    assert by_text.text == file.read_text()


def test_missing_levels_are_made_and_lists_grow(folder) -> None:
    read = resolve_file(folder.pipeline(), ["protect.1.params.group_size=all", "protect.2.method=noise"])
    assert [step.method.name for step in read.steps] == ["microaggregation", "noise", "noise"]
    assert read.steps[1].planning.group_size == "all"


def test_a_measure_given_by_name_takes_parameters(folder) -> None:
    read = resolve_file(folder.pipeline(), ["measure.0.pil.as=loss", "thresholds={loss: 20}"])
    assert read.measures[0].label == "loss"
    assert read.thresholds == {"loss": 20.0}


def test_later_overrides_win_and_structure_is_yaml(folder) -> None:
    read = resolve_file(
        folder.pipeline(),
        [
            "protect.0.params.k=7",
            "protect.0.params.k=8",
            "protect.1.variables=[V3, V4]",
            'data.variables."a.b"={role: other}',
        ],
    )
    assert read.steps[0].params.model_dump()["k"] == 8
    assert read.steps[1].variables == ("V3", "V4")
    assert read.data.variables["a.b"].role == "other"


def test_a_rule_can_be_appended(folder) -> None:
    assert resolve_file(folder.pipeline(), ["edits.3=V9 + V10 == V14"]).edits[3].rule == "V9 + V10 == V14"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("protect.0.params.k", "expected path=value"),
        ("=5", "expected path=value"),
        ("protect.first.params.k=5", "'protect' is a list: expected a position 0 to 2, not 'first'"),
        ("protect.9.method=noise", "expected a position 0 to 2, not '9'"),
        ("seed.x=5", "'seed' is 42: nothing can be set inside it"),
        ("protect..k=5", "joined by single dots"),
        ("protect.0.params.k=1", "k: expected a number >= 2, not 1"),
        ("protect.0.params.kk=1", "no parameter of microaggregation called 'kk'"),
        ("sead=1", "did you mean 'seed'?"),
        ("seed=1e999", "too large"),
        ("thresholds={pil: [", "a value is missing here"),
        ("measure.0.sse.as=x", "no measure called 'sse'"),
    ],
)
def test_a_wrong_override_is_told_with_its_text(folder, override: str, message: str) -> None:
    with pytest.raises(PipelineError) as caught:
        resolve_file(folder.pipeline(), [override])
    assert any(message in problem.message for problem in caught.value.problems)
    assert str(caught.value.problems[0].place).startswith(f"--set {override}")


def test_a_value_no_file_could_hold_is_refused(folder) -> None:
    with pytest.raises(PipelineError, match="type object cannot be a setting"):
        resolve_file(folder.pipeline(), {"seed": object()})
    with pytest.raises(PipelineError, match="pil: expected"):
        resolve_file(folder.pipeline(), {"thresholds.pil": float("nan")})
    with pytest.raises(PipelineError, match="more than 300 digits"):
        resolve_file(folder.pipeline(), {"thresholds.pil": 10**400})
