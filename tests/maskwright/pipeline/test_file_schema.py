"""The JSON Schema agrees with the reader."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path

import jsonschema
import pytest

from maskwright.foundation.yaml_document import load_yaml
from maskwright.pipeline.file_schema import pipeline_schema
from maskwright.plugins import registry

COMMITTED = Path(__file__).parents[3] / "schemas" / "pipeline.schema.json"

# Mistakes that a schema can see without reading other files or comparing places.
SEEN = [
    ("maskwright: 1", "maskwright: 2"),
    ("measure:", "mesure:"),
    ("source: census16.xml", "source: 5"),
    ("  record: Record", "  recrd: Record"),
    ("role: weight", "role: wieght"),
    ("role: weight", "rolle: weight"),
    ("schematron: census16.sch", "schematrn: census16.sch"),
    ("severity: error", "severity: eror"),
    ("on_input_violation: mask", "on_input_violation: msk"),
    ("method: microaggregation", "method: microagregation"),
    ("k: 5", "k: 1"),
    ("k: 5", "k: '5'"),
    ("k: 5, ", ""),
    ("params: {k: 5, partition: mdav, group_size: 3}", "variables: [V3]"),
    ("k: 5", "k: 5, kk: 6"),
    ("k: 5", "k: 5, tuning: {round: 2}"),
    ("k: 5", "k: 5, tuning: {rounds: 0}"),
    ("k: 5", "k: 5, cutoffs: [1, x]"),
    ("partition: mdav", "partition: mdva"),
    ("partition: mdav", "partition: {refine: {passes: 0}}"),
    ("partition: mdav", "partition: {refine: {}, mdav: {}}"),
    ("group_size: 3", "group_size: some"),
    ("group_size: 3", "group_size: 0"),
    ("  - pil", "  - pill"),
    ("known: 7", "knwn: 7"),
    ("known: 7", "known: 0"),
    ("as: linkage7", "as: 7"),
    ("thresholds: {pil: 50}", "thresholds: {pil: low}"),
    ("data: masked.xml", "dta: masked.xml"),
    ("seed: 42", "seed: -1"),
    ("workers: 2", "worker: 2"),
]


def test_a_right_file_is_valid(folder) -> None:
    schema = pipeline_schema(third_party=True)
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    assert list(validator.iter_errors(load_yaml(folder.pipeline().read_text(), "p").to_python())) == []


@pytest.fixture(scope="module")
def validator() -> jsonschema.Draft202012Validator:
    return jsonschema.Draft202012Validator(pipeline_schema(third_party=True))


@pytest.mark.parametrize(("old", "new"), SEEN, ids=[new for _, new in SEEN])
def test_a_wrong_file_is_not(folder, validator: jsonschema.Draft202012Validator, old: str, new: str) -> None:
    file = folder.changed(old, new)
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(load_yaml(file.read_text(), "p").to_python())


def test_every_setting_has_a_description() -> None:
    schema = pipeline_schema(third_party=True)
    for name, part in schema["properties"].items():
        assert part.get("description") or "$ref" in part or "anyOf" in part, name
    assert schema["properties"]["data"]["properties"]["record"]


def test_third_party_plugins_are_left_out_unless_asked_for() -> None:
    assert "microaggregation" in json.dumps(pipeline_schema(third_party=True))
    assert "microaggregation" not in json.dumps(pipeline_schema())


def test_the_committed_schema_is_fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "entry_points", entry_points)
    registry.plugins.cache_clear()
    command = "maskwright schema > schemas/pipeline.schema.json"
    assert json.loads(COMMITTED.read_text()) == pipeline_schema(), f"the schema has changed; run: {command}"
