"""What of a run may be published is what is marked, and nothing else; the schema says the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import jsonschema
import pytest
from pydantic import ValidationError

from maskwright.release.record.record_parts import RecordPart, publications
from maskwright.release.record.run_record import MethodNotes, RunRecord, run_record_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parents[3]
COMMITTED = TESTS.parent / "schemas" / "run_record.schema.json"

# All that may ever leave. Whoever marks another field says so here too.
PUBLIC = """
maskwright records mode
methods.step methods.variables methods.published
plugins.distribution plugins.version
variables.name variables.type variables.decimals variables.masked variables.done
release.order release.new_keys
steps.method steps.params steps.takes steps.groups.variables steps.groups.operators steps.changes_cells
edits.name edits.kind edits.text edits.severity edits.kept_by edits.violations edits.not_applicable
edits.form edits.stated
doubts.id doubts.doubt doubts.about doubts.subject
dropped_edits.name dropped_edits.text
suppressed.variable suppressed.cells suppressed.complementary suppressed.for_dependencies suppressed.by_attack
k.requested k.expected
k.groups.step k.groups.variables k.groups.requested k.groups.guaranteed k.groups.expected k.groups.smallest
k.groups.below
k.quasi_identifiers.variables k.quasi_identifiers.expected k.quasi_identifiers.smallest k.quasi_identifiers.below
k.records.expected k.records.smallest k.records.below
loss.measure loss.params loss.value loss.unit loss.direction loss.parts
loss.leaves_out not_measured
variables.level edits.level levels.records
k_of_groups.about k_of_groups.records k_of_groups.expected k_of_groups.smallest k_of_groups.below
"""


@pytest.fixture
def plain() -> dict[str, Any]:
    """Record of a run of the example, as run.json has it."""
    return json.loads((TESTS / "golden" / "run_record.json").read_text(encoding="utf-8"))


def parts_in(annotation: object) -> list[type[RecordPart]]:
    """Parts of the record that a type of a field holds."""
    if isinstance(annotation, type) and issubclass(annotation, RecordPart):
        return [annotation]
    return [part for inner in get_args(annotation) for part in parts_in(inner)]


def public_paths(part: type[RecordPart], lead: str = "") -> Iterator[str]:
    """Dotted paths of the public record, found from the marks alone."""
    for name, mark in publications(part):
        path = lead if mark.opened else f"{lead}{mark.name or name}"
        inner = [] if mark.shown else parts_in(part.model_fields[name].annotation)
        for each in inner:
            yield from public_paths(each, path if mark.opened else f"{path}.")
        if not inner:
            yield path


def leaves(content: object) -> Iterator[object]:
    """Every value in plain data, keys too."""
    if isinstance(content, dict):
        for key, value in content.items():
            yield key
            yield from leaves(value)
    elif isinstance(content, list):
        for value in content:
            yield from leaves(value)
    else:
        yield content


def test_what_may_be_published_is_this_and_no_more() -> None:
    """A field is marked or confidential; marking one more changes this list."""
    assert sorted(public_paths(RunRecord)) == sorted(PUBLIC.split())


def test_a_field_that_nobody_marked_does_not_leave(plain: dict[str, Any]) -> None:
    """Neither a new field of the record, nor what a method adds of its own."""

    class Wider(RunRecord):
        new: str

    secret = "nobody thought of this"
    record = Wider.model_validate(plain | {"new": secret, "methods": [{"step": 1, "variables": [], "own": secret}]})
    assert record.to_json()["new"] == record.to_json()["methods"][0]["own"] == secret
    assert secret not in json.dumps(record.public_json())
    assert [name for name, _ in publications(MethodNotes)] == ["step", "variables", "published"]
    assert record.public_json()["methods"] == []


def test_planted_secrets_are_in_no_value_of_the_public_record(plain: dict[str, Any]) -> None:
    """Seed, hashes, file names, risks, contributions of records, counts that only the original gives: by value."""
    hashes = [f"{number:064x}" for number in range(7001, 7003)]
    planted: list[Any] = [918273645, *hashes, "secret-input.xml", "secret-pipeline.yaml", 7.0625, 8.0625, 9.0625, 90817]
    planted += ["secret text", "secret-identifier", "secret note", "secret message", 1818, 271.5, 33.25]
    seed, *_ = planted
    plain["seed"] = seed
    plain["pipeline"] = {"file": "secret-pipeline.yaml", "text": "secret text", "settings": {"seed": seed}}
    plain["inputs"] = [{"role": "data", "file": "secret-input.xml", "sha256": hashes[0], "bytes": 90817}]
    plain["outputs"] = {"data": {"file": "masked.xml", "sha256": hashes[1], "bytes": 90817}}
    plain["variables"].append(
        {
            "name": "secret-identifier",
            "type": "nominal",
            "role": "identifier",
            "decimals": None,
            "altered": False,
            "done": "secret-identifier",
            "masked_by": None,
            "unchanged": 33.25,
        }
    )
    plain["measures"]["linkage7"] |= {"value": 7.0625, "parts": {"secret note": 7.0625}}
    plain["measures"]["score"] |= {"value": 8.0625}
    plain["measures"]["pil"] |= {"per_variable": {"gross": 9.0625}, "notes": ["secret note"], "threshold": 9.0625}
    plain["per_record"] = {"pil": [271.5, None]}
    for edit in plain["edits"]:
        edit |= {"violations_on_arrival": 1818, "unknown": 1818, "message": "secret message", "loss": 9.0625}
    plain["plan"]["steps"][0]["groups"][0]["strata"][0] |= {"label": "secret note", "records": 1818}
    plain["localisation"] = {
        "records": 1818, "violating": 1818, "localised": 1, "unproven": 0, "variables": {"gross": 1818},
        "not_localised": [], "fields": [{"record": 1818, "variables": ["gross"], "proven": True}],
        "adjusted": {"gross": 1818}, "filled": {}, "mended": 1818, "left": 0, "fields_omitted": 0,
    }  # fmt: skip
    plain["methods"] = [{"step": 1, "variables": ["gross"], "note": "secret note", "number": 271.5}]
    plain["notices"] = [
        {
            "kind": "reading", "message": "secret note", "is_caution": False, "variable": "secret-identifier",
            "count": 1818, "total": 1818, "place": {"file": "secret-pipeline.yaml", "line": 1818},
        }
    ]  # fmt: skip
    plain["seconds"] = {"read": 271.5}
    record = RunRecord.model_validate(plain)
    assert all(any(secret == value for value in leaves(record.to_json())) for secret in planted)
    public = record.public_json()
    found = list(leaves(public))
    assert not [secret for secret in planted if secret in found]
    assert "secret" not in json.dumps(public)
    assert list(public["loss"]) == ["pil", "sse"]


def test_plain_data_and_back(plain: dict[str, Any]) -> None:
    """Nothing is lost or added; an unknown field, or a word outside a closed list, is refused."""
    assert json.dumps(RunRecord.model_validate(plain).to_json()) == json.dumps(plain)
    with pytest.raises(ValidationError, match="extra_forbidden"):
        RunRecord.model_validate(plain | {"secnods": {}})
    plain["edits"][0]["kept_by"] = "luck"
    with pytest.raises(ValidationError, match="literal_error"):
        RunRecord.model_validate(plain)


def test_the_schema_agrees_with_the_record(plain: dict[str, Any]) -> None:
    schema = run_record_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(plain, schema)
    with pytest.raises(jsonschema.ValidationError, match="'seed' is a required property"):
        jsonschema.validate({name: value for name, value in plain.items() if name != "seed"}, schema)
    marked = {name for name, field in schema["properties"].items() if field.get("public")}
    assert marked == {name for name, _ in publications(RunRecord)}


def test_the_committed_schema_is_fresh() -> None:
    command = "maskwright schema run_record > schemas/run_record.schema.json"
    assert json.loads(COMMITTED.read_text()) == run_record_schema(), f"the schema has changed; run: {command}"
